"""Batch selectors that score features with a measure.

The columns are read once. Irrelevant ones are logged in bulk and forgotten; the others are held,
ready for comparison, until all have been seen. Then `decide` gets them, best first.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.errors import DataWarning
from tamis.measures.auto import most_levels
from tamis.measures.base import Floats, Ints, Measure, Prepared
from tamis.measures.information import SymmetricUncertainty
from tamis.selectors.arrivals import Examined
from tamis.selectors.base import BatchSelector
from tamis.selectors.measured import Measured

#: Strengths closer than this are tied: sums of the same numbers in another order differ by less.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Candidates:
    """Relevant features, most relevant first, tied ones in order of arrival, with their columns."""

    features: Ints
    relevance: Floats
    levels: Floats
    columns: Prepared

    def __len__(self) -> int:
        return len(self.features)

    def pick(self, picks: npt.NDArray[np.intp]) -> Candidates:
        """The candidates at these rising positions."""
        places = np.full(len(self), -1, dtype=np.int64)
        places[picks] = np.arange(len(picks))
        columns = type(self.columns).arranged([self.columns], [places], len(picks))
        return Candidates(self.features[picks], self.relevance[picks], self.levels[picks], columns)


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
        self._waiting: list[Candidates] = []
        self._pairs = 0
        super()._begin()

    def absorb(self, examined: Examined) -> None:
        """Log a block in bulk, and hold its relevant columns."""
        super().absorb(examined)
        if len(examined.features):
            assert isinstance(examined.columns, Prepared)
            self._waiting.append(
                Candidates(examined.features, examined.strengths, examined.levels, examined.columns)
            )

    def finish(self) -> None:
        """Let the rule decide."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            self.ranking_ = np.zeros(0, dtype=np.int64)
            return
        candidates = best_first(waiting, self.rounding)
        waiting.clear()
        if candidates.columns.mean_levels > most_levels(self._target.n_rows):
            warnings.warn(
                f"{self.measure_!r} takes every value as a category, but a relevant column has "
                f"{candidates.columns.mean_levels:.0f} different values on average, too many for "
                f"{self._target.n_rows} rows; pass measure='fisher_z', or cut the columns into a "
                "few categories first (for example with sklearn.preprocessing.KBinsDiscretizer)",
                DataWarning,
                stacklevel=4,
            )
        self.ranking_ = self.decide(candidates)

    @property
    def work_(self) -> dict[str, int]:
        """Counted work: what was computed, whatever the machine."""
        return {**super().work_, "pair_values": self._pairs}


def best_first(parts: list[Candidates], rounding: float) -> Candidates:
    """All candidates of parts that came in order of arrival, most relevant first.

    A run of strengths, each within `rounding` of the next, is tied: order of arrival.
    """
    relevance = np.concatenate([part.relevance for part in parts])
    falling = np.argsort(-relevance, kind="stable")
    run = np.cumsum(np.diff(relevance[falling], prepend=np.inf) < -rounding)
    order = falling[np.lexsort((falling, run))]
    place_of = np.empty_like(order)
    place_of[order] = np.arange(len(order))
    places = np.split(place_of, np.cumsum([len(part) for part in parts])[:-1])
    columns = type(parts[0].columns).arranged([p.columns for p in parts], places, len(order))
    return Candidates(
        np.concatenate([part.features for part in parts])[order],
        relevance[order],
        np.concatenate([part.levels for part in parts])[order],
        columns,
    )
