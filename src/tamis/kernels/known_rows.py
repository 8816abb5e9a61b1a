"""Tests of columns over the rows where they are not missing.

They are those of `tamis.kernels.exact_tests` and `tamis.kernels.saddle_point`, with the counts of
the rows that are left. Rows must be missing whatever their target: then every arrangement of the
rows that are left is equally likely.
"""

from __future__ import annotations

import math

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.exact_tests import _count_levels, _test_cells
from tamis.kernels.present_rows import present_rows
from tamis.kernels.saddle_point import (
    NEAR,
    NORMAL_SCORES,
    SADDLE_POINT,
    TRUSTED,
    _background,
    _drawn_p,
    _has_few_levels,
    _scores,
    _standardise,
)


@jit
def _is_untrusted(skew, kurtosis, target_skew, target_kurtosis, z, n):
    """Return whether the t or F law is doubtful for a p-value of so many standard deviations."""
    second = z * z
    cube, fourth = z * second, second * second
    bad = abs(skew * target_skew) * cube / (6.0 * math.sqrt(n)) > TRUSTED
    return bad or abs(kurtosis * target_kurtosis) * fourth / (24.0 * n) > TRUSTED


@jit
def _is_dense_number(values, count):
    """Return whether more than two values occur and zero does not fill half of the rows."""
    zeros, several, other = 0, False, np.nan
    for t in range(count):
        zeros += values[t] == 0.0
        several |= values[t] != values[0] and values[t] != other and other == other
        if values[t] != values[0] and other != other:
            other = values[t]
    return several and 2 * zeros <= count


@jit
def _classes_left(own_rows, count, y, class_counts, number, codes):
    """Give the listed rows and their classes new numbers; return how many classes there are."""
    class_counts[:] = 0
    for t in range(count):
        class_counts[y[own_rows[t]]] += 1
    left = 0
    for c in range(len(class_counts)):
        number[c] = left
        if class_counts[c] > 0:
            class_counts[left] = class_counts[c]
            left += 1
    for t in range(count):
        codes[t] = number[y[own_rows[t]]]
        own_rows[t] = t
    return left


@jit
def _moments_of_classes(class_counts, n):
    """Return the largest skewness and excess kurtosis of the indicators of classes."""
    skew, kurtosis = 0.0, 0.0
    for size in class_counts:
        share = size / n
        spread = share * (1.0 - share)
        skew = max(skew, abs((1.0 - 2.0 * share) / math.sqrt(spread)))
        kurtosis = max(kurtosis, abs((1.0 - 6.0 * spread) / spread))
    return skew, kurtosis


@jit
def retest_known(
    indptr, rows, values, gap, picks, z, y, n_classes, numbers, unordered, logs, steps, tails,
    leasts, lo, hi, p, test,
):  # fmt: skip
    """Test the picked columns lo..hi-1 against classes, unless their present test is trusted.

    `numbers` says that columns are numbers, `z` how many standard deviations their p-value stands
    for. `steps`, `tails` and `leasts` are empty.
    """
    n = len(y)
    own_rows, own_values = np.empty(n + 1, np.int32), np.empty(n + 1, np.float64)
    codes, number = np.empty(n, np.int64), np.empty(n_classes, np.int64)
    counts, sizes = np.empty(n_classes, np.int64), np.empty(n + 1, np.int64)
    above, own = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    chosen, copy = np.empty(n, np.bool_), np.empty(n)
    for i in range(lo, hi):
        j = picks[i]
        count = present_rows(rows, values, indptr[j], indptr[j + 1], n, gap, own_rows, own_values)
        k = _classes_left(own_rows, count, y, counts, number, codes)
        if k < 2:
            p[j] = 1.0
            continue
        class_counts = counts[:k]
        if numbers and _is_dense_number(own_values, count):
            if z[i] < NEAR:
                continue
            x = copy[:count]
            for t in range(count):
                x[t] = own_values[t]
            background = _background(x)
            few = background == background or _has_few_levels(x)
            skew, kurtosis = _standardise(x)
            of_target = _moments_of_classes(class_counts, count)
            if not _is_untrusted(skew, kurtosis, *of_target, z[i], count):
                continue
            if not few:
                least = 1.0
                for c in range(1 if k == 2 else 0, k):
                    for t in range(count):
                        chosen[t] = codes[t] == c
                    least = min(least, _drawn_p(logs, x, chosen[:count], class_counts[c]))
                p[j], test[j] = least if k == 2 else min(1.0, k * least), SADDLE_POINT
                continue
        cells = _count_levels(own_rows, own_values, 0, count, codes, class_counts)
        found, _, kind, _ = _test_cells(
            logs, count, class_counts, cells, numbers, unordered[j], math.inf, steps, tails,
            leasts, sizes, above, own,
        )  # fmt: skip
        if found >= 0.0:  # else all counts are large enough for the G-squared test
            p[j], test[j] = found, kind


@jit
def retest_known_against_numbers(
    indptr, rows, values, gap, picks, z, y, score_table, logs, lo, hi, p, test, correlation
):
    """Test the picked columns lo..hi-1 against a numeric target, unless the t test is trusted.

    A column with a background is tested by its rows off that; of others the correlation of normal
    scores is written. `score_table` has those of all rows.
    """
    n = len(y)
    own_rows, own_values = np.empty(n + 1, np.int32), np.empty(n + 1, np.float64)
    off, copy, targets = np.empty(n, np.bool_), np.empty(n), np.empty(n)
    for i in range(lo, hi):
        j = picks[i]
        if z[i] < NEAR:
            continue
        count = present_rows(rows, values, indptr[j], indptr[j + 1], n, gap, own_rows, own_values)
        x, target = copy[:count], targets[:count]
        for t in range(count):
            x[t], target[t] = own_values[t], y[own_rows[t]]
        background, drawn = _background(x), 0
        for t in range(count):
            off[t] = background == background and x[t] != background
            drawn += off[t]
        of_target = _standardise(target)
        if not _is_untrusted(*_standardise(x), *of_target, z[i], count):
            continue
        if drawn:
            p[j], test[j] = _drawn_p(logs, target, off[:count], drawn), SADDLE_POINT
            continue
        # As many scores as rows that are left, evenly from those of all rows.
        table = np.empty(2 * count - 1)
        for place in range(1, 2 * count):
            table[place - 1] = score_table[place * n // count - 1]
        _scores(x, table)
        _scores(target, table)
        _standardise(x)
        _standardise(target)
        product = 0.0
        for t in range(count):
            product += x[t] * target[t]
        test[j], correlation[i] = NORMAL_SCORES, min(1.0, abs(product) / count)
