"""Permutation p-values of sums, where the t law cannot be trusted.

The sum S of a column over the rows of a class, over all arrangements of the rows, is the sum of the
chosen ones if n1 of n rows are drawn. Its tail follows from the double saddle-point approximation
(Skovgaard 1987; Booth and Butler 1990): draw rows independently with probability n1/n, given that
there are n1 of them. Given covariates, each row is in the class with a probability of its own.
"""

from __future__ import annotations

import math

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.exact_tests import fisher
from tamis.kernels.lanes import LANES, load, spread, store
from tamis.kernels.sorting import argsort

#: Codes of the tests, like those of `tamis.kernels.exact_tests`.
SADDLE_POINT, NORMAL_SCORES, GIVEN = 7, 8, 9

#: What is wrong with the t or F law for a column: nothing, or which test takes its place.
TRUSTWORTHY, FEW_VALUES, SMOOTH = range(3)

#: The t law is trusted where its leading errors, by skewness and by kurtosis, are at most this.
TRUSTED = 0.2

#: Sums of columns with at most this many levels take too few values for a smooth law.
FEW_LEVELS = 10

#: Sums closer to their mean than this many standard deviations are not tested further.
NEAR = 2.0


@inline
def _normal_tail(w):
    """Return P(Z > w)."""
    return 0.5 * math.erfc(w * math.sqrt(0.5))


@jit
def _cumulants(x, s, t, share, out):
    """Write the log of the moment function of a draw, and its first and second derivatives."""
    out[:] = 0.0
    for i in range(len(x)):
        v = s * x[i] + t
        small = math.exp(-abs(v))
        if v > 0.0:
            total = share + (1.0 - share) * small
            out[0] += v + math.log(total)
            q = share / total
        else:
            total = 1.0 - share + share * small
            out[0] += math.log(total)
            q = share * small / total
        spread = q * (1.0 - q)
        out[1] += q * x[i]
        out[2] += q
        out[3] += spread * x[i] * x[i]
        out[4] += spread * x[i]
        out[5] += spread


@jit
def sum_p(x, total, drawn):
    """Return the two-sided p-value of the sum of `drawn` values of x; -1 if it is at its extreme.

    x has mean 0 and variance 1. The p-value is twice the smaller tail.
    """
    n = len(x)
    share = drawn / n
    s, t, value = 0.0, 0.0, 0.0
    now, then = np.empty(6), np.empty(6)
    _cumulants(x, s, t, share, now)
    for _ in range(100):
        by_s, by_t = total - now[1], drawn - now[2]
        if abs(by_s) < 1e-8 * math.sqrt(n) and abs(by_t) < 1e-8 * n:
            break
        det = now[3] * now[5] - now[4] * now[4]
        if not det > 1e-10 * now[3] * now[5] or abs(s) > 1e4:
            return -1.0
        step_s = (now[5] * by_s - now[4] * by_t) / det
        step_t = (now[3] * by_t - now[4] * by_s) / det
        length, better = 1.0, False
        while length > 1e-6 and not better:
            a, b = s + length * step_s, t + length * step_t
            _cumulants(x, a, b, share, then)
            reached = a * total + b * drawn - then[0]
            better = reached >= value - 1e-12 * (1.0 + abs(value))
            length *= 0.5
        if not better:
            return -1.0
        s, t, value = a, b, reached
        now, then = then, now
    else:
        return -1.0
    if value < 1e-6:
        return 1.0
    det = now[3] * now[5] - now[4] * now[4]
    w = math.sqrt(2.0 * value)
    u = abs(s) * math.sqrt(det / (n * share * (1.0 - share)))
    density = math.exp(-0.5 * w * w) / math.sqrt(2.0 * math.pi)
    tail = _normal_tail(w) - density * (1.0 / w - 1.0 / u)
    return min(1.0, max(0.0, 2.0 * tail))


@jit
def _extreme_p(logs, x, drawn, chosen):
    """Return an exact p-value for sums at their extreme, from as many highest and lowest values."""
    n, order = len(x), argsort(x)
    p = 1.0
    for side in range(2):
        size, inside = 0, 0
        edge = x[order[n - drawn]] if side else x[order[drawn - 1]]
        for i in range(n):
            if (x[i] >= edge) if side else (x[i] <= edge):
                size += 1
                inside += chosen[i]
        p = min(p, fisher(logs, n, drawn, size, inside, math.inf))
    return min(1.0, 2.0 * p)


@jit
def _lattice_step(x):
    """Return the step of which all differences of values are multiples; 0 if there is none."""
    order, step = argsort(x), np.inf
    lowest = x[order[0]]
    for i in range(1, len(x)):
        gap = x[order[i]] - x[order[i - 1]]
        if gap > 1e-9:
            step = min(step, gap)
    for i in range(len(x)):
        steps = (x[i] - lowest) / step
        if abs(steps - np.rint(steps)) > 1e-6:
            return 0.0
    return step


@jit
def _drawn_p(logs, x, chosen, drawn):
    """Return the p-value of the sum of x over the chosen rows, for x of mean 0 and variance 1."""
    n, total = len(x), 0.0
    for i in range(n):
        if chosen[i]:
            total += x[i]
    share = drawn / n
    z = abs(total) / math.sqrt(n * share * (1.0 - share) * n / (n - 1.0))
    if z <= NEAR:
        return 2.0 * _normal_tail(z)
    # A sum on a lattice takes half a step more: P(S >= s) is the area above s - 1/2.
    p = sum_p(x, total - math.copysign(0.5 * _lattice_step(x), total), drawn)
    return p if p >= 0.0 else _extreme_p(logs, x, drawn, chosen)


@jit
def _standardise(x):
    """Shift and scale to mean 0 and variance 1, in place; return skewness and excess kurtosis."""
    n, mean, square = len(x), 0.0, 0.0
    for i in range(n):
        mean += x[i]
    mean /= n
    for i in range(n):
        x[i] -= mean
        square += x[i] * x[i]
    scale = math.sqrt(square / n)
    skew, kurtosis = 0.0, 0.0
    for i in range(n):
        x[i] /= scale
        power = x[i] * x[i] * x[i]
        skew += power
        kurtosis += power * x[i]
    return skew / n, kurtosis / n - 3.0


@jit
def _background(x):
    """Return the value of more than half of the rows, NaN if there is none."""
    value, votes = x[0], 0
    for i in range(len(x)):
        if votes == 0:
            value = x[i]
        votes += 1 if x[i] == value else -1
    there = 0
    for i in range(len(x)):
        there += x[i] == value
    return value if 2 * there > len(x) else np.nan


@jit
def _has_few_levels(x):
    """Return whether there are at most `FEW_LEVELS` different values."""
    known, found = np.empty(FEW_LEVELS), 0
    for i in range(len(x)):
        level = 0
        while level < found and known[level] != x[i]:
            level += 1
        if level == found:
            if found == FEW_LEVELS:
                return False
            known[found] = x[i]
            found += 1
    return True


@jit
def _scores(x, table):
    """Write the normal scores of the values over them; `table` has those of doubled mid-ranks."""
    n, order = len(x), argsort(x)
    first = 0
    out = np.empty(n)
    for i in range(1, n + 1):
        if i == n or x[order[i]] != x[order[first]]:
            for k in range(first, i):
                out[order[k]] = table[first + i - 1]
            first = i
    for i in range(n):
        x[i] = out[i]


@jit
def _spread_out(flat, indptr, rows, values, j, x):
    """Write column j of a block to x, zeros included."""
    if len(indptr) == 0:
        first = j * len(x)
        for row in range(len(x)):
            x[row] = flat[first + row] + 0.0  # no negative zero
        return
    x[:] = 0.0
    for t in range(indptr[j], indptr[j + 1]):
        x[rows[t]] = values[t]


# --- columns, in kernels that are compiled only when they are needed -----------------------------


@jit
def find_trusted(
    flat, indptr, values, picks, z, n, target_skew, target_kurtosis, lo, hi, trusted
):  # fmt: skip
    """Mark the picked columns lo..hi-1 that `find_doubted` would call trustworthy, if it is clear.

    Nearly all columns of most data are, so this takes sums in any order, which is fast, and leaves
    the rest to that kernel: columns near the limit, or whose sums may be rounded too much.
    """
    dense = len(indptr) == 0
    there, sums = flat if dense else values, np.empty(3 * LANES)
    for i in range(lo, hi):
        j = picks[i]
        first, last = (j * n, (j + 1) * n) if dense else (indptr[j], indptr[j + 1])
        whole, total = last - (last - first) % LANES, spread(0.0)
        for t in range(first, whole, LANES):
            total = total + load(there, t)
        store(sums, 0, total)
        mean = 0.0
        for k in range(LANES):
            mean += sums[k]
        for t in range(whole, last):
            mean += there[t]
        mean /= n
        middle, squares, cubes, fourths = spread(mean), spread(0.0), spread(0.0), spread(0.0)
        for t in range(first, whole, LANES):
            centred = load(there, t) - middle
            square = centred * centred
            squares = squares + square
            cubes = cubes + square * centred
            fourths = fourths + square * square
        store(sums, 0, squares)
        store(sums, LANES, cubes)
        store(sums, 2 * LANES, fourths)
        zeros = n - (last - first)
        apart = mean * mean
        variance, skew, kurtosis = zeros * apart, -zeros * (mean * apart), zeros * (apart * apart)
        for k in range(LANES):
            variance += sums[k]
            skew += sums[LANES + k]
            kurtosis += sums[2 * LANES + k]
        for t in range(whole, last):
            off = there[t] - mean
            square = off * off
            variance += square
            skew += square * off
            kurtosis += square * square
        variance /= n
        # No power below is rounded to zero or infinity, and no digit of the mean matters.
        clear = variance > 1e-60 and variance < 1e60
        clear = clear and 4e-15 * n * math.sqrt(1.0 + mean * mean / variance) < 1e-6
        if clear:
            power = kurtosis / n / (variance * variance)
            skew = abs(skew / n) / math.pow(variance, 1.5) + 1e-5 * (1.0 + math.sqrt(power))
            kurtosis = abs(power - 3.0) + 1e-5 * (1.0 + power)
            second = z[i] * z[i]
            cube, fourth = z[i] * second, second * second
            clear = skew * abs(target_skew) * cube / (6.0 * math.sqrt(n)) <= TRUSTED
            clear = clear and kurtosis * abs(target_kurtosis) * fourth / (24.0 * n) <= TRUSTED
        trusted[i] = clear


@jit
def find_doubted(
    flat, indptr, rows, values, picks, z, n, target_skew, target_kurtosis, lo, hi, doubts
):
    """Mark the picked columns lo..hi-1 for which the t or F law cannot be trusted, and say why.

    `z` is how many standard deviations their p-value stands for.
    """
    x = np.empty(n)
    for i in range(lo, hi):
        _spread_out(flat, indptr, rows, values, picks[i], x)
        background = _background(x)
        skew, kurtosis = _standardise(x)
        second = z[i] * z[i]
        cube, fourth = z[i] * second, second * second
        bad = abs(skew * target_skew) * cube / (6.0 * math.sqrt(n)) > TRUSTED
        bad |= abs(kurtosis * target_kurtosis) * fourth / (24.0 * n) > TRUSTED
        doubts[i] = TRUSTWORTHY
        if bad:
            few = background == background or _has_few_levels(x)
            doubts[i] = FEW_VALUES if few else SMOOTH


@jit
def retest_smooth(flat, indptr, rows, values, picks, codes, class_counts, logs, lo, hi, p):
    """Test the picked columns lo..hi-1 against classes by their sum over the rows of each."""
    n, n_classes = len(codes), len(class_counts)
    x, chosen = np.empty(n), np.empty(n, np.bool_)
    for i in range(lo, hi):
        j, least = picks[i], 1.0
        _spread_out(flat, indptr, rows, values, j, x)
        _standardise(x)
        for c in range(1 if n_classes == 2 else 0, n_classes):
            for row in range(n):
                chosen[row] = codes[row] == c
            least = min(least, _drawn_p(logs, x, chosen, class_counts[c]))
        p[j] = least if n_classes == 2 else min(1.0, n_classes * least)


@jit
def retest_against_numbers(
    flat, indptr, rows, values, picks, target, target_scores, score_table, logs, lo, hi, p, test,
    correlation,
):  # fmt: skip
    """Test the picked columns lo..hi-1 against a numeric target of mean 0 and variance 1.

    A column with a background is tested by its rows off that; of others the correlation of normal
    scores is written, and a p-value of -1.
    """
    n = len(target)
    x, off = np.empty(n), np.empty(n, np.bool_)
    for i in range(lo, hi):
        j, drawn = picks[i], 0
        _spread_out(flat, indptr, rows, values, j, x)
        background = _background(x)
        for row in range(n):
            off[row] = background == background and x[row] != background
            drawn += off[row]
        if drawn:
            p[j], test[j] = _drawn_p(logs, target, off, drawn), SADDLE_POINT
            continue
        _standardise(x)
        _scores(x, score_table)
        _standardise(x)
        product = 0.0
        for row in range(n):
            product += x[row] * target_scores[row]
        p[j], test[j], correlation[i] = -1.0, NORMAL_SCORES, min(1.0, abs(product) / n)


# --- given covariates, and with weights ----------------------------------------------------------


@jit
def _slopes(x, share, t, out):
    """Write the log of the moment function of a drawn sum less its mean, and two derivatives."""
    out[:] = 0.0
    for i in range(len(x)):
        v, q = t * x[i], share[i]
        small = math.exp(-abs(v))
        if v > 0.0:
            total = q + (1.0 - q) * small
            out[0] += v + math.log(total)
            q /= total
        else:
            total = 1.0 - q + q * small
            out[0] += math.log(total)
            q *= small / total
        out[0] -= v * share[i]
        out[1] += x[i] * (q - share[i])
        out[2] += x[i] * x[i] * q * (1.0 - q)


@jit
def given_p(x, share, total):
    """Return the two-sided p-value of a sum of x over drawn rows, less its mean.

    Row i is drawn with probability share[i], whatever the others. The p-value is twice the smaller
    tail; where the saddle-point cannot be found it is Chernoff's bound, which is never below.
    """
    now, then = np.empty(3), np.empty(3)
    _slopes(x, share, 0.0, now)
    variance = now[2]
    if not variance > 0.0:
        return 1.0
    scale = math.sqrt(variance)
    z = abs(total) / scale
    if z <= NEAR:
        return 2.0 * _normal_tail(z)
    t, value = 0.0, 0.0
    for _ in range(100):
        slope = total - now[1]
        if abs(slope) < 1e-8 * scale or now[2] < 1e-12 * variance:
            break
        step, better = slope / now[2], False
        while abs(step) * scale > 1e-12 and not better:
            _slopes(x, share, t + step, then)
            reached = (t + step) * total - then[0]
            better = reached > value
            if not better:
                step *= 0.5
        if not better:
            break
        t, value = t + step, reached
        now, then = then, now
    bound = min(1.0, 2.0 * math.exp(-value))
    if abs(total - now[1]) > 1e-5 * scale:
        return bound
    w, u = math.sqrt(2.0 * value), abs(t) * math.sqrt(now[2])
    density = math.exp(-value) / math.sqrt(2.0 * math.pi)
    tail = _normal_tail(w) - density * (1.0 / w - 1.0 / u)
    return min(bound, 2.0 * tail) if tail > 0.0 else bound


@jit
def _class_p(x, step, share, basis, drawn, own):
    """Return the p-value of a column and a class, given covariates.

    `share` are the probabilities of the class by the covariates, `basis` spans these and is
    orthonormal with share (1 - share) as weights. `step` is the lattice step of the column, which
    counts as in `_drawn_p`. `own` is scratch.
    """
    n, total = len(x), 0.0
    for i in range(n):
        own[i] = x[i]
    for b in range(len(basis)):
        part = 0.0
        for i in range(n):
            part += x[i] * basis[b, i] * share[i] * (1.0 - share[i])
        for i in range(n):
            own[i] -= part * basis[b, i]
    for i in range(n):
        total += own[i] * (drawn[i] - share[i])
    half = min(0.5 * step, abs(total))
    return given_p(own, share, total - math.copysign(half, total))


@jit
def retest_given(
    flat, indptr, rows, values, picks, there, codes, shares, bases, residuals, logs, lo, hi, p,
    test,
):  # fmt: skip
    """Test the picked columns lo..hi-1 again, with weights or given covariates.

    `shares` are the probabilities of each class by the covariates; without them, columns that are
    mostly one value have their rows permuted against `residuals`, what weights and covariates leave
    of the target. Both have a row for each class, or one for two classes and numbers. `there` are
    the rows with a positive weight. No p-value is made smaller.
    """
    n, several = len(codes), len(residuals)
    x, own, drawn = np.empty(n), np.empty(n), np.empty(n, np.bool_)
    some, off = np.empty(len(there)), np.empty(len(there), np.bool_)
    for i in range(lo, hi):
        j, least = picks[i], 1.0
        _spread_out(flat, indptr, rows, values, j, x)
        if len(shares):
            _standardise(x)
            step = _lattice_step(x)
            for c in range(several):
                for row in range(n):
                    drawn[row] = codes[row] == (c if several > 1 else 1)
                least = min(least, _class_p(x, step, shares[c], bases[c], drawn, own))
        else:
            for k in range(len(there)):
                some[k] = x[there[k]]
            background, marked = _background(some), 0
            for k in range(len(there)):
                off[k] = background == background and some[k] != background
                marked += off[k]
            if marked == 0:
                continue
            for c in range(several):
                least = min(least, _drawn_p(logs, residuals[c], off, marked))
        if several * least > p[j]:
            p[j], test[j] = min(1.0, several * least), GIVEN if len(shares) else SADDLE_POINT
