"""Run all benchmarks, or those named on the command line.

A benchmark is a module of this folder with a ``main()``; the first line of its docstring describes
it. New files are found automatically.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from benchmarks._harness import RESULTS
from benchmarks._history import write_page


def discover(folder: Path = Path(__file__).parent) -> dict[str, str]:
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


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the requested benchmarks, one after the other; return 1 if any of them failed."""
    known = discover()
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Run benchmarks (default: all). Tables also go to bench-results/, a JSON line "
        "per run to its history.jsonl, and a page of all runs to its history.html.",
        epilog="benchmarks:\n" + "\n".join(f"  {name:18} {text}" for name, text in known.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark listed below")
    requested = parser.parse_args(arguments).names or list(known)
    for name in requested:
        if name not in known:
            parser.error(f"unknown benchmark {name!r}; choose from {', '.join(known)}")
    failed = []
    for name in requested:
        begun = time.perf_counter()
        try:
            importlib.import_module(f"benchmarks.{name}").main()
        except Exception:  # the other benchmarks run all the same
            traceback.print_exc()
            failed.append(name)
        print(f"\n{name}: {time.perf_counter() - begun:.0f} s", flush=True)
    if (RESULTS / "history.jsonl").exists():
        print(f"\nAll runs over time: {write_page(RESULTS)}")
    if failed:
        print(f"Failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(run())
