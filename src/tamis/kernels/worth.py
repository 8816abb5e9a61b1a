"""What each feature of a pool is worth beside the others, and what each newcomer changes.

The tables of a pool are by slot; ``slots[k]`` is the slot of its k-th oldest feature.
``left[i, j]`` is what feature i still says about the target once j is known, ``left[i, i]`` what it
says alone, and `given` its transpose, so that both are read along rows. All of it is rounded to
multiples of 2**-40: sums are then exact, and do not depend on the order in which features came and
went.

The worth of i among the present features is half its limit, the least of ``left[i, i]`` and
``left[i, j]`` over more relevant j, plus half the mean of ``left[i, j]`` over all present j.
"""

from __future__ import annotations

import math

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.flag_pairs import rounded_worth

#: What happened to a feature, in events. The last four name the feature that sets the limit;
#: `ALONE` is added where there is none.
COPY, EXPLAINED, KEPT, RETURNED, LEAST, RESERVE, DISPLACED, PUSHED_OUT = range(8)
ALONE = 4

#: Far more than rounding changes what a feature is worth.
SLACK = 1e-9


@jit
def enter(
    left, given, sums, limit, limited_by, relevance, rounded, keys, rank, slots, mine, theirs, own,
    own_rounded, key,
):  # fmt: skip
    """Put a newcomer into a free slot and return that slot; `mine` and `theirs` are by slot.

    Ranks are by relevance, then by key, then by age.
    """
    taken = np.empty(len(sums), np.bool_)
    taken[:] = False
    for s in slots:
        taken[s] = True
    new = 0
    while taken[new]:
        new += 1
    alone = rounded_worth(own * own)
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
    # Divisions are most of the work: a product tells first which features may be worth least.
    near, lowest_near, within = np.empty(n), np.inf, resolution + SLACK
    for k in range(n):
        near[k] = np.inf if stays[k] else 0.5 * least[k] + 0.5 * total[k] * (1.0 / n)
        lowest_near = min(lowest_near, near[k])
    some, now = np.empty(n, np.int64), np.empty(n)
    for size in range(n, down_to, -1):
        out = _least_worth(
            near, lowest_near + within, least, total, size, stays, ranks, resolution, some, now
        )
        gone, last = present[out], size - 1
        at = age[gone]
        order[n - size], worth[at], limits[at] = at, now[out], least[out]
        limiters[at] = age[by[out]] if by[out] >= 0 else -1
        present[out], ranks[out], stays[out] = present[last], ranks[last], stays[last]
        total[out], least[out], by[out] = total[last], least[last], by[last]
        lowest_near, share = np.inf, 1.0 / max(1, last)
        for k in range(last):
            total[k] -= given[gone, present[k]]
            if by[k] == gone:
                least[k], by[k] = _limit(left, rank, age, present, last, present[k])
            near[k] = np.inf if stays[k] else 0.5 * least[k] + 0.5 * total[k] * share
            lowest_near = min(lowest_near, near[k])
    left_over = np.empty(n, np.bool_)
    left_over[:] = False
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


@inline
def _least_worth(
    near, nearly_lowest, least, total, size, stays, ranks, resolution, some, now
):  # fmt: skip
    """Return the least relevant of those of least worth, of those that are `near` it."""
    lowest, n_some = np.inf, 0
    for k in range(size):
        if near[k] <= nearly_lowest and not stays[k]:
            now[k] = worth_of(least[k], total[k], size)
            lowest = min(lowest, now[k])
            some[n_some] = k
            n_some += 1
    lowest, out = lowest + resolution, -1
    for m in range(n_some):
        k = some[m]
        if now[k] <= lowest and (out < 0 or ranks[k] > ranks[out]):
            out = k
    return out


@jit
def drop_newcomers(
    first, pairs, features, relevance, rounded, keys, pool_features, slots, kept_relevance,
    kept_rounded, kept_keys, sums, limit, is_full, required, exponent, copies_from, resolution,
    counts, settled_by, told, codes, numbers, causes,
):  # fmt: skip
    """Drop newcomers first, first + 1, ...; return the first that changes the pool, or their end.

    Rows of `pairs[k]` belong to newcomers, columns to slots. Each drop is an event. `counts` holds
    the number of events, and gets whether that newcomer evicts a feature that it makes redundant.
    """
    dependence, mine, theirs = pairs[0], pairs[1], pairs[2]
    n = len(slots)
    is_stronger = np.empty(n, np.bool_)
    for i in range(first, len(features)):
        own = relevance[i]
        cause, evicts, value, level = -1, False, 0.0, 0.0
        for k in range(n):
            s = slots[k]
            other, d = kept_relevance[s], dependence[i, s]
            is_stronger[k] = kept_rounded[s] > rounded[i] or (
                kept_rounded[s] == rounded[i] and kept_keys[s] <= keys[i]
            )
            passed = 0.0 if np.isinf(exponent) else d * math.pow(max(own, other), exponent)
            if d < copies_from and passed < min(own, other) - resolution:
                continue
            if not is_stronger[k]:
                evicts = True
            elif cause < 0 or d > value:
                cause, value, level = k, d, passed
        code = COPY if value >= copies_from else EXPLAINED
        if cause < 0:
            counts[1] = evicts
            if evicts or not is_full:
                return i
            leaves, value, level, cause = _is_worth_least(
                mine[i], theirs[i], own, is_stronger, slots, required, sums, limit, resolution
            )
            if not leaves:
                return i
            code = LEAST
        by = pool_features[cause] if cause >= 0 else -1
        _tell(
            counts, settled_by, told, codes, numbers, causes, features[i], features[i], code, own,
            value, level, by,
        )  # fmt: skip
    return len(features)


@inline
def _tell(
    counts, settled_by, told, codes, numbers, causes, by, feature, code, relevance, value, level,
    cause,
):  # fmt: skip
    """Add an event; `code` is without `ALONE`."""
    e = counts[0]
    settled_by[e], told[e], causes[e] = by, feature, cause
    codes[e] = code + ALONE if code >= LEAST and cause < 0 else code
    numbers[e, 0], numbers[e, 1] = relevance, value
    numbers[e, 2] = np.nan if code >= LEAST and cause < 0 else level
    counts[0] = e + 1


@jit
def take_in(
    i, pairs, features, relevance, rounded, keys, cutoffs, pool_features, was_kept, slots, left,
    given, sums, limit, limited_by, rank, kept_relevance, kept_rounded, kept_keys, required,
    n_features, capacity, resolution, new_features, new_kept, new_slots, counts, settled_by, told,
    codes, numbers, causes,
):  # fmt: skip
    """Let newcomer i enter, and the feature of least worth leave if there are too many.

    Everything that this changes is an event. The features of the pool are copied to `new_features`,
    `new_kept` and `new_slots`, oldest first. Returns the position that left, or -1.
    """
    n = len(slots)
    for k in range(n):
        new_features[k], new_slots[k] = pool_features[k], slots[k]
    new_features[n] = features[i]
    new_slots[n] = enter(
        left, given, sums, limit, limited_by, kept_relevance, kept_rounded, kept_keys, rank, slots,
        pairs[1, i], pairs[2, i], relevance[i], rounded[i], keys[i],
    )  # fmt: skip
    size = n + 1
    stay = min(size, max(n_features, required))
    order, limiters = np.empty(size, np.int64), np.empty(size, np.int64)
    worth, limits = np.empty(size), np.empty(size)
    leave_in_turn(
        left, given, sums, limit, limited_by, rank, new_slots, required, stay, resolution, order,
        worth, limits, limiters,
    )  # fmt: skip
    for k in range(size):
        new_kept[k] = False
    for k in range(size - stay, size):
        new_kept[order[k]] = True
    out = order[0] if size > capacity else -1
    # What is no longer kept comes first, then the newcomer, then what is kept again.
    for step in range(4):
        for k in range(size):
            code = _code_of(step, k == n, k < n and was_kept[k], new_kept[k], k == out)
            if code < 0:
                continue
            by, level = -1, np.nan
            if code == KEPT:
                level = cutoffs[i]
            elif code != RETURNED and limiters[k] >= 0:
                by, level = new_features[limiters[k]], limits[k]
            _tell(
                counts, settled_by, told, codes, numbers, causes, features[i], new_features[k],
                code, kept_relevance[new_slots[k]], worth[k], level, by,
            )  # fmt: skip
    if out >= 0:
        gone = new_slots[out]
        for k in range(out, n):
            new_features[k], new_slots[k] = new_features[k + 1], new_slots[k + 1]
            new_kept[k] = new_kept[k + 1]
        leave(left, given, sums, limit, limited_by, rank, new_slots[:n], gone)
    return out


@inline
def _code_of(step, is_new, was_kept, is_kept, is_out):
    """Return what to tell about a feature in a step of `take_in`, -1 for nothing."""
    code = -1
    if step == 0 and was_kept and not is_kept:
        code = PUSHED_OUT if is_out else DISPLACED
    elif step == 1 and is_out and not is_new and not was_kept:
        code = LEAST
    elif step == 2 and is_new:
        code = KEPT if is_kept else RESERVE
    elif step == 3 and is_kept and not is_new and not was_kept:
        code = RETURNED
    return code


@jit
def _is_worth_least(
    mine, theirs, relevance, is_stronger, slots, required, sums, limit, resolution
):  # fmt: skip
    """Return whether a newcomer would leave first, what it is worth, its limit, and who sets it.

    That is a position, -1 if none.
    This says sooner what `leave_in_turn` would say with the newcomer in the pool.
    """
    n = len(slots)
    alone = rounded_worth(relevance * relevance)
    least, by, total = alone, -1, alone
    for k in range(n):
        s = slots[k]
        total += mine[s]
        if is_stronger[k] and mine[s] < least:
            least, by = mine[s], k
    worth = worth_of(least, total, n + 1)
    lowest, lowest_weaker = worth, np.inf
    for k in range(required, n):
        s = slots[k]
        other = limit[s]
        if not is_stronger[k] and theirs[s] < other:
            other = theirs[s]
        other = worth_of(other, sums[s] + theirs[s], n + 1)
        lowest = min(lowest, other)
        if not is_stronger[k]:
            lowest_weaker = min(lowest_weaker, other)
    leaves = worth <= lowest + resolution and lowest_weaker > lowest + resolution
    return leaves, worth, least, by


@inline
def worth_of(limit, total, size):
    """Return what a feature is worth, given its limit and what it says in all."""
    return 0.5 * limit + 0.5 * total / size


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
