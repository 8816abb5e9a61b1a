"""What people do every day: CPU time and memory of commands on large tables, and of many feeds.

CSV files of whole numbers, one with very many columns and one with very many rows, are described by
`tamis info` and selected from by `tamis select`, each in a process of its own. Then tables of ten
columns are fed to one selection, day after day, each as `tamis feed` does it: open, feed, commit.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._harness import ROOT, Report
from tamis import Selection

#: Rows, and columns besides the target.
DESCRIBED = ((100, 1_000), (100, 10_000), (100, 100_000), (1_000_000, 3), (10_000_000, 3))
SELECTED = ((1_000, 5_000), (1_000, 50_000), (100_000, 20), (1_000_000, 20))
#: Feeds, and those that are shown.
SHOWN = (1, 3, 10, 30, 100, 300, 1_000)
ROWS, WIDTH = 200, 10
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {
    "DESCRIBED": ((100, 1_000), (100, 4_000), (100_000, 3)),
    "SELECTED": ((1_000, 1_000), (20_000, 20)),
    "SHOWN": SHOWN[:5],
}


def write_csv(path: Path, rows: int, columns: int) -> None:
    """Write whole numbers, the first of which tell the classes apart, and the classes as y."""
    rng = np.random.default_rng(0)
    step = max(1, 2_000_000 // columns)
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(["y", *(f"x{j}" for j in range(columns))]) + "\n")
        for lo in range(0, rows, step):
            y = rng.integers(0, 2, min(step, rows - lo))
            X = rng.integers(0, 1000, (len(y), columns))
            X[:, :5] += 300 * y[:, np.newaxis]
            pd.DataFrame(np.column_stack([y, X])).to_csv(file, header=False, index=False)


#: Runs a command of tamis, and writes its CPU seconds and the peak of its memory to a file.
COMMAND = """
import os, runpy, sys
from benchmarks._harness import peak_megabytes
out, sys.argv = sys.argv[1], ["tamis", *sys.argv[2:]]
try:
    runpy.run_module("tamis", run_name="__main__")
finally:
    with open(out, "w") as file:
        print(sum(os.times()[:4]), peak_megabytes(), file=file)
"""


def command(out: Path, *words: str) -> dict[str, Any]:
    """Run a command of tamis; return its CPU and wall seconds, and the peak of its memory."""
    begun = time.perf_counter()
    call = [sys.executable, "-c", COMMAND, str(out), *words]
    subprocess.run(call, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - begun
    cpu, peak = map(float, out.read_text().split())
    return {"CPU s": cpu, "wall s": wall, "peak MB": peak}


def commands(folder: Path) -> list[dict[str, Any]]:
    """Return the table of commands."""
    lines = []
    for name, sizes in (("info", DESCRIBED), ("select", SELECTED)):
        for rows, columns in sizes:
            path = folder / "table.csv"
            write_csv(path, rows, columns)
            more = [] if name == "info" else ["--quiet", "--out", str(folder / f"{rows}-{columns}")]
            found = command(folder / "used.txt", name, str(path), "--target", "y", *more)
            size = path.stat().st_size / 1e6
            lines.append(
                {"command": f"tamis {name}", "rows": rows, "columns": columns, "MB": size} | found
            )
    return lines


def feeds(folder: Path) -> list[dict[str, Any]]:
    """Return the table of feeds: the best of a tenth of them, up to those shown."""
    rng = np.random.default_rng(0)
    path, took, lines = folder / "fed", list[tuple[float, float]](), []
    Selection.create(path, np.arange(ROWS) % 2, "saola", task="classification")
    for day in range(1, max(SHOWN) + 1):
        columns = [f"day {day}, {j}" for j in range(WIDTH)]
        table = pd.DataFrame(rng.normal(size=(ROWS, WIDTH)), columns=columns)
        begun = time.process_time()
        selection = Selection.open(path)
        opened = time.process_time()
        selection.feed(table)
        took.append((opened - begun, time.process_time() - opened))
        if day in SHOWN:
            last = took[-max(1, day // 10) :]
            lines.append({
                "feed": day, "columns before": (day - 1) * WIDTH,
                "open, CPU ms": 1e3 * min(one for one, _ in last),
                "feed, CPU ms": 1e3 * min(one for _, one in last),
                "MB on disk": sum(file.stat().st_size for file in path.iterdir()) / 1e6,
            })  # fmt: skip
    return lines


def main() -> None:
    """Print and save the tables."""
    report = Report("daily_use", __doc__ or "")
    with tempfile.TemporaryDirectory(prefix="tamis-bench-") as folder:
        report.table("Commands, CSV files of whole numbers", commands(Path(folder)))
        report.table(f"Feeds of {WIDTH} columns, {ROWS} rows", feeds(Path(folder)))
    report.save()


if __name__ == "__main__":
    main()
