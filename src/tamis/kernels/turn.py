"""Copy tables: into columns from rows, and into bytes from wider whole numbers."""

from __future__ import annotations

from tamis.kernels._jit import jit
from tamis.kernels.lanes import LANES, NARROWED, narrow, transpose

#: Rows that are turned together: of float32, their part of a column fills a line of the cache.
TOGETHER = 16


@jit
def turn(rows, stride, n, width, columns):
    """Write n rows of `width` numbers, `stride` apart in `rows`, as columns end to end."""
    whole, across = n - n % LANES, width - width % LANES
    for top in range(0, whole, TOGETHER):
        for j in range(0, across, LANES):
            for row in range(top, min(top + TOGETHER, whole), LANES):
                transpose(rows, row * stride + j, stride, columns, j * n + row, n)
    for row in range(whole, n):
        for j in range(across):
            columns[j * n + row] = rows[row * stride + j]
    for j in range(across, width):
        for row in range(n):
            columns[j * n + row] = rows[row * stride + j]


@jit
def shorten(numbers, stride, n, width, out):
    """Write n runs of `width` whole numbers, `stride` apart, as bytes; return whether they fit.

    Those from -127 to 127 fit.
    """
    whole = width - width % NARROWED
    for i in range(n):
        fits, first, to = True, i * stride, i * width
        for t in range(0, whole, NARROWED):
            fits &= narrow(numbers, first + t, out, to + t)
        for t in range(whole, width):
            value = numbers[first + t]
            small = -127 <= value <= 127
            fits &= small
            out[to + t] = value if small else 0
        if not fits:
            return False
    return True
