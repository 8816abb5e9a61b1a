"""Least squares that grows by one column at a time, on an orthonormal basis.

The panel holds, row after row, the directions of the target that are not explained yet
(orthonormal, zeros where a direction is used up) and then the basis of the accepted columns. A
newcomer is multiplied with a row of the panel for each of its entries, so the inner loop is
contiguous and the cost is entries times panel width. Every sum runs in row order.
"""

from __future__ import annotations

import math

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.column_entries import list_column, spread_column

#: Residual share of a sum of squares that counts as zero: a column with less is a linear
#: combination of the accepted ones, a target with less is explained.
NOTHING_LEFT = 1e-10
#: Below this share a difference of two sums has lost digits, and the residual is computed in full.
LITTLE_LEFT = 1e-3

#: Codes of the outcomes of a newcomer that is not accepted: positions among the reasons. Those
#: between belong to columns that cannot be used.
NOT_BETTER, COLLINEAR, NO_DEGREES, EXPLAINED = 0, 3, 4, 5


@jit
def project(x, panel, first, last, products):
    """Subtract from x its projection on columns first..last-1 of the panel."""
    for i in range(first, last):
        products[i] = 0.0
    for row in range(len(x)):
        value = x[row]
        for i in range(first, last):
            products[i] += value * panel[row, i]
    for row in range(len(x)):
        total = 0.0
        for i in range(first, last):
            total += products[i] * panel[row, i]
        x[row] -= total


@jit
def orthogonalise(x, panel, first, last, products):
    """Make x orthogonal to columns first..last-1 of the panel; return its sum of squares.

    Two passes: the residual of the first is small and carries the rounding of what it removed.
    """
    project(x, panel, first, last, products)
    project(x, panel, first, last, products)
    squares = 0.0
    for row in range(len(x)):
        squares += x[row] * x[row]
    return squares


@jit
def whiten(residuals, totals, panel):
    """Write an orthonormal basis of the residuals into the first columns of the panel.

    A residual with almost none of its `totals` left, after those before it, gives a column of
    zeros. Returns the number of the others.
    """
    rank = 0
    products = np.empty(len(residuals))
    for c in range(len(residuals)):
        x = residuals[c].copy()
        squares = orthogonalise(x, panel, 0, c, products)
        used_up = squares <= NOTHING_LEFT * totals[c]
        scale = 0.0 if used_up else 1.0 / np.sqrt(squares)
        for row in range(len(x)):
            panel[row, c] = x[row] * scale
        rank += not used_up
    return rank


@jit
def accept(x, residuals, panel, n_targets, used):
    """Add x to the basis as column `used` of the panel and remove it from the residuals."""
    products = np.empty(used + 1)
    squares = orthogonalise(x, panel, n_targets, used, products)
    scale = 1.0 / np.sqrt(squares)
    for row in range(len(x)):
        panel[row, used] = x[row] * scale
    for c in range(n_targets):
        orthogonalise(residuals[c], panel, n_targets, used + 1, products)


@jit
def explained_shares(
    flat, indptr, indices, values, means, shifts, squares, panel, n_targets, used, lo, hi,
    first, shares, left,
):  # fmt: skip
    """Compute the share of the target's residual that each of columns lo..hi-1 would explain.

    `shares` is 1 - Wilks' lambda (for one target the share of its residual sum of squares);
    `left` is the share of a column that the accepted ones do not explain, 0 if almost none.
    Both begin with column `first`.
    """
    n = len(panel)
    rows, entries, x = np.empty(n, np.int32), np.empty(n, np.float64), np.empty(n, np.float64)
    products = np.empty(used)
    for j in range(lo, hi):
        at = j - first
        shares[at] = left[at] = 0.0
        if squares[j] < 0.0:
            continue
        count = list_column(flat, indptr, indices, values, n, j, shifts[j], rows, entries)
        products[:] = 0.0
        for t in range(count):
            row, value = rows[t], entries[t]
            for i in range(used):
                products[i] += value * panel[row, i]
        remains = squares[j]
        for i in range(n_targets, used):
            remains -= products[i] * products[i]
        if remains < LITTLE_LEFT * squares[j]:
            spread_column(flat, indptr, indices, values, n, j, means[j], rows, entries, x)
            remains = orthogonalise(x, panel, n_targets, used, products)
            for i in range(n_targets):
                products[i] = 0.0
            for row in range(n):
                for i in range(n_targets):
                    products[i] += x[row] * panel[row, i]
        if remains > NOTHING_LEFT * squares[j]:
            left[at] = remains / squares[j]
            for i in range(n_targets):
                shares[at] += products[i] * products[i] / remains
            shares[at] = min(1.0, shares[at])


@jit
def exponential_tail(shares, half_rows, out):
    """Return the p-value of the authors' program: exp(-(SSE - SSE') / (2 SSE / n))."""
    for j in range(len(shares)):
        out[j] = math.exp(-half_rows * shares[j])


@jit
def invest(p, squares, left, lo, hi, counts_unusable, number, wealth, strengths, levels, codes):
    """Bet on columns lo..hi-1 in turn, until one is accepted; `p` and `left` begin with column lo.

    Writes -log10 of the p-value and of the bet, and the outcome of each. Returns the accepted
    column (-1: none), the number of columns counted so far, the wealth and the last bet, which is
    not yet paid for an accepted column.
    """
    bet = 0.0
    for j in range(lo, hi):
        usable = squares[j] >= 0.0
        if usable or counts_unusable:
            number += 1
        if not usable:
            strengths[j], levels[j], codes[j] = 0.0, np.nan, int(-squares[j])
            continue
        bet = wealth / (2 * number)
        # The smallest double represents p-values that are even smaller.
        strengths[j] = 0.0 - math.log10(max(p[j - lo], 5e-324))
        levels[j] = -math.log10(bet)
        codes[j] = COLLINEAR if left[j - lo] == 0.0 else NOT_BETTER
        if p[j - lo] < bet:
            return j, number, wealth, bet
        wealth -= bet
    return -1, number, wealth, bet
