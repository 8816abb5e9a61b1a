"""`tamis select --judge`: an honest score in the folder, the status and the report."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from tamis import judge, open_run
from tamis.evaluate.repeating import Repeated


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 90)
    frame = pd.DataFrame(rng.normal(size=(90, 12)), columns=[f"c{j}" for j in range(12)])
    frame["c3"] += 2 * y
    frame.assign(sick=y).to_csv(tmp_path / "data.csv", index=False)
    return tmp_path


def test_it_is_printed_saved_and_reported(tamis, table) -> None:
    select = ("select", table / "data.csv", "--target", "sick", "--method", "saola")
    done = tamis(*select, "--judge", "--out", table / "run")
    (line,) = (line for line in done.out.splitlines() if line.startswith("judged: "))
    assert "balanced accuracy 0." in line
    record = json.loads((table / "run" / "run.json").read_text())["trust"]["judged"]
    assert record["kept"]["low"] < record["kept"]["mean"] < record["kept"]["high"]
    assert record["every"]["mean"] > record["random"]["mean"]
    assert "judged" in json.loads(tamis("status", table / "run", "--json").out)
    tamis("report", table / "run", "--format", "md", "--out", table / "page.md")
    assert "as many at random" in (table / "page.md").read_text()
    # The score is that of these columns: it does not outlive a feed.
    pd.DataFrame({"new": np.arange(90.0)}).to_csv(table / "new.csv", index=False)
    tamis("feed", table / "run", table / "new.csv")
    assert "judged" not in json.loads(tamis("status", table / "run", "--json").out)


def test_a_forest_judges_numbers(tamis, table) -> None:
    frame = pd.read_csv(table / "data.csv").drop(columns="sick")
    rng = np.random.default_rng(1)
    frame.assign(price=frame["c3"] ** 2 + rng.normal(size=90) * 0.1).to_csv(
        table / "prices.csv", index=False
    )
    scores = {}
    for model in ("linear", "forest"):
        out = tamis(
            "select", table / "prices.csv", "--target", "price", "--judge", model, "--json",
            "--out", table / model,
        ).out  # fmt: skip
        scores[model] = json.loads(out)["trust"]["judged"]["kept"]["mean"]
    assert scores["forest"] > 0.7 > scores["linear"]


def judged(folder) -> dict:
    trust = json.loads((folder / "run.json").read_text())["trust"]
    return {"judged": trust["judged"], "stability": trust["stability"]}


@pytest.mark.parametrize("method", ["saola", "fcbf"])
@pytest.mark.usefixtures("shared_processes")
def test_a_checkpoint_and_workers_do_not_change_the_figures(tamis, table, method) -> None:
    select = (
        "select", table / "data.csv", "--target", "sick", "--method", method, "--judge",
        "--stability", "2",
    )  # fmt: skip
    assert tamis(*select, "--out", table / "plain").code == 0
    expected = judged(table / "plain")
    ways = {"workers": ("--cluster", "local:2")}
    if method == "saola":  # fcbf cannot be resumed
        ways |= {"saved": ("--checkpoint",), "both": ("--checkpoint", "--cluster", "local:2")}
    for name, how in ways.items():
        done = tamis(*select, *how, "--out", table / name)
        assert done.code == 0
        assert "\njudged: balanced accuracy" in done.out
        assert judged(table / name) == expected
        if method == "saola":
            status = json.loads(tamis("status", table / name, "--json").out)
            assert not status["unfinished"]
            assert not status["must_be_resumed"]


@pytest.mark.parametrize("stops", [1, 3, 5, 8, 17])
def test_an_interrupted_judging_resumes_at_its_fold(tamis, table, stops, monkeypatch) -> None:
    select = (
        "select", table / "data.csv", "--target", "sick", "--method", "saola", "--judge",
        "--stability", "2", "--keep", "c5", "--checkpoint",
    )  # fmt: skip
    assert tamis(*select, "--out", table / "whole").code == 0
    done, selected = [], Repeated.selected

    def dies(self, rows, cluster=None):
        done.append(rows)
        if len(done) == stops:
            raise KeyboardInterrupt
        return selected(self, rows, cluster)

    monkeypatch.setattr(Repeated, "selected", dies)
    stopped = tamis(*select, "--out", table / "run")
    assert f"resume it with: tamis resume {table / 'run'}" in stopped.err
    assert (table / "run" / "selected.csv").exists()
    status = json.loads(tamis("status", table / "run", "--json").out)
    assert status["must_be_resumed"]
    assert status["unfinished"] == ["--stability", "--judge"]
    assert "resume it with tamis resume" in tamis("status", table / "run").out
    assert "is not finished" in tamis(*select, "--out", table / "run").one_sentence()
    pd.DataFrame({"new": np.arange(90.0)}).to_csv(table / "new.csv", index=False)
    assert "is not finished" in tamis("feed", table / "run", table / "new.csv").one_sentence()

    resumed = tamis("resume", table / "run")
    assert resumed.code == 0
    # Four halves and fifteen folds; the one that was interrupted is done again.
    assert len(done) == 4 + 15 + 1
    whole = stops - 1
    if whole:
        part = f"halves of the rows after {whole} of 4" if whole <= 4 else (
            f"judging folds after {whole - 4} of 15"
        )  # fmt: skip
        assert part in resumed.err
    assert judged(table / "run") == judged(table / "whole")
    kept = [(table / name / "selected.csv").read_bytes() for name in ("run", "whole")]
    assert kept[0] == kept[1]
    assert "is finished; nothing is left to do" in tamis("resume", table / "run").err
    assert tamis("feed", table / "run", table / "new.csv").code == 0
    assert "judged" not in json.loads(tamis("status", table / "run", "--json").out)


def test_rows_that_belong_together_need_no_worlds_to_be_judged(tamis, table) -> None:
    frame = pd.read_csv(table / "data.csv").assign(patient=np.repeat(np.arange(30), 3))
    frame.to_csv(table / "visits.csv", index=False)
    groups = np.repeat(np.arange(30), 3)
    expected = judge(
        frame.drop(columns=["sick", "patient"]), "saola", frame["sick"], row_groups=groups
    )
    select = ("select", table / "visits.csv", "--target", "sick", "--method", "saola")
    for name, how in {"plain": (), "saved": ("--checkpoint",)}.items():
        more = ("--row-groups", "patient", "--judge", "--stability", "2", *how)
        done = tamis(*select, *more, "--out", table / name)
        assert done.code == 0
        assert "luck: " not in done.out  # whose p-values would be those of single rows
        assert judged(table / name)["judged"] == expected.record()
        run = open_run(table / name)
        assert "patient" not in [run.log.names[j] for j in range(len(run.log))]
