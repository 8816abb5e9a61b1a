"""Correlations from nonzeros, compiled and plain, against numpy on the dense column."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.core.blocks import ColumnBlock
from tamis.kernels import correlation as kernels
from tamis.kernels.lanes import LANES
from tamis.kernels.rowlists import NODE_ROOM, NODE_WIDTH, append_column

several = settings(max_examples=60)
modes = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
POOLS = [
    [0.0],
    [5.0],
    [0.1],
    [0.0, 1.0],
    [0.0, 0.0, 0.0, -2.5],
    [1.0, 2.0, 3.0],
    [-1.0, 0.0, 1.0],
    np.linspace(-3, 4, 50).tolist(),
    np.linspace(90, 110, 50).tolist(),
]


def picked(kernel, compiled):
    return kernel if compiled else kernel.py_func


def column_of(n: int, pool: list[float], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(np.array(pool, dtype=float), n)


tables = st.builds(
    lambda n, made: np.asfortranarray(np.column_stack([column_of(n, p, s) for p, s in made])),
    st.sampled_from([1, 2, 3, 20, 90]),
    st.lists(st.tuples(st.sampled_from(POOLS), st.integers(0, 99)), min_size=1, max_size=11),
)


def compressed(dense: np.ndarray, zeros: float = 0.0):
    """indptr, indices and data; a share of the zeros is stored."""
    rng = np.random.default_rng(0)
    stored = [np.flatnonzero((c != 0) | (rng.random(len(c)) < zeros)) for c in dense.T]
    indptr = np.cumsum([0, *map(len, stored)]).astype(np.int64)
    values = np.concatenate([c[s] for c, s in zip(dense.T, stored, strict=True)])
    return indptr, np.concatenate(stored).astype(np.int32), values


def r_squared(column: np.ndarray, design: np.ndarray) -> float:
    """Share of the column's variance that least squares on `design` explains."""
    centred = column - column.mean()
    fitted = design @ np.linalg.lstsq(design, centred, rcond=None)[0]
    return 1 - ((centred - fitted) ** 2).sum() / (centred**2).sum()


@modes
@given(table=tables, zeros=st.sampled_from([0.0, 0.5]))
@several
def test_moments_are_mean_and_squares_and_constants_are_reported(compiled, table, zeros):
    indptr, _, values = compressed(table, zeros)
    run = picked(kernels.moments, compiled)
    for j, column in enumerate(table.T):
        mean, squares = run(values, indptr[j], indptr[j + 1], len(column))
        assert abs(mean - column.mean()) < 1e-12
        if np.ptp(column) > 0:
            assert abs(squares - ((column - column.mean()) ** 2).sum()) < 1e-9
        elif np.count_nonzero(column) or zeros == 0.0:
            assert squares == -1.0


def target_form(y, numeric):
    """(groups, weights, totals, norms) for classes or for numbers."""
    if not numeric:
        counts = np.bincount(y).astype(float)
        return y.astype(np.uint16), np.empty(0), counts, counts
    centred = y - y.mean()
    norm = centred @ centred if np.ptp(y) > 0 else 0.0
    return np.zeros(len(y), np.int32), centred, np.zeros(1), np.array([norm])


@modes
@pytest.mark.parametrize("numeric", [False, True])
@given(table=tables, k=st.sampled_from([1, 2, 3, 9]), seed=st.integers(0, 99))
@several
def test_strength_is_the_multiple_correlation_and_layouts_agree_to_the_bit(
    compiled, numeric, table, k, seed
):
    n, width = table.shape
    y = np.unique(np.random.default_rng(seed).integers(0, k, n), return_inverse=True)[1]
    form = target_form(y, numeric)
    results = []
    marks = np.empty(width, np.int64)
    for kernel, data in (
        (kernels.relevance, compressed(table)),
        (kernels.dense_relevance, ColumnBlock.of(table).arrays[:1]),
    ):
        strength, level = np.full(width + 1, -7.0), np.full(width + 1, -7.0)
        picked(kernel, compiled)(*data, *form, 0.125, 0, width, strength, level, marks)
        assert strength[-1] == level[-1] == -7.0
        results.append((strength[:-1].tobytes(), level[:-1].tobytes()))
    assert results[0] == results[1]
    for mark, column in zip(marks, table.T, strict=True):
        number = len(np.unique(column)) > 2 and 2 * np.count_nonzero(column) >= n
        assert mark == (kernels.DENSE_NUMBER if number else -1)
    design = y[:, None] - y.mean() if numeric else (y[:, None] == np.unique(y)).astype(float)
    for j, column in enumerate(table.T):
        if np.ptp(column) == 0:
            assert (strength[j], np.isnan(level[j])) == (0.0, True)
            continue
        assert level[j] == 0.125
        assert abs(strength[j] ** 2 - r_squared(column, design)) < 1e-12
        assert 0.0 <= strength[j] <= 1.0


@modes
@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_squares_that_overflow_give_no_correlation(compiled, size):
    n = 20
    rows, values = np.arange(5, dtype=np.int32), np.full(5, size)
    form = target_form((np.arange(n) < 5).astype(int), False)
    with np.errstate(all="ignore"):
        strength = picked(kernels.column_strength, compiled)(
            rows, values, 0, 5, *form, np.empty(2), np.empty(2)
        )
    assert strength == 0.0


@modes
@given(table=tables)
@several
def test_prepared_columns_are_dense_and_centred_or_unchanged(compiled, table):
    n = len(table)
    indptr, rows, values = compressed(table)
    ready = ready_columns(picked(kernels.centre, compiled), n, indptr, rows, values)
    out_pointers, out_rows, out_values, means, squares = ready
    for j, column in enumerate(table.T):
        inside = slice(out_pointers[j], out_pointers[j + 1])
        again = np.zeros(n)
        again[out_rows[inside]] = out_values[inside]
        if 2 * np.count_nonzero(column) > n:
            assert means[j] == 0.0
            assert len(out_rows[inside]) == n
            assert np.allclose(again, column - column.mean(), rtol=0, atol=1e-12)
        else:
            assert np.array_equal(again, column)
            assert abs(means[j] - column.mean()) < 1e-12
        assert squares[j] == kernels.moments(values, indptr[j], indptr[j + 1], n)[1]
        assert (squares[j] < 0) == (np.ptp(column) == 0)


def ready_columns(run, n, indptr, rows, values):
    lengths = np.diff(indptr)
    room, width = int(np.where(2 * lengths > n, n, lengths).sum()), len(lengths)
    out_pointers = np.zeros(width + 1, np.int64)
    out_rows, out_values = np.empty(room, np.int32), np.empty(room)
    means, squares = np.empty(width), np.empty(width)
    run(indptr, rows, values, n, out_pointers, out_rows, out_values, means, squares)
    return out_pointers, out_rows, out_values, means, squares


@modes
@given(table=tables, data=st.data())
@several
def test_pair_correlation_is_that_of_the_dense_columns(compiled, table, data):
    n, width = table.shape
    ready = ready_columns(kernels.centre, n, *compressed(table))
    indptr, rows, values, means, squares = ready
    heads = np.full(n, -1, np.int32)
    nodes, numbers = np.empty((len(rows), NODE_WIDTH), np.int32), np.empty((len(rows), NODE_ROOM))
    used, lanes = 0, np.full(width, -1)
    n_tiles = data.draw(st.integers(0, 6))  # whole columns are in tiles, if there is a lane
    tiles = np.full(n_tiles * n * LANES, np.nan)
    free = data.draw(st.permutations(range(n_tiles * LANES)))
    for s in range(width):
        a, b = indptr[s], indptr[s + 1]
        if b - a == n and free:
            lanes[s] = free.pop()
            picked(kernels.put_in_lane, compiled)(rows, values, a, b, tiles, n, lanes[s])
            continue
        cells = np.full(b - a, s, np.int32)
        used = append_column(heads, nodes, numbers, used, rows[a:b], cells, values[a:b])
    alive = np.array([data.draw(st.booleans()) for _ in range(width)], dtype=np.bool_)
    lists = (heads, nodes, numbers, tiles, means, squares, lanes, alive, n)
    out = np.zeros((width, width))
    run = picked(kernels.pair_correlation, compiled)
    run(*ready, 0, width, *lists, 0, out)
    for i in range(width):
        one = np.zeros((1, width))
        run(*ready, i, i + 1, *lists, i, one)
        assert np.array_equal(one[0], out[i])
        for s in np.flatnonzero(alive):
            varies = np.ptp(table[:, i]) > 0 and np.ptp(table[:, s]) > 0
            wanted = np.corrcoef(table[:, i], table[:, s])[0, 1] if varies else 0.0
            assert abs(out[i, s] - wanted) < 1e-12
    assert np.all(out[:, ~alive] == 0.0)
