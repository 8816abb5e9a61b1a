"""One scan of a block: finite, whole, and the columns that pass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tamis.kernels.scan import LARGEST, scan, sift

odd = [0.0, -0.0, 1.0, -3.0, 0.5, -1e-300, 1e300, 2.0**53, 9e15, 1e19, LARGEST]
odd += [np.nan, np.inf, -np.inf]
for edge in (2.0**51 + 0.5, 3 * 2.0**50 + 0.5, 2.0**52 - 0.5, 2.0**52 + 1):
    odd += [edge, -edge]
numbers = st.lists(st.sampled_from(odd) | st.floats(), max_size=12).map(np.array)
long_run = st.integers(0, 2000).map(lambda n: np.arange(float(n)))
several = settings(max_examples=150)


def first(mask: np.ndarray) -> int:
    return int(np.argmax(mask)) if mask.any() else -1


@pytest.mark.parametrize("run", [scan, scan.py_func], ids=["compiled", "plain"])
@given(values=numbers, before=long_run, most=st.sampled_from([2.0, 1e70, LARGEST]))
@example(values=np.array([1.0, 0.5, np.nan, 0.25]), before=np.zeros(0), most=LARGEST)
@example(values=np.array([np.inf, 0.5]), before=np.zeros(1023), most=LARGEST)
@several
def test_scan_finds_the_first_number_that_is_not_finite_not_whole_and_beyond(
    run, values, before, most
):
    values = np.concatenate([before, values]).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        not_finite, not_whole, beyond = run(values, most)
    bad = first(~np.isfinite(values))
    before = values if bad < 0 else values[:bad]
    assert not_finite == bad
    assert not_whole == first(before != np.floor(before))
    assert beyond == first(np.abs(before) > most)


@pytest.mark.parametrize("number", [*odd, 2.0, np.nextafter(2.0, 3.0)])
@pytest.mark.parametrize("at", [0, 7, 1000, 1023])
def test_a_single_number_is_found_among_whole_ones(number, at):
    values = np.arange(1024) % 3 - 1.0
    values[at] = number
    finite = np.isfinite(number)
    not_finite, not_whole, beyond = scan(values, 2.0)
    assert not_finite == (-1 if finite else at)
    assert not_whole == (at if finite and number != np.floor(number) else -1)
    assert beyond == (at if finite and abs(number) > 2.0 else -1)


strengths = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0])
levels = st.sampled_from([0.1, 0.25, np.nan, np.inf])


@pytest.mark.parametrize("run", [sift, sift.py_func], ids=["compiled", "plain"])
@given(pairs=st.lists(st.tuples(strengths, levels), max_size=8))
@several
def test_sift_lists_survivors_marks_constants_and_knows_a_shared_level(run, pairs):
    strength, level = np.array(pairs, dtype=float).reshape(-1, 2).T.copy()
    width = len(pairs)
    relevance = np.empty(width, np.float32)
    constant, survivors = np.empty(width, np.uint8), np.empty(width, np.int64)
    found, shared = run(strength, level, level, relevance, constant, survivors)
    assert np.array_equal(relevance, strength.astype(np.float32))
    assert np.array_equal(constant, np.isnan(level).astype(np.uint8))
    assert survivors[:found].tolist() == np.flatnonzero(strength > level).tolist()
    real = set(level[~np.isnan(level)].tolist())
    assert shared == real.pop() if len(real) == 1 else np.isnan(shared)
