"""LARS and SPSF-LAR against slow least angle regression, and against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import lars_path

from tamis import LARS, SPSFLAR
from tamis.core.errors import ParameterError


def unit(X):
    """Columns centred, with norm 1; constant ones stay 0."""
    Z = X - X.mean(axis=0)
    norm = np.sqrt((Z**2).sum(axis=0))
    return Z / np.where(norm > 0, norm, 1.0)


def efron(X, y, steps):
    """Equations 2.4 to 2.13 of Efron et al., every step from scratch."""
    Z, y = unit(X), y - y.mean()
    usable = np.flatnonzero(np.ptp(X, axis=0) > 0)
    fit, taken = np.zeros(len(y)), [int(usable[np.argmax(np.abs(Z.T @ y)[usable])])]
    while len(taken) < steps:
        c = Z.T @ (y - fit)
        C = np.abs(c[taken]).max()
        np.testing.assert_allclose(np.abs(c[taken]), C, atol=1e-8)
        signed = Z[:, taken] * np.sign(c[taken])
        ones = np.linalg.solve(signed.T @ signed, np.ones(len(taken)))
        A = 1 / np.sqrt(ones.sum())
        u = signed @ (A * ones)
        a = Z.T @ u
        best, new = C / A, None
        for k in set(usable) - set(taken):
            for g in (((C - c[k]) / (A - a[k])), ((C + c[k]) / (A + a[k]))):
                if 1e-10 < g < best - 1e-10:
                    best, new = g, int(k)
        if new is None:
            break
        fit = fit + best * u
        taken.append(new)
    return taken


def many_at_once(X, Y, steps):
    """Multiresponse sparse regression: shares of the way by bisection, fits by least squares."""
    Z, Y = unit(X), Y - Y.mean(axis=0)
    left = Y.copy()
    taken: list[int] = []
    while len(taken) < steps:
        size = np.linalg.norm(Z.T @ left, axis=1)
        others = [j for j in range(X.shape[1]) if j not in taken]
        if not taken:
            taken.append(int(np.argmax(size)))
            continue
        move = Z[:, taken] @ np.linalg.lstsq(Z[:, taken], left, rcond=None)[0]
        common = size[taken].max()
        np.testing.assert_allclose(size[taken], common, atol=1e-8)

        def excess(j, g, left=left, move=move, common=common):
            return np.linalg.norm(Z[:, j] @ (left - g * move)) - (1 - g) * common

        reached = {}
        for j in others:
            low, high = 0.0, 1.0
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (low, middle) if excess(j, middle) >= 0 else (middle, high)
            reached[j] = high
        new = min(others, key=lambda j: (round(reached[j], 9), j))
        left = left - reached[new] * move
        taken.append(new)
    return taken


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.sampled_from([(30, 12), (20, 40)]),
    density=st.sampled_from([0.3, 1.0]),
)
def test_lars_selects_what_the_paper_selects(seed, shape, density) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) * (rng.random(shape) < density) + 5.0 * (density == 1.0)
    X[:, 6] = X[0, 6]
    y = rng.normal(size=shape[0]) + X[:, 2]
    expected = efron(X, y, 10)
    assert LARS(10).fit(X, y).ranking_.tolist() == expected
    assert LARS(10).fit(sp.csr_matrix(X), y).ranking_.tolist() == expected


@pytest.mark.parametrize("seed", range(5))
def test_lars_begins_as_scikit_learns_path_does(seed) -> None:
    """Only the beginning: its path drifts, until its correlations no longer fall."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(80, 30)), rng.normal(size=80)
    _, taken, _ = lars_path(unit(X), y - y.mean(), max_iter=10)
    assert LARS(10).fit(X, y).ranking_.tolist() == list(taken)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), classes=st.sampled_from([2, 3, 5]))
def test_similarity_is_preserved_as_by_the_slow_path(seed, classes) -> None:
    rng = np.random.default_rng(seed)
    y = np.arange(40) % classes
    X = rng.normal(size=(40, 15))
    X[:, ::4] += rng.random((classes, 4))[y] * 3
    Y = (y[:, None] == np.arange(classes)) / np.sqrt(np.bincount(y))
    found = SPSFLAR(8).fit(X, y)
    assert found.ranking_.tolist() == many_at_once(X, Y, 8)
    if classes == 2:
        assert found.ranking_.tolist() == LARS(8).fit(X, y).ranking_.tolist()


def test_columns_with_large_means_lose_no_digits() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 20)), rng.normal(size=50)
    expected = LARS(15).fit(X, y).ranking_.tolist()
    assert LARS(15).fit(X * 3 + 1e6, y).ranking_.tolist() == expected


def test_with_more_classes_there_is_one_path_per_class() -> None:
    rng = np.random.default_rng(4)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 12))
    X[:, [2, 5, 8]] += 2 * (y[:, None] == np.arange(3))
    paths = [efron(X, (y == c).astype(float), 6) for c in range(3)]
    first = {j: min(p.index(j) for p in paths if j in p) for p in paths for j in p}
    assert LARS(6).fit(X, y).ranking_.tolist() == sorted(first, key=lambda j: (first[j], j))[:6]


@pytest.mark.parametrize("selector", [LARS, SPSFLAR])
def test_of_copies_the_first_is_taken_and_the_others_are_reported(selector) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 8))
    y = np.arange(50) % 2
    X[:, 3] += 4 * y
    X[:, 1] = 7 - 2 * X[:, 3]
    X[:, 5] = X[:, 3]
    X[:, 6] = 1.0
    found = selector(8).fit(X, y)
    assert found.ranking_[0] == 1
    assert sorted(found.ranking_) == [0, 1, 2, 4, 7]
    message = (
        "was dropped as redundant: the features that were taken leave nothing of it (less than "
        "1e-10 of its variance)"
    )
    assert found.log_.why("x5") == f"x5 {message}"
    assert found.log_.why("x3") == f"x3 {message}"
    assert found.log_.why("x6").endswith("it has the same value in every row")
    few = selector(1).fit(X, y).log_
    assert few.why("x1").startswith("x1 is kept, number 1 to be taken: |r(x1, rest)|=0.")
    assert few.why("x0").startswith(
        "x0 was dropped: others were taken before it; at the end of the path |r(x0, rest)|=0."
    )


def test_it_stops_when_nothing_is_left_to_fit() -> None:
    X = np.random.default_rng(0).normal(size=(6, 30))
    found = LARS(30).fit(X, X[:, 4] + 2 * X[:, 9])
    assert len(found.ranking_) <= 5
    plain = np.column_stack([[0, 1, 0, 1], [0, 0, 1, 1]])
    assert LARS().fit(plain, [0, 1, 0, 1]).ranking_.tolist() == [0]


@pytest.mark.parametrize("selector", [LARS, SPSFLAR])
def test_wrong_parameters_are_refused(selector) -> None:
    with pytest.raises(ParameterError, match="n_features=0 is not a whole number at least 1"):
        selector(0).fit(np.eye(4), [0, 0, 1, 1])


def test_with_many_classes_the_relevance_of_a_kept_feature_is_from_the_path_that_took_it() -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        y = rng.integers(0, 3, 30)
        X = rng.normal(size=(30, 8))
        X[:, 0] += y == 0
        X[:, 1] += 2 * (y == 1)
        found = LARS(4).fit(X, y)
        paths = [LARS(4).fit(X, y == c) for c in range(3)]
        for j in found.kept_:
            at = [p.ranking_.tolist().index(j) if j in p.kept_ else 99 for p in paths]
            first = paths[int(np.argmin(at))]
            np.testing.assert_allclose(found.scores_[j], first.scores_[j], rtol=1e-6)
