"""`--fdr` and `--gate` on the command line, in status, why and the report."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 40))
    X[:, ::8] += y[:, None] * 1.5
    table = pd.DataFrame(X, columns=[f"g{j}" for j in range(40)])
    table["sick"] = y
    table.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def test_fdr_on_the_command_line(data, tamis, tmp_path):
    run = tmp_path / "run"
    done = tamis("select", data, "--target", "sick", "--fdr", "0.1", "--out", run)
    assert done.code == 0, done.err
    assert "gate: LORD++ at a false discovery rate of 0.1: 5 finds in 40 tests" in done.out
    assert "LORD++" in tamis("why", run, "g0").out
    assert "gate        LORD++ at a false discovery rate of 0.1" in tamis("status", run).out
    facts = json.loads(tamis("status", run, "--json").out)
    assert facts["gate"].startswith("LORD++")
    more = tmp_path / "more.csv"
    pd.DataFrame(np.random.default_rng(1).normal(size=(120, 3)), columns=list("abc")).to_csv(
        more, index=False
    )
    assert tamis("feed", run, more).code == 0
    assert "in 43 tests" in tamis("status", run).out


def test_gates_by_name(data, tamis, tmp_path):
    done = tamis(
        "select", data, "--target", "sick", "--method", "fcbf", "--fdr", "0.1", "--gate", "by",
        "--out", tmp_path / "run",
    )  # fmt: skip
    assert "gate: Benjamini-Yekutieli" in done.out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--fdr", "0.1", "--alpha", "0.01"], "give one of them"),
        (["--fdr", "0.1", "--threshold", "0.2", "--method", "fcbf"], "give one of them"),
        (["--fdr", "0.1", "--method", "relieff"], "cannot control the false discovery rate"),
        (["--gate", "lond"], "needs a false discovery rate"),
        (["--fdr", "0.1", "--gate", "nothing"], "is not one of"),
    ],
)
def test_what_cannot_be_is_one_sentence(data, tamis, tmp_path, options, says):
    done = tamis("select", data, "--target", "sick", "--out", tmp_path / "run", *options)
    assert says in done.one_sentence()
