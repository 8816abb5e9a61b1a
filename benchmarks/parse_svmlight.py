"""Reading svmlight text and turning it into columns, against scikit-learn and scipy in one run.

The data: news20 from the shared folder beside the project or, where that is absent, a generated
matrix of the same shape. Run as ``python -m benchmarks.parse_svmlight``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from tamis.kernels.threads import thread_count
from tamis.sources.svmlight import SvmlightSource

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "news20_rebuilt"
ROUNDS = 3

#: Run in a process of its own, so that the peak is that of the transposition.
TRANSPOSE = """
import sys, time
from tamis.sources.svmlight import SvmlightSource
from tamis.sources.transpose import write_store

def peak():
    # Not ru_maxrss, which a new process inherits from the one that started it.
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))

small, text, out, memory = sys.argv[1:]
write_store(out + ".warm.cols", SvmlightSource(small), memory=20_000)
write_store(out + ".warm2.cols", SvmlightSource(small))
idle = peak()
start = time.perf_counter()
write_store(out, SvmlightSource(text), memory=int(memory))
print(time.perf_counter() - start, idle, peak())
"""


def data() -> tuple[str, Any, Any]:
    """Return a name, a CSR matrix and labels."""
    if (SHARED / "X.npz").exists():
        matrix = sp.load_npz(SHARED / "X.npz").tocsr().astype(np.float64)
        return "news20", matrix, np.load(SHARED / "y.npy")
    rng = np.random.default_rng(0)
    n_rows, n_columns, per_row = 20_000, 1_400_000, 380
    # Squared: some columns are far more frequent than others, as words are.
    places = (rng.random(n_rows * per_row) ** 2 * n_columns).astype(np.int64)
    rows = np.repeat(np.arange(n_rows), per_row)
    matrix = sp.csr_matrix((np.ones(len(places)), (rows, places)), (n_rows, n_columns))
    matrix.data[:] = 1.0
    return "generated", matrix, rng.integers(0, 2, n_rows) * 2 - 1


def best(*jobs: Callable[[], object]) -> list[float]:
    """Time jobs in turn, a few rounds, after one round outside the clock; the best of each."""
    seconds = [[] for _ in jobs]
    for round_ in range(ROUNDS + 1):
        for job, times in zip(jobs, seconds, strict=True):
            start = time.perf_counter()
            job()
            if round_:
                times.append(time.perf_counter() - start)
    return [min(times) for times in seconds]


def transpose(folder: str, text: str, memory: int) -> tuple[float, float, float]:
    """Write a column store in a fresh process: seconds, MB of memory before, and at the peak."""
    small = os.path.join(folder, "small.svm")
    Path(small).write_text("1 1:1 2:1 3:1\n" * 3000)
    out = os.path.join(tempfile.mkdtemp(dir=folder), "a.cols")
    command = [sys.executable, "-c", TRANSPOSE, small, text, out, str(memory)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, idle, peak = map(float, done.stdout.split())
    return seconds, idle, peak


def main() -> None:
    """Print the table."""
    name, matrix, y = data()
    with tempfile.TemporaryDirectory(prefix="tamis-bench-") as folder:
        text = os.path.join(folder, "data.svm")
        dump_svmlight_file(matrix, y, text, zero_based=False)
        size = os.path.getsize(text) / 1e6
        print(
            f"{name}: {matrix.shape[0]} rows, {matrix.shape[1]} columns, {matrix.nnz} nonzeros, "
            f"{size:.1f} MB of text, {thread_count()} threads"
        )
        theirs, ours = best(lambda: load_svmlight_file(text), SvmlightSource(text).load)
        same = (load_svmlight_file(text)[0] != SvmlightSource(text).load()[0]).nnz == 0
        print(f"\n{'reading':34} {'seconds':>8} {'MB/s':>8} {'ratio':>7}")
        print(f"{'sklearn load_svmlight_file':34} {theirs:8.3f} {size / theirs:8.1f} {1:7.1f}")
        print(
            f"{'tamis SvmlightSource.load':34} {ours:8.3f} {size / ours:8.1f} {theirs / ours:7.1f}"
        )
        print(f"the matrices are {'equal' if same else 'NOT EQUAL'}")

        (in_memory,) = best(matrix.tocsc)
        print(f"\n{'rows to columns':34} {'seconds':>8} {'MB/s':>8} {'peak MB':>8} {'idle MB':>8}")
        print(f"{'scipy tocsc, of a loaded matrix':34} {in_memory:8.3f} {size / in_memory:8.1f}")
        for label, memory in (("2 GB", 2_000_000_000), ("50 MB", 50_000_000)):
            seconds, idle, peak = min(transpose(folder, text, memory) for _ in range(ROUNDS))
            what = f"tamis text to store, within {label}"
            print(f"{what:34} {seconds:8.3f} {size / seconds:8.1f} {peak:8.0f} {idle:8.0f}")


if __name__ == "__main__":
    main()
