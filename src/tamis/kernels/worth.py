"""What each feature of a pool is worth beside the others, and which newcomers are dropped.

The tables of a pool are by slot; ``slots[k]`` is the slot of its k-th oldest feature.
``left[i, j]`` is what feature i still says about the target once j is known, ``left[i, i]`` what it
says alone, and `given` its transpose, so that both are read along rows. All of it is rounded to
multiples of 2**-40: sums are then exact, and do not depend on the order in which features came and
went.

The worth of i among the present features is half its limit, the least of ``left[i, i]`` and
``left[i, j]`` over more relevant j, plus half the mean of ``left[i, j]`` over all present j.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit

#: Why a newcomer is dropped, as `drop_newcomers` tells it.
COPY, EXPLAINED, LEAST = 0, 1, 2


@jit
def enter(
    left, given, sums, limit, limited_by, relevance, rounded, keys, rank, slots, mine, theirs, own,
    own_rounded, key,
):  # fmt: skip
    """Put a newcomer into a free slot and return that slot; `mine` and `theirs` are by slot.

    Ranks are by relevance, then by key, then by age.
    """
    taken = np.zeros(len(sums), np.bool_)
    for s in slots:
        taken[s] = True
    new = 0
    while taken[new]:
        new += 1
    alone = rounded_worth(own**2)
    total, least, by, place = alone, alone, -1, 0
    for s in slots:
        left[new, s] = given[s, new] = mine[s]
        left[s, new] = given[new, s] = theirs[s]
        total += mine[s]
        sums[s] += theirs[s]
        if rounded[s] > own_rounded or (rounded[s] == own_rounded and keys[s] <= key):
            place += 1
            if mine[s] < least:
                least, by = mine[s], s
        else:
            rank[s] += 1
            if theirs[s] < limit[s]:
                limit[s], limited_by[s] = theirs[s], new
    left[new, new] = given[new, new] = alone
    sums[new], limit[new], limited_by[new], rank[new] = total, least, by, place
    relevance[new], rounded[new], keys[new] = own, own_rounded, key
    return new


@jit
def store_pairs(found, first, slots, pairs):
    """Write the pair values of newcomers first, first + 1, ... and some slots to `pairs`.

    They are D(F,Y), c(F given Y) and c(Y given F); the last two are rounded.
    """
    for kind in range(3):
        for i in range(found.shape[1]):
            for k in range(len(slots)):
                value = found[kind, i, k]
                pairs[kind, first + i, slots[k]] = value if kind == 0 else rounded_worth(value)


@jit
def leave(left, given, sums, limit, limited_by, rank, slots, gone):
    """Take the feature in slot `gone` out; `slots` are those of the others."""
    for s in slots:
        if rank[s] > rank[gone]:
            rank[s] -= 1
    age = np.empty(len(sums), np.int64)
    for k in range(len(slots)):
        age[slots[k]] = k
    for s in slots:
        sums[s] -= given[gone, s]
        if limited_by[s] == gone:
            limit[s], limited_by[s] = _limit(left, rank, age, slots, len(slots), s)


@jit
def leave_in_turn(
    left, given, sums, limit, limited_by, rank, slots, required, down_to, resolution, order, worth,
    limits, limiters,
):  # fmt: skip
    """Let the feature of least worth leave, again and again, until `down_to` are left.

    Of those that differ by no more than `resolution` the least relevant leaves (`rank` is 0 for the
    most relevant). The `required` oldest features never leave. The tables are not changed.

    `order` gets the features that leave, in turn, then the others, oldest first. All that is
    written is by age: `worth` at the time of leaving, or among those left at the end; `limits`, and
    `limiters`, the feature that sets the limit (-1: itself).
    """
    n = len(slots)
    age = np.empty(len(left), np.int64)
    # What is present, in no order: side by side, because it is read in every turn.
    present, ranks, by = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    total, least, stays = np.empty(n), np.empty(n), np.empty(n, np.bool_)
    for k in range(n):
        s = slots[k]
        age[s], present[k], ranks[k], by[k] = k, s, rank[s], limited_by[s]
        total[k], least[k], stays[k] = sums[s], limit[s], k < required
    now = np.empty(n)
    for size in range(n, down_to, -1):
        lowest = np.inf
        for k in range(size):
            now[k] = worth_of(least[k], total[k], size)
            if now[k] < lowest and not stays[k]:
                lowest = now[k]
        lowest, out = lowest + resolution, -1
        for k in range(size):
            if now[k] <= lowest and not stays[k] and (out < 0 or ranks[k] > ranks[out]):
                out = k
        gone, last = present[out], size - 1
        at = age[gone]
        order[n - size], worth[at], limits[at] = at, now[out], least[out]
        limiters[at] = age[by[out]] if by[out] >= 0 else -1
        present[out], ranks[out], stays[out] = present[last], ranks[last], stays[last]
        total[out], least[out], by[out] = total[last], least[last], by[last]
        for k in range(last):
            total[k] -= given[gone, present[k]]
            if by[k] == gone:
                least[k], by[k] = _limit(left, rank, age, present, last, present[k])
    left_over = np.zeros(n, np.bool_)
    for k in range(down_to):
        at = age[present[k]]
        left_over[at] = True
        worth[at], limits[at] = worth_of(least[k], total[k], down_to), least[k]
        limiters[at] = age[by[k]] if by[k] >= 0 else -1
    at = n - down_to
    for feature in range(n):
        if left_over[feature]:
            order[at] = feature
            at += 1


@jit
def drop_newcomers(
    first, last, dependence, mine, theirs, relevance, rounded, keys, slots, kept_relevance,
    kept_rounded, kept_keys, sums, limit, is_full, required, exponent, copies_from, resolution,
    reasons, values, levels, causes,
):  # fmt: skip
    """Drop newcomers first, first + 1, ... and return the first that changes the pool, or `last`.

    Rows of `dependence`, `mine` and `theirs` belong to newcomers, columns to slots. What is written
    belongs to newcomers; `causes` are slots, -1 for none.
    """
    n = len(slots)
    is_stronger = np.empty(n, np.bool_)
    for i in range(first, last):
        own = relevance[i]
        cause, evicts = -1, False
        for k in range(n):
            s = slots[k]
            other, d = kept_relevance[s], dependence[i, s]
            is_stronger[k] = kept_rounded[s] > rounded[i] or (
                kept_rounded[s] == rounded[i] and kept_keys[s] <= keys[i]
            )
            passed = 0.0 if np.isinf(exponent) else d * max(own, other) ** exponent
            if d < copies_from and passed < min(own, other) - resolution:
                continue
            if not is_stronger[k]:
                evicts = True
            elif cause < 0 or d > values[i]:
                cause, values[i], levels[i] = s, d, passed
        if cause >= 0:
            reasons[i], causes[i] = COPY if values[i] >= copies_from else EXPLAINED, cause
            continue
        if evicts or not is_full:
            return i
        leaves, worth, least, by = _is_worth_least(
            mine[i], theirs[i], own, is_stronger, slots, required, sums, limit, resolution
        )
        if not leaves:
            return i
        reasons[i], values[i], levels[i], causes[i] = LEAST, worth, least, by
    return last


@jit
def _is_worth_least(
    mine, theirs, relevance, is_stronger, slots, required, sums, limit, resolution
):  # fmt: skip
    """Return whether a newcomer would leave first, what it is worth, its limit, and who sets it.

    This says sooner what `leave_in_turn` would say with the newcomer in the pool.
    """
    n = len(slots)
    alone = rounded_worth(relevance**2)
    least, by, total = alone, -1, alone
    for k in range(n):
        s = slots[k]
        total += mine[s]
        if is_stronger[k] and mine[s] < least:
            least, by = mine[s], s
    worth = worth_of(least, total, n + 1)
    lowest = worth
    for pass_ in range(2):
        for k in range(required, n):
            s = slots[k]
            other = limit[s]
            if not is_stronger[k] and theirs[s] < other:
                other = theirs[s]
            other = worth_of(other, sums[s] + theirs[s], n + 1)
            if pass_ == 0:
                lowest = min(lowest, other)
            elif other <= lowest + resolution and not is_stronger[k]:
                return False, worth, least, by
    return worth <= lowest + resolution, worth, least, by


@inline
def worth_of(limit, total, size):
    """Return what a feature is worth, given its limit and what it says in all."""
    return 0.5 * limit + 0.5 * total / size


@inline
def rounded_worth(x):
    """Round to a multiple of 2**-40."""
    return np.rint(x * 2.0**40) / 2.0**40


@inline
def _limit(left, rank, age, slots, n, i):
    """Return the least that i says, alone or once a more relevant one is known, and that one.

    It is the oldest of several.
    """
    least, by = left[i, i], -1
    for k in range(n):
        s = slots[k]
        if rank[s] >= rank[i] or left[i, s] > least:
            continue
        if left[i, s] < least or (by >= 0 and age[s] < age[by]):
            least, by = left[i, s], s
    return least, by
