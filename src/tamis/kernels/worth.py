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
from tamis.kernels.lanes import LANES, load, spread, store
from tamis.kernels.sorting import argsort_numbers

#: What happened to a feature, in events. The last four name the feature that sets the limit;
#: `ALONE` is added where there is none.
COPY, EXPLAINED, WEAK, KEPT, RETURNED, LEAST, RESERVE, DISPLACED, PUSHED_OUT = range(9)
ALONE = 4

#: Where `walk` counts events, says why it ended, how large the pool is, and whether it is known
#: in which order features leave it.
EVENTS, ENDED, SIZE, KNOWN = range(4)

#: Why it ended: there are no more newcomers; the next one would enter; it evicts features that it
#: makes redundant; or it was not compared.
END, ENTERS, EVICTS, UNKNOWN = range(4)

#: Rows of what is looked up about slots while newcomers are compared: 1 for a feature of the pool
#: and 0 elsewhere, infinite where there is none, and where there is none that may leave. The others
#: are scratch.
PRESENT, ABSENT, STAYS, NEAR, MET = range(5)
N_ABOUT = 5

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
    limits, limiters, turn, new,
):  # fmt: skip
    """Let the feature of least worth leave, again and again, until `down_to` are left.

    Of those that differ by no more than `resolution` the least relevant leaves (`rank` is 0 for the
    most relevant). The `required` oldest features never leave. The tables are not changed.

    `order` gets the features that leave, in turn, then the others, oldest first. All that is
    written is by age: `worth` at the time of leaving, or among those left at the end; `limits`, and
    `limiters`, the feature that sets the limit (-1: itself).

    `turn` gets the slots of those that leave, in turn. Unless `new` is -1, it holds the turn of the
    others without the one in slot `new`, the newest. Once that one has left, and the same others as
    in that turn are left, the rest is as it was: nothing more is written but `turn`. Returns how
    many have left by then.
    """
    n, width = len(slots), 0
    for s in slots:
        width = max(width, s + 1)
    age, place, n_limited = np.zeros((3, width), np.int64)
    present, by = slots.copy(), limited_by[:width].copy()
    total, least, half = sums[:width].copy(), limit[:width].copy(), np.full(width, np.inf)
    for k in range(n):
        s = slots[k]
        age[s] = place[s] = k
        if by[s] >= 0:
            n_limited[by[s]] += 1
        if k >= required:
            half[s] = 0.5 * least[s]
    # A product instead of a division tells first which features may be worth least. What has left,
    # or must stay, is infinite.
    near, last_bits = np.empty(width), _ones(width)
    bits = near.view(np.int64)
    _near(total, half, 0.5 / n, near)
    # Of the others: how many have left, and 1 or -1 for those that left now, or then, but not both.
    earlier, ahead, n_gone, differ = turn.copy(), np.zeros(width, np.int64), 0, 0
    for size in range(n, down_to, -1):
        out = _about_lowest(bits, last_bits)
        out, worth_of_out = _least_worth(
            near, out, near[out] + resolution + SLACK, least, total, size, rank, resolution
        )
        at, last = age[out], size - 1
        order[n - size], worth[at], limits[at] = at, worth_of_out, least[out]
        limiters[at] = age[by[out]] if by[out] >= 0 else -1
        present[place[out]] = present[last]
        place[present[last]] = place[out]
        half[out] = np.inf
        if by[out] >= 0:
            n_limited[by[out]] -= 1
        if n_limited[out]:
            _limit_anew(out, left, rank, age, present, last, required, n_limited, least, by, half)
        _subtract(given, out, total, half, 0.5 / max(last, 1), near)
        turn[n - size] = out
        if new >= 0 and out != new:
            differ += _moved(ahead, out, 1)
            if n_gone < n - 1 - down_to:
                differ += _moved(ahead, earlier[n_gone], -1)
            n_gone += 1
        if n_gone < n - last and differ == 0 and new >= 0 and last > down_to:
            for k in range(n_gone, n - 1 - down_to):
                turn[k + 1] = earlier[k]
            return n - last
    _list_left(present, age, least, by, total, down_to, order, worth, limits, limiters)
    return n - down_to


@inline
def _ones(width):
    """Return a number whose bits are all ones, and enough for numbers below `width`."""
    ones = 1
    while ones < width:
        ones = 2 * ones + 1
    return ones


@inline
def _moved(ahead, s, by):
    """Move one towards 1 or -1; return by how much this changes how many are not 0."""
    ahead[s] += by
    return 1 if ahead[s] != 0 else -1


@jit
def _list_left(present, age, least, by, total, down_to, order, worth, limits, limiters):
    """Write what is known of the first `down_to` that are present: they are left at the end."""
    n = len(order)
    left_over = np.zeros(n, np.bool_)
    for k in range(down_to):
        s = present[k]
        at = age[s]
        left_over[at] = True
        worth[at], limits[at] = worth_of(least[s], total[s], down_to), least[s]
        limiters[at] = age[by[s]] if by[s] >= 0 else -1
    at = n - down_to
    for feature in range(n):
        if left_over[feature]:
            order[at] = feature
            at += 1


@inline
def _limit_anew(gone, left, rank, age, present, n, required, n_limited, least, by, half):
    """Find new limits for the first n that are present and had theirs from what has gone."""
    for k in range(n):
        s = present[k]
        if by[s] == gone:
            least[s], by[s] = _limit(left, rank, age, present, n, s)
            if by[s] >= 0:
                n_limited[by[s]] += 1
            if age[s] >= required:
                half[s] = 0.5 * least[s]


@inline
def _near(total, half, share, near):
    """Write about what each feature is worth."""
    for s in range(len(total)):
        near[s] = half[s] + total[s] * share


@inline
def _subtract(given, gone, total, half, share, near):
    """Subtract what is said given one feature, and write about what each feature is worth."""
    row = given[gone]
    for s in range(len(total)):
        total[s] -= row[s]
        near[s] = half[s] + total[s] * share


@inline
def _about_lowest(bits, last_bits):
    """Return where one of about the least numbers is, given the bits of all.

    No number is negative, so their bits are in their order; the last ones give way to the position.
    LLVM makes vector instructions of this, and not of the least of numbers that may be NaN.
    """
    least = bits[0] & ~last_bits
    for s in range(len(bits)):
        least = min(least, (bits[s] & ~last_bits) | s)
    return least & last_bits


@inline
def _least_worth(near, lowest, bound, least, total, size, rank, resolution):
    """Return the least relevant of those of least worth, and what it is worth.

    About what those are worth is at most the `bound`; `lowest` is one of them.
    """
    found = 0
    for s in range(len(near)):
        found += near[s] <= bound
    if found == 1:
        return lowest, worth_of(least[lowest], total[lowest], size)
    worth, out, of_out = np.inf, -1, np.inf
    for s in range(len(near)):
        if near[s] <= bound:
            worth = min(worth, worth_of(least[s], total[s], size))
    for s in range(len(near)):
        if near[s] <= bound:
            now = worth_of(least[s], total[s], size)
            if now <= worth + resolution and (out < 0 or rank[s] > rank[out]):
                out, of_out = s, now
    return out, of_out


@jit
def walk(
    first, most, at_once, pairs, among, rows, places, features, relevance, rounded, keys, cutoffs,
    pool_features, is_kept, slots, turn, left, given, sums, limit, limited_by, rank, kept_relevance,
    kept_rounded, kept_keys, n, required, n_features, capacity, exponent, copies_from, weak_below,
    resolution, counts, settled_by, told, codes, numbers, causes,
):  # fmt: skip
    """Let newcomers first, first + 1, ... meet the pool; at most `most` of them enter it.

    If `at_once`, the first one enters, whatever it is like.
    ``pairs[:, rows[i], s]`` belong to newcomer i and slot s, ``among[:, rows[i], places[j]]`` to
    two newcomers. A row of -1 means that a newcomer was not compared with the pool, a place of -1
    that others were not compared with it: then it is not taken in. `pool_features`, `is_kept` and
    `slots` hold the n features of the pool, oldest first, and have room for one more. `turn` holds
    the slots of those in reserve, in the order in which they would leave, if ``counts[KNOWN]``.

    Everything that happens is an event. `counts` holds the number of events, why the walk ended,
    the size of the pool, and whether `turn` is known. Returns the newcomer at which it ended.
    """
    entered, i = 0, first
    while True:
        if entered or not at_once:
            i = _drop_newcomers(
                i, pairs, rows, features, relevance, rounded, keys, pool_features, slots[:n],
                kept_relevance, kept_rounded, kept_keys, sums, limit, n >= capacity, required,
                exponent, copies_from, weak_below, resolution, counts, settled_by, told, codes,
                numbers, causes,
            )  # fmt: skip
            counts[SIZE] = n
            if counts[ENDED] != ENTERS or entered == most or places[i] < 0:
                return i
        n = _take_in(
            i, pairs, among, rows, places, features, relevance, rounded, keys, cutoffs,
            pool_features, is_kept, slots, turn, left, given, sums, limit, limited_by, rank,
            kept_relevance, kept_rounded, kept_keys, n, required, n_features, capacity, resolution,
            counts, settled_by, told, codes, numbers, causes,
        )  # fmt: skip
        entered += 1
        i += 1


@jit
def _drop_newcomers(
    first, pairs, rows, features, relevance, rounded, keys, pool_features, slots, kept_relevance,
    kept_rounded, kept_keys, sums, limit, is_full, required, exponent, copies_from, weak_below,
    resolution, counts, settled_by, told, codes, numbers, causes,
):  # fmt: skip
    """Drop newcomers first, first + 1, ...; return the first that is not dropped, or their end."""
    is_stronger, about = np.empty(len(slots), np.bool_), about_slots(slots, required)
    bits = about.view(np.int64)
    least = lowest_worth(slots, required, sums, limit) if is_full else 0.0
    for i in range(first, len(features)):
        own, row = relevance[i], rows[i]
        alone = rounded_worth(own * own)
        if is_full and alone < weak_below * least - resolution:
            code, value, level, cause = WEAK, alone, least, -1
        elif row < 0:
            counts[ENDED] = UNKNOWN
            return i
        else:
            code, value, level, cause, evicts = _decide(
                pairs, row, own, rounded[i], keys[i], slots, kept_relevance, kept_rounded,
                kept_keys, sums, limit, is_full, required, exponent, copies_from, resolution,
                is_stronger, about, bits,
            )  # fmt: skip
            if code < 0:
                counts[ENDED] = EVICTS if evicts else ENTERS
                return i
        by = pool_features[cause] if cause >= 0 else -1
        _tell(
            counts, settled_by, told, codes, numbers, causes, features[i], features[i], code, own,
            value, level, by,
        )  # fmt: skip
    counts[ENDED] = END
    return len(features)


@jit
def mark_ties(numbers, first, is_tied):
    """Mark those of the numbers from `first` on that another one equals."""
    order = argsort_numbers(numbers)
    for k in range(1, len(order)):
        one, other = order[k - 1], order[k]
        if numbers[one] == numbers[other]:
            if one >= first:
                is_tied[one - first] = True
            if other >= first:
                is_tied[other - first] = True


@jit
def would_enter(
    pairs, which, relevance, rounded, keys, slots, kept_relevance, kept_rounded, kept_keys, sums,
    limit, is_full, required, exponent, copies_from, resolution, answers,
):  # fmt: skip
    """Write whether newcomers, those of each row of `pairs`, would enter the pool as it is now."""
    is_stronger, about = np.empty(len(slots), np.bool_), about_slots(slots, required)
    bits = about.view(np.int64)
    for row in range(len(which)):
        i = which[row]
        answers[row] = _decide(
            pairs, row, relevance[i], rounded[i], keys[i], slots, kept_relevance, kept_rounded,
            kept_keys, sums, limit, is_full, required, exponent, copies_from, resolution,
            is_stronger, about, bits,
        )[0] < 0  # fmt: skip


@jit
def _decide(
    pairs, row, own, own_rounded, key, slots, kept_relevance, kept_rounded, kept_keys, sums, limit,
    is_full, required, exponent, copies_from, resolution, is_stronger, about, bits,
):  # fmt: skip
    """Return why a newcomer is dropped, its two numbers and the position of the cause.

    The first is -1 if it is not. At last comes whether it makes a feature of the pool redundant.
    """
    if np.isinf(exponent) and not _meets_copies(
        pairs, row, own, kept_relevance, copies_from, resolution, about
    ):
        if not is_full:
            return -1, 0.0, 0.0, -1, False
        worth, least, lowest = _about_worth(
            pairs, row, own, own_rounded, key, kept_rounded, kept_keys, sums, limit, len(slots),
            about, bits,
        )  # fmt: skip
        if worth > lowest + SLACK:
            return -1, worth, least, -1, False
        if worth < lowest - SLACK:
            cause = _first_that_says(
                least, pairs, row, own, own_rounded, key, kept_rounded, kept_keys, slots
            )
            return LEAST, worth, least, cause, False
    cause, evicts, value, level = -1, False, 0.0, 0.0
    for k in range(len(slots)):
        s = slots[k]
        other, d = kept_relevance[s], pairs[0, row, s]
        is_stronger[k] = kept_rounded[s] > own_rounded or (
            kept_rounded[s] == own_rounded and kept_keys[s] <= key
        )
        passed = 0.0 if np.isinf(exponent) else d * math.pow(max(own, other), exponent)
        if d < copies_from and passed < min(own, other) - resolution:
            continue
        if not is_stronger[k]:
            evicts = True
        elif cause < 0 or d > value:
            cause, value, level = k, d, passed
    if cause >= 0:
        return COPY if value >= copies_from else EXPLAINED, value, level, cause, False
    if evicts or not is_full:
        return -1, value, level, cause, evicts
    leaves, value, level, cause = _is_worth_least(
        pairs[1, row], pairs[2, row], own, is_stronger, slots, required, sums, limit, resolution
    )
    return LEAST if leaves else -1, value, level, cause, False


@jit
def about_slots(slots, required):
    """Return a table of the rows above, by slot."""
    width = 0
    for s in slots:
        width = max(width, s + 1)
    about = np.full((N_ABOUT, (width + LANES - 1) // LANES * LANES), np.inf)
    for s in range(about.shape[1]):
        about[PRESENT, s] = 0.0
    for k in range(len(slots)):
        s = slots[k]
        about[PRESENT, s], about[ABSENT, s] = 1.0, 0.0
        if k >= required:
            about[STAYS, s] = 0.0
    return about


@inline
def _meets_copies(pairs, row, own, kept_relevance, copies_from, resolution, about):
    """Return whether a newcomer may be a copy of a feature, or relevance is too small to tell."""
    d, present = pairs[0, row], about[PRESENT]
    found = int(own <= resolution)
    for s in range(len(present)):
        found += (present[s] > 0.0) & ((d[s] >= copies_from) | (kept_relevance[s] <= resolution))
    return found > 0


@inline
def _about_worth(
    pairs, row, own, own_rounded, key, kept_rounded, kept_keys, sums, limit, n, about, bits
):  # fmt: skip
    """Return what a newcomer is worth, its limit, and about the least that others are worth."""
    mine, theirs = pairs[1, row], pairs[2, row]
    present, absent, stays = about[PRESENT], about[ABSENT], about[STAYS]
    near, met, share = about[NEAR], about[MET], 0.5 / (n + 1)
    # Each step is a loop that LLVM can make vector instructions of.
    for s in range(len(near)):
        is_stronger = (kept_rounded[s] > own_rounded) | (
            (kept_rounded[s] == own_rounded) & (kept_keys[s] <= key)
        )
        says = theirs[s]
        least = limit[s] if is_stronger | (limit[s] <= says) else says
        near[s] = 0.5 * least + (sums[s] + says) * share + stays[s]
        met[s] = (mine[s] if is_stronger else np.inf) + absent[s]
    alone, total = rounded_worth(own * own), spread(0.0)
    for s in range(0, len(near), LANES):
        total = total + load(mine, s) * load(present, s)
    bits[NEAR, 0], bits[MET, 0] = _lowest(bits[NEAR]), _lowest(bits[MET])
    lowest, least = near[0], min(alone, met[0])
    store(near, 0, total)
    for lane in range(LANES):
        alone += near[lane]
    return worth_of(least, alone, n + 1), least, lowest


@inline
def _lowest(bits):
    """Return the least of some bits."""
    least = bits[0]
    for s in range(len(bits)):
        least = min(least, bits[s])
    return least


@inline
def _first_that_says(
    least, pairs, row, own, own_rounded, key, kept_rounded, kept_keys, slots
):  # fmt: skip
    """Return the position of the first more relevant feature that leaves so little, -1 if none."""
    if least >= rounded_worth(own * own):
        return -1
    for k in range(len(slots)):
        s = slots[k]
        if pairs[1, row, s] == least and (
            kept_rounded[s] > own_rounded
            or (kept_rounded[s] == own_rounded and kept_keys[s] <= key)
        ):
            return k
    return -1


@jit
def lowest_worth(slots, required, sums, limit):
    """Return what the feature is worth that would leave first; the `required` oldest never do."""
    n, least = len(slots), np.inf
    for k in range(required, n):
        least = min(least, worth_of(limit[slots[k]], sums[slots[k]], n))
    return least


@inline
def _tell(
    counts, settled_by, told, codes, numbers, causes, by, feature, code, relevance, value, level,
    cause,
):  # fmt: skip
    """Add an event; `code` is without `ALONE`."""
    e = counts[EVENTS]
    settled_by[e], told[e], causes[e] = by, feature, cause
    codes[e] = code + ALONE if code >= LEAST and cause < 0 else code
    numbers[e, 0], numbers[e, 1] = relevance, value
    numbers[e, 2] = np.nan if code >= LEAST and cause < 0 else level
    counts[EVENTS] = e + 1


@jit
def _take_in(
    i, pairs, among, rows, places, features, relevance, rounded, keys, cutoffs, pool_features,
    is_kept, slots, turn, left, given, sums, limit, limited_by, rank, kept_relevance, kept_rounded,
    kept_keys, n, required, n_features, capacity, resolution, counts, settled_by, told, codes,
    numbers, causes,
):  # fmt: skip
    """Let newcomer i enter, and the feature of least worth leave if there are too many.

    Returns the size of the pool.
    """
    row, size = rows[i], n + 1
    new = enter(
        left, given, sums, limit, limited_by, kept_relevance, kept_rounded, kept_keys, rank,
        slots[:n], pairs[1, row], pairs[2, row], relevance[i], rounded[i], keys[i],
    )  # fmt: skip
    pool_features[n], slots[n], is_kept[n] = features[i], new, False
    for later in range(row + 1, pairs.shape[1]):
        for which in range(3):
            pairs[which, later, new] = among[which, later, places[i]]
    stay = min(size, max(n_features, required))
    order, limiters = np.empty(size, np.int64), np.empty(size, np.int64)
    worth, limits = np.empty(size), np.empty(size)
    left_first = leave_in_turn(
        left, given, sums, limit, limited_by, rank, slots[:size], required, stay, resolution, order,
        worth, limits, limiters, turn[: size - stay], new if counts[KNOWN] else -1,
    )  # fmt: skip
    counts[KNOWN] = 1
    is_left = is_kept[:size].copy()
    if left_first == size - stay:  # else the rest is as it was
        _mark_left(order, stay, is_left)
    out = order[0] if size > capacity else -1
    # What is no longer kept comes first, then the newcomer, then what is kept again.
    for step in range(4):
        for k in range(size):
            code = _code_of(step, k == n, is_kept[k], is_left[k], k == out)
            if code < 0:
                continue
            by, level = -1, np.nan
            if code == KEPT:
                level = cutoffs[i]
            elif code != RETURNED and limiters[k] >= 0:
                by, level = pool_features[limiters[k]], limits[k]
            _tell(
                counts, settled_by, told, codes, numbers, causes, features[i], pool_features[k],
                code, kept_relevance[slots[k]], worth[k], level, by,
            )  # fmt: skip
    for k in range(size):
        is_kept[k] = is_left[k]
    if out < 0:
        return size
    gone = slots[out]
    _forget_first(out, pool_features[:size], slots[:size], is_kept[:size], turn[: size - stay])
    leave(left, given, sums, limit, limited_by, rank, slots[:n], gone)
    return n


@inline
def _mark_left(order, stay, is_left):
    """Mark the last ones of the order."""
    for k in range(len(order)):
        is_left[order[k]] = k >= len(order) - stay


@inline
def _forget_first(out, pool_features, slots, is_kept, turn):
    """Move up those that are younger than a feature that leaves, and those that leave after it."""
    for k in range(out, len(slots) - 1):
        pool_features[k], slots[k], is_kept[k] = pool_features[k + 1], slots[k + 1], is_kept[k + 1]
    for k in range(len(turn) - 1):
        turn[k] = turn[k + 1]


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
