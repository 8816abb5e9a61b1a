"""HITON-PC against the paper's algorithm, with slow reference tests."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, norm

from tamis import HITONPC, FisherZ, GSquared, MutualInformation
from tamis.core.errors import ParameterError

pytestmark = pytest.mark.filterwarnings("ignore:.* too few rows for some tests")


# --- slow reference tests --------------------------------------------------------------------


def g_squared(X, y, x, given_, alpha):
    """(statistic, independent): stratum by stratum; too few rows count as independence."""
    levels = [len(np.unique(X[:, j])) for j in (x, *given_)]
    df = max(1, (levels[0] - 1) * (len(np.unique(y)) - 1) * int(np.prod(levels[1:])))
    if len(y) < 5 * df:
        return 0.0, True
    total = 0.0
    for stratum in np.unique(X[:, given_], axis=0) if given_ else [()]:
        rows = np.all(X[:, given_] == stratum, axis=1) if given_ else np.ones(len(y), bool)
        for a in np.unique(X[rows, x]):
            for b in np.unique(y[rows]):
                n = np.sum((X[rows, x] == a) & (y[rows] == b))
                e = np.sum(X[rows, x] == a) * np.sum(y[rows] == b) / rows.sum()
                total += 2 * n * np.log(n / e) if n else 0.0
    return total, total <= chi2.isf(alpha, df)


def fisher(X, y, x, given_, alpha):
    """(|r|, independent): what a regression on the given columns leaves of both."""
    base = np.column_stack([np.ones(len(y)), X[:, given_]])
    a, b = (v - base @ np.linalg.lstsq(base, v, rcond=None)[0] for v in (X[:, x], y.astype(float)))
    if a @ a < 1e-10 * len(y) * X[:, x].var():
        return 0.0, True
    r = abs(a @ b) / np.sqrt((a @ a) * (b @ b))
    z = np.sqrt(len(y) - len(given_) - 3) * np.arctanh(min(r, 1 - 1e-16))
    return r, z <= norm.isf(alpha / 2)


def paper(X, y, test, alpha, max_k):
    """Figure 7: inclusion with elimination of the new feature, then elimination of all."""

    def separated(x, others):
        sizes = range(1, min(max_k, len(others)) + 1)
        sets = (list(s) for k in sizes for s in combinations(others, k))
        return any(test(X, y, x, s, alpha)[1] for s in sets)

    usable = [j for j in range(X.shape[1]) if np.ptp(X[:, j]) > 0]
    alone = {j: test(X, y, j, [], alpha) for j in usable}
    open_ = [j for j in usable if not alone[j][1]]
    open_.sort(key=lambda j: (-round(alone[j][0], 9), j))
    tpc: list[int] = []
    for x in open_:
        if not separated(x, tpc):
            tpc.append(x)
    for x in list(tpc):
        if separated(x, [m for m in tpc if m != x]):
            tpc.remove(x)
    return tpc


def chain(seed, rows):
    """Columns that depend on each other: causes, effects, effects of effects, copies, noise."""
    rng = np.random.default_rng(seed)
    cause = rng.integers(0, 2, (rows, 2))
    y = np.where(rng.random(rows) < 0.8, cause[:, 0] | cause[:, 1], rng.integers(0, 2, rows))
    y[:2] = 0, 1
    follow = lambda of, p: np.where(rng.random(rows) < p, of, rng.integers(0, 2, rows))  # noqa: E731
    child, other = follow(y, 0.8), follow(y, 0.6)
    grandchild, sibling = follow(child, 0.8), follow(cause[:, 0], 0.8)
    noise = rng.integers(0, 3, (rows, 3))
    X = np.column_stack(
        [grandchild, cause, sibling, child, other, child, noise, np.full(rows, 2)]
    ).astype(float)
    return X[:, rng.permutation(X.shape[1])], y


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.sampled_from([60, 200, 500]),
    max_k=st.sampled_from([1, 2, 3]),
)
def test_it_keeps_what_the_paper_keeps_of_categories(seed, rows, max_k) -> None:
    X, y = chain(seed, rows)
    expected = paper(X, y, g_squared, 0.05, max_k)
    found = HITONPC(GSquared(alpha=0.05, statistic="g2"), max_k).fit(X, y)
    assert found.ranking_.tolist() == expected
    sparse = HITONPC(GSquared(alpha=0.05, statistic="g2"), max_k).fit(sp.csc_matrix(X), y)
    assert sparse.log_.replay() == sorted(expected)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), max_k=st.sampled_from([1, 2, 3]))
def test_it_keeps_what_the_paper_keeps_of_numbers(seed, max_k) -> None:
    rng = np.random.default_rng(seed)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 9))
    X[:, 1] += y
    X[:, 4] += X[:, 1]
    X[:, 6] += y - X[:, 4]
    X[:, 7] = 2 - X[:, 1]
    found = HITONPC(FisherZ(alpha=0.05, statistic="z"), max_k).fit(X, y)
    assert found.ranking_.tolist() == paper(X, y, fisher, 0.05, max_k)


def test_features_included_early_can_be_eliminated_at_the_end() -> None:
    """A combination of two features is the strongest, until both are included."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400))
    y = (a + b + 0.5 * rng.normal(size=400) > 0).astype(int)
    X = np.column_stack([a, b, a + b + 0.1 * rng.normal(size=400)])
    found = HITONPC("fisher_z").fit(X, y)
    assert found.log_.verdicts.tolist() == [3, 3, 2] or found.ranking_.tolist() == [2]
    assert found.ranking_.tolist() == paper(X, y, fisher, 0.01, 3)


def test_sentences_and_work_are_those_of_the_tests() -> None:
    X, y = chain(3, 500)
    found = HITONPC(GSquared(alpha=0.01)).fit(X, y)
    work = found.work_
    assert work["tests_given_0"] == X.shape[1]
    assert work["tests_given_1"] > 0
    dropped = [d for d in found.log_.events() if d.because]
    assert dropped
    for decision in dropped:
        message = found.log_.why(decision.feature)
        assert "it is independent of the class (G2=" in message
        assert f"given x{decision.because[0]}" in message


def test_measures_without_conditional_tests_are_refused() -> None:
    with pytest.raises(ParameterError, match="HITONPC tests features given others, which Mutual"):
        HITONPC(MutualInformation()).fit(np.eye(4), [0, 0, 1, 1])
    with pytest.raises(ParameterError, match="max_conditioning=0 is not a whole number at least 1"):
        HITONPC(max_conditioning=0).fit(np.eye(4), [0, 0, 1, 1])
