"""Rising feature numbers of rows as gaps: small whole numbers in units of 1, 2, 4 or 8 bytes.

A gap is what lies between a feature and the one before it in its row, 0 for neighbours; the first
of a row counts from `start`, the number before the lowest one that may occur. A gap that does not
fit a unit is written as a unit of all ones (`escape`) and the gap's eight bytes, lowest first, in
the units that follow.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit

#: What `measure_gaps` says of rows.
RISING, NOT_RISING = range(2)


@jit
def measure_gaps(pointers, places, start, limits, beyond):
    """Count the gaps that reach each limit: (fault, row, highest feature)."""
    highest = start
    for r in range(len(pointers) - 1):
        before = start
        for t in range(pointers[r], pointers[r + 1]):
            place = np.int64(places[t])
            if place <= before:
                return NOT_RISING, r, place
            gap = np.uint64(place - before - 1)
            for k in range(len(limits)):
                beyond[k] += gap >= limits[k]
            before = place
        highest = max(highest, before)
    return RISING, 0, highest


@jit
def encode_gaps(pointers, places, start, escape, units):
    """Write the gaps of rows; gives how many units they took."""
    u, bits = 0, units.itemsize * 8
    for r in range(len(pointers) - 1):
        before = start
        for t in range(pointers[r], pointers[r + 1]):
            place = np.int64(places[t])
            gap = np.uint64(place - before - 1)
            before = place
            if gap < np.uint64(escape):
                units[u] = gap
                u += 1
                continue
            units[u] = escape
            for k in range(64 // bits):
                units[u + 1 + k] = (gap >> np.uint64(k * bits)) & np.uint64(escape)
            u += 1 + 64 // bits
    return u


@jit
def decode_plain(pointers, units, start, places):
    """Features from gaps without an escape, one unit each: (lowest, highest) last of a row."""
    lowest, highest = np.int64(0), start
    for r in range(len(pointers) - 1):
        before = start
        for t in range(pointers[r], pointers[r + 1]):
            before += np.int64(units[t]) + 1
            places[t] = before
        if pointers[r + 1] > pointers[r]:
            highest, lowest = max(highest, before), min(lowest, before)
    return lowest, highest


@jit
def decode_escaped(pointers, units, start, escape, places):
    """Features from gaps with escapes: (units used or -1 when they run out, lowest, highest)."""
    u, lowest, highest = 0, np.int64(0), start
    bits = units.itemsize * 8
    for r in range(len(pointers) - 1):
        before = start
        for t in range(pointers[r], pointers[r + 1]):
            if u >= len(units):
                return -1, lowest, highest
            gap = np.uint64(units[u])
            u += 1
            if gap == np.uint64(escape):
                if u + 64 // bits > len(units):
                    return -1, lowest, highest
                gap = np.uint64(0)
                for k in range(64 // bits):
                    gap |= np.uint64(units[u + k]) << np.uint64(k * bits)
                u += 64 // bits
            before += np.int64(gap) + 1
            places[t] = before
        if pointers[r + 1] > pointers[r]:
            highest, lowest = max(highest, before), min(lowest, before)
    return u, lowest, highest
