"""Conditional tests of correlation against least squares and the authors' program."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conditional_panels import check_that_added_and_dropped_columns_leave_no_trace, panel_of
from scipy import stats

from golden_outputs import cases, matrix
from tamis.core.target import Target
from tamis.measures import FisherZ
from tamis.measures.conditional import Conditional


def residual(column, others):
    design = np.column_stack([np.ones(len(column)), *others])
    return column - design @ np.linalg.lstsq(design, column, rcond=None)[0]


def table(seed=0, n=80, width=6, k=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    X = rng.normal(size=(n, width)) + 0.5 * y[:, None] * (np.arange(width) % 2)
    X[:, 1] *= rng.random(n) < 0.3  # a sparse one
    return X, y


@pytest.mark.parametrize("target", ["two classes", "numbers", "class numbers"])
def test_the_test_is_fishers_z_of_the_partial_correlation(target):
    X, y = table(k=4 if target == "class numbers" else 2)
    n = len(y)
    if target == "numbers":
        y = X[:, 0] + np.random.default_rng(1).normal(size=n)
    panel = panel_of(FisherZ(alpha=0.05, classes="numeric"), X, y)
    values = Target.of(y).values
    for given in ([], [0], [2, 1], [4, 1, 0], [0, 1, 2, 3], [4, 3, 2, 1, 0]):
        test = panel.test(5, given)
        others = [X[:, j] for j in given]
        r = stats.pearsonr(residual(X[:, 5], others), residual(values, others)).statistic
        assert abs(test.strength - abs(r)) < 1e-12
        assert test.df == n - len(given) - 3
        assert test.statistic == pytest.approx(np.sqrt(test.df) * np.arctanh(abs(r)), abs=1e-10)
        assert test.p == pytest.approx(2 * stats.norm.sf(test.statistic), abs=1e-10)
        assert test.independent == (test.p >= 0.05)


@pytest.mark.parametrize("k", [3, 7])
def test_with_more_classes_it_is_the_f_test_of_their_indicators(k):
    X, y = table(n=120, k=k)
    panel = panel_of(FisherZ(alpha=0.05), X, y)
    indicators = [(y == c).astype(float) for c in range(1, k)]
    for given in ([], [0], [2, 1], [4, 1, 0], [4, 3, 2, 1, 0]):
        test = panel.test(5, given)
        others = [X[:, j] for j in given]
        small, large = residual(X[:, 5], others), residual(X[:, 5], others + indicators)
        rest = 120 - len(given) - k
        f = (small @ small - large @ large) / (k - 1) / (large @ large / rest)
        assert test.strength == pytest.approx(np.sqrt(1 - large @ large / (small @ small)))
        assert test.statistic == pytest.approx(f, abs=1e-9)
        assert test.df == k - 1
        assert test.p == pytest.approx(stats.f.sf(f, k - 1, rest), abs=1e-10)
        assert test.independent == (test.p >= 0.05)


def test_the_numbering_of_the_classes_does_not_matter():
    X, y = table(n=120, k=4)
    renamed = np.array([2, 0, 3, 1])[y]
    one, two = panel_of(FisherZ(), X, y), panel_of(FisherZ(), X, renamed)
    for given in ([], [0], [2, 1]):
        assert one.test(5, given).strength == pytest.approx(two.test(5, given).strength, abs=1e-13)
    numeric = [panel_of(FisherZ(classes="numeric"), X, labels) for labels in (y, renamed)]
    assert numeric[0].test(5, [0]).strength != pytest.approx(numeric[1].test(5, [0]).strength)


def test_layouts_give_the_same_bits():
    X, y = table()
    dense, sparse = panel_of(FisherZ(), X, y), panel_of(FisherZ(), sp.csc_matrix(X), y)
    for given in ([], [1], [2, 1, 0]):
        assert dense.test(5, given) == sparse.test(5, given)


@pytest.mark.parametrize("k", [2, 3])
def test_a_combination_of_the_others_is_redundant_and_adds_nothing(k):
    X, y = table(n=100, k=k)
    X[:, 2] = 3 * X[:, 0] - X[:, 1] + 5
    X[:, 4] = -2 * X[:, 3] + 7
    panel = panel_of(FisherZ(), X, y)
    for x, given in ((2, [0, 1]), (0, [2, 1]), (4, [3]), (3, [0, 4])):
        test = panel.test(x, given)
        assert (test.collinear, test.independent, test.refused) == (True, True, False)
    # A collinear set is equivalent to its independent part.
    wide, narrow = panel.test(5, [0, 1, 2, 3, 4]), panel.test(5, [0, 1, 3])
    assert wide.strength == pytest.approx(narrow.strength, abs=1e-9)
    assert (wide.cutoff, wide.df) == (narrow.cutoff, narrow.df)


@pytest.mark.parametrize("unreliable", ["independent", "skip", "dependent"])
@pytest.mark.parametrize("k", [2, 3])
def test_too_few_rows_follow_the_parameter(unreliable, k):
    rng = np.random.default_rng(0)
    n = 6
    X, y = rng.normal(size=(n, 5)), np.arange(n) % k
    panel = panel_of(FisherZ(unreliable=unreliable), X, y)
    for m in range(4):
        test = panel.test(4, list(range(m)))
        assert test.refused == (m > 2)  # 6 - m - 3 < 1: also where 3 classes take one row each
        if test.refused:
            assert test.independent == (unreliable == "independent")
    few = FisherZ(unreliable=unreliable).relevance(X[:3], [0, 1, 0] if k == 2 else [0, 1, 2])
    assert few.dependent.all() == (unreliable == "dependent")
    assert few.dependent.any() == (unreliable == "dependent")


def test_added_and_dropped_columns_leave_no_trace():
    check_that_added_and_dropped_columns_leave_no_trace(FisherZ(), *table(width=12))


def test_it_is_a_conditional_measure_with_the_same_repr():
    assert isinstance(FisherZ(), Conditional)
    assert FisherZ().under("skip") == FisherZ(unreliable="skip")
    assert repr(FisherZ()) == "FisherZ(alpha=0.01, classes='indicator')"


# --- the authors' program ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "n_cases"), [("wdbc", 40), ("synth_lin", 43), ("GLIOMA", 40), ("madelon", 40)]
)
def test_all_single_tests_agree_with_the_authors_program(name, n_cases):
    X, classes = matrix(name)
    y = classes.astype(float)
    # Where "y" is given, two features are tested, without the target.
    of_the_program = [case for case in cases("fisher_z", name) if "y" not in case]
    assert len(of_the_program) == n_cases
    singular = []
    for case in of_the_program:
        panel = panel_of(FisherZ(classes="numeric"), X[:, [*case["given"], case["x"]]], y)
        test = panel.test(len(panel), range(len(panel)))
        assert test.independent == bool(case["independent_at_0_01"])
        if "note" in case:  # the program inverts a singular matrix: its number is rounding
            singular.append((case["x"], test.collinear))
            continue
        # Our copy of GLIOMA holds float32, so its inputs are off by 6e-8 of a mean of a few sd.
        tol = 1e-6 if name == "GLIOMA" else 1e-10
        assert abs(test.strength - case["abs_partial_corr"]) < tol
    expected = [(65, True), (6, False), (76, True)] if name == "synth_lin" else []
    assert singular == expected
