"""What each feature of a pool is worth beside the others, and the order in which they leave."""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit


@jit
def leave_in_turn(
    left, rank, n, required, down_to, resolution, order, worth, limit, limited_by
):  # fmt: skip
    """Remove the feature of least worth from a pool of `n` until `down_to` are left.

    ``left[i, j]`` is what feature i still says about the target once j is known, ``left[i, i]``
    what it says alone; `rank` is 0 for the most relevant. The worth of i among the present
    features is half the least of ``left[i, i]`` and ``left[i, j]`` over more relevant j, plus half
    the mean of ``left[i, j]`` over all present j. Of those that differ by no more than
    `resolution` the least relevant leaves. The first `required` features never leave.

    `order` gets the features that leave, in turn, then the others by position. `worth`, `limit`
    and `limited_by` are by position: the worth at the time of leaving, or among those left at
    the end; the least number of the first half, and the feature that sets it (-1: itself).
    """
    sums = np.zeros(n)
    present = np.ones(n, np.bool_)
    sums_and_limits(left, rank, n, sums, limit, limited_by)
    for size in range(n, down_to, -1):
        leaves = _least(sums, limit, rank, required, present, size, resolution, worth)
        present[leaves] = False
        order[n - size] = leaves
        for i in range(n):
            if present[i]:
                sums[i] -= left[i, leaves]
                if limited_by[i] == leaves:
                    _limit(left, rank, present, i, n, limit, limited_by)
    _least(sums, limit, rank, required, present, down_to, resolution, worth)
    order[n - down_to :] = np.flatnonzero(present)


@jit
def sums_and_limits(left, rank, n, sums, limit, limited_by):
    """Compute the parts of worth in a pool of `n`, as `leave_in_turn` begins."""
    present = np.ones(n, np.bool_)
    for i in range(n):
        _limit(left, rank, present, i, n, limit, limited_by)
        sums[i] = 0.0
        for j in range(n):
            sums[i] += left[i, j]


@jit
def is_worth_least(mine, theirs, relevance, is_stronger, required, sums, limit, resolution):
    """Return whether a newcomer would leave first, what it is worth, its limit, and who sets it.

    `mine` is what it says once each other is known, `theirs` the other way round; `is_stronger`
    marks the more relevant ones; the first `required` never leave; `sums` and `limit` are those of
    the pool without it.
    """
    n = len(mine)
    alone = relevance**2
    least, by, total = alone, -1, 0.0
    for j in range(n):
        total += mine[j]
        if is_stronger[j] and mine[j] < least:
            least, by = mine[j], j
    worth = 0.5 * least + 0.5 * (total + alone) / (n + 1)
    lowest = worth
    for pass_ in range(2):
        for i in range(required, n):
            other = limit[i]
            if not is_stronger[i] and theirs[i] < other:
                other = theirs[i]
            other = 0.5 * other + 0.5 * (sums[i] + theirs[i]) / (n + 1)
            if pass_ == 0:
                lowest = min(lowest, other)
            elif other <= lowest + resolution and not is_stronger[i]:
                return False, worth, least, by
    return worth <= lowest + resolution, worth, least, by


@jit
def _limit(left, rank, present, i, n, limit, limited_by):
    """Find the least that feature i says, alone or once a more relevant one is known."""
    limit[i], limited_by[i] = left[i, i], -1
    for j in range(n):
        if present[j] and rank[j] < rank[i] and left[i, j] < limit[i]:
            limit[i], limited_by[i] = left[i, j], j


@jit
def _least(sums, limit, rank, required, present, size, resolution, worth):
    """Compute what each present feature is worth; return the one that is worth least."""
    least = np.inf
    for i in range(len(present)):
        if present[i]:
            worth[i] = 0.5 * limit[i] + 0.5 * sums[i] / size
            if i >= required:
                least = min(least, worth[i])
    leaves = -1
    for i in range(required, len(present)):
        near = present[i] and worth[i] <= least + resolution
        if near and (leaves < 0 or rank[i] > rank[leaves]):
            leaves = i
    return leaves
