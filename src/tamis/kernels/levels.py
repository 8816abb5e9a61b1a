"""Code the levels of columns, from the entries that are not at the most common level.

A coded column is a list of (row, code) for every row that is *not* at the column's background
level (code 0), and the count of each level. Dense and sparse columns get the same codes, so
everything that counts levels is written once and costs what the column stores.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.sorting import first_not_below, sort

#: Up to this many levels are found by linear search, which beats sorting.
FEW_LEVELS = 16


@jit
def whole_top(values, first, last):
    """Return the largest of values first..last-1 if they can index a table, else -1.

    They can if all are whole, not negative and not too spread out (counts, codes).
    """
    room = max(FEW_LEVELS, 2 * (last - first))
    top = 0.0
    whole = True
    for t in range(first, last):
        value = values[t]
        whole &= (value >= 0.0) & (value <= room) & (value == np.floor(value))
        top = max(top, value)
    return int(top) if whole else -1


@jit
def whole_range(column):
    """Return the least value of a column of whole numbers, and the length of its range.

    The range includes zero, whether it occurs or not. Its length is 0 if a value is not whole, or
    if the values are too spread out to index a table.
    """
    room = max(FEW_LEVELS, 2 * len(column))
    low, high = 0.0, 0.0
    whole = True
    for row in range(len(column)):
        value = column[row]
        whole &= (abs(value) <= room) & (value == np.floor(value))
        low, high = min(low, value), max(high, value)
    size = int(high - low) + 1 if whole else 0
    return (int(low), size) if size <= room + 1 else (0, 0)


@jit
def code_values(values, count, codes, levels):
    """Code the distinct values of ``values[:count]``: zero is 0, others 1, 2, ... in order.

    Writes `codes`; returns the number of levels other than zero. `levels` is scratch for them.
    """
    top = whole_top(values, np.int64(0), count)  # a literal would be compiled once more
    if top >= 0:
        known = np.zeros(top + 1, np.int32)
        found = 0
        for t in range(count):
            value = int(values[t])
            if value > 0 and known[value] == 0:
                found += 1
                known[value] = found
            codes[t] = known[value]
        return found
    found = 0
    for t in range(count):
        value = values[t]
        if value == 0.0:
            codes[t] = 0
            continue
        code = 0
        while code < found and levels[code] != value:
            code += 1
        if code == found:
            if found == FEW_LEVELS:
                return code_by_sorting(values, count, codes, levels)
            levels[found] = value
            found += 1
        codes[t] = code + 1
    return found


@jit
def code_by_sorting(values, count, codes, levels):
    """Compute `code_values` for columns with many levels."""
    ordered = sort(values[:count])
    found = 0
    for t in range(count):
        value = ordered[t]
        if value != 0.0 and (found == 0 or levels[found - 1] != value):
            levels[found] = value
            found += 1
    for t in range(count):
        value = values[t]
        codes[t] = 0 if value == 0.0 else first_not_below(levels, found, value) + 1
    return found


@jit
def gather_nonzeros(column, rows, values):
    """List the nonzero entries of a dense column; return their number.

    `rows` and `values` need the length of the column.
    """
    count = 0
    for row in range(len(column)):
        # Written in any case: an unpredictable branch costs more.
        rows[count] = row
        values[count] = column[row]
        count += column[row] != 0.0
    return count


@jit
def compress(flat, n, picks, indptr, rows, values):
    """Compress some dense columns, of n rows each, that lie end to end in `flat`.

    The other arrays need the length of all their entries.
    """
    for i in range(len(picks)):
        at, first = indptr[i], picks[i] * n
        indptr[i + 1] = at + gather_nonzeros(flat[first : first + n], rows[at:], values[at:])


@jit
def encode_whole(flat, n, picks, out_pointers, out_rows, out_codes, level_pointers, counts):
    """Code dense columns, as `encode` does, up to the first that cannot index a table.

    Return the number of columns that were coded. Columns of whole numbers need no other kernel.
    """
    cells = np.empty(max(FEW_LEVELS, 2 * n) + 1, np.int64)
    for i in range(len(picks)):
        column = flat[picks[i] * n : (picks[i] + 1) * n]
        low, size = whole_range(column)
        if size == 0:
            return i
        _encode_whole(
            column, low, cells[:size], i,
            out_pointers, out_rows, out_codes, level_pointers, counts,
        )  # fmt: skip
    return len(picks)


@jit
def encode(
    flat, indptr, rows, values, n, picks, begin, out_pointers, out_rows, out_codes, level_pointers,
    counts,
):  # fmt: skip
    """Code some columns of a block from ``picks[begin]`` on, each relative to its commonest level.

    ``out_rows`` and ``out_codes`` need one element per entry of the columns and one more,
    ``counts`` needs entries + 1 levels per column. A dense column has n entries.
    """
    dense, longest, start = len(indptr) == 0, 1, np.int64(0)
    if dense:
        longest = n
    else:
        for j in picks:
            longest = max(longest, indptr[j + 1] - indptr[j])
    codes, levels = np.empty(longest, np.int32), np.empty(longest, np.float64)
    own_rows, own_values = np.empty(n * dense, np.int32), np.empty(n * dense, np.float64)
    cells = np.empty((max(FEW_LEVELS, 2 * n) + 1) * dense, np.int64)
    for i in range(begin, len(picks)):
        j = picks[i]
        if dense:
            column = flat[j * n : (j + 1) * n]
            low, size = whole_range(column)
            if size > 0:
                _encode_whole(
                    column, low, cells[:size], i,
                    out_pointers, out_rows, out_codes, level_pointers, counts,
                )  # fmt: skip
                continue
            count = gather_nonzeros(column, own_rows, own_values)
            _encode_column(
                own_rows, own_values, start, count, n, codes, levels, i,
                out_pointers, out_rows, out_codes, level_pointers, counts,
            )  # fmt: skip
        else:
            _encode_column(
                rows, values, indptr[j], indptr[j + 1] - indptr[j], n, codes, levels, i,
                out_pointers, out_rows, out_codes, level_pointers, counts,
            )  # fmt: skip


@jit
def _encode_whole(
    column, low, cells, i, out_pointers, out_rows, out_codes, level_pointers, counts
):  # fmt: skip
    """Code a column of whole numbers from `low` on, which index a table."""
    cells[:] = 0
    for row in range(len(column)):
        cells[int(column[row]) - low] += 1
    # Zero comes first, whether it occurs or not, as in columns that do not store zeros.
    at, found, common = level_pointers[i], 0, 0
    counts[at] = cells[-low]
    cells[-low] = 0
    for cell in range(len(cells)):
        if cells[cell] > 0:
            found += 1
            counts[at + found] = cells[cell]
            cells[cell] = found
            if counts[at + found] > counts[at + common]:
                common = found
    level_pointers[i + 1] = at + found + 1
    counts[at], counts[at + common] = counts[at + common], counts[at]
    out = out_pointers[i]
    for row in range(len(column)):
        code = cells[int(column[row]) - low]
        out_rows[out] = row
        out_codes[out] = code if code != 0 else common
        out += code != common
    out_pointers[i + 1] = out


@jit
def _encode_column(
    rows, values, first, count, n_rows, codes, levels, j,
    out_pointers, out_rows, out_codes, level_pointers, counts,
):  # fmt: skip
    """Code column j, which is entries first..first+count-1; `codes` and `levels` are scratch."""
    found = code_values(values[first : first + count], count, codes, levels)
    at = level_pointers[j]
    level_pointers[j + 1] = at + found + 1
    counts[at : at + found + 1] = 0
    for t in range(count):
        counts[at + codes[t]] += 1
    counts[at] += n_rows - count
    common = 0
    for level in range(1, found + 1):
        if counts[at + level] > counts[at + common]:
            common = level
    out = out_pointers[j]
    if common == 0:
        # Written in any case: an unpredictable branch costs more.
        for t in range(count):
            out_rows[out] = rows[first + t]
            out_codes[out] = codes[t]
            out += codes[t] != 0
    else:
        # Swap the most common level with zero, so that it need not be listed.
        t = 0
        for row in range(n_rows):
            code = 0
            if t < count and rows[first + t] == row:
                code = codes[t]
                t += 1
            out_rows[out] = row
            out_codes[out] = common if code == 0 else code
            out += code != common
        counts[at], counts[at + common] = counts[at + common], counts[at]
    out_pointers[j + 1] = out
