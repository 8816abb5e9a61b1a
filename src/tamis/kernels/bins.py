"""Unsupervised cuts: bins of equal width, of about equal frequency, and by k-means."""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.cuts import ZEROS, between, is_discrete, sort_column

#: Codes of the methods.
WIDTH, FREQUENCY, KMEANS = range(3)
#: Most rounds of k-means; it usually converges before.
MOST_ROUNDS = 300


@inline
def _append(out, found, cut):
    """Append a cut if it is above the last one; return the number of cuts."""
    if found > 0 and cut <= out[found - 1]:
        return found
    out[found] = cut
    return found + 1


@jit
def equal_width(items, count, bins, out):
    """Cut the range from the lowest to the highest value into bins of equal width."""
    low, high, found = items[0], items[count - 1], 0
    if low == high:
        return 0
    for i in range(1, bins):
        cut = low * ((bins - i) / bins) + high * (i / bins)
        found = _append(out, found, cut) if cut < high else found
    return found


@jit
def equal_frequency(items, classes, zeros, count, bins, out):
    """Cut above the value of row ceil(N i / bins), i = 1, ..., of N rows in order."""
    total = count - 1 + zeros if zeros > 0 else count
    found, seen, i = 0, 0, 1
    for t in range(count - 1):
        seen += zeros if classes[t] == ZEROS else 1
        if items[t + 1] == items[t]:
            continue
        if seen * bins >= total * i:
            found = _append(out, found, between(items[t], items[t + 1]))
        while i < bins and seen * bins >= total * i:
            i += 1
        if i == bins:
            break
    return found


@jit
def kmeans(items, classes, zeros, count, bins, centres, out):
    """Cut half-way between the means that Lloyd's algorithm finds, starting from equal widths.

    A mean that is nearest to no value is dropped.
    """
    low, high = items[0], items[count - 1]
    k = bins
    for i in range(bins):
        centres[i] = low * ((2 * bins - 2 * i - 1) / (2 * bins)) + high * ((2 * i + 1) / (2 * bins))
    ends = np.full(bins, -1)
    for _ in range(MOST_ROUNDS):
        t, left, moved = 0, 0, False
        for i in range(k):
            total, rows = 0.0, 0
            while t < count and (i == k - 1 or items[t] <= between(centres[i], centres[i + 1])):
                rows += zeros if classes[t] == ZEROS else 1
                total += items[t]
                t += 1
            if rows > 0:
                moved |= ends[left] != t
                ends[left], out[left] = t, total / rows
                left += 1
        moved |= left != k
        k = left
        for i in range(k):
            centres[i] = out[i]
        if not moved:
            break
    found = 0
    for i in range(k - 1):
        found = _append(out, found, between(centres[i], centres[i + 1]))
    return found


@jit
def bin_columns(
    flat, indptr, indices, values, n, zero_is_gap, most_levels, way, bins, stays, lo, hi, numbers
):
    """Write the cuts of columns lo..hi-1 end to end, and the number of each column's to `numbers`.

    Columns with few distinct whole numbers are marked in `stays` and get no cuts. A negative
    limit marks none of them.
    """
    rows, entries = np.empty(n + 1, np.int32), np.empty(n + 1)
    items, classes = np.empty(n + 1), np.empty(n + 1, np.int32)
    no_class, lump, class_counts = np.zeros(n, np.uint8), np.empty(1, np.int64), np.full(1, n)
    out, centres, filled = np.empty((hi - lo) * (bins - 1) + bins), np.empty(bins), 0
    for j in range(lo, hi):
        numbers[j] = 0
        if stays[j]:
            continue
        count, zeros = sort_column(
            flat, indptr, indices, values, n, j, zero_is_gap, no_class, class_counts, rows,
            entries, items, classes, lump,
        )  # fmt: skip
        stays[j] = is_discrete(items, count, most_levels)
        if stays[j] or count == 0:
            continue
        if way == WIDTH:
            numbers[j] = equal_width(items, count, bins, out[filled:])
        elif way == FREQUENCY:
            numbers[j] = equal_frequency(items, classes, zeros, count, bins, out[filled:])
        else:
            numbers[j] = kmeans(items, classes, zeros, count, bins, centres, out[filled:])
        filled += numbers[j]
    return out[:filled]
