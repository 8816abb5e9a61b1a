"""order="free" in selections that grow: any order of feeds, restarts, withdrawals, a cluster."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tamis
from tamis import SAOLA, FisherZ, Selection
from tamis.core.decisions import Verdict
from tamis.core.errors import TamisError
from tamis.methods.gates import step_up


def table(seed: int = 0, columns: int = 40) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 80)
    hidden = rng.normal(size=(80, 5)) + y[:, None]
    mixed = hidden @ rng.dirichlet(np.full(5, 0.4), columns).T  # chains of related columns
    X = mixed + rng.normal(size=(80, columns)) * 0.3
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(columns)]), y


def free() -> SAOLA:
    return SAOLA(FisherZ(alpha=0.05), order="free")


def test_any_order_of_feeds_ends_with_the_same_set(tmp_path) -> None:
    X, y = table()
    expected = set(free().fit(X, y).get_feature_names_out())
    returned = 0
    for k in range(8):
        rng = np.random.default_rng(k)
        folder = tmp_path / str(k)
        Selection.create(folder, y, free())
        for part in np.array_split(rng.permutation(X.columns), 5):
            before = set(Selection.open(folder).kept_names)
            fed = Selection.open(folder).feed(X[part.tolist()])
            now = set(Selection.open(folder).kept_names)
            assert set(fed.returned) == now - before - set(part)
            assert ("kept again" in str(fed)) == bool(fed.returned)
        selection = Selection.open(folder)
        assert set(selection.kept_names) == expected
        assert selection.status()["held"].endswith("MB")
        returned += sum("returned" in line["sentence"] for line in selection.log())
    assert returned  # a feature came back, and `why` says so
    assert set(tamis.select(X, SAOLA(FisherZ(alpha=0.05)), y).kept_names) != expected


def test_a_withdrawn_feature_gives_its_place_back(tmp_path) -> None:
    X, y = table(1)
    Selection.create(tmp_path / "run", y, free()).feed(X)
    selection = Selection.open(tmp_path / "run")
    for name in list(selection.kept_names):
        selection.drop(name)
        X = X.drop(columns=name)
        expected = set(free().fit(X, y).get_feature_names_out())
        assert set(Selection.open(tmp_path / "run").kept_names) == expected


def test_benjamini_hochberg_decides_once(tmp_path) -> None:
    X, y = table(4)
    rule = SAOLA("fisher_z", order="free", fdr=0.1, gate="bh")
    sets = set()
    for k in range(4):
        order = np.random.default_rng(k).permutation(X.columns)
        sets.add(frozenset(rule.fit(X[order], y).get_feature_names_out()))
    X = X[order]
    assert len(sets) == 1
    passed = np.asarray(X)[:, rule.log_.verdicts != Verdict.IRRELEVANT].shape[1]
    p = FisherZ().p_values(np.asarray(X), y)
    assert passed == step_up(p, 0.1, len(p)) == rule.gate_.finds > 1
    selection = Selection.create(tmp_path / "run", y, rule)
    selection.feed(X.iloc[:, :30])
    with pytest.raises(TamisError, match="make a selection that grows with gate='batch-bh'"):
        selection.feed(X.iloc[:, 30:])
    assert Selection.open(tmp_path / "run").kept_names == selection.kept_names


def test_features_to_keep_stay_and_the_order_still_does_not_matter() -> None:
    X, y = table(2)
    sets = set()
    for k in range(6):
        order = np.random.default_rng(k).permutation(X.columns).tolist()
        run = tamis.select(X[order], free(), y, keep=["c7", "c30"])
        assert {"c7", "c30"} <= set(run.kept_names)
        sets.add(frozenset(run.kept_names))
    assert len(sets) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X, y: tamis.select(X, free(), y, stop="features=2"), "stopping rule"),
        (lambda X, y: SAOLA("fisher_z", order="free", fdr=0.1).fit(X, y), "levels of gate="),
        (lambda X, y: Selection.create("never", y, SAOLA(order="free")), "name the measure"),
    ],
)
def test_what_depends_on_the_order_is_refused(make, message) -> None:
    X, y = table(4)
    with pytest.raises(TamisError, match=message):
        make(X, y)
