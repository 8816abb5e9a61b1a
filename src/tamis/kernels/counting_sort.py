"""Counting sort: rows to columns, one range of columns at a time, and merging of sorted runs.

Rows are taken in order and every step is stable, so rows are sorted inside each column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.kernels._jit import jit

Ints = npt.NDArray[np.int64]


@jit
def count_places(indices: Any, counts: Any) -> None:
    """Add one to the count of every index."""
    for k in range(len(indices)):
        counts[indices[k]] += 1


@jit
def range_of_columns(counts: Any, first: int, most_columns: int, most_entries: int) -> int:
    """Return the end of a range of columns from `first` on with at most so many entries.

    A range has at least one column, however many entries it has.
    """
    entries = counts[first]
    end = first + 1
    last = min(len(counts), first + most_columns)
    while end < last and entries + counts[end] <= most_entries:
        entries += counts[end]
        end += 1
    return end


@jit
def begin_columns(counts: Any, slots: Ints) -> int:
    """Write the first slot of each column; return the number of slots they take."""
    total = 0
    for c in range(len(counts)):
        slots[c] = total
        total += counts[c]
    return total


@jit
def scatter_places(
    cursors: Ints,
    ends: Ints,
    indices: Any,
    first_row: int,
    lo: int,
    hi: int,
    slots: Ints,
    rows: Any,
) -> None:
    """Write the row number of each entry in columns lo to hi - 1 to the slot of its column.

    `cursors` holds the next entry of each row and advances; `slots` holds the next free slot of
    each column from lo on.
    """
    for r in range(len(cursors)):
        k = cursors[r]
        end = ends[r]
        while k < end and indices[k] < hi:
            c = indices[k] - lo
            slot = slots[c]
            rows[slot] = first_row + r
            slots[c] = slot + 1
            k += 1
        cursors[r] = k


@jit
def scatter_entries(
    cursors: Ints,
    ends: Ints,
    indices: Any,
    first_row: int,
    values: Any,
    lo: int,
    hi: int,
    slots: Ints,
    rows: Any,
    values_out: Any,
) -> None:
    """Do as `scatter_places`, with the values."""
    for r in range(len(cursors)):
        k = cursors[r]
        end = ends[r]
        while k < end and indices[k] < hi:
            c = indices[k] - lo
            slot = slots[c]
            rows[slot] = first_row + r
            values_out[slot] = values[k]
            slots[c] = slot + 1
            k += 1
        cursors[r] = k


@jit
def merge_places(counts: Any, rows: Any, first_row: int, slots: Ints, rows_out: Any) -> None:
    """Append the piece of each column that one run holds to the pieces of earlier runs.

    `slots` holds the next free slot of each column and advances; rows of a run are counted from
    its first row.
    """
    k = 0
    for c in range(len(counts)):
        slot = slots[c]
        for _ in range(counts[c]):
            rows_out[slot] = first_row + rows[k]
            slot += 1
            k += 1
        slots[c] = slot


@jit
def merge_entries(
    counts: Any,
    rows: Any,
    values: Any,
    first_row: int,
    slots: Ints,
    rows_out: Any,
    values_out: Any,
) -> None:
    """Do as `merge_places`, with the values."""
    k = 0
    for c in range(len(counts)):
        slot = slots[c]
        for _ in range(counts[c]):
            rows_out[slot] = first_row + rows[k]
            values_out[slot] = values[k]
            slot += 1
            k += 1
        slots[c] = slot
