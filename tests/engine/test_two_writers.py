"""Two processes that write to one folder: the result is that of one, whole, or one is refused.

The second writer is a thread that runs at a chosen moment of the first: locks belong to threads.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tamis.cli.select
from command_line import CommandLine
from tamis import Selection
from tamis.checks.data import assert_same_log
from tamis.core.errors import OutputError
from tamis.core.writers import LOCK, only_writer
from tamis.engine.persistent import resuming
from tamis.engine.persistent.selection_state import SelectionState
from tamis.engine.runs import open_run

COMMAND = (
    "select", "t.csv", "--target", "y", "--out", "run", "--force", "--quiet", "--checkpoint",
    "0.000001", "--width", "3",
)  # fmt: skip
FIRST = (*COMMAND, "--judge", "--stability", "1")
SECOND = (*COMMAND, "--method", "saola", "--stability", "2")


@pytest.fixture
def tamis_here(tmp_path, capsys, monkeypatch):
    rng = np.random.default_rng(3)
    y = np.arange(60) % 2
    columns = {f"c{j}": rng.normal(size=60) + y * (j % 4 == 0) for j in range(12)}
    pd.DataFrame({"y": y, **columns}).to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return CommandLine(capsys, monkeypatch)


def in_thread(act):
    """Run something in a thread, to its end; return its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(act()))
    thread.start()
    thread.join()
    return results[0]


def once(monkeypatch, owner, name, act, *, after=False):
    """Call `act` once, before or after the first call of a function."""
    inner, results = getattr(owner, name), []
    acts = [act]

    def outer(*arguments, **more):
        now = acts.pop() if acts else None  # before it runs, since it may call this too
        if now is not None and not after:
            results.append(now())
        found = inner(*arguments, **more)
        if now is not None and after:
            results.append(now())
        return found

    monkeypatch.setattr(owner, name, outer)
    return results


def test_a_run_that_is_replaced_before_it_went_on_ends(tamis_here, monkeypatch):
    """Its folds were written to the run of the other process."""
    assert tamis_here(*SECOND, "--out", "expected").code == 0
    second = once(
        monkeypatch, resuming, "begin", lambda: in_thread(lambda: tamis_here(*SECOND)), after=True
    )
    first = tamis_here(*FIRST)
    assert [one.code for one in second] == [0]
    assert first.one_sentence() == (
        "run was replaced or changed by another process, so this one ended and wrote nothing more "
        "to it; give each process a folder of its own"
    )
    assert_whole("run", "expected")


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (resuming, "resume"),
        (SelectionState, "commit"),  # of the first columns
        (tamis.cli.select, "finished"),  # between the columns and the repeats
        (SelectionState, "note_repeated"),
        (SelectionState, "end_repeats"),
    ],
)
def test_a_run_is_not_replaced_before_its_end(owner, name, tamis_here, monkeypatch):
    assert tamis_here(*FIRST, "--out", "expected").code == 0
    outcomes = []

    def writers():
        outcomes.append(in_thread(lambda: tamis_here(*SECOND)))
        outcomes.append(in_thread(lambda: tamis_here("resume", "run", "--quiet")))

    def interrupt():
        once(monkeypatch, owner, name, writers)

    if owner is SelectionState:  # not while the folder is made
        once(monkeypatch, resuming, "resume", interrupt)
    else:
        interrupt()
    assert tamis_here(*FIRST).code == 0
    for outcome in outcomes:
        assert outcome.one_sentence() == (
            "another process is writing to run; wait until it has ended"
        )
    assert len(outcomes) == 2
    assert_whole("run", "expected")


def assert_whole(folder, expected):
    """A finished run with the log and the repeats of another one."""
    found, wanted = open_run(folder), open_run(expected)
    assert_same_log(found.log, wanted.log, "of one writer")
    assert found.trust == wanted.trust
    assert found.method == wanted.method
    saved, other = Selection.open(folder), Selection.open(expected)
    assert not saved.status()["must_be_resumed"]
    assert [line["action"] for line in saved.history] == [line["action"] for line in other.history]


def test_a_state_is_not_written_to_another_folder(tmp_path):
    """Also if something that takes no lock replaced it, and with as many commits."""
    columns = pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20.0) % 7})
    selection = Selection.create(tmp_path / "run", np.arange(20) % 2, "saola")
    Selection.create(tmp_path / "other", np.arange(20) % 2, "saola")
    state = selection._state
    os.rename(tmp_path / "run", tmp_path / "moved")
    os.rename(tmp_path / "other", tmp_path / "run")
    before = (tmp_path / "run" / "state.sqlite").read_bytes()
    for write in (
        lambda: state.note_repeated("judge", 0, {}),
        lambda: state.commit({"action": "feed"}),
    ):
        with pytest.raises(OutputError, match="run was replaced or changed by another process"):
            write()
    assert (tmp_path / "run" / "state.sqlite").read_bytes() == before
    assert selection.feed(columns).taken == 2  # which reads what is there now
    assert len(Selection.open(tmp_path / "moved").run.log) == 0


@pytest.mark.skipif(os.name == "nt", reason="Windows does not replace a folder that is in use")
def test_who_waits_for_a_folder_that_is_replaced_writes_to_the_new_one(tmp_path):
    folder, fed = tmp_path / "run", []
    waits, holds, goes = threading.Event(), threading.Event(), threading.Event()
    columns = pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20.0) % 7})
    selection = Selection.create(folder, np.arange(20) % 2, "saola")

    def feed():
        with only_writer(folder, say=lambda sentence: waits.set()):
            holds.set()
            assert goes.wait(60)
            fed.append(selection.feed(columns).taken)

    thread = threading.Thread(target=feed)
    with only_writer(folder):
        thread.start()
        assert waits.wait(60)
        Selection.create(folder, np.arange(20) % 2, "sieve", force=True)
    assert holds.wait(60)
    with (
        pytest.raises(OutputError, match="another process is writing"),
        only_writer(folder, wait=False),
    ):
        pass
    goes.set()
    thread.join()
    assert fed == [2]
    found = Selection.open(folder)
    assert found.run.method.lower() == "sieve"
    assert len(found.run.log) == 2


def test_a_folder_with_a_damaged_lock_is_replaced(tmp_path):
    folder = tmp_path / "run"
    Selection.create(folder, np.arange(20) % 2, "saola")
    Path(folder, LOCK).write_bytes(b"not a database" * 100)
    Selection.create(folder, np.arange(20) % 2, "sieve", force=True)
    assert Selection.open(folder).run.method.lower() == "sieve"
