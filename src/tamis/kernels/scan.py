"""Scan the numbers of a block: whether they are finite, whether they are whole."""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit

#: Numbers that are tested together, before the faulty one is located.
STRETCH = 1024


@jit
def scan(values):
    """Return the index of the first number that is not finite and of the first not whole, or -1."""
    not_whole = -1
    for lo in range(0, len(values), STRETCH):
        hi = min(lo + STRETCH, len(values))
        # Without an exit from the loop the processor tests several numbers at once.
        odd = False
        if not_whole < 0:
            for t in range(lo, hi):
                odd |= values[t] != np.floor(values[t])
        for t in range(lo, hi):
            odd |= values[t] - values[t] != 0.0  # NaN and infinity, nothing else
        if not odd:
            continue
        for t in range(lo, hi):
            if values[t] - values[t] != 0.0:
                return t, not_whole
            if not_whole < 0 and values[t] != np.floor(values[t]):
                not_whole = t
    return -1, not_whole


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
