"""Options that some methods treat differently or reject."""

from __future__ import annotations

import csv
import inspect
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tamis.methods import BY_METHOD

WITHOUT_A_MEASURE = [
    method
    for method, kind in sorted(BY_METHOD.items())
    if "measure" not in inspect.signature(kind).parameters
]


def test_fcbf_selects_from_a_file(tamis, svm) -> None:
    done = tamis("select", "t.svm", "--method", "fcbf", "--out", "run", "--width", "4")
    assert done.code == 0
    with Path("run/selected.csv").open() as file:
        rows = list(csv.DictReader(file))
    names = [row["name"] for row in rows]
    assert {"3", "20"} <= set(names)
    assert "21" not in names
    assert [int(row["arrival"]) for row in rows] == sorted(int(row["arrival"]) for row in rows)
    assert "measure: SymmetricUncertainty(threshold=0.0, alpha=None), because every" in done.out
    message = tamis("why", "run", "21").out
    assert message.startswith("21 was dropped as redundant: SU(21, class)=")
    assert message.endswith("=1, and 20 predicts as well and came first\n")


def test_a_threshold_is_the_methods_own_where_it_has_one(tamis, svm) -> None:
    tamis("select", "t.svm", "--method", "fcbf", "--out", "run", "--threshold", "0.2")
    record = json.loads(Path("run/run.json").read_text())
    assert record["parameters"]["threshold"] == "0.2"
    assert record["measure"] == "SymmetricUncertainty(threshold=0.0, alpha=None)"
    assert record["verdicts"]["irrelevant"] == 27
    done = tamis("select", "t.svm", "--method", "fcbf", "--out", "no", "--threshold", "-1")
    assert done.one_sentence() == "FCBF: threshold=-1.0 is not a number at least 0"


@pytest.mark.parametrize("method", WITHOUT_A_MEASURE)
def test_a_measure_is_refused_by_a_method_that_has_none(tamis, svm, method) -> None:
    done = tamis("select", "t.svm", "--method", method, "--out", "run", "--measure", "fisher_z")
    assert done.one_sentence() == f"{method} has no measure, so it takes no measure"


def test_a_warning_is_one_line(tamis, tmp_path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{c} 1:{c + rng.random():.4f} 2:{rng.random():.4f}" for c in (0, 1) * 40]
    (tmp_path / "numbers.svm").write_text("\n".join(rows) + "\n")
    options = ("--method", "fcbf", "--measure", "symmetric_uncertainty", "--out", "run")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        done = tamis("select", "numbers.svm", *options)
    assert done.code == 0
    printed = [line for line in done.err.splitlines() if line.startswith("tamis: ")]
    assert len(printed) == 1
    assert "takes every value as a category" in printed[0]


def test_groups_are_the_tables_of_a_folder(tamis, svm, tmp_path):
    message = tamis("select", "t.svm", "--method", "group-saola", "--out", "one").err
    assert message.splitlines()[0] == (
        "t.svm has no groups, so all its columns are one group, as with --method saola; name "
        "them with --groups FILE, or give a folder with one table per group"
    )
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    (tmp_path / "days").mkdir()
    for day in ("a", "b", "c"):
        new = {f"{day}{j}": y + rng.normal(size=200) for j in range(4)}
        table = pd.DataFrame({"id": range(200), **new, "y": y})
        table.to_parquet(tmp_path / "days" / f"{day}.parquet")
    arguments = ("select", "days", "--key", "id", "--target", "y", "--method", "group-saola")
    done = tamis(*arguments, "--out", "run")
    assert done.code == 0
    assert "groups" not in done.err
    assert tamis(*arguments, "--out", "commits", "--checkpoint", "0.0001", "--width", "1").code == 0
    runs = [(tmp_path / name / "selected.csv").read_text() for name in ("run", "commits")]
    assert runs[0] == runs[1]


def test_spouses_and_a_limit_of_tests(tamis, tmp_path) -> None:
    rng = np.random.default_rng(0)
    rain, sprinkler = rng.integers(0, 2, (2, 1000))
    frame = pd.DataFrame({"sprinkler": sprinkler, "wet": rain | sprinkler, "rain": rain})
    frame.to_csv(tmp_path / "lawn.csv", index=False)
    options = ("--target", "rain", "--method", "hiton-pc", "--param", "blanket=full")
    assert tamis("select", "lawn.csv", *options, "--out", "run").code == 0
    assert tamis("why", "run", "sprinkler").out.startswith(
        "sprinkler is kept as a spouse of the class: given wet they are dependent (G2="
    )
    done = tamis("select", "lawn.csv", *options, "--param", "max_tests=1", "--out", "less")
    spent = "stopped at the search for spouses, because all 1 conditional tests (max_tests) were"
    assert f"the selection {spent} made" in done.out
    assert spent.removeprefix("stopped ") in tamis("info", "less").out
    assert tamis("select", "lawn.csv", *options, "--json", "--out", "again").code == 0


def test_a_level_or_measure_that_the_default_lacks_names_another_method(tamis, svm) -> None:
    done = tamis("select", "t.svm", "--out", "run", "--threshold", "0.1")
    assert done.one_sentence() == (
        "the measure of sieve, any_shape, has no threshold; use a method whose measure has one "
        "(--method saola), or leave threshold out"
    )
    done = tamis("select", "t.svm", "--out", "run", "--measure", "fisher_z")
    assert done.one_sentence() == (
        "Sieve works with the measure any_shape only, and not with fisher_z; leave the measure "
        "out, or use a method that takes fisher_z: --method saola, SAOLA() in Python"
    )
    options = ("--method", "saola", "--threshold", "0.1")
    assert tamis("select", "t.svm", "--out", "run", *options).code == 0


def test_a_measure_may_have_parameters(tamis, svm) -> None:
    for out, options in (
        ("a", ["--measure", "fisher-z:statistic=z", "--alpha", "0.02"]),
        ("b", ["--measure", "fisher_z:statistic=z:alpha=0.02"]),
        ("c", ["--measure", "fisher_z", "--param", "statistic=z", "--alpha", "0.02"]),
    ):
        assert tamis("select", "t.svm", "--method", "saola", "--out", out, *options).code == 0
    assert tamis("why", "a", "3").out == tamis("why", "b", "3").out == tamis("why", "c", "3").out
    tamis("select", "t.svm", "--method", "saola", "--out", "d", "--measure", "fisher_z")
    assert " by " in tamis("why", "d", "3").out
    assert " by " not in tamis("why", "a", "3").out
