"""CFS: the set whose features correlate with the class and not with each other."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from tamis.core.decisions import DecisionLog, Reason
from tamis.core.params import Number, OneOf, param
from tamis.core.target import Target
from tamis.measures.measure import Floats, Ints
from tamis.methods.batch.candidates import CandidateRule, Candidates
from tamis.methods.rule import when_kept, when_redundant

#: Merits are compared to this many digits after the point, so that rounding decides nothing.
DIGITS = 11


class CFSRule(CandidateRule):
    """Correlation-based feature selection ("CorrSF" where the search is forward).

    The merit of a set S of k features is

        M(S) = k r_cf / sqrt(k + k (k - 1) r_ff)

    with r_cf the mean SU between its features and the class, r_ff the mean SU between pairs of its
    features. The set with the highest merit is searched for:

    * "best_first": the best set not yet expanded is expanded, by every feature it does not contain;
      the search ends after `stale` expansions in a row that found nothing better;
    * "forward": the feature that gives the highest merit is added as long as the merit rises.

    Both begin with the empty set, whose merit is 0.

    Cost: one relevance value per feature; one pair value for each feature that is ever in an
    expanded set and each candidate, computed once, in one compiled call for each such feature.
    Memory: the columns that passed the measure's gate, and 8 bytes per candidate for each of those
    features and for each expanded set.

    Deviations: features with SU = 0 are never considered. Hall's locally predictive features, which
    may be added afterwards, are not. Merits are compared to 11 digits; of tied ones the set that
    was expanded first and then the feature with the lower arrival number comes first.

    Parameters
    ----------
    measure : {"auto", "symmetric_uncertainty", "fisher_z"} or Measure
        The measure used for SU; it should lie between 0 and 1. "auto" depends on the data: whole
        numbers with few levels get ``SymmetricUncertainty()``, everything else
        ``FisherZ(alpha=0.01)``, absolute correlations.
    search : {"best_first", "forward"}, default="best_first"
        How sets are searched for.
    stale : int, default=5
        Expansions without improvement that end a best-first search.

    Attributes
    ----------
    ranking_ : ndarray of int
        Kept features, in the order in which they entered the set.
    merit_ : float
        The merit of the kept set.

    References
    ----------
    M. A. Hall. Correlation-based feature selection for discrete and numeric class machine learning.
    ICML 2000. (Correlation-based Feature Selection for Machine Learning. PhD thesis, Waikato, 1999,
    equation 4.4.)

    Examples
    --------
    >>> import tamis
    >>> from sklearn.datasets import load_wine
    >>> wine, cultivar = load_wine(return_X_y=True, as_frame=True)
    >>> sel = tamis.CFS().fit(wine, cultivar)
    >>> list(sel.get_feature_names_out()[:4])
    ['alcohol', 'ash', 'flavanoids', 'color_intensity']
    >>> print(sel.why("malic_acid"))  # doctest: +NORMALIZE_WHITESPACE
    malic_acid was dropped: |r(malic_acid, class)|=0.545, but with it the merit of the kept set
    would be 1.12, not above 1.13; of the kept it depends most on hue
    """

    name: ClassVar[str] = "cfs"
    paper: ClassVar[Mapping[str, Any] | None] = {
        "measure": "symmetric_uncertainty",
        "encode": "mdlp",
    }
    adjusts: ClassVar[bool] = True
    keeps: ClassVar[bool] = True

    search: str = param("best_first", OneOf(("best_first", "forward")))
    stale: int = param(5, Number(1, integer=True))

    def begin(self, target: Target) -> None:
        """Begin with no feature, whose merit is 0."""
        self.merit_ = 0.0

    def rank(self, candidates: Candidates, log: DecisionLog) -> Ints:
        """Search, and log what was found and how everything else would have changed it."""
        merits = Merits(candidates)
        # Forward search is best-first search that stops at the first expansion without improvement.
        required = candidates.required
        stale = 1 if self.search == "forward" else self.stale
        members = _best_first(merits, stale, tuple(range(required)))
        self.merit_ = before = 0.0
        if required:
            candidates.log_required(log)
            self.merit_ = before = merits.of(members[:required])
        for turn, member in enumerate(members[required:], required):
            now = merits.of(members[: turn + 1])
            candidates.log_kept(log, member, now, before, turn=turn + 1)
            before = self.merit_ = now
        rest = np.delete(np.arange(len(candidates)), members)
        rows = np.array([merits.row(member)[rest] for member in members])
        most = np.asarray(members)[rows.argmax(axis=0)]
        log.append_many(
            "no gain", candidates.features[rest], candidates.relevance[rest],
            merits.with_each(members)[rest], np.full(len(rest), self.merit_),
            candidates.features[most],
        )  # fmt: skip
        return candidates.features[members]

    def reasons(self) -> dict[str, Reason]:
        """Return the reasons, with the merits."""
        return {
            "kept": when_kept(
                "{name} is kept, number {turn} to come in: {relevance_symbol}={relevance}, and "
                "with it the merit of the set went from {level} to {value}"
            ),
            "no gain": when_redundant(
                "{name} was dropped: {relevance_symbol}={relevance}, but with it the merit of the "
                "kept set would be {value}, not above {level}; of the kept it depends most on "
                "{because}"
            ),
        }


class Merits:
    """Merits of sets of candidates, given by position; pair values are computed once."""

    def __init__(self, candidates: Candidates) -> None:
        self.relevance, self._candidates = candidates.relevance, candidates
        self._rows: dict[int, Floats] = {}

    def row(self, member: int) -> Floats:
        """Return pair values of one candidate with all (0 with itself)."""
        if member not in self._rows:
            others = np.delete(np.arange(len(self.relevance)), member)
            pairs = np.zeros(len(self.relevance))
            all_ = self._candidates
            pairs[others] = all_.panel.against(all_.columns, member, others)
            self._rows[member] = pairs
        return self._rows[member]

    def with_each(self, members: Sequence[int]) -> Floats:
        """Return the merit of a set with each candidate added; -1 for those in it."""
        together, among = np.zeros(len(self.relevance)), 0.0
        for member in sorted(members):  # sum in the same order, however the set was reached
            among += together[member]
            together += self.row(member)
        k = len(members) + 1
        total = self.relevance[sorted(members)].sum() + self.relevance
        merit: Floats = np.round(total / np.sqrt(k + 2 * (among + together)), DIGITS)
        merit[list(members)] = -1.0
        return merit

    def of(self, members: Sequence[int]) -> float:
        """Return the merit of a set that is not empty."""
        return float(self.with_each(members[:-1])[members[-1]])


def _best_first(merits: Merits, stale: int, start: tuple[int, ...] = ()) -> list[int]:
    """Best-first search; each expanded set waits in the heap with its best child."""
    # Sets with the merits of their children; those of children that were expanded are -1.
    expanded: list[tuple[tuple[int, ...], Floats]] = []
    waiting: list[tuple[float, int, int]] = []

    def wait(parent: int) -> None:
        children = expanded[parent][1]
        best_child = int(np.argmax(children))
        if children[best_child] >= 0:
            heapq.heappush(waiting, (-float(children[best_child]), parent, best_child))

    seen: set[frozenset[int]] = set()
    best_merit, in_vain = merits.of(start) if start else 0.0, 0
    best = members = start
    while in_vain < stale:
        seen.add(frozenset(members))
        children = merits.with_each(members)
        expanded.append((members, children))
        in_vain += 1
        if children.max() > best_merit:
            best, best_merit, in_vain = (*members, int(children.argmax())), children.max(), 0
        wait(len(expanded) - 1)
        while waiting and frozenset(members) in seen:
            _, parent, which = heapq.heappop(waiting)
            members = (*expanded[parent][0], which)
            expanded[parent][1][which] = -1.0
            wait(parent)
        if frozenset(members) in seen:
            break
    return list(best)
