"""The kept features as a heap whose root is dropped first; keys are updated lazily.

A slot, 1 to B, holds one kept feature. `key[slot]` is what it is ranked by now, `bound[slot]` a
number that is never above the key, and the heap is in order by (bound, younger first). A key that
grows leaves its bound alone, so most changes of a kept feature cost nothing here; if a key falls
below its bound, the bound is lowered too (`fell`). Before the root is dropped its bound is updated,
repeatedly until it is current: then no other key is lower. Each update pays for at least one
change, so the work of a row of m features is O(m log B).

Among equal keys the younger is dropped first. `serial[slot]` counts entries.
"""

from __future__ import annotations

from tamis.kernels._jit import inline

#: Positions in `counts`, the counters of a model.
SIZE, SERIAL, ROWS, UPDATES, MISTAKES, NONZEROS, STEPS = range(7)
N_COUNTS = 7


@inline
def _goes_first(bound, serial, a, b):
    """Return True if slot a is dropped before slot b, according to the bounds."""
    return bound[a] < bound[b] or (bound[a] == bound[b] and serial[a] > serial[b])


@inline
def sink(order, where, bound, serial, size, at):
    """Move the slot at position `at` down to where it belongs; return the levels it moved."""
    slot, levels = order[at], 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _goes_first(bound, serial, order[child + 1], order[child]):
            child += 1
        if not _goes_first(bound, serial, order[child], slot):
            break
        order[at] = order[child]
        where[order[at]] = at
        at = child
        levels += 1
    order[at] = slot
    where[slot] = at
    return levels


@inline
def rise(order, where, bound, serial, at):
    """Move the slot at position `at` up to where it belongs; return the levels it moved."""
    slot, levels = order[at], 0
    while at > 0:
        parent = (at - 1) // 2
        if not _goes_first(bound, serial, slot, order[parent]):
            break
        order[at] = order[parent]
        where[order[at]] = at
        at = parent
        levels += 1
    order[at] = slot
    where[slot] = at
    return levels


@inline
def fell(order, where, bound, key, serial, counts, slot):
    """Lower the bound of a slot if its key has fallen below it."""
    if key[slot] < bound[slot]:
        bound[slot] = key[slot]
        counts[STEPS] += 1 + rise(order, where, bound, serial, where[slot])


@inline
def weakest(order, where, bound, key, serial, counts, value):
    """Return the slot that is dropped first, its bound current unless that is at least `value`."""
    slot = order[0]
    while bound[slot] < value and bound[slot] < key[slot]:
        bound[slot] = key[slot]
        counts[STEPS] += 1 + sink(order, where, bound, serial, counts[SIZE], 0)
        slot = order[0]
    return slot


@inline
def admit(order, where, bound, key, serial, counts, value):
    """Return the slot for a newcomer with key `value`, or 0 if it is not above the weakest.

    While slots are free it is a new one; then it is that of the weakest, which is dropped. The
    caller writes the key, and moves the features and their weights.
    """
    size = counts[SIZE]
    if size < len(order):
        counts[SIZE] += 1
        slot = size + 1
        order[size] = slot
    else:
        slot = weakest(order, where, bound, key, serial, counts, value)
        if value <= bound[slot]:
            return 0
    bound[slot] = value
    serial[slot] = counts[SERIAL]
    counts[SERIAL] += 1
    if size < len(order):
        counts[STEPS] += 1 + rise(order, where, bound, serial, size)
    else:
        counts[STEPS] += 1 + sink(order, where, bound, serial, size, 0)
    return slot


@inline
def remove(order, where, bound, key, serial, feature, counts):
    """Take the root out of the heap; return its slot, and the last slot, which moves there.

    So the slots in use stay 1 to the number of kept features. The caller moves the weights.
    """
    slot, last = order[0], counts[SIZE]
    counts[SIZE] -= 1
    order[0] = order[counts[SIZE]]
    where[order[0]] = 0
    counts[STEPS] += 1 + sink(order, where, bound, serial, counts[SIZE], 0)
    if slot != last:
        bound[slot], key[slot], serial[slot] = bound[last], key[last], serial[last]
        feature[slot], where[slot] = feature[last], where[last]
        order[where[slot]] = slot
    feature[last] = -1
    return slot, last
