"""`tamis compare`, as it is typed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_digits

from waiting import PATIENCE, wait_until


@pytest.fixture
def files(tmp_path) -> Path:
    """Two small files of digits."""
    X, y = load_digits(return_X_y=True)
    for name, (a, b) in {"low.svm": (0, 1), "high.svm": (8, 9)}.items():
        rows = np.isin(y, [a, b])
        dump_svmlight_file(X[rows][:120], y[rows][:120], str(tmp_path / name), zero_based=False)
    return tmp_path


def test_a_comparison_is_printed_and_written(tamis, files) -> None:
    done = tamis(
        "compare", "--data", "low.svm", "high.svm", "--methods", "saola,all,random:n_features=3",
        "--classifiers", "knn,nb", "--cv", "1x3", "--out", "results", "--control", "all",
        "--thresholds", "alpha=0.001,0.05", "--n-jobs", "1",
    )  # fmt: skip
    assert done.code == 0, done
    lines = done.out.splitlines()
    assert lines[:2] == ["Accuracy with knn", "Means over the folds."]
    assert lines[2].split() == ["data", "saola", "all", "random:n_features=3"]
    assert re.fullmatch(r"low( +[01]\.\d{4}){3}", lines[3])
    assert re.fullmatch(r"mean( +[01]\.\d{4}){3}", lines[5])
    wins = lines.index("Wins, ties and losses of all with knn")
    assert re.fullmatch(
        r"Average ranks \(1 = best\): .*saola [\d.]+.*; "
        r"Nemenyi's critical difference at 5%: 2\.344; Friedman p = .*\.", lines[wins + 2],
    )  # fmt: skip
    assert re.fullmatch(r"saola( +\d){3}", lines[wins + 5])
    assert "Seconds to select" in lines
    assert lines[-1] == (
        "18 of 18 cells computed; wrote results/summary.md; for an HTML page run: "
        "tamis report results"
    )
    assert {"over_thresholds.parquet", "results.parquet", "summary.md", "compare.json"} <= set(
        os.listdir("results")
    )
    assert json.loads(Path("results/compare.json").read_text())["command"].startswith(
        "tamis compare --data low.svm high.svm --methods"
    )
    again = tamis(
        "compare", "low.svm", "high.svm", "--methods", "saola,all", "--classifiers", "nb",
        "--cv", "3", "--out", "results", "--json",
    )  # fmt: skip
    assert json.loads(again.out)["methods"] == ["saola", "all"]
    assert again.err == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "give data to compare on, as in --data a.svm b.svm"),
        (("no.svm",), None),
        (("low.svm", "--cv", "ten"), "cv='ten' is not of the form REPEATSxFOLDS, such as 5x10 for "
         "five times ten folds, or FOLDS, such as 10, with two folds or more"),
        (("low.svm", "--control", "fcbf"), "the control 'fcbf' is none of the methods; give one of "
         "saola"),
        (("low.svm", "--thresholds", "alpha"), "--thresholds 'alpha' is not of the form "
         "name=value,value, as in alpha=0.001,0.01"),
        (("low.svm", "--classifiers", "j48"), "classifier 'j48' is not known; give one of knn1, "
         "knn, svm, rbf, lr, tree, nb"),
        (("broken.svm",), None),
    ],
)  # fmt: skip
def test_invalid_commands_give_one_sentence(tamis, files, arguments, sentence) -> None:
    (files / "broken.svm").write_text("1 1:0.5\n0 1:zero\n")
    message = tamis("compare", *arguments, "--methods", "saola", "--out", "results").one_sentence()
    if sentence is None:  # the readers' own words
        assert message.startswith(arguments[0])
        assert ("line 2" in message) == (arguments[0] == "broken.svm")
    else:
        assert message == sentence
    assert not (files / "results").exists()


def test_warnings_of_methods_are_printed(tamis, tmp_path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    np.save(tmp_path / "n.npy", rng.normal(size=(60, 4)) + y[:, None])
    np.save(tmp_path / "n.y.npy", y)
    method = "fcbf:measure=symmetric_uncertainty"
    done = tamis(
        "compare", "n.npy", "--methods", method, "--classifiers", "nb", "--cv", "1x3",
        "--out", "results", "--n-jobs", "1",
    )  # fmt: skip
    lines = done.out.splitlines()
    warning = lines[lines.index("Warnings") + 2]
    assert re.fullmatch(rf"n +{method} .* takes every value as .* 3", warning)


def test_a_class_that_cannot_be_imported_explains_how_to_install_it(tamis, files) -> None:
    arguments = ("compare", "low.svm", "--methods", "my_lab:Mine", "--out", "results")
    assert tamis(*arguments).one_sentence() == (
        "there is no selector my_lab:Mine to import (No module named 'my_lab'); install its "
        "package, or name the folder that holds it in the environment variable PYTHONPATH"
    )


def test_ctrl_c_keeps_what_is_finished(files) -> None:
    command = [
        sys.executable, "-m", "tamis", "compare", "--data", "low.svm", "--methods",
        "saola,osfs,fast-osfs,alpha-investing", "--classifiers", "knn,svm,rbf,lr,tree,nb",
        "--cv", "20x5", "--out", "results", "--n-jobs", "1",
    ]  # fmt: skip
    program = subprocess.Popen(
        command, cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    cells = files / "results" / "cells"
    wait_until(lambda: list(cells.rglob("[0-9a-f]*.json")), program)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=PATIENCE)
    assert program.returncode == 130, err
    assert out == ""
    assert "Traceback" not in err
    assert err.splitlines()[-1] == (
        "tamis: stopped; finished cells are in results/cells, and the same command resumes from "
        "there"
    )
    assert os.listdir(files / "results") == ["cells"]


def test_info_describes_a_comparison(tamis, svm):
    done = tamis("compare", "--data", "t.svm", "--methods", "saola,all", "--classifiers", "knn",
                 "--cv", "1x2", "--out", "results", "--quiet")  # fmt: skip
    assert done.code == 0, done.err
    facts = json.loads(tamis("info", "results", "--json").out)
    assert (facts["methods"], facts["classifiers"], facts["folds"]) == ("saola, all", "knn", "1x2")
    assert "methods       saola, all" in tamis("info", "results").out


@pytest.mark.filterwarnings("always::tamis.core.errors.DataWarning")
def test_too_few_folds_are_reported(tamis, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "a.npy", np.c_[np.arange(40) % 2, rng.normal(size=(40, 2))])
    np.save(tmp_path / "y.npy", np.arange(40) % 2)
    options = ("--classifiers", "nb", "--paired", "wilcoxon", "--n-jobs", "1", "--out", "r")
    data = ("compare", "--data", tmp_path / "a.npy", "--methods", "all,random:n_features=1")
    done = tamis(*data, "--cv", "5", *options)
    assert done.code == 0, done
    assert "5 folds are too few for the wilcoxon test" in done.err
    assert re.search(r"random:n_features=1 +0 +1 +0 +0\.\d+\n", done.out), done.out
    assert "too few" not in tamis(*data, "--cv", "6", *options).err
