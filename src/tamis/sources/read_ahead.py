"""Read from an address in few requests, several of which are under way at a time.

A request to an object store takes tens of milliseconds, however short it is. So adjacent blocks are
read by one request, and the next ones are requested before they are needed. Both begin small: a
reader that wants only the first columns does not wait for many.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

#: Bytes that a request reads, if it can, and the maximum number of requests under way.
REQUEST, UNDER_WAY = 8 << 20, 8


def spans(start: int, stop: int, step: int, size: float) -> Iterator[tuple[int, int]]:
    """Split a range into spans of one step, two, four, ... until they have `REQUEST` bytes.

    `size` is the number of bytes per position. Only the last span is not a multiple of the step.

    >>> list(spans(0, 100, 10, 2**18))
    [(0, 10), (10, 30), (30, 60), (60, 90), (90, 100)]
    """
    steps, most = 1, max(1, int(REQUEST / max(size * step, 1.0)))
    while start < stop:
        end = min(start + steps * step, stop)
        yield start, end
        start, steps = end, min(2 * steps, most)


def read_ahead(items: Iterable[A], read: Callable[[A], B]) -> Generator[B]:
    """Yield what `read` returns for each item, in order; one more is read ahead each time.

    An error is raised in place of its result. Closing the iterator waits for reads under way.
    """
    source = iter(items)
    waiting: deque[Future[B]] = deque()
    pool = ThreadPoolExecutor(UNDER_WAY, thread_name_prefix="tamis-fetch")
    ahead = 1
    try:
        while True:
            while len(waiting) < ahead and (item := next(source, None)) is not None:
                waiting.append(pool.submit(read, item))
            if not waiting:
                return
            yield waiting.popleft().result()
            ahead = min(ahead + 1, UNDER_WAY)
    finally:
        pool.shutdown(cancel_futures=True)
