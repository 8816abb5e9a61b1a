"""All features: a control that a method must not be worse than."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import DecisionLog, Reason
from tamis.measures.measure import Floats, Ints
from tamis.methods.batch.scores import Codes, ScoredRule, constants
from tamis.methods.modelled import UNUSABLE
from tamis.methods.rule import when_irrelevant, when_kept


class AllFeaturesRule(ScoredRule):
    """A control: every feature that is not constant.

    Cost: one pass over the columns. Memory: five bytes per feature, and a log entry for each at
    the end.

    Attributes
    ----------
    ranking_ : ndarray of int
        Kept features, in order of arrival.

    Examples
    --------
    >>> import numpy as np, tamis
    >>> sel = tamis.AllFeatures().fit(np.array([[1, 2, 5], [0, 2, 6]]), [0, 1])
    >>> sel.kept_
    array([0, 2])
    >>> print(sel.log_.why("x1"))
    x1 was dropped as irrelevant: it has the same value in every row
    """

    name: ClassVar[str] = "all"
    paper: ClassVar[Mapping[str, Any] | None] = None
    takes_text: ClassVar[bool] = True

    def score(self, block: ColumnBlock, model: Any) -> tuple[Floats, Codes]:
        """Give every column the same score."""
        return np.zeros(block.width), constants(block)

    def log_kept(self, log: DecisionLog, ranking: Ints, scores: Floats) -> Ints:
        """Keep every feature that can be used: the log knows which."""
        kept = np.flatnonzero(log.columns()["reason"] == 0)
        nothing = np.full(len(kept), np.nan)
        log.append_many("kept", kept, np.zeros(len(kept)), nothing, nothing)
        return kept

    def reasons(self) -> dict[str, Reason]:
        """Return every reason that the rule can give."""
        kept = when_kept("{name} is kept, as every feature is that is not constant")
        waits = when_irrelevant("{name} waits for the last column")
        return {"waits": waits, **UNUSABLE, "kept": kept}
