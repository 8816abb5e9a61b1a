"""Columns of a block as lists of entries, the same for dense and sparse layouts.

A block comes as `flat` (dense, column after column; `indptr` is then empty) or as compressed
columns (`flat` is then empty). The content of a column decides how it is listed, not its layout: a
column that is mostly nonzero is listed whole, less its mean; any other column by its nonzeros, and
its mean is then no larger than its standard deviation. So both layouts give the same additions.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.correlation import moments

#: Used instead of the sum of squares for columns that no model can use: constant columns, or values
#: whose squares overflow or underflow. The negated numbers are the codes of the reasons.
CONSTANT, OUT_OF_RANGE = -1.0, -2.0


@jit
def list_column(flat, indptr, indices, values, n, j, shift, rows, entries):
    """List column j less `shift`: all rows, or the nonzeros if shift is 0; return the length."""
    dense = len(indptr) == 0
    if dense and shift == 0.0:
        count = 0
        for row in range(n):
            value = flat[j * n + row]
            if value != 0.0:
                rows[count] = row
                entries[count] = value
                count += 1
        return count
    if dense:
        for row in range(n):
            rows[row] = row
            entries[row] = flat[j * n + row] - shift
        return n
    first, last = indptr[j], indptr[j + 1]
    if shift == 0.0:
        for t in range(first, last):
            rows[t - first] = indices[t]
            entries[t - first] = values[t]
        return last - first
    for row in range(n):
        rows[row] = row
        entries[row] = -shift
    for t in range(first, last):
        entries[indices[t]] = values[t] - shift
    return n


@jit
def column_moments(flat, indptr, indices, values, n, centred, lo, hi, means, shifts, squares):
    """Compute mean, shift for `list_column` and sum of squares of columns lo..hi-1.

    Squares are about the mean, or a code if the column cannot be used. If not `centred`, mean and
    shift are 0 and squares are about 0.
    """
    rows, entries = np.empty(n, np.int32), np.empty(n, np.float64)
    for j in range(lo, hi):
        count = list_column(flat, indptr, indices, values, n, j, 0.0, rows, entries)
        means[j], squares[j] = moments(entries, 0, count, n)
        shifts[j] = means[j] if 2 * count > n else 0.0
        if not centred:
            means[j] = shifts[j] = 0.0
        if not centred and squares[j] >= 0.0:
            squares[j] = 0.0
            for t in range(count):
                squares[j] += entries[t] * entries[t]
        if squares[j] == 0.0 or not squares[j] < np.inf:
            squares[j] = OUT_OF_RANGE


@jit
def spread_column(flat, indptr, indices, values, n, j, mean, rows, entries, out):
    """Write column j as n numbers, less its mean."""
    count = list_column(flat, indptr, indices, values, n, j, 0.0, rows, entries)
    out[:] = -mean
    for t in range(count):
        out[rows[t]] = entries[t] - mean
