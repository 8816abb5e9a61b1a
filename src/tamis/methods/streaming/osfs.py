"""OSFS: keep what no kept features make independent of the class; every arrival asks all again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tamis.core.decisions import Decision
from tamis.methods.arrivals import Arrival
from tamis.methods.separating import Separable, SeparatingStreamRule, taken


class OSFSRule(SeparatingStreamRule):
    """Online streaming feature selection, towards the Markov blanket of the class.

    A newcomer X with Dep(C, X) is added to the candidates B. Then for each Y in B, oldest first and
    X last: if there is a set S of at most k others in B with Ind(C, Y | S), Y is redundant and
    leaves at once. Sets are tried by size, each size in lexicographic order of arrival.

    Of two features that make each other redundant the newer stays (in `FastOSFS`, the older).

    Cost: one test a feature; for each relevant one up to |B|^k tests for each of B. Memory: the
    kept columns. Fast-OSFS keeps much the same and asks far less.

    The paper also stops at a number of features or at an accuracy: feed columns one by one and
    stop feeding.

    Parameters
    ----------
    measure : {"auto", "g_squared", "fisher_z"} or Measure
        The test. "auto" looks at the data: whole numbers with few levels and a class target get
        ``GSquared(alpha=0.01)``, everything else ``FisherZ(alpha=0.01)``.
    max_conditioning : int, default=3
        k, the largest conditioning set.
    unreliable : {"independent", "skip", "dependent"}, default="independent"
        What a test counts as for which there are too few rows: independence, as in the paper;
        nothing, so that it neither separates a feature from the class nor lets one in; dependence.
        It overrides what the measure says. With few rows the paper's rule decides nearly
        everything (62 rows, 3 levels and 2 classes: every test given two features is refused, so
        two features are all that can be kept); a warning is given when refused tests decide.
    alpha : float, optional
        Significance level of a measure given by name or picked by "auto"; default: its own.

    Attributes
    ----------
    kept_ : ndarray of int
        Kept features, in order of arrival.
    log_ : DecisionLog
        What happened to every feature, and why: the separating set, the statistic, its degrees of
        freedom and the p-value.
    measure_, measure_reason_ : Measure, str
        The measure in use and why.
    work_ : dict
        Among others ``tests_given_0``, ``tests_given_1``, ...: tests made by the number of features
        given; ``refused_given_...``: those refused for lack of rows; ``decided_by_refused``:
        decisions that rest on refused tests.

    References
    ----------
    X. Wu, K. Yu, W. Ding, H. Wang, X. Zhu. Online Feature Selection with Streaming Features. IEEE
    TPAMI 35(5), 2013. doi:10.1109/TPAMI.2012.197

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import OSFS
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> noise = rng.integers(0, 2, 500)
    >>> good = np.where(rng.random(500) < 0.9, y, 1 - y)
    >>> echo = np.where(rng.random(500) < 0.9, good, 1 - good)
    >>> sel = OSFS().fit(np.column_stack([noise, echo, good]), y)
    >>> sel.kept_
    array([2])
    >>> print(sel.log_.why("x1"))  # doctest: +NORMALIZE_WHITESPACE
    x1 was kept until a later feature came: given x2 it is independent of the class (G2=0.438 on 2
    degrees of freedom, p=0.803)
    """

    name: ClassVar[str] = "osfs"
    former_parameters: ClassVar[Mapping[str, str | None]] = {"variant": None}

    def decide(self, arrival: Arrival, kept: Separable) -> Decision:
        """Take the newcomer in, then ask about every candidate, oldest first."""
        newcomer = kept.consider(arrival)
        candidates = list(range(newcomer + 1))
        evicts: list[Decision] = []
        for y in range(newcomer + 1):
            others = [c for c in candidates if c != y]
            found = kept.separator(y, others)
            if found is None:
                continue
            if y == newcomer:
                return kept.dropped(found, y, arrival, tuple(evicts))
            candidates = others
            evicts.append(kept.dropped(found, y, arrival))
        return taken(arrival, evicts)
