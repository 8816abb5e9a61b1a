"""Correlations over complete pairs, against SciPy and FisherZ on the rows that are left."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr

import tamis
from tamis.core.blocks import GAP, ColumnBlock
from tamis.core.errors import ParameterError
from tamis.core.target import Target
from tamis.kernels import present_rows as kernel
from tamis.kernels.threads import threads
from tamis.measures.complete_pairs import CompletePairs

MEASURES = [
    tamis.FisherZ(statistic="z"),
    tamis.FisherZ(alpha=0.2, classes="numeric", statistic="z"),
    tamis.FisherZ(unreliable="dependent", statistic="z"),
]


def table(seed, n_rows, kind, gap):
    """Numbers with gaps: related, sparse, constant, far from zero, with an outlier, empty."""
    rng = np.random.default_rng(seed)
    y = {
        "two": rng.integers(0, 2, n_rows),
        "many": rng.integers(0, 4, n_rows),
        "number": rng.normal(size=n_rows),
    }[kind]
    X = rng.normal(size=(n_rows, 8))
    X[:, 0] += y
    X[:, 1] = X[:, 0] + 0.5 * X[:, 1]
    X[:, 2] *= rng.random(n_rows) < 0.3
    X[:, 3] = 2.0
    X[:, 4] += 1e6
    X[0, 5] = 1e9
    holes = rng.random(X.shape) < rng.choice([0.0, 0.2, 0.9], size=X.shape[1])
    holes[0, [0, 1, 2]] = True  # the outlier of column 5 meets a gap
    holes[:, 7] = True
    return np.where(holes, gap, X), y


tables = st.builds(
    table,
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.sampled_from([2, 6, 40, 90]),
    kind=st.sampled_from(["two", "many", "number"]),
    gap=st.sampled_from([GAP, 0.0]),
)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@settings(max_examples=40)
@given(data=tables)
def test_values_are_those_of_the_rows_left(measure, data):
    X, y = data
    gap = X[0, 7]
    deleting = CompletePairs(measure, gap)
    strength = deleting.relevance(X, y)
    pairs = deleting.between(X, X)
    target = Target.of(y)
    for j in range(X.shape[1]):
        left = X[:, j] != gap
        if left.sum() == 0 or np.ptp(X[left, j]) == 0:
            assert strength.value[j] == 0.0
            assert np.isnan(strength.cutoff[j])
        else:
            rest = y[left] if target.is_classes else Target(
                int(left.sum()), None, None, target.values[left], False, 0
            )  # fmt: skip
            plain = measure.relevance(X[left, j : j + 1], rest)
            if np.ptp(target.values[left]) == 0:
                assert max(strength.value[j], plain.value[0]) < 1e-8  # 0 up to rounding
            else:
                assert strength.value[j] == pytest.approx(plain.value[0], rel=1e-9, abs=1e-12)
            assert strength.cutoff[j] == pytest.approx(plain.cutoff[0], rel=1e-12)
            if left.sum() > 2 and np.ptp(target.values[left]) > 0 and (
                measure.classes == "numeric" or target.n_classes in (0, 2)
            ):  # fmt: skip
                r = abs(pearsonr(X[left, j], target.values[left]).statistic)
                assert strength.value[j] == pytest.approx(r, rel=1e-9, abs=1e-12)
        for i in range(X.shape[1]):
            both = left & (X[:, i] != gap)
            constant = both.sum() < 2 or not all(np.ptp(X[both, c]) for c in (i, j))
            expected = 0.0 if constant else abs(pearsonr(X[both, i], X[both, j]).statistic)
            assert pairs[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("gap", [GAP, 0.0])
def test_cutoffs_have_the_degrees_of_freedom_of_their_pair(gap):
    X, y = table(3, 90, "two", gap)
    measure = CompletePairs(tamis.FisherZ(alpha=0.05), gap)
    panel = measure.panel(Target.of(y))
    ready = panel.prepare(ColumnBlock.of(sp.csc_matrix(X)), np.arange(8))
    for i in range(8):
        panel.add(ready[i])
    for j in range(8):
        both = np.not_equal(X, gap) & (X[:, [j]] != gap)
        expected = [tamis.FisherZ(alpha=0.05).cutoff(int(n)) for n in both.sum(axis=0)]
        assert panel.cutoffs(ready[j]) == pytest.approx(np.array(expected), rel=1e-12)


@pytest.mark.parametrize("kind", ["two", "many", "number"])
def test_without_missing_values_it_equals_fisher_z(kind):
    X, y = table(0, 90, kind, 1.5)
    plain, deleting = tamis.FisherZ(), CompletePairs()
    one, two = plain.relevance(X, y), deleting.relevance(X, y)
    assert np.array_equal(one.value, two.value)
    assert one.cutoff == pytest.approx(two.cutoff, rel=1e-12, nan_ok=True)
    assert deleting.between(X, X) == pytest.approx(plain.between(X, X), rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("gap", [GAP, 0.0])
def test_layout_threads_and_panels_give_the_same_bits(gap):
    X, y = table(5, 90, "many", gap)
    measure = CompletePairs(gap=gap)
    expected = measure.between(X, X)
    with threads(3, least_work=1):
        assert np.array_equal(measure.between(sp.csc_matrix(X), X), expected)
    panel = measure.panel(Target.of(y))
    ready = panel.prepare(ColumnBlock.of(X), np.arange(8))
    assert np.array_equal(panel.against(ready, 2, np.array([0, 5])), expected[[0, 5], 2])
    for i in (6, 1, 4):
        panel.add(ready[i])
    panel.drop(np.array([0]))
    assert np.array_equal(panel.between_many(ready, 0, 8), expected[:, [1, 4]])


def test_plain_python_and_compiled_code_agree():
    X, y = table(1, 40, "many", GAP)
    csc = sp.csc_matrix(X)
    target, measure = Target.of(y), tamis.FisherZ()
    columns = (csc.indptr.astype(np.int64), csc.indices, csc.data)
    found = []
    for run in (lambda kernel: kernel, lambda kernel: kernel.py_func):
        value, rows = np.empty(8), np.zeros((8, 2), np.int64)
        form = measure._target_form(target)
        run(kernel.relevance_present)(*columns, GAP, *form, target.values, 0, 8, value, rows)
        pairs, counts = np.empty((8, 8)), np.empty((8, 8), np.int64)
        run(kernel.correlations_with_kept)(*columns, *columns, 40, GAP, 0, 0, 8, pairs, counts)
        one = np.empty(8)
        run(kernel.correlations_with_one)(*columns, 2, np.arange(8), 40, GAP, 0, 8, one)
        assert np.array_equal(one, pairs[:, 2])
        found.append((value, rows, pairs, counts))
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
    assert np.array_equal(found[0][1][:, kernel.ROWS], (X != GAP).sum(axis=0))


def test_other_measures_raise_an_error():
    with pytest.raises(ParameterError, match="CompletePairs takes FisherZ, not GSquared"):
        CompletePairs(tamis.GSquared())
