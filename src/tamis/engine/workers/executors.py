"""Who examines blocks: this thread, a thread ahead of it, processes, or a cluster.

All are one thing to the selector: a function that gives the examined blocks of a source in order
(`tamis.methods.base.Scoring`). Examining is a pure function of the block, so who does it, how
many do it, and how columns are cut into blocks change nothing; decisions are taken here, in order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tamis.core.errors import ParameterError
from tamis.engine.workers.prefetch import ahead
from tamis.kernels.threads import thread_count
from tamis.methods.selector import ColumnSelector, Scoring, in_turn
from tamis.sources.base import ColumnSource, Progress


@contextlib.contextmanager
def examiner(cluster: Any = None) -> Iterator[Scoring]:
    """Give what examines blocks, and end whatever it has begun, also when something goes wrong.

    `cluster` is None for this process, ``"local:2"`` for two processes on this machine, or the
    address or client of a Dask cluster.
    """
    if cluster is None:
        with contextlib.ExitStack() as stack:
            yield _here(stack)
    elif isinstance(cluster, str) and cluster.startswith("local:"):
        from tamis.engine.workers.processes import processes

        with processes(process_count(cluster)) as scoring:
            yield scoring
    else:
        from tamis.engine.workers.cluster import on_cluster

        with on_cluster(cluster) as scoring:
            yield scoring


@contextlib.contextmanager
def workers(cluster: Any) -> Iterator[Callable[[Callable[[Any], Any], Iterable[Any]], Any]]:
    """Give what calls a function for each of some things elsewhere: results come in order."""
    if isinstance(cluster, str) and cluster.startswith("local:"):
        from tamis.engine.workers.processes import calling

        with calling(process_count(cluster)) as run:
            yield run
    else:
        from tamis.engine.workers.cluster import calling_on

        with calling_on(cluster) as run:
            yield run


def _here(stack: contextlib.ExitStack) -> Scoring:
    """Examine a little ahead of the rule where there are threads for it."""

    def scoring(
        selector: ColumnSelector,
        source: ColumnSource,
        width: int | None,
        report: Progress,
        start: int = 0,
    ) -> Any:
        if thread_count() == 1:
            return in_turn(selector, source, width, report, start)
        blocks = ahead(selector.score, source.columns(width, start, progress=report))
        return stack.enter_context(contextlib.closing(blocks))

    return scoring


def process_count(cluster: str) -> int:
    """How many processes ``"local:2"`` asks for."""
    text = cluster.removeprefix("local:")
    if not text.isdigit() or int(text) < 1:
        raise ParameterError(
            f"cluster={cluster!r} does not say how many processes; write for example local:2"
        )
    return int(text)
