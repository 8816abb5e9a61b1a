"""A gate belongs to its selection: feeds, restarts, kills, replays and clusters change nothing."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import tamis
from tamis import Selection
from tamis.checks.data import assert_same_log
from tamis.engine.persistent.resuming import begin, resume
from tamis.engine.persistent.selection_state import SelectionState
from tamis.sources import open_source
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store

METHODS = [
    tamis.SAOLA(fdr=0.1), tamis.Sieve(fdr=0.1), tamis.FastOSFS(fdr=0.1, gate="lond"),
    tamis.OSFS(fdr=0.1, gate="spending"), tamis.GroupSAOLA(fdr=0.1, gate="lond-any"),
]  # fmt: skip


def table(n=120, columns=90, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = (rng.random((n, columns)) < rng.choice([0.02, 0.2, 0.4], columns)).astype(float)
    for j in range(3, columns, 9):
        X[:, j] = np.where(rng.random(n) < rng.uniform(0.3, 0.8), y, X[:, j])
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(columns)]), y


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_months_of_feeds_equal_one_run(method, tmp_path):
    X, y = table()
    groups = ["all"] * X.shape[1]
    whole = method.fit(X, y, groups=groups) if "Group" in str(method) else method.fit(X, y)
    Selection.create(tmp_path / "run", y, method)
    more = {"groups": "all"} if "Group" in str(method) else {}
    for lo in range(0, 90, 13):
        Selection.open(tmp_path / "run").feed(X.iloc[:, lo : lo + 13], **more)
    selection = Selection.open(tmp_path / "run")
    ours, theirs = selection._state.selector, whole._selector
    assert ours.gate_.memory["numbers"].tolist() == theirs.gate_.memory["numbers"].tolist()
    assert ours.gate_.level == theirs.gate_.level
    if "Group" not in str(method):  # whose last group is still open
        assert_same_log(selection.run.log, whole.log_, "fed")


def test_status_report_and_run_json_show_the_gate(tmp_path):
    X, y = table()
    selection = Selection.create(tmp_path / "run", y, tamis.SAOLA(fdr=0.1))
    selection.feed(X)
    status = Selection.open(tmp_path / "run").status()
    assert status["gate"].startswith("LORD++ at a false discovery rate of 0.1: ")
    assert "wealth" in status["gate"]
    record = json.loads((tmp_path / "run" / "run.json").read_text())["trust"]["gate"]
    assert record["name"] == "lord++"
    assert record["tests"] + record["finds"] > 10
    assert record["wealth"] > 0


def test_batch_bh_takes_each_fed_table_as_one_batch(tmp_path):
    X, y = table()
    live = tamis.SAOLA(fdr=0.1, gate="batch-bh").start(y)
    Selection.create(tmp_path / "run", y, tamis.SAOLA(fdr=0.1, gate="batch-bh"))
    for lo in range(0, 90, 30):
        live = live.feed(X.iloc[:, lo : lo + 30])
        Selection.open(tmp_path / "run").feed(X.iloc[:, lo : lo + 30], width=7)
    assert live.kept_.size > 1
    assert_same_log(Selection.open(tmp_path / "run").run.log, live.log_, "fed")


def test_a_killed_feed_starts_its_table_again(tmp_path, monkeypatch):
    X, y = table()
    method = tamis.SAOLA(fdr=0.1, gate="batch-bh")
    Selection.create(tmp_path / "run", y, method).feed(X.iloc[:, :30])
    seen = []

    def die(self, columns):
        seen.append(columns.first)
        if len(seen) == 5:
            raise KeyboardInterrupt
        return remember(self, columns)

    remember = SelectionState.remember
    monkeypatch.setattr("tamis.engine.persistent.feeding.COMMIT_EVERY", 0.0)
    monkeypatch.setattr(SelectionState, "remember", die)
    with pytest.raises(KeyboardInterrupt):
        Selection.open(tmp_path / "run").feed(X.iloc[:, 30:], width=7)
    monkeypatch.setattr(SelectionState, "remember", remember)
    Selection.open(tmp_path / "run").feed(X.iloc[:, 30:], width=7)
    expected = method.start(y).feed(X.iloc[:, :30]).feed(X.iloc[:, 30:])
    assert_same_log(Selection.open(tmp_path / "run").run.log, expected.log_, "after a kill")


@pytest.mark.parametrize("gate", ["lord++", "batch-bh"])
@pytest.mark.usefixtures("shared_processes")
def test_a_cluster_gives_the_same_log(gate, tmp_path):
    X, y = table(columns=400)
    store = write_store(tmp_path / "data.cols", MemorySource(sp.csc_matrix(X.to_numpy()), y))
    selector = tamis.SAOLA(fdr=0.1, gate=gate)
    here = tamis.select(open_source(store.path), selector)
    there = tamis.select(open_source(store.path), selector, cluster="local:2", width=37)
    assert_same_log(there.log, here.log, gate)
    assert here.trust == there.trust
    begin(tmp_path / "run", open_source(store.path), selector._to_selector(), {})
    done = resume(tmp_path / "run", every=1e-9, width=13)
    assert_same_log(done.log, here.log, "resumed")


def test_a_tampered_gate_is_refused(tmp_path):
    from living import rewrite

    X, y = table()
    Selection.create(tmp_path / "run", y, tamis.SAOLA(fdr=0.1)).feed(X)

    def change(facts):
        facts["numbers"]["gate"]["finds"] = np.array([5, 3, 1])

    rewrite(tmp_path / "run", "selector", change)
    with pytest.raises(tamis.TamisError, match="do not belong together"):
        Selection.open(tmp_path / "run")


def test_the_report_shows_the_gate_and_what_it_needs(tmp_path):
    from tamis.report.run_page import page_of_run

    X, y = table()
    run = tamis.select(X, "saola", y, fdr=0.1, gate="lond-any")
    page = str(page_of_run(run, tmp_path))
    assert "reshaped LOND at a false discovery rate of 0.1" in page
    assert "they may depend on each other in any way" in page
