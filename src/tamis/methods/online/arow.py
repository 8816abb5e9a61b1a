"""AROW: adaptive regularisation of weights with every feature, a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tamis.core.blocks import Compressed
from tamis.core.params import Number, Range
from tamis.methods.online.learner import SHARED_RANGES, InstanceLearner
from tamis.methods.online.weights import Floats, FullWeights, Ints, certainty


class AROW(InstanceLearner):
    """Adaptive regularisation of weights, with a diagonal covariance; keeps every feature.

    The update of `SOFS` without its truncation, and the baseline to compare it with: with room for
    every feature, SOFS is AROW, bit for bit.

    Cost: O(m) a row of m features that are not 0. Memory: twelve bytes a column, touched only where
    features were seen.

    Parameters
    ----------
    gamma : float, default=1.0
        The smaller, the bolder the steps, and the faster confidence grows.
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
        C_j = 1 - Sigma_j; with k > 2 classes k - sum_i Sigma_ij.
    work_ : dict
        Counted work: rows, updates, mistakes, nonzeros of updates, features that entered, heap
        steps.

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze. Adaptive Regularization of Weight Vectors. NIPS 2009; Machine
    Learning 91, 2013. doi:10.1007/s10994-013-5327-x

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40)) * (rng.random((500, 40)) < 0.3)
    >>> X[:, [3, 30]] = rng.normal(size=(500, 2))
    >>> y = X[:, 3] - X[:, 30] > 0
    >>> model = AROW().partial_fit(X[:300], y[:300], classes=[False, True])
    >>> model = model.partial_fit(X[300:], y[300:])
    >>> len(model.kept_)
    40
    >>> print(f"{model.score(X, y):.2f}")
    0.96
    """

    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {
        "gamma": Number(0, open_low=True),
        **SHARED_RANGES,
    }

    _model: FullWeights

    def __init__(
        self,
        gamma: float = 1.0,
        *,
        multiclass: str = "max",
        passes: int = 1,
        normalize: bool = False,
        n_columns: int | None = None,
        n_bits: int | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.gamma = gamma
        self.multiclass = multiclass
        self.passes = passes
        self.normalize = normalize
        self.n_columns = n_columns
        self.n_bits = n_bits
        self.classes = classes

    def _new_model(self, blocks: int) -> FullWeights:
        return FullWeights(blocks, second_order=True)

    def _take(self, rows: Compressed, codes: Ints) -> None:
        self._model.learn_second_order(rows, codes, self.gamma, self.multiclass == "uniform")

    def _confidence(self) -> Floats:
        return certainty(self._model.precision)
