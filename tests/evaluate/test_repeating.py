"""Runs that are judged again: in memory, from a folder, with what was given beside the data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tamis
from tamis import MRMR, SAOLA, FisherZ, GroupSAOLA, judge, open_run, save_run, stability
from tamis.core.errors import InputError, ParameterError, SourceError
from tamis.methods.streaming.saola import SAOLARule


def table(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 60)
    X = pd.DataFrame(rng.normal(size=(60, 10)), columns=[f"c{j}" for j in range(10)])
    X["c3"] += 2 * y
    X["age"] = rng.normal(size=60) + y
    return X, y


WAYS = {
    "a stream": ("saola", {}),
    "all columns": (MRMR(n_features=3, measure="fisher_z"), {}),
    "covariates": (SAOLA(FisherZ(alpha=0.2)), {"given": ["age"]}),
    "encoded, and kept": ("saola", {"encode": "mdlp", "keep": ["c7", 2]}),
    "stopped": (SAOLA(FisherZ(alpha=0.5)), {"stop": {"features": 2}}),
    "a rate": ("saola", {"fdr": 0.3}),
    "worlds": (SAOLA(shadows=2), {}),
}


@pytest.mark.parametrize("keep_state", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_a_run_is_judged_as_it_was_made(way, keep_state, tmp_path) -> None:
    X, y = table()
    selector, how = WAYS[way]
    expected = judge(X, selector, y, cv=3, **how)
    run = tamis.select(X, selector, y, keep_state=keep_state, **how)
    assert run.judge(X, y, cv=3) == expected
    assert run.trust["judged"] == expected.record()
    halves = stability(X, selector, y, pairs=2, **how)
    assert run.stability(X, y, pairs=2) == halves
    save_run(run, tmp_path / "run")
    found = open_run(tmp_path / "run")
    assert found.trust["judged"] == expected.record()
    assert found.judge(X, y, cv=3) == expected
    assert found.stability(X, y, pairs=2) == halves


def test_the_target_of_the_run_is_taken_by_its_name(tmp_path) -> None:
    X, y = table()
    X.assign(sick=y).to_csv(tmp_path / "data.csv", index=False)
    run = tamis.select(tmp_path / "data.csv", "saola", "sick")
    expected = judge(tmp_path / "data.csv", "saola", "sick", cv=3)
    save_run(run, tmp_path / "run")
    assert open_run(tmp_path / "run").judge(tmp_path / "data.csv", cv=3) == expected
    assert open_run(tmp_path / "run").judge(X.assign(sick=y), cv=3) == expected


def test_values_that_were_given_are_given_again(tmp_path) -> None:
    X, y = table()
    age = X.pop("age").to_numpy()[:, np.newaxis]
    weights, selector = np.arange(1.0, 61.0), SAOLA(FisherZ(alpha=0.3))
    how = {"given": age, "sample_weight": weights}
    run = tamis.select(X, selector, y, **how)
    expected = judge(X, selector, y, cv=3, **how)
    assert expected != judge(X, selector, y, cv=3, given=age)  # the weights of a fold are used
    assert run.judge(X, y, cv=3) == expected
    save_run(run, tmp_path / "run")
    with pytest.raises(ParameterError, match="give them again as given="):
        open_run(tmp_path / "run").judge(X, y, cv=3)
    assert open_run(tmp_path / "run").judge(X, y, cv=3, **how) == expected


def test_groups_of_columns_are_repeated() -> None:
    X, y = table()
    groups = np.repeat(["a", "b"], [5, 6])
    run = tamis.select(X, GroupSAOLA(), y, groups=groups)
    assert run.judge(X, y, cv=3) == judge(X, GroupSAOLA(), y, cv=3, groups=groups)


def test_other_data_and_other_parameters_are_refused(tmp_path) -> None:
    X, y = table()
    run = tamis.select(X, "saola", y)
    with pytest.raises(InputError, match="the run has 11 features and the data 10"):
        run.judge(X.drop(columns="age"), y)
    with pytest.raises(InputError, match="the run has 11 features and the data 10"):
        run.stability(X.drop(columns="age"), y)
    with pytest.raises(ParameterError, match="leave encode= out"):
        run.judge(X, y, encode="mdlp")
    run.repeatable, run.procedure = None, {"method": 3}
    with pytest.raises(SourceError, match="does not say how it selected"):
        run.judge(X, y)
    run.procedure = {}
    with pytest.raises(ParameterError, match="does not record how it selected"):
        run.judge(X, y)


class Mine(SAOLARule):
    """A rule of the user."""

    name = "mine"


def test_a_folder_never_imports_a_class_of_the_user(tmp_path) -> None:
    X, y = table()
    run = tamis.select(X, Mine(), y)
    expected = judge(X, Mine(), y, cv=3)
    assert run.judge(X, y, cv=3) == expected
    save_run(run, tmp_path / "run")
    with pytest.raises(ParameterError, match="none is imported because a folder names it"):
        open_run(tmp_path / "run").judge(X, y, cv=3)
