"""Work ahead of the reader, in order: while one block is absorbed, the next is examined."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable
from contextvars import copy_context
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

#: How many finished blocks may wait; each is held in memory.
AHEAD = 2


def ahead(function: Callable[[A], B], items: Iterable[A]) -> Generator[B]:
    """Map `function` over `items` in a thread of its own, in order, a little ahead of the reader.

    What the thread raises is raised here. Closing the iterator, or an exception in the reader,
    stops the thread after the item it is at, and closes `items` if they come from a generator.

    >>> list(ahead(str.upper, "abc"))
    ['A', 'B', 'C']
    """
    done: queue.Queue[tuple[bool, B | BaseException | None]] = queue.Queue(AHEAD)
    stop = threading.Event()

    def work() -> None:
        try:
            for item in items:
                result = function(item)
                if not _put(done, (True, result), stop):
                    return
            _put(done, (False, None), stop)
        except BaseException as error:  # raised again in the reader's thread
            _put(done, (False, error), stop)
        finally:
            if isinstance(items, Generator):
                items.close()

    # In the reader's context: how many threads kernels may use is a setting of it.
    thread = threading.Thread(
        target=copy_context().run, args=(work,), name="tamis-ahead", daemon=True
    )
    thread.start()
    try:
        while True:
            more, result = done.get()
            if not more:
                if result is not None:
                    raise result  # type: ignore[misc]
                return
            yield result  # type: ignore[misc]
    finally:
        stop.set()
        thread.join()


def _put(to: queue.Queue[A], item: A, stop: threading.Event) -> bool:
    """Put an item when there is room, unless told to stop."""
    while not stop.is_set():
        try:
            to.put(item, timeout=0.1)
            return True
        except queue.Full:
            continue
    return False
