"""SAOLA's walk over the kept features, for many newcomers at once.

`foresee_walk` finds what the features kept at a moment would drop. `walk_correlations` and
`walk_information` decide: they evict and keep features as they go, and return what happened as
arrays of events. Strengths are computed when the walk reaches a feature, so a newcomer that the
third kept feature drops costs little.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import inline, jit
from tamis.kernels.correlation import (
    as_correlation,
    list_products,
    put_in_lane,
    tile_products,
)
from tamis.kernels.information import ROUNDING
from tamis.kernels.lanes import LANES, count_bits
from tamis.kernels.rowlists import NODE_CELLS, NODE_COUNT, NODE_NEXT, NODE_ROOM, append_column


@jit
def foresee_walk(
    pairs, kept_relevance, relevance, use_max, older_takes_ties, resolution, ends, evicts
):
    """Find where the walk of each newcomer ends, and whether it evicts a feature before that.

    `ends[i]` is the position of the kept feature that makes newcomer i redundant, or -1.
    """
    for i in range(len(relevance)):
        ends[i] = -1
        evicts[i] = False
        for y in range(len(kept_relevance)):
            mine, other = relevance[i], kept_relevance[y]
            bound = max(mine, other) if use_max else min(mine, other)
            if pairs[i, y] < bound - resolution:
                continue
            tied = abs(mine - other) <= resolution
            if (tied and older_takes_ties) or (not tied and other > mine):
                ends[i] = y
                break
            if not tied:
                evicts[i] = True


@jit
def replay_walk(
    first, last, indptr, slots, values, relevance, levels, alive, is_open, offset, n_required,
    use_max, older_takes_ties, resolution, pause, events, numbers,
):  # fmt: skip
    """Walk survivors first..last-1 in turn, given their redundant pairs, and mark who is kept.

    The first slots are kept features, oldest first; slot offset + i is survivor i. `alive` says
    who is kept now. Entries indptr[i]:indptr[i + 1] are the redundant pairs of survivor i,
    by slot; one whose slot is -1 was never kept. Survivors that are not open have no other pairs
    that are known: the walk ends before one that none of its own drops.

    An event is (survivor, slot decided about, slot that decided or -1, reason) with a value and a
    level; reasons are 0 kept, 1 redundant, 2 tied, 3 evicted. With `pause`, the walk ends after a
    survivor that was kept or evicted another. Return where it ended, and the number of events.
    """
    n = 0
    for i in range(first, last):
        mine = relevance[offset + i]
        end = indptr[i + 1]
        dropped = False
        for e in range(indptr[i], indptr[i + 1]):
            slot = slots[e]
            if slot < 0 or not alive[slot]:
                continue
            other = relevance[slot]
            tied = abs(other - mine) <= resolution
            if (tied and older_takes_ties) or (not tied and other > mine):
                end = e
                dropped = True
                break
        if not dropped and not is_open[i]:
            return i, n
        changed = not dropped
        for e in range(indptr[i], end):
            slot = slots[e]
            if slot < n_required or not alive[slot]:
                continue
            other = relevance[slot]
            if abs(other - mine) <= resolution or other > mine:
                continue
            alive[slot] = False
            changed = True
            events[n, 0], events[n, 1], events[n, 2], events[n, 3] = i, slot, offset + i, 3
            numbers[n, 0] = values[e]
            numbers[n, 1] = max(mine, other) if use_max else min(mine, other)
            n += 1
        events[n, 0], events[n, 1] = i, offset + i
        if dropped:
            other = relevance[slots[end]]
            events[n, 2] = slots[end]
            events[n, 3] = 2 if abs(other - mine) <= resolution else 1
            numbers[n, 0] = values[end]
            numbers[n, 1] = max(mine, other) if use_max else min(mine, other)
        else:
            alive[offset + i] = True
            events[n, 2], events[n, 3] = -1, 0
            numbers[n, 0], numbers[n, 1] = np.nan, levels[i]
        n += 1
        if pause and changed:
            return i + 1, n
    return last, n


# --- the whole walk of many newcomers, which may evict and be kept -------------------------------
#
# Both walks take these tuples:
#
# about     features, relevance, levels: arrival numbers, strengths and cutoffs of the newcomers
# kept      alive, features, relevance of each slot, with room for more
# counts    how much is in use; see below
# groups    since, between: the first arrival number of each newcomer's group, empty without groups;
#           newcomers meet their own group, whose slots begin anew with each, or only earlier ones
# rule      use_max, older_takes_ties, resolution, required: whether the larger relevance is the
#           bound, whether the older of two equally relevant features stays, which difference is a
#           tie, and how many of the oldest slots must stay
# events    settled_by, features, codes, numbers, causes: what happened, in order; numbers are
#           relevance, value and level, and a cause is -1 if only numbers decided

#: What a walk decided about a feature.
KEPT, REDUNDANT, TIED, EVICTED = range(4)

#: Positions in the counts of a walk: slots, lanes (or sets) and nodes in use, events, and pairs
#: looked at.
SLOTS, LANES_USED, NODES, EVENTS, PAIRS = range(5)


@inline
def _note(events, counts, settled, feature, what, relevance, value, level, because):
    """Write one event."""
    settled_by, features, codes, numbers, causes = events
    at = counts[EVENTS]
    settled_by[at], features[at], codes[at], causes[at] = settled, feature, what, because
    numbers[at, 0], numbers[at, 1], numbers[at, 2] = relevance, value, level
    counts[EVENTS] = at + 1


@inline
def _meet(i, s, value, about, kept, counts, rule, events):
    """Compare newcomer i with slot s, evict s if the rule says so; return whether i is dropped."""
    features, relevance, _ = about
    alive, slot_features, slot_relevance = kept
    use_max, older_takes_ties, resolution, required = rule
    counts[PAIRS] += 1
    mine, other = relevance[i], slot_relevance[s]
    bound = max(mine, other) if use_max else min(mine, other)
    if value < bound - resolution:
        return False
    tied = abs(mine - other) <= resolution
    if (tied and older_takes_ties) or (not tied and other > mine):
        what = np.int64(TIED if tied else REDUNDANT)
        _note(events, counts, features[i], features[i], what, mine, value, bound, slot_features[s])
        return True
    if not tied and s >= required:
        alive[s] = False
        what = np.int64(EVICTED)
        _note(events, counts, features[i], slot_features[s], what, other, value, bound, features[i])
    return False


@inline
def _keep(i, about, kept, counts, events):
    """Give newcomer i the next slot, and return that."""
    features, relevance, levels = about
    alive, slot_features, slot_relevance = kept
    # All calls of `_note` have the same types, so that it is compiled once.
    s, what, nothing = counts[SLOTS], np.int64(KEPT), np.int64(-1)
    _note(events, counts, features[i], features[i], what, relevance[i], np.nan, levels[i], nothing)
    alive[s], slot_features[s], slot_relevance[s] = True, features[i], relevance[i]
    counts[SLOTS] = s + 1
    return s


@inline
def _is_full(kept, counts, events, more_nodes, nodes):
    """Return whether a newcomer with so many nodes would find no room."""
    full = counts[SLOTS] == len(kept[0]) or counts[NODES] + more_nodes > len(nodes)
    return full or counts[EVENTS] + counts[SLOTS] + 1 > len(events[0])


@inline
def _begin_group(i, groups, heads, counts):
    """Empty the slots and lists if newcomer i is the first of a group that meets only itself."""
    since, between = groups
    if between or len(since) == 0 or (i > 0 and since[i] == since[i - 1]):
        return
    if counts[NODES] > 0:
        for row in range(len(heads)):
            heads[row] = -1
    counts[SLOTS], counts[LANES_USED], counts[NODES] = 0, 0, 0


@inline
def _end_of_slots(i, groups, slot_features, counts):
    """Return the first slot that newcomer i does not meet: slots are in order of arrival."""
    since, between = groups
    end = counts[SLOTS]
    while between and end > 0 and slot_features[end - 1] >= since[i]:
        end -= 1
    return end


@jit
def walk_correlations(
    new, about, first, last, lists, slots, kept, counts, n, groups, rule, events,
):  # fmt: skip
    """Take prepared columns first..last-1 one by one as SAOLA does; return the first not taken.

    That is `last`, or the one for which there is no room: slots, lanes, nodes or events.

    Parameters
    ----------
    new : (indptr, rows, values, means, squares)
        The prepared columns.
    lists : (heads, nodes, numbers, tiles)
        The kept columns: see `correlation`.
    slots : (means, squares, lanes)
        What is known about each of them, with room for more.
    about, kept, counts, groups, rule, events
        See above.
    """
    indptr, rows, values, means, squares = new
    heads, nodes, numbers, tiles = lists
    slot_means, slot_squares, lanes = slots
    alive = kept[0]
    in_lists, in_tiles = np.empty(len(alive)), np.empty(len(tiles) // max(1, n))
    own_cells = np.empty(n, np.int32)
    fresh = np.empty(len(in_tiles) // LANES + 1, np.int64)  # the newcomer whose products a tile has
    fresh[:] = -1
    for i in range(first, last):
        _begin_group(i, groups, heads, counts)
        a, b, listed, dropped = indptr[i], indptr[i + 1], False, False
        whole = b - a == n and n > 0
        if _is_full(kept, counts, events, 0 if whole else b - a, nodes):
            return i
        if whole and counts[LANES_USED] == len(in_tiles):
            return i
        for s in range(_end_of_slots(i, groups, kept[1], counts)):
            if not alive[s] or dropped:
                continue
            lane = lanes[s]
            if lane >= 0 and fresh[lane // LANES] != i:
                tile_products(rows, values, a, b, tiles, n, lane // LANES, in_tiles)
                fresh[lane // LANES] = i
            elif lane < 0 and not listed:
                in_lists[:] = 0.0
                list_products(rows, values, a, b, heads, nodes, numbers, in_lists)
                listed = True
            product = in_tiles[lane] if lane >= 0 else in_lists[s]
            value = as_correlation(product, n, means[i], squares[i], slot_means[s], slot_squares[s])
            dropped = _meet(i, s, abs(value), about, kept, counts, rule, events)
        if dropped:
            continue
        s = _keep(i, about, kept, counts, events)
        slot_means[s], slot_squares[s], lanes[s] = means[i], squares[i], -1
        if whole:
            lane = lanes[s] = counts[LANES_USED]
            counts[LANES_USED] = lane + 1
            fresh[lane // LANES] = -1
            put_in_lane(rows, values, a, b, tiles, n, lane)
            continue
        for t in range(b - a):
            own_cells[t] = s
        counts[NODES] = append_column(
            heads, nodes, numbers, counts[NODES], rows[a:b], own_cells[: b - a], values[a:b]
        )
    return last


#: Levels are bit sets if a column has at most this many, besides its background, and leaves that in
#: one of `FILLED` rows: counting is then a few instructions per 64 rows.
FEW_SETS = 8
FILLED = 16


@jit
def walk_information(
    new, about, first, last, lists, slots, kept, cells, counts, n, groups, rule, measure, events,
):  # fmt: skip
    """Compute `walk_correlations` for coded columns and their information.

    Parameters
    ----------
    new : (indptr, rows, codes, level_pointers, level_counts, entropies)
        The coded columns.
    lists : (heads, nodes, words)
        The kept columns as lists by row, and some of their levels as sets of rows.
    slots : (slot_cells, entropies, n_levels)
        What is known about each of them, with room for more.
    cells : (cell_counts, sets)
        The rows of each level that is not a background, and the number of its set, or -1.
    measure : (table, units, symmetric)
        See `information.relevance`.
    about, kept, counts, groups, rule, events
        See above.
    """
    indptr, rows, codes, level_pointers, level_counts, entropies = new
    heads, nodes, words = lists
    slot_cells, slot_entropy, slot_levels = slots
    alive, (cell_counts, sets) = kept[0], cells
    table, units, symmetric = measure
    n_words = (n + 63) // 64
    own_sets = np.empty(FEW_SETS * n_words, np.uint64)
    both, in_lists, left = np.empty(16, np.int32), np.empty(0, np.int32), np.empty(16, np.int64)
    no_numbers, no_values = np.empty((0, NODE_ROOM)), np.empty(0)
    own_cells = np.empty(n, np.int32)
    for i in range(first, last):
        _begin_group(i, groups, heads, counts)
        a, b, listed, dropped = indptr[i], indptr[i + 1], False, False
        levels_from = level_pointers[i] + 1
        width = level_pointers[i + 1] - levels_from
        n_cells = slot_cells[counts[SLOTS]]
        n_sets = width if width <= FEW_SETS and (b - a) * FILLED >= n else 0
        if _is_full(kept, counts, events, b - a, nodes) or n_cells + width > len(cell_counts):
            return i
        if (counts[LANES_USED] + n_sets) * n_words > len(words):
            return i
        _as_sets(rows, codes, a, b, n_words, n_sets, own_sets)
        left = _longer(left, width)
        for s in range(_end_of_slots(i, groups, kept[1], counts)):
            if not alive[s] or dropped:
                continue
            one, other = slot_cells[s], slot_cells[s + 1]
            both = _longer(both, (other - one) * width)
            if n_sets > 0 and one < other and sets[one] >= 0:
                _count_in_sets(own_sets, words, sets, one, other, width, n_words, both)
            else:
                if not listed:
                    in_lists = _longer(in_lists, n_cells * width)
                    _count_in_lists(rows, codes, a, b, heads, nodes, width, n_cells, in_lists)
                    listed = True
                _copy(in_lists, one * width, (other - one) * width, both)
            rest = slot_entropy[s] + entropies[i] - table[n]
            value = _information(
                both, width, level_counts, levels_from, one, other, cell_counts, rest, n, table,
                left,
            )  # fmt: skip
            strength = _in_units(value, slot_entropy[s] + entropies[i], units, symmetric)
            dropped = _meet(i, s, strength, about, kept, counts, rule, events)
        if dropped:
            continue
        s = _keep(i, about, kept, counts, events)
        slot_entropy[s], slot_cells[s + 1] = entropies[i], n_cells + width
        next_set = counts[LANES_USED] if n_sets > 0 else -1
        slot_levels[s] = _keep_levels(level_counts, levels_from, width, n_cells, next_set, cells)
        for word in range(n_sets * n_words):
            words[next_set * n_words + word] = own_sets[word]
        counts[LANES_USED] += n_sets
        for t in range(a, b):
            own_cells[t - a] = n_cells + codes[t] - 1
        counts[NODES] = append_column(
            heads, nodes, no_numbers, counts[NODES], rows[a:b], own_cells[: b - a], no_values
        )
    return last


@inline
def _keep_levels(level_counts, levels_from, width, first, next_set, cells):
    """Write the counts of the levels to cells first, first + 1, ...; return how many occur."""
    cell_counts, sets = cells
    n_levels = np.int64(level_counts[levels_from - 1] > 0)
    for level in range(width):
        cell_counts[first + level] = level_counts[levels_from + level]
        sets[first + level] = next_set + level if next_set >= 0 else -1
        n_levels += level_counts[levels_from + level] > 0
    return n_levels


@inline
def _copy(array, first, count, out):
    """Copy `count` numbers from `first` on."""
    for t in range(count):
        out[t] = array[first + t]


@jit
def _longer(array, length):
    """Return the array, or one that is long enough: scratch."""
    return array if len(array) >= length else np.empty(2 * length, array.dtype)


@inline
def _in_units(value, entropies, units, symmetric):
    """Return the strength: in bits, or as a share of both entropies."""
    if not symmetric:
        return value / units
    return 2.0 * value / entropies if entropies > 0 else 0.0


@inline
def _count_in_sets(own_sets, words, sets, first, last, width, n_words, out):
    """Count the rows that each of cells first..last-1 shares with each level of the newcomer."""
    for cell in range(first, last):
        for level in range(width):
            found, mine, other = 0, level * n_words, sets[cell] * n_words
            for word in range(n_words):
                found += count_bits(own_sets[mine + word] & words[other + word])
            out[(cell - first) * width + level] = found


@inline
def _as_sets(rows, codes, first, last, n_words, n_sets, sets):
    """Write the rows of each level as bits, if there is a set for each level."""
    for word in range(n_sets * n_words):
        sets[word] = 0
    for t in range(first, last if n_sets > 0 else first):
        at = (codes[t] - 1) * n_words + rows[t] // 64
        sets[at] |= np.uint64(1) << np.uint64(rows[t] % 64)


@inline
def _count_in_lists(rows, codes, first, last, heads, nodes, width, n_cells, out):
    """Count, for every cell of the kept columns, the rows that it shares with each level."""
    for cell in range(n_cells * width):
        out[cell] = 0
    for t in range(first, last):
        node = heads[rows[t]]
        code = codes[t] - 1
        while node >= 0:
            for e in range(nodes[node, NODE_COUNT]):
                out[nodes[node, NODE_CELLS + e] * width + code] += 1
            node = nodes[node, NODE_NEXT]


@inline
def _information(
    both, width, level_counts, levels_from, first, last, cell_counts, rest, n, table, left
):  # fmt: skip
    """Return the information, n times in units, of a newcomer and a kept column.

    The latter has cells first..last-1. `rest` is the sum of both entropies, less g(n); `both` holds
    the counts outside both backgrounds.
    """
    both_background, joint = n, 0
    for level in range(width):
        left[level] = level_counts[levels_from + level]
    for cell in range(first, last):
        other_left = cell_counts[cell]
        both_background -= other_left
        for level in range(width):
            count = both[(cell - first) * width + level]
            joint += table[count]
            other_left -= count
            left[level] -= count
        joint += table[other_left]
    for level in range(width):
        joint += table[left[level]]
        both_background -= left[level]
    value = joint + table[both_background] + rest
    return value if value > ROUNDING * (width + 2) * (last - first + 2) else 0
