"""Independence tests on contingency tables: G-squared and Pearson's, plain and conditional.

A table has strata (the observed combinations of the conditioning columns), rows (levels of x) and
columns (classes). G-squared is a sum of g(k) = k log2 k over its cells and margins, taken from the
integer table of `tamis.kernels.information`: the sum is exact in any order. Pearson's statistic is
a compensated sum of floats.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.binary import plus
from tamis.kernels.information import ROUNDING
from tamis.kernels.subsets import SPENT, next_subset

#: A test needs this many rows per degree of freedom.
ROWS_A_DEGREE = 5
#: How degrees of freedom are counted: from the levels; one fewer per empty cell; or, in each
#: stratum, from the levels and classes that occur there.
LEVELS, SPIRTES, OBSERVED = 0, 1, 2
#: Pearson's statistic has a continuity correction in cells with an expected count below this.
SMALL_CELL = 10.0


@jit
def statistic_of(cells, strata, width, n_classes, table, unit, pearson, rule):
    """Return the statistic of a table of counts, and its empty degrees of freedom.

    A stratum without rows has no degree of freedom. In the others an empty cell has none, or, by
    the rule `OBSERVED`, a level or class that does not occur has none.
    """
    if width == 1 or n_classes == 1:  # nothing can depend on it, despite Pearson's correction
        return 0.0, 0
    in_class = np.empty(n_classes, np.int64)
    units, lookups, empty = 0, 0, 0
    total, lost = 0.0, 0.0
    for s in range(strata):
        first = s * width * n_classes
        in_class[:] = 0
        for a in range(width):
            for c in range(n_classes):
                in_class[c] += cells[first + a * n_classes + c]
        rows = in_class.sum()
        if rows == 0:
            empty += (width - 1) * (n_classes - 1)
            continue
        units += table[rows]
        lookups += (width + 1) * (n_classes + 1)
        classes, seen = 0, 0
        for c in range(n_classes):
            units -= table[in_class[c]]
            classes += in_class[c] > 0
        for a in range(width):
            at = first + a * n_classes
            in_level = 0
            for c in range(n_classes):
                count = cells[at + c]
                in_level += count
                units += table[count]
                empty += rule != OBSERVED and count == 0
            units -= table[in_level]
            seen += in_level > 0
            if pearson:
                for c in range(n_classes):
                    term = _pearson_term(cells[at + c], in_level * in_class[c] / rows)
                    total, lost = plus(total, lost, term)
        empty += (rule == OBSERVED) * ((width - 1) * (n_classes - 1) - (seen - 1) * (classes - 1))
    if pearson:
        return total + lost, empty
    return (units / unit if units > ROUNDING * lookups else 0.0), empty


@jit
def _pearson_term(count, expected):
    """Return a cell's term of Pearson's statistic, with the correction for small cells."""
    if expected <= 0.0:
        return 0.0
    off = count - expected
    if expected < SMALL_CELL:
        off = abs(off) - 0.5
    return off * off / expected


@jit
def degrees(product, empty, rule):
    """Return the degrees of freedom: the product, less the empty ones by some rules; at least 1."""
    return max(1, product if rule == LEVELS else product - empty)


@jit
def cutoff_of(df, product, n, critical, refused_cutoff):
    """Return the critical value of the statistic; `refused_cutoff` if there are too few rows."""
    return refused_cutoff if n < ROWS_A_DEGREE * product else critical[df]


@jit
def relevance_coded(
    indptr, rows, codes, level_pointers, level_counts, y, class_counts, table, unit,
    pearson, rule, critical, refused_cutoff, lo, hi, strength, cutoff,
):  # fmt: skip
    """Compute statistic and cutoff of coded columns lo..hi-1 against the class."""
    n, n_classes = len(y), len(class_counts)
    for j in range(lo, hi):
        first = level_pointers[j]
        width = level_pointers[j + 1] - first
        cells = np.zeros(width * n_classes, np.int64)
        for c in range(n_classes):
            cells[c] = class_counts[c]
        for t in range(indptr[j], indptr[j + 1]):
            group = y[rows[t]]
            cells[codes[t] * n_classes + group] += 1
            cells[group] -= 1
        levels, absent = 0, 0
        for a in range(width):
            levels += level_counts[first + a] > 0
            absent += (n_classes - (rule == OBSERVED)) * (level_counts[first + a] == 0)
        strength[j], cutoff[j] = 0.0, np.nan
        if levels > 1:
            strength[j], empty = statistic_of(
                cells, 1, width, n_classes, table, unit, pearson, rule
            )
            product = max(1, (levels - 1) * (n_classes - 1))
            df = degrees(product, max(0, empty - absent), rule)
            cutoff[j] = cutoff_of(df, product, n, critical, refused_cutoff)


@jit
def dense_codes(rows, codes, level_counts, out):
    """Write a coded column densely, levels numbered 0, 1, ... without gaps; return their number."""
    number = np.empty(len(level_counts), np.int32)
    found = 0
    for a in range(len(level_counts)):
        number[a] = found
        found += level_counts[a] > 0
    out[:] = number[0]
    for t in range(len(rows)):
        out[rows[t]] = number[codes[t]]
    return found


@jit
def pair_statistics(
    codes, levels, x, slots, table, unit, pearson, rule, critical, refused_cutoff, value, cutoff
):
    """Compute statistic and cutoff of the column in slot x with the column in each of `slots`."""
    n = codes.shape[1]
    cells = np.empty(0, np.int32)
    for i in range(len(slots)):
        s = slots[i]
        size = levels[x] * levels[s]
        if len(cells) < size:
            cells = np.empty(size, np.int32)
        cells[:size] = 0
        for row in range(n):
            cells[codes[x, row] * levels[s] + codes[s, row]] += 1
        value[i], empty = statistic_of(cells, 1, levels[x], levels[s], table, unit, pearson, rule)
        product = max(1, (levels[x] - 1) * (levels[s] - 1))
        df = degrees(product, empty, rule)
        cutoff[i] = cutoff_of(df, product, n, critical, refused_cutoff)


@jit
def separate(
    codes, levels, x, y, n_classes, candidates, including, smallest, largest,
    table, unit, pearson, rule, critical, refused_separates, tests, refused, given, numbers,
    limit=-1,
):  # fmt: skip
    """Find the first set among `candidates` given which slot x and the class are independent.

    Sets are tried by size, and within a size in lexicographic order of positions in `candidates`.
    With `including` (a slot, else -1) every set also holds that column. Returns the size of the
    set, with the positions of its candidates in `given` (`including` is not listed); -1 if there
    is none; `SPENT` if it was not found in `limit` tests (-1: no limit). `tests` and `refused`
    count by size; `numbers` are statistic, degrees of freedom and cutoff (NaN if refused) of the
    last test.
    """
    n, total = codes.shape[1], len(candidates)
    always = 1 if including >= 0 else 0
    # joint[d]: cell of each row in the table of x, the class, `including` and the first d chosen.
    joint = np.empty((max(1, largest - always), n), np.int32)
    sizes = np.empty(len(joint), np.int64)
    sizes[0] = levels[x] * n_classes * (levels[including] if always else 1)
    for row in range(n):
        stratum = codes[including, row] if always else 0
        joint[0, row] = (stratum * levels[x] + codes[x, row]) * n_classes + y[row]
    cells = np.empty(n, np.int32)
    made = 0
    for size in range(max(smallest, always), min(largest, total + always) + 1):
        free = size - always
        for i in range(free):
            given[i] = i
        built = 0
        while True:
            if made == limit:
                return SPENT
            made += 1
            product = _product(levels, x, n_classes, including, candidates, given, free)
            tests[size] += 1
            numbers[0], numbers[1], numbers[2] = np.nan, product, np.nan
            if n < ROWS_A_DEGREE * product:
                refused[size] += 1
                if refused_separates:
                    return size
            else:
                _join(codes, levels, candidates, given, free - 1, built, joint, sizes)
                built = max(0, free - 1)
                last = candidates[given[free - 1]] if free else -1
                cells, room = _count(joint, sizes, built, codes, levels, last, cells)
                numbers[0], empty = statistic_of(
                    cells, room // (levels[x] * n_classes), levels[x], n_classes, table, unit,
                    pearson, rule,
                )  # fmt: skip
                df = degrees(int(product), empty, rule)
                numbers[1], numbers[2] = df, critical[df]
                if not numbers[0] > numbers[2]:
                    return size
            changed = next_subset(given, free, total)
            if changed < 0:
                break
            built = min(built, changed)
    return -1


@jit
def _product(levels, x, n_classes, including, candidates, given, free):
    """Return the degrees of freedom from the numbers of levels alone.

    As a float, because the product of many levels can overflow an integer.
    """
    product = float(max(1, (levels[x] - 1) * (n_classes - 1)))
    if including >= 0:
        product *= levels[including]
    for i in range(free):
        product *= levels[candidates[given[i]]]
    return product


@jit
def _join(codes, levels, candidates, given, depth, built, joint, sizes):
    """Code the joint cells of the first `depth` chosen columns; the first `built` are done."""
    for d in range(built, depth):
        s = candidates[given[d]]
        sizes[d + 1] = sizes[d] * levels[s]
        for row in range(joint.shape[1]):
            joint[d + 1, row] = codes[s, row] * sizes[d] + joint[d, row]


@jit
def _count(joint, sizes, depth, codes, levels, last, cells):
    """Count the rows per joint cell, split once more by column `last` (-1: no split)."""
    room = sizes[depth] * (levels[last] if last >= 0 else 1)
    if len(cells) < room:
        cells = np.empty(room, np.int32)
    cells[:room] = 0
    for row in range(joint.shape[1]):
        stratum = codes[last, row] if last >= 0 else 0
        cells[stratum * sizes[depth] + joint[depth, row]] += 1
    return cells, room
