"""Pairs of shaped columns: their dependence, and what each adds once the other is known.

One walk over the rows of a newcomer gives, for every kept column, the products of their scores and
the counts by kept column's bin, newcomer's bin and class. Rows off the lists follow from margins.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.information import ROUNDING
from tamis.kernels.rowlists import NODE_CELLS, NODE_COUNT, NODE_NEXT
from tamis.kernels.shapes import target_table

#: Share of a variance that counts as nothing.
NOTHING = 1e-10


@jit
def pair_shapes(
    indptr, rows, codes, scores, level_counts, n_bins, backgrounds, bases, squares, exact, which,
    lo, hi, heads, nodes, numbers, alive, slot_cells, cell_slots, cell_counts, cell_classes,
    slot_backgrounds, slot_bases, slot_squares, slot_exact, slot_parts, groups, weights,
    group_counts, norms, entropies, per_nat, given, dependence, ahead, behind,
):  # fmt: skip
    """Compare prepared columns which[lo..hi-1] with every live kept column.

    Row i of `dependence` is column which[i] with each slot. If `given`, `ahead` is what the column
    says about the target once the slot is known, and `behind` the other way round.
    """
    n, n_slots = len(heads), len(alive)
    n_groups = len(group_counts) if given else 1
    freedom = 1 if len(weights) > 0 else n_groups - 1
    y = groups if given else np.zeros(n, groups.dtype)
    classes = cell_classes if given else cell_counts.reshape(-1, 1)
    own = np.empty((level_counts.shape[1], n_groups), np.int64)
    sums, part, products = np.empty(len(norms)), np.empty(len(norms)), np.empty(n_slots)
    for i in range(lo, hi):
        j = which[i]
        first, last, width, background = indptr[j], indptr[j + 1], n_bins[j], backgrounds[j]
        if given:
            target_table(
                rows[first:last], codes[first:last], scores[first:last], width, background,
                bases[j], groups, weights, group_counts, own, sums,
            )  # fmt: skip
            target_part(sums, norms, squares[j], part)
        else:
            for a in range(width):
                own[a, 0] = level_counts[j, a]
        counts = np.zeros((slot_cells[-1], width * n_groups), np.int32)
        _walk(
            rows[first:last], codes[first:last], scores[first:last], y, n_groups, heads, nodes,
            numbers, cell_slots, counts, products,
        )  # fmt: skip
        mine = _sums_of(own, width, n_groups, entropies)
        occupied = np.empty(width, np.int64)
        for s in range(n_slots):
            if not alive[s]:
                continue
            cells = counts[slot_cells[s] : slot_cells[s + 1]]
            margin = classes[slot_cells[s] : slot_cells[s + 1]]
            _complete(cells, margin, own, n_groups, slot_backgrounds[s], background)
            theirs = _sums_of(margin, len(margin), n_groups, entropies)
            pairs, triples, df = _joint_sums(cells, margin, n_groups, entropies, occupied)
            rounding = ROUNDING * (width + 2) * (len(margin) + 2) * (n_groups + 1)
            shared = pairs + entropies[n] - mine[0] - theirs[0]
            value = 0.0
            if shared > rounding:
                each = exact[j] and slot_exact[s] and abs(mine[0] - theirs[0]) <= rounding
                if each and pairs >= max(mine[0], theirs[0]) - rounding:
                    value = 1.0  # each bin of one is a bin of the other
                else:
                    value = strength(shared, (width - 1) * (len(margin) - 1), n, per_nat)
            r = 0.0
            if squares[j] > 0.0 and slot_squares[s] > 0.0:
                covariance = products[s] - n * bases[j] * slot_bases[s]
                r = covariance / np.sqrt(squares[j] * slot_squares[s])
                r = min(1.0, max(-1.0, r))
            dependence[i, s] = max(np.sqrt(value), abs(r))
            if not given:
                continue
            knows = triples - pairs - theirs[1] + theirs[0]
            ahead[i, s] = strength(knows, df, n, per_nat) if knows > rounding else 0.0
            df = _degrees_given(own, width, n_groups, occupied)
            knows = triples - pairs - mine[1] + mine[0]
            behind[i, s] = strength(knows, df, n, per_nat) if knows > rounding else 0.0
            if n_groups > 1 and squares[j] > 0.0 and slot_squares[s] > 0.0:  # words have no ranks
                one, other = _partial(part, slot_parts[s], r, n, freedom)
                ahead[i, s] = max(ahead[i, s], one)
                behind[i, s] = max(behind[i, s], other)


@jit
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


@jit
def _complete(cells, margin, own, n_groups, background, own_background):
    """Fill in the rows that one of two columns does not list, or both, from the margins."""
    width = cells.shape[1] // n_groups
    if own_background >= 0:
        for cell in range(len(cells)):
            if cell == background:
                continue
            for c in range(n_groups):
                rest = margin[cell, c]
                for a in range(width):
                    rest -= cells[cell, a * n_groups + c]
                cells[cell, own_background * n_groups + c] = rest
    if background >= 0:
        for a in range(width):
            for c in range(n_groups):
                rest = own[a, c]
                for cell in range(len(cells)):
                    rest -= cells[cell, a * n_groups + c]
                cells[background, a * n_groups + c] = rest


@jit
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


@jit
def _joint_sums(cells, margin, n_groups, entropies, occupied):
    """Return the sums of entropies over pairs of bins, and over those and classes.

    Also the degrees of freedom of newcomer and class given the kept column: empty rows and columns
    of a stratum do not count. `occupied` is the number of kept bins that meet each own bin.
    """
    pairs, triples, df = 0, 0, 0
    occupied[:] = 0
    for cell in range(len(cells)):
        met, classes = 0, 0
        for a in range(len(occupied)):
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


@jit
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
def strength(units, df, n, per_nat):
    """Return 1 - exp(-2 I): the squared correlation of normal variables with that information.

    `units` are n times the information; its bias, df / 2 nats, is subtracted first.
    """
    nats = (units / per_nat - df / 2.0) / n
    return 1.0 - np.exp(-2.0 * nats) if nats > 0.0 else 0.0


@jit
def target_part(sums, norms, squares, out):
    """Write the correlations of a column with the directions of the target."""
    for c in range(len(norms)):
        scale = np.sqrt(norms[c] * squares)
        out[c] = sums[c] / scale if scale > 0.0 else 0.0


@jit
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
