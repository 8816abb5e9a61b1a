"""Exact tests of single cells: one bin, or one cut, against one class.

The law of the statistic of a whole table of bins and classes is known by its mean and variance
only, and is wrong by factors far out in the tail if some expected counts are small. Fisher's exact
test of each cell, times the number of cells, is valid at any level.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.levels import gather_nonzeros
from tamis.kernels.shapes import MOST_BINS, fisher, shape_column, target_table

#: With at least so many rows expected in every cell, the law of the whole table can be trusted;
#: with fewer if neither bins nor classes differ much in size.
EXPECTED, EXPECTED_IF_EQUAL, EQUAL = 25.0, 5.0, 3.0


@jit
def least_of_cells(
    flat, indptr, rows, values, unordered, bins, groups, weights, group_counts, norms, picks, p
):  # fmt: skip
    """Write the least p-value of the cells of picked columns, times their number.

    Writes -1 where every expected count is large enough for the law of the whole table.
    """
    n, n_groups, dense = len(groups), len(group_counts), len(indptr) == 0
    own_rows, own_values = np.empty(n * dense, np.int32), np.empty(n * dense)
    sizes, codes, scores = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(n + 1)
    listed, binned, scored = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n)
    counts, table = np.empty(MOST_BINS, np.int64), np.empty((MOST_BINS, n_groups), np.int64)
    sums = np.empty(len(norms))
    logs = np.zeros(n + 1)
    for k in range(2, n + 1):
        logs[k] = logs[k - 1] + np.log(k)
    from_rows, from_values = (own_rows, own_values) if dense else (rows, values)
    for i in range(len(picks)):
        j = picks[i]
        if dense:
            first, last = 0, gather_nonzeros(flat[j * n : (j + 1) * n], own_rows, own_values)
        else:
            first, last = indptr[j], indptr[j + 1]
        length, width, background, base, _, _, _, _ = shape_column(
            from_rows, from_values, first, last, n, unordered[j], bins, sizes, codes, scores,
            listed, binned, scored, counts,
        )  # fmt: skip
        target_table(
            listed[:length], binned, scored, width, background, base, groups, weights,
            group_counts, table, sums,
        )  # fmt: skip
        p[i] = _least(table, counts, width, group_counts, n, unordered[j], logs)


@jit
def _extremes(counts, size):
    """Return the least and the largest of the first `size` counts."""
    least, largest = counts[0], counts[0]
    for i in range(size):
        least, largest = min(least, counts[i]), max(largest, counts[i])
    return least, largest


@jit
def _least(table, counts, width, group_counts, n, unordered, logs):
    rare_bin, full_bin = _extremes(counts, width)
    rare_class, full_class = _extremes(group_counts, len(group_counts))
    expected = rare_bin * rare_class / n
    equal = max(full_bin / rare_bin, full_class / rare_class) <= EQUAL
    if expected >= (EXPECTED_IF_EQUAL if equal else EXPECTED):
        return -1.0
    first_group = 1 if len(group_counts) == 2 else 0
    least, cells = 1.0, 0
    for c in range(first_group, len(group_counts)):
        both, size = 0, 0
        for b in range(width):
            if width > 2 or b == 0:
                least = min(least, fisher(table[b, c], counts[b], group_counts[c], n, logs))
                cells += 1
            both += table[b, c]
            size += counts[b]
            # The first and the last cut are those of a single bin.
            if not unordered and 1 <= b < width - 2:
                least = min(least, fisher(both, size, group_counts[c], n, logs))
                cells += 1
    return min(1.0, least * cells)
