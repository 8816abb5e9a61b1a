"""Naive boosting: features in the order in which boosted stumps use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.decisions import Reason
from tamis.core.params import Number, param
from tamis.core.target import Target
from tamis.kernels.stumps import ROUNDING, best_stumps, sort_entries
from tamis.kernels.threads import over_columns
from tamis.measures.measure import Floats
from tamis.methods.batch.scores import Found, Table, TableRule
from tamis.methods.rule import when_irrelevant, when_kept


class NaiveBoostingRule(TableRule):
    """Boosting with greedy selection: each round takes the one feature whose stump errs least.

    Rows begin with equal weights that sum to 1. In each round every feature offers its best stump:
    a threshold, and on either side the class with the most weight. The feature with the least
    weighted error e is taken (of equal ones the first to arrive), and the weights of the rows it
    gets wrong are multiplied by (1 - e)/e times (k - 1), k the number of classes. It ends when
    `n_features` different features have been taken, after `max_rounds`, when a stump gets all rows
    right, or when none is better than chance, e >= 1 - 1/k.

    Readings: the paper boosts Haar-like features for two classes by AdaBoost, in which a
    feature is one stump; here the multiclass form is SAMME, which is AdaBoost for two. A feature
    that was taken may be taken again, which counts once. scikit-learn's stumps have the same error
    but choose among equal features at random, so tamis has its own.

    Cost: sorting every column once, then one pass over the table per round. Memory: the whole
    table, compressed; sparse columns stay sparse. Threads split columns.

    Parameters
    ----------
    n_features : int, default=10
        How many different features to take.
    max_rounds : int, optional
        Maximum number of rounds; default: ten per feature.

    Attributes
    ----------
    ranking_ : ndarray of int
        Kept features, in the order in which they were first taken.
    log_ : DecisionLog
        What happened to every feature, and why. The relevance of a kept feature is its share of
        right weight in the round it was first taken, that of another in the last round.
    rounds_ : int
        Number of rounds.

    References
    ----------
    W. Ding, T. F. Stepinski, Y. Mu, L. Bandeira, R. Ricardo, Y. Wu, Z. Lu, T. Cao, X. Wu.
    Subkilometer crater discovery with boosting and transfer learning. ACM TIST 2(4), 2011.
    doi:10.1145/1989734.1989743. SAMME: J. Zhu, H. Zou, S. Rosset, T. Hastie. Multi-class AdaBoost.
    Statistics and Its Interface 2, 2009. doi:10.4310/SII.2009.v2.n3.a8

    Examples
    --------
    >>> import numpy as np, tamis
    >>> X = np.random.default_rng(0).normal(size=(200, 20))
    >>> y = (X[:, 7] + 0.5 * X[:, 3] > 0).astype(int)
    >>> sel = tamis.NaiveBoosting(2).fit(X, y)
    >>> sel.ranking_
    array([7, 3])
    >>> print(sel.log_.why("x3"))
    x3 is kept, number 2 to be taken: its stump had 0.788 of the weight right, the most
    """

    name: ClassVar[str] = "boosting"
    only_classes: ClassVar[bool] = True

    centred: ClassVar[bool] = False  # thresholds need no products, and equal must stay equal
    model_reasons: ClassVar[Mapping[str, Reason]] = {
        "below": when_irrelevant(
            "{name} was dropped: it was never the best; in the last round its stump had "
            "{relevance} of the weight right"
        ),
        "kept": when_kept(
            "{name} is kept, number {value} to be taken: its stump had {relevance} of the weight "
            "right, the most"
        ),
    }

    n_features: int = param(10, Number(1, integer=True))
    max_rounds: int | None = param(None, Number(1, integer=True), None)

    def begin(self, target: Target) -> None:
        """Begin without a round."""
        super().begin(target)
        self.rounds_ = 0

    def find(self, table: Table) -> Found:
        """Take the best stump in each round, on rows weighted by earlier mistakes."""
        stumps, codes, kinds = Stumps(table), table.target.codes, table.target.n_classes
        assert codes is not None
        weights = np.full(len(codes), 1.0 / len(codes))
        taken: dict[int, float] = {}
        right = np.zeros(table.width)
        rounds = 10 * self.n_features if self.max_rounds is None else self.max_rounds
        while self.rounds_ < rounds and len(taken) < self.n_features:
            errors = stumps.errors(weights)
            right = 1.0 - errors
            best = int(np.argmax(errors <= errors.min() + ROUNDING))
            error = float(errors[best])
            if error >= 1.0 - 1.0 / kinds - ROUNDING:
                break
            self.rounds_ += 1
            taken.setdefault(best, float(right[best]))
            if error <= ROUNDING:
                break
            wrong = stumps.predict(best) != codes
            weights[wrong] *= (1.0 - error) / error * (kinds - 1)
            weights /= weights.sum()
        ranking = np.array(list(taken), np.int64)
        right[ranking] = list(taken.values())
        return Found(ranking, right)


class Stumps:
    """The best stump of every column of a table, for rows of any weights."""

    def __init__(self, table: Table) -> None:
        c, target = table.columns, table.target
        assert target.codes is not None
        end, width = c.indptr[-1], table.width
        self._codes, self._kinds, self._pointers = target.codes, target.n_classes, c.indptr
        self._rows, self._values = c.rows[:end].copy(), c.values[:end].copy()
        self._cuts, self._sides = np.zeros(width), np.zeros((width, 2), np.int64)
        over_columns(
            lambda lo, hi: sort_entries(self._pointers, self._rows, self._values, lo, hi),
            self._pointers,
        )

    def errors(self, weights: Floats) -> Floats:
        """Return the weight that each column's best stump gets wrong."""
        totals = np.bincount(self._codes, weights, self._kinds)
        out = np.empty(len(self._cuts))
        over_columns(
            lambda lo, hi: best_stumps(
                self._pointers, self._rows, self._values, self._codes, weights,
                totals, lo, hi, out, self._cuts, self._sides,
            ),
            self._pointers,
        )  # fmt: skip
        return np.maximum(out, 0.0)

    def predict(self, j: int) -> npt.NDArray[np.int64]:
        """Return the class that column j's stump gives to every row."""
        values = np.zeros(len(self._codes))
        a, b = self._pointers[j], self._pointers[j + 1]
        values[self._rows[a:b]] = self._values[a:b]
        classes: npt.NDArray[np.int64] = self._sides[j][(values > self._cuts[j]).astype(np.intp)]
        return classes
