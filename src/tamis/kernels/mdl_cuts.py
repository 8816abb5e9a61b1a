"""Entropy cuts with the stopping rule of Fayyad and Irani (MDLP), in integer arithmetic.

Class entropies are sums over the table of g(k) = k log2 k (`tamis.kernels.information`), so the cut
of least entropy does not depend on the order of additions, and ties are ties: the lowest cut wins.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.cuts import ZEROS, between, is_discrete, sort_column
from tamis.kernels.sorting import sort


@inline
def _take(left, right, c, count, table, sums, kinds):
    """Move `count` rows of class c from the right side to the left."""
    sums[0] += table[left[c] + count] - table[left[c]]
    sums[1] += table[right[c] - count] - table[right[c]]
    kinds[0] += 1 if left[c] == 0 else 0
    left[c] += count
    right[c] -= count
    kinds[1] -= 1 if right[c] == 0 else 0


@inline
def _rows_and_classes(classes, lump, lo, hi, counts):
    """Count the classes of items lo..hi-1; return the rows."""
    counts[:] = 0
    rows = 0
    for t in range(lo, hi):
        if classes[t] == ZEROS:
            for c in range(len(counts)):
                counts[c] += lump[c]
                rows += lump[c]
        else:
            counts[classes[t]] += 1
            rows += 1
    return rows


@jit
def best_split(items, classes, lump, lo, hi, table, unit, left, right):
    """Return the first item above the best cut of items lo..hi-1, or -1 if the rule stops.

    With N rows S of k classes, cut into S1 and S2 of k1 and k2 classes: cut if
    N Gain > log2(N - 1) + log2(3^k - 2) - (k Ent(S) - k1 Ent(S1) - k2 Ent(S2)).
    """
    n = _rows_and_classes(classes, lump, lo, hi, right)
    sums, kinds = np.zeros(2, np.int64), np.zeros(2, np.int64)
    left[:] = 0
    for c in range(len(right)):
        sums[1] += table[right[c]]
        kinds[1] += 1 if right[c] > 0 else 0
    k, whole = kinds[1], table[n] - sums[1]
    at, least, below, parts = -1, np.int64(0), 0, 0.0
    rows = 0
    for t in range(lo, hi - 1):
        if classes[t] == ZEROS:
            for c in range(len(left)):
                if lump[c] > 0:
                    _take(left, right, c, lump[c], table, sums, kinds)
                    rows += lump[c]
        else:
            _take(left, right, classes[t], 1, table, sums, kinds)
            rows += 1
        if items[t + 1] == items[t]:
            continue
        lower, upper = table[rows] - sums[0], table[n - rows] - sums[1]
        if at < 0 or lower + upper < least:
            at, least, below = t + 1, lower + upper, rows
            parts = kinds[0] * lower / below + kinds[1] * upper / (n - below)
    if at < 0:
        return -1
    gain = (whole - least) / unit
    cost = np.log2(n - 1.0) + k * np.log2(3.0) + np.log2(1.0 - 2.0 * 3.0 ** (-1.0 * k))
    return at if gain > cost - (k * whole / n - parts) / unit else -1


@jit
def mdlp_items(items, classes, lump, count, table, unit, left, right, pending, out):
    """Write the sorted cuts of one column to `out`; return their number."""
    found, waiting = 0, 1
    pending[0, 0], pending[0, 1] = 0, count
    while waiting > 0:
        waiting -= 1
        lo, hi = pending[waiting, 0], pending[waiting, 1]
        at = best_split(items, classes, lump, lo, hi, table, unit, left, right)
        if at < 0:
            continue
        out[found] = between(items[at - 1], items[at])
        found += 1
        pending[waiting, 0], pending[waiting, 1] = lo, at
        pending[waiting + 1, 0], pending[waiting + 1, 1] = at, hi
        waiting += 2
    ordered = sort(out[:found])
    for i in range(found):
        out[i] = ordered[i]
    return found


@jit
def mdlp_columns(
    flat, indptr, indices, values, n, zero_is_gap, most_levels, y, class_counts, table, unit,
    stays, lo, hi, numbers,
):  # fmt: skip
    """Write the cuts of columns lo..hi-1 end to end, and the number of each column's to `numbers`.

    Columns with few distinct whole numbers are marked in `stays` and get no cuts. A negative
    limit marks none of them.
    """
    rows, entries = np.empty(n + 1, np.int32), np.empty(n + 1)
    items, classes = np.empty(n + 1), np.empty(n + 1, np.int32)
    lump, left = np.empty_like(class_counts), np.empty_like(class_counts)
    right, pending, cuts = np.empty_like(left), np.empty((n + 2, 2), np.int64), np.empty(n + 1)
    out, filled = np.empty(64), 0
    for j in range(lo, hi):
        numbers[j] = 0
        if stays[j]:
            continue
        count, _ = sort_column(
            flat, indptr, indices, values, n, j, zero_is_gap, y, class_counts, rows, entries,
            items, classes, lump,
        )  # fmt: skip
        stays[j] = is_discrete(items, count, most_levels)
        if stays[j] or count == 0:
            continue
        found = mdlp_items(
            items, classes, lump, count, table, unit, left, right, pending, cuts
        )  # fmt: skip
        if filled + found > len(out):
            out = np.concatenate((out[:filled], np.empty(len(out) + found)))
        for i in range(found):
            out[filled + i] = cuts[i]
        filled, numbers[j] = filled + found, found
    return out[:filled]
