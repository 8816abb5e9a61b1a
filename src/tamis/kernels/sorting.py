"""Stable sorts for kernels, instead of NumPy's: by merging, and long arrays of numbers by bytes.

Numba names the parts of its own sorts by the order in which a process compiled them, and compiled
kernels are cached on disk by many processes. Two kernels from two processes can then have
different parts with the same name, and the one that is loaded second runs the wrong code. (Seen as
a crash of OFS-A3M in a process that had run MDLP before.)
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit

#: Runs of this length are sorted by insertion.
RUN = 16

#: From this length on, numbers are sorted by their bytes.
LONG = 512

#: The sign bit.
LOWEST = np.int64(-(2**63))


@inline
def _insert(values, order, first, last):
    """Sort order[first:last] by insertion; equal values keep their order."""
    for i in range(first + 1, last):
        at, moved = order[i], i
        while moved > first and values[order[moved - 1]] > values[at]:
            order[moved] = order[moved - 1]
            moved -= 1
        order[moved] = at


@inline
def _merge(values, source, target, first, middle, last):
    """Merge source[first:middle] and source[middle:last] into target; the merge is stable."""
    a, b = first, middle
    for t in range(first, last):
        if b >= last or (a < middle and values[source[a]] <= values[source[b]]):
            target[t] = source[a]
            a += 1
        else:
            target[t] = source[b]
            b += 1


@jit
def argsort(values):
    """Return the indices that sort the values, stably; NaN is not allowed."""
    n = len(values)
    order, spare = np.arange(n), np.empty(n, np.int64)
    for first in range(0, n, RUN):
        _insert(values, order, first, min(first + RUN, n))
    length = RUN
    while length < n:
        for first in range(0, n, 2 * length):
            middle = min(first + length, n)
            _merge(values, order, spare, first, middle, min(first + 2 * length, n))
        order, spare = spare, order
        length *= 2
    return order


@jit
def argsort_numbers(values):
    """Return what `argsort` returns, for 64-bit floating-point numbers; long arrays by their bytes.

    Bytes that are the same in all values are skipped, so whole numbers take two of eight passes.
    """
    n = len(values)
    if n < LONG:
        return argsort(values)
    order, spare = np.empty(n, np.int64), np.empty(n, np.int64)
    starts = np.zeros((8, 256), np.int64)
    copied = np.empty(n, np.float64)
    for t in range(n):
        copied[t] = values[t] + 0.0  # turns -0.0 into 0.0
    bits = copied.view(np.int64)
    for t in range(n):  # without a sign, these whole numbers are in the order of the values
        bits[t] ^= (bits[t] >> 63) | LOWEST
    keys, other = bits.view(np.uint64), np.empty(n, np.uint64)
    for t in range(n):
        order[t] = t
        for b in range(8):
            starts[b, (keys[t] >> np.uint64(8 * b)) & np.uint64(255)] += 1
    for b in range(8):
        shift, at, differ = np.uint64(8 * b), 0, True
        for k in range(256):
            count = starts[b, k]
            differ &= count < n
            starts[b, k] = at
            at += count
        if not differ:
            continue
        for t in range(n):
            k = (keys[t] >> shift) & np.uint64(255)
            other[starts[b, k]], spare[starts[b, k]] = keys[t], order[t]
            starts[b, k] += 1
        keys, other = other, keys
        order, spare = spare, order
    return order


@jit
def sort(values):
    """Return the sorted values."""
    order = argsort(values)
    out = np.empty_like(values)
    for t in range(len(order)):
        out[t] = values[order[t]]
    return out


@inline
def first_not_below(values, count, wanted):
    """Return how many of the first `count` sorted values are below `wanted`."""
    lo, hi = 0, count
    while lo < hi:
        middle = (lo + hi) // 2
        if values[middle] < wanted:
            lo = middle + 1
        else:
            hi = middle
    return lo
