"""Consistency: the fewest features that separate the classes as well as all of them do."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.decisions import DecisionLog, Reason
from tamis.core.params import Number, param
from tamis.core.target import Target
from tamis.kernels.inconsistency import inconsistent_with, row_hashes
from tamis.kernels.threads import over_columns
from tamis.measures.measure import Ints
from tamis.measures.mutual_information import SymmetricUncertainty
from tamis.measures.panels import CodedColumns
from tamis.methods.batch.candidates import CandidateRule, Candidates
from tamis.methods.rule import when_kept, when_redundant


class ConsistencyRule(CandidateRule):
    """Consistency-based selection, with a forward search ("ConsSF").

    Rows with the same values in the features of S form a pattern; of its rows, all but those of its
    most common class are inconsistent. The inconsistency rate of S is the share of the rows that
    are. The method searches for a small set whose rate is not above that of all features together.

    Reading: the paper offers several searches; this is sequential forward selection. The
    feature that leaves the lowest rate is added, of equal ones the first to arrive, until the rate
    of all features is reached. Where no feature lowers the rate, one that splits a pattern is added
    anyway: the next may need it. In the end each of those added, oldest first, is dropped if the
    others reach the rate without it.

    Cost: for each feature added, one pass over the rows of every candidate that leave its most
    common level, but not over rows whose pattern has one class only, which soon are most of them.
    Memory: the candidates' columns. Threads split the candidates.

    Deviations: features with SU(F, C) = 0 are never considered, so features that are relevant
    only together with others are not found. Patterns of all features at once are compared by
    64-bit hashes.

    Parameters
    ----------
    max_rate : float, optional
        The rate to reach; default: that of all features together.

    Attributes
    ----------
    ranking_ : ndarray of int
        Kept features, in the order in which they were added.
    rate_ : float
        The inconsistency rate of the kept set.

    References
    ----------
    M. Dash, H. Liu. Consistency-based search in feature selection. Artificial Intelligence 151,
    2003. doi:10.1016/S0004-3702(03)00079-1

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> a, b, noise = rng.integers(0, 2, (3, 200))
    >>> sel = tamis.Consistency().fit(np.column_stack([noise, a, b, a]), a & b)
    >>> sel.ranking_
    array([2, 1])
    >>> print(sel.log_.why("x1"))  # doctest: +NORMALIZE_WHITESPACE
    x1 is kept, number 2 to be added: when it came the inconsistency rate went from 0.225 to 0
    >>> print(sel.log_.why("x3"))  # doctest: +NORMALIZE_WHITESPACE
    x3 was dropped: SU(x3, class)=0.386, but without it the kept features have an inconsistency rate
    of 0, and 0 was to be reached
    """

    name: ClassVar[str] = "consistency"
    only_classes: ClassVar[bool] = True
    #: Not a parameter: features that are not above its level are not considered.
    measure: ClassVar = SymmetricUncertainty()  # type: ignore[misc]
    alpha: ClassVar = None  # type: ignore[misc]
    fdr: ClassVar = None  # type: ignore[misc]
    gate: ClassVar = "bh"  # type: ignore[misc]

    max_rate: float | None = param(None, Number(0, 1), None)

    def begin(self, target: Target) -> None:
        """Begin with no feature, whose rate is that of the most common class."""
        super().begin(target)
        self.rate_ = 1.0 - target.counts.max() / target.n_rows

    def rank(self, candidates: Candidates, log: DecisionLog) -> Ints:
        """Add one after the other, then drop those that are not needed."""
        columns, n = candidates.columns, candidates.target.n_rows
        assert isinstance(columns, CodedColumns)
        patterns = Patterns(columns, candidates.target)
        goal = patterns.inconsistent(np.arange(len(candidates)))
        if self.max_rate is not None:
            goal = math.floor(self.max_rate * n + 1e-9)
        added, left = patterns.forward(goal)
        members = patterns.pruned(added, goal)
        self.rate_ = patterns.inconsistent(np.array(members, np.int64)) / n
        log.template_fields["goal"] = f"{goal / n:.6g}"
        for turn, member in enumerate(members):
            at = added.index(member)
            candidates.log_kept(log, member, left[at + 1] / n, left[at] / n, turn=turn + 1)
        rest = np.setdiff1d(np.arange(len(candidates)), members)
        rate = np.full(len(rest), self.rate_)
        log.append_many(
            "unneeded", candidates.features[rest], candidates.relevance[rest], rate, rate
        )
        return candidates.features[members]

    def reasons(self) -> dict[str, Reason]:
        """Return the reasons, with the rates."""
        return {
            "kept": when_kept(
                "{name} is kept, number {turn} to be added: when it came the inconsistency rate "
                "went from {level} to {value}"
            ),
            "unneeded": when_redundant(
                "{name} was dropped: {relevance_symbol}={relevance}, but without it the kept "
                "features have an inconsistency rate of {value}, and {goal} was to be reached"
            ),
        }


class Patterns:
    """Rows that look alike in some candidates, and how many of them differ in class."""

    def __init__(self, columns: CodedColumns, target: Target) -> None:
        assert target.codes is not None
        self._columns, self._classes, self._n_classes = columns, target.codes, target.n_classes

    def inconsistent(self, members: Ints) -> int:
        """Count the inconsistent rows, with these candidates."""
        return int(_inconsistent(self._number(self._hashes(members))[1]))

    def forward(self, goal: int) -> tuple[list[int], list[int]]:
        """Return candidates in the order of their addition, and inconsistent rows after each."""
        c, added = self._columns, list[int]()
        rest, hashes = np.arange(len(c)), self._hashes(np.zeros(0, np.int64))
        pattern, counts = self._number(hashes)
        left = [_inconsistent(counts)]
        while left[-1] > goal and len(rest):
            found, new = np.empty((2, len(rest)), np.int64)
            over_columns(
                lambda lo, hi, rest=rest, pattern=pattern, counts=counts,
                found=found, new=new: inconsistent_with(  # type: ignore[misc]
                    c.indptr, c.rows, c.codes, self._classes, pattern, counts, rest, lo, hi,
                    found, new,
                ),
                np.arange(len(rest) + 1) * (1 + c.indptr[-1] // len(c)),
            )  # fmt: skip
            rest, found = rest[new > 0], found[new > 0]
            if len(rest) == 0:
                break
            best = int(np.argmin(found))
            added.append(int(rest[best]))
            left.append(int(found[best]))
            row_hashes(c.indptr, c.rows, c.codes, rest[best : best + 1], hashes)
            pattern, counts = self._number(hashes)
            rest = np.delete(rest, best)
        return added, left

    def pruned(self, members: list[int], goal: int) -> list[int]:
        """Return the features that are needed: each is dropped, oldest first, if others suffice."""
        for member in list(members):
            others = [m for m in members if m != member]
            if self.inconsistent(np.array(others, np.int64)) <= goal:
                members = others
        return members

    def _hashes(self, members: Ints) -> npt.NDArray[np.uint64]:
        hashes, c = np.zeros(len(self._classes), np.uint64), self._columns
        row_hashes(c.indptr, c.rows, c.codes, members, hashes)
        return hashes

    def _number(self, hashes: npt.NDArray[np.uint64]) -> tuple[Ints, Ints]:
        """Assign numbers to the patterns with several classes (others: -1); count their rows."""
        _, pattern = np.unique(hashes, return_inverse=True)
        cells = pattern * self._n_classes + self._classes
        size = int(pattern.max()) + 1
        counts = np.bincount(cells, minlength=size * self._n_classes).reshape(size, -1)
        mixed = np.count_nonzero(counts, axis=1) > 1
        number = np.where(mixed, np.cumsum(mixed) - 1, -1)
        return number[pattern], counts[mixed].astype(np.int64)


def _inconsistent(counts: Ints) -> int:
    """Count the rows that are not of the most common class of their pattern."""
    return int(counts.sum() - counts.max(axis=1, initial=0).sum())
