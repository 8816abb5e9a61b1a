"""All features: what a selector must not be worse than."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Reason, Verdict
from tamis.measures.base import Floats
from tamis.methods.batch.scored_batch import Scored, ScoredBatchSelector, constants
from tamis.methods.modelled import UNUSABLE


class AllFeatures(ScoredBatchSelector):
    """A control: every feature that is not constant.

    Cost: one look at each column. Memory: five bytes a feature, and a record of each in the end.

    Attributes
    ----------
    kept_, ranking_ : ndarray of int
        Kept features, in order of arrival.
    log_ : DecisionLog
        What happened to every feature, and why.

    Examples
    --------
    >>> import numpy as np
    >>> sel = AllFeatures().fit(np.array([[1, 2, 5], [0, 2, 6]]), [0, 1])
    >>> sel.kept_
    array([0, 2])
    >>> print(sel.log_.why("x1"))
    x1 was dropped as irrelevant: it has the same value in every row
    """

    method: ClassVar[str] = "all"

    def _score(self, block: ColumnBlock) -> tuple[Floats, npt.NDArray[np.uint8]]:
        return np.zeros(block.width), constants(block)

    def _takes_words(self) -> bool:
        return True

    def update(self, scored: Scored) -> None:
        """Log a block in bulk."""
        self._in_order(scored.first, len(scored.scores))
        self.log_.append_bulk(scored.scores, np.nan, scored.unusable, scored.names)

    def finish(self) -> None:
        """Keep every feature that can be used: the log knows which."""
        self.ranking_ = np.flatnonzero(self.log_.columns()["reason"] == 0)
        nothing = np.full(len(self.ranking_), np.nan)
        self.log_.append_many("kept", self.ranking_, np.zeros(len(self.ranking_)), nothing, nothing)

    def reasons(self) -> dict[str, Reason]:
        """Every reason this selector can give."""
        kept = Reason(Verdict.KEPT, "{name} is kept, as every feature is that is not constant")
        waits = Reason(Verdict.IRRELEVANT, "{name} waits for the last column")
        return {"waits": waits, **UNUSABLE, "kept": kept}
