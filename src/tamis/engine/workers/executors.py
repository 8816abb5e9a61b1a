"""Executors that score blocks outside this process: in worker processes, or on a cluster.

The loop treats all of them alike, as a function that returns the scored blocks of a source in order
(`tamis.engine.loop.Executor`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from tamis.core.errors import ParameterError
from tamis.engine.loop import Executor, Scorer
from tamis.engine.workers.copies import Copies
from tamis.engine.workers.ranges import (
    Crew,
    Done,
    Pace,
    Promise,
    Task,
    fetching,
    in_order,
    one_by_one,
    packed,
    tasks,
)
from tamis.methods.replaying import Replaying
from tamis.sources.base import ColumnSource, Progress


def crew(cluster: Any) -> contextlib.AbstractContextManager[Crew]:
    """Yield workers, and cancel their tasks at the end, even after an error.

    `cluster` is ``"local:2"`` for two processes on this machine, the address or client of a Dask
    cluster, or workers that are there already, which stay.
    """
    if isinstance(cluster, Crew):
        return contextlib.nullcontext(cluster)
    if isinstance(cluster, str) and cluster.startswith("local:"):
        from tamis.engine.workers.processes import Processes

        return contextlib.closing(Processes(process_count(cluster)))
    from tamis.engine.workers.cluster import on_cluster

    return on_cluster(cluster)


@contextlib.contextmanager
def executor(cluster: Any) -> Iterator[Executor]:
    """Yield a function that scores the blocks of a source on workers, with results in order."""
    with crew(cluster) as found, contextlib.ExitStack() as stack:

        def execute(
            scorer: Scorer, source: ColumnSource, width: int | None, progress: Progress, start: int
        ) -> Generator[Any]:
            shared, decides = (
                found.share(packed(scorer, source)),
                scorer.deciding or scorer.selector,
            )
            pace, copies = Pace(found.size, may_grow=isinstance(decides, Replaying)), None
            if isinstance(decides, Replaying):
                copies = Copies(decides, found.share, found.forget)

            def submit(task: Task) -> Promise:
                return found.score(task, shared, None if copies is None else copies.latest())

            def note(task: Task, done: Done) -> None:
                pace.took(task.last - task.first, done.seconds, done.size)
                progress("examining columns", task.last, source.n_columns)

            done = in_order(
                tasks(source, width, progress, start, pace), submit, pace.may_begin, note
            )
            results = one_by_one(done, fetching(decides, source))
            return stack.enter_context(contextlib.closing(results))

        yield execute


@contextlib.contextmanager
def workers(cluster: Any) -> Iterator[Callable[[Callable[[Any], Any], Iterable[Any]], Any]]:
    """Yield a function that maps another over items on workers, with results in order."""
    with crew(cluster) as found:
        yield lambda call, items: in_order(
            iter(items),
            lambda item: found.submit(call, item),
            lambda waiting: waiting <= found.size,
            lambda *_: None,
        )


def process_count(cluster: str) -> int:
    """Return the number of processes that ``"local:2"`` requests."""
    text = cluster.removeprefix("local:")
    if not text.isdigit() or int(text) < 1:
        raise ParameterError(
            f"cluster={cluster!r} does not say how many processes; write for example local:2"
        )
    return int(text)
