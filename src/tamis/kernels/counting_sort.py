"""Counting sort: rows to columns, one range of columns at a time, and merging of sorted runs.

Rows are taken in order and every step is stable, so rows are sorted inside each column. Where the
array for values is empty, only row numbers are written.
"""

from __future__ import annotations

from tamis.kernels._jit import jit


@jit
def count_places(indices, counts):
    """Add one to the count of every index."""
    for k in range(len(indices)):
        counts[indices[k]] += 1


@jit
def range_of_columns(counts, first, most_columns, most_entries):
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
def scatter_entries(
    cursors, ends, indices, first_row, values, lo, hi, slots, rows_out, values_out
):  # fmt: skip
    """Write row number and value of each entry in columns lo to hi - 1 to the slot of its column.

    `cursors` holds the next entry of each row and advances; `slots` holds the next free slot of
    each column from lo on.
    """
    with_values = len(values_out) > 0
    for r in range(len(cursors)):
        k = cursors[r]
        end = ends[r]
        while k < end and indices[k] < hi:
            c = indices[k] - lo
            slot = slots[c]
            rows_out[slot] = first_row + r
            if with_values:
                values_out[slot] = values[k]
            slots[c] = slot + 1
            k += 1
        cursors[r] = k


@jit
def merge_entries(counts, rows, values, first_row, slots, rows_out, values_out):
    """Append the piece of each column that one run holds to the pieces of earlier runs.

    `slots` holds the next free slot of each column and advances; rows of a run are counted from
    its first row.
    """
    with_values = len(values_out) > 0
    k = 0
    for c in range(len(counts)):
        slot = slots[c]
        for _ in range(counts[c]):
            rows_out[slot] = first_row + rows[k]
            if with_values:
                values_out[slot] = values[k]
            slot += 1
            k += 1
        slots[c] = slot
