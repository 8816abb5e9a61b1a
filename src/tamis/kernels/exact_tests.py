"""Exact tests of columns against classes: Fisher's for two levels, and what reduces to it.

Margins are fixed and every arrangement of the rows is equally likely, so a p-value is a sum of
probabilities of tables. Which test a column gets depends on its margins and on those of the target
only. A test ends early once its p-value is known to be above a bound, which is the usual case: the
p-value is never below the probability of the table itself.
"""

from __future__ import annotations

import math

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.correlation import DENSE_NUMBER
from tamis.kernels.exact_counts import STEPS
from tamis.kernels.levels import gather_nonzeros, whole_top
from tamis.kernels.sorting import argsort

#: Codes of the tests: positions in `tamis.measures.p_values.TESTS`.
FISHER, COUNTS, ONE_CLASS, CUTS, CHI_SQUARE, NUMBERS = range(6)

#: Tables of columns with fewer ones than this are cached.
FEW_ONES = 64

#: Probabilities that differ by less than this factor, less 1, are equal.
EQUAL = 1e-7

#: The chi-square law is used if all expected counts are at least this.
ENOUGH = 25

#: Categories with at most this many levels are tested level by level, even if they are numbers.
FEW_CATEGORIES = 4


# --- two levels ----------------------------------------------------------------------------------


@inline
def _log_probability(logs, n, n1, m, a):
    """Return ln P(a of m ones are among n1 of n rows); `logs` are the logs of factorials."""
    n0 = n - n1
    inside = logs[n1] - logs[a] - logs[n1 - a]
    outside = logs[n0] - logs[m - a] - logs[n0 - m + a]
    return inside + outside - (logs[n] - logs[m] - logs[n - m])


@inline
def _tail_up(n, n1, m, a):
    """Return P(a or more ones) / P(a)."""
    n0, most = n - n1, min(m, n1)
    term, total = 1.0, 1.0
    while a < most and term > 1e-17 * total:
        term *= float(n1 - a) * float(m - a) / (float(a + 1) * float(n0 - m + a + 1))
        total += term
        a += 1
    return total


@inline
def _tail_down(n, n1, m, a):
    """Return P(a or fewer ones) / P(a)."""
    n0, fewest = n - n1, max(0, m - (n - n1))
    term, total = 1.0, 1.0
    while a > fewest and term > 1e-17 * total:
        term *= float(a) * float(n0 - m + a) / (float(n1 - a + 1) * float(m - a + 1))
        total += term
        a -= 1
    return total


@inline
def _last_below(logs, n, n1, m, lo, hi, log_p):
    """Return the last table of lo..hi, before the mode, that is no more probable; lo - 1: none."""
    lo -= 1
    while lo < hi:
        middle = (lo + hi + 1) // 2
        if _log_probability(logs, n, n1, m, middle) <= log_p:
            lo = middle
        else:
            hi = middle - 1
    return lo


@inline
def _first_above(logs, n, n1, m, lo, hi, log_p):
    """Return the first table of lo..hi, after the mode, that is no more probable; hi + 1: none."""
    hi += 1
    while lo < hi:
        middle = (lo + hi) // 2
        if _log_probability(logs, n, n1, m, middle) <= log_p:
            hi = middle
        else:
            lo = middle + 1
    return lo


@jit
def fisher(logs, n, n1, m, a, log_bound):
    """Return the p-value of Fisher's exact test: a of m ones are in a class of n1 of n rows.

    If P(a) is above the bound, P(a) is returned, which is not above the p-value.
    """
    # The same table however classes and levels are named, to the last bit.
    if 2 * m > n:
        m, a = n - m, n1 - a
    if 2 * n1 > n or (2 * n1 == n and 2 * a < m):
        n1, a = n - n1, m - a
    fewest, most = max(0, m - (n - n1)), min(m, n1)
    mode = (m + 1) * (n1 + 1) // (n + 2)
    if fewest >= most or a == mode:  # no table is more probable
        return 1.0
    log_p = _log_probability(logs, n, n1, m, a)
    if log_p > log_bound + 1e-9:
        return math.exp(log_p)
    if a * n >= m * n1:
        other = _last_below(logs, n, n1, m, fewest, min(mode, a - 1), log_p + EQUAL)
        total, inside = _tail_up(n, n1, m, a), other >= fewest
    else:
        other = _first_above(logs, n, n1, m, max(mode, a + 1), most, log_p + EQUAL)
        total, inside = _tail_down(n, n1, m, a), other <= most
    if other == mode:
        return 1.0
    if inside:
        ratio = math.exp(_log_probability(logs, n, n1, m, other) - log_p)
        if other < a:
            total += ratio * _tail_down(n, n1, m, other)
        else:
            total += ratio * _tail_up(n, n1, m, other)
    return min(1.0, math.exp(log_p) * total)


@jit
def least_fisher(logs, n, n1, m):
    """Return the least p-value of Fisher's exact test with these margins.

    It is that of the less probable extreme table, since every other table is more probable.
    """
    fewest, most = max(0, m - (n - n1)), min(m, n1)
    if fewest >= most:
        return 1.0
    low = _log_probability(logs, n, n1, m, fewest)
    high = _log_probability(logs, n, n1, m, most)
    least = math.exp(min(low, high)) * (1.0 - 1e-10)  # rounded down, so that no p-value is below it
    return 2.0 * least if abs(low - high) <= EQUAL else least


@jit
def two_levels(logs, n, class_counts, own, m, log_bound, steps, tails, leasts):
    """Test m ones, own[c] of them in class c; return p-value, least p-value and test.

    More than two classes: an exact test of the counts if `tails` knows m, else Fisher's exact test
    of each class against the others, times their number.
    """
    n_classes = len(class_counts)
    if n_classes == 2:
        p = fisher(logs, n, class_counts[1], m, own[1], log_bound)
        return p, least_fisher(logs, n, class_counts[1], m), FISHER
    few = min(m, n - m)
    if few < len(leasts):
        at = 0
        for c in range(n_classes):
            at += steps[c, own[c] if few == m else class_counts[c] - own[c]]
        return tails[few, min(STEPS - 1, at)], leasts[few], COUNTS
    p, share = 1.0, log_bound - math.log(n_classes)
    for c in range(n_classes):
        p = min(p, fisher(logs, n, class_counts[c], m, own[c], share))
    return min(1.0, n_classes * p), 0.0, ONE_CLASS


# --- more levels ---------------------------------------------------------------------------------


@jit
def _count_sorted(rows, values, first, last, y, n_classes):
    """Return the rows of each level by class, lowest first, and the place of zero among them."""
    order = argsort(values[first:last])
    cells = np.zeros((last - first + 1, n_classes), np.int64)
    level, zero, before = -1, -1, np.nan
    for i in range(len(order)):
        t = first + order[i]
        value = values[t]
        if zero < 0 and value >= 0.0:
            level += 1
            zero = level
        level += value != 0.0 and value != before
        before = value
        cells[level, y[rows[t]]] += 1  # zeros come directly after `zero` is set
    return cells, zero if zero >= 0 else level + 1


@jit
def _count_levels(rows, values, first, last, y, class_counts):
    """Return the rows of each level by class, lowest level first; zeros need not be stored."""
    n_classes, top = len(class_counts), whole_top(values, first, last)
    if top >= 0:
        cells, zero = np.zeros((top + 1, n_classes), np.int64), 0
        for t in range(first, last):
            cells[int(values[t]), y[rows[t]]] += 1
    else:
        cells, zero = _count_sorted(rows, values, first, last, y, n_classes)
    for c in range(n_classes):
        absent = class_counts[c]
        for level in range(len(cells)):
            absent -= cells[level, c]
        cells[zero, c] += absent
    occupied = 0
    for level in range(len(cells)):
        total = 0
        for c in range(n_classes):
            total += cells[level, c]
        if total > 0:
            for c in range(n_classes):
                cells[occupied, c] = cells[level, c]
            occupied += 1
    return cells[:occupied]


@jit
def _by_cuts(logs, n, class_counts, cells, sizes, background, log_bound, steps, tails, leasts):
    """Test the rows above a few cuts; return the least p-value times their number, and its least.

    Cuts leave about a third of the rows off the background between them, and separate the
    background if most rows are there.
    """
    n_classes, n_levels = len(class_counts), len(sizes)
    rarest = n
    for c in range(n_classes):
        rarest = min(rarest, class_counts[c])
    off = n - sizes[background]
    sparse = 2 * off < n
    third = n if sparse and (off < 10 or off * rarest < 5 * n) else (off if sparse else n) / 3.0
    above = np.zeros(n_classes, np.int64)
    n_above, since, n_cuts, p, least = 0, 0, 0, 1.0, 1.0
    for level in range(n_levels - 1, 0, -1):
        for c in range(n_classes):
            above[c] += cells[level, c]
        n_above += sizes[level]
        since += sizes[level]
        beside = sparse and (level == background or level - 1 == background)
        if since >= third or beside:
            found, possible, _ = two_levels(
                logs, n, class_counts, above, n_above, log_bound, steps, tails, leasts
            )
            p, least = min(p, found), min(least, possible)
            n_cuts += 1
            since = 0
    # Without a cut nothing is tested.
    return (min(1.0, n_cuts * p), min(1.0, n_cuts * least)) if n_cuts else (1.0, 1.0)


@jit
def _by_levels(logs, n, class_counts, cells, sizes, background, log_bound, steps, tails, leasts):
    """Test every common level against the rest, times their number, and the least of that."""
    n_tests, p, least = 0, 1.0, 1.0
    off = n - sizes[background]
    for level in range(len(sizes)):
        if level == background or (sizes[level] >= 3 and 10 * sizes[level] >= off):
            found, possible, _ = two_levels(
                logs, n, class_counts, cells[level], sizes[level], log_bound, steps, tails, leasts
            )
            p, least = min(p, found), min(least, possible)
            n_tests += 1
    return min(1.0, n_tests * p), min(1.0, n_tests * least)


@inline
def _are_few(values, first, last, class_counts, n):
    """Return whether `_by_cuts` would only separate zeros from few others, none a stored zero."""
    off, rarest, zeros = last - first, n, 0
    for c in range(len(class_counts)):
        rarest = min(rarest, class_counts[c])
    for t in range(first, last):
        zeros += values[t] == 0.0
    return zeros == 0 and 2 * off < n and (off < 10 or off * rarest < 5 * n)


@inline
def _by_sign(
    rows, values, first, last, y, class_counts, logs, log_bound, steps, tails, leasts, above,
    below,
):  # fmt: skip
    """Compute `_by_cuts` for columns with few nonzeros: no value need be sorted.

    `above` and `below` are scratch.
    """
    n, n_classes, off, positive = len(y), len(class_counts), last - first, 0
    for c in range(n_classes):
        above[c], below[c] = 0, 0
    for t in range(first, last):
        if values[t] > 0.0:
            above[y[rows[t]]] += 1
            positive += 1
        else:
            below[y[rows[t]]] += 1
    n_cuts, p, least = 0, 1.0, 1.0
    if positive > 0:
        p, least, _ = two_levels(
            logs, n, class_counts, above, positive, log_bound, steps, tails, leasts
        )
        n_cuts += 1
    if positive < off:
        for c in range(n_classes):
            above[c] = class_counts[c] - below[c]
        found, possible, _ = two_levels(
            logs, n, class_counts, above, n - (off - positive), log_bound, steps, tails, leasts
        )
        p, least = min(p, found), min(least, possible)
        n_cuts += 1
    return min(1.0, n_cuts * p), min(1.0, n_cuts * least)


@jit
def many_levels(
    rows, values, first, last, y, class_counts, numbers, unordered, logs, log_bound, steps, tails,
    leasts,
):  # fmt: skip
    """Test a column of any values; return p-value (-1: not yet), least, test and levels."""
    n, n_classes = len(y), len(class_counts)
    cells = _count_levels(rows, values, first, last, y, class_counts)
    n_levels = len(cells)
    if n_levels < 2:
        return 1.0, 1.0, FISHER, n_levels
    sizes = np.zeros(n_levels, np.int64)
    background, rarest_level, rarest_class = 0, n, n
    for level in range(n_levels):
        for c in range(n_classes):
            sizes[level] += cells[level, c]
        if sizes[level] > sizes[background]:
            background = level
        rarest_level = min(rarest_level, sizes[level])
    for c in range(n_classes):
        rarest_class = min(rarest_class, class_counts[c])
    if n_levels == 2:
        p, least, test = two_levels(
            logs, n, class_counts, cells[1], sizes[1], log_bound, steps, tails, leasts
        )
        return p, least, test, 2
    if not numbers and rarest_level * rarest_class >= ENOUGH * n:
        return -1.0, 0.0, CHI_SQUARE, n_levels
    form = (logs, n, class_counts, cells, sizes, background, log_bound, steps, tails, leasts)
    if not numbers and (unordered or n_levels <= FEW_CATEGORIES):
        p, least = _by_levels(*form)
    else:
        p, least = _by_cuts(*form)
    return p, least, CUTS, n_levels


# --- columns -------------------------------------------------------------------------------------


@inline
def _count_ones(rows, values, first, last, y, own):
    """Count the entries by class if all of them are equal; return whether they are."""
    value = values[first]
    same = value != 0.0 and values[last - 1] == value
    if same and len(own) == 2:
        ones = 0
        for t in range(first, last):
            same &= values[t] == value
            ones += y[rows[t]]
        own[0], own[1] = last - first - ones, ones
    elif same:
        own[:] = 0
        for t in range(first, last):
            same &= values[t] == value
            own[y[rows[t]]] += 1
    return same


@inline
def _is_dense_number(values, first, last, n):
    """Return whether more than two values occur and zero does not fill half of the rows."""
    zeros, other, several = n - (last - first), np.nan, False
    for t in range(first, last):
        zeros += values[t] == 0.0
        several |= values[t] != values[first] and values[t] != other and other == other
        if values[t] != values[first] and other != other:
            other = values[t]
    kinds = 1 + (other == other)
    if zeros > 0 and values[first] != 0.0 and other != 0.0:
        kinds += 1
    return 2 * zeros <= n and (several or kinds > 2)


@jit
def test_columns(
    flat, indptr, rows, values, ones, y, class_counts, numbers, unordered, logs, log_bound, steps,
    tails, leasts, lo, hi, p, least, test, n_levels,
):  # fmt: skip
    """Test columns lo..hi-1 of a block against classes.

    `ones`, if it is not empty, are known counts of the entries in class 1 of columns of equal
    entries, -1 where they are not known. Dense columns marked `DENSE_NUMBER` are passed over.

    `numbers` says that columns are numbers: those that are not mostly zero are left for another
    test (`NUMBERS`). Where the caller has to compute the p-value it is -1.
    """
    n, n_classes, dense = len(y), len(class_counts), len(indptr) == 0
    own_rows, own_values = np.empty(n * dense, np.int32), np.empty(n * dense, np.float64)
    # Assigned outside of the loop: inside, Numba would update reference counts for each column,
    # which costs more than most of its tests.
    here, there = (own_rows, own_values) if dense else (rows, values)
    own, below = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    # Nearly all columns of big sparse data hold a few equal entries (-1: not yet computed).
    known, known_least = np.full((FEW_ONES, FEW_ONES), -1.0), np.full(FEW_ONES, -1.0)
    last = 0 if dense else indptr[lo]
    for j in range(lo, hi):
        if dense:
            column = flat[j * n : (j + 1) * n]
            passed_over = len(ones) > 0 and ones[j] == DENSE_NUMBER
            first, last = 0, 0 if passed_over else gather_nonzeros(column, own_rows, own_values)
        else:
            first, last = last, indptr[j + 1]
        count = last - first
        p[j], least[j], test[j], n_levels[j] = 1.0, 1.0, FISHER, 1
        if count > 0:
            if len(ones) and ones[j] >= 0:
                own[0], own[1] = count - ones[j], ones[j]
                same = True
            else:
                same = _count_ones(here, there, first, last, y, own)
            if same and count == n:
                pass
            elif same and n_classes == 2 and count < FEW_ONES:
                n_levels[j] = 2
                if known[count, own[1]] < 0.0:
                    known[count, own[1]] = fisher(
                        logs, n, class_counts[1], count, own[1], log_bound
                    )
                    known_least[count] = least_fisher(logs, n, class_counts[1], count)
                p[j], least[j] = known[count, own[1]], known_least[count]
            elif same:
                n_levels[j] = 2
                p[j], least[j], test[j] = two_levels(
                    logs, n, class_counts, own, count, log_bound, steps, tails, leasts
                )
            elif numbers and 2 * count >= n and _is_dense_number(there, first, last, n):
                p[j], least[j], test[j] = -1.0, 0.0, NUMBERS
            elif numbers and _are_few(there, first, last, class_counts, n):
                test[j], n_levels[j] = CUTS, 3  # or more
                p[j], least[j] = _by_sign(
                    here, there, first, last, y, class_counts, logs, log_bound, steps, tails,
                    leasts, own, below,
                )  # fmt: skip
            else:
                p[j], least[j], test[j], n_levels[j] = many_levels(
                    here, there, first, last, y, class_counts, numbers, unordered[j], logs,
                    log_bound, steps, tails, leasts,
                )  # fmt: skip


@jit
def gate_columns(value, constant, p, test, alpha, least_value, missed, bits, cutoff, logged):
    """Set cutoffs: see `tamis.core.p_levels.significance`; `bits` are those of `cutoff`."""
    for j in range(len(value)):
        logged[j] = missed[test[j]]
        if constant[j]:
            cutoff[j] = np.nan
        elif p[j] <= alpha:
            value[j] = max(value[j], least_value)
            cutoff[j] = value[j] * min(p[j] / alpha, 1.0 - 1e-14)
            bits[j] = (bits[j] & ~15) | test[j]
        else:
            cutoff[j] = logged[j]
