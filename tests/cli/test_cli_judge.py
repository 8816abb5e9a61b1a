"""`tamis select --judge`: an honest score in the folder, the status and the report."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest


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


def test_it_cannot_be_used_with_a_checkpoint(tamis, table) -> None:
    select = ("select", table / "data.csv", "--target", "sick", "--method", "saola")
    done = tamis(*select, "--judge", "--checkpoint", "--out", table / "run")
    assert "select without --judge, then run tamis select --judge" in done.one_sentence()
