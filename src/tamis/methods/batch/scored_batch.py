"""Batch selectors that give every column a number of its own and keep the highest.

Whatever the number depends on (neighbours of the rows, say) is worked out before the first column
is taken, in `prepare`. Then scoring a block is a pure function of it, and only the best columns so
far are remembered.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Reason, Verdict
from tamis.core.errors import InputError
from tamis.core.names import Names
from tamis.core.target import Target
from tamis.measures.base import Floats, Ints
from tamis.methods.base import BatchSelector
from tamis.methods.modelled import UNUSABLE, Columns


@dataclass(frozen=True, eq=False)
class Scored:
    """A block's scores, and the codes of the reasons why some have none (0: it has one)."""

    first: int
    names: Names | None
    scores: Floats
    unusable: npt.NDArray[np.uint8]


class ScoredBatchSelector(BatchSelector):
    """A batch selector that keeps the `n_features` columns with the highest scores.

    Equal scores: the lower arrival number wins. Subclasses score a block (`_score`) and say what a
    score is called (`_symbol`).
    """

    n_features: int

    #: How a score is written in a sentence.
    _symbol = "score({name})"

    @abstractmethod
    def _score(self, block: ColumnBlock) -> tuple[Floats, npt.NDArray[np.uint8]]:
        """Scores of a block's columns, and codes of `UNUSABLE` for those that have none."""

    def reasons(self) -> dict[str, Reason]:
        """Every reason this selector can give."""
        return {
            "below": Reason(
                Verdict.IRRELEVANT,
                "{name} was dropped: " + self._symbol + "={relevance} is not above {cut}",
            ),
            **UNUSABLE,
            "kept": Reason(
                Verdict.KEPT,
                "{name} is kept: " + self._symbol + "={relevance} is number {value} from the top",
            ),
        }

    def _template_fields(self) -> Mapping[str, str]:
        """Fixed words of the sentences."""
        return {}

    def _begin(self) -> None:
        self._features, self._scores = np.zeros(0, np.int64), np.zeros(0)
        self._new_log(self._template_fields())

    def score(self, block: ColumnBlock) -> Scored:
        """Score a block: a pure function, in any order."""
        block = self._ready(block)
        return Scored(block.first, block.names, *self._score(block))

    def update(self, scored: Scored) -> None:
        """Log a block in bulk, and remember the best so far."""
        self._in_order(scored.first, len(scored.scores))
        shown = np.where(scored.unusable > 0, 0.0, scored.scores)
        self.log_.append_bulk(shown, np.nan, scored.unusable, scored.names)
        usable = np.flatnonzero(scored.unusable == 0)
        self._features = np.concatenate([self._features, scored.first + usable])
        self._scores = np.concatenate([self._scores, scored.scores[usable]])
        self._forget(self.n_features)

    def _forget(self, most: int) -> None:
        """Let go of all but the best, which stay in order of arrival."""
        if len(self._scores) > most:
            best = np.sort(np.argsort(-self._scores, kind="stable")[:most])
            self._features, self._scores = self._features[best], self._scores[best]

    def finish(self) -> None:
        """Keep the best."""
        order = np.argsort(-self._scores, kind="stable")
        self.ranking_, scores = self._features[order], self._scores[order]
        del self._features, self._scores
        log_kept(self, self.ranking_, scores)


def log_kept(selector: BatchSelector, ranking: Ints, scores: Floats) -> None:
    """Log features as kept, best first, with their places from the top; the last is the cut."""
    log, indices = selector.log_, np.arange(1.0, len(ranking) + 1)
    log.append_many("kept", ranking, scores, indices, np.full(len(ranking), np.nan))
    if len(ranking):
        last = log.names[int(ranking[-1])]
        log.template_fields["cut"] = f"that of {last} ({scores[-1]:.6g}), the last that is kept"


def constants(block: ColumnBlock) -> npt.NDArray[np.uint8]:
    """Codes of the reason why a block's columns cannot be used: only constant ones cannot."""
    codes = Columns.of(block).unusable(0, block.width)
    return np.where(codes == 1, codes, 0).astype(np.uint8)


def refuse_numbers(selector: BatchSelector, target: Target) -> None:
    """Raise one sentence for a regression target."""
    if not target.is_classes:
        raise InputError(
            f"{type(selector).__name__} needs classes, and y holds real numbers (an unknown label "
            "type for it): turn y into classes, or use a selector with measure='fisher_z'"
        )
