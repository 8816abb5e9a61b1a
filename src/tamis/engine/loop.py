"""The loop of every selection: score blocks ahead, update the selector in order, remember, commit.

`select` is the loop without a state, `feed` the loop on an opened state, and `resume` the same loop
after the last committed column; a cluster is another executor. Scoring is a pure function of a
block. So neither the number of workers nor the block width can change a decision.
"""

from __future__ import annotations

import contextlib
import shlex
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from types import GeneratorType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tamis.core.blocks import ColumnBlock
from tamis.core.errors import warn
from tamis.core.names import Names
from tamis.core.target import Target
from tamis.encode.encoder import Cuts
from tamis.engine.encoded import EncodedBlock
from tamis.engine.seen_columns import Hashes, equal_to_target, hashes_of
from tamis.engine.stopping import Stop, Stopper
from tamis.kernels._jit import announced
from tamis.kernels.threads import thread_count
from tamis.methods.selector import ColumnSelector
from tamis.sources.base import ColumnSource, Progress, silent

if TYPE_CHECKING:
    from tamis.engine.persistent.selection_state import SelectionState

A = TypeVar("A")
B = TypeVar("B")

#: How many scored blocks may wait for the rule; each is held in memory.
AHEAD = 2

#: The progress label while features are settled, and the seconds between two progress calls.
SETTLED, REPORT_EVERY = "selecting features", 0.2


#: A number that is correlated with the target so strongly, by value or rank, may be the target.
SAME_AS_TARGET = 0.9995
#: Others that say as much are named up to this number.
_NAMED_LEAKS = 3


@dataclass(frozen=True, eq=False)
class ScoredColumns:
    """Columns `first` to `first + width - 1` after scoring, with what a state stores about them.

    `end` is where they end in the source. The block itself is None if it stays with the worker
    that read it, or if nothing is stored. `leak` is the number of a column that equals the
    target; `cuts` says how columns were encoded.
    """

    first: int
    end: int
    names: Names | None
    scores: Any
    block: ColumnBlock | None = None
    hashes: Hashes | None = None
    leak: int | None = None
    cuts: Cuts | None = None


@dataclass
class Taken:
    """What the loop noticed: the name of a column that equals the target, and missing values.

    `stopper` can take the columns that follow; `notes` are what was warned of.
    """

    leak: str | None = None
    gaps: int = 0
    gap_columns: int = 0
    stopper: Stopper | None = None
    notes: list[str] = field(default_factory=list)

    def add(self, columns: ScoredColumns, selector: ColumnSelector) -> None:
        """Note what is special about columns that the selector was updated with."""
        if columns.leak is not None and self.leak is None:
            self.leak = selector.names[columns.leak]
        if columns.cuts is not None:
            self.gaps += int(columns.cuts.missing.sum())
            self.gap_columns += int(np.count_nonzero(columns.cuts.missing))


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores blocks, in this process or on a worker, and notes what the loop needs to know of each.

    Parameters
    ----------
    selector : ColumnSelector
        The selector that scores; it need not have seen any column.
    target : Target
        The target, which no column should equal.
    remember : bool
        Hash the named columns, for a state.
    send_blocks : bool
        Return the block with its scores, for a state.
    deciding : ColumnSelector, optional
        The selector that is updated, if it is a different one; it is not sent to workers.
    """

    selector: ColumnSelector
    target: Target
    remember: bool = False
    send_blocks: bool = False
    deciding: ColumnSelector | None = None

    def __call__(
        self, block: ColumnBlock, score: Callable[[ColumnBlock], Any] | None = None
    ) -> ScoredColumns:
        """Score a block; a worker with a copy of the kept set passes its own `score`."""
        hashes, cuts = None, None
        if isinstance(block, EncodedBlock):  # which knows the values before they were encoded
            hashes, cuts, leak = block.hashes, block.cuts, block.leak
        else:
            leak = equal_to_target(block, self.target)
            if self.remember and block.names is not None:
                hashes = hashes_of(block)
        return ScoredColumns(
            block.first, block.first + block.width, block.names,
            (score or self.selector.score)(block), block if self.send_blocks else None,
            hashes, leak, cuts,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"deciding": None}


#: Scores the blocks of a source in order, of a given width, from a given column on, on workers.
Executor = Callable[[Scorer, ColumnSource, int | None, Progress, int], Generator[ScoredColumns]]


@dataclass
class Settled:
    """Reports how many features are settled, at most once per interval."""

    progress: Progress
    total: int | None
    last: float = field(default_factory=time.monotonic)
    done: int = 0

    def __call__(self, done: int) -> None:
        """Report that `done` features are settled, if it is time to and was not reported yet."""
        now = time.monotonic()
        if done != self.done and (now - self.last >= REPORT_EVERY or done == self.total):
            self.last, self.done = now, done
            self.progress(SETTLED, done, self.total)


@dataclass
class Commits:
    """Commits what was decided, every few seconds: `commit` is called with the columns done."""

    commit: Callable[[int], None]
    every: float
    last: float = field(default_factory=time.monotonic)

    def after(self, end: int) -> None:
        """Commit the columns before `end`, if it is time to."""
        if time.monotonic() - self.last >= self.every:
            self.commit(end)
            self.last = time.monotonic()


def advance(
    selector: ColumnSelector,
    scored: Generator[ScoredColumns],
    state: SelectionState | None = None,
    commits: Commits | None = None,
    *,
    total: int | None = None,
    whole: bool = False,
    stopper: Stopper | None = None,
    progress: Progress,
) -> Taken:
    """Update a selector with scored columns; return what was noticed.

    Parameters
    ----------
    selector : ColumnSelector
        The selector that decides.
    scored : generator of ScoredColumns
        All columns, in order; closed at the end.
    state : SelectionState, optional
        Stores what resuming needs; a one-shot run has none.
    commits : Commits, optional
        Commits the state every few seconds, but not after the last columns or inside a table.
    total : int, optional
        Columns in the source, if known.
    whole : bool
        Whether these are all columns of a run, so that pending features are settled at the end.
    stopper : Stopper, optional
        Updates the selector, and may end the selection before the last column.
    progress : callable
        Called with the number of columns done.
    """
    taken, settled = Taken(), Settled(progress, total)
    if whole:
        selector.log_.expected = total or 0
        selector.on_settled = settled
    try:
        with contextlib.closing(scored):
            for columns in scored if stopper is None or not stopper.ended else ():
                if stopper is None:
                    selector.update(columns.scores)
                else:
                    columns = stopper.update(columns)
                if columns.leak is not None or columns.cuts is not None:
                    taken.add(columns, selector)
                if state is not None:
                    state.remember(columns)
                if stopper is not None and stopper.ended:
                    break
                settled(columns.end)
                if commits is not None and columns.end != total and not selector.is_inside_table:
                    commits.after(columns.end)
        if selector.waits_for_table or selector.is_inside_table:
            selector.end_table()
        if stopper is not None:
            stopper.pass_over_rest()
        if whole:
            selector.finish()
    finally:
        if whole:
            del selector.on_settled
    return taken


def take_all(
    selector: ColumnSelector,
    columns: ColumnSource,
    target: Target,
    reason: str = "",
    *,
    state: SelectionState | None = None,
    execute: Executor | None = None,
    width: int | None = None,
    stop: Stop | None = None,
    progress: Progress = silent,
) -> Taken:
    """Start a selector and take every column of a source: what a run and a fit have in common.

    `reason` says why the encoding gave the selector its measure, if it did. The other parameters
    are those of `advance` and of `tamis.select`.
    """
    # With a progress callback, as commands have, compiling is reported there.
    announcing = announced() if progress is silent else contextlib.nullcontext()
    # Workers do not send columns that they read themselves; the few kept ones are read here.
    at_hand = execute is None or not columns.portable
    need_blocks = at_hand and (state is not None or stop is not None)
    with announcing:
        selector.start(target, name_prefix=columns.name_prefix, name_base=columns.name_base)
        selector.prepare(columns.columns())
        scorer = Scorer(selector, target, state is not None, need_blocks)
        stopper = None if stop is None else Stopper(stop, selector, target).over(columns)
        taken = advance(
            selector,
            ahead(scorer, columns.columns(width, progress=progress)) if execute is None
            else execute(scorer, columns, width, progress, 0),
            state, total=columns.n_columns, whole=True, stopper=stopper, progress=progress,
        )  # fmt: skip
    taken.stopper = stopper
    if reason:
        selector.measure_reason = reason
    taken.notes = warn_of_leaks(taken.leak, selector, target)
    return taken


def warn_of_leaks(leak: str | None, selector: ColumnSelector, target: Target) -> list[str]:
    """Warn about a column that equals the target, or else about kept ones that nearly do.

    They may be the target in other units or codes, rounded, or made from it. With more than two
    classes no measure tells a copy from a column that merely separates them. Returns the warnings.
    """
    measure = getattr(selector, "measure_", None)
    near, names, kept = list[int](), selector.names, set(selector.kept_.tolist())
    tells_copies = not target.is_classes or target.n_classes == 2
    if measure is not None and measure.kind != "discrete" and tells_copies:
        near = selector.log_.as_relevant_as(SAME_AS_TARGET).tolist()
    if leak is not None:
        others = [name for name in map(names.__getitem__, near) if name != leak]
        sentences = [_leak(leak, "equals the target in every row; if it is the target,", others)]
    else:
        says = (
            "says nearly everything about the target; if it is the target in other units, or was "
            "made from it,"
        )
        others = [names[feature] for feature in near if feature not in kept]
        sentences = [_leak(names[feature], says, others) for feature in near if feature in kept]
    for sentence in sentences:
        warn(sentence)
    return sentences


def _leak(name: str, says: str, others: Sequence[str]) -> str:
    """Return a sentence about a column that says too much, and others that say nearly as much."""
    ignore = [name, *others] if len(others) <= _NAMED_LEAKS else [name]
    flags = shlex.join(word for one in ignore for word in ("--ignore", one))
    sentence = f"the column {name!r} {says} select again without it ({flags})"
    if not others:
        return sentence
    more = f" and {len(others) - _NAMED_LEAKS:,} more" if len(others) > _NAMED_LEAKS else ""
    some = ", ".join(map(repr, others[:_NAMED_LEAKS]))
    says_as_much = "says" if len(others) == 1 else "say"
    return f"{sentence}; {some}{more} {says_as_much} nearly as much about it"


def ahead(function: Callable[[A], B], items: Iterable[A]) -> Generator[B]:
    """Map `function` over `items` in order, a little ahead of the reader, in a separate thread.

    If only one thread may compute, no thread is started. An exception in the thread is raised here.
    Closing the iterator, or an exception in the reader, stops the thread after the current item,
    and closes `items` if they come from a generator.

    >>> list(ahead(str.upper, "abc"))
    ['A', 'B', 'C']
    """
    if thread_count() == 1:
        yield from map(function, items)
        return
    # In the reader's context, which holds the number of threads that kernels may use.
    source, context, end = iter(items), copy_context(), object()

    def take_next() -> Any:
        for item in source:
            return function(item)
        return end

    pool = ThreadPoolExecutor(1, thread_name_prefix="tamis-ahead")
    try:
        waiting = deque(pool.submit(context.run, take_next) for _ in range(AHEAD + 1))
        while (result := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(context.run, take_next))
            yield result
    finally:
        pool.shutdown(cancel_futures=True)
        # Ctrl-C while the thread starts leaves one that is not joined and may still be reading.
        if isinstance(items, GeneratorType) and not items.gi_running:
            items.close()
