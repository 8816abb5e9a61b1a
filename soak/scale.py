"""Large runs with memory over time: ``python -m soak.scale [FOLDER]``.

30 million sparse columns, a million dense rows, and a stream of rows with a billion columns. Each
runs in a process of its own, which records its memory every second. FOLDER has room for 2 GB.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from soak.worker import memory


def sparse_columns(folder: Path) -> str:
    """Select with SAOLA from 30 million sparse columns of 20,000 rows."""
    import tamis
    from tamis.sources.arrays.synthetic import SparseStream

    stream = SparseStream(20_000, 30_000_000, informative=20, nonzeros=5.0)
    run = tamis.select(stream, "saola")
    found = int(np.count_nonzero(run.log.support[stream.planted]))
    return f"{run.log.counts()['kept']:,} kept, {found} of 20 planted"


def dense_rows(folder: Path) -> str:
    """Select with SAOLA from 200 dense columns of a million rows, in an .npy file of 0.8 GB."""
    return _of_dense_rows(folder, "saola")


def dense_rows_by_default(folder: Path) -> str:
    """Select with the default, Sieve, from the same 200 columns."""
    return _of_dense_rows(folder, "sieve")


def _of_dense_rows(folder: Path, method: str) -> str:
    import tamis

    path, n = folder / "rows.npy", 1_000_000
    draw = np.random.default_rng(0)
    y = draw.integers(0, 2, n)
    file = np.lib.format.open_memmap(path, "w+", "<f4", (n, 200), fortran_order=True)
    for j in range(200):
        file[:, j] = draw.normal(size=n) + (0.1 * y if j % 20 == 0 else 0)
    file.flush()
    del file
    _marks.clear()  # writing the file is not what is measured
    _begun.append(time.process_time())
    run = tamis.select(path, method, y)
    path.unlink()
    return f"{run.log.counts()['kept']:,} kept, of 10 planted"


def wide_rows(folder: Path) -> str:
    """Learn with SOFS from 200,000 rows with 100 nonzeros each, among a billion columns."""
    import tamis
    from tamis.core.blocks import Compressed, RowBlock

    def blocks() -> Iterator[Any]:
        draw, height = np.random.default_rng(0), 1000
        for first in range(0, 200_000, height):
            y = draw.integers(0, 2, height)
            indices = np.sort(draw.integers(100, 10**9 - 100, (height, 100)), axis=1)
            indices += np.arange(100)  # each once
            indices[:, 0] = draw.integers(0, 50, height) * 2 + y  # what separates the classes
            indptr = np.arange(height + 1) * 100
            rows = Compressed(indptr, indices.reshape(-1), np.ones(height * 100))
            yield RowBlock(first, 10**9, rows, y)

    learner = tamis.SOFS(n_features=200, n_columns=10**9, classes=[0, 1])
    learner.fit_stream(blocks())
    found = int(np.count_nonzero(learner.kept_ < 100))
    return f"{len(learner.kept_):,} kept, {found} of the 100 that matter"


RUNS = {
    "sparse": sparse_columns, "dense": dense_rows, "default": dense_rows_by_default,
    "stream": wide_rows,
}  # fmt: skip
_marks: list[tuple[float, int]] = []
#: CPU time when the data had been made, if making them is not a part of the run.
_begun: list[float] = []


def main(name: str, folder: Path) -> None:
    """Run one of them in this process, and print its figures as JSON."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(1.0):
            _marks.append((time.process_time(), memory()))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    begun, cpu = time.perf_counter(), time.process_time()
    result = RUNS[name](folder)
    cpu = time.process_time() - max([cpu, *_begun])
    took = time.perf_counter() - begun
    done.set()
    watcher.join()
    sizes = [size for _, size in _marks] or [memory()]
    tenths = [round(sizes[len(sizes) * k // 10] / 1e6) for k in range(10)]
    print(json.dumps({"result": result, "cpu": cpu, "took": took, "megabytes": tenths,
                      "peak": round(max(sizes) / 1e6)}))  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] in RUNS:
        main(sys.argv[1], Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as place:
            print("| run | CPU s | peak MB | MB at each tenth of the time | result |")
            print("|---|---:|---:|---|---|", flush=True)
            for name, run in RUNS.items():
                command = [sys.executable, "-m", "soak.scale", name, place]
                answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                found = json.loads(answer.splitlines()[-1])
                sizes = ", ".join(map(str, found["megabytes"]))
                what = (run.__doc__ or name).rstrip(".")
                print(
                    f"| {what} | {found['cpu']:.0f} | {found['peak']:,} | {sizes} "
                    f"| {found['result']} |", flush=True,
                )  # fmt: skip
