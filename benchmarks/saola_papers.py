"""SAOLA from memory on the data its papers timed, against the seconds they print.

The papers' seconds were measured on other machines, and with the gate "information above 0" (see
saola_paper_gate); here the gate is a test, as picked by ``SAOLA()``. Data sets that are no longer
available are replaced by real ones of about the same shape. Each runs in its own process, so that
its peak memory is measured separately.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks._data import WORKLOADS, megabytes
from benchmarks._harness import Report, best_of, clear_peak, in_own_process, peak_megabytes
from tamis import SAOLA

ROUNDS = 3
PAPERS = tuple(WORKLOADS)
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"PAPERS": ("news20", "dorothea", "thrombin")}
#: Target: this many times faster than printed in the papers.
TARGET = 100


def measure(paper: str) -> dict[str, Any]:
    """One line of the table."""
    workload = WORKLOADS[paper]
    name, rows, y = workload.load()
    start = time.perf_counter()
    X = rows.tocsc()
    turned = time.perf_counter() - start
    del rows
    X.sort_indices()
    SAOLA().fit(X[:, :1000], y)  # compiles
    clear_peak()
    sel = SAOLA()
    (seconds,) = best_of(ROUNDS, lambda: sel.fit(X, y))
    assert workload.paper_seconds is not None
    faster = workload.paper_seconds / seconds
    return {
        "paper's set": paper,
        "here": name,
        "rows": X.shape[0],
        "columns": X.shape[1],
        "nonzeros": int(X.nnz),
        "data MB": megabytes(X),
        "to columns s": turned,
        "saola s": seconds,
        "MB/s": megabytes(X) / seconds,
        "peak MB": peak_megabytes(),
        "relevant": sel.work_["relevant"],
        "kept": len(sel.kept_),
        "pair values": sel.work_["pair_values"],
        "paper s": workload.paper_seconds,
        "times faster": faster,
        f"target {TARGET}": "met" if faster >= TARGET else "MISSED",
    }


def main() -> None:
    report = Report("saola_papers", __doc__)
    rows = [in_own_process("benchmarks.saola_papers", "measure", paper) for paper in PAPERS]
    report.table("SAOLA(measure='auto') against the papers' seconds", rows)
    report.note(
        "pair values pruned: none. The bound min(H(F), H(Y)) is never below what a pair is "
        "compared with (docs/how-it-works.md); pairs that share no row cost no counting instead."
    )
    report.note(
        f"saola s: best of {ROUNDS} fits of a scipy CSC matrix after warm-up. to columns s: "
        "scipy's CSR to CSC, once, not part of it. peak MB: the whole process, data included."
    )
    report.save()


if __name__ == "__main__":
    main()
