"""PET: online gradient descent that keeps the largest weights."""

from __future__ import annotations

from typing import Any, ClassVar

from tamis.core.params import Number
from tamis.methods.online.kept_learner import KeptLearner


class PetLearner(KeptLearner):
    """Perceptron with truncation.

    For each row (x, y), y = -1 or 1: where the hinge loss max(0, 1 - y w.x) is above 0,
    w += eta y x; then the B largest |w_j| stay and the others become 0.

    Weights outside the kept set are 0, so only the row's own features can enter. The kept ones are
    a heap, and an update with m nonzeros costs O(m log B), whatever the number of columns. Memory:
    four bytes per column, touched only where features were kept, and O(B).

    Among features of the same rank the one that has been kept longer stays; of those that come with
    the same row, the one with the lower number.
    A weight that becomes exactly 0 stays in the kept set until another feature needs the slot.

    Deviations: with more than two classes, which the paper has for SOFS only, features are ranked
    by the norm of their weights. There is no intercept; add a column of ones.

    Parameters
    ----------
    eta : float, default=0.2
        The learning rate.

    References
    ----------
    Wu, Hoi, Mei, Yu, 2017, as for `SOFS`. doi:10.1145/3070646

    Examples
    --------
    >>> import numpy as np, tamis
    >>> X = np.random.default_rng(0).normal(size=(500, 40))
    >>> tamis.PET(2, eta=0.01).fit(X, X[:, 3] > X[:, 30]).kept_
    array([ 3, 30])
    """

    public_name: ClassVar[str] = "PET"
    ranges: ClassVar = {"eta": Number(0, open_low=True)}

    def __init__(self, n_features: int | str = 500, eta: float = 0.2, **options: Any) -> None:
        KeptLearner.__init__(self, n_features, **options)
        self.eta = eta

    @property
    def rates(self) -> tuple[float, ...]:
        """Return eta, and no shrinking."""
        return self.eta, 0.0
