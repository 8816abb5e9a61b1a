"""SPSF-LAR: features that keep rows of a class near each other, taken along one path."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tamis.core.target import Target
from tamis.measures.measure import Floats
from tamis.methods.batch.least_angle import PathRule, UnitColumns, least_angle
from tamis.methods.batch.scores import Found, Table


class SPSFLARRule(PathRule):
    """Similarity preserving feature selection, by least angle regression.

    K says how similar rows should be: 1/n_c for two rows of the same class c, which has n_c rows,
    and 0 for rows of different classes. The features are those from which K can be reconstructed
    linearly: with K = Y Y^T, minimise |Y - X W|^2 where few rows of W are not 0. The path is that
    of least angle regression of all columns of Y at once. The correlation of a feature x with the
    residual R of Y is |x^T R| (Euclidean norm); the next feature is taken when its correlation
    equals that of those taken, until there are `n_features`.

    Reading: the paper does not print its path algorithm step by step. Y has one column for
    each class, 1/sqrt(n_c) in its rows and 0 elsewhere, centred; the path is that of multiresponse
    sparse regression with the Euclidean norm. A number to predict is its own Y. With two classes
    the path is that of `LARS`.

    Cost: a product of the table with one vector for each class per step, O(nonzeros classes), and
    O(rows steps^2). Memory: the whole table, compressed, twice; sparse columns stay sparse. Of tied
    features (to 1e-12) the first to arrive is taken; one of which those taken leave less than
    1e-10 is left out.

    Attributes
    ----------
    log_ : DecisionLog
        What happened to every feature, and why. The relevance of a kept feature is its correlation
        with the residual when it was taken, relative to the size of Y; that of any other feature
        is its correlation at the end.

    References
    ----------
    Z. Zhao, L. Wang, H. Liu, J. Ye. On similarity preserving feature selection. IEEE TKDE 25(3),
    2013. doi:10.1109/TKDE.2011.222. The path: T. Simila, J. Tikka. Multiresponse sparse regression
    with application to multidimensional scaling. ICANN 2005. doi:10.1007/11550907_16

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 150)
    >>> X = rng.normal(size=(150, 20))
    >>> X[:, 7] += 3 * (y == 0)
    >>> X[:, 3] += 2 * (y == 1)
    >>> sel = tamis.SPSFLAR(2).fit(X, y)
    >>> sel.ranking_
    array([7, 3])
    """

    name: ClassVar[str] = "spsf-lar"

    def find(self, table: Table) -> Found:
        """Walk along the path of the similarity of the rows."""
        path = least_angle(UnitColumns(table), _similarity(table.target), self.n_features)
        scores = path.sizes
        scores[path.taken] = path.at_entry
        return self.found(np.array(path.taken, np.int64), scores, path.collinear)


def _similarity(target: Target) -> Floats:
    """Return Y, centred, its squares summing to 1."""
    if target.codes is None:
        whole = target.values[:, None]
    else:
        whole = (target.codes[:, None] == np.arange(target.n_classes)) / np.sqrt(target.counts)
    centred: Floats = whole - whole.mean(axis=0)
    centred /= np.sqrt((centred**2).sum())
    return centred
