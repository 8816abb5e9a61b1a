"""One look over the numbers of a block: are they finite, are they whole."""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit

#: Numbers that are looked at together, before it is asked which of them is odd.
STRETCH = 1024


@jit
def scan(values):
    """Places of the first number that is not finite and the first that is not whole; -1 if none."""
    not_whole = -1
    for lo in range(0, len(values), STRETCH):
        hi = min(lo + STRETCH, len(values))
        # Without a way out of the loop the processor looks at several numbers at once.
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
def sift(strength, level, relevance, constant, survivors):
    """Sort the columns of a block after the bulk pass, in one look.

    Writes the strengths as float32, marks constant columns (level NaN) with 1, and lists the
    columns above their level. Returns how many those are, and the one level that all columns
    share, NaN if they differ.
    """
    found = 0
    shared = np.nan
    differ = False
    for j in range(len(relevance)):
        relevance[j] = strength[j]
        constant[j] = level[j] != level[j]
        if constant[j]:
            continue
        if strength[j] > level[j]:
            survivors[found] = j
            found += 1
        if shared != shared:
            shared = level[j]
        differ |= level[j] != shared
    return found, (np.nan if differ else shared)
