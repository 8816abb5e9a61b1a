"""Cost of a cluster per column, measured in one process, and a prediction for many workers.

`measured` runs a selection as a driver and its workers would, with each task pickled and unpickled,
and records times and bytes. `predicted` computes the seconds for any number of columns and workers
from these constants and a transfer rate.
"""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass
from typing import Any

import tamis
from tamis.core.target import Target
from tamis.engine.loop import Scorer, advance
from tamis.engine.persistent.selection_state import new_state
from tamis.engine.workers.ranges import News, Task, in_order, one_by_one, packed, tasks
from tamis.kernels.threads import threads
from tamis.sources.base import silent
from tamis.sources.stores.column_store import ColumnStore

#: Assumed bytes per second of the network, and of the disk or object store of each host.
RATE = 1e9


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
    #: CPU seconds per task on a real Dask cluster, beyond scoring and deciding.
    driver_per_task: float = 0.0
    scheduler_per_task: float = 0.0

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
    selector.prepare(store.columns(), store.n_columns)
    scorer = Scorer(selector, target, remember=True)
    found.setup = len(packed(scorer, store))
    news = News(scorer, lambda what: _counted(found, what))
    results = in_order(
        tasks(store, None, silent), lambda task: _Simulated(found, task, scorer, store, news),
        2 * workers + 2, lambda _: None,
    )  # fmt: skip
    with threads(1):
        begun = time.process_time()
        advance(
            selector, one_by_one(results), state, total=store.n_columns, whole=True,
            progress=silent,
        )  # fmt: skip
        found.deciding = time.process_time() - begun - found.scoring
    return found


def _counted(found: Costs, what: bytes) -> Any:
    found.news += len(what)
    return pickle.loads(what)


class _Simulated:
    """A task that keeps the news from the moment it was submitted."""

    def __init__(self, found: Costs, task: Task, scorer: Scorer, source: Any, news: News) -> None:
        self._found, self._task, self._source = found, task, source
        self._scorer, self._kept = scorer, news.latest()

    def result(self) -> Any:
        """Return the result: a worker scores and pickles, the driver unpickles."""
        found, begun = self._found, time.process_time()
        answer = pickle.dumps(self._task.score(self._scorer, self._source, self._kept))
        found.scoring += time.process_time() - begun
        found.sent_and_received += len(answer) + len(pickle.dumps(self._task))
        found.tasks += 1
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
        "workers": times * costs.scoring / workers,
        "driver": times * costs.deciding + tasks_ * costs.driver_per_task,
        "scheduler": tasks_ * costs.scheduler_per_task,
        "network": columns * costs.driver_bytes_per_feature / RATE,
        "reading, a disk each": times * costs.stored / RATE / workers,
        "one thread": times * (costs.scoring + costs.deciding),
    }
