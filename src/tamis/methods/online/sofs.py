"""SOFS: second-order online feature selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tamis.core.blocks import Compressed
from tamis.core.params import Number, Range
from tamis.methods.online.few_kept import FEW_RANGES, FewKept
from tamis.methods.online.weights import Floats, Ints, certainty


class SOFS(FewKept):
    """Second-order online feature selection: keeps the weights it is most sure of.

    Each weight has a mean mu_j = 0 and a variance Sigma_j = 1 at first. For each row (x, y),
    y = -1 or 1, with m = max(0, 1 - y mu.x) above 0, and beta = 1/(x' Sigma x + gamma):
    mu_j += beta m y Sigma_j x_j, then 1/Sigma_j += x_j^2 / gamma, and the B features of smallest
    Sigma_j keep their mu_j; the others' become 0, while their Sigma_j stays.

    With k > 2 classes, mu and Sigma have k blocks and y x is replaced by the contrast of the true
    class with its rivals; features are ranked by C_j = k - sum_i Sigma_ij.

    Sigma never grows, so a kept feature only gets surer; only the row's own features can enter. An
    update with m features that are not 0 costs O(m log B). Memory: one float32 a column (k with
    more classes), the accumulated sum of x_j^2 / gamma, touched only where features were seen, and
    O(B): a billion columns take 4 GB at most. A float32 that has grown to 2^24 times what is added
    to it no longer grows: after so many equal additions features are tied.

    Among features of the same rank the one that has been kept longer stays; of those that come with
    the same row, the one with the lower number.
    A feature that was never seen is never kept.

    What it ranks by is in effect frequency: labels enter only through which rows have loss.
    Features on very different scales should be standardised, or their scale decides.

    Deviations: the authors' heap starts as features 1 to B; here nothing is kept that was not seen.
    There is no intercept; add a column of ones.

    Parameters
    ----------
    n_features : int or "auto", default=500
        B above. With "auto" all of `sizes` learn side by side, each a model of its own, and the
        smallest is in force whose progressive error (predictions made before the row was learned,
        on the latest half of the rows or a little more) is within one standard error of the
        fewest. That takes the time and the memory of as many models as there are sizes: eleven
        times four bytes a column unless told. Rows that come again (`passes`) count like new ones,
        which flatters large sizes.
    gamma : float, default=1.0
        The smaller, the bolder the steps, and the faster confidence grows.
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
        C_j = 1 - Sigma_j; with k > 2 classes k - sum_i Sigma_ij.
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
    >>> model = SOFS(n_features=2).partial_fit(X[:300], y[:300], classes=[False, True])
    >>> model = model.partial_fit(X[300:], y[300:])
    >>> model.kept_
    array([ 3, 30])
    >>> print(f"{model.score(X, y):.2f}")
    0.99
    """

    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {
        **FEW_RANGES,
        "gamma": Number(0, open_low=True),
    }
    second_order: ClassVar[bool] = True

    def __init__(
        self,
        n_features: int | str = 500,
        gamma: float = 1.0,
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
        self.gamma = gamma
        self.sizes = sizes
        self.multiclass = multiclass
        self.passes = passes
        self.normalize = normalize
        self.n_columns = n_columns
        self.n_bits = n_bits
        self.classes = classes

    def _take(self, rows: Compressed, codes: Ints) -> None:
        self._model.learn_second_order(rows, codes, self.gamma, self.multiclass == "uniform")

    def _confidence(self) -> Floats:
        return certainty(self._model.precision)
