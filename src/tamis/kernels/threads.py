"""Threads for kernels: they split columns, never rows, so they cannot change a number."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise

import numpy as np
import numpy.typing as npt

#: A range with less work than this (in stored entries or columns) is not worth a thread.
LEAST_WORK = 20_000

#: The number of threads and the least work, as set by `threads`, per context rather than per
#: process: workers of one process must not undo each other's settings.
_wanted: ContextVar[tuple[int | None, int]] = ContextVar("threads", default=(None, LEAST_WORK))
_pool: ThreadPoolExecutor | None = None
_pool_size = 0


def thread_count() -> int:
    """Return the number of threads: `threads(n)`, else TAMIS_THREADS, else all available cores."""
    count, _ = _wanted.get()
    if count is not None:
        return count
    given = os.environ.get("TAMIS_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def threads(count: int, least_work: int = LEAST_WORK) -> Iterator[None]:
    """Use `count` threads inside the block; the result is the same for every count.

    `least_work` is the least amount of work for a thread; tests set it to 1. A thread started
    inside the block sees these settings only if it runs in a copy of the context.

    >>> with threads(1):
    ...     thread_count()
    1
    """
    if count < 1:
        raise ValueError(f"threads({count}): the number of threads must be at least 1")
    before = _wanted.get()
    _wanted.set((count, least_work))
    try:
        yield
    finally:
        _wanted.set(before)


def over_columns(work: Callable[[int, int], None], weights: npt.NDArray[np.int64]) -> None:
    """Call `work(lo, hi)` on ranges of columns that together cover all of them.

    `weights` is the running total of work before each column (length: columns + 1), for sparse
    columns their indptr; ranges are cut so that each thread gets about the same amount. Called by
    every measure, once per block.
    """
    n_columns = len(weights) - 1
    total = int(weights[-1] - weights[0]) + n_columns
    ranges = total // _wanted.get()[1]
    if ranges > 1:
        ranges = min(ranges, thread_count())
    if ranges <= 1:
        work(0, n_columns)
        return
    # Even an empty column costs something: count one for each.
    start = int(weights[0])
    cuts = [
        bisect_left(
            range(n_columns), total * part // ranges, key=lambda j: int(weights[j]) - start + j
        )
        for part in range(1, ranges)
    ]
    bounds = [0, *cuts, n_columns]
    pool = _shared_pool(ranges)
    first, *others = [(lo, hi) for lo, hi in pairwise(bounds) if hi > lo]
    pending = [pool.submit(work, lo, hi) for lo, hi in others]
    work(*first)
    for future in pending:
        future.result()


def _shared_pool(size: int) -> ThreadPoolExecutor:
    global _pool, _pool_size
    if _pool is None or _pool_size < size:
        _pool = ThreadPoolExecutor(size, thread_name_prefix="tamis")
        _pool_size = size
    return _pool


def _forget_pool() -> None:
    """Drop the pool after a fork, which threads do not survive; the child creates its own."""
    global _pool, _pool_size
    _pool, _pool_size = None, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
