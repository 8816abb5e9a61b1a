"""P-values by pairwise deletion against those of the rows that are left."""

from __future__ import annotations

import numpy as np
import pytest

import tamis
from tamis.core.blocks import GAP, ColumnBlock
from tamis.core.target import Target
from tamis.kernels import known_rows
from tamis.kernels.threads import threads
from tamis.measures.p_values import TESTS, _laws, log_factorials
from tamis.measures.pairwise_deletion import deleting

MEASURES = [tamis.FisherZ(), tamis.MutualInformation(), tamis.SymmetricUncertainty()]
MEASURES_OF = pytest.mark.parametrize("measure", MEASURES, ids=lambda m: type(m).__name__)


def table(seed=0, n=120):
    """Return flags, numbers, skew numbers, counts and categories with gaps, and a rare class."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.2).astype(int)
    numbers = rng.normal(size=(n, 6))
    X = np.column_stack([
        rng.random((n, 6)) < 0.05 + 0.1 * y[:, np.newaxis],
        numbers + y[:, np.newaxis],
        np.exp(2 * numbers) * (1 + 3 * y[:, np.newaxis]),
        (rng.random((n, 6)) < 0.3) * rng.integers(1, 9, (n, 6)) * (1 + y[:, np.newaxis]),
        rng.integers(0, 3, (n, 6)) + y[:, np.newaxis],
    ]).astype(float)  # fmt: skip
    X[rng.random(X.shape) < 0.2] = GAP
    X[:, ::6] = np.abs(np.where(X[:, ::6] == GAP, 0, X[:, ::6]))
    return X, y


def each(measure, X, y):
    """Return the p-value and the test of each column, from its known rows alone."""
    for column in X.T:
        rows = column != GAP
        block = ColumnBlock.of(column[rows, np.newaxis])
        found = measure.tested(block, Target.of(y[rows]))
        yield found.p[0], TESTS[found.test[0]]


@MEASURES_OF
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_they_are_those_of_the_rows_left(measure, kind):
    X, y = table()
    if kind == "numbers":
        if not isinstance(measure, tamis.FisherZ):
            pytest.skip("for classes only")
        y = np.exp(1.5 * np.random.default_rng(1).normal(size=len(y))) + 3 * y
    if measure.kind == "discrete":
        X = X[:, np.r_[:6, 18:30]]
    found = deleting(measure, GAP).tested(ColumnBlock.of(X), Target.of(y))
    expected = list(each(measure, X, y))
    assert [TESTS[test] for test in found.test] == [test for _, test in expected]
    for j, (p, test) in enumerate(expected):
        # Normal scores of fewer rows are taken from those of all.
        close = 0.2 if test == "the t test of normal scores" else 1e-9
        assert found.p[j] == pytest.approx(p, rel=close)


@MEASURES_OF
def test_each_of_several_classes_has_an_exact_test(measure):
    X, y = table(2)
    y = y + 2 * (np.arange(len(y)) % 3 == 0)  # four classes
    found = deleting(measure, GAP).tested(ColumnBlock.of(X[:, 1:6]), Target.of(y))
    for j in range(5):
        p = [next(each(measure, X[:, [j + 1]], y == c))[0] for c in range(4)]
        assert found.p[j] == pytest.approx(min(1.0, 4 * min(p)), rel=1e-9)
        assert TESTS[found.test[j]] == "Fisher's exact test of each class"


def test_a_class_that_is_missing_altogether_is_not_counted():
    X, y = table(3)
    y = y + 2 * (np.arange(len(y)) % 3 == 0)
    X[y == 3, 8] = GAP
    rows = X[:, 8] != GAP
    found = deleting(tamis.FisherZ(), GAP).tested(ColumnBlock.of(X[:, [8]]), Target.of(y))
    alone = tamis.FisherZ().tested(ColumnBlock.of(X[rows][:, [8]]), Target.of(y[rows]))
    assert found.p[0] == pytest.approx(alone.p[0], rel=1e-9)


@MEASURES_OF
def test_the_gate_is_that_p_value(measure):
    X, y = table(4)
    exact = deleting(type(measure)(alpha=0.05), GAP)
    found, p = exact.relevance(X, y), exact.tested(ColumnBlock.of(X), Target.of(y)).p
    with threads(3, least_work=1):
        assert np.array_equal(exact.relevance(X, y).cutoff, found.cutoff, equal_nan=True)
    assert np.array_equal(found.dependent, p <= 0.05)
    assert exact.relevance(X, y).dependent.any()


def test_with_gaps_few_of_many_noise_flags_pass():
    rng = np.random.default_rng(0)
    y = np.arange(400) < 12
    X = (rng.random((400, 2000)) < 0.02).astype(float)
    X[rng.random(X.shape) < 0.2] = GAP
    exact = deleting(tamis.FisherZ(alpha=0.001), GAP).relevance(X, y).dependent.sum()
    plain = deleting(tamis.FisherZ(alpha=0.001, statistic="z"), GAP).relevance(X, y)
    assert exact <= 4
    assert plain.dependent.sum() >= 20


def test_plain_python_and_compiled_code_agree():
    X, y = table(5, n=60)
    block = ColumnBlock.of(X).without_zeros()
    v = deleting(tamis.FisherZ(), GAP).panel(Target.of(y)).prepare(block, np.arange(30))
    picks, z = np.arange(30), np.full(30, 3.0)
    args = v.indptr, v.rows, v.values, GAP, picks, z
    logs, none = log_factorials(60), _laws(())
    for y_, run in ((y.astype(np.uint16), known_rows.retest_known), (y + 0.5 * X[:, 0], None)):
        results = []
        for plain in (False, True):
            p, test = np.full(30, 0.5), np.zeros(30, np.uint8)
            if run is not None:
                kernel = run.py_func if plain else run
                kernel(*args, y_, 2, True, np.zeros(30, np.bool_), logs, *none, 0, 30, p, test)
            else:
                kernel = known_rows.retest_known_against_numbers
                kernel = kernel.py_func if plain else kernel
                scores, r = np.linspace(-2, 2, 119), np.full(30, np.nan)
                kernel(*args, y_, scores, logs, 0, 30, p, test, r)
                results.append(r)
            results += [p, test]
        half = len(results) // 2
        for one, two in zip(results[:half], results[half:], strict=True):
            assert one == pytest.approx(two, rel=1e-12, nan_ok=True)
