"""Tests on counts against SciPy and a slow reference."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import chdtri
from scipy.stats import chi2_contingency

from tamis.kernels import contingency as kernels
from tamis.kernels.information import entropy_table

several = settings(max_examples=60)
modes = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
seeds = st.integers(0, 2**32 - 1)


def picked(kernel, compiled):
    return kernel if compiled else kernel.py_func


def form(n, alpha=0.05):
    """The table, its unit for G-squared, and critical values."""
    table, unit = entropy_table(n)
    critical = chdtri(np.maximum(np.arange(max(2, n + 1)), 1.0), alpha)
    return table, unit / (2 * np.log(2)), critical


def slow_statistic(x, y, strata, pearson):
    """G-squared or Pearson's statistic, stratum by stratum, cell by cell."""
    total = 0.0
    for s in np.unique(strata):
        here = strata == s
        for a in np.unique(x):
            for c in np.unique(y):
                count = np.sum(here & (x == a) & (y == c))
                expected = np.sum(here & (x == a)) * np.sum(here & (y == c)) / here.sum()
                if pearson and expected > 0:
                    off = count - expected
                    total += (abs(off) - 0.5 if expected < 10 else off) ** 2 / expected
                elif not pearson and count > 0:
                    total += 2 * count * np.log(count / expected)
    return total


@modes
@given(seed=seeds, scale=st.sampled_from([3, 40]))
@several
def test_statistics_of_one_table_are_those_of_scipy(compiled, seed, scale):
    rng = np.random.default_rng(seed)
    cells = rng.poisson(scale, rng.integers(2, 5, 2))
    assume(cells.sum(axis=0).all() and cells.sum(axis=1).all())
    table, unit, _ = form(int(cells.sum()))
    run = picked(kernels.statistic_of, compiled)
    g, empty = run(cells.ravel(), 1, *cells.shape, table, unit, False, 1)
    wanted = chi2_contingency(cells, correction=False, lambda_="log-likelihood").statistic
    assert abs(g - wanted) < 1e-9
    assert empty == np.sum(cells == 0)
    pearson, _ = run(cells.ravel(), 1, *cells.shape, table, unit, True, 1)
    if cells.sum(axis=0).min() * cells.sum(axis=1).min() >= 10 * cells.sum():
        wanted = chi2_contingency(cells, correction=False).statistic
        assert abs(pearson - wanted) < 1e-9


@modes
def test_a_table_that_is_exactly_independent_has_statistic_zero(compiled):
    cells = np.outer([1, 3, 7], [2, 5]).ravel()
    table, unit, _ = form(int(cells.sum()))
    assert picked(kernels.statistic_of, compiled)(cells, 1, 3, 2, table, unit, False, 1) == (0.0, 0)


@modes
def test_strata_without_rows_bring_no_degrees_of_freedom(compiled):
    cells = np.array([2, 0, 3, 1, 4, 0, 0, 0, 0, 0, 0, 0])  # two strata of 3 x 2, one empty
    table, unit, _ = form(10)
    _, empty = picked(kernels.statistic_of, compiled)(cells, 2, 3, 2, table, unit, False, 1)
    assert empty == 2 + 2  # two empty cells, and the (3-1)(2-1) of the stratum without rows
    degrees = picked(kernels.degrees, compiled)
    assert (degrees(4, empty, 1), degrees(5, empty, 1), degrees(4, empty, 0)) == (1, 1, 4)
    _, empty = picked(kernels.statistic_of, compiled)(cells, 2, 3, 2, table, unit, False, 2)
    assert empty == 2  # only the stratum without rows: in the other all levels and classes occur


@modes
@pytest.mark.parametrize("pearson", [False, True], ids=["g2", "pearson"])
@given(seed=seeds)
@several
def test_relevance_is_that_of_the_whole_columns(compiled, pearson, seed):
    rng = np.random.default_rng(seed)
    n, groups = int(rng.integers(5, 60)), int(rng.integers(1, 4))
    y = rng.integers(0, groups, n).astype(np.uint16)
    counts = np.bincount(y, minlength=groups).astype(np.int64)
    X = [rng.integers(0, rng.integers(1, 4), n) for _ in range(4)]
    absent = [0, 0, 1, 2]  # levels that the numbering has but the column has not
    entries = [np.flatnonzero(x) for x in X]
    indptr = np.concatenate([[0], np.cumsum([len(e) for e in entries])])
    rows = np.concatenate(entries).astype(np.int32)
    codes = np.concatenate([x[e] for x, e in zip(X, entries, strict=True)]).astype(np.int32)
    levels = [
        np.bincount(x, minlength=x.max() + 1 + more) for x, more in zip(X, absent, strict=True)
    ]
    starts = np.concatenate([[0], np.cumsum([len(c) for c in levels])])
    table, unit, critical = form(n)
    value, level = np.empty(4), np.empty(4)
    picked(kernels.relevance_coded, compiled)(
        indptr, rows, codes, starts, np.concatenate(levels), y, counts, table, unit,
        pearson, True, critical, np.inf, 0, 4, value, level,
    )  # fmt: skip
    for j, x in enumerate(X):
        r = len(np.unique(x))
        if r == 1:
            assert (value[j], np.isnan(level[j])) == (0.0, True)
            continue
        wanted = slow_statistic(x, y, np.zeros(n), pearson) if groups > 1 else 0.0
        assert abs(value[j] - wanted) < 1e-9
        product = max(1, (r - 1) * (groups - 1))
        pairs = {(a, c) for a, c in zip(x.tolist(), y.tolist(), strict=True)}
        empty = r * groups - len(pairs) if groups > 1 else 0
        wanted = np.inf if n < 5 * product else critical[max(1, product - empty)]
        assert level[j] == wanted


@modes
def test_whole_codes_have_no_gaps(compiled):
    out = np.empty(6, np.int32)
    rows, codes = np.array([1, 4], np.int32), np.array([3, 1], np.int32)
    found = picked(kernels.dense_codes, compiled)(rows, codes, np.array([4, 1, 0, 1]), out)
    assert found == 3
    assert out.tolist() == [0, 2, 0, 0, 1, 0]


@modes
@given(seed=seeds)
@several
def test_pairs_are_tables_too(compiled, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    codes = np.array([np.unique(rng.integers(0, 4, n), return_inverse=True)[1] for _ in range(4)])
    codes = codes.astype(np.int32)
    levels = codes.max(axis=1).astype(np.int64) + 1
    table, unit, critical = form(n)
    value, level = np.empty(2), np.empty(2)
    picked(kernels.pair_statistics, compiled)(
        codes, levels, 1, np.array([3, 0]), table, unit, False, False, critical, -1.0, value, level
    )
    for i, other in enumerate((3, 0)):
        wanted = slow_statistic(codes[1], codes[other], np.zeros(n), False)
        assert abs(value[i] - wanted) < 1e-9
        df = max(1, (levels[1] - 1) * (levels[other] - 1))
        assert level[i] == (-1.0 if n < 5 * df else critical[df])


def slow_search(X, y, x, candidates, including, largest, alpha, pearson, separates):
    """Every set in turn; the counts by size, and the set that separates with its test."""
    n, tests, refused = len(y), [0] * 6, [0] * 6
    always = () if including < 0 else (including,)
    for size in range(max(1, len(always)), min(largest, len(candidates) + len(always)) + 1):
        for chosen in combinations(range(len(candidates)), size - len(always)):
            S = [candidates[i] for i in chosen] + list(always)
            tests[size] += 1
            df = (len(np.unique(X[x])) - 1) * (len(np.unique(y)) - 1)
            df = max(1, df) * int(np.prod([len(np.unique(X[s])) for s in S]))
            if n < 5 * df:
                refused[size] += 1
                if separates:
                    return tests, refused, chosen, None, df
                continue
            strata = np.unique(X[S], axis=1, return_inverse=True)[1].ravel()
            statistic = slow_statistic(X[x], y, strata, pearson)
            if statistic <= chdtri(df, alpha):
                return tests, refused, chosen, statistic, df
    return tests, refused, None, None, 0


@modes
@pytest.mark.parametrize("pearson", [False, True], ids=["g2", "pearson"])
@given(seed=seeds, separates=st.booleans(), with_one=st.booleans(), largest=st.integers(1, 4))
@settings(max_examples=40)
def test_the_first_separating_set_is_that_of_trying_all(
    compiled, pearson, seed, separates, with_one, largest
):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([30, 150, 400]))
    y = rng.integers(0, 2, n)
    X = np.array([np.where(rng.random(n) < 0.6, y, rng.integers(0, 3, n)) for _ in range(6)])
    X[4] = np.where(rng.random(n) < 0.9, X[0], X[1])  # hard to separate by one
    X = np.array([np.unique(x, return_inverse=True)[1] for x in X]).astype(np.int32)
    levels = X.max(axis=1).astype(np.int64) + 1
    y = np.unique(y, return_inverse=True)[1].astype(np.uint16)
    candidates, including = np.array([0, 5, 1, 3]), 2 if with_one else -1
    table, unit, critical = form(n)
    tests, refused = np.zeros(6, np.int64), np.zeros(6, np.int64)
    chosen, numbers = np.empty(5, np.int64), np.full(3, np.nan)
    size = picked(kernels.separate, compiled)(
        X, levels, 4, y, int(y.max()) + 1, candidates, including, 1, largest,
        table, unit, pearson, False, critical, separates, tests, refused, chosen, numbers,
    )  # fmt: skip
    wanted = slow_search(X, y, 4, candidates.tolist(), including, largest, 0.05, pearson, separates)
    assert tests.tolist() == wanted[0]
    assert refused.tolist() == wanted[1]
    if wanted[2] is None:
        assert size == -1
        return
    assert size == len(wanted[2]) + with_one
    assert tuple(chosen[: size - with_one].tolist()) == wanted[2]
    assert numbers[1] == wanted[4]
    assert np.isnan(numbers[0]) if wanted[3] is None else abs(numbers[0] - wanted[3]) < 1e-9


@modes
def test_more_levels_than_a_whole_number_can_multiply_are_refused(compiled):
    codes = np.zeros((5, 8), np.int32)
    levels = np.array([2, 2**31, 2**31, 2**31, 2**31])
    table, unit, critical = form(8)
    tests, refused = np.zeros(6, np.int64), np.zeros(6, np.int64)
    chosen, numbers = np.empty(5, np.int64), np.full(3, np.nan)
    size = picked(kernels.separate, compiled)(
        codes, levels, 0, np.zeros(8, np.uint16), 2, np.arange(1, 5), -1, 4, 4,
        table, unit, False, False, critical, True, tests, refused, chosen, numbers,
    )  # fmt: skip
    assert (size, refused[4], numbers[1]) == (4, 1, 2.0**124)
