"""The exact test of the ranks of few rows, against all choices of the rows of a class."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, rankdata

from tamis import AnyShape
from tamis.core.blocks import ColumnBlock
from tamis.kernels.rank_sums import rank_sum_tests
from tamis.measures.any_shape import shape


@pytest.mark.parametrize("kernel", [rank_sum_tests, rank_sum_tests.py_func])
@pytest.mark.parametrize("seed", range(6))
def test_it_counts_all_choices(kernel, seed) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 11))
    size = int(rng.integers(1, n // 2 + 1))
    y = np.isin(np.arange(n), rng.permutation(n)[:size]).astype(np.uint16)
    X = rng.normal(size=(n, 4))
    X[:, 1] = np.round(X[:, 1])
    X[1:, 2] *= rng.random(n - 1) < 0.3
    ranks = shape(ColumnBlock.of(X), np.arange(4), 3).ranks(n)
    p = np.empty(4)
    kernel(ranks, y, 1, size, p)
    for j in range(4):
        of_column = 2 * rankdata(X[:, j])
        assert (of_column - of_column.min() == ranks[j]).all()
        sums = [of_column[list(chosen)].sum() for chosen in combinations(range(n), size)]
        far = np.abs(np.array(sums) - np.mean(sums))
        seen = abs(of_column[y == 1].sum() - np.mean(sums))
        assert p[j] == pytest.approx(np.mean(far >= seen - 1e-9), rel=1e-12)


def test_without_ties_it_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 5)), np.arange(30) % 3 == 0
    ranks = shape(ColumnBlock.of(X), np.arange(5), 3).ranks(30)
    p = np.empty(5)
    rank_sum_tests(ranks, y.astype(np.uint16), 1, 10, p)
    expected = [mannwhitneyu(x[y], x[~y], method="exact").pvalue for x in X.T]
    assert np.allclose(p, expected, rtol=1e-12)


@pytest.mark.parametrize(("n", "cases"), [(8, 4), (12, 6), (12, 3), (16, 8), (20, 3), (30, 5)])
def test_few_rows_do_not_make_p_values_too_small(n, cases) -> None:
    rng = np.random.default_rng(n)
    y = (np.arange(n) < cases).astype(int)
    p = AnyShape().p_values(rng.normal(size=(n, 20_000)), y)
    for level in (0.01, 0.001, 0.0001):
        expected = 20_000 * level
        assert np.count_nonzero(p <= level) <= expected + 4 * np.sqrt(expected)
