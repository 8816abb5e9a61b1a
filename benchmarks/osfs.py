"""OSFS and Fast-OSFS: tests per second against plain NumPy and SciPy, the papers' sets, growth.

The plain test is a few lines of NumPy: `bincount` and `chi2.sf`, or the inverse of a correlation
matrix and `norm.sf`. Both run over the same sets in the same order and give the same p-values. The
papers' seconds are those of the authors' programs on desktops of their time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np
from scipy import stats

from benchmarks._data import WORKLOADS, table_of_codes
from benchmarks._harness import Report, best_of, clear_peak, in_own_process, peak_megabytes
from benchmarks.growth import DENSITY, slope
from tamis import OSFS, FastOSFS, FisherZ, GSquared
from tamis.core.blocks import ColumnBlock
from tamis.core.target import Target
from tamis.sources.arrays.synthetic import SparseStream

ROUNDS = 3
#: Candidates for a set; all sets of up to three are tried.
CANDIDATES = 12
#: Target: this many times faster per test than the plain one.
TARGET = 20
#: Printed seconds of Fast-OSFS (or the fastest and slowest of several).
PAPERS = {"dorothea": "34 to 375", "thrombin": "18,576"}
COLUMNS = (1_000, 4_000, 16_000, 64_000, 250_000, 1_000_000)
#: OSFS tests every kept feature again whenever one arrives, so it gets fewer columns.
FEWER = (1_000, 4_000, 16_000, 64_000)
ROWS = (1_000, 4_000, 16_000, 64_000)
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {
    "PAPERS": {"dorothea": PAPERS["dorothea"]},
    "COLUMNS": COLUMNS[:4],
    "FEWER": FEWER[:3],
    "ROWS": ROWS[:3],
}

Test = Callable[[int, tuple[int, ...]], float]


def plain_g_squared(X: Any, y: Any) -> Test:
    """Return a test of a column and the class, given others, by counting with NumPy."""
    levels = X.max(axis=0) + 1
    classes = int(y.max()) + 1

    def p_value(x: int, given: tuple[int, ...]) -> float:
        strata = np.zeros(len(y), dtype=np.int64)
        for s in given:
            strata = strata * levels[s] + X[:, s]
        in_all = int(np.prod(levels[list(given)]))
        cell = (strata * levels[x] + X[:, x]) * classes + y
        N = np.bincount(cell, minlength=in_all * levels[x] * classes)
        N = N.reshape(in_all, levels[x], classes)
        total = N.sum(axis=(1, 2), keepdims=True)
        E = N.sum(axis=2, keepdims=True) * N.sum(axis=1, keepdims=True) / np.maximum(total, 1)
        filled = N > 0
        g = 2 * np.sum(N[filled] * np.log(N[filled] / E[filled]))
        return float(stats.chi2.sf(g, (levels[x] - 1) * (classes - 1) * in_all))

    return p_value


def plain_fisher_z(X: Any, y: Any) -> Test:
    """Return a test of a column and the target, given others, by inverting correlations."""

    def p_value(x: int, given: tuple[int, ...]) -> float:
        P = np.linalg.inv(np.corrcoef(np.column_stack([X[:, x], y, X[:, list(given)]]).T))
        r = -P[0, 1] / np.sqrt(P[0, 0] * P[1, 1])
        return float(2 * stats.norm.sf(np.sqrt(len(y) - len(given) - 3) * abs(np.arctanh(r))))

    return p_value


def measure_tests(kind: str, n_rows: int) -> dict[str, Any]:
    """One line of the table: the same sets by us and by the plain test."""
    rng = np.random.default_rng(0)
    if kind == "G-squared":
        X, y = table_of_codes(n_rows, CANDIDATES + 1, levels=3)
        X[:, -1] = np.where(rng.random(n_rows) < 0.6, y, X[:, -1])
        # nothing separates, so all sets are tried
        measure: Any = GSquared(alpha=1 - 1e-9, unreliable="skip")
        plain = plain_g_squared(X.astype(np.int64), y.astype(np.int64))
    else:
        y = rng.integers(0, 2, n_rows)
        X = rng.normal(size=(n_rows, CANDIDATES + 1)) + 0.5 * y[:, None]
        measure = FisherZ(alpha=1 - 1e-9)
        plain = plain_fisher_z(X, y)
    panel = measure.conditional_panel(Target.of(y))
    ready = panel.prepare(ColumnBlock.of(X), np.arange(CANDIDATES + 1))
    for j in range(CANDIDATES):
        panel.add(ready[j])
    panel.consider(ready[CANDIDATES])
    before = chain.from_iterable(combinations(range(CANDIDATES), m) for m in (1, 2, 3))
    sets = [s for s in before if not panel.test(CANDIDATES, s).refused]
    for given in sets[:: len(sets) // 9]:
        assert abs(panel.test(CANDIDATES, given).p - plain(CANDIDATES, given)) < 1e-10

    def ours() -> None:
        assert panel.separator(CANDIDATES, range(CANDIDATES), 3) is None

    ours_seconds, plain_seconds = best_of(
        ROUNDS, ours, lambda: [plain(CANDIDATES, given) for given in sets]
    )
    ratio = plain_seconds / ours_seconds
    return {
        "test": kind,
        "rows": n_rows,
        "tests": len(sets),
        "ours us per test": ours_seconds / len(sets) * 1e6,
        "plain us per test": plain_seconds / len(sets) * 1e6,
        "times faster": ratio,
        f"target {TARGET}": "met" if ratio >= TARGET else "MISSED",
    }


def measure_paper(paper: str, method: str) -> dict[str, Any]:
    """One line of the table of the papers' sets."""
    warnings.simplefilter("ignore")
    name, rows, y = WORKLOADS[paper].load()
    X = rows.tocsc()
    X.sort_indices()
    sel = {"osfs": OSFS, "fast-osfs": FastOSFS}[method]()
    sel.fit(X[:, :1000], y)  # compiles
    clear_peak()
    (seconds,) = best_of(1, lambda: sel.fit(X, y))
    return {
        "set": name,
        "method": method,
        "rows": X.shape[0],
        "columns": X.shape[1],
        "seconds": seconds,
        "paper s": PAPERS[paper],
        "peak MB": peak_megabytes(),
        "relevant": sel.work_["relevant"],
        "kept": len(sel.kept_),
        **{f"tests given {m}": sel.work_[f"tests_given_{m}"] for m in (1, 2, 3)},
    }


def measure_growth(method: Any, n_rows: int, n_columns: int, nonzeros: float) -> dict[str, Any]:
    """One line of a table of growth."""
    X, y = SparseStream(n_rows, n_columns, informative=10, nonzeros=nonzeros).load()
    sel = method()
    (seconds,) = best_of(1, lambda: sel.fit(X, y))
    work = sel.work_
    return {
        "rows": n_rows,
        "columns": n_columns,
        "nonzeros": int(X.nnz),
        "seconds": seconds,
        "relevant": work["relevant"],
        "kept": len(sel.kept_),
        "conditional tests": sum(work[f"tests_given_{m}"] for m in (1, 2, 3)),
    }


def growth(report: Report, method: Any, numbers: Sequence[int]) -> None:
    """Two tables and their slopes."""
    tables: dict[str, Sequence[dict[str, Any]]] = {
        "columns": [measure_growth(method, 2_000, columns, 5.0) for columns in numbers],
        "rows": [measure_growth(method, rows, 20_000, DENSITY * rows) for rows in ROWS],
    }
    for what, rows in tables.items():
        report.table(f"{method.__name__}, growing {what}", rows)
        seconds = [r["seconds"] for r in rows]
        sizes = [r[what] for r in rows]
        work = [r["nonzeros"] + r["conditional tests"] * r["rows"] for r in rows]
        half = len(rows) // 2
        report.note(
            f"{method.__name__}: slope against {what} {slope(sizes, seconds):.2f}, upper half "
            f"{slope(sizes[half:], seconds[half:]):.2f}; against nonzeros plus conditional tests "
            f"times rows {slope(work, seconds):.2f}"
        )


def main() -> None:
    report = Report("osfs", __doc__)
    report.table(
        "A test, given up to three of twelve columns",
        [measure_tests(k, n) for k in ("G-squared", "Fisher's z") for n in (569, 2_000, 20_000)],
    )
    report.note("p-values of ten sets were compared: they agree to 1e-10.")
    report.table(
        "From memory, at alpha 0.01",
        [
            in_own_process("benchmarks.osfs", "measure_paper", paper, method)
            for paper in PAPERS
            for method in ("fast-osfs", "osfs")
        ],
    )
    growth(report, FastOSFS, COLUMNS)
    growth(report, OSFS, FEWER)
    report.save()


if __name__ == "__main__":
    main()
