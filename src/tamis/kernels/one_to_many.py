"""Pair values of one prepared column with many others.

The one column is written densely over its rows, so each of the others costs its own entries and
one small table. The numbers are those of `pair_information` and `pair_correlation`, bit for bit.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.information import ROUNDING


@jit
def information_with_one(
    spread, own_counts, own_entropy, indptr, rows, codes, level_pointers,
    entropies, widest, picks, lo, hi, table, n, out,
):  # fmt: skip
    """Compute the information (n times, in units) of one coded column with picks[lo..hi-1].

    `spread` holds the code of the one column in every row; `widest` is the most levels of any.
    """
    own = len(own_counts)
    counts = np.zeros(widest * own, np.int32)
    left = np.empty(own, np.int64)
    for i in range(lo, hi):
        j = picks[i]
        first, last = indptr[j], indptr[j + 1]
        width = level_pointers[j + 1] - level_pointers[j] - 1
        for t in range(first, last):
            counts[(codes[t] - 1) * own + spread[rows[t]]] += 1
        for b in range(own):
            left[b] = own_counts[b]
        joint = 0
        if width * own <= 2 * (last - first):
            for a in range(width):
                for b in range(own):
                    count = counts[a * own + b]
                    counts[a * own + b] = 0
                    joint += table[count]
                    left[b] -= count
        else:
            # More cells than entries: visit only the occupied ones.
            for t in range(first, last):
                level = spread[rows[t]]
                cell = (codes[t] - 1) * own + level
                joint += table[counts[cell]]
                left[level] -= counts[cell]
                counts[cell] = 0
        for b in range(own):
            joint += table[left[b]]
        value = joint + entropies[j] + own_entropy - table[n]
        out[i] = value if value > ROUNDING * (width + 2) * (own + 1) else 0


@jit
def correlation_with_one(
    spread, own_mean, own_squares, indptr, rows, values, means, squares, picks, lo, hi, n, out
):
    """Compute the absolute correlation of one prepared column with columns picks[lo..hi-1].

    `spread` holds the listed values of the one column in their rows, 0 elsewhere: a product with
    that 0 changes no bit of a sum.
    """
    for i in range(lo, hi):
        j = picks[i]
        products = 0.0
        for t in range(indptr[j], indptr[j + 1]):
            products += values[t] * spread[rows[t]]
        out[i] = 0.0
        if squares[j] > 0.0 and own_squares > 0.0:
            covariance = products - n * means[j] * own_mean
            value = abs(covariance) / np.sqrt(squares[j] * own_squares)
            out[i] = min(1.0, value) if value >= 0.0 else 0.0
