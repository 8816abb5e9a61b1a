"""Vectors of different lengths, end to end: putting them in another order."""

from __future__ import annotations

from tamis.kernels._jit import jit


@jit
def put_in_places(pointers, entries, places, out_pointers, out):
    """Copy vector i to place ``places[i]`` among those in `out`; -1 leaves it out."""
    for i in range(len(places)):
        if places[i] < 0:
            continue
        first, to = pointers[i], out_pointers[places[i]]
        for t in range(pointers[i + 1] - first):
            out[to + t] = entries[first + t]
