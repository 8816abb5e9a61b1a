"""OGD: online gradient descent with every feature, a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Unpack

from tamis.core.blocks import Compressed
from tamis.core.params import Number, OneOf, Range
from tamis.methods.online.learner import OnlineLearner, StreamOptions
from tamis.methods.online.weights import FullWeights, Ints


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
    [options]

    Attributes
    ----------
    [learned]
    confidence_ : ndarray
        |w_j|; with more than two classes the norm of the feature's weights.

    References
    ----------
    M. Zinkevich. Online Convex Programming and Generalized Infinitesimal Gradient Ascent. ICML
    2003.

    Examples
    --------
    [rows]
    >>> model = tamis.OGD().fit(X, y)
    >>> len(model.kept_)
    40
    >>> print(f"{model.score(X, y):.2f}")
    0.96
    """

    public_name: ClassVar[str] = "OGD"
    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {
        "eta": Number(0, open_low=True),
        "decay": OneOf(("sqrt", "none")),
    }

    model: FullWeights

    def __init__(
        self, eta: float = 0.2, *, decay: str = "sqrt", **options: Unpack[StreamOptions]
    ) -> None:
        super().__init__(**options)
        self.eta, self.decay = eta, decay

    def new_model(self, blocks: int) -> FullWeights:
        """Return weights for every feature."""
        return FullWeights(blocks, second_order=False)

    def update(self, rows: Compressed, codes: Ints) -> None:
        """Take gradient steps."""
        decay, uniform = self.decay == "sqrt", self.multiclass == "uniform"
        self.model.learn_first_order(rows, codes, self.eta, decay, uniform)
