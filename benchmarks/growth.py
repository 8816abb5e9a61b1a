"""How CPU time grows with columns, rows, nonzeros and kept features: log-log slopes.

In each line one size grows over three decades and everything else stays the same: the data are
built so that the same features pass, are kept and are compared. A slope of 1 is linear. The slope
that counts is that of the upper two decades, where the fixed cost of a call matters less. Where the
time cannot be linear, the slope is against the counted work. Fills docs/growth.md.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import tamis
from benchmarks import _streams
from benchmarks._docs import fill
from benchmarks._harness import ROOT, Report, best_of, is_short, table
from tamis import SAOLA, SOFS, FastOSFS, FisherZ, GSquared, MutualInformation, RowSieve, Sieve
from tamis.engine.applying import apply_run
from tamis.sources.arrays.synthetic import SparseStream

Fit = Callable[[Any, Any], Any]
#: Sizes and seconds.
Curve = tuple[list[int], list[float]]
#: What is timed, and then the counted work, if time follows that and not the size.
Job = Callable[[], Any]

ROUNDS = 3
COLUMNS = (1_000, 4_000, 16_000, 64_000, 250_000, 1_000_000)
ROWS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
#: Share of the rows in which a noise column is on while the rows grow.
DENSITY = 0.005
#: The smallest of the sizes is multiplied by these.
STEPS = (1, 3, 10, 30, 100, 300, 1000)
#: Slopes above this are named, where 1 is expected.
MOST = 1.05
#: Noise does not pass at this level, planted features do.
LEVEL = 1e-12
#: Why some slopes are not 1.
SORTED = 1.1, "values are sorted"
SAME = "the nonzeros stay the same"
#: The short form, for `make bench`: two decades.
SHORT: dict[str, Any] = {
    "ROUNDS": 1,
    "COLUMNS": COLUMNS[:4],
    "ROWS": ROWS[:4],
    "STEPS": (1, 10, 100),
}


# --- for other benchmarks -------------------------------------------------------------------------


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


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope of a line fitted to the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def grow(report: Report, fit: Fit, counted: Sequence[str] = ("pair_values",)) -> None:
    """Report how the time of `fit` grows."""
    by_columns = [measure(2_000, width, 5.0, fit, counted) for width in COLUMNS]
    by_rows = [measure(height, 20_000, DENSITY * height, fit, counted) for height in ROWS]
    for what, lines in (("columns", by_columns), ("rows", by_rows)):
        report.table(f"Growing {what}", lines)
        sizes, seconds = [r[what] for r in lines], [r["seconds"] for r in lines]
        half = len(lines) // 2
        report.note(
            f"slope against {what}: {slope(sizes, seconds):.2f}; upper half, where the fixed cost "
            f"of a call no longer counts: {slope(sizes[half:], seconds[half:]):.2f}"
        )


# --- data in which one size grows -----------------------------------------------------------------


def numbers(n: int, p: int, planted: int = 10) -> tuple[Any, Any]:
    """Return normal columns in Fortran order, float32; the first ones are planted."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = np.empty((n, p), np.float32, order="F")
    for lo in range(0, p, 1000):
        X[:, lo : lo + 1000] = rng.standard_normal((n, min(1000, p - lo)), np.float32)
    X[:, :planted] += 1.5 * y[:, np.newaxis]
    return X, y


def flags(n: int, p: int, nonzeros: int, planted: int = 10) -> tuple[Any, Any]:
    """Return flags, each on in `nonzeros` rows; the first ones only in rows of class 1."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    # One row of each stretch of the rows: distinct and in order.
    stretch = n // nonzeros
    indices = rng.integers(0, stretch, (p, nonzeros)) + stretch * np.arange(nonzeros)
    indices[:planted] |= 1
    indptr = np.arange(p + 1) * nonzeros
    ones = np.ones(p * nonzeros, np.float32)
    return sp.csc_matrix((ones, indices.ravel().astype(np.int32), indptr), (n, p)), y


def kept_numbers(kept: int, later: int, all_columns: int, n: int = 1_000) -> tuple[Any, Any]:
    """Return features that are all kept, weaker copies of the last of them, then noise."""
    X, y = numbers(n, all_columns, 0)
    rng = np.random.default_rng(1)
    X[:, :kept] += 0.7 * y[:, np.newaxis]
    copies = slice(kept, kept + later)
    X[:, copies] = X[:, kept - 1 : kept] + 0.5 * rng.standard_normal((n, later), np.float32)
    return X, y


def kept_flags(kept: int, later: int, all_columns: int, n: int = 2_000) -> tuple[Any, Any]:
    """Return flags that are all kept, halves of the last of them, then rare noise."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = rng.random((n, all_columns)) < 0.003
    X[:, :kept] = rng.random((n, kept)) < np.where(y == 1, 0.25, 0.05)[:, np.newaxis]
    half = rng.random((n, later)) < 0.8
    X[:, kept : kept + later] = X[:, kept - 1 : kept] & half
    return sp.csc_matrix(X.astype(np.float32)), y


def rows_of(n: int, columns: int, per_row: int, informative: int = 10) -> tuple[Any, Any]:
    """Return sparse rows, and their classes."""
    stream = _streams.Stream("", n, columns, informative, per_row - informative)
    return stream.matrix(0, n)


# --- what is timed --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A line of the table: `make(size)` returns what is timed.

    `first` is the smallest size, and `most` the slope that is expected, for a reason that `why`
    gives if it is not simply proportional. `work` returns the counted work, against which the slope
    is taken where the time does not follow the size.
    """

    what: str
    axis: str
    first: int
    make: Callable[[int, Path], Job]
    most: float = 1.0
    why: str = ""
    work: Callable[[Any], float] | None = None
    steps: tuple[int, ...] = ()


def fitted(selector: Any, data: tuple[Any, Any]) -> Job:
    """Return a fit."""
    return lambda: selector.fit(*data)


def learned(learner: Any, data: tuple[Any, Any]) -> Job:
    """Return one pass of a learner."""
    return lambda: learner.fit(*data)


def strict(method: str, sparse: bool = False) -> Any:
    """Return a method whose gate no noise passes."""
    if method == "Sieve":
        return Sieve(alpha=LEVEL)
    if not sparse:
        return (SAOLA if method == "SAOLA" else FastOSFS)(FisherZ(alpha=LEVEL))
    if method == "SAOLA":
        return SAOLA(MutualInformation(alpha=LEVEL))
    return FastOSFS(GSquared(alpha=LEVEL))


def pairs(found: Any) -> float:
    """Return the pairs that were compared."""
    return float(found.work_["pair_values"])


def tests(found: Any) -> float:
    """Return the conditional tests."""
    return float(sum(v for key, v in found.work_.items() if key.startswith("tests_given_")))


def drained(source: Any) -> int:
    """Read all of a source, as its own kind of blocks."""
    blocks = source.columns() if hasattr(source, "columns") else source.batches()
    return sum(1 for _ in blocks)


def text(place: Path, kind: str, n: int, p: int) -> Path:
    """Write a table of numbers with a target, or sparse rows, and return its path."""
    path = place / f"{n}-{p}.{kind}"
    if path.exists():
        return path
    if kind == "svm":
        stream = _streams.Stream("", n, 100_000, 10, p - 10)
        stream.write_text(path, 0, n)
        return path
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    names = [f"x{j}" for j in range(p)]
    columns = [np.round(rng.normal(size=n) + y * (j < 5), 4) for j in range(p)]
    made = pa.table([*columns, y], names=[*names, "y"])
    if kind == "csv":
        pyarrow.csv.write_csv(made, path)
    else:
        pyarrow.parquet.write_table(made, path)
    return path


def reading(place: Path, kind: str, n: int, p: int) -> Job:
    """Return the reading of a file, without anything else."""
    path = text(place, kind, n, p)
    target = {} if kind == "svm" else {"target": "y"}
    return lambda: drained(tamis.open(path, **target))


def selecting(place: Path, kind: str, n: int, p: int) -> Job:
    """Return a selection from a file, as `tamis select` does it."""
    path = text(place, kind, n, p)
    return lambda: tamis.select(tamis.open(path, target="y"), Sieve(alpha=LEVEL))


def applying(place: Path, kind: str, n: int, p: int) -> Job:
    """Return `tamis apply`: the kept columns of a file, written to another."""
    path = text(place, kind, n, p)
    small = text(place, kind, 1_000, p)
    run = tamis.select(tamis.open(small, target="y"), SAOLA(alpha=LEVEL))
    out = place / f"out.{kind}"
    return lambda: apply_run(run, path, out, force=True)


def cases() -> list[Case]:
    """Return the lines of the table."""
    lines: list[Case] = []
    for method in ("SAOLA", "Sieve", "Fast-OSFS"):
        lines += [
            Case(f"{method}, numbers", "columns", 200,
                 lambda n, _, m=method: fitted(strict(m), numbers(100, n))),
            Case(f"{method}, sparse flags", "columns", 500,
                 lambda n, _, m=method: fitted(strict(m, True), flags(2_000, n, 40))),
            Case(f"{method}, numbers", "rows", 500,
                 lambda n, _, m=method: fitted(strict(m), numbers(n, 20)), *SORTED),
            Case(f"{method}, sparse flags", "rows", 2_000,
                 lambda n, _, m=method: fitted(strict(m, True), flags(n, 5_000, 50)), 0.0, SAME),
            Case(f"{method}, sparse flags", "nonzeros", 50,
                 lambda n, _, m=method: fitted(strict(m, True), flags(200_000, 200, n))),
        ]  # fmt: skip
    for what, make in (("numbers", kept_numbers), ("sparse flags", kept_flags)):
        saola = strict("SAOLA", what != "numbers")
        lines.append(
            Case(f"SAOLA, {what}", "kept features", 3,
                 lambda k, _, make=make, saola=saola: fitted(saola, make(k, 3_000, 6_000)),
                 why="per pair: 3,000 survivors are compared with each kept feature", work=pairs)
        )  # fmt: skip
    lines += [
        Case("Sieve(n_features=k), numbers", "kept features", 3,
             lambda k, _: fitted(Sieve(alpha=LEVEL, n_features=k), kept_numbers(3_000, 1, 4_000)),
             why="per pair: 3,000 survivors, a pool of 4 k", work=pairs),
        Case("Fast-OSFS, numbers", "kept features", 1,
             lambda k, _: fitted(strict("Fast-OSFS"), kept_numbers(k, 100, 1_000)), work=tests,
             why="per test: every subset of up to three kept features", steps=(2, 4, 8, 16, 32)),
    ]  # fmt: skip
    for name, learner in (("SOFS", SOFS), ("RowSieve", RowSieve)):
        lines += [
            Case(name, "rows", 300, lambda n, _, m=learner: learned(m(50), rows_of(n, 10_000, 50))),
            Case(name, "nonzeros", 20,
                 lambda n, _, m=learner: learned(m(50), rows_of(1_000, 100_000, n))),
            Case(name, "columns", 3_000,
                 lambda n, _, m=learner: learned(m(50), rows_of(20_000, n, 50)), 0.0, SAME),
            Case(name, "kept features", 10,
                 lambda k, _, m=learner: learned(m(k), rows_of(20_000, 100_000, 50)), 0.0,
                 "a heap of those kept: log k per nonzero"),
        ]  # fmt: skip
    lines += [
        Case("reading svmlight", "rows", 100, lambda n, d: reading(d, "svm", n, 30)),
        Case("reading Parquet", "rows", 300, lambda n, d: reading(d, "parquet", n, 20)),
        Case("reading Parquet", "columns", 10, lambda n, d: reading(d, "parquet", 1_000, n)),
        Case("reading CSV", "rows", 300, lambda n, d: reading(d, "csv", n, 20)),
        Case("reading CSV", "columns", 10, lambda n, d: reading(d, "csv", 1_000, n)),
        Case("tamis select, CSV", "rows", 300, lambda n, d: selecting(d, "csv", n, 20)),
        Case("tamis select, CSV", "columns", 10, lambda n, d: selecting(d, "csv", 1_000, n)),
        Case("tamis apply, CSV", "rows", 300, lambda n, d: applying(d, "csv", n, 20)),
        Case("tamis apply, CSV", "columns", 10, lambda n, d: applying(d, "csv", 1_000, n)),
        Case("tamis apply, Parquet", "rows", 300, lambda n, d: applying(d, "parquet", n, 20)),
    ]
    return lines


def seconds_of(job: Job) -> tuple[float, Any]:
    """Return the least CPU seconds of a job and what it returned; short jobs run more often."""
    best, spent, rounds, found = float("inf"), 0.0, 0, None
    while rounds < 2 or (spent < 0.2 and rounds < 20):
        begun = time.process_time()
        found = job()
        took = time.process_time() - begun
        best, spent, rounds = min(best, took), spent + took, rounds + 1
        if spent > 1.5:
            break
    return best, found


def line_of(case: Case, place: Path) -> tuple[dict[str, Any], Curve]:
    """Return a line of the table, and its curve."""
    case.make(case.first, place)()  # compiles
    sizes = [case.first * step for step in case.steps or STEPS]
    seconds, work = [], []
    for size in sizes:
        best, found = seconds_of(case.make(size, place))
        seconds.append(best)
        if case.work is not None:
            work.append(case.work(found))
    upper = 2 if len(sizes) > 5 else 0
    against = work or [float(size) for size in sizes]
    of_upper = slope(against[upper:], seconds[upper:])
    line = {
        "what": case.what,
        "grows": case.axis,
        "from": f"{sizes[0]:,}",
        "to": f"{sizes[-1]:,}",
        "CPU s at first": seconds[0],
        "at last": seconds[-1],
        "slope, upper two decades": f"{of_upper:.2f}" + " per work" * bool(work),
        "slope, all": f"{slope(against, seconds):.2f}",
        "expected": (f"{case.most:g}" if case.most else "below 1")
        + f": {case.why}" * bool(case.why),
        "above": "yes" if of_upper > MOST * max(case.most, 1.0) else "",
    }
    return line, (sizes, seconds)


def plot(curves: dict[tuple[str, str], Curve], path: Path) -> None:
    """Plot the curves, one panel per axis, with lines of slope 1."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    colors = dict(
        zip(dict.fromkeys(what for what, _ in curves), colormaps["tab20"].colors, strict=False)
    )
    axes_names = list(dict.fromkeys(axis for _, axis in curves))
    figure = Figure(figsize=(8, 3.2 * len(axes_names)), layout="constrained")
    for panel, axis in zip(
        figure.subplots(len(axes_names), squeeze=False)[:, 0], axes_names, strict=True
    ):
        for (what, grows), curve in curves.items():
            if grows == axis:
                panel.plot(*curve, marker="o", ms=3, lw=1.2, label=what, color=colors[what])
        panel.set(xscale="log", yscale="log", xlabel=axis, ylabel="CPU seconds")
        (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
        for at in np.geomspace(low * left / right, high, 8):
            panel.plot([left, right], [at, at * right / left], color="0.85", lw=0.7, zorder=0)
        panel.set(xlim=(left, right), ylim=(low, high))
        panel.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.savefig(path, dpi=110)


def main(only: str = "") -> None:
    """Print and save the table, and write it and its plot into the documentation."""
    report, lines, curves = Report("growth", __doc__ or ""), list[dict[str, Any]](), {}
    with tempfile.TemporaryDirectory(prefix="tamis-bench-") as folder, tamis.threads(1):
        for case in cases():
            if only in f"{case.what}, {case.axis}":
                line, curve = line_of(case, Path(folder))
                lines.append(line)
                curves[case.what, case.axis] = curve
                print(line, [f"{s:.3g}" for s in curve[1]], flush=True)
    report.table("CPU seconds and slopes", lines)
    report.save()
    if not only:
        fill("growth.md", "growth", table(lines))
        if not is_short():
            plot(curves, ROOT / "docs" / "images" / "growth.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
