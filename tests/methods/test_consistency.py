"""Consistency against the definition of the rate and a slow forward search."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from golden_outputs import matrix
from tamis import Consistency, SymmetricUncertainty
from tamis.core.errors import InputError, ParameterError

pytestmark = pytest.mark.filterwarnings("ignore:.* takes every value as a category")


def inconsistent(X, y, members):
    """Rows that are not of the most common class among equal rows."""
    seen = defaultdict(Counter)
    for row, label in zip(X[:, list(members)].tolist(), y.tolist(), strict=True):
        seen[tuple(row)][label] += 1
    return sum(sum(c.values()) - max(c.values()) for c in seen.values())


def paper(X, y, max_rate=None):
    """Forward, then drop unneeded features, as in the docstring."""
    relevance = np.asarray(SymmetricUncertainty().relevance(X, y))
    rest = [j for j in range(X.shape[1]) if relevance[j] > 0]
    goal = inconsistent(X, y, rest) if max_rate is None else max_rate * len(y)
    members: list[int] = []
    while inconsistent(X, y, members) > goal:
        mixed = np.zeros(len(y), bool)
        for r in {tuple(r) for r in X[:, members].tolist()}:
            rows = np.all(X[:, members] == r, axis=1)
            mixed |= rows & (len(set(y[rows])) > 1)
        splits = [
            j
            for j in rest
            if len({tuple(r) for r in X[mixed][:, [*members, j]].tolist()})
            > len({tuple(r) for r in X[mixed][:, members].tolist()})
        ]
        if not splits:
            break
        best = min(splits, key=lambda j: (inconsistent(X, y, [*members, j]), j))
        members.append(best)
        rest.remove(best)
    for member in list(members):
        others = [m for m in members if m != member]
        if inconsistent(X, y, others) <= goal:
            members = others
    return members


@settings(max_examples=50)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.sampled_from([6, 30, 80]),
    levels=st.sampled_from([2, 4]),
    classes=st.sampled_from([2, 3]),
    max_rate=st.sampled_from([None, 0.0, 0.1]),
)
def test_it_keeps_what_the_slow_search_keeps(seed, rows, levels, classes, max_rate) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    y[:2] = 0, 1
    X = rng.integers(0, levels, (rows, 10)).astype(float)
    X[:, 3] = np.where(rng.random(rows) < 0.5, y, X[:, 3])
    X[:, 5] = X[:, 1]
    X[:, 8] = 2.0
    found = Consistency(max_rate).fit(X, y)
    assert found.ranking_.tolist() == paper(X, y, max_rate)
    assert found.rate_ == inconsistent(X, y, found.ranking_) / rows
    assert Consistency(max_rate).fit(sp.csc_matrix(X), y).ranking_.tolist() == paper(X, y, max_rate)


def test_features_relevant_together_are_found_if_each_is_slightly_relevant() -> None:
    rng = np.random.default_rng(1)
    a, b, *noise = rng.integers(0, 2, (8, 64))
    X = np.column_stack([*noise, a, b])
    found = Consistency().fit(X, a ^ b)
    assert found.rate_ == 0
    assert found.ranking_.tolist() == paper(X.astype(float), a ^ b)


@pytest.mark.parametrize("name", ["spect", "wdbc_q3", "promoters"])
def test_the_kept_set_has_the_rate_of_all_and_no_member_too_many(name) -> None:
    X, y = matrix(name)
    found = Consistency().fit(X, y)
    assert inconsistent(X, y, found.kept_) == inconsistent(X, y, range(X.shape[1]))
    for member in found.kept_:
        assert inconsistent(X, y, set(found.kept_) - {member}) > inconsistent(X, y, found.kept_)


def test_sentences_carry_the_numbers() -> None:
    import pandas as pd

    y = np.repeat([0, 1], 50)
    weak = np.where(np.arange(100) % 10 < 2, 1 - y, y)
    frame = pd.DataFrame({"weak": weak, "flat": 1, "best": y, "copy": 1 - y})
    log = Consistency().fit(frame, y).log_
    assert log.why("best") == (
        "best is kept, number 1 to be added: when it came the inconsistency rate went from 0.5 to 0"
    )
    assert log.why("copy") == (
        "copy was dropped: SU(copy, class)=1, but without it the kept features have an "
        "inconsistency rate of 0, and 0 was to be reached"
    )
    log = Consistency(0.2).fit(frame, y).log_
    assert log.replay() == [2]
    assert log.why("weak").endswith("an inconsistency rate of 0, and 0.2 was to be reached")


def test_regression_targets_and_wrong_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="Consistency needs classes, and y holds real numbers"):
        Consistency().fit(np.eye(6), np.linspace(0, 1, 6))
    with pytest.raises(ParameterError, match="max_rate=2 is not a number at least 0 and at most 1"):
        Consistency(2).fit(np.eye(4), [0, 0, 1, 1])
