"""Neighbourhoods that find their own size, and the share of each with the label of its row.

A squared distance is a sum over features of squared differences, each rounded to an integer number
of fine units. Integers add and subtract exactly, so the distances of a set of features are the same
bits whatever was added and dropped before, and in whatever order. Neighbourhoods are
counted, not averaged: ``shares[k]`` is how many neighbours have the label of their row, over the
rows whose neighbourhood has k rows. Threads that split the rows only split a sum of counts.

For one row, its n - 1 neighbours are walked from near to far, equal distances by row number; the
walk ends at the first that does not go on (`goes_on`).

`program` follows the authors' programs. They treat the first row at distance 0 as the row
itself, which may be a copy of it; where two distances are mathematically equal, their last
bits decide, so for one feature squares are then not rounded, and nothing is a tie; and their
mean is a sum of floats, row after row.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit

#: What ends a neighbourhood: a gap, a density d_k/k that falls, or one that rises.
GAP, ENDS_FALLING, ENDS_RISING = 0, 1, 2

#: Farther than any neighbour.
NOBODY = np.inf


@inline
def goes_on(rule, near, previous, rank, widest, slack):
    """Return True if the walk takes neighbour number `rank`, after one at `previous`.

    `near` and `previous` are squared distances that may each be off by half of `slack` units;
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
    """Return the gap that ends a neighbourhood, 1.5 times the mean gap, from two squares."""
    if n == 2:
        return 0.0
    distance = np.sqrt(nearest)
    wrong = slack / distance if distance > 0.0 else 0.0
    return (1.5 * (np.sqrt(farthest) - distance) - wrong) / (n - 2)


@inline
def squared(a, b, factor, program):
    """Return the squared difference in integer units; for the programs 0 only for equal values.

    They treat a row at distance 0 as a copy, and a row that is merely near is not one.
    """
    difference = (a - b) * factor
    square = difference * difference
    whole = np.int64(square + 0.5)
    return whole + np.int64(program & (whole == 0) & (square > 0.0))


@jit
def mean_share(shares):
    """Return the mean over rows of the share of neighbours with their label, from counts."""
    total = 0.0
    for k in range(1, len(shares)):
        if shares[k]:
            total += shares[k] / k
    return total / len(shares)


@jit
def mean_in_order(share):
    """Return the mean over rows, summed row by row."""
    total = 0.0
    for row in range(len(share)):
        total += share[row]
    return total / len(share)


@jit
def add_column(squares, column, factor, sign, program, lo, hi):
    """Add a column's squared differences to rows lo..hi-1 of the distances, or subtract them."""
    n = len(column)
    for i in range(lo, hi):
        for j in range(n):
            squares[i, j] += sign * squared(column[i], column[j], factor, program)


@jit
def set_shares(
    squares, plus, plus_factor, minus, minus_factor, codes, rule, program, columns, lo, hi,
    shares, share,
):  # fmt: skip
    """Count the neighbourhoods of rows lo..hi-1 on the held features, plus one and minus one.

    A factor of 0 means no column; `columns` is how many there are then. The held distances
    are not touched.
    """
    n = len(codes)
    slack = 0.0 if program else float(columns)
    near = np.empty(n, np.int64)
    low, high = np.empty(2 * n), np.empty(2 * n)
    order, start = np.empty(n, np.int64), np.empty(n + 2, np.int64)
    for i in range(lo, hi):
        for j in range(n):
            near[j] = squares[i, j]
        if plus_factor > 0.0:
            for j in range(n):
                near[j] += squared(plus[i], plus[j], plus_factor, program)
        if minus_factor > 0.0:
            for j in range(n):
                near[j] -= squared(minus[i], minus[j], minus_factor, program)
        itself = i
        if program:
            itself = 0
            while near[itself] != 0:
                itself += 1
        if rule == GAP:
            count, same = gap_neighbours(near, i, itself, codes, slack, low, high)
        else:
            count, same = density_neighbours(near, i, itself, codes, rule, slack, order, start)
        shares[count] += same
        share[i] = same / count


@inline
def _ends(near, itself):
    """Return the least and the largest of the squared distances, without that of a row itself."""
    nearest, farthest = NOBODY, 0.0
    for j in range(len(near)):
        if j != itself:
            nearest = min(nearest, float(near[j]))
            farthest = max(farthest, float(near[j]))
    return nearest, farthest


@jit
def gap_neighbours(near, i, itself, codes, slack, low, high):
    """Count the neighbours up to the first wide gap, and those with the label of row i.

    Without sorting: distances go into bins about a third of that gap wide. No gap can hide inside
    a bin, so only the lowest and highest of each need be known to find the first one.
    """
    n = len(near)
    nearest, farthest = _ends(near, itself)
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
def sift_down(heap, base, size, at, near):
    """Move a row down to its position in the heap at `base`, which has the nearest row on top."""
    row = heap[base + at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and farther(near, heap[base + child], heap[base + child + 1]):
            child += 1
        if not farther(near, row, heap[base + child]):
            break
        heap[base + at] = heap[base + child]
        at = child
    heap[base + at] = row


@jit
def spread(near, itself, order, start):
    """Write the rows but one into bins of squared distance, nearest first, in row order inside.

    Bin b begins at ``start[b]`` of `order`.
    """
    nearest, farthest = _ends(near, itself)
    bins = len(start) - 2
    per_bin = (bins - 1) / (farthest - nearest) if farthest > nearest else 0.0
    start[:] = 0
    # Counts are stored two positions later, so that filling bin b moves start[b + 1] from where the
    # bin begins to its end, where bin b + 1 begins.
    for j in range(len(near)):
        if j != itself:
            start[int((float(near[j]) - nearest) * per_bin) + 2] += 1
    for b in range(2, len(start)):
        start[b] += start[b - 1]
    for j in range(len(near)):
        if j != itself:
            b = int((float(near[j]) - nearest) * per_bin) + 1
            order[start[b]] = j
            start[b] += 1


@jit
def density_neighbours(near, i, itself, codes, rule, slack, order, start):
    """Count the neighbours before the density turns, and those with the label of row i.

    Only the bins that the walk reaches are ordered, each as a heap.
    """
    spread(near, itself, order, start)
    rank, same, previous = 0, 0, 0.0
    for b in range(len(start) - 2):
        base, size = start[b], start[b + 1] - start[b]
        for at in range(size // 2 - 1, -1, -1):
            sift_down(order, base, size, at, near)
        while size > 0:
            row = order[base]
            square = float(near[row])
            if not goes_on(rule, square, previous, rank + 1, 0.0, slack):
                return rank, same
            rank += 1
            same += codes[row] == codes[i]
            previous = square
            size -= 1
            order[base] = order[base + size]
            sift_down(order, base, size, 0, near)
    return rank, same


@jit
def first_reaching(values, start, bound):
    """Return the index of the first of ``values[start:]`` at or above `bound`, or the length."""
    for j in range(start, len(values)):
        if values[j] >= bound:
            return j
    return len(values)
