"""OFS-Density: as OFS-A3M, with neighbourhoods that end where their density turns."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar

from tamis.core.params import Number, param
from tamis.measures.dependency import Dependency, sign
from tamis.methods.rough_sets import RoughSetRule


class OFSDensityRule(RoughSetRule):
    """Online streaming feature selection with density neighbourhoods.

    dep(B) is the mean over rows of the share of a row's neighbours, on the features B, that have
    its label. With d_1 <= ... <= d_{n-1} the distances to the other rows (each feature divided by
    its standard deviation), the neighbours are the rows before d_k / k first decreases; rows at
    the same distance are taken by number.

    S is the kept set and D its dependency. A newcomer F

    * with dep({F}) below the mean of dep({f}) over f in S is irrelevant and is dropped;
    * with dep(S + F) > D is kept;
    * with (D - dep(S + F)) / D <= lambda ("fuzzy equal") is added and S + F is pruned: each f, in
      random order, is dropped if the dependency of what is left is the same without it;
    * is dropped otherwise.

    Cost: O(n log n + n k) for dep of a feature alone, k the size of a neighbourhood, less where
    values repeat; O(n^2 + n k log n) for each set that is tried, however many features are in it.
    Memory: 8 n^2 bytes of distances and the kept columns, so at most 20,000 rows (3.2 GB) are
    accepted. Sparse columns stay sparse until they reach the gate; only those are written
    out in full.

    Equal means equal: distances are sums of whole numbers and dependencies fractions, so a tie is
    never decided by rounding.

    Parameters
    ----------
    lam : float, default=0.05
        lambda above, as it is written: 0.05 is one twentieth.
    variant : {"paper", "program"}, default="paper"
        "program" does what the authors' program does: neighbourhoods end where d_k / k first
        *increases*; f is dropped if the dependency does not *fall* without it; F itself is never
        pruned; where the pruned set falls short of D, S + F is kept unpruned, with D and the gate
        as they were; and a row that has copies may be its own neighbour.

    References
    ----------
    P. Zhou, X. Hu, P. Li, X. Wu. OFS-Density: A novel online streaming feature selection method.
    Pattern Recognition 86, 2019, 48-61. doi:10.1016/j.patcog.2018.08.009

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> noise = rng.normal(size=200)
    >>> good = y + 0.3 * rng.normal(size=200)
    >>> better = y + 0.05 * rng.normal(size=200)
    >>> sel = tamis.OFSDensity().fit(np.column_stack([good, noise, better, good]), y)
    >>> sel.kept_
    array([0, 2])
    >>> print(sel.log_.why("x2"))  # doctest: +NORMALIZE_WHITESPACE
    x2 is kept: dep(x2)=1 is not below 0.937, the mean of the kept features, and it raises the
    dependency of the kept set from 0.937 to 1
    >>> print(sel.log_.why("x3"))
    x3 was dropped as irrelevant: dep(x3)=0.937 is below 0.968, the mean of the kept features
    """

    name: ClassVar[str] = "ofs-density"
    neighbours: ClassVar[Mapping[str, str]] = {"paper": "density falls", "program": "density rises"}

    lam: float = param(0.05, Number(0, 1))

    def accepts(self, change: int, tried: Dependency, before: Dependency) -> bool:
        """Return whether D rises, or D - dep <= lambda D, D not being 0."""
        if change > 0:
            return True
        if before.value == 0.0:
            return False
        if self.variant == "program":
            return abs(tried.value - before.value) / before.value <= self.lam
        share = Fraction(str(self.lam))
        at_least = share.denominator - share.numerator
        return sign((share.denominator, tried.shares), (-at_least, before.shares)) >= 0

    def lets_go(self, change: int) -> bool:
        """Return whether to drop a feature: the program also drops one without which D rises."""
        return change == 0 or (change > 0 and self.variant == "program")
