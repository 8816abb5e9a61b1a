"""Correlations against scipy, numpy, least squares and the authors' program."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from golden_outputs import cases, matrix, paths
from tamis.core.errors import ParameterError
from tamis.core.target import Target
from tamis.kernels.threads import threads
from tamis.measures import FisherZ


def mixed_table(n: int, seed: int) -> np.ndarray:
    """Columns of every kind: rare, half full, full, negative, constant."""
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [
            rng.random(n) < 0.05,
            np.where(rng.random(n) < 0.4, rng.normal(size=n), 0),
            np.where(rng.random(n) < 0.7, rng.normal(size=n), 0),
            rng.normal(size=n),
            rng.normal(3, 2, n),
            rng.integers(-2, 3, n),
            rng.exponential(size=n),
            np.zeros(n),
            np.full(n, 0.1),
        ]
    ).astype(float)


def multiple_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """sqrt(between-class / total squares), in more digits than a double has."""
    x = x.astype(np.longdouble)
    groups = [x[y == c] for c in np.unique(y)]
    between = sum(len(g) * (g.mean() - x.mean()) ** 2 for g in groups)
    return float(np.sqrt(between / ((x - x.mean()) ** 2).sum()))


def correlation(x: np.ndarray, z: np.ndarray) -> float:
    """|r| in more digits than a double has."""
    x, z = x.astype(np.longdouble), z.astype(np.longdouble)
    x, z = x - x.mean(), z - z.mean()
    squares = (x @ x) * (z @ z)
    return float(abs(x @ z) / np.sqrt(squares)) if squares > 0 else 0.0


def both_layouts(measure, X, y):
    dense = measure.relevance(X, y)
    sparse = measure.relevance(sp.csr_matrix(X), y)
    assert np.array_equal(dense.value, sparse.value)
    assert np.array_equal(dense.cutoff, sparse.cutoff, equal_nan=True)
    assert np.array_equal(dense.constant, np.ptp(X, axis=0) == 0)
    assert np.all(dense.value[dense.constant] == 0)
    return dense


@pytest.mark.parametrize("n", [2, 3, 50, 400])
@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_relevance_to_classes_is_the_multiple_correlation_with_their_indicators(n, k):
    X, y = mixed_table(n, seed=n), np.random.default_rng(k).integers(0, k, n)
    result = both_layouts(FisherZ(), X, y)
    indicators = (y[:, None] == np.unique(y)).astype(float)
    for j in np.flatnonzero(~result.constant):
        x = X[:, j] - X[:, j].mean()
        fitted = indicators @ np.linalg.lstsq(indicators, x, rcond=None)[0]
        assert abs(result.value[j] ** 2 - (fitted @ fitted) / (x @ x)) < 1e-12
        assert abs(result.value[j] - multiple_correlation(X[:, j], y)) < 1e-12


@pytest.mark.parametrize("n", [2, 3, 50, 400])
@pytest.mark.parametrize("classes", ["indicator", "numeric"])
def test_relevance_to_two_classes_and_to_numbers_is_that_of_scipy(n, classes):
    X, rng = mixed_table(n, seed=n), np.random.default_rng(n)
    two = np.arange(n) % 2 if n < 5 else rng.integers(0, 2, n)
    for y in (two, rng.normal(size=n), 100 + rng.random(n)):
        result = both_layouts(FisherZ(classes=classes), X, y)
        for j in np.flatnonzero(~result.constant):
            assert abs(result.value[j] - abs(stats.pearsonr(X[:, j], y).statistic)) < 1e-12


@pytest.mark.parametrize("n", [1, 2, 3, 50, 400])
def test_pair_values_are_those_of_numpy_and_layouts_agree_to_the_bit(n):
    A, B = mixed_table(n, seed=1), mixed_table(n, seed=2)
    dense = FisherZ().between(A, B)
    assert np.array_equal(dense, FisherZ().between(sp.csc_matrix(A), sp.csr_matrix(B)))
    assert np.array_equal(dense, FisherZ().between(sp.csc_matrix(A), B))
    wanted = [[correlation(a, b) for b in B.T] for a in A.T]
    vary = (np.ptp(A, axis=0) > 0)[:, None] & (np.ptp(B, axis=0) > 0)
    assert np.allclose(dense, np.where(vary, wanted, 0.0), rtol=0, atol=1e-12)
    if n > 3:
        stacked = np.abs(np.corrcoef(A[:, :7].T, B[:, :7].T)[:7, 7:])
        assert np.allclose(dense[:7, :7], stacked, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mean", [1e3, 1e6, 1e9])
def test_a_large_mean_costs_no_more_digits_than_rounding_the_mean_does(mean):
    # A mean summed sequentially is off by about sqrt(n) eps |mean|, and a correlation by that over
    # the standard deviation: no squares of the mean, which would cost twice as many digits.
    n, rng = 400, np.random.default_rng(1)
    X = mean + rng.normal(size=(n, 20))
    tolerance = 4 * np.sqrt(n) * np.finfo(float).eps * mean
    for y in (rng.integers(0, 2, n), rng.integers(0, 4, n)):
        value = both_layouts(FisherZ(), X, y).value
        wanted = [multiple_correlation(x, y) for x in X.T]
        assert np.max(np.abs(value - wanted)) < tolerance
    number = rng.normal(size=n)
    value = both_layouts(FisherZ(), X, number).value
    assert np.max(np.abs(value - [correlation(x, number) for x in X.T])) < tolerance
    pairs = FisherZ().between(X, X)
    assert np.max(np.abs(pairs - [[correlation(a, b) for b in X.T] for a in X.T])) < tolerance
    assert tolerance < 1e-4


def test_values_are_shares_and_copies_are_perfectly_correlated():
    X = mixed_table(100, seed=3)[:, :7]
    pairs = FisherZ().between(X, X * -2)
    assert np.all((pairs >= 0) & (pairs <= 1))
    assert np.allclose(np.diag(pairs), 1.0, rtol=0, atol=1e-14)
    assert FisherZ().relevance(X[:, 3], X[:, 3])[0] == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_numbers_whose_squares_overflow_are_never_correlated(size):
    X, y = np.zeros((20, 2)), np.arange(20) % 2
    X[:5] = size
    assert FisherZ().relevance(X, y).value.tolist() == [0.0, 0.0]
    assert FisherZ().between(X, X).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_one_thread_and_two_give_the_same_bits():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((400, 300)) < 0.5, rng.normal(size=(400, 300)), 0)
    y = rng.integers(0, 3, 400)
    results = []
    for count in (1, 2):
        with threads(count):
            relevance = FisherZ().relevance(X, y).value
            sparse = FisherZ().relevance(sp.csc_matrix(X), y).value
            results.append((relevance, sparse, FisherZ().between(X, X[:, :40])))
    for one, two in zip(*results, strict=True):
        assert np.array_equal(one, two)


def test_names_and_numbers_of_classes_matter_only_on_request():
    X, y = mixed_table(200, seed=5), np.random.default_rng(5).integers(0, 3, 200)
    others = [np.array(labels)[y] for labels in ([5, -1, 2], ["w", "u", "v"], [True, False, True])]
    default = FisherZ().relevance(X, y).value
    for other in others[:2]:
        assert np.allclose(FisherZ().relevance(X, other).value, default, rtol=0, atol=1e-13)
    numeric = FisherZ(classes="numeric")
    plain = numeric.relevance(X, y).value
    assert np.max(np.abs(numeric.relevance(X, others[0]).value - plain)) > 0.01
    wanted = [correlation(x, y) for x in X.T]
    assert np.allclose(plain[:7], wanted[:7], rtol=0, atol=1e-12)


# --- levels ----------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.2, 0.01, 1e-6])
@pytest.mark.parametrize("n", [4, 5, 30, 1000])
def test_the_level_is_that_of_the_two_sided_z_test(alpha, n):
    measure = FisherZ(alpha=alpha)
    level = measure.cutoff(n)
    p = 2 * stats.norm.sf(np.sqrt(n - 3) * np.arctanh(level))
    assert p == pytest.approx(alpha, rel=1e-8)
    for target in ([0, 1] * (n // 2), np.linspace(0.1, 1, n)):
        rows = len(target)
        assert measure.target_cutoff(Target.of(target)) == measure.cutoff(rows)


def test_with_too_few_rows_nothing_is_dependent():
    assert FisherZ().cutoff(3) == np.inf
    X = np.array([[0.0], [0.0], [1.0]])
    assert not FisherZ().relevance(X, [0, 0, 1]).dependent.any()
    assert FisherZ().target_cutoff(Target.of([0, 1, 2])) == np.inf


@pytest.mark.parametrize("alpha", [0.2, 0.01])
@pytest.mark.parametrize("k", [3, 8])
def test_with_more_classes_the_level_is_that_of_the_f_test(alpha, k):
    rng = np.random.default_rng(k)
    n = 300
    y = rng.integers(0, k, n)
    X = rng.normal(size=(n, 150)) + 0.01 * np.arange(150) * (y == 1)[:, None]
    result = FisherZ(alpha=alpha).relevance(X, y)
    p = np.array([stats.f_oneway(*(x[y == c] for c in range(k))).pvalue for x in X.T])
    assert np.array_equal(result.dependent, p < alpha)
    assert 0 < result.dependent.sum() < 150


@pytest.mark.parametrize("alpha", [0.05, 0.01])
@pytest.mark.parametrize("k", [0, 2, 6])
def test_on_pure_noise_the_gate_lets_about_alpha_through(alpha, k):
    rng = np.random.default_rng(13)
    width = 8_000
    X = rng.normal(size=(200, width))
    y = rng.integers(0, k, 200) if k else rng.normal(size=200)
    through = int(FisherZ(alpha=alpha).relevance(X, y).dependent.sum())
    low, high = stats.binom.interval(1 - 1e-6, width, alpha)
    assert 0.9 * low <= through <= 1.1 * high  # Fisher's z is an approximation: a tenth to spare


def test_pairs_have_the_level_of_the_z_test_and_values_need_one():
    measure = FisherZ(alpha=0.05)
    assert measure.dependent([0.1, 0.9], cutoff=measure.cutoff(50)).tolist() == [False, True]
    with pytest.raises(ParameterError, match=r"FisherZ.dependent needs a cutoff here"):
        measure.dependent([0.1])


# --- the authors' program ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["wdbc", "synth_lin"])
def test_relevance_agrees_with_the_authors_program(name):
    (path,) = paths(f"primitive__abs_corr_class_{name}.json")
    wanted = json.loads(path.read_text())["abs_corr"]
    X, y = matrix(name)
    value = FisherZ(classes="numeric").relevance(X, y.astype(float)).value
    assert len(wanted) == X.shape[1]
    assert np.max(np.abs(value - wanted)) < 1e-12


@pytest.mark.parametrize("name", ["wdbc", "synth_lin", "GLIOMA", "madelon"])
def test_unconditional_tests_agree_with_the_authors_program(name):
    X, classes = matrix(name)
    unconditional = [case for case in cases("fisher_z", name) if not case["given"]]
    assert len(unconditional) >= 10
    measure = FisherZ(alpha=0.01, classes="numeric")
    for case in unconditional:
        y = classes.astype(float)
        if "y" in case:  # another feature in place of the class
            y = X[:, case["y"]]
            assert abs(measure.between(X[:, case["x"]], y)[0, 0] - case["abs_partial_corr"]) < 1e-12
        result = measure.relevance(X[:, case["x"]], y)
        # Our copy of GLIOMA holds float32, so its inputs are off by 6e-8 of a mean of a few sd.
        tol = 1e-6 if name == "GLIOMA" else 1e-12
        assert abs(result[0] - case["abs_partial_corr"]) < tol
        assert result.dependent[0] != bool(case["independent_at_0_01"])


@pytest.mark.parametrize("alpha", [0.05, 1e-6, 1e-20, 1e-100])
def test_tiny_levels_are_levels_too(alpha):
    n, k = 300, 4
    two = FisherZ(alpha=alpha).cutoff(n)
    assert 2 * stats.norm.sf(np.sqrt(n - 3) * np.arctanh(two)) == pytest.approx(alpha, rel=1e-9)
    y = np.arange(n) % k
    r = FisherZ(alpha=alpha).target_cutoff(Target.of(y))
    f = r**2 / (1 - r**2) * (n - k) / (k - 1)
    assert stats.f.sf(f, k - 1, n - k) == pytest.approx(alpha, rel=1e-9)
