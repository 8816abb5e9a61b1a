"""Columns as ranks and as a few bins, and how both depend on the target.

A shaped column lists, for every row off its background, a bin and a score. Scores are doubled
mid-ranks, centred, so they are whole numbers and their sums are exact; a column that is mostly zero
lists only its nonzeros, with the score of zero subtracted (`base`). Everything below is a function
of counts and of such sums, so it does not depend on the layout of a column.

A missing value (NaN) has the middle rank, which says nothing, and a bin of its own if there are
enough of them: that they are missing may say something. Tests permute all rows, so they stay valid.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.levels import gather_nonzeros
from tamis.kernels.sorting import argsort_numbers

#: Unordered categories: the most frequent ones are bins, and the others share the last bin.
MOST_BINS = 20

#: Results of columns of one value in fewer rows than this are reused.
FEW_ENTRIES = 64

#: A class with fewer rows than this per bin gets an exact test.
ROWS_A_BIN = 3


@jit
def shape_column(
    rows, values, first, last, n, unordered, bins, sizes, codes, scores, out_rows, out_codes,
    out_scores, counts,
):  # fmt: skip
    """Rank and bin one column, whose nonzeros are entries first..last-1.

    `sizes`, `codes` and `scores` are scratch for n + 1 groups of equal values; the listing goes to
    `out_rows`, `out_codes` and `out_scores`, rows per bin to `counts`. Returns the length of the
    listing, the number of bins, the bin of the rows that are not listed (-1: all are), the base,
    the sum of squares of the scores, that of their fourth powers, whether a bin is a value, and the
    number of missing values.
    """
    filled = last - first
    order, gaps = _order(values[first:last])
    groups, zero = _group_sizes(values[first:last], order, filled - gaps, n, sizes)
    present = n - gaps
    if gaps > 0:
        sizes[groups] = gaps
        groups += 1
    unordered &= groups > 2  # the order of two values does not matter
    if unordered:
        n_bins = _cut_categories(sizes, groups, codes)
    elif gaps > 0:
        n_bins = _cut(sizes, groups - 1, present, bins, codes)
        n_bins = _bin_of_gaps(sizes, groups, n, bins, n_bins, codes)
    else:
        n_bins = _cut(sizes, groups, n, bins, codes)
    counts[:n_bins] = 0
    below, squares, fourths = 0, 0.0, 0.0
    for g in range(groups):
        scores[g] = float(2 * below + sizes[g] - present)
        if unordered or (gaps > 0 and g == groups - 1):
            scores[g] = 0.0
        below += sizes[g]
        counts[codes[g]] += sizes[g]
        squared = scores[g] * scores[g]
        squares += sizes[g] * squared
        fourths += sizes[g] * squared * squared
    full = 2 * filled > n
    base = 0.0 if full or zero < 0 else scores[zero]
    background = -1 if full or zero < 0 else codes[zero]
    if full and zero >= 0:
        out_codes[:n], out_scores[:n] = codes[zero], scores[zero]
    for t in range(n if full else filled):
        out_rows[t] = t if full else rows[first + t]
    at = 0
    for g in range(groups):
        if g == zero:
            continue
        for _ in range(sizes[g]):
            entry = order[at]
            place = rows[first + entry] if full else entry
            out_codes[place], out_scores[place] = codes[g], scores[g] - base
            at += 1
    length, is_value = (n if full else filled), n_bins == groups
    return length, n_bins, background, base, squares, fourths, is_value, gaps


@jit
def _group_sizes(values, order, known, n, sizes):
    """Count the rows of each value in order; return the number of values and the one that is 0.

    The first `known` of `order` sort the values; rows without an entry are 0. -1: none is.
    """
    groups, zero, at, zeros = 0, -1, 0, n - len(values)
    while at < known or (zero < 0 and zeros > 0):
        value = values[order[at]] if at < known else np.inf
        if zero < 0 and zeros > 0 and value > 0.0:
            zero = groups
            sizes[groups] = zeros
        else:
            begin = at
            while at < known and values[order[at]] == value:
                at += 1
            sizes[groups] = at - begin
        groups += 1
    return groups, zero


@jit
def _order(values):
    """Return the indices that sort the values, those of missing ones last, and their number."""
    gaps = 0
    for t in range(len(values)):
        gaps += values[t] != values[t]
    if gaps == 0:
        return argsort_numbers(values), 0
    order, present = np.empty(len(values), np.int64), np.empty(len(values) - gaps, np.int64)
    known, gap, there = 0, len(present), np.empty(len(present), np.float64)
    for t in range(len(values)):
        if values[t] == values[t]:
            present[known], there[known] = t, values[t]
            known += 1
        else:
            order[gap] = t
            gap += 1
    among = argsort_numbers(there)
    for t in range(known):
        order[t] = present[among[t]]
    return order, gaps


@jit
def _bin_of_gaps(sizes, groups, n, bins, n_bins, codes):
    """Give missing values, the last group, a bin; return how many bins there are then.

    They have a bin of their own, or the one of the median if they would fill less than a quarter
    of a bin.
    """
    last = groups - 1
    if n_bins < 2 or 4 * sizes[last] * bins >= n:
        codes[last] = n_bins
        return n_bins + 1
    g, below = 0, sizes[0]
    while 2 * below < n - sizes[last]:
        g += 1
        below += sizes[g]
    codes[last] = codes[g]
    return n_bins


@jit
def _cut(sizes, groups, n, bins, codes):
    """Put groups of equal numbers into bins of about n / bins rows; return how many there are.

    A value with so many rows is a bin of its own, and the rows between two such values are cut
    evenly. Fewer than a quarter of a bin join the value before them (or after, at the start),
    unless there is nothing else to tell apart.
    """
    if groups <= bins:
        for g in range(groups):
            codes[g] = g
        return groups
    small_too = True
    begin = np.int64(0)  # a literal would be compiled once more
    while begin < groups:  # is there a segment of a quarter of a bin, or are there two values?
        end, rows = _segment(sizes, groups, n, bins, begin)
        if end > begin and 4 * rows * bins >= n:
            small_too = False
        begin = max(end, begin + 1)
    heavy = 0
    for g in range(groups):
        heavy += sizes[g] * bins >= n
    small_too &= heavy < 2
    found, begin = 0, np.int64(0)
    while begin < groups:
        end, rows = _segment(sizes, groups, n, bins, begin)
        if end == begin:  # a value with many rows
            codes[begin] = found
            found += 1
            begin += 1
            continue
        if 4 * rows * bins < n and not small_too:
            codes[begin:end] = max(0, found - 1)
            begin = end
            continue
        parts = max(1, (2 * rows * bins + n) // (2 * n))
        seen, part = 0, 1
        for g in range(begin, end):
            codes[g] = found
            seen += sizes[g]
            if g < end - 1 and seen * parts >= rows * part:
                found += 1
                while part < parts and seen * parts >= rows * part:
                    part += 1
        found += 1
        begin = end
    return found


@inline
def _segment(sizes, groups, n, bins, begin):
    """Return the end of the values with few rows from `begin` on, and their rows."""
    end, rows = begin, 0
    while end < groups and sizes[end] * bins < n:
        rows += sizes[end]
        end += 1
    return end, rows


@jit
def _cut_categories(sizes, groups, codes):
    """Give each category a bin; of more than `MOST_BINS` the rarest share the last one."""
    if groups <= MOST_BINS:
        for g in range(groups):
            codes[g] = g
        return groups
    codes[:groups] = MOST_BINS - 1
    for bin in range(MOST_BINS - 1):
        best = -1
        for g in range(groups):
            if codes[g] == MOST_BINS - 1 and (best < 0 or sizes[g] > sizes[best]):
                best = g
        codes[best] = bin
    return MOST_BINS


@jit
def shape_columns(
    indptr, rows, values, n, unordered, bins, lo, hi, out_pointers, out_rows, out_codes,
    out_scores, level_counts, n_bins, backgrounds, bases, squares, exact,
):  # fmt: skip
    """Shape columns lo..hi-1; column j is listed from out_pointers[j] on."""
    sizes, codes, scores = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(n + 1)
    for j in range(lo, hi):
        at = out_pointers[j]
        _, n_bins[j], backgrounds[j], bases[j], squares[j], _, exact[j], _ = shape_column(
            rows, values, indptr[j], indptr[j + 1], n, unordered[j], bins, sizes, codes, scores,
            out_rows[at:], out_codes[at:], out_scores[at:], level_counts[j],
        )  # fmt: skip


@jit
def target_table(rows, codes, scores, n_bins, background, base, groups, weights, group_counts,
                 table, sums):  # fmt: skip
    """Count the rows of a shaped column by bin and class, and sum its scores by class.

    `groups` are classes, or bins of a numeric target; with `weights`, its centred scores, there is
    one sum, of the products. `table` has a row per bin.
    """
    n_groups, weighted = len(group_counts), len(weights) > 0
    table[:n_bins] = 0
    if background >= 0:
        for c in range(n_groups):
            table[background, c] = group_counts[c]
    sums[:] = 0.0
    for t in range(len(rows)):
        c = groups[rows[t]]
        table[codes[t], c] += 1
        if background >= 0:
            table[background, c] -= 1
        if weighted:
            sums[0] += scores[t] * weights[rows[t]]
        else:
            sums[c] += scores[t]
    if not weighted:
        for c in range(n_groups):
            sums[c] += base * group_counts[c]


@jit
def relevance(
    flat, indptr, rows, values, unordered, bins, test_bins, groups, weights, group_counts, norms,
    low_sums, entropies, most_marked, lo, hi, shares, n_bins, inverses, statistic, information,
    freedoms, fisher_p, marked, bin_counts, same_as,
):  # fmt: skip
    """Compare columns lo..hi-1 of a block with targets that differ in the order of their rows only.

    Each target is a row of `groups` and of `weights`, and of what is written: to `shares` the share
    of the variance of the ranks that the target explains, the largest share that these ranks allow,
    and the sum of fourth powers of the standardised ranks; then Pearson's chi-square / n, n times
    the information in units of the table `entropies`, and, for two bins and two classes, the
    p-value of Fisher's exact test (else -1). The number of bins, the sum of 1 / rows over them and
    the degrees of freedom of the information are the same for all. Tests use `test_bins`, the
    information `bins`.

    For a table with two rows of counts and at most `most_marked` in one of them, those counts go to
    `marked`: of the rarer bin by class, or of the rarer of two classes by bin, with the rows of the
    bins in `bin_counts`.

    With one target, a column of which all of that would be as of an earlier one gets the number of
    that one in `same_as`, and nothing else; others get their own number.
    """
    n_targets, n = groups.shape
    n_groups, dense = len(group_counts), len(indptr) == 0
    own_rows, own_values = np.empty(n * dense, np.int32), np.empty(n * dense)
    sizes, codes, scores = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(n + 1)
    listed, binned, scored = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n)
    counts, table = np.empty(MOST_BINS, np.int64), np.empty((MOST_BINS, n_groups), np.int64)
    sums = np.empty(len(norms))
    log_factorials = np.zeros(n + 1)
    for k in range(2, n + 1):
        log_factorials[k] = log_factorials[k - 1] + np.log(k)
    # Nearly all columns of big sparse data hold a few entries, all of one value. With two classes
    # everything then depends on two small numbers: it is copied from an earlier column.
    earlier = np.empty((FEW_ENTRIES, FEW_ENTRIES, 2), np.int64)
    source = np.empty(n_targets, np.int64)
    earlier[:] = -1
    is_binary = n_groups == 2 and weights.shape[1] == 0
    # Assigned outside of the loop: inside, Numba would update reference counts for each column.
    from_rows, from_values = (own_rows, own_values) if dense else (rows, values)
    for j in range(lo, hi):
        known, same, same_as[j] = 0, False, j
        source[:] = -1
        if dense:
            first, last = 0, gather_nonzeros(flat[j * n : (j + 1) * n], own_rows, own_values)
        else:
            first, last = indptr[j], indptr[j + 1]
            if is_binary and last - first < min(FEW_ENTRIES, n // 2):
                same = _is_one_value(values, first, last)
                if same:
                    known = _copy(
                        j, rows, first, last, groups, earlier, source, shares, n_bins, inverses,
                        statistic, information, freedoms, fisher_p, marked, same_as,
                    )  # fmt: skip
        if known == n_targets:
            continue
        length, width, background, base, squares, fourth, _, gaps = shape_column(
            from_rows, from_values, first, last, n, unordered[j], test_bins, sizes, codes, scores,
            listed, binned, scored, counts,
        )  # fmt: skip
        n_bins[j], inverses[j] = width, inverse_sum(counts, width)
        for w in range(n_targets):
            if source[w] >= 0:
                continue
            target_table(
                listed[:length], binned, scored, width, background, base, groups[w], weights[w],
                group_counts, table, sums,
            )  # fmt: skip
            shares[w, 0, j], shares[w, 1, j], shares[w, 2, j] = _rank_shares(
                sums, squares, fourth, sizes, scores, weights[w], norms, low_sums,
                counts[:width], gaps,
            )  # fmt: skip
            statistic[w, j], information[w, j] = _bin_statistics(
                table, counts[:width], group_counts, entropies, n
            )
            if marked.shape[1] > 0:
                at = bin_counts[j] if len(bin_counts) else counts
                _mark(table, counts[:width], group_counts, most_marked, marked[w, j], at)
            fisher_p[w, j] = _fisher_of(table, counts[:width], group_counts, n, log_factorials)
        if bins != test_bins:
            length, width, background, _, _, _, _, _ = shape_column(
                from_rows, from_values, first, last, n, unordered[j], bins, sizes, codes, scores,
                listed, binned, scored, counts,
            )  # fmt: skip
            _inform(
                listed[:length], binned, scored, background, base, groups, weights, group_counts,
                source, counts[:width], entropies, table, sums, information[:, j],
            )  # fmt: skip
        freedoms[j] = (width - 1) * (n_groups - 1)
        if same:
            _remember(j, rows, first, last, groups, earlier)


@jit
def _rank_shares(sums, squares, fourth, sizes, scores, weights, norms, low_sums, counts, gaps):
    """Return the share of variance explained, the largest one possible, and fourth powers.

    The largest is known for two classes, and for a column of two values and a numeric target.
    """
    if squares == 0.0:
        return 0.0, 1.0, 0.0
    share, top = 0.0, 1.0
    for c in range(len(norms)):
        share += sums[c] * sums[c] / (norms[c] * squares) if norms[c] > 0.0 else 0.0
    # Scores add up to 0: the highest of one class are minus the lowest of the other.
    if len(weights) == 0 and len(norms) == 2:
        low, other = int(norms[0]), int(norms[1])
        most = min(_lowest_sum(sizes, scores, gaps, low), _lowest_sum(sizes, scores, gaps, other))
        top = most * most * (1 / norms[0] + 1 / norms[1]) / squares
    elif len(weights) > 0 and len(counts) == 2 and gaps == 0:
        most = min(low_sums[counts[0]], low_sums[counts[1]])
        top = most * most * inverse_sum(counts, len(counts)) / norms[0]
    return min(1.0, share), top, fourth / (squares * squares)


@inline
def _copy(
    j, rows, first, last, groups, earlier, source, shares, n_bins, inverses, statistic, information,
    freedoms, fisher_p, marked, same_as,
):  # fmt: skip
    """Copy what an earlier column with as many entries in class 1 got, for each target.

    Writes that column, or -1, to `source`; returns for how many targets there was one. With one
    target, that column goes to `same_as`, and nothing is copied.
    """
    if len(source) == 1:
        source[0] = earlier[last - first, _ones_of(rows, first, last, groups, 0), 0]
        if source[0] >= 0:
            same_as[j] = source[0]
        return int(source[0] >= 0)
    known = 0
    for w in range(len(source)):
        ones = _ones_of(rows, first, last, groups, w)
        i, v = earlier[last - first, ones, 0], earlier[last - first, ones, 1]
        source[w] = i
        if i >= 0:
            known += 1
            for k in range(3):
                shares[w, k, j] = shares[v, k, i]
            statistic[w, j], information[w, j] = statistic[v, i], information[v, i]
            fisher_p[w, j] = fisher_p[v, i]
            n_bins[j], inverses[j], freedoms[j] = n_bins[i], inverses[i], freedoms[i]
            if marked.shape[1] > 0:
                marked[w, j, 0] = -1
    return known


@inline
def _remember(j, rows, first, last, groups, earlier):
    """Note column j for later columns with as many entries in class 1 of some target."""
    for w in range(len(groups)):
        ones = _ones_of(rows, first, last, groups, w)
        earlier[last - first, ones, 0], earlier[last - first, ones, 1] = j, w


@inline
def _is_one_value(values, first, last):
    """Return whether all entries have the same value."""
    same = True
    for t in range(first, last):
        same &= values[t] == values[first]
    return same


@inline
def _ones_of(rows, first, last, groups, target):
    """Return how many entries are in class 1 of a target."""
    ones = 0
    for t in range(first, last):
        ones += groups[target, rows[t]]
    return ones


@inline
def inverse_sum(counts, width):
    """Return the sum of 1 / counts."""
    total = 0.0
    for b in range(width):
        total += 1.0 / counts[b]
    return total


@jit
def _lowest_sum(sizes, scores, gaps, wanted):
    """Return the sum of the `wanted` lowest scores; groups of equal ones are in order.

    The last group are `gaps` missing values, whose score is 0.
    """
    total, g = 0.0, 0
    while wanted > 0:
        if gaps > 0 and scores[g] >= 0.0:
            wanted -= gaps
            gaps = 0
            continue
        taken = min(wanted, sizes[g])
        total += taken * scores[g]
        wanted -= taken
        g += 1
    return total


@jit
def _bin_statistics(table, counts, group_counts, entropies, n):
    """Return Pearson's chi-square / n, and n times the information in units of `entropies`."""
    total, chi = entropies[n], 0.0
    for c in range(len(group_counts)):
        total -= entropies[group_counts[c]]
    for b in range(len(counts)):
        total -= entropies[counts[b]]
        for c in range(len(group_counts)):
            count = table[b, c]
            total += entropies[count]
            chi += count * count / (float(counts[b]) * group_counts[c])
    return max(0.0, chi - 1.0), max(0, total)


@jit
def _inform(
    rows, codes, scores, background, base, groups, weights, group_counts, source, counts, entropies,
    table, sums, information,
):  # fmt: skip
    """Write the information of a shaped column with each target that has no `source`."""
    for w in range(len(source)):
        if source[w] < 0:
            target_table(
                rows, codes, scores, len(counts), background, base, groups[w], weights[w],
                group_counts, table, sums,
            )  # fmt: skip
            _, information[w] = _bin_statistics(
                table, counts, group_counts, entropies, groups.shape[1]
            )


@jit
def _mark(table, counts, group_counts, most, marked, bin_counts):
    """Copy the counts of the rarer of two bins, or of two classes, if there are at most `most`."""
    marked[0] = -1
    if len(counts) == 2 and len(group_counts) > 2:
        rarer = 1 if counts[1] <= counts[0] else 0
        if counts[rarer] <= most:
            for c in range(len(group_counts)):
                marked[c] = table[rarer, c]
    elif len(group_counts) == 2 and len(counts) > 2:
        rarer = 1 if group_counts[1] <= group_counts[0] else 0
        if group_counts[rarer] <= min(most, ROWS_A_BIN * len(counts)):
            bin_counts[:] = 0
            marked[:] = 0
            for b in range(len(counts)):
                marked[b], bin_counts[b] = table[b, rarer], counts[b]


@inline
def _fisher_of(table, counts, group_counts, n, log_factorials):
    """Return the p-value of Fisher's exact test for two bins and two classes, else -1."""
    if len(counts) != 2 or len(group_counts) != 2:
        return -1.0
    return fisher(table[1, 1], counts[1], group_counts[1], n, log_factorials)


@jit
def fisher(both, ones, positives, n, log_factorials):
    """Return the p-value of Fisher's exact test: all tables that are no more probable.

    `both` rows have the value and the class, `ones` the value, `positives` the class.
    """
    low, high = max(0, ones + positives - n), min(ones, positives)
    lf = log_factorials
    constant = lf[ones] + lf[n - ones] + lf[positives] + lf[n - positives] - lf[n]
    own = constant - _log_table(both, ones, positives, n, lf)
    near = own + 1e-7
    total = 0.0
    # The tables rise to one mode and fall after it, so both tails are runs from the ends.
    for step in (1, -1):
        k = low if step == 1 else high
        while low <= k <= high:
            term = constant - _log_table(k, ones, positives, n, lf)
            if term > near:
                break
            total += np.exp(term)
            k += step
        if k < low or k > high:  # every table is as extreme
            return 1.0
    return min(1.0, total)


@inline
def _log_table(both, ones, positives, n, lf):
    """Return the logarithm of the product of the factorials of a table's four cells."""
    return lf[both] + lf[ones - both] + lf[positives - both] + lf[n - ones - positives + both]
