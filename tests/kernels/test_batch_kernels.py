"""Kernels of the batch selectors, compiled and not, against a few lines of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tamis.kernels import inconsistency, relief, stumps


def forms(kernel):
    """The compiled kernel and its Python function."""
    return [kernel, kernel.py_func]


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(13, 7)).round(1)
    X[:, 3:] *= rng.random((13, 4)) < 0.3
    return X, rng.integers(0, 3, 13)


def dense(X):
    none = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)
    return (X.reshape(-1, order="F"), *none)


def compressed(X):
    m = sp.csc_array(X)
    return np.empty(0), m.indptr.astype(np.int64), m.indices.astype(np.int32), m.data


@pytest.mark.parametrize("layout", [dense, compressed])
@pytest.mark.parametrize("form", [0, 1])
def test_distances_are_sums_of_whole_differences(table, layout, form) -> None:
    X, _ = table
    n, arrays = len(X), layout(X)
    lows, spans = np.empty(7), np.empty(7)
    forms(relief.column_ranges)[form](*arrays, n, 0, 7, lows, spans)
    np.testing.assert_array_equal(lows, X.min(axis=0))
    np.testing.assert_array_equal(spans, np.ptp(X, axis=0))
    discrete = np.array([False] * 5 + [True] * 2)
    units = np.rint((X - lows) / spans * relief.WHOLE)
    apart = np.abs(units[:, None] - units[None])
    apart[:, :, discrete] = (X[:, None] != X[None])[:, :, discrete] * relief.WHOLE
    picks = np.array([1, 4, 12])
    slots = np.full(n, -1)
    slots[picks] = np.arange(3)
    near, off = np.zeros((3, n), np.int64), np.zeros(n, np.int64)
    for lo, hi in ((0, 2), (2, 3)):
        forms(relief.add_distances)[form](
            *arrays, n, lows, spans, discrete, picks, slots, lo, hi, near, off
        )
    forms(relief.add_off)[form](near, picks, off)
    np.testing.assert_array_equal(near, apart.sum(axis=2)[picks])


@pytest.mark.parametrize("form", [0, 1])
def test_nearest_rows_by_class(table, form) -> None:
    _, y = table
    near = np.random.default_rng(1).integers(0, 4, (2, 13))
    picks = np.array([3, 8])
    found, counts = np.zeros((2, 3, 4), np.int32), np.zeros((2, 3), np.int64)
    forms(relief.nearest_by_class)[form](near, picks, y, 4, 0, 2, found, counts)
    for s, pick in enumerate(picks):
        for c in range(3):
            rows = sorted((near[s, r], r) for r in range(13) if r != pick and y[r] == c)[:4]
            assert found[s, c, : counts[s, c]].tolist() == [r for _, r in rows]


@pytest.mark.parametrize("form", [0, 1])
def test_inconsistent_rows_and_new_patterns(form) -> None:
    if form == 1 and np.__version__ < "2":
        pytest.skip("numpy 1 turns a sum of whole numbers with and without signs into a float")
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 3, (40, 6)), rng.integers(0, 2, 40)
    m = sp.csc_array(X)
    pattern = rng.integers(-1, 4, 40)
    counts = np.array([[np.sum((pattern == p) & (y == c)) for c in (0, 1)] for p in range(4)])
    out, new = np.zeros(6, np.int64), np.zeros(6, np.int64)
    forms(inconsistency.inconsistent_with)[form](
        m.indptr, m.indices, m.data, y, pattern, counts, np.arange(6), 0, 6, out, new
    )
    for j in range(6):
        cells = [(p, v) for p in range(4) for v in range(3)]
        sides = [np.bincount(y[(pattern == p) & (X[:, j] == v)], minlength=2) for p, v in cells]
        assert out[j] == sum(side.sum() - side.max() for side in sides)
        assert new[j] == sum(side.sum() > 0 for side in sides) - 4


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_equal_rows_have_equal_hashes_and_others_do_not() -> None:
    X = np.random.default_rng(4).integers(0, 3, (200, 5))
    m = sp.csc_array(X)
    out = np.zeros(200, np.uint64)
    inconsistency.row_hashes(m.indptr, m.indices, m.data, np.arange(5), out)
    _, rows = np.unique(X, axis=0, return_inverse=True)
    _, hashes = np.unique(out, return_inverse=True)
    assert len(set(zip(rows.tolist(), hashes.tolist(), strict=True))) == rows.max() + 1
    assert hashes.max() == rows.max()
    backwards = np.zeros(200, np.uint64)
    inconsistency.row_hashes(m.indptr, m.indices, m.data, np.arange(5)[::-1].copy(), backwards)
    np.testing.assert_array_equal(out, backwards)


@pytest.mark.parametrize("form", [0, 1])
def test_the_best_threshold_of_each_column(table, form) -> None:
    X, y = table
    rng = np.random.default_rng(5)
    weights = rng.random(13)
    weights /= weights.sum()
    m = sp.csc_array(X)
    rows, values = m.indices.copy(), m.data.copy()
    forms(stumps.sort_entries)[form](m.indptr, rows, values, 0, 7)
    errors, cuts, sides = np.empty(7), np.empty(7), np.zeros((7, 2), np.int64)
    totals = np.bincount(y, weights, 3)
    forms(stumps.best_stumps)[form](
        m.indptr, rows, values, y, weights, totals, 0, 7, errors, cuts, sides
    )
    for j in range(7):
        wrong = {}
        for cut in np.unique(X[:, j])[:-1]:
            right = sum(
                np.bincount(y[side], weights[side], 3).max()
                for side in (X[:, j] <= cut, X[:, j] > cut)
            )
            wrong[cut] = 1 - right
        assert errors[j] == pytest.approx(min(wrong.values()), abs=1e-12)
        assert wrong[cuts[j]] == pytest.approx(errors[j], abs=1e-12)
        predicted = sides[j][(X[:, j] > cuts[j]).astype(int)]
        assert weights[predicted != y].sum() == pytest.approx(errors[j], abs=1e-12)
