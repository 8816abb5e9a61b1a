"""Commands that are disturbed while they run, each in a forked child of a warmed-up process.

A job has a folder of input, a command, and a function that reads the output of the command.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import tamis
from soak.damaged_files import LIMIT, Patience
from soak.data_files import svmlight_text
from soak.own_files import run_of
from soak.reader import content, differ
from tamis.engine.runs import open_run


@dataclass(frozen=True)
class Job:
    """A command, the name of what it writes, and a function that reads that."""

    command: tuple[str, ...]
    output: str
    read: Callable[[Path], Any]
    #: A command that continues if this one was stopped, so that the output may be unfinished.
    resume: tuple[str, ...] = ()
    #: What the command may leave beside the output if it is stopped, to continue from.
    leaves: str = ""


def _log(path: Path) -> Any:
    return run_of(open_run(path))


def _store(path: Path) -> Any:
    source = tamis.open(path)
    source.verify()
    return content(*source.load())


def _model(path: Path) -> Any:
    model = tamis.open_model(path)
    return {"kept": model.kept_, "weights": model.weights_}


TABLE = ("t.csv", "--target", "y", "--force")
JOBS = {
    "select": Job(("select", *TABLE, "--out", "out"), "out", _log),
    "free order": Job(
        ("select", *TABLE, "--out", "free", "--method", "saola", "--order", "free", "--shadows",
         "2"), "free", _log,
    ),
    "judge": Job(
        ("select", *TABLE, "--out", "judged", "--judge", "--stability", "3", "--checkpoint",
         "0.001", "--width", "3"), "judged", _log, resume=("resume", "judged", "--data", "t.csv"),
    ),
    "feed": Job(("feed", "selection", "new.csv"), "selection", _log),
    "apply": Job(("apply", "chosen", "t.csv", "--out", "small.cols", "--force"), "small.cols",
                 _store),
    "learn": Job(("learn", "t.svm", "--out", "model", "-k", "5", "--force"), "model", _model),
    "learn again": Job(
        ("learn", "t.svm", "--out", "passes", "-k", "5", "--passes", "3", "--shuffle", "100",
         "--checkpoint", "0.001", "--force"), "passes", _model, leaves="passes.checkpoint",
    ),
    "cols": Job(("convert", "t.svm", "t.cols", "--force"), "t.cols", _store),
    "rows": Job(("convert", "t.svm", "t.rows", "--force"), "t.rows", _store),
}  # fmt: skip


def make_input(folder: Path, rng: Random) -> None:
    """Write the input of all jobs, and an older output for each, which they replace."""
    folder.mkdir()
    columns = {"y": [k % 2 for k in range(22)]}
    for j in range(30):
        columns[f"c{j}"] = [rng.gauss(k % 2 if j % 4 == 0 else 0, 1) for k in range(22)]
    first = {"y": columns["y"], **{f"old{j}": columns[f"c{j}"] for j in range(3)}}
    _csv(folder / "t.csv", columns)
    _csv(folder / "new.csv", {name: values for name, values in columns.items() if name != "y"})
    (folder / "t.svm").write_bytes(svmlight_text(rng) * 40)
    (folder / "s.svm").write_bytes(svmlight_text(rng))
    _csv(folder / "s.csv", first)
    for command in (
        ("select", "s.csv", "--target", "y", "--out", "out"),
        ("select", "s.csv", "--target", "y", "--out", "selection", "--method", "saola"),
        ("select", "s.csv", "--target", "y", "--out", "free"),
        ("select", "s.csv", "--target", "y", "--out", "judged"),
        ("select", "t.csv", "--target", "y", "--keep", "c1", "--out", "chosen"),
        ("convert", "s.svm", "small.cols"),
        ("learn", "s.svm", "--out", "model", "-k", "3"),
        ("learn", "s.svm", "--out", "passes", "-k", "3"),
        ("convert", "s.svm", "t.cols"),
        ("convert", "s.svm", "t.rows"),
    ):
        ended = run(folder, command)
        assert ended.code == 0, ended


def _csv(path: Path, columns: dict[str, list[Any]]) -> None:
    rows = [
        ",".join(columns),
        *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    path.write_text("\n".join(rows) + "\n")


# --- a child ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code (negative for a signal), what it printed, and the time."""

    code: int
    output: str
    seconds: float


def run(
    folder: Path,
    command: tuple[str, ...],
    prepare: Callable[[], object] = lambda: None,
    disturb: Callable[[int], object] = lambda child: None,
) -> Ended:
    """Run a command in a forked child; `prepare` runs in the child, `disturb` in the parent."""
    read, write = os.pipe()  # not a file, which could not be written on a full disk
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.chdir(folder)
            os.dup2(write, 1)
            os.dup2(write, 2)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
            code = _command(command, prepare)
        except (KeyboardInterrupt, FileNotFoundError):  # before or after the command
            code = 71
        finally:
            os._exit(code)
    os.close(write)
    disturb(child)
    code = exit_code(child)
    with os.fdopen(read, "rb") as file:
        text = file.read().decode(errors="replace")
    seconds = time.monotonic() - begun
    return Ended(72, "it hangs", seconds) if code is None else Ended(code, text, seconds)


def exit_code(child: int) -> int | None:
    """Wait for a forked child and return its exit code; kill it and return None if it hangs."""
    patience = Patience(LIMIT)
    while patience.left() > 0:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _command(command: tuple[str, ...], prepare: Callable[[], object]) -> int:
    from tamis.cli import main

    sys.argv = ["tamis", *command]
    try:
        prepare()
        main.run()
    except SystemExit as stop:
        return int(stop.code or 0)
    except Exception:
        import traceback

        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def warm_up(folder: Path, command: tuple[str, ...]) -> None:
    """Run a command in this process, so that children need not import or compile anything."""
    here = os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = _command(command, lambda: None)
    finally:
        os.chdir(here)
    assert code == 0, command


def on_file_event(folder: Path, act: Callable[[int], object]) -> Callable[[], None]:
    """Return a `prepare` that calls `act(n)` before the n-th change of a file below a folder."""

    def prepare() -> None:
        count, here, sync = 0, str(folder), os.fsync

        def happens() -> None:
            nonlocal count
            count += 1
            act(count)

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
            changes = event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")
            if writes or changes:
                path = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes) else here
                if os.path.abspath(path).startswith(here):
                    happens()

        def synced(handle: int) -> None:
            happens()
            sync(handle)

        os.fsync = synced
        sys.addaudithook(hook)

    return prepare


class Bench:
    """Copies of the input, and the output of each job if it is not disturbed."""

    def __init__(self, folder: Path, rng: Random) -> None:
        self.folder, self.rng = folder, rng
        self.input = folder / "input"
        make_input(self.input, rng)
        self.before: dict[str, Any] = {}
        self.after: dict[str, Any] = {}
        self.listed: dict[str, list[str]] = {}
        self.seconds: dict[str, float] = {}
        self.events: dict[str, int] = {}
        for job in JOBS.values():
            warm_up(self.fresh(), job.command)
        for name, job in JOBS.items():
            self.before[name] = job.read(self.input / job.output)
            place, counted = self.fresh(), folder / "events"
            write = on_file_event(place, lambda n, file=counted: file.write_bytes(str(n).encode()))
            ended = run(place, job.command, write)
            assert ended.code == 0, ended
            self.events[name] = int(counted.read_bytes())
            self.seconds[name] = run(self.fresh(), job.command).seconds
            self.after[name] = job.read(place / job.output)
            self.listed[name] = sorted(os.listdir(place))

    def fresh(self, name: str = "work") -> Path:
        """Return a new copy of the input."""
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.input, place)
        return place


def same(a: Any, b: Any) -> bool:
    """Return True if two outputs are the same."""
    return differ(a, b) is None and differ(b, a) is None
