"""Work ahead of the reader with threads, in order: text is parsed so."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import GeneratorType
from typing import TypeVar

from tamis.core.errors import SourceError
from tamis.kernels.threads import thread_count

A = TypeVar("A")
B = TypeVar("B")


def in_order(
    items: Iterator[A], work: Callable[[A], B], *, read_in_thread: bool = True
) -> Generator[B]:
    """Do work on items with threads, reading ahead by one each; results come in order.

    What reading raises comes after the results of what was read before; what work raises comes in
    the place of its result, and is the end. Closing the iterator stops the threads and closes the
    items: whoever holds them, as the frames of an error do, holds no file open. A pipe is to be
    read in the caller's thread: nothing could stop a thread that waits for it.
    """
    workers = thread_count()
    waiting: deque[Future[B]] = deque()
    pool = ThreadPoolExecutor(workers + 1, thread_name_prefix="tamis-ahead")
    end: SourceError | None = None
    try:
        while end is None:
            coming = pool.submit(_next, items) if read_in_thread else None
            if len(waiting) > workers:
                yield waiting.popleft().result()
            try:
                item = _next(items) if coming is None else coming.result()
            except SourceError as error:
                end = error
                continue
            if item is None:
                break
            waiting.append(pool.submit(work, item))
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
        close_early(items)
    if end is not None:
        raise end


def close_early(items: Iterator[object]) -> None:
    """Close a generator that is not read to its end, and with it what it has open."""
    # Ctrl-C while a thread starts leaves one that nobody waits for, and it may be reading still.
    if isinstance(items, GeneratorType) and not items.gi_running:
        items.close()


def _next(items: Iterator[A]) -> A | None:
    return next(items, None)
