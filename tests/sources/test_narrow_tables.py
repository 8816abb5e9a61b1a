"""Tables of float32 and of small whole numbers: they stay short, and give the logs of float64."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from tamis import SAOLA, FisherZ, Sieve
from tamis.core.blocks import ColumnBlock
from tamis.core.errors import InputError
from tamis.kernels.turn import shorten, turn
from tamis.sources.arrays.in_memory import _MANY, MemorySource

KINDS = ("bool", "int8", "uint8", "int16", "int64", "uint64", "float32", "float64", "float16")
WHOLE = "whole float32"


def table(kind, rows=331, columns=401):
    """Return a table with constant columns, columns of zeros, and some that follow the class."""
    rng = np.random.default_rng(rows)
    y = rng.integers(0, 3, rows)
    X = rng.integers(0, 2 if kind == "bool" else 5, (rows, columns)).astype(np.float64)
    X[:, ::7] = np.where(rng.random((rows, len(X[0, ::7]))) < 0.3, X[:, ::7], y[:, None] % 2)
    if kind.startswith("float"):
        X += np.round(rng.normal(size=X.shape), 1)
    X[:, 3], X[:, 5] = 0, 1
    return X.astype(kind.removeprefix("whole ")), y


def layouts(X):
    """Yield a table in several layouts."""
    wide = np.zeros((len(X), 2 * X.shape[1] + 1), X.dtype)
    wide[:, 3 : 3 + X.shape[1]] = X
    yield "Fortran", np.asfortranarray(X)
    yield "C", np.ascontiguousarray(X)
    yield "part of a wider one", wide[:, 3 : 3 + X.shape[1]]
    yield "every second column", np.repeat(X, 2, axis=1)[:, ::2]
    yield "from the last row", np.ascontiguousarray(X[::-1])[::-1]
    frozen = X.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen


@pytest.mark.parametrize("kind", [*KINDS, WHOLE])
@pytest.mark.parametrize("method", [SAOLA(), SAOLA(FisherZ()), Sieve(n_features=5)], ids=str)
def test_the_log_does_not_depend_on_the_type_of_numbers_or_their_layout(kind, method):
    X, y = table(kind)
    assert X.size > _MANY  # else NumPy copies it
    wanted = method.fit(np.asfortranarray(X, dtype=np.float64), y % 2).log_.state()
    for name, given in layouts(X):
        found = method.fit(given, y % 2).log_.state()
        for key, array in wanted.items():
            assert array.tobytes() == found[key].tobytes(), (name, key)


@pytest.mark.parametrize("kind", ["int8", "int64", "float32", WHOLE])
def test_the_log_of_few_rows_does_not_depend_on_the_type_of_numbers(kind):
    X, y = table(kind, 40, 3400)  # too few rows to count 64 at a time
    X[:, ::3] = X[:, ::3] * 20  # too many levels for a table
    assert X.size > _MANY
    wanted = SAOLA(alpha=0.2).fit(X.astype(np.float64), y % 2).log_.state()
    for name, given in layouts(X):
        found = SAOLA(alpha=0.2).fit(given, y % 2).log_.state()
        for key, array in wanted.items():
            assert array.tobytes() == found[key].tobytes(), (name, key)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_hold_the_numbers_of_the_table(kind):
    X, y = table(kind)
    short = kind not in ("float64", "float16")
    for name, given in layouts(X):
        source = MemorySource(given, y)
        for block in (source.read(0, 401), source.read(7, 400), source.read(400, 401)):
            part = X[:, block.first : block.first + block.width].astype(np.float64)
            assert (block.narrow is not None) == short, name
            assert np.array_equal(block.flat, part.T.reshape(-1)), name
            assert np.array_equal(block.values, part), name
            assert block.values.flags.f_contiguous, name


@pytest.mark.parametrize("kind", ["int16", "int64", "uint64"])
def test_whole_numbers_that_do_not_fit_into_a_byte_are_widened(kind):
    X, y = table(kind)
    for far in (128, 300, *(() if kind == "uint64" else (-128, -300)), np.iinfo(kind).max // 2):
        for given in (np.asfortranarray(X), np.ascontiguousarray(X)):
            given[200, 50] = far
            if abs(far) > 2**53:
                with pytest.raises(InputError, match="beyond 2\\^53"):
                    MemorySource(given, y).read(0, 401)
                continue
            block = MemorySource(given, y).read(0, 401)
            assert block.narrow is None
            assert block.values[200, 50] == far
    if kind == "uint64":  # near the end of the range, where adding to it wraps around
        given[200, 50] = 2**64 - 5
        with pytest.raises(InputError, match="beyond 2\\^53"):
            MemorySource(given, y).read(0, 401)


@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_parts_and_copies_of_a_short_block_are_its_columns(kind):
    X, _ = table(kind, 30, 20)
    wide = X.astype(np.float64)
    block = ColumnBlock.of_narrow(7, np.asfortranarray(X), None)
    part, same = block.part(3, 11), pickle.loads(pickle.dumps(block))
    assert part.narrow is not None
    assert (part.first, part.width) == (10, 8)
    assert np.array_equal(part.values, wide[:, 3:11])
    some, at = block.wide(np.array([4, 1, 12]))
    assert "values" not in vars(block)
    assert np.array_equal(some.values[:, at], wide[:, [4, 1, 12]])
    assert np.array_equal(same.values, wide)
    assert same.narrow is not None
    picked = block.pick(np.array([1, 4, 12]))
    assert np.array_equal(picked.values, wide[:, [1, 4, 12]])
    doubled = replace(block, values=2 * wide)
    assert doubled.narrow is None
    assert np.array_equal(doubled.flat, 2 * wide.T.reshape(-1))
    with pytest.raises(AttributeError, match="has no attribute 'value'"):
        block.value  # noqa: B018


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (16, 40), (19, 21), (5, 30), (50, 3)])
def test_a_table_is_turned_and_shortened(shape, compiled):
    (n, width), stride = shape, shape[1] + 3
    turned, shortened = (turn, shorten) if compiled else (turn.py_func, shorten.py_func)
    for kind in ("int8", "float32", "float64"):
        rows = (np.arange(n * stride) % 251 - 125).astype(kind)
        columns = np.full(n * width, 99, kind)
        turned(rows, stride, n, width, columns)
        wanted = rows.reshape(n, stride)[:, :width]
        assert np.array_equal(columns.reshape(width, n), wanted.T)
    rows, out = rows.astype(np.int64), np.zeros(n * width, np.int8)
    assert shortened(rows, stride, n, width, out)
    assert np.array_equal(out.reshape(n, width), wanted)
    for far in (128, -128, 2**40, -(2**63)):
        rows[-4] = far  # the last of the last run
        assert not shortened(rows, stride, n, width, out)
