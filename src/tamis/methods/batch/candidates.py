"""Batch methods that score features with a measure.

The columns are read once. Irrelevant ones are logged in bulk and forgotten; the others are held,
ready for comparison, until all have been seen. Then the rule ranks them (`rank`).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision, DecisionLog
from tamis.core.params import OneOf, param
from tamis.core.target import Target
from tamis.measures.measure import Floats, Ints, Measure, Panel, Prepared
from tamis.measures.mutual_information import SymmetricUncertainty
from tamis.methods.free_order import place_of, with_contents
from tamis.methods.gates import GATES
from tamis.methods.measured import Arrival, Measuring, MeasuringRule, ScoredBlock
from tamis.methods.selector import BatchSelector

#: Strengths closer than this are tied; summing in another order changes them by less.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Candidates:
    """Relevant features with their columns, in order of arrival, or by name.

    `order` lists their positions, most relevant first, tied ones in order of position: strengths
    closer than `rounding` are tied. `kept` is an empty kept set, and its `panel` compares columns.
    The first `required` of them must be kept.
    """

    features: Ints
    relevance: Floats
    levels: Floats
    columns: Prepared
    order: npt.NDArray[np.intp]
    rounding: float
    target: Target
    kept: Any
    panel: Panel
    required: int = 0

    def log_required(self, log: DecisionLog) -> None:
        """Log the candidates that must be kept."""
        some, nothing = slice(self.required), np.full(self.required, np.nan)
        features, relevance = self.features[some], self.relevance[some]
        log.append_many("required", features, relevance, nothing, self.levels[some])

    def log_kept(
        self, log: DecisionLog, i: int, value: float, level: float, **evidence: float
    ) -> None:
        """Log the candidate at position i as kept, with the numbers before and after."""
        feature, relevance = int(self.features[i]), float(self.relevance[i])
        log.append(Decision(feature, "kept", relevance, value, level, evidence=evidence))

    def arrival(self, i: int) -> Arrival:
        """Return the candidate at position i as if it arrived now."""
        return Arrival(
            int(self.features[i]), float(self.relevance[i]), float(self.levels[i]), self.columns[i]
        )

    def __len__(self) -> int:
        return len(self.features)


class CandidateRule(MeasuringRule):
    """A batch rule with a measure.

    Subclasses have a `name`, say which values their parameters may take (`param`) and why a
    feature can be kept or dropped (`reasons`), and rank the relevant features (`rank`).

    Parameters
    ----------
    order : {"arrival", "free"}, default="arrival"
        Which of several features comes first that are equal for the method, such as copies: the one
        whose column comes first, or with "free" the first by name. The order of the columns matters
        for nothing else.
    """

    _: KW_ONLY
    gate: str = param("bh", OneOf(tuple(GATES)))
    order: str = param("arrival", OneOf(("arrival", "free")))

    @classmethod
    def usual_measures(cls) -> tuple[Measure, Measure]:
        """Return what ``measure="auto"`` picks between: for categories, and for numbers."""
        return SymmetricUncertainty(), super().usual_measures()[1]

    def rank(self, candidates: Candidates, log: DecisionLog) -> Ints:
        """Decide about all relevant features, log it, and return the kept ones, best first.

        Not called when no feature is relevant.
        """
        raise NotImplementedError(f"{type(self).__name__} has no rank()")


class CandidateSelector(Measuring, BatchSelector):
    """Runs a batch rule with a measure."""

    def _begin(self) -> None:
        self._waiting: list[ScoredBlock] = []
        self.free_order = self.rule.order == "free"
        vars(self).pop("ranking_", None)
        super()._begin()

    def score(self, block: ColumnBlock) -> ScoredBlock:
        """Compute all that does not depend on what is kept: a pure function, in any order."""
        scored = super().score(block)
        return with_contents(self, block, scored) if self.free_order else scored

    def _take(self, scored: ScoredBlock, first: int, last: int) -> None:
        """Hold the relevant columns of a block."""
        if last > 0:
            self._waiting.append(scored)

    def finish(self) -> None:
        """Let the rule rank the relevant features."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            self.ranking_ = np.zeros(0, dtype=np.int64)
            return
        features = np.concatenate([part.features for part in waiting])
        relevance = np.concatenate([part.strengths for part in waiting])
        levels = np.concatenate([part.levels for part in waiting])
        parts = [part.columns for part in waiting if isinstance(part.columns, Prepared)]
        columns = type(parts[0]).joined(parts)
        if self.free_order:
            by_name = self._by_name(features, waiting)
            features, relevance, levels = features[by_name], relevance[by_name], levels[by_name]
            columns = columns.pick(by_name)
        rounding = max(self.measure_.resolution, ROUNDING)
        candidates = Candidates(
            features,
            relevance,
            levels,
            columns,
            best_first(relevance, rounding),
            rounding,
            self._target,
            self._kept,
            self._kept.panel,
            self.required,
        )
        waiting.clear()
        parts.clear()
        self._warn_of_levels(candidates.columns.mean_n_levels, "relevant")
        self.ranking_ = self.rule.rank(candidates, self.log_)

    def _by_name(self, features: Ints, waiting: list[ScoredBlock]) -> Ints:
        """Return positions of features by name, or by contents; those to keep come first."""
        empty = [(b"",) * len(part.features) for part in waiting]
        contents = [part.contents or none for part, none in zip(waiting, empty, strict=True)]
        keys = [
            (feature >= self.required, place_of(0.0, self.names, feature, digest))
            for feature, digest in zip(features.tolist(), chain(*contents), strict=True)
        ]
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


CandidateRule.machinery = CandidateSelector


def best_first(relevance: Floats, rounding: float) -> npt.NDArray[np.intp]:
    """Return positions by falling relevance.

    A run of values, each within `rounding` of the next, is tied: order of position.

    >>> best_first(np.array([0.2, 0.2 + 1e-14, 0.9]), ROUNDING)
    array([2, 0, 1])
    """
    falling = np.argsort(-relevance, kind="stable")
    steps = np.diff(relevance[falling], prepend=np.inf)
    if not np.any((steps < 0) & (steps >= -rounding)):  # ties are exact, and so in order already
        return falling
    return falling[np.lexsort((falling, np.cumsum(steps < -rounding)))]
