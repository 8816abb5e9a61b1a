"""Columns listed from dense and compressed blocks, compiled and plain, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.core.blocks import ColumnBlock
from tamis.kernels import column_entries as kernels
from tamis.methods.modelled import Columns

modes = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


def picked(kernel, compiled):
    return kernel if compiled else kernel.py_func


def layouts(X):
    """The same block dense and compressed, as kernels take it."""
    return [Columns.of(ColumnBlock.of(m)).arrays for m in (X, sp.csc_matrix(X))]


tables = st.builds(
    lambda n, seed, density, shift: (
        (np.random.default_rng(seed).normal(size=(n, 4)) + shift)
        * (np.random.default_rng(seed + 1).random((n, 4)) < density)
    ),
    st.sampled_from([1, 2, 7, 40]),
    st.integers(0, 2**32 - 2),
    st.sampled_from([0.0, 0.2, 0.7, 1.0]),
    st.sampled_from([0.0, 50.0]),
)


@modes
@settings(max_examples=40)
@given(X=tables, shift=st.sampled_from([0.0, 1.5]))
def test_a_column_is_listed_the_same_from_both_layouts(compiled, X, shift) -> None:
    n = len(X)
    for j in range(4):
        listed = []
        for arrays in layouts(X):
            rows, entries = np.empty(n, np.int32), np.empty(n)
            count = picked(kernels.list_column, compiled)(*arrays, n, j, shift, rows, entries)
            listed.append((rows[:count], entries[:count]))
        expected = np.arange(n) if shift else np.flatnonzero(X[:, j])
        for rows, entries in listed:
            assert rows.tolist() == expected.tolist()
            assert entries.tolist() == (X[expected, j] - shift).tolist()


@modes
@settings(max_examples=40)
@given(X=tables, centred=st.booleans())
def test_moments(compiled, X, centred) -> None:
    X[:, 1] = 4.0
    n = len(X)
    found = []
    for arrays in layouts(X):
        means, shifts, squares = np.empty((3, 4))
        picked(kernels.column_moments, compiled)(*arrays, n, centred, 0, 4, means, shifts, squares)
        found.append(np.array([means, shifts, squares]))
    assert np.array_equal(found[0], found[1])
    constant = np.ptp(X, axis=0) == 0
    assert np.array_equal(squares < 0, constant)
    about = X.mean(axis=0) if centred else np.zeros(4)
    np.testing.assert_allclose(means, about, rtol=1e-12, atol=1e-12)
    expected = ((X - about) ** 2).sum(axis=0)
    np.testing.assert_allclose(squares[~constant], expected[~constant], rtol=1e-9)
    mostly_full = 2 * np.count_nonzero(X, axis=0) > n
    assert np.array_equal(shifts, np.where(mostly_full, means, 0.0))


@modes
@settings(max_examples=20)
@given(X=tables)
def test_a_column_is_spread_over_all_rows(compiled, X) -> None:
    n = len(X)
    for arrays in layouts(X):
        out, rows, entries = np.empty(n), np.empty(n, np.int32), np.empty(n)
        picked(kernels.spread_column, compiled)(*arrays, n, 2, 0.5, rows, entries, out)
        assert out.tolist() == (X[:, 2] - 0.5).tolist()


@modes
@pytest.mark.filterwarnings("ignore:overflow")  # plain Python warns, compiled code does not
@pytest.mark.parametrize("centred", [True, False])
def test_squares_that_overflow_are_marked(compiled, centred) -> None:
    X = np.array([[1.0, 2.0, -1.0, 5.0]]).T * [1e200, 1e-200, 1e150, 1e-320]
    means, shifts, squares = np.empty((3, 4))
    arrays = layouts(X)[0]
    picked(kernels.column_moments, compiled)(*arrays, 4, centred, 0, 4, means, shifts, squares)
    assert (squares == kernels.OUT_OF_RANGE).tolist() == [True, True, False, True]
