"""Mutual information by pairwise deletion: over the rows where neither side is missing.

Columns come compressed and coded: code 0 is zero, others count from 1, and one code, or none (-1),
means missing. The table of g(k) = k log2 k for all rows serves every subset of them.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.information import ROUNDING
from tamis.kernels.levels import code_values

#: The results about a pair: n I, n H of both sides, rows that count, levels of both sides.
INFORMATION, ENTROPY_X, ENTROPY_Y, ROWS, LEVELS_X, LEVELS_Y = range(6)


@jit
def code_gapped(indptr, values, gap, codes, levels, gaps):
    """Code compressed columns; write the number of codes of each (with zero) and its gap code."""
    longest = 1
    for j in range(len(levels)):
        longest = max(longest, indptr[j + 1] - indptr[j])
    found = np.empty(longest, np.float64)
    for j in range(len(levels)):
        first, last = indptr[j], indptr[j + 1]
        levels[j] = 1 + code_values(
            values[first:last], last - first, codes[first:last], found
        )  # fmt: skip
        gaps[j] = 0 if gap == 0.0 else -1
        for t in range(first, last):
            if values[t] == gap:
                gaps[j] = codes[t]


@inline
def tally(cells, height, width, gap_x, gap_y, table, sums, out):
    """Compute the information of a table of counts without the cells of missing values."""
    n, joint, sides_x, levels_x = 0, 0, 0, 0
    sums[:width] = 0
    for a in range(height):
        if a == gap_x:
            continue
        side = 0
        for b in range(width):
            if b == gap_y:
                continue
            cell = cells[a * width + b]
            joint += table[cell]
            side += cell
            sums[b] += cell
        sides_x += table[side]
        levels_x += 1 if side > 0 else 0
        n += side
    sides_y, levels_y = 0, 0
    for b in range(width):
        sides_y += table[sums[b]]
        levels_y += 1 if sums[b] > 0 else 0
    information = table[n] - sides_x - sides_y + joint
    small = ROUNDING * (levels_x + 1) * (levels_y + 1)
    out[INFORMATION] = information if information > small else 0
    out[ENTROPY_X], out[ENTROPY_Y] = table[n] - sides_x, table[n] - sides_y
    out[ROWS], out[LEVELS_X], out[LEVELS_Y] = n, levels_x, levels_y


@jit
def relevance_gapped(
    indptr, rows, codes, levels, gaps, y, class_counts, table, lo, hi, out
):  # fmt: skip
    """Compute the information of columns lo..hi-1 with the class."""
    k, most = len(class_counts), 1
    for j in range(lo, hi):
        most = max(most, levels[j])
    cells, sums = np.empty(most * k, np.int64), np.empty(k, np.int64)
    for j in range(lo, hi):
        cells[: levels[j] * k] = 0
        for c in range(k):
            cells[c] = class_counts[c]
        for t in range(indptr[j], indptr[j + 1]):
            cells[codes[t] * k + y[rows[t]]] += 1
            cells[y[rows[t]]] -= 1
        tally(cells, levels[j], k, gaps[j], -1, table, sums, out[j])


@jit
def pairs_gapped(
    indptr, rows, codes, levels, gaps, kept_pointers, kept_rows, kept_codes, kept_levels,
    kept_gaps, table, n, first, lo, hi, out,
):  # fmt: skip
    """Compute the information of columns first+lo..first+hi-1 (y) with every kept column (x)."""
    wide, high = 1, 1
    for i in range(first + lo, first + hi):
        wide = max(wide, levels[i])
    for s in range(len(kept_levels)):
        high = max(high, kept_levels[s])
    cells, sums, margin = np.empty(wide * high, np.int64), np.empty(wide, np.int64), np.zeros(wide)
    spread = np.zeros(n, np.int32)
    for i in range(first + lo, first + hi):
        width = levels[i]
        margin[:width] = 0
        margin[0] = n
        for t in range(indptr[i], indptr[i + 1]):
            spread[rows[t]] = codes[t]
            margin[0] -= 1
            margin[codes[t]] += 1
        for s in range(len(kept_levels)):
            cells[: kept_levels[s] * width] = 0
            for code in range(width):
                cells[code] = margin[code]
            for t in range(kept_pointers[s], kept_pointers[s + 1]):
                code = spread[kept_rows[t]]
                cells[code] -= 1
                cells[kept_codes[t] * width + code] += 1
            tally(
                cells, kept_levels[s], width, kept_gaps[s], gaps[i], table, sums, out[i - first, s]
            )  # fmt: skip
        for t in range(indptr[i], indptr[i + 1]):
            spread[rows[t]] = 0
