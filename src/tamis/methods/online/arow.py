"""AROW: adaptive regularisation of weights with every feature, a baseline."""

from __future__ import annotations

from typing import ClassVar, Unpack

from tamis.methods.online.learner import SecondOrderLearner, StreamOptions
from tamis.methods.online.weights import FullWeights


class ArowLearner(SecondOrderLearner):
    """Adaptive regularisation of weights, with a diagonal covariance; keeps every feature.

    The update of `SOFS` without its truncation, and the baseline to compare it with: with room for
    every feature, SOFS is AROW, bit for bit.

    Cost: O(m) per row of m nonzeros. Memory: twelve bytes per column, touched only where features
    were seen.

    Parameters
    ----------
    gamma : float, default=1.0
        The smaller, the larger the steps, and the faster confidence grows.
    [options]

    Attributes
    ----------
    [learned]
    confidence_ : ndarray
        C_j = 1 - Sigma_j; with k > 2 classes k - sum_i Sigma_ij.

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze. Adaptive Regularization of Weight Vectors. NIPS 2009; Machine
    Learning 91, 2013. doi:10.1007/s10994-013-5327-x

    Examples
    --------
    [rows]
    >>> model = tamis.AROW().fit(X, y)
    >>> len(model.kept_)
    40
    >>> print(f"{model.score(X, y):.2f}")
    0.96
    """

    public_name: ClassVar[str] = "AROW"

    def __init__(self, gamma: float = 1.0, **options: Unpack[StreamOptions]) -> None:
        super().__init__(**options)
        self.gamma = gamma

    def new_model(self, blocks: int) -> FullWeights:
        """Return weights and precisions for every feature."""
        return FullWeights(blocks, second_order=True)
