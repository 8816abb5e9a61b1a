"""Rank tests against published examples, SciPy, and slow obvious forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tamis.core.errors import InputError, ParameterError
from tamis.evaluate import ranks
from tamis.evaluate.paired import (
    bayesian_signed_rank,
    compare_pair,
    paired_t,
    wilcoxon,
)

# Demšar, JMLR 7 (2006), Table 6: AUC of C4.5, +m, +cf, +m+cf on 14 data sets. Two values printed
# 0.975 on the same line have the ranks 2 and 3 there, so the second is a little lower here.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967], [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875], [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.975, 0.9749], [0.957, 0.978, 0.946, 0.970],
    ]
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:Exact p-value calculation:UserWarning")  # of SciPy 1.12
def test_demsars_example():
    test = ranks.friedman(DEMSAR)
    assert test.average_ranks.round(3).tolist() == [3.143, 2.0, 2.893, 1.964]
    assert round(test.chi_square, 2) == 9.28
    assert round(test.f, 2) == 3.69
    assert round(ranks.critical_difference(4, 14), 2) == 1.25
    assert round(ranks.critical_difference(4, 14, alpha=0.10), 2) == 1.12
    found = ranks.holm(test.average_ranks, 14, control=0)
    assert [one.method for one in found] == [3, 1, 2]
    assert [round(one.p, 3) for one in found] == [0.016, 0.019, 0.608]
    # Holm's steps: both are below 0.05 after the correction, the third is not.
    assert [one.p_holm < 0.05 for one in found] == [True, True, False]
    # Wilcoxon, C4.5 against C4.5+m: T = 12 over 14 data sets, significant at 0.05.
    assert stats.wilcoxon(DEMSAR[:, 0] - DEMSAR[:, 1], zero_method="zsplit").statistic == 12
    assert wilcoxon(DEMSAR[:, 0], DEMSAR[:, 1]) < 0.05


def test_the_q_of_nemenyi_is_that_of_the_printed_tables():
    # Demšar, Table 5a
    q05 = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    q10 = [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]
    for k, (five, ten) in enumerate(zip(q05, q10, strict=True), start=2):
        assert ranks.nemenyi_q(k) == pytest.approx(five, abs=1.1e-3)
        assert ranks.nemenyi_q(k, alpha=0.10) == pytest.approx(ten, abs=1.1e-3)


tables = st.integers(2, 8).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 5), min_size=k, max_size=k), min_size=3, max_size=12)
)


@given(tables)
def test_friedman_with_ties_is_scipys(rows):
    table = np.array(rows, dtype=float)
    ours = ranks.friedman(table)
    if table.shape[1] > 2 and len({len(set(r)) for r in rows} - {1}):
        theirs = stats.friedmanchisquare(*table.T)
        assert ours.chi_square_ties == pytest.approx(theirs.statistic, abs=1e-9)
        assert ours.p_ties == pytest.approx(theirs.pvalue, abs=1e-9)
    assert ours.average_ranks.sum() == pytest.approx(table.shape[1] * (table.shape[1] + 1) / 2)
    assert 0 <= ours.p <= 1


@given(tables)
def test_ranks_by_counting(rows):
    table = np.array(rows, dtype=float)
    for values, got in zip(table, ranks.rank_rows(table), strict=True):
        slow = [1 + sum(values > v) + (sum(values == v) - 1) / 2 for v in values]
        assert got.tolist() == slow


def test_methods_without_a_result_rank_last():
    assert ranks.rank_rows([[0.1, math.nan, 0.9, math.nan]]).tolist() == [[2, 3.5, 1, 3.5]]
    lower = ranks.rank_rows([[0.1, math.nan, 0.9]], larger_is_better=False)
    assert lower.tolist() == [[1, 3, 2]]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_holm_by_its_definition(p):
    got = ranks.holm_adjust(p)
    order = sorted(range(len(p)), key=lambda i: p[i])
    worst = 0.0
    for step, i in enumerate(order):
        worst = max(worst, min(1.0, (len(p) - step) * p[i]))
        assert got[i] == pytest.approx(worst)


def test_nemenyi_p_and_the_critical_difference_agree():
    average = np.array([1.5, 2.4, 3.2, 2.9])
    difference = ranks.critical_difference(4, 14)
    p = ranks.nemenyi_p(average, 14)
    gap = np.abs(average[:, None] - average[None, :])
    assert np.array_equal(p < 0.05, gap > difference)
    assert ranks.nemenyi_p([1.0, 1.0 + difference, 1.0, 1.0], 14)[0, 1] == pytest.approx(0.05)


def test_groups_that_do_not_differ():
    assert ranks.cliques([1, 2, 3], 5) == [[0, 1, 2]]
    assert ranks.cliques([1, 2, 3], 0.5) == []


def test_too_little_data_for_a_rank_test():
    with pytest.raises(InputError, match=r"^rank tests need at least two methods and"):
        ranks.friedman([[1, 2, 3]])
    with pytest.raises(ParameterError, match="n_methods=1 is not a whole number at least 2"):
        ranks.critical_difference(1, 5)


# --- pairs ----------------------------------------------------------------------------------------

numbers = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=3, max_size=20
).filter(lambda pairs: len({a - b for a, b in pairs}) > 1)


@given(numbers)
def test_the_plain_t_test_is_scipys(pairs):
    a, b = np.array(pairs, dtype=float).T
    assert paired_t(a, b) == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=1e-9)


@given(numbers, st.floats(0.05, 1))
def test_the_corrected_t_test_by_its_formula(pairs, share):
    a, b = np.array(pairs, dtype=float).T
    d = a - b
    t = d.mean() / math.sqrt((1 / len(d) + share) * d.var(ddof=1))
    assert paired_t(a, b, share=share) == pytest.approx(2 * stats.t.sf(abs(t), len(d) - 1))
    assert paired_t(a, b, share=share) >= paired_t(a, b) - 1e-12


def test_equal_differences_need_no_variance():
    assert paired_t([1, 2, 3], [1, 2, 3]) == 1
    assert paired_t([1.1, 2.1, 3.1], [1, 2, 3]) == 0
    assert math.isnan(paired_t([1], [2]))
    assert compare_pair([0.9], [0.1]) == "tie"
    assert compare_pair([0.5, 0.4, 0.45, 0.5], [0.9, 0.9, 0.8, 0.85], test="t") == "loss"
    # What the plain test takes for a win, folds that overlap do not show.
    a, b = np.array([0.9, 0.8, 0.85, 0.9, 0.8]), np.array([0.85, 0.79, 0.8, 0.88, 0.78])
    assert compare_pair(a, b, test="t") == "win"
    assert compare_pair(a, b, test="corrected-t", share=0.25) == "tie"


def test_unequal_lists_and_unknown_tests_are_refused():
    with pytest.raises(InputError, match="two lists of the same length"):
        paired_t([1, 2], [1, 2, 3])
    with pytest.raises(ParameterError, match="test='z' is not one of 'corrected-t', 't', 'wilcox"):
        compare_pair([1, 2], [1, 2], test="z")


def _slow_signed_rank(d, rope, prior, samples, seed):
    rng = np.random.default_rng(seed)
    z = [0.0, *d]
    wins = [0, 0, 0]
    for w in rng.dirichlet([prior, *[1] * len(d)], size=samples):
        mass = [0.0, 0.0, 0.0]
        for i, zi in enumerate(z):
            for j, zj in enumerate(z):
                where = 0 if (zi + zj) / 2 > rope else 2 if (zi + zj) / 2 < -rope else 1
                mass[where] += w[i] * w[j]
        wins[int(np.argmax(mass))] += 1
    return np.array(wins) / samples


@settings(max_examples=10)
@given(st.lists(st.sampled_from([-0.1, -0.03, 0.0, 0.005, 0.04, 0.2]), min_size=2, max_size=6))
def test_the_bayesian_signed_rank_by_its_definition(d):
    slow = _slow_signed_rank(d, 0.01, 0.5, 300, 7)
    fast = bayesian_signed_rank(d, np.zeros(len(d)), samples=300, random_state=7)
    assert [fast.better, fast.equal, fast.worse] == pytest.approx(slow, abs=1e-9)


def test_the_bayesian_signed_rank_of_a_clear_case():
    a = np.full(20, 0.9)
    assert bayesian_signed_rank(a, a - 0.1).better > 0.99
    assert bayesian_signed_rank(a, a).equal == pytest.approx(1)
    assert bayesian_signed_rank(a - 0.1, a).worse > 0.99


def test_differences_that_are_equal_up_to_rounding_are_tied_in_wilcoxons_test():
    steps = np.array([6, -2, 2, 4, -4, 6, 0, 2])  # hundredths
    ours = np.array([0.9, 0.3, 0.2, 0.7, 0.1, 0.66, 0.5, 0.82])
    theirs = np.round(ours - steps / 100, 2)
    assert len(np.unique(np.abs(ours - theirs))) > len(np.unique(np.abs(steps)))
    expected = wilcoxon(steps, np.zeros(8))  # whole numbers, which need no rounding
    assert wilcoxon(ours, theirs) == pytest.approx(expected, abs=1e-12)
    assert wilcoxon(1e-20 * ours, 1e-20 * theirs) == pytest.approx(expected, abs=1e-12)
    assert wilcoxon([0.3, 0.3], [0.1 + 0.2, 0.3]) == 1.0
