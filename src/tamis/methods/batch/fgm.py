"""FGM: features that a support vector machine needs, some at a time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tamis.core.decisions import Reason
from tamis.core.params import Number, param
from tamis.core.target import Target
from tamis.measures.measure import Floats, Ints
from tamis.methods.batch.candidates import ROUNDING, best_first
from tamis.methods.batch.least_angle import UnitColumns
from tamis.methods.batch.scores import Found, Table, TableRule
from tamis.methods.rule import when_irrelevant, when_kept

#: Maximum alternations between weights of cuts and machines, and the change that ends them.
TURNS, STILL = 30, 1e-3
#: Squared sums below this share of what they could be at most are 0.
NOTHING = 1e-20


class Machine:
    """Support vector machines on cuts of a table, one for each class against the rest.

    A cut is a small set of features. A machine is linear, with squared errors on the cuts so far,
    w_t the weights of cut t:

        minimise 1/2 (sum_t |w_t|)^2 + C sum over rows i of max(0, 1 - y_i (sum_t w_t x_it + b))^2

    which is multiple kernel learning with one linear kernel per cut. Its multipliers alpha_i say
    which rows are still badly classified; the next cut contains the features with the largest
    (sum_i alpha_i y_i x_i)^2, by which the constraint of a set is violated most.
    """

    def __init__(self, table: Table, C: float) -> None:
        self.columns = UnitColumns(table)
        self.C = C
        self._scale = np.sqrt(table.target.n_rows)  # columns then have standard deviation 1
        # One column per machine: 1 for rows of its class and -1 for others.
        self._signs = np.where(np.ascontiguousarray(table.target.against_rest().T), 1.0, -1.0)
        self._codes = table.target.codes
        self.alpha = np.ones_like(self._signs) / len(self._signs)

    def violations(self) -> Floats:
        """Return how much each feature violates: (sum_i alpha_i y_i x_i)^2, over all machines."""
        sums = self.columns.products(self.alpha * self._signs) * self._scale
        squares: Floats = (sums**2).sum(axis=1)
        # Rounding errors of sums that are exactly 0 in theory mean nothing.
        squares[squares <= NOTHING * self._scale**2 * (self.alpha**2).sum()] = 0.0
        return squares

    def solve(self, cuts: list[Ints]) -> Floats:
        """Set the multipliers to those of the machines on these cuts; return the cuts' weights.

        Alternates between the machines for given weights of the cuts and the best weights for
        those machines, each cut's norm as a share of all.
        """
        parts = [
            self._scale * np.column_stack([self.columns.column(int(j)) for j in cut])
            for cut in cuts
        ]
        owner = np.repeat(np.arange(len(cuts)), [len(cut) for cut in cuts])
        whole, share = np.column_stack(parts), np.full(len(cuts), 1.0 / len(cuts))
        for _ in range(TURNS):
            root = np.sqrt(share)[owner]
            weights, scores = self._fit(whole * root)
            norms = np.sqrt(np.bincount(owner, ((weights * root) ** 2).sum(axis=0), len(cuts)))
            before, share = share, norms / max(float(norms.sum()), 1e-300)
            self.alpha = 2.0 * self.C * np.maximum(0.0, 1.0 - self._signs * scores)
            if np.abs(share - before).max() <= STILL:
                break
        return share

    def _fit(self, X: Floats) -> tuple[Floats, Floats]:
        """Return weights and scores of the machines, by scikit-learn."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC

        machine = LinearSVC(dual=False, C=self.C, max_iter=10_000, random_state=0)
        with warnings.catch_warnings():
            # Rough multipliers still generate features; there is nothing a user could do.
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(X, self._codes)
        return machine.coef_, machine.decision_function(X).reshape(len(X), -1)


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
        Maximum number of cuts, so that at most n_per_cut * max_cuts features are kept.
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
    >>> import numpy as np, tamis
    >>> X = np.random.default_rng(0).normal(size=(200, 20))
    >>> y = (X[:, 7] + 0.5 * X[:, 3] - 0.2 * X[:, 11] > 0).astype(int)
    >>> sel = tamis.FGM(n_per_cut=1, max_cuts=3).fit(X, y)
    >>> sel.ranking_
    array([ 7,  3, 11])
    >>> print(sel.log_.why("x3"))
    x3 is kept, number 2: in its cut its violation was 1 of the largest
    """

    name: ClassVar[str] = "fgm"
    only_classes: ClassVar[bool] = True

    model_reasons: ClassVar[Mapping[str, Reason]] = {
        "below": when_irrelevant(
            "{name} was dropped: it was in no cut; in the last round its violation was "
            "{relevance} of the largest"
        ),
        "kept": when_kept(
            "{name} is kept, number {value}: in its cut its violation was {relevance} of the "
            "largest"
        ),
    }

    n_per_cut: int = param(10, Number(1, integer=True))
    max_cuts: int = param(5, Number(1, integer=True))
    C: float = param(10.0, Number(0, open_low=True))
    tol: float = param(0.01, Number(0))

    def begin(self, target: Target) -> None:
        """Begin without a cut."""
        super().begin(target)
        self.cuts_ = 0

    def find(self, table: Table) -> Found:
        """Generate cuts until there are enough, or the next one adds nothing."""
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
