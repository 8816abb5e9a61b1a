"""Information between coded columns from weighted counts, inside the categories of covariates.

With N the weights of the cells of a table in one stratum, R and C those of its sides and T their
sum, the information times the weights is the sum of N ln(N T / (R C)) over cells and strata. A cell
is empty if no row with a positive weight is in it: whole numbers decide that, not rounded sums.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.exact_counts import ENOUGH
from tamis.kernels.exact_tests import EQUAL

#: The results about a pair: information and entropies times the weights, in nats; degrees of
#: freedom: the sum over the strata of those of their own tables.
INFORMATION, ENTROPY_X, ENTROPY_Y, DEGREES = range(4)

#: Information of less than this per row is rounding.
SMALL = 1e-14


@jit
def _stratum(cells, counts, start, height, width, sides, filled, out):
    """Add the results of the table of one stratum, which begins at cell `start`, to `out`."""
    total, levels_x, levels_y = 0.0, 0, 0
    for b in range(width):
        sides[b], filled[b] = 0.0, 0
        for cell in range(start + b, start + height * width, width):
            if counts[cell] > 0:
                sides[b] += cells[cell]
                filled[b] += counts[cell]
        total += sides[b]
    for b in range(width):
        if filled[b] > 0:
            levels_y += 1
            out[ENTROPY_Y] -= sides[b] * np.log(sides[b] / total)
    for a in range(start, start + height * width, width):
        side, rows = 0.0, 0
        for cell in range(a, a + width):
            if counts[cell] > 0:
                side += cells[cell]
                rows += counts[cell]
        if rows > 0:
            levels_x += 1
            out[ENTROPY_X] -= side * np.log(side / total)
            for b in range(width):
                cell = cells[a + b]
                if counts[a + b] > 0 and cell > 0.0:
                    out[INFORMATION] += cell * np.log(cell * total / (side * sides[b]))
    out[DEGREES] += max(0, levels_x - 1) * max(0, levels_y - 1)
    return total


@jit
def _tally(cells, counts, height, width, n_strata, out):
    """Compute the results of a table of weights, stratum by stratum."""
    sides, filled = np.empty(width), np.empty(width, np.int64)
    out[:] = 0.0
    total = 0.0
    for z in range(n_strata):
        start = z * height * width
        total += _stratum(cells, counts, start, height, width, sides, filled, out)
    if out[INFORMATION] <= SMALL * total:
        out[INFORMATION] = 0.0


@jit
def _at_zero(cells, counts, margin, margin_counts, height, width, n_strata):
    """Fill a table as if all rows were at level 0 of its first side."""
    size = height * width
    for cell in range(n_strata * size):
        cells[cell], counts[cell] = 0.0, 0
    for z in range(n_strata):
        for b in range(width):
            cells[z * size + b] = margin[z * width + b]
            counts[z * size + b] = margin_counts[z * width + b]


@jit
def _move(cells, counts, rows, codes, first, last, others, height, width, strata, weights):
    """Move the rows of entries first..last-1 from level 0 to their own levels."""
    for t in range(first, last):
        row = rows[t]
        weight = weights[row]
        if weight > 0.0:
            zero = strata[row] * height * width + others[row]
            own = zero + codes[t] * width
            cells[zero] -= weight
            counts[zero] -= 1
            cells[own] += weight
            counts[own] += 1


@jit
def _margins(codes, width, strata, n_strata, weights, margin, margin_counts):
    """Sum the weights, and count the rows with a weight, by stratum and code."""
    for cell in range(n_strata * width):
        margin[cell], margin_counts[cell] = 0.0, 0
    for row in range(len(weights)):
        if weights[row] > 0.0:
            margin[strata[row] * width + codes[row]] += weights[row]
            margin_counts[strata[row] * width + codes[row]] += 1


@jit
def relevance_strata(
    indptr, rows, codes, n_levels, y, n_classes, strata, n_strata, weights, lo, hi, out
):  # fmt: skip
    """Compute the results of coded columns lo..hi-1 (x) with the class (y)."""
    most = 1
    for j in range(lo, hi):
        most = max(most, n_levels[j])
    size = n_strata * most * n_classes
    cells, counts = np.empty(size), np.empty(size, np.int64)
    base, base_counts = np.empty(n_strata * n_classes), np.empty(n_strata * n_classes, np.int64)
    _margins(y, n_classes, strata, n_strata, weights, base, base_counts)
    for j in range(lo, hi):
        height = n_levels[j]
        _at_zero(cells, counts, base, base_counts, height, n_classes, n_strata)
        _move(
            cells, counts, rows, codes, indptr[j], indptr[j + 1], y, height, n_classes, strata,
            weights,
        )  # fmt: skip
        _tally(cells, counts, height, n_classes, n_strata, out[j])


@jit
def pairs_strata(
    indptr, rows, codes, n_levels, picks, kept_indptr, kept_rows, kept_codes,
    kept_levels, kept_picks, strata, n_strata, weights, lo, hi, out,
):  # fmt: skip
    """Compute the results of columns picks[lo..hi-1] (y) with columns kept_picks (x)."""
    wide, high = 1, 1
    for i in range(lo, hi):
        wide = max(wide, n_levels[picks[i]])
    for s in kept_picks:
        high = max(high, kept_levels[s])
    size = n_strata * wide * high
    cells, counts = np.empty(size), np.empty(size, np.int64)
    margin, margin_counts = np.empty(n_strata * wide), np.empty(n_strata * wide, np.int64)
    spread = np.zeros(len(weights), np.int32)
    for i in range(lo, hi):
        j = picks[i]
        width = n_levels[j]
        for t in range(indptr[j], indptr[j + 1]):
            spread[rows[t]] = codes[t]
        _margins(spread, width, strata, n_strata, weights, margin, margin_counts)
        for k in range(len(kept_picks)):
            s = kept_picks[k]
            height = kept_levels[s]
            _at_zero(cells, counts, margin, margin_counts, height, width, n_strata)
            _move(
                cells, counts, kept_rows, kept_codes, kept_indptr[s], kept_indptr[s + 1], spread,
                height, width, strata, weights,
            )  # fmt: skip
            _tally(cells, counts, height, width, n_strata, out[i, k])
        for t in range(indptr[j], indptr[j + 1]):
            spread[rows[t]] = 0


# --- exact tests ---------------------------------------------------------------------------------


@jit
def stratified_p(logs, sizes, class_sizes, marked, own):
    """Return the p-value of an exact test: `own` of the marked rows of all strata are in the class.

    Rows are exchangeable inside each stratum, so the number in each is hypergeometric. The p-value
    is the probability of the sums that are no more probable than `own`. `logs` are the logs of
    factorials.
    """
    law, lowest = np.ones(1), 0
    for z in range(len(sizes)):
        n, n1, m = sizes[z], class_sizes[z], marked[z]
        fewest, most = max(0, m - (n - n1)), min(m, n1)
        lowest += fewest
        if fewest == most:
            continue
        longer = np.zeros(len(law) + most - fewest)
        for a in range(fewest, most + 1):
            mass = np.exp(
                logs[n1] - logs[a] - logs[n1 - a] + logs[n - n1] - logs[m - a]
                - logs[n - n1 - m + a] - logs[n] + logs[m] + logs[n - m]
            )  # fmt: skip
            for i in range(len(law)):
                longer[i + a - fewest] += law[i] * mass
        law = longer
    found, p = law[own - lowest], 0.0
    for mass in law:
        if mass <= found * (1.0 + EQUAL):
            p += mass
    return min(1.0, p)


@jit
def _is_common(table, sizes, class_sizes):
    """Return whether every cell of every stratum expects `ENOUGH` rows."""
    n_strata, height, width = table.shape
    for z in range(n_strata):
        for a in range(height):
            level = 0
            for b in range(width):
                level += table[z, a, b]
            for b in range(width):
                expected = level * class_sizes[z, b]
                if 0 < expected < ENOUGH * sizes[z]:
                    return False
    return True


@jit
def _table(rows, codes, first, last, y, strata, counts, class_sizes, height):
    """Return how many rows of each stratum have a level and a class."""
    n_strata, width = class_sizes.shape
    table = np.zeros((n_strata, height, width), np.int64)
    for z in range(n_strata):
        for b in range(width):
            table[z, 0, b] = class_sizes[z, b]
    for t in range(first, last):
        row = rows[t]
        table[strata[row], 0, y[row]] -= counts[row]
        table[strata[row], codes[t], y[row]] += counts[row]
    return table


@jit
def _common_levels(table):
    """Return the levels that are tested: one of two, else the largest and other common ones."""
    n_strata, height, width = table.shape
    sizes, n, most, levels = np.zeros(height, np.int64), 0, 0, 0
    for a in range(height):
        for z in range(n_strata):
            for b in range(width):
                sizes[a] += table[z, a, b]
        n += sizes[a]
        levels += sizes[a] > 0
        if sizes[a] > sizes[most]:
            most = a
    found = np.zeros(height, np.bool_)
    for a in range(height):
        common = sizes[a] >= 3 and 10 * sizes[a] >= n - sizes[most]
        found[a] = a == most or (levels > 2 and common)
    return found


@jit
def _least_of_level(table, level, logs, sizes, class_sizes):
    """Return the least p-value of a level and each class; of two classes one is enough."""
    n_strata, width = class_sizes.shape
    marked, of_class, least = np.zeros(n_strata, np.int64), np.zeros(n_strata, np.int64), 1.0
    for z in range(n_strata):
        for b in range(width):
            marked[z] += table[z, level, b]
    for b in range(1 if width == 2 else 0, width):
        own = 0
        for z in range(n_strata):
            own += table[z, level, b]
            of_class[z] = class_sizes[z, b]
        least = min(least, stratified_p(logs, sizes, of_class, marked, own))
    return least


@jit
def exact_strata(
    indptr, rows, codes, n_levels, picks, y, n_classes, strata, n_strata, counts, logs, lo, hi,
    code, p, test,
):  # fmt: skip
    """Test the picked columns lo..hi-1 again where few rows are expected in some cell.

    `counts` says how often each row counts. Each common level is tested against the rest, and each
    class against the others. `code` marks the columns that were tested again.
    """
    sizes, class_sizes = np.zeros(n_strata, np.int64), np.zeros((n_strata, n_classes), np.int64)
    for row in range(len(counts)):
        sizes[strata[row]] += counts[row]
        class_sizes[strata[row], y[row]] += counts[row]
    for i in range(lo, hi):
        j, n_tests, least = picks[i], 0, 1.0
        table = _table(
            rows, codes, indptr[j], indptr[j + 1], y, strata, counts, class_sizes, n_levels[j]
        )
        if _is_common(table, sizes, class_sizes):
            continue
        tested = _common_levels(table)
        for a in range(n_levels[j]):
            if tested[a]:
                n_tests += 1 if n_classes == 2 else n_classes
                least = min(least, _least_of_level(table, a, logs, sizes, class_sizes))
        p[j], test[j] = min(1.0, n_tests * least), code
