"""Split columns into tasks for workers, and return the scored blocks in order.

The first tasks are small, so that the first decisions are made early. Their size doubles until the
overhead per task is negligible; a worker processes a large task block by block. A few more tasks
are submitted than there are workers, so that none is idle; the driver never holds more than that.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import itertools
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tamis.core.blocks import ColumnBlock
from tamis.core.errors import ClusterError, InputError, SourceError
from tamis.engine.loop import Scorer
from tamis.kernels.threads import threads
from tamis.sources.base import ColumnSource, Progress, default_width

#: Columns in the first task.
FIRST = 256

#: The maximum number of blocks in a task, and the maximum number of columns.
BLOCKS, ROUND = 8, 8192

#: Number of tasks after which workers are sent any change of the kept features.
OLD = 64


class Promise(Protocol):
    """A result that a worker is computing."""

    def result(self) -> Any:
        """Wait for the result."""

    def cancel(self) -> Any:
        """Cancel it."""


class Crew(Protocol):
    """Workers: `size` of them."""

    size: int

    def submit(self, call: Callable[..., Any], *what: Any) -> Promise:
        """Call a function on a worker."""

    def share(self, what: bytes) -> Any:
        """Share bytes with all workers; return a reference to them for use in tasks."""

    def examine(self, task: Task, shared: Any, kept: Any) -> Promise:
        """Score the blocks of a task on a worker, given what was shared."""


@dataclass(frozen=True, eq=False)
class Task:
    """Columns first to last - 1, which are read by the worker or sent with the task.

    They are read `width` columns at a time, or all at once.
    """

    first: int
    last: int
    width: int | None = None
    block: ColumnBlock | None = None

    def __str__(self) -> str:
        return f"columns {self.first:,} to {self.last - 1:,}"

    def done_by(self, who: str, shared: bytes, kept: bytes | None) -> Any:
        """Score the blocks on a worker; failures raise a one-sentence error."""
        try:
            scorer, source = opened(shared)
        except (SourceError, OSError) as error:
            raise ClusterError(
                f"{who} cannot open the data ({error}); every worker must see it under the same "
                "path"
            ) from error
        try:
            return self.score(scorer, source, None if kept is None else opened(kept))
        except (MemoryError, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.ENOMEM:
                raise ClusterError(f"{who} cannot read {self} ({error}); try again") from error
            columns = self.last - self.first
            narrower = max(1, min(self.width or columns, columns) // 4)
            raise ClusterError(
                f"{who} ran out of memory on {self}; take fewer at a time (--width {narrower}), or "
                "give each worker more memory"
            ) from error

    def score(self, scorer: Scorer, source: ColumnSource | None, kept: Any = None) -> list[Any]:
        """Score the blocks with one thread, as parallelism comes from the number of workers.

        `kept` is the snapshot of what the selector kept when the task was submitted.
        """
        with threads(1):
            if self.block is not None:
                return [scorer(self.block, kept)]
            assert source is not None
            width = self.width or self.last - self.first
            return [scorer(block, kept) for block in source.columns(width, self.first, self.last)]


class News:
    """Send what is kept to workers when a quarter of it has changed, or after some time.

    It need not be up to date: what is foreseen with an old kept set is checked against the present
    one later. `send` shares a packed snapshot with the workers.
    """

    def __init__(self, scorer: Scorer, send: Callable[[bytes], Any]) -> None:
        self._scorer, self._send = scorer, send
        self._features = np.zeros(0, dtype=np.int64)
        self._sent: Any = None
        self._age = 0

    def latest(self) -> Any:
        """Return what is sent with a task: a reference to the latest snapshot, or None."""
        kept = self._scorer.snapshot()
        if kept is None:
            return None
        changed = len(np.setxor1d(kept.features, self._features, assume_unique=True))
        self._age += 1
        if changed and (4 * changed >= len(self._features) or self._age >= OLD):
            self._sent, self._age = self._send(pickle.dumps(kept)), 0
            self._features = kept.features.copy()
        return self._sent


def packed(scorer: Scorer, source: ColumnSource) -> bytes:
    """Pack what a worker needs: the scorer, and the source if the worker can read it."""
    try:
        return pickle.dumps((scorer, source if source.portable else None))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"the selector cannot be sent to workers ({error}); run it without cluster="
        ) from error


@functools.lru_cache(maxsize=4)
def opened(what: bytes) -> Any:
    """Unpack the scorer and the source, cached for many tasks; a worker may serve two runs."""
    return pickle.loads(what)


def tasks(
    source: ColumnSource, width: int | None, progress: Progress, start: int = 0
) -> Iterator[Task]:
    """Cut the columns of a source from `start` on into tasks."""
    if not source.portable or source.n_columns is None:
        for block in source.columns(width, start, progress=progress):
            yield Task(block.first, block.first + block.width, block=block)
        return
    narrow = width or default_width(source.n_rows, source.n_columns, source.stored)
    most = width or max(narrow, min(ROUND, BLOCKS * narrow))
    step, lo = width or min(FIRST, most), start
    while lo < source.n_columns:
        hi = min(lo + step, source.n_columns)
        yield Task(lo, hi, narrow)
        lo, step = hi, min(2 * step, most)


def in_order(
    todo: Iterator[Any], submit: Callable[[Any], Promise], window: int, tell: Callable[[Any], None]
) -> Generator[Any]:
    """Yield results in the order of the tasks, `window` of which are pending at a time.

    Running out of memory raises a one-sentence error.
    """
    waiting: deque[tuple[Any, Promise]] = deque()
    try:
        while True:
            new = itertools.islice(todo, window - len(waiting))
            waiting.extend((task, submit(task)) for task in new)
            if not waiting:
                return
            done, promise = waiting.popleft()
            try:
                result = promise.result()
            except MemoryError as error:
                raise ClusterError(
                    "a worker ran out of memory; start fewer of them, or give each more memory"
                ) from error
            yield result
            tell(done)
    finally:
        for _, promise in waiting:
            promise.cancel()


def one_by_one(results: Generator[list[Any]]) -> Generator[Any]:
    """Yield the scored blocks of tasks."""
    with contextlib.closing(results):
        for blocks in results:
            yield from blocks
