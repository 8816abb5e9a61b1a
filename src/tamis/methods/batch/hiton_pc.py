"""HITON-PC: the features that no set of others makes independent of the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from tamis.core.params import Range
from tamis.measures.base import Ints, Measure
from tamis.methods.arrivals import Arrival, Kept
from tamis.methods.batch.measured_batch import Candidates, MeasuredBatchSelector
from tamis.methods.separating import Separating


class HITONPC(Separating, MeasuredBatchSelector):
    """HITON-PC: parents and children of the target, in the semi-interleaved form.

    Features that depend on the target T are listed, the strongest first. One after the other enters
    the tentative set TPC; it leaves at once if T and it are independent given some set of up to
    max_k others in TPC. When the list is empty, every member of TPC, in the order in which they
    came, is asked again in the same way about all that are left.

    Cost: one test a feature, then up to |TPC| choose max_k for each listed one, in compiled code:
    it grows fast with what TPC holds. Memory: the columns that passed the first test.

    Readings taken: "strongest" is by the measure's own number (G-squared, or the absolute
    correlation), values closer than 1e-12 in order of arrival; sets are tried by size, each size in
    the order in which members came. There is no symmetry correction (asking each member whether T
    is in *its* set), which takes HITON-PC from every member.

    Parameters
    ----------
    measure : {"auto", "g_squared", "fisher_z"} or Measure, default="auto"
        The test. "auto" looks at the data and picks ``GSquared(alpha=0.01)`` or
        ``FisherZ(alpha=0.01)``.
    max_conditioning : int, default=3
        max_k above.
    unreliable : {"independent", "skip", "dependent"}, default="independent"
        What a test counts as for which there are too few rows: independence; nothing, so that it
        neither separates a feature nor lets one in; dependence.

    Attributes
    ----------
    kept_ : ndarray of int
        Kept features, in order of arrival.
    ranking_ : ndarray of int
        Kept features, in the order in which they came in: the strongest first.
    log_ : DecisionLog
        What happened to every feature, and why: the separating set, the statistic, its degrees of
        freedom and the p-value.
    measure_, measure_reason_ : Measure, str
        The measure in use and why.
    work_ : dict
        Tests made, by the number of features given, and how many were refused for lack of rows.

    References
    ----------
    C. F. Aliferis, A. Statnikov, I. Tsamardinos, S. Mani, X. D. Koutsoukos. Local causal and Markov
    blanket induction for causal discovery and feature selection for classification, part I. JMLR
    11, 2010, Figure 7. doi:10.5555/1756006.1756013 (HITON: AMIA 2003.)

    Examples
    --------
    >>> import numpy as np
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

    method: ClassVar[str] = "hiton-pc"
    discrete_measure: ClassVar[Measure] = Separating.discrete_measure
    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = Separating.ranges

    def __init__(
        self,
        measure: Measure | str = "auto",
        max_conditioning: int = 3,
        unreliable: str = "independent",
    ) -> None:
        self.measure = measure
        self.max_conditioning = max_conditioning
        self.unreliable = unreliable

    def decide(self, candidates: Candidates) -> Ints:
        """Let one after the other in, then ask all of them again."""
        tentative = self._kept
        arrivals = []
        for i in candidates.order.tolist():
            arrival = Arrival(
                int(candidates.features[i]), float(candidates.relevance[i]),
                float(candidates.levels[i]), candidates.columns[i],
            )  # fmt: skip
            new = self._consider(arrival, tentative)
            found = self._separator(tentative, new, range(new))
            if found is not None:
                self.log_.append(self._dropped(found, new, arrival, tentative))
                continue
            tentative.add(arrival)
            arrivals.append(arrival)
            self.log_.append(self._taken(arrival, ()))
        return self._asked_again(tentative, arrivals)

    def _asked_again(self, tentative: Kept, arrivals: list[Arrival]) -> Ints:
        """Let go of members that the others separate; give the features that stay."""
        members = list(range(len(arrivals)))
        for x in range(len(arrivals)):
            others = [m for m in members if m != x]
            found = self._separator(tentative, x, others)
            if found is not None:
                members = others
                self.log_.append(self._dropped(found, x, arrivals[-1], tentative))
        self._forget_columns()
        return tentative.features[members]

    def _forget_columns(self) -> None:
        """Begin an empty panel that remembers nothing but the work done."""
        done, empty = self._conditional(self._kept), self._panel()
        empty.tests, empty.refused, empty.pairs = done.tests, done.refused, done.pairs
        self._kept = Kept(empty)
