"""Feeding columns to a selection: what is new, what is known, what contradicts, and then the rule.

All columns are looked at before the first one is taken, so that a file that cannot be fed leaves
nothing behind; and what is taken must be what was looked at. Columns are taken block by block, and
what was taken is committed about once a second: a process that is killed goes on behind the last
commit when the same file is fed again.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from tamis.core.blocks import ColumnBlock
from tamis.core.errors import InputError
from tamis.core.names import Names
from tamis.core.sentences import counted
from tamis.core.target import Target
from tamis.engine.files.log_files import arrow_names, numbered_names
from tamis.engine.living.archive import Archive
from tamis.engine.living.ledger import Hashes, hashes_of, name_hashes
from tamis.engine.living.rows import Places, aligned, as_keys, rearranged
from tamis.engine.living.withdrawal import REPLACED, withdraw
from tamis.engine.workers.prefetch import ahead
from tamis.engine.wrappers.groups import Labels, labels_of
from tamis.kernels.threads import thread_count
from tamis.methods.telling import SETTLED
from tamis.sources.base import ColumnSource, Report, silent

#: Seconds between two commits.
COMMIT_EVERY = 1.0


@dataclass
class Fed:
    """What came of feeding some columns.

    Attributes
    ----------
    source : str
        What was fed.
    taken, skipped : int
        Columns that were decided about, and columns that had been fed before.
    replaced : list of str
        Columns that took the place of others of the same name.
    kept, evicted : list of str
        Fed columns that are kept now, and older ones that they drove out.
    again : bool
        The same data, without names, had been fed before as a whole; nothing was taken.
    """

    source: str
    taken: int = 0
    skipped: int = 0
    replaced: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    evicted: list[str] = field(default_factory=list)
    again: bool = False

    def __str__(self) -> str:
        if self.again:
            return f"{self.source} was fed before; nothing was taken"
        of_them = "" if self.taken == 1 else " of them"
        said = f"{self.source}: {counted(self.taken, 'column')} taken, {len(self.kept):,}{of_them}"
        said += " kept"
        if self.evicted:
            said += f", {counted(len(self.evicted), 'older one')} evicted"
        if self.replaced:
            said += f", {len(self.replaced):,} replaced"
        if self.skipped:
            verb = "was" if self.skipped == 1 else "were"
            said += f"; {self.skipped:,} {verb} fed before and {verb} skipped"
        return said


@dataclass
class Feeding:
    """One source on its way into a selection."""

    archive: Archive
    source: ColumnSource
    name: str
    replace: bool
    width: int | None
    report: Report
    facts: dict[str, Any]
    allow_target: bool = False
    groups: Any = None

    def __post_init__(self) -> None:
        self.fed = Fed(self.name)
        self.indices: Places | None = None
        self.labels: Labels | None = None
        #: A hash of each column, its name and its values, as it was when it was looked at.
        self.looked_at: list[Hashes] = []
        self.fingerprint = self.facts.get("fingerprint") or self.source.fingerprint()
        mine = [line for line in self.archive.history if line.get("source") == self.name
                and line.get("fingerprint") == self.fingerprint and "columns" in line]  # fmt: skip
        #: Columns of this very source that an earlier feed, which was stopped, had taken.
        self.done = 0 if not mine or mine[-1]["done"] else mine[-1]["columns"]
        self.before = any(
            line["done"] for line in self.archive.history
            if line.get("fingerprint") == self.fingerprint and "columns" in line
        )  # fmt: skip

    def __call__(self) -> Fed:
        """Look at everything, then take it."""
        self._check_rows()
        archive = self.archive
        if self.source.n_columns != 0:  # from nothing no measure could be picked
            archive.selector.prepare(map(self._ready, self._blocks()), self.source.n_columns)
        take, replaced = self._survey()
        if self.fed.again:
            return self.fed
        first, n_events = archive.log.names.count, archive.log.n_events
        if replaced:
            self.fed.replaced = [archive.log.names[f] for f in replaced]
            withdraw(archive, replaced, REPLACED)
            archive.commit(self._line(self.done, done=False), last=False)
            n_events = archive.log.n_events
        self._take(take)
        archive.commit(self._line(len(take), done=True), last=True)
        names = archive.log.names
        kept = set(archive.selector.kept_.tolist())
        self.fed.kept = [names[f] for f in sorted(kept) if f >= first]
        left = archive.log.event_features[n_events:].tolist()
        self.fed.evicted = [names[f] for f in dict.fromkeys(left) if f < first and f not in kept]
        return self.fed

    # --- the rows --------------------------------------------------------------------------

    def _check_rows(self) -> None:
        """Raise one sentence if the rows are not those of the selection."""
        stock, source = self.archive.stock, self.source
        ours = stock.target
        keys = self.facts.get("keys")
        if keys is None and (found := source.keys()) is not None:
            keys = found[1]
        if stock.keys is not None:
            if keys is None:
                raise InputError(
                    f"{self.name} has no column {stock.key!r} to tell which row is which, and this "
                    "selection goes by it; add that column"
                )
            theirs = as_keys(keys, source.n_rows, self.name)
            self.indices = aligned(stock.keys, theirs, self.name)
        elif source.n_rows != ours.n_rows:
            raise InputError(
                f"{self.name} has {source.n_rows} rows but the selection has {ours.n_rows}; feed "
                "columns of the same rows, in the same order"
            )
        labels = source.target()
        if labels is not None:
            labels = labels if self.indices is None else labels[self.indices]
            if Target.of(labels).fingerprint != ours.fingerprint:
                raise InputError(
                    f"{self.name} brings a target that is not the one of the selection: other "
                    "rows, or the same in another order; feed columns of the same rows, in the "
                    "same order"
                )

    def _blocks(self, report: Report | None = None) -> Iterator[ColumnBlock]:
        """The blocks of the source with our rows."""
        for block in self.source.columns(self.width, progress=report or silent):
            yield rearranged(block, self.indices)

    def _ready(self, block: ColumnBlock) -> ColumnBlock:
        """The block as the selector sees it."""
        encoded, selector = self.archive.stock.encoded, self.archive.selector
        if encoded is None:
            return block
        return encoded.encoding.encode(block, self.archive.stock.target, selector.name_of)

    # --- looking ---------------------------------------------------------------------------

    def _survey(self) -> tuple[npt.NDArray[np.bool_], list[int]]:
        """Which columns are to be taken, and which older ones they replace."""
        archive, fed = self.archive, self.fed
        takes: list[npt.NDArray[np.bool_]] = []
        names: list[Names] = []
        replaced: list[int] = []
        seen = 0
        for block in self._blocks():
            hashes, take = hashes_of(block), np.ones(block.width, np.bool_)
            self.looked_at.append(_marks(block, hashes))
            take[: max(0, self.done - seen)] = False
            if block.names is None:
                fed.again = fed.again or (self.before and not self.done)
            else:
                names.append(block.names)
                known, changed = self._known(block, take, hashes)
                take[known] = False
                fed.skipped += len(known)
                replaced += changed
            self._refuse_leak(block, take & np.isin(hashes, archive.stock.leaks), seen)
            if take.any():  # one that was fed before was looked at then
                archive.selector.refuse_bad_values(self._ready(block.pick(np.flatnonzero(take))))
            takes.append(take)
            seen += block.width
        _refuse_doubles(names, self.name)
        if self.groups is not None:
            self.labels = labels_of(self.groups, self._named(names, seen), seen, self.name)
        return np.concatenate([np.zeros(0, np.bool_), *takes]), replaced

    def _named(self, names: list[Names], width: int) -> Names:
        """Names of the columns, as the selection calls them."""
        if names:
            return Names.joined(names)
        first = self.archive.selector.n_features_in_ - self.done
        return numbered_names(self.archive.log.names, first, first + width)

    def _known(
        self, block: ColumnBlock, take: npt.NDArray[np.bool_], hashes: Hashes
    ) -> tuple[npt.NDArray[np.intp], list[int]]:
        """Columns that were fed before, and older ones whose name came with other values."""
        assert block.names is not None
        archive = self.archive
        features, values = archive.stock.ledger.find(block.names)
        same = values == hashes
        found = take & (features >= 0)
        book = archive.log.names
        changed = [
            int(i) for i in np.flatnonzero(found & ~same)
            if book[int(features[i])] == block.names[int(i)]
        ]  # fmt: skip
        if changed and not self.replace:
            raise InputError(
                f"{self.name}: the column {block.names[changed[0]]!r} was fed before with other "
                "values; rename it, or use --replace (replace=True) to put it in place of the old "
                "one"
            )
        self._refuse_numbered(block.names)
        goal = archive.stock.target_name
        if goal is not None and block.names.find(goal) is not None:
            raise InputError(
                f"{self.name}: the column {goal!r} is the target of the selection, not a feature; "
                f"leave it out, or say so with --target {goal} (target={goal!r})"
            )
        return np.flatnonzero(found & same), [int(features[i]) for i in changed]

    def _refuse_leak(self, block: ColumnBlock, leaks: npt.NDArray[np.bool_], before: int) -> None:
        """Raise one sentence for a new column that is the target itself, by whatever name."""
        if leaks.any() and not self.allow_target:
            at = int(np.argmax(leaks))
            name = f"number {before + at}" if block.names is None else repr(block.names[at])
            raise InputError(
                f"{self.name}: the column {name} says the same as the target of the selection in "
                "every row; leave it out, or use --allow-target (allow_target=True) if it is a "
                "feature all the same"
            )

    def _refuse_numbered(self, names: Names) -> None:
        """Raise one sentence for a name that a column without one goes by."""
        book = self.archive.log.names
        if len(self.archive.stock.ledger) >= len(book):
            return
        pattern = f"^{re.escape(book.prefix)}[0-9]{{1,19}}$"
        for i in pc.indices_nonzero(pc.match_substring_regex(arrow_names(names), pattern)):
            feature = book.find_numbered(names[i.as_py()])
            if feature is not None and not self.archive.stock.ledger.has(feature):
                raise InputError(
                    f"{self.name}: the column {names[i.as_py()]!r} has the name by which a column "
                    "that came without one is called; rename it"
                )

    # --- taking ----------------------------------------------------------------------------

    def _take(self, take: npt.NDArray[np.bool_]) -> None:
        """Take the columns block by block; commit what was taken about once a second."""
        archive, committed = self.archive, time.monotonic()
        for end, block, hashes, scored in self._examined(take):
            if block is not None:
                archive.selector.update(scored)
                archive.stock.take(block, hashes, archive.selector)
                self.fed.taken += block.width
            self.report(SETTLED, end, len(take))
            if time.monotonic() - committed >= COMMIT_EVERY and end < len(take):
                archive.commit(self._line(end, done=False), last=False)
                committed = time.monotonic()

    def _examined(
        self, take: npt.NDArray[np.bool_]
    ) -> Iterator[tuple[int, ColumnBlock | None, Hashes | None, Any]]:
        """Blocks of what is to be taken, examined a little ahead where there are threads."""
        selector, stock = self.archive.selector, self.archive.stock

        def score(item: tuple[int, ColumnBlock | None, Hashes]) -> Any:
            end, block, marks = item
            if block is None:
                return end, None, None, None
            if not np.array_equal(_marks(block, hashes_of(block)), marks):
                raise self._changed()
            block = self._ready(block)
            return end, block, stock.hashes(block), selector.score(block)

        if thread_count() == 1:
            yield from map(score, self._picked(take))
            return
        with contextlib.closing(ahead(score, self._picked(take))) as results:
            yield from results

    def _picked(
        self, take: npt.NDArray[np.bool_]
    ) -> Iterator[tuple[int, ColumnBlock | None, Hashes]]:
        """What is to be taken of each block, numbered on; where it ends, and what it should be."""
        number, at = self.archive.selector.n_features_in_, 0
        looked_at = np.concatenate([np.zeros(0, np.uint64), *self.looked_at])
        for block in self._blocks(self.report):
            begin, at = at, at + block.width
            if at > len(take):
                raise self._changed()
            picks = np.flatnonzero(take[begin:at])
            if self.labels is not None:
                block = replace(block, group=self.labels[begin:at])
            if len(picks) == 0:
                yield at, None, looked_at[:0]
                continue
            yield at, replace(block.pick(picks), first=number), looked_at[begin + picks]
            number += len(picks)
        if at < len(take):
            raise self._changed()

    def _changed(self) -> InputError:
        return InputError(
            f"{self.name} changed while it was fed; feed it again when nobody writes to it"
        )

    def _line(self, columns: int, *, done: bool) -> dict[str, Any]:
        """What the history says about it."""
        file = {k: v for k, v in self.facts.items() if k in ("size", "mtime_ns")}
        return {
            "action": "feed", "source": self.name, "fingerprint": self.fingerprint,
            "columns": columns, "done": done, "taken": self.fed.taken,
            "skipped": self.fed.skipped, "replaced": len(self.fed.replaced), **file,
        }  # fmt: skip


def _marks(block: ColumnBlock, hashes: Hashes) -> Hashes:
    """A hash of the name and the values of each column."""
    return hashes if block.names is None else hashes + np.uint64(3) * name_hashes(block.names)


def _refuse_doubles(names: list[Names], where: str) -> None:
    """Raise one sentence for a name that comes twice."""
    hashes = np.concatenate([np.zeros(0, np.uint64), *map(name_hashes, names)])
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    if len(same):
        place = int(order[same[0]])
        for some in names:
            if place < len(some):
                raise InputError(
                    f"{where} has two columns named {some[place]!r}; rename one of them"
                )
            place -= len(some)
