"""Parse decimal numbers in bytes to float64, exact to the last bit.

A number token is read as a whole mantissa and a power of ten. With at most 18 digits the nearest
float64 follows from integer arithmetic alone (Clinger's exact cases, else Lemire's 128-bit product,
*Number Parsing at a Gigabyte per Second*, doi:10.1002/spe.2984). Longer tokens, and results near
the ends of the range, are only marked: the caller parses them with Python's ``float``. So every
value is the one that ``float(token)`` returns.

The text must end with a newline: it ends every inner loop, so no loop tests for the end of text.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels._jit import always_inline, inline
from tamis.kernels.lanes import count_bits

PLUS, MINUS, DOT, ZERO, UPPER_E, LOWER_E = 43, 45, 46, 48, 69, 101

#: What `read_number` returns about a token.
NOT_A_NUMBER, EXACT, FOR_PYTHON = range(3)

# Every power of ten that a float64 holds exactly.
_TENS = np.array([float(10**e) for e in range(23)])
#: The sign of a number, by whether there is a minus.
SIGNS = np.array([1.0, -1.0])
_EXACT_MANTISSA = 2**53
_SHORT = 15
# A longer mantissa might not fit an int64.
_MOST_DIGITS = 18
_LEAST_POWER, _LARGEST_POWER = -342, 308


def _powers_of_five() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return the upper and lower 64 bits of each power of five, scaled to fill 128 bits."""
    upper, lower = [], []
    for power in range(_LEAST_POWER, _LARGEST_POWER + 1):
        five = 5 ** abs(power)
        if power >= 0:
            bits = five << 128 >> five.bit_length()
        else:  # rounded up, as Lemire's proof requires
            width = (five - 1).bit_length()
            bits = (1 << (width + 127 if power >= -27 else 2 * width + 128)) // five + 1
            bits >>= max(0, bits.bit_length() - 128)
        upper.append(bits >> 64)
        lower.append(bits & 0xFFFFFFFFFFFFFFFF)
    return np.array(upper, dtype=np.uint64), np.array(lower, dtype=np.uint64)


_FIVES_UPPER, _FIVES_LOWER = _powers_of_five()
# 2.0**e for every e that takes a 53-bit mantissa to a normal float64.
_LEAST_TWO, _LARGEST_TWO = -1074, 971
_TWOS = np.ldexp(1.0, np.arange(_LEAST_TWO, _LARGEST_TWO + 1))

_HALF = np.uint64(0xFFFFFFFF)
_LOW_NINE = np.uint64(0x1FF)
_ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
_U0, _U1, _U2, _U3, _U4, _U5, _U6, _U7 = (np.uint64(n) for n in range(8))
_U8, _U9, _U10, _U16, _U24, _U32 = (np.uint64(n) for n in (8, 9, 10, 16, 24, 32))
_U40, _U48, _U56, _U63 = (np.uint64(n) for n in (40, 48, 56, 63))

# For eight bytes at a time: eight zeros, what takes bytes above 9 to their highest bit, that bit;
# and what joins eight digits: two at a time, then four, then all.
_ZEROS = np.uint64(0x3030303030303030)
_UP_TO_NINE = np.uint64(0x7676767676767676)
_HIGHEST = np.uint64(0x8080808080808080)
_PAIRS = np.uint64(0x000000FF000000FF)
_BY_PAIRS = np.uint64(100 + (1000000 << 32))
_BY_FOURS = np.uint64(1 + (10000 << 32))
_WHOLE_TENS = np.array([10**n for n in range(9)])


@inline
def _product(a, b):
    """Return the upper and lower 64 bits of a 64-bit times a 64-bit number."""
    a0, a1, b0, b1 = a & _HALF, a >> _U32, b & _HALF, b >> _U32
    low, left, right = a0 * b0, a1 * b0, a0 * b1
    middle = (low >> _U32) + (left & _HALF) + (right & _HALF)
    upper = a1 * b1 + (left >> _U32) + (right >> _U32) + (middle >> _U32)
    return upper, (middle << _U32) | (low & _HALF)


@inline
def nearest_float(mantissa, power):
    """Return the float64 nearest to mantissa times 10**power; False if Python must compute it.

    The mantissa is above 0 and below 2**63; ties go to the even neighbour.
    """
    if power < _LEAST_POWER or power > _LARGEST_POWER:
        return 0.0, False
    w = np.uint64(mantissa)
    shift = 0
    for step in (32, 16, 8, 4, 2, 1):
        if w >> np.uint64(64 - step) == _U0:
            w = w << np.uint64(step)
            shift += step
    upper, lower = _product(w, _FIVES_UPPER[power - _LEAST_POWER])
    if upper & _LOW_NINE == _LOW_NINE:  # 64 bits of the power of five may not be enough
        more, _ = _product(w, _FIVES_LOWER[power - _LEAST_POWER])
        if lower > _ALL_BITS - more:
            upper = upper + _U1
            lower = more - (_ALL_BITS - lower) - _U1
        else:
            lower = lower + more
    top = upper >> _U63
    bits = upper >> (top + _U9)
    # Exactly between two floats: step down to the even one before the rounding below.
    tie = lower <= _U1 and -4 <= power <= 23 and (bits & _U3) == _U1
    if tie and (bits << (top + _U9)) == upper:
        bits = bits - _U1
    bits = (bits + (bits & _U1)) >> _U1
    two = ((217706 * power) >> 16) + 63 + int(top) - shift - 52
    # Room for a mantissa that was rounded up to 2**53 at the upper end.
    if two < _LEAST_TWO or two >= _LARGEST_TWO:
        return 0.0, False
    return float(bits) * _TWOS[two - _LEAST_TWO], True


@inline
def byte(text, i):
    """Return a byte of the text; an unsigned index needs no test for a negative one."""
    return int(text[np.uint64(i)])


@inline
def read_digits(text, i, number):
    """Append the decimal digits at byte i to a number: (number, end)."""
    digit = byte(text, i) - ZERO
    while 0 <= digit <= 9:
        number = number * 10 + digit
        i += 1
        digit = byte(text, i) - ZERO
    return number, i


@inline
def eight(text, i):
    """Return eight bytes, of which the first is the lowest byte of the number."""
    k = np.uint64(i)
    return (
        np.uint64(text[k])
        | np.uint64(text[k + _U1]) << _U8
        | np.uint64(text[k + _U2]) << _U16
        | np.uint64(text[k + _U3]) << _U24
        | np.uint64(text[k + _U4]) << _U32
        | np.uint64(text[k + _U5]) << _U40
        | np.uint64(text[k + _U6]) << _U48
        | np.uint64(text[k + _U7]) << _U56
    )


@inline
def digits_of(word):
    """Return how many of eight bytes, from the first one on, are digits."""
    # The highest bit of each byte that is not one; a carry only reaches bytes after the first.
    off = word ^ _ZEROS
    other = ((off + _UP_TO_NINE) | off) & _HIGHEST
    return np.int64(count_bits((other - _U1) & ~other) >> _U3)


@inline
def number_of(word, n):
    """Return the number that the first n of eight bytes stand for, n from 1 to 8."""
    word = (word ^ _ZEROS) << np.uint64(64 - 8 * n)
    word = (word * _U10) + (word >> _U8)
    joined = ((word & _PAIRS) * _BY_PAIRS) + (((word >> _U16) & _PAIRS) * _BY_FOURS)
    return np.int64(joined >> _U32)


@inline
def read_exponent(text, i):
    """Read what follows an ``e``: (exponent, end); the end is -1 when there is no number."""
    negative = byte(text, i) == MINUS
    i += int(negative or byte(text, i) == PLUS)  # no branch: signs are unpredictable
    start = i
    exponent = 0
    digit = byte(text, i) - ZERO
    while 0 <= digit <= 9:
        if exponent < 100_000:  # far outside the range already; do not overflow
            exponent = exponent * 10 + digit
        i += 1
        digit = byte(text, i) - ZERO
    return (-exponent if negative else exponent), (i if i > start else -1)


@inline
def _leading_zeros(text, i):
    """Count the zeros before the first other digit of a number, on both sides of its point."""
    start = i
    while byte(text, i) == ZERO or byte(text, i) == DOT:
        i += 1
    zeros = i - start
    for k in range(start, i):
        if byte(text, k) == DOT:
            zeros -= 1
    return zeros


@always_inline
def read_short(text, i):
    """Read a number of at most 15 digits and no exponent: (value, end), with end 0 for others.

    Such a mantissa and its power of ten are exact, so one division gives the nearest float.
    """
    negative = int(byte(text, i) == MINUS)
    i += negative  # no branch: signs are unpredictable
    first = i
    mantissa, i = read_digits(text, i, 0)
    digits, start = i - first, i
    after = byte(text, i)
    if after == DOT:
        start = i = i + 1
        n = 8
        if i + 8 <= len(text):
            word = eight(text, i)
            n = digits_of(word)
            if n == 6:  # six decimals are usual: what follows need not wait for n
                mantissa = mantissa * 1_000_000 + number_of(word, 6)
                i += 6
            elif n > 0:
                mantissa = mantissa * _WHOLE_TENS[np.uint64(n)] + number_of(word, n)
                i += n
        if n == 8:  # more may follow
            mantissa, i = read_digits(text, i, mantissa)
        digits += i - start
        after = byte(text, i)
    if digits > _SHORT or digits == 0 or after in (LOWER_E, UPPER_E):
        return 0.0, 0
    return float(mantissa) / _TENS[np.uint64(i - start)] * SIGNS[np.uint64(negative)], i


@inline
def read_number(text, i):
    """Read a decimal number at byte i: (value, end, EXACT | FOR_PYTHON | NOT_A_NUMBER)."""
    negative = byte(text, i) == MINUS
    i += int(negative or byte(text, i) == PLUS)  # no branch: signs are unpredictable
    first, power = i, 0
    mantissa, i = read_digits(text, i, 0)
    digits = i - first
    if byte(text, i) == DOT:
        start = i + 1
        mantissa, i = read_digits(text, start, mantissa)
        power = start - i
        digits += i - start
    if digits == 0:
        return 0.0, i, NOT_A_NUMBER
    if byte(text, i) == LOWER_E or byte(text, i) == UPPER_E:
        exponent, i = read_exponent(text, i + 1)
        if i < 0:
            return 0.0, i, NOT_A_NUMBER
        power += exponent
    if digits > _MOST_DIGITS and digits - _leading_zeros(text, first) > _MOST_DIGITS:
        return 0.0, i, FOR_PYTHON
    value = float(mantissa)
    if mantissa <= _EXACT_MANTISSA and -22 <= power <= 22:
        value = value * _TENS[power] if power >= 0 else value / _TENS[-power]
    elif mantissa > 0:
        value, known = nearest_float(mantissa, power)
        if not known:
            return 0.0, i, FOR_PYTHON
    return (-value if negative else value), i, EXACT
