"""How SAOLA's time grows with the columns and with the rows: log-log slopes, 1 is linear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks._harness import Report, best_of
from tamis import SAOLA
from tamis.sources.arrays.synthetic import SparseStream

Fit = Callable[[Any, Any], Any]

ROUNDS = 3
COLUMNS = (1_000, 4_000, 16_000, 64_000, 250_000, 1_000_000)
ROWS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
#: Share of the rows in which a noise column is on while the rows grow.
DENSITY = 0.005


def fit_saola(X: Any, y: Any) -> Any:
    """Fit SAOLA, the default method to measure."""
    return SAOLA().fit(X, y)


def measure(
    n_rows: int, n_columns: int, nonzeros: float, fit: Fit, counted: Sequence[str]
) -> dict[str, Any]:
    """One line of a table; `counted` are keys of `work_`."""
    X, y = SparseStream(n_rows, n_columns, informative=10, nonzeros=nonzeros).load()
    found: list[Any] = []
    (seconds,) = best_of(ROUNDS, lambda: found.append(fit(X, y)))
    sel = found[-1]
    return {
        "rows": n_rows,
        "columns": n_columns,
        "nonzeros": int(X.nnz),
        "seconds": seconds,
        "ns per nonzero": seconds / X.nnz * 1e9,
        "kept": len(sel.kept_),
        **{word.replace("_", " "): sel.work_[word] for word in counted},
    }


def slope(sizes: list[float], seconds: list[float]) -> float:
    """Return the slope of a line fitted to the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def grow(
    report: Report,
    fit: Fit = fit_saola,
    columns: Sequence[int] = COLUMNS,
    rows: Sequence[int] = ROWS,
    counted: Sequence[str] = ("pair_values",),
) -> None:
    """Report how the time of `fit` grows."""
    by_columns = [measure(2_000, width, 5.0, fit, counted) for width in columns]
    by_rows = [measure(height, 20_000, DENSITY * height, fit, counted) for height in rows]
    for what, lines in (("columns", by_columns), ("rows", by_rows)):
        report.table(f"Growing {what}", lines)
        sizes, seconds = [r[what] for r in lines], [r["seconds"] for r in lines]
        half = len(lines) // 2
        report.note(
            f"slope against {what}: {slope(sizes, seconds):.2f}; upper half, where the fixed cost "
            f"of a call no longer counts: {slope(sizes[half:], seconds[half:]):.2f}"
        )


def main() -> None:
    report = Report("growth", __doc__)
    grow(report)
    report.save()


if __name__ == "__main__":
    main()
