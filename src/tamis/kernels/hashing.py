"""Hashes of columns and of names, 64 bits each: the same column has the same one in every layout.

They tell whether a column has been seen before, not who made it: two different columns share one by
chance once in 2^64, and nothing stops someone from making two that do.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit

_START = np.uint64(0x9E3779B97F4A7C15)
_ODD = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_SIGN = np.uint64(0x8000000000000000)


@inline
def _stir(state, more):
    """Take 64 more bits into a hash."""
    state = (state ^ more) * _ODD
    state = (state ^ (state >> _HALF)) * _ODD
    return state ^ (state >> _HALF)


@jit
def hash_columns(flat, indptr, indices, values, n_rows, lo, hi, out):
    """Hash columns lo..hi-1: rows and bits of what is not zero.

    Numbers come as their bits (uint64): `flat` column after column where there are no `indptr`,
    else compressed. Zeros count for nothing, stored or not, whatever their sign.
    """
    dense = len(indptr) == 0
    for j in range(lo, hi):
        state = _START
        first, last = (j * n_rows, (j + 1) * n_rows) if dense else (indptr[j], indptr[j + 1])
        for t in range(first, last):
            bits = flat[t] if dense else values[t]
            if bits == np.uint64(0) or bits == _SIGN:
                continue
            row = t - first if dense else indices[t]
            state = _stir(_stir(state, np.uint64(row)), bits)
        out[j] = state


@jit
def hash_names(text, offsets, out):
    """Hash the names whose UTF-8 bytes lie end to end in `text`."""
    for i in range(len(out)):
        state = _START
        for t in range(offsets[i], offsets[i + 1]):
            state = _stir(state, np.uint64(text[t]))
        out[i] = state
