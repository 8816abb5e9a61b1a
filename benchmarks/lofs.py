"""OSFS and Fast-OSFS beside LOFS, the program of their authors, on the sets that it solved.

LOFS ran under GNU Octave (`tests/golden/README.md`), and its CPU seconds were recorded. Ours are
those of a fit of arrays in memory, after one that compiled: the least of several rounds. LOFS is
not run here, so the two sides come from different days of a machine like ours. "published" is the
program as it is; "faster" has its loop that counts cells replaced by an equal, faster one.

A fit also checks its input. scikit-learn's own check of the same arrays, `check_X_y`, is timed in
the same rounds. LOFS's time divided by it is a limit of the ratio.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.utils import check_X_y

import tamis
from benchmarks._docs import fill
from benchmarks._harness import ROOT, Report, table

sys.path.insert(0, str(ROOT / "tests"))

from golden_outputs import matrix, paths

ROUNDS = 15
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"ROUNDS": 3}
#: Target: a fit is this many times as fast as LOFS.
TARGET = 1_000
METHODS = {"osfs": tamis.OSFS, "fast_osfs": tamis.FastOSFS}


def least(jobs: list[Callable[[], Any]]) -> list[float]:
    """Return the least CPU seconds of each job; they alternate, after a round that is not timed."""
    found = [float("inf")] * len(jobs)
    for round_ in range(ROUNDS + 1):
        for n, job in enumerate(jobs):
            start = time.process_time()
            job()
            if round_:
                found[n] = min(found[n], time.process_time() - start)
    return found


def setting(record: dict[str, Any]) -> Any:
    """Return the selector with the test and the level of a recorded run."""
    method, kind = record["algorithm"].removesuffix("_acc").rsplit("_", 1)
    alpha = record["params"]["alpha"]
    if kind == "z":
        measure: Any = tamis.FisherZ(alpha=alpha, classes="numeric", statistic="z")
    else:
        statistic = "pearson" if record["params"]["test"] == "chi2" else "g2"
        measure = tamis.GSquared(alpha=alpha, statistic=statistic)
    return METHODS[method](measure)


def line(record: dict[str, Any]) -> dict[str, Any]:
    """Return one line of the table."""
    X, y = matrix(record["dataset"])
    if record["feature_order"] == "reverse":
        X = X[:, ::-1].copy()
    selector, params = setting(record), record["params"]
    ours, check = least([lambda: selector.fit(X, y), lambda: check_X_y(X, y)])
    theirs = record["cpu_seconds"]
    return {
        "set": record["dataset"], "shape": f"{X.shape[0]} x {X.shape[1]}",
        "method": record["algorithm"].removesuffix("_acc").rsplit("_", 1)[0],
        "LOFS": "faster" if record["algorithm"].endswith("_acc") else "published",
        "test": params.get("test", "Fisher's z"), "alpha": str(params["alpha"]),
        "order": record["feature_order"], "LOFS CPU s": theirs, "tamis CPU ms": ours * 1e3,
        "ratio": theirs / ours, "check_X_y ms": check * 1e3, "limit": theirs / check,
        "1,000 times": "met" if theirs / ours >= TARGET else
        ("missed" if theirs / check >= TARGET else "impossible"),
    }  # fmt: skip


def main() -> None:
    report = Report("lofs", __doc__)
    warnings.simplefilter("ignore")
    records = [
        json.loads(p.read_text()) for p in paths("osfs_[dz]_*.json", "fast_osfs_[dz]_*.json")
    ]
    lines = sorted(map(line, records), key=lambda one: -one["LOFS CPU s"])
    report.table("A fit beside LOFS", lines)
    met = [one["1,000 times"] for one in lines].count("met")
    ratios = sorted(one["ratio"] for one in lines)
    sentence = (
        f"{TARGET:,} times as fast: {met} of {len(lines)} runs; the ratios are {ratios[0]:.0f} to "
        f"{ratios[-1]:,.0f}, half of them above {ratios[len(ratios) // 2]:,.0f}"
    )
    report.note(sentence)
    report.save()
    if (ROOT / "docs" / "speed.md").exists() and Path.cwd() == ROOT:
        few = [one for one in lines if (one["alpha"], one["order"]) == ("0.01", "natural")]
        shown = [{k: v for k, v in one.items() if k not in {"alpha", "order"}} for one in few]
        fill("speed.md", "lofs", f"{table(shown)}\n\n{sentence}.")


if __name__ == "__main__":
    main()
