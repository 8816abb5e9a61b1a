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

from tamis.kernels._jit import inline, jit
from tamis.kernels.exact_counts import ENOUGH
from tamis.kernels.lanes import NARROWED, WORD, count_bits, equal_bits, narrow
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

#: Marks columns with enough rows of every level and class for a chi-square test: less their levels.
ENOUGH_ROWS = -2

#: Levels are counted 64 rows at a time if there are at most so many of them, and of levels times
#: classes.
MOST_SWEPT, MOST_CELLS = 8, 32

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
    indptr, rows, values, y, class_counts, table, units, symmetric, cutoff_table, lo, hi, strength,
    cutoff, left, ones_of,
):  # fmt: skip
    """Compute strength and cutoff of compressed columns lo..hi-1 of a block towards the class.

    `cutoff_table` holds the cutoff for each number of levels; a column with more levels than it
    knows gets minus their number, for the caller to look up, and ``left[0]`` is set. Columns whose
    values cannot index a table get the strength -1, and ``left[1]`` is set: `relevance_by_value`
    is for them.

    `ones_of` gets the entries in class 1 of columns whose entries are all equal, `ENOUGH_ROWS` less
    the levels of others if there are enough rows for a chi-square test, else -1.
    """
    n, n_classes = len(y), len(class_counts)
    class_entropy, rarest_class = _of_classes(class_counts, table)
    counts = np.empty((FEW_LEVELS + 1) * n_classes, np.int64)
    # Nearly all columns of big sparse data hold few entries, all of one value, and there are nearly
    # always two classes. The result then depends on two small numbers only, and is cached.
    known = np.empty((FEW_ENTRIES, FEW_ENTRIES, 2))
    known[:] = -1.0
    last = indptr[lo]
    for j in range(lo, hi):
        ones, ones_of[j] = 0, -1
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
        few = same and count < FEW_ENTRIES
        if few and known[count, ones, 0] >= 0.0:
            strength[j], cutoff[j] = known[count, ones, 0], known[count, ones, 1]
            ones_of[j] = ones
            continue
        if same:
            information, entropy = _two_by_two(count, ones, class_counts, table, class_entropy)
            ones_of[j], levels, rarest = ones, 2, 0
        else:
            top = whole_top(values, first, last)
            size = (top + 1) * n_classes
            if top < 0 or size > len(counts):
                strength[j], left[1] = -1.0, True
                continue
            for cell in range(size):
                counts[cell] = 0
            for t in range(first, last):
                counts[int(values[t]) * n_classes + y[rows[t]]] += 1
            information, entropy, levels, rarest = _from_counts(
                counts, top, class_counts, table, class_entropy
            )
        if levels > 2 and rarest * rarest_class >= ENOUGH * n:
            ones_of[j] = ENOUGH_ROWS - levels
        strength[j], cutoff[j] = _scaled(
            information, entropy + class_entropy, levels, units, symmetric, cutoff_table
        )
        if few:
            known[count, ones, 0], known[count, ones, 1] = strength[j], cutoff[j]
        left[0] |= levels >= len(cutoff_table)


@jit
def dense_relevance(
    flat, y, class_counts, table, units, symmetric, cutoff_table, lo, hi, strength, cutoff, left,
    ones_of,
):  # fmt: skip
    """Compute `relevance` for dense columns, which lie end to end in `flat`."""
    n, n_classes = len(y), len(class_counts)
    class_entropy, rarest_class = _of_classes(class_counts, table)
    counts = np.empty((FEW_LEVELS + 1) * n_classes, np.int64)
    n_words = (n + WORD - 1) // WORD
    codes, rest = np.empty(n_words * WORD, np.int8), np.empty(n_words, np.uint64)
    members = np.empty(n_words * n_classes, np.uint64)
    codes[:], members[:] = 0, 0  # np.zeros would be compiled
    for row in range(n):
        at = n_words * y[row] + row // WORD
        members[at] |= np.uint64(1) << np.uint64(row % WORD)
    for j in range(lo, hi):
        ones_of[j], first = -1, j * n
        found = -1
        if n >= WORD and _as_codes(flat, first, n, codes):
            found = _count_in_words(codes, n, n_classes, members, n_words, rest, counts)
        if found < 0:
            column = flat[first : first + n]
            low, size = whole_range(column)
            if size == 0 or size * n_classes > len(counts):
                strength[j], left[1] = -1.0, True
                continue
            for cell in range(size * n_classes):
                counts[cell] = 0
            for row in range(n):
                counts[(int(column[row]) - low) * n_classes + y[row]] += 1
            found = size
        information, entropy, levels, rarest = _from_counts(
            counts, found - 1, class_counts, table, class_entropy
        )
        if levels > 2 and rarest * rarest_class >= ENOUGH * n:
            ones_of[j] = ENOUGH_ROWS - levels
        strength[j], cutoff[j] = _scaled(
            information, entropy + class_entropy, levels, units, symmetric, cutoff_table
        )
        left[0] |= levels >= len(cutoff_table)


@jit
def relevance_by_value(
    flat, indptr, rows, values, picks, y, class_counts, table, units, symmetric, cutoff_table, lo,
    hi, strength, cutoff, left, ones_of,
):  # fmt: skip
    """Compute `relevance` for the picked columns lo..hi-1, whatever their values."""
    n, dense = len(y), len(indptr) == 0
    class_entropy, rarest_class = _of_classes(class_counts, table)
    counts = np.empty((FEW_LEVELS + 1) * len(class_counts), np.int64)
    own_rows, own_values = np.empty(n * dense, np.int32), np.empty(n * dense, np.float64)
    here, there = (own_rows, own_values) if dense else (rows, values)
    for i in range(lo, hi):
        j = picks[i]
        if dense:
            first, last = 0, gather_nonzeros(flat[j * n : (j + 1) * n], own_rows, own_values)
        else:
            first, last = indptr[j], indptr[j + 1]
        information, entropy, levels, rarest = column_information(
            here, there, first, last, y, class_counts, table, class_entropy, counts
        )
        if levels > 2 and rarest * rarest_class >= ENOUGH * n:
            ones_of[j] = ENOUGH_ROWS - levels
        strength[j], cutoff[j] = _scaled(
            information, entropy + class_entropy, levels, units, symmetric, cutoff_table
        )
        left[0] |= levels >= len(cutoff_table)


@inline
def _of_classes(class_counts, table):
    """Return the entropy of the class, n times in units, and the rows of the rarest class."""
    n = 0
    for c in range(len(class_counts)):  # a loop, because numba's `sum` is slow to load
        n += class_counts[c]
    entropy, rarest = table[n], n
    for c in range(len(class_counts)):
        entropy -= table[class_counts[c]]
        rarest = min(rarest, class_counts[c])
    return entropy, rarest


@inline
def _as_codes(flat, first, n, codes):
    """Write a column as bytes; return whether all values are whole and small."""
    whole = n - n % NARROWED
    fits = True
    for row in range(0, whole, NARROWED):
        fits &= narrow(flat, first + row, codes, row)
    for row in range(whole, n):
        value = flat[first + row]
        small = abs(value) <= 127.0 and value == np.floor(value)
        fits &= small
        codes[row] = int(value) if small else 0
    return fits


@inline
def _count_in_words(codes, n, n_classes, members, n_words, rest, counts):
    """Count levels by class, 64 rows at a time; return how many levels, -1 if too many.

    Levels are in the order in which they occur. `members` are the rows of each class, as bits.
    """
    for word in range(n_words):
        rest[word] = ~np.uint64(0)
    if n % WORD:
        rest[n_words - 1] = (np.uint64(1) << np.uint64(n % WORD)) - np.uint64(1)
    found, begin = 0, 0
    while True:
        while begin < n_words and rest[begin] == 0:
            begin += 1
        if begin == n_words:
            return found
        if found == MOST_SWEPT or found * n_classes >= MOST_CELLS:
            return -1
        first = rest[begin]
        code = codes[begin * WORD + count_bits((first - np.uint64(1)) & ~first)]
        for c in range(n_classes):
            counts[found * n_classes + c] = 0
        for word in range(begin, n_words):
            equal = equal_bits(codes, word * WORD, code) & rest[word]
            rest[word] ^= equal
            for c in range(n_classes):
                members_in = members[c * n_words + word]
                counts[found * n_classes + c] += count_bits(equal & members_in)
        found += 1


@jit
def count_levels(flat, n, picks, n_levels, commonest):
    """Write how many levels picked dense columns have, and the rows of the commonest.

    Columns with values that are not whole and small, or with many levels, get -1 levels.
    """
    n_words, one_class = (n + WORD - 1) // WORD, np.int64(1)  # no literal: see `levels`
    codes, rest = np.empty(n_words * WORD, np.int8), np.empty(n_words, np.uint64)
    everyone, counts = np.empty(n_words, np.uint64), np.empty(MOST_SWEPT, np.int64)
    codes[:], everyone[:] = 0, ~np.uint64(0)
    for i in range(len(picks)):
        n_levels[i], commonest[i] = -1, 0
        if _as_codes(flat, picks[i] * n, n, codes):
            n_levels[i] = _count_in_words(codes, n, one_class, everyone, n_words, rest, counts)
        for level in range(n_levels[i]):
            commonest[i] = max(commonest[i], counts[level])


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

    Also the rows of its rarest level, or 0.

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
        return (information if information > small else 0), entropy, (2 if count < n else 1), 0
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
    """Return information, entropy, levels and rows of the rarest from counts of levels 0..found.

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
    occupied, rarest = 0, n
    for level in range(found + 1):
        in_level = 0
        for c in range(n_classes):
            cell = cells[level * n_classes + c]
            joint += table[cell]
            in_level += cell
        entropy -= table[in_level]
        if in_level > 0:
            occupied += 1
            rarest = min(rarest, in_level)
    information = entropy + class_entropy - table[n] + joint
    if information <= ROUNDING * (occupied + 1) * (n_classes + 1):
        information = 0
    return information, entropy, occupied, rarest


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
