"""The loop of every selection: score blocks ahead, update the selector in order, remember, commit.

`select` is the loop without a state, `feed` the loop on an opened state, `resume` the same after
the last committed column; a cluster is another executor. Scoring is a pure function of a block, so
who scores, how many do, and how columns are cut into blocks cannot change a decision.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tamis.core.blocks import ColumnBlock
from tamis.core.names import Names
from tamis.core.target import Target
from tamis.encode.encoder import Cuts
from tamis.engine.encoded import EncodedBlock
from tamis.engine.seen_columns import Hashes, equal_to_target, hashes_of, target_hashes
from tamis.kernels.threads import thread_count
from tamis.methods.selector import ColumnSelector
from tamis.sources.base import ColumnSource, Progress

if TYPE_CHECKING:
    from tamis.engine.persistent.selection_state import SelectionState

A = TypeVar("A")
B = TypeVar("B")

#: How many scored blocks may wait for the rule; each is held in memory.
AHEAD = 2


#: What `SettledProgress` reports.
SETTLED = "selecting features"


class SettledProgress:
    """Reports how many features have been settled, a few times a second: rules can be slow."""

    EVERY = 0.2

    def __init__(self, progress: Progress, total: int | None) -> None:
        self._progress, self._total = progress, total
        self._last = time.monotonic()

    def __call__(self, done: int) -> None:
        """Report, unless that happened a moment ago."""
        now = time.monotonic()
        if now - self._last >= self.EVERY or done == self._total:
            self._last = now
            self._progress(SETTLED, done, self._total)


@dataclass(frozen=True, eq=False)
class ScoredColumns:
    """Columns `first` to `first + width - 1` after scoring, with what a state remembers of them.

    `end` is where they end in the source. The block itself is None where it stays with the worker
    that read it, and where nothing is remembered. `leak` is the name of a column that equals the
    target; `cuts` is what was done to columns that were encoded.
    """

    first: int
    end: int
    names: Names | None
    scores: Any
    block: ColumnBlock | None = None
    hashes: Hashes | None = None
    leak: str | None = None
    cuts: Cuts | None = None


@dataclass
class Taken:
    """What the loop noticed: a column that equals the target, and missing values."""

    leak: str | None = None
    gaps: int = 0
    gap_columns: int = 0


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores blocks, here or on a worker, and notes what the loop has to know of each.

    Parameters
    ----------
    selector : ColumnSelector
        What scores; it need not have seen anything.
    target : Target
        What no column should be equal to.
    remember : bool
        Hash columns that have names, for a state.
    send_blocks : bool
        Hand the block on with its scores, for a state.
    deciding : ColumnSelector, optional
        What is updated, if that is another one; it is not sent to workers.
    """

    selector: ColumnSelector
    target: Target
    remember: bool = False
    send_blocks: bool = False
    deciding: ColumnSelector | None = None

    def __call__(self, block: ColumnBlock, kept: Any = None) -> ScoredColumns:
        """Score a block; `kept` is what a worker knows of the kept features."""
        hashes = self._hashes(block)
        return ScoredColumns(
            block.first, block.first + block.width, block.names,
            self.selector.score(block) if kept is None
            else self.selector.score_knowing(block, kept),
            block if self.send_blocks else None, hashes,
            self._leak(block), block.cuts if isinstance(block, EncodedBlock) else None,
        )  # fmt: skip

    def _hashes(self, block: ColumnBlock) -> Hashes | None:
        if isinstance(block, EncodedBlock):
            return block.hashes  # of the values before they were encoded
        return hashes_of(block) if self.remember and block.names is not None else None

    def _leak(self, block: ColumnBlock) -> str | None:
        if block.names is None:
            return None
        if isinstance(block, EncodedBlock) and block.hashes is not None:
            same = np.flatnonzero(np.isin(block.hashes, target_hashes(self.target)))
            column = int(same[0]) if len(same) else None
        else:
            column = equal_to_target(block, self.target)
        return None if column is None else block.names[column]

    def snapshot(self) -> Any:
        """Return what is kept now, for workers that can make use of it, or None."""
        return (self.deciding or self.selector).snapshot()

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"deciding": None}


#: Scores the blocks of a source in order, so wide, from a column on: in this thread, in one ahead
#: of it, in processes, or on a cluster.
Executor = Callable[[Scorer, ColumnSource, int | None, Progress, int], Generator[ScoredColumns]]


def advance(
    selector: ColumnSelector,
    scored: Generator[ScoredColumns],
    state: SelectionState | None = None,
    commit: Callable[[int], None] | None = None,
    *,
    every: float = 0.0,
    total: int | None = None,
    whole: bool = False,
    progress: Progress,
) -> Taken:
    """Update a selector with scored columns; return what was noticed on the way.

    Parameters
    ----------
    selector : ColumnSelector
        What decides.
    scored : generator of ScoredColumns
        All that is to be taken, in order; closed at the end.
    state : SelectionState, optional
        Remembers what resuming takes; a one-shot run has none.
    commit : callable, optional
        Called with the number of columns done, every so many seconds, before the last ones.
    every : float
        Seconds between two commits.
    total : int, optional
        Columns in the source, where that is known.
    whole : bool
        These are all columns of a run: settle what waits for the last one.
    progress : callable
        Called with the number of columns done.
    """
    tell, committed, taken = SettledProgress(progress, total), time.monotonic(), Taken()
    if whole:
        if total is not None:
            selector.log_.reserve(total)
        selector.on_settled = tell
    try:
        with contextlib.closing(scored):
            for columns in scored:
                selector.update(columns.scores)
                taken.leak = taken.leak or columns.leak
                if columns.cuts is not None:
                    taken.gaps += int(columns.cuts.missing.sum())
                    taken.gap_columns += int(np.count_nonzero(columns.cuts.missing))
                if state is not None:
                    state.remember(columns)
                tell(columns.end)
                due = commit is not None and time.monotonic() - committed >= every
                if commit is not None and due and columns.end != total:
                    commit(columns.end)
                    committed = time.monotonic()
        if whole:
            selector.finish()
    finally:
        if whole:
            del selector.on_settled
    return taken


# --- scoring in this process -----------------------------------------------------------------


def score_here(
    scorer: Scorer, source: ColumnSource, width: int | None, progress: Progress, start: int
) -> Generator[ScoredColumns]:
    """Score the blocks of a source in this process: the executor without workers."""
    return score_ahead(scorer, source.columns(width, start, progress=progress))


def score_ahead(score: Callable[[A], B], blocks: Iterable[A]) -> Generator[B]:
    """Score blocks a little ahead of the rule, where there are threads for it."""
    return ahead(score, blocks) if thread_count() > 1 else (score(block) for block in blocks)


def ahead(function: Callable[[A], B], items: Iterable[A]) -> Generator[B]:
    """Map `function` over `items` in a thread of its own, in order, a little ahead of the reader.

    An exception in the thread is raised here. Closing the iterator, or an exception in the reader,
    stops the thread after the current item, and closes `items` if they come from a generator.

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
    """Put an item into a queue when there is room, unless `stop` is set."""
    while not stop.is_set():
        try:
            to.put(item, timeout=0.1)
            return True
        except queue.Full:
            continue
    return False
