"""LARS: features in the order in which least angle regression takes them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tamis.core.target import Target
from tamis.measures.measure import Floats
from tamis.methods.batch.least_angle import PathRule, UnitColumns, least_angle
from tamis.methods.batch.scores import Found, Table


class LARSRule(PathRule):
    """Least angle regression.

    Features are centred and have norm 1. The one that correlates most with the target is taken; the
    fit moves towards the least squares fit on the features taken, until another feature correlates
    as much with the residual; that one is taken next; and so on, `n_features` times.

    The target is the number to predict, or 0 and 1 for two classes. With more classes there is one
    path for each class against the rest, and features are taken by the step at which they come
    first in any of them, the lower arrival number first at the same step.

    Cost: a product of the table with one vector per step, O(nonzeros), and O(rows steps^2). Memory:
    the whole table, compressed, twice; sparse columns stay sparse.

    The order is that of scikit-learn's ``lars_path``, which needs the table in full; of features
    that are tied (to 1e-12) the first to arrive is taken. A feature that is a linear combination of
    those taken (to 1e-10) is left out, so of copies only the first to arrive is taken.

    Attributes
    ----------
    log_ : DecisionLog
        What happened to every feature, and why. The relevance of a kept feature is its correlation
        with the residual when it was taken, relative to the target's size; that of any other
        feature is its correlation at the end.

    References
    ----------
    B. Efron, T. Hastie, I. Johnstone, R. Tibshirani. Least angle regression. Annals of Statistics
    32(2), 2004. doi:10.1214/009053604000000067

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.normal(size=(100, 20)), rng.normal(size=100)
    >>> y = 2 * X[:, 7] - X[:, 3] + 0.1 * noise
    >>> sel = tamis.LARS(2).fit(X, y)
    >>> sel.ranking_
    array([7, 3])
    >>> print(sel.log_.why("x3"))
    x3 is kept, number 2 to be taken: |r(x3, rest)|=0.45 was the highest
    """

    name: ClassVar[str] = "lars"

    def find(self, table: Table) -> Found:
        """Walk along the path of each target."""
        columns = UnitColumns(table)
        first = np.full(table.width, np.inf)  # the step at which each was taken first
        scores, at_entry = np.zeros((2, table.width))
        collinear = np.ones(table.width, np.bool_)
        for target in _targets(table.target):
            path = least_angle(columns, target, self.n_features)
            scores = np.maximum(scores, path.sizes)
            collinear &= path.collinear
            for step, (j, size) in enumerate(zip(path.taken, path.at_entry, strict=True)):
                if step < first[j]:
                    first[j], at_entry[j] = step, size
        order = np.argsort(first, kind="stable")[: self.n_features]
        ranking = order[np.isfinite(first[order])]
        scores[ranking] = at_entry[ranking]
        return self.found(ranking, scores, collinear)


def _targets(target: Target) -> list[Floats]:
    """Return each target as one column, centred, with norm 1."""
    raw = target.against_rest() if target.is_classes else target.values[np.newaxis]
    centred = [column - column.mean() for column in raw.astype(np.float64)]
    return [(column / np.sqrt(column @ column))[:, None] for column in centred]
