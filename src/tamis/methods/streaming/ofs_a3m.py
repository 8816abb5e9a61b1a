"""OFS-A3M: keep a newcomer that makes neighbours agree more, with no parameter to choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tamis.methods.rough_sets import KeptSet, RoughSetRule


class OFSA3MRule(RoughSetRule):
    """Online streaming feature selection with adapted neighbourhoods.

    dep(B) is the mean over rows of the share of a row's neighbours, on the features B, that have
    its label. With d_1 <= ... <= d_{n-1} the distances to the other rows (each feature divided by
    its standard deviation), the neighbours are the rows before the first gap
    d_k - d_{k-1} >= 1.5 (d_{n-1} - d_1) / (n - 2), and always the nearest one.

    S is the kept set and D its dependency. A newcomer F passes three tests:

    * relevance: dep({F}) is below the mean of dep({f}) over f in S: F is irrelevant and is dropped;
    * dependency: dep(S + F) > D: F is kept; dep(S + F) < D: F is dropped;
    * significance: dep(S + F) = D: each f of S + F, in random order, is dropped if the
      dependency of what is left is the same without it.

    Cost: O(n log n + n k) for dep of a feature alone, k the size of a neighbourhood, less where
    values repeat; O(n^2) for each set that is tried, however many features are in it. Memory: 8 n^2
    bytes of distances and the kept columns, so at most 20,000 rows (3.2 GB) are accepted. Sparse
    columns stay sparse until they reach the gate; only those are written out in full.

    Equal means equal: distances are sums of whole numbers and dependencies fractions, so "=" above
    is never decided by rounding.

    Parameters
    ----------
    variant : {"paper", "program"}, default="paper"
        "program" does what the authors' program does: F must be *above* the gate, which is D
        divided by the size of S; F itself is never pruned; and a row that has copies may be its own
        neighbour.

    References
    ----------
    P. Zhou, X. Hu, P. Li, X. Wu. Online streaming feature selection using adapted Neighborhood
    Rough Set. Information Sciences 481, 2019, 258-279. doi:10.1016/j.ins.2018.12.074

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> noise = rng.normal(size=200)
    >>> good = y + 0.3 * rng.normal(size=200)
    >>> better = y + 0.05 * rng.normal(size=200)
    >>> sel = tamis.OFSA3M().fit(np.column_stack([good, noise, better, good]), y)
    >>> sel.kept_
    array([0, 2])
    >>> print(sel.log_.why("x2"))  # doctest: +NORMALIZE_WHITESPACE
    x2 is kept: dep(x2)=1 is not below 0.942, the mean of the kept features, and it raises the
    dependency of the kept set from 0.942 to 1
    >>> print(sel.log_.why("x3"))
    x3 was dropped as irrelevant: dep(x3)=0.942 is below 0.971, the mean of the kept features
    """

    name: ClassVar[str] = "ofs-a3m"
    neighbours: ClassVar[Mapping[str, str]] = {"paper": "gap", "program": "gap"}

    def passes(self, balance: int) -> bool:
        """Return whether a feature passes: at the gate only the paper accepts it."""
        return balance > 0 if self.variant == "program" else balance >= 0

    def gate_words(self) -> str:
        """Return a few words about what the gate is."""
        if self.variant == "program":
            return "the dependency of the kept set over its size"
        return super().gate_words()

    def gate(self, mean: float, kept: KeptSet) -> float:
        """Return the gate: the program divides D by the size of S."""
        if self.variant == "program" and len(kept.space):
            return kept.whole.value / len(kept.space)
        return mean
