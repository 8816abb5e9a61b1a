"""Fast-OSFS: drop a newcomer that kept features make independent of the class, before it enters."""

from __future__ import annotations

from typing import ClassVar

from tamis.core.decisions import Decision
from tamis.methods.blanket import as_spouse
from tamis.methods.measured import Arrival
from tamis.methods.separating import Separable, SeparatingStreamRule, taken


class FastOSFSRule(SeparatingStreamRule):
    """Fast online streaming feature selection, towards the Markov blanket of the class.

    For a newcomer X with Dep(C, X) and the candidates B:

    * if there is a set S of at most k features of B with Ind(C, X | S), X is redundant and is
      dropped;
    * otherwise X is added, and for each older Y in B, oldest first: if there is a set S of at most
      k others that contains X with Ind(C, Y | S), Y is redundant and leaves at once.

    Sets are tried by size, each size in lexicographic order of arrival. Only sets that contain X
    are tried in the second step: the others were tried before. Of two features that make each other
    redundant the older stays (in `OSFS`, the newer).

    Cost: one test per feature; for each relevant one up to |B|^k tests, for each one kept |B|^(k-1)
    more for each of B. Memory: the kept columns.

    References
    ----------
    Wu, Yu, Ding, Wang, Zhu, 2013, as for `OSFS`. doi:10.1109/TPAMI.2012.197

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> cause, noise = rng.normal(size=(2, 300))
    >>> echo, y = cause + rng.normal(size=(2, 300))
    >>> sel = tamis.FastOSFS().fit(np.column_stack([cause, echo, noise]), y)
    >>> sel.kept_
    array([0])
    >>> print(sel.why("x1"))  # doctest: +NORMALIZE_WHITESPACE
    x1 was dropped as redundant: given x0 it is independent of the target (|r|=0.0267, z=0.459,
    p=0.646)
    """

    name: ClassVar[str] = "fast-osfs"

    def judge(self, arrival: Arrival, kept: Separable) -> Decision | None:
        """Test the newcomer; if it stays, test the others given it."""
        newcomer = kept.consider(arrival)
        if self.blanket == "full" and not arrival.relevance > arrival.level:
            return as_spouse(arrival, kept)
        found = kept.separator(newcomer, range(newcomer))
        if found is None:
            return taken(arrival, kept.pruned(range(newcomer), arrival, including=newcomer)[1])
        spouse = as_spouse(arrival, kept, found.given) if self.blanket == "full" else None
        return spouse or kept.dropped(found, newcomer, arrival)
