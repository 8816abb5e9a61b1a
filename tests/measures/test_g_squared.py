"""Tests of counts against SciPy, mutual information and the authors' program."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conditional_panels import check_that_added_and_dropped_columns_leave_no_trace, panel_of
from scipy import stats

from golden_outputs import cases, matrix
from tamis.core.errors import InputError, ParameterError
from tamis.measures import GSquared, MutualInformation
from tamis.measures.conditional import Conditional


def table(seed=0, n=300, width=8, levels=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.integers(0, levels, (n, width)).astype(float)
    X[:, ::2] = np.where(rng.random((n, len(range(0, width, 2)))) < 0.3, y[:, None], X[:, ::2])
    return X, y


@pytest.mark.parametrize("statistic", ["g2", "pearson"])
@pytest.mark.parametrize("n", [60, 4000])
def test_relevance_is_that_of_scipy(statistic, n):
    X, y = table(n=n)
    found = GSquared(alpha=0.05, statistic=statistic).relevance(X, y)
    sparse = GSquared(alpha=0.05, statistic=statistic).relevance(sp.csc_matrix(X), y)
    assert np.array_equal(found.value, sparse.value)
    for j in range(X.shape[1]):
        cells = stats.contingency.crosstab(X[:, j], y).count
        kind = "log-likelihood" if statistic == "g2" else "pearson"
        wanted = stats.chi2_contingency(cells, correction=False, lambda_=kind)
        if statistic == "g2" or wanted.expected_freq.min() >= 10:
            assert abs(found.value[j] - wanted.statistic) < 1e-9
            assert found.dependent[j] == (wanted.pvalue < 0.05)
        else:
            assert found.value[j] != pytest.approx(wanted.statistic)


def test_g_squared_is_mutual_information_in_other_units():
    X, y = table(n=500)
    bits = MutualInformation(alpha=0.01).relevance(X, y)
    g = GSquared(alpha=0.01, statistic="g2").relevance(X, y)
    assert np.allclose(g.value, 2 * 500 * np.log(2) * bits.value, rtol=0, atol=1e-10)
    assert np.array_equal(g.dependent, bits.dependent)


@pytest.mark.parametrize("degrees", ["levels", "spirtes"])
def test_columns_of_very_many_levels_are_refused_or_tested_by_their_degrees(degrees):
    n = 1000
    y = np.arange(n) % 2
    X = np.column_stack([np.arange(n) // 5, np.arange(n) // 10, np.arange(n) // 2]).astype(float)
    found = GSquared(statistic="g2", degrees=degrees).relevance(X, y)  # of 200, 100 and 500 levels
    assert found.cutoff[2] == np.inf
    # Five rows in turn hold both classes, so no cell is empty and both rules agree.
    assert found.cutoff[0] == pytest.approx(stats.chi2.isf(0.01, 199))
    assert found.cutoff[1] == pytest.approx(stats.chi2.isf(0.01, 99))


def test_spirtes_takes_one_degree_for_each_empty_cell():
    y = np.repeat([0, 1, 2], 20)
    x = np.where(y == 2, 3, np.arange(60) % 3).astype(float)  # class 2 alone has level 3
    cells = stats.contingency.crosstab(x, y).count
    plain = GSquared(statistic="g2").relevance(x, y)
    fewer = GSquared(statistic="g2", degrees="spirtes").relevance(x, y)
    assert plain.value[0] == fewer.value[0]
    assert plain.cutoff[0] == pytest.approx(stats.chi2.isf(0.01, 6))
    empty = int((cells == 0).sum())
    assert empty == 5
    assert fewer.cutoff[0] == pytest.approx(stats.chi2.isf(0.01, 6 - empty))


@pytest.mark.parametrize(
    ("unreliable", "relevant"), [("independent", 0), ("skip", 0), ("dependent", 1)]
)
def test_too_few_rows_for_the_degrees_of_freedom_follow_the_parameter(unreliable, relevant):
    n = 24  # three levels and four classes: six degrees of freedom need 30 rows
    x = np.arange(n) % 3
    y = np.arange(n) % 4
    for statistic in ("g2", "pearson"):
        measure = GSquared(statistic=statistic, unreliable=unreliable)
        assert measure.relevance(x, y).dependent.sum() == relevant
        panel = panel_of(measure, np.column_stack([x, x]).astype(float), y)
        assert (panel.cutoffs(panel._considered) < 0).sum() == 0
        test = panel.test(1, [0])
        assert (test.refused, test.independent) == (True, unreliable == "independent")
        assert np.isnan([test.statistic, test.p, test.cutoff]).all()
        assert test.df == 18
        assert panel.refused.tolist() == panel.tests.tolist() == [0, 1]
    assert (
        GSquared(alpha=0.9, statistic="g2").relevance(np.repeat(x, 2), np.repeat(y, 2)).cutoff[0]
        < np.inf
    )


def test_the_search_counts_its_tests_and_returns_what_it_found():
    rng = np.random.default_rng(0)
    n = 2000
    y = rng.integers(0, 2, n)
    a, b = (np.where(rng.random(n) < 0.7, y, rng.integers(0, 2, n)) for _ in range(2))
    both = 2 * a + b
    noise = rng.integers(0, 2, n)
    panel = panel_of(GSquared(), np.column_stack([noise, a, b, both]).astype(float), y)
    found = panel.separator(3, [0, 1, 2], 3)
    assert found is not None
    assert found.given == (1, 2)
    assert panel.tests.tolist() == [0, 3, 3, 0]  # {0} {1} {2} {0,1} {0,2} {1,2}
    assert found.p > 0.01
    assert found.p == pytest.approx(stats.chi2.sf(found.statistic, found.df))
    assert found.df == 3 * 2 * 2
    assert panel.separator(3, [0, 1, 2], 1) is None
    last = panel.separator(3, [0, 1], 3, including=2)
    assert last is not None
    assert last.given == (1, 2)
    assert panel.tests.tolist() == [0, 7, 5, 0]  # {2} {0,2} {1,2}
    # The other way round: given `both`, a adds nothing.
    other = panel.separator(1, [0, 2], 2, including=3)
    assert other is not None
    assert other.given == (3,)
    assert panel.separator(3, [], 3) is None


def test_added_and_dropped_columns_leave_no_trace():
    check_that_added_and_dropped_columns_leave_no_trace(GSquared(), *table(width=12))


def test_parameters_and_targets_are_checked_in_one_sentence():
    with pytest.raises(ParameterError, match="statistic='chi2' is not one of 'exact', 'g2'"):
        GSquared(statistic="chi2")
    with pytest.raises(ParameterError, match="GSquared: alpha=1 is not a number above 0 and below"):
        GSquared(alpha=1)
    with pytest.raises(ParameterError, match="degrees='many'"):
        GSquared(degrees="many")
    with pytest.raises(ParameterError, match="unreliable='no'"):
        GSquared(unreliable="no")
    with pytest.raises(InputError, match="GSquared needs classes"):
        GSquared().relevance(np.eye(3), [0.5, 0.1, 0.2])
    assert isinstance(GSquared(), Conditional)
    assert GSquared().under("skip") == GSquared(unreliable="skip")


# --- the authors' program ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "n_refused"),
    [("spect", 0), ("synth_bn", 0), ("wdbc_q3", 0), ("colon", 40), ("lung_small", 60)],
)
def test_all_single_tests_agree_with_the_authors_program(name, n_refused):
    X, y = matrix(name)
    of_the_program = cases("g2_chi2", name)
    assert len(of_the_program) == 80
    for case in of_the_program:
        measure = GSquared(statistic="g2" if case["test"] == "g2" else "pearson")
        panel = panel_of(measure, X[:, [*case["given"], case["x"]]], y)
        test = panel.test(len(panel), range(len(panel)))
        assert test.refused == bool(case["insufficient"])
        assert test.independent == bool(case["independent_at_0_01"])
        assert test.df == case["df"]
        if not test.refused:
            assert abs(test.statistic - case["statistic"]) < 1e-10
            assert abs(test.p - case["p"]) < 1e-10
    assert sum(case["insufficient"] for case in of_the_program) == n_refused
