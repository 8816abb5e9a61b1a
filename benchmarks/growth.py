"""How SAOLA's time grows with the columns and with the rows: log-log slopes, 1 is linear."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._harness import Report, best_of
from tamis import SAOLA
from tamis.sources.synthetic import SparseStream

ROUNDS = 3
COLUMNS = (1_000, 4_000, 16_000, 64_000, 250_000, 1_000_000)
ROWS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
#: Share of the rows in which a noise column is on while the rows grow.
DENSITY = 0.005


def measure(n_rows: int, n_columns: int, nonzeros: float) -> dict[str, Any]:
    """One line of a table."""
    X, y = SparseStream(n_rows, n_columns, informative=10, nonzeros=nonzeros).load()
    sel = SAOLA()
    (seconds,) = best_of(ROUNDS, lambda: sel.fit(X, y))
    return {
        "rows": n_rows,
        "columns": n_columns,
        "nonzeros": int(X.nnz),
        "seconds": seconds,
        "ns a nonzero": seconds / X.nnz * 1e9,
        "kept": len(sel.kept_),
        "pair values": sel.work_["pair_values"],
    }


def slope(sizes: list[float], seconds: list[float]) -> float:
    """Slope of the straight line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def main() -> None:
    report = Report("growth", __doc__)
    by_columns = [measure(2_000, columns, 5.0) for columns in COLUMNS]
    by_rows = [measure(rows, 20_000, DENSITY * rows) for rows in ROWS]
    for what, rows in (("columns", by_columns), ("rows", by_rows)):
        report.table(f"Growing {what}", rows)
        sizes, seconds = [r[what] for r in rows], [r["seconds"] for r in rows]
        half = len(rows) // 2
        report.note(
            f"slope against {what}: {slope(sizes, seconds):.2f}; upper half, where the fixed cost "
            f"of a call no longer counts: {slope(sizes[half:], seconds[half:]):.2f}"
        )
    report.save()


if __name__ == "__main__":
    main()
