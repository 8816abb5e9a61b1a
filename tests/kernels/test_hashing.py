"""Hashes of columns: the same in every layout, another for any change."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tamis.core.blocks import ColumnBlock
from tamis.core.names import Names
from tamis.engine.seen_columns import hashes_of, name_hashes
from tamis.kernels import hashing
from tamis.kernels.hashing import checksum_parts, crc_table

MASK = 2**64 - 1


def stirred(state: int, more: int) -> int:
    """The rule in whole numbers."""
    state = ((state ^ more) * 0xD6E8FEB86659FD93) & MASK
    state = ((state ^ (state >> 32)) * 0xD6E8FEB86659FD93) & MASK
    return state ^ (state >> 32)


def slow_hash(column: np.ndarray) -> int:
    state = 0x9E3779B97F4A7C15
    for row, value in enumerate(column):
        if value != 0:
            state = stirred(stirred(state, row), int(np.float64(value).view(np.uint64)))
    return state


@given(st.integers(0, 2**32 - 1))
def test_a_hash_is_that_of_the_rule_in_every_layout(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(1, 30), rng.integers(1, 6))) * (rng.random() < 0.9)
    X[rng.random(X.shape) < 0.4] = rng.choice([0.0, -0.0])
    expected = [slow_hash(column) for column in X.T]
    matrix = sp.csc_matrix(X)
    stored = sp.csc_matrix(np.ones_like(X))
    stored.data[:] = X.ravel(order="F")  # zeros and all
    assert hashes_of(ColumnBlock.of(X)).tolist() == expected
    assert hashes_of(ColumnBlock.of(matrix)).tolist() == expected
    block = ColumnBlock.of(sp.csc_matrix(np.ones_like(X)))
    block.values.data[:] = stored.data
    assert hashes_of(block).tolist() == expected


def test_any_change_gives_another_hash():
    X = np.zeros((50, 6))
    X[3, 0] = X[4, 1] = 1.0
    X[3, 2] = 2.0
    X[3, 3], X[4, 3] = 1.0, 2.0
    X[3, 4], X[4, 4] = 2.0, 1.0
    assert len(set(hashes_of(ColumnBlock.of(X)).tolist())) == 6


def test_names_that_differ_have_different_hashes():
    names = [*map(str, range(5000)), "", "a", "aa", "\x00", "\x00\x00", "é", "e\u0301"]
    assert len(set(name_hashes(Names.of(names)).tolist())) == len(names)


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_compiled_and_plain_kernels_agree(monkeypatch):
    compiled = hashing._stir
    monkeypatch.setattr(hashing, "_stir", compiled.py_func)
    X = np.random.default_rng(0).normal(size=(20, 3))
    flat = X.reshape(-1, order="F").view(np.uint64)
    out, none = np.zeros(3, np.uint64), (np.empty(0, np.int64), np.empty(0, np.int32))
    hashing.hash_columns.py_func(flat, *none, np.empty(0, np.uint64), 20, 0, 3, out)
    assert out.tolist() == hashes_of(ColumnBlock.of(X)).tolist()
    names = Names.of(["age", "height"])
    text = np.frombuffer(names.blob, np.uint8)
    found = np.zeros(2, np.uint64)
    hashing.hash_names.py_func(text, names.offsets, found)
    assert found.tolist() == name_hashes(names).tolist()


@pytest.mark.parametrize("kernel", [checksum_parts, checksum_parts.py_func])
def test_checksums_are_those_of_zlib(kernel) -> None:
    rng = np.random.default_rng(2)
    firsts, ends = np.array([0, 0, 3, 5, 40]), np.array([0, 1, 5, 40, 64])
    sums, expected = np.zeros(5, np.int64), [0] * 5
    for values in (rng.integers(0, 9000, 64).astype(np.int32), rng.normal(size=64)):
        kernel(values.view(np.uint32), firsts, ends, values.itemsize // 4, crc_table(), sums)
        expected = [
            zlib.crc32(values[first:end], key)
            for first, end, key in zip(firsts, ends, expected, strict=True)
        ]
    assert sums.tolist() == expected
