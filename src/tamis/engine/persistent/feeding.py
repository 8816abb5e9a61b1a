"""Feed columns to a selection: find the new ones, check all of them, then apply the rule.

All columns are checked before the first one is processed, so a file that cannot be fed changes
nothing. The columns processed must be the columns that were checked. They are processed block by
block and committed about once a second. After a kill, feeding the same file again resumes after the
last commit.
"""

from __future__ import annotations

import re
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
from tamis.engine.groups import Labels, labels_of, refuse_groups
from tamis.engine.log_tables import arrow_names, numbered_names
from tamis.engine.loop import Commits, ScoredColumns, Scorer, advance, ahead
from tamis.engine.persistent.selection_state import REPLACED, SelectionState, as_keys
from tamis.engine.seen_columns import Hashes, hashes_of, name_hashes, target_hashes
from tamis.engine.stopping import Stopper
from tamis.sources.base import ColumnSource, Progress, silent
from tamis.sources.rebatch import with_rows

Indices = npt.NDArray[np.intp]

#: Seconds between two commits.
COMMIT_EVERY = 1.0


@dataclass
class Fed:
    """The result of feeding some columns.

    Attributes
    ----------
    source : str
        What was fed.
    taken, skipped : int
        Columns that were processed, and columns that had been fed before.
    replaced : list of str
        Columns that replaced others of the same name.
    kept, evicted, returned : list of str
        Fed columns that are kept now, older ones that they displaced, and older ones that are kept
        again.
    again : bool
        Whether exactly the same unnamed data had been fed before, so that nothing was taken.
    missing_rows : int
        Rows of the selection that the data lacks; their values count as missing.
    stopped : str
        Where and why a stopping rule ended the selection; "" if it did not.
    """

    source: str
    taken: int = 0
    skipped: int = 0
    replaced: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    evicted: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    again: bool = False
    missing_rows: int = 0
    stopped: str = ""

    def __str__(self) -> str:
        if self.again:
            return f"{self.source} was fed before; nothing was taken"
        of_them = "" if self.taken == 1 else " of them"
        text = f"{self.source}: {counted(self.taken, 'column')} taken, {len(self.kept):,}{of_them}"
        text += " kept"
        if self.evicted:
            text += f", {counted(len(self.evicted), 'older one')} evicted"
        if self.returned:
            text += f", {counted(len(self.returned), 'older one')} kept again"
        if self.replaced:
            text += f", {len(self.replaced):,} replaced"
        if self.skipped:
            verb = "was" if self.skipped == 1 else "were"
            text += f"; {self.skipped:,} {verb} fed before and {verb} skipped"
        if self.missing_rows:
            text += f"; it lacks {counted(self.missing_rows, 'row')}, whose values are missing"
        if self.stopped:
            text += f"; the selection {self.stopped}"
        return text


#: New columns of a block, where they end in the source, and what their hashes should be.
Picked = tuple[ColumnBlock, int, Hashes]


@dataclass
class Feeding:
    """Feeds one source to a selection."""

    state: SelectionState
    source: ColumnSource
    name: str
    replace: bool
    width: int | None
    progress: Progress
    facts: dict[str, Any]
    allow_target: bool = False
    groups: Any = None
    missing_rows: str = "error"

    #: For each of our rows, the position in the source, if the order differs; -1 if it lacks it.
    indices: Indices | None = field(default=None, init=False)
    #: The group of each column, if groups were given.
    labels: Labels | None = field(default=None, init=False)
    #: A hash of each column, name and values, at the time it was checked.
    looked_at: list[Hashes] = field(default_factory=list, init=False)
    #: Columns of this source that an earlier, interrupted feed had processed.
    done: int = field(default=0, init=False)

    def __call__(self) -> Fed:
        """Check everything, then process it."""
        state, self.fed = self.state, Fed(self.name)
        if self.groups is not None:
            refuse_groups(state.selector)
        self.fingerprint = self.facts.get("fingerprint") or self.source.fingerprint()
        same = [h for h in state.history if h.get("fingerprint") == self.fingerprint]
        mine = [line for line in same if line["source"] == self.name]
        self.done = 0 if not mine or mine[-1]["done"] else mine[-1]["columns"]
        self._check_rows()
        if self.source.n_columns != 0:  # without columns no measure could be picked
            state.selector.prepare(map(self._ready, self._blocks()))
        take, replaced, nameless = self._survey()
        self.fed.again = nameless and not self.done and any(line["done"] for line in same)
        if self.fed.again:
            return self.fed
        first, kept_before = state.log.names.count, set(state.selector.kept_.tolist())
        if replaced:
            self.fed.replaced = [state.log.names[f] for f in replaced]
            state.withdraw(replaced, REPLACED)
            state.commit(self._line(self.done, done=False))
        before = state.log.mark
        self._take(take)
        state.commit(self._line(len(take), done=True))
        names, kept = state.log.names, set(state.selector.kept_.tolist())
        self.fed.kept = [names[f] for f in sorted(kept) if f >= first]
        self.fed.returned = [names[f] for f in sorted(kept - kept_before) if f < first]
        left = dict.fromkeys(state.log.since(before)["event_feature"].tolist())
        self.fed.evicted = [names[f] for f in left if f in kept_before - kept]
        self.fed.stopped = state.log.stopped
        return self.fed

    # --- the rows --------------------------------------------------------------------------

    def _check_rows(self) -> None:
        """Raise an error if the rows are not those of the selection."""
        state, source = self.state, self.source
        ours = state.target
        if state.keys is not None:
            keys = self.facts.get("keys")
            if keys is None and (found := source.keys()) is not None:
                keys = found[1]
            if keys is None:
                raise InputError(
                    f"{self.name} has no column {state.key!r} to tell which row is which, and this "
                    "selection goes by it; add that column"
                )
            theirs = as_keys(keys, source.n_rows, self.name)
            gaps = self.missing_rows == "gaps"
            self.indices = aligned(state.keys, theirs, self.name, gaps=gaps)
            self._note_missing_rows()
        elif source.n_rows != ours.n_rows:
            raise InputError(
                f"{self.name} has {source.n_rows} rows but the selection has {ours.n_rows}; feed "
                "columns of the same rows, in the same order"
            )
        labels = source.target()
        if labels is not None:
            if self.fed.missing_rows:
                assert self.indices is not None
                there = self.indices >= 0
                same = same_labels(state.labels[there], labels[self.indices[there]])
            else:
                labels = labels if self.indices is None else labels[self.indices]
                same = Target.of(labels, ours.task).fingerprint == ours.fingerprint
            if not same:
                raise InputError(
                    f"{self.name} brings a target that is not the one of the selection: other "
                    "rows, or the same in another order; feed columns of the same rows, in the "
                    "same order"
                )

    def _note_missing_rows(self) -> None:
        """Count the rows that the source lacks; refuse them if the selection allows no gaps."""
        if self.indices is None:
            return
        self.fed.missing_rows = lacking = int(np.count_nonzero(self.indices < 0))
        encoded, selector = self.state.encoded, self.state.selector
        refused = encoded is None or encoded.encoding.missing.policy == "error"
        if lacking and refused and not selector.takes_gaps:
            raise InputError(
                f"{self.name} lacks {counted(lacking, 'row')} of the selection, which would be "
                f"missing values, and this selection by {selector.method} takes none; select again "
                "with sieve, which takes them, or with --missing category or delete (missing=)"
            )

    def _blocks(self, progress: Progress = silent) -> Iterator[ColumnBlock]:
        """Yield the blocks of the source with our rows."""
        for block in self.source.columns(self.width, progress=progress):
            yield block if self.indices is None else with_rows(block, self.indices)

    def _ready(self, block: ColumnBlock) -> ColumnBlock:
        """Return the block as the selector sees it."""
        encoded, selector = self.state.encoded, self.state.selector
        if encoded is None:
            return block
        return encoded.encoding.encode(block, self.state.target, selector.name_of)

    # --- checking --------------------------------------------------------------------------

    def _survey(self) -> tuple[npt.NDArray[np.bool_], list[int], bool]:
        """Find which columns are new, which older ones they replace, and if any have no name."""
        state, leaks = self.state, target_hashes(self.state.target)
        takes: list[npt.NDArray[np.bool_]] = []
        names: list[Names] = []
        replaced: list[int] = []
        seen, nameless = 0, False
        for block in self._blocks():
            hashes, take = hashes_of(block), np.ones(block.width, np.bool_)
            self.looked_at.append(_marks(block, hashes))
            take[: max(0, self.done - seen)] = False
            if block.names is None:
                nameless = True
            else:
                names.append(block.names)
                replaced += self._known(block.names, take, hashes)
            leaking = take & np.isin(hashes, leaks)
            if leaking.any() and not self.allow_target:
                at = int(np.argmax(leaking))
                name = f"number {seen + at}" if block.names is None else repr(block.names[at])
                raise InputError(
                    f"{self.name}: the column {name} equals the target of the selection in every "
                    "row; leave it out, or use --allow-target (allow_target=True) if it is a "
                    "feature all the same"
                )
            if take.any():  # one that was fed before was checked then
                new = block if take.all() else block.pick(np.flatnonzero(take))
                state.selector.refuse_bad_values(new if state.encoded is None else self._ready(new))
            takes.append(take)
            seen += block.width
        called = Names.joined(names) if len(names) > 1 else next(iter(names), None)
        if called is not None:
            order = np.argsort(marks := name_hashes(called), kind="stable")
            again = order[1:][marks[order[1:]] == marks[order[:-1]]]
            if len(again):
                name = called[int(again[0])]
                raise InputError(f"{self.name} has two columns named {name!r}; rename one of them")
        if self.groups is not None:
            first = state.selector.n_features_in_ - self.done
            called = called or numbered_names(state.log.names, first, first + seen)
            self.labels = labels_of(self.groups, called, seen, self.name)
        return np.concatenate([np.zeros(0, np.bool_), *takes]), replaced, nameless

    def _known(self, names: Names, take: npt.NDArray[np.bool_], hashes: Hashes) -> list[int]:
        """Drop columns that were fed before; return older ones whose name has new values."""
        state, book = self.state, self.state.log.names
        features, values = state.seen.find(names)
        same, found = values == hashes, take & (features >= 0)
        changed = [
            int(i) for i in np.flatnonzero(found & ~same) if book[int(features[i])] == names[int(i)]
        ]
        if changed and not self.replace:
            raise InputError(
                f"{self.name}: the column {names[changed[0]]!r} was fed before with other values; "
                "rename it, or use --replace (replace=True) to put it in place of the old one"
            )
        # Some came without a name, and are called by a number.
        if len(state.seen.features.view) < book.count:
            pattern = f"^{re.escape(book.prefix)}[0-9]{{1,19}}$"
            for i in pc.indices_nonzero(pc.match_substring_regex(arrow_names(names), pattern)):
                name = names[i.as_py()]
                feature = book.find_numbered(name)
                if feature is not None and not state.seen.has(feature):
                    raise InputError(
                        f"{self.name}: the column {name!r} has the name by which a column that "
                        "came without one is called; rename it"
                    )
        goal = state.target_name
        if goal is not None and names.find(goal) is not None:
            raise InputError(
                f"{self.name}: the column {goal!r} is the target of the selection, not a feature; "
                f"leave it out, or say so with --target {goal} (target={goal!r})"
            )
        self.fed.skipped += int(np.count_nonzero(found & same))
        take[found & same] = False
        return [int(features[i]) for i in changed]

    # --- processing ------------------------------------------------------------------------

    def _take(self, take: npt.NDArray[np.bool_]) -> None:
        """Process the columns block by block, and commit about once a second."""
        state = self.state
        scorer = Scorer(state.selector, state.target, remember=True, send_blocks=True)
        first = state.selector.n_features_in_

        def score(picked: Picked) -> ScoredColumns:
            block, end, marks = picked
            if not np.array_equal(_marks(block, hashes_of(block)), marks):
                raise self._changed()
            return replace(scorer(self._ready(block)), end=end)

        def commit(end: int) -> None:
            self.fed.taken = state.selector.n_features_in_ - first
            state.commit(self._line(end, done=False))

        def rest(start: int) -> Iterator[tuple[int, Names | None]]:
            for block, _, _ in self._picked(take, first):
                skip = max(0, min(start - block.first, block.width))
                if skip < block.width:
                    left = block.part(skip, block.width)
                    yield left.width, left.names

        stopper = None
        if state.stop is not None:
            stopper = Stopper(state.stop, state.selector, state.target, state.columns)
            stopper.rest = rest
        advance(
            state.selector, ahead(score, self._picked(take, first)), state,
            Commits(commit, COMMIT_EVERY), total=len(take), stopper=stopper, progress=self.progress,
        )  # fmt: skip
        self.fed.taken = state.selector.n_features_in_ - first

    def _picked(self, take: npt.NDArray[np.bool_], number: int) -> Iterator[Picked]:
        """Yield the new columns of each block, with feature numbers from `number` on."""
        at = 0
        looked_at = np.concatenate([np.zeros(0, np.uint64), *self.looked_at])
        for block in self._blocks(self.progress):
            begin, at = at, at + block.width
            if at > len(take):
                raise self._changed()
            picks = np.flatnonzero(take[begin:at])
            if self.labels is not None:
                block = replace(block, group=self.labels[begin:at])
            if len(picks):
                yield replace(block.pick(picks), first=number), at, looked_at[begin + picks]
                number += len(picks)
        if at < len(take):
            raise self._changed()

    def _changed(self) -> InputError:
        return InputError(
            f"{self.name} changed while it was fed; feed it again when nobody writes to it"
        )

    def _line(self, columns: int, *, done: bool) -> dict[str, Any]:
        """Return the entry for the history."""
        file = {k: v for k, v in self.facts.items() if k in ("size", "mtime_ns")}
        return {
            "action": "feed", "source": self.name, "fingerprint": self.fingerprint,
            "columns": columns, "done": done, "taken": self.fed.taken,
            "skipped": self.fed.skipped, "replaced": len(self.fed.replaced),
            "missing_rows": self.fed.missing_rows, **file,
        }  # fmt: skip


def _marks(block: ColumnBlock, hashes: Hashes) -> Hashes:
    """Return a hash of the name and the values of each column."""
    return hashes if block.names is None else hashes + np.uint64(3) * name_hashes(block.names)


# --- rows --------------------------------------------------------------------------------


def same_labels(ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> bool:
    """Return whether two targets are equal, as numbers or as text."""
    if ours.dtype.kind in "biuf" and theirs.dtype.kind in "biuf":
        return bool(np.array_equal(ours.astype(np.float64), theirs.astype(np.float64)))
    return bool(np.array_equal(ours.astype(str), theirs.astype(str)))


def aligned(
    ours: npt.NDArray[Any], theirs: npt.NDArray[Any], where: str, *, gaps: bool = False
) -> Indices | None:
    """Return the position in their keys of each of our rows; None if the order is the same.

    Keys are unique. A missing or unknown key raises a one-sentence error; with `gaps`, the position
    of a missing one is -1.
    """
    if ours.dtype.kind != theirs.dtype.kind:
        ours, theirs = ours.astype(str), theirs.astype(str)
    if np.array_equal(ours, theirs):
        return None
    there = np.isin(ours, theirs)
    if not there.all() and not gaps:
        lacking = ours[~there]
        others = f" and {counted(len(lacking) - 1, 'other')}" if len(lacking) > 1 else ""
        raise InputError(
            f"{where} has no row with the key {lacking[0].item()!r}{others}, which "
            f"{'are' if others else 'is'} in the selection; give all of its rows, or take their "
            "values as missing with --missing-rows gaps (missing_rows='gaps')"
        )
    if len(theirs) > np.count_nonzero(there):
        unknown = np.sort(theirs[~np.isin(theirs, ours)])[0]
        raise InputError(
            f"{where} has a row with the key {unknown.item()!r}, which is not in the selection; "
            "leave it out"
        )
    order = np.argsort(theirs, kind="stable")
    at = np.searchsorted(theirs[order], ours)
    indices: Indices = order[np.minimum(at, len(order) - 1)] if len(order) else at
    indices[~there] = -1
    return indices
