"""Ranges at an address: adjacent blocks in one request, and the next ones ahead of time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import fsspec
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tamis.core.names import Names
from tamis.sources.addresses import AddressedFile
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store
from tamis.sources.read_ahead import REQUEST, UNDER_WAY, read_ahead, spans
from tamis.sources.stores.column_store import ColumnStore


@given(st.integers(0, 50), st.integers(0, 400), st.integers(1, 60), st.floats(0, 2.0**24))
def test_spans_cover_a_range_by_whole_steps_of_few_bytes(start, length, step, size):
    found = list(spans(start, start + length, step, size))
    assert [lo for lo, _ in found] == [start, *(hi for _, hi in found)][: len(found)]
    assert (found[-1][1] if found else start) == start + length
    for lo, hi in found[:-1]:
        assert (hi - lo) % step == 0
    for lo, hi in found:
        assert hi - lo <= step or (hi - lo) * size <= REQUEST
    if found:
        assert found[0][1] - found[0][0] <= step


def test_reads_are_ahead_in_order_and_begin_with_one():
    begun, gate = [], threading.Semaphore(0)

    def read(item):
        begun.append(item)
        gate.acquire()
        return -item

    with ThreadPoolExecutor(1) as reader:
        results = read_ahead(range(1, 101), read)
        first = reader.submit(next, results)
        gate.release()
        assert first.result() == -1
        assert begun == [1]
        gate.release(200)
        assert list(results) == [-item for item in range(2, 101)]


def test_no_more_are_under_way_than_allowed_and_closing_stops():
    under_way, most, lock, begun = 0, 0, threading.Lock(), []

    def read(item):
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
            begun.append(item)
        threading.Event().wait(0.001)
        with lock:
            under_way -= 1
        return item

    results = read_ahead(range(1, 1000), read)
    for wanted in range(1, 41):
        assert next(results) == wanted
    results.close()
    assert under_way == 0
    assert 1 < most <= UNDER_WAY
    assert max(begun) <= 40 + UNDER_WAY


def test_an_error_comes_in_its_place():
    def read(item):
        if item == 3:
            raise OSError("gone")
        return item

    results = read_ahead(range(1, 9), read)
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(OSError, match="gone"):
        next(results)


@pytest.mark.parametrize("layout", ["dense", "sparse", "ones"])
def test_a_store_is_fetched_in_few_requests(layout, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3_000)) * (rng.random((50, 3_000)) < 0.3)
    X = (X != 0).astype(float) if layout == "ones" else X
    names = Names.of(f"gene{j}" for j in range(3_000)) if layout == "dense" else None
    table = X if layout == "dense" else sp.csc_matrix(X)
    write_store(tmp_path / "X.cols", MemorySource(table, rng.integers(0, 2, 50), names=names))
    files = fsspec.filesystem("memory")
    files.put(str(tmp_path / "X.cols"), "/ahead.cols", recursive=True)
    try:
        there, here = ColumnStore("memory://ahead.cols"), ColumnStore(tmp_path / "X.cols")
        asked, old = [], AddressedFile.read
        monkeypatch.setattr(
            AddressedFile, "read", lambda self, *span: asked.append(span) or old(self, *span)
        )
        for start, stop in ((0, None), (17, 2_411)):
            asked.clear()
            blocks = list(there.columns(7, start, stop))
            assert len(asked) < 60  # one for each block would be hundreds
            wanted = list(here.columns(7, start, stop))
            assert [(b.first, b.width) for b in blocks] == [(b.first, b.width) for b in wanted]
            for a, b in zip(blocks, wanted, strict=True):
                assert list(a.names or ()) == list(b.names or ())
                for one, other in zip(a.arrays, b.arrays, strict=True):
                    assert np.array_equal(one, other)
        asked.clear()
        next(there.columns(7))
        assert len(asked) <= 4  # of the first block only
    finally:
        files.rm("/ahead.cols", recursive=True)
