"""Sorted columns, and codes from cuts: the common part of all discretisation methods.

A column is read as items: its values that are not zero, in order, and one item for all its zeros,
with class -1. NaN is missing: it is not an item. So dense and sparse columns give the same items,
and the cost of a sparse column is proportional to what it stores.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.column_entries import list_column
from tamis.kernels.sorting import argsort, first_not_below

#: The class of the item that represents all zeros.
ZEROS = -1


@jit
def sort_column(
    flat, indptr, indices, values, n, j, zero_is_gap, y, class_counts, rows, entries, items,
    classes, lump,
):  # fmt: skip
    """List column j as items with their classes, and the zeros of each class in `lump`.

    Returns the number of items and of zeros. All arrays but `lump` need length n + 1.
    """
    count = list_column(flat, indptr, indices, values, n, j, 0.0, rows, entries)
    zeros = 0 if zero_is_gap else n - count
    for c in range(len(lump)):
        lump[c] = class_counts[c]
    there = 0
    for t in range(count):
        lump[y[rows[t]]] -= 1
        rows[there], entries[there] = rows[t], entries[t]
        there += 1 if entries[t] == entries[t] else 0
    order = argsort(entries[:there])
    shift = 0
    for t in range(there):
        value = entries[order[t]]
        if zeros > 0 and shift == 0 and value > 0.0:
            items[t], classes[t], shift = 0.0, ZEROS, 1
        items[t + shift], classes[t + shift] = value, y[rows[order[t]]]
    if zeros > 0 and shift == 0:
        items[there], classes[there] = 0.0, ZEROS
    return there + (1 if zeros > 0 else 0), zeros


@jit
def is_discrete(items, count, most_levels):
    """Return True for items that are whole numbers with few distinct values."""
    levels = 0
    for t in range(count):
        if items[t] != np.floor(items[t]):
            return False
        levels += 1 if t == 0 or items[t] != items[t - 1] else 0
    return levels <= most_levels


@jit
def survey_columns(values, indptr, n, zero_is_gap, lo, hi, gaps, infinite, not_whole, top):
    """Survey columns lo..hi-1: missing values, infinite or fractional values, the highest value.

    The highest is at least 0.
    """
    for j in range(lo, hi):
        gaps[j] = n - (indptr[j + 1] - indptr[j]) if zero_is_gap else 0
        infinite[j] = not_whole[j] = False
        top[j] = 0.0
        for t in range(indptr[j], indptr[j + 1]):
            value = values[t]
            if value != value or (zero_is_gap and value == 0.0):
                gaps[j] += 1
                continue
            infinite[j] |= abs(value) == np.inf
            not_whole[j] |= value != np.floor(value)
            top[j] = max(top[j], value)


@inline
def between(low, high):
    """Return the middle of two numbers; the lower one if rounding would give the upper one."""
    middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low


@jit
def code_entries(
    values, indptr, cut_pointers, cuts, stays, gaps, zero_is_gap, lo, hi, out
):  # fmt: skip
    """Code the entries of columns lo..hi-1; `gaps` holds each column's code of a missing value.

    The bin that holds 0 has code 0, those above it 1, 2, ..., those below -1, -2, ...; where zeros
    mean missing, bins count from 1. A value that equals a cut is below it.
    """
    for j in range(lo, hi):
        own = cuts[cut_pointers[j] : cut_pointers[j + 1]]
        base = -1 if zero_is_gap else first_not_below(own, len(own), 0.0)
        for t in range(indptr[j], indptr[j + 1]):
            value = values[t]
            if value != value or (zero_is_gap and value == 0.0):
                out[t] = gaps[j]
            elif stays[j]:
                out[t] = value
            else:
                out[t] = first_not_below(own, len(own), value) - base
