"""Shadow worlds, slowly: decoys are real columns, and everything is computed again each time."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from tamis.core.blocks import ColumnBlock
from tamis.core.target import Target
from tamis.methods.shadow_worlds import RowOrder


def kept_after(make, X, y, width):
    """Return what a selector keeps of the first `width` columns."""
    return make().fit(X[:, :width], y).kept_.tolist()


def decoys(X, y, random_state, world):
    """Return the decoys of all columns."""
    return X[RowOrder.of(Target.of(y), random_state, world).order]


def saola_world(make, measure, X, y, world):
    """Return the columns whose decoys a world of SAOLA keeps."""
    return _world_of(lambda Z, t: make().fit(Z, t), measure, X, decoys(X, y, 0, world), y)


def _world_of(fit, measure, X, fakes, y):
    shadow = []
    real, fake = (measure.relevance(some, y) for some in (X, fakes))

    def pair(a, b):
        return measure.between(a, b)[0, 0]

    for j in range(X.shape[1]):
        kept = fit(X[:, : j + 1], y).kept_.tolist()
        if j in kept:
            shadow = [
                d for d in shadow
                if not (real[j] > fake[d] + 1e-12 and pair(fakes[:, d], X[:, j]) >= fake[d] - 1e-12)
            ]  # fmt: skip
        if not fake.dependent[j]:
            continue
        mine = fake[j]
        if any(
            real[r] >= mine - 1e-12 and pair(fakes[:, j], X[:, r]) >= min(real[r], mine) - 1e-12
            for r in kept
        ):
            continue
        stays = True
        for d in list(shadow):
            if pair(fakes[:, j], fakes[:, d]) >= min(fake[d], mine) - 1e-12:
                if fake[d] >= mine - 1e-12:
                    stays = False
                    break
                shadow.remove(d)
        shadow += [j] if stays else []
    return shadow


def group_saola_world(make, measure, X, y, groups, world):
    """Return the columns whose decoys a world of Group-SAOLA keeps."""
    fakes, earlier = decoys(X, y, 0, world), []
    real, fake = (measure.relevance(some, y) for some in (X, fakes))

    def redundant(a, b, strength, other):
        return measure.between(a, b)[0, 0] >= min(strength, other) - 1e-12

    for label in np.unique(groups):
        inside = np.flatnonzero(groups == label)
        of_group = _world_of(
            lambda Z, t: make().fit(Z, t), measure, X[:, inside], fakes[:, inside], y
        )
        present = [int(inside[j]) for j in of_group]
        end = inside[-1] + 1
        kept = make().fit(X[:, :end], y, groups=groups[:end]).kept_.tolist()
        staying, old = [f for f in kept if f in inside], [f for f in kept if f not in inside]
        for f in staying:
            earlier = [
                d for d in earlier
                if not (
                    real[f] > fake[d] + 1e-12
                    and redundant(fakes[:, d], X[:, f], fake[d], real[f])
                )
            ]  # fmt: skip
        left = []
        for d in present:
            if any(
                real[r] >= fake[d] - 1e-12 and redundant(fakes[:, d], X[:, r], fake[d], real[r])
                for r in old
            ):
                continue
            stays = True
            for e in list(earlier):
                if redundant(fakes[:, d], fakes[:, e], fake[d], fake[e]):
                    if fake[e] >= fake[d] - 1e-12:
                        stays = False
                        break
                    earlier.remove(e)
            left += [d] if stays else []
        earlier += left
    return earlier


def _beside(kept, shadow, real, fake):
    """Return the kept features whose place no decoy takes: each takes that of the nearest."""
    left = list(kept)
    for d in shadow:
        if left:
            left.remove(min(left, key=lambda r: abs(real[r] - fake[d])))
    return left


def osfs_world(make, measure, X, y, world, *, largest, drops_itself, turns=None):
    """Return the columns whose decoys a world of OSFS (`drops_itself`) or Fast-OSFS keeps.

    `turns` are the columns and decoys in the order in which they are met: numbers, and whether each
    is a decoy. By default a decoy comes right after its column.
    """
    fakes, shadow, width = decoys(X, y, 0, world), [], X.shape[1]
    every, target = np.column_stack([X, fakes]), Target.of(y)
    panel = measure.conditional_panel(target)
    for column in panel.prepare(ColumnBlock.of(every), np.arange(2 * width)):
        panel.add(column)
    panel.tests, panel.refused = np.zeros((2, largest + 1), np.int64)

    def separated(x, among):
        return any(
            panel.test(x, given).independent
            for size in range(1, largest + 1)
            for given in combinations([m for m in among if m != x], size)
        )

    real, fake = measure.relevance(X, y), measure.relevance(fakes, y)
    kept = []
    for j, is_decoy in turns or [(j, one) for j in range(width) for one in (False, True)]:
        if not is_decoy:
            kept = kept_after(make, X, y, j + 1)
            if j in (present := _beside(kept, shadow, real, fake)):
                for d in list(shadow):
                    if separated(d + width, [*present, *(s + width for s in shadow)]):
                        shadow.remove(d)
            continue
        if not fake.dependent[j]:
            continue
        present = _beside(kept, shadow, real, fake)
        among = [*present, *(s + width for s in shadow)]
        if not drops_itself and separated(j + width, among):
            continue
        shadow.append(j)
        for d in list(shadow):
            if separated(d + width, [*present, *(s + width for s in shadow)]):
                shadow.remove(d)
    return shadow


def sieve_world(make, measure, X, y, world, *, copy=0.98, capacity=200, tell=False):
    """Return how many decoys a world of Sieve keeps; only copies are redundant.

    If asked to `tell`, also the columns whose decoys were too weak for a full pool.
    """
    weak, fakes, shadow, width = [], decoys(X, y, 0, world), [], X.shape[1]
    every = ColumnBlock.of(np.column_stack([X, fakes]))
    panel = measure.panel(Target.of(y))
    ready = panel.prepare(every, np.arange(2 * width))
    for column in ready:
        panel.add(column)
    # given[i, j]: i once j is known
    dependence, given, _ = panel.beyond_many(ready, np.arange(2 * width))
    relevance = np.asarray(measure.relevance(np.column_stack([X, fakes]), y))
    dependent = measure.relevance(fakes, y).dependent

    def worth(i, among):
        stronger = [given[i, k] for k in among if relevance[k] > relevance[i]]
        alone = relevance[i] ** 2
        mean = np.mean([given[i, k] if k != i else alone for k in among])
        return min([alone, *stronger]) / 2 + mean / 2

    for j in range(width):
        pool = make().fit(X[:, : j + 1], y)
        pool = sorted(pool.ranking_.tolist())
        if j in pool:
            shadow = [
                d for d in shadow
                if not (dependence[d + width, j] >= copy and relevance[j] > relevance[d + width])
            ]  # fmt: skip
        if not dependent[j]:
            continue
        me = j + width
        if len(pool) == capacity and relevance[me] ** 2 < 1.5 * min(worth(r, pool) for r in pool):
            weak.append(j)
            continue
        if any(dependence[me, r] >= copy and relevance[r] >= relevance[me] for r in pool):
            continue
        if any(
            dependence[me, d + width] >= copy and relevance[d + width] >= relevance[me]
            for d in shadow
        ):
            continue
        shadow = [d for d in shadow if dependence[me, d + width] < copy] + [j]
    present = [*pool, *(d + width for d in shadow)]
    places = min(make().n_features, len(pool))
    while sum(i < width for i in present) > places:
        present.remove(min(present, key=lambda i: worth(i, present)))
    count = min(sum(i >= width for i in present), make().n_features)
    return (count, weak) if tell else count
