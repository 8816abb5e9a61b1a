"""P-values as levels: a level that a strength is above exactly when p is below alpha.

The log stores a strength and the level it was compared with. A measure that gates by a p-value,
whose strength is on another scale, uses strength * p / alpha as the level, so the p-value can be
read off later. The last bit of the level, as a float32, says which of two tests gave the p-value.

A log of a selection with a false discovery rate stores p-values themselves (`packed_p`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: A strength below this counts as this.
LEAST = 1e-6


def level_of(
    strength: Floats, p: Floats, alpha: float, second: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return the strengths, at least `LEAST` where p < alpha, and their levels.

    >>> strength, level = level_of(
    ...     np.array([0.5, 0.5]), np.array([0.001, 0.02]), 0.01, np.array([True, False])
    ... )
    >>> strength > level
    array([ True, False])
    >>> [round(float(p_of(s, l, 0.01)), 6) for s, l in zip(strength, level, strict=True)]
    [0.001, 0.02]
    >>> [is_second(l) for l in level]
    [True, False]
    """
    passes = p < alpha
    strength = np.where(passes, np.maximum(strength, LEAST), strength)
    exact = np.maximum(strength, LEAST) * (p / alpha)
    near = strength.astype(np.float32)
    below = np.where(near < strength, near, np.nextafter(near, np.float32(-1.0)))
    above = np.where(near >= strength, near, np.nextafter(near, np.float32(2.0)))
    level = exact.astype(np.float32)
    level = np.where(passes, np.minimum(level, below), np.maximum(level, above))
    bits = np.ascontiguousarray(level).view(np.int32)
    wrong = (bits & 1) != second
    up = wrong & (~passes | (bits == 0))  # away from the strength; there is nothing below 0
    bits = bits + up - (wrong & ~up)
    return strength, bits.view(np.float32).astype(np.float64)


def p_of(strength: float, level: float, alpha: float) -> float:
    """Return the p-value that a level stands for."""
    return alpha * level / max(strength, LEAST)


def is_second(level: Any) -> bool:
    """Return whether the second test gave the p-value that a level stands for."""
    return bool(np.float32(level).view(np.int32) & 1)


#: The last bits of a packed p-value say which test gave it: there may be as many as this.
MOST_TESTS = 16


def packed_p(p: Floats, test: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Return p-values as float32, never below p, whose last bits are the number of the test.

    >>> packed = packed_p(np.array([0.25, 1e-9]), np.array([3, 0], np.uint8))
    >>> [f"{x:.3g}" for x in packed], [test_of(x) for x in packed]
    (['0.25', '1e-09'], [3, 0])
    """
    bits = np.asarray(p, np.float64).astype(np.float32).view(np.int32).astype(np.int64)
    # Up to the next number with these last bits; rounding to float32 may have gone down by half a
    # step, so equality is not enough.
    bits = bits + 1 + (test.astype(np.int64) - bits - 1) % MOST_TESTS
    return bits.astype(np.int32).view(np.float32)


def test_of(packed: Any) -> int:
    """Return the number of the test that gave a packed p-value."""
    return int(np.float32(packed).view(np.int32)) % MOST_TESTS


def shown_p(packed: float, level: float) -> str:
    """Return a p-value for a sentence.

    P-values above the false discovery rate `level` are only known to be so.

    >>> shown_p(0.012, 0.1), shown_p(0.12, 0.1)
    ('p=0.012', 'p>0.1')
    """
    return f"p={packed:.3g}" if packed <= level else f"p>{level:g}"
