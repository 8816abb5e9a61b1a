"""`--task`: classes or numbers, on select, feed, resume, compare and learn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tamis.engine.learning.model import open_model
from tamis.engine.persistent.selection import Selection
from tamis.engine.runs import open_run
from tamis.sources import open_source

GIVEN = "task: {}, because it was given"


@pytest.fixture
def houses(tmp_path):
    """A whole-number price with one driver."""
    rng = np.random.default_rng(0)
    area = rng.integers(40, 200, 300)
    table = pd.DataFrame({"area": area, "street": rng.integers(1, 400, 300)})
    table["price"] = area * 1000 + rng.integers(0, 9000, 300)
    path = tmp_path / "houses.csv"
    table.to_csv(path, index=False)
    return path


def run_of(out):
    return json.loads((out / "run.json").read_text())


def test_a_whole_number_price_is_a_number_to_predict(tamis, houses, tmp_path):
    out = tmp_path / "run"
    done = tamis("select", houses, "--target", "price", "--out", out)
    assert done.code == 0
    assert "\ntask: regression, because " in done.out
    assert "whole numbers" in done.out
    assert (out / "selected.csv").read_text().splitlines()[1].startswith("0,area,")
    source = run_of(out)["source"]
    assert source["task"] == "regression"
    assert source["target"].startswith("numbers from ")
    assert open_run(out).choices["task"].startswith("regression, because ")


@pytest.mark.filterwarnings("always:the target holds:UserWarning")
def test_the_task_of_a_run_is_kept_when_it_is_fed(tamis, tmp_path):
    rng = np.random.default_rng(1)
    visits = rng.poisson(9, 400)
    table = pd.DataFrame({"id": range(400), "noise": rng.normal(size=400), "visits": visits})
    later = pd.DataFrame({"id": range(400), "sick": visits + rng.normal(size=400)})
    table.to_parquet(tmp_path / "a.parquet")
    later.assign(visits=visits).to_parquet(tmp_path / "b.parquet")
    for task in ("regression", "classification"):
        out = tmp_path / task
        done = tamis("select", tmp_path / "a.parquet", "--target", "visits", "--key", "id",
                     "--task", task, "--out", out)  # fmt: skip
        assert GIVEN.format(task) in done.out
        assert done.err == ""
        fed = tamis("feed", out, tmp_path / "b.parquet", "--target", "visits")
        assert (fed.code, fed.err) == (0, "")
        assert "1 column taken, 1 kept" in fed.out
        state = Selection.open(out)._state
        assert state.target.task == state.selector._target.task == task
        assert open_run(out).choices["task"] == f"{task}, because it was given"
        of = "class" if task == "classification" else "target"
        assert f"(sick, {of})" in tamis("why", out, "sick").out
    again = ("select", tmp_path / "a.parquet", "--target", "visits", "--out", tmp_path / "auto")
    assert "so it was treated as numbers, but it may hold classes: say which" in tamis(*again).err


def test_a_stopped_run_keeps_its_task(tamis, tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 20))
    np.save(tmp_path / "m.npy", X)
    np.save(tmp_path / "y.npy", np.round(X[:, 3] * 3 + 9))
    out = tmp_path / "run"
    done = tamis("select", tmp_path / "m.npy", "--y", tmp_path / "y.npy", "--out", out,
                 "--checkpoint", "--task", "classification")  # fmt: skip
    assert done.code == 0
    assert GIVEN.format("classification") in done.out
    assert run_of(out)["source"]["task"] == "classification"


def test_comparing_and_learning_need_classes(tamis, houses, tmp_path):
    compare = ("compare", houses, "--target", "price", "--methods", "saola", "--cv", "2x2",
               "--classifiers", "nb", "--out", tmp_path / "c")  # fmt: skip
    assert "houses: the target is a number to predict" in tamis(*compare).one_sentence()
    refused = tamis(*compare, "--task", "regression").one_sentence()
    assert "comparing needs classes, because classifiers judge what is kept" in refused
    learn = ("learn", houses, "--target", "price", "--out", tmp_path / "m")
    sentence = tamis(*learn).one_sentence()
    assert "which look like numbers to predict, and learners need classes" in sentence
    assert sentence.endswith("say so with task='classification' (--task classification)")
    assert (
        tamis(*learn, "--task", "regression")
        .one_sentence()
        .startswith(
            "learners predict classes, so task='regression' (--task regression) is not possible"
        )
    )
    assert tamis(*learn, "--task", "classification", "--quiet").code == 0


def test_the_task_of_labels_is_decided_for_all_rows_of_a_comparison(tamis, tmp_path):
    rng = np.random.default_rng(3)
    y = rng.integers(20, 45, 500)
    table = pd.DataFrame({"a": y + rng.normal(size=500), "b": rng.normal(size=500), "y": y})
    table.to_csv(tmp_path / "t.csv", index=False)
    done = tamis("compare", tmp_path / "t.csv", "--target", "y", "--methods", "saola,relieff",
                 "--cv", "1x3", "--classifiers", "nb", "--out", tmp_path / "c", "--n-jobs", "1",
                 "--task", "classification", "--control", "saola")  # fmt: skip
    assert done.code == 0
    assert "taken for" not in done.out + done.err


@pytest.mark.parametrize("kind", ["csv", "svm"])
def test_labels_that_floats_would_round_stay_two_classes(tamis, tmp_path, kind):
    classes, rows = [2**60, 2**60 + 1], range(60)
    text = "".join(f"{classes[i % 2]} 1:{i % 2 + i / 1000} 2:{(i * 7) % 11}\n" for i in rows)
    if kind == "csv":
        text = text.replace("1:", "").replace("2:", "").replace(" ", ",")
        text = "y,1,2\n" + text
    (tmp_path / f"t.{kind}").write_text(text)
    target = ("--target", "y") if kind == "csv" else ()
    done = tamis("select", f"t.{kind}", *target, "--out", "run")
    assert done.code == 0, done.err
    assert "task: classification" in done.out
    assert open_run("run").kept_names == ["1"]
    done = tamis("learn", f"t.{kind}", *target, "-k", "1", "--out", "model")
    assert done.code == 0, done.err
    assert open_model("model").classes_.tolist() == classes


def test_labels_beyond_2_53_after_small_ones(tamis, tmp_path):
    """They arrive in a later batch of the file: right in columns, refused in rows."""
    lines = [f"{i % 2} 1:{i % 7} 2:{i % 5}\n" for i in range(200_000)]
    lines += [f"{2**60 + i % 2} 1:1\n" for i in range(10)]
    Path("late.svm").write_text("".join(lines))
    assert tamis("convert", "late.svm", "late.cols", "--quiet").code == 0
    y = open_source("late.cols").target()
    assert np.unique(y).tolist() == [0, 1, 2**60, 2**60 + 1]
    done = tamis("convert", "late.svm", "late.rows", "--quiet")
    assert done.code != 0
    assert f"the label {2**60 + 1} is beyond 2^53, and smaller ones came before" in done.err
