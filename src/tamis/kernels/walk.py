"""SAOLA's walk over the kept features, for many newcomers at once."""

from __future__ import annotations

from tamis.kernels._jit import jit


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
