"""`--json`: one document on standard output and nothing else, on every command that prints."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import click
import numpy as np
import pytest

import tamis as library
from tamis.cli.main import COMMANDS, LazyGroup

PAGE = (Path(__file__).parents[2] / "docs" / "programs.md").read_text()


def documented_keys(of: str = "always"):
    """Return the keys that docs/programs.md lists, by command: always there, or "sometimes"."""
    found = {}
    for names, keys in re.findall(
        r"^\| (`.*?) \| (?:object|list).*? \| (.*) \|$", PAGE, re.MULTILINE
    ):
        outside = re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", "", keys)
        for name in re.findall(r"`(\w+)`", names):
            always, _, sometimes = outside.partition("; where they apply also ")
            found[name] = set(re.findall(r"`(\w+)`", {"always": always}.get(of, sometimes)))
    return found


@pytest.fixture
def run(tamis, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 8))
    X[:, 2] += y
    X[:, 5] = X[:, 2] + rng.normal(size=120) / 3
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "more.npy", X[:, :2] + 3 * y[:, None])
    os.mkdir("in")
    os.replace("more.npy", "in/more.npy")
    (tmp_path / "in" / "bad.npy").write_bytes(b"no array")
    assert tamis("select", "x.npy", "--method", "saola", "--out", "run").code == 0
    return tmp_path / "run"


@pytest.mark.parametrize(
    "arguments",
    [
        ("select", "x.npy", "--method", "saola", "--out", "other"),
        ("select", "x.npy", "--method", "saola", "--out", "other", "--checkpoint"),
        ("resume", "begun"),
        ("feed", "run", "in/more.npy"),
        ("watch", "run", "in", "--once", "--settle", "0"),
        ("status", "run"),
        ("info", "run"),
        ("info", "x.npy"),
        ("report", "run"),
        ("convert", "x.npy", "x.cols"),
        ("apply", "run", "x.npy", "--out", "small.csv"),
        ("why", "run", "x2", "x0", "--instead"),
        ("log", "run"),
        ("drop", "run", "x2"),
        ("learn", "x.rows", "-k", "3", "--out", "model"),
        ("predict", "model", "x.rows", "--out", "predictions.csv"),
        ("compare", "--data", "x.npy", "--methods", "saola,all", "--classifiers", "nb", "--cv", "3",
         "--n-jobs", "1", "--out", "results"),
        ("demo", "--columns", "1000"),
    ],
    ids=lambda value: value[0],
)  # fmt: skip
def test_one_document_with_the_documented_keys(tamis, run, arguments):
    if arguments[0] in ("learn", "predict"):
        tamis("convert", "x.npy", "x.rows")
    if arguments[0] == "predict":
        tamis("learn", "x.rows", "-k", "3", "--out", "model")
    if arguments[0] == "resume":
        tamis("select", "x.npy", "--method", "saola", "--out", "begun", "--checkpoint")
    done = tamis(*arguments, "--json")
    assert done.code == (1 if arguments[0] == "watch" else 0), done
    found = json.loads(done.out, parse_constant=pytest.fail)
    keys = documented_keys()[arguments[0]]
    if arguments == ("info", "run"):
        assert {"method", "features", "kept"} <= set(found)
    elif arguments[0] == "info":
        assert keys - {"problems", "suspicious", "command"} <= set(found)
    elif isinstance(found, list):
        assert found
        assert all(set(entry) == keys for entry in found)
    else:
        assert set(found) == keys
    for entry in found.get("feeds", found.get("fed", ())) if isinstance(found, dict) else ():
        assert set(entry) == set(
            re.findall(r"`(\w+)`", PAGE.split("One object of ")[1].split("\n")[0])
        ) - {"feeds", "fed"}


def test_every_command_that_prints_has_the_option():
    context = click.Context(LazyGroup())
    without = [
        name
        for name in COMMANDS
        if "as_json" not in {p.name for p in LazyGroup().get_command(context, name).params}
    ]
    assert without == []
    assert set(documented_keys()) == set(COMMANDS)


def test_why_gives_the_numbers_and_the_sentence(tamis, run):
    first, second = json.loads(tamis("why", "run", "x2", "x0", "--json").out)
    assert first["name"] == "x2"
    assert first["feature"] == 2
    assert first["verdict"] == "kept"
    assert first["relevance"] > first["level"]
    assert first["sentence"].startswith("x2 is kept")
    assert second["verdict"] == "irrelevant"
    assert second["because"] == []
    fallen = json.loads(tamis("why", "run", "x5", "--json").out)[0]
    assert fallen["because"] == ["x2"]


def test_errors_stay_on_standard_error(tamis, run):
    assert "nobody" in tamis("why", "run", "nobody", "--json").one_sentence()
    some = tamis("why", "run", "x2", "nobody", "--json")
    assert some.code == 2
    assert [one["name"] for one in json.loads(some.out)] == ["x2"]
    assert some.err.startswith("tamis: no feature is called 'nobody'")
    assert tamis("select", "nothing.npy", "--out", "r", "--json").one_sentence()
    sentence = tamis("watch", "run", "in", "--json").one_sentence()
    assert sentence == "--json prints one document at the end, so it goes with --once"


def test_status_has_the_documented_keys_where_they_apply(tamis, run):
    asked = ["x.npy", "--method", "saola", "--measure", "fisher_z", "--missing", "delete"]
    tested = ["--fdr", "0.1", "--gate", "bh", "--encode", "equal-width", "--order", "free"]
    checked = ["--stability", "2", "--judge", "--shadows", "1"]
    found = set()
    for options in (tested, checked):
        assert tamis("select", *asked, *options, "--out", "more", "--force").code == 0
        found |= set(json.loads(tamis("status", "more", "--certify", "0.1", "--json").out))
    assert found == documented_keys()["status"] | documented_keys("sometimes")["status"]


def test_parameters_of_a_run_are_values(tamis):
    library.save_run(library.select(rows_of_numbers(), "saola:bound=max", [0, 1] * 20), "run")
    facts = json.loads(tamis("info", "run", "--json").out)
    found = {name: facts[f"parameter {name}"] for name in ("alpha", "bound", "shadows", "measure")}
    assert found == {"alpha": None, "bound": "max", "shadows": 0, "measure": "auto"}
    assert "'max'" in tamis("info", "run").out


def rows_of_numbers():
    return np.random.default_rng(0).normal(size=(40, 3))
