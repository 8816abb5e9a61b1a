"""`--order free` on the command line: blocks, workers and restarts change nothing."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from tamis import open_run


@pytest.mark.usefixtures("shared_processes")
@pytest.mark.parametrize("method", ["saola", "fast-osfs"])
def test_files_workers_and_restarts_keep_the_same_set(method, tamis, tmp_path) -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 80)
    hidden = rng.normal(size=(80, 5)) + y[:, None]
    X = hidden[:, rng.integers(0, 5, 40)] + rng.normal(size=(80, 40)) * 0.5
    X = pd.DataFrame(X, columns=[f"c{j}" for j in range(40)])
    sentences, sets = [], set()
    for k, more in enumerate([[], ["--cluster", "local:2"], ["--checkpoint"], ["--width", "3"]]):
        X.assign(sick=y).to_csv(tmp_path / "data.csv", index=False)
        out = tmp_path / f"run{k}"
        done = tamis(
            "select", tmp_path / "data.csv", "--target", "sick", "--method", method, "--order",
            "free", "--measure", "fisher_z", "--out", out, *more,
        )  # fmt: skip
        assert done.code == 0, done
        run = open_run(out)
        sentences.append([run.why(j) for j in range(X.shape[1])])
        sets.add(frozenset(run.kept_names))
    assert all(found == sentences[0] for found in sentences)
    status = json.loads(tamis("status", out, "--json").out)
    assert status["order"] == "free"
    assert " columns, " in status["held"]
    X[rng.permutation(X.columns)].assign(sick=y).to_csv(tmp_path / "data.csv", index=False)
    tamis(
        "select", tmp_path / "data.csv", "--target", "sick", "--method", method, "--order", "free",
        "--measure", "fisher_z", "--out", tmp_path / "shuffled",
    )  # fmt: skip
    sets.add(frozenset(open_run(tmp_path / "shuffled").kept_names))
    assert len(sets) == 1


@pytest.mark.parametrize("method", ["group-saola", "alpha-investing", "ofs-density"])
def test_a_method_without_an_order_is_refused(method, tamis, tmp_path) -> None:
    pd.DataFrame({"a": [0, 1] * 9, "y": [0, 1] * 9}).to_csv(tmp_path / "data.csv", index=False)
    done = tamis(
        "select", tmp_path / "data.csv", "--target", "y", "--order", "free", "--out",
        tmp_path / "run", "--method", method,
    )  # fmt: skip
    assert done.one_sentence() == (
        f"{method} has no --order; use a method such as sieve, saola or fast-osfs"
    )


def test_costs_from_a_file_and_stand_ins(tamis, tmp_path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    base = rng.normal(size=300) + y
    frame = pd.DataFrame({f"c{j}": base + rng.normal(size=300) * 0.05 for j in range(4)})
    frame.assign(y=y).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "costs.csv").write_text("name,cost\nc0,5\nc1,5\nc2,1\nc3,5\n")
    command = (
        "select", tmp_path / "data.csv", "--target", "y", "--method", "saola", "--order", "free",
        "--costs", tmp_path / "costs.csv", "--out",
    )  # fmt: skip
    assert tamis(*command, tmp_path / "run").code == 0
    assert open_run(tmp_path / "run").kept_names == ["c2"]
    shown = tamis("why", tmp_path / "run", "c2", "--instead").out.splitlines()
    assert len(shown) == 4
    assert all("dependence on c2" in line for line in shown[1:])
    (facts,) = json.loads(tamis("why", tmp_path / "run", "c2", "--instead", "--json").out)
    assert {other["name"] for other in facts["instead"]} == {"c0", "c1", "c3"}
    tamis("report", tmp_path / "run", "--format", "md", "--out", tmp_path / "report.md")
    assert "Stand-ins" in (tmp_path / "report.md").read_text()
    # Costs belong to the selection: later columns are judged by them.
    frame.assign(c9=frame["c2"] + 1e-3 * rng.normal(size=300))[["c9"]].to_csv(
        tmp_path / "more.csv", index=False
    )
    assert tamis("feed", tmp_path / "run", tmp_path / "more.csv").code == 0
    assert open_run(tmp_path / "run").kept_names == ["c2"]
    (tmp_path / "costs.csv").write_text("name,cost\nc0,cheap\n")
    assert "line 2" in tamis(*command, tmp_path / "other").one_sentence()
