"""P-values as levels: a level that a strength is above exactly when p is below alpha.

The log stores a strength and the level it was compared with. A measure that gates by a p-value,
whose strength is on another scale, uses strength * p / alpha as the level, so the p-value can be
read off later. The last bits of the level say which test gave the p-value: with two tests the last
bit of the level as a float32; with more, four bits, of a float64 where p <= alpha. Other columns
then share a level that no strength reaches: their p-values were not computed to the end.

A log of a selection with a false discovery rate stores p-values themselves (`packed_p`).
"""

from __future__ import annotations

import math
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


def significance(
    strength: Floats, p: Floats, alpha: float, test: npt.NDArray[np.uint8], most: float
) -> tuple[Floats, Floats, Floats]:
    """Return the strengths, at least `LEAST` where p <= alpha, their levels, and those of misses.

    No strength is above `most`.

    >>> strength, level, _ = significance(
    ...     np.array([0.5, 0.4]), np.array([1e-60, 0.02]), 0.01, np.array([3, 5], np.uint8), 1.0
    ... )
    >>> strength > level
    array([ True, False])
    >>> f"{p_of(0.5, level[0], 0.01):.3g}", [which_test(s, l, 9) for s, l in zip(strength, level)]
    ('1e-60', [3, 5])
    """
    passes = p <= alpha
    strength = np.where(passes, np.maximum(strength, LEAST), strength)
    level = strength * np.minimum(p / alpha, 1.0 - 1e-14)
    coded = (level.view(np.int64) & ~15) | test
    missed = (np.float32(2.0 * most).view(np.int32) & ~15) | test.astype(np.int32)
    levels = missed.view(np.float32).astype(np.float64)
    return strength, np.where(passes, coded.view(np.float64), levels), levels


def which_test(strength: float, level: float, n_tests: int) -> int:
    """Return the number of the test that gave the p-value that a level stands for."""
    if n_tests == 2:
        return is_second(level)
    if level < strength:
        return int(np.float64(level).view(np.int64) & 15)
    return int(np.float32(level).view(np.int32) & 15)


def p_of(strength: float, level: float, alpha: float) -> float:
    """Return the p-value that a level stands for."""
    return alpha * level / max(strength, LEAST)


def bound_of(strength: float, level: float, alpha: float, n_tests: int) -> str:
    """Return a bound of a p-value that its level is too small to hold, such as "<1e-40"; else "".

    >>> bound_of(0.5, 1e-44, 0.01, 2), bound_of(0.5, 1e-30, 0.01, 2), bound_of(0.5, 0.0, 0.01, 9)
    ('<1e-39', '', '<1e-309')
    """
    least = float(np.finfo(np.float32 if n_tests == 2 else np.float64).tiny)
    if level >= least:
        return ""
    return _below(math.log10(alpha) + math.log10(least) - math.log10(max(strength, LEAST)))


def _below(log10: float) -> str:
    return f"<1e{math.ceil(log10)}"


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

    >>> shown_p(0.012, 0.1), shown_p(0.12, 0.1), shown_p(1e-44, 0.1)
    ('p=0.012', 'p>0.1', 'p<1e-37')
    """
    if packed < (least := float(np.finfo(np.float32).tiny)):
        return f"p{_below(math.log10(least))}"
    return f"p={packed:.3g}" if packed <= level else f"p>{level:g}"
