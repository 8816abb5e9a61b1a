"""What the numbers of a column stand for: categories or numbers, values or gaps."""

from __future__ import annotations

#: Columns with more levels than this, on average, are numbers rather than categories.
MANY_LEVELS = 20
#: And so are columns with fewer rows than this to a level.
ROWS_A_LEVEL = 5

#: What a gap is on its way to a measure that leaves gaps out: whole, and beyond any code.
GAP = 2.0**53


def most_levels(n_rows: int) -> float:
    """Columns of more levels than this, on average, are numbers rather than categories."""
    return min(MANY_LEVELS, n_rows / ROWS_A_LEVEL)
