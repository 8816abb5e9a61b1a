"""Slow, obvious ways of cutting one column, in plain Python."""

from __future__ import annotations

import itertools
import math

import numpy as np

from tamis.kernels.cuts import between


def entropy(labels):
    shares = [np.count_nonzero(labels == c) / len(labels) for c in set(labels.tolist())]
    return -sum(p * math.log2(p) for p in shares)


def mdlp(values, labels):
    """Fayyad and Irani (1993): cuts, and whether the last bits decided anything."""
    order = np.argsort(values, kind="stable")
    values, labels = values[order], labels[order]
    n = len(values)
    candidates = []
    for i in range(1, n):
        if values[i] > values[i - 1]:
            parts = labels[:i], labels[i:]
            candidates.append((sum(len(p) / n * entropy(p) for p in parts), i))
    if not candidates:
        return [], False
    least = min(cost for cost, _ in candidates)
    ties = [i for cost, i in candidates if cost <= least + 1e-12]
    at = ties[0]  # the lowest
    one, two = labels[:at], labels[at:]
    k, k1, k2 = (len(set(part.tolist())) for part in (labels, one, two))
    gain = entropy(labels) - least
    delta = math.log2(3**k - 2) - (k * entropy(labels) - k1 * entropy(one) - k2 * entropy(two))
    level = math.log2(n - 1) / n + delta / n if n > 1 else 0.0
    close = abs(gain - level) < 1e-9
    if gain <= level:
        return [], close
    below, close_below = mdlp(values[:at], one)
    above, close_above = mdlp(values[at:], two)
    cut = (values[at - 1] + values[at]) / 2
    return [*below, cut, *above], close or close_below or close_above


def equal_width(values, bins):
    low, high = min(values), max(values)
    return [low + (high - low) * i / bins for i in range(1, bins)] if high > low else []


def equal_frequency(values, bins):
    values = np.sort(values)
    cuts = set()
    for i in range(1, bins):
        value = values[math.ceil(len(values) * i / bins) - 1]
        higher = values[values > value]
        if len(higher):
            cuts.add((value + higher[0]) / 2)
    return sorted(cuts)


def kmeans(values, bins):
    low, high = min(values), max(values)
    # Rounded as the kernel does: a value half-way between two means could go either way otherwise.
    odd = [(2 * i + 1) / (2 * bins) for i in range(bins)]
    means = np.array([low * a + high * b for a, b in zip(odd[::-1], odd, strict=True)])
    for _ in range(300):
        # The cut between two means decides which is nearer; a value on it belongs to the lower.
        cuts = [between.py_func(a, b) for a, b in itertools.pairwise(means)]
        nearest = [sum(cut < v for cut in cuts) for v in values]
        used = sorted(set(nearest))
        members = [sorted(values[np.array(nearest) == i]) for i in used]
        new = np.array([sum(group, 0.0) / len(group) for group in members])
        if len(new) == len(means) and np.allclose(new, means, rtol=1e-13, atol=0):
            break
        means = new
    return ((means[1:] + means[:-1]) / 2).tolist()


def codes(values, cuts):
    below_zero = sum(c < 0 for c in cuts)
    return np.array([sum(c < v for c in cuts) - below_zero for v in values], dtype=float)
