"""MRMR: pick by pick, the feature most relevant to the class and least redundant with the picks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tamis.core.decisions import Decision, DecisionLog, Reason
from tamis.core.params import Number, OneOf, param
from tamis.measures.measure import Floats, Ints, Measure
from tamis.measures.mutual_information import MutualInformation
from tamis.methods.batch.candidates import CandidateRule, Candidates
from tamis.methods.rule import when_irrelevant, when_kept, when_redundant


class MRMRRule(CandidateRule):
    """Minimal redundancy, maximal relevance.

    The first pick is the most relevant feature. With S the picks so far, the next one is the
    feature with the highest

    * difference (MID): I(F; C) - (1/|S|) sum over s in S of I(F; s), or
    * quotient (MIQ): I(F; C) / ((1/|S|) sum over s in S of I(F; s)),

    until `n_features` are picked.

    Cost: one relevance value per feature; after each pick one pair value for each feature that is
    left, with that pick only, in one compiled call; sums over earlier picks are remembered. Memory:
    the columns that passed the measure's gate.

    Deviations: features at or below the level of the measure (I = 0 by default) are never picked.
    Scores closer than 1e-12 are tied, and the lower arrival number wins. A quotient by 0, of a
    feature independent of all picks, is above every other; among those the most relevant wins.

    Parameters
    ----------
    measure : {"auto", "mutual_information", "fisher_z", "any_shape", ...} or Measure
        The measure used for I. "auto" depends on the data: whole numbers with few levels get
        ``MutualInformation()``, everything else ``FisherZ(alpha=0.01)``, which uses the absolute
        correlation instead of I.
    n_features : int, default=10
        How many to pick; fewer if fewer are relevant.
    criterion : {"difference", "quotient"}, default="difference"
        MID or MIQ.

    Attributes
    ----------
    ranking_ : ndarray of int
        Kept features, in the order in which they were picked.

    References
    ----------
    H. Peng, F. Long, C. Ding. Feature selection based on mutual information: criteria of
    max-dependency, max-relevance, and min-redundancy. IEEE TPAMI 27(8), 2005.
    doi:10.1109/TPAMI.2005.159. The quotient: C. Ding, H. Peng. Minimum redundancy feature selection
    from microarray gene expression data. JBCB 3(2), 2005. doi:10.1142/S0219720005001004

    Examples
    --------
    >>> import tamis
    >>> from sklearn.datasets import load_wine
    >>> wine, cultivar = load_wine(return_X_y=True, as_frame=True)
    >>> sel = tamis.MRMR(n_features=3).fit(wine, cultivar)
    >>> list(sel.get_feature_names_out())
    ['flavanoids', 'color_intensity', 'proline']
    >>> print(sel.why("total_phenols"))  # doctest: +NORMALIZE_WHITESPACE
    total_phenols was dropped: |r(total_phenols, class)|=0.719, but in the last round its score was
    0.259, not above that of the last pick (0.434); the pick it depends on most is flavanoids
    """

    name: ClassVar[str] = "mrmr"
    paper: ClassVar[Mapping[str, Any] | None] = {"measure": "paper"}
    adjusts: ClassVar[bool] = True
    keeps: ClassVar[bool] = True

    n_features: int = param(10, Number(1, integer=True))
    criterion: str = param("difference", OneOf(("difference", "quotient")))

    @classmethod
    def usual_measures(cls) -> tuple[Measure, Measure]:
        """Return what ``measure="auto"`` picks between: for categories, and for numbers."""
        return MutualInformation(), super().usual_measures()[1]

    def rank(self, candidates: Candidates, log: DecisionLog) -> Ints:
        """Pick one after the other; `rest` lists the positions of those not picked."""
        rest = np.arange(len(candidates))
        shared, most = np.zeros(len(rest)), np.full(len(rest), -1.0)  # with the picks: sum, largest
        whom = np.full(len(rest), -1)  # the pick of the largest
        picks = list(range(candidates.required))
        if picks:
            candidates.log_required(log)
            rest, whom = rest[len(picks) :], whom[len(picks) :]
            shared, most = shared[len(picks) :], most[len(picks) :]
        for pick in picks:
            if len(rest):
                self._share(candidates, pick, rest, shared, most, whom)
        scores, top = self._scores(candidates.relevance[rest], shared, len(picks)), np.nan
        while len(picks) < max(1, self.n_features) and len(rest):
            scores = self._scores(candidates.relevance[rest], shared, len(picks))
            best = _best(scores, candidates.relevance[rest], candidates.rounding)
            pick, top = int(rest[best]), float(scores[best])
            mean = shared[best] / max(1, len(picks))
            picks.append(pick)
            first = len(picks) == 1
            log.append(
                Decision(
                    int(candidates.features[pick]), "first" if first else "kept",
                    float(candidates.relevance[pick]), top, float(candidates.levels[pick]),
                    evidence={} if first else {"turn": len(picks), "mean": float(mean)},
                )
            )  # fmt: skip
            rest, shared, most, whom, scores = (
                np.delete(of, best) for of in (rest, shared, most, whom, scores)
            )
            if len(picks) < self.n_features and len(rest):
                self._share(candidates, pick, rest, shared, most, whom)
        if len(picks) == candidates.required:  # nothing was picked
            features, relevance = candidates.features[rest], candidates.relevance[rest]
            nothing = np.full(len(rest), np.nan)
            log.append_many("no room", features, relevance, nothing, nothing)
            return candidates.features[picks]
        whom = whom if len(picks) > 1 else whom * 0 + pick
        log.append_many(
            "weaker" if self.n_features == 1 else "outscored",
            candidates.features[rest], candidates.relevance[rest], scores,
            np.full(len(rest), top), candidates.features[whom],
        )  # fmt: skip
        return candidates.features[picks]

    @staticmethod
    def _share(
        candidates: Candidates, pick: int, rest: Ints, shared: Floats, most: Floats, whom: Ints
    ) -> None:
        """Add the pair values of a pick with the rest to their sums, in place."""
        pairs = candidates.panel.against(candidates.columns, pick, rest)
        shared += pairs
        whom[pairs > most] = pick
        np.maximum(most, pairs, out=most)

    def _scores(self, relevance: Floats, shared: Floats, picked: int) -> Floats:
        if picked == 0:
            return relevance
        if self.criterion == "difference":
            difference: Floats = relevance - shared / picked
            return difference
        quotient = np.full(len(relevance), np.inf)
        np.divide(relevance * picked, shared, out=quotient, where=shared > 0)
        return quotient

    def reasons(self) -> dict[str, Reason]:
        """Return the reasons, with the scores."""
        sign = "less" if self.criterion == "difference" else "over"
        return {
            "first": when_kept(
                "{name} is kept, the first pick: {relevance_symbol}={relevance} is the highest"
            ),
            "kept": when_kept(
                "{name} is kept, pick number {turn}: {relevance_symbol}={relevance} "
                + sign
                + " {mean}, its mean dependence on the picks before it, was the highest score "
                "({value})"
            ),
            "outscored": when_redundant(
                "{name} was dropped: {relevance_symbol}={relevance}, but in the last round its "
                "score was {value}, not above that of the last pick ({level}); the pick it depends "
                "on most is {because}"
            ),
            "weaker": when_irrelevant(
                "{name} was dropped: {relevance_symbol}={relevance} is not above that of "
                "{because} ({level}), the only pick"
            ),
            "no room": when_irrelevant(
                "{name} was dropped: {relevance_symbol}={relevance}, but the features that you "
                "asked for are as many as n_features"
            ),
        }


def _best(scores: Floats, relevance: Floats, rounding: float) -> int:
    """Return the position of the highest score; of tied ones the first to arrive."""
    top = scores.max()
    if np.isinf(top):
        scores = np.where(scores == top, relevance, -np.inf)
        top = scores.max()
    return int(np.argmax(scores >= top - rounding * max(1.0, abs(top))))
