"""The growing least-squares model, compiled and plain, against numpy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.core.blocks import ColumnBlock
from tamis.kernels import least_squares as kernels
from tamis.methods.modelled import Columns
from tamis.methods.streaming.alpha_investing import LeastSquares

modes = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
seeds = st.integers(0, 2**32 - 1)


def picked(kernel, compiled):
    return kernel if compiled else kernel.py_func


def residuals_of(design, targets):
    return targets - design @ np.linalg.lstsq(design, targets, rcond=None)[0]


@modes
@settings(max_examples=15)
@given(seed=seeds)
def test_orthogonalise_leaves_what_no_column_explains(compiled, seed) -> None:
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(20, 5)))[0]
    panel = np.ascontiguousarray(np.column_stack([rng.normal(size=20), basis]))
    x = rng.normal(size=20)
    expected = residuals_of(basis, x)
    squares = picked(kernels.orthogonalise, compiled)(x, panel, 1, 6, np.empty(6))
    np.testing.assert_allclose(x, expected, atol=1e-12)
    assert squares == pytest.approx(expected @ expected)


@modes
@settings(max_examples=15)
@given(seed=seeds)
def test_whiten_spans_the_residuals(compiled, seed) -> None:
    rng = np.random.default_rng(seed)
    residuals = rng.normal(size=(4, 15))
    residuals[2] = residuals[0] - 2 * residuals[1]
    panel = np.full((15, 6), 9.0)
    totals = (residuals**2).sum(axis=1)
    assert picked(kernels.whiten, compiled)(residuals, totals, panel) == 3
    spanned = panel[:, :4]
    np.testing.assert_allclose(spanned.T @ spanned, np.diag([1.0, 1, 0, 1]), atol=1e-12)
    np.testing.assert_allclose(spanned @ (spanned.T @ residuals.T), residuals.T, atol=1e-10)
    assert (panel[:, 4:] == 9.0).all()


@modes
def test_accept_takes_the_column_from_the_residuals(compiled) -> None:
    rng = np.random.default_rng(0)
    columns, targets = rng.normal(size=(30, 4)), rng.normal(size=(2, 30))
    panel, residuals = np.zeros((30, 8)), targets.copy()
    for k in range(4):
        picked(kernels.accept, compiled)(columns[:, k].copy(), residuals, panel, 2, 2 + k)
        np.testing.assert_allclose(residuals.T, residuals_of(columns[:, : k + 1], targets.T))
    basis = panel[:, 2:6]
    np.testing.assert_allclose(basis.T @ basis, np.eye(4), atol=1e-13)


@modes
@settings(max_examples=20)
@given(seed=seeds, density=st.sampled_from([0.15, 1.0]), near=st.sampled_from([1.0, 1e-3, 1e-4]))
def test_shares_are_one_minus_wilks_lambda(compiled, seed, density, near) -> None:
    """Also for columns that are nearly combinations of the accepted ones."""
    rng = np.random.default_rng(seed)
    accepted, targets = rng.normal(size=(40, 3)), rng.normal(size=(2, 40))
    X = rng.normal(size=(40, 5)) * (rng.random((40, 5)) < density)
    X[0] = 1.5  # no column is all zeros by chance
    X[:, 1] = accepted @ rng.normal(size=3) + near * rng.normal(size=40)
    X[:, 3] = accepted[:, 0] - accepted[:, 2] + 7  # a combination
    X[:, 4] = 2.5  # constant
    model = LeastSquares(targets, intercept=True)
    for column in accepted.T:
        model.add(column - column.mean())
    design = np.column_stack([np.ones(40), accepted])

    found = []
    for layout in (X, sp.csc_matrix(X)):
        c = Columns.of(ColumnBlock.of(layout))
        shares, left = np.full(5, 9.0), np.full(5, 9.0)
        picked(kernels.explained_shares, compiled)(
            *c.arrays, c.means, c.shifts, c.squares, model._panel, 2, 5, 0, 5, 0, shares, left
        )
        found.append((shares, left))
    assert np.array_equal(found[0], found[1])

    before = residuals_of(design, targets.T)
    for j in range(3):
        after = residuals_of(np.column_stack([design, X[:, j]]), targets.T)
        wilks = np.linalg.det(after.T @ after) / np.linalg.det(before.T @ before)
        assert shares[j] == pytest.approx(1 - wilks, rel=1e-7, abs=1e-10)
        rest = residuals_of(design, X[:, j])
        assert left[j] == pytest.approx(rest @ rest / np.sum((X[:, j] - X[:, j].mean()) ** 2))
    assert shares[3:].tolist() == left[3:].tolist() == [0, 0]


@modes
def test_exponential_tail(compiled) -> None:
    shares, out = np.array([0.0, 0.25, 1.0]), np.empty(3)
    picked(kernels.exponential_tail, compiled)(shares, 10.0, out)
    np.testing.assert_allclose(out, np.exp(-10 * shares), rtol=1e-15)


@modes
@pytest.mark.parametrize("counts_unusable", [True, False])
def test_invest_stops_at_the_first_p_value_below_its_bet(compiled, counts_unusable) -> None:
    p = np.array([0.5, 1.0, 1.0, 0.001, 0.0])
    squares = np.array([9.0, 1.0, -1.0, 1.0, 1.0, 1.0])  # the run begins with column 1
    left = np.array([0.3, 0.0, 0.0, 0.2, 0.4])
    strengths, levels = np.full(6, 9, np.float32), np.full(6, 9, np.float32)
    codes = np.full(6, 9, np.uint8)
    found, number, wealth, bet = picked(kernels.invest, compiled)(
        p, squares, left, 1, 6, counts_unusable, 4, 0.5, strengths, levels, codes
    )
    numbers = [5, 7, 8] if counts_unusable else [5, 6, 7]
    first = 0.5 / (2 * numbers[0])
    second = (0.5 - first) / (2 * numbers[1])
    third = (0.5 - first - second) / (2 * numbers[2])
    assert (found, number) == (4, numbers[2])
    assert wealth == pytest.approx(0.5 - first - second)
    assert bet == pytest.approx(third)
    np.testing.assert_allclose(10 ** -levels[[1, 3, 4]], [first, second, third], rtol=1e-5)
    np.testing.assert_allclose(10 ** -strengths[[1, 3, 4]], [0.5, 1.0, 0.001], rtol=1e-5)
    assert np.isnan(levels[2])
    assert codes.tolist() == [9, 0, 1, 3, 0, 9]
    assert strengths[5] == 9
