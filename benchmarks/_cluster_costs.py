"""What a cluster costs a column, measured in one process, and what many workers would take.

`measured` runs a selection as a driver and its workers do, each task packed and unpacked on its
way, with a clock and a scale at every turn. `predicted` makes seconds of that for any number of
columns and workers; it knows nothing but these constants and two rates.
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

#: Bytes a second that a network, and a disk or an object store for each host, are taken to give.
RATE = 1e9


@dataclass
class Costs:
    """CPU seconds and bytes of one selection; bytes of news are those for one worker."""

    columns: int
    stored: int
    tasks: int = 0
    scoring: float = 0.0
    deciding: float = 0.0
    there_and_back: int = 0
    told_once: int = 0
    news: int = 0
    #: CPU seconds a task on a real Dask cluster beyond examining and deciding.
    driver_a_task: float = 0.0
    scheduler_a_task: float = 0.0

    def bytes_a_feature(self, workers: int) -> float:
        """All that is moved, with what every worker is told."""
        told = workers * (self.told_once + self.news)
        return (self.there_and_back + told) / self.columns

    @property
    def on_the_drivers_wire(self) -> float:
        """Bytes a feature that leave or reach the driver; workers pass news on to each other."""
        return (self.there_and_back + self.news) / self.columns


def measured(store: ColumnStore, workers: int) -> Costs:
    """Select with SAOLA as a driver with so many workers, all of them played by this thread."""
    found = Costs(store.n_columns, store.info().details["bytes"])
    selector, target = tamis.SAOLA().to_selector(), Target.of(store.target())
    state = new_state(selector, target, None)
    state.know_rows(store)
    selector.start(target, name_prefix=store.name_prefix, name_base=store.name_base)
    selector.prepare(store.columns(), store.n_columns)
    scorer = Scorer(selector, target, remember=True)
    found.told_once = len(packed(scorer, store))
    news = News(scorer, lambda what: _weighed(found, what))
    results = in_order(
        tasks(store, None, silent), lambda task: _Played(found, task, scorer, store, news),
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


def _weighed(found: Costs, what: bytes) -> Any:
    found.news += len(what)
    return pickle.loads(what)


class _Played:
    """A task that waits for its turn with the news of the moment it was given out."""

    def __init__(self, found: Costs, task: Task, scorer: Scorer, source: Any, news: News) -> None:
        self._found, self._task, self._source = found, task, source
        self._scorer, self._kept = scorer, news.latest()

    def result(self) -> Any:
        """What comes back: a worker examines and packs, the driver unpacks."""
        found, begun = self._found, time.process_time()
        answer = pickle.dumps(self._task.score(self._scorer, self._source, self._kept))
        found.scoring += time.process_time() - begun
        found.there_and_back += len(answer) + len(pickle.dumps(self._task))
        found.tasks += 1
        return pickle.loads(answer)

    def cancel(self) -> None:
        """Nothing is under way."""


def predicted(costs: Costs, columns: float, workers: int) -> dict[str, float]:
    """Seconds that each part of a cluster would be busy; the longest is about what a run takes.

    News are taken to grow with the columns, as they would if features went on being kept and
    evicted at the same rate; that is the worst case.
    """
    times = columns / costs.columns
    a_task = costs.tasks * times
    return {
        "workers": times * costs.scoring / workers,
        "driver": times * costs.deciding + a_task * costs.driver_a_task,
        "scheduler": a_task * costs.scheduler_a_task,
        "its network": columns * costs.on_the_drivers_wire / RATE,
        "reading, a disk each": times * costs.stored / RATE / workers,
        "one thread": times * (costs.scoring + costs.deciding),
    }
