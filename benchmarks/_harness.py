"""Shared by the benchmarks: timing, memory, separate processes, tables, result files."""

from __future__ import annotations

import importlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import _history

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(os.environ.get("TAMIS_BENCH_RESULTS", ROOT / "bench-results"))
#: Exit code of a benchmark that lacks what it needs.
SKIPPED = 77
#: Imported first, so this is about when the process began.
BEGUN = time.perf_counter()

Row = Mapping[str, Any]


class MissingError(Exception):
    """Something that a benchmark needs is not here; the sentence says what."""


def is_short() -> bool:
    """Return whether this is the short form of a benchmark, which `make bench` runs."""
    return bool(os.environ.get("TAMIS_BENCH_SHORT"))


def load(name: str) -> ModuleType:
    """Import a module; in the short form, benchmarks get the constants of their ``SHORT``."""
    module = importlib.import_module(name)
    if is_short():
        package = name.partition(".")[0]
        for one in [vars(sys.modules[key]) for key in sys.modules if key.startswith(f"{package}.")]:
            one.update(one.get("SHORT", {}))
    return module


def call(name: str) -> int:
    """Run a benchmark; return 0, or `SKIPPED` if the last line says what it lacks.

    When it is stopped, processes that it started are, too.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        load(name).main()
    except MissingError as error:
        print(f"skipped: {error}", flush=True)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "tamis", "benchmarks"):
            raise
        print(f"skipped: it needs the package {package}, which is not installed", flush=True)
    except KeyboardInterrupt:
        return 130
    else:
        return 0
    return SKIPPED


def best_of(rounds: int, *jobs: Callable[[], object]) -> list[float]:
    """Return the best seconds of each job; jobs alternate, so that a busy moment affects all.

    A first round, not timed, compiles, fills caches and touches memory.
    """
    seconds: list[list[float]] = [[] for _ in jobs]
    for round_ in range(rounds + 1):
        for job, times in zip(jobs, seconds, strict=True):
            start = time.perf_counter()
            job()
            if round_:
                times.append(time.perf_counter() - start)
    return [min(times) for times in seconds]


def clear_peak() -> None:
    """Reset the peak memory to the current memory, where the system can (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_megabytes() -> float:
    """Return the peak memory of this process so far; NaN where the system does not report it.

    Not ru_maxrss, which a new process inherits from the one that started it.
    """
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))
    except OSError:
        return float("nan")


def in_own_process(module: str, function: str, *arguments: Any) -> Any:
    """Call ``module.function(*arguments)`` in a new process, to measure its memory separately.

    Arguments and result are passed as JSON.
    """
    code = (
        "import json, sys\n"
        "from benchmarks._harness import load\n"
        "module, function, arguments = sys.argv[1:]\n"
        "call = getattr(load(module), function)\n"
        "print(json.dumps(call(*json.loads(arguments))))\n"
    )
    command = [sys.executable, "-c", code, module, function, json.dumps(arguments)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def table(rows: Sequence[Row]) -> str:
    """Return rows as an aligned Markdown table; numbers are right-aligned."""
    heads = list(rows[0])
    cells = [[_cell(row.get(head, "")) for head in heads] for row in rows]
    numeric = [not isinstance(rows[0][head], str) for head in heads]
    widths = [max(3, len(head), *(len(line[i]) for line in cells)) for i, head in enumerate(heads)]

    def line(texts: Sequence[str]) -> str:
        padded = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(texts, widths, numeric, strict=True)
        ]
        return "| " + " | ".join(padded) + " |"

    rule = [
        "-" * (width - right) + ":" * right for width, right in zip(widths, numeric, strict=True)
    ]
    return "\n".join([line(heads), line(rule), *map(line, cells)])


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)


class Report:
    """Print tables as they are added, and write them as Markdown and JSON at the end."""

    def __init__(self, name: str, description: str, folder: Path = RESULTS) -> None:
        self.name = name
        self._folder = folder
        self._description = description.splitlines()[0]
        self._markdown = [f"# {name}", "", self._description]
        self._tables: dict[str, Sequence[Row]] = {}
        self._notes: list[str] = []
        print(f"\n# {name}\n\n{self._description}", flush=True)
        self.note(f"load average before: {_load()}")

    def table(self, title: str, rows: Sequence[Row]) -> None:
        """Print and record a table."""
        self._tables[title] = rows
        self._emit(f"\n## {title}\n\n{table(rows)}")

    def note(self, sentence: str) -> None:
        """Print and record a sentence."""
        self._notes.append(sentence)
        self._emit(f"\n{sentence}")

    def save(self) -> Path:
        """Write NAME.md and NAME.json (NAME-short of the short form); return the first path."""
        self.note(f"load average after: {_load()}")
        self._folder.mkdir(parents=True, exist_ok=True)
        content = {
            "name": self.name,
            "short": is_short(),
            "description": self._description,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(time.perf_counter() - BEGUN, 1),
            "cpu": round(sum(os.times()[:4]), 1),
            "machine": _machine(),
            "tables": self._tables,
            "notes": self._notes,
        }
        stem = f"{self.name}-short" if is_short() else self.name
        (self._folder / f"{stem}.json").write_text(json.dumps(content, indent=1) + "\n")
        _history.append(self._folder, content)
        path = self._folder / f"{stem}.md"
        path.write_text("\n".join(self._markdown) + "\n", encoding="utf-8")
        return path

    def _emit(self, text: str) -> None:
        self._markdown.append(text)
        print(text, flush=True)


def _load() -> str:
    if not hasattr(os, "getloadavg"):
        return "unknown"
    return f"{os.getloadavg()[0]:.2f} on {os.cpu_count()} cores"


def _machine() -> dict[str, str]:
    packages = ("numpy", "scipy", "numba", "scikit-learn")
    return {"platform": platform.platform(), "python": platform.python_version()} | {
        package: version(package) for package in packages
    }
