"""Partial correlations from cached correlations, without a pass over the rows or an inverse.

Conditioning on one more column s is one step of the recursion

    c(v, w | S, s) = c(v, w | S) - c(v, s | S) c(w, s | S) / c(s, s | S),

which is also one column of a Cholesky factor: with u_s(v) = c(v, s | S) / sqrt(c(s, s | S)), the
covariance left after S is c(v, w) - sum over s in S of u_s(v) u_s(w). So one loop serves every
order, and sets with a common prefix share its factors.

A variable with less than `COLLINEAR` of its variance left after the ones before is collinear with
them: as a conditioning column it adds nothing; as x it is redundant; as the target it is explained.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.subsets import SPENT, next_subset

#: Share of the variance that counts as zero.
COLLINEAR = 1e-10


@jit
def target_products(rows, values, squares, basis, out):
    """Compute the correlations of one prepared column with an orthonormal, centred `basis`."""
    out[:] = 0.0
    for t in range(len(rows)):
        for j in range(basis.shape[1]):
            out[j] += values[t] * basis[rows[t], j]
    for j in range(basis.shape[1]):
        share = out[j] / np.sqrt(squares)
        out[j] = min(1.0, max(-1.0, share)) if share == share else 0.0


@jit
def left(factors, depth, v, w, start):
    """Return the covariance of v and w left after the first `depth` factors, from `start`."""
    for d in range(depth):
        start -= factors[d, v] * factors[d, w]
    return start


@jit
def push(correlations, factors, depth, s, first, last):
    """Condition on s: write factor `depth` for the variables first..last-1; False if collinear."""
    variance = left(factors, depth, s, s, 1.0)
    if variance < COLLINEAR:
        factors[depth, first:last] = 0.0
        return False
    scale = 1.0 / np.sqrt(variance)
    for v in range(first, last):
        factors[depth, v] = scale * left(factors, depth, s, v, correlations[s, v])
    return True


@jit
def partial_strength(correlations, factors, depth, x, n_targets):
    """Return the partial (multiple) correlation of x and the target, and the variance left of x.

    Targets are the first variables. With several the square is c' G^-1 c / (variance of x), where
    c are the covariances left and G that of the targets, by Cholesky; directions of the target
    that are explained are ignored.
    """
    variance = left(factors, depth, x, x, 1.0)
    if variance < COLLINEAR:
        return 0.0, variance
    if n_targets == 1:
        rest = left(factors, depth, 0, 0, 1.0)
        if rest < COLLINEAR:
            return 0.0, variance
        share = left(factors, depth, x, 0, correlations[x, 0]) / np.sqrt(variance * rest)
        return min(1.0, abs(share)), variance
    lower = np.zeros((n_targets, n_targets))
    solved = np.zeros(n_targets)
    explained = 0.0
    for i in range(n_targets):
        for j in range(i + 1):
            rest = left(factors, depth, i, j, 1.0 if i == j else 0.0)
            for t in range(j):
                rest -= lower[i, t] * lower[j, t]
            if i == j:
                lower[i, i] = np.sqrt(rest) if rest >= COLLINEAR else 0.0
            else:
                lower[i, j] = rest / lower[j, j] if lower[j, j] > 0.0 else 0.0
        if lower[i, i] > 0.0:
            rest = left(factors, depth, x, i, correlations[x, i])
            for t in range(i):
                rest -= lower[i, t] * solved[t]
            solved[i] = rest / lower[i, i]
            explained += solved[i] * solved[i]
    return min(1.0, np.sqrt(explained / variance)), variance


@jit
def separate(
    correlations, n_targets, x, candidates, including, smallest, largest, cutoffs,
    refused_separates, tests, refused, given, numbers, limit=-1,
):  # fmt: skip
    """Find the first set among `candidates` given which x and the target are independent.

    Variables are numbered as the rows of `correlations`, targets first. Order and result are those
    of `tamis.kernels.contingency.separate`. ``cutoffs[r]`` is the strength that counts as
    dependence given r columns that are not collinear, infinite where there are too few rows.
    `numbers` are strength, r, cutoff (NaN if refused) and variance left of x, of the last test.
    """
    total, n_variables = len(candidates), correlations.shape[0]
    always = 1 if including >= 0 else 0
    factors = np.zeros((max(1, largest), n_variables))
    ranks = np.zeros(max(1, largest) + 1, np.int64)
    if always:
        ranks[1] = push(correlations, factors, 0, including, 0, n_variables)
    made = 0
    for size in range(max(smallest, always), min(largest, total + always) + 1):
        free = size - always
        for i in range(free):
            given[i] = i
        built = 0
        while True:
            for d in range(built, free):
                # The last factor is never needed for other candidates.
                end = n_variables if d < free - 1 else n_targets
                s, depth = candidates[given[d]], d + always
                grew = push(correlations, factors, depth, s, 0, end)
                push(correlations, factors, depth, s, x, x + 1)
                ranks[depth + 1] = ranks[depth] + grew
            rank = ranks[size]
            if made == limit:
                return SPENT
            made += 1
            tests[size] += 1
            strength, variance = partial_strength(correlations, factors, size, x, n_targets)
            cutoff = cutoffs[rank]
            numbers[0], numbers[1], numbers[2], numbers[3] = strength, rank, cutoff, variance
            if variance < COLLINEAR:
                return size
            if np.isinf(cutoff):
                refused[size] += 1
                numbers[2] = np.nan
                if refused_separates:
                    return size
            elif not strength > cutoff:
                return size
            changed = next_subset(given, free, total)
            if changed < 0:
                break
            built = min(free, changed)
    return -1
