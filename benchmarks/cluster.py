"""SAOLA with 1 and 2 worker processes against the in-process engine; bytes moved per feature.

Three sets as column stores: enron_spam_byte3, debian_paths (those of their shape where the shared
folder is absent) and dense normal numbers, 2,000 by 500,000. Every way gives the same log. `workers
CPU s` holds their start and imports too; `driver CPU s` is what 100 workers would wait for. Bytes
are pickled sizes of what goes to a worker and comes back, the column store's own names included.
DENSE_COLUMNS in the environment makes the dense set smaller.
"""

from __future__ import annotations

import os
import pickle
import resource
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import tamis
from benchmarks._data import WORKLOADS
from benchmarks._harness import Report
from tamis.engine.ranges import packed, tasks
from tamis.engine.stock import _Noting
from tamis.sources.base import silent
from tamis.sources.blocks import BlocksSource
from tamis.sources.memory import MemorySource
from tamis.sources.store import ColumnStore
from tamis.sources.transpose import write_store

DENSE_ROWS = 2_000
DENSE_COLUMNS = int(os.environ.get("DENSE_COLUMNS", 500_000))


def sparse_store(paper: str, place: str) -> ColumnStore:
    """The training rows of a real set, or of one of its shape, by columns."""
    _, X, y = WORKLOADS[paper].load()
    return write_store(place, MemorySource(X.tocsc(), y))


def dense_store(place: str) -> ColumnStore:
    """Normal numbers; one column in five hundred says something about the class."""
    y = np.random.default_rng(0).integers(0, 2, DENSE_ROWS)

    def blocks() -> Iterator[Any]:
        for lo in range(0, DENSE_COLUMNS, 500):
            rng = np.random.default_rng((1, lo))
            part = rng.standard_normal((DENSE_ROWS, 500), dtype=np.float32)
            part[:, 0] += 0.5 * y
            yield part.astype(np.float64)

    return write_store(place, BlocksSource(blocks, y))


def moved(store: ColumnStore) -> float:
    """Bytes for a feature that go to workers and come back."""
    selector = tamis.SAOLA().start(store.target())
    selector.look_at(store.columns(), store.n_columns)
    noting: Any = _Noting(selector, at_hand=False)
    total = len(packed(noting, store))
    for task in tasks(store, None, silent):
        total += len(pickle.dumps(task)) + len(pickle.dumps(task.examine(noting, store)))
    return total / store.n_columns


def _busy(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def timed(store: ColumnStore, how: str, **options: Any) -> tuple[dict[str, Any], Any]:
    """One line of the table, and the run."""
    driver, children = _busy(resource.RUSAGE_SELF), _busy(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    run = tamis.select(store, "saola", **options)
    wall = time.perf_counter() - start
    line = {
        "way": how,
        "wall s": wall,
        "driver CPU s": _busy(resource.RUSAGE_SELF) - driver,
        "workers CPU s": _busy(resource.RUSAGE_CHILDREN) - children,
    }
    return line, run


def compared(store: ColumnStore) -> list[dict[str, Any]]:
    """All ways on one set; the first round compiles and fills the page cache."""
    tamis.select(store, "saola")
    lines = []
    expected = None
    for how, options in (
        ("one thread", {"n_threads": 1}),
        ("threads", {}),
        ("1 process", {"cluster": "local:1"}),
        ("2 processes", {"cluster": "local:2"}),
    ):
        line, run = timed(store, how, **options)
        expected = run.log if expected is None else expected
        same = run.log.replay() == expected.replay() and run.log.counts() == expected.counts()
        lines.append({**line, "same": same, "kept": len(run.log.replay())})
    for line in lines:
        line["wall over one thread's"] = line["wall s"] / lines[0]["wall s"]
    return lines


def main() -> None:
    report = Report("cluster", __doc__ or "")
    constants = []
    makers = {
        "enron_spam_byte3": lambda place: sparse_store("webspam", place),
        "debian_paths": lambda place: sparse_store("kdd2010", place),
        "dense": dense_store,
    }
    for name, make in makers.items():
        with tempfile.TemporaryDirectory(prefix="tamis-bench-") as folder:
            store = make(f"{folder}/X.cols")
            title = f"{name}: {store.n_rows:,} rows, {store.n_columns:,} columns"
            lines = compared(store)
            report.table(title, lines)
            million = store.n_columns / 1e6
            constants.append({
                "set": name,
                "bytes a feature": moved(store),
                "examining: CPU s a million": lines[0]["driver CPU s"] / million,
                "deciding: driver CPU s a million": lines[2]["driver CPU s"] / million,
            })  # fmt: skip
    report.table("Constants", constants)
    report.save()


if __name__ == "__main__":
    main()
