"""PET: online gradient descent that keeps the largest weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tamis.core.blocks import Compressed
from tamis.core.params import Number, Range
from tamis.methods.online.few_kept import FEW_RANGES, FewKept
from tamis.methods.online.weights import Ints


class PET(FewKept):
    """Perceptron with truncation.

    For each row (x, y), y = -1 or 1: where the hinge loss max(0, 1 - y w.x) is above 0,
    w += eta y x; then the B largest |w_j| stay and the others become 0.

    Weights outside the kept set are 0, so only the row's own features can enter. The kept ones are
    a heap, and an update with m features that are not 0 costs O(m log B), whatever the number of
    columns. Memory: four bytes a column, touched only where features were kept, and O(B).

    Among features of the same rank the one that has been kept longer stays; of those that come with
    the same row, the one with the lower number.
    A weight that comes to exactly 0 stays on the list until another feature needs the place.

    Deviations: with more than two classes, which the paper has for SOFS only, features are ranked
    by the norm of their weights. There is no intercept; add a column of ones.

    Parameters
    ----------
    n_features : int or "auto", default=500
        B above. With "auto" all of `sizes` learn side by side, each a model of its own, and the
        smallest is in force whose progressive error (predictions made before the row was learned,
        on the latest half of the rows or a little more) is within one standard error of the
        fewest. That takes the time and the memory of as many models as there are sizes: eleven
        times four bytes a column unless told. Rows that come again (`passes`) count like new ones,
        which flatters large sizes.
    eta : float, default=0.2
        The learning rate.
    multiclass : {"max", "uniform"}
        With more than two classes, which wrong classes a row moves down: the one that scores
        highest, or all that score at least as high as the true one, in equal shares.
    sizes : sequence of int, optional
        The sizes that "auto" tries; default: 4, 8, 16, ..., 4096.
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
        |w_j|; with more than two classes the norm of the feature's weights.
    n_features_ : int
        B; with "auto" the size in force.
    size_curve_ : dict
        Progressive error of each size that was tried; `work_` is that of the sizes that led.
    work_ : dict
        Counted work: rows, updates, mistakes, nonzeros of updates, features that entered, heap
        steps.

    References
    ----------
    Y. Wu, S. C. H. Hoi, T. Mei, N. Yu. Large-Scale Online Feature Selection for Ultra-High
    Dimensional Sparse Data. ACM Transactions on Knowledge Discovery from Data 11(4), 2017.
    doi:10.1145/3070646

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40)) * (rng.random((500, 40)) < 0.3)
    >>> X[:, [3, 30]] = rng.normal(size=(500, 2))
    >>> y = X[:, 3] - X[:, 30] > 0
    >>> model = PET(n_features=2).partial_fit(X[:300], y[:300], classes=[False, True])
    >>> model = model.partial_fit(X[300:], y[300:])
    >>> model.kept_
    array([ 3, 30])
    >>> print(f"{model.score(X, y):.2f}")
    0.99
    """

    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {
        **FEW_RANGES,
        "eta": Number(0, open_low=True),
    }
    second_order: ClassVar[bool] = False

    def __init__(
        self,
        n_features: int | str = 500,
        eta: float = 0.2,
        *,
        sizes: Sequence[int] | None = None,
        multiclass: str = "max",
        passes: int = 1,
        normalize: bool = False,
        n_columns: int | None = None,
        n_bits: int | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.n_features = n_features
        self.eta = eta
        self.sizes = sizes
        self.multiclass = multiclass
        self.passes = passes
        self.normalize = normalize
        self.n_columns = n_columns
        self.n_bits = n_bits
        self.classes = classes

    def _take(self, rows: Compressed, codes: Ints) -> None:
        self._model.learn_first_order(rows, codes, self.eta, 0.0, self.multiclass == "uniform")
