"""Reading svmlight text and turning it into columns, against scikit-learn and scipy in one run.

The data: news20 from the shared folder next to the project or, if that is missing, a generated
matrix of the same shape.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from benchmarks._data import SHARED, zipf_matrix
from benchmarks._harness import Report, best_of
from tamis.kernels.threads import thread_count
from tamis.sources.text.svmlight_rows import SvmlightSource

ROUNDS = 3
#: At most so many rows.
ROWS = 1_000_000
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"ROUNDS": 1, "ROWS": 2_000}

#: Run in a new process, so that the peak is that of the transposition.
TRANSPOSE = """
import sys, time
from tamis.sources.text.svmlight_rows import SvmlightSource
from tamis.sources.axis import write_store

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
    folder = SHARED / "news20_rebuilt"
    if folder.is_dir():
        matrix = sp.load_npz(folder / "X.npz").tocsr()[:ROWS].astype(np.float64)
        return "news20", matrix, np.load(folder / "y.npy")[:ROWS]
    matrix, y = zipf_matrix(min(ROWS, 20_000), 1_400_000, 380)
    return "generated", matrix.astype(np.float64), y


def transpose(folder: str, text: str, memory: int) -> tuple[float, float, float]:
    """Write a column store in a new process; return seconds, MB before, and MB at the peak."""
    small = os.path.join(folder, "small.svm")
    Path(small).write_text("1 1:1 2:1 3:1\n" * 3000)
    out = os.path.join(tempfile.mkdtemp(dir=folder), "a.cols")
    command = [sys.executable, "-c", TRANSPOSE, small, text, out, str(memory)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, idle, peak = map(float, done.stdout.split())
    return seconds, idle, peak


def reading(text: str, size: float) -> list[dict[str, Any]]:
    """Return the table for reading text into a matrix."""
    theirs, ours = best_of(ROUNDS, lambda: load_svmlight_file(text), SvmlightSource(text).load)
    return [
        {"reading": name, "seconds": seconds, "MB/s": size / seconds, "ratio": theirs / seconds}
        for name, seconds in (("sklearn load_svmlight_file", theirs), ("tamis load", ours))
    ]


def turning(folder: str, text: str, size: float, matrix: Any) -> list[dict[str, Any]]:
    """Return the table for transposing; memory is that of the process, at the peak and before."""
    (in_memory,) = best_of(ROUNDS, matrix.tocsc)
    rows = []
    for label, memory in (("2 GB", 2_000_000_000), ("50 MB", 50_000_000)):
        seconds, idle, peak = min(transpose(folder, text, memory) for _ in range(ROUNDS))
        rows.append((f"tamis text to store, within {label}", seconds, peak, idle))
    rows.append(("scipy tocsc, of a loaded matrix", in_memory, "", ""))
    return [
        {"rows to columns": name, "seconds": s, "MB/s": size / s, "peak MB": peak, "idle MB": idle}
        for name, s, peak, idle in rows
    ]


def main() -> None:
    report = Report("parse_svmlight", __doc__)
    name, matrix, y = data()
    with tempfile.TemporaryDirectory(prefix="tamis-bench-") as folder:
        text = os.path.join(folder, "data.svm")
        dump_svmlight_file(matrix, y, text, zero_based=False)
        size = os.path.getsize(text) / 1e6
        report.note(
            f"{name}: {matrix.shape[0]} rows, {matrix.shape[1]} columns, {matrix.nnz} nonzeros, "
            f"{size:.1f} MB of text, {thread_count()} threads"
        )
        report.table("Reading", reading(text, size))
        same = (load_svmlight_file(text)[0] != SvmlightSource(text).load()[0]).nnz == 0
        report.note(f"the matrices are {'equal' if same else 'NOT EQUAL'}")
        report.table("Rows to columns", turning(folder, text, size, matrix))
    report.save()


if __name__ == "__main__":
    main()
