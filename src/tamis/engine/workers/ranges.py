"""Split columns into tasks for workers, and return the scored columns in order.

The first tasks are small, so that the first decisions are made early. Their size grows with the
columns that are decided, until a task takes a second or two: the cost of sending it is then
negligible, and what a worker knows about the kept features is never much older than the stream. A
worker reads a large task block by block. A few more tasks are submitted than there are workers, so
that none is idle; the driver never holds more than that.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import pickle
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tamis.core.blocks import ColumnBlock
from tamis.core.errors import ClusterError, InputError, SourceError
from tamis.engine.encoded import EncodedSource
from tamis.engine.loop import ScoredColumns, Scorer
from tamis.engine.workers.copies import Version
from tamis.kernels.threads import threads
from tamis.measures.measure import Prepared
from tamis.methods.known_pairs import AT_ONCE, Copy, Fetch
from tamis.methods.replaying import Replaying, can_be_joined
from tamis.sources.base import ColumnSource, Progress, default_width

#: Columns in the first tasks, and the maximum number of columns in a task.
FIRST, MOST = 256, 1 << 22

#: The maximum numbers of blocks and columns in a task of a method that may need all columns.
BLOCKS, ROUND = 8, 8192

#: Seconds that a task should take, and the part of that which the first and the last ones take at
#: least, if possible.
SECONDS, SHORT = 1.0, 0.1

#: With many workers a task takes so many seconds for each of them: the driver and the scheduler,
#: which need some hundredths of a second for a task, get ten of them per second at most.
FOR_EACH = 0.1

#: Bytes of columns that a worker sends in one piece; tasks are made shorter if one has more.
PIECE = 64 << 20


#: Columns are read together if fewer than this part of a block lies between them.
NEAR = 64


class Promise(Protocol):
    """A result that a worker is computing."""

    def result(self) -> Any:
        """Wait for the result."""

    def cancel(self) -> Any:
        """Cancel it."""


@runtime_checkable
class Crew(Protocol):
    """Workers: `size` of them."""

    size: int

    def submit(self, call: Callable[..., Any], *what: Any) -> Promise:
        """Call a function on a worker."""

    def share(self, what: bytes) -> Any:
        """Share bytes with all workers; return a reference to them for use in tasks."""

    def forget(self, reference: Any) -> None:
        """Delete what was shared."""

    def score(self, task: Task, shared: Any, version: Version | None) -> Promise:
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

    def done_by(self, who: str, shared: bytes, copy: Callable[[], Copy | None]) -> Done:
        """Score the blocks on a worker; failures raise a one-sentence error."""
        begun = time.perf_counter()
        try:
            scorer, source = opened(shared)
        except (SourceError, OSError) as error:
            raise ClusterError(
                f"{who} cannot open the data ({error}); every worker must see it under the same "
                "path"
            ) from error
        try:
            pieces = self.score(scorer, source, copy())
        except (MemoryError, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.ENOMEM:
                raise ClusterError(f"{who} cannot read {self} ({error}); try again") from error
            columns = self.last - self.first
            narrower = max(1, min(self.width or columns, columns) // 4)
            raise ClusterError(
                f"{who} ran out of memory on {self}; take fewer at a time (--width {narrower}), or "
                "give each worker more memory"
            ) from error
        return Done(pieces, time.perf_counter() - begun, sum(map(_size, pieces)))

    def score(
        self, scorer: Scorer, source: ColumnSource | None, copy: Copy | None = None
    ) -> list[ScoredColumns]:
        """Score the blocks with one thread, as parallelism comes from the number of workers."""
        selector: Any = scorer.selector
        score = None
        if copy is not None:
            score = functools.partial(
                selector.score_knowing, copy=copy, send_all=self.block is not None
            )
        with threads(1):
            if self.block is not None:
                return joined(selector, iter([scorer(self.block, score)]))
            assert source is not None
            width = self.width or self.last - self.first
            blocks = source.columns(width, self.first, self.last)
            return joined(selector, (scorer(block, score) for block in blocks))


@dataclass(frozen=True, eq=False)
class Done:
    """The scored columns of a task, the seconds it took, and the bytes that the worker sends."""

    pieces: list[ScoredColumns]
    seconds: float
    size: int


def _size(scored: ScoredColumns) -> int:
    return int(getattr(getattr(scored.scores, "columns", None), "nbytes", 0))


def joined(selector: Any, scored: Iterator[ScoredColumns]) -> list[ScoredColumns]:
    """Join the scored columns of a task, so that the driver takes few of them."""
    if not isinstance(selector, Replaying):
        return list(scored)
    pieces: list[list[ScoredColumns]] = []
    size = 0
    for one in scored:
        last = pieces[-1][-1] if pieces else None
        plain = one.cuts is None and one.block is None
        if last and plain and size < PIECE and can_be_joined(last.scores, one.scores):
            pieces[-1].append(one)
            size += _size(one)
        else:
            pieces.append([one])
            size = _size(one)
    return [_one(selector, parts) for parts in pieces]


def _one(selector: Replaying, parts: list[ScoredColumns]) -> ScoredColumns:
    first, last = parts[0], parts[-1]
    scores = selector.joined([part.scores for part in parts])
    if len(parts) == 1:
        return replace(first, scores=scores)
    hashes = [part.hashes for part in parts if part.hashes is not None]
    return replace(
        first, end=last.end, names=scores.names, scores=scores,
        hashes=np.concatenate(hashes) if hashes else None,
        leak=next((part.leak for part in parts if part.leak is not None), None),
    )  # fmt: skip


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


class Pace:
    """Decide how many columns the next task has, and when it may begin, from the times of others.

    At most half as many columns as are decided are under way, so that what workers know about the
    kept features is never much older than the stream. These are few tasks rather than short ones.
    Towards the end there is one for each worker.
    """

    def __init__(self, workers: int, *, may_grow: bool = True) -> None:
        self._workers, self._window = workers, 2 * workers + 2
        self._seconds = max(SECONDS, FOR_EACH * workers)
        #: Columns that are decided, given out, and done by a worker in a second.
        self._decided, self._given, self._second = 0, 0, FIRST / SHORT / self._seconds
        #: Whether tasks may have many blocks.
        self.may_grow = may_grow

    def gave(self, columns: int) -> None:
        """Note a task that was submitted."""
        self._given += columns

    def took(self, columns: int, seconds: float, size: int = 0) -> None:
        """Note a task that is done."""
        self._decided += columns
        self._second = columns / max(seconds, self._seconds * size / PIECE, 1e-9)

    def may_begin(self, waiting: int) -> bool:
        """Return whether another task may be submitted while so many are."""
        under_way = self._given - self._decided
        return not waiting or (waiting < self._window and under_way < self._room)

    def step(self, left: int) -> int:
        """Return the number of columns of the next task, of those that are left."""
        long = self._second * self._seconds
        short = min(MOST, int(SHORT * long))
        columns = max(self._room // self._window, min(short, self._room // 2))
        columns = min(columns, MOST, int(long), max(short, -(-left // self._workers)))
        return min(left, max(FIRST, columns))

    @property
    def _room(self) -> int:
        """How many columns may be under way."""
        return max(FIRST * self._window, self._decided // 2)


def tasks(
    source: ColumnSource, width: int | None, progress: Progress, start: int, pace: Pace
) -> Iterator[Task]:
    """Cut the columns of a source from `start` on into tasks."""
    if not source.portable or source.n_columns is None:
        for block in source.columns(width, start, progress=progress):
            pace.gave(block.width)
            yield Task(block.first, block.first + block.width, block=block)
        return
    narrow = width or default_width(source.n_rows, source.n_columns, source.stored)
    most, lo = MOST if pace.may_grow else max(narrow, min(ROUND, BLOCKS * narrow)), start
    while lo < source.n_columns:
        step = width or min(most, pace.step(source.n_columns - lo))
        hi = min(lo + step, source.n_columns)
        pace.gave(hi - lo)
        yield Task(lo, hi, narrow)
        lo = hi


def in_order(
    todo: Iterator[Any],
    submit: Callable[[Any], Promise],
    may_begin: Callable[[int], bool],
    on_result: Callable[[Any, Any], None],
) -> Generator[Any]:
    """Yield results in the order of the tasks; some are pending at a time.

    `may_begin` is called with their number, and says whether another one may be submitted.
    `on_result` is called with each task and its result. Running out of memory raises a one-sentence
    error.
    """
    waiting: deque[tuple[Any, Promise]] = deque()
    try:
        while True:
            while may_begin(len(waiting)) and (task := next(todo, None)) is not None:
                waiting.append((task, submit(task)))
            if not waiting:
                return
            done, promise = waiting.popleft()
            try:
                result = promise.result()
            except MemoryError as error:
                raise ClusterError(
                    "a worker ran out of memory; start fewer of them, or give each more memory"
                ) from error
            on_result(done, result)
            yield result
    finally:
        for _, promise in waiting:
            promise.cancel()


def one_by_one(results: Generator[Done], fetch: Fetch) -> Generator[ScoredColumns]:
    """Yield the scored columns of tasks; `fetch` reads columns that a worker did not send."""
    with contextlib.closing(results):
        for done in results:
            for one in done.pieces:
                known = getattr(one.scores, "known", None)
                complete = known is None or known.is_open.all()
                yield one if complete else replace(one, scores=replace(one.scores, fetch=fetch))


def fetching(selector: Any, source: ColumnSource) -> Fetch:
    """Return a function that reads some columns, and prepares them as a worker would.

    Columns that are near each other are read together: that takes less than opening files again.
    """
    most = default_width(source.n_rows, source.n_columns or 1, source.stored)
    # Reading a neighbour that nobody wants is cheap; encoding it may not be.
    gap = 1 if isinstance(source, EncodedSource) else max(1, most // NEAR)

    def fetch(features: Sequence[int]) -> Prepared:
        wanted = np.array(features[: min(most, AT_ONCE)])
        apart = np.flatnonzero(np.diff(wanted) > gap) + 1
        parts = []
        for some in np.split(wanted, apart):
            lo, hi = int(some[0]), int(some[-1]) + 1
            block = next(source.columns(hi - lo, lo, hi))
            parts.append(block if len(some) == hi - lo else block.pick(some - lo))
        found: Prepared = selector.prepared(parts)
        return found

    return fetch
