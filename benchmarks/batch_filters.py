"""MRMR, ReliefF, CFS and LARS against scikit-feature's and scikit-learn's, in the same run.

scikit-feature's MRMR weights the picks differently (see docs/deviations.md) but does the same work,
so it is timed for fewer picks and the time per pick is compared. Its CFS also searches differently.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._harness import Report
from benchmarks.fcbf import load
from tamis import CFS, LARS, MRMR, ReliefF

SET = "leukemia_disc"
PICKS, PEER_PICKS = 100, 3
#: scikit-feature's CFS takes minutes on thousands of columns.
CFS_COLUMNS = 150
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"PICKS": 20, "PEER_PICKS": 1, "CFS_COLUMNS": 50, "SET": "colon"}


def clocked(work: Callable[[], object]) -> tuple[float, float]:
    """Return wall and CPU seconds, after a first call that compiles."""
    work()
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def row(
    name: str, shown: str, ours: Callable[[], object], peer: str, theirs: Any
) -> dict[str, Any]:
    """One line of the table; `theirs` is a function, or a factor for its time and a function."""
    factor, call = theirs if isinstance(theirs, tuple) else (1.0, theirs)
    wall, cpu = clocked(ours)
    begun, used = time.perf_counter(), time.process_time()
    call()
    peers, peers_cpu = time.perf_counter() - begun, time.process_time() - used
    return {
        "method": name,
        "set": shown,
        "tamis s": wall,
        "tamis CPU s": cpu,
        "peer": peer,
        "peer s": factor * peers,
        "peer CPU s": factor * peers_cpu,
        "times faster": factor * peers / wall,
        "times less CPU": factor * peers_cpu / cpu,
    }


def mrmr(shown: str, X: Any, y: Any) -> dict[str, Any]:
    """MRMR, 100 picks."""
    from skfeature.function.information_theoretical_based.LCSI import lcsi

    codes = X.astype(int)
    return row(
        f"MRMR({PICKS})", shown, lambda: MRMR("mutual_information", n_features=PICKS).fit(X, y),
        f"scikit-feature, {PEER_PICKS} picks",
        (
            PICKS / PEER_PICKS,
            lambda: lcsi(codes, y, beta=1, gamma=0, n_selected_features=PEER_PICKS, mode="index"),
        ),
    )  # fmt: skip


def relief(shown: str, X: Any, y: Any) -> dict[str, Any]:
    """ReliefF, all rows."""
    from skfeature.function.similarity_based.reliefF import reliefF

    return row(
        "ReliefF(k=5)", shown, lambda: ReliefF(n_neighbors=5).fit(X, y), "scikit-feature",
        lambda: reliefF(X, y, mode="raw", k=5),
    )  # fmt: skip


def cfs(shown: str, X: Any, y: Any) -> dict[str, Any]:
    """CFS on as many columns as the peer can handle."""
    from skfeature.function.statistical_based.CFS import cfs as peer

    some = np.ascontiguousarray(X[:, :CFS_COLUMNS])
    return row(
        "CFS()", f"{shown}, {CFS_COLUMNS} columns",
        lambda: CFS(measure="symmetric_uncertainty").fit(some, y), "scikit-feature",
        lambda: peer(some, y, mode="index"),
    )  # fmt: skip


def lars(shown: str, X: Any, y: Any) -> dict[str, Any]:
    """LARS, 50 steps."""
    from sklearn.linear_model import lars_path

    Z = X - X.mean(axis=0)
    Z /= np.maximum(np.sqrt((Z**2).sum(axis=0)), 1e-300)
    target = np.unique(y, return_inverse=True)[1] - 0.5
    return row(
        "LARS(50)", shown, lambda: LARS(50).fit(X, y), "scikit-learn",
        lambda: lars_path(Z, target - target.mean(), max_iter=50),
    )  # fmt: skip


def main() -> None:
    report = Report("batch_filters", __doc__)
    shown, X, y = load(SET)
    rows = [lars(shown, X, y)]
    try:
        rows = [mrmr(shown, X, y), relief(shown, X, y), cfs(shown, X, y), *rows]
    except ImportError:
        report.note("skfeature-chappers is not installed: pip install --group dev")
    report.table("Against peers", rows)
    report.note("tamis: second call; the first one compiles or loads compiled code")
    report.save()


if __name__ == "__main__":
    main()
