"""Decision stumps on weighted rows: one threshold on one column, for boosting.

Columns are compressed with their entries sorted by value; rows that are not listed are 0, which
also has a position in that order.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.sorting import argsort

#: Weights closer than this are equal: sums in another order differ by less.
ROUNDING = 1e-12


@jit
def sort_entries(indptr, rows, values, lo, hi):
    """Sort the entries of columns lo..hi-1 by value."""
    for j in range(lo, hi):
        a, b = indptr[j], indptr[j + 1]
        order = argsort(values[a:b])
        own_rows, own_values = rows[a:b].copy(), values[a:b].copy()
        for t in range(b - a):
            rows[a + t], values[a + t] = own_rows[order[t]], own_values[order[t]]


@inline
def heaviest(weights):
    """Return the class with the most weight; the lowest of equal ones."""
    best = 0
    for c in range(1, len(weights)):
        if weights[c] > weights[best] + ROUNDING:
            best = c
    return best


@jit
def best_stumps(indptr, rows, values, classes, weights, totals, lo, hi, errors, cuts, sides):
    """Find the threshold of least weighted error of columns lo..hi-1; the lowest of equal ones.

    A row is assigned the heaviest class of its side. `errors` is the weight of misclassified rows,
    `cuts` the threshold (rows at or below it are on side 0), `sides` the two classes. Weights
    sum to 1.
    """
    n, kinds = len(classes), len(totals)
    below, rest = np.empty(kinds), np.empty(kinds)
    for j in range(lo, hi):
        a, b = indptr[j], indptr[j + 1]
        unlisted = totals.copy()
        for t in range(a, b):
            unlisted[classes[rows[t]]] -= weights[rows[t]]
        below[:] = 0.0
        errors[j] = np.inf
        at, waiting = a, b - a < n
        while at < b or waiting:
            zeros = waiting and (at == b or values[at] >= 0.0)
            value = 0.0 if zeros else values[at]
            if zeros:
                waiting = False
                for c in range(kinds):
                    below[c] += max(unlisted[c], 0.0)
            while at < b and values[at] == value:
                below[classes[rows[at]]] += weights[rows[at]]
                at += 1
            if at == b and not waiting:
                break
            for c in range(kinds):
                rest[c] = totals[c] - below[c]
            first, second = heaviest(below), heaviest(rest)
            error = 1.0 - below[first] - rest[second]
            if error < errors[j] - ROUNDING:
                errors[j], cuts[j] = error, value
                sides[j, 0], sides[j, 1] = first, second
