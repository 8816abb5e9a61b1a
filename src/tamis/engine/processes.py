"""Processes on this machine that examine blocks: ``cluster="local:2"``."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from tamis.core.errors import ClusterError
from tamis.engine.ranges import Task, in_order, packed, tasks
from tamis.selectors.base import ColumnSelector, Examining
from tamis.sources.base import Report, Source

#: What this worker process examines with, and where it reads; set once, when it begins.
_mine: dict[str, Any] = {}


@contextlib.contextmanager
def processes(count: int) -> Iterator[Examining]:
    """Give what examines blocks with so many processes."""
    with contextlib.ExitStack() as stack:

        def examining(
            selector: ColumnSelector, source: Source, width: int | None, report: Report
        ) -> Generator[Any]:
            # Fresh processes: a fork of one that runs threads may hang.
            pool = stack.enter_context(
                ProcessPoolExecutor(
                    count, multiprocessing.get_context("spawn"), _begin, (packed(selector, source),)
                )
            )
            done = in_order(
                tasks(source, width, report),
                lambda task: pool.submit(_examine, task),
                2 * count + 2,
                lambda task: report("examining columns", task.last, source.n_columns),
            )
            return stack.enter_context(contextlib.closing(_told(done)))

        yield examining


@contextlib.contextmanager
def calling(count: int) -> Iterator[Callable[[Callable[[Any], Any], Iterable[Any]], Any]]:
    """Give what calls a function for each of some things, with so many processes."""
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn")) as pool:
        yield lambda call, items: _told(
            in_order(iter(items), lambda item: pool.submit(call, item), count + 1, lambda _: None)
        )


def _told(blocks: Generator[Any]) -> Generator[Any]:
    """The same, with one sentence when a process dies."""
    try:
        yield from blocks
    except BrokenProcessPool as error:
        raise ClusterError(
            "a worker process died, most likely for lack of memory; give fewer processes or a "
            "smaller width"
        ) from error
    finally:
        blocks.close()


def _begin(what: bytes) -> None:
    _mine["selector"], _mine["source"] = pickle.loads(what)


def _examine(task: Task) -> Any:
    return task.examine(_mine["selector"], _mine["source"])
