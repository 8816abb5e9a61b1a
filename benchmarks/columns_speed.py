"""CPU time of feature streams beside NumPy, per value, per pair and per fit."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import tamis
from benchmarks._data import SHARED, load_real
from benchmarks._docs import fill
from benchmarks._harness import ROOT, Report, table
from tamis import FCBF, SAOLA, FisherZ, GroupSAOLA, MutualInformation, SymmetricUncertainty
from tamis.core.blocks import ColumnBlock
from tamis.core.target import Target
from tamis.kernels.threads import threads
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store

#: Every column passes: the walk meets all of them.
ALL = FisherZ(alpha=0.999999, statistic="z")


def cpu(*jobs: Callable[[], object], rounds: int = 5) -> list[float]:
    """Return the best CPU seconds of each job; they alternate, after a round that is not timed."""
    best = [float("inf")] * len(jobs)
    for round_ in range(rounds + 1):
        for i, job in enumerate(jobs):
            start = time.process_time()
            job()
            if round_:
                best[i] = min(best[i], time.process_time() - start)
    return best


def dense(n: int = 2000, p: int = 20_000) -> list[dict[str, Any]]:
    """Return ns per value of whole fits on numbers, beside three passes of NumPy."""
    rng = np.random.default_rng(0)
    values, y, rows = rng.normal(size=(n, p)), rng.integers(0, 2, n), list[dict[str, Any]]()
    for kind in (np.float32, np.float64):
        for order in ("F", "C"):
            X, weights = np.array(values, dtype=kind, order=order), y.astype(kind)
            seconds = cpu(
                partial(SAOLA(FisherZ()).fit, X, y),
                partial(SAOLA(FisherZ(statistic="z")).fit, X, y),
                lambda X=X, w=weights: (X.T @ w, X.sum(0), np.einsum("ij,ij->j", X, X)),
            )
            exact, papers, numpy = (1e9 * s / values.size for s in seconds)
            rows.append(
                {
                    "values": f"{np.dtype(kind).name}, {'Fortran' if order == 'F' else 'C'} order",
                    "SAOLA(FisherZ())": exact,
                    'statistic="z"': papers,
                    "NumPy, three passes": numpy,
                    "ratio": exact / numpy,
                    "wanted": 2.0 if order == "F" else 3.0,
                }
            )
    return rows


def sparse(n: int = 2000) -> list[dict[str, Any]]:
    """Return ns per nonzero of numbers that are not all 1."""
    y, rows = np.random.default_rng(0).integers(0, 2, n), list[dict[str, Any]]()
    for filled, p, wanted in ((100, 5000, 4), (6, 50_000, 8)):
        X = sp.random(n, p, filled / n, format="csc", random_state=0)
        block, target = ColumnBlock.of(X), Target.of(y)
        seconds = cpu(
            partial(FisherZ(statistic="z").relevance, block, target),
            partial(SAOLA(FisherZ(statistic="z")).fit, X, y),
            partial(SAOLA(FisherZ()).fit, X, y),
            rounds=3,
        )
        relevance, papers, exact = (1e9 * s / X.nnz for s in seconds)
        rows.append(
            {
                "nonzeros per column": filled,
                "relevance": relevance,
                "wanted": wanted,
                'whole fit, statistic="z"': papers,
                "whole fit": exact,
            }
        )
    return rows


def whole_numbers(n: int = 2000, p: int = 4000) -> list[dict[str, Any]]:
    """Return ns per value of whole fits on three levels, beside a sum."""
    rng, rows = np.random.default_rng(0), list[dict[str, Any]]()
    values, y = rng.integers(0, 3, (n, p)), rng.integers(0, 2, n)
    for kind, wanted in ((np.int8, 1), (np.int64, 2), (np.float64, 2)):
        X = np.array(values, dtype=kind, order="F")
        fit, total = cpu(partial(SAOLA().fit, X, y), X.sum, rounds=3)
        rows.append(
            {
                "values": np.dtype(kind).name,
                "SAOLA()": 1e9 * fit / values.size,
                "X.sum()": 1e9 * total / values.size,
                "wanted": wanted,
            }
        )
    return rows


def pairs(width: int = 256) -> list[dict[str, Any]]:
    """Return ns per multiply-add of correlations between columns, beside BLAS."""
    rng, rows = np.random.default_rng(0), list[dict[str, Any]]()
    for n in (62, 2000, 20_000):
        X = np.asfortranarray(rng.normal(size=(n, width)))
        panel = FisherZ().panel(Target.of(np.arange(n) % 2))
        ready = panel.prepare(ColumnBlock.of(X), np.arange(width))
        for column in ready:
            panel.add(column)
        ours, blas = cpu(partial(panel.between_many, ready, 0, width), lambda X=X: X.T @ X)
        rows.append(
            {
                "rows": n,
                "tamis": 1e9 * ours / n / width**2,
                "dgemm": 1e9 * blas / n / width**2,
                "wanted": 0.2,
            }
        )
    return rows


def survivors(n: int = 72, p: int = 7000) -> list[tuple[str, Any, Any]]:
    """Return columns that all pass, with some structure: numbers and levels, dense and sparse."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n, 40))
    X = np.asfortranarray(hidden[:, rng.integers(0, 40, p)] * 0.8 + 0.6 * rng.normal(size=(n, p)))
    y = (hidden[:, 0] + rng.normal(size=n) > 0).astype(int)
    levels = np.round(X).clip(-1, 1)
    few = np.where(np.abs(X) > 1, X, 0)
    return [
        ("numbers", X, y),
        ("levels", levels, y),
        ("sparse numbers", sp.csc_matrix(few), y),
        ("sparse levels", sp.csc_matrix(np.round(few).clip(-1, 1)), y),
    ]


def after_scoring(estimator: Any, X: Any, y: Any, groups: Any = None) -> float:
    """Return the least CPU seconds of the walk and its log: all that follows the relevance pass."""
    best = float("inf")
    for _ in range(6):
        selector = estimator._to_selector()
        block = MemorySource(X).whole()
        if groups is not None:
            block = ColumnBlock(0, block.n_rows, block.values, group=groups)
        selector.start(Target.of(y))
        selector.prepare(iter([block]))
        scored = selector.score(block)
        start = time.process_time()
        selector.update(scored)
        selector.finish()
        best = min(best, time.process_time() - start)
    return best


def walks() -> list[dict[str, Any]]:
    """Return milliseconds of the walk over 7,000 survivors, with the log."""
    rows = []
    for name, X, y in survivors():
        groups = np.arange(X.shape[1]) // 50
        information = "levels" in name
        measure: Any = MutualInformation() if information else ALL
        row: dict[str, Any] = {"72 x 7,000": name}
        row["SAOLA"] = 1e3 * after_scoring(SAOLA(measure), X, y)
        row["SAOLA-max"] = 1e3 * after_scoring(SAOLA(measure, bound="max"), X, y)
        row["GroupSAOLA"] = 1e3 * after_scoring(GroupSAOLA(measure), X, y, groups)
        own = SymmetricUncertainty() if information else ALL
        row["FCBF"] = 1e3 * after_scoring(FCBF(own), X, y)
        rows.append(row | {"wanted": 10})
    return rows


def fits() -> list[dict[str, Any]]:
    """Return milliseconds of small fits, and of a column store."""
    rows = []
    if (SHARED / "colon").is_dir():
        X, y = load_real("colon")
        (seconds,) = cpu(partial(SAOLA().fit, X, y), rounds=30)
        rows.append(
            {"work": "SAOLA() on colon, 62 x 2,000 (ms)", "tamis": 1e3 * seconds, "wanted": 4.0}
        )
    n, p = 2000, 10_000
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(n, p)).astype(np.float32), rng.integers(0, 2, n)
        store = os.path.join(folder, "store")
        write_store(store, MemorySource(np.asfortranarray(X), y))
        del X
        (seconds,) = cpu(partial(tamis.select, store, SAOLA(FisherZ())), rounds=2)
    work = "2,000 x 500,000 float32 from a column store (s, fifty times 10,000)"
    rows.append({"work": work, "tamis": 50 * seconds, "wanted": 5.0})
    return rows


FIRST = """
import sys, time
import numpy as np, scipy.sparse as sp
import numba
numba.njit(lambda a: a.sum())(np.arange(3.0))
import pandas as pd
import tamis
from tamis import SAOLA, Sieve
rng = np.random.default_rng(0)
y = rng.integers(0, 2, 200)
method, kind = sys.argv[1].split(", ", 1)
X = {"floats": rng.normal(size=(200, 300)), "sparse": sp.random(200, 300, 0.1, format="csc"),
     "whole numbers": rng.integers(0, 3, (200, 300))}.get(kind)
if kind == "dorothea, 800 x 100,000":
    from benchmarks._data import load_real
    X, y = load_real("dorothea")
if kind == "a data frame of 500 x 30":
    y = rng.integers(0, 3, 500)
    X = pd.DataFrame({f"number {i}": rng.normal(size=500) + y * (i < 4) for i in range(20)})
    X = X.assign(**{f"word {i}": rng.choice(list("abcde"), 500) for i in range(9)}, same=y % 2)
    start = time.process_time()
    tamis.select(X, y=y)
else:
    start = time.process_time()
    {"SAOLA": SAOLA, "Sieve": Sieve}[method]().fit(X, y)
print(time.process_time() - start)
"""


def first_fits() -> list[dict[str, Any]]:
    """Return CPU seconds of the first fit on a machine that never compiled anything."""
    rows = list[dict[str, Any]]()
    wanted = {"SAOLA, floats": 4.0, "SAOLA, sparse": 4.0, "SAOLA, whole numbers": 7.0}
    larger = ("SAOLA, dorothea, 800 x 100,000",) if (SHARED / "dorothea").is_dir() else ()
    small = ("Sieve, floats", "Sieve, sparse", "Sieve, a data frame of 500 x 30")
    for what in (*wanted, *larger, *small):
        row: dict[str, Any] = {"first fit": what}
        for column, compiles in FIRST_COLUMNS.items():
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [sys.executable, "-c", FIRST, what], cwd=ROOT, check=True,
                    env={**os.environ, "NUMBA_CACHE_DIR": folder, "TAMIS_COMPILE": compiles},
                    stdout=subprocess.PIPE, text=True,
                )  # fmt: skip
            row[column] = float(done.stdout)
        rows.append({**row, "wanted": wanted.get(what, "")})
    command = [sys.executable, "-m", "tamis", "select", "docs/houses.csv", "--target", "price"]
    took = dict[str, dict[str, Any]]()
    for column, compiles in FIRST_COLUMNS.items():
        with tempfile.TemporaryDirectory() as folder:
            cache = {"NUMBA_CACHE_DIR": os.path.join(folder, "cache"), "TAMIS_COMPILE": compiles}
            for name in ("first", "second"):
                out = ["--out", os.path.join(folder, name), "--quiet"]
                before = seconds_of_children()
                subprocess.run([*command, *out], cwd=ROOT, env={**os.environ, **cache}, check=True)
                what = f"tamis select docs/houses.csv, the whole command, {name} time"
                row = took.setdefault(what, {"first fit": what})
                row[column] = seconds_of_children() - before
    return rows + [{**row, "wanted": ""} for row in took.values()]


#: Columns of the table of first fits, and what TAMIS_COMPILE is.
FIRST_COLUMNS = {"CPU s": "0", "all compiled": "1"}


def seconds_of_children() -> float:
    """Return the CPU seconds of all processes that this one started and that have ended."""
    times = os.times()
    return times.children_user + times.children_system


#: The parts of the page: their title, what is measured, and in what unit.
PARTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "Dense numbers, 2,000 x 20,000, whole fit, ns per value": dense,
    "Sparse numbers, ns per nonzero": sparse,
    "Whole numbers with three levels, 2,000 x 4,000, whole fit, ns per value": whole_numbers,
    "Correlations between columns, ns per multiply-add": pairs,
    "The walk over 7,000 survivors with its log, ms": walks,
    "Whole fits": fits,
    "The first fit on a machine, which compiles, CPU seconds": first_fits,
}


#: The short form, for `make bench`: without the first fits, which compile everything.
SHORT = {"PARTS": dict(list(PARTS.items())[:-1])}


def main() -> None:
    """Print the tables and write them into docs/speed.md."""
    report, text = Report("columns_speed", __doc__), []
    with threads(1):
        for title, part in PARTS.items():
            rows = part()
            report.table(title, rows)
            text.append(f"## {title}\n\n{table(rows)}")
    report.save()
    if (ROOT / "docs" / "speed.md").exists() and Path.cwd() == ROOT:
        fill("speed.md", "columns", "\n\n".join(text))


if __name__ == "__main__":
    main()
