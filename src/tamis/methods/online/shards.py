"""Several models of the same kind, each for a share of the rows, and what they come to together.

Each is a Gaussian posterior with the same prior (mean 0, precision 1 for each weight), so their
product, with the prior counted once, is one too: what the shards have added to the precision adds
up, and means are weighted by precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.core.blocks import Compressed
from tamis.kernels import heap
from tamis.kernels.rows import list_filled
from tamis.kernels.threads import over_columns
from tamis.methods.online.saved import ListedWeights
from tamis.methods.online.weights import Floats, Ints, KeptWeights

#: Features, rising; what each has accumulated of precision; its means; whether it is kept.
Posterior = tuple[Ints, Floats, Floats, Ints]


def posterior_of(model: KeptWeights) -> Posterior:
    """All that a shard knows about the features it has seen."""
    marks, slots = model.marks.view, model._slots()
    filled: Ints = list_filled(marks.reshape(-1))  # rising
    features = filled if model.blocks == 1 else np.unique(filled // model.blocks)
    added = marks[features].astype(np.float64)
    means, kept = np.zeros_like(added), np.zeros(len(features), dtype=np.int64)
    indices = np.searchsorted(features, model.feature[slots])
    added[indices], means[indices], kept[indices] = model.held[slots], model.weight[slots], 1
    return features, added, means, kept


def merged(parts: list[Posterior], size: int) -> tuple[Ints, Floats, Floats]:
    """The features of highest precision in the product of some posteriors: means and precisions.

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
    rank = _rank(added)
    known = np.flatnonzero(rank > -blocks if blocks > 1 else rank > 0)
    if len(known) > size:  # only those that can be among the best are put in order
        lowest = np.partition(rank[known], len(known) - size)[len(known) - size]
        known = known[rank[known] >= lowest]
    best = known[np.lexsort((features[known], -kept[known], -rank[known]))[:size]]
    best = best[np.argsort(features[best])]
    return features[best], means[best], added[best]


def _rank(added: Floats) -> Floats:
    """What features are ranked by, rounded as in the kernels."""
    if added.shape[1] == 1:
        return added[:, 0]
    doubt = np.zeros(len(added))
    for block in added.T:  # a class each
        doubt += 1.0 / (1.0 + block)
    return -doubt


class Shards:
    """Models for a share of the rows each: row r goes to model r modulo their number."""

    def __init__(self, shards: int, size: int, blocks: int) -> None:
        self.size, self.blocks = size, blocks
        self.models = [KeptWeights(size, blocks, second_order=True) for _ in range(shards)]
        self._merged: tuple[Ints, Floats, Floats] | None = None

    def reach(self, n_columns: int, *, more_may_come: bool = False) -> None:
        """Make room for features 0 to n_columns - 1."""
        for model in self.models:
            model.reach(n_columns, more_may_come=more_may_come)

    def learn_second_order(
        self, rows: Compressed, codes: Ints, gamma: float, uniform: bool
    ) -> None:
        """Let every model take its rows."""
        self._merged = None
        shards, seen = len(self.models), int(self.counts[heap.ROWS])

        def some(first: int, last: int) -> None:
            for s in range(first, last):
                mine = np.arange((s - seen) % shards, len(codes), shards)
                part = rows if shards == 1 else rows.pick(mine)
                self.models[s].learn_second_order(part, codes[mine], gamma, uniform)

        # Threads split models, which share nothing.
        over_columns(some, np.arange(shards + 1) * rows.stored // shards)

    @property
    def counts(self) -> Ints:
        """Counted work of all models."""
        return np.asarray(sum(model.counts for model in self.models))

    @property
    def curve(self) -> dict[int, float]:
        """Share of rows that were predicted wrongly by their own shard before it learned them."""
        counts = self.counts
        return {self.size: int(counts[heap.MISTAKES]) / max(int(counts[heap.ROWS]), 1)}

    def _now(self) -> tuple[Ints, Floats, Floats]:
        if self._merged is None:
            self._merged = merged([posterior_of(model) for model in self.models], self.size)
        return self._merged

    def scores(self, rows: Compressed) -> Floats:
        """One score a row and block."""
        return ListedWeights(self.kept, self.weights).scores(rows)

    @property
    def kept(self) -> Ints:
        """Kept features, rising."""
        return self._now()[0]

    @property
    def weights(self) -> Floats:
        """Weights of the kept features, one column a block."""
        return self._now()[1]

    @property
    def precision(self) -> Floats:
        """Accumulated precisions of the kept features."""
        return self._now()[2]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_merged": None}
