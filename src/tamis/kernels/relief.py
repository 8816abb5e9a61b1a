"""Distances between rows and weights of columns, for ReliefF.

A column's values differ by |a - b| / (max - min), or by 0 or 1 where they have no order. Distances
are sums of that over columns in integer units of 2^-24, so they do not depend on the order, and
columns that are mostly zero cost only the pairs of rows in which both values are nonzero.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.column_entries import list_column

#: The largest difference of a column, in units.
WHOLE = 1 << 24
#: Columns whose distances are added together.
TILE = 64


@jit
def column_ranges(flat, indptr, indices, values, n, lo, hi, lows, spans):
    """Compute the lowest value of columns lo..hi-1, and highest less lowest (0: constant)."""
    rows, entries = np.empty(n, np.int32), np.empty(n, np.float64)
    for j in range(lo, hi):
        count = list_column(flat, indptr, indices, values, n, j, 0.0, rows, entries)
        low, high = np.inf, -np.inf
        if count < n:
            low, high = 0.0, 0.0
        for t in range(count):
            low, high = min(low, entries[t]), max(high, entries[t])
        lows[j], spans[j] = low, high - low


@inline
def in_units(value, low, span):
    """Return how far a value is above the lowest of its column."""
    return np.int64(np.rint((value - low) / span * WHOLE))


@inline
def apart(a, b, low, span, discrete):
    """Return how much two values of a column differ, in units."""
    if discrete:
        return WHOLE if a != b else 0
    return abs(in_units(a, low, span) - in_units(b, low, span))


@jit
def add_tile(tile, picks, lo, hi, near):
    """Add the distances on the columns of a tile (one line per row) to picks lo..hi-1."""
    n, width = tile.shape
    for s in range(lo, hi):
        one = tile[picks[s]]
        for row in range(n):
            total = 0
            for c in range(width):
                total += abs(one[c] - tile[row, c])
            near[s, row] += total


@jit
def add_distances(
    flat, indptr, indices, values, n, lows, spans, discrete, picks, slots, lo, hi, near, off
):  # fmt: skip
    """Add the distances on a block's columns from rows picks[lo..hi-1] to all rows.

    `slots` gives the index of a row among the picks, or -1. Columns that are mostly zero add what
    two rows that are not zero have less than their distances from zero; `off` collects the latter
    for every row (where lo is 0, so that it happens once), and `add_off` adds them in the end.
    """
    rows, entries = np.empty(n, np.int32), np.empty(n, np.float64)
    tile, tiled = np.zeros((n, TILE), np.int32), 0
    for j in range(len(spans)):
        if not 0.0 < spans[j] < np.inf:
            continue
        low, span, kind = lows[j], spans[j], discrete[j]
        count = list_column(flat, indptr, indices, values, n, j, 0.0, rows, entries)
        if 2 * count > n and not kind:
            tile[:, tiled] = in_units(0.0, low, span)
            for t in range(count):
                tile[rows[t], tiled] = in_units(entries[t], low, span)
            tiled += 1
            if tiled == TILE:
                add_tile(tile, picks, lo, hi, near)
                tile[:, :] = 0
                tiled = 0
            continue
        for t in range(count):
            from_zero = apart(entries[t], 0.0, low, span, kind)
            if lo == 0:
                off[rows[t]] += from_zero
            s = slots[rows[t]]
            if lo <= s < hi:
                for u in range(count):
                    near[s, rows[u]] += (
                        apart(entries[t], entries[u], low, span, kind)
                        - from_zero
                        - apart(entries[u], 0.0, low, span, kind)
                    )
    if tiled:
        add_tile(tile, picks, lo, hi, near)


@jit
def add_off(near, picks, off):
    """Add to every distance how far both rows are from zero on the columns that are mostly zero."""
    for s in range(len(picks)):
        for row in range(len(off)):
            near[s, row] += off[picks[s]] + off[row]


@jit
def nearest_by_class(near, picks, codes, k, lo, hi, found, counts):
    """Find the k nearest rows per class of picks lo..hi-1, nearest first; ties by row number."""
    for s in range(lo, hi):
        for row in range(len(codes)):
            if row == picks[s]:
                continue
            c = codes[row]
            mine, at = found[s, c], counts[s, c]
            if at == k:
                if near[s, row] >= near[s, mine[k - 1]]:
                    continue
                at -= 1
            else:
                counts[s, c] += 1
            while at > 0 and near[s, mine[at - 1]] > near[s, row]:
                mine[at] = mine[at - 1]
                at -= 1
            mine[at] = row


@jit
def weights(
    flat, indptr, indices, values, n, spans, discrete, starts, others, shares, lo, hi, out
):  # fmt: skip
    """Compute the weights of columns lo..hi-1: weighted differences of neighbouring rows.

    Row r neighbours ``others[starts[r]:starts[r + 1]]``, and each of those neighbours r. A pair of
    zeros differs by nothing, so only rows that are not zero are visited.
    """
    rows, entries, whole = np.empty(n, np.int32), np.empty(n), np.zeros(n)
    for j in range(lo, hi):
        out[j] = 0.0
        if not 0.0 < spans[j] < np.inf:
            continue
        count = list_column(flat, indptr, indices, values, n, j, 0.0, rows, entries)
        for t in range(count):
            whole[rows[t]] = entries[t]
        total = 0.0
        for t in range(count):
            row, value = rows[t], entries[t]
            for u in range(starts[row], starts[row + 1]):
                other = whole[others[u]]
                if other != 0.0 and others[u] < row:
                    continue  # the pair was visited from the other side
                if discrete[j]:
                    total += shares[u] * (value != other)
                else:
                    total += shares[u] * abs(value - other)
        out[j] = total if discrete[j] else total / spans[j]
        for t in range(count):
            whole[rows[t]] = 0.0
