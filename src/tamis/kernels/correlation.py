"""Correlations as fixed-order sums over the rows where a column is not zero.

Only the number of zero rows enters, so a dense column and the same column stored sparse go through
the same additions in the same order and give the same bits. Values are centred before they
are squared, so a large mean costs no digits.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.levels import gather_nonzeros
from tamis.kernels.rowlists import NODE_CELLS, NODE_COUNT, NODE_NEXT

#: Strengths of columns with fewer ones than this are cached.
FEW_ONES = 64


@jit
def moments(values, first, last, n):
    """Return the mean of a column of n rows and the sum of squares about it; -1 if constant.

    Its nonzeros are values first..last-1; a slice would cost more than a short column.
    """
    count = last - first
    if count == 0:
        return 0.0, -1.0
    total = 0.0
    same = True
    for t in range(first, last):
        total += values[t]
        same &= values[t] == values[first]
    if same and count == n:
        return values[first], -1.0
    mean = total / n
    squares = 0.0
    for t in range(first, last):
        squares += (values[t] - mean) * (values[t] - mean)
    return mean, squares + (n - count) * mean * mean


@jit
def column_strength(rows, values, first, last, groups, weights, totals, norms, sums, seen):
    """Return the multiple correlation of one column with the target; -1 if the column is constant.

    Classes: ``groups`` are the class codes, ``weights`` is empty, ``totals`` and ``norms`` are the
    class counts: the result is sqrt(between-class / total sum of squares), |r| for two classes.
    Numbers: one group, ``weights`` the centred target, ``totals`` 0, ``norms`` its sum of squares.
    """
    n = len(groups)
    mean, squares = moments(values, first, last, n)
    if squares < 0.0:
        return -1.0
    if len(norms) == 2 and len(weights) == 0:
        _two_class_sums(rows, values, first, last, groups, mean, sums, seen)
    else:
        _group_sums(rows, values, first, last, groups, weights, mean, sums, seen)
    explained = 0.0
    for g in range(len(norms)):
        if norms[g] > 0.0:
            covariance = sums[g]
            if last - first < n:
                covariance -= mean * (totals[g] - seen[g])
            explained += covariance * covariance / norms[g]
    share = explained / squares
    # 0/0 or inf/inf: the squares underflow or overflow. Not min(1, NaN), which is 1.
    return min(1.0, np.sqrt(share)) if share >= 0.0 else 0.0


@jit
def _group_sums(rows, values, first, last, groups, weights, mean, sums, seen):
    """Sum the centred entries, and their weights, by group."""
    weighted = len(weights) > 0
    for g in range(len(sums)):
        sums[g] = 0.0
        seen[g] = 0.0
    for t in range(first, last):
        row = rows[t]
        group = groups[row]
        weight = weights[row] if weighted else 1.0
        sums[group] += (values[t] - mean) * weight
        seen[group] += weight


@jit
def _two_class_sums(rows, values, first, last, groups, mean, sums, seen):
    """Compute `_group_sums` for two classes: two sums that stay in registers.

    Adding 0.0 to the other sum changes none of its bits.
    """
    in_zero, in_one, ones = 0.0, 0.0, 0
    for t in range(first, last):
        group = groups[rows[t]]
        centred = values[t] - mean
        in_zero += 0.0 if group else centred
        in_one += centred if group else 0.0
        ones += group
    sums[0], sums[1] = in_zero, in_one
    seen[0], seen[1] = last - first - ones, ones


@jit
def relevance(
    flat, indptr, rows, values, groups, weights, totals, norms, gate, lo, hi, strength, cutoff,
    ones_of,
):  # fmt: skip
    """Compute the strength of columns lo..hi-1 of a block towards the target.

    `ones_of`, if it is not empty, gets the entries in class 1 of columns of few ones, else -1.
    """
    n, dense = len(groups), len(indptr) == 0
    own_rows, own_values = np.empty(n * dense, np.int32), np.empty(n * dense, np.float64)
    sums, seen = np.empty(len(norms)), np.empty(len(norms))
    # Nearly all columns of big sparse data hold a few ones. With two classes their strength depends
    # on two small numbers only, so it is computed once per pair and cached (2: not yet).
    known = np.full((FEW_ONES, FEW_ONES), 2.0)
    two_classes = len(norms) == 2 and len(weights) == 0
    last = 0 if dense else indptr[lo]
    for j in range(lo, hi):
        strength[j], cutoff[j] = 0.0, np.nan
        if len(ones_of):
            ones_of[j] = -1
        if dense:
            count = gather_nonzeros(flat[j * n : (j + 1) * n], own_rows, own_values)
            value = column_strength(
                own_rows, own_values, 0, count, groups, weights, totals, norms, sums, seen
            )
        else:
            first, last = last, indptr[j + 1]
            count, ones = last - first, 0
            if count == 0:
                continue
            few = two_classes and count < FEW_ONES
            if few:
                for t in range(first, last):
                    few &= values[t] == 1.0
                    ones += groups[rows[t]]
                if few and len(ones_of):
                    ones_of[j] = ones
            value = known[count, ones] if few else 2.0
            if value > 1.0:
                value = column_strength(
                    rows, values, first, last, groups, weights, totals, norms, sums, seen
                )
                if few:
                    known[count, ones] = value
        if value >= 0.0:
            strength[j], cutoff[j] = value, gate


@jit
def centre(indptr, rows, values, n, out_pointers, out_rows, out_values, means, squares):
    """Prepare columns for products: full columns are centred, sparse ones keep their zeros.

    A column that is mostly nonzero is listed whole, less its mean (``means`` 0); any other keeps
    its entries and its mean. The content of a column decides, not its layout.
    """
    for j in range(len(indptr) - 1):
        first, last = indptr[j], indptr[j + 1]
        count = last - first
        mean, squares[j] = moments(values, first, last, n)
        out = out_pointers[j]
        if 2 * count <= n:
            means[j] = mean
            out_rows[out : out + count] = rows[first:last]
            out_values[out : out + count] = values[first:last]
            out_pointers[j + 1] = out + count
            continue
        means[j] = 0.0
        at = first
        for row in range(n):
            value = 0.0
            if at < last and rows[at] == row:
                value = values[at]
                at += 1
            out_rows[out + row] = row
            out_values[out + row] = value - mean
        out_pointers[j + 1] = out + n


@jit
def pair_correlation(
    indptr, rows, values, means, squares, lo, hi,
    heads, nodes, numbers, slot_means, slot_squares, alive, n, first, out,
):  # fmt: skip
    """Compute the correlation of prepared columns lo..hi-1 with every live kept column.

    Column i is row i - first of `out`.
    """
    n_slots = len(slot_means)
    products = np.empty(n_slots, np.float64)
    for i in range(lo, hi):
        products[:] = 0.0
        for t in range(indptr[i], indptr[i + 1]):
            node = heads[rows[t]]
            value = values[t]
            while node >= 0:
                for e in range(nodes[node, NODE_COUNT]):
                    products[nodes[node, NODE_CELLS + e]] += value * numbers[node, e]
                node = nodes[node, NODE_NEXT]
        for s in range(n_slots):
            if alive[s] and squares[i] > 0.0 and slot_squares[s] > 0.0:
                covariance = products[s] - n * means[i] * slot_means[s]
                value = covariance / np.sqrt(squares[i] * slot_squares[s])
                out[i - first, s] = min(1.0, max(-1.0, value)) if value == value else 0.0
