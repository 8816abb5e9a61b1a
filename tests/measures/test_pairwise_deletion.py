"""Pairwise deletion against the plain measure on the rows that are left."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.core.blocks import GAP, ColumnBlock
from tamis.core.errors import InputError, ParameterError
from tamis.core.target import Target
from tamis.kernels import gaps
from tamis.kernels.information import entropy_table
from tamis.measures.pairwise_deletion import PairwiseDeletion, deleting

MEASURES = [
    tamis.MutualInformation(),
    tamis.MutualInformation(alpha=0.05, statistic="g2"),
    tamis.SymmetricUncertainty(threshold=0.1),
    tamis.SymmetricUncertainty(alpha=0.05, statistic="g2"),
]


def table(seed, n_rows, n_classes, gap):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    X = rng.integers(-1, 4, (n_rows, 6)).astype(float)
    X[:, 0] = np.where(rng.random(n_rows) < 0.7, y, X[:, 0])
    X[:, 1] = X[:, 0]
    X[:, 2] = 2.0
    holes = rng.random(X.shape) < rng.choice([0.0, 0.2, 0.9])
    X[:, 5] = gap
    return np.where(holes, gap, X), y


tables = st.builds(
    table,
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.sampled_from([2, 5, 40, 90]),
    n_classes=st.integers(2, 4),
    gap=st.sampled_from([GAP, 0.0]),
)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@settings(max_examples=25)
@given(data=tables)
def test_values_are_those_of_the_rows_left(measure, data):
    X, y = data
    gap = X[0, 5]
    deleting = PairwiseDeletion(measure, gap)
    strength = deleting.relevance(X, y)
    pairs = deleting.between(X, X)
    for j in range(X.shape[1]):
        left = X[:, j] != gap
        if left.sum() == 0 or len(set(X[left, j])) < 2:
            assert strength.value[j] == 0.0
            assert np.isnan(strength.cutoff[j])
        else:
            plain = measure.relevance(X[left, j : j + 1], y[left])
            assert strength.value[j] == pytest.approx(plain.value[0], rel=1e-12, abs=1e-13)
            assert strength.cutoff[j] == pytest.approx(plain.cutoff[0], rel=1e-12)
        for i in range(X.shape[1]):
            both = left & (X[:, i] != gap)
            expected = 0.0
            if both.any():
                expected = measure.between(X[both, i : i + 1], X[both, j : j + 1])[0, 0]
            assert pairs[i, j] == pytest.approx(expected, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_without_missing_values_it_equals_the_measure(measure):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = rng.integers(0, 4, (200, 9)).astype(float)
    X[:, 0] = y
    deleting = PairwiseDeletion(measure)
    assert np.array_equal(deleting.relevance(X, y).value, measure.relevance(X, y).value)
    assert np.array_equal(deleting.relevance(X, y).cutoff, measure.relevance(X, y).cutoff)
    assert np.array_equal(deleting.between(X, X), measure.between(X, X))
    assert np.array_equal(deleting.between(sp.csc_matrix(X), X), measure.between(X, X))
    panels = [m.panel(Target.of(y)) for m in (deleting, measure)]
    columns = [p.prepare(ColumnBlock.of(X), np.arange(9)) for p in panels]
    for panel, ready in zip(panels, columns, strict=True):
        for i in (0, 3, 5):
            panel.add(ready[i])
        panel.drop(np.array([1]))
    assert np.array_equal(panels[0].cutoffs(columns[0][7]), panels[1].cutoffs(columns[1][7]))
    assert np.array_equal(panels[0].between(columns[0][7]), panels[1].between(columns[1][7]))
    assert panels[0].pairs == panels[1].pairs == 2


def test_plain_python_and_compiled_code_agree():
    X, y = table(1, 40, 3, GAP)
    csc = sp.csc_matrix(X)
    n, width = X.shape
    counts, indices = np.bincount(y), csc.indptr.astype(np.int64)
    found = []
    for run in (lambda kernel: kernel, lambda kernel: kernel.py_func):
        codes, levels = np.empty(csc.nnz, np.int32), np.empty(width, np.int64)
        gap = np.empty(width, np.int64)
        run(gaps.code_gapped)(indices, csc.data, GAP, codes, levels, gap)
        one, two = np.zeros((width, 6), np.int64), np.zeros((width, width, 6), np.int64)
        columns = (indices, csc.indices, codes, levels, gap)
        table_, _ = entropy_table(n)
        run(gaps.relevance_gapped)(*columns, y, counts, table_, 0, width, one)
        run(gaps.pairs_gapped)(*columns, *columns, table_, n, 0, 0, width, two)
        found.append((codes, levels, gap, one, two))
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
    assert found[0][4][..., gaps.ROWS].tolist() == [
        [int(((X[:, i] != GAP) & (X[:, j] != GAP)).sum()) for j in range(width)]
        for i in range(width)
    ]


def test_other_measures_raise_an_error():
    with pytest.raises(ParameterError) as caught:
        deleting(tamis.GSquared(), GAP)
    assert str(caught.value) == (
        "GSquared cannot leave out missing values pair by pair; FisherZ, MutualInformation and "
        "SymmetricUncertainty can, or use missing='category'"
    )


def test_too_many_levels_are_reported():
    X = np.column_stack([np.arange(9000.0), np.arange(9000.0)])
    with pytest.raises(InputError, match="too many different values to be counted in pairs"):
        PairwiseDeletion().between(X, X)
