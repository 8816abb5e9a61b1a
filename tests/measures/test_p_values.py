"""P-values are valid: by enumeration, against SciPy, and whatever the layout."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chi2_contingency, f_oneway, fisher_exact, hypergeom, pearsonr

import tamis
from tamis import SAOLA, AnyShape, FisherZ, GSquared, MutualInformation, SymmetricUncertainty
from tamis.core.blocks import ColumnBlock
from tamis.core.errors import ParameterError
from tamis.core.target import Target
from tamis.kernels.exact_tests import fisher, least_fisher
from tamis.kernels.saddle_point import TRUSTWORTHY, find_doubted, find_trusted, sum_p
from tamis.measures.auto import from_name, named
from tamis.measures.measure import Measure
from tamis.measures.p_values import (
    NO_ONES,
    TESTS,
    against_classes,
    law_of_counts,
    log_factorials,
)
from tamis.measures.pair_measure import PairMeasure

DISCRETE = (MutualInformation(), SymmetricUncertainty(), GSquared(), GSquared(statistic="pearson"))


def outcome(measure: Measure, X, y, bound: float = 1.0):
    """Return the tests of the columns of X."""
    return measure.tested(ColumnBlock.of(X), Target.of(y), bound)


def names(measure: Measure, X, y) -> list[str]:
    """Return the names of the tests that the columns of X get."""
    return [measure.tests[i] for i in outcome(measure, X, y).test]


# --- Fisher's exact test -------------------------------------------------------------------------


def test_fisher_is_valid_for_every_small_table() -> None:
    """P(p <= level) <= level, by summing over all tables, for every n, n1 and m up to 60 rows."""
    for n in range(2, 61):
        logs = log_factorials(n)
        for n1, m in product(range(1, n // 2 + 1), range(1, n // 2 + 1)):
            a = np.arange(max(0, m - (n - n1)), min(m, n1) + 1)
            p = np.array([fisher(logs, n, n1, m, i, math.inf) for i in a])
            probability = hypergeom.pmf(a, n, n1, m)
            attained = np.array([probability[p <= level].sum() for level in p])
            assert np.all(attained <= p * (1 + 1e-9)), (n, n1, m)
            least = least_fisher(logs, n, n1, m)
            assert least == pytest.approx(p.min(), rel=1e-9), (n, n1, m)


def test_fisher_equals_scipy() -> None:
    """Large and small tables, on both sides of the mean."""
    rng = np.random.default_rng(0)
    for size in (10, 100, 1000, 50_000):
        for _ in range(100):
            n = int(rng.integers(2, size))
            n1, m = int(rng.integers(0, n + 1)), int(rng.integers(0, n + 1))
            a = int(rng.integers(max(0, m - (n - n1)), min(m, n1) + 1))
            if rng.random() < 0.5:  # near the mean, where p is not 0
                a = min(max(round(rng.normal(m * n1 / n, 2)), max(0, m - n + n1)), min(m, n1))
            table = [[a, m - a], [n1 - a, n - n1 - m + a]]
            expected = fisher_exact(table)[1]
            got = fisher(log_factorials(n), n, n1, m, a, math.inf)
            assert got == pytest.approx(expected, rel=1e-9, abs=1e-300), table


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_names_of_classes_and_levels_do_not_matter(seed: int) -> None:
    """The p-value is the same to the last bit if 0 and 1 change places, in column or target."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 300))
    n1, m = int(rng.integers(0, n + 1)), int(rng.integers(0, n + 1))
    a = int(rng.integers(max(0, m - (n - n1)), min(m, n1) + 1))
    logs = log_factorials(n)
    p = fisher(logs, n, n1, m, a, math.inf)
    assert p == fisher(logs, n, n - n1, m, m - a, math.inf)
    assert p == fisher(logs, n, n1, n - m, n1 - a, math.inf)
    bound = 10.0 ** -rng.uniform(0, 10)
    screened = fisher(logs, n, n1, m, a, math.log(bound))
    assert screened == p or bound < screened <= p


@pytest.mark.parametrize("measure", [*DISCRETE, FisherZ()], ids=repr)
def test_flags_get_fishers_test(measure: Measure) -> None:
    """0/1 columns and two classes: all measures give the same p-value."""
    rng = np.random.default_rng(1)
    X, y = rng.random((80, 40)) < rng.random(40), rng.random(80) < 0.2
    X[:, 0] = y
    expected = []
    for j in range(X.shape[1]):
        table = np.array([[np.sum((X[:, j] == a) & (y == b)) for a in (0, 1)] for b in (0, 1)])
        expected.append(fisher_exact(table)[1])
    for shown in (X.astype(float), 7.0 * X, 3.0 - X, sparse.csc_array(X.astype(float))):
        assert np.allclose(measure.p_values(shown, y), expected, rtol=1e-9, atol=0)
    assert set(names(measure, X.astype(float), y)) == {"Fisher's exact test"}


# --- more classes and levels ---------------------------------------------------------------------


def test_counts_of_many_classes_equal_enumeration() -> None:
    """The law of m ones on classes of 5, 4, 3 and 2 rows, over all tables."""
    sizes, most = (5, 4, 3, 2), 6
    steps, tails = law_of_counts(sizes, most)
    for m in range(most + 1):
        tables = [t for t in product(*(range(s + 1) for s in sizes)) if sum(t) == m]
        weights = [math.prod(map(math.comb, sizes, t)) for t in tables]
        sums = np.array([sum(steps[c, a] for c, a in enumerate(t)) for t in tables])
        law = np.array(weights) / math.comb(sum(sizes), m)
        for q in sums:
            assert tails[m, q] == pytest.approx(law[sums >= q].sum(), abs=1e-12)


@pytest.mark.parametrize("measure", [MutualInformation(), FisherZ()], ids=repr)
@pytest.mark.parametrize("ones", [1, 3, 30, 99, 200])
def test_flags_with_many_classes(measure: Measure, ones: int) -> None:
    """An exact test of the counts up to 100 ones, one of each class above; valid in both cases."""
    rng = np.random.default_rng(ones)
    y = rng.choice(5, 400, p=[0.5, 0.3, 0.1, 0.07, 0.03])
    X = np.zeros((400, 3000))
    X[:ones] = 1.0
    X = rng.permuted(X, axis=0)
    p = measure.p_values(X, y)
    for level in (0.3, 0.1, 0.01):
        assert np.mean(p <= level) <= level + 3 * math.sqrt(level / 3000)
    expected = (
        "the exact test of its counts" if ones <= 100 else "Fisher's exact test of each class"
    )
    assert set(names(measure, X, y)) == {expected}
    assert np.all(outcome(measure, X, y).least_p <= p)
    assert np.allclose(measure.p_values(1 - X, y), p, rtol=1e-12)
    moved = np.array([3, 1, 4, 0, 2])[y]
    assert np.allclose(measure.p_values(X, moved), p, rtol=1e-9)


@pytest.mark.parametrize("measure", [MutualInformation(), GSquared()], ids=repr)
def test_categories_with_many_rows_get_the_g_squared_test(measure: Measure) -> None:
    """All expected counts are 25 or more."""
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 3, (900, 3)), rng.integers(0, 3, 900)
    X[:, 0] = np.where(rng.random(900) < 0.1, y, X[:, 0])
    expected = []
    for j in range(3):
        table = [[np.sum((X[:, j] == a) & (y == b)) for a in range(3)] for b in range(3)]
        expected.append(chi2_contingency(table, lambda_="log-likelihood")[1])
    assert np.allclose(measure.p_values(X, y), expected, rtol=1e-9)
    assert set(names(measure, X, y)) == {"the G-squared test"}


def _columns(kind: str, rng: np.random.Generator, n: int, width: int) -> np.ndarray:
    """Return columns that need cuts."""
    sparse_flags = rng.random((n, width)) < rng.choice([0.02, 0.1, 0.4], width)
    if kind == "tf-idf":
        return sparse_flags * rng.lognormal(size=(n, width))
    if kind == "counts":
        return np.floor(sparse_flags * rng.lognormal(1.5, 1.0, (n, width)))
    if kind == "signed":
        return sparse_flags * rng.normal(size=(n, width))
    return rng.choice(6, (n, width), p=[0.4, 0.3, 0.2, 0.05, 0.03, 0.02]).astype(float)


@pytest.mark.parametrize("kind", ["tf-idf", "counts", "signed", "categories"])
@pytest.mark.parametrize("share", [0.5, 0.05])
@pytest.mark.parametrize("measure", [MutualInformation(), FisherZ()], ids=repr)
def test_cuts_are_valid(kind: str, share: float, measure: Measure) -> None:
    """Sparse numbers and many levels, against a common and a rare class, independent of them."""
    rng = np.random.default_rng(3)
    X, y = _columns(kind, rng, 300, 4000), np.arange(300) < 300 * share
    if kind == "categories" and isinstance(measure, FisherZ):
        pytest.skip("dense numbers are not cut")
    p = measure.p_values(X, y)
    for level in (0.1, 0.01, 0.001):
        assert np.mean(p <= level) <= level + 3 * math.sqrt(level / 4000)
    assert "exact tests of its cuts" in names(measure, X, y)
    assert np.array_equal(measure.p_values(sparse.csc_array(X), y), p)
    assert np.allclose(measure.p_values(X, ~y), p, rtol=1e-9)
    assert np.all(outcome(measure, X, y).least_p <= p)


@pytest.mark.parametrize("measure", [*DISCRETE, FisherZ(), AnyShape()], ids=repr)
def test_nothing_to_cut_is_never_significant(measure: Measure) -> None:
    """A constant column has p = 1; so has a column if all rows but one are the same class."""
    X = np.column_stack([np.zeros(30), np.full(30, 2.0), np.arange(30.0)])
    y = np.arange(30) % 2
    assert measure.p_values(X[:, :2], y).tolist() == [1.0, 1.0]
    alone = np.arange(30) == 7
    assert measure.p_values((np.arange(30) == 3)[:, np.newaxis] * 1.0, alone)[0] == 1.0


@pytest.mark.parametrize("measure", [*DISCRETE, FisherZ()], ids=repr)
def test_strong_dependence_is_found(measure: Measure) -> None:
    """Counts, signed numbers and categories that follow the class."""
    rng = np.random.default_rng(4)
    y = rng.random(400) < 0.3
    there = rng.random(400) < np.where(y, 0.6, 0.1)
    X = np.column_stack(
        [
            np.floor(there * rng.lognormal(1.5, 1.0, 400)),
            there * rng.normal(size=400),
            np.where(there, 3.0, rng.integers(0, 3, 400)),
        ]
    )
    assert np.all(measure.p_values(X, y) < 1e-6)


# --- numbers -------------------------------------------------------------------------------------


def test_dense_numbers_get_the_t_and_the_f_test() -> None:
    """As SciPy has them."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 12)) + np.linspace(0, 1, 12)
    follows = rng.normal(size=300) + 0.2 * X[:, 0]
    for y in (follows, follows > 0):
        expected = [pearsonr(x, y).pvalue for x in X.T]
        assert np.allclose(FisherZ().p_values(X, y), expected, rtol=1e-10, atol=0)
        assert set(names(FisherZ(), X, y)) == {"the t test"}
    y = np.arange(300) % 3
    X[:, 0] += 0.2 * y
    expected = [f_oneway(*(x[y == c] for c in range(3))).pvalue for x in X.T]
    assert np.allclose(FisherZ().p_values(X, y), expected, rtol=1e-10, atol=0)
    assert set(names(FisherZ(), X, y)) == {"the F test"}


# --- what all tests share ------------------------------------------------------------------------


@pytest.mark.parametrize("measure", [*DISCRETE, FisherZ(), AnyShape()], ids=repr)
@pytest.mark.parametrize("classes", [2, 4])
def test_a_p_value_belongs_to_its_column(measure: Measure, classes: int) -> None:
    """It depends neither on the other columns, nor on the block, nor on the order of rows."""
    rng = np.random.default_rng(6)
    X = np.column_stack(
        [
            rng.random((200, 8)) < 0.1,
            rng.integers(0, 3, (200, 8)),
            np.floor((rng.random((200, 8)) < 0.2) * rng.lognormal(2, 1, (200, 8))),
            rng.integers(0, 40, (200, 4)) - 20,
        ]
    ).astype(float)
    y = rng.integers(0, classes, 200)
    X[:, ::5] += (y == 1)[:, np.newaxis]
    whole = measure.p_values(X, y)
    alone = np.concatenate([measure.p_values(X[:, [j]], y) for j in range(X.shape[1])])
    assert np.array_equal(whole, alone)
    backwards = measure.p_values(X[:, ::-1], y)[::-1]
    assert np.array_equal(whole, backwards)
    rows = rng.permutation(200)
    assert np.allclose(whole, measure.p_values(X[rows], y[rows]), rtol=1e-9)
    for bound in (0.5, 0.01, 1e-6):
        p = outcome(measure, X, y, bound).p
        below = whole <= bound
        assert np.array_equal(p[below], whole[below])
        assert np.all((p[~below] > bound) & (p[~below] <= whole[~below] * (1 + 1e-12)))


def test_a_measure_without_p_values_says_so() -> None:
    """In one sentence."""

    class Odd(PairMeasure):
        """A measure of a user."""

        def pair(self, a, b) -> float:
            """Return nothing of interest."""
            return 0.0

        def cutoff(self, n: int) -> float:
            """Return a cutoff."""
            return 0.5

        def gate(self) -> str:
            """Describe the cutoff."""
            return "a half"

    with pytest.raises(ParameterError, match="Odd has no p-values; use one of"):
        Odd().tested(ColumnBlock.of(np.eye(3)), Target.of([0, 1, 1]))


def test_the_names_of_the_tests_fit_into_a_byte() -> None:
    """They are stored with the level of a feature."""
    assert len(TESTS) <= 16
    assert len(set(TESTS)) == len(TESTS)


# --- the gate ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "measure",
    [
        MutualInformation(alpha=0.05),
        SymmetricUncertainty(alpha=0.05),
        GSquared(alpha=0.05),
        FisherZ(alpha=0.05),
    ],
    ids=repr,
)
def test_relevant_means_p_at_most_alpha(measure: Measure) -> None:
    """Whatever the test; and the papers' tests are still there."""
    rng = np.random.default_rng(7)
    y = rng.random(150) < 0.2
    X = np.column_stack(
        [rng.random((150, 30)) < 0.05, np.floor(rng.exponential(size=(150, 30)) * 2)]
    ).astype(float)
    X[:, ::7] += y[:, np.newaxis]
    strength = measure.relevance(X, y)
    assert np.array_equal(strength.dependent, measure.p_values(X, y) <= 0.05)
    assert 0 < strength.dependent.sum() < 60
    paper = measure.with_paper_statistic()
    assert paper.statistic in ("z", "g2")
    assert not np.array_equal(paper.relevance(X, y).dependent, strength.dependent)
    assert np.array_equal(paper.relevance(X, y).value, strength.value)


def test_why_tells_the_p_value_and_the_test() -> None:
    """In a selection, and after it was saved."""
    rng = np.random.default_rng(8)
    y = np.arange(200) % 2
    X = np.column_stack([rng.random(200) < 0.1 + 0.6 * y, rng.random(200) < 0.5]).astype(float)
    run = tamis.select(X, SAOLA(FisherZ()), y)
    table = [[np.sum((X[:, 0] == a) & (y == b)) for a in (0, 1)] for b in (0, 1)]
    p = fisher_exact(table)[1]
    assert f"p={p:.3g} by Fisher's exact test" in run.why("x0")
    assert "p is above 0.01 by Fisher's exact test" in run.why("x1")


def test_a_saved_selection_keeps_the_test_it_began_with() -> None:
    """Files of older versions name no statistic."""
    assert from_name("fisher_z", {"alpha": 0.01}) == FisherZ(statistic="z")
    assert from_name("mutual_information", {"alpha": 0.1}) == MutualInformation(
        alpha=0.1, statistic="g2"
    )
    for measure in (FisherZ(), MutualInformation(alpha=0.1), GSquared()):
        assert from_name(**named(measure)) == measure


# --- the saddle-point ----------------------------------------------------------------------------


@pytest.mark.parametrize("drawn", [20, 100])
@pytest.mark.parametrize("kind", ["lognormal", "counts"])
def test_the_saddle_point_is_a_permutation_p_value(kind: str, drawn: int) -> None:
    """Within 15 % at 1 %, on both sides, against 40,000 draws."""
    rng = np.random.default_rng(9)
    x = rng.lognormal(size=300) if kind == "lognormal" else np.floor(3 * rng.lognormal(size=300))
    z = (x - x.mean()) / x.std()
    sums = np.array([z[rng.permutation(300)[:drawn]].sum() for _ in range(40_000)])
    for tail in (0.01, 0.99):
        at = float(np.quantile(sums, tail, method="closest_observation"))
        exact = np.mean(sums <= at + 1e-9) if tail < 0.5 else np.mean(sums >= at - 1e-9)
        half = 0.5 / x.std() if kind == "counts" else 0.0  # half a step of the lattice
        p = sum_p(z, at - math.copysign(half, at), drawn)
        assert p / 2 == pytest.approx(exact, rel=0.15)


@pytest.mark.parametrize("layout", [np.asfortranarray, sparse.csc_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("n", [9, 64, 301])
def test_columns_are_trusted_without_exact_moments_only_where_these_would_agree(layout, n) -> None:
    """Heavy tails, large means, tiny and huge numbers, few nonzeros, and levels near the limit."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 400)) * 10.0 ** rng.uniform(0, 3, 400) + rng.normal(size=400)
    X[:, 100:200] = np.sign(X[:, 100:200]) * np.abs(X[:, 100:200]) ** rng.uniform(1, 6, 100)
    X[:, 200:250] += 10.0 ** rng.uniform(3, 15, 50)
    X[:, 250:300] *= 10.0 ** rng.uniform(-170, 60, 50)
    X[:, 300:350] *= rng.random((n, 50)) < 0.2
    X[:, 350] = 7.0
    flat, indptr, rows, values = ColumnBlock.of(layout(X)).arrays
    picks, z = np.arange(400), rng.uniform(2, 9, 400)
    moments = n, rng.choice([0.05, 1.0, 5.0]), 2.0
    trusted, doubts = np.empty(400, np.bool_), np.empty(400, np.uint8)
    find_doubted(flat, indptr, rows, values, picks, z, *moments, 0, 400, doubts)
    for run in (find_trusted, find_trusted.py_func):
        with np.errstate(all="ignore"):
            run(flat, indptr, values, picks, z, *moments, 0, 400, trusted)
        assert np.all(doubts[trusted] == TRUSTWORTHY)
        assert trusted.sum() > (0.4 if n > 9 else 0.0) * np.sum(doubts == TRUSTWORTHY)


def test_skew_numbers_and_a_rare_class_are_not_found_by_chance() -> None:
    """The t test alone lets several times too many through at small levels."""
    rng = np.random.default_rng(10)
    X, y = rng.lognormal(sigma=1.5, size=(200, 5000)), np.arange(200) < 10
    p = FisherZ().p_values(X, y)
    assert np.mean(p <= 0.001) <= 0.002
    assert np.mean(FisherZ(alpha=0.001, statistic="z").relevance(X, y).dependent) > 0.005
    assert "a permutation test (saddle-point)" in names(FisherZ(), X, y)
    numeric = FisherZ().p_values(X, rng.lognormal(sigma=1.5, size=200))
    assert np.mean(numeric <= 0.001) <= 0.002


@pytest.mark.parametrize("method", [tamis.SAOLA, tamis.FastOSFS, tamis.HITONPC])
def test_one_word_brings_the_tests_of_the_papers_back(method: type) -> None:
    """On rare flags and a rare class they let more noise pass."""
    rng = np.random.default_rng(0)
    X = (rng.random((300, 400)) < 0.03).astype(float)
    y = (np.arange(300) < 12).astype(int)
    paper = method("paper").fit(X, y)
    assert paper.measure_.statistic == "g2"
    assert method("auto").fit(X, y).measure_.statistic == "exact"
    given = method(paper.measure_).fit(X, y)
    assert paper.kept_.tolist() == given.kept_.tolist()
    assert "paper" in repr(paper)


# --- what is known from the counts ----------------------------------------------------------------


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("layout", [np.asfortranarray, sparse.csc_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("with_flags", [False, True])
def test_tests_are_the_same_whatever_is_known_of_the_counts(numbers, layout, with_flags) -> None:
    """Known counts skip kernels: they may not change a test, a p-value or the least one."""
    rng = np.random.default_rng(1)
    y = Target.of(rng.integers(0, 3, 900))
    X = rng.integers(0, 4, (900, 30)).astype(float) * (rng.random((900, 30)) < 0.6)
    X[:, 3:6] = rng.integers(-1, 2, (900, 3)) * (rng.random((900, 3)) < 0.05)
    X[:, 6] = 0.0
    X[:3, 7:9], X[3:, 7:9] = [[1, 2], [1, 3], [2, 2]], 0.0
    if with_flags:
        X[:, 9] = rng.random(900) < 0.3
    block = ColumnBlock.of(layout(X))
    strength = MutualInformation().relevance(block, y)
    few = np.full(30, -1)
    marks = MutualInformation()._measure(block, y, strength)
    marks = few if numbers else marks
    plain = against_classes(block, y, strength, 0.01, NO_ONES, numbers=numbers)
    for ones in (few, marks):
        told = against_classes(block, y, strength, 0.01, ones, numbers=numbers)
        for one, other in ((told[0].p, plain[0].p), (told[0].least_p, plain[0].least_p)):
            assert one.tobytes() == other.tobytes()
        assert np.array_equal(told[0].test, plain[0].test)
        assert np.array_equal(told[1], plain[1])
    assert numbers or (marks < -1).any()
