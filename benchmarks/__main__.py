"""Run all benchmarks in their short form, or those named on the command line in full.

A benchmark is a module of this folder with a ``main()``; the first line of its docstring describes
it. Its short form has the constants of its ``SHORT`` and no others. New files are found
automatically. Each runs in a process of its own, so that one that fails or takes too long does not
stop the others.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks._harness import RESULTS, ROOT, SKIPPED
from benchmarks._history import write_page

FOLDER = Path(__file__).parent
#: Seconds after which a short form is stopped; they take less than a minute.
LIMIT = 300
#: Seconds of a benchmark that never ran here, if nothing did.
USUAL = 30.0


def discover(folder: Path = FOLDER) -> dict[str, str]:
    """Return the name and description of every benchmark, without importing them."""
    found = {}
    for path in sorted(folder.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        has_main = any(
            isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body
        )
        if has_main and not path.name.startswith("_"):
            found[path.stem] = (ast.get_docstring(tree) or path.stem).splitlines()[0]
    return found


def run(
    arguments: Sequence[str] | None = None, folder: Path = FOLDER, results: Path = RESULTS
) -> int:
    """Run the requested benchmarks, one after the other; return 1 if any of them failed."""
    known = discover(folder)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Without a name, run all benchmarks in their short form (about a quarter of an "
        "hour); with names, run these in full. Tables also go to bench-results/, a JSON line "
        "per run to its history.jsonl, and a page of all runs to its history.html.",
        epilog="benchmarks:\n" + "\n".join(f"  {name:18} {text}" for name, text in known.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark listed below")
    parser.add_argument("--all", action="store_true", help="run all of them in full (many hours)")
    parser.add_argument("--short", action="store_true", help="the short form of those named")
    parser.add_argument(
        "--limit", type=float, default=LIMIT, metavar="SECONDS",
        help="stop a short form after this time (default: %(default)s)",
    )  # fmt: skip
    asked = parser.parse_args(arguments)
    for name in asked.names:
        if name not in known:
            parser.error(f"unknown benchmark {name!r}; choose from {', '.join(known)}")
    names = asked.names or list(known)
    short = asked.short or not (asked.names or asked.all)
    results.mkdir(parents=True, exist_ok=True)
    ended: dict[str, str] = {}
    try:
        for number, name in enumerate(names, 1):
            left = _left(names[number - 1 :], short, results)
            print(f"[{number} of {len(names)}] {name}: {known[name]} {left}", flush=True)
            begun = time.perf_counter()
            log = None if asked.names else results / f"{name}{'-short' if short else ''}.txt"
            ended[name] = _one(name, folder, results, short, asked.limit, log)
            print(f"    {ended[name] or 'done'} ({time.perf_counter() - begun:.0f} s)", flush=True)
    except KeyboardInterrupt:
        print("\nInterrupted; what ended before is kept.")
    return _end(ended, len(names), results)


def _one(
    name: str, folder: Path, results: Path, short: bool, limit: float, log: Path | None
) -> str:
    """Run a benchmark; return what went wrong with it, if anything."""
    command = [sys.executable, "-c"]
    command += ["import sys; from benchmarks._harness import call; sys.exit(call(sys.argv[1]))"]
    paths = [str(folder.parent), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "TAMIS_BENCH_RESULTS": str(results),
        "TAMIS_BENCH_SHORT": "1" if short else "",
    }
    with _output(log) as output, _scratch() as scratch:
        environment["TMPDIR"] = environment["TEMP"] = scratch  # emptied if it is stopped, too
        process = subprocess.Popen(
            [*command, f"{folder.name}.{name}"], cwd=ROOT, env=environment,
            stdout=output, stderr=subprocess.STDOUT if log else None,
        )  # fmt: skip
        try:
            code = process.wait(limit if short else None)
        except subprocess.TimeoutExpired:
            _stop(process)
            return f"stopped after {limit:g} s; --limit gives it longer"
        except KeyboardInterrupt:
            _stop(process)
            raise
    last = log.read_text(encoding="utf-8", errors="replace").split("\n") if log else []
    last = [line for line in last if line.strip()][-1:]
    if code == SKIPPED:
        return last[0] if last else "skipped"
    if code:
        return f"failed: {last[0] if last else f'exit code {code}'}" + (f"; see {log}" * bool(log))
    return ""


@contextmanager
def _output(log: Path | None) -> Iterator[Any]:
    """Open the file for what a benchmark prints; without one it prints to the screen."""
    if log is None:
        yield None
    else:
        with log.open("w", encoding="utf-8") as file:
            yield file


def _scratch() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for what a benchmark writes while it runs."""
    return tempfile.TemporaryDirectory(prefix="tamis-bench-", ignore_cleanup_errors=True)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to stop, so that it stops its own; end it if that does not help."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _left(names: Sequence[str], short: bool, results: Path) -> str:
    """Say how long the rest takes, judged by the latest run of each benchmark."""
    took: dict[str, float] = {}
    path = results / "history.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        run_ = json.loads(line)
        if run_.get("short", False) == short and "seconds" in run_:
            took[run_["name"]] = run_["seconds"]
    usual = sum(took.values()) / len(took) if took else USUAL
    if not short and any(name not in took for name in names):
        return ""
    minutes = sum(took.get(name, usual) for name in names) / 60
    return f"(about {minutes:.0f} min left)" if minutes >= 1.5 else "(about a minute left)"


def _end(ended: dict[str, str], requested: int, results: Path) -> int:
    """Print what did not run, what is slower, and where the page is; return the exit code."""
    print()
    for name, why in ended.items():
        if why:
            print(f"{name}: {why}", file=sys.stderr)
    done = sum(not why for why in ended.values())
    print(f"{done} of {requested} benchmarks ran to their end.")
    if (results / "history.jsonl").exists():
        print(f"All runs over time: {write_page(results)}")
    if len(ended) < requested:
        return 130
    return int(any(why and not why.startswith("skipped") for why in ended.values()))


if __name__ == "__main__":
    sys.exit(run())
