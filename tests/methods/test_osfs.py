"""OSFS and Fast-OSFS against slow references for the paper's algorithms."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import tamis
from program_rules import ProgramFastOSFS
from tamis import OSFS, FastOSFS, FisherZ, GSquared
from tamis.core.errors import DataWarning

quiet = pytest.mark.filterwarnings("ignore:.* too few rows for some tests")
METHODS = [OSFS, FastOSFS]


def g_squared_test(X, y, alpha, unreliable="independent"):
    """Independence by counting: "refused" where there are too few rows."""

    def independent(x, given):
        r = [len(np.unique(X[:, j])) for j in (x, *given)]
        df = (r[0] - 1) * (len(np.unique(y)) - 1) * int(np.prod(r[1:]))
        if len(y) < 5 * df:
            # Alone: only "dependent" lets a feature in. Given others: only "independent" separates.
            return unreliable != "dependent" if not given else unreliable == "independent"
        total = 0.0
        strata = [tuple(row) for row in X[:, list(given)].tolist()]
        for s in set(strata):
            here = np.array([t == s for t in strata])
            cells = stats.contingency.crosstab(X[here, x], y[here]).count
            if min(cells.shape) > 1:
                total += stats.chi2_contingency(
                    cells, correction=False, lambda_="log-likelihood"
                ).statistic
        return stats.chi2.sf(total, df) >= alpha

    return independent


def fisher_z_test(X, y, alpha):
    """Independence by the residuals of least squares."""

    def left_over(column, given):
        design = np.column_stack([np.ones(len(y)), X[:, list(given)]])
        return column - design @ np.linalg.lstsq(design, column, rcond=1e-9)[0]

    def independent(x, given):
        mine, other = left_over(X[:, x], given), left_over(y.astype(float), given)
        centred = X[:, x] - X[:, x].mean()
        if mine @ mine < 1e-10 * (centred @ centred):
            return True
        rank = np.linalg.matrix_rank(X[:, list(given)] - X[:, list(given)].mean(axis=0), tol=1e-7)
        r = stats.pearsonr(mine, other).statistic
        z = np.sqrt(len(y) - rank - 3) * np.arctanh(min(abs(r), 1.0))
        return z < stats.norm.isf(alpha / 2)

    return independent


def separated(independent, x, others, k, including=()):
    """The first set of at most k others, with those that must be in it, that separates x."""
    for size in range(max(1, len(including)), min(k, len(others) + len(including)) + 1):
        for some in combinations(others, size - len(including)):
            if independent(x, (*some, *including)):
                return (*some, *including)
    return None


def osfs(independent, features, k):
    kept = []
    for x in features:
        if independent(x, ()):
            continue
        kept.append(x)
        for y in list(kept):
            if separated(independent, y, [o for o in kept if o != y], k):
                kept.remove(y)
    return kept


def fast_osfs(independent, features, k):
    kept = []
    for x in features:
        if independent(x, ()) or separated(independent, x, kept, k):
            continue
        for y in list(kept):
            if separated(independent, y, [o for o in kept if o != y], k, (x,)):
                kept.remove(y)
        kept.append(x)
    return kept


SLOW = {OSFS: osfs, FastOSFS: fast_osfs}


def mixtures(seed, n, levels=None):
    """Columns that depend on the class directly, through others, or not at all."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    if levels is None:
        X = rng.normal(size=(n, 10))
        X[:, ::2] += y[:, None] * rng.random(5)
        X[:, 3] = X[:, 0] + 0.5 * rng.normal(size=n)
        X[:, 7] = X[:, 2] - X[:, 4]
        X[:, 9] = 2 * X[:, 6] + 1
        return X, y
    X = rng.integers(0, levels, (n, 10))
    X[:, ::2] = np.where(rng.random((n, 5)) < 0.4, y[:, None], X[:, ::2])
    X[:, 3] = np.where(rng.random(n) < 0.8, X[:, 0], X[:, 3])
    X[:, 7] = np.where(rng.random(n) < 0.5, X[:, 2], X[:, 4])
    X[:, 9] = X[:, 6]
    return X.astype(float), y


@quiet
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unreliable", ["independent", "skip", "dependent"])
@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.sampled_from([25, 70, 400]), k=st.integers(1, 3),
)  # fmt: skip
def test_it_keeps_what_the_algorithm_keeps_on_counts(method, unreliable, seed, n, k):
    X, y = mixtures(seed, n, levels=3)
    found = method(GSquared(alpha=0.05, statistic="g2"), k, unreliable).fit(X, y)
    test = g_squared_test(X, y, 0.05, unreliable)
    assert found.kept_.tolist() == SLOW[method](test, range(10), k)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 4))
def test_it_keeps_what_the_algorithm_keeps_on_numbers(method, seed, k):
    X, y = mixtures(seed, 80)
    found = method(FisherZ(alpha=0.05, statistic="z"), k).fit(X, y)
    assert found.kept_.tolist() == SLOW[method](fisher_z_test(X, y, 0.05), range(10), k)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_drop_has_a_witness_that_holds(seed):
    X, y = mixtures(seed, 300, levels=3)
    for method in METHODS:
        found = method(GSquared(alpha=0.05)).fit(X, y)
        independent = g_squared_test(X, y, 0.05)
        for decision in found.log_.events():
            if decision.reason in ("redundant, independent", "evicted, independent"):
                assert 1 <= len(decision.because) <= 3
                assert independent(decision.feature, decision.because)
                numbers = decision.evidence
                assert set(numbers) == {"statistic", "df", "p"}
                wanted = stats.chi2.sf(numbers["statistic"], numbers["df"])
                assert numbers["p"] == pytest.approx(wanted)
                assert numbers["p"] >= 0.05
                assert decision.value == numbers["statistic"] <= decision.level


def copies(n=200):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    good = np.where(rng.random(n) < 0.9, y, 1 - y)
    return np.column_stack([good, good, good]).astype(float), y


@pytest.mark.parametrize("measure", [GSquared(), FisherZ()])
def test_of_copies_osfs_keeps_the_newest_and_fast_osfs_the_oldest(measure):
    X, y = copies()
    assert OSFS(measure).fit(X, y).kept_.tolist() == [2]
    assert FastOSFS(measure).fit(X, y).kept_.tolist() == [0]


def test_the_program_makes_more_tests_and_keeps_the_same():
    X, y = mixtures(3, 400, levels=3)
    paper, program = (kind(GSquared()).fit(X, y) for kind in (FastOSFS, ProgramFastOSFS))
    assert paper.kept_.tolist() == program.kept_.tolist()
    extra = [program.work_[f"tests_given_{m}"] - paper.work_[f"tests_given_{m}"] for m in range(4)]
    assert min(extra) >= 0
    assert sum(extra) > 0


def test_sentences_carry_the_numbers():
    n = 400
    y = np.repeat([0, 1], n // 2)
    rng = np.random.default_rng(0)
    good = np.where(rng.random(n) < 0.9, y, 1 - y)
    echo = np.where(rng.random(n) < 0.9, good, 1 - good)
    live = FastOSFS(GSquared()).start(y)
    live.feed(echo, names=["echo"]).feed(good, names=["good"]).feed(echo, names=["again"])
    live.feed(np.ones(n), names=["flat"]).feed(np.arange(n) % 2, names=["odd"])
    why = live.log_.why
    assert why("good") == (
        "good is kept: G2(good; class)=254, p=2.16e-56 by Fisher's exact test, and "
        "no 3 or fewer kept features make it independent of the class"
    )
    assert why("echo") == (
        "echo was kept until a later feature came: given good it is independent of the class "
        "(G2=0.138 on 2 degrees of freedom, p=0.933)"
    )
    assert why("again") == (
        "again was dropped as redundant: given good it is independent of the class (G2=0.138 on 2 "
        "degrees of freedom, p=0.933)"
    )
    assert why("flat") == "flat was dropped as irrelevant: it has the same value in every row"
    assert why("odd") == (
        "odd was dropped as irrelevant: G2(odd; class)=0, p is above 0.01 by Fisher's exact test"
    )


def test_sentences_about_numbers_and_many_classes():
    rng = np.random.default_rng(1)
    n = 300
    y = rng.integers(0, 3, n)
    good = y + rng.normal(size=n)
    echo = good + rng.normal(size=n)
    sums = good + 2 * rng.normal(size=n)
    X = np.column_stack([good, echo, -2 * good + 7])
    found = FastOSFS(max_conditioning=1).fit(X, y)
    assert found.log_.why("x0").endswith(
        "and no single kept feature makes it independent of the class"
    )
    assert found.log_.why("x1").startswith(
        "x1 was dropped as redundant: given x0 it is independent of the class (R=0."
    )
    assert ", F=" in found.log_.why("x1")
    assert found.log_.why("x2") == (
        "x2 was dropped as redundant: given x0 nothing of it is left (less than 1e-10 of its "
        "variance)"
    )
    number = OSFS().fit(np.column_stack([sums, good]), good + 0.5 * rng.normal(size=n))
    assert number.log_.why("x0").startswith(
        "x0 was kept until a later feature came: given x1 it is independent of the target (|r|="
    )
    assert ", z=" in number.log_.why("x0")


def test_refused_tests_decide_with_a_warning_and_are_counted():
    rng = np.random.default_rng(0)
    n = 30
    y = np.arange(n) % 2
    a, b = (np.where(rng.random(n) < 0.9, y, 1 - y) for _ in range(2))
    many = np.where(y == 1, np.arange(n) % 7, 7).astype(float)  # needs 35 rows
    X = np.column_stack([a, many, 2 * a + b])
    with pytest.warns(DataWarning, match=r"too few rows for some tests.*'independent'") as caught:
        found = FastOSFS(GSquared(statistic="g2")).fit(X, y)
    assert len(caught) == 1
    assert found.log_.why("x1") == (
        "x1 was dropped as irrelevant: there are too few rows to test its dependence on the class"
    )
    assert found.work_["refused_given_0"] == 1
    with pytest.warns(DataWarning):
        more = FastOSFS(GSquared(statistic="g2"), unreliable="dependent").fit(X, y)
    assert more.log_.why("x1").startswith(
        "x1 is kept: there are too few rows to test its dependence on the class, which counts as "
        "dependence, and no 3 or fewer kept features make it"
    )
    X = np.column_stack([2 * a + b, 2 * b + a])[:20]
    with pytest.warns(DataWarning):
        found = FastOSFS(GSquared(alpha=0.05)).fit(X, y[:20])
    assert found.log_.why("x1") == (
        "x1 was dropped as redundant: given x0 there are too few rows to test its dependence on "
        "the class, which counts as independence"
    )
    assert found.work_["decided_by_refused"] == found.work_["refused_given_1"] == 1


def test_no_warning_without_a_refusal_that_decides():
    X, y = mixtures(0, 400, levels=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert FastOSFS().fit(X, y).work_["decided_by_refused"] == 0


def test_auto_picks_a_test_for_the_data():
    X, y = mixtures(0, 100, levels=2)
    assert OSFS().fit(X, y).measure_ == GSquared(alpha=0.01)
    assert OSFS().fit(X + 0.5, y).measure_ == FisherZ(alpha=0.01)
    assert FastOSFS(unreliable="skip").fit(X, y).measure_ == GSquared(unreliable="skip")


def test_an_empty_stream_has_no_work():
    assert FastOSFS(GSquared()).start([0, 1]).work_["tests_given_3"] == 0


def test_parameters_are_checked_in_one_sentence():
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(tamis.TamisError, match="OSFS: max_conditioning=0 is not a whole number"):
        OSFS(max_conditioning=0).fit(X, y)
    with pytest.raises(tamis.TamisError, match="FastOSFS: unreliable='maybe' is not one of 'indep"):
        FastOSFS(unreliable="maybe").fit(X, y)
    with pytest.raises(tamis.TamisError, match="OSFS: alpha=2 is not a number above 0"):
        OSFS(alpha=2).fit(X, y)
    with pytest.raises(tamis.TamisError, match=r"which MutualInformation cannot; use GSquared"):
        OSFS(tamis.MutualInformation()).fit(X, y)
