"""order="free" in selections that grow: any order of feeds, restarts, withdrawals, a cluster."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tamis
from tamis import OSFS, SAOLA, FastOSFS, FisherZ, Selection, Sieve
from tamis.checks.data import assert_same_log
from tamis.core.decisions import Verdict
from tamis.core.errors import TamisError
from tamis.engine.persistent.resuming import begin, resume
from tamis.methods.gates import step_up
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store


def table(seed: int = 0, columns: int = 40) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 80)
    hidden = rng.normal(size=(80, 5)) + y[:, None]
    mixed = hidden @ rng.dirichlet(np.full(5, 0.4), columns).T  # chains of related columns
    X = mixed + rng.normal(size=(80, columns)) * 0.3
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(columns)]), y


def free(kind=SAOLA, **params):
    if kind is not Sieve:
        params["measure"] = FisherZ(alpha=0.05)
    return kind(order="free", **params)


MAKERS = {
    "saola": free,
    "fast-osfs": lambda: free(FastOSFS),
    "osfs": lambda: free(OSFS, max_conditioning=1),
    "sieve": lambda: free(Sieve, n_features=4),
    "with worlds": lambda: free(FastOSFS, shadows=2),
}


@pytest.mark.parametrize("method", MAKERS)
def test_any_order_of_feeds_ends_with_the_same_set(method, tmp_path) -> None:
    X, y = table()
    free = MAKERS[method]
    fitted = free().fit(X, y)
    expected = set(fitted.get_feature_names_out())
    returned = 0
    for k in range(8 if method == "saola" else 3):
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
        again = [line["sentence"] for line in selection.log()]
        returned += sum("returned" in line or "kept again" in line for line in again)
        if method == "with worlds":
            assert selection.run.trust["false_keeps"] == fitted.false_keeps_.record()
    assert returned or method == "osfs"  # a feature came back, and `why` says so
    if method == "saola":
        assert set(tamis.select(X, SAOLA(FisherZ(alpha=0.05)), y).kept_names) != expected


@pytest.mark.parametrize("kind", [SAOLA, FastOSFS, OSFS, Sieve])
def test_tables_of_noise_count_for_the_estimate_of_luck(kind, tmp_path) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 60)
    X = pd.DataFrame(rng.normal(size=(60, 24)), columns=[f"c{j}" for j in range(24)])
    X["c0"] += 2 * y
    measure = {"alpha": 0.1} if kind is Sieve else {"measure": FisherZ(alpha=0.1)}
    fitted = kind(order="free", shadows=3, **measure).fit(X, y)
    Selection.create(tmp_path / "run", y, kind(order="free", shadows=3, **measure))
    for name in X:  # the last columns are noise, whose decoys may pass
        Selection.open(tmp_path / "run").feed(X[[name]])
    found = Selection.open(tmp_path / "run").run.trust["false_keeps"]
    assert sum(found["worlds"])
    assert tuple(found["worlds"]) == fitted.false_keeps_.worlds


@pytest.mark.parametrize("method", MAKERS)
def test_a_withdrawn_feature_gives_its_place_back(method, tmp_path) -> None:
    X, y = table(1)
    free = MAKERS[method]
    Selection.create(tmp_path / "run", y, free()).feed(X)
    selection = Selection.open(tmp_path / "run")
    for name in list(selection.kept_names):
        selection.drop(name)
        X = X.drop(columns=name)
        expected = set(free().fit(X, y).get_feature_names_out())
        found = Selection.open(tmp_path / "run")
        assert set(found.kept_names) == expected
        assert all("is kept" in found.why(kept) for kept in expected)


@pytest.mark.parametrize("method", MAKERS)
def test_a_run_that_dies_goes_on_with_what_waits(method, tmp_path) -> None:
    X, y = table(3)
    store = write_store(tmp_path / "data.cols", MemorySource(X, y))
    expected = tamis.select(store, MAKERS[method]())
    begin(tmp_path / "run", store, MAKERS[method](), name="data")
    reports = 0

    def dies(what, done, total) -> None:
        nonlocal reports
        reports += 1
        if reports == 5:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        resume(tmp_path / "run", every=1e-9, width=7, n_jobs=1, progress=dies)
    half = Selection.open(tmp_path / "run")
    assert 0 < half.status()["features"] < X.shape[1]
    if method != "saola":
        assert half.kept_names == []
        assert "x waits" in half.why(half.run.log.names[0]).replace("c0", "x")
    run = resume(tmp_path / "run", width=7)
    assert_same_log(run.log, expected.log, method)
    assert run.trust == expected.trust


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


@pytest.mark.parametrize("method", MAKERS)
def test_features_to_keep_stay_and_the_order_still_does_not_matter(method) -> None:
    X, y = table(2)
    sets = set()
    for k in range(6):
        order = np.random.default_rng(k).permutation(X.columns).tolist()
        run = tamis.select(X[order], MAKERS[method](), y, keep=["c7", "c30"])
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
