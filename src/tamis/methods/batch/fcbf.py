"""FCBF: walk down from the most relevant feature, dropping what is redundant with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tamis.core.decisions import DecisionLog, Reason
from tamis.core.params import Number, param
from tamis.core.target import Target
from tamis.measures.measure import Floats, Ints
from tamis.methods.batch.candidates import CandidateRule, Candidates
from tamis.methods.measured import Kept
from tamis.methods.rule import when_kept, when_redundant


class FCBFRule(CandidateRule):
    """Fast correlation-based filter.

    Features with SU(F_i, C) > delta are put in order, the largest first, tied ones in order of
    arrival. The first, F_p, is predominant: it is kept, and every later F_q with SU(F_p, F_q) >=
    SU(F_q, C) is redundant and is dropped. The next one that remains is predominant in its turn,
    and so on to the end of the list.

    Cost: one relevance value per feature, then one pair value for each predominant feature and each
    candidate that remains when its turn comes, one compiled call for each predominant feature.
    Memory: the columns of the candidates; those at or below delta are never kept in memory.

    SU takes every value as a category. Numbers that are not categories get the absolute correlation
    instead of SU; to use SU for them, cut such columns into a few categories first
    (`tamis.encode.MDLP`), as the paper does.

    Deviations: values closer than 1e-12 are tied, so that rounding decides nothing.

    Parameters
    ----------
    measure : {"auto", "symmetric_uncertainty", "fisher_z", "any_shape", ...} or Measure
        The measure used for SU. "auto" depends on the data: whole numbers with few levels get
        ``SymmetricUncertainty()``, everything else ``FisherZ(alpha=0.01)``. If a measure has its
        own level, as the latter does, a feature must be above that too.
    threshold : float, default=0.0
        delta above. A plug-in estimate is above 0 for almost every feature, so 0 keeps nearly all
        of them as candidates.

    Attributes
    ----------
    ranking_ : ndarray of int
        Kept features, most relevant first.

    References
    ----------
    L. Yu, H. Liu. Feature Selection for High-Dimensional Data: A Fast Correlation-Based Filter
    Solution. ICML 2003, Figure 2. (Long version: Efficient Feature Selection via Analysis of
    Relevance and Redundancy. JMLR 5, 2004. doi:10.5555/1005332.1044700)

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> good = np.where(rng.random(200) < 0.9, y, 1 - y)
    >>> better = np.where(rng.random(200) < 0.3, y, good)
    >>> other = np.where(rng.random(200) < 0.7, y, rng.integers(0, 2, 200))
    >>> sel = tamis.FCBF(threshold=0.01).fit(np.column_stack([other, good, better, better]), y)
    >>> sel.ranking_
    array([2, 0])
    >>> print(sel.log_.why("x1"))  # doctest: +NORMALIZE_WHITESPACE
    x1 was dropped as redundant: SU(x1, class)=0.442 is not above SU(x1, x2)=0.781, and x2 is the
    better predictor (0.549)
    """

    name: ClassVar[str] = "fcbf"
    paper: ClassVar[Mapping[str, Any] | None] = {
        "measure": "symmetric_uncertainty",
        "encode": "mdlp",
    }
    adjusts: ClassVar[bool] = True
    keeps: ClassVar[bool] = True

    threshold: float = param(0.0, Number(0))

    def rank(self, candidates: Candidates, log: DecisionLog) -> Ints:
        """Walk down the list; the remaining features stay in order of arrival."""
        falls_to, value = np.full(len(candidates), -1), np.full(len(candidates), np.nan)
        rest, bound = np.arange(len(candidates)), candidates.relevance - candidates.rounding
        required, order = candidates.required, candidates.order
        if required:  # they come first, and make nothing redundant that is the better predictor
            order = np.concatenate([np.arange(required), order[order >= required]])
        for predominant in order.tolist():
            if falls_to[predominant] >= 0:
                continue
            own = np.searchsorted(rest, predominant)
            rest, bound = np.delete(rest, own), np.delete(bound, own)
            if len(rest) == 0:
                break
            pairs = candidates.panel.against(candidates.columns, predominant, rest)
            redundant = (pairs >= bound) & (rest >= required)
            if predominant < required:
                redundant &= bound <= candidates.relevance[predominant]
            falls_to[rest[redundant]] = predominant
            value[rest[redundant]] = pairs[redundant]
            rest, bound = rest[~redundant], bound[~redundant]
        features, relevance = candidates.features, candidates.relevance
        kept, fallen = order[falls_to[order] < 0], order[falls_to[order] >= 0]
        if required:
            candidates.log_required(log)
        own = kept[required:]
        log.append_many("kept", features[own], relevance[own], value[own], candidates.levels[own])
        tied = relevance[falls_to[fallen]] - relevance[fallen] <= candidates.rounding
        for reason, some in (("redundant", fallen[~tied]), ("tied", fallen[tied])):
            log.append_many(
                reason, features[some], relevance[some], value[some], relevance[some],
                features[falls_to[some]],
            )  # fmt: skip
        return features[kept]

    def raise_cutoffs(self, cutoffs: Floats) -> None:
        """Raise the cutoffs to the threshold; NaN, that of a constant column, stays."""
        np.maximum(cutoffs, self.threshold, out=cutoffs)

    def template_fields(self, kept: Kept, target: Target) -> dict[str, str]:
        """Return the fields that the sentences share."""
        words = kept.measure.template_fields(target)
        if self.threshold > 0 and words["gate"] != "the threshold":
            if words.pop("tests", None):  # the level is no longer a p-value
                both = f"the threshold of {self.threshold:g} and {words['gate']}"
                words["level_passed"] = "{relevance_symbol}={relevance} passes " + both
                words["level_missed"] = "{relevance_symbol}={relevance} does not pass both " + both
            words["gate"] = f"the larger of the threshold and {words['gate']}"
        return words

    def reasons(self) -> dict[str, Reason]:
        """Return the reasons, with both values."""
        closer = (
            "{name} was dropped as redundant: {relevance_symbol}={relevance} is not above "
            "{pair_symbol}={value}, and {because} "
        )
        return {
            "redundant": when_redundant(closer + "is the better predictor ({because_relevance})"),
            "tied": when_redundant(
                closer
                + (
                    "predicts as well and came first"
                    if self.order == "arrival"
                    else "predicts as well and comes first by name"
                )
            ),
            "kept": when_kept(
                "{name} is kept: {level_passed}, and no better predictor makes it redundant"
            ),
        }
