"""Panels: after any adds and drops, a new column gets the values of a fresh panel."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.core.blocks import ColumnBlock
from tamis.core.target import Target
from tamis.kernels.threads import threads
from tamis.measures import FisherZ, MutualInformation, SymmetricUncertainty
from tamis.measures.measure import Prepared, together

MEASURES = [MutualInformation(), SymmetricUncertainty(alpha=0.05), FisherZ()]
each = pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)


def pool(n: int, seed: int) -> np.ndarray:
    """Thirty columns: rare, half full, full, with many levels, negative, constant."""
    rng = np.random.default_rng(seed)
    width = 5
    return np.hstack(
        [
            (rng.random((n, width)) < 0.1) * 1.0,
            np.where(rng.random((n, width)) < 0.5, rng.integers(-3, 4, (n, width)), 0),
            rng.integers(1, 4, (n, width)) * 0.5,
            rng.integers(0, 90, (n, width)) * 1.0,
            rng.normal(size=(n, width)),
            np.tile([0.0, 1.0, -2.5, 0.1, 7.0], (n, 1)),
        ]
    )


def fresh(measure, X, kept):
    panel = measure.panel(Target.of(np.zeros(len(X), dtype=int)))
    for column in panel.prepare(ColumnBlock.of(X[:, kept]), np.arange(len(kept))):
        panel.add(column)
    return panel


@each
@given(
    n=st.sampled_from([1, 2, 40]),
    sparse=st.booleans(),
    steps=st.lists(st.tuples(st.integers(0, 29), st.integers(0, 5)), max_size=60),
    seed=st.integers(0, 9),
)
@settings(max_examples=25)
def test_adds_and_drops_leave_what_a_fresh_panel_would_hold(measure, n, sparse, steps, seed):
    X = pool(n, seed)
    block = ColumnBlock.of(sp.csc_matrix(X) if sparse else X)
    panel = measure.panel(Target.of(np.zeros(n, dtype=int)))
    ready = panel.prepare(block, np.arange(block.width))
    kept: list[int] = []
    for column, drops in steps:
        panel.add(ready[column])
        kept.append(column)
        if drops >= 4:
            gone = np.unique(np.linspace(0, len(kept) - 1, drops).astype(np.intp))
            panel.drop(gone)
            kept = [c for i, c in enumerate(kept) if i not in gone]
    assert len(panel) == len(kept)
    many = panel.between_many(ready, 0, len(ready))
    again = fresh(measure, X, kept)
    for i, column in enumerate(ready):
        assert np.array_equal(panel.between(column), many[i])
        assert np.array_equal(again.between(column), many[i])
        assert np.array_equal(panel.cutoffs(column), again.cutoffs(column))
    assert np.array_equal(many, measure.between(X, X[:, kept]))
    assert np.array_equal(panel.between_many(ready, 7, 12), many[7:12])


@each
@given(
    n=st.sampled_from([1, 2, 40]),
    sets=st.lists(st.lists(st.integers(0, 29), min_size=1, max_size=12), max_size=6),
    drops=st.integers(0, 3),
    sparse=st.booleans(),
)
@settings(max_examples=25)
def test_a_set_of_columns_is_added_as_one_after_the_other(measure, n, sets, drops, sparse):
    X = pool(n, seed=4)
    block = ColumnBlock.of(sp.csc_matrix(X) if sparse else X)
    one, many = (measure.panel(Target.of(np.zeros(n, dtype=int))) for _ in range(2))
    ready = one.prepare(block, np.arange(block.width))
    for picks in sets:
        for j in picks:
            one.add(ready[j])
        many.add_many(together(ready[j] for j in picks))
        gone = np.unique(np.linspace(0, len(one) - 1, drops).astype(np.intp))
        one.drop(gone)
        many.drop(gone)
    assert len(one) == len(many)
    pairs = [panel.between_many(ready, 0, len(ready)) for panel in (one, many)]
    assert np.array_equal(*pairs)
    assert np.array_equal(pairs[0], fresh_pairs(measure, X, sets, drops, ready))
    for column in ready:
        assert np.array_equal(many.cutoffs(column), one.cutoffs(column))


@each
@pytest.mark.parametrize("picks", [range(30), range(20, 25), [0], [22], [22, 0], []])
@pytest.mark.parametrize("n", [1, 40])
def test_prepared_columns_survive_a_pickle(measure, picks, n):
    X = pool(n, seed=5)
    ready = fresh(measure, X, []).prepare(ColumnBlock.of(X), np.array(picks, dtype=np.intp))
    again = pickle.loads(pickle.dumps(ready))
    for name, by in type(ready).arrays.items():
        end = None if by is None else getattr(ready, by)[-1]
        for key in {name, by or name}:
            old, new = (getattr(one, key)[: end if key == name else None] for one in (ready, again))
            assert np.array_equal(old, new)
            assert old.dtype == new.dtype


def fresh_pairs(measure, X, sets, drops, ready):
    """Return the values of a panel that got only the columns which are left."""
    kept: list[int] = []
    for picks in sets:
        kept += picks
        gone = np.unique(np.linspace(0, len(kept) - 1, drops).astype(np.intp))
        kept = [c for i, c in enumerate(kept) if i not in gone]
    return fresh(measure, X, kept).between_many(ready, 0, len(ready))


@each
def test_a_panel_is_compacted_when_most_columns_are_dropped(measure):
    X = pool(60, seed=1)[:, :25]
    panel = fresh(measure, X, list(range(25)))
    ready = panel.prepare(ColumnBlock.of(X), np.arange(25))
    wanted = panel.between_many(ready, 0, 25)
    nodes = panel._used
    panel.drop(np.arange(3, 11, dtype=np.intp))
    assert len(panel._alive) == 25
    panel.drop(np.arange(5, 15, dtype=np.intp))
    assert len(panel._alive) == len(panel) == 7
    assert panel._used < nodes
    left = np.delete(np.delete(np.arange(25), np.arange(3, 11)), np.arange(5, 15))
    assert np.array_equal(panel.between_many(ready, 0, 25), wanted[:, left])
    panel.add(ready[3])
    assert np.array_equal(panel.between_many(ready, 0, 25), wanted[:, [*left, 3]])
    panel.drop(np.arange(8, dtype=np.intp))
    assert len(panel) == 0
    assert panel.between(ready[0]).shape == (0,)


@each
def test_an_endless_stream_of_adds_and_drops_does_not_grow_the_panel(measure):
    X = pool(50, seed=2)[:, :25]
    panel = fresh(measure, X, [0, 1, 2])
    ready = panel.prepare(ColumnBlock.of(X), np.arange(25))
    for i in range(600):
        panel.add(ready[i % 25])
        panel.drop(np.array([0], dtype=np.intp))
    assert len(panel) == 3
    assert len(panel._alive) <= 2 * 3 + 9
    kept = [597 % 25, 598 % 25, 599 % 25]
    assert np.array_equal(panel.between_many(ready, 0, 25), measure.between(X, X[:, kept]))
    assert len(panel._nodes) <= 20 * X.size / 14


@each
@pytest.mark.parametrize("sparse", [False, True])
def test_columns_are_prepared_in_the_order_they_are_picked(measure, sparse):
    X = pool(40, seed=3)
    block = ColumnBlock.of(sp.csc_matrix(X) if sparse else X)
    panel = fresh(measure, X, [2, 8, 16, 22])
    whole = panel.between_many(panel.prepare(block, np.arange(30)), 0, 30)
    for picks in (np.arange(29, -1, -1), np.array([4, 20, 9]), np.array([], dtype=np.intp)):
        ready = panel.prepare(block, picks)
        assert len(ready) == len(picks)
        assert np.array_equal(panel.between_many(ready, 0, len(picks)), whole[picks])


@each
def test_pair_values_are_counted(measure):
    X = pool(20, seed=4)
    panel = fresh(measure, X, [0, 1, 2])
    ready = panel.prepare(ColumnBlock.of(X), np.arange(30))
    panel.between(ready[0])
    assert panel.pairs == 3
    panel.between_many(ready, 5, 10)
    assert panel.pairs == 3 + 5 * 3
    panel.drop(np.array([1], dtype=np.intp))
    panel.between(ready[0])
    assert panel.pairs == 3 + 5 * 3 + 2


@each
def test_one_thread_and_three_give_the_same_bits(measure):
    X = np.hstack([pool(300, seed=s)[:, :25] for s in range(12)])
    panel = fresh(measure, X, list(range(0, 300, 9)))
    ready = panel.prepare(ColumnBlock.of(X), np.arange(300))
    with threads(1):
        one = panel.between_many(ready, 10, 290)
    with threads(3):
        three = panel.between_many(ready, 10, 290)
    assert np.array_equal(one, three)


@each
def test_an_empty_panel_returns_nothing(measure):
    panel = measure.panel(Target.of([0, 1]))
    ready = panel.prepare(ColumnBlock.of(np.eye(2)), np.arange(2))
    assert panel.between(ready[0]).shape == (0,)
    assert panel.between_many(ready, 0, 2).shape == (2, 0)
    assert panel.cutoffs(ready[0]).shape == (0,)
    assert panel.pairs == 0


@dataclass(frozen=True, eq=False)
class Tables(Prepared):
    """Columns with numbers, and rows of a table, for each entry."""

    arrays: ClassVar = {"numbers": "indptr", "rows": "indptr", "of_column": None}

    indptr: np.ndarray
    numbers: np.ndarray
    rows: np.ndarray
    of_column: np.ndarray


@pytest.mark.parametrize("lengths", [[3, 3, 3, 3], [3, 0, 2, 5], [0, 0, 0, 0], []], ids=str)
@pytest.mark.parametrize("width", [0, 4])
def test_picked_columns_have_the_arrays_of_each(lengths, width):
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    numbers = np.arange(indptr[-1] + 2)  # with spare capacity
    rows = np.arange(width * len(numbers), dtype=float).reshape(len(numbers), width)
    tables = Tables(indptr, numbers, rows, np.arange(len(lengths)))
    for which in ([2, 0, 2], [1], []):
        which = np.array(which, np.intp)[: len(lengths)]
        found = tables.pick(which)
        assert np.array_equal(np.diff(found.indptr), np.array(lengths, int)[which])
        assert (found.of_column.tolist(), found.rows.shape[1]) == (which.tolist(), width)
        for k, i in enumerate(which.tolist()):
            assert np.array_equal(found[k].numbers, tables[i].numbers)
            assert np.array_equal(found[k].rows, tables[i].rows)
