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
from tamis.kernels.exact_counts import ENOUGH, STEPS
from tamis.kernels.levels import gather_nonzeros, whole_top
from tamis.kernels.sorting import argsort

#: Codes of the tests: positions in `tamis.measures.p_values.TESTS`.
FISHER, COUNTS, ONE_CLASS, CUTS, CHI_SQUARE, NUMBERS = range(6)

#: Not yet tested: the column has more than two levels.
OPEN = 255

#: Tables of columns with fewer ones than this are cached.
FEW_ONES = 64

#: Probabilities that differ by less than this factor, less 1, are equal.
EQUAL = 1e-7

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
    cells = np.empty((last - first + 1, n_classes), np.int64)
    cells[:] = 0  # np.zeros would be compiled
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
def _count_whole(rows, values, first, last, top, y, class_counts):
    """Return the rows of each whole number from 0 to `top` by class; `_add_zeros` is to follow."""
    cells = np.empty((top + 1, len(class_counts)), np.int64)
    cells[:] = 0
    for t in range(first, last):
        cells[int(values[t]), y[rows[t]]] += 1
    return cells


@jit
def _count_levels(rows, values, first, last, y, class_counts):
    """Return the rows of each level by class, lowest level first; zeros need not be stored."""
    top = whole_top(values, first, last)
    if top >= 0:
        cells, zero = _count_whole(rows, values, first, last, top, y, class_counts), np.int64(0)
    else:
        cells, zero = _count_sorted(rows, values, first, last, y, len(class_counts))
    return cells[: _add_zeros(cells, zero, class_counts)]


@inline
def _add_zeros(cells, zero, class_counts):
    """Add the rows that are not counted to level `zero`; return how many levels occur.

    Those are the first ones then.
    """
    n_classes = len(class_counts)
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
    return occupied


@jit
def _test_levels(
    logs, n, class_counts, cells, sizes, background, numbers, unordered, log_bound, steps, tails,
    leasts, above, own,
):  # fmt: skip
    """Return the least p-value of a few tests times their number, the least possible, and the test.

    Two levels are one test. Ordered levels: the rows above a few cuts, which leave about a third
    of the rows off the background between them, and separate the background if most rows are there.
    Categories without an order, or with few levels: every common level against the rest. `above`
    and `own` are scratch.
    """
    n_classes, n_levels = len(class_counts), len(sizes)
    cuts = numbers or not (unordered or n_levels <= FEW_CATEGORIES)
    off, rarest = n - sizes[background], n
    for c in range(n_classes):
        rarest = min(rarest, class_counts[c])
    sparse = 2 * off < n
    third = n if sparse and (off < 10 or off * rarest < 5 * n) else (off if sparse else n) / 3.0
    n_above, since, n_tests, p, least, test = 0, 0, 0, 1.0, 1.0, CUTS
    for c in range(n_classes):
        above[c] = 0
    for level in range(n_levels - 1, -1, -1):
        n_above += sizes[level]
        since += sizes[level]
        for c in range(n_classes):
            above[c] += cells[level, c]
            own[c] = above[c] if cuts else cells[level, c]
        if n_levels == 2:
            tested = level == 1
        elif cuts:
            beside = sparse and (level == background or level - 1 == background)
            tested = level > 0 and (since >= third or beside)
        else:
            tested = level == background or (sizes[level] >= 3 and 10 * sizes[level] >= off)
        if tested:
            found, possible, kind = two_levels(
                logs, n, class_counts, own, n_above if cuts else sizes[level], log_bound, steps,
                tails, leasts,
            )  # fmt: skip
            p, least = min(p, found), min(least, possible)
            n_tests += 1
            since = 0
            if n_levels == 2:
                test = kind
    # Without a cut nothing is tested.
    return (min(1.0, n_tests * p), min(1.0, n_tests * least), test) if n_tests else (1.0, 1.0, test)


@jit
def _test_cells(
    logs, n, class_counts, cells, numbers, unordered, log_bound, steps, tails, leasts, sizes, above,
    own,
):  # fmt: skip
    """Test a column by the rows of its levels, lowest first, and of each class.

    Returns the p-value (-1: not yet), the least one, the test and the levels. The last three
    arguments are scratch.
    """
    n_classes, n_levels = len(class_counts), len(cells)
    if n_levels < 2:
        return 1.0, 1.0, FISHER, n_levels
    # Not a literal, for which another copy of the callee would be compiled.
    background, rarest_level, rarest_class = np.int64(0), n, n
    for level in range(n_levels):
        sizes[level] = 0
        for c in range(n_classes):
            sizes[level] += cells[level, c]
        if sizes[level] > sizes[background]:
            background = level
        rarest_level = min(rarest_level, sizes[level])
    for c in range(n_classes):
        rarest_class = min(rarest_class, class_counts[c])
    if n_levels > 2 and not numbers and rarest_level * rarest_class >= ENOUGH * n:
        return -1.0, 0.0, CHI_SQUARE, n_levels
    p, least, test = _test_levels(
        logs, n, class_counts, cells, sizes[:n_levels], background, numbers, unordered, log_bound,
        steps, tails, leasts, above, own,
    )  # fmt: skip
    return p, least, test, n_levels


@inline
def _are_few(values, first, last, class_counts, n):
    """Return whether cuts would only separate zeros from few others, none a stored zero."""
    off, rarest, zeros = last - first, n, 0
    for c in range(len(class_counts)):
        rarest = min(rarest, class_counts[c])
    for t in range(first, last):
        zeros += values[t] == 0.0
    return zeros == 0 and 2 * off < n and (off < 10 or off * rarest < 5 * n)


@inline
def _count_signs(rows, values, first, last, y, class_counts, cells):
    """Count numbers below, at and above zero by class; return how many of the three occur.

    Few nonzeros are only cut from the zeros, so they need not be sorted.
    """
    cells[:] = 0
    negative = 0
    for t in range(first, last):
        negative += values[t] < 0.0
    zero, high = (1, 2) if negative else (0, 1)
    for c in range(len(class_counts)):
        cells[zero, c] = class_counts[c]
    for t in range(first, last):
        c = y[rows[t]]
        cells[zero, c] -= 1
        cells[high if values[t] > 0.0 else 0, c] += 1
    return high + (negative < last - first)


@jit
def test_many_levels(
    flat, indptr, rows, values, picks, y, class_counts, numbers, unordered, logs, log_bound, steps,
    tails, leasts, lo, hi, p, least, test, n_levels,
):  # fmt: skip
    """Test the picked columns lo..hi-1, those that `test_columns` left open."""
    n, n_classes, dense = len(y), len(class_counts), len(indptr) == 0
    own_rows, own_values = np.empty(n * dense, np.int32), np.empty(n * dense, np.float64)
    here, there = (own_rows, own_values) if dense else (rows, values)
    signs, sizes = np.empty((3, n_classes), np.int64), np.empty(n + 1, np.int64)
    above, own = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    for i in range(lo, hi):
        j = picks[i]
        if dense:
            first, last = 0, gather_nonzeros(flat[j * n : (j + 1) * n], own_rows, own_values)
        else:
            first, last = indptr[j], indptr[j + 1]
        few = numbers and _are_few(there, first, last, class_counts, n)
        if few:
            cells = signs[: _count_signs(here, there, first, last, y, class_counts, signs)]
        else:
            cells = _count_levels(here, there, first, last, y, class_counts)
        p[j], least[j], test[j], n_levels[j] = _test_cells(
            logs, n, class_counts, cells, numbers, unordered[j], log_bound, steps, tails, leasts,
            sizes, above, own,
        )  # fmt: skip
        if few:
            test[j], n_levels[j] = CUTS, 3  # or more


@jit
def test_whole_levels(
    flat, indptr, rows, values, picks, y, class_counts, unordered, logs, log_bound, steps, tails,
    leasts, lo, hi, p, least, test, n_levels,
):  # fmt: skip
    """Do what `test_many_levels` does for columns of categories that need not be sorted.

    Others stay open. Most categories are numbered, and then sorting is not compiled.
    """
    n, n_classes, dense = len(y), len(class_counts), len(indptr) == 0
    own_rows, own_values = np.empty(n * dense, np.int32), np.empty(n * dense, np.float64)
    here, there = (own_rows, own_values) if dense else (rows, values)
    sizes = np.empty(n + 1, np.int64)
    above, own = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    # No literals, for which other copies of the callees would be compiled.
    numbers, zero = np.bool_(False), np.int64(0)
    for i in range(lo, hi):
        j = picks[i]
        if dense:
            first, last = 0, gather_nonzeros(flat[j * n : (j + 1) * n], own_rows, own_values)
        else:
            first, last = indptr[j], indptr[j + 1]
        top = whole_top(there, first, last)
        if top < 0:
            continue
        cells = _count_whole(here, there, first, last, top, y, class_counts)
        cells = cells[: _add_zeros(cells, zero, class_counts)]
        p[j], least[j], test[j], n_levels[j] = _test_cells(
            logs, n, class_counts, cells, numbers, unordered[j], log_bound, steps, tails, leasts,
            sizes, above, own,
        )  # fmt: skip


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
def mark_open(flat, indptr, values, ones, n, numbers, p, least, test, n_levels):
    """Do what `test_columns` does for a block without columns of two levels; else return False.

    Most data that are not flags have none, and then that kernel need not be compiled. Dense columns
    must be categories.
    """
    dense = len(indptr) == 0
    there = flat if dense else values
    for j in range(len(ones)):
        if ones[j] < -1:
            continue
        first, last = (j * n, (j + 1) * n) if dense else (indptr[j], indptr[j + 1])
        value, several, t = 0.0, False, first
        while t < last and not several:
            if value == 0.0:
                value = there[t]
            else:
                several = there[t] != value and (there[t] != 0.0 or not dense)
            t += 1
        if value != 0.0 and not several:
            return False
        p[j], least[j], test[j], n_levels[j] = 1.0, 1.0, FISHER, 1
        if not several:
            continue
        test[j] = OPEN
        if numbers and 2 * (last - first) >= n and _is_dense_number(there, first, last, n):
            p[j], least[j], test[j] = -1.0, 0.0, NUMBERS
    return True


@jit
def test_columns(
    flat, indptr, rows, values, ones, y, class_counts, numbers, logs, log_bound, steps, tails,
    leasts, lo, hi, p, least, test, n_levels,
):  # fmt: skip
    """Test columns lo..hi-1 of a block against classes, if they have two levels.

    `ones`, if it is not empty, are known counts of the entries in class 1 of columns of equal
    entries, -1 where they are not known. Columns with lower numbers are passed over.

    `numbers` says that columns are numbers: those that are not mostly zero are left for another
    test (`NUMBERS`), and their p-value is -1. All others get the test `OPEN`.
    """
    n, n_classes, dense = len(y), len(class_counts), len(indptr) == 0
    own_rows, own_values = np.empty(n * dense, np.int32), np.empty(n * dense, np.float64)
    # Assigned outside of the loop: inside, Numba would update reference counts for each column,
    # which costs more than most of its tests.
    here, there = (own_rows, own_values) if dense else (rows, values)
    own = np.empty(n_classes, np.int64)
    # Nearly all columns of big sparse data hold a few equal entries (-1: not yet computed).
    known, known_least = np.empty((FEW_ONES, FEW_ONES)), np.empty(FEW_ONES)
    known[:], known_least[:] = -1.0, -1.0
    last = 0 if dense else indptr[lo]
    for j in range(lo, hi):
        if dense:
            if len(ones) > 0 and ones[j] < -1:
                continue
            first, last = 0, gather_nonzeros(flat[j * n : (j + 1) * n], own_rows, own_values)
        else:
            first, last = last, indptr[j + 1]
            if len(ones) > 0 and ones[j] < -1:
                continue
        count = last - first
        p[j], least[j], test[j], n_levels[j] = 1.0, 1.0, FISHER, 1
        if count == 0:
            continue
        if len(ones) and ones[j] >= 0:
            own[0], own[1] = count - ones[j], ones[j]
            same = True
        else:
            same = _count_ones(here, there, first, last, y, own)
        if same and count == n:
            continue
        if same:
            n_levels[j] = 2
            few = n_classes == 2 and count < FEW_ONES
            if few and known[count, own[1]] >= 0.0:
                p[j], least[j] = known[count, own[1]], known_least[count]
                continue
            p[j], least[j], test[j] = two_levels(
                logs, n, class_counts, own, count, log_bound, steps, tails, leasts
            )
            if few:
                known[count, own[1]], known_least[count] = p[j], least[j]
        elif numbers and 2 * count >= n and _is_dense_number(there, first, last, n):
            p[j], least[j], test[j] = -1.0, 0.0, NUMBERS
        else:
            test[j] = OPEN


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
