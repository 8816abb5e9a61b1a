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


@pytest.fixture
def centred(houses):
    """The same houses, with columns around 0, as learners need them."""
    table = pd.read_csv(houses)
    table["area"] = ((table["area"] - 120) / 50).round(3)
    table["street"] = (table["street"] / 200 - 1).round(3)
    path = houses.with_name("centred.csv")
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


def test_comparing_needs_classes(tamis, houses, tmp_path):
    compare = ("compare", houses, "--target", "price", "--methods", "saola", "--cv", "2x2",
               "--classifiers", "nb", "--out", tmp_path / "c")  # fmt: skip
    assert "houses: the target is a number to predict" in tamis(*compare).one_sentence()
    refused = tamis(*compare, "--task", "regression").one_sentence()
    assert "comparing needs classes, because classifiers judge what is kept" in refused


def test_learning_says_that_a_price_is_a_number(tamis, centred, tmp_path):
    learn = ("learn", centred, "--target", "price", "-k", 1, "--test", centred, "--out")
    done = tamis(*learn, tmp_path / "m")
    assert done.code == 0
    assert "task: regression, because " in done.err
    assert "if they are classes, say so with task='classification'" in done.err
    assert "progressive R² 0." in done.out
    assert "\nR² 0." in done.out
    model = open_model(tmp_path / "m")
    assert (model.task, model.record["method"]) == ("regression", "RowSieveRegressor")
    said = tamis("predict", tmp_path / "m", centred, "--target", "price", "--out", tmp_path / "p")
    assert said.out.startswith("R² 0.")
    assert said.out.splitlines()[0] == done.out.splitlines()[2]
    rows = pd.read_csv(tmp_path / "p")
    assert rows.columns.tolist() == ["row", "prediction"]
    assert np.corrcoef(rows["prediction"], pd.read_csv(centred)["price"])[0, 1] > 0.9
    facts = json.loads(tamis("predict", tmp_path / "m", centred, "--target", "price", "--json").out)
    assert set(facts) == {"rows", "labelled", "r2", "rmse", "bad_lines", "predictions"}
    scores = ("predict", tmp_path / "m", centred, "--target", "price", "--scores", "--out", "-")
    assert "predicts numbers, which are its scores" in tamis(*scores).one_sentence()
    page = tamis("report", tmp_path / "m", "--out", tmp_path / "m.html")
    assert page.code == 0
    text = (tmp_path / "m.html").read_text()
    assert "root mean squared error" in text
    assert "R² of predictions that were made before each row was learned" in text


def test_learning_takes_the_task_that_is_given(tamis, centred, tmp_path):
    learn = ("learn", centred, "--target", "price")
    assert tamis(*learn, "--task", "classification", "--quiet").code == 0
    done = tamis(*learn, "--task", "regression", "--tune", 200, "-k", "auto", "--json")
    facts = json.loads(done.out)
    assert (facts["method"], facts["task"]) == ("RowSieveRegressor", "regression")
    assert facts["progressive_r2"] > 0.5
    tuned = tamis(*learn, "--tune", "--param", "loss=epsilon_insensitive")
    assert "tuned: gamma=" in tuned.err
    assert "a mean loss of " in tuned.err
    fofs = tamis(*learn, "--method", "fofs", "--task", "regression").one_sentence()
    assert fofs.startswith("FOFS predicts classes only")
    classes = tamis(*learn, "--task", "regression", "--classes", "1,2").one_sentence()
    assert "predicts numbers, so it takes no classes" in classes


def test_a_stopped_training_on_numbers_goes_on(tamis, houses, tmp_path):
    from tamis.engine.learning.checkpoint import read_checkpoint, write_checkpoint
    from tamis.engine.learning.learn import make_learner
    from tamis.engine.learning.training import Schedule, Training
    from tamis.sources import open_rows

    def training():
        sources = open_rows(houses, target="price")
        return Training(make_learner("row-sieve"), sources, Schedule(passes=2))

    whole = training()
    whole.start(may_change=True)
    whole.run()
    part = training()
    part.start(may_change=True)
    part.take(next(part.batches()))
    write_checkpoint(tmp_path / "c", part, {}, 0.0)
    later = training()
    read_checkpoint(tmp_path / "c", later, {})
    assert later.learner.task == "regression"
    later.run()
    assert later.learner.weights_.tolist() == whole.learner.weights_.tolist()
    assert later.learner.intercept_ == whole.learner.intercept_
    assert later.curve.table() == whole.curve.table()


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


@pytest.mark.filterwarnings("always:1 row has no:UserWarning")
def test_a_price_with_cents_is_a_number_to_predict(tamis, houses, tmp_path):
    table = pd.read_csv(houses)
    table["price"] += 0.25
    table["area"] = table["area"].where(table.index % 9 != 0)  # gaps
    path = tmp_path / "cents.csv"
    table.to_csv(path, index=False)
    done = tamis("learn", path, "--target", "price", "--test", path, "--out", tmp_path / "m")
    assert done.code == 0
    assert "cents.csv has labels such as " in done.err
    assert ", which are numbers to predict" in done.err
    assert "\nR² 0." in done.out
    table.assign(price=table["price"].where(table.index != 4)).to_csv(path, index=False)
    learn = ("learn", path, "--target", "price")
    assert "row 4 has no label; leave such rows out with" in tamis(*learn).err
    assert tamis(*learn, "--missing-target", "drop").code == 0


def test_info_describes_a_model_of_numbers(tamis, houses):
    assert tamis("learn", houses, "--target", "price", "--out", "m").code == 0
    facts = json.loads(tamis("info", "m", "--json").out)
    assert facts["predicts"] == "numbers"
    assert facts["progressive R²"] <= 1


def test_predict_says_how_to_score_a_file_with_targets(tamis, houses):
    assert tamis("learn", houses, "--target", "price", "--out", "m").code == 0
    done = tamis("predict", "m", houses)
    assert " predicted; if they have a target, --target price scores them\n" in done.out
    assert "none has a label" not in done.out
    assert "R²" in tamis("predict", "m", houses, "--target", "price").out
