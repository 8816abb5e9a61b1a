"""CFS against slow references for Hall's merit and searches."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_information import uncertainty

from golden_outputs import matrix
from tamis import CFS, FisherZ
from tamis.core.errors import ParameterError

pytestmark = pytest.mark.filterwarnings("ignore:.* takes every value as a category")


# --- slow references -------------------------------------------------------------------------


uncertain = partial(uncertainty, digits=13)  # merits are sums of these, rounded later


def correlation(a, b):
    return abs(np.corrcoef(a, b)[0, 1]) if np.ptp(a) > 0 and np.ptp(b) > 0 else 0.0


class Slow:
    """Merits from the definition, and both searches as in the thesis."""

    def __init__(self, X, y, strength=uncertain, level=0.0):
        self.X, self.y, self.strength = X, y, strength
        self.known = {}
        self.relevance = [strength(column, y) for column in X.T]
        self.left = [j for j in range(X.shape[1]) if self.relevance[j] > level]

    def pair(self, a, b):
        key = min(a, b), max(a, b)
        if key not in self.known:
            self.known[key] = self.strength(self.X[:, a], self.X[:, b])
        return self.known[key]

    def merit(self, members):
        k = len(members)
        if k == 0:
            return 0.0
        r_cf = np.mean([self.relevance[j] for j in members])
        r_ff = np.mean([self.pair(a, b) for a, b in combinations(members, 2)]) if k > 1 else 0.0
        return round(k * r_cf / np.sqrt(k + k * (k - 1) * r_ff), 11)

    def forward(self):
        members = []
        while True:
            children = [j for j in self.left if j not in members]
            if not children:
                return members
            best = max(children, key=lambda j: (self.merit([*members, j]), -j))
            if self.merit([*members, best]) <= self.merit(members):
                return members
            members = [*members, best]

    def best_first(self, stale):
        open_, made, best, in_vain, at = [], set(), [], 0, 0
        open_.append((0.0, 0, 0, []))
        while open_ and in_vain < stale:
            open_.sort(key=lambda node: (-node[0], node[1], node[2]))
            _, _, _, members = open_.pop(0)
            better = False
            for j in self.left:
                child = [*members, j]
                if j in members or frozenset(child) in made:
                    continue
                made.add(frozenset(child))
                merit = self.merit(child)
                open_.append((merit, at, j, child))
                if merit > self.merit(best):
                    best, better = child, True
            at += 1
            in_vain = 0 if better else in_vain + 1
        return best


def troubled(seed, rows, levels, columns=11):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    y[:2] = 0, 1
    X = rng.integers(0, levels, (rows, columns)).astype(float)
    informative = rng.random((rows, columns)) < 0.7 * rng.random(columns)
    X = np.where(informative, y[:, None], X)
    X[:, 4] = X[:, 2]
    X[:, 7] = levels - 1 - X[:, 5]
    X[:, 9] = 1.0
    return X, y


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.sampled_from([10, 40, 120]),
    levels=st.sampled_from([2, 3, 4]),
    stale=st.sampled_from([1, 2, 5]),
)
def test_it_finds_what_the_slow_searches_find(seed, rows, levels, stale) -> None:
    X, y = troubled(seed, rows, levels)
    slow = Slow(X, y)
    found = CFS(search="forward", measure="symmetric_uncertainty").fit(X, y)
    assert found.ranking_.tolist() == slow.forward()
    assert found.merit_ == pytest.approx(slow.merit(slow.forward()), abs=1e-10)
    found = CFS("symmetric_uncertainty", "best_first", stale).fit(sp.csr_matrix(X), y)
    expected = slow.best_first(stale)
    assert sorted(found.ranking_) == sorted(expected)
    assert found.merit_ == pytest.approx(slow.merit(expected), abs=1e-10)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_patient_search_finds_the_best_of_all_sets(seed) -> None:
    X, y = troubled(seed, 30, 3, columns=10)
    slow = Slow(X, y)
    sets = [s for k in range(1, 8) for s in combinations(slow.left, k)]
    best = max((slow.merit(s) for s in sets), default=0.0)
    patient = CFS(stale=10_000).fit(X, y).merit_
    if len(slow.left) <= 7:
        assert patient == pytest.approx(best, abs=1e-10)
    assert patient >= best - 1e-10
    assert patient >= CFS().fit(X, y).merit_ >= CFS(search="forward").fit(X, y).merit_


@pytest.mark.parametrize("search", ["forward", "best_first"])
def test_it_finds_what_the_slow_searches_find_with_correlations(search) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 70)
    X = rng.normal(size=(70, 14)) + y[:, None] * rng.random(14) * 2
    X[:, 5] = 3 - 2 * X[:, 4]
    slow = Slow(X, y, correlation, FisherZ(alpha=0.1).cutoff(70))
    found = CFS(FisherZ(alpha=0.1), search).fit(X, y)
    expected = slow.forward() if search == "forward" else slow.best_first(5)
    assert found.ranking_.tolist() == expected


def test_merits_are_those_of_scikit_feature() -> None:
    peer = pytest.importorskip("skfeature.function.statistical_based.CFS")
    for seed in range(5):
        X, y = troubled(seed, 80, 3)
        found = CFS().fit(X, y)
        assert found.merit_ == pytest.approx(peer.merit_calculation(X[:, found.kept_], y), 1e-9)


@pytest.mark.parametrize("name", ["spect", "wdbc_q3", "leukemia_disc"])
def test_it_finds_what_the_slow_search_finds_in_real_data(name) -> None:
    X, y = matrix(name)
    X = X[:, :120]
    slow = Slow(X, y)
    assert CFS(search="forward").fit(X, y).ranking_.tolist() == slow.forward()
    found = CFS().fit(X, y)
    assert sorted(found.ranking_) == sorted(slow.best_first(5))


# --- work and words --------------------------------------------------------------------------


def test_pair_values_are_computed_once_for_each_feature_that_was_tried() -> None:
    X, y = troubled(0, 120, 3)
    found = CFS(search="forward").fit(X, y)
    relevant, kept = found.work_["relevant"], len(found.kept_)
    assert found.work_["pair_values"] == kept * (relevant - 1)


def test_sentences_carry_the_numbers() -> None:
    import pandas as pd

    y = np.repeat([0, 1], 50)
    weak = np.where(np.arange(100) % 10 < 2, 1 - y, y)
    frame = pd.DataFrame({"weak": weak, "flat": 1, "best": y, "copy": 1 - y})
    found = CFS().fit(frame, y)
    assert found.merit_ == 1.0
    log = found.log_
    assert log.why("best") == (
        "best is kept, number 1 to come in: SU(best, class)=1, and with it the merit of the set "
        "went from 0 to 1"
    )
    assert log.why("copy") == (
        "copy was dropped: SU(copy, class)=1, but with it the merit of the kept set would be 1, "
        "not above 1; of the kept it depends most on best"
    )
    assert log.why("weak") == (
        "weak was dropped: SU(weak, class)=0.278, but with it the merit of the kept set would be "
        "0.799, not above 1; of the kept it depends most on best"
    )
    assert log.why("flat") == "flat was dropped as irrelevant: it has the same value in every row"


@pytest.mark.parametrize("wrong", [{"search": "backward"}, {"stale": 0}])
def test_wrong_parameters_are_refused(wrong) -> None:
    with pytest.raises(ParameterError, match=r"CFS: \w+=.* is not"):
        CFS(**wrong).fit(np.eye(4), [0, 0, 1, 1])
