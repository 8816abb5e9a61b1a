"""Neighbourhoods on one feature: rows on a line, grouped by value.

Rows with the same value have the same distances, so the walk outward is made once per value, and
matches are differences of class counts. The rules, and what `program` means, are in `neighbours`.
"""

from __future__ import annotations

import math

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.column_entries import list_column
from tamis.kernels.correlation import moments
from tamis.kernels.neighbours import NOBODY, goes_on, mean_in_order, mean_share, widest_gap
from tamis.kernels.sorting import argsort


@inline
def line_squared(a, b, factor, program):
    """Return `squared` as a float; the authors' programs do not round."""
    difference = (a - b) * factor
    square = difference * difference
    return square if program else np.floor(square + 0.5)


@jit
def rescale(values, count, n, root, out):
    """Copy `count` values, the nonzeros of n rows, scaled by a power of two near their size.

    Returns the factor that converts a difference of copies to standard deviations, `root` units
    each; 0 for a constant column. So the squares of no column overflow or underflow.
    """
    top = 0.0
    for t in range(count):
        top = max(top, abs(values[t]))
    power = math.ldexp(1.0, -min(1000, max(-1000, math.frexp(top)[1])))
    for t in range(count):
        out[t] = values[t] * power
    _, squares = moments(out, 0, count, n)
    return root * np.sqrt((n - 1) / squares) if squares > 0.0 else 0.0


@jit
def find_levels(rows, values, count, codes, totals, level, lowest, size_before, class_before, of):
    """Group n rows by value, from `count` nonzeros; values are sorted, zero among them.

    Level l is found in ``size_before[l + 1] - size_before[l]`` rows, the lowest of which is
    ``lowest[l]``; ``class_before`` counts them by class; ``of`` is the level of each nonzero, and
    last that of zero. Returns the number of levels.
    """
    n = len(codes)
    order = argsort(values[:count])
    zero_waits = count < n
    found, t = 0, 0
    size_before[0] = 0
    class_before[0, :] = 0
    while t < count or zero_waits:
        for c in range(class_before.shape[1]):
            class_before[found + 1, c] = class_before[found, c]
        if zero_waits and (t == count or values[order[t]] > 0.0):
            zero_waits = False
            level[found] = 0.0
            of[count] = found
            absent = 0
            while absent < count and rows[absent] == absent:
                absent += 1
            lowest[found] = absent
            size_before[found + 1] = size_before[found] + n - count
            class_before[found + 1, :] += totals
            for s in range(count):
                class_before[found + 1, codes[rows[s]]] -= 1
        else:
            level[found] = values[order[t]]
            lowest[found] = n
            size_before[found + 1] = size_before[found]
            while t < count and values[order[t]] == level[found]:
                row = rows[order[t]]
                of[order[t]] = found
                lowest[found] = min(lowest[found], row)
                size_before[found + 1] += 1
                class_before[found + 1, codes[row]] += 1
                t += 1
        found += 1
    return found


@jit
def reach(v, level, lowest, size_before, found, factor, rule, program):
    """Walk outward from level v, by one distance at a time.

    Returns the levels lo..hi taken whole, one more row or -1, the number of neighbours, and the
    lowest row at distance 0.
    """
    n, top, here, slack = size_before[found], found - 1, level[v], 0.0 if program else 1.0
    lo, hi, first, alone = v, v, lowest[v], np.int64(-1)
    left = line_squared(here, level[v - 1], factor, program) if v > 0 else NOBODY
    right = line_squared(here, level[v + 1], factor, program) if v < top else NOBODY
    rank = size_before[v + 1] - size_before[v] - 1
    previous = 0.0
    widest = widest_gap(
        0.0 if rank > 0 else min(left, right),
        max(
            line_squared(here, level[0], factor, program),
            line_squared(here, level[top], factor, program),
        ),
        n,
        slack,
    )
    while lo > 0 or hi < top:
        near = min(left, right)
        if not goes_on(rule, near, previous, rank + 1, widest, slack):
            break
        a, b, low = lo, hi, n
        while left == near:
            a -= 1
            low = min(low, lowest[a])
            left = line_squared(here, level[a - 1], factor, program) if a > 0 else NOBODY
        while right == near:
            b += 1
            low = min(low, lowest[b])
            right = line_squared(here, level[b + 1], factor, program) if b < top else NOBODY
        size = size_before[b + 1] - size_before[a] - size_before[hi + 1] + size_before[lo]
        if size > 1 and not goes_on(rule, near, near, rank + 2, widest, slack):
            alone = low
            rank += 1
            break
        lo, hi, previous = a, b, near
        rank += size
        if near == 0.0:
            first = min(first, low)
    return lo, hi, alone, rank, first


@jit
def line_shares(
    level, lowest, size_before, class_before, found, codes, factor, rule, program, shares, share
):
    """Count the neighbourhoods of all rows on one feature, level by level and class by class."""
    for v in range(found):
        lo, hi, alone, rank, first = reach(
            v, level, lowest, size_before, found, factor, rule, program
        )
        for c in range(class_before.shape[1]):
            rows = class_before[v + 1, c] - class_before[v, c]
            if rows == 0:
                continue
            same = class_before[hi + 1, c] - class_before[lo, c]
            # A row is not its own neighbour; the programs leave out the first copy instead.
            if not program or codes[first] == c:
                same -= 1
            if alone >= 0 and codes[alone] == c:
                same += 1
            shares[rank] += rows * same
            share[v, c] = same / rank


@jit
def room(n, classes):
    """Allocate the scratch arrays for one column, to be reused for many."""
    return (
        np.empty(n + 1),
        np.empty(n + 1, np.int64),
        np.empty(n + 2, np.int64),
        np.empty((n + 2, classes), np.int64),
        np.empty(n + 1, np.int64),
        np.empty((n + 1, classes)),
        np.empty(n),
    )


@jit
def alone(rows, values, count, codes, totals, root, rule, program, work, scaled, shares):
    """Return the dependency on one column, -1 if it is constant, and its factor.

    Its nonzeros are the first `count` entries. Writes them scaled, and the counted neighbourhoods;
    `work` comes from `room`.
    """
    n = len(codes)
    factor = rescale(values, count, n, root, scaled)
    if factor == 0.0:
        return -1.0, factor
    level, lowest, size_before, class_before, of, share, by_row = work
    found = find_levels(
        rows, scaled, count, codes, totals, level, lowest, size_before, class_before, of
    )
    shares[:] = 0
    line_shares(
        level, lowest, size_before, class_before, found, codes, factor, rule, program, shares, share
    )
    if not program:
        return mean_share(shares), factor
    t = 0
    for row in range(n):
        listed = t < count and rows[t] == row
        by_row[row] = share[of[t] if listed else of[count], codes[row]]
        t += listed
    return mean_in_order(by_row), factor


@jit
def alone_columns(flat, indptr, rows, values, codes, totals, root, rule, program, lo, hi, out):
    """Compute the dependency on each of columns lo..hi-1 of a block alone; -1 if constant."""
    n = len(codes)
    own_rows, own_values = np.empty(n, np.int32), np.empty(n)
    scaled, shares = np.empty(n), np.empty(n, np.int64)
    work = room(n, len(totals))
    for j in range(lo, hi):
        count = list_column(flat, indptr, rows, values, n, j, 0.0, own_rows, own_values)
        out[j] = alone(
            own_rows, own_values, count, codes, totals, root, rule, program, work, scaled, shares
        )[0]
