"""Weighted columns less what covariates explain of them, and their correlations.

A column x becomes sqrt(w) x less its projection on a basis: the orthonormal columns that span
sqrt(w) [1, Z], with sample weights w and covariates Z. Products of such columns are those of
weighted least squares on 1, Z and x. A column that is mostly zero keeps its entries and its
coefficients on the basis, and is never written out. Sums run over the rows in order.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.levels import gather_nonzeros
from tamis.kernels.partial import COLLINEAR


@jit
def project_out(values, first, n, basis, known):
    """Subtract the projections on the first `known` rows of `basis`, twice for full precision."""
    for _ in range(2):
        for b in range(known):
            share = 0.0
            for i in range(n):
                share += values[first + i] * basis[b, i]
            for i in range(n):
                values[first + i] -= share * basis[b, i]


@jit
def extend_basis(columns, basis, known):
    """Append the parts of `columns` (rows of it) that are orthogonal to `basis`; return its size.

    Columns of which less than `COLLINEAR` is left add nothing.
    """
    n = columns.shape[1]
    rest = np.empty(n)
    for j in range(len(columns)):
        before = 0.0
        for i in range(n):
            rest[i] = columns[j, i]
            before += rest[i] * rest[i]
        project_out(rest, 0, n, basis, known)
        after = 0.0
        for i in range(n):
            after += rest[i] * rest[i]
        if after > COLLINEAR * before:
            scale = 1.0 / np.sqrt(after)
            for i in range(n):
                basis[known, i] = rest[i] * scale
            known += 1
    return known


@jit
def adjust_column(rows, values, first, last, root, basis, out_rows, out_values, at, coefs):
    """Adjust one column; return the number of its entries, and its sum of squares.

    Its nonzeros are entries first..last-1. The sum is -1 for a constant column, and 0 for one that
    the basis explains.
    """
    n, count = len(root), last - first
    same = True
    for t in range(first, last):
        same &= values[t] == values[first]
    if count == 0 or (same and count == n):
        return 0, -1.0
    before, squares = 0.0, 0.0
    coefs[:] = 0.0
    if 2 * count <= n:
        for t in range(first, last):
            value = values[t] * root[rows[t]]
            out_rows[at + t - first], out_values[at + t - first] = rows[t], value
            before += value * value
            for b in range(len(basis)):
                coefs[b] += value * basis[b, rows[t]]
        squares = before
        for b in range(len(basis)):
            squares -= coefs[b] * coefs[b]
    else:
        mean = 0.0
        for t in range(first, last):
            mean += values[t]
        mean /= n
        t = first
        for row in range(n):
            value = 0.0
            if t < last and rows[t] == row:
                value = values[t]
                t += 1
            value = (value - mean) * root[row]
            out_rows[at + row], out_values[at + row] = row, value
            before += value * value
        project_out(out_values, at, n, basis, len(basis))
        for row in range(n):
            squares += out_values[at + row] * out_values[at + row]
        count = n
    return count, (squares if squares > COLLINEAR * before else 0.0)


@jit
def relevance_adjusted(
    flat, indptr, rows, values, root, basis, targets, gate, lo, hi, strength, cutoff
):  # fmt: skip
    """Compute the (multiple) correlation of adjusted columns lo..hi-1 with orthonormal targets."""
    n, dense = len(root), len(indptr) == 0
    own_rows, own_values = np.empty(n * dense, np.int32), np.empty(n * dense, np.float64)
    out_rows, out_values = np.empty(n, np.int32), np.empty(n, np.float64)
    coefs = np.empty(len(basis))
    for j in range(lo, hi):
        if dense:
            last = gather_nonzeros(flat[j * n : (j + 1) * n], own_rows, own_values)
            count, squares = adjust_column(
                own_rows, own_values, 0, last, root, basis, out_rows, out_values, 0, coefs
            )
        else:
            count, squares = adjust_column(
                rows, values, indptr[j], indptr[j + 1], root, basis, out_rows, out_values, 0, coefs
            )
        strength[j], cutoff[j] = 0.0, (np.nan if squares < 0.0 else gate)
        if squares <= 0.0:
            continue
        explained = 0.0
        for k in range(len(targets)):
            product = 0.0
            for t in range(count):
                product += out_values[t] * targets[k, out_rows[t]]
            explained += product * product
        share = explained / squares
        strength[j] = min(1.0, np.sqrt(share)) if share >= 0.0 else 0.0


@jit
def adjust_columns(
    indptr, rows, values, root, basis, out_pointers, out_rows, out_values, coefs, squares
):  # fmt: skip
    """Adjust compressed columns; the arrays need n entries for every column that is mostly full."""
    for j in range(len(indptr) - 1):
        count, squares[j] = adjust_column(
            rows, values, indptr[j], indptr[j + 1], root, basis, out_rows, out_values,
            out_pointers[j], coefs[j],
        )  # fmt: skip
        out_pointers[j + 1] = out_pointers[j] + count


@jit
def _correlation(spread, rows, values, first, last, own_coefs, coefs, own_squares, squares):
    product = 0.0
    for t in range(first, last):
        product += values[t] * spread[rows[t]]
    for b in range(len(coefs)):
        product -= own_coefs[b] * coefs[b]
    if own_squares <= 0.0 or squares <= 0.0:
        return 0.0
    share = product / np.sqrt(own_squares * squares)
    return min(1.0, max(-1.0, share)) if share == share else 0.0


@jit
def pairs_adjusted(
    indptr, rows, values, coefs, squares, kept_indptr, kept_rows, kept_values, kept_coefs,
    kept_squares, n, first, lo, hi, out,
):  # fmt: skip
    """Compute the correlation of adjusted columns first+lo..first+hi-1 with every kept one."""
    spread = np.zeros(n)
    for i in range(lo, hi):
        j = first + i
        for t in range(indptr[j], indptr[j + 1]):
            spread[rows[t]] = values[t]
        for s in range(len(kept_squares)):
            out[i, s] = _correlation(
                spread, kept_rows, kept_values, kept_indptr[s], kept_indptr[s + 1],
                coefs[j], kept_coefs[s], squares[j], kept_squares[s],
            )  # fmt: skip
        for t in range(indptr[j], indptr[j + 1]):
            spread[rows[t]] = 0.0


@jit
def one_adjusted(indptr, rows, values, coefs, squares, one, picks, n, lo, hi, out):
    """Compute the correlation of adjusted column `one` with columns picks[lo..hi-1]."""
    spread = np.zeros(n)
    for t in range(indptr[one], indptr[one + 1]):
        spread[rows[t]] = values[t]
    for i in range(lo, hi):
        j = picks[i]
        out[i] = _correlation(
            spread, rows, values, indptr[j], indptr[j + 1], coefs[one], coefs[j],
            squares[one], squares[j],
        )  # fmt: skip
