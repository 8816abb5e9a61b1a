"""Ctrl-C: exit code 130, no traceback, and no partial output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from tamis.cli import main
from tamis.core import interrupts
from tamis.engine.runs import save_run
from tamis.engine.selecting import select
from tamis.sources.stores.column_store import ColumnStore
from waiting import PATIENCE, wait_until

#: Too little to hold the columns of the file in memory.
ON_DISK = ("--memory", "200MB")


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A file that takes a second to parse, and many columns to select from."""
    folder = tmp_path_factory.mktemp("big")
    rng = np.random.default_rng(0)
    rows = []
    for k in range(400):
        indices = np.unique(rng.integers(1, 1_000_000, 4000))
        rows.append(f"{k % 2} " + ":0.5 ".join(map(str, indices.tolist())) + ":0.5\n")
    (folder / "big.svm").write_text("".join(rows))
    return folder / "big.svm"


def start(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "tamis", *map(str, arguments)],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def stopped(program):
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=PATIENCE)
    assert program.returncode == 130, err
    assert out == ""
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("tamis: stopped; only what earlier steps had")


def test_ctrl_c_during_conversion_to_columns_leaves_nothing(big, tmp_path):
    program = start(tmp_path, "select", big, "--out", "run", *ON_DISK)
    wait_until(lambda: any(name.startswith(".big") for name in os.listdir(tmp_path)), program)
    stopped(program)
    assert os.listdir(tmp_path) == []


LOST = """
import signal, sys, threading, time, weakref
from tamis.cli import main

class Slowly(threading.Timer):
    def start(self):  # a busy machine: the repeated Ctrl-C comes before this ends
        super().start()
        if slow:
            slow.pop()
            time.sleep(0.2)

slow, threading.Timer = [1] * int(sys.argv.pop()), Slowly

class Thing:
    pass

def command(*_):
    thing = Thing()
    lost = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing  # calls the callback, and Python goes on after its error
    while True:
        pass

main.cli.invoke = command
main.run()
"""


@pytest.mark.parametrize("late", [0, 1, 2])
def test_ctrl_c_during_a_callback_of_python_is_not_lost(late):
    done = subprocess.run(
        [sys.executable, "-c", LOST, "info", str(late)],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    assert done.stderr.startswith("tamis: stopped; only what earlier steps had")


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_ctrl_c_while_features_are_selected_leaves_the_store_and_the_run_before(big, tmp_path):
    rng = np.random.default_rng(0)
    save_run(select(rng.normal(size=(50, 5)), "saola", np.arange(50) % 2), tmp_path / "run")
    before = contents(tmp_path / "run")
    cache = tmp_path / "big.svm.cols"
    # one column per block: slow enough to be interrupted midway
    program = start(tmp_path, "select", big, "--out", "run", "--force", "--width", "1", *ON_DISK)
    wait_until(cache.exists, program)
    time.sleep(0.4)
    stopped(program)
    assert sorted(os.listdir(tmp_path)) == ["big.svm.cols", "run"]
    ColumnStore(cache).verify()
    assert contents(tmp_path / "run") == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_stops_a_run_with_checkpoint_names_the_command_that_resumes(tmp_path, number, code):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", rng.normal(size=(200, 60_000)).astype(np.float32))
    np.save(tmp_path / "x.y.npy", np.arange(200) % 2)
    options = ("--width", "1", "--checkpoint", "0.1")
    program = start(tmp_path, "select", "x.npy", "--out", "my run", *options)
    wait_until(lambda: (tmp_path / "my run" / "state.sqlite").exists(), program)
    time.sleep(0.4)
    program.send_signal(number)
    _, err = program.communicate(timeout=PATIENCE)
    assert program.returncode == code, err
    assert err.splitlines()[-1] == (
        "tamis: stopped; the decisions until a moment ago are saved in my run; resume it with: "
        "tamis resume 'my run'"
    )
    assert not (tmp_path / "my run" / "selected.csv").exists()
    told = subprocess.run(
        [sys.executable, "-m", "tamis", "info", "my run"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    first = told.stdout.splitlines()[0]
    assert first.startswith("unfinished"), told.stdout
    assert first.endswith("resume it with: tamis resume 'my run'")


@pytest.mark.parametrize("error", [RuntimeError("release unlocked lock"), KeyError("other")])
def test_a_thread_that_ctrl_c_stopped_at_its_start_says_nothing(monkeypatch, error):
    shown, thread, done = [], threading.Thread(target=print), threading.Event()

    class Started(threading.Event):
        def set(self):  # what the new thread calls first, while the other one waits for it
            super().set()
            raise error

    def hook(lost):
        main._repeat_interrupt(lost)
        done.set()

    thread._started = Started()
    monkeypatch.setattr(sys, "__unraisablehook__", lambda lost: shown.append(lost.exc_value))
    monkeypatch.setattr(sys, "unraisablehook", hook)
    thread.start()
    assert done.wait(PATIENCE)
    threading._limbo.pop(thread, None)  # as if it had never been started
    assert len(shown) == (0 if isinstance(error, RuntimeError) else 1)


@pytest.fixture
def fresh(monkeypatch):
    """SIGTERM has not come yet; its handler is restored afterwards."""
    monkeypatch.setattr(interrupts, "_came", threading.Event())
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("ctrl_c", [signal.default_int_handler, signal.SIG_IGN])
def test_sigterm_is_as_ctrl_c_also_for_background_jobs(fresh, ctrl_c):
    interrupts.handle_termination()
    old, came = signal.signal(signal.SIGINT, ctrl_c), []
    try:
        with interrupts.handled_by(lambda number, frame: came.append(number)):
            signal.raise_signal(signal.SIGTERM)
        assert (came, interrupts.was_terminated()) == ([signal.SIGINT], True)
        signal.raise_signal(signal.SIGTERM)  # once is enough
        with pytest.raises(KeyboardInterrupt):
            lost_and_repeated()
    finally:
        signal.signal(signal.SIGINT, old)


def lost_and_repeated():
    interrupts.repeat()
    time.sleep(PATIENCE)


def test_sigterm_that_somebody_else_handles_is_left_alone(fresh):
    signal.signal(signal.SIGTERM, print)
    interrupts.handle_termination()
    assert signal.getsignal(signal.SIGTERM) is print
