"""MergedRowSieve: one RowSieve for each share of the rows, merged by precision."""

from __future__ import annotations

from typing import Any, ClassVar

from tamis.methods.online.learner import OnlineLearner
from tamis.methods.online.row_sieve import GAMMA, SieveRates
from tamis.methods.online.shards import MergedLearner


class MergedRowSieveLearner(SieveRates, MergedLearner):
    """RowSieve on several shares of the rows at once, merged by precision.

    Row r goes to learner s = r mod S, each of which is a `RowSieve` of its own. They are merged as
    in `MergedSOFS`: p_j = sum_s p_sj and mu_j = sum_s (1 + p_sj) mu_sj / (1 + p_j), also for
    features that a shard does not keep, because it remembers them. The B features of largest
    z_j = mu_j^2 (1 + p_j) are kept.

    It is not RowSieve: a shard learns from its own mistakes only, so more rows have loss. With one
    shard it equals RowSieve, bit for bit. The model is the same for every chunking of the rows.

    Cost: that of RowSieve in all, on S threads or machines (``tamis learn --cluster``, where a file
    or a range of its rows is a shard); S times its memory. Merging takes time in proportion to the
    features seen.

    Among features of the same rank, those that more shards keep come first, then lower numbers.

    References
    ----------
    docs/row-sieve.md

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40)) * (rng.random((500, 40)) < 0.3)
    >>> tamis.MergedRowSieve(n_features=2, shards=4).fit(X, X[:, 3] > X[:, 30]).kept_
    array([ 3, 30])
    """

    public_name: ClassVar[str] = "MergedRowSieve"
    by_strength: ClassVar[bool] = True

    def __init__(
        self,
        n_features: int = 500,
        gamma: float = GAMMA,
        advantage: float = 2.0,
        floor: float = 0.0,
        shards: int = 2,
        **options: Any,
    ) -> None:
        OnlineLearner.__init__(self, **options)
        self.n_features, self.gamma, self.shards = n_features, gamma, shards
        self.advantage, self.floor = advantage, floor
