"""L1-SVM: the features to which a sparse linear support vector machine gives a weight."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tamis.core.decisions import Reason
from tamis.core.errors import warn
from tamis.core.params import Number, OneOf, param
from tamis.core.target import Target
from tamis.measures.measure import Floats
from tamis.methods.batch.scores import Found, Table, TableRule
from tamis.methods.rule import when_irrelevant, when_kept

#: The penalty is looked for between these factors of the smallest C that gives any weight.
DOUBLINGS = 24
HALVINGS = 10


class L1SVMRule(TableRule):
    """Linear support vector machine with an L1 penalty, by scikit-learn's ``LinearSVC``.

        minimise |w|_1 + C sum over rows i of max(0, 1 - y_i (w x_i + b))^2

    Kept are the features whose weight is not 0. With more than two classes there is one machine for
    each class against the rest, and a feature's weight is the Euclidean norm of its weights.

    With `n_features`, C is found from the data: doubled from the smallest that gives any feature a
    weight until enough have one, then halved between, ten times, towards the smallest such C; of
    the features with a weight there the `n_features` with the largest are kept.

    Cost: liblinear's, for each C that is tried. Memory: the whole table, compressed, twice.

    Deviations: columns are divided by their standard deviation, and centred if they are mostly not
    zero, unless ``scale="none"``. liblinear penalises b, too. Equal weights: the lower arrival
    number wins; of copies of a column the order in which liblinear visits them, drawn from the
    seed, decides which one gets the weight.

    Parameters
    ----------
    C : float, default=0.1
        The cost of errors; not used with `n_features`.
    n_features : int, optional
        How many to keep, instead of C.
    scale : {"std", "none"}, default="std"
        Whether columns are divided by their standard deviation.
    max_iter : int, default=5000
        Iterations of liblinear.
    random_state : int, default=0
        For liblinear's order of coordinates.

    Attributes
    ----------
    ranking_ : ndarray of int
        Kept features, the largest weight first.
    C_ : float
        The C in use.
    n_iter_ : int
        Iterations of liblinear, at most.
    log_ : DecisionLog
        What happened to every feature, and why; its relevance is the size of the weight.

    References
    ----------
    J. Zhu, S. Rosset, T. Hastie, R. Tibshirani. 1-norm support vector machines. NIPS 2003. With
    squared errors as in R.-E. Fan et al. LIBLINEAR. JMLR 9, 2008. doi:10.5555/1390681.1442794

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = rng.normal(size=(200, 20))
    >>> X[:, 7] += y
    >>> X[:, 11] -= 2 * y
    >>> sel = tamis.L1SVM(n_features=2).fit(X, y)
    >>> sel.ranking_
    array([11,  7])
    >>> print(sel.log_.why("x3"))
    x3 was dropped: its weight is 0 in the model with C=0.0129
    """

    name: ClassVar[str] = "l1-svm"
    only_classes: ClassVar[bool] = True

    model_reasons: ClassVar[Mapping[str, Reason]] = {
        "zero": when_irrelevant("{name} was dropped: its weight is 0 in the model with {model}"),
        "below": when_irrelevant("{name} was dropped: |w({name})|={relevance} is not above {cut}"),
        "kept": when_kept(
            "{name} is kept: |w({name})|={relevance} is number {value} from the top in the model "
            "with {model}"
        ),
    }

    C: float = param(0.1, Number(0, open_low=True))
    n_features: int | None = param(None, Number(1, integer=True), None)
    scale: str = param("std", OneOf(("std", "none")))
    max_iter: int = param(5000, Number(1, integer=True))
    random_state: int = param(0, Number(0, 2**31 - 1, integer=True))

    def begin(self, target: Target) -> None:
        """Begin without a fit."""
        super().begin(target)
        self.C_, self.n_iter_ = float(self.C), 0

    def find(self, table: Table) -> Found:
        """Fit the machine, at the C that keeps enough features if that is given."""
        codes = table.target.codes
        X = (table.scaled() if self.scale == "std" else table.matrix).tocsr()
        if self.n_features is None:
            weights = self._weights(X, codes, self.C)
        else:
            self.C_, weights = self._search(X, codes, self.n_features)
        order = np.argsort(-weights, kind="stable")[: self.n_features]
        ranking = order[weights[order] > 0]
        why = np.where(weights > 0, self.code("below"), self.code("zero")).astype(np.uint8)
        return Found(ranking, weights, why, {"model": f"C={self.C_:.3g}"})

    def _weights(self, X: Any, codes: Any, C: float) -> Floats:
        """Return the size of the weight of every column."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC

        machine = LinearSVC(
            penalty="l1", dual=False, C=C, max_iter=self.max_iter, random_state=self.random_state
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            machine.fit(X, codes)
        if any(issubclass(w.category, ConvergenceWarning) for w in caught):
            warn(
                f"L1SVM: liblinear did not end in max_iter={self.max_iter} rounds, so the weights "
                "are rough; give a larger max_iter or a smaller C",
            )
        self.n_iter_ = max(self.n_iter_, int(machine.n_iter_))
        weights: Floats = np.sqrt((machine.coef_**2).sum(axis=0))
        return weights

    def _search(self, X: Any, codes: Any, wanted: int) -> tuple[float, Floats]:
        """Return the smallest C, to a thousandth of a doubling, that keeps enough features."""
        from sklearn.svm import l1_min_c

        try:
            low = float(l1_min_c(X, codes, loss="squared_hinge"))
        except ValueError:  # no column is related to the classes: no C gives a weight
            return float(self.C), self._weights(X, codes, self.C)
        high, weights = low, np.zeros(X.shape[1])
        for _ in range(DOUBLINGS):
            low, high = high, 2 * high
            weights = self._weights(X, codes, high)
            if np.count_nonzero(weights) >= wanted:
                break
        else:
            return high, weights
        for _ in range(HALVINGS):
            middle = float(np.sqrt(low * high))
            tried = self._weights(X, codes, middle)
            if np.count_nonzero(tried) < wanted:
                low = middle
            else:
                high, weights = middle, tried
        return high, weights
