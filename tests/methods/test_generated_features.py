"""FGM and GDM against cutting planes with a general optimiser, and by optimality conditions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from tamis import FGM, GDM
from tamis.core.errors import InputError, ParameterError
from tamis.estimators import estimator_of
from tamis.methods.batch.fgm import FGMRule, Machine


def data(seed, classes=2, rows=60, columns=15):
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    X = rng.normal(size=(rows, columns)) * 3 + 7
    X[:, :6] += 2 * rng.normal(size=(classes, 6))[y] * rng.random(6)
    X[:, 9] = 4.0
    return X, y


def machine_by_hand(Z, y, cuts, C):
    """Multipliers at the minimum of 1/2 (sum |w_t|)^2 + C sum xi^2, by a general optimiser."""
    Zs = [Z[:, cut] for cut in cuts]
    ends = np.cumsum([0] + [len(cut) for cut in cuts])

    def value(v):
        w = [v[a:b] for a, b in pairwise(ends)]
        norms = np.array([np.sqrt(u @ u + 1e-14) for u in w])
        score = sum(part @ u for part, u in zip(Zs, w, strict=True)) + v[-1]
        slack = np.maximum(0.0, 1.0 - y * score)
        pull = -2 * C * slack * y
        gradient = [
            part.T @ pull + norms.sum() * u / n for part, u, n in zip(Zs, w, norms, strict=True)
        ]
        total = 0.5 * norms.sum() ** 2 + 0.5 * v[-1] ** 2 + C * (slack**2).sum()
        return total, np.concatenate([*gradient, [pull.sum() + v[-1]]])

    start = np.full(ends[-1] + 1, 0.01)
    v = minimize(value, start, jac=True, method="BFGS", options={"maxiter": 5000, "gtol": 1e-8}).x
    score = sum(
        part @ v[a:b] for part, a, b in zip(Zs, ends[:-1], ends[1:], strict=True)
    ) + v[-1]  # fmt: skip
    return 2 * C * np.maximum(0.0, 1.0 - y * score)


def paper(X, y, B, max_cuts, C):
    """Cut after cut, for two classes."""
    usable = np.flatnonzero(np.ptp(X, axis=0) > 0)
    Z = (X[:, usable] - X[:, usable].mean(axis=0)) / X[:, usable].std(axis=0)
    signs = np.where(y == 1, 1.0, -1.0)
    alpha, cuts, ranking = np.ones(len(y)), [], []
    for _ in range(max_cuts):
        violation = (Z.T @ (alpha * signs)) ** 2
        cut = np.argsort(-violation, kind="stable")[:B].tolist()
        known = max((violation[c].sum() for c in cuts), default=0.0)
        if set(cut) <= set(ranking) or violation[cut].sum() <= 1.01 * known:
            break
        ranking += [j for j in cut if j not in ranking]
        cuts.append(cut)
        alpha = machine_by_hand(Z, signs, cuts, C)
    return usable[ranking].tolist()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("B", [1, 3])
def test_it_keeps_what_slow_cutting_planes_keep(seed, B) -> None:
    X, y = data(seed)
    found = FGM(B, max_cuts=3, C=0.1).fit(X, y)
    assert found.ranking_.tolist() == paper(X, y, B, 3, 0.1)
    assert FGM(B, 3, 0.1).fit(sp.csc_matrix(X), y).ranking_.tolist() == found.ranking_.tolist()


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), classes=st.sampled_from([2, 3]))
def test_active_cuts_are_violated_equally_and_others_less(seed, classes) -> None:
    """The optimality condition of the machine: sum_i alpha_i y_i x_i has the same norm on each."""
    X, y = data(seed, classes)
    held = []

    class Watched(FGMRule):
        def find(self, table):
            held.append(table)
            return super().find(table)

    estimator_of(Watched)(2, 1).fit(X, y)
    machine = Machine(held[0], 0.05)
    cuts = [np.array(c) for c in ([0, 1], [2, 3], [10, 11])]
    share = machine.solve(cuts)
    violated = np.sqrt([machine.violations()[cut].sum() for cut in cuts])
    assert share.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(violated[share > 0.2], violated.max(), rtol=0.02)


def test_the_first_cut_correlates_most_and_copies_come_by_arrival() -> None:
    X, y = data(3)
    X[:, 12] = 5 - 3 * X[:, 2]
    r = np.nan_to_num([np.corrcoef(x, y)[0, 1] if np.ptp(x) else 0.0 for x in X.T])
    expected = np.argsort(-np.abs(r).round(10), kind="stable")[:4].tolist()
    found = FGM(4, max_cuts=1).fit(X, y)
    assert found.ranking_.tolist() == expected
    assert found.cuts_ == 1
    assert found.log_.why(expected[0]) == (
        f"x{expected[0]} is kept, number 1: in its cut its violation was 1 of the largest"
    )
    assert "it was in no cut; in the last round its violation was 0" in found.log_.why("x13")


def test_uninformative_columns_are_not_kept() -> None:
    y = np.tile([0, 1], 20)
    X = np.repeat(np.arange(20) % 3, 2)[:, None] * np.ones(4)
    for selector in (FGM(), GDM()):
        assert selector.fit(X, y).kept_.tolist() == []


def test_groups_contain_correlated_features() -> None:
    X, y = data(1)
    rng = np.random.default_rng(0)
    X[:, 12] = X[:, 0] * -2 + 0.05 * rng.normal(size=60)
    X[:, 13] = X[:, 0]
    X[:, 14] = X[:, 1] + 0.05 * rng.normal(size=60)
    found = GDM(2, max_cuts=2, min_correlation=0.9).fit(X, y)
    R = np.abs(np.corrcoef(np.delete(X, 9, axis=1).T))
    at = {j: j - (j > 9) for j in range(15)}
    support = list(found.groups_)
    for a in support:
        assert all(R[at[a], at[b]] < 0.9 for b in support if b != a)
        assert all(R[at[a], at[b]] >= 0.9 for b in found.groups_[a])
    listed = [*support, *(m for members in found.groups_.values() for m in members)]
    assert sorted(listed) == found.kept_.tolist()
    assert found.ranking_[: len(support)].tolist() == support
    some = next(m for members in found.groups_.values() for m in members)
    assert "is kept in the group of x" in found.log_.why(some)


def test_without_correlated_features_groups_change_nothing() -> None:
    X, y = data(5)
    plain, groups = FGM(3, 3, 0.1).fit(X, y), GDM(3, 3, 0.1, min_correlation=1.0).fit(X, y)
    assert groups.ranking_.tolist() == plain.ranking_.tolist()
    assert set(groups.groups_) == set(plain.kept_.tolist())


@pytest.mark.parametrize("selector", [FGM, GDM])
def test_regression_targets_and_wrong_parameters_are_refused(selector) -> None:
    with pytest.raises(InputError, match=f"{selector.__name__} needs classes, and y holds real"):
        selector().fit(np.eye(6), np.linspace(0, 1, 6))
    for wrong in ({"n_per_cut": 0}, {"max_cuts": 0}, {"C": 0}, {"tol": -1}):
        with pytest.raises(ParameterError, match=r"\w+=.* is not"):
            selector(**wrong).fit(np.eye(4), [0, 0, 1, 1])
