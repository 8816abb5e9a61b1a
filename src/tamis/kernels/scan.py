"""One look over the numbers of a block: are they finite, are they whole."""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit


@jit
def scan(values):
    """Places of the first number that is not finite and the first that is not whole; -1 if none."""
    not_whole = -1
    for t in range(len(values)):
        value = values[t]
        if value - value != 0.0:  # NaN and infinity fail, everything else passes
            return t, not_whole
        if not_whole < 0 and value != float(int(value)) and abs(value) < 9e15:
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
