"""Checks of compressed vectors against a slow, obvious one, compiled and plain."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.kernels.compressed_checks import CHUNK, FEW, _all_rise, first_broken, never_fall


def slowly(indptr, indices, n):
    """Return the first vector that is not right, or -1."""
    if not indptr or indptr[0] != 0 or indptr[-1] != len(indices):
        return 0
    for j, (lo, hi) in enumerate(pairwise(indptr)):
        part = indices[lo:hi]
        if not 0 <= lo <= hi <= len(indices) or part != sorted(set(part)):
            return j
        if any(not 0 <= index < n for index in part):
            return j
    return -1


@st.composite
def vectors(draw):
    """Return positions, indices and a length: right ones, of which some numbers are changed."""
    n = draw(st.integers(1, 6))
    parts = draw(st.lists(st.sets(st.integers(0, n - 1)), max_size=6))
    indptr = np.cumsum([0, *map(len, parts)]).tolist()
    indices = [index for part in parts for index in sorted(part)]
    for numbers in (indptr, indices):
        for _ in range(draw(st.integers(0, 2))):
            if numbers:
                numbers[draw(st.integers(0, len(numbers) - 1))] = draw(st.integers(-2, 9))
    return indptr, indices, n


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@given(vectors=vectors())
def test_the_first_vector_that_is_not_right_is_found(compiled, kind, vectors):
    indptr, indices, n = vectors
    arrays = np.array(indptr, np.int64), np.array(indices, kind)
    found = (first_broken if compiled else first_broken.py_func)(*arrays, n)
    assert found == slowly(indptr, indices, n)
    never = (never_fall if compiled else never_fall.py_func)(arrays[0], len(indices))
    assert never == (
        bool(indptr) and indptr[0] == 0 and indptr[-1] == len(indices)
        and indptr == sorted(indptr)
    )  # fmt: skip


def test_each_entry_that_leaves_its_range_is_found():
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 4, 500)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    parts = [np.sort(rng.choice(50, size, replace=False)) for size in lengths]
    indices = np.concatenate(parts).astype(np.int32)
    assert first_broken(indptr, indices, 50) == -1
    for at in range(len(indices)):
        for wrong in (-1, 50, 2**31 - 1, -(2**31)):
            damaged = indices.copy()
            damaged[at] = wrong
            assert first_broken(indptr, damaged, 50) == np.searchsorted(indptr, at, "right") - 1


#: Vectors that hold something, among many empty ones: at the ends of chunks, and several in one.
FULL = {
    "none": {},
    "one, at the very end": {6 * CHUNK: [0, 4]},
    "both sides of a border": {CHUNK - 1: [2, 3], CHUNK: [0, 3], 2 * CHUNK: [3]},
    "several in a chunk": {0: [3], 1: [1, 2], 5: [0], CHUNK - 4: [2], CHUNK - 2: [0], 99: [4]},
    "the first and the last of a chunk": {CHUNK: [0, 1, 2], 2 * CHUNK - 1: [0, 1], 2 * CHUNK: [1]},
}


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize("full", FULL.values(), ids=FULL)
def test_each_wrong_number_among_empty_vectors_is_found(full, compiled):
    check, rise = first_broken, _all_rise
    if not compiled:
        check, rise = check.py_func, rise.py_func
    parts = [full.get(j, []) for j in range(6 * CHUNK + 1)]
    indptr = np.cumsum([0, *map(len, parts)])
    indices = np.array([index for part in parts for index in part], np.int32)
    assert len(indices) * FEW < len(indptr)
    assert check(indptr, indices, 5) == -1
    assert rise(indptr, indices, 5)  # the fast way alone is enough
    for numbers in (indptr, indices):
        # Those near begins of chunks and near full vectors; compiled, all of them.
        places = {at + d for at in (0, *full) for d in (-1, 0, 1, 2, CHUNK - 1, CHUNK)}
        for at in range(len(numbers)) if compiled or numbers is indices else sorted(places):
            if not 0 <= at < len(numbers):
                continue
            right = int(numbers[at])
            for wrong in {right - 1, right + 1, right + 2, -1, 5, len(indices) + 1, 2**31 - 1}:
                numbers[at] = wrong
                found = slowly(indptr.tolist(), indices.tolist(), 5)
                assert check(indptr, indices, 5) == found, (at, wrong)
                assert rise(indptr, indices, 5) == (found < 0), (at, wrong)
            numbers[at] = right
