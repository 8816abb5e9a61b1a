"""HITON-PC: the features that no set of others makes independent of the class."""

from __future__ import annotations

from typing import ClassVar

from tamis.core.decisions import DecisionLog
from tamis.measures.measure import Ints
from tamis.methods.batch.candidates import CandidateRule, Candidates, CandidateSelector
from tamis.methods.separating import Separable, Separating, SeparatingRule, taken


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
    >>> import numpy as np
    >>> from tamis import HITONPC
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> noise = rng.integers(0, 2, 500)
    >>> good = np.where(rng.random(500) < 0.9, y, 1 - y)
    >>> echo = np.where(rng.random(500) < 0.9, good, 1 - good)
    >>> sel = HITONPC().fit(np.column_stack([noise, echo, good]), y)
    >>> sel.kept_
    array([2])
    >>> print(sel.log_.why("x1"))  # doctest: +NORMALIZE_WHITESPACE
    x1 was dropped as redundant: given x2 it is independent of the class (G2=0.438 on 2 degrees of
    freedom, p=0.803)
    """

    name: ClassVar[str] = "hiton-pc"
    adjusts: ClassVar[bool] = True
    keeps: ClassVar[bool] = True

    def rank(self, candidates: Candidates, log: DecisionLog) -> Ints:
        """Add one after the other, then test all of them again."""
        tentative: Separable = candidates.kept
        for i in range(candidates.required):
            arrival = candidates.arrival(i)
            tentative.add(arrival)
        if candidates.required:
            candidates.log_required(log)
            tentative.required = candidates.required
        for i in candidates.order[candidates.order >= candidates.required].tolist():
            arrival = candidates.arrival(i)
            new = tentative.consider(arrival)
            found = tentative.separator(new, range(new))
            if found is not None:
                log.append(tentative.dropped(found, new, arrival))
                continue
            tentative.add(arrival)
            log.append(taken(arrival))
        members, gone = tentative.pruned(range(len(tentative)), arrival)
        for decision in gone:
            log.append(decision)
        return tentative.features[list(members)]


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
