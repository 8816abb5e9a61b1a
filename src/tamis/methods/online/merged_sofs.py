"""MergedSOFS: one SOFS for each share of the rows, merged by precision.

Each model is a Gaussian posterior with the same prior (mean 0, precision 1 for each weight), so
their product, with the prior counted once, is one too: precisions that the shards have added are
summed, and means are weighted by precision.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tamis.core.blocks import Compressed
from tamis.core.params import Number
from tamis.kernels import heap
from tamis.kernels.threads import over_columns
from tamis.methods.online.kept_learner import SIZE, KeptLearner, Several
from tamis.methods.online.learner import OnlineLearner, SecondOrderLearner
from tamis.methods.online.weights import Floats, Ints, KeptWeights, Learned, ListedWeights

#: Features, in increasing order; the precision each has accumulated; its means; whether it is kept.
Posterior = tuple[Ints, Floats, Floats, Ints]


def posterior_of(model: KeptWeights) -> Posterior:
    """Return all that a shard knows about the features it has seen."""
    marks, slots = model.marks.view, model.slots()
    filled: Ints = np.flatnonzero(marks.reshape(-1))  # in order
    features = filled if model.blocks == 1 else np.unique(filled // model.blocks)
    added = marks[features].astype(np.float64)
    means, kept = np.zeros_like(added), np.zeros(len(features), dtype=np.int64)
    indices = np.searchsorted(features, model.feature[slots])
    added[indices], means[indices], kept[indices] = model.held[slots], model.weight[slots], 1
    return features, added, means, kept


def merged(parts: list[Posterior], size: int) -> Learned:
    """Return the features of highest precision in the product of posteriors: means, precisions.

    Of features of the same precision, those that more shards keep come first, then lower numbers.
    """
    features = np.unique(np.concatenate([part[0] for part in parts]))
    blocks = parts[0][1].shape[1]
    added, means = np.zeros((len(features), blocks)), np.zeros((len(features), blocks))
    kept = np.zeros(len(features), dtype=np.int64)
    indices = [np.searchsorted(features, part[0]) for part in parts]
    for at, part in zip(indices, parts, strict=True):
        added[at] += part[1]
        kept[at] += part[3]
    for at, part in zip(indices, parts, strict=True):
        # The share is exactly 1 where one shard alone has seen a feature.
        means[at] += part[2] * ((1.0 + part[1]) / (1.0 + added[at]))
    rank = added[:, 0]
    if blocks > 1:  # added up class by class, so rounded as in the kernels
        rank = -sum((1.0 / (1.0 + block) for block in added.T), np.zeros(len(added)))
    known = np.flatnonzero(rank > (-blocks if blocks > 1 else 0))
    if len(known) > size:  # sort only those that can be among the best
        lowest = np.partition(rank[known], len(known) - size)[len(known) - size]
        known = known[rank[known] >= lowest]
    best = known[np.lexsort((features[known], -kept[known], -rank[known]))[:size]]
    best = best[np.argsort(features[best])]
    return Learned(features[best], means[best], added[best])


class Shards(Several):
    """Models of one share of the rows each: row r goes to model r modulo their number."""

    def __init__(self, shards: int, size: int, blocks: int) -> None:
        self.size, self.blocks = size, blocks
        self.models = [KeptWeights(size, blocks, second_order=True) for _ in range(shards)]
        self._merged: Learned | None = None

    def learn(self, rows: Compressed, codes: Ints, rates: tuple[float, ...], uniform: bool) -> None:
        """Update every model with its rows."""
        self._merged = None
        shards, seen = len(self.models), int(self.counts[heap.ROWS])

        def some(first: int, last: int) -> None:
            for s in range(first, last):
                mine = np.arange((s - seen) % shards, len(codes), shards)
                part = rows if shards == 1 else rows.pick(mine)
                self.models[s].learn(part, codes[mine], rates, uniform)

        # Threads split models, which share nothing.
        over_columns(some, np.arange(shards + 1) * rows.stored // shards)

    @property
    def counts(self) -> Ints:
        """Counted work of all models."""
        return np.asarray(sum(model.counts for model in self.models))

    def learned(self) -> Learned:
        """Return the kept features, their weights and their precisions, merged."""
        if self._merged is None:
            self._merged = merged([posterior_of(model) for model in self.models], self.size)
        return self._merged

    def scores(self, rows: Compressed) -> Floats:
        """Return one score per row and block."""
        kept, weights, _ = self.learned()
        return ListedWeights(kept, weights).scores(rows)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_merged": None}


class MergedSofsLearner(SecondOrderLearner):
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

    Parameters
    ----------
    n_features : int, default=500
        B above, of each shard and of the merged model.
    shards : int, default=2
        S above.

    Attributes
    ----------
    n_features_ : int
        B.
    size_curve_ : dict
        Progressive error by size: one entry. Mistakes are those of each shard on its own rows.

    References
    ----------
    Wu, Hoi, Mei, Yu, 2017, as for `SOFS`. doi:10.1145/3070646. Merging is not part of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import MergedSOFS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40)) * (rng.random((500, 40)) < 0.3)
    >>> X[:, [3, 30]] = rng.normal(size=(500, 2))
    >>> MergedSOFS(n_features=2, shards=4).fit(X, X[:, 3] > X[:, 30]).kept_
    array([ 3, 30])
    """

    public_name: ClassVar[str] = "MergedSOFS"
    ranges: ClassVar = {
        "n_features": SIZE,
        "shards": Number(1, integer=True),
    }

    model: Shards

    def __init__(
        self, n_features: int = 500, gamma: float = 1.0, shards: int = 2, **options: Any
    ) -> None:
        OnlineLearner.__init__(self, **options)
        self.n_features, self.gamma, self.shards = n_features, gamma, shards

    def new_model(self, blocks: int) -> Shards:
        """Return one model per shard."""
        return Shards(self.shards, int(self.n_features), blocks)

    n_features_ = KeptLearner.n_features_
    size_curve_ = KeptLearner.size_curve_
