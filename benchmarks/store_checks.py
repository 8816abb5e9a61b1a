"""What checking the indices of a column store costs beside a run of SAOLA on it, in CPU time."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import tamis
from benchmarks._data import WORKLOADS
from benchmarks._harness import Report
from tamis.sources.axis import write_store
from tamis.sources.stores import column_store

ROUNDS = 3
PAPERS = ("news20", "kdd2010", "webspam")
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"PAPERS": ("news20",)}


def main() -> None:
    """Print the table."""
    report, rows = Report("store_checks", __doc__), []
    check = column_store.first_broken
    spent = 0.0

    def timed(*arrays: Any) -> int:
        nonlocal spent
        begun = time.process_time()
        found: int = check(*arrays)
        spent += time.process_time() - begun
        return found

    for paper in PAPERS:
        name, X, y = WORKLOADS[paper].load()
        with tempfile.TemporaryDirectory() as folder:
            store = write_store(Path(folder) / "X.cols", tamis.open(X.tocsc(), y=y))
            best, share = float("inf"), float("inf")
            for _ in range(ROUNDS + 1):  # the first loads the kernels
                spent, column_store.first_broken = 0.0, timed
                begun = time.process_time()
                tamis.select(store, "saola", n_jobs=1)
                whole = time.process_time() - begun
                column_store.first_broken = check
                best, share = min(best, whole), min(share, spent / (whole - spent))
        rows.append(
            {
                "set": name, "columns": X.shape[1], "nonzeros": X.nnz, "SAOLA s": best,
                "checks %": 100 * share,
            }
        )  # fmt: skip
    report.table("Checks of indices, in percent of the rest of the run (best of three)", rows)
    report.save()


if __name__ == "__main__":
    main()
