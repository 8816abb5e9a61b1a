"""Subsets in lexicographic order of positions, inside kernels."""

from __future__ import annotations

from tamis.kernels._jit import jit

#: The result of a search for a set that was ended by its limit of tests.
SPENT = -2


@jit
def next_subset(chosen, size, total):
    """Advance ``chosen[:size]``, sorted positions below `total`, to the next subset of that size.

    Returns the first position that changed, so that what was built for the ones before it can be
    reused; -1 after the last subset, which is left unchanged.

    >>> import numpy as np
    >>> chosen = np.array([0, 1])
    >>> [(next_subset(chosen, 2, 3), chosen.tolist()) for _ in range(3)]
    [(1, [0, 2]), (0, [1, 2]), (-1, [1, 2])]
    """
    place = size - 1
    while place >= 0 and chosen[place] == total - size + place:
        place -= 1
    if place >= 0:
        chosen[place] += 1
        for after in range(place + 1, size):
            chosen[after] = chosen[after - 1] + 1
    return place
