"""A pool of features with a table of their pairs: which of them are most worth keeping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import DecisionLog
from tamis.kernels.hashing import checksum_parts, crc_table
from tamis.kernels.worth import (
    END,
    ENDED,
    EVENTS,
    EVICTS,
    KNOWN,
    SIZE,
    SLACK,
    UNKNOWN,
    enter,
    leave,
    leave_in_turn,
    lowest_worth,
    mark_ties,
    walk,
    would_enter,
)
from tamis.measures.measure import Floats, Ints, PreparedColumn
from tamis.methods.measured import Arrival, Kept, ScoredBlock

#: Relevance that is equal to so many digits is tied.
DIGITS = 10

#: A newcomer whose squared relevance is below so many times the lowest worth in a full pool is
#: dropped without being compared.
WEAK = 1.5

#: So many columns that would enter the pool are compared with each other in one go.
ENTERING = 24


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


#: What checksums are computed with; the same for all.
_crc_table = lru_cache(maxsize=1)(crc_table)


def content_keys(columns: Any, picks: Ints) -> Ints:
    """Return numbers that depend on the values of prepared columns only, for ties."""
    keys, firsts, ends = np.zeros(len(picks), np.int64), columns.indptr[picks], columns.indptr[1:]
    for values in (columns.rows, columns.codes, columns.scores):
        words = values.view(np.uint32)
        size = values.itemsize // words.itemsize
        checksum_parts(words, firsts, ends[picks], size, _crc_table(), keys)
    return keys


@dataclass(eq=False)
class Pool(Kept):
    """The features that are kept or wait in reserve, oldest first, and a table of their pairs.

    Attributes
    ----------
    n_features, capacity : int
        How many are kept, and how many the pool holds.
    exponent : float
        The exponent of rule 2; infinity drops copies only.
    is_kept : ndarray of bool
        Whether each feature is kept; the others wait in reserve.
    keys : ndarray of int
        Decide between equally relevant features, so that the order of arrival does not.
    slots : ndarray of int
        Where each feature is in the tables. They are described in `tamis.kernels.worth`.
    turn : ndarray of int or None
        The slots of those in reserve, in the order in which they would leave; None: not known.
    """

    _: KW_ONLY
    n_features: int
    capacity: int
    exponent: float
    is_kept: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    keys: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    slots: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    tables: Tables = field(default_factory=lambda: Tables.of(16))
    turn: Ints | None = None
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
        first = self.keys <= content_keys(arrival.column.columns, np.array([arrival.column.i]))
        result: npt.NDArray[np.bool_] = (theirs > mine) | ((theirs == mine) & first)
        return result

    @property
    def has_places(self) -> bool:
        """Whether a newcomer is kept, and nothing else changes, unless features are redundant."""
        return len(self) < self.n_features and bool(self.is_kept.all())

    @property
    def weak_below(self) -> float:
        """The squared relevance below which newcomers are dropped; 0 while there are places."""
        if len(self) < self.capacity:
            return 0.0
        t = self.tables
        return WEAK * float(lowest_worth(self.slots, self.required, t.sums, t.limit))

    def is_too_weak(self, relevance: float) -> bool:
        """Return whether a newcomer is dropped without being compared."""
        alone = float(rounded_worths(relevance**2))
        return alone < self.weak_below - self.measure.resolution

    def enter(self, arrival: Arrival, pairs: Floats) -> float:
        """Take a newcomer in, and return what it is worth among all of the pool.

        `pairs` are its D(F,Y), c(F given Y) and c(Y given F) by slot.
        """
        if len(self) == self.tables.room:
            self.tables = self.tables.grown()
        if pairs.shape[1] < self.tables.room:
            pairs = np.pad(pairs, ((0, 0), (0, self.tables.room - pairs.shape[1])))
        t, column, self.turn = self.tables, arrival.column, None
        (key,) = content_keys(column.columns, np.array([column.i]))
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
        self.panel.add(column)
        return float(0.5 * t.limit[new] + 0.5 * t.sums[new] / len(self))

    def fill(self, columns: ColumnBlock, features: Ints, relevance: Floats) -> None:
        """Take features of a saved pool into an empty one, oldest first."""
        panel, every, self.turn = cast("Any", self.panel), np.arange(columns.width), None
        self.features, self.relevance = features, np.array(relevance, np.float64)
        self.is_kept, self.slots = np.zeros(len(every), np.bool_), every
        if not len(every):
            return
        ready = panel.prepare(columns, every)
        _, later, earlier = panel.among(ready, every, every)  # each pair by the one that came later
        left = np.diag(rounded_worths(self.relevance**2)) + np.tril(later, -1)
        left += np.tril(earlier, -1).T
        for i in every.tolist():
            panel.add(PreparedColumn(ready, i))
        self.keys = content_keys(ready, every)
        self.tables = Tables.of_pairs(left, self.relevance, self.keys)

    def leave(self, positions: npt.NDArray[np.intp]) -> None:
        """Remove features."""
        gone, t, self.turn = self.slots[positions], self.tables, None
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
            np.empty(n - stay, np.int64), -1,
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


class Newcomers:
    """A stretch of relevant columns, in order of arrival, and the pairs of those that may matter.

    Some columns are compared with the pool, all at once; those between them are too weak as things
    stand. All that are compared are compared with those of them that would enter, too.

    Attributes
    ----------
    pairs : ndarray
        D(F,Y), c(F given Y) and c(Y given F) of the compared columns F (rows) with features Y, by
        slot.
    among : ndarray
        The same with those that would enter as Y.
    evicts, is_known : bool
        Of the newcomer at which `walk` ended: whether it makes a feature of the pool redundant,
        and whether it was compared.
    """

    evicts: bool
    is_known: bool

    def __init__(
        self, pool: Pool, scored: ScoredBlock, first: int, last: int, most: int, copies_from: float
    ) -> None:
        self.pool, self.columns, self.first = pool, scored.columns, first
        self.copies_from = copies_from
        is_full = len(pool) >= pool.capacity
        weak_below = pool.weak_below if is_full else 0.0
        # More than rounding changes is compared: the first newcomer is weak, or is compared.
        compared = np.flatnonzero(scored.strengths[first:last] ** 2 >= weak_below - SLACK)
        if len(compared) > most:
            compared, last = compared[:most], first + int(compared[most])
        self.features, self.relevance = scored.features[first:last], scored.strengths[first:last]
        self.cutoffs, n, m = scored.levels[first:last], last - first, len(compared)
        self.compared, self.keys = compared, np.zeros(n, np.int64)
        (self.rows, self.places), self.rows[compared] = np.full((2, n), -1), np.arange(m)
        while pool.tables.room <= len(pool) + m:
            pool.tables = pool.tables.grown()
        shape = (3, m, pool.tables.room)
        if pool.scratch.size < np.prod(shape):  # the next newcomers use the same room
            pool.scratch = np.zeros(shape).ravel()
        self.pairs = pool.scratch[: np.prod(shape)].reshape(shape)
        self.among = np.empty((3, m, 0))
        if m and len(pool):
            panel: Any = pool.panel
            panel.beyond_many(self.columns, first + compared, self.pairs, pool.slots)
        self.rounded = np.round(self.relevance, DIGITS)
        if m:
            self._find_keys()
        if m > 1:
            may_not_enter = is_full or np.isfinite(pool.exponent)
            self._meet_entrants(compared[self._entering(is_full)] if may_not_enter else compared)
        self._counts = np.zeros(4, np.int64)
        # As much as can happen: all are dropped, or compared ones change all of the pool.
        room = n + 2 * m * (len(pool) + m + 1)
        settled_by, event_features, codes, causes = np.empty((4, room), np.int64)
        self._events = settled_by, event_features, codes, np.empty((room, 3)), causes

    def _entering(self, is_full: bool) -> npt.NDArray[np.bool_]:
        """Return which of those that are compared would enter the pool as it is now."""
        pool, t, enters = self.pool, self.pool.tables, np.ones(len(self.compared), np.bool_)
        would_enter(
            self.pairs, self.compared, self.relevance, self.rounded, self.keys, pool.slots,
            t.relevance, t.rounded, t.keys, t.sums, t.limit, is_full, pool.required,
            pool.exponent, self.copies_from - pool.measure.resolution, pool.measure.resolution,
            enters,
        )  # fmt: skip
        return enters

    def _meet_entrants(self, entrants: Ints) -> None:
        """Compare those that are compared with some of them."""
        panel, picks = cast("Any", self.pool.panel), self.first + self.compared
        self.places[entrants] = self.among.shape[2] + np.arange(len(entrants))
        found = panel.among(self.columns, picks, self.first + entrants)
        self.among = np.concatenate([self.among, found], axis=2)

    def log_events(self, log: DecisionLog, reasons: Sequence[str]) -> None:
        """Log what happened to newcomers and to the pool since it was logged last."""
        n = int(self._counts[EVENTS])
        if n:
            by, features, codes, numbers, causes = self._events
            log.append_events(reasons, by[:n], features[:n], codes[:n], numbers[:n], causes[:n])
            self._counts[EVENTS] = 0

    def walk(self, start: int, most: int, at_once: bool = False) -> int:
        """Let newcomers from `start` on meet the pool until `most` have entered.

        Returns the next one that would enter, or evicts something, or must be compared first, or
        their end. The first one enters `at_once`, if so.
        """
        pool, t = self.pool, self.pool.tables
        if np.isinf(pool.exponent) and pool.has_places and not at_once:
            # Small tables end here, and need not compile what decides between many features.
            dependence = self.pairs[0, self.rows[start], pool.slots]
            self.is_known = True
            self.evicts = bool((dependence >= self.copies_from - 1e-9).any())
            return start
        if at_once and self.places[start] < 0:
            self._meet_entrants(np.array([start]))
        n, resolution = len(pool), pool.measure.resolution
        features, slots, turn = np.empty((3, n + self.pairs.shape[1] + 1), np.int64)
        is_kept = np.zeros(len(slots), np.bool_)
        features[:n], slots[:n], is_kept[:n] = pool.features, pool.slots, pool.is_kept
        self._counts[KNOWN] = pool.turn is not None
        if pool.turn is not None:
            turn[: len(pool.turn)] = pool.turn
        end: int = walk(
            start, most, at_once, self.pairs, self.among, self.rows, self.places, self.features,
            self.relevance, self.rounded, self.keys, self.cutoffs, features, is_kept, slots, turn,
            t.left, t.given, t.sums, t.limit, t.limited_by, t.rank, t.relevance, t.rounded, t.keys,
            n, pool.required, pool.n_features, pool.capacity, pool.exponent,
            self.copies_from - resolution, WEAK, resolution, self._counts, *self._events,
        )  # fmt: skip
        size, ended = self._counts[SIZE], self._counts[ENDED]
        self.is_known, self.evicts = ended not in (END, UNKNOWN), ended == EVICTS
        if most:
            self._follow(features[:size], slots[:size], is_kept[:size])
            pool.turn = turn[: max(0, size - pool.n_features)] if self._counts[KNOWN] else None
        return end

    def _follow(self, features: Ints, slots: Ints, is_kept: npt.NDArray[np.bool_]) -> None:
        """Let the pool have these features, of which the last are newcomers."""
        pool, t, n = self.pool, self.pool.tables, len(features)
        stays = features[np.minimum(np.searchsorted(features, pool.features), n - 1)]
        gone = np.flatnonzero(stays != pool.features)
        new = np.searchsorted(self.features, features[len(pool) - len(gone) :])
        pool.features, pool.slots, pool.is_kept = features, slots, is_kept
        if len(gone):
            pool.panel.drop(gone)
        for i in (self.first + new).tolist():
            pool.panel.add(self.columns[i])
        t.keys[slots[n - len(new) :]] = content_keys(self.columns, self.first + new)
        pool.relevance, pool.keys = t.relevance[slots], t.keys[slots]

    def met_entrant(self, i: int) -> None:
        """Copy the pairs of those after newcomer i, which entered last, with it."""
        if self.places[i] < 0:
            self._meet_entrants(np.array([i]))
        later = slice(self.rows[i] + 1, None)
        self.pairs[:, later, self.pool.slots[-1]] = self.among[:, later, self.places[i]]

    def _find_keys(self) -> None:
        """Compute keys of equals; they are needed only to decide between these."""
        pool, is_tied = self.pool, np.zeros(len(self.compared), np.bool_)
        known = np.concatenate([pool.tables.rounded[pool.slots], self.rounded[self.compared]])
        mark_ties(known, len(pool), is_tied)
        which = self.compared[is_tied]
        if len(which):
            self.keys[which] = content_keys(self.columns, self.first + which)
