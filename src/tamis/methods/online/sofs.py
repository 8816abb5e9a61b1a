"""SOFS: second-order online feature selection."""

from __future__ import annotations

from typing import Any, ClassVar

from tamis.methods.online.kept_learner import KeptLearner
from tamis.methods.online.learner import SecondOrderLearner


class SofsLearner(SecondOrderLearner, KeptLearner):
    """Second-order online feature selection: keeps the weights it is most sure of.

    Each weight has a mean mu_j = 0 and a variance Sigma_j = 1 at first. For each row (x, y),
    y = -1 or 1, with m = max(0, 1 - y mu.x) above 0, and beta = 1/(x' Sigma x + gamma):
    mu_j += beta m y Sigma_j x_j, then 1/Sigma_j += x_j^2 / gamma, and the B features of smallest
    Sigma_j keep their mu_j; the others' become 0, while their Sigma_j stays.

    With k > 2 classes, mu and Sigma have k blocks and y x is replaced by the contrast of the true
    class with its rivals; features are ranked by C_j = k - sum_i Sigma_ij.

    Sigma never grows, so confidence in a kept feature only grows; only the row's own features can
    enter. An update with m nonzeros costs O(m log B). Memory: one float32 per column (k with more
    classes), the accumulated sum of x_j^2 / gamma, touched only where features were seen, and
    O(B): a billion columns take 4 GB at most. A float32 that has grown to 2^24 times the next
    addition no longer grows: after so many equal additions features are tied.

    Among features of the same rank the one that has been kept longer stays; of those that come with
    the same row, the one with the lower number.
    A feature that was never seen is never kept.

    The ranking is in effect by frequency: labels enter only through which rows have loss.
    Features on very different scales should be standardised, or their scale decides.

    Deviations: the authors' heap starts as features 1 to B; here only features that were seen are
    kept. There is no intercept; add a column of ones.

    References
    ----------
    Y. Wu, S. C. H. Hoi, T. Mei, N. Yu. Large-Scale Online Feature Selection for Ultra-High
    Dimensional Sparse Data. ACM Transactions on Knowledge Discovery from Data 11(4), 2017.
    doi:10.1145/3070646

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40)) * (rng.random((500, 40)) < 0.3)
    >>> X[:, [3, 30]] = rng.normal(size=(500, 2))
    >>> y = X[:, 3] - X[:, 30] > 0
    >>> model = tamis.SOFS(n_features=2).partial_fit(X[:300], y[:300], classes=[False, True])
    >>> model = model.partial_fit(X[300:], y[300:])
    >>> model.kept_
    array([ 3, 30])
    >>> print(f"{model.score(X, y):.2f}")
    0.99
    """

    public_name: ClassVar[str] = "SOFS"

    def __init__(self, n_features: int | str = 500, gamma: float = 1.0, **options: Any) -> None:
        KeptLearner.__init__(self, n_features, **options)
        self.gamma = gamma
