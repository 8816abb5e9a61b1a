"""Preparing rows before they are learned, compiled and plain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels import row_scoring as kernels

modes = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


def picked(kernel, compiled):
    return kernel if compiled else kernel.py_func


@modes
@pytest.mark.parametrize(
    ("indices", "values", "fault"),
    [
        ([0, 3, 1], [1, 2, 3], (kernels.FINE, 0, 0)),
        ([0, 3, 1], [1, np.nan, 3], (kernels.NOT_FINITE, 0, 1)),
        ([0, 3, 1], [1, 2, -np.inf], (kernels.NOT_FINITE, 1, 2)),
        ([0, 3, 1], [1, 2, -1e61], (kernels.TOO_LARGE, 1, 2)),
        ([-1, 3, 1], [1, 2, 3], (kernels.NEGATIVE, 0, 0)),
        ([0, 4, 1], [1, 2, 3], (kernels.BEYOND, 0, 1)),
        ([3, 3, 1], [1, 2, 3], (kernels.NOT_RISING, 0, 1)),
        ([3, 2, 1], [1, 2, 3], (kernels.NOT_RISING, 0, 1)),
    ],
)
def test_find_fault(compiled, indices, values, fault) -> None:
    if not compiled and np.__version__ < "2":
        pytest.skip("numpy 1 turns a sum of whole numbers with and without signs into a float")
    arguments = np.array([0, 2, 2, 3]), np.array(indices), np.array(values, dtype=float), 4
    row_of_last = 2 if fault[1] == 1 else fault[1]  # row 1 is empty
    expected = (fault[0], row_of_last, fault[2])
    assert picked(kernels.find_fault, compiled)(*arguments, True) == expected
    if fault[0] in (kernels.NEGATIVE, kernels.BEYOND):
        assert picked(kernels.find_fault, compiled)(*arguments, False)[0] == kernels.FINE


def splitmix(identity, bits):
    """The finaliser of splitmix64, in whole numbers of any length."""
    mask = 2**64 - 1
    h = (identity + 0x9E3779B97F4A7C15) & mask
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & mask
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & mask
    return (h ^ (h >> 31)) >> (64 - bits)


@given(ids=st.lists(st.integers(0, 2**64 - 1), max_size=20), bits=st.integers(1, 40))
def test_buckets(ids, bits) -> None:
    expected = [splitmix(j, bits) for j in ids]
    assert kernels.buckets_of(np.array(ids, dtype=np.uint64), bits).tolist() == expected
    small = [j for j in ids if j < 2**63]
    found = kernels.buckets_of(np.array(small, dtype=np.int64), bits).tolist()
    assert found == [splitmix(j, bits) for j in small]


def test_buckets_are_filled_evenly() -> None:
    counts = np.bincount(kernels.buckets_of(np.arange(64_000) * 1024, 6), minlength=64)
    assert abs(counts - 1000).max() < 150


@modes
@settings(max_examples=40)
@given(
    rows=st.lists(
        st.dictionaries(st.integers(0, 2**40), st.integers(-5, 5), max_size=8), max_size=5
    ),
    bits=st.sampled_from([2, 20]),
)
def test_hash_rows(compiled, rows, bits) -> None:
    rows = [dict(sorted(row.items())) for row in rows]
    indptr = np.cumsum([0] + [len(row) for row in rows])
    indices = np.array([j for row in rows for j in row], dtype=np.int64)
    values = np.array([v for row in rows for v in row.values()], dtype=float)
    new = picked(kernels.hash_rows, compiled)(indptr, indices, values, bits)
    for r, row in enumerate(rows):
        expected: dict[int, float] = {}
        for j, v in row.items():
            expected[splitmix(j, bits)] = expected.get(splitmix(j, bits), 0.0) + v
        part = slice(new[0][r], new[0][r + 1])
        assert list(zip(new[1][part], new[2][part], strict=True)) == sorted(expected.items())


@modes
def test_unit_rows(compiled) -> None:
    values = np.array([3.0, 4.0, 0.0, 1e-300, 1e200, 1e200])
    found = picked(kernels.unit_rows, compiled)(np.array([0, 2, 3, 4, 4, 6]), values)
    np.testing.assert_allclose(found, [0.6, 0.8, 0, 1, 0.5**0.5, 0.5**0.5], rtol=1e-15)


@modes
def test_filled(compiled) -> None:
    old, new = np.array([0.0, 2.0, 0.0, -1.0]), np.full(6, 9.0)
    picked(kernels.copy_filled, compiled)(old, new)
    assert new.tolist() == [9, 2, 9, -1, 9, 9]


@modes
@pytest.mark.parametrize("blocks", [1, 3])
def test_scores(compiled, blocks) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 10)) * (rng.random((6, 10)) < 0.5)
    indptr = np.concatenate([[0], np.cumsum((X != 0).sum(axis=1))])
    rows = indptr, np.nonzero(X)[1], X[X != 0]
    full = rng.normal(size=(8, blocks))  # features 8 and 9 were never seen
    found = np.zeros((6, blocks))
    picked(kernels.score_full, compiled)(*rows, full, found)
    np.testing.assert_allclose(found, X[:, :8] @ full, rtol=1e-12)
    marks, weight = np.zeros((8, blocks), dtype=np.float32), np.zeros((3, blocks))
    marks[[2, 5], 0], weight[1:] = [-2, -1], full[[5, 2]]
    marks[3] = 7.0  # a precision is no mark
    found[:] = 0
    picked(kernels.score_kept, compiled)(*rows, marks, weight, found)
    np.testing.assert_allclose(found, X[:, [2, 5]] @ full[[2, 5]], rtol=1e-12)
