"""Eight numbers at once, compiled and plain."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.kernels._jit import jit
from tamis.kernels.lanes import (
    LANES,
    NARROWED,
    WORD,
    count_bits,
    equal_bits,
    filled,
    load,
    narrow,
    spread,
    store,
    transpose,
)

modes = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


@jit
def _combine(a, b, number, out):
    """Combine lanes in every way."""
    left, right = load(a, 1), load(b, 0)
    store(out, 0, left + right)
    store(out, LANES, left - right)
    store(out, 2 * LANES, left * right)
    store(out, 3 * LANES, left / right)
    store(out, 4 * LANES, filled(left))
    store(out, 5 * LANES, spread(number))


@jit
def _widen(stored, out):
    """Load eight numbers of any type."""
    store(out, 0, load(stored, 1))


@jit
def _transpose(flat, n, out):
    """Put eight columns of n rows side by side."""
    for row in range(0, n, LANES):
        transpose(flat, row, n, out, row * LANES, LANES)


@jit
def _bits(words):
    """Count the bits of some words."""
    total = 0
    for word in words:
        total += count_bits(word)
    return total


@modes
def test_lanes_are_combined_one_by_one(compiled):
    rng = np.random.default_rng(0)
    a, b, out = rng.normal(size=LANES + 2), rng.normal(size=LANES), np.empty(6 * LANES)
    a[3], a[4], a[5] = 0.0, -0.0, 1e-310
    (_combine if compiled else _combine.py_func)(a, b, 7, out)
    x = a[1 : 1 + LANES]
    wanted = [x + b, x - b, x * b, x / b, (x != 0).astype(float), np.full(LANES, 7.0)]
    assert out.tobytes() == np.concatenate(wanted).tobytes()


@modes
@pytest.mark.parametrize("kind", ["float64", "float32", "int8"])
def test_numbers_of_shorter_types_are_widened(compiled, kind):
    stored, out = np.array([-127, 0, 3, 1, 2, 127, -1, 5, 9], kind), np.empty(LANES)
    (_widen if compiled else _widen.py_func)(stored, out)
    assert np.array_equal(out, stored[1:])


@modes
@pytest.mark.parametrize("into", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_a_transposed_tile_may_be_of_another_type(compiled, kind, into):
    if kind == "int8":
        into = into.replace("float32", "int8")
    n = 2 * LANES
    flat, out = np.arange(n * LANES).astype(kind), np.empty(n * LANES, into)
    (_transpose if compiled else _transpose.py_func)(flat, n, out)
    assert np.array_equal(out.reshape(n, LANES), flat.reshape(LANES, n).T)


@modes
def test_a_transposed_tile_has_one_row_after_the_other(compiled):
    n = 3 * LANES
    flat, out = np.arange(float(n * LANES)), np.empty(n * LANES)
    (_transpose if compiled else _transpose.py_func)(flat, n, out)
    assert np.array_equal(out.reshape(n, LANES), flat.reshape(LANES, n).T)


@modes
def test_bits_are_counted(compiled):
    words = np.array([0, 1, 2**63, 2**64 - 1, 12345], dtype=np.uint64)
    wanted = sum(int(word).bit_count() for word in words)
    assert (_bits if compiled else _bits.py_func)(words) == wanted


@jit
def _narrow(values, at, codes, to):
    """Write numbers as bytes."""
    return narrow(values, at, codes, to)


@jit
def _equal_bits(codes, at, code):
    """Mark equal bytes."""
    return equal_bits(codes, at, code)


@modes
@pytest.mark.parametrize(
    ("odd", "fits"),
    [(-127.0, True), (127.0, True), (-0.0, True), (128.0, False), (-128.0, False), (0.5, False),
     (1e300, False), (np.inf, False), (np.nan, False), (-126.5, False)],
)  # fmt: skip
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_small_whole_numbers_become_bytes(compiled, odd, fits, kind):
    values = np.random.default_rng(0).integers(-127, 128, NARROWED + 2).astype(kind)
    values[5] = min(odd, float(np.finfo(kind).max)) if odd < np.inf else odd
    codes = np.full(NARROWED + 3, 99, np.int8)
    assert (_narrow if compiled else _narrow.py_func)(values, 1, codes, 2) == fits
    wanted = values[1:-1] if fits else np.where(np.arange(NARROWED) == 4, 0, values[1:-1])
    if fits or abs(odd) > 127 or odd != odd:
        assert codes[2:-1].tolist() == wanted.tolist()
    assert codes[[0, 1, -1]].tolist() == [99, 99, 99]  # nothing else is written


@modes
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int64", "uint64"])
def test_whole_numbers_of_any_type_become_bytes(compiled, kind):
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    for number in (least, -129, -128, -127, -1, 0, 126, 127, 128, 129, 255, 256, most - 126, most):
        if not least <= number <= most:
            continue
        values, codes = np.ones(NARROWED, kind), np.zeros(NARROWED, np.int8)
        values[5] = number
        fits = (_narrow if compiled else _narrow.py_func)(values, 0, codes, 0)
        assert fits == (-127 <= number <= 127), number
        assert not fits or codes[5] == number


@modes
def test_equal_bytes_are_marked_by_bits(compiled):
    codes = np.random.default_rng(0).integers(-2, 3, WORD + 3).astype(np.int8)
    for code in (-2, 0, 1, 7):
        word = int((_equal_bits if compiled else _equal_bits.py_func)(codes, 2, code))
        wanted = (codes[2 : 2 + WORD] == code).tolist()
        assert [word >> i & 1 == 1 for i in range(WORD)] == wanted
