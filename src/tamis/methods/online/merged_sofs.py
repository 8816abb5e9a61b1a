"""MergedSOFS: one SOFS for each share of the rows, merged by precision."""

from __future__ import annotations

from typing import Any, ClassVar

from tamis.methods.online.learner import OnlineLearner
from tamis.methods.online.shards import MergedLearner


class MergedSofsLearner(MergedLearner):
    """SOFS on several shares of the rows at once, merged by precision.

    Row r goes to learner s = r mod S, each of which is a SOFS of its own. Their weights are
    Gaussian posteriors with the same prior (mean 0, precision 1), so they are multiplied, the prior
    counted once: with a_sj = sum of x_j^2 / gamma over the updates of shard s,
    1/Sigma_j = 1 + sum_s a_sj and mu_j = sum_s (1 + a_sj) mu_sj Sigma_j. The B features of
    smallest Sigma_j are kept (with k > 2 classes: of highest C_j = k - sum_i Sigma_ij), and the
    others' mu_j is 0.

    It is not SOFS: a shard learns from its own mistakes only, so more rows have loss, and a feature
    that a shard did not keep has no mean there. With one shard it equals SOFS, bit for bit. The
    model is the same for every chunking of the rows.

    Cost: that of SOFS in all, on S threads or machines (``tamis learn --cluster``, where a file or
    a range of its rows is a shard); S times its memory. Merging takes time in proportion to the
    features seen.

    Among features of the same rank, those that more shards keep come first, then lower numbers.

    References
    ----------
    Wu, Hoi, Mei, Yu, 2017, as for `SOFS`. doi:10.1145/3070646. Merging is not part of the paper.

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40)) * (rng.random((500, 40)) < 0.3)
    >>> X[:, [3, 30]] = rng.normal(size=(500, 2))
    >>> tamis.MergedSOFS(n_features=2, shards=4).fit(X, X[:, 3] > X[:, 30]).kept_
    array([ 3, 30])
    """

    public_name: ClassVar[str] = "MergedSOFS"

    def __init__(
        self, n_features: int = 500, gamma: float = 1.0, shards: int = 2, **options: Any
    ) -> None:
        OnlineLearner.__init__(self, **options)
        self.n_features, self.gamma, self.shards = n_features, gamma, shards
