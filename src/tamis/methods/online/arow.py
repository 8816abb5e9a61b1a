"""AROW: adaptive regularisation of weights with every feature, a baseline."""

from __future__ import annotations

from typing import Any, ClassVar

from tamis.methods.online.learner import OnlineLearner, SecondOrderLearner


class ArowLearner(SecondOrderLearner):
    """Adaptive regularisation of weights, with a diagonal covariance; keeps every feature.

    The update of `SOFS` without its truncation, and the baseline to compare it with: with room for
    every feature, SOFS is AROW, bit for bit.

    Cost: O(m) per row of m nonzeros. Memory: twelve bytes per column, touched only where features
    were seen.

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze. Adaptive Regularization of Weight Vectors. NIPS 2009; Machine
    Learning 91, 2013. doi:10.1007/s10994-013-5327-x

    Examples
    --------
    >>> import numpy as np, tamis
    >>> X = np.random.default_rng(0).normal(size=(500, 40))
    >>> tamis.AROW().fit(X, X[:, 3] > X[:, 30]).kept_.shape
    (40,)
    """

    public_name: ClassVar[str] = "AROW"

    def __init__(self, gamma: float = 1.0, **options: Any) -> None:
        OnlineLearner.__init__(self, **options)
        self.gamma = gamma
