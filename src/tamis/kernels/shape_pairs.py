"""Pairs of shaped columns: their dependence, and what each adds once the other is known.

One walk over the rows of a newcomer gives, for every kept column, the products of their scores and
the counts by kept column's bin, newcomer's bin and class. Rows off the lists follow from margins.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.flag_pairs import (
    N_REAL,
    N_WHOLE,
    NOTHING,
    flag_pairs,
    larger,
    list_flags,
    rounded_worth,
)
from tamis.kernels.information import ROUNDING
from tamis.kernels.rowlists import NODE_CELLS, NODE_COUNT, NODE_NEXT, append_column
from tamis.kernels.shapes import target_table


@jit
def pair_shapes(
    indptr, rows, codes, scores, level_counts, n_bins, backgrounds, bases, squares, exact, which,
    lo, hi, heads, nodes, numbers, places, slot_cells, cell_slots, cell_counts, cell_classes,
    slot_backgrounds, slot_bases, slot_squares, slot_exact, slot_alone, slot_joint, slot_parts,
    groups, weights, group_counts, norms, entropies, per_nat, given, to, out,
):  # fmt: skip
    """Compare prepared columns which[lo..hi-1] with every kept column that has a place.

    Row to + i of ``out[0]`` gets the dependence of column which[i] on each slot, at its place. If
    `given`, ``out[1]`` gets what the column says about the target once the slot is known, and
    ``out[2]`` the other way round, both rounded by `rounded_worth`.
    """
    n, n_slots = len(heads), len(places)
    n_groups = len(group_counts) if given else 1
    freedom = 1 if len(weights) > 0 else n_groups - 1
    y = groups if given else np.zeros(n, groups.dtype)
    classes = cell_classes if given else cell_counts.reshape(-1, 1)
    own = np.empty((level_counts.shape[1], n_groups), np.int64)
    sums, part, products = np.empty(len(norms)), np.empty(len(norms)), np.empty(n_slots)
    occupied = np.empty(level_counts.shape[1], np.int64)
    column = np.empty((level_counts.shape[1], 2), np.int64)
    widest = 0
    for i in range(lo, hi):
        widest = max(widest, n_bins[which[i]])
    room = np.empty(slot_cells[-1] * widest * n_groups, np.int32)
    slot_flags = np.empty(n_slots, np.bool_)
    slot_flags[:] = False
    whole, real = np.empty((N_WHOLE, n_slots), np.int64), np.empty((N_REAL, n_slots))
    units, parts = np.empty((5, n_slots), np.int64), np.empty((3, n_slots))
    n_flags, takes_flags = 0, n_groups == 2 and len(norms) == 2
    if takes_flags:
        n_flags = list_flags(
            places, slot_cells, classes, slot_backgrounds, slot_bases, slot_squares, slot_exact,
            slot_alone, slot_joint, slot_parts, group_counts, slot_flags, whole, real,
        )  # fmt: skip
    for i in range(lo, hi):
        j = which[i]
        first, last, width, background = indptr[j], indptr[j + 1], n_bins[j], backgrounds[j]
        _own_table(
            rows[first:last], codes[first:last], scores[first:last], width, background, bases[j],
            squares[j], level_counts[j], groups, weights, group_counts, norms, given, own, sums,
            part,
        )  # fmt: skip
        counts = room[: slot_cells[-1] * width * n_groups].reshape(-1, width * n_groups)
        counts[:] = 0
        _walk(
            rows[first:last], codes[first:last], scores[first:last], y, n_groups, heads, nodes,
            numbers, cell_slots, counts, products,
        )  # fmt: skip
        alone, joint = _sums_of(own, width, n_groups, entropies)
        is_flag = takes_flags and width == 2 and background >= 0
        if is_flag:
            flag_pairs(
                n_flags, counts, products, own, alone, joint, background, bases[j], squares[j],
                exact[j], part, n, group_counts, entropies, per_nat, whole, real, units[0],
                units[1], units[2], units[3], units[4], parts[0], parts[1], parts[2], to + i, out,
            )  # fmt: skip
        for s in range(n_slots):
            place = places[s]
            if place >= 0 and not (is_flag and slot_flags[s]):
                out[0, to + i, place], one, other = _evaluate(
                    counts, classes, slot_cells[s], slot_cells[s + 1], slot_alone[s],
                    slot_joint[s], slot_backgrounds[s], slot_bases[s], slot_squares[s],
                    slot_exact[s], slot_parts, s, own, width, alone, joint, background, bases[j],
                    squares[j], exact[j], part, products[s], n, n_groups, freedom, entropies,
                    per_nat, given, occupied, column,
                )  # fmt: skip
                if given:
                    out[1, to + i, place] = rounded_worth(one)
                    out[2, to + i, place] = rounded_worth(other)


@jit
def _own_table(
    rows, codes, scores, width, background, base, squares, level_counts, groups, weights,
    group_counts, norms, given, own, sums, part,
):  # fmt: skip
    """Write the counts of a column by bin and class, and its correlations with the target."""
    if given:
        target_table(
            rows, codes, scores, width, background, base, groups, weights, group_counts, own, sums
        )
        target_part(sums, norms, squares, part)
    else:
        for a in range(width):
            own[a, 0] = level_counts[a]


@inline
def _evaluate(
    counts, classes, first_cell, end_cell, kept_alone, kept_joint, kept_background, kept_base,
    kept_squares, kept_exact, kept_parts, kept, own, width, alone, joint, background, base, squares,
    exact, part, product, n, n_groups, freedom, entropies, per_nat, given, occupied, column,
):  # fmt: skip
    """Return the dependence of a column and a kept one, and what each says beyond the other."""
    # Sliced here and not by the caller, so that Numba does not update reference counts.
    cells, margin = counts[first_cell:end_cell], classes[first_cell:end_cell]
    if n_groups == 2:
        pairs, triples, df = _two_class_sums(
            cells, margin, own, width, kept_background, background, entropies, occupied, column
        )
    else:
        _complete(cells, margin, own, n_groups, kept_background, background)
        pairs, triples, df = _joint_sums(cells, margin, n_groups, entropies, occupied, width)
    rounding = ROUNDING * (width + 2) * (len(margin) + 2) * (n_groups + 1)
    other_df = _degrees_given(own, width, n_groups, occupied) if given else 0
    return _conclude(
        pairs, triples, df, other_df, (width - 1) * (len(margin) - 1), rounding, kept_alone,
        kept_joint, kept_base, kept_squares, kept_exact, kept_parts, kept, alone, joint, base,
        squares, exact, part, product, n, n_groups, freedom, entropies, per_nat, given,
    )  # fmt: skip


@inline
def _conclude(
    pairs, triples, df, other_df, pair_df, rounding, kept_alone, kept_joint, kept_base,
    kept_squares, kept_exact, kept_parts, kept, alone, joint, base, squares, exact, part, product,
    n, n_groups, freedom, entropies, per_nat, given,
):  # fmt: skip
    """Return what `_evaluate` returns, from sums of entropies and degrees of freedom."""
    r = 0.0
    if squares > 0.0 and kept_squares > 0.0:
        covariance = product - n * base * kept_base
        r = covariance / np.sqrt(squares * kept_squares)
        r = min(1.0, max(-1.0, r))
    shared = pairs + entropies[n] - alone - kept_alone
    value = r * r
    if shared > rounding:
        each = exact and kept_exact and abs(alone - kept_alone) <= rounding
        if each and pairs >= max(alone, kept_alone) - rounding:
            value = 1.0  # each bin of one is a bin of the other
        else:
            value = larger(value, shared, pair_df, n, per_nat)
    dependence = abs(r) if value == r * r else np.sqrt(value)
    if not given:
        return dependence, 0.0, 0.0
    ahead, behind = 0.0, 0.0
    if n_groups > 1 and squares > 0.0 and kept_squares > 0.0:  # words have no ranks
        ahead, behind = _partial(part, kept_parts[kept], r, n, freedom)
    knows = triples - pairs - kept_joint + kept_alone
    if knows > rounding:
        ahead = larger(ahead, knows, df, n, per_nat)
    knows = triples - pairs - joint + alone
    if knows > rounding:
        behind = larger(behind, knows, other_df, n, per_nat)
    return dependence, ahead, behind


@inline
def _walk(
    rows, codes, scores, y, n_groups, heads, nodes, numbers, cell_slots, counts, products
):  # fmt: skip
    """Count the listed rows of a column by cell of a kept column, own bin and class."""
    products[:] = 0.0
    for t in range(len(rows)):
        row, score = rows[t], scores[t]
        at = codes[t] * n_groups + y[row]
        node = heads[row]
        while node >= 0:
            for e in range(nodes[node, NODE_COUNT]):
                cell = nodes[node, NODE_CELLS + e]
                counts[cell, at] += 1
                products[cell_slots[cell]] += score * numbers[node, e]
            node = nodes[node, NODE_NEXT]


@inline
def _complete(cells, margin, own, n_groups, background, own_background):
    """Fill in the rows that one of two columns does not list, or both, from the margins.

    A listed row may be in the bin of the background: a small value that shares a bin with 0.
    """
    width = cells.shape[1] // n_groups
    if own_background >= 0:
        for cell in range(len(cells)):
            if cell == background:
                continue
            for c in range(n_groups):
                rest = margin[cell, c]
                for a in range(width):
                    rest -= cells[cell, a * n_groups + c]
                cells[cell, own_background * n_groups + c] += rest
    if background >= 0:
        for a in range(width):
            for c in range(n_groups):
                rest = own[a, c]
                for cell in range(len(cells)):
                    rest -= cells[cell, a * n_groups + c]
                cells[background, a * n_groups + c] += rest


@jit
def list_columns(
    indptr, rows, codes, scores, level_counts, n_bins, backgrounds, bases, squares, exact, which,
    groups, weights, group_counts, norms, entropies, heads, nodes, numbers, used, slot_cells,
    cell_slots, cell_counts, cell_classes, slot_backgrounds, slot_bases, slot_squares, slot_exact,
    slot_alone, slot_joint, slot_parts, slot,
):  # fmt: skip
    """Add prepared columns to the lists by row, in slots from `slot` on, and what is known of them.

    All arrays must have room. Returns the number of used nodes.
    """
    cells = np.empty(len(heads), np.int32)
    for j in which:
        first, last, cell, width = indptr[j], indptr[j + 1], slot_cells[slot], n_bins[j]
        slot_cells[slot + 1] = cell + width
        slot_alone[slot], slot_joint[slot] = kept_table(
            rows[first:last], codes[first:last], scores[first:last], backgrounds[j], bases[j],
            squares[j], groups, weights, group_counts, norms, entropies,
            cell_classes[cell : cell + width], slot_parts[slot],
        )  # fmt: skip
        for a in range(width):
            cell_slots[cell + a], cell_counts[cell + a] = slot, level_counts[j, a]
        slot_backgrounds[slot], slot_bases[slot] = backgrounds[j], bases[j]
        slot_squares[slot], slot_exact[slot] = squares[j], exact[j]
        for t in range(first, last):
            cells[t - first] = cell + codes[t]
        used = append_column(
            heads, nodes, numbers, used, rows[first:last], cells, scores[first:last]
        )
        slot += 1
    return used


@jit
def kept_table(
    rows, codes, scores, background, base, squares, groups, weights, group_counts, norms, entropies,
    own, part,
):  # fmt: skip
    """Write what is stored of a kept column: counts by bin and class, correlations with the target.

    Returns the sums of entropies over its bins, and over its bins and classes.
    """
    width, n_groups = own.shape
    sums = np.empty(len(norms))
    target_table(
        rows, codes, scores, width, background, base, groups, weights, group_counts, own, sums
    )
    target_part(sums, norms, squares, part)
    return _sums_of(own, width, n_groups, entropies)


@inline
def _sums_of(margin, width, n_groups, entropies):
    """Return the sums of entropies over the bins of a column, and over its bins and classes."""
    alone, joint = 0, 0
    for a in range(width):
        total = 0
        for c in range(n_groups):
            total += margin[a, c]
            joint += entropies[margin[a, c]]
        alone += entropies[total]
    return alone, joint


@inline
def _joint_sums(cells, margin, n_groups, entropies, occupied, width):
    """Return the sums of entropies over pairs of bins, and over those and classes.

    Also the degrees of freedom of newcomer and class given the kept column: empty rows and columns
    of a stratum do not count. `occupied` is the number of kept bins that meet each own bin.
    """
    pairs, triples, df = 0, 0, 0
    for a in range(width):
        occupied[a] = 0
    for cell in range(len(cells)):
        met, classes = 0, 0
        for a in range(width):
            total = 0
            for c in range(n_groups):
                count = cells[cell, a * n_groups + c]
                total += count
                triples += entropies[count]
            pairs += entropies[total]
            met += total > 0
            occupied[a] += total > 0
        for c in range(n_groups):
            classes += margin[cell, c] > 0
        df += (met - 1) * (classes - 1)
    return pairs, triples, df


@inline
def _two_class_sums(
    cells, margin, own, width, background, own_background, entropies, occupied, column
):  # fmt: skip
    """Return what `_complete` and `_joint_sums` give for two classes; most counts are zero.

    `column` is scratch for the rows of each own bin that the background of the kept column has.
    """
    pairs, triples, df = 0, 0, 0
    for a in range(width):
        occupied[a], column[a, 0], column[a, 1] = 0, own[a, 0], own[a, 1]
    for cell in range(len(margin)):
        if cell == background:
            continue
        rest, other_rest, met = margin[cell, 0], margin[cell, 1], 0
        classes = int(rest > 0) + int(other_rest > 0)
        for a in range(width):
            one, other = np.int64(cells[cell, 2 * a]), np.int64(cells[cell, 2 * a + 1])
            if a == own_background or one + other == 0:
                continue
            rest, other_rest, met = rest - one, other_rest - other, met + 1
            occupied[a], column[a, 0], column[a, 1] = (
                occupied[a] + 1, column[a, 0] - one, column[a, 1] - other
            )  # fmt: skip
            triples += entropies[one] + entropies[other]
            pairs += entropies[one + other]
        if own_background >= 0 and rest + other_rest > 0:
            met += 1
            occupied[own_background] += 1
            column[own_background, 0] -= rest
            column[own_background, 1] -= other_rest
            triples += entropies[rest] + entropies[other_rest]
            pairs += entropies[rest + other_rest]
        df += (met - 1) * (classes - 1)
    if background >= 0:
        met = 0
        for a in range(width):
            one, other = column[a, 0], column[a, 1]
            met += one + other > 0
            occupied[a] += one + other > 0
            triples += entropies[one] + entropies[other]
            pairs += entropies[one + other]
        df += (met - 1) * (int(margin[background, 0] > 0) + int(margin[background, 1] > 0) - 1)
    return pairs, triples, df


@inline
def _degrees_given(own, width, n_groups, occupied):
    """Return the degrees of freedom of kept column and class given the newcomer."""
    df = 0
    for a in range(width):
        classes = 0
        for c in range(n_groups):
            classes += own[a, c] > 0
        df += (occupied[a] - 1) * (classes - 1)
    return df


@inline
def target_part(sums, norms, squares, out):
    """Write the correlations of a column with the directions of the target."""
    for c in range(len(norms)):
        scale = np.sqrt(norms[c] * squares)
        out[c] = sums[c] / scale if scale > 0.0 else 0.0


@inline
def _partial(part, other_part, r, n, freedom):
    """Return the adjusted shares that the target explains of what each column leaves of the other.

    `part` are a column's correlations with the directions of the target: what they leave of its
    variance is the variance within classes.
    """
    rest, left = 1.0 - r * r, n - 2 - freedom
    if rest < NOTHING or left < 1:
        return 0.0, 0.0
    within, other_within, both = 1.0, 1.0, r
    for d in range(len(part)):
        within -= part[d] * part[d]
        other_within -= other_part[d] * other_part[d]
        both -= part[d] * other_part[d]
    shared = both * both
    mine = within - (shared / other_within if other_within > NOTHING else 0.0)
    theirs = other_within - (shared / within if within > NOTHING else 0.0)
    scale = (n - 2) / (rest * left)
    return max(0.0, 1.0 - max(0.0, mine) * scale), max(0.0, 1.0 - max(0.0, theirs) * scale)
