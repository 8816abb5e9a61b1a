"""The half of a selector that a cluster needs: copies for workers, and decisions from their pairs.

See `tamis.methods.known_pairs` for how the work is divided.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision, DecisionLog
from tamis.core.names import Names
from tamis.core.target import Target
from tamis.measures.measure import Measure, Prepared
from tamis.methods.gates import Gate, TableGate
from tamis.methods.known_pairs import (
    AT_ONCE,
    Changes,
    Copy,
    KnownPairs,
    ReadAgain,
    Recent,
    among_each_other,
    compared,
    replayed,
)

if TYPE_CHECKING:
    from tamis.methods.measured import Arrival, Kept, ScoredBlock

#: Threads of a worker share a copy of the kept set, and some panels have a place to work in.
pairing = threading.Lock()


def joined(parts: Sequence[ScoredBlock]) -> ScoredBlock:
    """Return scored blocks that follow each other as one block."""
    whole: dict[str, Any] = {"first": parts[0].first, "names": None}
    if parts[0].names is not None:
        whole["names"] = Names.joined([part.names for part in parts if part.names is not None])
    for key in ("relevance", "constant", "features", "strengths", "levels"):
        whole[key] = np.concatenate([getattr(part, key) for part in parts])
    for key in ("p", "least_p", "test"):
        if getattr(parts[0], key) is not None:
            whole[key] = np.concatenate([getattr(part, key) for part in parts])
    shared = {part.level if isinstance(part.level, float) else None for part in parts}
    whole["level"] = parts[0].level
    if len(shared) > 1 or None in shared:
        levels = [np.broadcast_to(part.level, len(part.relevance)) for part in parts]
        whole["level"] = np.concatenate(levels)
    columns: Any = [part.columns for part in parts]
    whole["columns"] = type(columns[0]).joined(columns)
    known = [part.known for part in parts if part.known is not None]
    whole["known"] = KnownPairs.joined(known) if known else None
    whole["gaps"] = sum(part.gaps[0] for part in parts), sum(part.gaps[1] for part in parts)
    return type(parts[0])(**whole)


def can_be_joined(a: ScoredBlock, b: ScoredBlock) -> bool:
    """Return whether a scored block can be joined with the next one."""
    from tamis.methods.measured import ScoredBlock  # it imports this module

    seen = [None if one.known is None else one.known.seen for one in (a, b)]
    return (
        type(a) is type(b) is ScoredBlock
        and isinstance(a.columns, Prepared)
        and not (a.contents or a.decoys)
        and (a.names is None) == (b.names is None)
        and seen[0] == seen[1]
    )


#: The reasons of `replay_walk`, in the order of its codes.
REASONS = ("kept", "redundant", "tied", "evicted")


class Replaying:
    """Decides about survivors whose redundant pairs workers found."""

    rule: Any
    log_: DecisionLog
    measure_: Measure
    n_features_in_: int
    required: int
    on_settled: Callable[[int], None] | None
    _kept: Any
    _gate: Gate | None
    _shadows: Any
    _target: Target
    score: Callable[[ColumnBlock], ScoredBlock]
    _ready: Callable[[ColumnBlock], ColumnBlock]
    _take: Callable[[ScoredBlock, int, int], None]
    _carry_out: Callable[[Decision, Arrival], None]

    #: The features kept lately; None unless workers hold copies of the kept set.
    _recent: Recent | None = None

    def snapshot(self) -> Copy | None:
        """Return a copy of the kept features for workers; `changes` are counted from here."""
        no_use = not self.rule.compares_pairs or isinstance(self._gate, TableGate)
        if no_use or not len(self._kept.features):
            return None
        if self._recent is None:
            self._recent = Recent(self.rule.kept(self.measure_, self._target))
        self._recent.changes(self.n_features_in_)
        return Copy(self.n_features_in_, self._kept)

    @property
    def n_changes(self) -> int:
        """How many features were kept or dropped since the last copy."""
        return 0 if self._recent is None else len(self._recent.new) + len(self._recent.gone)

    def changes(self) -> Changes:
        """Return what was kept and dropped since the last copy."""
        assert self._recent is not None
        return self._recent.changes(self.n_features_in_)

    def score_knowing(self, block: ColumnBlock, copy: Copy, *, send_all: bool) -> ScoredBlock:
        """Score a block, and find the redundant pairs of its survivors with a copy.

        Only columns of open survivors are sent, unless nobody could read the others again.
        """
        scored = self.score(block)
        columns = scored.columns
        if not isinstance(columns, Prepared) or block.first < self.required:
            return scored
        with pairing:
            known, opened = compared(self.rule, scored.strengths, columns, copy)
        if send_all:
            known.is_open[:] = True
        elif len(opened) < len(columns):
            columns = columns.pick(opened)
        return replace(scored, columns=columns, known=known)

    def joined(self, parts: Sequence[ScoredBlock]) -> ScoredBlock:
        """Return scored blocks that follow each other as one, with all pairs of open survivors."""
        whole = parts[0] if len(parts) == 1 else joined(parts)
        if whole.known is None or not len(whole.columns):
            return whole
        room = self.rule.kept(self.measure_, self._target)
        columns: Any = whole.columns
        known = among_each_other(
            self.rule, whole.known, whole.features, whole.strengths, columns, room
        )
        return replace(whole, known=known)

    def prepared(self, blocks: Sequence[ColumnBlock]) -> Prepared:
        """Prepare all columns of some blocks, as `score` prepares survivors."""
        ready = [self._ready(block) for block in blocks]
        parts: list[Any] = [
            self._kept.panel.prepare(block, np.arange(block.width)) for block in ready
        ]
        whole: Prepared = type(parts[0]).joined(parts)
        return whole

    def _take_beside_copies(self, scored: ScoredBlock, first: int, last: int) -> None:
        """Take survivors while workers have copies of the kept set."""
        if scored.known is not None:
            self._replay(scored, scored.known)
            return
        recent, before = self._recent, self._kept.features.copy()
        assert recent is not None
        self._recent = None
        self._take(scored, first, last)
        self._recent = recent
        new = np.setdiff1d(self._kept.features, before, assume_unique=True)
        gone = np.setdiff1d(before, self._kept.features, assume_unique=True)
        at = np.searchsorted(scored.features, new)
        recent.note([scored.arrival(int(i)) for i in at], gone)

    def _replay(self, scored: ScoredBlock, known: KnownPairs) -> None:
        """Decide about survivors whose pairs a worker found; compute what it could not know."""
        sent, first, pause = np.cumsum(known.is_open) - 1, 0, self._shadows is not None
        pairs, again = self._with_recent(scored, known), ReadAgain.of(known)
        while first < len(known):
            done = replayed(
                self.rule, pairs, self._kept, scored.features, scored.strengths, scored.levels,
                first, pause,
            )  # fmt: skip
            arrivals = self._arrivals(scored, done.kept, sent[done.kept])
            changed = bool(arrivals or len(done.gone))
            if pause and changed:
                self._shadows.catch_up(int(scored.features[done.end - 1]), self._kept)
            at, feature, because, reason = done.events.T
            self.log_.append_events(REASONS, at, feature, reason, done.numbers, because)
            self._change(arrivals, done.gone)
            if pause and changed:
                self._shadows.changed(
                    self._kept, arrivals[0] if arrivals else None, done.gone.tolist()
                )
            first = done.end
            if first == len(known) or (pause and changed):
                continue
            # All features that are known to drop this one have left.
            if again.is_complete(first, self._kept):
                column = again.columns[again.place(first)]
                pairs = self._decide_anew(scored, pairs, first, column)
                first += 1
            else:
                pairs = self._read_again(scored, pairs, first, again)
        if len(known) and self.on_settled is not None:
            self.on_settled(int(scored.features[-1]) + 1)

    def _arrivals(
        self, scored: ScoredBlock, kept: npt.NDArray[np.intp], sent: npt.NDArray[np.intp]
    ) -> list[Arrival]:
        """Return survivors with a set of columns of their own: others of the task are let go."""
        if not len(kept):
            return []
        columns: Any = scored.columns
        own = columns.pick(sent)
        return [scored.arrival(i, own[k]) for k, i in enumerate(kept.tolist())]

    def _change(self, arrivals: Sequence[Arrival], gone: npt.NDArray[np.int64]) -> None:
        """Drop and keep features that are in the log already."""
        if len(gone):
            self._kept.drop(gone)
        if arrivals:
            self._kept.add_many(arrivals)
        if self._recent is not None:
            self._recent.note(arrivals, gone)

    def _read_again(
        self, scored: ScoredBlock, pairs: KnownPairs, first: int, again: ReadAgain
    ) -> KnownPairs:
        """Compare survivors from `first` on that nothing is known to drop with the newer features.

        They are read and compared together, as the feature that left dropped many of them.
        """
        if again.place(first) is None:
            again.read(self._lost(scored, pairs, first)[:AT_ONCE], scored)
        newer, lo, hi = self._newer_than(pairs.seen), again.place(first), len(again.which)
        assert lo is not None
        lost = again.which[lo:]
        values = newer.panel.between_many(again.columns, lo, hi)
        if newer is not self._kept:
            self._kept.panel.pairs += values.size
        survivor, other = self.rule.redundant_pairs(scored.strengths[lost], values, newer)
        new = newer.features[other] >= again.until[lost[survivor]]
        survivor, other = survivor[new], other[new]
        again.until[lost] = scored.features[first]
        return pairs.with_more(lost[survivor], newer.features[other], values[survivor, other])

    def _lost(self, scored: ScoredBlock, pairs: KnownPairs, first: int) -> npt.NDArray[np.intp]:
        """Return the survivors from `first` on that a worker dropped because of what has left."""
        kept, begin = self._kept, int(pairs.indptr[first])
        owner = np.repeat(np.arange(first, len(pairs)), np.diff(pairs.indptr[first:]))
        at = np.searchsorted(kept.features, pairs.features[begin:])
        there = kept.features[np.minimum(at, len(kept.features) - 1)] == pairs.features[begin:]
        owner, at = owner[there], at[there]
        drops = self.rule.drops(
            scored.strengths[owner], kept.relevance[at], kept.measure.resolution
        )
        settled = pairs.is_open.copy()
        settled[:first], settled[owner[drops]] = True, True
        return np.flatnonzero(~settled)

    def _decide_anew(
        self, scored: ScoredBlock, pairs: KnownPairs, i: int, column: Any
    ) -> KnownPairs:
        """Decide about a survivor by the rule; if it is kept, add its pairs with those after it."""
        before = self._kept.features
        arrival = scored.arrival(i, column)
        self._carry_out(self.rule.decide(arrival, self._kept), arrival)
        gone = np.setdiff1d(before, self._kept.features, assume_unique=True)
        kept = [arrival] if arrival.feature in self._kept.features[-1:] else []
        if self._recent is not None:
            self._recent.note(kept, gone)
        if not kept:
            return pairs
        alone = self.rule.kept(self.measure_, self._target)
        alone.add(arrival)
        return self._compared(scored, pairs, i + 1, alone)

    def _with_recent(self, scored: ScoredBlock, known: KnownPairs) -> KnownPairs:
        """Add the redundant pairs of open survivors with features that are not in the copy."""
        if not (self._kept.features[-1:] >= known.seen).any():
            return known
        return self._compared(scored, known, 0, self._newer_than(known.seen))

    def _newer_than(self, seen: int) -> Kept:
        """Return the features that were kept since a copy was made, or all that are kept."""
        kept: Kept = self._kept
        newer = kept.features[np.searchsorted(kept.features, seen) :]
        if self._recent is not None:
            recent = self._recent.since(seen)
            if np.isin(newer, recent.features).all():  # else an older copy came later
                return recent
        return kept

    def _compared(
        self, scored: ScoredBlock, known: KnownPairs, first: int, kept: Kept
    ) -> KnownPairs:
        """Add the redundant pairs of open survivors from `first` on with kept features."""
        opened = np.flatnonzero(known.is_open)
        at = int(np.searchsorted(opened, first))
        opened = opened[at:]
        if not len(opened):
            return known
        values = kept.panel.between_many(scored.columns, at, at + len(opened))
        if kept is not self._kept:
            self._kept.panel.pairs += values.size
        survivor, other = self.rule.redundant_pairs(scored.strengths[opened], values, kept)
        new = kept.features[other] >= known.seen
        survivor, other = survivor[new], other[new]
        return known.with_more(opened[survivor], kept.features[other], values[survivor, other])
