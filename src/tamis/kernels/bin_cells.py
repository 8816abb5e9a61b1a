"""Exact tests of single cells: one bin, or one cut, against one class.

The law of the statistic of a whole table of bins and classes is known by its mean and variance
only, and is wrong by factors far out in the tail if some expected counts are small. Fisher's exact
test of each cell, times the number of cells, is valid at any level.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.shapes import MOST_BINS, fisher

#: With at least so many rows expected in every cell, the law of the whole table can be trusted;
#: with fewer if neither bins nor classes differ much in size.
EXPECTED, EXPECTED_IF_EQUAL, EQUAL = 25.0, 5.0, 3.0


@jit
def least_of_cells(
    indptr, rows, codes, level_counts, n_bins, backgrounds, unordered, groups, group_counts, p
):  # fmt: skip
    """Write the least p-value of the cells of shaped columns, times their number.

    Writes -1 where every expected count is large enough for the law of the whole table.
    """
    n, n_groups = len(groups), len(group_counts)
    table, logs = np.empty((MOST_BINS, n_groups), np.int64), np.zeros(n + 1)
    for k in range(2, n + 1):
        logs[k] = logs[k - 1] + np.log(k)
    for i in range(len(p)):
        table[:] = 0
        for c in range(n_groups if backgrounds[i] >= 0 else 0):
            table[backgrounds[i], c] = group_counts[c]
        for t in range(indptr[i], indptr[i + 1]):
            c = groups[rows[t]]
            table[codes[t], c] += 1
            if backgrounds[i] >= 0:
                table[backgrounds[i], c] -= 1
        p[i] = _least(table, level_counts[i], n_bins[i], group_counts, n, unordered[i], logs)


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
