"""Limits that tell categories from numbers, and the code of a missing value."""

from __future__ import annotations

#: Columns with more levels than this, on average, are numbers rather than categories.
MANY_LEVELS = 20
#: And so are columns with fewer rows than this per level.
ROWS_A_LEVEL = 5

#: A missing value on its way to a measure that leaves them out: whole, and beyond any code.
GAP = 2.0**53


def most_levels(n_rows: int) -> float:
    """Return the number of levels above which columns are numbers rather than categories."""
    return min(MANY_LEVELS, n_rows / ROWS_A_LEVEL)
