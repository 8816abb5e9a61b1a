"""Naive boosting against a slow AdaBoost, and against scikit-learn's stumps."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from tamis import NaiveBoosting
from tamis.core.errors import InputError, ParameterError


def stump(x, y, weights, classes):
    """(error, prediction) of the best threshold: the lowest of equal ones."""
    best = (np.inf, None)
    for cut in np.unique(x)[:-1]:
        predicted = np.empty(len(y), int)
        for side in (x <= cut, x > cut):
            heavy = [weights[side & (y == c)].sum() for c in range(classes)]
            predicted[side] = int(np.argmax(np.round(heavy, 12)))
        error = weights[predicted != y].sum()
        if error < best[0] - 1e-11:
            best = error, predicted
    return best


def paper(X, y, n_features, rounds):
    classes = y.max() + 1
    weights = np.full(len(y), 1 / len(y))
    taken: list[int] = []
    for _ in range(rounds):
        stumps = {j: stump(X[:, j], y, weights, classes) for j in range(X.shape[1])}
        best = min(stumps, key=lambda j: (round(stumps[j][0], 10), j))
        error, predicted = stumps[best]
        if error >= 1 - 1 / classes - 1e-12:
            break
        if best not in taken:
            taken.append(best)
        if error <= 1e-12 or len(taken) == n_features:
            break
        weights = weights * np.where(predicted != y, (1 - error) / error * (classes - 1), 1.0)
        weights /= weights.sum()
    return taken


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    classes=st.sampled_from([2, 3]),
    density=st.sampled_from([0.3, 1.0]),
)
def test_it_selects_what_slow_boosting_selects(seed, classes, density) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, 40)
    y[:classes] = np.arange(classes)
    X = rng.normal(size=(40, 8)).round(1) * (rng.random((40, 8)) < density)
    X[:, 2] += y
    X[:, 5] = X[:, 2]
    X[:, 6] = 3.0
    expected = paper(X, y, 4, 12)
    assert NaiveBoosting(4, max_rounds=12).fit(X, y).ranking_.tolist() == expected
    sparse = NaiveBoosting(4, max_rounds=12).fit(sp.csr_matrix(X), y)
    assert sparse.ranking_.tolist() == expected


def test_the_first_stump_errs_as_little_as_scikit_learns() -> None:
    """Its stumps minimise impurity; ours minimise the error, so no threshold has a smaller one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    y = (X[:, 4] + 0.3 * rng.normal(size=60) > 0.2).astype(int)
    found = NaiveBoosting(1).fit(X, y)
    theirs = DecisionTreeClassifier(max_depth=1).fit(X, y).score(X, y)
    assert found.ranking_.tolist() == [4]
    assert found.log_.relevance_of(4) >= theirs - 1e-12


def test_it_stops_when_all_is_right_or_nothing_beats_chance() -> None:
    y = np.arange(40) % 2
    X = np.column_stack([np.repeat([0, 1], 20), y, 1 - y])
    found = NaiveBoosting(3).fit(X, y)
    assert found.ranking_.tolist() == [1]
    assert found.rounds_ == 1
    none = NaiveBoosting(3).fit(X[:, :1], y)
    assert none.ranking_.tolist() == []
    assert none.log_.why("x0") == (
        "x0 was dropped: it was never the best; in the last round its stump had 0.5 of the weight "
        "right"
    )
    assert found.log_.why("x1") == (
        "x1 is kept, number 1 to be taken: its stump had 1 of the weight right, the most"
    )


def test_regression_targets_and_wrong_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="NaiveBoosting needs classes, and y holds real numbers"):
        NaiveBoosting().fit(np.eye(6), np.linspace(0, 1, 6))
    with pytest.raises(ParameterError, match="max_rounds=0 is not a whole number at least 1 or"):
        NaiveBoosting(max_rounds=0).fit(np.eye(4), [0, 0, 1, 1])
