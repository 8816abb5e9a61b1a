"""The penalised logistic fit, compiled and plain, against optimality and a slow minimiser."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from tamis.core.blocks import ColumnBlock
from tamis.kernels import logistic as kernels
from tamis.methods.modelled import Columns

modes = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


def picked(kernel, compiled):
    return kernel if compiled else kernel.py_func


def listed(X):
    csc = sp.csc_matrix(X)
    return csc.indptr.astype(np.int64), csc.indices.astype(np.int32), csc.data


def objective(X, y, w, b, penalty, l2):
    f = X @ w + b
    loss = np.logaddexp(0, np.where(y == 1, -f, f)).mean()
    return loss + penalty * np.abs(w).sum() + l2 / 2 * w @ w


def problem(seed, density=1.0, separable=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 6)) * (rng.random((50, 6)) < density)
    X[:, 3] = X[:, 2] + 0.05 * X[:, 3]  # strongly correlated
    noise = 0.0 if separable else 1.0
    y = (X[:, 0] - X[:, 2] + 0.4 + noise * rng.normal(size=50) > 0).astype(float)
    y[:2] = 0, 1
    return X, y


@modes
@settings(max_examples=10)
@given(
    seed=st.integers(0, 2**32 - 1),
    penalty=st.sampled_from([0.2, 0.02, 0.001]),
    l2=st.sampled_from([0.0, 0.1]),
    density=st.sampled_from([0.3, 1.0]),
    separable=st.booleans(),
)
def test_the_fit_is_optimal(compiled, seed, penalty, l2, density, separable) -> None:
    X, y = problem(seed, density, separable)
    rng = np.random.default_rng(seed)
    weights, slopes, gradients = rng.normal(size=7), np.empty(50), np.empty(7)
    tolerance = 1e-7 * penalty

    sweeps, worst = picked(kernels.fit_weights, compiled)(
        *listed(X), y, penalty, l2, tolerance, weights, slopes, gradients
    )

    w, b = weights[:6], weights[6]
    chance = 1 / (1 + np.exp(-(X @ w + b)))
    np.testing.assert_allclose(slopes, chance - y, atol=1e-10)
    gradient = X.T @ (chance - y) / 50 + l2 * w
    np.testing.assert_allclose(gradients[:6], gradient, atol=1e-12)
    assert abs((chance - y).mean()) <= 2 * tolerance
    assert np.all(np.abs(gradient + penalty * np.sign(w))[w != 0] <= 2 * tolerance)
    assert np.all(np.abs(gradient)[w == 0] <= penalty + 2 * tolerance)
    assert worst <= tolerance
    assert sweeps > 0

    # From there, nothing is left to do.
    again = weights.copy()
    sweeps, _ = picked(kernels.fit_weights, compiled)(
        *listed(X), y, penalty, l2, tolerance, again, slopes, gradients
    )
    assert sweeps == 0
    assert again.tolist() == weights.tolist()


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_slow_minimiser_finds_a_lower_objective(seed) -> None:
    X, y = problem(seed)
    weights = np.zeros(7)
    kernels.fit_weights(*listed(X), y, 0.03, 0.01, 1e-9, weights, np.empty(50), np.empty(7))
    ours = objective(X, y, weights[:6], weights[6], 0.03, 0.01)

    def split(v):  # weights as differences of two numbers not below 0
        return objective(X, y, v[:6] - v[6:12], v[12], 0.0, 0.01) + 0.03 * v[:12].sum()

    bounds = [(0, None)] * 12 + [(None, None)]
    best = minimize(split, np.full(13, 0.1), method="L-BFGS-B", bounds=bounds)
    assert ours <= best.fun + 1e-12
    assert ours == pytest.approx(best.fun, rel=1e-4)


@modes
def test_without_columns_the_intercept_is_the_log_odds(compiled) -> None:
    y = np.array([1.0, 0, 0, 0, 0])
    weights = np.zeros(1)
    none = np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0)
    picked(kernels.fit_weights, compiled)(
        *none, y, 0.1, 0.0, 1e-12, weights, np.empty(5), np.empty(1)
    )
    assert weights[0] == pytest.approx(np.log(1 / 4))


@modes
def test_the_loss_of_large_margins_does_not_overflow(compiled) -> None:
    margin, move = np.array([-900.0, 900.0, 0.0]), np.array([0.0, 0.0, 1.0])
    y = np.array([1.0, 1.0, 0.0])
    expected = (900 + 0 + np.log1p(np.e)) / 3
    assert picked(kernels.mean_loss, compiled)(margin, move, 1.0, y) == pytest.approx(expected)
    slopes, curves, gradients = np.empty(3), np.empty(3), np.empty(1)
    none = np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0)
    picked(kernels.derive, compiled)(*none, margin, y, np.empty(0), 0.0, slopes, curves, gradients)
    np.testing.assert_allclose(slopes, [-1, 0, 0.5], atol=1e-15)


@modes
def test_no_step_is_taken_uphill(compiled) -> None:
    margin, y = np.zeros(4), np.array([1.0, 1, 0, 0])
    gradients, steps = np.array([0.0]), np.array([50.0])
    length = picked(kernels.length_of_step, compiled)(
        margin, y, np.empty(0), gradients, 0.1, 0.0, steps, np.full(4, 50.0)
    )
    # Any move from the best intercept is uphill; only one lost in rounding passes.
    assert length < 1e-7


@modes
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), density=st.sampled_from([0.2, 1.0]))
def test_block_gradients_are_the_largest_over_classes(compiled, seed, density) -> None:
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(30, 4)) + 5) * (rng.random((30, 4)) < density)
    X[:, 2] = 1.0
    slopes = rng.normal(size=(30, 3))
    slopes -= slopes.mean(axis=0)
    found = []
    for layout in (X, sp.csc_matrix(X)):
        c = Columns.of(ColumnBlock.of(layout))
        scales = np.sqrt(np.maximum(c.squares[1:], 0) / 30)
        gradients = np.empty(3)
        picked(kernels.block_gradients, compiled)(
            *c.arrays, 30, c.shifts, scales, slopes, 1, 4, 1, gradients
        )
        found.append(gradients)
    assert np.array_equal(found[0], found[1])
    for j in (1, 3):
        deviation = X[:, j].std()
        expected = np.abs(X[:, j] @ slopes).max() / 30 / deviation if deviation else 0.0
        assert gradients[j - 1] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert gradients[1] == 0.0
