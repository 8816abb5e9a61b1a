"""A pool of features with a table of their pairs: which of them are most worth keeping."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import DecisionLog
from tamis.kernels.worth import (
    drop_newcomers,
    enter,
    leave,
    leave_in_turn,
    take_in,
)
from tamis.measures.measure import Floats, Ints
from tamis.methods.measured import Arrival, Kept

#: Relevance that is equal to so many digits is tied.
DIGITS = 10


@dataclass(frozen=True, eq=False)
class Weighed:
    """What the features of a pool are worth, by position.

    Attributes
    ----------
    order : ndarray of int
        Positions of those that leave, in turn, then of the others, oldest first.
    is_left : ndarray of bool
        Which are left at the end.
    worth : ndarray
        What each is worth when it leaves, or among those left at the end.
    limit, limited_by : ndarray
        The least that each says, alone or once a more relevant feature is known, and the position
        of that feature (-1: alone).
    """

    order: Ints
    is_left: npt.NDArray[np.bool_]
    worth: Floats
    limit: Floats
    limited_by: Ints


def content_key(column: Any) -> int:
    """Return a number that depends on the values of a prepared column only, for ties."""
    key = 0
    for name in ("rows", "codes", "scores"):
        values = getattr(column, name, None)
        if values is not None:
            key = zlib.crc32(values, key)
    return key


@dataclass(eq=False)
class Pool(Kept):
    """The features that are kept or wait in reserve, oldest first, and a table of their pairs.

    Attributes
    ----------
    n_features, capacity : int
        How many are kept, and how many the pool holds.
    is_kept : ndarray of bool
        Whether each feature is kept; the others wait in reserve.
    keys : ndarray of int
        Decide between equally relevant features, so that the order of arrival does not.
    slots : ndarray of int
        Where each feature is in the tables. They are described in `tamis.kernels.worth`.
    """

    _: KW_ONLY
    n_features: int
    capacity: int
    is_kept: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    keys: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    slots: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    tables: Tables = field(default_factory=lambda: Tables.of(16))
    scratch: Floats = field(default_factory=lambda: np.empty(0), repr=False)

    @property
    def left(self) -> Floats:
        """What each feature (row) says about the target once another is known, oldest first."""
        table: Floats = self.tables.left[np.ix_(self.slots, self.slots)]
        return table

    def beyond(self, arrival: Arrival) -> Floats:
        """Return D(F,Y), c(F given Y) and c(Y given F) of a newcomer F with every feature Y."""
        panel: Any = self.panel
        found = panel.beyond_many(arrival.column.columns, np.array([arrival.column.i]))
        return np.array([values[0] for values in found])

    def by_slot(self, pairs: Floats) -> Floats:
        """Return numbers about pairs with every feature by slot, as `enter` takes them."""
        spread = np.zeros((3, self.tables.room))
        spread[:, self.slots] = pairs
        return spread

    def stronger(self, arrival: Arrival) -> npt.NDArray[np.bool_]:
        """Return which features are more relevant than a newcomer; contents decide between ties."""
        theirs, mine = self.tables.rounded[self.slots], np.round(arrival.relevance, DIGITS)
        first = self.keys <= content_key(arrival.column)
        result: npt.NDArray[np.bool_] = (theirs > mine) | ((theirs == mine) & first)
        return result

    def room_for(self, count: int) -> Floats:
        """Return room for three numbers about so many newcomers and every slot; it is reused."""
        shape = (3, count, self.tables.room)
        if self.scratch.size < np.prod(shape):
            self.scratch = np.empty(shape).ravel()
        return self.scratch[: np.prod(shape)].reshape(shape)

    @property
    def has_places(self) -> bool:
        """Whether a newcomer is kept, and nothing else changes, unless features are redundant."""
        return len(self) < self.n_features and bool(self.is_kept.all())

    def enter(self, arrival: Arrival, pairs: Floats) -> float:
        """Take a newcomer in, and return what it is worth among all of the pool.

        `pairs` are its D(F,Y), c(F given Y) and c(Y given F) by slot.
        """
        if len(self) == self.tables.room:
            self.tables = self.tables.grown()
        if pairs.shape[1] < self.tables.room:
            pairs = np.pad(pairs, ((0, 0), (0, self.tables.room - pairs.shape[1])))
        t, key = self.tables, content_key(arrival.column)
        rounded = float(np.round(arrival.relevance, DIGITS))
        new = enter(
            t.left, t.given, t.sums, t.limit, t.limited_by, t.relevance, t.rounded, t.keys, t.rank,
            self.slots, pairs[1], pairs[2], arrival.relevance, rounded, key,
        )  # fmt: skip
        self.features = np.append(self.features, arrival.feature)
        self.relevance = np.append(self.relevance, arrival.relevance)
        self.is_kept = np.append(self.is_kept, False)
        self.keys = np.append(self.keys, key)
        self.slots = np.append(self.slots, new)
        self.panel.add(arrival.column)
        return float(0.5 * t.limit[new] + 0.5 * t.sums[new] / len(self))

    def fill(self, columns: ColumnBlock, features: Ints, relevance: Floats) -> None:
        """Take features of a saved pool into an empty one, oldest first."""
        panel, every = cast("Any", self.panel), np.arange(columns.width)
        self.features, self.relevance = features, np.array(relevance, np.float64)
        self.is_kept, self.slots = np.zeros(len(every), np.bool_), every
        if not len(every):
            return
        ready = panel.prepare(columns, every)
        kept = [ready[i] for i in every.tolist()]
        left = np.diag(rounded_worths(self.relevance**2))
        for i in every.tolist():
            panel.add(kept[i])
            later = every[i + 1 :]  # each pair is compared when the later one comes
            _, left[later, i], left[i, later] = panel.beyond_last(ready, later)
        self.keys = np.array([content_key(column) for column in kept], np.int64)
        self.tables = Tables.of_pairs(left, self.relevance, self.keys)

    def leave(self, positions: npt.NDArray[np.intp]) -> None:
        """Remove features."""
        gone, t = self.slots[positions], self.tables
        for slot in gone.tolist():
            self.slots = self.slots[self.slots != slot]
            leave(t.left, t.given, t.sums, t.limit, t.limited_by, t.rank, self.slots, slot)
        rest = np.delete(np.arange(len(self)), positions)
        self.panel.drop(positions)
        self.features, self.relevance = self.features[rest], self.relevance[rest]
        self.is_kept, self.keys = self.is_kept[rest], self.keys[rest]

    def weigh(self, down_to: int) -> Weighed:
        """Let the feature that is worth least leave, again and again, until `down_to` are left."""
        n, t = len(self), self.tables
        stay = min(n, max(down_to, self.required))
        order, limited_by = np.empty(n, np.int64), np.empty(n, np.int64)
        worth, limit = np.empty(n), np.empty(n)
        leave_in_turn(
            t.left, t.given, t.sums, t.limit, t.limited_by, t.rank, self.slots, self.required,
            stay, self.measure.resolution, order, worth, limit, limited_by,
        )  # fmt: skip
        is_left = np.zeros(n, np.bool_)
        is_left[order[n - stay :]] = True
        return Weighed(order, is_left, worth, limit, limited_by)


@dataclass(eq=False)
class Tables:
    """What a pool knows about its features and their pairs, by slot: see `tamis.kernels.worth`."""

    left: Floats
    given: Floats
    sums: Floats
    limit: Floats
    limited_by: Ints
    rank: Ints
    relevance: Floats
    rounded: Floats
    keys: Ints
    #: Number of slots.
    room: int

    @classmethod
    def of(cls, room: int) -> Tables:
        """Return tables of so many slots."""
        pairs, each, numbers = np.zeros((2, room, room)), np.zeros((4, room)), np.arange(room)
        no_limit, keys = np.full(room, -1), np.zeros(room, np.int64)
        return cls(
            pairs[0], pairs[1], each[0], each[1], no_limit, numbers, each[2], each[3], keys, room
        )  # fmt: skip

    @classmethod
    def of_pairs(cls, left: Floats, relevance: Floats, keys: Ints) -> Tables:
        """Return the tables of features whose pairs are all known."""
        n, rounded = len(left), np.round(relevance, DIGITS)
        rank = np.empty(n, np.int64)
        rank[np.lexsort((keys, -rounded))] = np.arange(n)
        others = np.where(rank[np.newaxis] < rank[:, np.newaxis], left, np.inf)
        by, least, alone = others.argmin(axis=1), others.min(axis=1), np.diag(left)
        return cls(
            left, np.ascontiguousarray(left.T), sums=left.sum(axis=1),
            limit=np.minimum(alone, least), limited_by=np.where(least < alone, by, -1),
            rank=rank, relevance=relevance, rounded=rounded, keys=keys, room=n,
        )  # fmt: skip

    def grown(self) -> Tables:
        """Return tables with twice the room."""
        larger = Tables.of(2 * self.room)
        for name, array in vars(self).items():
            if name != "room":
                getattr(larger, name)[(slice(self.room),) * array.ndim] = array
        return larger


def rounded_worths(values: Any) -> Any:
    """Round as `rounded_worth` does."""
    return np.rint(values * 2.0**40) / 2.0**40


#: An event has these: settled by, feature, code, its three numbers and cause.
Events = tuple[Ints, Ints, Ints, Floats, Ints]


class Newcomers:
    """Relevant columns in order of arrival, compared with a pool that changes meanwhile.

    Each pair is compared once: with the features of the pool at the beginning, then with those
    that enter it. Newcomers that change nothing are dropped many at a time.

    Attributes
    ----------
    pairs : ndarray
        D(F,Y), c(F given Y) and c(Y given F) of newcomers F (rows) with features Y, by slot.
    evicts : bool
        Whether the newcomer that `drop` returned makes a feature of the pool redundant.
    """

    evicts: bool

    def __init__(
        self, pool: Pool, columns: Any, first: int, features: Ints, relevance: Floats,
        cutoffs: Floats,
    ) -> None:  # fmt: skip
        n = len(relevance)
        self.pool, self.columns, self.first = pool, columns, first
        self.features, self.relevance, self.cutoffs = features, relevance, cutoffs
        self.pairs = pool.room_for(n)
        if len(pool):
            panel: Any = pool.panel
            panel.beyond_many(columns, first + np.arange(n), self.pairs, pool.slots)
        self.rounded, self.keys = np.round(relevance, DIGITS), np.zeros(n, np.int64)
        is_tied = np.isin(self.rounded, pool.tables.rounded[pool.slots])
        if is_tied.any():
            self._find_keys(np.flatnonzero(is_tied))
        self._counts = np.zeros(2, np.int64)  # of events, and whether a newcomer evicts
        # For all newcomers that are dropped, and one that is not, whatever enters before it.
        room = 4 * n + 2 * len(pool) + 2
        settled_by, event_features, codes, causes = np.empty((4, room), np.int64)
        self._events: Events = settled_by, event_features, codes, np.empty((room, 3)), causes

    def log_events(
        self, log: DecisionLog, reasons: Sequence[str], start: int | None = None
    ) -> None:
        """Log what happened to newcomers and to the pool since it was logged last.

        Given `start`, it waits while there is room for what may happen before the next call: that
        newcomers from `start` on are dropped, or one of them is taken in.
        """
        n = int(self._counts[0])
        may_follow = np.inf
        if start is not None:
            may_follow = len(self.relevance) - start + 2 * len(self.pool) + 2
        if n and n + may_follow > len(self._events[0]):
            settled_by, features, codes, numbers, causes = self._events
            log.append_events(
                reasons, settled_by[:n], features[:n], codes[:n], numbers[:n], causes[:n]
            )
            self._counts[0] = 0

    def drop(self, start: int, exponent: float, copies_from: float) -> int:
        """Drop newcomers from `start` on; return the first that changes the pool, or their end."""
        pool, t = self.pool, self.pool.tables
        if np.isinf(exponent) and pool.has_places:
            # Small tables end here, and need not compile what decides between many features.
            self.evicts = bool((self.pairs[0, start, pool.slots] >= copies_from - 1e-9).any())
            return start
        resolution = pool.measure.resolution
        end: int = drop_newcomers(
            start, self.pairs, self.features, self.relevance, self.rounded, self.keys,
            pool.features, pool.slots, t.relevance, t.rounded, t.keys, t.sums, t.limit,
            len(pool) == pool.capacity, pool.required, exponent, copies_from - resolution,
            resolution, self._counts, *self._events,
        )  # fmt: skip
        self.evicts = bool(self._counts[1])
        return end

    def take_in(self, i: int) -> None:
        """Let newcomer i enter the pool, and compare those after it with it if it stays."""
        pool, n = self.pool, len(self.pool)
        if n == pool.tables.room:
            pool.tables = pool.tables.grown()
        self._widen()
        t, column = pool.tables, self.columns[self.first + i]
        if not self.keys[i]:
            self.keys[i] = content_key(column)
        (features, slots), is_kept = np.empty((2, n + 1), np.int64), np.empty(n + 1, np.bool_)
        out = take_in(
            i, self.pairs, self.features, self.relevance, self.rounded, self.keys, self.cutoffs,
            pool.features, pool.is_kept, pool.slots, t.left, t.given, t.sums, t.limit,
            t.limited_by, t.rank, t.relevance, t.rounded, t.keys, pool.required, pool.n_features,
            pool.capacity, pool.measure.resolution, features, is_kept, slots, self._counts,
            *self._events,
        )  # fmt: skip
        if out >= 0:
            features, slots, is_kept = features[:n], slots[:n], is_kept[:n]
        pool.features, pool.slots, pool.is_kept = features, slots, is_kept
        pool.relevance, pool.keys = t.relevance[slots], t.keys[slots]
        if out == n:
            return
        pool.panel.add(column)
        if out >= 0:
            pool.panel.drop(np.array([out]))
        self.meet_entrant(i + 1)

    def meet_entrant(self, start: int) -> None:
        """Compare newcomers from `start` on with the feature that entered last."""
        pool, n = self.pool, len(self.relevance)
        self._widen()
        if start < n:
            is_tied = self.rounded[start:] == pool.tables.rounded[pool.slots[-1]]
            if is_tied.any():
                self._find_keys(start + np.flatnonzero(is_tied))
            panel: Any = pool.panel
            picks = np.arange(self.first + start, self.first + n)
            panel.beyond_last(self.columns, picks, self.pairs, int(pool.slots[-1]), start)

    def _widen(self) -> None:
        """Follow the tables of the pool if they have more room now."""
        more = self.pool.tables.room - self.pairs.shape[2]
        if more:
            self.pairs = np.pad(self.pairs, ((0, 0), (0, 0), (0, more)))

    def _find_keys(self, which: Any) -> None:
        """Compute keys; they are needed only to decide between equals."""
        for i in which.tolist():
            if not self.keys[i]:
                self.keys[i] = content_key(self.columns[self.first + i])
