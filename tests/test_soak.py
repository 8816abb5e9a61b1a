"""A short slice of `make soak`, always the same one; and the soak notices what it looks for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from soak import damaged_files, mutate, worker  # noqa: E402
from soak.damaged_files import FAILURES, Worker  # noqa: E402
from soak.reader import Reader  # noqa: E402
from soak.readers import READERS  # noqa: E402

from tamis.core.errors import SourceError  # noqa: E402
from waiting import PATIENCE  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals, forks and /proc")


def test_damaged_files_of_every_kind(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(damaged_files, "LIMIT", PATIENCE)
    child, found = Worker(tmp_path, seed=1), {}
    try:
        for name in READERS:
            for case in range(3):
                outcome, detail, _ = child.try_case(name, case)
                if outcome in FAILURES:
                    found[name, case] = f"{outcome}: {detail}"
    finally:
        child.close()
    assert found == {}


@pytest.mark.filterwarnings("ignore")  # as in the worker
@pytest.mark.parametrize("name", READERS)
def test_whole_files_are_the_same_for_both_readers(tmp_path, monkeypatch, name):
    """Else a peer that refuses everything would never differ."""
    monkeypatch.setattr(READERS[name], "damage", lambda path, rng: "nothing")
    found: dict[str, set[str]] = {}
    for case in range(12):
        where = tmp_path / f"case-{case}"
        outcome, _ = worker.attempt(
            READERS[name], tmp_path, where, ("1", str(case)), lambda **_: None
        )
        made = next(path for path in sorted(where.iterdir()) if path.name.startswith("a"))
        found.setdefault(made.suffix, set()).add(outcome)
    assert all("same" in outcomes for outcomes in found.values()), found
    assert not any("only tamis reads it" in outcomes for outcomes in found.values()), found


@pytest.mark.parametrize("part", ["kill -9", "interrupts"])
def test_commands_that_are_disturbed(part):
    done = subprocess.run(
        [sys.executable, "-m", "soak", part, "--json", "--cases", "5", "--seed", "1"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout.splitlines()[-1])
    assert outcomes["failures"] == []
    assert sum(outcomes["counts"].values()) == 5


# --- it notices ----------------------------------------------------------------------------------


class Fake(Reader):
    """A reader that does what a test asks for."""

    name = "fake"
    is_data = False

    def __init__(self, ours, theirs=None):
        self._ours, self._theirs = ours, theirs

    def make(self, folder, rng):
        (folder / "a.bin").write_bytes(b"abc" * 10)
        return folder / "a.bin"

    def read(self, path):
        return self._ours()

    def peer(self, path, original):
        return self._theirs


def refuse():
    raise SourceError("it is damaged; write it again")


def refuse_in_lines():
    raise SourceError("it is damaged;\nwrite it again")


@pytest.mark.parametrize(
    ("ours", "theirs", "outcome"),
    [
        (refuse, None, "refused"),
        (refuse_in_lines, None, "traceback"),
        (lambda: 1 / 0, None, "traceback"),
        (lambda: {"X": np.eye(2)}, None, "read"),
        (lambda: {"X": np.eye(2)}, {"X": np.eye(2)}, "same"),
        (lambda: {"X": np.eye(2)}, {"X": np.eye(2) * 1.0000000001}, "different"),
        (lambda: {"X": np.eye(2)}, {"X": np.eye(3)}, "different"),
        (lambda: {"y": np.array([2**60])}, {"y": np.array([2**60 + 1])}, "different"),
        (lambda: {"y": None}, {"y": np.zeros(2)}, "different"),
    ],
)
def test_outcomes(tmp_path, ours, theirs, outcome):
    found, _ = worker.attempt(
        Fake(ours, theirs), tmp_path, tmp_path / "case", ("1", "0"), lambda **_: None
    )
    assert found == outcome


def test_a_case_can_be_repeated_alone(tmp_path, monkeypatch, capsys):
    from soak import __main__ as soak

    child = Worker(tmp_path, seed=1)
    try:
        outcome, detail, _ = child.try_case("CSV", 3)
    finally:
        child.close()
    monkeypatch.setattr(soak.tempfile, "mkdtemp", lambda prefix: str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["soak", "CSV", "--seed", "1", "--case", "3"])
    assert soak.main() == 0
    case = tmp_path / "case"
    assert capsys.readouterr().out.endswith(f"{outcome}: {detail}\nthe file is in {case}\n")
    assert case.is_dir()


@pytest.mark.parametrize("part", [["kill -9"], ["CSV", "svmlight"], []])
def test_only_damaged_files_can_be_repeated(monkeypatch, capsys, part):
    from soak import __main__ as soak

    monkeypatch.setattr(sys, "argv", ["soak", *part, "--case", "3"])
    with pytest.raises(SystemExit):
        soak.main()
    assert "--case needs one part with damaged files" in capsys.readouterr().err


CHILDREN = {
    "crash": "import os; os.abort()",
    "hang": "import time; time.sleep(1000)",
    "only tamis reads it": 'print(\'{"phase": "peer", "detail": ""}\', flush=True)',
}


@pytest.mark.parametrize("outcome", CHILDREN)
def test_crashes_and_hangs_are_noticed(tmp_path, monkeypatch, outcome):
    monkeypatch.setattr(damaged_files, "LIMIT", 2.0 if outcome == "hang" else 1000.0)
    child = Worker(tmp_path, seed=1)
    child._command = [sys.executable, "-c", f"input(); {CHILDREN[outcome]}"]
    assert child.try_case("svmlight", 1)[0] == outcome


def test_a_stop_of_the_soak_is_not_a_hang(monkeypatch):
    now = iter([0.0, 0.5, 300.5, 301.0])
    monkeypatch.setattr(damaged_files.time, "monotonic", lambda: next(now))
    patience = damaged_files.Patience(3.0)
    assert [patience.left() for _ in range(3)] == [2.5, 0.5, 0.0]


def test_damage_is_the_same_for_the_same_seed(tmp_path):
    from random import Random

    made = []
    for name in ("a", "b"):
        path = tmp_path / name / "x.svm"
        path.parent.mkdir()
        path.write_bytes(b"1 1:2 3:4\n0 2:1\n" * 5)
        made.append((mutate.damage(path, Random(3)), path.read_bytes()))
    assert made[0] == made[1]
    assert made[0][1] != b"1 1:2 3:4\n0 2:1\n" * 5
