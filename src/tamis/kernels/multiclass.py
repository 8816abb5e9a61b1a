"""Online linear models for k classes: like `tamis.kernels.binary`, with k weights per feature.

A row moves the block of its own class up and those of its rivals down: the best of the wrong
classes, or in equal shares all wrong classes that score at least as high as the true one
(`uniform`). `marks[j, 0] < 0` means that feature j is kept, in slot -marks[j, 0].
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.binary import (
    DROPPED,
    FACTOR,
    FILLED,
    SQUARES,
    STRONGEST,
    TOTAL,
    longest,
    lowest_entry,
    plus,
    projection,
    shrink,
    strength,
)
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
from tamis.kernels.sorting import argsort


@inline
def contrast(scores, code, uniform, active, sign, counts):
    """Find the classes whose weights a row of class `code` moves, and by what share.

    Fills `active` and `sign`, and counts a wrong prediction. Returns the number of such classes
    and the margin: their scores times signs.
    """
    rival, moved, total = -1, 1, 0.0
    active[0], sign[0] = code, 1.0
    for i in range(len(scores)):
        if i == code:
            continue
        if rival < 0 or scores[i] > scores[rival]:
            rival = i
        if scores[i] >= scores[code]:
            active[moved] = i
            moved += 1
            total += scores[i]
    tied = scores[rival] == scores[code]
    counts[ROWS] += 1
    counts[MISTAKES] += scores[rival] > scores[code] or (tied and rival < code)
    if not uniform:
        active[1], sign[1] = rival, -1.0
        return 2, scores[code] - scores[rival]
    if moved == 1:
        return 0, np.inf
    for c in range(1, moved):
        sign[c] = -1.0 / (moved - 1)
    return moved, scores[code] - total / (moved - 1)


@inline
def score(first, last, indices, values, marks, weight, inside, slots, outside, scores):
    """Compute the scores of one row.

    Its entries are split into those of kept features, with their slots, and the others. Returns
    the number of the former.
    """
    n_in = 0
    for t in range(first, last):
        slot = int(max(-marks[indices[t], 0], np.float32(0)))
        inside[n_in] = t
        slots[n_in] = slot
        outside[t - first - n_in] = t
        n_in += 1 if slot > 0 else 0
    scores[:] = 0.0
    for n in range(n_in):
        for i in range(len(scores)):
            scores[i] += weight[slots[n], i] * values[inside[n]]
    return n_in


@inline
def _renew(rate, lam, values, n_in, inside, slots, moved, active, sign, weight, order, where,
           bound, key, serial, counts, scale):  # fmt: skip
    """Update the weights of a row's kept features."""
    squares, dropped = scale[SQUARES], scale[DROPPED]
    for n in range(n_in):
        slot, total = slots[n], 0.0
        for c in range(moved):
            old = weight[slot, active[c]]
            new = old + sign[c] * rate * values[inside[n]]
            weight[slot, active[c]] = new
            if lam > 0:
                squares, dropped = plus(squares, dropped, -old * old)
                squares, dropped = plus(squares, dropped, new * new)
        for i in range(weight.shape[1]):
            total += weight[slot, i] * weight[slot, i]
        key[slot] = np.sqrt(total)
        if key[slot] < bound[slot]:
            fell(order, where, bound, key, serial, counts, slot)
    scale[SQUARES], scale[DROPPED] = squares, dropped


@inline
def _receive(rate, indices, values, n_out, outside, moved, active, sign, fresh, marks, weight,
             feature, order, where, bound, key, serial, counts, scale):  # fmt: skip
    """Let the other features of a row compete for a slot; `fresh` is scratch for their weights."""
    squares, dropped = scale[SQUARES], scale[DROPPED]
    fresh[:] = 0.0
    for n in range(n_out):
        j, x, total = indices[outside[n]], values[outside[n]], 0.0
        for c in range(moved):
            fresh[active[c]] = sign[c] * rate * x
        for i in range(len(fresh)):  # in the order in which kept features add theirs
            total += fresh[i] * fresh[i]
        norm = np.sqrt(total)
        slot = admit(order, where, bound, key, serial, counts, norm) if norm > 0 else 0
        if slot == 0:
            continue
        if feature[slot] >= 0:
            marks[feature[slot], 0] = 0
        feature[slot], marks[j, 0], key[slot] = j, -slot, norm
        for i in range(weight.shape[1]):
            squares, dropped = plus(squares, dropped, -weight[slot, i] * weight[slot, i])
            squares, dropped = plus(squares, dropped, fresh[i] * fresh[i])
            weight[slot, i] = fresh[i]
    scale[SQUARES], scale[DROPPED] = squares, dropped


@jit
def learn_first_order(
    indptr, indices, values, codes, eta, lam, uniform,
    marks, weight, feature, order, where, bound, key, serial, counts, scale,
):  # fmt: skip
    """Train as for two classes; features are ranked by the norm of their k weights."""
    k, flat = weight.shape[1], weight.reshape(-1)
    scores, sign, active = np.zeros(k), np.zeros(k), np.zeros(k, dtype=np.int64)
    fresh = np.zeros(k)
    inside = np.empty(longest(indptr) + 1, dtype=np.int64)
    outside, slots = np.empty_like(inside), np.empty_like(inside)
    for r in range(len(codes)):
        first, last = indptr[r], indptr[r + 1]
        n_in = score(first, last, indices, values, marks, weight, inside, slots, outside, scores)
        n_out = last - first - n_in
        for i in range(k):
            scores[i] *= scale[FACTOR]
        moved, margin = contrast(scores, codes[r], uniform, active, sign, counts)
        if 1.0 - margin <= 0.0:
            continue
        counts[UPDATES] += 1
        counts[NONZEROS] += last - first
        if lam > 0:
            shrink(scale, flat, bound, key, 1.0 - lam * eta)
        rate, newcomers = eta / scale[FACTOR], 0.0
        _renew(
            rate, lam, values, n_in, inside, slots, moved, active, sign, weight, order, where,
            bound, key, serial, counts, scale,
        )  # fmt: skip
        if lam > 0:
            for n in range(n_out):
                for c in range(moved):
                    newcomers += (sign[c] * rate * values[outside[n]]) ** 2
            scale[FACTOR] *= projection(scale, newcomers, lam)
        _receive(
            rate, indices, values, n_out, outside, moved, active, sign, fresh, marks, weight,
            feature, order, where, bound, key, serial, counts, scale,
        )  # fmt: skip


@inline
def square_sum(first, last, values):
    """Return the squared length of a row."""
    total = 0.0
    for t in range(first, last):
        total += values[t] * values[t]
    return total


@inline
def total_strength(means, precisions):
    """Return the norm of the k strengths of a feature, mu^2 / Sigma of each weight.

    A sum would prefer features that say a little about many classes.
    """
    total = 0.0
    for i in range(len(means)):
        z = strength(means[i], precisions[i])
        total += z * z
    return np.sqrt(total)


@inline
def _spread(first, last, indices, values, moved, active, sign, marks, held):
    """Return the variance of a row's score under the contrast."""
    spread = 0.0
    for t in range(first, last):
        j = indices[t]
        slot = int(max(-marks[j, 0], np.float32(0)))
        for c in range(moved):
            precision = held[slot, active[c]] if slot > 0 else marks[j, active[c]]
            x = sign[c] * values[t]
            spread += x * x * (1.0 / (1.0 + float(precision)))
    return spread


@inline
def doubt(table, row):
    """Return the sum of the k variances of a feature, which starts at k and decreases."""
    total = 0.0
    for i in range(table.shape[1]):
        total += 1.0 / (1.0 + float(table[row, i]))
    return total


@jit
def learn_second_order(
    indptr, indices, values, codes, gamma, uniform,
    marks, held, weight, feature, order, where, bound, key, serial, counts,
):  # fmt: skip
    """Train as for two classes; features are ranked by k minus the sum of their variances."""
    k, per_gamma = weight.shape[1], 1.0 / gamma
    scores, sign, active = np.zeros(k), np.zeros(k), np.zeros(k, dtype=np.int64)
    fresh = np.zeros(k)
    inside = np.empty(longest(indptr) + 1, dtype=np.int64)
    outside, slots = np.empty_like(inside), np.empty_like(inside)
    for r in range(len(codes)):
        first, last = indptr[r], indptr[r + 1]
        n_in = score(first, last, indices, values, marks, weight, inside, slots, outside, scores)
        moved, margin = contrast(scores, codes[r], uniform, active, sign, counts)
        if 1.0 - margin <= 0.0:
            continue
        counts[UPDATES] += 1
        counts[NONZEROS] += last - first
        spread = _spread(first, last, indices, values, moved, active, sign, marks, held)
        step = (1.0 - margin) / (spread + gamma)
        for n in range(n_in):
            slot = slots[n]
            for c in range(moved):
                i, x = active[c], sign[c] * values[inside[n]]
                weight[slot, i] += step * x * (1.0 / (1.0 + float(held[slot, i])))
                held[slot, i] += x * x * per_gamma
            key[slot] = -doubt(held, slot)
        for n in range(last - first - n_in):
            j = indices[outside[n]]
            for c in range(moved):
                i, x = active[c], sign[c] * values[outside[n]]
                fresh[c] = step * x * (1.0 / (1.0 + float(marks[j, i])))
                marks[j, i] += x * x * per_gamma
            rank = -doubt(marks, j)
            slot = admit(order, where, bound, key, serial, counts, rank) if rank > -k else 0
            if slot == 0:
                continue
            if feature[slot] >= 0:
                marks[feature[slot]] = held[slot]
            held[slot] = marks[j]
            weight[slot] = 0.0
            for c in range(moved):
                weight[slot, active[c]] = fresh[c]
            feature[slot], marks[j, 0], key[slot] = j, -slot, rank


@inline
def _step(step, per_unit, value, moved, active, sign, means, precisions):
    """Update the k weights of a feature and their precisions."""
    for c in range(moved):
        i, x = active[c], sign[c] * value
        means[i] += step * x * (1.0 / (1.0 + float(precisions[i])))
        precisions[i] += x * x * per_unit


@inline
def _part(value, moved, active, sign, means, precisions):
    """Return what a feature contributes to the margin of a row, and to the variance of that."""
    own, spread = 0.0, 0.0
    for c in range(moved):
        i, x = active[c], sign[c] * value
        own += float(means[i]) * x
        spread += x * x * (1.0 / (1.0 + float(precisions[i])))
    return own, spread


@jit
def learn_by_strength(
    indptr, indices, values, codes, gamma, advantage, floor, uniform,
    marks, held, weight, feature, order, where, bound, key, serial, counts, scale,
):  # fmt: skip
    """Train as for two classes; a feature's strength is the norm of those of its k weights.

    A row of `marks` has k precisions, then k means.
    """
    k, share = weight.shape[1], 1.0 / advantage
    scores, sign, active = np.zeros(k), np.zeros(k), np.zeros(k, dtype=np.int64)
    inside = np.empty(longest(indptr) + 1, dtype=np.int64)
    outside, slots, strengths = np.empty_like(inside), np.empty_like(inside), np.empty(len(inside))
    for r in range(len(codes)):
        first, last = indptr[r], indptr[r + 1]
        n_in = score(first, last, indices, values, marks, weight, inside, slots, outside, scores)
        moved, margin = contrast(scores, codes[r], uniform, active, sign, counts)
        if 1.0 - margin <= 0.0:
            continue
        counts[UPDATES] += 1
        counts[NONZEROS] += last - first
        squares = square_sum(first, last, values)
        if squares == 0.0:
            continue
        scale[TOTAL] += squares
        scale[FILLED] += 1.0
        unit, spread = gamma * (scale[TOTAL] / scale[FILLED]), 0.0
        for n in range(n_in):
            slot = slots[n]
            spread += _part(values[inside[n]], moved, active, sign, weight[slot], held[slot])[1]
        step, per_unit, top = (1.0 - margin) / (spread + unit), 1.0 / unit, scale[STRONGEST]
        for n in range(n_in):
            slot = slots[n]
            _step(step, per_unit, values[inside[n]], moved, active, sign, weight[slot], held[slot])
            key[slot] = total_strength(weight[slot], held[slot])
            top = max(top, key[slot])
            if key[slot] < bound[slot]:
                fell(order, where, bound, key, serial, counts, slot)
        scale[STRONGEST] = top
        least, n_new = lowest_entry(floor * top, order, bound, counts), 0
        for n in range(last - first - n_in):
            j, x = indices[outside[n]], values[outside[n]]
            means, precisions = marks[j, k:], marks[j, :k]
            own, more = _part(x, moved, active, sign, means, precisions)
            left = max(1.0 - margin - own, 0.0)
            _step(
                left / (spread + more + unit), per_unit, x, moved, active, sign, means, precisions
            )
            z = total_strength(means, precisions)
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
    """Write the numbers of a kept feature to its row of `marks`."""
    j, k = feature[slot], weight.shape[1]
    for i in range(k):
        marks[j, i], marks[j, k + i] = held[slot, i], weight[slot, i]


@inline
def _start_copies_again(begin, z, value, precisions, means, indices, values, outside, strengths,
                        ranked, marks):  # fmt: skip
    """Let the newcomers, from `begin` on, that always moved together with one that entered forget.

    Those have the same precisions, and weights that contribute the same to this row, where the
    other has this value and strength z. They learn what the other leaves.
    """
    k = len(means)
    while begin < len(ranked) and strengths[ranked[begin]] == -z:
        t = outside[ranked[begin]]
        if t >= 0:
            same = True
            for i in range(k):
                same &= marks[indices[t], i] == precisions[i]
                same &= marks[indices[t], k + i] * values[t] == means[i] * value
            if same:
                outside[ranked[begin]] = -1
                marks[indices[t], k:] = 0.0
        begin += 1


@jit
def _take_in(share, floor, indices, values, outside, strengths, marks, held, weight, feature, order,
             where, bound, key, serial, counts, scale):  # fmt: skip
    """Let newcomers in, the strongest first, while a share of their strength beats the weakest.

    Copies of those stay outside.
    """
    k, ranked = weight.shape[1], argsort(strengths)
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
        for i in range(k):
            held[slot, i], weight[slot, i] = marks[j, i], marks[j, k + i]
        marks[j, 0] = -slot
        scale[STRONGEST] = max(scale[STRONGEST], z)
        _start_copies_again(
            at + 1, z, values[outside[n]], held[slot], weight[slot], indices, values, outside,
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
        for i in range(weight.shape[1]):
            held[slot, i], weight[slot, i] = held[last, i], weight[last, i]
            held[last, i], weight[last, i] = 0.0, 0.0
        if slot != last:
            marks[feature[slot], 0] = -slot


@jit
def learn_full(indptr, indices, values, codes, rate, decay, uniform, weight, precision, counts):
    """Train all weights as for two classes; second-order with a `precision` per weight."""
    k, second_order = weight.shape[1], len(precision) > 0
    scores, sign, active = np.zeros(k), np.zeros(k), np.zeros(k, dtype=np.int64)
    for r in range(len(codes)):
        first, last = indptr[r], indptr[r + 1]
        scores[:] = 0.0
        for t in range(first, last):
            for i in range(k):
                scores[i] += weight[indices[t], i] * values[t]
        moved, margin = contrast(scores, codes[r], uniform, active, sign, counts)
        if 1.0 - margin <= 0.0:
            continue
        counts[UPDATES] += 1
        counts[NONZEROS] += last - first
        if not second_order:
            step = rate / np.sqrt(counts[ROWS]) if decay else rate
            for t in range(first, last):
                for c in range(moved):
                    weight[indices[t], active[c]] += sign[c] * step * values[t]
            continue
        spread = 0.0
        for t in range(first, last):
            for c in range(moved):
                x = sign[c] * values[t]
                spread += x * x * (1.0 / (1.0 + float(precision[indices[t], active[c]])))
        step, per_gamma = (1.0 - margin) / (spread + rate), 1.0 / rate
        for t in range(first, last):
            for c in range(moved):
                j, i, x = indices[t], active[c], sign[c] * values[t]
                weight[j, i] += step * x * (1.0 / (1.0 + float(precision[j, i])))
                precision[j, i] += x * x * per_gamma
