"""RowSieve: keeps the features whose weights stand out most from their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tamis.core.blocks import Compressed
from tamis.core.errors import InputError
from tamis.core.params import Number
from tamis.kernels.binary import FILLED, TOTAL
from tamis.methods.online.kept_learner import KeptLearner, SideBySide
from tamis.methods.online.learner import SecondOrderLearner
from tamis.methods.online.weights import Floats, Goals, RememberedWeights

#: How fast it learns, by default; with one learner or with several.
GAMMA = 0.3

#: Weights are float32: rows of a mean squared length outside this range could leave its range.
LOWEST_LENGTH, HIGHEST_LENGTH = 1e-30, 1e30


class SieveRates(SecondOrderLearner):
    """What RowSieve and MergedRowSieve share.

    Parameters
    ----------
    gamma : float, default=0.3
        The smaller, the larger the steps, and the faster confidence grows. It counts in mean
        squared lengths of rows, so it does not depend on their scale.
    advantage : float, default=2.0
        h above: how many times as strong as the weakest kept feature a newcomer must be.
    floor : float, default=0.0
        rho above: features weaker than this share of the strongest are not kept, so that fewer
        than B may be. Try 0.003 to 0.03 if B may be more than is useful.

    Attributes
    ----------
    confidence_ : ndarray
        z_j = mu_j^2 / Sigma_j; with k > 2 classes the norm of k such numbers.
    """

    ranges: ClassVar = {
        "advantage": Number(1),
        "floor": Number(0, 1, open_high=True),
    }
    paper: ClassVar[Mapping[str, Any] | None] = None
    #: Values that `tune` tries by default.
    grid: ClassVar[Mapping[str, tuple[float, ...]]] = {
        "gamma": (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
    }

    advantage: float
    floor: float

    @property
    def rates(self) -> tuple[float, ...]:
        """Return gamma, advantage and floor."""
        return float(self.gamma), float(self.advantage), float(self.floor)

    @property
    def confidence_(self) -> Floats:
        """z_j = mu_j^2 / Sigma_j; with k > 2 classes the norm of k such numbers."""
        _, weights, precision = self.model.learned()
        if weights.shape[1] == 1:
            return weights[:, 0] * weights[:, 0] * (1.0 + precision[:, 0])
        found = np.zeros(len(weights))
        for w, p in zip(weights.T, precision.T, strict=True):  # as the kernels add them
            found += (w * w * (1.0 + p)) ** 2
        return np.sqrt(found)

    def update(self, rows: Compressed, goals: Goals) -> None:
        """Learn from checked and prepared rows of the classes with these codes."""
        super().update(rows, goals)
        for model in getattr(self.model, "models", [self.model]):
            length = model.scale[TOTAL] / max(model.scale[FILLED], 1.0)
            if length and not LOWEST_LENGTH < length < HIGHEST_LENGTH:
                raise InputError(
                    f"rows have a mean squared length of {length:g}, which is outside "
                    f"{LOWEST_LENGTH:g} to {HIGHEST_LENGTH:g}; scale the columns, or give "
                    "normalize=True (--normalize)"
                )

    def new_kept(self, size: int, blocks: int) -> RememberedWeights:
        """Return a model of the given size."""
        return RememberedWeights(size, blocks)


class RowSieveLearner(SieveRates, KeptLearner):
    """Keeps the features whose weights stand out most from their uncertainty.

    The kept features learn together, like those of `SOFS`. Each of the others learns as if it alone
    were added to them, so it is judged by what it would add; its weight takes no part in
    predictions. Features are ranked by signal to noise, so labels decide, not frequency: a rare
    feature that predicts is kept, a frequent one that does not is dropped. A newcomer replaces the
    weakest kept feature only if it is clearly stronger.

    Each weight has a mean mu_j = 0 and an added precision p_j = 0 at first; Sigma_j = 1/(1 + p_j).
    K is the set of kept features, and g = gamma times the mean squared length of the rows with loss
    so far. For each row (x, y), y = -1 or 1, with m = max(0, 1 - y sum_{j in K} mu_j x_j) above 0
    and v = sum_{j in K} x_j^2 Sigma_j:

    1. For the features of the row in K, mu_j += y m / (v + g) Sigma_j x_j.
    2. For each of the others, with m_j = max(0, m - y mu_j x_j),
       mu_j += y m_j / (v + x_j^2 Sigma_j + g) Sigma_j x_j. For all of them, then p_j += x_j^2 / g.
    3. z_j = mu_j^2 (1 + p_j). The features of the row that are not in K, the strongest first,
       enter while there is room; then while z_j / h is above the smallest z in K, whose feature
       leaves. Its mu and p are remembered. When a feature enters, its copies start again at
       mu = 0: those of the same row with the same z_j, p_j and mu_j x_j.
    4. With a floor rho: features with z_j / h up to rho times the largest z that a kept feature
       ever had do not enter, and those with z_j below rho times that leave.

    With k > 2 classes, mu and p have k numbers per feature, y x is replaced by the contrast of the
    true class with its rivals as in `SOFS`, and z_j is the norm of k such numbers.

    mu and p are rounded to float32 when they are stored, and z is computed from the stored numbers.
    An update with m nonzeros costs O(m log B). Memory: 8 bytes per column (8 k with k > 2 classes),
    touched only where features were seen, and O(B).

    Among features of the same strength the one that has been kept longer stays; of those that come
    with the same row, the one with the lower number. There is no intercept; add a column of ones.

    Parameters
    ----------
    n_features : int or "auto", default=500
        B above, the most that are kept. With "auto" all of `sizes` learn side by side, as in
        `SOFS`.
    drift : float, optional
        Watch for change, at this level of ADWIN's test (0.002 is usual): when the share of
        mistakes has risen, all p become 0, so that the weights can move, and a fresh model learns
        beside this one for up to 2,048 rows. It takes over when it is 16 mistakes ahead.

    Attributes
    ----------
    changes_ : list of int
        With `drift`, the numbers of rows seen when a change was found; the latest 256.

    References
    ----------
    docs/row-sieve.md has the evidence: where it wins, and where it loses. The steps are those of
    AROW (Crammer, Kulesza, Dredze, doi:10.1007/s10994-013-5327-x); the test for change is ADWIN
    (Bifet, Gavaldà, SDM 2007, doi:10.1137/1.9781611972771.42).

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40)) * (rng.random((500, 40)) < 0.3)
    >>> y = X[:, 3] - X[:, 30] > 0
    >>> model = tamis.RowSieve(n_features=2).partial_fit(X[:300], y[:300], classes=[False, True])
    >>> model = model.partial_fit(X[300:], y[300:])
    >>> model.kept_
    array([ 3, 30])
    >>> print(f"{model.score(X, y):.2f}")
    1.00
    """

    public_name: ClassVar[str] = "RowSieve"
    ranges: ClassVar = {"drift": (Number(0, 1, open_low=True, open_high=True), None)}

    def __init__(
        self,
        n_features: int | str = 500,
        gamma: float = GAMMA,
        advantage: float = 2.0,
        floor: float = 0.0,
        drift: float | None = None,
        **options: Any,
    ) -> None:
        KeptLearner.__init__(self, n_features, **options)
        self.gamma, self.advantage, self.floor, self.drift = gamma, advantage, floor, drift

    def new_kept(self, size: int, blocks: int) -> RememberedWeights:
        """Return a model of the given size."""
        return RememberedWeights(size, blocks, self.drift)

    @property
    def changes_(self) -> list[int]:
        """Numbers of rows seen when a change was found."""
        model = self.model.chosen if isinstance(self.model, SideBySide) else self.model
        assert isinstance(model, RememberedWeights)
        return [] if model.watch is None else model.watch.rows
