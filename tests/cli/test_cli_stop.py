"""`tamis select --stop`, and what follows it: resume, feed, info, status, why."""

from __future__ import annotations

import json

import numpy as np
import pytest


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 40))
    X[:, 4::5] += y[:, None]
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", y)
    return tmp_path / "x.npy"


def test_a_run_stops_says_so_and_logs_the_rest(tamis, data):
    done = tamis("select", data, "--stop", "features=3", "--out", "run")
    assert done.code == 0, done
    stopped = "stopped at x14, because 3 features were kept"
    assert "sieve kept 3 of 40 features (12 irrelevant, 25 unexamined)" in done.out
    assert f"the selection {stopped}\n" in done.out
    assert tamis("why", "run", "x30").out == f"x30 was not examined: the selection had {stopped}\n"
    assert "at x14, because 3 features were kept" in tamis("info", "run").out
    assert json.loads(tamis("status", "run", "--json").out)["stopped"] == stopped
    np.save("more.npy", np.load(data)[:, :2] + 1)
    fed = tamis("feed", "run", "more.npy")
    assert fed.out.startswith(f"more.npy: 2 columns taken, 0 of them kept; the selection {stopped}")
    assert tamis("why", "run", "x41").out.startswith("x41 was not examined")


@pytest.mark.parametrize("rule", ["features=3", "idle=6", "accuracy=0.8"])
def test_a_resumable_run_stops_at_the_same_column(tamis, data, rule):
    tamis("select", data, "--stop", rule, "--out", "plain")
    tamis("select", data, "--stop", rule, "--out", "saved", "--checkpoint", "0.001", "--width", "2")
    logs = [json.loads((data.parent / run / "run.json").read_text()) for run in ("plain", "saved")]
    assert logs[0]["verdicts"] == logs[1]["verdicts"]
    assert logs[0]["words"] == logs[1]["words"]
    assert tamis("info", "saved").out.splitlines()[0].startswith("method")


def test_a_wrong_rule_is_one_sentence(tamis, data):
    sentence = tamis("select", data, "--stop", "feature=3", "--out", "run").one_sentence()
    assert sentence == "there is no stopping rule 'feature'; did you mean 'features'?"
