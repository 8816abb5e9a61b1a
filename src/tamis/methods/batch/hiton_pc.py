"""HITON-PC: the features that no set of others makes independent of the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import ClassVar

import numpy as np

from tamis.core.decisions import Decision, DecisionLog
from tamis.core.params import OneOf, param
from tamis.measures.conditional import TestsSpent
from tamis.measures.measure import Ints
from tamis.methods.batch.candidates import CandidateRule, Candidates, CandidateSelector
from tamis.methods.batch.relatives import Blanket, interleaved, members_after
from tamis.methods.gates import GATES
from tamis.methods.separating import Separable, Separating, SeparatingRule, say_spent


class HITONPCRule(SeparatingRule, CandidateRule):
    """HITON-PC: parents and children of the target, in the semi-interleaved form.

    Features that depend on the target T are listed, the strongest first. They enter the tentative
    set TPC one by one; a feature leaves at once if it is independent of T given some set of up to
    k others in TPC. When the list is empty, every member of TPC, in order of entry, is tested again
    in the same way given the remaining ones.

    Cost: one test per feature, then up to |TPC| choose k for each listed one, in compiled code: it
    grows fast with the size of TPC. Memory: the columns that passed the first test.

    Readings: "strongest" is by the measure's own number (G-squared, or the absolute
    correlation), values closer than 1e-12 in order of arrival; sets are tried by size, each size in
    the order in which members came. There is no symmetry correction (asking each member whether T
    is in *its* set), which takes HITON-PC from every member.

    With ``blanket="full"`` the spouses follow: HITON-PC is run for every member X of the set, with
    T among the columns. A feature S that it finds is a spouse if it depends on T given X and the
    set that had separated S from T. Then members and spouses that only seemed to be ones are
    dropped, if T or X does not find them either and a set of the others separates them. All
    columns are held until then, and one run is needed for every member and spouse. If the tests
    make no errors and `max_conditioning` is large enough, the result is the Markov blanket.

    Attributes
    ----------
    ranking_ : ndarray of int
        Kept features, in the order in which they entered: the strongest first.

    References
    ----------
    C. F. Aliferis, A. Statnikov, I. Tsamardinos, S. Mani, X. D. Koutsoukos. Local causal and Markov
    blanket induction for causal discovery and feature selection for classification, part I. JMLR
    11, 2010, Figure 7. doi:10.5555/1756006.1756013 (HITON: AMIA 2003.)

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> noise = rng.integers(0, 2, 500)
    >>> good = np.where(rng.random(500) < 0.9, y, 1 - y)
    >>> echo = np.where(rng.random(500) < 0.9, good, 1 - good)
    >>> sel = tamis.HITONPC().fit(np.column_stack([noise, echo, good]), y)
    >>> sel.kept_
    array([2])
    >>> print(sel.log_.why("x1"))  # doctest: +NORMALIZE_WHITESPACE
    x1 was dropped as redundant: given x2 it is independent of the class (G2=0.438 on 2 degrees of
    freedom, p=0.803)
    """

    name: ClassVar[str] = "hiton-pc"

    _: KW_ONLY
    gate: str = param("bh", OneOf(tuple(GATES)))

    def rank(self, candidates: Candidates, log: DecisionLog) -> Ints:
        """Add one after the other, then test all of them again; then look for spouses."""
        tentative: Separable = candidates.kept
        required, features = candidates.required, candidates.features
        for i in range(required):
            tentative.add(candidates.arrival(i))
        if required:
            candidates.log_required(log)
            tentative.required = required
        order = candidates.order[candidates.order >= required]
        relevant = order
        if not self.gated:
            relevant = order[candidates.relevance[order] > candidates.levels[order]]
        decisions: list[Decision] = []
        try:
            for decision in interleaved(tentative, map(candidates.arrival, relevant.tolist())):
                decisions.append(decision)
                log.append(decision)
        except TestsSpent:
            open_ = relevant[~np.isin(features[relevant], [d.feature for d in decisions])]
            nothing = np.full(len(open_), np.nan)
            where = log.names[features[open_[0]]] if len(open_) else "the second round of tests"
            say_spent(log, self.max_tests, where)
            log.append_many(
                "unexamined", features[open_], candidates.relevance[open_], nothing, nothing
            )
        members, separators = members_after(decisions)
        near = [*features[:required].tolist(), *members]
        if self.blanket == "full" and not log.stopped:
            near = self._with_spouses(candidates, log, near, separators)
        return np.array(near, dtype=np.int64)

    def _with_spouses(
        self,
        candidates: Candidates,
        log: DecisionLog,
        near: Sequence[int],
        separators: Mapping[int, tuple[int, ...]],
    ) -> list[int]:
        """Return the parents and children that stay, and after them the spouses."""
        features = candidates.features.tolist()
        place = {feature: i for i, feature in enumerate(features)}
        blanket = Blanket(
            candidates,
            [place[feature] for feature in near],
            {place[one]: tuple(place[i] for i in given) for one, given in separators.items()},
        )
        spouses: list[int] = []
        try:
            spouses.extend(d.feature for d in blanket.decisions() if log.append(d))
        except TestsSpent:
            say_spent(log, self.max_tests, "the search for spouses")
        return [features[i] for i in blanket.near] + spouses


class SeparatingCandidates(Separating, CandidateSelector):
    """Runs HITON-PC."""

    def finish(self) -> None:
        """Let the rule rank the relevant features, and forget their columns."""
        super().finish()
        done, self._kept = self._kept, self.rule.kept(self.measure_, self._target)
        self._kept.decided_by_refusals = done.decided_by_refusals
        for counts in ("tests", "refused", "pairs"):
            setattr(self._kept.panel, counts, getattr(done.panel, counts))


HITONPCRule.machinery = SeparatingCandidates
