"""Feature generation by cutting planes, for FGM and GDM.

A cut is a small set of features. The machine is a linear support vector machine with squared
errors on the cuts so far, w_t the weights of cut t:

    minimise 1/2 (sum_t |w_t|)^2 + C sum over rows i of max(0, 1 - y_i (sum_t w_t x_it + b))^2

which is multiple kernel learning with one linear kernel per cut. Its multipliers alpha_i say which
rows are still badly classified; the next cut contains the features with the largest
(sum_i alpha_i y_i x_i)^2, by which the constraint of a set is violated most.
"""

from __future__ import annotations

import warnings

import numpy as np

from tamis.core.target import Target
from tamis.measures.measure import Floats, Ints
from tamis.methods.batch.least_angle import UnitColumns
from tamis.methods.batch.scores import Table

#: Turns between weights of cuts and machines, and the change of the former that ends them.
TURNS, STILL = 30, 1e-3
#: Squared sums below this share of what they could be at most are 0.
NOTHING = 1e-20


class Machine:
    """Support vector machines on cuts of a table, one for each class against the rest."""

    def __init__(self, table: Table, C: float) -> None:
        self.columns = UnitColumns(table)
        self.C = C
        self._scale = np.sqrt(table.target.n_rows)  # columns then have standard deviation 1
        self._signs = _signs(table.target)
        self._codes = table.target.codes
        self.alpha = np.ones_like(self._signs) / len(self._signs)

    def violations(self) -> Floats:
        """Return how much each feature violates: (sum_i alpha_i y_i x_i)^2, over all machines."""
        sums = self.columns.products(self.alpha * self._signs) * self._scale
        squares: Floats = (sums**2).sum(axis=1)
        # What is left of sums that are 0 on paper says nothing.
        squares[squares <= NOTHING * self._scale**2 * (self.alpha**2).sum()] = 0.0
        return squares

    def solve(self, cuts: list[Ints]) -> Floats:
        """Set the multipliers to those of the machines on these cuts; return the cuts' weights.

        In turns: machines for given weights of the cuts, then the weights that are best for those
        machines, each cut's norm as a share of all.
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


def _signs(target: Target) -> Floats:
    """Return 1 for rows of a class and -1 for others, one column per machine."""
    assert target.codes is not None
    classes = np.arange(target.n_classes) if target.n_classes > 2 else np.array([1])
    return np.where(target.codes[:, None] == classes, 1.0, -1.0)
