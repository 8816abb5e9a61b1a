"""Sorted feature numbers of rows, delta-encoded in units of 1, 2, 4 or 8 bytes.

A gap is the count of numbers between a feature and the one before it in its row, 0 for neighbours;
the first of a row counts from `start`, the number before the lowest one that may occur. Every
entry has a unit. The few gaps that do not fit are stored separately, with the position of their
entry, so that the loop between two of them has no branch.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit

#: What `measure_gaps` returns about rows.
RISING, NOT_RISING = range(2)


@jit
def measure_gaps(indptr, indices, start, limits, beyond):
    """Count the gaps that reach each limit: (fault, row, highest feature)."""
    highest = start
    for r in range(len(indptr) - 1):
        before = start
        for t in range(indptr[r], indptr[r + 1]):
            place = np.int64(indices[t])
            if place <= before:
                return NOT_RISING, r, place
            gap = np.uint64(place - before - 1)
            for k in range(len(limits)):
                beyond[k] += gap >= limits[k]
            before = place
        highest = max(highest, before)
    return RISING, 0, highest


@jit
def encode_gaps(indptr, indices, start, limit, units, far_at, far_gaps):
    """Write the gaps of rows; those from `limit` on are stored separately, with 0 in their unit."""
    k = 0
    for r in range(len(indptr) - 1):
        before = start
        for t in range(indptr[r], indptr[r + 1]):
            place = np.int64(indices[t])
            gap = place - before - 1
            before = place
            if gap < limit:
                units[t] = gap
            else:
                units[t] = 0
                far_at[k], far_gaps[k] = t, gap
                k += 1


@jit
def decode_gaps(indptr, units, far_at, far_gaps, start, n_columns, indices):
    """Decode features from gaps; return False for impossible ones.

    Numbers never decrease inside a row, so its first and its last are checked. Array indices are
    unsigned, so that the loop does not test for negative ones: it takes half the time.
    """
    t, n, k = np.uint64(0), np.uint64(len(indices)), 0
    next_far = np.uint64(far_at[0]) if len(far_at) else n
    for r in range(len(indptr) - 1):
        first, end, before = t, np.uint64(indptr[r + 1]), start
        if end < t or end > n:
            return False
        while True:
            stop = min(end, next_far)
            while t < stop:
                before += np.int64(units[t]) + 1
                indices[t] = before
                t += np.uint64(1)
            if t >= end:
                break
            before += far_gaps[k] + 1
            if far_gaps[k] < 0 or before < 0 or before >= n_columns:
                return False
            indices[t] = before
            t, k = t + np.uint64(1), k + 1
            next_far = np.uint64(far_at[k]) if k < len(far_at) else n
            if next_far < t:
                return False
        if first < end and (indices[first] < 0 or before < 0 or before >= n_columns):
            return False
    return t == n and k == len(far_at)
