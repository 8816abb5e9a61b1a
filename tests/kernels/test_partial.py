"""Partial correlations against least squares."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels import partial as kernels

several = settings(max_examples=40)
modes = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
seeds = st.integers(0, 2**32 - 1)
ROWS = 60


def picked(kernel, compiled):
    return kernel if compiled else kernel.py_func


def orthonormal(columns):
    """Centred columns of the same span, at right angles and of length 1."""
    return np.linalg.qr(columns - columns.mean(axis=0))[0]


def variables(seed, n_targets):
    """Targets, then six columns, some of which are combinations of others."""
    rng = np.random.default_rng(seed)
    targets = orthonormal(rng.normal(size=(ROWS, n_targets)))
    X = rng.normal(size=(ROWS, 6)) + 3 * targets @ rng.normal(size=(n_targets, 6))
    X[:, 4] = X[:, 0] - 2 * X[:, 1]
    X[:, 5] += X[:, 2]
    X -= X.mean(axis=0)
    return np.column_stack([targets, X / np.linalg.norm(X, axis=0)])


def left_over(column, others):
    """Return the residuals of least squares."""
    return column - others @ np.linalg.lstsq(others, column, rcond=1e-9)[0]


def slow_strength(V, n_targets, x, given):
    """Partial multiple correlation, its number of columns that count, and the variance left."""
    others = V[:, list(given)] if len(given) else np.zeros((ROWS, 1))
    mine, targets = left_over(V[:, x], others), left_over(V[:, :n_targets], others)
    rank = int(np.linalg.matrix_rank(others, tol=1e-7))
    variance = mine @ mine
    if variance < 1e-10:
        return 0.0, rank, variance
    explained = mine - left_over(mine, targets)
    return np.sqrt(explained @ explained / variance), rank, variance


@modes
@pytest.mark.parametrize("n_targets", [1, 3])
@given(seed=seeds)
@several
def test_a_partial_strength_is_that_of_least_squares_at_every_order(compiled, n_targets, seed):
    V = variables(seed, n_targets)
    C = V.T @ V
    push, strength = picked(kernels.push, compiled), picked(kernels.partial_strength, compiled)
    x = n_targets + 3
    for order in range(6):
        given_ = [v for v in range(n_targets, n_targets + 6) if v != x][:order]
        factors, grew = np.zeros((max(1, order), len(C))), 0
        for depth, s in enumerate(given_):
            grew += push(C, factors, depth, s, 0, len(C))
        value, variance = strength(C, factors, order, x, n_targets)
        wanted, rank, wanted_variance = slow_strength(V, n_targets, x, given_)
        assert abs(value - wanted) < 1e-7
        assert abs(variance - wanted_variance) < 1e-10
        assert grew == rank


@modes
@pytest.mark.parametrize("n_targets", [1, 3])
def test_a_sum_of_columns_is_collinear_with_them_and_adds_nothing(compiled, n_targets):
    C = (lambda V: V.T @ V)(variables(0, n_targets))
    first = n_targets
    factors = np.zeros((3, len(C)))
    push = picked(kernels.push, compiled)
    assert push(C, factors, 0, first, 0, len(C))
    assert push(C, factors, 1, first + 1, 0, len(C))
    value, variance = picked(kernels.partial_strength, compiled)(C, factors, 2, first + 4, first)
    assert (value, variance < 1e-10) == (0.0, True)
    assert not push(C, factors, 2, first + 4, 0, len(C))
    assert not factors[2].any()


@modes
@pytest.mark.parametrize("n_targets", [1, 2])
def test_a_fully_explained_target_has_nothing_left_to_explain(compiled, n_targets):
    rng = np.random.default_rng(1)
    targets = orthonormal(rng.normal(size=(ROWS, n_targets)))
    x = orthonormal(targets[:, :1] + rng.normal(size=(ROWS, 1)))
    V = np.column_stack([targets, targets, x])  # copies of the targets among the columns
    C, factors = V.T @ V, np.zeros((n_targets, 2 * n_targets + 1))
    for depth in range(n_targets):
        picked(kernels.push, compiled)(C, factors, depth, n_targets + depth, 0, len(C))
    x = 2 * n_targets
    value, variance = picked(kernels.partial_strength, compiled)(
        C, factors, n_targets, x, n_targets
    )
    assert value == 0.0
    assert variance > 0.01


@modes
def test_products_with_the_target_are_correlations(compiled):
    rng = np.random.default_rng(2)
    basis = orthonormal(rng.normal(size=(ROWS, 2)))
    x = rng.normal(size=ROWS) * (rng.random(ROWS) < 0.3)
    rows = np.flatnonzero(x).astype(np.int32)
    out = np.empty(2)
    centred = x - x.mean()
    run = picked(kernels.target_products, compiled)
    run(rows, x[rows], centred @ centred, basis, out)
    assert np.allclose(out, centred @ basis / np.linalg.norm(centred), rtol=0, atol=1e-14)
    with np.errstate(invalid="ignore"):
        run(rows[:0], x[:0], 0.0, basis, out)
    assert out.tolist() == [0.0, 0.0]


def slow_search(V, n_targets, x, candidates, including, largest, levels, separates):
    """Every set in turn; the counts by size, and the set that separates."""
    tests, refused = [0] * 6, [0] * 6
    always = () if including < 0 else (including,)
    for size in range(max(1, len(always)), min(largest, len(candidates) + len(always)) + 1):
        for chosen in combinations(range(len(candidates)), size - len(always)):
            tests[size] += 1
            given_ = [candidates[i] for i in chosen] + list(always)
            value, rank, variance = slow_strength(V, n_targets, x, given_)
            if variance < 1e-10:
                return tests, refused, chosen
            if np.isinf(levels[rank]):
                refused[size] += 1
                if separates:
                    return tests, refused, chosen
            elif value <= levels[rank]:
                return tests, refused, chosen
    return tests, refused, None


@modes
@pytest.mark.parametrize("n_targets", [1, 3])
@given(seed=seeds, separates=st.booleans(), with_one=st.booleans(), largest=st.integers(1, 5))
@several
def test_the_first_separating_set_is_that_of_trying_all(
    compiled, n_targets, seed, separates, with_one, largest
):
    V = variables(seed, n_targets)
    rng = np.random.default_rng(seed)
    x = n_targets + int(rng.integers(6))
    others = [v for v in range(n_targets, n_targets + 6) if v != x]
    including = others.pop() if with_one else -1
    levels = np.full(6, rng.choice([0.0, 0.3, 0.8]))
    levels[rng.integers(2, 7) :] = np.inf
    tests, refused = np.zeros(6, np.int64), np.zeros(6, np.int64)
    chosen, numbers = np.empty(6, np.int64), np.full(4, np.nan)
    size = picked(kernels.separate, compiled)(
        V.T @ V, n_targets, x, np.array(others), including, 1, largest, levels, separates,
        tests, refused, chosen, numbers,
    )  # fmt: skip
    wanted = slow_search(V, n_targets, x, others, including, largest, levels, separates)
    assert tests.tolist() == wanted[0]
    assert refused.tolist() == wanted[1]
    assert (size >= 0) == (wanted[2] is not None)
    if size >= 0:
        assert tuple(chosen[: size - with_one].tolist()) == wanted[2]
