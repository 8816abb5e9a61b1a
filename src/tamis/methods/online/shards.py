"""Learners for shares of the rows, merged by precision: the base of MergedSOFS and MergedRowSieve.

Each model is a Gaussian posterior with the same prior (mean 0, precision 1 for each weight), so
their product, with the prior counted once, is one too: precisions that the shards have added are
summed, and means are weighted by precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed
from tamis.core.params import Number
from tamis.kernels import binary, heap
from tamis.kernels.threads import over_columns
from tamis.methods.online.kept_learner import SIZE, KeptLearner, Several
from tamis.methods.online.learner import SecondOrderLearner
from tamis.methods.online.weights import Floats, Goals, Ints, KeptWeights, Learned, ListedWeights

#: Features, in increasing order; the precision each has accumulated; its means; whether it is kept.
Posterior = tuple[Ints, Floats, Floats, Ints]


def posterior_of(model: KeptWeights) -> Posterior:
    """Return all that a shard knows about the features it has seen."""
    marks, slots, blocks = model.marks.view, model.slots(), model.blocks
    filled: Ints = np.flatnonzero(marks.reshape(-1))  # in order
    width = marks.shape[1]
    features = filled if width == 1 else np.unique(filled // width)
    added = marks[features, :blocks].astype(np.float64)
    means, kept = np.zeros_like(added), np.zeros(len(features), dtype=np.int64)
    if width > blocks:  # those of features that are not kept are remembered
        means[:] = marks[features, blocks:]
    indices = np.searchsorted(features, model.feature[slots])
    added[indices], means[indices], kept[indices] = model.held[slots], model.weight[slots], 1
    return features, added, means, kept


def merged(parts: Sequence[Posterior], size: int, *, by_strength: bool = False) -> Learned:
    """Return the best features in the product of posteriors: means, precisions.

    The best have the highest precision, or with `by_strength` the largest mean^2 times precision.
    Of features of the same rank, those that more shards keep come first, then lower numbers.
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
    # Sums go class by class, so they are rounded as in the kernels.
    lowest, rank = 0.0, added[:, 0]
    if by_strength:
        rank = means[:, 0] * means[:, 0] * (1.0 + added[:, 0])
        if blocks > 1:
            each = (m * m * (1.0 + p) for m, p in zip(means.T, added.T, strict=True))
            rank = np.sqrt(sum((z * z for z in each), np.zeros(len(added))))
    elif blocks > 1:
        lowest, rank = -blocks, -sum((1.0 / (1.0 + p) for p in added.T), np.zeros(len(added)))
    known = np.flatnonzero(rank > lowest)
    room = size
    while True:
        some = known
        if len(known) > room:  # sort only those that can be among the best
            lowest = np.partition(rank[known], len(known) - room)[len(known) - room]
            some = known[rank[known] >= lowest]
        best = some[np.lexsort((features[some], -kept[some], -rank[some]))]
        if by_strength:
            best = best[~_copies(rank[best], means[best], added[best])]
        if len(best) >= size or len(some) == len(known):
            break
        room *= 2
    best = best[:size]
    best = best[np.argsort(features[best])]
    return Learned(features[best], means[best], added[best])


def _copies(rank: Floats, means: Floats, added: Floats) -> npt.NDArray[np.bool_]:
    """Return which features always moved together with the one before, of equal rank."""
    same = np.zeros(len(rank), dtype=np.bool_)
    same[1:] = rank[1:] == rank[:-1]
    same[1:] &= np.all(np.abs(means[1:]) == np.abs(means[:-1]), axis=1)
    same[1:] &= np.all(added[1:] == added[:-1], axis=1)
    return same


class Shards(Several):
    """Models of one share of the rows each: row r goes to model r modulo their number."""

    def __init__(self, models: Sequence[KeptWeights], *, by_strength: bool = False) -> None:
        self.models, self.by_strength = list(models), by_strength
        self.size, self.blocks = self.models[0].size, self.models[0].blocks
        self._merged: Learned | None = None

    def learn(
        self, rows: Compressed, goals: Goals, rates: tuple[float, ...], uniform: bool
    ) -> None:
        """Update every model with its rows."""
        self._merged = None
        shards, seen = len(self.models), int(self.counts[heap.ROWS])

        def some(first: int, last: int) -> None:
            for s in range(first, last):
                mine = np.arange((s - seen) % shards, len(goals), shards)
                part = rows if shards == 1 else rows.pick(mine)
                self.models[s].learn(part, goals[mine], rates, uniform)

        # Threads split models, which share nothing.
        over_columns(some, np.arange(shards + 1) * rows.stored // shards)

    @property
    def counts(self) -> Ints:
        """Counted work of all models."""
        return np.asarray(sum(model.counts for model in self.models))

    def learned(self) -> Learned:
        """Return the kept features, their weights and their precisions, merged."""
        if self._merged is None:
            if len(self.models) == 1:  # which may keep others than the best by now
                return self.models[0].learned()
            parts = [posterior_of(model) for model in self.models]
            self._merged = merged(parts, self.size, by_strength=self.by_strength)
        return self._merged

    @property
    def fit(self) -> Floats:
        """The state for numbers: intercepts weighted by rows, and sums over all shards."""
        if not len(self.models[0].fit):
            return self.models[0].fit
        fits = np.array([model.fit for model in self.models])
        rows = np.array([model.counts[heap.ROWS] for model in self.models], dtype=np.float64)
        shares = rows / max(rows.sum(), 1.0)
        found: Floats = fits.sum(axis=0)
        if len(fits) > 1:
            found[[binary.INTERCEPT, binary.MEAN]] = (
                shares @ fits[:, [binary.INTERCEPT, binary.MEAN]]
            )
            found[binary.VARIATION] += rows @ (fits[:, binary.MEAN] - found[binary.MEAN]) ** 2
        return found

    def scores(self, rows: Compressed) -> Floats:
        """Return one score per row and block."""
        kept, weights, _ = self.learned()
        fit = self.fit
        intercept = fit[binary.INTERCEPT] if len(fit) else None
        return ListedWeights(kept, weights, intercept).scores(rows)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_merged": None}


class MergedLearner(SecondOrderLearner):
    """A learner whose rows are dealt out to several models, merged by precision.

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
    """

    ranges: ClassVar = {
        "n_features": SIZE,
        "shards": Number(1, integer=True),
    }

    paper: ClassVar[Mapping[str, Any] | None] = None
    #: Whether features are ranked by strength, not by precision.
    by_strength: ClassVar[bool] = False

    model: Shards
    n_features: int
    shards: int

    def new_model(self, blocks: int) -> Shards:
        """Return one model per shard."""
        models = [self.new_kept(int(self.n_features), blocks) for _ in range(self.shards)]
        return Shards(models, by_strength=self.by_strength)

    def new_kept(self, size: int, blocks: int) -> KeptWeights:
        """Return the model of one shard."""
        return KeptWeights(size, blocks, second_order=True)

    n_features_ = KeptLearner.n_features_
    size_curve_ = KeptLearner.size_curve_
