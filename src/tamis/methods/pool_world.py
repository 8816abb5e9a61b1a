"""The shadow world of a pool: decoys compete with the real features for the places in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tamis.core.target import Target
from tamis.measures.measure import Floats, Ints, Measure
from tamis.methods.measured import Arrival, Kept
from tamis.methods.shadow_worlds import World
from tamis.methods.worth_pool import Pool, Tables


class PoolWorld(World):
    """The world of a rule with a pool of bounded size, as `Sieve` has.

    Redundancy is judged as for any feature. Then the least worthy of the real features and decoys
    together leave in turn, until as many real features are left as the selection keeps: the decoys
    that are left beside them are worth as much as a kept feature. Had the real features fewer
    places because of them, half of the false ones would not be counted.
    """

    def __init__(self, rule: Any, measure: Measure, target: Target) -> None:
        super().__init__(rule, measure, target)
        self.pool: Pool = rule.kept(measure, target)
        #: The real features that the world knows; what decoys say once each of them is known, and
        #: the other way round.
        self.known: Ints = np.zeros(0, np.int64)
        self.decoys_given: Floats = np.zeros((0, 0))
        self.given_decoys: Floats = np.zeros((0, 0))

    @property
    def features(self) -> Ints:
        """The columns whose decoys are kept or wait in reserve, in order of arrival."""
        return self.pool.features

    def meet(self, decoy: Arrival, real: Kept, arrivals: dict[int, Arrival]) -> None:
        """Let a decoy enter, unless it is redundant; the least worthy decoy leaves a full pool."""
        assert isinstance(real, Pool)
        if real.is_too_weak(decoy.relevance):
            return
        pairs = real.panel.pairs
        dependence, mine, theirs = real.beyond(decoy)
        real.panel.pairs = pairs  # which counts the work of the selection itself
        if self.rule.redundant(decoy, real, dependence)[0] is not None:
            return
        dependence, *table = self.pool.beyond(decoy)
        dropped, evicts = self.rule.redundant(decoy, self.pool, dependence)
        if dropped is not None:
            return
        if evicts:
            gone = np.searchsorted(self.pool.features, [one.feature for one in evicts])
            table = [np.delete(values, gone) for values in table]
            self._leave(gone)
        self._enter(decoy, *table)
        self.decoys_given = np.vstack([self.decoys_given, mine])
        self.given_decoys = np.column_stack([self.given_decoys, theirs])
        if len(self.pool) > self.pool.capacity:
            order = self._both(real).weigh(1).order
            self._leave(order[order >= len(real)][:1] - len(real))

    def newcomer(self, arrival: Arrival, real: Kept, arrivals: dict[int, Arrival]) -> None:
        """Follow a change of the real pool, and drop the copies of a better newcomer."""
        stays = np.isin(self.known, real.features)
        if not stays.all():
            self.decoys_given = self.decoys_given[:, stays]
            self.given_decoys, self.known = self.given_decoys[stays], self.known[stays]
        if arrival.feature not in real.features[-1:]:
            return  # it did not enter
        dependence, mine, theirs = self.pool.beyond(arrival)
        self.known = np.append(self.known, arrival.feature)
        self.decoys_given = np.column_stack([self.decoys_given, theirs])
        self.given_decoys = np.vstack([self.given_decoys, mine])
        if len(self.pool):
            redundant = self.rule.redundant_pairs(arrival, self.pool, dependence)[2]
            gone = np.flatnonzero(redundant & ~self.pool.stronger(arrival))
            if len(gone):
                self._leave(gone)

    def count(self, real: Kept) -> int:
        """Return how many decoys are worth as much as a kept feature, if there are places."""
        assert isinstance(real, Pool)
        n, surplus = len(real), len(real) - real.n_features
        if surplus <= 0 or not len(self.pool):
            return min(len(self.pool), real.n_features)
        order = self._both(real).weigh(1).order
        last = int(np.flatnonzero(np.cumsum(order < n) == surplus)[0])
        return min(int(np.count_nonzero(order[last + 1 :] >= n)), real.n_features)

    def restore(self, decoys: Sequence[Arrival], real: Kept, columns: Sequence[Arrival]) -> None:
        """Keep the decoys of a saved world again."""
        assert isinstance(real, Pool)
        shape, pairs = (len(decoys), len(columns)), real.panel.pairs
        later, earlier = np.empty((2, *shape)), np.empty((2, *shape))
        for i, decoy in enumerate(decoys):
            _, *table = self.pool.beyond(decoy)
            self._enter(decoy, *table)
            _, later[0, i], later[1, i] = real.beyond(decoy)
        for j, arrival in enumerate(columns):
            _, earlier[1, :, j], earlier[0, :, j] = self.pool.beyond(arrival)
        real.panel.pairs = pairs
        self.known = real.features.copy()
        # Each pair by the one that came later, as it was computed first.
        came = np.array([decoy.feature for decoy in decoys], np.int64)
        first = self.known <= came[:, np.newaxis]
        self.decoys_given, given = np.where(first, later, earlier)
        self.given_decoys = np.ascontiguousarray(given.T)

    def _enter(self, decoy: Arrival, mine: Floats, theirs: Floats) -> None:
        pairs = np.array([np.zeros(len(mine)), mine, theirs])
        self.pool.enter(decoy, self.pool.by_slot(pairs))

    def _leave(self, positions: Ints) -> None:
        self.pool.leave(positions)
        self.decoys_given = np.delete(self.decoys_given, positions, axis=0)
        self.given_decoys = np.delete(self.given_decoys, positions, axis=1)

    def _both(self, real: Pool) -> Pool:
        """Return the real features and the decoys as one pool that can be weighed."""
        n, pool = len(real), self.pool
        left = np.empty((n + len(pool), n + len(pool)))
        left[:n, :n], left[n:, n:] = real.left, pool.left
        left[n:, :n], left[:n, n:] = self.decoys_given, self.given_decoys
        relevance = np.concatenate([real.relevance, pool.relevance])
        keys, every = np.concatenate([real.keys, pool.keys]), np.arange(len(left))
        return Pool(
            real.panel, real.measure, every, relevance, real.required, n_features=real.n_features,
            capacity=real.capacity, exponent=real.exponent, keys=keys, slots=every,
            tables=Tables.of_pairs(left, relevance, keys),
        )  # fmt: skip
