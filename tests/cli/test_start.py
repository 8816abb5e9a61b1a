"""Commands that only read do not load the numerical libraries."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from tamis.cli.main import COMMANDS

#: Importing them takes more than a second of CPU time.
HEAVY = ("sklearn", "numba", "scipy.stats", "pandas")

#: Runs commands one after the other, and reports which heavy modules were loaded after each.
SCRIPT = """
import contextlib, io, json, sys
from tamis.cli import main
results = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["tamis", *words]
    out, code = io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main.run()
        except SystemExit as stop:
            code = stop.code or 0
    results.append([code, [name for name in HEAVY if name in sys.modules], out.getvalue()])
print(json.dumps(results))
"""


@pytest.fixture
def after(tmp_path):
    """Exit code, heavy modules and output of each command, in one fresh interpreter."""

    def run(*commands: str) -> list[tuple[int, list[str], str]]:
        script = SCRIPT.replace("HEAVY", repr(HEAVY))
        words = json.dumps([command.split() for command in commands])
        done = subprocess.run(
            [sys.executable, "-c", script, words],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [tuple(one) for one in json.loads(done.stdout)]

    return run


@pytest.fixture
def run(tamis, tmp_path):
    """A living run, a run that cannot be fed, and a file to feed."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    table = pd.DataFrame({"Good": y ^ (rng.random(200) < 0.2), "noise": rng.random(200), "y": y})
    table.to_parquet(tmp_path / "t.parquet", index=False)
    for name, method in (("run", "saola"), ("batch", "fcbf:encode=mdlp")):
        arguments = ("--target", "y", "--method", method, "--out", name, "--quiet")
        assert tamis("select", "t.parquet", *arguments).code == 0
    return tmp_path


def test_help_and_typos_are_light(after, tmp_path):
    commands = [f"{command} --help" for command in COMMANDS]
    slips = [
        "nothing", "select", "select t.csv --out r --methd saola",
        "select t.csv --out r --method x", "select t.csv --out r --method saola:bound",
        "learn t.svm --method x", "feed run", "compare --data a", "why run",
        "convert a b --memory much",
    ]  # fmt: skip
    for command, (code, heavy, message) in zip(
        [*commands, *slips], after("--help", *commands, *slips)[1:], strict=True
    ):
        assert heavy == [], command
        assert code == (0 if command in commands else 2), message


def test_commands_about_a_run_are_light(after, run):
    commands = [
        "why run Good", "status run", "status run --json", "log run", "log run --since last",
        "info run", "report run", "report run --format md", "why batch noise", "info batch",
    ]  # fmt: skip
    refused = {
        "why run zzz good": "no feature is called 'zzz' or 'good' among the 2 seen; did you mean "
        "'Good' for 'good'?",
        "drop run zzz": "no feature is called 'zzz' among the 2 seen; the first is called 'Good'",
        "status batch": "batch cannot be fed: fcbf decides when it has seen every column, so",
        "drop batch Good": "batch cannot be fed: fcbf decides when it has seen every column, so",
        "log nowhere": "nowhere is not a selection; make one with tamis select",
        "why nowhere a": "nowhere is not a run folder",
        "report nowhere": "nowhere: there is no such folder",
    }
    for command, (code, heavy, message) in zip(
        [*commands, *refused], after(*commands, *refused), strict=True
    ):
        assert heavy == [], command
        if command in refused:
            assert code == 2
            assert message.startswith(f"tamis: {refused[command]}")
        else:
            assert code == 0, message


def test_the_test_detects_heavy_modules(after, run):
    assert "numba" in after("select t.parquet --target y --out new")[0][1]


#: What the commands below must do without.
UNNEEDED = ("sklearn", "pandas", "scipy.stats")


def test_selecting_learning_and_predicting_need_neither_scikit_learn_nor_pandas(after, run, svm):
    commands = [
        "convert t.svm new.cols", "convert t.svm new.rows", "select t.svm --out a",
        "select t.parquet --target y --out b --encode mdlp", "why b Good", "report b",
        "select t.svm --method fast-osfs --out c", "select t.svm --method mrmr --out d",
        "feed run more.parquet", "learn t.svm -k 5 --out model", "predict model t.svm --out p.csv",
        "report model", "resume a",
    ]  # fmt: skip
    table = pd.read_parquet(run / "t.parquet")
    pd.DataFrame({"new": table["Good"] ^ (table["noise"] < 0.1)}).to_parquet(run / "more.parquet")
    for command, (code, heavy, message) in zip(commands, after(*commands), strict=True):
        assert [name for name in heavy if name in UNNEEDED] == [], command
        assert code == (2 if command == "resume a" else 0), (command, message)


def test_a_plain_selection_imports_only_the_measure_that_it_uses(tmp_path, svm):
    script = (
        "import sys\nfrom tamis.cli.main import cli\n"
        "words = ['select', 't.svm', '--out', 'new', '--quiet']\n"
        "with cli.make_context('tamis', words) as context:\n    cli.invoke(context)\n"
        "print(*sorted(name for name in sys.modules if name.startswith('tamis.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()
    assert "tamis.measures.any_shape" in loaded
    others = {"fisher_z", "g_squared", "mutual_information", "adjusted", "p_values"}
    assert not {f"tamis.measures.{name}" for name in others} & set(loaded)
    kernels = {"contingency", "correlation", "cuts", "exact_tests", "partial", "strata", "walk"}
    assert not {f"tamis.kernels.{name}" for name in kernels} & set(loaded)
