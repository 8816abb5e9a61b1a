"""OSFS: keep what no kept features make independent of the class; every arrival tests all again."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from tamis.core.decisions import Decision
from tamis.methods.blanket import as_spouse
from tamis.methods.measured import Arrival
from tamis.methods.separating import Separable, SeparatingStreamRule, taken


class OSFSRule(SeparatingStreamRule):
    """Online streaming feature selection, towards the Markov blanket of the class.

    A newcomer X with Dep(C, X) is added to the candidates B. Then for each Y in B, oldest first and
    X last: if there is a set S of at most k others in B with Ind(C, Y | S), Y is redundant and
    leaves at once. Sets are tried by size, each size in lexicographic order of arrival.

    Of two features that make each other redundant the newer stays (in `FastOSFS`, the older). So
    with ``order="free"`` the least relevant feature is tested first, and the better one stays.

    Cost: one test per feature; for each relevant one up to |B|^k tests for each of B. Memory: the
    kept columns. Fast-OSFS keeps nearly the same features with far fewer tests.

    The paper also stops at a number of features or at an accuracy, as `stop` does.

    References
    ----------
    X. Wu, K. Yu, W. Ding, H. Wang, X. Zhu. Online Feature Selection with Streaming Features. IEEE
    TPAMI 35(5), 2013. doi:10.1109/TPAMI.2012.197

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> noise = rng.integers(0, 2, 500)
    >>> good = np.where(rng.random(500) < 0.9, y, 1 - y)
    >>> echo = np.where(rng.random(500) < 0.9, good, 1 - good)
    >>> sel = tamis.OSFS().fit(np.column_stack([noise, echo, good]), y)
    >>> sel.kept_
    array([2])
    >>> print(sel.log_.why("x1"))  # doctest: +NORMALIZE_WHITESPACE
    x1 was kept until a later feature came: given x2 it is independent of the class (G2=0.438 on 2
    degrees of freedom, p=0.803)
    """

    name: ClassVar[str] = "osfs"
    strongest_first: ClassVar[bool] = False

    def judge(self, arrival: Arrival, kept: Separable) -> Decision | None:
        """Add the newcomer, then test every candidate, oldest first."""
        newcomer = kept.consider(arrival)
        if self.blanket == "full" and not arrival.relevance > arrival.level:
            return as_spouse(arrival, kept)
        members, gone = kept.pruned(range(newcomer + 1), arrival)
        if newcomer in members:
            return taken(arrival, gone)
        last = next(d for d in gone if d.feature == arrival.feature)
        evicts = tuple(d for d in gone if d is not last)
        spouse = None
        if self.blanket == "full":
            at = {feature: i for i, feature in enumerate(kept.features.tolist())}
            given, leaving = [at[i] for i in last.because], [at[d.feature] for d in evicts]
            spouse = as_spouse(arrival, kept, given, leaving)
        return replace(spouse or last, evicts=evicts)
