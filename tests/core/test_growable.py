"""Arrays that grow: in memory or in a file, and numbers by pieces."""

from __future__ import annotations

import mmap
import os
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.core import growable
from tamis.core.growable import Growable, PiecewiseFloats


def is_in_a_file(array: np.ndarray) -> bool:
    while isinstance(array.base, np.ndarray):
        array = array.base
    base = array.base.obj if isinstance(array.base, memoryview) else array.base
    return isinstance(base, mmap.mmap)


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="disk space cannot be reserved")
def test_a_large_array_is_in_a_file_and_holds_the_same(monkeypatch, tmp_path):
    monkeypatch.setattr(growable, "ON_DISK", 400)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for expected in (0, 500):
        one = Growable(np.float32)
        for lo in range(0, 500, 50):
            one.extend(np.arange(lo, lo + 50), expected=expected)
        assert is_in_a_file(one.view)
        assert not list(tmp_path.iterdir())  # it has no name, so nothing is left of it
        one.view[3] = -1.0
        one.truncate(490)
        one.extend([7.0])
        again = pickle.loads(pickle.dumps(one))
        for found in (one, again):
            assert found.view.tolist() == [0, 1, 2, -1, *range(4, 490), 7]
        assert not is_in_a_file(again.view)


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="disk space cannot be reserved")
def test_a_forked_process_does_not_write_into_the_array_of_its_parent(monkeypatch):
    monkeypatch.setattr(growable, "ON_DISK", 400)
    one = Growable(np.float32)
    one.extend(np.arange(500))
    of_parent = one.view
    growable._own_after_fork()
    one.view[3] = -1.0
    one.extend([7.0])
    assert of_parent.tolist() == list(range(500))
    assert one.view.tolist() == [0, 1, 2, -1, *range(4, 500), 7]


def test_a_large_array_stays_in_memory_if_the_disk_is_full(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(growable, "ON_DISK", 400)
    monkeypatch.setattr("os.posix_fallocate", full, raising=False)
    one = Growable(np.float32)
    one.extend(np.arange(500))
    assert not is_in_a_file(one.view)
    assert one.view.tolist() == list(range(500))


NUMBERS = st.sampled_from([0.0, -0.0, 0.5, float("nan"), 3.0])
PIECES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 5), st.lists(NUMBERS, min_size=5, max_size=5)),
    max_size=6,
)


@given(PIECES, st.booleans(), st.integers(0, 40), st.integers(0, 40))
def test_pieces_return_what_one_array_would(pieces, joined, lo, hi):
    plain, one = np.full(40, np.nan, np.float32), PiecewiseFloats()
    end = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growable, "JOINED", 8 if joined else 0)
        for gap, width, numbers in pieces:
            first = end + gap
            end = first + width
            if end > 40:
                break
            alone = len(set(map(str, numbers))) == 1
            one.append(first, width, numbers[0] if alone else np.array(numbers[:width]))
            plain[first:end] = numbers[:width]
    lo, hi = min(lo, hi), max(lo, hi)
    assert one.between(lo, hi).tobytes() == plain[lo:hi].tobytes()
    positions = np.arange(39, -1, -3)
    assert one.at(positions).tobytes() == plain[positions].tobytes()
    assert one.any_between(lo, hi) == (not np.isnan(plain[lo:hi]).all())


def test_equal_numbers_take_no_memory():
    one = PiecewiseFloats()
    one.append(0, 10_000, np.full(10_000, 0.1))
    one.append(10_000, 10_000, np.full(10_000, 0.1))
    assert len(pickle.dumps(one)) < 300
    assert np.array_equal(one.between(0, 20_000), np.full(20_000, 0.1, np.float32))
