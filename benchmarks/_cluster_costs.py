"""Cost of a cluster per column, measured in one process, and a simulation of many workers.

`measured` runs a selection as a driver and its workers would, with each task pickled and unpickled,
and records the times and bytes of every task. `simulated` lets any number of workers do any number
of columns in such times: the driver gives out tasks as it does in a run (`Pace`), and takes results
in order. `predicted` is what each part is busy for, whatever the order.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from dataclasses import asdict, dataclass, field, replace
from heapq import heappop, heappush
from typing import Any

import tamis
from tamis.core.target import Target
from tamis.engine.loop import Scorer, advance
from tamis.engine.persistent.selection_state import new_state
from tamis.engine.workers.copies import PROTOCOL, Copies, current
from tamis.engine.workers.ranges import (
    Done,
    Pace,
    Task,
    fetching,
    in_order,
    one_by_one,
    packed,
    tasks,
)
from tamis.kernels.threads import threads
from tamis.sources.base import silent
from tamis.sources.stores.column_store import ColumnStore

#: Assumed bytes per second of the network, and of the disk or object store of each host.
RATE = 1e9


@dataclass(frozen=True)
class TaskCosts:
    """A task: its columns, CPU seconds of the worker and of the driver, bytes, open survivors."""

    columns: int
    scoring: float
    deciding: float
    bytes: int
    open: int


@dataclass
class Costs:
    """CPU seconds and bytes of one selection; `news` is the number of bytes for one worker."""

    columns: int
    stored: int
    tasks: int = 0
    scoring: float = 0.0
    deciding: float = 0.0
    sent_and_received: int = 0
    setup: int = 0
    news: int = 0
    #: CPU seconds of a pair of kept columns: workers compare open survivors with each other.
    pair: float = 0.0
    #: CPU seconds per task on a real Dask cluster, beyond scoring and deciding.
    driver_per_task: float = 0.0
    scheduler_per_task: float = 0.0
    #: CPU seconds of real workers for each one that was recorded, and of a real driver of local
    #: processes for each task, beyond deciding: see `correct`.
    slower: float = 1.0
    local_per_task: float = 0.001
    each: list[TaskCosts] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """Return everything as plain values, for a file."""
        return asdict(self)

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Costs:
        """Return what `plain` wrote."""
        return cls(**plain | {"each": [TaskCosts(**one) for one in plain["each"]]})

    def correct(self, driver: float, workers: float) -> None:
        """Correct the recorded times by the CPU seconds of a real run in local processes.

        Workers are never taken for faster: on sparse sets they mostly start, which varies more.
        """
        self.slower = max(1.0, workers / self.scoring)
        self.local_per_task = max(0.0, driver - self.deciding) / self.tasks

    @property
    def settled(self) -> list[TaskCosts]:
        """The long tasks of the second half: neither the start of the stream nor its end."""
        done, later = 0, []
        for task in self.each:
            done += task.columns
            if 2 * done > self.columns:
                later.append(task)
        longest = max(task.columns for task in later)
        return [task for task in later if 2 * task.columns > longest]

    def bytes_per_feature(self, workers: int) -> float:
        """Return all bytes sent per feature, with those sent to every worker."""
        to_workers = workers * (self.setup + self.news)
        return (self.sent_and_received + to_workers) / self.columns

    @property
    def driver_bytes_per_feature(self) -> float:
        """Bytes per feature to or from the driver; workers forward news to each other."""
        return (self.sent_and_received + self.news) / self.columns


def measured(store: ColumnStore, workers: int) -> Costs:
    """Select with SAOLA like a driver with `workers` workers, all simulated in this thread."""
    found = Costs(store.n_columns, store.info().details["bytes"])
    selector, target = tamis.SAOLA()._to_selector(), Target.of(store.target())
    state = new_state(selector, target, None)
    state.know_rows(store)
    selector.start(target, name_prefix=store.name_prefix, name_base=store.name_base)
    selector.prepare(store.columns())
    scorer = Scorer(selector, target, remember=True)
    found.setup = len(packed(scorer, store))
    copies = Copies(selector, lambda what: _counted(found, what))
    pace = Pace(workers)

    def note(task: Task, done: Done) -> None:
        pace.took(task.last - task.first, done.seconds)

    results = in_order(
        tasks(store, None, silent, 0, pace),
        lambda task: _Simulated(found, task, scorer, store, copies), pace.may_begin, note,
    )  # fmt: skip
    with threads(1):
        begun = time.process_time()
        advance(
            selector, one_by_one(results, fetching(selector, store)), state,
            total=store.n_columns, whole=True, progress=silent,
        )  # fmt: skip
        ended = time.process_time()
        found.deciding = ended - begun - found.scoring
        _note_deciding(found, ended)
        found.pair = _pair_seconds(selector, store)
    return found


def _pair_seconds(selector: Any, store: ColumnStore) -> float:
    """Return the CPU seconds of the strength of two kept columns."""
    kept = selector.kept_[-256:]
    columns = fetching(selector, store)(kept.tolist())
    panel = selector.measure_.panel(selector._target)
    panel.add_many(columns)
    panel.between_many(columns, 0, 1)
    begun = time.process_time()
    panel.between_many(columns, 0, len(kept))
    return (time.process_time() - begun) / len(kept) ** 2


#: When the driver got the last result.
_got = 0.0


def _note_deciding(found: Costs, now: float) -> None:
    """Note how long the driver was busy with the last result."""
    if found.each:
        found.each[-1] = replace(found.each[-1], deciding=now - _got)


def _counted(found: Costs, what: bytes) -> bytes:
    found.news += len(what)
    return what


class _Simulated:
    """A task that knows the copy of the kept set from the moment it was submitted."""

    def __init__(
        self, found: Costs, task: Task, scorer: Scorer, source: Any, copies: Copies
    ) -> None:
        self._found, self._task, self._source = found, task, source
        self._scorer, self._version = scorer, copies.latest()

    def result(self) -> Any:
        """Return the result: a worker scores and pickles, the driver unpickles."""
        global _got
        found, begun = self._found, time.process_time()
        _note_deciding(found, begun)
        copy = None if self._version is None else current(self._version, lambda part: part)
        pieces = self._task.score(self._scorer, self._source, copy)
        answer = pickle.dumps(
            Done(pieces, time.process_time() - begun, 0), PROTOCOL
        )  # as Dask does
        _got = time.process_time()
        size = len(answer) + len(pickle.dumps(self._task))
        found.scoring += _got - begun
        found.sent_and_received += size
        found.tasks += 1
        columns = self._task.last - self._task.first
        known = [getattr(piece.scores, "known", None) for piece in pieces]
        opened = sum(int(one.is_open.sum()) for one in known if one is not None)
        found.each.append(TaskCosts(columns, _got - begun, 0.0, size, opened))
        return pickle.loads(answer)

    def cancel(self) -> None:
        """Do nothing: no task is running."""


def predicted(costs: Costs, columns: float, workers: int) -> dict[str, float]:
    """Return how many seconds each part of a cluster is busy; a run takes about the longest.

    The bytes of news are assumed to grow with the columns, as if features were kept and evicted at
    the same rate throughout; that is the worst case.
    """
    times = columns / costs.columns
    tasks_ = costs.tasks * times
    return {
        "workers": times * costs.scoring * costs.slower / workers,
        "driver": times * costs.deciding + tasks_ * costs.driver_per_task,
        "scheduler": tasks_ * costs.scheduler_per_task,
        "network": columns * costs.driver_bytes_per_feature / RATE,
        "reading, a disk each": times * costs.stored / RATE / workers,
        "one thread": times * (costs.scoring + costs.deciding),
    }


def simulated(
    costs: Costs, columns: float, workers: int, *, on_dask: bool = True
) -> dict[str, Any]:
    """Return what a run with many workers takes, if tasks cost what recorded ones did.

    The recorded tasks are long ones of the second half (`Costs.settled`), one after the other,
    scaled to the columns that the driver gives out, and corrected by a real run; pairs of open
    survivors grow with the square of a task. Each worker has a disk of its own. The scheduler
    passes on one task at a time; the driver receives one result at a time, in order, and decides.
    """
    recorded, pace = costs.settled, Pace(workers)
    shortest = min(task.deciding for task in costs.each)
    per_task = costs.driver_per_task, costs.scheduler_per_task
    if not on_dask:
        per_task = costs.local_per_task, 0.0
    left, free = int(columns), [0.0] * workers
    waiting: deque[tuple[TaskCosts, float]] = deque()
    driver = scheduler = busy = driver_busy = received = 0.0
    tasks_, sizes = 0, [0]
    while left or waiting:
        while left and pace.may_begin(len(waiting)):
            step, like = pace.step(left), recorded[tasks_ % len(recorded)]
            pace.gave(step)
            times = step / like.columns
            pairs = max(0.0, times**2 - times) * like.open**2 / 2
            one = TaskCosts(
                step,
                (times * like.scoring + pairs * costs.pair) * costs.slower,
                max(shortest, times * like.deciding),
                int(times * like.bytes),
                int(times * like.open),
            )
            driver += per_task[0]
            driver_busy += per_task[0]
            scheduler = max(scheduler, driver) + per_task[1]
            reading = step * costs.stored / costs.columns / RATE
            ends = max(heappop(free), scheduler) + max(one.scoring, reading)
            heappush(free, ends)
            busy += one.scoring
            waiting.append((one, ends))
            left, tasks_ = left - step, tasks_ + 1
            sizes.append(step)
        one, ends = waiting.popleft()
        pace.took(one.columns, one.scoring, one.bytes)
        driver = max(driver, ends) + one.bytes / RATE + one.deciding
        driver_busy += one.deciding
        received += one.bytes / RATE
    return {
        "workers": workers, "seconds": driver, "driver busy s": driver_busy,
        "receiving s": received,
        "scheduler busy s": tasks_ * per_task[1], "a worker busy s": busy / workers,
        "tasks": tasks_, "columns in a task": max(sizes),
    }  # fmt: skip
