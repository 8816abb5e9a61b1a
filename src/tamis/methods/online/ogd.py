"""OGD: online gradient descent with every feature, a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tamis.core.blocks import Compressed
from tamis.core.params import Number, OneOf, Range
from tamis.methods.online.learner import SHARED_RANGES, InstanceLearner
from tamis.methods.online.weights import FullWeights, Ints


class OGD(InstanceLearner):
    """Online gradient descent on the hinge loss; keeps every feature.

    For each row (x, y), y = -1 or 1, where max(0, 1 - y w.x) is above 0: w += eta_t y x, with
    eta_t = eta / sqrt(t) at row t, or eta. The baseline to compare `PET` and `FOFS` with.

    Cost: O(m) a row of m features that are not 0. Memory: eight bytes a column, touched only where
    features were seen.

    Parameters
    ----------
    eta : float, default=0.2
        The learning rate.
    decay : {"sqrt", "none"}
        Whether the rate falls with the square root of the number of rows.
    multiclass : {"max", "uniform"}
        With more than two classes, which wrong classes a row moves down: the one that scores
        highest, or all that score at least as high as the true one, in equal shares.
    passes : int, default=1
        How often `fit` goes over the rows; `partial_fit` goes over them once.
    normalize : bool, default=False
        Scale every row to length 1.
    n_columns : int, optional
        How many columns there are, where a stream does not say; higher numbers are refused.
    n_bits : int, optional
        Hash feature numbers and names to 2**n_bits buckets, for spaces without an end.
    classes : sequence, optional
        All classes, where the rows that come first may not show them.

    Attributes
    ----------
    classes_ : ndarray
        The classes, in order.
    kept_ : ndarray of int
        Kept features by number, rising.
    weights_ : ndarray
        Their weights: one each for two classes, else one column a class.
    confidence_ : ndarray
        |w_j|; with more than two classes the norm of the feature's weights.
    work_ : dict
        Counted work: rows, updates, mistakes, nonzeros of updates, features that entered, heap
        steps.

    References
    ----------
    M. Zinkevich. Online Convex Programming and Generalized Infinitesimal Gradient Ascent. ICML
    2003.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40)) * (rng.random((500, 40)) < 0.3)
    >>> X[:, [3, 30]] = rng.normal(size=(500, 2))
    >>> y = X[:, 3] - X[:, 30] > 0
    >>> model = OGD().partial_fit(X[:300], y[:300], classes=[False, True])
    >>> model = model.partial_fit(X[300:], y[300:])
    >>> len(model.kept_)
    40
    >>> print(f"{model.score(X, y):.2f}")
    0.96
    """

    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {
        "eta": Number(0, open_low=True),
        "decay": OneOf(("sqrt", "none")),
        **SHARED_RANGES,
    }

    _model: FullWeights

    def __init__(
        self,
        eta: float = 0.2,
        *,
        decay: str = "sqrt",
        multiclass: str = "max",
        passes: int = 1,
        normalize: bool = False,
        n_columns: int | None = None,
        n_bits: int | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.eta = eta
        self.decay = decay
        self.multiclass = multiclass
        self.passes = passes
        self.normalize = normalize
        self.n_columns = n_columns
        self.n_bits = n_bits
        self.classes = classes

    def _new_model(self, blocks: int) -> FullWeights:
        return FullWeights(blocks, second_order=False)

    def _take(self, rows: Compressed, codes: Ints) -> None:
        decay, uniform = self.decay == "sqrt", self.multiclass == "uniform"
        self._model.learn_first_order(rows, codes, self.eta, decay, uniform)
