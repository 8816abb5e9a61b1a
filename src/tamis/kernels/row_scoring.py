"""Check, hash, scale and score rows for a model."""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.inconsistency import scrambled
from tamis.kernels.sorting import argsort

#: Codes of faults of an entry.
FINE, NOT_FINITE, TOO_LARGE, NEGATIVE, BEYOND, NOT_RISING = range(6)
#: The squares of larger numbers could overflow.
LARGEST = 1e60
_ONE = np.uint64(1)


@jit
def find_fault(indptr, indices, values, n_columns, signed):
    """Return the first fault in rows: code, row, entry. If not `signed`, any id is valid."""
    for r in range(len(indptr) - 1):
        first, last, wrong = np.uint64(indptr[r]), np.uint64(indptr[r + 1]), False
        # Without a branch, many at a time: rows are nearly always fine.
        for t in range(first, last):
            wrong |= not abs(values[t]) <= LARGEST
        for t in range(first, last - min(_ONE, last - first)):
            wrong |= indices[t + _ONE] <= indices[t]
        if signed and last > first:
            wrong |= indices[first] < 0 or indices[last - _ONE] >= n_columns
        if wrong:
            begin, end = indptr[r], indptr[r + 1]
            return _first_fault(r, begin, end, indices, values, n_columns, signed)
    return FINE, 0, 0


@jit
def find_faults(indptr, indices, values, n_columns, signed, faults):
    """Write the fault of each row, FINE if there is none."""
    for r in range(len(faults)):
        first, last = indptr[r], indptr[r + 1]
        faults[r] = _first_fault(r, first, last, indices, values, n_columns, signed)[0]


@inline
def _first_fault(r, first, last, indices, values, n_columns, signed):
    """Return the first fault of a row that has one."""
    for t in range(first, last):
        fault = FINE
        if not abs(values[t]) <= LARGEST:
            fault = TOO_LARGE if np.isfinite(values[t]) else NOT_FINITE
        elif signed and indices[t] < 0:
            fault = NEGATIVE
        elif signed and indices[t] >= n_columns:
            fault = BEYOND
        elif t > first and indices[t] <= indices[t - 1]:
            fault = NOT_RISING
        if fault != FINE:
            return fault, r, t
    return FINE, 0, 0


@inline
def bucket(identity, shift):
    """Return the top bits of a 64-bit number after mixing (the finaliser of splitmix64)."""
    mixed = scrambled(np.uint64(identity) + np.uint64(0x9E3779B97F4A7C15))
    return np.int64(mixed >> np.uint64(shift))


@jit
def buckets_of(identities, bits):
    """Return the bucket of each number."""
    found = np.empty(len(identities), dtype=np.int64)
    for t in range(len(identities)):
        found[t] = bucket(identities[t], 64 - bits)
    return found


@jit
def hash_rows(indptr, indices, values, bits):
    """Hash rows to 2**bits buckets, sorted in each row; values in the same bucket are summed."""
    new_pointers = np.zeros(len(indptr), dtype=np.int64)
    new_places, new_values = np.empty(len(indices), dtype=np.int64), np.empty(len(indices))
    hashed = buckets_of(indices, bits)
    filled = 0
    for r in range(len(indptr) - 1):
        begin = filled
        # A stable sort: values in the same bucket are added in the order of their ids.
        for t in indptr[r] + argsort(hashed[indptr[r] : indptr[r + 1]]):
            if filled > begin and new_places[filled - 1] == hashed[t]:
                new_values[filled - 1] += values[t]
            else:
                new_places[filled] = hashed[t]
                new_values[filled] = values[t]
                filled += 1
        new_pointers[r + 1] = filled
    return new_pointers, new_places[:filled], new_values[:filled]


@jit
def unit_rows(indptr, values):
    """Return the values of rows scaled to length 1; empty rows stay empty."""
    scaled = np.empty(len(values))
    for r in range(len(indptr) - 1):
        largest, total = 0.0, 0.0
        for t in range(indptr[r], indptr[r + 1]):
            largest = max(largest, abs(values[t]))
        for t in range(indptr[r], indptr[r + 1]):
            total += (values[t] / largest) ** 2 if largest > 0 else 0.0
        for t in range(indptr[r], indptr[r + 1]):
            scaled[t] = values[t] / largest / np.sqrt(total) if largest > 0 else 0.0
    return scaled


@jit
def score_kept(indptr, indices, values, marks, weight, scores):
    """Score rows; features beyond the end of `marks` have never been seen and are ignored."""
    for r in range(len(scores)):
        for t in range(indptr[r], indptr[r + 1]):
            if indices[t] < len(marks):
                slot = int(max(-marks[indices[t], 0], np.float32(0)))
                for i in range(scores.shape[1]):
                    scores[r, i] += weight[slot, i] * values[t]


@jit
def fill_table(ids, bits, keys, slots):
    """Fill a hash table of 2**bits entries, at least twice the number of ids; free ones hold -1."""
    for slot in range(len(ids)):
        at = bucket(ids[slot], 64 - bits)
        while slots[at] >= 0:
            at = (at + 1) & (len(keys) - 1)
        keys[at] = ids[slot]
        slots[at] = slot


@jit
def score_listed(indptr, indices, values, bits, keys, slots, weight, scores):
    """Score rows by the features in a table (see `fill_table`); others are ignored."""
    for r in range(len(scores)):
        for t in range(indptr[r], indptr[r + 1]):
            at = bucket(indices[t], 64 - bits)
            while slots[at] >= 0 and keys[at] != indices[t]:
                at = (at + 1) & (len(keys) - 1)
            if slots[at] >= 0:
                for i in range(scores.shape[1]):
                    scores[r, i] += weight[slots[at], i] * values[t]


@jit
def score_full(indptr, indices, values, weight, scores):
    """Score rows where every feature has a weight."""
    for r in range(len(scores)):
        for t in range(indptr[r], indptr[r + 1]):
            if indices[t] < len(weight):
                for i in range(scores.shape[1]):
                    scores[r, i] += weight[indices[t], i] * values[t]


@jit
def clear_precisions(marks, blocks):
    """Set the precisions of features that are not kept to 0, without touching empty pages."""
    for j in range(len(marks)):
        if marks[j, 0] < 0:
            continue
        for i in range(blocks):
            if marks[j, i] != 0:
                marks[j, i] = 0


@jit
def copy_filled(old, new):
    """Copy the nonzeros; pages of the target that stay zero are never touched."""
    for n in range(len(old)):
        if old[n] != 0:
            new[n] = old[n]
