"""OGD: online gradient descent with every feature, a baseline."""

from __future__ import annotations

from typing import Any, ClassVar

from tamis.core.params import Number, OneOf
from tamis.methods.online.learner import OnlineLearner


class OgdLearner(OnlineLearner):
    """Online gradient descent on the hinge loss; keeps every feature.

    For each row (x, y), y = -1 or 1, where max(0, 1 - y w.x) is above 0: w += eta_t y x, with
    eta_t = eta / sqrt(t) at row t, or eta. The baseline to compare `PET` and `FOFS` with.

    Cost: O(m) per row of m nonzeros. Memory: eight bytes per column, touched only where features
    were seen.

    Parameters
    ----------
    eta : float, default=0.2
        The learning rate.
    decay : {"sqrt", "none"}
        Whether the rate falls with the square root of the number of rows.

    References
    ----------
    M. Zinkevich. Online Convex Programming and Generalized Infinitesimal Gradient Ascent. ICML
    2003.

    Examples
    --------
    >>> import numpy as np, tamis
    >>> X = np.random.default_rng(0).normal(size=(500, 40))
    >>> tamis.OGD().fit(X, X[:, 3] > X[:, 30]).kept_.shape
    (40,)
    """

    public_name: ClassVar[str] = "OGD"
    ranges: ClassVar = {
        "eta": Number(0, open_low=True),
        "decay": OneOf(("sqrt", "none")),
    }

    def __init__(self, eta: float = 0.2, *, decay: str = "sqrt", **options: Any) -> None:
        OnlineLearner.__init__(self, **options)
        self.eta, self.decay = eta, decay

    @property
    def rates(self) -> tuple[float, ...]:
        """Return eta, and whether it falls."""
        return self.eta, self.decay == "sqrt"
