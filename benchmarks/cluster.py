"""SAOLA with 1, 2 and 4 workers, processes and Dask, against the in-process engine; bytes moved.

Four sets as column stores: enron_spam_byte3, debian_paths (or generated ones of the same shape, if
the shared folder is missing), sparse ones at random rows, and dense normal numbers, 2,000 by
500,000 (4 GB on disk). Every setup gives the same log. `workers CPU s` of local processes includes
startup and imports; Dask's workers are started before the clock, as on a cluster.

Then the model: times and bytes of each task, recorded in one process that plays a driver and two
workers. It is corrected by the CPU seconds of the real run with two local processes, and checked
against those with one and four, all without what a run of few columns takes. The last tables are
its simulation of a billion columns on many workers, and what each part is busy for.

Last, what the log costs the driver: to take the relevance and reason of every column from a task,
to commit them, and to write log.parquet (the fastest of three rounds).

For a short run, set CLUSTER_SETS=dense and DENSE_COLUMNS=20000 in the environment. The sets can be
run one by one: what was recorded is kept in bench-results/cluster-tasks.json, and CLUSTER_SETS=
(none) simulates with that. CLUSTER_STORES=folder keeps the generated stores.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import tamis
from benchmarks._cluster_costs import Costs, measured, predicted, simulated
from benchmarks._data import WORKLOADS
from benchmarks._harness import RESULTS, Report
from tamis.core.decisions import DecisionLog, Mark, Reason, Verdict
from tamis.engine.log_tables import write_log
from tamis.engine.persistent.saved_selection import LONGEST
from tamis.engine.persistent.state_file import pack
from tamis.engine.workers.copies import PROTOCOL
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store
from tamis.sources.stores.column_store import ColumnStore
from tamis.sources.streams.iterators import open_blocks

DENSE_ROWS = 2_000
DENSE_COLUMNS = int(os.environ.get("DENSE_COLUMNS", 500_000))
BILLION, MANY = 1e9, 100

#: The recorded tasks of each set.
RECORDED = RESULTS / "cluster-tasks.json"


def sparse_store(paper: str, place: str) -> ColumnStore:
    """Return the training rows of a real or a generated set, by columns."""
    _, X, y = WORKLOADS[paper].load()
    return write_store(place, MemorySource(X.tocsc(), y))


def dense_store(place: str) -> ColumnStore:
    """Generate normal numbers; one column in five hundred is relevant to the class."""
    y = np.random.default_rng(0).integers(0, 2, DENSE_ROWS)

    def blocks() -> Iterator[Any]:
        for lo in range(0, DENSE_COLUMNS, 500):
            rng = np.random.default_rng((1, lo))
            part = rng.standard_normal((DENSE_ROWS, 500), dtype=np.float32)
            part[:, 0] += 0.5 * y
            yield part

    return write_store(place, open_blocks(blocks, y))


def generated_sparse(place: str) -> ColumnStore:
    """Generate columns of ones at random rows, about four each; one in a thousand is relevant."""
    rng, rows, columns = np.random.default_rng(0), 20_000, 5_000_000
    y = rng.integers(0, 2, rows)
    indptr = np.concatenate([[0], np.cumsum(1 + rng.geometric(0.3, columns))])
    indices = rng.integers(0, rows, indptr[-1]).astype(np.int32)
    X = sp.csc_matrix((np.ones(len(indices)), indices, indptr), shape=(rows, columns))
    X.sum_duplicates()
    X.data[:] = 1
    return write_store(place, MemorySource(X, y))


MAKERS: dict[str, Callable[[str], ColumnStore]] = {
    "enron_spam_byte3": lambda place: sparse_store("webspam", place),
    "debian_paths": lambda place: sparse_store("kdd2010", place),
    "generated_sparse": generated_sparse,
    "dense": dense_store,
}


# --- timing --------------------------------------------------------------------------------------


class Dask:
    """A scheduler and workers in separate processes, as on a cluster."""

    def __init__(self, workers: int, folder: str) -> None:
        import distributed

        where = f"{folder}/scheduler-{workers}.json"
        self._log = open(f"{folder}/dask.log", "ab")  # noqa: SIM115 - closed with the cluster
        quiet = ["--scheduler-file", where, "--host", "127.0.0.1", "--no-dashboard"]
        self._scheduler = self._begin("scheduler", *quiet, "--port", "0")
        one = ["--nthreads", "1", "--no-nanny"]
        self._workers = [self._begin("worker", *quiet, *one) for _ in range(workers)]
        while not Path(where).exists():
            time.sleep(0.1)
        self.client = distributed.Client(scheduler_file=where, set_as_default=False)
        self.client.wait_for_workers(workers, timeout=60)

    def _begin(self, what: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *options]
        return subprocess.Popen(command, stdout=self._log, stderr=self._log)

    def busy(self) -> tuple[float, float]:
        """CPU seconds of the scheduler and of all workers so far."""
        return _cpu_of(self._scheduler.pid), sum(_cpu_of(one.pid) for one in self._workers)

    def close(self) -> None:
        """Stop all processes."""
        self.client.close()
        for process in (*self._workers, self._scheduler):
            process.terminate()
            process.wait()
        self._log.close()


def _cpu_of(pid: int) -> float:
    import psutil  # comes with distributed

    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def _busy(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def timed(store: ColumnStore, how: str, dask: Dask | None, **options: Any) -> tuple[Any, Any]:
    """One line of the table, and the log."""
    driver, children = _busy(resource.RUSAGE_SELF), _busy(resource.RUSAGE_CHILDREN)
    there = (0.0, 0.0) if dask is None else dask.busy()
    start = time.perf_counter()
    run = tamis.select(store, "saola", **options)
    wall = time.perf_counter() - start
    scheduler, workers = (0.0, _busy(resource.RUSAGE_CHILDREN) - children)
    if dask is not None:
        scheduler, workers = (now - then for now, then in zip(dask.busy(), there, strict=True))
    line = {
        "setup": how,
        "wall s": wall,
        "driver CPU s": _busy(resource.RUSAGE_SELF) - driver,
        "scheduler CPU s": scheduler,
        "workers CPU s": workers,
        "pair values here": run.work["pair_values"],
    }
    return line, run.log


# --- one set -------------------------------------------------------------------------------------


def compared(store: ColumnStore, folder: str) -> list[dict[str, Any]]:
    """Time all setups on one set; the first round compiles and fills the page cache."""
    expected = tamis.select(store, "saola").log
    lines = []

    def note(line: dict[str, Any], log: Any) -> None:
        same = all(
            np.array_equal(value, log.state()[key], equal_nan=value.dtype.kind == "f")
            for key, value in expected.state().items()
        )
        lines.append({**line, "same log": "yes" if same else "NO", "kept": len(log.replay())})

    note(*timed(store, "one thread", None, n_jobs=1))
    note(*timed(store, "threads", None))
    for count in (1, 2, 4):
        note(*timed(store, f"local:{count}", None, cluster=f"local:{count}"))
    for count in (1, 2):
        with contextlib.closing(Dask(count, folder)) as dask:
            # The workers' imports do not count as part of a run on a running cluster.
            tamis.select(_few(store), "saola", cluster=dask.client)
            note(*timed(store, f"Dask, {count}", dask, cluster=dask.client))
    for line in lines:
        line["wall over one thread's"] = line["wall s"] / lines[0]["wall s"]
    return lines


def _few(store: ColumnStore) -> ColumnStore:
    """Write the first columns of a store to another store next to it."""
    path = f"{store.path}.few.cols"
    if not Path(path).exists():
        first = next(store.columns(2_000))
        write_store(path, open_blocks(lambda: iter([first]), store.target()))
    return ColumnStore(path)


def constants(store: ColumnStore, lines: list[dict[str, Any]]) -> Costs:
    """Return the cost per column; Dask's overhead per task is taken from its run with 2 workers."""
    costs = measured(store, 2)
    dask = lines[-1]
    costs.driver_per_task = max(0.0, dask["driver CPU s"] - costs.deciding) / costs.tasks
    costs.scheduler_per_task = dask["scheduler CPU s"] / costs.tasks
    return costs


def checked(store: ColumnStore, lines: list[dict[str, Any]], costs: Costs) -> list[dict[str, Any]]:
    """Compare the model with the CPU seconds of the real runs in processes of this machine.

    The model is corrected by the run with two of them.
    """
    found = []
    for count in (2, 1, 4):
        began, _ = timed(_few(store), "few columns", None, cluster=f"local:{count}")
        line = next(line for line in lines if line["setup"] == f"local:{count}")
        driver = line["driver CPU s"] - began["driver CPU s"]
        workers = line["workers CPU s"] - began["workers CPU s"]
        if count == 2:
            costs.correct(driver, workers)
        found.append({
            "setup": line["setup"],
            "driver CPU s": driver,
            "recorded": costs.deciding,
            "model": costs.deciding + costs.tasks * costs.local_per_task,
            "workers CPU s": workers,
            "recorded for workers": costs.scoring,
            "model of workers": costs.scoring * costs.slower,
        })  # fmt: skip
    return found


#: The short form, for `make bench`.
SHORT: dict[str, Any] = {
    "DENSE_COLUMNS": 5_000,
    "MAKERS": {"dense": MAKERS["dense"]},
    "RECORDED": RESULTS / "cluster-tasks-short.json",
}


def main() -> None:
    report = Report("cluster", __doc__ or "")
    requested = os.environ.get("CLUSTER_SETS", ",".join(MAKERS))
    known = _recorded()
    for name in filter(None, requested.split(",")):
        with tempfile.TemporaryDirectory(prefix="tamis-bench-") as folder:
            place = f"{os.environ.get('CLUSTER_STORES', folder)}/{name}.cols"
            store = ColumnStore(place) if Path(place).exists() else MAKERS[name](place)
            lines = compared(store, folder)
            report.table(f"{name}: {store.n_rows:,} rows, {store.n_columns:,} columns", lines)
            known[name] = constants(store, lines)
            title = f"{name}: the model and the real runs, CPU seconds"
            report.table(title, checked(store, lines, known[name]))
            RECORDED.parent.mkdir(exist_ok=True)
            RECORDED.write_text(json.dumps({key: one.plain() for key, one in known.items()}))
    report.table("Constants", [_line(name, costs) for name, costs in known.items()])
    simulations = [
        {"columns as in": name, **simulated(costs, BILLION, workers)}
        for name, costs in known.items()
        for workers in (1, 2, 4, 16, MANY)
    ]
    report.table(f"{BILLION:,.0f} columns, simulated with the recorded tasks", simulations)
    title = f"{BILLION:,.0f} columns on {MANY} workers, seconds that each part is busy"
    report.table(
        title, [{"columns as in": name, **predicted(c, BILLION, MANY)} for name, c in known.items()]
    )
    report.table("The log of columns that no rule saw", [log_costs()])
    report.save()


def log_costs() -> dict[str, Any]:
    """Return what the driver needs for columns that end with the workers, here without any."""
    tasks, width = 20, 1_000_000
    relevance = np.random.default_rng(0).random(width, dtype=np.float32)
    answer = pickle.dumps((relevance, np.zeros(width, np.uint8)), PROTOCOL)
    best = np.full(3, np.inf)
    for _ in range(3):
        log = DecisionLog({"weak": Reason(Verdict.IRRELEVANT, "weak")})
        log.expected = tasks * width
        times = [time.process_time()]
        for _ in range(tasks):
            numbers, reasons = pickle.loads(answer)
            log.append_bulk(numbers, 0.5, reasons)
        times.append(time.process_time())
        for lo in range(0, len(log), LONGEST):
            pack({"log": log.since(Mark(lo), Mark(min(lo + LONGEST, len(log))))})
        times.append(time.process_time())
        with tempfile.TemporaryFile() as file:
            write_log(log, file)
        log.counts()
        times.append(time.process_time())
        best = np.minimum(best, np.diff(times))
    taking, committing, exporting = (1e3 * best / tasks).tolist()
    return {
        "columns": len(log), "taking, CPU ms per million": taking,
        "committing, ms": committing, "log.parquet, ms": exporting,
    }  # fmt: skip


def _recorded() -> dict[str, Costs]:
    """Return what earlier runs recorded."""
    if not RECORDED.exists():
        return {}
    return {name: Costs.of(one) for name, one in json.loads(RECORDED.read_text()).items()}


def _later(costs: Costs) -> float:
    tasks = costs.settled
    return 1e6 * sum(task.deciding for task in tasks) / sum(task.columns for task in tasks)


def _line(name: str, costs: Costs) -> dict[str, Any]:
    million = costs.columns / 1e6
    return {
        "set": name,
        "real workers over recorded": costs.slower,
        "local processes, driver ms per task": 1e3 * costs.local_per_task,
        "scoring, CPU s per million": costs.scoring / million,
        "deciding, CPU s per million": costs.deciding / million,
        "deciding later on": _later(costs),
        "bytes sent and received per feature": costs.sent_and_received / costs.columns,
        "news, bytes per feature and worker": costs.news / costs.columns,
        "all bytes per feature, 2 workers": costs.bytes_per_feature(2),
        "tasks": costs.tasks,
        "Dask, driver ms per task": 1e3 * costs.driver_per_task,
        "Dask, scheduler ms per task": 1e3 * costs.scheduler_per_task,
    }


if __name__ == "__main__":
    main()
