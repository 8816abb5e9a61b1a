"""Mutual information from counts, in fixed point, so that every path gives the same bits.

With g(k) = k log2 k, n H(X) = g(n) - sum g(n_x) and n I(X;Y) = n H(X) + n H(Y) - n H(X,Y). Every g
comes from one table of whole numbers (g scaled by a power of two), so sums are exact and do not
depend on the order of rows, levels or cells: dense, sparse, pruned and threaded paths agree to the
bit, and features with the same counts are tied, not nearly tied.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.kernels._jit import jit
from tamis.kernels.levels import (
    FEW_LEVELS,
    code_by_sorting,
    gather_nonzeros,
    whole_range,
    whole_top,
)
from tamis.kernels.rowlists import NODE_CELLS, NODE_COUNT, NODE_NEXT

#: Results of two-level columns with fewer entries than this are cached.
FEW_ENTRIES = 64

#: A table entry is off by at most one unit; sums smaller than this per lookup are zero.
ROUNDING = 2


def entropy_table(n: int, digits: int = 52) -> tuple[npt.NDArray[np.int64], float]:
    """Return the table of g(k) = k log2 k for k = 0..n in integer units, and the units per bit.

    g(n) is scaled to just under 2^digits: with 52 entries are as exact as the double they come from
    and sums stay far from overflow; with more they come from extended precision, where the machine
    has it.

    >>> table, unit = entropy_table(8)
    >>> (table / unit)[[0, 1, 2, 4, 8]].tolist()
    [0.0, 0.0, 2.0, 8.0, 24.0]
    """
    k: npt.NDArray[Any] = np.arange(n + 1, dtype=np.float64 if digits <= 52 else np.longdouble)
    g = np.zeros_like(k)
    g[2:] = k[2:] * np.log2(k[2:])
    unit = 2.0 ** math.floor(digits - math.log2(max(g[n], 1.0)))
    return np.rint(g * unit).astype(np.int64), unit


@jit
def relevance(
    flat, indptr, rows, values, y, class_counts, table, units, symmetric, cutoff_table, lo, hi,
    strength, cutoff, many, ones_of,
):  # fmt: skip
    """Compute strength and cutoff of columns lo..hi-1 of a block towards the class.

    `cutoff_table` holds the cutoff for each number of levels; a column with more levels than it
    knows gets minus their number, for the caller to look up, and ``many[0]`` is set. `ones_of`
    gets the entries in class 1 of columns whose entries are all equal, else -1.
    """
    n, n_classes, dense = len(y), len(class_counts), len(indptr) == 0
    class_entropy = table[n]
    for c in range(n_classes):  # a loop, because numba's `sum` is slow to load
        class_entropy -= table[class_counts[c]]
    counts = np.zeros((FEW_LEVELS + 1) * n_classes, np.int64)
    # Nearly all columns of big sparse data hold few entries, all of one value, and there are nearly
    # always two classes. The result then depends on two small numbers only, and is cached.
    known = np.full((FEW_ENTRIES, FEW_ENTRIES, 2), -1.0)
    own_rows, own_values = np.empty(n * dense, np.int32), np.empty(n * dense, np.float64)
    last = 0 if dense else indptr[lo]
    for j in range(lo, hi):
        few, count, ones = False, 0, 0
        ones_of[j] = -1
        if dense:
            information, entropy, levels = _dense_information(
                flat[j * n : (j + 1) * n], y, class_counts, table, class_entropy, counts, own_rows,
                own_values,
            )  # fmt: skip
        else:
            first, last = last, indptr[j + 1]
            count = last - first
            if count == 0:
                strength[j], cutoff[j] = 0.0, np.nan
                continue
            value = values[first]
            same = n_classes == 2 and count < n and value != 0.0 and values[last - 1] == value
            if same:
                for t in range(first, last):
                    same &= values[t] == value
                    ones += y[rows[t]]
            ones_of[j] = ones if same else -1
            few = same and count < FEW_ENTRIES
            if few and known[count, ones, 0] >= 0.0:
                strength[j], cutoff[j] = known[count, ones, 0], known[count, ones, 1]
                continue
            if same:
                information, entropy = _two_by_two(count, ones, class_counts, table, class_entropy)
                levels = 2
            else:
                information, entropy, levels = column_information(
                    rows, values, first, last, y, class_counts, table, class_entropy, counts
                )
        strength[j], cutoff[j] = _scaled(
            information, entropy + class_entropy, levels, units, symmetric, cutoff_table
        )
        if few:
            known[count, ones, 0], known[count, ones, 1] = strength[j], cutoff[j]
        if levels >= len(cutoff_table):
            many[0] = True


@jit
def _two_by_two(count, ones, class_counts, table, class_entropy):
    """Return information and entropy of a column of `count` equal entries, `ones` in class 1."""
    n = class_counts[0] + class_counts[1]
    entropy = table[n] - table[count] - table[n - count]
    joint = table[ones] + table[count - ones]
    joint += table[class_counts[1] - ones] + table[class_counts[0] - (count - ones)]
    information = entropy + class_entropy - table[n] + joint
    return (information if information > ROUNDING * 9 else 0), entropy


@jit
def _dense_information(column, y, class_counts, table, class_entropy, counts, rows, values):
    """Compute `column_information` for a dense column; `rows` and `values` are scratch."""
    n_classes = len(class_counts)
    low, size = whole_range(column)
    if 0 < size * n_classes <= len(counts):
        counts[: size * n_classes] = 0
        for row in range(len(y)):
            counts[(int(column[row]) - low) * n_classes + y[row]] += 1
        return _from_counts(counts, size - 1, class_counts, table, class_entropy)
    count = gather_nonzeros(column, rows, values)
    return column_information(rows, values, 0, count, y, class_counts, table, class_entropy, counts)


@jit
def _scaled(information, entropies, levels, units, symmetric, cutoff_table):
    """Convert strength and cutoff from table units: to bits, or to a share of both entropies."""
    if levels == 1:
        return 0.0, np.nan
    cutoff = cutoff_table[levels] if levels < len(cutoff_table) else -float(levels)
    if not symmetric:
        return information / units, cutoff
    if cutoff > 0.0 and cutoff_table[0] > 0.0:  # entry 0: cutoffs are in bits, to be scaled too
        cutoff = 2.0 * cutoff * units / entropies
    return 2.0 * information / entropies, cutoff


@jit
def column_information(rows, values, first, last, y, class_counts, table, class_entropy, counts):
    """Return information with the class, entropy (both n times, in units) and levels of a column.

    The column is entries first..last-1 of `rows` and `values`; making a slice would cost more than
    counting a short column.
    """
    n_classes = len(class_counts)
    same = first < last and values[first] != 0.0
    for t in range(first + 1, last):
        same &= values[t] == values[first]
    if same:  # one level, and perhaps zero
        n, count, joint = len(y), last - first, 0
        counts[:n_classes] = 0
        for t in range(first, last):
            counts[y[rows[t]]] += 1
        for c in range(n_classes):
            joint += table[counts[c]] + table[class_counts[c] - counts[c]]
        entropy = table[n] - table[count] - table[n - count]
        information = entropy + class_entropy - table[n] + joint
        small = ROUNDING * 3 * (n_classes + 1)
        return (information if information > small else 0), entropy, (2 if count < n else 1)
    top = whole_top(values, first, last)
    if top >= 0:
        size = (top + 1) * n_classes
        cells = counts if size <= len(counts) else np.empty(size, np.int64)
        cells[:size] = 0
        for t in range(first, last):
            cells[int(values[t]) * n_classes + y[rows[t]]] += 1
        return _from_counts(cells, top, class_counts, table, class_entropy)
    found = _count_few(rows, values, first, last, y, n_classes, counts)
    if found >= 0:
        return _from_counts(counts, found, class_counts, table, class_entropy)
    many = last - first
    codes, level_values = np.empty(many, np.int32), np.empty(many, np.float64)
    found = code_by_sorting(values[first:last], many, codes, level_values)
    cells = np.zeros((found + 1) * n_classes, np.int64)
    for t in range(many):
        cells[codes[t] * n_classes + y[rows[first + t]]] += 1
    return _from_counts(cells, found, class_counts, table, class_entropy)


@jit
def _count_few(rows, values, first, last, y, n_classes, counts):
    """Count levels by class by linear search; return -1 if there are too many for that."""
    level_values = np.empty(FEW_LEVELS, np.float64)
    found = 0
    counts[:n_classes] = 0
    for t in range(first, last):
        value = values[t]
        code = 0
        if value != 0.0:
            while code < found and level_values[code] != value:
                code += 1
            if code == found:
                if found == FEW_LEVELS:
                    return -1
                level_values[found] = value
                found += 1
                counts[found * n_classes : (found + 1) * n_classes] = 0
            code += 1
        counts[code * n_classes + y[rows[t]]] += 1
    return found


@jit
def _from_counts(cells, found, class_counts, table, class_entropy):
    """Return information, entropy and levels from the counts of levels 0..found by class.

    Level 0 (zero) holds stored zeros only; the rows that are not stored are added here.
    """
    n_classes = len(class_counts)
    n = 0
    for c in range(n_classes):
        missing = class_counts[c]
        n += missing
        for level in range(found + 1):
            missing -= cells[level * n_classes + c]
        cells[c] += missing
    entropy = table[n]
    joint = 0
    occupied = 0
    for level in range(found + 1):
        in_level = 0
        for c in range(n_classes):
            cell = cells[level * n_classes + c]
            joint += table[cell]
            in_level += cell
        entropy -= table[in_level]
        occupied += in_level > 0
    information = entropy + class_entropy - table[n] + joint
    if information <= ROUNDING * (occupied + 1) * (n_classes + 1):
        information = 0
    return information, entropy, occupied


@jit
def pair_information(
    indptr, rows, codes, level_pointers, level_counts, entropies, lo, hi,
    heads, nodes, slot_cells, cell_counts, slot_entropy, alive, table, n, first, out,
):  # fmt: skip
    """Compute the information (n times, in units) of coded columns with every live kept column.

    Columns are lo..hi-1; column i is row i - first of `out`. The kept columns are stored as lists
    by row, so only rows where both columns leave their background are visited; the rest of each
    table follows from the margins.
    """
    for i in range(lo, hi):
        mine = level_counts[level_pointers[i] : level_pointers[i + 1]]
        width = len(mine) - 1
        counts = np.zeros(slot_cells[-1] * width, np.int32)
        for t in range(indptr[i], indptr[i + 1]):
            node = heads[rows[t]]
            code = codes[t] - 1
            while node >= 0:
                for e in range(nodes[node, NODE_COUNT]):
                    counts[nodes[node, NODE_CELLS + e] * width + code] += 1
                node = nodes[node, NODE_NEXT]
        rest, result = entropies[i] - table[n], out[i - first]
        if width == 1:
            _slots_of_two_levels(
                counts, mine, rest, slot_cells, cell_counts, slot_entropy, alive, table, n, result
            )
        else:
            _slots_of_many_levels(
                counts, mine, rest, slot_cells, cell_counts, slot_entropy, alive, table, n, result
            )


@jit
def _slots_of_two_levels(
    counts, level_counts, rest, slot_cells, cell_counts, slot_entropy, alive, table, n, out
):
    """Compute `_slots_of_many_levels` for a newcomer with one level besides its background."""
    last = slot_cells[0]
    for s in range(len(slot_cells) - 1):
        first, last = last, slot_cells[s + 1]
        if not alive[s]:
            continue
        left = level_counts[1]
        both_background = n - left
        joint = 0
        for cell in range(first, last):
            both = counts[cell]
            other_left = cell_counts[cell] - both
            joint += table[both] + table[other_left]
            left -= both
            both_background -= other_left
        joint += table[left] + table[both_background]
        value = joint + slot_entropy[s] + rest
        out[s] = value if value > ROUNDING * 3 * (last - first + 2) else 0


@jit
def _slots_of_many_levels(
    counts, level_counts, rest, slot_cells, cell_counts, slot_entropy, alive, table, n, out
):
    """Compute the information with each slot, from the counts of cells outside both backgrounds.

    `rest` is the newcomer's entropy, less g(n).
    """
    width = len(level_counts) - 1
    left = np.empty(width, np.int64)
    for s in range(len(slot_cells) - 1):
        if not alive[s]:
            continue
        for a in range(width):
            left[a] = level_counts[a + 1]
        both_background = n
        joint = 0
        for cell in range(slot_cells[s], slot_cells[s + 1]):
            other_left = cell_counts[cell]
            both_background -= other_left
            for a in range(width):
                count = counts[cell * width + a]
                joint += table[count]
                other_left -= count
                left[a] -= count
            joint += table[other_left]
        for a in range(width):
            joint += table[left[a]]
            both_background -= left[a]
        joint += table[both_background]
        value = joint + slot_entropy[s] + rest
        lookups = (width + 2) * (slot_cells[s + 1] - slot_cells[s] + 2)
        out[s] = value if value > ROUNDING * lookups else 0
