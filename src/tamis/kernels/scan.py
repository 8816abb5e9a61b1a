"""One look over the numbers of a block: are they finite, are they whole."""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit


@jit
def scan(values):  # type: ignore[no-untyped-def]
    """Places of the first number that is not finite and the first that is not whole; -1 if none."""
    not_whole = -1
    for t in range(len(values)):
        value = values[t]
        if not value - value == 0.0:  # NaN and infinity fail, everything else passes
            return t, not_whole
        if not_whole < 0 and value != float(int(value)) and abs(value) < 9e15:
            not_whole = t
    return -1, not_whole


@jit
def sift(strength, level, relevance, survivors, constants):  # type: ignore[no-untyped-def]
    """Sort the columns of a block after the bulk pass, in one look.

    Writes the strengths as float32, and lists columns above their level and constant columns (level
    NaN). Returns how many of each, and the one level that all others share, NaN if they differ.
    """
    n_survivors = 0
    n_constants = 0
    shared = np.nan
    differ = False
    for j in range(len(strength)):
        relevance[j] = strength[j]
        if level[j] != level[j]:
            constants[n_constants] = j
            n_constants += 1
            continue
        if strength[j] > level[j]:
            survivors[n_survivors] = j
            n_survivors += 1
        if shared != shared:
            shared = level[j]
        differ |= level[j] != shared
    return n_survivors, n_constants, (np.nan if differ else shared)
