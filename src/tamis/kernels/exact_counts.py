"""Exact tests of tables with two rows, one of them with few counts.

`m` marked rows fall on groups of known sizes, and every choice of m rows is equally likely. The
statistic is the deviance of the counts, rounded to a lattice: tables of one m keep the order of
G-squared up to rounding, and the p-value is exact, because the rounded sum is itself the statistic.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tamis.kernels._jit import inline, jit

#: A lattice step, in units of G-squared, and the number of steps; larger sums count as the last.
STEP = 0.1
STEPS = 2048

#: Instead of an exact test the chi-square law is used if all expected counts are at least this.
ENOUGH = 25

#: Most rows of a rare bin, class or level that gets an exact test of its counts.
MOST_MARKED = 100


@inline
def _xlog(a, ratio):
    """Return a log(ratio), 0 for a = 0."""
    return a * np.log(ratio) if a > 0.0 else 0.0


@jit
def deviance_steps(sizes, most, centre):
    """Return the lattice steps of 0..most marked rows in each group.

    `centre` is the number of marked rows to which deviances refer; any other adds a constant.
    """
    total = 0
    for g in range(len(sizes)):
        total += sizes[g]
    share = centre / total
    steps = np.empty((len(sizes), most + 1), np.int64)
    for g in range(len(sizes)):
        size = float(sizes[g])
        for a in range(most + 1):
            steps[g, a] = STEPS - 1
            if a <= size:
                rest = size - a
                deviance = _xlog(a, a / (size * share)) + _xlog(rest, rest / (size * (1.0 - share)))
                steps[g, a] = min(STEPS - 1, int(np.rint(2.0 * max(0.0, deviance) / STEP)))
    return steps


@jit
def _hypergeometric(both, size, others, low, high):
    """Return P(a of `both` marked rows among `size` rows, not among `others`), a = low..high."""
    logs = np.zeros(high - low + 1)
    largest = 0.0
    for a in range(low, high):
        ratio = (size - a) * (both - a) / ((a + 1.0) * (others - both + a + 1.0))
        logs[a + 1 - low] = logs[a - low] + np.log(ratio)
        largest = max(largest, logs[a + 1 - low])
    total = 0.0
    for i in range(len(logs)):
        logs[i] = np.exp(logs[i] - largest)
        total += logs[i]
    return logs / total


@jit
def tails_of_counts(sizes, steps):
    """Return P(statistic >= q) for every number of marked rows m (a row) and lattice sum q.

    Groups are taken one after the other; so far `done` rows hold s marked ones with sum q. The
    next group of N rows gets a of s + a marked ones with a hypergeometric probability.
    """
    most = steps.shape[1] - 1
    law, following = np.zeros((most + 1, STEPS)), np.zeros((most + 1, STEPS))
    law[0, 0] = 1.0
    highest = np.full(most + 1, -1)  # the largest sum that occurs, by marked rows
    highest[0] = 0
    done = 0
    for g in range(len(sizes)):
        size = sizes[g]
        following[:] = 0.0
        reached = np.full(most + 1, -1)
        for both in range(min(most, done + size) + 1):
            low, high = max(0, both - done), min(both, size)
            shares = _hypergeometric(both, size, done, low, high)
            for a in range(low, high + 1):
                s, step, share = both - a, steps[g, a], shares[a - low]
                for q in range(highest[s] + 1):
                    following[both, min(STEPS - 1, q + step)] += share * law[s, q]
                reached[both] = max(reached[both], min(STEPS - 1, highest[s] + step))
        law, following, highest = following, law, reached
        done += size
    for m in range(most + 1):
        for q in range(STEPS - 2, -1, -1):
            law[m, q] = min(1.0, law[m, q] + law[m, q + 1])
    return law


@lru_cache(maxsize=256)
def law_of_counts(sizes: tuple[int, ...], most: int) -> tuple[Any, Any]:
    """Return lattice steps and tail probabilities of up to `most` marked rows on groups."""
    counts = np.array(sizes)
    centre = most if most < MOST_MARKED else most / 2
    steps = deviance_steps(counts, most, min(centre, counts.sum() / 2))
    return steps, tails_of_counts(counts, steps)


@jit
def exact_tests(counts, steps, tails, at, p):
    """Write the p-values of tables, given the marked rows by group in each row of `counts`.

    `at` is the lattice sum of each table.
    """
    for i in range(len(counts)):
        m, q = 0, 0
        for g in range(counts.shape[1]):
            m += counts[i, g]
            q += steps[g, counts[i, g]]
        at[i] = m
        p[i] = tails[m, min(STEPS - 1, q)]


@jit
def attained(tails, at, p, out):
    """Write the probability that a test of m = at[i] marked rows has a p-value of at most p[i]."""
    for i in range(len(p)):
        lo, hi = 0, STEPS
        while lo < hi:  # tails fall
            middle = (lo + hi) // 2
            if tails[at[i], middle] > p[i]:
                lo = middle + 1
            else:
                hi = middle
        out[i] = tails[at[i], lo] if lo < STEPS else 0.0
