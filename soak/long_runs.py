"""Long runs: many feeds, many calls, threads and forks; memory and time must not grow."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import tamis
from soak.damaged_files import Outcomes
from soak.jobs import exit_code
from soak.own_files import log_of
from soak.reader import differ
from soak.worker import memory

#: Bytes that a process may grow between a tenth of a long run and its end.
GROWTH = 64 << 20
#: How much longer the last tenth may take than the second; the machine may be busy.
SLOWER = 2.0


class Watch:
    """Memory and processor time of a long run, at a tenth of it and at the end."""

    def __init__(self, cases: int) -> None:
        self.tenth = max(1, cases // 10)
        self.cases, self.calls = cases, 0
        self.marks: dict[int, tuple[float, int]] = {}

    def call(self) -> None:
        """Count one call."""
        self.calls += 1
        if self.calls % self.tenth == 0:
            self.marks[self.calls // self.tenth] = time.process_time(), memory()

    def end(self, found: Outcomes, what: str) -> None:
        """Record the figures, and a failure if they grow."""
        found.counts[what] = self.calls
        marks = self.marks
        if len(marks) < 4:
            found.note = "too short to tell"
            return
        last = max(marks)
        first = (marks[2][0] - marks[1][0]) / self.tenth * 1000
        final = (marks[last][0] - marks[last - 1][0]) / self.tenth * 1000
        before, after = marks[1][1], marks[last][1]
        found.memory = max(size for _, size in marks.values())
        found.note = (
            f"{before / 1e6:.0f} to {after / 1e6:.0f} MB, {first:.2f} to {final:.2f} ms of CPU each"
        )
        if after - before > GROWTH:
            found.failures.append(f"memory grows: {found.note}")
        if final > SLOWER * first + 1.0:
            found.failures.append(f"calls become slower: {found.note}")


def feeds(folder: Path, rng: Random, cases: int, until: float) -> Outcomes:
    """Feed one column at a time to a selection on disk."""
    import pandas as pd

    found, watch = Outcomes(), Watch(cases)
    draw = np.random.default_rng(rng.randrange(2**32))
    y = draw.integers(0, 2, 100)
    folder.mkdir(parents=True, exist_ok=True)
    selection, columns = tamis.Selection.create(folder / "run", y, tamis.SAOLA()), {}
    for k in range(cases):
        if time.monotonic() > until:
            break
        chance = 0.3 * draw.random() if k % 50 == 0 else 0.0
        values = np.where(draw.random(100) < chance, y, draw.integers(0, 3, 100)).astype(float)
        columns[f"c{k}"] = values
        selection.feed(pd.DataFrame({f"c{k}": values}))
        watch.call()
    watch.end(found, "feeds")
    whole = tamis.select(pd.DataFrame(columns), tamis.SAOLA(), y)
    if difference := differ(log_of(tamis.Selection.open(folder / "run").run), log_of(whole)):
        found.failures.append(f"the log differs from that of a single run: {difference}")
    return found


def partial_fits(folder: Path, rng: Random, cases: int, until: float) -> Outcomes:
    """Learn from one row at a time."""
    found, watch = Outcomes(), Watch(cases)
    draw = np.random.default_rng(rng.randrange(2**32))
    X = draw.normal(size=(1000, 30))
    y = (X[:, 3] + X[:, 7] > 0).astype(int)
    learner = tamis.SOFS(n_features=5)
    for k in range(cases):
        if k % 1000 == 0 and time.monotonic() > until:
            break
        at = k % 1000
        learner.partial_fit(X[at : at + 1], y[at : at + 1], classes=[0, 1])
        watch.call()
    watch.end(found, "partial_fit calls")
    other = tamis.SOFS(n_features=5)
    for lo in range(0, watch.calls, 1000):
        n = min(1000, watch.calls - lo)
        other.partial_fit(X[:n], y[:n], classes=[0, 1])
    if not np.array_equal(learner.decision_function(X), other.decision_function(X)):
        found.failures.append("the model differs from that of 1,000 rows at a time")
    return found


def _selects(rng: Random) -> Callable[[], Any]:
    """Return a function that selects from data of its own and returns the log."""
    draw = np.random.default_rng(rng.randrange(2**32))
    X = draw.normal(size=(200, 300))
    y = (X[:, 5] + draw.normal(size=200) > 0).astype(int)
    return lambda: log_of(tamis.select(X, "saola", y))


def threads(folder: Path, rng: Random, cases: int, until: float) -> Outcomes:
    """Select in four threads at the same time, each its own data, each with two threads."""
    found = Outcomes()
    tasks = [_selects(rng) for _ in range(4)]
    expected = [task() for task in tasks]
    lock = threading.Lock()

    def repeat(task: Any, wanted: Any) -> None:
        for _ in range(cases // len(tasks)):
            if time.monotonic() > until:
                break
            with tamis.threads(2):
                difference = differ(task(), wanted)
            with lock:
                found.counts["selections"] += 1
                if difference is not None:
                    found.failures.append(f"the log differs in a thread: {difference}")

    started = [
        threading.Thread(target=repeat, args=both) for both in zip(tasks, expected, strict=True)
    ]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    found.memory = memory()
    return found


def forks(folder: Path, rng: Random, cases: int, until: float) -> Outcomes:
    """Select in a child that was forked after threads had been used."""
    found, task = Outcomes(), _selects(rng)
    with tamis.threads(2):
        expected = task()
        for _ in range(cases):
            if time.monotonic() > until:
                break
            child = os.fork()
            if child == 0:
                os._exit(0 if differ(task(), expected) is None else 1)
            code = exit_code(child)
            found.counts["forks"] += 1
            if code != 0:
                found.failures.append(f"a forked child ended with {code} (None: it hangs)")
    found.memory = memory()
    return found


#: Long runs by name, with the number of calls of a full run.
LONG: dict[str, tuple[Callable[[Path, Random, int, float], Outcomes], int]] = {
    "feeds": (feeds, 10_000),
    "partial_fit": (partial_fits, 100_000),
    "threads": (threads, 400),
    "forks": (forks, 100),
}
