"""Information from counts, compiled and plain, against sums of p log p."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.core.blocks import ColumnBlock
from tamis.kernels import information as kernels
from tamis.kernels.exact_tests import ENOUGH
from tamis.kernels.information import entropy_table
from tamis.kernels.levels import encode
from tamis.kernels.rowlists import NODE_WIDTH, append_column

POOLS = [
    [0.0],
    [5.0],
    [0.0, 1.0],
    [0.0, 0.0, 0.0, 2.5],
    [1.0, 2.0, 3.0],
    [-1.0, 0.0, 1.0],
    (np.arange(40) * 0.37 - 3).tolist(),
    list(range(-5, 70)),
    list(range(90)),
    [0.0, 1.0, 1000.0],
]
SIZES = st.sampled_from([1, 2, 3, 20, 120])
several = settings(max_examples=60)
modes = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


def picked(kernel, compiled):
    return kernel if compiled else kernel.py_func


def column_of(n: int, pool: list[float], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(np.array(pool, dtype=float), n)


def bits(*columns: np.ndarray) -> float:
    """Joint entropy in bits, the naive way."""
    counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)[1]
    p = counts / counts.sum()
    return float(-(p * np.log2(p)).sum())


@st.composite
def problems(draw):
    """A column, which of its rows are stored, and class codes."""
    n = draw(SIZES)
    column = column_of(n, draw(st.sampled_from(POOLS)), draw(st.integers(0, 99)))
    k = draw(st.sampled_from([1, 2, 3, 30]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    y = np.unique(rng.integers(0, k, n), return_inverse=True)[1].astype(np.uint16)
    stored = np.flatnonzero((column != 0) | (rng.random(n) < draw(st.sampled_from([0.0, 0.3]))))
    return column, stored.astype(np.int32), y


@modes
@given(problem=problems())
@several
def test_information_and_entropy_of_a_column_are_those_of_its_counts(compiled, problem):
    column, stored, y = problem
    n, counts = len(y), np.bincount(y)
    table, unit = entropy_table(n)
    run = picked(kernels.column_information, compiled)
    room = np.full((kernels.FEW_LEVELS + 1) * len(counts), -5, np.int64)
    h_class = table[n] - table[counts].sum()
    # Entries before and after the range must not matter.
    rows = np.concatenate([[0], stored, [0]]).astype(np.int32)
    values = np.concatenate([[7.5], column[stored], [7.5]])
    got = run(rows, values, 1, len(stored) + 1, y, counts, table, h_class, room)
    information, entropy, levels, rarest = got
    sizes = np.unique(column, return_counts=True)[1]
    assert levels == len(sizes)
    assert rarest == (sizes.min() if levels > 2 else rarest)
    assert abs(entropy / (unit * n) - bits(column)) < 1e-12
    assert abs(information / (unit * n) - (bits(column) + bits(y) - bits(column, y))) < 1e-12


def check_marks(ones: np.ndarray, dense: np.ndarray, y: np.ndarray, is_dense: bool) -> None:
    """Check what the exact tests are told: counts of equal entries, and which rows are enough."""
    classes = np.bincount(y)
    for mark, column in zip(ones.tolist(), dense.T, strict=True):
        sizes = np.unique(column, return_counts=True)[1]
        if mark >= 0:
            assert not is_dense
            assert mark == y[column != 0].sum()
        enough = len(sizes) > 2 and sizes.min() * classes.min() >= ENOUGH * len(y)
        assert (mark == kernels.ENOUGH_ROWS - len(sizes)) == enough


@modes
@pytest.mark.parametrize("symmetric", [False, True])
@given(problem=problems(), others=st.lists(problems(), max_size=2), tests=st.booleans())
@several
def test_both_layouts_give_strength_and_level_to_the_bit(
    compiled, symmetric, problem, others, tests
):
    column, _, y = problem
    n, counts = len(y), np.bincount(y)
    extra = [c for c, _, _ in others if len(c) == n]
    dense = np.asfortranarray(np.column_stack([column, *extra, np.zeros(n)]))
    width = dense.shape[1]
    table, unit = entropy_table(n)
    level_table = np.full(6, 0.25)
    level_table[0] = 1.0 if tests else 0.0
    form = (y, counts, table, unit * n, symmetric, level_table)
    results = []
    nonzero = [np.flatnonzero(c) for c in dense.T]
    indptr = np.cumsum([0, *map(len, nonzero)]).astype(np.int64)
    rows = np.concatenate(nonzero).astype(np.int32)
    values = np.concatenate([c[z] for c, z in zip(dense.T, nonzero, strict=True)])
    for data in ColumnBlock.of(dense).arrays, (np.empty(0), indptr, rows, values):
        strength, level = np.full(width + 1, -7.0), np.full(width + 1, -7.0)
        left, ones = np.zeros(2, np.bool_), np.empty(width, np.int64)
        is_dense = len(data[0]) > 0
        kernel = kernels.dense_relevance if is_dense else kernels.relevance
        arrays = data[:1] if is_dense else data[1:]
        picked(kernel, compiled)(*arrays, *form, 0, width, strength, level, left, ones)
        others = np.flatnonzero(strength[:-1] == -1.0)
        assert left[1] == (len(others) > 0)
        picked(kernels.relevance_by_value, compiled)(
            *data, others, *form, 0, len(others), strength, level, left, ones
        )
        assert strength[-1] == level[-1] == -7.0
        many = bool(left[0])
        results.append((strength[:-1].tobytes(), level[:-1].tobytes(), many))
        check_marks(ones, dense, y, is_dense)
    assert results[0] == results[1]
    levels = [len(np.unique(c)) for c in dense.T]
    assert many == (max(levels) >= len(level_table))
    for j, column in enumerate(dense.T):
        information = bits(column) + bits(y) - bits(column, y)
        total = bits(column) + bits(y)
        if levels[j] == 1:
            assert (strength[j], np.isnan(level[j])) == (0.0, True)
            continue
        wanted = 2 * information / total if symmetric else information
        assert abs(strength[j] - wanted) < 1e-12
        if levels[j] >= len(level_table):
            assert level[j] == -levels[j]
        else:
            scaled = symmetric and tests
            assert abs(level[j] - (0.5 / total if scaled else 0.25)) < 1e-12


@modes
@given(
    st.lists(st.tuples(st.sampled_from(POOLS), st.integers(0, 99)), min_size=1, max_size=6),
    SIZES,
    st.data(),
)
@several
def test_pair_information_is_that_of_the_joint_counts(compiled, made, n, data):
    dense = np.column_stack([column_of(n, pool, seed) for pool, seed in made])
    width = dense.shape[1]
    coded = coded_columns(dense)
    lists, alive = hung(coded, n, data)
    table, unit = entropy_table(n)
    out = np.full((width, width), -7, np.int64)
    run = picked(kernels.pair_information, compiled)
    run(*coded, 0, width, *lists, alive, table, n, 0, out)
    for i in range(width):
        one = np.full((1, width), -7, np.int64)
        run(*coded, i, i + 1, *lists, alive, table, n, i, one)
        assert np.array_equal(one[0], out[i])
    for i, s in itertools.product(range(width), range(width)):
        if not alive[s]:
            assert out[i, s] == -7
            continue
        x, z = dense[:, i], dense[:, s]
        assert abs(out[i, s] / (unit * n) - (bits(x) + bits(z) - bits(x, z))) < 1e-12
        assert not alive[i] or out[i, s] == out[s, i]


def coded_columns(dense: np.ndarray):
    """Encode with the level kernel, which is tested separately."""
    n, width = dense.shape
    nonzero = [np.flatnonzero(c) for c in dense.T]
    indptr = np.cumsum([0, *map(len, nonzero)]).astype(np.int64)
    size = int(indptr[-1])
    rows = np.concatenate(nonzero).astype(np.int32)
    values = np.concatenate([c[z] for c, z in zip(dense.T, nonzero, strict=True)])
    out_pointers, level_pointers = np.zeros(width + 1, np.int64), np.zeros(width + 1, np.int64)
    out_rows, codes = np.empty(size + 1, np.int32), np.empty(size + 1, np.int32)
    counts = np.empty(size + width, np.int64)
    arrays = (np.empty(0), indptr, rows, values)
    encode(*arrays, n, np.arange(width), 0, out_pointers, out_rows, codes, level_pointers, counts)
    table = entropy_table(n)[0]
    entropies = [
        table[n] - table[counts[a:b]].sum() for a, b in itertools.pairwise(level_pointers.tolist())
    ]
    return out_pointers, out_rows, codes, level_pointers, counts, np.array(entropies, np.int64)


def hung(coded, n, data):
    """Add every coded column to its row lists, some of them dropped."""
    indptr, rows, codes, level_pointers, counts, entropies = coded
    width = len(entropies)
    heads = np.full(n, -1, np.int32)
    nodes = np.empty((len(rows) + 1, NODE_WIDTH), np.int32)
    used, slot_cells, cell_counts = 0, [0], []
    for i in range(width):
        a, b = indptr[i], indptr[i + 1]
        cells = (codes[a:b] - 1 + slot_cells[-1]).astype(np.int32)
        used = append_column(heads, nodes, np.empty((0, 14)), used, rows[a:b], cells, np.empty(0))
        of_levels = counts[level_pointers[i] + 1 : level_pointers[i + 1]]
        slot_cells.append(slot_cells[-1] + len(of_levels))
        cell_counts += of_levels.tolist()
    alive = np.array([data.draw(st.booleans()) for _ in range(width)], dtype=np.bool_)
    slots, cells = np.array(slot_cells, np.int64), np.array(cell_counts, np.int64)
    return (heads, nodes, slots, cells, entropies), alive


@pytest.mark.parametrize("n", [1, 2, 3, 100, 20_000])
def test_the_table_is_k_log_k_to_the_last_unit_and_far_from_overflow(n):
    table, unit = entropy_table(n)
    assert len(table) == n + 1
    assert table[0] == table[1] == 0
    for k in {2, 3, n // 2, n - 1, n} - {0, -1}:
        if k <= n:
            assert abs(int(table[k]) - round(k * math.log2(k) * unit)) <= 1
    assert abs(int(table[-1])) <= 2**52
    assert math.log2(unit).is_integer()


def test_independent_columns_have_exactly_no_information():
    x, y = (a.ravel() for a in np.indices((7, 11)))
    table, unit = entropy_table(77)
    strength, level, left = np.empty(1), np.empty(1), np.zeros(2, np.bool_)
    kernels.relevance_by_value(
        *ColumnBlock.of(x * 1.5).arrays, np.arange(1), y.astype(np.uint16), np.bincount(y), table,
        unit * 77, False, np.zeros(64), 0, 1, strength, level, left, np.empty(1, np.int64),
    )  # fmt: skip
    assert strength[0] == 0.0
