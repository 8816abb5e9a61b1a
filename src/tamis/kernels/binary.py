"""Online linear models for two classes, or for a number to predict.

The row loop is inside the kernels, so the chunking of rows cannot change the model.

`marks[j] < 0` means that feature j is kept, in slot -marks[j]; other marks are 0, or the
accumulated precision of a feature that is not kept. Slot 0 is unused and has weight 0, so a score
is a sum without a branch. Weights of features that are not kept are 0 and are not stored.

Every kernel first scores a row. If the row has loss, its entries are split into those of kept
features, which are updated, and the others, which then compete for a slot in the order of the row.

`goals` holds the classes of rows, 0 or 1, or the numbers to predict. For numbers a model has a
state, `fit` (the positions are below), which is empty for classes.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.heap import (
    MISTAKES,
    NONZEROS,
    ROWS,
    SIZE,
    UPDATES,
    admit,
    fell,
    remove,
    weakest,
)
from tamis.kernels.prefetch import prefetch
from tamis.kernels.sorting import argsort

#: The shared factor of the weights stays above this power of two, so that rescaling is exact.
LOWEST_SCALE = 2.0**-200
#: Positions in `scale`: the factor of all weights, and the sum of their squares (without the
#: factor) in two parts, the second being the rounding error of the first.
FACTOR, SQUARES, DROPPED = range(3)

#: Positions in `scale` of a model that remembers: the largest strength of a kept feature so far,
#: the sum of squares of all values of rows with loss, and the number of those rows.
STRONGEST, TOTAL, FILLED = range(3)

#: Positions in `fit`, the state of a model of numbers: epsilon, and whether the loss is
#: epsilon-insensitive. Since the model began: rows, the intercept, and that of a model without
#: weights. Over all rows: the mean of the targets; the sum of squares around it; sums of squared
#: errors, of losses, and of squared losses, all of predictions made before the row was learned.
EPSILON, ROBUST, SEEN, INTERCEPT, CONSTANT = range(5)
MEAN, VARIATION, ERRORS, LOSSES, SQUARED_LOSSES = range(5, 10)
#: The geometric means of errors, and of those of the model without weights; each is followed by the
#: mean of the logarithms and by their number.
SIZE_OF_ERRORS, SIZE_OF_OFFSETS, N_FIT = 10, 13, 16

#: Tables of up to this many numbers stay in the processor's cache.
NEAR = 1 << 16

_NOBODY = np.float32(0)


@inline
def longest(indptr):
    """Return the largest number of entries in a row."""
    most = 0
    for r in range(len(indptr) - 1):
        most = max(most, indptr[r + 1] - indptr[r])
    return most


@inline
def _score(first, last, indices, values, marks, weight, slots):
    """Return the score of a row, and write the slot of each of its entries, 0 if it has none."""
    score = 0.0
    for t in range(first, last):
        slot = int(max(-marks[indices[t]], _NOBODY))
        slots[t - first] = slot
        score += weight[slot] * values[t]
    return score


@inline
def _look_ahead(r, indptr, indices, marks, width):
    """Let the marks of row r, if there is one, arrive while the row before it is learned."""
    if len(marks) > NEAR and r + 1 < len(indptr):
        for t in range(indptr[r], indptr[r + 1]):
            prefetch(marks, width * indices[t])


@inline
def _pull(score, goal, entries, counts, fit):
    """Return how far a row pulls its score, and in which direction; 0 if it has no loss.

    For classes it is the hinge loss with the sign of the class. Counts the row and its mistake.
    """
    if len(fit) > 0:
        return _error(score, goal, entries, counts, fit)
    y = 1.0 if goal == 1 else -1.0
    counts[ROWS] += 1
    counts[MISTAKES] += (score > 0) != (y > 0)
    loss = 1.0 - y * score
    if loss <= 0.0:  # not NaN
        return 0.0
    counts[UPDATES] += 1
    counts[NONZEROS] += entries
    return y * loss


@inline
def _error(score, goal, entries, counts, fit):
    """Return the error of a prediction, less epsilon; update the intercept and what is counted.

    The first row only sets the intercept. A mistake is a prediction that is clearly further from
    the target than that of a model without weights, whose constant follows the targets as fast.
    """
    counts[ROWS] += 1
    fit[SEEN] += 1.0
    rows, seen, off = float(counts[ROWS]), fit[SEEN], goal - fit[MEAN]
    error = goal - (fit[INTERCEPT] + score)
    pull = max(abs(error) - fit[EPSILON], 0.0) * np.sign(error)
    if rows > 1.0:
        loss = abs(pull) if fit[ROBUST] > 0.0 else error * error
        offset = abs(goal - fit[CONSTANT])
        _measure(abs(error), fit, SIZE_OF_ERRORS)
        _measure(offset, fit, SIZE_OF_OFFSETS)
        # Without a margin, rows in which no kept feature occurs would be mistakes by chance.
        counts[MISTAKES] += abs(error) > offset + fit[SIZE_OF_OFFSETS]
        fit[ERRORS] += error * error
        fit[LOSSES] += loss
        fit[SQUARED_LOSSES] += loss * loss
    fit[CONSTANT] += (goal - fit[CONSTANT]) * (2.0 / (seen + 1.0))
    fit[MEAN] += off / rows
    fit[VARIATION] += off * (goal - fit[MEAN])
    if seen == 1.0:
        fit[INTERCEPT] += error
        return 0.0
    most = fit[SIZE_OF_ERRORS] if fit[ROBUST] > 0.0 else np.inf
    fit[INTERCEPT] += max(-most, min(most, pull)) * (2.0 / (seen + 1.0))
    if pull != 0.0:
        counts[UPDATES] += 1
        counts[NONZEROS] += entries
    return pull


@inline
def _measure(size, fit, at):
    """Take a size, unless it is 0, into a geometric mean, which no outlier can spoil."""
    if size > 0.0:
        fit[at + 2] += 1.0
        fit[at + 1] += (np.log(size) - fit[at + 1]) / fit[at + 2]
        fit[at] = np.exp(fit[at + 1])


@inline
def _step(pull, spread, unit, fit):
    """Return the step of a row whose squared length, each square times its variance, is `spread`.

    With the epsilon-insensitive loss it is the one that removes the error, up to a largest.
    """
    if len(fit) > 0 and fit[ROBUST] > 0.0:
        most = fit[SIZE_OF_ERRORS] / unit
        return max(-most, min(most, pull / spread)) if spread > 0.0 else 0.0
    return pull / (spread + unit)


@inline
def _squares(first, last, values):
    """Return the squared length of a row."""
    total = 0.0
    for t in range(first, last):
        total += values[t] * values[t]
    return total


@inline
def plus(total, dropped, value):
    """Add a number to a sum held in two parts (Neumaier)."""
    larger = total + value
    if abs(total) >= abs(value):
        return larger, dropped + ((total - larger) + value)
    return larger, dropped + ((value - larger) + total)


@inline
def lift(scale, weights, bound, key):
    """Move a power of two from the weights to their factor if the factor has become too small."""
    scale[FACTOR] /= LOWEST_SCALE
    scale[SQUARES] *= LOWEST_SCALE * LOWEST_SCALE
    scale[DROPPED] *= LOWEST_SCALE * LOWEST_SCALE
    for slot in range(len(bound)):
        bound[slot] *= LOWEST_SCALE
        key[slot] *= LOWEST_SCALE
    for n in range(len(weights)):
        weights[n] *= LOWEST_SCALE


@inline
def shrink(scale, weights, bound, key, by):
    """Multiply all weights by a number between 0 and 1."""
    scale[FACTOR] *= by
    while scale[FACTOR] < LOWEST_SCALE:
        lift(scale, weights, bound, key)


@inline
def projection(scale, outside, lam):
    """Return the factor that projects the weights, newcomers included, on the 1/sqrt(lam) ball."""
    squares = max(scale[SQUARES] + scale[DROPPED] + outside, 0.0)
    norm = scale[FACTOR] * np.sqrt(squares)
    radius = 1.0 / np.sqrt(lam)
    return min(1.0, radius / norm) if norm > 0 else 1.0


@inline
def _renew(step, lam, values, first, n_in, inside, slots, weight, order, where, bound, key, serial,
           counts, scale):  # fmt: skip
    """Update the weights of a row's kept features."""
    squares, dropped = scale[SQUARES], scale[DROPPED]
    for n in range(n_in):
        slot = slots[inside[n] - first]
        old = weight[slot]
        new = old + step * values[inside[n]]
        weight[slot] = new
        key[slot] = abs(new)
        if key[slot] < bound[slot]:
            fell(order, where, bound, key, serial, counts, slot)
        if lam > 0:
            squares, dropped = plus(squares, dropped, -old * old)
            squares, dropped = plus(squares, dropped, new * new)
    scale[SQUARES], scale[DROPPED] = squares, dropped


@inline
def _receive(step, indices, values, n_out, outside, marks, weight, feature, order, where, bound,
             key, serial, counts, scale):  # fmt: skip
    """Let the other features of a row compete for a slot."""
    squares, dropped = scale[SQUARES], scale[DROPPED]
    lowest = bound[order[0]] if counts[SIZE] == len(order) else 0.0
    for n in range(n_out):
        j, new = indices[outside[n]], step * values[outside[n]]
        if abs(new) <= lowest:
            continue
        slot = admit(order, where, bound, key, serial, counts, abs(new))
        if slot == 0:
            continue
        if feature[slot] >= 0:
            marks[feature[slot]] = 0
        squares, dropped = plus(squares, dropped, -weight[slot] * weight[slot])
        squares, dropped = plus(squares, dropped, new * new)
        feature[slot], marks[j], weight[slot], key[slot] = j, -slot, new, abs(new)
        lowest = bound[order[0]] if counts[SIZE] == len(order) else 0.0
    scale[SQUARES], scale[DROPPED] = squares, dropped


@jit
def learn_first_order(
    indptr, indices, values, goals, eta, lam,
    marks, weight, feature, order, where, bound, key, serial, counts, scale, fit,
):  # fmt: skip
    """Train by gradient steps on the hinge loss; keep the largest weights.

    With lam > 0 the weights are also shrunk and projected. For numbers (lam = 0) the steps are
    implicit: they take the gradient where they lead to, so that no row can be overshot.
    """
    inside = np.empty(longest(indptr) + 1, dtype=np.int64)
    outside, slots = np.empty_like(inside), np.empty_like(inside)
    for r in range(len(goals)):
        first, last, y = indptr[r], indptr[r + 1], 1.0 if goals[r] == 1 else -1.0
        score = _score(first, last, indices, values, marks, weight, slots)
        pull = _pull(score * scale[FACTOR], goals[r], last - first, counts, fit)
        if pull == 0.0:
            continue
        if lam > 0:
            shrink(scale, weight, bound, key, 1.0 - lam * eta)
        step, n_in, newcomers = y * (eta / scale[FACTOR]), 0, 0.0
        if len(fit) > 0:
            step = _step(pull, _squares(first, last, values), 1.0 / eta, fit)
        for t in range(first, last):
            inside[n_in] = t
            outside[t - first - n_in] = t
            n_in += 1 if slots[t - first] > 0 else 0
        n_out = last - first - n_in
        _renew(
            step, lam, values, first, n_in, inside, slots, weight, order, where, bound, key, serial,
            counts, scale,
        )  # fmt: skip
        if lam > 0:
            for n in range(n_out):
                newcomers += (step * values[outside[n]]) ** 2
            scale[FACTOR] *= projection(scale, newcomers, lam)
        _receive(
            step, indices, values, n_out, outside, marks, weight, feature, order, where, bound,
            key, serial, counts, scale,
        )  # fmt: skip


@jit
def learn_second_order(
    indptr, indices, values, goals, gamma,
    marks, held, weight, feature, order, where, bound, serial, counts, fit,
):  # fmt: skip
    """Train by confidence-weighted steps on the squared hinge loss; keep the least variances.

    1/Sigma is 1 plus the accumulated precision: `held[slot]` of kept features, `marks[j]` of the
    others, rounded to their type at each step. It is also the key of the heap.
    """
    inside = np.empty(longest(indptr) + 1, dtype=np.int64)
    outside, slots = np.empty_like(inside), np.empty_like(inside)
    variance, per_gamma = np.empty(len(inside)), 1.0 / gamma
    for r in range(len(goals)):
        first, last = indptr[r], indptr[r + 1]
        _look_ahead(r + 1, indptr, indices, marks, 1)
        score, spread, n_in = 0.0, 0.0, 0
        # Both sums at once, as each waits for its last addition; most rows have loss.
        for t in range(first, last):
            mark, x = marks[indices[t]], values[t]
            slot = int(max(-mark, _NOBODY))
            sigma = 1.0 / (
                1.0 + float(max(held[slot], mark))
            )  # held[0] is 0, and marks of slots are below
            slots[t - first], variance[t - first] = slot, sigma
            score += weight[slot] * x
            spread += x * x * sigma
        pull = _pull(score, goals[r], last - first, counts, fit)
        if pull == 0.0:
            continue
        for t in range(first, last):
            inside[n_in] = t
            outside[t - first - n_in] = t
            n_in += 1 if slots[t - first] > 0 else 0
        step = _step(pull, spread, gamma, fit)
        for n in range(n_in):
            slot, x = slots[inside[n] - first], values[inside[n]]
            weight[slot] += step * x * variance[inside[n] - first]
            held[slot] += x * x * per_gamma
        lowest = bound[order[0]] if counts[SIZE] == len(order) else 0.0
        for n in range(last - first - n_in):
            j, x = indices[outside[n]], values[outside[n]]
            marks[j] += x * x * per_gamma
            if marks[j] <= lowest:
                continue
            slot = admit(order, where, bound, held, serial, counts, marks[j])
            if slot == 0:
                continue
            if feature[slot] >= 0:
                marks[feature[slot]] = held[slot]
            held[slot] = marks[j]
            weight[slot] = step * x * variance[outside[n] - first]
            feature[slot], marks[j] = j, -slot
            lowest = bound[order[0]] if counts[SIZE] == len(order) else 0.0


@inline
def strength(mean, precision):
    """Return mu^2 / Sigma, from the stored (rounded) numbers."""
    return float(mean) * float(mean) * (1.0 + float(precision))


@inline
def lowest_entry(floor, order, bound, counts):
    """Return a lower bound of what a newcomer's strength, divided by h, must exceed to enter."""
    return max(floor, bound[order[0]]) if counts[SIZE] == len(order) else floor


@inline
def _left(pull, own, fit):
    """Return what is left of a pull if a feature outside had contributed `own` to the score."""
    if len(fit) == 0:
        return max(pull - own, 0.0) if pull > 0.0 else min(pull - own, 0.0)
    error = pull + np.copysign(fit[EPSILON], pull) - own
    return max(abs(error) - fit[EPSILON], 0.0) * np.sign(error)


@inline
def _alone(left, x, mass, spread, unit, fit):
    """Return the step of the weight of a feature outside, as if it alone joined the kept ones.

    `mass` is 1/Sigma, and `spread` that of the kept features.
    """
    if len(fit) == 0 or fit[ROBUST] == 0.0:
        return left * x / ((spread + unit) * mass + x * x)
    return _step(left, spread + x * x / mass, unit, fit) * x / mass


@inline
def _spread(first, values, inside, slots, held, variance):
    """Return the variance of a score, and write that of each weight of a kept feature."""
    spread = 0.0
    for n in range(len(inside)):
        x = values[inside[n]]
        variance[n] = 1.0 / (1.0 + float(held[slots[inside[n] - first]]))
        spread += x * x * variance[n]
    return spread


@jit
def learn_by_strength(
    indptr, indices, values, goals, gamma, advantage, floor,
    marks, held, weight, feature, order, where, bound, key, serial, counts, scale, fit,
):  # fmt: skip
    """Train the kept features by confidence-weighted steps; keep the largest mu^2 / Sigma.

    Each of the others learns as if it alone were added to the kept ones. `marks[2 * j]` and the
    next are the accumulated precision and the mean of feature j if it is not kept; if it is, the
    first is -slot, and `held[slot]` and `weight[slot]` are in use. gamma counts in mean squared
    lengths of the rows with loss so far.
    """
    slots = np.empty(longest(indptr) + 1, dtype=np.int64)
    inside, outside = np.empty_like(slots), np.empty_like(slots)
    variance, strengths, share = np.empty(len(slots)), np.empty(len(slots)), 1.0 / advantage
    for r in range(len(goals)):
        first, last = indptr[r], indptr[r + 1]
        score = 0.0
        _look_ahead(r + 1, indptr, indices, marks, 2)
        for t in range(first, last):
            slot = int(max(-marks[2 * indices[t]], _NOBODY))
            slots[t - first] = slot
            score += float(weight[slot]) * values[t]
        pull = _pull(score, goals[r], last - first, counts, fit)
        if pull == 0.0:
            continue
        squares, n_in = 0.0, 0
        for t in range(first, last):
            squares += values[t] * values[t]
            inside[n_in] = t
            outside[t - first - n_in] = t
            n_in += 1 if slots[t - first] > 0 else 0
        if squares == 0.0:
            continue
        spread = _spread(first, values, inside[:n_in], slots, held, variance)
        scale[TOTAL] += squares
        scale[FILLED] += 1.0
        unit, top = gamma * (scale[TOTAL] / scale[FILLED]), scale[STRONGEST]
        step, per_unit = _step(pull, spread, unit, fit), 1.0 / unit
        for n in range(n_in):
            slot, x = slots[inside[n] - first], values[inside[n]]
            weight[slot] += step * x * variance[n]
            held[slot] += x * x * per_unit
            z = strength(weight[slot], held[slot])
            key[slot] = z
            top = max(top, z)
            if z < bound[slot]:
                fell(order, where, bound, key, serial, counts, slot)
        scale[STRONGEST] = top
        least, n_new = lowest_entry(floor * top, order, bound, counts), 0
        for n in range(last - first - n_in):
            j, x = indices[outside[n]], values[outside[n]]
            mean, mass = float(marks[2 * j + 1]), 1.0 + float(marks[2 * j])
            marks[2 * j + 1] = mean + _alone(_left(pull, mean * x, fit), x, mass, spread, unit, fit)
            marks[2 * j] += x * x * per_unit
            z = strength(marks[2 * j + 1], marks[2 * j])
            if z * share > least and x != 0.0:  # a stored 0 is not in the row
                strengths[n_new], outside[n_new] = -z, outside[n]
                n_new += 1
        if n_new > 0:
            _take_in(
                share, floor, indices, values, outside, strengths[:n_new], marks, held, weight,
                feature, order, where, bound, key, serial, counts, scale,
            )  # fmt: skip
        if floor > 0.0:
            _let_go(
                floor, marks, held, weight, feature, order, where, bound, key, serial, counts,
                scale,
            )  # fmt: skip


@inline
def _remember(slot, marks, held, weight, feature):
    """Write the numbers of a kept feature back to `marks`."""
    marks[2 * feature[slot]], marks[2 * feature[slot] + 1] = held[slot], weight[slot]


@inline
def _start_copies_again(begin, z, precision, part, indices, values, outside, strengths, ranked,
                        marks):  # fmt: skip
    """Let the newcomers, from `begin` on, that always moved together with one that entered forget.

    Those have the same precision, and weights that contribute the same to this row; the other's
    strength is z. They learn what the other leaves.
    """
    while begin < len(ranked) and strengths[ranked[begin]] == -z:
        t = outside[ranked[begin]]
        if t >= 0:
            j = indices[t]
            if marks[2 * j] == precision and marks[2 * j + 1] * values[t] == part:
                outside[ranked[begin]], marks[2 * j + 1] = -1, 0.0
        begin += 1


@jit
def _take_in(share, floor, indices, values, outside, strengths, marks, held, weight, feature, order,
             where, bound, key, serial, counts, scale):  # fmt: skip
    """Let newcomers in, the strongest first, while a share of their strength beats the weakest.

    Copies of those stay outside.
    """
    ranked = argsort(strengths)
    for at in range(len(ranked)):
        n = ranked[at]
        if outside[n] < 0:
            continue
        j, z = indices[outside[n]], -strengths[n]
        if not z * share > floor * scale[STRONGEST]:
            break
        if counts[SIZE] == len(order):
            slot = weakest(order, where, bound, key, serial, counts, z * share)
            if not z * share > bound[slot]:
                break
            _remember(slot, marks, held, weight, feature)
        slot = admit(order, where, bound, key, serial, counts, z)
        feature[slot], key[slot] = j, z
        held[slot], weight[slot] = marks[2 * j], marks[2 * j + 1]
        marks[2 * j] = -slot
        scale[STRONGEST] = max(scale[STRONGEST], z)
        _start_copies_again(
            at + 1, z, held[slot], weight[slot] * values[outside[n]], indices, values, outside,
            strengths, ranked, marks,
        )  # fmt: skip


@jit
def _let_go(floor, marks, held, weight, feature, order, where, bound, key, serial, counts,
            scale):  # fmt: skip
    """Drop kept features that are weaker than the floor."""
    least = floor * scale[STRONGEST]
    while counts[SIZE] > 0:
        slot = weakest(order, where, bound, key, serial, counts, least)
        if bound[slot] >= least:
            break
        _remember(slot, marks, held, weight, feature)
        slot, last = remove(order, where, bound, key, serial, feature, counts)
        if slot != last:
            held[slot], weight[slot] = held[last], weight[last]
            marks[2 * feature[slot]] = -slot
        held[last], weight[last] = 0.0, 0.0


@jit
def learn_full(indptr, indices, values, goals, rate, decay, weight, precision, counts, fit):
    """Train all weights by gradient steps on the hinge loss; with `decay` at rate / sqrt(t).

    With a `precision` per feature: by confidence-weighted steps on the squared hinge loss, where
    the rate is gamma.
    """
    second_order = len(precision) > 0
    for r in range(len(goals)):
        first, last, y = indptr[r], indptr[r + 1], 1.0 if goals[r] == 1 else -1.0
        score = 0.0
        for t in range(first, last):
            score += weight[indices[t]] * values[t]
        pull = _pull(score, goals[r], last - first, counts, fit)
        if pull == 0.0:
            continue
        if not second_order:
            eta = rate / np.sqrt(counts[ROWS]) if decay else rate
            step = y * eta
            if len(fit) > 0:
                step = _step(pull, _squares(first, last, values), 1.0 / eta, fit)
            for t in range(first, last):
                weight[indices[t]] += step * values[t]
            continue
        spread = 0.0
        for t in range(first, last):
            spread += values[t] * values[t] * (1.0 / (1.0 + float(precision[indices[t]])))
        step, per_gamma = _step(pull, spread, rate, fit), 1.0 / rate
        for t in range(first, last):
            j, x = indices[t], values[t]
            weight[j] += step * x * (1.0 / (1.0 + float(precision[j])))
            precision[j] += x * x * per_gamma
