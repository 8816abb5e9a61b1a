"""How a cluster applies a rule: pairs that workers compared, and features kept since then.

A worker holds a copy of the kept features from a while ago (`Copy`). It compares the survivors of
its columns with them, and sends the redundant pairs (`KnownPairs`). Most survivors are dropped by a
feature of the copy, and their columns stay with the worker. The others are *open*: they are also
compared among each other, and their columns are sent.

The driver walks over the pairs in order (`replay_walk`). It computes only what no worker could
know: pairs of open survivors with features that were kept after the copy was made (`Recent`).
Redundancy is a property of the pair. So it does not matter who found it, or when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tamis.measures.measure import Floats, Ints, Prepared, together

if TYPE_CHECKING:
    from tamis.methods.measured import Arrival, Kept, ScoredBlock

#: Survivors that are compared with a copy in one call.
AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class KnownPairs:
    """Redundant pairs of survivors, by survivor: `features` with their `values`, oldest first.

    `seen` is how many columns were decided when the copy was made. All redundant pairs with kept
    features before that are known. For `is_open` survivors, so are those with each other, and their
    columns are sent, in order. Others were dropped by a feature of the copy.
    """

    seen: int
    indptr: Ints
    features: Ints
    values: Floats
    is_open: npt.NDArray[np.bool_]

    def pick(self, which: npt.NDArray[np.intp]) -> KnownPairs:
        """Return the pairs of some survivors."""
        lengths = np.diff(self.indptr)[which]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        at = np.arange(indptr[-1]) + np.repeat(self.indptr[:-1][which] - indptr[:-1], lengths)
        return replace(
            self, indptr=indptr, features=self.features[at], values=self.values[at],
            is_open=self.is_open[which],
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: Sequence[KnownPairs]) -> KnownPairs:
        """Return the pairs of several blocks, which must know the same copy."""
        lengths = np.concatenate([np.diff(part.indptr) for part in parts])
        return cls(
            parts[0].seen, np.concatenate([[0], np.cumsum(lengths)]),
            np.concatenate([part.features for part in parts]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.is_open for part in parts]),
        )  # fmt: skip

    def with_more(self, survivors: Ints, features: Ints, values: Floats) -> KnownPairs:
        """Return these pairs and others, given by survivor."""
        if not len(survivors):
            return self
        lo = int(survivors.min())  # those before it stay as they are
        begin, lengths = int(self.indptr[lo]), np.diff(self.indptr[lo:])
        owner = np.concatenate([np.repeat(np.arange(lo, len(self)), lengths), survivors])
        both = np.concatenate([self.features[begin:], features])
        order = np.lexsort((both, owner))
        ends = begin + np.searchsorted(owner[order], np.arange(lo, len(self)), side="right")
        values = np.concatenate([self.values[begin:], values])
        return replace(
            self, indptr=np.concatenate([self.indptr[: lo + 1], ends]),
            features=np.concatenate([self.features[:begin], both[order]]),
            values=np.concatenate([self.values[:begin], values[order]]),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.is_open)


# --- on a worker ---------------------------------------------------------------------------------


@dataclass(eq=False)
class Copy:
    """A copy of the kept features when `seen` columns were decided."""

    seen: int
    kept: Kept

    def follow(self, changes: Changes) -> None:
        """Keep and drop what the driver kept and dropped since."""
        if len(changes.gone):
            self.kept.drop(changes.gone)
        self.kept.add_many(changes.arrivals())
        self.seen = changes.seen


@dataclass(frozen=True, eq=False)
class Changes:
    """What was dropped and kept since an earlier copy: the numbers, and the columns that are new.

    Features that were kept and dropped again in between are left out.
    """

    seen: int
    gone: Any
    features: Ints
    relevance: Floats
    columns: Prepared | None

    def arrivals(self) -> list[Arrival]:
        """Return the features that are new."""
        from tamis.methods.measured import Arrival  # it imports this module

        if self.columns is None:
            return []
        pairs = zip(self.features.tolist(), self.relevance.tolist(), self.columns, strict=True)
        return [Arrival(feature, strength, np.nan, one) for feature, strength, one in pairs]


def compared(
    rule: Any, strengths: Floats, columns: Prepared, copy: Copy
) -> tuple[KnownPairs, npt.NDArray[np.intp]]:
    """Compare survivors with a copy; return the redundant pairs, and the survivors left open."""
    kept, n = copy.kept, len(strengths)
    owners, features, values = [], [], []
    for lo in range(0, n, AT_ONCE):
        hi = min(lo + AT_ONCE, n)
        pairs = kept.panel.between_many(columns, lo, hi)
        survivor, other = rule.redundant_pairs(strengths[lo:hi], pairs, kept)
        owners.append(survivor + lo)
        features.append(kept.features[other])
        values.append(pairs[survivor, other])
    none = np.zeros(0, np.int64)
    owner, other = np.concatenate([none, *owners]), np.concatenate([none, *features])
    known = KnownPairs(
        copy.seen, np.searchsorted(owner, np.arange(n + 1)), other,
        np.concatenate([np.zeros(0), *values]), np.zeros(n, np.bool_),
    )  # fmt: skip
    at = np.searchsorted(kept.features, other)
    stronger = rule.drops(strengths[owner], kept.relevance[at], kept.measure.resolution)
    known.is_open[:] = True
    known.is_open[owner[stronger]] = False
    return known, np.flatnonzero(known.is_open)


def among_each_other(
    rule: Any, known: KnownPairs, features: Ints, strengths: Floats, columns: Prepared, kept: Kept
) -> KnownPairs:
    """Add the redundant pairs among open survivors, whose `columns` these are.

    `kept` is an empty kept set to work in.
    """
    from tamis.methods.measured import Arrival  # it imports this module

    opened = np.flatnonzero(known.is_open)
    owners, others, values = [], [], []
    for lo in range(0, len(opened), AT_ONCE):
        hi = min(lo + AT_ONCE, len(opened))
        mine = opened[lo:hi]
        pairs_of = zip(features[mine].tolist(), strengths[mine].tolist(), strict=True)
        kept.add_many(
            [
                Arrival(f, strength, np.nan, columns[lo + i])
                for i, (f, strength) in enumerate(pairs_of)
            ]
        )
        pairs = kept.panel.between_many(columns, lo, hi)
        survivor, other = rule.redundant_pairs(strengths[opened[lo:hi]], pairs, kept)
        earlier = other < survivor + lo
        survivor, other = survivor[earlier], other[earlier]
        owners.append(opened[lo + survivor])
        others.append(kept.features[other])
        values.append(pairs[survivor, other])
    if not owners:
        return known
    return known.with_more(*map(np.concatenate, (owners, others, values)))


# --- on the driver -------------------------------------------------------------------------------


class Recent:
    """The features that were kept since the oldest copy in use, as a small kept set.

    `new` are those that no copy has yet, `gone` those that only copies have.
    """

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.new: dict[int, Arrival] = {}
        self.gone: list[int] = []
        self._later: list[Arrival] = []

    def note(self, arrivals: Sequence[Arrival], gone: Ints) -> None:
        """Note features that were dropped and kept."""
        for feature in map(int, gone):
            if self.new.pop(feature, None) is None:
                self.gone.append(feature)
        if len(gone):
            if len(mine := np.intersect1d(gone, self.kept.features, assume_unique=True)):
                self.kept.drop(mine.tolist())
            left = set(map(int, gone))
            self._later = [one for one in self._later if one.feature not in left]
        self._later += arrivals
        self.new.update((arrival.feature, arrival) for arrival in arrivals)

    def since(self, seen: int) -> Kept:
        """Return the features that arrived from `seen` on; copies in use have the others."""
        old = self.kept.features[: np.searchsorted(self.kept.features, seen)]
        if len(old):
            self.kept.drop(old.tolist())
        self.kept.add_many([one for one in self._later if one.feature >= seen])
        self._later = []
        return self.kept

    def changes(self, seen: int) -> Changes:
        """Return what changed since this was called last."""
        new, gone = list(self.new.values()), np.array(self.gone, np.int64)
        self.new, self.gone = {}, []
        columns = None
        if new:
            columns = together(one.column for one in new)
        return Changes(
            seen, gone, np.array([one.feature for one in new], np.int64),
            np.array([one.relevance for one in new]), columns,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Replayed:
    """What a walk decided, until it ended: see `replay_walk`."""

    end: int
    #: Rows of (arrival, feature decided about, feature that decided or -1, reason).
    events: Ints
    #: Rows of (relevance, value, level).
    numbers: Floats
    gone: Ints
    #: Survivors that are kept.
    kept: npt.NDArray[np.intp]


def replayed(
    rule: Any, known: KnownPairs, kept: Kept, features: Ints, strengths: Floats, levels: Floats,
    first: int, pause: bool = False,
) -> Replayed:  # fmt: skip
    """Walk survivors from `first` on over the kept features, given all their redundant pairs."""
    from tamis.kernels.walk import replay_walk  # needed on a cluster only

    n_kept = len(kept.features)
    numbers = np.concatenate([kept.features, features[first:]])
    begin = known.indptr[first]
    at = np.searchsorted(numbers, known.features[begin:])
    slots = np.empty(len(known.features), np.int64)
    slots[begin:] = np.where(
        numbers[np.minimum(at, len(numbers) - 1)] == known.features[begin:], at, -1
    )
    relevance = np.concatenate([kept.relevance, strengths[first:]])
    alive = np.zeros(len(numbers), np.bool_)
    alive[:n_kept] = True
    room = len(known) - first + int(known.indptr[-1] - known.indptr[first])
    events, values = np.empty((room, 4), np.int64), np.empty((room, 2))
    end, n = replay_walk(
        first, len(known), known.indptr, slots, known.values, relevance, levels, alive,
        known.is_open, n_kept - first, kept.required, rule.bound == "max",
        not rule.tied_stay(kept.measure), kept.measure.resolution, pause, events, values,
    )  # fmt: skip
    events, values = events[:n], values[:n]
    decided = relevance[events[:, 1]]
    events[:, 0] = features[events[:, 0]]
    events[:, 1] = numbers[events[:, 1]]
    events[:, 2] = np.where(events[:, 2] >= 0, numbers[events[:, 2]], -1)
    return Replayed(
        end, events, np.column_stack([decided, values]),
        kept.features[~alive[:n_kept]], first + np.flatnonzero(alive[n_kept:]),
    )  # fmt: skip


#: Reads columns, by increasing number, that stayed with the worker that scored them: all of them,
#: or the first ones, if all were too many for one call.
Fetch = Callable[[Sequence[int]], Prepared]


@dataclass(eq=False)
class ReadAgain:
    """Survivors of a piece whose columns the driver reads, as nothing is known to drop them.

    `which` of them have `columns` now, in order. A survivor was compared with all kept features
    before `until`.
    """

    until: Ints
    which: npt.NDArray[np.intp]
    columns: Any = None

    @classmethod
    def of(cls, known: KnownPairs) -> ReadAgain:
        """Begin without columns."""
        return cls(np.full(len(known), known.seen), np.zeros(0, np.intp))

    def place(self, i: int) -> int | None:
        """Return where the column of survivor i is."""
        at = int(np.searchsorted(self.which, i))
        return at if at < len(self.which) and self.which[at] == i else None

    def is_complete(self, i: int, kept: Kept) -> bool:
        """Return whether all pairs of a survivor are known, and its column is there."""
        return self.place(i) is not None and not (kept.features[-1:] >= self.until[i]).any()

    def read(self, lost: npt.NDArray[np.intp], scored: ScoredBlock) -> None:
        """Read the columns of these survivors, or the first of them."""
        assert scored.fetch is not None
        self.columns = scored.fetch(scored.features[lost].tolist())
        self.which = lost[: len(self.columns)]
