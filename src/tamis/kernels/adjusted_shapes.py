"""Columns less what covariates explain of them: as numbers, and as bins.

Everything is weighted least squares on [1, Z], with covariates Z. A column of numbers is adjusted
as in `tamis.kernels.adjusting`. The indicators of its bins are never written out: all that is
needed are sums by bin of some terms of each row, a row of `terms`. These are the weight, a second
number for moments of higher order, the k products of the weight with an orthonormal basis of the
covariates, and those with the directions of the target. From the sums come `lifts`, which turn the
indicators into orthonormal directions of what the covariates leave: as many as bins, less one, and
less those that the covariates explain.

A column that covariates predict must not be binned as it is: where the target depends on age along
a curve, the bins of a column that follows age would say something about that curve. So the bins of
a column of many different numbers are those of its residuals. They are independent of age if the
column is a linear function of age and noise.
"""

from __future__ import annotations

import math

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.adjusting import adjust_column
from tamis.kernels.flag_pairs import rounded_worth
from tamis.kernels.levels import gather_nonzeros
from tamis.kernels.saddle_point import given_p
from tamis.kernels.shapes import MOST_BINS, shape_column

#: Where the terms of a row hold its weight, the second number, and the products with the basis.
WEIGHT, SECOND, FIRST = range(3)

#: How a column is tested: not at all, as numbers, by its bins, or both ways.
NOTHING, NUMBERS, BINS, BOTH = range(4)

#: A column of more different values is binned by its residuals.
FEW_VALUES = 20

#: Indicators of which less is left are explained by the others, or by the covariates.
EXPLAINED = 1e-9

#: Values that are farther from the middle than about so many times what its rows spread over are
#: brought nearer before the residuals are binned.
FAR_OUT = 6.0

#: Added to diagonals that may be 0, where one of two columns determines the other.
RIDGE = 1e-10


@jit
def known_mean(rows, values, root, total):
    """Return the weighted mean of a column over the rows where it is known, and its gaps.

    `total` is the sum of all weights. Rows that are not listed hold 0.
    """
    product, gaps = 0.0, 0
    for t in range(len(values)):
        weight = root[rows[t]] * root[rows[t]]
        if values[t] == values[t]:
            product += weight * values[t]
        else:
            total -= weight
            gaps += 1
    return (product / total if total > 0.0 else 0.0), gaps


@jit
def fill_gaps(indptr, rows, values, root, total, filled):
    """Write the columns with each missing value as the mean of its column."""
    for j in range(len(indptr) - 1):
        first, last = indptr[j], indptr[j + 1]
        mean, _ = known_mean(rows[first:last], values[first:last], root, total)
        for t in range(first, last):
            filled[t] = values[t] if values[t] == values[t] else mean


@jit
def _shape(
    rows, values, n, unordered, bins, root, basis, total, scratch, out_rows, out_codes, out_values,
    counts, coefs,
):  # fmt: skip
    """Adjust and bin a column, given its nonzeros.

    Returns the length of its listing, the number of bins, the bin of the rows that are not listed
    (-1: all are), the sum of squares of the adjusted numbers, and how it is tested.
    """
    sizes, codes, scores, ranks, filled, _, every = scratch
    mean, _ = known_mean(rows, values, root, total)
    length, n_bins, background, _, _, _, _, gaps = shape_column(
        rows, values, 0, len(values), n, unordered, bins, sizes, codes, scores, out_rows, out_codes,
        ranks, counts,
    )  # fmt: skip
    groups, most = _largest_group(sizes, n, gaps)
    out_values[:length] = 0.0
    coefs[:] = 0.0
    if n_bins < 2:
        return length, n_bins, background, 0.0, NOTHING
    if unordered and groups > 2:
        return length, n_bins, background, 0.0, BINS
    for t in range(len(values)):
        filled[t] = values[t] if values[t] == values[t] else mean
    _, squares = adjust_column(
        rows, filled, 0, len(values), root, basis, every, out_values, 0, coefs
    )
    if squares < 0.0:  # all that is known is one value: what is left is where it is missing
        out_values[:length] = 0.0
        return length, n_bins, background, 0.0, BINS
    if squares == 0.0:
        return length, n_bins, background, 0.0, NOTHING
    if groups == 2:
        return length, n_bins, background, squares, NUMBERS
    if length == n and len(basis) > 1 and groups > FEW_VALUES and most * bins < n:
        n_bins = _bin_residuals(
            rows, values, mean, bins, root, basis, scratch, out_rows, out_codes, out_values, counts,
            coefs,
        )  # fmt: skip
    return length, n_bins, background, squares, BOTH


@jit
def _bin_residuals(
    rows, values, mean, bins, root, basis, scratch, out_rows, out_codes, out_values, counts, coefs
):  # fmt: skip
    """Bin what the basis leaves of a column whose rows are all listed; return how many bins."""
    sizes, codes, scores, ranks, filled, whole, every = scratch
    n = len(root)
    whole[:] = 0.0
    for t in range(len(values)):
        whole[rows[t]] = values[t]
    far = _clip(whole, out_codes, mean)
    for i in range(n):
        every[i], ranks[i] = i, out_values[i]
    if far:
        adjust_column(every, whole, 0, n, root, basis, every, ranks, 0, coefs)
    for i in range(n):
        filled[i] = ranks[i] / root[i]
    for t in range(len(values)):
        if values[t] != values[t]:
            filled[rows[t]] = np.nan
    _, n_bins, _, _, _, _, _, _ = shape_column(
        every, filled, 0, n, n, False, bins, sizes, codes, scores, out_rows, out_codes, ranks,
        counts,
    )  # fmt: skip
    return n_bins


@inline
def _clip(values, codes, mean):
    """Bring values far out nearer, in place, and fill gaps; return whether there are any far out.

    One such value may decide the slope of least squares, and the residuals of all others with it.
    """
    top, low, high = 0, -np.inf, np.inf
    for i in range(len(values)):
        top = max(top, codes[i]) if values[i] == values[i] else top
    for i in range(len(values)):
        if codes[i] == 0 and values[i] > low:
            low = values[i]
        if codes[i] == top and values[i] < high:
            high = values[i]
    # Four standard deviations, if the values are normal.
    reach, far = (high - low) * FAR_OUT / (top - 0.5), False
    for i in range(len(values)):
        if values[i] < low - reach or values[i] > high + reach:
            values[i] = low - reach if values[i] < low else high + reach
            far = True
        elif values[i] != values[i]:
            values[i] = mean
    return far


@inline
def _largest_group(sizes, n, gaps):
    """Return the number of different values, and the rows of the commonest that is not missing."""
    groups, most, seen = 0, 0, 0
    while seen < n - gaps:
        seen += sizes[groups]
        most = max(most, sizes[groups])
        groups += 1
    return groups + (gaps > 0), most


@jit
def _sum_by_bin(rows, codes, length, n_bins, background, terms, totals, sums):
    """Sum the terms of rows by bin; `totals` are the sums over all rows."""
    sums[:n_bins] = 0.0
    n_terms = terms.shape[1]
    for e in range(length):
        i, a = rows[e], codes[e]
        for s in range(n_terms):
            sums[a, s] += terms[i, s]
    if background < 0:
        return
    # A listed row may be in the bin of the background, too: a small value that shares it with 0.
    for s in range(n_terms):
        rest = totals[s]
        for a in range(n_bins):
            rest -= sums[a, s]
        sums[background, s] += rest


@jit
def _lift(sums, k, n_bins, lower, lifts):
    """Write how indicators of bins become orthonormal directions; return how many there are.

    Row r of `lifts` has a factor for each bin.
    """
    directions = 0
    for a in range(n_bins):
        left = _shared(sums, k, a, a)
        for r in range(directions):
            lower[r] = 0.0
            for e in range(a):
                if lifts[r, e] != 0.0:
                    lower[r] += lifts[r, e] * _shared(sums, k, a, e)
            left -= lower[r] * lower[r]
        if left <= EXPLAINED * sums[a, WEIGHT]:
            continue
        scale = 1.0 / math.sqrt(left)
        for e in range(n_bins):
            lifted = scale if e == a else 0.0
            for r in range(directions):
                lifted -= scale * lower[r] * lifts[r, e]
            lifts[directions, e] = lifted
        directions += 1
    return directions


@inline
def _shared(sums, k, a, e):
    """Return the product of the indicators of two bins of a column, given the covariates."""
    total = sums[a, WEIGHT] if a == e else 0.0
    for b in range(FIRST, FIRST + k):
        total -= sums[a, b] * sums[e, b]
    return total


@jit
def _lift_parts(lifts, sums, first, directions, n_bins, lifted):
    """Write the products of directions with the target, whose terms come from `first` on.

    Returns the sum of their squares.
    """
    trace = 0.0
    for r in range(directions):
        for c in range(sums.shape[1] - first):
            total = 0.0
            for a in range(n_bins):
                total += lifts[r, a] * sums[a, first + c]
            lifted[r, c] = total
            trace += total * total
    return trace


@jit
def _correlate(rows, values, length, squares, targets, out):
    """Write the correlations of adjusted numbers with orthonormal targets, if there are any."""
    out[:] = 0.0
    if squares <= 0.0:
        return
    scale = 1.0 / math.sqrt(squares)
    for c in range(len(targets)):
        product = 0.0
        for t in range(length):
            product += values[t] * targets[c, rows[t]]
        out[c] = product * scale


@jit
def relate(
    flat, indptr, rows, values, unordered, bins, root, basis, targets, terms, totals, lo, hi, kinds,
    strength, trace, directions, n_bins, fourths,
):  # fmt: skip
    """Compare adjusted columns lo..hi-1 of a block with the target.

    Writes how each is tested, its (multiple) correlation with orthonormal `targets`, the sum of
    squared correlations of its bins with the directions that `terms` have, the number of their own
    directions, that of bins, and the sum of the squared diagonal of their projection.
    """
    n, dense, k = len(root), len(indptr) == 0, len(basis)
    own_rows, own_values = np.empty(n * dense, np.int32), np.empty(n * dense)
    scratch, part = _scratch(n), np.empty(len(targets))
    listed, codes, numbers = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n)
    counts, coefs = np.empty(MOST_BINS, np.int64), np.empty(k)
    sums, lower = np.empty((MOST_BINS, terms.shape[1])), np.empty(MOST_BINS)
    lifts, lifted = np.empty((MOST_BINS, MOST_BINS)), np.empty((MOST_BINS, len(targets)))
    from_rows, from_values = (own_rows, own_values) if dense else (rows, values)
    for j in range(lo, hi):
        first, last = 0, 0
        if dense:
            last = gather_nonzeros(flat[j * n : (j + 1) * n], own_rows, own_values)
        else:
            first, last = indptr[j], indptr[j + 1]
        length, n_bins[j], background, squares, kinds[j] = _shape(
            from_rows[first:last], from_values[first:last], n, unordered[j], bins, root, basis,
            totals[WEIGHT], scratch, listed, codes, numbers, counts, coefs,
        )  # fmt: skip
        trace[j], directions[j], fourths[j], explained = 0.0, 0, 0.0, 0.0
        _correlate(listed, numbers, length, squares, targets, part)
        for c in range(len(targets)):
            explained += part[c] * part[c]
        strength[j] = min(1.0, math.sqrt(explained))
        if kinds[j] < BINS:
            continue
        _sum_by_bin(listed, codes, length, n_bins[j], background, terms, totals, sums)
        directions[j] = _lift(sums, k, n_bins[j], lower, lifts)
        trace[j] = _lift_parts(lifts, sums, FIRST + k, directions[j], n_bins[j], lifted)
        fourths[j] = -(2.0 * n_bins[j] - 1.0) / n
        for a in range(n_bins[j]):
            fourths[j] += sums[a, SECOND] / (sums[a, WEIGHT] * sums[a, WEIGHT])


@jit
def _scratch(n):
    """Return what `_shape` needs."""
    return (
        np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(n + 1), np.empty(n),
        np.empty(n), np.empty(n), np.empty(n, np.int32),
    )  # fmt: skip


@jit
def prepare_adjusted(
    indptr, rows, values, unordered, bins, root, basis, targets, terms, totals, lo, hi, listing,
    about, n_bins, of_bins,
):  # fmt: skip
    """Adjust and bin compressed columns lo..hi-1.

    `listing` are the arrays of listed rows, and where each column begins there; `about` has numbers
    of each column, and `of_bins` room for those of `MOST_BINS` bins of each.
    """
    n, k = len(root), len(basis)
    scratch, counts, lower = _scratch(n), np.empty(MOST_BINS, np.int64), np.empty(MOST_BINS)
    begins, out_rows, out_codes, out_values = listing
    backgrounds, kinds, directions, squares, coefs, parts = about
    all_sums, all_lifts, all_parts, all_inner = of_bins
    for j in range(lo, hi):
        at, cells = begins[j], slice(j * MOST_BINS, (j + 1) * MOST_BINS)
        sums, lifts, inner = all_sums[cells], all_lifts[cells], all_inner[cells]
        own_rows, own_codes, own_values = out_rows[at:], out_codes[at:], out_values[at:]
        length, n_bins[j], backgrounds[j], squares[j], kinds[j] = _shape(
            rows[indptr[j] : indptr[j + 1]], values[indptr[j] : indptr[j + 1]], n, unordered[j],
            bins, root, basis, totals[WEIGHT], scratch, own_rows, own_codes, own_values, counts,
            coefs[j],
        )  # fmt: skip
        _correlate(own_rows, own_values, length, squares[j], targets, parts[j])
        _sum_by_bin(own_rows, own_codes, length, n_bins[j], backgrounds[j], terms, totals, sums)
        directions[j] = 0
        if kinds[j] != NOTHING:
            directions[j] = _lift(sums, k, n_bins[j], lower, lifts)
        lifted = all_parts[cells]
        _lift_parts(lifts, sums, FIRST + k, directions[j], n_bins[j], lifted)
        _invert_rest(lifted, directions[j], inner)


@jit
def _invert_rest(parts, directions, inverse):
    """Write the inverse of 1 less the products of directions with the target, times themselves."""
    room = np.empty((directions, directions))
    for r in range(directions):
        for s in range(directions):
            room[r, s] = (1.0 + RIDGE) if r == s else 0.0
            for c in range(parts.shape[1]):
                room[r, s] -= parts[r, c] * parts[s, c]
    for s in range(directions):
        inverse[s, :directions] = 0.0
        inverse[s, s] = 1.0
    _solve(room, inverse, directions)


@jit
def _solve(matrix, sides, size):
    """Solve for the columns of `sides`, in place; the matrix is symmetric, and is destroyed.

    It has no negative eigenvalues but for rounding.
    """
    for p in range(size):
        pivot = matrix[p, p]
        for q in range(p):
            pivot -= matrix[p, q] * matrix[p, q]
        matrix[p, p] = math.sqrt(max(pivot, RIDGE))
        for r in range(p + 1, size):
            value = matrix[r, p]
            for q in range(p):
                value -= matrix[r, q] * matrix[p, q]
            matrix[r, p] = value / matrix[p, p]
    for c in range(size):
        for p in range(size):
            value = sides[p, c]
            for q in range(p):
                value -= matrix[p, q] * sides[q, c]
            sides[p, c] = value / matrix[p, p]
        for p in range(size - 1, -1, -1):
            value = sides[p, c]
            for q in range(p + 1, size):
                value -= matrix[q, p] * sides[q, c]
            sides[p, c] = value / matrix[p, p]


# --- pairs ---------------------------------------------------------------------------------------


@jit
def compare_adjusted(
    listing, about, of_bins, which, lo, hi, kept_listing, kept_about, kept_of_bins, slots, places,
    weights, freedom, n_targets, out,
):  # fmt: skip
    """Compare columns which[lo..hi-1] with the other set's columns in `slots`.

    Row i of ``out[0]`` gets the dependence of column which[i] on each, at its place. If `out` has
    three parts, ``out[1]`` gets what the column says about the target once the other is known, and
    ``out[2]`` the other way round, both rounded by `rounded_worth`. `freedom` is the dimension of
    what the covariates leave.
    """
    begins, rows, codes, values = listing
    backgrounds, kinds, _, squares, coefs, parts = about
    kept_begins, kept_rows, kept_codes, kept_values = kept_listing
    kept_backgrounds, kept_kinds, _, kept_squares, kept_coefs, kept_parts = kept_about
    cells, kept_cells, sums = of_bins[0], kept_of_bins[0], of_bins[1]
    own_code, own_value = np.empty(len(weights), np.int32), np.zeros(len(weights))
    table, room = np.empty((MOST_BINS, MOST_BINS)), np.empty((6, MOST_BINS, MOST_BINS))
    left, given = np.empty((MOST_BINS, max(n_targets, 1))), len(out) == 3
    for i in range(lo, hi):
        j = which[i]
        own_code[:] = max(0, backgrounds[j])
        for t in range(begins[j], begins[j + 1]):
            own_code[rows[t]], own_value[rows[t]] = codes[t], values[t]
        for at in range(len(slots)):
            s, product = slots[at], 0.0
            first, last = kept_begins[s], kept_begins[s + 1]
            counted = kinds[j] >= BINS or kept_kinds[s] >= BINS
            if counted:
                product = _count(
                    kept_rows[first:last], kept_codes[first:last], kept_values[first:last],
                    own_code, own_value, weights, sums[cells[j] : cells[j + 1]],
                    kept_cells[s + 1] - kept_cells[s], kept_backgrounds[s], table,
                )  # fmt: skip
            else:
                for t in range(first, last):
                    product += kept_values[t] * own_value[kept_rows[t]]
            dependence, ahead, behind = 0.0, 0.0, 0.0
            if squares[j] > 0.0 and kept_squares[s] > 0.0:
                for b in range(coefs.shape[1]):
                    product -= coefs[j, b] * kept_coefs[s, b]
                r = product / np.sqrt(squares[j] * kept_squares[s])
                r = min(1.0, max(-1.0, r)) if r == r else 0.0
                dependence = abs(r)
                if given:
                    ahead, behind = _left_of_numbers(r, parts[j], kept_parts[s], freedom, n_targets)
            if counted:
                of_both, one, other = _compare_bins(
                    table, of_bins, j, kept_of_bins, s, coefs.shape[1], freedom, n_targets, given,
                    room, left,
                )  # fmt: skip
                dependence = max(dependence, of_both)
                ahead, behind = max(ahead, one), max(behind, other)
            out[0, i, places[at]] = dependence
            if given:
                out[1, i, places[at]] = rounded_worth(ahead)
                out[2, i, places[at]] = rounded_worth(behind)
        for t in range(begins[j], begins[j + 1]):
            own_value[rows[t]] = 0.0


@jit
def _count(
    rows, codes, values, own_code, own_value, weights, sums, width, background, table
):  # fmt: skip
    """Sum weights by the bins of two columns; return the product of their numbers.

    `rows` are listed of one of them. Its others are in the bin `background`: they are what is left
    of the `sums` of the other column.
    """
    product = 0.0
    table[: len(sums), :width] = 0.0
    for t in range(len(rows)):
        row = rows[t]
        table[own_code[row], codes[t]] += weights[row]
        product += values[t] * own_value[row]
    if background >= 0:
        for a in range(len(sums)):
            rest = sums[a, WEIGHT]
            for b in range(width):
                rest -= table[a, b]
            table[a, background] += rest
    return product


@inline
def _beyond_chance(share, expected, freedom):
    """Return a share of variance less what chance explains: `expected` of `freedom` dimensions."""
    if expected >= freedom:
        return 0.0
    chance = expected / freedom
    return min(1.0, max(0.0, (share - chance) / (1.0 - chance)))


@inline
def _left_of_numbers(r, part, other_part, freedom, n_targets):
    """Return what two columns of numbers say about the target once the other is known."""
    rest = 1.0 - r * r
    if rest < EXPLAINED or n_targets == 0:
        return 0.0, 0.0
    own, other, ahead, behind, along, back = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(n_targets):
        own += part[c] * part[c]
        other += other_part[c] * other_part[c]
        mine, theirs = part[c] - r * other_part[c], other_part[c] - r * part[c]
        ahead += mine * mine
        behind += theirs * theirs
        along += mine * other_part[c]
        back += theirs * part[c]
    ahead = (ahead + along * along / (1.0 - other + RIDGE)) / rest
    behind = (behind + back * back / (1.0 - own + RIDGE)) / rest
    ahead = _beyond_chance(ahead, n_targets, freedom - 1)
    return ahead, _beyond_chance(behind, n_targets, freedom - 1)


@jit
def _compare_bins(
    table, of_bins, j, kept_of_bins, s, k, freedom, n_targets, given, room, left
):  # fmt: skip
    """Return Tschuprow's T of the bins of two columns, and what each says beyond the other.

    `table` holds sums of weights by both; it is changed.
    """
    cells, sums, lifts, parts, inner, directions = of_bins
    kept_cells, kept_sums, kept_lifts, kept_parts, kept_inner, kept_directions = kept_of_bins
    m, d, mine = directions[j], kept_directions[s], slice(cells[j], cells[j + 1])
    theirs = slice(kept_cells[s], kept_cells[s + 1])
    if m == 0 or d == 0:
        return 0.0, 0.0, 0.0
    cross, turned = room[0], room[1]
    trace = _cross(table, sums[mine], lifts[mine], kept_sums[theirs], kept_lifts[theirs], k, m, d,
                   room[2], cross)  # fmt: skip
    size = math.sqrt(float(m * d))
    dependence = math.sqrt(_beyond_chance(trace / size, size, freedom))
    if not given or n_targets == 0:
        return dependence, 0.0, 0.0
    for a in range(m):
        for b in range(d):
            turned[b, a] = cross[a, b]
    one = _left_of_bins(
        cross, m, d, parts[mine], kept_parts[theirs], kept_inner[theirs], n_targets, left, room
    )
    other = _left_of_bins(
        turned, d, m, kept_parts[theirs], parts[mine], inner[mine], n_targets, left, room
    )
    one = _beyond_chance(one / min(m, n_targets), max(m, n_targets), freedom - d)
    return (
        dependence,
        one,
        _beyond_chance(other / min(d, n_targets), max(d, n_targets), freedom - m),
    )


@jit
def _cross(table, sums, lifts, kept_sums, kept_lifts, k, m, d, half, cross):
    """Write the products of the directions of two columns' bins; return the sum of squares."""
    for a in range(len(sums)):
        for b in range(len(kept_sums)):
            for e in range(FIRST, FIRST + k):
                table[a, b] -= sums[a, e] * kept_sums[b, e]
    _multiply(lifts, m, table, len(sums), len(kept_sums), half)
    trace = 0.0
    for r in range(m):
        for s in range(d):
            total = 0.0
            for b in range(len(kept_sums)):
                total += half[r, b] * kept_lifts[s, b]
            cross[r, s] = total
            trace += total * total
    return trace


@jit
def _multiply(left, rows, right, inner, columns, out):
    """Write the product of two matrices."""
    for r in range(rows):
        for c in range(columns):
            total = 0.0
            for i in range(inner):
                total += left[r, i] * right[i, c]
            out[r, c] = total


@jit
def _left_of_bins(cross, m, d, parts, kept_parts, kept_inner, n_targets, left, room):
    """Return the sum of squared correlations of m directions with the target, given d others.

    `cross` are the products of both, `parts` those with the target, and `kept_inner` is what
    `_invert_rest` writes.
    """
    pieces, weighed, sides, rest = room[2], room[3], room[4], room[5]
    _multiply(cross, m, kept_parts, d, n_targets, left)
    for r in range(m):
        for c in range(n_targets):
            left[r, c] = parts[r, c] - left[r, c]
        for s in range(d):
            pieces[r, s] = 0.0
            for c in range(n_targets):
                pieces[r, s] += left[r, c] * kept_parts[s, c]
    _multiply(pieces, m, kept_inner, d, d, weighed)
    for r in range(m):
        for p in range(m):
            sides[r, p], rest[r, p] = 0.0, ((1.0 + RIDGE) if r == p else 0.0)
            for c in range(n_targets):
                sides[r, p] += left[r, c] * left[p, c]
            for s in range(d):
                sides[r, p] += weighed[r, s] * pieces[p, s]
                rest[r, p] -= cross[r, s] * cross[p, s]
    _solve(rest, sides, m)
    trace = 0.0
    for r in range(m):
        trace += sides[r, r]
    return trace


# --- classes, whose errors are not equally large ------------------------------------------------


@jit
def least_of_bins(listing, n_bins, backgrounds, picks, share, basis, marks, p):
    """Write the least p-value of the bins of the picked columns, each alone, times their number.

    That is the saddle-point test of its indicator in the logistic model of a class.
    """
    begins, rows, codes, _ = listing
    n = len(share)
    own, code = np.empty(n), np.empty(n, np.int32)
    for i in range(len(picks)):
        j, least = picks[i], 1.0
        code[:] = max(0, backgrounds[j])
        for t in range(begins[j], begins[j + 1]):
            code[rows[t]] = codes[t]
        for a in range(n_bins[j]):
            least = min(least, _bin_p(code, a, share, basis, marks, own))
        p[i] = min(1.0, least * n_bins[j])


@jit
def _bin_p(code, a, share, basis, marks, own):
    """Return the p-value of the indicator of bin a."""
    total = 0.0
    for i in range(len(share)):
        own[i] = 1.0 if code[i] == a else 0.0
    for b in range(len(basis)):
        part = 0.0
        for i in range(len(share)):
            if code[i] == a:
                part += basis[b, i] * share[i] * (1.0 - share[i])
        for i in range(len(share)):
            own[i] -= part * basis[b, i]
    for i in range(len(share)):
        total += own[i] * (marks[i] - share[i])
    half = min(0.5, abs(total))  # of the step between two counts
    return given_p(own, share, total - math.copysign(half, total))


@jit
def class_moments(
    listing, about, of_bins, by_values, root, basis, classes, shares, weights, fourths, lo, hi,
    statistic, mean, variance, carried,
):  # fmt: skip
    """Write a statistic of columns lo..hi-1 and classes, with its mean and variance.

    It is the sum over directions of the column, its numbers or its bins, and over classes c of
    weights[c] S^2, where S sums the direction over the rows of c, less its mean. Row i is in class
    c with probability shares[i, c], whatever the others. `fourths` is the variance of what a row
    adds, less that of a normal law.

    Then how many rows carry it: those of the smallest bin, or, for numbers, 1 over the sum of
    fourth powers.
    """
    n, n_classes = shares.shape
    own, code = np.empty((MOST_BINS, n)), np.empty(n, np.int32)
    both, sums = np.empty((n_classes, n_classes)), np.empty(n_classes)
    for j in range(lo, hi):
        m = _directions_of(j, listing, about, of_bins, by_values, root, basis, code, own)
        statistic[j], mean[j], variance[j], carried[j] = 0.0, 0.0, 0.0, 0.0
        for r in range(m):
            sums[:] = 0.0
            for i in range(n):
                sums[classes[i]] += own[r, i]
                for c in range(n_classes):
                    sums[c] -= own[r, i] * shares[i, c]
            for c in range(n_classes):
                statistic[j] += weights[c] * sums[c] * sums[c]
            for s in range(r + 1):
                along, squares = _covariances(own[r], own[s], shares, weights, sums, both)
                if r == s:
                    mean[j] += along
                variance[j] += 2.0 * squares * (1.0 if r == s else 2.0)
        for i in range(n):
            x = 0.0
            for r in range(m):
                x += own[r, i] * own[r, i]
            variance[j] += x * x * fourths[i]
            carried[j] += x * x
        if by_values:
            carried[j] = 1.0 / carried[j]
        else:
            carried[j] = np.inf
            for a in range(of_bins[0][j], of_bins[0][j + 1]):
                carried[j] = min(carried[j], of_bins[1][a, WEIGHT])


@jit
def _directions_of(j, listing, about, of_bins, by_values, root, basis, code, own):
    """Write the orthonormal directions of a column, by its values or bins; return their number."""
    begins, rows, codes, values = listing
    backgrounds, _, _, squares, coefs, _ = about
    cells, sums, lifts, _, _, directions = of_bins
    n, m, first, last = len(root), (1 if by_values else directions[j]), begins[j], begins[j + 1]
    scale = 1.0 / math.sqrt(squares[j]) if by_values else 0.0
    code[:] = max(0, backgrounds[j])
    for t in range(first, last):
        code[rows[t]] = codes[t]
    for r in range(m):
        own[r] = 0.0
        for t in range(first if by_values else last, last):
            own[r, rows[t]] = values[t] * scale
        for i in range(0 if by_values else n):
            own[r, i] = 0.0
        for b in range(len(basis)):
            along = coefs[j, b] * scale
            for a in range(0 if by_values else cells[j + 1] - cells[j]):
                along += lifts[cells[j] + r, a] * sums[cells[j] + a, FIRST + b]
            for i in range(n):
                own[r, i] -= along * basis[b, i]
        for i in range(0 if by_values else n):
            own[r, i] += lifts[cells[j] + r, code[i]] * root[i]
    return m


@jit
def _covariances(one, other, shares, weights, once, both):
    """Return the weighted trace of the covariance of two directions' sums, and that of squares."""
    n, n_classes = shares.shape
    both[:] = 0.0
    once[:] = 0.0
    for i in range(n):
        x = one[i] * other[i]
        for c in range(n_classes):
            y = x * shares[i, c]
            once[c] += y
            for e in range(c + 1):
                both[c, e] += y * shares[i, e]
    along, squares = 0.0, 0.0
    for c in range(n_classes):
        for e in range(c + 1):
            shared = (once[c] if c == e else 0.0) - both[c, e]
            along += weights[c] * shared if c == e else 0.0
            squares += shared * shared * weights[c] * weights[e] * (1.0 if c == e else 2.0)
    return along, squares
