"""Progress: a bar with rate and time left on a terminal, plain lines otherwise, or nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numba
import pytest

from tamis.cli import output as module
from tamis.cli.output import COMPILING, progress, short
from waiting import PATIENCE

pty = pytest.importorskip("pty")

SHOW = """
import time
from tamis.cli.output import progress
with progress() as report:
    for k in range(6):
        report("reading [rows]", k * 1_000_000, 5_000_000)
        time.sleep(0.12)
    print("done")
"""


def on_a_terminal(code: str, **environment: str) -> str:
    """What a program writes to a terminal, escapes and all."""
    main, side = pty.openpty()
    env = os.environ | {"TERM": "xterm", "COLUMNS": "120"} | environment
    program = subprocess.Popen(
        [sys.executable, "-c", code], stdin=side, stdout=side, stderr=side, env=env
    )
    os.close(side)
    seen = b""
    try:
        while piece := os.read(main, 1 << 16):
            seen += piece
    except OSError:  # the other side is closed
        pass
    os.close(main)
    assert program.wait(timeout=PATIENCE) == 0
    return seen.decode()


def test_a_terminal_shows_a_bar_with_rate_and_time_left():
    seen = on_a_terminal(SHOW)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    assert "reading [rows]" in plain  # brackets are no markup
    assert "━" in plain
    assert re.search(r"\d+%", plain)
    assert re.search(r"[\d.]+M/s", plain)
    assert re.search(r"\d\d:\d\d", plain)
    assert "done" in plain
    assert "\x1b[2K" in seen.rpartition("━")[2]  # the bar is erased at the end


def test_a_terminal_that_can_only_print_gets_plain_lines():
    code = "from tamis.cli import output as p\np.PLAIN_EVERY = 0.0" + SHOW
    seen = on_a_terminal(code, TERM="dumb")
    assert "\x1b" not in seen
    assert re.search(r"reading \[rows\]: 3M of 5M \(60%\), \d+ s left, [\d.]+M/s", seen)


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    now = [100.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def wait(seconds: float) -> None:
        now[0] += seconds

    return wait


def test_without_a_terminal_a_plain_line_is_printed_every_few_seconds(clock, capsys):
    with progress() as report:
        for k in range(13):
            report("reading rows", k * 1000, 12_000)
            clock(1)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "reading rows: 5k of 12k (42%), 7 s left, 1k/s",
        "reading rows: 10k of 12k (83%), 2 s left, 1k/s",
        "reading rows: 12k of 12k (100%), 0 s left, 1k/s",
    ]


def test_short_work_prints_nothing(clock, capsys):
    with progress() as report:
        for k in range(5):
            report("reading rows", k, 4)
    assert capsys.readouterr().err == ""


def test_without_a_known_total_the_time_left_is_omitted(clock, capsys):
    with progress() as report:
        report("reading rows", 0, None)
        clock(10)
        report("reading rows", 25, None)
    assert capsys.readouterr().err == "reading rows: 25, 2.5/s\n"


def test_stages_are_timed_separately(clock, capsys):
    with progress() as report:
        report("reading", 0, 100)
        clock(6)
        report("reading", 50, 100)
        report("sorting", 0, 100)
        clock(5)
        report("sorting", 10, 100)
    assert capsys.readouterr().err.splitlines() == [
        "reading: 50 of 100 (50%), 6 s left, 8.33/s",
        "sorting: 10 of 100 (10%), 45 s left, 2/s",
    ]


def test_quiet_prints_nothing(clock, capsys):
    with progress(quiet=True) as report:
        report("reading rows", 0, 100)
        clock(60)
        report("reading rows", 100, 100)
    assert capsys.readouterr().err == ""


def test_compiling_is_reported_once_while_progress_is_shown_and_not_later(capsys):
    with progress():
        numba.njit(lambda x: x + 1)(1)
        numba.njit(lambda x: x + 2)(1)
    assert capsys.readouterr().err == f"{COMPILING}\n"
    numba.njit(lambda x: x + 3)(1)
    with progress(quiet=True):
        numba.njit(lambda x: x + 4)(1)
    assert capsys.readouterr().err == ""


def test_a_line_that_cannot_be_written_does_not_stop_the_run(clock, monkeypatch):
    class Gone:
        def isatty(self):
            return False

        def write(self, _):
            raise BrokenPipeError

        def flush(self):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Gone())
    with progress() as report:
        report("reading rows", 0, 100)
        clock(60)
        report("reading rows", 50, 100)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"), (0.5, "0.5"), (7, "7"), (950, "950"), (999.4, "999"), (999.6, "1k"),
        (1000, "1k"), (1234, "1.23k"), (99_950, "100k"), (999_499, "999k"), (999_999, "1M"),
        (34_796_249, "34.8M"), (999_999_999, "1G"), (5e12, "5000G"), (1.5e15, "1500000G"),
    ],
)  # fmt: skip
def test_short_numbers_have_three_digits_and_a_letter(number, text):
    assert short(number) == text
