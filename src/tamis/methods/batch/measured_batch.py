"""Batch selectors that score features with a measure.

The columns are read once. Irrelevant ones are logged in bulk and forgotten; the others are held,
ready for comparison, until all have been seen. Then `decide` gets them, best first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tamis.measures.base import Floats, Ints, Measure, Prepared
from tamis.measures.information import SymmetricUncertainty
from tamis.methods.arrivals import ScoredBlock
from tamis.methods.base import BatchSelector
from tamis.methods.measured import Measured

#: Strengths closer than this are tied: sums of the same numbers in another order differ by less.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Candidates:
    """Relevant features with their columns, in order of arrival.

    `order` lists their positions, most relevant first, tied ones in order of arrival.
    """

    features: Ints
    relevance: Floats
    levels: Floats
    columns: Prepared
    order: npt.NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.features)


class MeasuredBatchSelector(Measured, BatchSelector):
    """A batch selector with a measure and a rule.

    Subclasses say what may be given as parameters (`ranges`), why a feature can be kept or dropped
    (`why`), and what to do with the relevant features (`decide`).
    """

    discrete_measure: ClassVar[Measure] = SymmetricUncertainty()

    def decide(self, candidates: Candidates) -> Ints:
        """Decide about all relevant features, log it, and give the kept ones, best first.

        Not asked when no feature is relevant.
        """
        raise NotImplementedError

    @property
    def rounding(self) -> float:
        """Strengths closer than this are tied."""
        return max(self.measure_.resolution, ROUNDING)

    def _begin(self) -> None:
        self._waiting: list[ScoredBlock] = []
        super()._begin()

    def update(self, scored: ScoredBlock) -> None:
        """Log a block in bulk, and hold its relevant columns."""
        super().update(scored)
        if len(scored.features):
            self._waiting.append(scored)

    def finish(self) -> None:
        """Let the rule decide."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            self.ranking_ = np.zeros(0, dtype=np.int64)
            return
        candidates = self._candidates(waiting)
        waiting.clear()
        self._tell_of_levels(candidates.columns.mean_n_levels, "relevant")
        self.ranking_ = self.decide(candidates)

    def _candidates(self, waiting: list[ScoredBlock]) -> Candidates:
        relevance = np.concatenate([part.strengths for part in waiting])
        parts = [part.columns for part in waiting if isinstance(part.columns, Prepared)]
        return Candidates(
            np.concatenate([part.features for part in waiting]),
            relevance,
            np.concatenate([part.levels for part in waiting]),
            type(parts[0]).joined(parts),
            best_first(relevance, self.rounding),
        )


def best_first(relevance: Floats, rounding: float) -> npt.NDArray[np.intp]:
    """Positions by falling relevance.

    A run of values, each within `rounding` of the next, is tied: order of position.

    >>> best_first(np.array([0.2, 0.2 + 1e-14, 0.9]), ROUNDING)
    array([2, 0, 1])
    """
    falling = np.argsort(-relevance, kind="stable")
    steps = np.diff(relevance[falling], prepend=np.inf)
    if not np.any((steps < 0) & (steps >= -rounding)):  # ties are exact, and so in order already
        return falling
    return falling[np.lexsort((falling, np.cumsum(steps < -rounding)))]
