"""Scan the numbers of a block: whether they are finite, whether they are whole."""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.lanes import LANES, filled, load, spread, store

#: Numbers that are tested together, before the faulty one is located.
STRETCH = 1024

#: Adding and subtracting this rounds to a whole number, in one of the two directions at least.
TO_WHOLE = 1.5 * 2.0**52

#: The largest finite number.
LARGEST = float(np.finfo(np.float64).max)


@jit
def scan(values, most):
    """Return three indices: the first number not finite, not whole, and beyond `most`; -1 if none.

    The scan ends at the first number that is not finite.
    """
    not_whole, beyond = -1, -1
    found = np.empty(2 * LANES)
    larger, rounding = spread(2.0 * (LARGEST / most)), spread(TO_WHOLE)
    for lo in range(0, len(values), STRETCH):
        hi = min(lo + STRETCH, len(values))
        beyond_most, fractions = spread(0.0), spread(0.0)
        last = hi - hi % LANES
        for t in range(lo, last, LANES):
            scaled = load(values, t) * larger  # infinite if beyond, or nearly so
            beyond_most = beyond_most + (scaled - scaled)  # 0 or NaN
        if not_whole < 0:
            for t in range(lo, last, LANES):
                number = load(values, t)
                up = number + rounding - rounding - number
                down = rounding - number - rounding + number
                fractions = fractions + filled(up - down)
        store(found, 0, beyond_most)
        store(found, LANES, fractions)
        suspect = hi % LANES > 0
        for i in range(LANES):
            suspect |= found[i] != 0.0 or found[LANES + i] > 0.0
        if not suspect:
            continue
        for t in range(lo, hi):
            if values[t] - values[t] != 0.0:  # NaN and infinity, nothing else
                return t, not_whole, beyond
            if not_whole < 0 and values[t] != np.floor(values[t]):
                not_whole = t
            if beyond < 0 and abs(values[t]) > most:
                beyond = t
    return -1, not_whole, beyond


@jit
def sift(strength, cutoff, logged, relevance, constant, survivors):
    """Classify the columns of a block after the bulk pass.

    Writes the strengths as float32, marks constant columns (cutoff NaN) with 1, and lists the
    columns above their cutoff. Returns their number, and the level in `logged` that all columns
    share, NaN if they differ.
    """
    found = 0
    shared = np.nan
    differ = False
    for j in range(len(relevance)):
        relevance[j] = strength[j]
        constant[j] = cutoff[j] != cutoff[j]
        if constant[j]:
            continue
        if strength[j] > cutoff[j]:
            survivors[found] = j
            found += 1
        if shared != shared:
            shared = logged[j]
        differ |= logged[j] != shared
    return found, (np.nan if differ else shared)
