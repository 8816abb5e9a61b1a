"""SAOLA with order="free": the same set for every order of arrival."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis import SAOLA, AnyShape, FisherZ, GSquared, MutualInformation, SymmetricUncertainty
from tamis.core.errors import ParameterError
from tamis.core.target import Target
from tamis.measures.pair_measure import PairMeasure
from tamis.methods.shadow_worlds import RowOrder

RULES = [
    {}, {"bound": "max"}, {"ties": "neither"}, {"variant": "program"},
    {"bound": "max", "ties": "neither"},
]  # fmt: skip


@dataclass(frozen=True)
class Lopsided(PairMeasure):
    """A measure of two columns that is not symmetric."""

    name = "lopsided"
    kind = "continuous"
    symbol = "L({a}; {b})"

    def pair(self, x, y):
        return abs(np.corrcoef(x, np.sign(y) * np.abs(y) ** 0.3)[0, 1])

    def cutoff(self, n_rows):
        return 0.15

    def gate(self):
        return "0.15"


MEASURES = {
    "mutual_information": MutualInformation(alpha=0.1),
    "symmetric_uncertainty": SymmetricUncertainty(alpha=0.1),
    "g_squared": GSquared(alpha=0.1),
    "fisher_z": FisherZ(alpha=0.1),
    "any_shape": AnyShape(alpha=0.1),
    "not symmetric": Lopsided(),
}


def table(seed: int, discrete: bool, columns: int = 25) -> tuple[np.ndarray, np.ndarray]:
    """Return related columns, some of them sparse, copies of each other, and a target."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 60)
    hidden = rng.normal(size=(60, 6)) + y[:, None] * rng.random(6)
    X = hidden[:, rng.integers(0, 6, columns)] + rng.normal(size=(60, columns)) * 0.7
    X[:, ::4] *= rng.random(X[:, ::4].shape) < 0.4
    if discrete:
        X = np.clip(np.round(X), -1, 2)
    X[:, 7], X[:, 8] = X[:, 3], -X[:, 3]
    return X, y


def greedy(X, y, rule, measure) -> set[int]:
    """Return what is kept by the definition: strongest first, dropped by a kept one before it."""
    relevance = measure.relevance(X, y)
    relevant = np.flatnonzero(relevance.dependent).tolist()
    kept: list[int] = []
    for f in sorted(relevant, key=lambda j: (-relevance.value[j], f"c{j:02d}")):
        both = [relevance.value[f], None]
        for other in kept:
            both[1] = relevance.value[other]
            value = measure.between(X[:, [f]], X[:, [other]])[0, 0]
            bound = (max if rule.get("bound") == "max" else min)(both)
            tied = abs(both[0] - both[1]) <= measure.resolution
            if rule.get("variant") == "program":
                panel = measure.panel(tamis.core.target.Target.of(y))
                block = tamis.core.blocks.ColumnBlock.of(X[:, [other, f]])
                ready = panel.prepare(block.without_zeros(), np.arange(2))
                panel.add(ready[0])
                cutoff = panel.cutoffs(ready[1])[0]
                redundant = value > bound + measure.resolution and value > cutoff
                both_stay = tied and measure.kind != "continuous"
            else:
                redundant = value >= bound - measure.resolution
                both_stay = tied and rule.get("ties") == "neither"
            if redundant and not both_stay:
                break
        else:
            kept.append(f)
    return set(kept)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("named", MEASURES)
@settings(max_examples=1, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_twenty_orders_of_arrival_keep_the_same_set(seed, named, rule) -> None:
    measure = MEASURES[named]
    X, y = table(seed, discrete=measure.kind == "discrete")
    expected = greedy(X, y, rule, measure)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        order = rng.permutation(X.shape[1])
        frame = pd.DataFrame(X[:, order], columns=[f"c{j:02d}" for j in order])
        found = SAOLA(measure, order="free", **rule).fit(frame, y)
        assert {int(name[1:]) for name in found.get_feature_names_out()} == expected
        assert found.log_.replay() == found.kept_.tolist()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_columns_without_names_are_told_apart_by_their_values(seed) -> None:
    X, y = table(seed, discrete=True)
    kept = set()
    for k in range(8):
        order = np.random.default_rng(k).permutation(X.shape[1])
        part = X[:, order]
        found = SAOLA(MutualInformation(alpha=0.1), order="free").fit(
            sp.csc_matrix(part) if k % 2 else part, y
        )
        kept.add(frozenset(part[:, j].tobytes() for j in found.kept_))
    assert len(kept) == 1


def test_a_gate_that_decides_about_a_whole_table_does_not_bring_the_order_back() -> None:
    X, y = table(5, discrete=False, columns=60)
    sets = set()
    for k in range(20):
        order = np.random.default_rng(k).permutation(60)
        frame = pd.DataFrame(X[:, order], columns=[f"c{j}" for j in order])
        selector = SAOLA("fisher_z", order="free", fdr=0.2, gate="batch-bh")
        sets.add(frozenset(selector.fit(frame, y).get_feature_names_out()))
    assert len(sets) == 1
    assert len(sets.pop()) > 1


@pytest.mark.parametrize("how", [{"alpha": 0.2}, {"fdr": 0.5, "gate": "bh"}])
@pytest.mark.parametrize("named", [True, False])
def test_shadow_worlds_judge_decoys_in_the_same_order(named, how) -> None:
    X, y = table(7, discrete=False, columns=60)
    X[:, :20] = X[:, :20] > 0.5  # ties
    found = set()
    for k in range(6):
        order = np.random.default_rng(k).permutation(60)
        part = X[:, order]
        data = pd.DataFrame(part, columns=[f"c{j:02d}" for j in order]) if named else part
        fit = SAOLA("fisher_z", order="free", shadows=3, **how).fit(data, y)
        kept = frozenset(order[fit.kept_].tolist())
        found.add((fit.false_keeps_.worlds, kept if named else len(kept)))
        if named and "alpha" in how:
            decoys = [in_order(X, y, kept, world) for world in range(3)]
            assert fit.false_keeps_.worlds == tuple(decoys)
    assert len(found) == 1
    assert sum(found.pop()[0])


def in_order(X, y, kept, world) -> int:
    """Return how many decoys are kept by the definition."""
    measure, rows = FisherZ(alpha=0.2), RowOrder.of(Target.of(y), 0, world).order
    decoys, real = X[rows], measure.relevance(X, y).value
    shadow = measure.relevance(decoys, y)
    both, mine = np.column_stack([X, decoys]), []
    strength = np.concatenate([real, shadow.value])
    for j in sorted(np.flatnonzero(shadow.dependent).tolist(), key=lambda j: (-shadow.value[j], j)):
        for other in [*kept, *(60 + i for i in mine)]:
            before = (-strength[other], other % 60) < (-shadow.value[j], j)
            value = measure.between(decoys[:, [j]], both[:, [other]])[0, 0]
            if before and value >= min(shadow.value[j], strength[other]) - measure.resolution:
                break
        else:
            mine.append(j)
    return len(mine)


def test_of_near_equal_features_the_cheaper_one_stays() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    base = rng.normal(size=400) + y
    frame = pd.DataFrame({f"c{j}": base + rng.normal(size=400) * 0.05 for j in range(6)})
    frame["weak"] = base + rng.normal(size=400) * 3
    plain = SAOLA(FisherZ(), order="free").fit(frame, y)
    assert plain.kept_.size == 1
    best = plain.get_feature_names_out()[0]
    near = next(name for name in frame if name != best)
    costs = dict.fromkeys(frame, 10.0) | {near: 2.0, "weak": 1.0}
    for k in range(5):
        order = np.random.default_rng(k).permutation(frame.columns)
        found = SAOLA(FisherZ(), order="free", costs=costs).fit(frame[order], y)
        # The cheapest of all is far less relevant, so it is not a near-equal.
        assert found.get_feature_names_out().tolist() == [near]
    assert f"{near} predicts nearly as well" in found.log_.why(best)
    assert "costs less (2)" in found.log_.why(best)


def test_a_cost_of_no_column_is_reported() -> None:
    frame = pd.DataFrame({"a": np.arange(30) % 2, "b": np.arange(30) % 3})
    with pytest.warns(match="costs names 'aa', which no column is called"):
        SAOLA("fisher_z", order="free", costs={"aa": 1}).fit(frame, np.arange(30) % 2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"costs": {"a": 1.0}}, "order='free'"),
        ({"costs": {"a": "much"}, "order": "free"}, "the cost of 'a'"),
        ({"costs": [1, 2], "order": "free"}, "not a dict"),
    ],
)
def test_costs_that_cannot_be_used_are_refused(params, message) -> None:
    with pytest.raises(ParameterError, match=message):
        SAOLA(**params).fit(np.eye(8), np.arange(8) % 2)
