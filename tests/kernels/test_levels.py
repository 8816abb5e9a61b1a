"""Levels: codes of columns, compiled and plain, against np.unique."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tamis.core.blocks import ColumnBlock
from tamis.kernels.levels import (
    FEW_LEVELS,
    code_by_sorting,
    code_values,
    compress,
    encode,
    encode_whole,
    gather_nonzeros,
    whole_range,
    whole_top,
)

POOLS = [
    [0.0],
    [5.0],
    [0.0, 1.0],
    [1.0, 2.0, 3.0],
    [-1.0, 0.0, 1.0],
    [0.5, -2.25, 0.0, 7.0, -0.0],
    [1e300, -1e-300, 0.0],
    (np.arange(40) * 0.37 - 3).tolist(),
    list(range(-5, 70)),
    list(range(30)),
    [0.0, 1.0, 1000.0],
]
several = settings(max_examples=60)


def column_of(n: int, pool: list[float], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(np.array(pool, dtype=float), n)


columns = st.builds(
    column_of, st.sampled_from([1, 2, 3, 17, 90]), st.sampled_from(POOLS), st.integers(0, 99)
)


def both(kernel):
    return pytest.mark.parametrize("run", [kernel, kernel.py_func], ids=["compiled", "plain"])


def same_partition(codes: np.ndarray, values: np.ndarray) -> bool:
    """Equal codes stand for equal values and different codes for different ones."""
    pairs = set(zip(codes.tolist(), values.tolist(), strict=True))
    return len(pairs) == len({c for c, _ in pairs}) == len({v for _, v in pairs})


@both(whole_top)
@given(values=columns)
@example(values=np.array([0.0, 31.0]))
@example(values=np.array([2.0 * FEW_LEVELS + 1]))
@example(values=np.array([]))
@example(values=np.array([-0.0]))
@several
def test_whole_top_is_the_largest_of_whole_numbers_that_can_number_a_table(run, values):
    room = max(FEW_LEVELS, 2 * len(values))
    fits = np.all((values >= 0) & (values <= room) & (values == np.floor(values)))
    wanted = (int(values.max()) if len(values) else 0) if fits else -1
    assert run(values, 0, len(values)) == wanted
    framed = np.concatenate([[-9.5], values, [-9.5]])
    inner_room_is_the_same = run(framed, 1, len(values) + 1)
    assert inner_room_is_the_same == wanted


@pytest.mark.parametrize("kernel", [code_values, code_by_sorting])
@pytest.mark.parametrize("compiled", [True, False])
@given(values=columns)
@several
def test_codes_number_the_levels_and_zero_is_zero(kernel, compiled, values):
    run = kernel if compiled else kernel.py_func
    count = len(values)
    codes, levels = np.full(count, -7, np.int32), np.empty(count)
    found = run(values, count, codes, levels)
    assert found == len(np.unique(values[values != 0]))
    assert np.array_equal(codes == 0, values == 0)
    assert same_partition(codes, values + 0.0)
    assert set(codes[codes > 0].tolist()) == set(range(1, found + 1))


@both(code_values)
def test_only_the_first_count_values_are_coded(run):
    codes = np.full(4, -7, np.int32)
    assert run(np.array([2.5, 2.5, 9.5, 9.5]), 2, codes, np.empty(4)) == 1
    assert codes.tolist() == [1, 1, -7, -7]


@both(gather_nonzeros)
@given(column=columns)
@several
def test_nonzeros_of_a_dense_column_are_listed_with_their_rows(run, column):
    rows, values = np.empty(len(column), np.int32), np.empty(len(column))
    count = run(column, rows, values)
    assert rows[:count].tolist() == np.flatnonzero(column).tolist()
    assert np.array_equal(values[:count], column[column != 0])


@both(compress)
@given(st.integers(0, 99), st.sampled_from([1, 2, 9]), st.integers(0, 4))
@several
def test_compressed_columns_hold_what_the_dense_ones_did(run, seed, n, width):
    dense = np.asfortranarray(np.random.default_rng(seed).integers(-1, 2, (n, width)) * 1.5)
    picks = np.flatnonzero(np.random.default_rng(seed).random(width) < 0.7)[::-1]
    indptr = np.zeros(len(picks) + 1, np.int64)
    rows, values = np.empty(n * len(picks), np.int32), np.empty(n * len(picks))
    run(dense.reshape(-1, order="F"), n, picks, indptr, rows, values)
    again = np.zeros((n, len(picks)))
    for i in range(len(picks)):
        inside = slice(indptr[i], indptr[i + 1])
        again[rows[inside], i] = values[inside]
    assert np.array_equal(again, dense[:, picks])
    assert indptr[-1] == np.count_nonzero(dense[:, picks])


@both(encode)
@given(
    st.lists(st.tuples(st.sampled_from(POOLS), st.integers(0, 99)), max_size=5),
    st.sampled_from([1, 2, 3, 17, 90]),
    st.floats(0, 1),
)
@several
def test_coded_columns_list_every_row_that_leaves_the_most_common_level(run, made, n, zeros):
    dense = [column_of(n, pool, seed) for pool, seed in made]
    rng = np.random.default_rng(0)
    # Some zeros are stored: they mean the same as those that are not.
    stored = [np.flatnonzero((c != 0) | (rng.random(n) < zeros)) for c in dense]
    indptr = np.cumsum([0, *map(len, stored)]).astype(np.int64)
    rows = np.concatenate([*stored, []]).astype(np.int32)
    values = np.concatenate([*(c[s] for c, s in zip(dense, stored, strict=True)), []])
    size, width = len(rows), len(dense)
    out_pointers, level_pointers = np.zeros(width + 1, np.int64), np.zeros(width + 1, np.int64)
    out_rows, out_codes = np.empty(size + 1, np.int32), np.empty(size + 1, np.int32)
    counts = np.empty(size + width, np.int64)
    arrays = (np.empty(0), indptr, rows, values)
    run(*arrays, n, np.arange(width), 0, out_pointers, out_rows, out_codes, level_pointers, counts)
    check_codes(dense, out_pointers, out_rows, out_codes, level_pointers, counts)


@both(whole_range)
@given(column=columns)
@several
def test_whole_columns_have_a_range_with_zero_in_it(run, column):
    low, size = run(column)
    ends = min(column.min(), 0), max(column.max(), 0)
    fits = ends[1] - ends[0] <= max(FEW_LEVELS, 2 * len(column))
    if np.all(column == np.floor(column)) and fits:
        assert (low, low + size - 1) == ends
    else:
        assert size == 0


@both(encode)
@given(
    st.lists(st.tuples(st.sampled_from(POOLS), st.integers(0, 99)), max_size=5),
    st.sampled_from([1, 2, 3, 17, 90]),
)
@several
def test_dense_columns_are_coded_as_compressed_ones(run, made, n):
    dense = [column_of(n, pool, seed) for pool, seed in made]
    picks = np.arange(len(dense))[::-1]
    block = ColumnBlock.of(np.column_stack([np.zeros(n), *dense])).part(1, 1 + len(dense))
    size, width = n * len(dense), len(dense)
    indptr, level_pointers = np.zeros(width + 1, np.int64), np.zeros(width + 1, np.int64)
    rows, codes = np.empty(size + 1, np.int32), np.empty(size + 1, np.int32)
    counts = np.empty(size + width, np.int64)
    into = (indptr, rows, codes, level_pointers, counts)
    # As far as columns hold whole numbers, another kernel does the same.
    whole = encode_whole if run is encode else encode_whole.py_func
    done = whole(block.arrays[0], n, picks, *into)
    bad = [np.any(c != np.floor(c)) or np.abs(c).max() > max(16, 2 * n) for c in dense[::-1]]
    assert done <= (bad.index(True) if True in bad else width)
    run(*block.arrays, n, picks, done, *into)
    check_codes(dense[::-1], indptr, rows, codes, level_pointers, counts)
    for j, column in enumerate(dense[::-1]):
        # As many levels as where zeros are not stored, of which the last may be empty.
        levels = level_pointers[j + 1] - level_pointers[j]
        assert levels == len(np.unique(column[column != 0])) + 1


def check_codes(dense, out_pointers, out_rows, out_codes, level_pointers, counts):
    """Every row that is not at the most common level is listed, with the code of its level."""
    n = len(dense[0]) if dense else 0
    for j, column in enumerate(dense):
        inside = slice(out_pointers[j], out_pointers[j + 1])
        codes = np.zeros(n, dtype=int)
        codes[out_rows[inside]] = out_codes[inside]
        assert np.all(out_codes[inside] > 0)
        assert np.all(np.diff(out_rows[inside]) > 0)
        assert same_partition(codes, column + 0.0)
        counted = counts[level_pointers[j] : level_pointers[j + 1]]
        assert counted.tolist() == np.bincount(codes, minlength=len(counted)).tolist()
        assert counted[0] == counted.max()
