"""Learners on streams that change: accuracy over time, and rows until they have recovered.

Generated rows have 2,000 columns, 50 of them informative and rare, and 95 others in each row. At a
change other features become informative: at once (abrupt), more and more of the rows over 5,000
rows (gradual), or back and forth between two sets (recurring). Real sets are in their own order, in
time. Every row is predicted before it is learned; rows have length 1; parameters are the defaults.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

import tamis
from benchmarks import _streams
from benchmarks._data import SHARED
from benchmarks._docs import fill
from benchmarks._harness import Report, table
from benchmarks.instance_curves import load

ROWS, BATCH = 20_000, 100
LEARNERS: dict[str, Any] = {
    "RowSieve, drift=0.002": tamis.RowSieve(drift=0.002),
    "RowSieve": tamis.RowSieve(),
    "SOFS": tamis.SOFS(),
    "PET": tamis.PET(),
    "FOFS": tamis.FOFS(),
}
#: Sets that are ordered in time.
REAL = ("electricity", "tick_reuters")
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {
    "LEARNERS": {name: LEARNERS[name] for name in ("RowSieve, drift=0.002", "SOFS")},
    "REAL": (),
}

Case = tuple[Any, Any, int, list[int]]


def generated() -> dict[str, Case]:
    """Return rows, classes, features to keep, and the rows at which something changes."""
    one, two = (
        _streams.Stream("", ROWS, 2000, 50, 95, rare=True, seed=seed).matrix(0, ROWS)
        for seed in (1, 2)
    )
    draws = np.random.default_rng(0).random(ROWS)
    share = {
        "no change": np.zeros(ROWS),
        "abrupt": np.arange(ROWS) >= 10_000,
        "gradual": np.clip((np.arange(ROWS) - 7500) / 5000, 0, 1),
        "recurring": np.arange(ROWS) // 5000 % 2,
    }
    changes = {"abrupt": [10_000], "gradual": [7_500], "recurring": [5_000, 10_000, 15_000]}
    found = {}
    for name, part in share.items():
        other = draws < part
        X = sp.diags(1.0 - other) @ one[0] + sp.diags(1.0 * other) @ two[0]
        y = np.where(other, two[1], one[1])
        found[name] = (X.tocsr(), y, 50, changes.get(name, []))
    turned = np.where(np.arange(ROWS) < 10_000, one[1], -one[1])
    found["classes turned round"] = (one[0], turned, 50, [10_000])
    return found


def real() -> dict[str, Case]:
    """Return the sets that are ordered in time, if they are available."""
    found: dict[str, Case] = {}
    if "electricity" in REAL and (SHARED / "electricity").is_dir():
        X, y, _ = load("electricity")
        with_ones = np.column_stack([X - X[:1000].mean(axis=0), np.ones(len(X))])
        found["electricity"] = (sp.csr_matrix(with_ones), y, 5, [])
    if "tick_reuters" in REAL and (SHARED / "tick_reuters").is_dir():
        X, y, _ = load("tick_reuters")
        found["tick_reuters"] = (X.tocsr(), y, 100, [])
    return found


def wrong_by_batch(model: Any, X: Any, y: Any) -> Any:
    """Return the share of wrong predictions, made before learning, in each batch of rows."""
    classes, wrong = np.unique(y), [0]
    for lo in range(0, len(y), BATCH):
        model.partial_fit(X[lo : lo + BATCH], y[lo : lo + BATCH], classes=classes)
        wrong.append(model.work_["mistakes"])
    return np.diff(wrong) / BATCH


def recovered(wrong: Any, change: int) -> str:
    """Return rows until five batches together have at most 5 points more errors than before."""
    at = change // BATCH
    level = wrong[at - 10 : at].mean() + 0.05
    for batch in range(at, len(wrong) - 4):
        if wrong[batch : batch + 5].mean() <= level:
            return f"{(batch - at) * BATCH:,}"
    return "never"


def _shown(changes: list[int]) -> str:
    shown = ", ".join(f"{row:,}" for row in changes) or "-"
    return shown if len(changes) <= 5 else f"{len(changes)} times"


def lines_of(name: str, case: Case) -> list[dict[str, Any]]:
    X, y, kept, changes = case
    X, lines = normalize(X.astype(np.float64)), []
    for label, learner in LEARNERS.items():
        model = type(learner)(**{**learner.get_params(), "n_features": kept})
        wrong = wrong_by_batch(model, X, y)
        quarters = [f"{100 * (1 - part.mean()):.1f}" for part in np.array_split(wrong, 4)]
        lines.append({
            "stream": name,
            "learner": label,
            "accuracy %": f"{100 * (1 - wrong.mean()):.1f}",
            "by quarters of the rows": ", ".join(quarters),
            "recovered after (rows)": ", ".join(recovered(wrong, c) for c in changes) or "-",
            "changes found at": _shown(getattr(model, "changes_", [])),
        })  # fmt: skip
    return lines


def main() -> None:
    report = Report("instances_drift", __doc__)
    lines = []
    for name, case in {**generated(), **real()}.items():
        lines += lines_of(name, case)
        print(table(lines[-len(LEARNERS) :]), flush=True)
    report.table("progressive accuracy", lines)
    fill("row-sieve.md", "drift", table(lines))
    report.save()


if __name__ == "__main__":
    main()
