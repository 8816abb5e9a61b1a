"""Check compressed vectors before other kernels, which do not check indices, read them."""

from __future__ import annotations

from tamis.kernels._jit import jit


@jit
def first_broken(indptr, indices, n):
    """Return the first vector whose indices do not rise from 0 to n - 1, or -1.

    Positions must begin at 0 and never fall; the last one must be the number of indices.
    """
    stored = len(indices)
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != stored:
        return 0
    for j in range(len(indptr) - 1):
        lo, hi = indptr[j], indptr[j + 1]
        if lo > hi or hi > stored:
            return j
        if lo == hi:
            continue
        # They rise, so that the first and the last bound the others.
        bad = indices[lo] < 0 or indices[hi - 1] >= n
        for t in range(lo + 1, hi):
            bad |= indices[t] <= indices[t - 1]
        if bad:
            return j
    return -1


@jit
def never_fall(offsets, n):
    """Return whether offsets begin at 0, never fall, and end at n."""
    good = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == n
    for t in range(1, len(offsets)):
        good &= offsets[t] >= offsets[t - 1]
    return good
