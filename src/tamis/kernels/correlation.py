"""Correlations as fixed-order sums over the rows where a column is not zero.

Only the number of zero rows enters, so a dense column and the same column stored sparse go through
the same additions in the same order and give the same bits. Values are centred before they
are squared, so a large mean costs no digits.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.lanes import LANES, filled, load, spread, store, transpose
from tamis.kernels.rowlists import NODE_CELLS, NODE_COUNT, NODE_NEXT

#: Strengths of columns with fewer ones than this are cached.
FEW_ONES = 64

#: Marks dense columns of numbers: they are neither mostly zero nor of two levels.
DENSE_NUMBER = -2


@jit
def moments(values, first, last, n):
    """Return the mean of a column of n rows and the sum of squares about it; -1 if constant.

    Its nonzeros are values first..last-1; a slice would cost more than a short column.
    """
    count = last - first
    if count == 0:
        return 0.0, -1.0
    total = 0.0
    same = True
    for t in range(first, last):
        total += values[t]
        same &= values[t] == values[first]
    if same and count == n:
        return values[first], -1.0
    mean = total / n
    squares = 0.0
    for t in range(first, last):
        squares += (values[t] - mean) * (values[t] - mean)
    return mean, squares + (n - count) * mean * mean


@inline
def column_strength(rows, values, first, last, groups, weights, totals, norms, sums, seen):
    """Return the multiple correlation of one column with the target; -1 if the column is constant.

    Classes: ``groups`` are the class codes, ``weights`` is empty, ``totals`` and ``norms`` are the
    class counts: the result is sqrt(between-class / total sum of squares), |r| for two classes.
    Numbers: one group, ``weights`` the centred target, ``totals`` 0, ``norms`` its sum of squares.
    """
    n, count = len(groups), last - first
    total, same = 0.0, True
    for t in range(first, last):
        total += values[t]
        same &= values[t] == values[first]
    if count == 0 or (same and count == n):
        return -1.0
    mean = total / n
    if len(norms) == 2 and len(weights) == 0:
        squares = _two_class_sums(rows, values, first, last, groups, mean, sums, seen)
    else:
        squares = _group_sums(rows, values, first, last, groups, weights, mean, sums, seen)
    return _from_sums(mean, squares, n - count, sums, seen, totals, norms)


@inline
def _two_class_sums(rows, values, first, last, groups, mean, sums, seen):
    """Compute `_group_sums` for two classes, in registers and without a branch.

    A product with 0.0 or 1.0 is exact, and adding 0.0 to the other sum changes none of its bits.
    """
    squares, in_zero, in_one, ones = 0.0, 0.0, 0.0, 0
    for t in range(first, last):
        group = groups[rows[t]]
        mark = np.float64(group)
        centred = values[t] - mean
        squares += centred * centred
        in_zero += centred * (1.0 - mark)
        in_one += centred * mark
        ones += group
    sums[0], sums[1] = in_zero, in_one
    seen[0], seen[1] = last - first - ones, ones
    return squares


@inline
def _group_sums(rows, values, first, last, groups, weights, mean, sums, seen):
    """Sum the centred entries, and their weights, by group; return the sum of their squares."""
    weighted = len(weights) > 0
    squares = 0.0
    for g in range(len(sums)):
        sums[g] = 0.0
        seen[g] = 0.0
    for t in range(first, last):
        row = rows[t]
        group = groups[row]
        weight = weights[row] if weighted else 1.0
        centred = values[t] - mean
        squares += centred * centred
        sums[group] += centred * weight
        seen[group] += weight
    return squares


@inline
def _from_sums(mean, squares, zeros, sums, seen, totals, norms):
    """Return the strength of a column that is zero in `zeros` rows, from sums over the others."""
    squares += zeros * mean * mean
    explained = 0.0
    for g in range(len(norms)):
        if norms[g] > 0.0:
            covariance = sums[g]
            if zeros > 0:
                covariance -= mean * (totals[g] - seen[g])
            explained += covariance * covariance / norms[g]
    share = explained / squares
    # 0/0 or inf/inf: the squares underflow or overflow. Not min(1, NaN), which is 1.
    return min(1.0, np.sqrt(share)) if share >= 0.0 else 0.0


@jit
def relevance(
    indptr, rows, values, groups, weights, totals, norms, gate, lo, hi, strength, cutoff, ones_of
):
    """Compute the strength of compressed columns lo..hi-1 of a block towards the target.

    `ones_of`, if it is not empty, gets the entries in class 1 of columns of few ones, else -1.
    """
    sums, seen = np.empty(len(norms)), np.empty(len(norms))
    # Nearly all columns of big sparse data hold a few ones. With two classes their strength depends
    # on two small numbers only, so it is computed once per pair and cached (2: not yet).
    known = np.empty((FEW_ONES, FEW_ONES))
    known[:] = 2.0  # np.full would be compiled
    two_classes = len(norms) == 2 and len(weights) == 0
    last = indptr[lo]
    for j in range(lo, hi):
        strength[j], cutoff[j] = 0.0, np.nan
        if len(ones_of):
            ones_of[j] = -1
        first, last = last, indptr[j + 1]
        count, ones = last - first, 0
        if count == 0:
            continue
        few = two_classes and count < FEW_ONES and values[first] == 1.0 and values[last - 1] == 1.0
        if few:
            for t in range(first, last):
                few &= values[t] == 1.0
                ones += groups[rows[t]]
            if few and len(ones_of):
                ones_of[j] = ones
        value = known[count, ones] if few else 2.0
        if value > 1.0:
            value = column_strength(
                rows, values, first, last, groups, weights, totals, norms, sums, seen
            )
            if few:
                known[count, ones] = value
        if value >= 0.0:
            strength[j], cutoff[j] = value, gate


# --- dense columns, eight at a time --------------------------------------------------------------


@jit
def dense_relevance(
    flat, groups, weights, totals, norms, gate, lo, hi, strength, cutoff, ones_of
):  # fmt: skip
    """Compute `relevance` for dense columns, which lie end to end in `flat`.

    The same additions in the same order as for compressed columns: a zero row adds 0.0, which
    changes no bit of a sum. `ones_of`, if it is not empty, gets `DENSE_NUMBER` for columns of three
    values or more that are zero in at most half of the rows, else -1.
    """
    n, k = len(groups), len(norms)
    tile, marks = np.empty(n * LANES), np.empty(2 * n)
    out = np.empty((3 + 2 * k) * LANES)  # mean, squares, count, and sums and marks of each group
    sums, seen = np.empty(k), np.empty(k)
    if k <= 2:
        for row in range(n):
            marks[row] = weights[row] if len(weights) else 1.0 - groups[row]
            marks[n + row] = groups[row]
    for j in range(lo, hi, LANES):
        width = min(LANES, hi - j)
        _put_in_tile(flat, n, j, width, tile, out)
        if k <= 2:
            _tile_sums(tile, n, marks, out)
        else:
            _tile_group_sums(tile, n, groups, k, out)
        for i in range(width):
            strength[j + i], cutoff[j + i] = 0.0, np.nan
            count = int(out[2 * LANES + i])
            column = (j + i) * n
            if len(ones_of):
                dense = 2 * count >= n and _has_three_values(flat, column, column + n)
                ones_of[j + i] = DENSE_NUMBER if dense else -1
            if count == 0 or (count == n and _is_constant(flat, column, column + n)):
                continue
            for g in range(k):
                sums[g], seen[g] = out[(3 + g) * LANES + i], out[(3 + k + g) * LANES + i]
            strength[j + i] = _from_sums(
                out[i], out[LANES + i], n - count, sums, seen, totals, norms
            )
            cutoff[j + i] = gate


@jit
def _put_in_tile(flat, n, j, width, tile, out):
    """Put columns j..j+width-1 side by side, eight numbers per row; others are 0.

    Writes the mean of the eight columns, and the number of their nonzeros, on the way.
    """
    total, count = spread(0.0), spread(0.0)
    whole = n - n % LANES if width == LANES else 0
    for row in range(0, whole, LANES):
        transpose(flat, j * n + row, n, tile, row * LANES, LANES)
        for t in range(row, row + LANES):
            value = load(tile, t * LANES)
            total = total + value
            count = count + filled(value)
    for row in range(whole, n):
        for i in range(LANES):
            tile[row * LANES + i] = flat[(j + i) * n + row] if i < width else 0.0
        value = load(tile, row * LANES)
        total = total + value
        count = count + filled(value)
    store(out, 0, total / spread(n))
    store(out, 2 * LANES, count)


@jit
def _tile_sums(tile, n, marks, out):
    """Sum the squares of eight centred columns, and their products with one or two marks."""
    mean = load(out, 0)
    squares, first, second, seen = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
    for row in range(n):
        value = load(tile, row * LANES)
        there = filled(value)
        centred = (value - mean) * there
        mark = spread(marks[row])
        squares = squares + centred * centred
        first = first + centred * mark
        second = second + centred * spread(marks[n + row])
        seen = seen + there * mark
    store(out, LANES, squares)
    store(out, 3 * LANES, first)
    if len(out) == 5 * LANES:  # one group
        store(out, 4 * LANES, seen)
        return
    store(out, 4 * LANES, second)
    store(out, 5 * LANES, seen)
    store(out, 6 * LANES, load(out, 2 * LANES) - seen)


@jit
def _tile_group_sums(tile, n, groups, k, out):
    """Compute `_tile_sums` for more than two classes."""
    mean, squares = load(out, 0), spread(0.0)
    for g in range(2 * k):
        store(out, (3 + g) * LANES, spread(0.0))
    for row in range(n):
        value = load(tile, row * LANES)
        there = filled(value)
        centred = (value - mean) * there
        squares = squares + centred * centred
        sums, seen = (3 + np.int64(groups[row])) * LANES, (3 + k + np.int64(groups[row])) * LANES
        store(out, sums, load(out, sums) + centred)
        store(out, seen, load(out, seen) + there)
    store(out, LANES, squares)


@inline
def _is_constant(values, first, last):
    """Return whether all of values first..last-1 are equal."""
    t = first + 1
    while t < last and values[t] == values[first]:
        t += 1
    return t >= last


@inline
def _has_three_values(values, first, last):
    """Return whether three values or more occur; nearly always the first rows decide."""
    one = values[first]
    other = one
    for t in range(first + 1, last):
        if values[t] != one and values[t] != other:
            if other != one:
                return True
            other = values[t]
    return False


@jit
def centre(indptr, rows, values, n, out_pointers, out_rows, out_values, means, squares):
    """Prepare columns for products: full columns are centred, sparse ones keep their zeros.

    A column that is mostly nonzero is listed whole, less its mean (``means`` 0); any other keeps
    its entries and its mean. The content of a column decides, not its layout.
    """
    for j in range(len(indptr) - 1):
        first, last = indptr[j], indptr[j + 1]
        count = last - first
        mean, squares[j] = moments(values, first, last, n)
        out = out_pointers[j]
        if 2 * count <= n:
            means[j] = mean
            for t in range(count):
                out_rows[out + t], out_values[out + t] = rows[first + t], values[first + t]
            out_pointers[j + 1] = out + count
            continue
        means[j] = 0.0
        at = first
        for row in range(n):
            value = 0.0
            if at < last and rows[at] == row:
                value = values[at]
                at += 1
            out_rows[out + row] = row
            out_values[out + row] = value - mean
        out_pointers[j + 1] = out + n


# --- kept columns --------------------------------------------------------------------------------
#
# Whole columns lie in tiles: eight side by side, row by row. A column in lane L is number L % 8 of
# tile L // 8. Other columns, whose lane is -1, are lists by row. Products with a newcomer are sums
# over its listed rows, in their order, so it does not matter where a kept column is stored.


@inline
def put_in_lane(rows, values, first, last, tiles, n, lane):
    """Write a whole column to its lane."""
    start = lane // LANES * n
    for t in range(first, last):
        tiles[(start + rows[t]) * LANES + lane % LANES] = values[t]


@inline
def tile_products(rows, values, first, last, tiles, n, tile, products):
    """Compute the products of a newcomer with the eight columns of a tile."""
    total = spread(0.0)
    start = tile * n
    for t in range(first, last):
        total = total + spread(values[t]) * load(tiles, (start + rows[t]) * LANES)
    store(products, tile * LANES, total)


@inline
def _four_tile_products(rows, values, first, last, tiles, n, tile, products):
    """Compute the products with four tiles: sums that do not wait for each other."""
    size = n * LANES
    start = tile * size
    one, two, three, four = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
    for t in range(first, last):
        value, at = spread(values[t]), start + rows[t] * LANES
        one = one + value * load(tiles, at)
        two = two + value * load(tiles, at + size)
        three = three + value * load(tiles, at + 2 * size)
        four = four + value * load(tiles, at + 3 * size)
    store(products, tile * LANES, one)
    store(products, (tile + 1) * LANES, two)
    store(products, (tile + 2) * LANES, three)
    store(products, (tile + 3) * LANES, four)


@inline
def list_products(rows, values, first, last, heads, nodes, numbers, products):
    """Add the products of a newcomer with columns in lists by row to those of their slots."""
    for t in range(first, last):
        node = heads[rows[t]]
        value = values[t]
        while node >= 0:
            for e in range(nodes[node, NODE_COUNT]):
                products[nodes[node, NODE_CELLS + e]] += value * numbers[node, e]
            node = nodes[node, NODE_NEXT]


@inline
def as_correlation(product, n, mean, squares, other_mean, other_squares):
    """Return the correlation of two columns from their product; 0 if one is constant."""
    if not (squares > 0.0 and other_squares > 0.0):
        return 0.0
    value = (product - n * mean * other_mean) / np.sqrt(squares * other_squares)
    return min(1.0, max(-1.0, value)) if value == value else 0.0


@jit
def pair_correlation(
    indptr, rows, values, means, squares, lo, hi,
    heads, nodes, numbers, tiles, slot_means, slot_squares, lanes, alive, n, first, out,
):  # fmt: skip
    """Compute the correlation of prepared columns lo..hi-1 with every live kept column.

    Column i is row i - first of `out`.
    """
    n_slots, n_tiles, listed = len(alive), len(tiles) // max(1, n * LANES), False
    for s in range(n_slots):
        listed |= lanes[s] < 0
    in_lists, in_tiles = np.zeros(n_slots), np.zeros(n_tiles * LANES)
    for i in range(lo, hi):
        a, b = indptr[i], indptr[i + 1]
        if listed:
            in_lists[:] = 0.0
            list_products(rows, values, a, b, heads, nodes, numbers, in_lists)
        tile = 0
        while tile + 4 <= n_tiles:
            _four_tile_products(rows, values, a, b, tiles, n, tile, in_tiles)
            tile += 4
        while tile < n_tiles:
            tile_products(rows, values, a, b, tiles, n, tile, in_tiles)
            tile += 1
        for s in range(n_slots):
            if alive[s]:
                product = in_lists[s] if lanes[s] < 0 else in_tiles[lanes[s]]
                out[i - first, s] = as_correlation(
                    product, n, means[i], squares[i], slot_means[s], slot_squares[s]
                )
