"""SOFS from svmlight text beside LIBSOL, the library of its authors: CPU seconds of X1.

Set SOL_TRAIN to the path of `sol_train`, which LIBSOL (LIBOL/SOL on GitHub) builds with cmake.
Without it only tamis is timed. The jobs alternate, and the least CPU time of each counts: of tamis
in one process, which has compiled before, and of whole commands, with Python's start.
TAMIS_BENCH_FULL=1 adds a file ten times as long, in fewer rounds.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tamis
from benchmarks import _streams
from benchmarks._harness import Report

ROUNDS, ROUNDS_OF_LONG = 5, 2
ROWS = _streams.X1.rows
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"ROUNDS": 1, "ROWS": 5_000}
KEPT, GAMMA = _streams.X1.informative, 1000.0
#: Target: CPU seconds in process, as a share of those of `sol_train`.
TARGET = 0.6


def busy() -> float:
    """Return the CPU seconds of this process and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def command(*words: Any) -> Callable[[], Any]:
    """Return a job that runs a command."""
    texts = [str(word) for word in words]
    return lambda: subprocess.run(texts, check=True, capture_output=True)


def jobs(text: Path, folder: Path, whole: bool) -> dict[str, Callable[[], Any]]:
    """Return the jobs for a file, by name; the first is that of LIBSOL, if there is one."""
    found: dict[str, Callable[[], Any]] = {}
    peer = os.environ.get("SOL_TRAIN")
    if peer:
        params = f"B={KEPT};r={GAMMA:g}"
        found["sol_train"] = command(peer, "-a", "sofs", "--params", params, text, os.devnull)

    def learned(classes: list[int] | None) -> Any:
        return tamis.SOFS(KEPT, gamma=GAMMA).fit_stream(text, classes=classes)

    found["tamis in process, classes given"] = lambda: learned([-1, 1])
    found["tamis in process"] = lambda: learned(None)
    if whole:
        out = folder / "model"
        learn: tuple[Any, ...] = (
            sys.executable,
            "-m",
            "tamis",
            "learn",
            text,
            "--method",
            "sofs",
            "--force",
        )
        learn += ("-k", KEPT, f"--gamma={GAMMA:g}", "--out", out)
        found["tamis learn --classes=-1,1"] = command(*learn, "--classes=-1,1")
        found["tamis learn"] = command(*learn)
    return found


def timed(found: dict[str, Callable[[], Any]], rounds: int) -> list[dict[str, Any]]:
    """Return a line per job: its least seconds, and their ratio to those of the first job."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in found}
    for _ in range(rounds + 1):
        for name, job in found.items():
            start, before = time.perf_counter(), busy()
            job()
            times[name].append((busy() - before, time.perf_counter() - start))
    first = next(iter(found))
    least = {name: min(cpu for cpu, _ in each[1:]) for name, each in times.items()}
    return [
        {
            "": name, "CPU s": least[name], "wall s": min(wall for _, wall in times[name][1:]),
            f"CPU, of {first}'s": least[name] / least[first],
            "wanted": TARGET if "in process" in name else "",
        }
        for name in found
    ]  # fmt: skip


def main() -> None:
    report = Report("libsol", __doc__)
    with tempfile.TemporaryDirectory(prefix="tamis-bench-") as temporary:
        folder = Path(temporary)
        text = folder / "x1.svm"
        _streams.X1.write_text(text, 0, ROWS)
        title = f"{KEPT} kept, gamma={GAMMA:g}"
        report.table(f"X1, {title}", timed(jobs(text, folder, True), ROUNDS))
        if os.environ.get("TAMIS_BENCH_FULL"):
            long = folder / "long.svm"
            with long.open("wb") as out:
                for _ in range(10):
                    out.write(text.read_bytes())
            lines = timed(jobs(long, folder, True), ROUNDS_OF_LONG)
            report.table(f"Ten times as long, {title}", lines)
    report.save()


if __name__ == "__main__":
    main()
