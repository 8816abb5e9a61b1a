"""OFS-A3M and OFS-Density: a distance update against recomputation, and how their time grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from benchmarks._harness import Report, best_of
from benchmarks.growth import slope
from tamis import OFSA3M, OFSDensity
from tamis.core.blocks import ColumnBlock
from tamis.core.target import Target
from tamis.measures.dependency import Neighbourhoods

ROUNDS = 10
KEPT = (2, 4, 8, 16, 32, 64)
COLUMNS = (1_000, 3_000, 10_000, 30_000, 100_000)
ROWS = (100, 200, 400, 800, 1_600)
SELECTORS = (OFSA3M, OFSDensity)
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"ROUNDS": 3, "KEPT": KEPT[:3], "COLUMNS": COLUMNS[:2], "ROWS": ROWS[:3]}


def data(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normal columns, one in a hundred of which is informative."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    X = np.asfortranarray(rng.normal(size=(n_rows, n_columns)))
    X[:, ::100] += y[:, None] * 2.0
    return X, y


def straightforward(X: np.ndarray, y: np.ndarray) -> float:
    """Dependency by the gap rule in NumPy and SciPy: all distances, all sorted, no loops."""
    n = len(y)
    D = squareform(pdist(X, "seuclidean"))
    np.fill_diagonal(D, -1.0)
    rows = np.argsort(D, axis=1, kind="stable")[:, 1:]
    d = np.take_along_axis(D, rows, axis=1)
    widest = 1.5 * (d[:, -1] - d[:, 0]) / (n - 2)
    wide = np.diff(d, axis=1) >= widest[:, None]
    count = np.where(wide.any(axis=1), wide.argmax(axis=1) + 1, n - 1)
    inside = np.arange(n - 1) < count[:, None]
    return float(((y[rows] == y[:, None]) & inside).sum(axis=1) @ (1 / count) / n)


def update_against_recomputation(n_rows: int = 500) -> list[dict[str, Any]]:
    """Time adding one feature to `kept` others: our update, our recomputation, and plain SciPy."""
    X, y = data(n_rows, max(KEPT) + 1)
    block, lines = ColumnBlock.of(X), []
    for kept in KEPT:
        held = Neighbourhoods(Target.of(y), "gap")
        columns = [held.ready(block, j) for j in range(kept + 1)]
        for column in columns[:-1]:
            held.add(column)

        def recompute(columns: list[Any] = columns) -> float:
            space = Neighbourhoods(Target.of(y), "gap")
            for column in columns:
                space.add(column)
            return space.dependency().value

        def update(held: Neighbourhoods = held, column: Any = columns[-1]) -> float:
            return held.dependency(plus=column).value

        part = np.ascontiguousarray(X[:, : kept + 1])
        assert recompute() == update()
        assert abs(update() - straightforward(part, y)) < 1e-12
        tried, ours, scipy = best_of(
            ROUNDS, update, recompute, lambda part=part: straightforward(part, y)
        )
        lines.append(
            {
                "kept": kept,
                "ms, one update": tried * 1e3,
                "ms, recomputed": ours * 1e3,
                "ms, SciPy": scipy * 1e3,
                "recomputed / update": ours / tried,
                "SciPy / update": scipy / tried,
            }
        )
    return lines


def one_set(rule: str, n_rows: int) -> dict[str, Any]:
    """Time adding a third feature to two others, the cost of a feature that passes a test."""
    X, y = data(n_rows, 3)
    held, block = Neighbourhoods(Target.of(y), rule), ColumnBlock.of(X)
    columns = [held.ready(block, j) for j in range(3)]
    held.add(columns[0])
    held.add(columns[1])
    (seconds,) = best_of(ROUNDS, lambda: held.dependency(plus=columns[2]))
    return {"rows": n_rows, "ms": seconds * 1e3, "ns per pair": seconds / n_rows**2 * 1e9}


def measure(selector: type, n_rows: int, n_columns: int) -> dict[str, Any]:
    """One line of a table of growth."""
    X, y = data(n_rows, n_columns)
    found = selector()
    (seconds,) = best_of(1, lambda: found.fit(X, y))
    return {
        "rows": n_rows,
        "columns": n_columns,
        "seconds": seconds,
        "us per column": seconds / n_columns * 1e6,
        "kept": len(found.kept_),
        "sets tried": found.work_["set_dependencies"],
    }


def main() -> None:
    report = Report("neighbourhood", __doc__)
    report.table("One more feature, 500 rows", update_against_recomputation())
    for rule in ("gap", "density falls"):
        sets = [one_set(rule, rows) for rows in ROWS]
        report.table(f"One set, {rule}, growing rows", sets)
        growth = slope([r["rows"] for r in sets], [r["ms"] for r in sets])
        report.note(f"one set, {rule}: slope against rows {growth:.2f} (2 is quadratic)")
    for selector in SELECTORS:
        by_columns = [measure(selector, 100, columns) for columns in COLUMNS]
        by_rows = [measure(selector, rows, 1_000) for rows in ROWS]
        for what, rows in (("columns", by_columns), ("rows", by_rows)):
            report.table(f"{selector.__name__}, growing {what}", rows)
            sizes, seconds = [r[what] for r in rows], [r["seconds"] for r in rows]
            report.note(
                f"{selector.__name__}: slope against {what} {slope(sizes, seconds):.2f} "
                "(1 is linear; features alone are most of the work, n log n + n k)"
            )
    report.save()


if __name__ == "__main__":
    main()
