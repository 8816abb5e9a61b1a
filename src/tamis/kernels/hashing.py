"""64-bit hashes of columns and of names; a column has the same hash in every layout.

They are used to recognise a column that has been seen before. They are not cryptographic: two
different columns share a hash by chance once in 2^64, and a collision can be constructed.

Checksums (CRC-32, as `zlib` computes it) decide between columns that are equal in all else.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels._jit import inline, jit

_START = np.uint64(0x9E3779B97F4A7C15)
_ODD = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_SIGN = np.uint64(0x8000000000000000)


@inline
def _stir(state, more):
    """Mix 64 more bits into a hash."""
    state = (state ^ more) * _ODD
    state = (state ^ (state >> _HALF)) * _ODD
    return state ^ (state >> _HALF)


@jit
def hash_columns(flat, indptr, indices, values, n_rows, lo, hi, out):
    """Hash columns lo..hi-1: rows and bits of the nonzeros.

    Numbers come as their bits (uint64): `flat` column after column where there are no `indptr`,
    else compressed. Zeros are ignored, stored or not, whatever their sign.
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


def crc_table() -> npt.NDArray[np.uint32]:
    """Return the checksums of bytes that are followed by up to seven zero bytes."""
    table, one = np.arange(256, dtype=np.uint32), np.uint32(1)
    for _ in range(8):
        table = np.where(table & one, (table >> one) ^ np.uint32(0xEDB88320), table >> one)
    rows = [table]
    for _ in range(7):
        rows.append((rows[-1] >> np.uint32(8)) ^ table[rows[-1] & np.uint32(255)])
    return np.array(rows)


@jit
def checksum_parts(words, firsts, ends, size, table, sums):
    """Continue checksums with entries first..end-1 of an array; each has `size` 32-bit words."""
    for i in range(len(sums)):
        crc = np.uint32(sums[i]) ^ np.uint32(0xFFFFFFFF)
        t, last = size * firsts[i], size * ends[i]
        while t + 1 < last:
            low, high = crc ^ words[t], words[t + 1]
            crc = np.uint32(
                table[7, low & 255] ^ table[6, (low >> 8) & 255]
                ^ table[5, (low >> 16) & 255] ^ table[4, low >> 24]
                ^ table[3, high & 255] ^ table[2, (high >> 8) & 255]
                ^ table[1, (high >> 16) & 255] ^ table[0, high >> 24]
            )  # fmt: skip
            t += 2
        if t < last:
            low = crc ^ words[t]
            crc = np.uint32(
                table[3, low & 255] ^ table[2, (low >> 8) & 255]
                ^ table[1, (low >> 16) & 255] ^ table[0, low >> 24]
            )  # fmt: skip
        sums[i] = crc ^ np.uint32(0xFFFFFFFF)
