"""Comparisons from end to end: cells, caps, the cache, resuming, results and their files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

import tamis
from shared_workers import NEW_PROCESS
from tamis.evaluate import compare, open_results, pool
from tamis.evaluate.cells import Caps, Cell, CellCache, finished, judge_key, missing
from tamis.evaluate.compared_methods import make, named_method, parse_methods
from tamis.evaluate.results import ROWS, SELECTIONS
from waiting import PATIENCE, wait_until

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def compared(data, tmp_path_factory):
    """A comparison of four methods, kept in a folder."""
    out = tmp_path_factory.mktemp("compared") / "results"
    methods = "saola,all,odd_selectors:BestBy:k=2,odd_selectors:Drawing:k=2"
    return compare(data, methods, "knn,tree", cv="2x3", out=out, n_jobs=1, control="all"), out


def test_every_cell_has_a_row(compared):
    results, _ = compared
    assert results.computed == 2 * 4 * 6
    assert results.rows.num_rows == 2 * 4 * 6 * 2
    assert results.rows.schema.equals(ROWS)
    assert results.selections.schema.equals(SELECTIONS)
    assert set(results.column("status")) == {"ok"}
    for metric in ("accuracy", "balanced_accuracy", "auc", "f1"):
        values = results.column(metric).astype(float)
        assert np.all((values >= 0) & (values <= 1)), metric
    for cost in ("seconds", "peak_megabytes", "predict_microseconds_a_row", "fit_seconds"):
        assert np.all(results.column(cost) > 0), cost
    assert results.data == ["cancer", "iris"]
    assert results.grid("kept")[:, 1].tolist() == [30, 4]
    assert results.grid("kept")[:, 2].tolist() == [2, 2]


def test_a_cell_is_what_the_steps_by_hand_give(compared, data):
    from sklearn.preprocessing import StandardScaler

    from tamis.evaluate.nearest_rows import NearestRows
    from tamis.evaluate.protocol import make_folds, parse_cv

    results, _ = compared
    X, y = data["iris"]
    got = results.fold_values("accuracy", "iris", "saola", "knn")
    slow = []
    for fold in make_folds(y, parse_cv("2x3"), 0):
        kept = tamis.SAOLA().fit(X[fold.train], y[fold.train]).kept_
        scaler = StandardScaler().fit(X[fold.train][:, kept])
        model = NearestRows(3)
        model.fit(scaler.transform(X[fold.train][:, kept]), y[fold.train])
        slow.append(model.score(scaler.transform(X[fold.test][:, kept]), y[fold.test]))
    assert got == pytest.approx(slow)


def test_each_fold_has_its_own_recorded_seed(compared, data):
    results, _ = compared
    name = "odd_selectors:Drawing:k=2"
    rows = [r for r in results.selections.to_pylist() if r["method"] == name]
    cancer = [tuple(r["features"]) for r in rows if r["data"] == "cancer"]
    assert len(set(cancer)) > 3
    assert results.stability("cancer", name).nogueira < 0.5
    X, y = data["cancer"]
    seeds = results.fold_values("seed", "cancer", name, "knn").astype(int)
    assert len(set(seeds)) == 6
    again = [make(named_method(name), seed).fit(X, y).get_support() for seed in seeds]
    assert [tuple(np.flatnonzero(mask)) for mask in again] == cancer


def test_results_are_read_from_their_folder(compared):
    results, out = compared
    back = open_results(out)
    assert back.rows.equals(results.rows)
    assert back.selections.equals(results.selections)
    assert back.params == json.loads(json.dumps(results.params))
    assert back.to_markdown() == results.to_markdown()
    summary = json.loads((out / "summary.json").read_text())
    assert summary == json.loads(json.dumps(results.summary()))
    assert (out / "summary.md").read_text() == results.to_markdown()
    names = pq.read_table(out / "selections.parquet")["names"].to_pylist()
    assert ["x2", "x3"] in names
    assert sorted(os.listdir(out)) == [
        "cells", "compare.json", "results.parquet", "selections.parquet", "summary.json",
        "summary.md",
    ]  # fmt: skip


def test_the_summary_has_every_table(compared):
    results, _ = compared
    page = results.to_markdown()
    for heading in ("## Accuracy with knn", "## Accuracy with tree", "## Features kept",
                    "## Seconds to select", "## Stability of the selections"):  # fmt: skip
        assert heading in page
    assert "Average ranks (1 = best):" in page
    assert "Nemenyi's critical difference at 5%: 3.317" in page  # 4 methods, 2 data sets
    found = results.summary()["classifiers"]["knn"]
    assert set(found["win_tie_loss"]) == set(results.methods) - {"all"}
    assert all(sum(counts) == 2 for counts in found["win_tie_loss"].values())
    assert sum(found["ranks"]["average_ranks"]) == pytest.approx(10)


def test_finished_cells_are_reused_and_only_new_ones_are_computed(compared, data):
    results, out = compared
    again = compare(
        data, "saola,all,odd_selectors:BestBy:k=2,odd_selectors:Drawing:k=2", "knn,tree",
        cv="2x3", out=out, control="all",
    )  # fmt: skip
    assert again.computed == 0
    assert again.rows.equals(results.rows)
    cells = {path: path.stat().st_mtime_ns for path in (out / "cells").rglob("*.json")}
    more = compare(data, "saola", "knn,nb", cv="3x3", out=out, n_jobs=1)
    # A repeat more: three folds; the six there are need the new classifier, not the selection.
    assert more.computed == 2 * 9
    old = results.selections.filter(np.array(results.selections["method"].to_pylist()) == "saola")
    new = more.selections.filter(np.array(more.selections["repeat"].to_pylist()) < 2)
    assert new.equals(old)
    seconds = [results.fold_values("seconds", "iris", "saola", "knn"),
               more.fold_values("seconds", "iris", "saola", "nb")[:6]]  # fmt: skip
    assert seconds[0].tolist() == seconds[1].tolist()  # the very selections of before
    untouched = [p for p, t in cells.items() if p.stat().st_mtime_ns == t]
    assert len(untouched) == 48 - 12


# --- limits and misbehaving selectors -------------------------------------------------------------


@pytest.fixture(scope="module")
def capped(plain, tmp_path_factory):
    out = tmp_path_factory.mktemp("capped") / "r"
    methods = {
        "good": "odd_selectors:BestBy:k=1",
        "luck": "odd_selectors:Drawing:k=1:random_state=2",
        "slow": "odd_selectors:Slow:seconds=3600",
        "hungry": "odd_selectors:Hungry",
        "raises": "odd_selectors:Broken",
        "dies": "odd_selectors:Broken:how=die",
    }
    caps = {"cell_seconds": 10.0, "cell_megabytes": 450.0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "_Process", NEW_PROCESS)  # earlier work would count as memory
        return compare(plain, methods, "knn", out=out, n_jobs=1, **caps), out, methods, caps


def test_cells_that_exceed_caps_or_fail_are_reported(capped):
    results = capped[0]
    message = {
        (r["method"], r["status"], r["note"].split(" it held")[0]) for r in results.problems()
    }
    assert message == {
        ("slow", "time cap", "stopped after 10 s"),
        ("hungry", "memory cap", "stopped when"),
        ("raises", "failed", "ValueError: no luck"),
        ("dies", "failed", "the process ended with code 3"),
    }
    grid = results.grid("accuracy")
    assert grid[0, 0] > 0.8
    assert np.isnan(grid[0, 2:]).all()
    page = results.to_markdown()
    assert "| time cap | memory cap | failed | failed |" in page
    assert "## Cells without a result" in page
    assert results.summary()["classifiers"]["knn"]["win_tie_loss"]["slow"] == [1, 0, 0]


def test_stopped_cells_are_finished_and_processes_that_died_are_not(capped, plain):
    _, out, methods, caps = capped
    kept = {name: word for name, word in methods.items() if name != "dies"}
    assert compare(plain, kept, "knn", out=out, **caps).computed == 0
    chosen = parse_methods({"dies": methods["dies"]})[0]
    cells = [json.loads(p.read_text()) for p in (out / "cells").rglob("*.json")]
    died = [c for c in cells if c["identity"]["method"]["params"] == chosen.params]
    assert [c["selection"]["passing"] for c in died] == [True]


def test_one_split_is_tested_over_its_rows(capped):
    results = capped[0]
    assert results.params["data"][0]["folds"] == 1
    found = results.summary()["classifiers"]["knn"]
    assert found["ranks"] is None
    assert found["win_tie_loss"]["luck"] == [1, 0, 0]
    assert np.isnan(results.stability("d", "good").nogueira)
    a, b = (
        np.unpackbits(np.frombuffer(results.column("right")[i], np.uint8), count=40) for i in (0, 1)
    )
    assert a.mean() == results.grid("accuracy")[0, 0]
    assert stats.ttest_rel(a.astype(float), b.astype(float)).pvalue < 0.05


@pytest.mark.skipif(sys.platform != "linux", reason="Linux says how much a process has used")
def test_cpu_seconds_stop_work_and_not_waiting(plain):
    methods = {"busy": "odd_selectors:Busy", "slow": "odd_selectors:Slow:seconds=1.5"}
    found = compare(plain, methods, "knn", n_jobs=1, cell_cpu_seconds=1.0)
    stopped = [(r["method"], r["status"], r["note"]) for r in found.problems()]
    assert stopped == [("busy", "time cap", "stopped after 1 CPU seconds")]


def test_when_a_step_is_finished():
    ok, timed = {"status": "ok"}, {"status": "time cap", "cap": 10.0}
    used = timed | {"clock": "cpu"}
    assert finished(used, Caps(cpu_seconds=10.0))
    assert not finished(used, Caps(cpu_seconds=11.0))
    assert not finished(used, Caps(seconds=10.0))
    assert not finished(timed, Caps(cpu_seconds=10.0))
    assert finished(ok, Caps())
    assert not finished(None, Caps())
    assert finished(timed, Caps(seconds=10.0))
    assert finished(timed, Caps(seconds=5.0))
    assert not finished(timed, Caps(seconds=11.0))
    assert not finished(timed, Caps())
    assert not finished({"status": "failed", "passing": True}, Caps())
    assert finished({"status": "failed"}, Caps())
    record = {"selection": ok, "scores": {judge_key("knn"): ok}}
    assert missing(record, ("knn", "nb"), Caps()) == (False, ["nb"])
    assert missing({"selection": timed, "scores": {}}, ("knn",), Caps(seconds=1.0)) == (False, [])
    assert missing({"selection": None, "scores": {}}, ("knn",), Caps()) == (True, ["knn"])


def test_what_names_a_cell(tmp_path):
    method = named_method("saola")
    cell = Cell("d", "abc", method, 0, 0, "fold", 1)
    others = [
        Cell("d", "abd", method, 0, 0, "fold", 1),
        Cell("d", "abc", named_method("saola:bound=max"), 0, 0, "fold", 1),
        Cell("d", "abc", method.shuffled(1), 0, 0, "fold", 1),
        Cell("d", "abc", method, 0, 0, "other", 1),
        Cell("d", "abc", method, 0, 0, "fold", 2),
        Cell("d", "abc", method, 0, 0, "fold", 1, (0.5, 1.0)),
    ]
    assert len({cell.key, *(c.key for c in others)}) == 7
    # Names do not matter, only what is computed.
    assert Cell("e", "abc", named_method("saola", "mine"), 4, 2, "fold", 1).key == cell.key
    cache = CellCache(tmp_path)
    record = {"selection": {"status": "ok"}, "scores": {}}
    cache.save(cell, record)
    assert cache.load(cell) == record
    assert cache.load(others[0]) == {"selection": None, "scores": {}}
    cache.path(cell).write_text("{half a fi")
    assert cache.load(cell) == {"selection": None, "scores": {}}


def test_an_edited_method_is_a_different_method(tmp_path, monkeypatch):
    source = textwrap.dedent(
        """
        class Mine:
            def fit(self, X, y):
                return self
            def get_params(self, deep=True):
                return {}
        """
    )
    monkeypatch.syspath_prepend(tmp_path)
    keys = []
    for text in (source, source.replace("return self", "return self  # better now")):
        (tmp_path / "edited_selector.py").write_text(text)
        sys.modules.pop("edited_selector", None)
        __import__("linecache").checkcache()
        keys.append(Cell("d", "a", named_method("edited_selector:Mine"), 0, 0, "f", 0).key)
    assert keys[0] != keys[1]


# --- kill -9 and Ctrl-C ---------------------------------------------------------------------------

PROGRAM = """
import sys
import numpy as np
sys.path.insert(0, {here!r})
from tamis.evaluate import compare
rng = np.random.default_rng(0)
y = np.arange(120) % 2
X = rng.normal(size=(120, 8))
compare({{"d": (X, y)}}, "odd_selectors:Counted:folder={marks}:seconds=0.2", "knn,tree",
        cv="4x3", out={out!r}, n_jobs=1)
"""


def start(tmp_path):
    (tmp_path / "marks").mkdir(exist_ok=True)
    text = PROGRAM.format(here=str(HERE), marks=tmp_path / "marks", out=str(tmp_path / "results"))
    return subprocess.Popen([sys.executable, "-c", text], stderr=subprocess.PIPE, text=True)


def done_cells(tmp_path):
    """Cells that are finished with both classifiers."""
    found = 0
    for path in (tmp_path / "results" / "cells").rglob("[0-9a-f]*.json"):
        found += len(json.loads(path.read_text())["scores"]) == 2
    return found


def alive(process):
    """Whether a process has not ended; one that was not waited for has no command line."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes() != b""
    except OSError:
        return False


def stopped(tmp_path, program, wanted):
    """Stop a program after `wanted` cells; return how many were finished, and selected."""
    wait_until(lambda: done_cells(tmp_path) >= wanted, program)
    program.kill()
    program.communicate()
    assert not (tmp_path / "results" / "compare.json").exists()
    workers = {name.partition("-")[0] for name in os.listdir(tmp_path / "marks")}
    # They notice that their parent is gone.
    wait_until(lambda: not any(alive(worker) for worker in workers))
    return done_cells(tmp_path), len(os.listdir(tmp_path / "marks"))


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="asks Linux who is alive")
def test_a_comparison_that_was_killed_resumes_where_it_stopped(tmp_path):
    before, selected = stopped(tmp_path, start(tmp_path), 4)
    assert 4 <= before < 12
    last = start(tmp_path)
    _, err = last.communicate(timeout=PATIENCE)
    assert last.returncode == 0, err
    assert done_cells(tmp_path) == 12
    # Whatever was finished was not selected again; the one at work was lost, or only its scores.
    again = len(os.listdir(tmp_path / "marks")) - selected
    assert 12 - before - 1 <= again <= 12 - before
    assert not list((tmp_path / "results").glob(".work-*"))  # what the killed one left is gone
    assert open_results(tmp_path / "results").rows.num_rows == 24
