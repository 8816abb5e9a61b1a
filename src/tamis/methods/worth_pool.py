"""A pool of features with a table of their pairs: which of them are most worth keeping."""

from __future__ import annotations

import zlib
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.kernels.worth import is_worth_least, leave_in_turn, sums_and_limits
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
            key = zlib.crc32(np.ascontiguousarray(values).tobytes(), key)
    return key


@dataclass(eq=False)
class Pool(Kept):
    """The features that are kept or wait in reserve, oldest first, and a table of their pairs.

    Attributes
    ----------
    n_features, capacity : int
        How many are kept, and how many the pool holds.
    left : ndarray
        ``left[i, j]`` is what feature i says about the target once j is known, ``left[i, i]`` what
        it says alone; there is room for more.
    is_kept : ndarray of bool
        Whether each feature is kept; the others wait in reserve.
    keys : ndarray of int
        Decide between equally relevant features, so that the order of arrival does not.
    """

    _: KW_ONLY
    n_features: int
    capacity: int
    left: Floats = field(default_factory=lambda: np.zeros((16, 16)))
    is_kept: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    keys: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    #: The parts of worth in the present pool; None since it changed.
    _parts: tuple[Floats, Floats] | None = None

    def beyond(self, arrival: Arrival) -> tuple[Floats, Floats, Floats]:
        """Return D(F,Y), c(F given Y) and c(Y given F) of a newcomer F with every feature Y."""
        panel: Any = self.panel
        mine, theirs = panel.beyond(arrival.column)
        return panel.between(arrival.column), mine, theirs

    def enter(self, arrival: Arrival, mine: Floats, theirs: Floats) -> None:
        """Add a newcomer to the table; the panel does not know it yet."""
        n, self._parts = len(self), None
        if n == len(self.left):
            bigger = np.zeros((2 * n, 2 * n))
            bigger[:n, :n] = self.left
            self.left = bigger
        self.left[n, :n], self.left[:n, n], self.left[n, n] = mine, theirs, arrival.relevance**2
        self.features = np.append(self.features, arrival.feature)
        self.relevance = np.append(self.relevance, arrival.relevance)
        self.is_kept = np.append(self.is_kept, False)
        self.keys = np.append(self.keys, content_key(arrival.column))

    def least(
        self, arrival: Arrival, mine: Floats, theirs: Floats
    ) -> tuple[float, float, int] | None:
        """Return what a newcomer is worth, its limit and who sets it, if it would leave at once.

        None if it would not. This says sooner what `weigh` would say with it in the pool.
        """
        if self._parts is None:
            n = len(self)
            sums, limit, limited_by = np.empty(n), np.empty(n), np.empty(n, np.int64)
            sums_and_limits(self.left, self._rank(), n, sums, limit, limited_by)
            self._parts = sums, limit
        leaves, worth, limit, by = is_worth_least(
            mine, theirs, arrival.relevance, self.stronger(arrival), self.required, *self._parts,
            self.measure.resolution,
        )  # fmt: skip
        return (worth, limit, by) if leaves else None

    def leave(self, positions: npt.NDArray[np.intp]) -> None:
        """Remove features."""
        n, rest = len(self), np.delete(np.arange(len(self)), positions)
        self._parts = None
        self.panel.drop(positions)
        self.left[: len(rest), : len(rest)] = self.left[:n, :n][np.ix_(rest, rest)]
        self.features, self.relevance = self.features[rest], self.relevance[rest]
        self.is_kept, self.keys = self.is_kept[rest], self.keys[rest]

    def stronger(self, arrival: Arrival) -> npt.NDArray[np.bool_]:
        """Return which features are more relevant than a newcomer, by `_rank`."""
        theirs, mine = np.round(self.relevance, DIGITS), round(arrival.relevance, DIGITS)
        first = self.keys <= content_key(arrival.column)
        result: npt.NDArray[np.bool_] = (theirs > mine) | ((theirs == mine) & first)
        return result

    def _rank(self) -> Ints:
        """Return the position of each feature by relevance, then by contents, then by age."""
        rank = np.empty(len(self), np.int64)
        rank[np.lexsort((self.keys, -np.round(self.relevance, DIGITS)))] = np.arange(len(self))
        return rank

    def weigh(self, down_to: int) -> Weighed:
        """Let the feature that is worth least leave, again and again, until `down_to` are left."""
        n = len(self)
        stay = min(n, max(down_to, self.required))
        rank, order = self._rank(), np.empty(n, np.int64)
        worth, limit, limited_by = np.empty(n), np.empty(n), np.empty(n, np.int64)
        leave_in_turn(
            self.left, rank, n, self.required, stay, self.measure.resolution, order, worth, limit,
            limited_by,
        )  # fmt: skip
        is_left = np.zeros(n, np.bool_)
        is_left[order[n - stay :]] = True
        return Weighed(order, is_left, worth, limit, limited_by)
