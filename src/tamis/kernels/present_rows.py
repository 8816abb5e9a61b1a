"""Correlations by pairwise deletion: over the rows where neither side is missing.

Columns come compressed, without stored zeros; the number `gap` means missing. If `gap` is 0, rows
that are not listed are missing. Every sum runs over the rows that count, in order, about the means
of those rows: nothing is subtracted from sums over all rows, so an outlier in a row that is left
out costs no digits.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.correlation import column_strength

#: The results about a column: rows that count, and classes among them.
ROWS, CLASSES = range(2)


@jit
def present_rows(rows, values, first, last, n, gap, own_rows, own_values):
    """List the rows of one column where it is not missing, zeros too; return their number."""
    count = 0
    if gap == 0.0:
        for t in range(first, last):
            own_rows[count], own_values[count] = rows[t], values[t]
            count += 1
        return count
    t = first
    for row in range(n):
        value = 0.0
        if t < last and rows[t] == row:
            value = values[t]
            t += 1
        own_rows[count], own_values[count] = row, value
        count += value != gap
    return count


@inline
def _is_constant(values, count):
    same = True
    for t in range(count):
        same &= values[t] == values[0]
    return same


@jit
def _with_numbers(rows, values, count, y):
    """Return the absolute correlation of listed values with the target in their rows."""
    mean, mean_y = 0.0, 0.0
    same = True
    for t in range(count):
        mean += values[t]
        mean_y += y[rows[t]]
        same &= y[rows[t]] == y[rows[0]]
    if same:
        return 0.0
    mean, mean_y = mean / count, mean_y / count
    squares, squares_y, products = 0.0, 0.0, 0.0
    for t in range(count):
        a, b = values[t] - mean, y[rows[t]] - mean_y
        squares += a * a
        squares_y += b * b
        products += a * b
    share = abs(products) / np.sqrt(squares * squares_y)
    return min(1.0, share) if share >= 0.0 else 0.0


@jit
def _with_classes(rows, values, count, y, sums, counts):
    """Return the multiple correlation of listed values with the classes, and their number."""
    mean = 0.0
    counts[:] = 0
    sums[:] = 0.0
    for t in range(count):
        mean += values[t]
        counts[y[rows[t]]] += 1
    mean /= count
    squares = 0.0
    for t in range(count):
        centred = values[t] - mean
        squares += centred * centred
        sums[y[rows[t]]] += centred
    explained, classes = 0.0, 0
    for g in range(len(sums)):
        if counts[g] > 0:
            classes += 1
            explained += sums[g] * sums[g] / counts[g]
    if classes < 2:
        return 0.0, classes
    share = explained / squares
    return (min(1.0, np.sqrt(share)) if share >= 0.0 else 0.0), classes


@jit
def relevance_present(
    indptr, rows, values, gap, groups, weights, totals, norms, y, lo, hi, strength, found
):  # fmt: skip
    """Compute the strength of columns lo..hi-1 towards the target; -1 if constant.

    `groups`, `weights`, `totals` and `norms` are those of `column_strength`, which computes columns
    without missing values: their numbers are those of the plain measure. `y` are the numbers of the
    target if it enters as numbers. `found` are the rows and classes of each column.
    """
    n, by_numbers = len(groups), len(weights) > 0
    own_rows, own_values = np.empty(n + 1, np.int32), np.empty(n + 1, np.float64)
    sums, seen = np.empty(len(norms)), np.empty(len(norms))
    counts = np.empty(len(norms), np.int64)
    for j in range(lo, hi):
        first, last = indptr[j], indptr[j + 1]
        whole = gap != 0.0
        for t in range(first, last):
            whole &= values[t] != gap
        if gap == 0.0 and last - first == n:
            whole = True
        if whole:
            found[j, ROWS], found[j, CLASSES] = n, len(norms)
            strength[j] = column_strength(
                rows, values, first, last, groups, weights, totals, norms, sums, seen
            )
            continue
        count = present_rows(rows, values, first, last, n, gap, own_rows, own_values)
        found[j, ROWS], found[j, CLASSES] = count, 0
        if count == 0 or _is_constant(own_values, count):
            strength[j] = -1.0
        elif by_numbers:
            strength[j] = _with_numbers(own_rows, own_values, count, y)
        else:
            strength[j], found[j, CLASSES] = _with_classes(
                own_rows, own_values, count, groups, sums, counts
            )


@inline
def _row_at(rows, i, last, n):
    """Return the row of entry i, n at the end of its column."""
    return rows[i] if i < last else n


@jit
def correlation_of_pair(
    rows_a, values_a, first_a, last_a, rows_b, values_b, first_b, last_b, n, gap
):  # fmt: skip
    """Return the correlation of two columns over the rows where both are there, and their number.

    It is 0 if one of them is constant there.
    """
    i, j, listed, gone = first_a, first_b, 0, 0
    mean_a, mean_b = 0.0, 0.0
    low_a, low_b, high_a, high_b = np.inf, np.inf, -np.inf, -np.inf
    while i < last_a or j < last_b:
        row_a, row_b = _row_at(rows_a, i, last_a, n), _row_at(rows_b, j, last_b, n)
        a, b = 0.0, 0.0
        if row_a <= row_b:
            a = values_a[i]
            i += 1
        if row_b <= row_a:
            b = values_b[j]
            j += 1
        if a == gap or b == gap:
            gone += 1
            continue
        listed += 1
        mean_a += a
        mean_b += b
        low_a, high_a, low_b, high_b = min(low_a, a), max(high_a, a), min(low_b, b), max(high_b, b)
    count = listed if gap == 0.0 else n - gone
    if count > listed:  # rows where both are zero
        low_a, high_a = min(low_a, 0.0), max(high_a, 0.0)
        low_b, high_b = min(low_b, 0.0), max(high_b, 0.0)
    if count == 0 or low_a == high_a or low_b == high_b:
        return 0.0, count
    mean_a, mean_b = mean_a / count, mean_b / count
    zeros = count - listed
    squares_a, squares_b = zeros * mean_a * mean_a, zeros * mean_b * mean_b
    products = zeros * mean_a * mean_b
    i, j = first_a, first_b
    while i < last_a or j < last_b:
        row_a, row_b = _row_at(rows_a, i, last_a, n), _row_at(rows_b, j, last_b, n)
        a, b = 0.0, 0.0
        if row_a <= row_b:
            a = values_a[i]
            i += 1
        if row_b <= row_a:
            b = values_b[j]
            j += 1
        if a == gap or b == gap:
            continue
        squares_a += (a - mean_a) * (a - mean_a)
        squares_b += (b - mean_b) * (b - mean_b)
        products += (a - mean_a) * (b - mean_b)
    share = products / np.sqrt(squares_a * squares_b)
    return (min(1.0, max(-1.0, share)) if share == share else 0.0), count


@jit
def correlations_with_kept(
    indptr, rows, values, kept_indptr, kept_rows, kept_values, n, gap, first, lo, hi, out, counts
):  # fmt: skip
    """Compute the correlation of columns first+lo..first+hi-1 with every kept column."""
    for i in range(lo, hi):
        j = first + i
        for s in range(len(kept_indptr) - 1):
            out[i, s], counts[i, s] = correlation_of_pair(
                rows, values, indptr[j], indptr[j + 1],
                kept_rows, kept_values, kept_indptr[s], kept_indptr[s + 1], n, gap,
            )  # fmt: skip


@jit
def correlations_with_one(indptr, rows, values, one, picks, n, gap, lo, hi, out):
    """Compute the correlation of column `one` with columns picks[lo..hi-1]."""
    for i in range(lo, hi):
        j = picks[i]
        out[i], _ = correlation_of_pair(
            rows, values, indptr[j], indptr[j + 1],
            rows, values, indptr[one], indptr[one + 1], n, gap,
        )  # fmt: skip
