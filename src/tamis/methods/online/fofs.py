"""FOFS: first-order online feature selection."""

from __future__ import annotations

from typing import Any, ClassVar

from tamis.core.errors import ParameterError
from tamis.core.params import Number
from tamis.methods.online.kept_learner import KeptLearner


class FofsLearner(KeptLearner):
    """First-order online feature selection: regularised gradient descent with truncation.

    For each row (x, y), y = -1 or 1: where the hinge loss max(0, 1 - y w.x) is above 0,
    w = (1 - lam eta) w + eta y x; then w is scaled down to the ball |w| <= 1/sqrt(lam); then the B
    largest |w_j| stay and the others become 0.

    Shrinking and scaling multiply all weights by the same number, which is stored separately, so
    the order of the weights does not change; the norm is carried along, with what rounding drops.
    An update with m nonzeros costs O(m log B). Memory: as for `PET`.

    Among features of the same rank the one that has been kept longer stays; of those that come with
    the same row, the one with the lower number.

    Deviations: those of `PET`. The authors' program refreshes only the row's own magnitudes after
    shrinking all, so it compares numbers of different rows; here all are of the same row.

    Parameters
    ----------
    eta : float, default=0.2
        The learning rate.
    lam : float, default=0.01
        The regularisation; eta times lam must be below 1.

    References
    ----------
    Wu, Hoi, Mei, Yu, 2017, as for `SOFS`. doi:10.1145/3070646

    Examples
    --------
    >>> import numpy as np, tamis
    >>> X = np.random.default_rng(0).normal(size=(500, 40))
    >>> tamis.FOFS(2).fit(X, X[:, 3] > X[:, 30]).kept_
    array([ 3, 30])
    """

    public_name: ClassVar[str] = "FOFS"
    ranges: ClassVar = {
        "eta": Number(0, open_low=True),
        "lam": Number(0, open_low=True),
    }

    def __init__(
        self, n_features: int | str = 500, eta: float = 0.2, lam: float = 0.01, **options: Any
    ) -> None:
        KeptLearner.__init__(self, n_features, **options)
        self.eta, self.lam = eta, lam

    def check_params(self) -> None:
        """Check that shrinking leaves something."""
        super().check_params()
        if self.eta * self.lam >= 1:
            raise ParameterError(
                f"FOFS: eta={self.eta} times lam={self.lam} is not below 1, so that every update "
                "would set all weights to 0"
            )

    @property
    def rates(self) -> tuple[float, ...]:
        """Return eta and lam."""
        return self.eta, self.lam
