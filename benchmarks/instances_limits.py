"""Where RowSieve loses: copies of features, and more places than are useful, on generated rows.

X1 with rare informative features (`benchmarks/_streams.py`). gamma, eta, lam and the floor are
picked on the first fifth of the training rows, by progressive validation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

import tamis
from benchmarks import _streams
from benchmarks._docs import fill
from benchmarks._harness import Report, table
from benchmarks.instances import GRIDS, TEST_ROWS

STREAM, SIZES, SIZES_OF_COPIES = _streams.X1_RARE, (50, 200, 1000), (100, 200)
FLOORS = (0.0, 0.003, 0.03)
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {
    "STREAM": replace(STREAM, rows=5_000),
    "SIZES": (50,),
    "SIZES_OF_COPIES": (100,),
}
SETTINGS: dict[str, tuple[str, list[dict[str, float]]]] = {
    "RowSieve": ("RowSieve", GRIDS["RowSieve"]),
    "RowSieve, floor tuned": (
        "RowSieve",
        [{**one, "floor": floor} for floor in FLOORS for one in GRIDS["RowSieve"]],
    ),
    **{name: (name, GRIDS[name]) for name in ("SOFS", "PET", "FOFS")},
}


def with_copies(X: Any, good: Any) -> Any:
    """Add a copy of every informative column at the end."""
    return sp.hstack([X, X.tocsc()[:, good]]).tocsr()


def lines_of(what: str, kept: int, train: Any, test: Any, good: Any) -> list[dict[str, Any]]:
    """Return one line per learner; `good` has the number of each informative column, else -1."""
    fifth = len(train[1]) // 5
    part = train[0][:fifth], train[1][:fifth]
    lines = []
    for label, (name, grid) in SETTINGS.items():
        models = [getattr(tamis, name)(n_features=kept, **choice) for choice in grid]
        model = clone(min(models, key=lambda m: m.fit(*part).work_["mistakes"])).fit(*train)
        found = good[model.kept_]
        lines.append({
            "rows": what,
            "may keep": kept,
            "learner": label,
            "test accuracy %": f"{100 * np.mean(model.predict(test[0]) == test[1]):.2f}",
            "kept": len(model.kept_),
            "different informative ones": len(np.unique(found[found >= 0])),
        })  # fmt: skip
    return lines


def main() -> None:
    report = Report("instances_limits", __doc__)
    stream = STREAM
    X, y = stream.matrix(0, stream.rows)
    T, z = stream.matrix(stream.rows, stream.rows + TEST_ROWS)
    number = np.full(stream.columns + stream.informative, -1)
    number[stream.good] = number[stream.columns :] = np.arange(stream.informative)
    lines = []
    for kept in SIZES:
        lines += lines_of("rare features", kept, (X, y), (T, z), number)
    twice, test = with_copies(X, stream.good), with_copies(T, stream.good)
    for kept in SIZES_OF_COPIES:
        lines += lines_of("each informative feature twice", kept, (twice, y), (test, z), number)
    report.table("test accuracy %", lines)
    fill("row-sieve.md", "limits", table(lines))
    report.save()


if __name__ == "__main__":
    main()
