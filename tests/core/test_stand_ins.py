"""Classes of features that can take each other's place, from the log."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tamis
from tamis import FCBF, SAOLA, FisherZ, Sieve
from tamis.core.stand_ins import classes_of


def family(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return two families of related columns and some noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 300)
    a, b = rng.normal(size=(2, 300)) + y
    columns = {f"a{j}": a + rng.normal(size=300) * 0.2 for j in range(5)}
    columns |= {f"b{j}": b + rng.normal(size=300) * 0.2 for j in range(4)}
    columns |= {f"n{j}": rng.normal(size=300) for j in range(5)}
    frame = pd.DataFrame(columns)
    return frame[rng.permutation(frame.columns)], y


def chain(log, feature: int) -> int:
    """Follow the features that decided, one by one."""
    while True:
        decision = log.final_decision(feature)
        verdict = log.reasons[decision.reason].verdict.name
        if verdict == "KEPT":
            return feature
        if verdict == "IRRELEVANT" or not decision.because:
            return -1
        feature = decision.because[0]


@pytest.mark.parametrize(
    "selector", [SAOLA(FisherZ()), SAOLA(FisherZ(), order="free"), FCBF(FisherZ())], ids=str
)
@pytest.mark.parametrize("seed", range(4))
def test_members_end_at_the_kept_feature_of_their_class(selector, seed) -> None:
    X, y = family(seed)
    run = tamis.select(X, selector, y)
    classes = classes_of(run.log)
    assert classes.root.tolist() == [chain(run.log, j) for j in range(X.shape[1])]
    for name in run.kept_names:
        others = run.instead(name)
        assert {other.name[0] for other in others} <= {name[0]}  # its own family
        mine = run.log.relevance_of(run.log.number(name))
        for other in others:
            assert other.loss == pytest.approx(mine - other.relevance)
            value = FisherZ().between(X[[other.name]], X[[other.on]])[0, 0]
            assert other.dependence == pytest.approx(value)


def test_a_dropped_feature_names_the_one_that_took_its_place() -> None:
    X, y = family()
    run = tamis.select(X, SAOLA(FisherZ(), order="free"), y)
    dropped = next(n for n in X if n[0] == "a" and n not in run.kept_names)
    assert [other.name for other in run.instead(dropped) if other.kept] == [
        next(n for n in run.kept_names if n[0] == "a")
    ]
    assert run.instead("n0") == []


def test_copies_found_by_sieve_are_stand_ins() -> None:
    X, y = family()
    X["again"] = X["a1"] * 2 + 1
    run = tamis.select(X, Sieve(), y)
    names = {"a1", "again"}
    kept = next(iter(names & set(run.kept_names)))
    (other,) = run.instead(kept)
    assert {other.name, kept} == names
    assert "nothing is lost" in str(other)
