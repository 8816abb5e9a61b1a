"""MergedSOFS: one SOFS for each share of the rows, merged by precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tamis.core.params import Number, Range
from tamis.methods.online.few_kept import FEW_RANGES
from tamis.methods.online.shards import Shards
from tamis.methods.online.sofs import SOFS
from tamis.methods.online.weights import MOST_SLOTS


class MergedSOFS(SOFS):
    """SOFS on several shares of the rows at once, merged by precision when it is asked.

    Row r goes to learner s = r mod S, each of which is a SOFS of its own. Their weights are
    Gaussian posteriors with the same prior (mean 0, precision 1), so they are multiplied, the prior
    counted once: with a_sj = sum of x_j^2 / gamma over the updates of shard s,
    1/Sigma_j = 1 + sum_s a_sj and mu_j = sum_s (1 + a_sj) mu_sj Sigma_j. The B features of
    smallest Sigma_j are kept (with k > 2 classes: of highest C_j = k - sum_i Sigma_ij), and the
    others' mu_j is 0.

    It is not SOFS: a shard learns from its own mistakes only, so more rows have loss, and a feature
    that a shard did not keep brings no mean from there. With one shard it equals SOFS to the bit.
    The model is the same for every chunking of the rows.

    Cost: that of SOFS in all, on S threads or machines (``tamis learn --cluster``, where a file or
    a range of its rows is a shard); S times its memory. Merging takes time in proportion to the
    features seen.

    Among features of the same rank, those that more shards keep come first, then lower numbers.

    Parameters
    ----------
    n_features : int, default=500
        B above, of each shard and of the merged model.
    gamma : float, default=1.0
        The smaller, the bolder the steps, and the faster confidence grows.
    shards : int, default=2
        S above.
    multiclass, passes, normalize, n_columns, n_bits, classes
        As for `SOFS`.

    Attributes
    ----------
    classes_, kept_, weights_, confidence_, n_features_, size_curve_, work_
        As for `SOFS`. Mistakes are those of each shard on its own rows.

    References
    ----------
    Y. Wu, S. C. H. Hoi, T. Mei, N. Yu. Large-Scale Online Feature Selection for Ultra-High
    Dimensional Sparse Data. ACM Transactions on Knowledge Discovery from Data 11(4), 2017.
    doi:10.1145/3070646. Merging is not part of it.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40)) * (rng.random((500, 40)) < 0.3)
    >>> X[:, [3, 30]] = rng.normal(size=(500, 2))
    >>> y = X[:, 3] - X[:, 30] > 0
    >>> MergedSOFS(n_features=2, shards=4).fit(X, y).kept_
    array([ 3, 30])
    """

    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {
        **FEW_RANGES,
        "n_features": Number(1, MOST_SLOTS, integer=True),
        "gamma": Number(0, open_low=True),
        "shards": Number(1, integer=True),
    }
    _model: Shards  # type: ignore[assignment]

    #: What `SOFS` tries with "auto", which there is none of here.
    sizes = None

    def __init__(
        self,
        n_features: int = 500,
        gamma: float = 1.0,
        shards: int = 2,
        *,
        multiclass: str = "max",
        passes: int = 1,
        normalize: bool = False,
        n_columns: int | None = None,
        n_bits: int | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.n_features = n_features
        self.gamma = gamma
        self.shards = shards
        self.multiclass = multiclass
        self.passes = passes
        self.normalize = normalize
        self.n_columns = n_columns
        self.n_bits = n_bits
        self.classes = classes

    def _new_model(self, blocks: int) -> Shards:  # type: ignore[override]
        return Shards(self.shards, int(self.n_features), blocks)
