"""Check compressed vectors before other kernels, which do not check indices, read them."""

from __future__ import annotations

from tamis.kernels._jit import jit

#: With fewer indices than a `FEW`th of the vectors, begins are searched in chunks of this many.
FEW, CHUNK = 16, 64


@jit
def never_fall(offsets, n):
    """Return whether offsets begin at 0, never fall, and end at n."""
    good = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == n
    for t in range(1, len(offsets)):
        good &= offsets[t] >= offsets[t - 1]
    return good


@jit
def first_broken(indptr, indices, n):
    """Return the first vector whose indices do not rise from 0 to n - 1, or -1.

    Positions must begin at 0 and never fall; the last one must be the number of indices.
    """
    return -1 if _all_rise(indptr, indices, n) else _find_broken(indptr, indices, n)


@jit
def _all_rise(indptr, indices, n):
    """Return whether `first_broken` finds nothing.

    From one index to the next they may fall only where a vector begins, so such places are
    counted, first in all indices and then where vectors begin. If there are few, each is looked at.
    """
    stored = len(indices)
    if not never_fall(indptr, stored):
        return False
    good, falls = True, 0
    for t in range(stored):
        good &= (indices[t] >= 0) & (indices[t] < n)
    if not good:
        return False
    if stored < len(indptr) // FEW:
        return _few_rise(indptr, indices)
    for t in range(1, stored):
        falls += indices[t] <= indices[t - 1]
    last = indptr[0]
    for j in range(1, len(indptr)):
        first = indptr[j]
        if first != last and 0 < first < stored:  # after an empty one it was counted
            falls -= indices[first] <= indices[first - 1]
        last = first
    return falls == 0


@jit
def _few_rise(indptr, indices):
    """Return whether indices fall only where a vector begins, if nearly all vectors are empty.

    Where they fall, that position is searched among those of vectors, which never fall.
    """
    last, at = len(indptr) - 1, 0
    for t in range(1, len(indices)):
        if indices[t] <= indices[t - 1]:
            while at + CHUNK <= last and indptr[at + CHUNK] <= t:
                at += CHUNK
            found, step = at, CHUNK // 2  # without branches, which would be mispredicted
            while step > 0:
                ahead = min(found + step, last)
                found = ahead if indptr[ahead] <= t else found
                step //= 2
            if indptr[found] != t:
                return False
    return True


@jit
def _find_broken(indptr, indices, n):
    """Return what `first_broken` does, one vector after the other."""
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
