"""Counting sort: rows to columns in two passes, and sorted runs of rows to whole columns.

Rows are taken in order and every step is stable, so rows rise inside each column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.kernels._jit import jit

Ints = npt.NDArray[np.int64]


@jit
def count_places(places: Any, counts: Ints) -> None:
    """Add one to the count of every place."""
    for k in range(len(places)):
        counts[places[k]] += 1


@jit
def begin_columns(counts: Ints) -> int:
    """Turn the counts of columns into their first slots, in place; return how many slots."""
    total = 0
    for c in range(len(counts)):
        count = counts[c]
        counts[c] = total
        total += count
    return total


@jit
def scatter_places(pointers: Ints, places: Any, first_row: int, slots: Ints, rows_out: Any) -> None:
    """Put each row number where its column goes; `slots` is the next free slot of each column."""
    for r in range(len(pointers) - 1):
        for k in range(pointers[r], pointers[r + 1]):
            slot = slots[places[k]]
            rows_out[slot] = first_row + r
            slots[places[k]] = slot + 1


@jit
def scatter_entries(
    pointers: Ints,
    places: Any,
    values: Any,
    first_row: int,
    slots: Ints,
    rows_out: Any,
    values_out: Any,
) -> None:
    """Put each row number and value where its column goes."""
    for r in range(len(pointers) - 1):
        for k in range(pointers[r], pointers[r + 1]):
            slot = slots[places[k]]
            rows_out[slot] = first_row + r
            values_out[slot] = values[k]
            slots[places[k]] = slot + 1


@jit
def merge_columns(pointers: Ints, source: Any, slots: Ints, out: Any) -> None:
    """Copy the piece of each column that one run holds behind the pieces of the runs before it.

    `pointers` bound the columns in `source`; `slots`, the next free slot of each column in `out`,
    is left unchanged so that a second array of the same run can follow.
    """
    first = pointers[0]
    for c in range(len(pointers) - 1):
        slot = slots[c]
        for k in range(pointers[c] - first, pointers[c + 1] - first):
            out[slot] = source[k]
            slot += 1
