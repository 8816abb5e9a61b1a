"""L1-penalised logistic regression on a few kept columns, warm-started.

Minimises mean log(1 + exp(-y f)) + penalty ||w||_1 + l2/2 ||w||^2 over weights w and an intercept
that is not penalised, by proximal Newton steps: the loss is replaced by its quadratic model, which
is minimised by sweeps over the coordinates, which leave weights at exactly zero, and a step is
taken that lowers the objective. Columns are lists of entries end to end, as in
`tamis.kernels.column_entries`; every sum runs in row order.
"""

from __future__ import annotations

import math

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.column_entries import list_column

#: Limits of Newton steps, of sweeps per step and of halvings of a step.
MOST_STEPS, MOST_SWEEPS, MOST_HALVINGS = 200, 200, 40
#: Least curvature of a row, so that no step divides by zero.
LEAST_CURVATURE = 1e-9
#: A step must lower the objective by this share of what its slope predicts, up to rounding.
ENOUGH, ROUNDING = 0.01, 1e-15


@jit
def block_gradients(
    flat, indptr, indices, values, n, shifts, scales, slopes, lo, hi, first, gradients
):
    """Compute the largest |d loss / d weight| over the classes, at weight 0, of columns lo..hi-1.

    `slopes` is d loss / d margin, one column per class. `scales` and `gradients` begin with
    column `first`; scale 0 marks a column that cannot be used.
    """
    rows, entries = np.empty(n, np.int32), np.empty(n, np.float64)
    n_classes = slopes.shape[1]
    products = np.empty(n_classes)
    for j in range(lo, hi):
        gradients[j - first] = 0.0
        if scales[j - first] == 0.0:
            continue
        count = list_column(flat, indptr, indices, values, n, j, shifts[j], rows, entries)
        products[:] = 0.0
        for t in range(count):
            for c in range(n_classes):
                products[c] += entries[t] * slopes[rows[t], c]
        for c in range(n_classes):
            size = abs(products[c]) / (n * scales[j - first])
            gradients[j - first] = max(gradients[j - first], size)


@jit
def slope_of(rows, entries, first, last, slopes):
    """Return the sum of entries first..last-1 times the slopes of their rows.

    In four partial sums, because an addition that waits for the one before it takes four times as
    long. A column that lists all rows lists them in order and is read sequentially.
    """
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    count = last - first
    fours = count // 4 * 4
    if count == len(slopes):
        for i in range(0, fours, 4):
            a += entries[first + i] * slopes[i]
            b += entries[first + i + 1] * slopes[i + 1]
            c += entries[first + i + 2] * slopes[i + 2]
            d += entries[first + i + 3] * slopes[i + 3]
    else:
        for t in range(first, first + fours, 4):
            a += entries[t] * slopes[rows[t]]
            b += entries[t + 1] * slopes[rows[t + 1]]
            c += entries[t + 2] * slopes[rows[t + 2]]
            d += entries[t + 3] * slopes[rows[t + 3]]
    for t in range(first + fours, last):
        a += entries[t] * slopes[rows[t]]
    return (a + b) + (c + d)


@jit
def move_by(rows, entries, first, last, change, curves, move, pull):
    """Update the margins for a change of one weight; `pull` is the change times the curvature."""
    if last - first == len(move):
        for i in range(len(move)):
            move[i] += change * entries[first + i]
            pull[i] = curves[i] * move[i]
        return
    for t in range(first, last):
        row = rows[t]
        move[row] += change * entries[t]
        pull[row] = curves[row] * move[row]


@jit
def margins(indptr, rows, entries, weights, intercept, out):
    """Return the margin of each row."""
    out[:] = intercept
    for j in range(len(weights)):
        if weights[j] != 0.0:
            for t in range(indptr[j], indptr[j + 1]):
                out[rows[t]] += weights[j] * entries[t]


@jit
def mean_loss(margin, move, step, positive):
    """Return the mean logistic loss at margin + step * move."""
    total = 0.0
    for i in range(len(margin)):
        f = margin[i] + step * move[i]
        total += math.log1p(math.exp(-abs(f))) + (max(f, 0.0) - f * positive[i])
    return total / len(margin)


@jit
def derive(indptr, rows, entries, margin, positive, weights, l2, slopes, curves, gradients):
    """Compute derivatives of the loss by margin, and by weight; the intercept's is last."""
    n, k = len(margin), len(weights)
    gradients[k] = 0.0
    for i in range(n):
        small = math.exp(-abs(margin[i]))
        chance = (1.0 if margin[i] >= 0.0 else small) / (1.0 + small)
        slopes[i] = chance - positive[i]
        curves[i] = max(chance * (1.0 - chance), LEAST_CURVATURE)
        gradients[k] += slopes[i] / n
    for j in range(k):
        total = slope_of(rows, entries, indptr[j], indptr[j + 1], slopes)
        gradients[j] = total / n + l2 * weights[j]


@jit
def worst_violation(weights, gradients, penalty):
    """Return the largest distance of 0 from a subgradient: how far the weights are from optimal."""
    worst = abs(gradients[len(weights)])
    for j in range(len(weights)):
        if weights[j] > 0.0:
            off = abs(gradients[j] + penalty)
        elif weights[j] < 0.0:
            off = abs(gradients[j] - penalty)
        else:
            off = abs(gradients[j]) - penalty
        worst = max(worst, off)
    return worst


@jit
def sweep(indptr, rows, entries, curves, bends, gradients, weights, penalty, l2, steps, move, pull):
    """Minimise the quadratic model along each coordinate in turn; return the largest change.

    `steps` is the change of each weight (last: the intercept), `move` its effect on the
    margins, `pull` that times the curvature, `bends` the second derivatives.
    """
    n, k = len(move), len(weights)
    slope = gradients[k] + np.sum(pull) / n
    change = -slope / bends[k]
    steps[k] += change
    for i in range(n):
        move[i] += change
        pull[i] = curves[i] * move[i]
    largest = abs(slope)
    for j in range(k):
        first, last = indptr[j], indptr[j + 1]
        total = slope_of(rows, entries, first, last, pull)
        slope = gradients[j] + total / n + l2 * steps[j]
        weight = weights[j] + steps[j]
        free = weight - slope / bends[j]
        shrunk = max(abs(free) - penalty / bends[j], 0.0)
        target = shrunk if free > 0.0 else -shrunk
        change = target - weight
        if change != 0.0:
            # From the weight itself, so that a weight that shrinks to zero is exactly zero.
            steps[j] = target - weights[j]
            move_by(rows, entries, first, last, change, curves, move, pull)
            largest = max(largest, abs(change) * bends[j])
    return largest


@jit
def length_of_step(margin, positive, weights, gradients, penalty, l2, steps, move):
    """Return the first of 1, 1/2, 1/4, ... that lowers the objective enough; 0 if none does."""
    k = len(weights)
    promised = gradients[k] * steps[k]
    before = mean_loss(margin, move, 0.0, positive)
    for j in range(k):
        promised += gradients[j] * steps[j]
        promised += penalty * (abs(weights[j] + steps[j]) - abs(weights[j]))
        before += penalty * abs(weights[j]) + l2 / 2 * weights[j] * weights[j]
    length = 1.0
    for _ in range(MOST_HALVINGS):
        after = mean_loss(margin, move, length, positive)
        for j in range(k):
            weight = weights[j] + length * steps[j]
            after += penalty * abs(weight) + l2 / 2 * weight * weight
        if after <= before + ENOUGH * length * promised + ROUNDING * abs(before):
            return length
        length /= 2
    return 0.0


@jit
def fit_weights(
    indptr, rows, entries, positive, penalty, l2, tolerance, weights, slopes, gradients
):
    """Fit weights (last: the intercept) from their present values, until within the tolerance.

    Leaves the slopes of the loss by margin and the gradients of the weights. Returns the sweeps
    made, and the violation at the end.
    """
    n, k = len(positive), len(weights) - 1
    margin, move, pull, curves = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    steps, bends = np.empty(k + 1), np.empty(k + 1)
    w = weights[:k]
    sweeps = 0
    margins(indptr, rows, entries, w, weights[k], margin)
    worst = 0.0
    for _ in range(MOST_STEPS):
        derive(indptr, rows, entries, margin, positive, w, l2, slopes, curves, gradients)
        worst = worst_violation(w, gradients, penalty)
        if worst <= tolerance:
            break
        bends[k] = 0.0
        for i in range(n):
            bends[k] += curves[i] / n
        for j in range(k):
            bends[j] = 0.0
            for t in range(indptr[j], indptr[j + 1]):
                bends[j] += entries[t] * entries[t] * curves[rows[t]]
            bends[j] = bends[j] / n + l2
        steps[:] = 0.0
        move[:] = 0.0
        pull[:] = 0.0
        for _ in range(MOST_SWEEPS):
            sweeps += 1
            change = sweep(
                indptr, rows, entries, curves, bends, gradients, w, penalty, l2, steps, move, pull
            )
            if change <= 0.1 * worst:
                break
        length = length_of_step(margin, positive, w, gradients, penalty, l2, steps, move)
        if length == 0.0:
            break
        weights += length * steps
        margin += length * move
    return sweeps, worst
