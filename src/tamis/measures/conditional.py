"""Conditional tests: whether a column is independent of the target, given some kept columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tamis.core.target import Target
from tamis.kernels.subsets import SPENT
from tamis.measures.measure import Ints, Measure, Panel

#: What a test with too few rows counts as: independence; nothing, so that it neither separates nor
#: admits a feature; or dependence.
UNRELIABLE = ("independent", "skip", "dependent")


class TestsSpent(Exception):  # noqa: N818 - it ends a search, and is not an error
    """Raised when a search for a separating set has made as many tests as it may."""


@dataclass(frozen=True)
class Independence:
    """One test of a column against the target, given some kept columns.

    Attributes
    ----------
    given : tuple of int
        Positions of the columns given.
    independent : bool
        The result, after the rule for refused tests.
    refused : bool
        There were too few rows for the test.
    collinear : bool
        The columns given determine the column, so nothing is left to test.
    strength, cutoff : float
        The two numbers compared; NaN if none were.
    statistic, df, p : float
        The test statistic, its degrees of freedom and the p-value; NaN if there is none.
    """

    given: tuple[int, ...]
    independent: bool
    strength: float
    cutoff: float
    statistic: float
    df: float
    p: float
    refused: bool = False
    collinear: bool = False


class ConditionalPanel(Panel):
    """A panel that also tests a column against the target, given others.

    The kept columns are at positions 0 (the oldest) to ``len(panel) - 1``; a newcomer under
    consideration is at ``len(panel)``.

    Attributes
    ----------
    tests, refused : ndarray of int
        Tests made, and tests refused for lack of rows, by the number of columns given. Refused
        tests are also counted in `tests`.
    max_tests : int, optional
        The largest number of conditional tests; `TestsSpent` is raised instead of the next one.
    """

    tests: Ints
    refused: Ints
    max_tests: int | None = None

    @property
    def limit(self) -> int:
        """The number of tests that may still be made; -1 if there is no limit."""
        if self.max_tests is None:
            return -1
        return max(0, self.max_tests - int(self.tests[1:].sum()))

    @abstractmethod
    def consider(self, column: Any) -> None:
        """Put a prepared column at position ``len(panel)`` until another one is considered."""

    @abstractmethod
    def _search(
        self, x: int, among: Ints, including: int, smallest: int, largest: int, given: Ints
    ) -> tuple[int, tuple[Any, ...]]:
        """Call the kernel; return the size of the set found, -1 or `SPENT`, and the last test.

        The test is a tuple of the fields of `Independence` from `strength` on.
        """

    def test(self, x: int, given: Sequence[int]) -> Independence:
        """Test the column at position x against the target, given others; counts as one test."""
        return self._look(x, given, len(given), len(given), None)[1]

    def separator(
        self, x: int, candidates: Sequence[int], max_size: int, including: int | None = None
    ) -> Independence | None:
        """Find the first set of candidates given which x and the target are independent.

        Sets are tried by size, from 1 to `max_size`, and within a size in lexicographic order of
        the positions in `candidates`. With `including` every set also holds that position, last;
        the others, one fewer of them, are tried in the same order. None if no set separates.
        """
        size, test = self._look(x, candidates, 1, max_size, including)
        return test if size >= 0 else None

    def _look(
        self, x: int, candidates: Sequence[int], smallest: int, largest: int, including: int | None
    ) -> tuple[int, Independence]:
        if len(self.tests) <= largest:
            more = np.zeros(largest + 1 - len(self.tests), np.int64)
            self.tests = np.concatenate([self.tests, more])
            self.refused = np.concatenate([self.refused, more])
        given = np.empty(largest + 1, np.int64)
        if isinstance(candidates, range):
            among = np.arange(candidates.start, candidates.stop, candidates.step, dtype=np.int64)
        else:
            among = np.array(candidates, dtype=np.int64)
        always = () if including is None else (including,)
        size, test = self._search(
            x, among, -1 if including is None else including, smallest, largest, given
        )
        if size == SPENT:
            raise TestsSpent
        if size >= 0:
            found = (*among[given[: size - len(always)]].tolist(), *always)
            return size, Independence(found, True, *test)
        return size, Independence(tuple(candidates), False, *test)


@runtime_checkable
class Conditional(Protocol):
    """A measure that tests a column against the target, given others."""

    def conditional_panel(self, target: Target) -> ConditionalPanel:
        """Return an empty panel that makes conditional tests."""

    def under(self, unreliable: str) -> Measure:
        """Return the same measure with another rule of `UNRELIABLE` for tests with too few rows."""
