"""One look over the numbers of a block: are they finite, are they whole."""

from __future__ import annotations

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
