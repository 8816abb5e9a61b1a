"""Pairs of sparse columns of two bins, for two classes: many kept columns at a time.

What `tamis.kernels.shape_pairs` computes for such a pair follows from two counts, the rows of each
class that both columns list. Here it is computed in short loops over the kept columns, one for each
step: LLVM turns those without look-ups into vector instructions. Each number is what the general
way gives, bit for bit.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline
from tamis.kernels.information import ROUNDING

#: Share of a variance that counts as nothing.
NOTHING = 1e-10

#: Rows of the tables of kept columns: slot and place, the cell off the background, its counts by
#: class, the classes met in either bin, the sums of entropies, and whether a bin is a value.
SLOT, PLACE, CELL, FIRST, SECOND, MET, MET_OFF, ALONE, JOINT, EXACT = range(10)
N_WHOLE = 10
#: And its base, sum of squares, correlations with the classes, and what those leave of 1.
BASE, SQUARES, PART, OTHER_PART, WITHIN = range(5)
N_REAL = 5


@inline
def list_flags(
    places, slot_cells, classes, slot_backgrounds, slot_bases, slot_squares, slot_exact, slot_alone,
    slot_joint, slot_parts, group_counts, is_listed, whole, real,
):  # fmt: skip
    """Write the tables of the kept columns that can be compared here; return their number."""
    m = 0
    for s in range(len(places)):
        if places[s] >= 0 and slot_cells[s + 1] - slot_cells[s] == 2 and slot_backgrounds[s] >= 0:
            is_listed[s] = True
            cell = slot_cells[s] + 1 - slot_backgrounds[s]
            one, two = classes[cell, 0], classes[cell, 1]
            whole[SLOT, m], whole[PLACE, m], whole[CELL, m] = s, places[s], cell
            whole[FIRST, m], whole[SECOND, m] = one, two
            whole[MET, m] = int(one > 0) + int(two > 0)
            whole[MET_OFF, m] = int(group_counts[0] > one) + int(group_counts[1] > two)
            whole[ALONE, m], whole[JOINT, m] = slot_alone[s], slot_joint[s]
            whole[EXACT, m] = slot_exact[s]
            real[BASE, m], real[SQUARES, m] = slot_bases[s], slot_squares[s]
            part, other = slot_parts[s, 0], slot_parts[s, 1]
            real[PART, m], real[OTHER_PART, m] = part, other
            real[WITHIN, m] = (1.0 - part * part) - other * other
            m += 1
    return m


@inline
def flag_pairs(
    n_flags, counts, products, own, alone, joint, background, base, squares, exact, part, n,
    group_counts, entropies, per_nat, whole, real, shared, knows, other_knows, df, other_df,
    r, mine, theirs, to, out,
):  # fmt: skip
    """Compare a column with the kept ones in the tables; `shared` to `theirs` are scratch."""
    at = 1 - background
    f0, f1 = own[at, 0], own[at, 1]
    g0, g1 = group_counts[0] - f0, group_counts[1] - f1
    met = int(f0 > 0) + int(f1 > 0) - 1
    met_off = int(g0 > 0) + int(g1 > 0) - 1
    total, rounding, differ = entropies[n], ROUNDING * 48, ROUNDING * 48
    for k in range(n_flags):
        cell = whole[CELL, k]
        a0, a1 = counts[cell, 2 * at], counts[cell, 2 * at + 1]
        x0, x1 = f0 - a0, f1 - a1
        z0, z1 = whole[FIRST, k] - a0, whole[SECOND, k] - a1
        w0, w1 = g0 - z0, g1 - z1
        both, only, only_kept, neither = a0 + a1, x0 + x1, z0 + z1, w0 + w1
        triples = entropies[a0] + entropies[x0] + entropies[z0] + entropies[w0]
        triples += entropies[a1] + entropies[x1] + entropies[z1] + entropies[w1]
        pairs = entropies[both] + entropies[only] + entropies[only_kept] + entropies[neither]
        x, y, z, w = int(both > 0), int(only > 0), int(only_kept > 0), int(neither > 0)
        df[k] = (x + z - 1) * (whole[MET, k] - 1) + (y + w - 1) * (whole[MET_OFF, k] - 1)
        other_df[k] = (x + y - 1) * met + (z + w - 1) * met_off
        shared[k] = pairs + total - alone - whole[ALONE, k]
        knows[k] = triples - pairs - whole[JOINT, k] + whole[ALONE, k]
        other_knows[k] = triples - pairs - joint + alone
        r[k] = products[whole[SLOT, k]]
    _correlate(n_flags, n * base, squares, real[BASE], real[SQUARES], r)
    within = (1.0 - part[0] * part[0]) - part[1] * part[1]
    if n - 3 >= 1 and squares > 0.0:
        _leave(n_flags, part[0], part[1], r, real[PART], real[OTHER_PART], theirs)
        _left_of_own(n_flags, within, n - 2, n - 3, r, theirs, real[WITHIN], mine)
        _left_of_kept(n_flags, within, n - 2, n - 3, r, theirs, real[WITHIN])
    else:
        for k in range(n_flags):
            mine[k] = theirs[k] = 0.0
    for k in range(n_flags):
        place, value, units = whole[PLACE, k], r[k] * r[k], shared[k]
        one, other = mine[k], theirs[k]
        if real[SQUARES, k] <= 0.0:
            one = other = 0.0
        if units > rounding:
            apart = abs(alone - whole[ALONE, k])
            pairs = units - total + alone + whole[ALONE, k]
            if (
                exact and whole[EXACT, k] > 0 and apart <= differ
                and pairs >= max(alone, whole[ALONE, k]) - rounding
            ):  # fmt: skip
                value = 1.0  # each bin of one is a bin of the other
            else:
                value = larger(value, units, 1, n, per_nat)
        out[0, to, place] = abs(r[k]) if value == r[k] * r[k] else np.sqrt(value)
        if knows[k] > rounding:
            one = larger(one, knows[k], df[k], n, per_nat)
        if other_knows[k] > rounding:
            other = larger(other, other_knows[k], other_df[k], n, per_nat)
        out[1, to, place], out[2, to, place] = rounded_worth(one), rounded_worth(other)


@inline
def _correlate(n_flags, shift, squares, kept_base, kept_squares, r):
    """Turn products into correlations."""
    for k in range(n_flags):
        product = squares * kept_squares[k]
        value = (r[k] - shift * kept_base[k]) / np.sqrt(product if product > 0.0 else 1.0)
        value = -1.0 if value < -1.0 else value
        value = 1.0 if value > 1.0 else value
        r[k] = value if product > 0.0 else 0.0


@inline
def _leave(n_flags, part, other_part, r, kept_part, kept_other, out):
    """Write the squares of the covariances within classes."""
    for k in range(n_flags):
        both = (r[k] - part * kept_part[k]) - other_part * kept_other[k]
        out[k] = both * both


@inline
def _left_of_own(n_flags, within, freedom, left, r, shared, kept_within, out):
    """Write the share that the classes explain of what kept columns leave of a column."""
    for k in range(n_flags):
        rest, other = 1.0 - r[k] * r[k], kept_within[k]
        taken = shared[k] / (other if other > NOTHING else 1.0)
        mine = within - (taken if other > NOTHING else 0.0)
        scale = freedom / ((rest if rest >= NOTHING else 1.0) * left)
        mine = 1.0 - (mine if mine > 0.0 else 0.0) * scale
        out[k] = mine if mine > 0.0 and rest >= NOTHING else 0.0


@inline
def _left_of_kept(n_flags, within, freedom, left, r, shared, kept_within):
    """Write, over `shared`, the share that they explain of what a column leaves of kept ones."""
    for k in range(n_flags):
        rest = 1.0 - r[k] * r[k]
        taken = shared[k] / (within if within > NOTHING else 1.0)
        theirs = kept_within[k] - (taken if within > NOTHING else 0.0)
        scale = freedom / ((rest if rest >= NOTHING else 1.0) * left)
        theirs = 1.0 - (theirs if theirs > 0.0 else 0.0) * scale
        shared[k] = theirs if theirs > 0.0 and rest >= NOTHING else 0.0


@inline
def larger(share, units, df, n, per_nat):
    """Return the larger of a share and the `strength` of information."""
    # 1 - exp(-x) is at most x: most of the time there is no exponential to compute.
    if 2.0 * (units / per_nat - df / 2.0) / n <= share:
        return share
    return max(share, strength(units, df, n, per_nat))


@inline
def strength(units, df, n, per_nat):
    """Return 1 - exp(-2 I): the squared correlation of normal variables with that information.

    `units` are n times the information; its bias, df / 2 nats, is subtracted first.
    """
    nats = (units / per_nat - df / 2.0) / n
    return 1.0 - np.exp(-2.0 * nats) if nats > 0.0 else 0.0


@inline
def rounded_worth(x):
    """Round to a multiple of 2**-40."""
    return np.rint(x * 2.0**40) / 2.0**40
