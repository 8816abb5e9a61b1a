"""Levels of tests that arrive one after the other (LORD++, SAFFRON, ADDIS, LOND).

The level of a test is a sum over all earlier finds. Two facts make it cheap:

* Between finds levels only fall. A p-value above the last level computed (`bound`) is not a find,
  and needs no level of its own.
* The sum is computed in O(log t). Time is cut into nodes of 1,024 tests, of twice as many, and so
  on. A node holds 18 weights: its finds, interpolated to 18 Chebyshev points. A node at least as
  far away as it is long is summed over its points, with a relative error below 1e-13.
"""

from __future__ import annotations

import math

import numpy as np

from tamis.kernels._jit import inline, jit

#: Tests in the smallest nodes, and Chebyshev points of every node.
LEAF, POINTS = 1024, 18

#: Up to this many finds are summed directly, without nodes.
FEW_FINDS = 64

#: The bound is computed again after 4, 16, 64 and 256 tests without a find, then every 256 tests.
REFRESH = 256

_ANGLES = (2 * np.arange(POINTS) + 1) * np.pi / (2 * POINTS)
COSINES = np.cos(_ANGLES)
BARYCENTRIC = (-1.0) ** np.arange(POINTS) * np.sin(_ANGLES)


# --- what a test may spend -------------------------------------------------------------------


@inline
def share(t):
    """Return the share of the error that belongs to test t; the sum over all t is at most 1."""
    return 0.07720838 * np.log(max(t, 2.0)) / (t * np.exp(np.sqrt(np.log(t))))


@inline
def power_share(t):
    """Return the share of test t that SAFFRON and ADDIS use."""
    return 0.4374901658 / math.pow(t, 1.6)


@inline
def _share(t, power):
    return power_share(t) if power else share(t)


@jit
def shares_of(tests, power):
    """Return the shares of several tests."""
    out = np.empty(len(tests))
    for i in range(len(tests)):
        out[i] = _share(tests[i], power)
    return out


#: The shares of recent tests, by their age: where most tests are finds, most of a level is these.
_AGES = np.arange(1.0, 2 * LEAF + 1)
NEAR = np.zeros((2, 2 * LEAF + 1))
NEAR[0, 1:] = 0.07720838 * np.log(np.maximum(_AGES, 2)) / (_AGES * np.exp(np.sqrt(np.log(_AGES))))
NEAR[1, 1:] = 0.4374901658 / _AGES**1.6


# --- the tree of finds -----------------------------------------------------------------------


@inline
def _first_at(finds, hi, time):
    """Return the position of the first of finds[1:hi] at `time` or later."""
    lo = 1
    while lo < hi:
        middle = (lo + hi) // 2
        if finds[middle] < time:
            lo = middle + 1
        else:
            hi = middle
    return lo


@jit
def add_find(time, tree, starts):
    """Add a find to one node of each size."""
    size = LEAF
    for depth in range(len(starts) - 1):
        node = starts[depth] + time // size
        half = (size - 1) / 2.0
        x = (time % size - half) / half
        total = 0.0
        at = -1
        for k in range(POINTS):
            if x == COSINES[k]:
                at = k
                break
            total += BARYCENTRIC[k] / (x - COSINES[k])
        if at >= 0:
            tree[node, at] += 1.0
        else:
            for k in range(POINTS):
                tree[node, k] += BARYCENTRIC[k] / (x - COSINES[k]) / total
        size *= 2


@jit
def sum_of_shares(now, finds, n_finds, tree, starts, power):
    """Return the sum of share(now - time) over all finds but the first."""
    total = 0.0
    pos = max(0, now // LEAF - 1) * LEAF if n_finds > FEW_FINDS else 0
    hi = n_finds
    lo = _first_at(finds, hi, pos)
    for i in range(lo, hi):
        age = now - finds[i]
        total += NEAR[int(power), age] if age <= 2 * LEAF else _share(float(age), power)
    hi = lo
    while hi > 1:
        depth = 0
        size = LEAF
        while depth + 2 < len(starts) and pos % (2 * size) == 0 and now - pos >= 2 * size:
            size *= 2
            depth += 1
        pos -= size
        lo = _first_at(finds, hi, pos)
        if hi - lo <= POINTS:
            for i in range(lo, hi):
                total += _share(float(now - finds[i]), power)
        else:
            node = starts[depth] + pos // size
            half = (size - 1) / 2.0
            for k in range(POINTS):
                point = pos + half + half * COSINES[k]
                total += tree[node, k] * _share(now - point, power)
        hi = lo
    return total


@jit
def level_at(now, finds, n_finds, tree, starts, alpha, wealth, scale, most, power):
    """Return the level of the test at time `now`."""
    level = wealth * _share(float(now), power)
    if n_finds:
        level += (alpha - wealth) * _share(float(now - finds[0]), power)
        level += alpha * sum_of_shares(now, finds, n_finds, tree, starts, power)
    return min(most, scale * level)


# --- tests in order of arrival ---------------------------------------------------------------


@jit
def invest(
    p, least_p, watch, first, limits, numbers, bound, finds, tree, starts, found, level, tested
):  # fmt: skip
    """Test p-values from `first` on by LORD++, SAFFRON or ADDIS.

    `limits` are alpha, wealth, scale, the largest level, the p-values between which the clock
    advances, and whether shares are powers. `numbers` are updated: tests, clock, finds, the test
    of the last find and that of the last bound. Columns whose `least_p` is above the bound are not
    tests. The level of a test is computed where p or `watch` is at most the bound; elsewhere the
    bound stands for it. Ends early where `finds` or `tree` has no room; returns where, and the
    bound.
    """
    alpha, wealth, scale, most, low, high = limits[:6]
    power = limits[6] > 0.0
    tests, clock, n_finds, last_find, refreshed = numbers
    # Without nodes there is room for any time, but for few finds only.
    room = (starts[1] - starts[0]) * LEAF if len(tree) else np.iinfo(np.int64).max
    most_finds = len(finds) if len(tree) else min(FEW_FINDS, len(finds))
    i = first
    while i < len(p):
        if n_finds == most_finds or clock + 2 >= room:
            break
        if least_p[i] > bound:
            tested[i] = False
            level[i] = bound
            i += 1
            continue
        tested[i] = True
        level[i] = bound
        if p[i] <= bound or watch[i] <= bound:
            level[i] = level_at(
                clock + 1, finds, n_finds, tree, starts, alpha, wealth, scale, most, power
            )
        tests += 1
        found[i] = p[i] <= level[i]
        if p[i] > low and p[i] <= high:
            clock += 1
        if found[i]:
            finds[n_finds] = clock
            if n_finds and len(tree):
                add_find(clock, tree, starts)
            n_finds += 1
            last_find = tests
        age, since = tests - last_find, tests - refreshed
        if (
            found[i]
            or since >= REFRESH
            or (age <= REFRESH and (age == 4 or age == 16 or age == 64 or age == REFRESH))
        ):
            bound = level_at(
                clock + 1, finds, n_finds, tree, starts, alpha, wealth, scale, most, power
            )
            refreshed = tests
        elif p[i] <= bound:
            bound = level[i]
            refreshed = tests
        i += 1
    numbers[0] = tests
    numbers[1] = clock
    numbers[2] = n_finds
    numbers[3] = last_find
    numbers[4] = refreshed
    return i, bound


#: What a find adds to the levels of `spend`: nothing, one share, or a shape function.
NOTHING, ONE_SHARE, SHAPE = 0, 1, 2

#: The shape function of `SHAPE` stops growing at this many finds.
MOST_SHAPED = 1024


@inline
def factor(n_finds, kind):
    """Return by how much `n_finds` finds raise a level.

    The shape function spreads its weight evenly over the sizes 1, 2, 4, ..., 1024.
    """
    if kind == NOTHING:
        return 1.0
    if kind == ONE_SHARE:
        return n_finds + 1.0
    total = 0.0
    size = 1
    while size <= min(n_finds + 1, MOST_SHAPED):
        total += size
        size *= 2
    return total / 11.0


@jit
def spend(p, least_p, alpha, kind, numbers, found, level, tested):
    """Test p-values at level alpha * share(t) * factor(finds).

    `numbers`, tests and finds, are updated. Columns whose `least_p` is above the coming level are
    not tests. Returns the coming level.
    """
    tests, n_finds = numbers
    raised = alpha * factor(n_finds, kind)
    now = raised * share(tests + 1.0)
    for i in range(len(p)):
        level[i] = now
        tested[i] = least_p[i] <= now
        if not tested[i]:
            continue
        tests += 1
        found[i] = p[i] <= now
        if found[i]:
            n_finds += 1
            raised = alpha * factor(n_finds, kind)
        now = raised * share(tests + 1.0)
    numbers[0] = tests
    numbers[1] = n_finds
    return now
