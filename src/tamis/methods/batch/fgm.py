"""FGM: features that a support vector machine needs, some at a time."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tamis.core.decisions import Reason
from tamis.core.params import Number, param
from tamis.core.target import Target
from tamis.measures.measure import Floats, Ints
from tamis.methods.batch.candidates import ROUNDING, best_first
from tamis.methods.batch.cutting_planes import Machine
from tamis.methods.batch.scores import Found, Table, TableRule
from tamis.methods.rule import when_irrelevant, when_kept


class FGMRule(TableRule):
    """Feature generating machine.

    A linear support vector machine whose features are scaled by d, 0 <= d_j <= 1, with at most B of
    them at 1, is solved by cutting planes. Each cut adds the B features with the largest
    (sum over rows i of alpha_i y_i x_ij)^2, alpha the multipliers of the machine so far; then the
    machine is solved on all cuts, by multiple kernel learning with one linear kernel for each cut.
    It ends after `max_cuts`, when a cut brings no new feature, or when its constraint is violated
    by no more than `tol` more than that of an earlier cut. Kept are the features of all cuts.

    Readings: errors are squared and the intercept is penalised, as in scikit-learn's ``LinearSVC``,
    which solves the machines; the weights of the kernels are found in turns with it. Columns are
    centred and divided by their standard deviation. With more than two classes there is one machine
    for each class against the rest on the same cuts, and squares are summed over them. The
    multipliers begin equal, so the first cut contains the B features that correlate most with the
    class. Violations closer than 1e-12 of the largest are tied: the lower arrival number wins.

    Cost: one product of the table with a vector per cut, O(nonzeros), and machines on the features
    of the cuts. Memory: the whole table, compressed, twice, and the columns of the cuts written
    out; sparse columns stay sparse.

    Parameters
    ----------
    n_per_cut : int, default=10
        B above.
    max_cuts : int, default=5
        Cuts at most, so that at most n_per_cut * max_cuts features are kept.
    C : float, default=10.0
        The cost of errors.
    tol : float, default=0.01
        How much more a new cut must violate, as a share.

    Attributes
    ----------
    ranking_ : ndarray of int
        Kept features, cut after cut, the largest violation first.
    cuts_ : int
        Cuts made.
    log_ : DecisionLog
        What happened to every feature, and why. The relevance of a kept feature is its violation in
        the cut it came with, that of another in the last round, both as a share of the largest.

    References
    ----------
    M. Tan, I. W. Tsang, L. Wang. Towards ultrahigh dimensional feature selection for big data. JMLR
    15, 2014. doi:10.5555/2627435.2638578

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import FGM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> y = (X[:, 7] + 0.5 * X[:, 3] - 0.2 * X[:, 11] > 0).astype(int)
    >>> sel = FGM(n_per_cut=1, max_cuts=3).fit(X, y)
    >>> sel.ranking_
    array([ 7,  3, 11])
    >>> print(sel.log_.why("x3"))
    x3 is kept, number 2: in its cut its violation was 1 of the largest
    """

    name: ClassVar[str] = "fgm"

    n_per_cut: int = param(10, Number(1, integer=True))
    max_cuts: int = param(5, Number(1, integer=True))
    C: float = param(10.0, Number(0, open_low=True))
    tol: float = param(0.01, Number(0))

    def begin(self, target: Target) -> None:
        """Refuse numbers to predict."""
        target.refuse_numbers(self.public_name)
        self.cuts_ = 0

    def model_reasons(self) -> dict[str, Reason]:
        """Return the reasons, with the violations."""
        return {
            "below": when_irrelevant(
                "{name} was dropped: it was in no cut; in the last round its violation was "
                "{relevance} of the largest"
            ),
            "kept": when_kept(
                "{name} is kept, number {value}: in its cut its violation was {relevance} of the "
                "largest"
            ),
        }

    def find(self, table: Table) -> Found:
        """Generate cuts until they are enough, or the next one adds nothing."""
        machine = Machine(table, float(self.C))
        cuts: list[Ints] = []
        ranking: list[int] = []
        at_entry: list[float] = []
        while True:
            violations = machine.violations()
            shares = violations / max(float(violations.max()), 1e-300)
            cut = self._cut(machine, shares)
            known = max((float(violations[c].sum()) for c in cuts), default=0.0)
            fresh = [j for j in cut.tolist() if j not in ranking]
            if not fresh or float(violations[cut].sum()) <= (1.0 + self.tol) * known:
                break
            ranking += fresh
            at_entry += shares[fresh].tolist()
            cuts.append(cut)
            if len(cuts) == self.max_cuts:
                break
            machine.solve(cuts)
        self.cuts_ = len(cuts)
        shares[ranking] = at_entry
        return Found(np.array(ranking, np.int64), shares)

    def _cut(self, machine: Machine, shares: Floats) -> Ints:
        """Return the features of the next cut: those that violate most."""
        order = best_first(shares, ROUNDING)[: self.n_per_cut]
        return order[shares[order] > ROUNDING].astype(np.int64)
