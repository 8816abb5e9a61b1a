"""Interaction gains of a newcomer with all kept columns: joint information beyond the single ones.

Counts: with g(k) = k log2 k, n times [I(D; f,s) - I(D;s) - I(D;f)] is

    sum g(N_fsd) - sum g(N_fs) + [sum g(N_s) - sum g(N_sd)] + [sum g(N_f) - sum g(N_fd)] - n H(D),

in the integer units of `information.entropy_table`. So terms are exact, and do not depend on the
order of rows, levels or cells.

Correlations: |r(s, D | f)| - |r(s, D)|, where D may be several orthonormal columns (classes).
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.correlation import pair_correlation
from tamis.kernels.information import ROUNDING
from tamis.kernels.partial import COLLINEAR, target_products
from tamis.kernels.rowlists import NODE_CELLS, NODE_COUNT, NODE_NEXT


@jit
def meet_counts(
    indptr, rows, codes, level_pointers, level_counts, entropies, asks, lo, hi,
    heads, nodes, slot_cells, cell_counts, slot_entropy, alive, cell_classes, slot_rest,
    slot_levels, y, class_counts, table, units, bias, shift, divisor, significant,
    gains, terms, pairs, counted,
):  # fmt: skip
    """Compute interaction gains of coded columns lo..hi-1, up to the first that needs a decision.

    That is the first whose gain is above 0, or whose mark in `asks` is set; its number is returned
    (`hi` if there is none) with its terms and its information with each slot, n times in units.
    The gain is the sum of the terms in bits, plus `shift`, less `bias` for each level but one, all
    over `divisor`; `significant` (may be empty) decides which terms count, see `counts_in`.
    """
    n_classes = len(class_counts)
    class_entropy = table[len(y)]
    for c in range(n_classes):
        class_entropy -= table[class_counts[c]]
    for i in range(lo, hi):
        a, b = indptr[i], indptr[i + 1]
        mine = level_counts[level_pointers[i] : level_pointers[i + 1]]
        width = len(mine) - 1
        counts = np.zeros(slot_cells[-1] * width * n_classes, np.int32)
        by_class = np.zeros((width + 1) * n_classes, np.int64)
        count_with_class(rows, codes, a, b, heads, nodes, y, class_counts, width, counts, by_class)
        rest, levels = -class_entropy, 0
        for level in range(width + 1):
            rest += table[mine[level]]
            levels += mine[level] > 0
        for place in range(len(by_class)):
            rest -= table[by_class[place]]
        _terms_of_slots(
            counts, by_class, width, n_classes, rest, entropies[i] - table[len(y)], slot_cells,
            cell_counts, slot_entropy, alive, cell_classes, slot_rest, table, terms, pairs,
        )  # fmt: skip
        total = 0.0
        for s in range(len(alive)):
            freedom = (levels - 1) * (slot_levels[s] - 1)
            counted[s] = alive[s] and counts_in(terms[s], pairs[s], freedom, significant)
            if counted[s]:
                total += terms[s]
        gains[i - lo] = (total / units + shift - bias * (levels - 1)) / divisor
        if gains[i - lo] > 0.0 or asks[i - lo]:
            return i
    return hi


@jit
def counts_in(term, pair, freedom, significant):
    """Return True if a term is significant.

    A term is I(f;s|D) - I(f;s). A positive term counts if the first is above its level, a
    negative one if the second is: rows 1 and 0 of `significant`, by degrees of freedom of the
    pair. Beyond the end of the table there are too few rows for any test.
    """
    if significant.shape[1] == 0:
        return True
    if freedom >= significant.shape[1]:
        return False
    return term + pair > significant[1, freedom] if term > 0 else pair > significant[0, freedom]


@jit
def count_with_class(
    rows, codes, first, last, heads, nodes, y, class_counts, width, counts, by_class
):
    """Count entries first..last-1 of a coded column by class, alone and with every kept cell."""
    n_classes = len(class_counts)
    step = width * n_classes
    for c in range(n_classes):
        by_class[c] = class_counts[c]
    for t in range(first, last):
        row = rows[t]
        by_class[y[row]] -= 1
        by_class[codes[t] * n_classes + y[row]] += 1
        place = (codes[t] - 1) * n_classes + y[row]
        node = heads[row]
        while node >= 0:
            for e in range(nodes[node, NODE_COUNT]):
                counts[nodes[node, NODE_CELLS + e] * step + place] += 1
            node = nodes[node, NODE_NEXT]


@jit
def _terms_of_slots(
    counts, by_class, width, n_classes, rest, pair_rest, slot_cells,
    cell_counts, slot_entropy, alive, cell_classes, slot_rest, table, terms, pairs,
):  # fmt: skip
    """Compute term and information with each slot, from counts outside both backgrounds."""
    left = np.empty((width + 1) * n_classes, np.int64)
    other = np.empty(n_classes, np.int64)
    flags = width == 1 and n_classes == 2
    last = slot_cells[0]
    for s in range(len(alive)):
        first, last = last, slot_cells[s + 1]
        if not alive[s]:
            continue
        if flags and last == first + 1:
            triples, joint = _two_flags(counts, by_class, first, cell_classes, table)
        else:
            triples, joint = _many_levels(
                counts, by_class, width, n_classes, first, last, cell_counts, cell_classes, table,
                left, other,
            )  # fmt: skip
        cells = (width + 2) * (last - first + 2)
        term = triples - joint + slot_rest[s] + rest
        terms[s] = term if abs(term) > ROUNDING * cells * (n_classes + 2) else 0
        pair = joint + slot_entropy[s] + pair_rest
        pairs[s] = pair if pair > ROUNDING * cells else 0


@jit
def _two_flags(counts, by_class, cell, cell_classes, table):
    """Compute `_many_levels` where both columns have two levels and there are two classes."""
    both_0, both_1 = counts[2 * cell], counts[2 * cell + 1]
    other_0, other_1 = cell_classes[cell, 0] - both_0, cell_classes[cell, 1] - both_1
    mine_0, mine_1 = by_class[2] - both_0, by_class[3] - both_1
    none_0, none_1 = by_class[0] - other_0, by_class[1] - other_1
    triples = table[both_0] + table[both_1] + table[other_0] + table[other_1]
    triples += table[mine_0] + table[mine_1] + table[none_0] + table[none_1]
    joint = table[both_0 + both_1] + table[other_0 + other_1]
    joint += table[mine_0 + mine_1] + table[none_0 + none_1]
    return triples, joint


@jit
def _many_levels(
    counts, by_class, width, n_classes, first, last, cell_counts, cell_classes, table, left, other
):
    """Sum g over the cells of newcomer, slot and class, and over those of newcomer and slot.

    What `counts` does not contain follows from the margins, by class: `left` of the newcomer's
    levels where the slot is at its background (level 0: where both are), `other` of the slot's
    cell where the newcomer is.
    """
    for place in range(len(by_class)):
        left[place] = by_class[place]
    triples = joint = 0
    for cell in range(first, last):
        rest_of_cell = cell_counts[cell]
        for c in range(n_classes):
            other[c] = cell_classes[cell, c]
        at = cell * width * n_classes
        for level in range(1, width + 1):
            both = 0
            for c in range(n_classes):
                count = counts[at]
                at += 1
                both += count
                triples += table[count]
                left[level * n_classes + c] -= count
                other[c] -= count
            joint += table[both]
            rest_of_cell -= both
        joint += table[rest_of_cell]
        for c in range(n_classes):
            triples += table[other[c]]
            left[c] -= other[c]
    for level in range(width + 1):
        alone = 0
        for c in range(n_classes):
            count = left[level * n_classes + c]
            triples += table[count]
            alone += count
        joint += table[alone]
    return triples, joint


@jit
def meet_correlations(
    indptr, rows, values, means, squares, asks, lo, hi,
    heads, nodes, numbers, tiles, slot_means, slot_squares, lanes, alive, slot_shares,
    basis, resolution, cutoff, mean_of_counted, n, gains, terms, pairs, shares,
):  # fmt: skip
    """Compute `meet_counts` for prepared columns and correlations.

    A term counts only if the partial correlation is above `cutoff`; other terms are NaN. The
    gain is their sum, or with `mean_of_counted` their mean, or 0 if none counts. `shares` are the
    correlations of the last newcomer with the columns of `basis`.
    """
    n_slots, n_targets = len(alive), basis.shape[1]
    for i in range(lo, hi):
        a, b = indptr[i], indptr[i + 1]
        target_products(rows[a:b], values[a:b], squares[i], basis, shares)
        pairs[:] = 0.0
        pair_correlation(
            indptr, rows, values, means, squares, i, i + 1,
            heads, nodes, numbers, tiles, slot_means, slot_squares, lanes, alive, n, i,
            pairs.reshape(1, -1),
        )  # fmt: skip
        total, counted = 0.0, 0
        for s in range(n_slots):
            if not alive[s]:
                continue
            alone = 0.0
            for j in range(n_targets):
                alone += slot_shares[s, j] * slot_shares[s, j]
            alone = np.sqrt(alone)
            given = partial_given_one(slot_shares[s], shares, pairs[s])
            terms[s] = np.nan
            if given > cutoff:
                term = given - alone
                terms[s] = term if abs(term) > resolution else 0.0
                total += terms[s]
                counted += 1
        gains[i - lo] = total / max(counted, 1) if mean_of_counted else total
        if gains[i - lo] > 0.0 or asks[i - lo]:
            return i
    return hi


@jit
def partial_given_one(of, given, between):
    """Return the partial (multiple) correlation of a column and the target, given another column.

    `of` and `given` are the correlations of the two columns with the orthonormal target, `between`
    their correlation. The residual of the column is projected on the residual of the target.
    """
    unexplained = 1.0 - between * between
    if unexplained < COLLINEAR:
        return 0.0
    explained, along, settled = 0.0, 0.0, 0.0
    for j in range(len(of)):
        moved = of[j] - between * given[j]
        explained += moved * moved
        along += given[j] * moved
        settled += given[j] * given[j]
    if 1.0 - settled >= COLLINEAR:
        explained += along * along / (1.0 - settled)
    return min(1.0, np.sqrt(explained / unexplained))
