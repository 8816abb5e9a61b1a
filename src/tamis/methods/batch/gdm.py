"""GDM: features that a support vector machine needs, and those correlated with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tamis.core.decisions import DecisionLog, Reason
from tamis.core.params import Number, param
from tamis.core.target import Target
from tamis.measures.measure import Floats, Ints
from tamis.methods.batch.candidates import ROUNDING, best_first
from tamis.methods.batch.fgm import FGMRule, Machine
from tamis.methods.batch.scores import Found, Table
from tamis.methods.rule import when_kept


class GDMRule(FGMRule):
    """Group discovery machine: as `FGM`, but correlated features form groups.

    Each cut walks down the features, the largest violation first. One whose correlation with a
    support feature of any cut so far is at least `min_correlation` in size joins that one's group
    as an affiliated feature; any other is a support feature, until the cut contains B of them. So B
    is spent on features that differ, and those correlated with them are found as well. The machine
    is solved on the support features. Kept are those of all cuts and, after them, the affiliated
    ones met on the way.

    Reading: the paper selects support features under a bound on their correlations and calls
    affiliated those that are correlated with one and violate as much; how the walk is made is not
    printed in full. Here a feature joins the first support feature, in the order in which those
    were found, that it correlates with. Everything else is as for `FGM`.

    Cost: as `FGM`, and one product of the table with a vector for each support feature.

    Parameters
    ----------
    n_per_cut : int, default=10
        B above: support features in a cut.
    min_correlation : float, default=0.8
        Features that correlate at least this much belong to one group.

    Attributes
    ----------
    ranking_ : ndarray of int
        Support features, cut after cut, then the affiliated ones in the order in which they came.
    groups_ : dict of int to list of int
        Each support feature with its affiliated ones.

    References
    ----------
    Y. Zhai, M. Tan, I. W. Tsang, Y.-S. Ong. Discovering support and affiliated features from very
    high dimensions. ICML 2012. doi:10.48550/arXiv.1206.6477

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> X[:, 5] = X[:, 7] + 0.1 * rng.normal(size=200)
    >>> y = (X[:, 7] + 0.5 * X[:, 3] > 0).astype(int)
    >>> sel = tamis.GDM(n_per_cut=2, max_cuts=1).fit(X, y)
    >>> sel.groups_
    {7: [5], 3: []}
    >>> print(sel.log_.why("x5"))  # doctest: +NORMALIZE_WHITESPACE
    x5 is kept in the group of x7: its violation was 0.979 of the largest, and their correlation is
    0.994
    """

    name: ClassVar[str] = "gdm"
    model_reasons: ClassVar[Mapping[str, Reason]] = {
        **FGMRule.model_reasons,
        "affiliated": when_kept(
            "{name} is kept in the group of {because}: its violation was {relevance} of the "
            "largest, and their correlation is {value}"
        ),
    }

    min_correlation: float = param(0.8, Number(0, 1, open_low=True))

    def begin(self, target: Target) -> None:
        """Begin without groups."""
        super().begin(target)
        self._support, self._correlation = np.zeros(0, np.int64), np.zeros(0)
        self._met: dict[int, float] = {}
        self._groups: list[tuple[int, int, float, float]] = []
        self.groups_: dict[int, list[int]] = {}

    def find(self, table: Table) -> Found:
        """Generate cuts as FGM does, and list what is correlated with their features."""
        self._support = np.full(table.width, -1)  # whose group each feature would join
        self._correlation = np.zeros(table.width)
        found = super().find(table)
        kept = set(found.ranking.tolist())
        self.groups_ = {int(table.features[j]): [] for j in found.ranking}
        for j, share in self._met.items():
            support = int(self._support[j])
            if j in kept or support not in kept:
                continue
            mine, theirs = int(table.features[j]), int(table.features[support])
            self.groups_[theirs].append(mine)
            self._groups.append((mine, theirs, share, float(self._correlation[j])))
        return found

    def _cut(self, machine: Machine, shares: Floats) -> Ints:
        """Walk down until enough features differ; note those that are correlated with them."""
        cut: list[int] = []
        for j in best_first(shares, ROUNDING).tolist():
            if shares[j] <= ROUNDING or len(cut) == self.n_per_cut:
                break
            if self._support[j] < 0:
                # A new support feature, which all features that correlate with it join.
                column = machine.columns.column(j)[:, None]
                correlation = np.abs(machine.columns.products(column)[:, 0])
                joins = (self._support < 0) & (correlation >= self.min_correlation - ROUNDING)
                self._support[joins], self._correlation[joins] = j, correlation[joins]
                self._support[j] = j
            if self._support[j] == j:
                cut.append(j)
            else:
                self._met.setdefault(j, float(shares[j]))
        return np.array(cut, np.int64)

    def log_kept(self, log: DecisionLog, ranking: Ints, scores: Floats) -> Ints:
        """Log the support features, then the affiliated ones."""
        super().log_kept(log, ranking, scores)
        groups = self._groups
        del self._support, self._correlation, self._met, self._groups
        if not groups:
            return ranking
        features, because, share, correlation = zip(*groups, strict=True)
        mine = np.array(features, np.int64)
        log.append_many(
            "affiliated", mine, np.array(share), np.array(correlation),
            np.full(len(mine), np.nan), np.array(because, np.int64),
        )  # fmt: skip
        return np.concatenate([ranking, mine])
