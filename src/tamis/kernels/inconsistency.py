"""Inconsistency counts for consistency-based selection: equal rows of different classes.

A pattern is a group of rows with the same values in the selected features. Of its rows, all but
those of its most common class are inconsistent. Columns are coded: the rows that are not at the
most common level (`rows`), and their levels, from 1 (`codes`).
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit


@inline
def scrambled(word):
    """Mix a 64-bit word (the finaliser of splitmix64)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@jit
def row_hashes(indptr, rows, codes, picks, out):
    """Add to the hash of every row its levels in the picked columns; the order does not matter.

    Rows with the same levels have the same hash. Others share one with a chance of 2^-64.
    """
    for j in picks:
        column = scrambled(np.uint64(j + 1))
        for t in range(indptr[j], indptr[j + 1]):
            out[rows[t]] += scrambled(column ^ scrambled(np.uint64(codes[t]) << np.uint64(32)))


@inline
def inconsistent(counts, pattern):
    """Count the rows of a pattern that are not of its most common class."""
    total, most = 0, 0
    for c in range(counts.shape[1]):
        total += counts[pattern, c]
        most = max(most, counts[pattern, c])
    return total - most


@jit
def inconsistent_with(indptr, rows, codes, classes, pattern, counts, picks, lo, hi, out, new):
    """Count the inconsistent rows if each of columns picks[lo..hi-1] is added to the selected ones.

    Also count the new patterns: a column that makes none now will never make any.

    `pattern` numbers the pattern of every row, -1 for rows of patterns with one class only, which
    stay consistent; `counts` has the rows of each class in each pattern. Only rows that leave a
    column's most common level are visited.
    """
    n, kinds = len(pattern), counts.shape[1]
    size = 16
    while size < 2 * n:
        size *= 2
    keys, slots = np.empty(size, np.int64), np.full(size, -1, np.int64)
    cells, indices = np.zeros((n, kinds), np.int64), np.empty(n, np.int64)
    left, seen, met = counts.copy(), np.zeros(len(counts), np.bool_), np.empty(n, np.int64)
    base = 0
    for p in range(len(counts)):
        base += inconsistent(counts, p)
    for i in range(lo, hi):
        j = picks[i]
        n_cells, n_met = 0, 0
        for t in range(indptr[j], indptr[j + 1]):
            p, c = pattern[rows[t]], classes[rows[t]]
            if p < 0:
                continue
            key = np.int64(codes[t]) * len(counts) + p
            at = np.int64(scrambled(np.uint64(key)) & np.uint64(size - 1))
            while slots[at] >= 0 and keys[at] != key:
                at = (at + 1) & (size - 1)
            if slots[at] < 0:
                keys[at], slots[at], indices[n_cells] = key, n_cells, at
                n_cells += 1
            if not seen[p]:
                seen[p] = True
                met[n_met] = p
                n_met += 1
            cells[slots[at], c] += 1
            left[p, c] -= 1
        total, made = base, n_cells - n_met
        for s in range(n_cells):
            total += inconsistent(cells, s)
            cells[s] = 0
            slots[indices[s]] = -1
        for s in range(n_met):
            p = met[s]
            total += inconsistent(left, p) - inconsistent(counts, p)
            made += left[p].sum() > 0
            left[p] = counts[p]
            seen[p] = False
        out[i], new[i] = total, made
