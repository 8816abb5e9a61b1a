"""Custom classes on the command line, and parameters after a method."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tamis import open_run

MINE = "my_own_methods:Mine"


@pytest.fixture
def days(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    noisy = np.where(rng.random((200, 4)) < 0.2, 1 - y[:, None], y[:, None])
    columns = pd.DataFrame(noisy, columns=list("abcd")).assign(n=rng.integers(0, 2, 200))
    columns.assign(y=y).to_parquet(tmp_path / "all.parquet", index=False)
    columns[["a", "b", "n"]].assign(y=y).to_parquet(tmp_path / "monday.parquet", index=False)
    columns[["c", "d"]].to_parquet(tmp_path / "tuesday.parquet", index=False)
    return tmp_path


def why(tamis, run, *names):
    return tamis("why", run, *names).out


def test_a_custom_class_selects_and_resumes_when_it_is_named(tamis, days):
    arguments = ("--target", "y", "--quiet", "--out")
    assert tamis("select", "all.parquet", "--method", "saola", *arguments, "plain").code == 0
    assert tamis("select", "monday.parquet", "--method", MINE, *arguments, "run").code == 0
    assert open_run("run").method == "mine"
    sentence = (
        f"this was selected with {MINE}; it is not a class of tamis, and none is imported because "
        f"a folder names it: name it yourself with --method {MINE}, in Python with "
        "tamis.Selection.open(folder, selector=...)"
    )
    assert tamis("feed", "run", "tuesday.parquet").one_sentence() == sentence
    assert tamis("drop", "run", "a").one_sentence() == sentence
    wrong = tamis("feed", "run", "tuesday.parquet", "--method", "saola").one_sentence()
    assert wrong.startswith(f"this was selected with {MINE}, and not with tamis.methods.")
    assert tamis("feed", "run", "tuesday.parquet", "--method", MINE).code == 0
    for name in "abcdn":  # explained without the class
        assert why(tamis, "run", name) == why(tamis, "plain", name)
    for words in (("status", "run"), ("log", "run"), ("info", "run"), ("report", "run")):
        assert tamis(*words).code == 0
    assert tamis("drop", "run", "n", "--method", MINE).out.startswith("n was withdrawn")


def test_a_run_that_can_be_resumed_and_a_watched_folder(tamis, days):
    arguments = ("--target", "y", "--method", MINE, "--checkpoint", "--quiet", "--out", "run")
    assert tamis("select", "monday.parquet", *arguments).code == 0
    assert tamis("resume", "run").one_sentence().startswith(f"this was selected with {MINE}; ")
    done = tamis("resume", "run", "--method", MINE)
    assert "run is finished; nothing is left to do" in done.err
    (days / "in").mkdir()
    (days / "tuesday.parquet").rename(days / "in" / "tuesday.parquet")
    assert tamis("watch", "run", "in", "--once", "--settle", "0").code == 2
    fed = tamis("watch", "run", "in", "--once", "--settle", "0", "--method", MINE)
    assert fed.out.startswith("tuesday.parquet: 2 columns taken")


@pytest.mark.parametrize("kind", ["Whole", "WholeEstimator"])
def test_a_custom_batch_method(tamis, days, kind):
    arguments = ("--target", "y", "--quiet", "--out", "run", "--method", f"my_own_methods:{kind}")
    assert tamis("select", "all.parquet", *arguments).code == 0
    assert "whole is not a method whose feature stream" in tamis("status", "run").one_sentence()


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("nowhere.at_all:Top", "there is no selector nowhere.at_all:Top to import (No module nam"),
        ("my_own_methods:Nothing", "there is no selector my_own_methods:Nothing to import (module"),
        ("os:path", "os:path is not a selector: it is neither a rule nor a class with fit(X, y)"),
        ("my_own_methods:Plain", "my_own_methods:Plain is not a Rule of tamis.methods, so "),
        (f"{MINE}:size=5", f"{MINE} has no parameter 'size'; it has measure, "),
        ("saola:bound", "Invalid value for '--method': 'saola:bound': 'bound' is not of the form"),
        ("saola:measure=x:alpha=0.1", "the measure 'x' is not known; give one of auto, paper"),
        (
            "saola:encode=x",
            "encode='x' is not known; give an encoder such as MDLP(), or one of mdlp, ",
        ),
        ("lars:alpha=0.1", "lars has no measure, so it takes no alpha"),
        ("soala", "Invalid value for '--method': 'soala' is not known; did you mean 'saola'?"),
    ],
)
def test_invalid_methods_are_reported_in_one_sentence(tamis, days, method, message):
    arguments = tamis("select", "all.parquet", "--target", "y", "--method", method, "--out", "run")
    assert arguments.one_sentence().startswith(message)
    assert not Path("run").exists()


def test_parameters_after_a_colon_are_those_of_the_options(tamis, days):
    arguments = ("--target", "y", "--quiet", "--out")
    short = "saola:bound=max:measure=mutual_information:alpha=0.05"
    options = ("--measure", "mutual_information", "--alpha", "0.05", "--param", "bound=max")
    assert tamis("select", "all.parquet", *arguments, "a", "--method", short).code == 0
    assert tamis("select", "all.parquet", *arguments, "b", "--method", "saola", *options).code == 0
    assert open_run("a").parameters == open_run("b").parameters
    assert "bound" in open_run("a").parameters
    assert (
        tamis("select", "all.parquet", *arguments, "c", "--method", "saola:encode=mdlp").code == 0
    )
    assert open_run("c").source["encode"] == "MDLP()"
