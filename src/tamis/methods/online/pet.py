"""PET: online gradient descent that keeps the largest weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Unpack

from tamis.core.blocks import Compressed
from tamis.core.params import Number, Range
from tamis.methods.online.kept_learner import KeptLearner
from tamis.methods.online.learner import StreamOptions
from tamis.methods.online.weights import Ints


class PetLearner(KeptLearner):
    """Perceptron with truncation.

    For each row (x, y), y = -1 or 1: where the hinge loss max(0, 1 - y w.x) is above 0,
    w += eta y x; then the B largest |w_j| stay and the others become 0.

    Weights outside the kept set are 0, so only the row's own features can enter. The kept ones are
    a heap, and an update with m nonzeros costs O(m log B), whatever the number of columns. Memory:
    four bytes per column, touched only where features were kept, and O(B).

    [ties]
    A weight that becomes exactly 0 stays in the kept set until another feature needs the slot.

    Deviations: with more than two classes, which the paper has for SOFS only, features are ranked
    by the norm of their weights. There is no intercept; add a column of ones.

    Parameters
    ----------
    [size]
    eta : float, default=0.2
        The learning rate.
    [sizes]
    [options]

    Attributes
    ----------
    [learned]
    confidence_ : ndarray
        |w_j|; with more than two classes the norm of the feature's weights.
    [learned sizes]

    References
    ----------
    [paper]

    Examples
    --------
    [rows]
    >>> model = tamis.PET(n_features=2).fit(X, y)
    >>> model.kept_
    array([ 3, 30])
    >>> print(f"{model.score(X, y):.2f}")
    0.99
    """

    public_name: ClassVar[str] = "PET"
    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {"eta": Number(0, open_low=True)}

    def __init__(
        self,
        n_features: int | str = 500,
        eta: float = 0.2,
        *,
        sizes: Sequence[int] | None = None,
        **options: Unpack[StreamOptions],
    ) -> None:
        super().__init__(**options)
        self.n_features, self.eta, self.sizes = n_features, eta, sizes

    def update(self, rows: Compressed, codes: Ints) -> None:
        """Take gradient steps and keep the largest weights."""
        self.model.learn_first_order(rows, codes, self.eta, 0.0, self.multiclass == "uniform")
