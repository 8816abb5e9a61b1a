"""Neighbourhoods that find their program size, and the share of each that has the label of its row.

A squared distance is a sum over features of squared differences, each rounded to a whole number of
fine units. Whole numbers add and subtract exactly, so the distances of a set of features are the
same bits whatever was added and dropped on the way, and in whatever order. Neighbourhoods are
counted, not averaged: ``shares[k]`` is how many neighbours have the label of their row, over the
rows whose neighbourhood has k rows. Threads that split the rows only split a sum of counts.

For one row, its n - 1 neighbours are walked from near to far, equal distances by row number; the
walk ends at the first that does not go on (`goes_on`).

`program` is what the authors' programs do. They take the first row at distance 0 for the row
itself, which among copies of a row may be another; where two distances are equal on paper, their
last bits decide, so for one feature squares are then not rounded, and nothing is a tie; and their
mean is a sum of floats, row after row.
"""

from __future__ import annotations

import math

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.correlation import moments
from tamis.kernels.levels import gather_nonzeros

#: What ends a neighbourhood: a gap, a density d_k/k that falls, or one that rises.
GAP, ENDS_FALLING, ENDS_RISING = 0, 1, 2

#: Farther than any neighbour.
NOBODY = np.inf


@inline
def goes_on(rule, near, previous, rank, widest, slack):
    """Tell whether the walk takes its neighbour number `rank`, after one at `previous`.

    `near` and `previous` are squared distances that may each be half of `slack` units wrong;
    numbers that such an error could make equal count as equal.
    """
    if rank == 1:
        return True
    if rule == GAP:
        if near == previous:
            return widest > 0.0
        distance, before = np.sqrt(near), np.sqrt(previous)
        return distance - before < widest - slack / (before if before > 0.0 else distance)
    if rule == ENDS_RISING:
        return near == 0.0 or np.sqrt(near) / rank <= np.sqrt(previous) / (rank - 1)
    return near * (rank - 1.0) ** 2 >= previous * float(rank) ** 2 - slack * float(rank) ** 2


@inline
def widest_gap(nearest, farthest, n, slack):
    """The gap that ends a neighbourhood, one and a half times the mean one, from two squares."""
    if n == 2:
        return 0.0
    distance = np.sqrt(nearest)
    wrong = slack / distance if distance > 0.0 else 0.0
    return (1.5 * (np.sqrt(farthest) - distance) - wrong) / (n - 2)


@inline
def squared(a, b, factor):
    """Squared difference in whole units."""
    difference = (a - b) * factor
    return np.int64(difference * difference + 0.5)


@inline
def line_squared(a, b, factor, program):
    """Do as `squared`, as a float; the programs do not round."""
    difference = (a - b) * factor
    square = difference * difference
    return square if program else np.floor(square + 0.5)


@jit
def rescale(values, first, last, n, root, out):
    """Copy values first..last-1, the nonzeros of n rows, by a power of two near their size.

    Returns the factor that turns a difference of copies into standard deviations, `root` units
    each; 0 for a constant column. So no column is too large or too small to be squared.
    """
    top = 0.0
    for t in range(first, last):
        top = max(top, abs(values[t]))
    power = math.ldexp(1.0, -min(1000, max(-1000, math.frexp(top)[1])))
    for t in range(first, last):
        out[t - first] = values[t] * power
    _, squares = moments(out, 0, last - first, n)
    return root * np.sqrt((n - 1) / squares) if squares > 0.0 else 0.0


@jit
def find_levels(rows, values, count, codes, totals, level, lowest, size_before, class_before, of):
    """Group n rows by value, from `count` nonzeros: values rise, zero has its place among them.

    Level l is found in ``size_before[l + 1] - size_before[l]`` rows, the lowest of which is
    ``lowest[l]``; ``class_before`` counts them by class; ``of`` is the level of each nonzero, and
    last that of zero. Returns the number of levels.
    """
    n = len(codes)
    order = np.argsort(values[:count])
    zero_waits = count < n
    found, t = 0, 0
    size_before[0] = 0
    class_before[0, :] = 0
    while t < count or zero_waits:
        class_before[found + 1, :] = class_before[found, :]
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
    """Walk outward from level v, one distance at a time.

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
            # A row is no neighbour of its own; the programs leave out the first copy instead.
            if not program or codes[first] == c:
                same -= 1
            if alone >= 0 and codes[alone] == c:
                same += 1
            shares[rank] += rows * same
            share[v, c] = same / rank


@jit
def mean_share(shares):
    """The mean over rows of the share of neighbours with their label, from counts."""
    total = 0.0
    for k in range(1, len(shares)):
        if shares[k]:
            total += shares[k] / k
    return total / len(shares)


@jit
def mean_in_order(share):
    """The mean over rows, row after row."""
    total = 0.0
    for row in range(len(share)):
        total += share[row]
    return total / len(share)


@jit
def alone(rows, values, first, last, codes, totals, root, rule, program, scaled, shares):
    """Dependency on one column, -1 if it is constant, and its factor.

    Its nonzeros are entries first..last-1. Writes them scaled, and the counted neighbourhoods.
    """
    n, count, classes = len(codes), last - first, len(totals)
    factor = rescale(values, first, last, n, root, scaled)
    if factor == 0.0:
        return -1.0, factor
    level, lowest = np.empty(n + 1), np.empty(n + 1, np.int64)
    size_before, class_before = np.empty(n + 2, np.int64), np.empty((n + 2, classes), np.int64)
    of, share = np.empty(count + 1, np.int64), np.empty((n + 1, classes))
    found = find_levels(
        rows[first:last], scaled, count, codes, totals,
        level, lowest, size_before, class_before, of,
    )  # fmt: skip
    shares[:] = 0
    line_shares(
        level, lowest, size_before, class_before, found, codes, factor, rule, program, shares, share
    )
    if not program:
        return mean_share(shares), factor
    by_row = np.empty(n)
    t = 0
    for row in range(n):
        listed = t < count and rows[first + t] == row
        by_row[row] = share[of[t] if listed else of[count], codes[row]]
        t += listed
    return mean_in_order(by_row), factor


@jit
def alone_compressed(pointers, rows, values, codes, totals, root, rule, program, lo, hi, out):
    """Dependency on each of the compressed columns lo..hi-1 by itself; -1 if it is constant."""
    scaled, shares = np.empty(len(codes)), np.empty(len(codes), np.int64)
    for j in range(lo, hi):
        out[j] = alone(
            rows, values, pointers[j], pointers[j + 1], codes, totals, root, rule, program,
            scaled, shares,
        )[0]  # fmt: skip


@jit
def alone_dense(dense, codes, totals, root, rule, program, lo, hi, out):
    """Do as `alone_compressed`, for the columns lo..hi-1 of a dense block."""
    n = len(codes)
    rows, values = np.empty(n, np.int32), np.empty(n)
    scaled, shares = np.empty(n), np.empty(n, np.int64)
    for j in range(lo, hi):
        count = gather_nonzeros(dense[:, j], rows, values)
        out[j] = alone(rows, values, 0, count, codes, totals, root, rule, program, scaled, shares)[
            0
        ]


@jit
def add_column(squares, column, factor, sign, lo, hi):
    """Add a column's squared differences to rows lo..hi-1 of the distances, or take them away."""
    n = len(column)
    for i in range(lo, hi):
        for j in range(n):
            squares[i, j] += sign * squared(column[i], column[j], factor)


@jit
def set_shares(
    squares, plus, plus_factor, minus, minus_factor, codes, rule, program, columns, lo, hi,
    shares, share,
):  # fmt: skip
    """Count the neighbourhoods of rows lo..hi-1 on the held features, plus one and minus one.

    A factor of 0 stands for no column; `columns` is how many there are then. The held distances
    are not touched.
    """
    n = len(codes)
    slack = 0.0 if program else float(columns)
    near = np.empty(n, np.int64)
    low, high = np.empty(2 * n), np.empty(2 * n)
    heap = np.empty(n, np.int64)
    for i in range(lo, hi):
        for j in range(n):
            near[j] = squares[i, j]
        if plus_factor > 0.0:
            for j in range(n):
                near[j] += squared(plus[i], plus[j], plus_factor)
        if minus_factor > 0.0:
            for j in range(n):
                near[j] -= squared(minus[i], minus[j], minus_factor)
        itself = i
        if program:
            itself = 0
            while near[itself] != 0:
                itself += 1
        if rule == GAP:
            count, same = gap_neighbours(near, i, itself, codes, slack, low, high)
        else:
            count, same = density_neighbours(near, i, itself, codes, rule, slack, heap)
        shares[count] += same
        share[i] = same / count


@jit
def gap_neighbours(near, i, itself, codes, slack, low, high):
    """Number of neighbours up to the first wide gap, and of those with the label of row i.

    Without sorting: distances go into bins about a third of that gap wide. No gap can hide inside
    a bin, so only the lowest and highest of each need be known to find the first one.
    """
    n = len(near)
    nearest, farthest = NOBODY, 0.0
    for j in range(n):
        if j != itself:
            nearest = min(nearest, float(near[j]))
            farthest = max(farthest, float(near[j]))
    widest = widest_gap(nearest, farthest, n, slack)
    if not widest > 0.0:
        # All are equally far, and no gap is below 0: the first row is the only neighbour.
        first = 1 if itself == 0 else 0
        return 1, int(codes[first] == codes[i])
    least = np.sqrt(nearest)
    per_bin = (len(low) - 1) / (np.sqrt(farthest) - least)
    for b in range(len(low)):
        low[b], high[b] = NOBODY, -1.0
    for j in range(n):
        if j != itself:
            square = float(near[j])
            b = int((np.sqrt(square) - least) * per_bin)
            low[b] = min(low[b], square)
            high[b] = max(high[b], square)
    end = nearest
    for b in range(len(low)):
        if high[b] >= 0.0:
            if not goes_on(GAP, low[b], end, 2, widest, slack):
                break
            end = high[b]
    count, same = 0, 0
    for j in range(n):
        taken = near[j] <= end
        count += taken
        same += taken & (codes[j] == codes[i])
    return count - 1, same - (codes[itself] == codes[i])


@inline
def farther(near, a, b):
    """Order rows by distance, equal distances by number."""
    return near[a] > near[b] or (near[a] == near[b] and a > b)


@jit
def sift_down(heap, size, at, near):
    """Let a row sink to its place in a heap with the nearest row on top."""
    row = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and farther(near, heap[child], heap[child + 1]):
            child += 1
        if not farther(near, row, heap[child]):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = row


@jit
def density_neighbours(near, i, itself, codes, rule, slack, heap):
    """Number of neighbours before the density turns, and of those with the label of row i.

    A heap, because the walk mostly ends long before the last row.
    """
    size = 0
    for j in range(len(near)):
        if j != itself:
            heap[size] = j
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, at, near)
    rank, same, previous = 0, 0, 0.0
    while size > 0:
        row = heap[0]
        square = float(near[row])
        if not goes_on(rule, square, previous, rank + 1, 0.0, slack):
            break
        rank += 1
        same += codes[row] == codes[i]
        previous = square
        size -= 1
        heap[0] = heap[size]
        sift_down(heap, size, 0, near)
    return rank, same


@jit
def first_reaching(values, start, bound):
    """Place of the first of ``values[start:]`` that is at least `bound`; their number if none."""
    for j in range(start, len(values)):
        if values[j] >= bound:
            return j
    return len(values)
