"""Rows to columns: the same store for every budget, within the budget, and nothing left behind."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import InputError, OutputError, SourceError
from tamis.sources.arrays.npz import NpzSource
from tamis.sources.axis import write_store
from tamis.sources.base import RowSource, silent
from tamis.sources.stores.sparse_runs import SparseRuns
from tamis.sources.text.svmlight_rows import SvmlightSource
from tamis.sources.text_files import TextFile


class Rows(RowSource):
    """Rows in memory, dense or CSR, given in blocks of a few."""

    format = "test"
    axis = "rows"

    def __init__(self, matrix, y=None, step=3, fail_at=None, error=RuntimeError):
        self.matrix, self.y, self.step = matrix, y, step
        self.fail_at, self.error = fail_at, error

    n_rows = property(lambda self: self.matrix.shape[0])
    n_columns = property(lambda self: self.matrix.shape[1])

    def target(self):
        return self.y

    def batches(self, size=None, after=None, stop=None, bad=None, progress=silent):
        for lo in range(0, self.n_rows, self.step):
            if self.fail_at is not None and lo >= self.fail_at:
                raise self.error
            part = self.matrix[lo : lo + self.step]
            if sp.issparse(part):
                part = Compressed(part.indptr.astype(np.int64), part.indices, part.data)
            yield RowBlock(lo, None, part, None if self.y is None else self.y[lo : lo + self.step])

    def load(self):
        return self.matrix, self.y

    def fingerprint(self):
        return "0" * 16


def random_rows(seed, n_rows=200, n_columns=50, values=None):
    matrix = sp.random(
        n_rows, n_columns, 0.1, "csr", random_state=np.random.default_rng(seed), data_rvs=values
    )
    matrix.sort_indices()
    return matrix


def assert_same(store, matrix):
    got, _ = store.load()
    want = matrix.tocsc()
    want.sort_indices()
    assert got.shape == want.shape
    assert np.array_equal(got.indptr, want.indptr)
    assert np.array_equal(got.indices, want.indices)
    assert np.array_equal(got.data, want.data)
    store.verify()


def half_ones(size):
    """Values whose first half is all 1, so that some runs store none."""
    return np.where(np.arange(size) < size // 2, 1.0, np.linspace(0.1, 9, size))


@pytest.mark.parametrize("values", [None, np.ones, half_ones])
@pytest.mark.parametrize("memory", [900, 2_000, 5_000, 20_000, 10**9])
def test_the_store_is_the_same_for_every_budget(tmp_path, monkeypatch, values, memory):
    spills = []
    spill = SparseRuns._spill
    monkeypatch.setattr(SparseRuns, "_spill", lambda *a: spills.append(1) or spill(*a))
    matrix = random_rows(0, values=values)
    y = np.arange(200) % 4
    store = write_store(tmp_path / "a.cols", Rows(matrix, y), memory=memory)
    assert_same(store, matrix)
    assert store.target().tolist() == y.tolist()
    assert os.listdir(tmp_path) == ["a.cols"]
    assert not [name for name in os.listdir(store.path) if name.startswith("run-")]
    assert (len(spills) > 3) if memory < 3_000 else memory < 10**9 or not spills


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 60), st.integers(1, 90), st.integers(1, 9), st.data())
def test_random_rows_become_columns(tmp_path_factory, seed, n_columns, n_rows, step, data):
    matrix = random_rows(seed, n_rows, n_columns)
    memory = data.draw(st.integers(max(1, 16 * n_columns + 16), 4_000))
    folder = tmp_path_factory.mktemp("random")
    assert_same(write_store(folder / "a.cols", Rows(matrix, step=step), memory=memory), matrix)
    dense = Rows(matrix.toarray(), step=step)
    if n_columns:
        store = write_store(folder / "d.cols", dense, memory=memory)
        assert np.array_equal(store.load()[0], matrix.toarray())


def test_ranges_cover_the_columns_once_and_fit_the_memory(tmp_path):
    matrix = random_rows(3, 400, 40)
    runs = SparseRuns(str(tmp_path), 2400)
    for lo in range(0, 400, 20):
        part = matrix[lo : lo + 20]
        runs.add(Compressed(part.indptr.astype(np.int64), part.indices, part.data))
    assert len(runs._runs) > 5
    counts = np.diff(matrix.tocsc().indptr)
    if runs._held.n_rows:
        runs._spill()
    ends = [ends for _, _, ends in runs._merged(0)]
    assert np.concatenate([np.diff(e, prepend=0) for e in ends]).tolist() == counts.tolist()
    assert len(ends) > 5
    assert all(e[-1] <= 0.5 * 2400 // 14 or len(e) == 1 for e in ends)


def test_a_column_longer_than_the_memory_is_copied_run_by_run(tmp_path):
    matrix = sp.csr_matrix(np.column_stack([np.ones(3000), np.arange(3000.0), np.ones(3000)]))
    store = write_store(tmp_path / "a.cols", Rows(matrix, step=100), memory=9000)
    assert store.load()[0].nnz == 8999
    assert_same(store, matrix)


def test_runs_of_many_rows_count_them_in_four_bytes(tmp_path):
    rows = np.arange(70_000)
    matrix = sp.csr_matrix((np.full(70_000, 0.5), (rows, rows % 2)), shape=(70_000, 2))
    matrix = sp.vstack([matrix, matrix]).tocsr()
    store = write_store(tmp_path / "a.cols", Rows(matrix, step=10_000), memory=2_000_000)
    assert_same(store, matrix)


@pytest.mark.parametrize("memory", [3_000, 10**9])
@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("packed", [False, True])
def test_svmlight_is_parsed_once_and_shifted_late(tmp_path, monkeypatch, memory, base, packed):
    matrix = random_rows(5)
    matrix = sp.vstack([matrix, sp.csr_matrix(([1.0], ([0], [0])), (1, 50))]).tocsr()
    lines = []
    for r in range(matrix.shape[0]):
        row = matrix[r]
        entries = zip(row.indices.tolist(), row.data.tolist(), strict=True)
        lines.append(f"{r % 2} " + " ".join(f"{i + base}:{v!r}" for i, v in entries))
    text = "\n".join(lines).encode()
    path = tmp_path / "data.svm"
    path.write_bytes(gzip.compress(text) if packed else text)
    passes = []
    chunks = TextFile.chunks
    monkeypatch.setattr(TextFile, "chunks", lambda t, size: passes.append(size) or chunks(t, size))
    calls = []
    store = write_store(
        tmp_path / "a.cols",
        SvmlightSource(path),
        memory=memory,
        progress=lambda *c: calls.append(c),
    )
    assert len(passes) == 1
    assert_same(store, matrix)
    assert (store.name_prefix, store.name_base) == ("", base)
    assert store.target().dtype == np.int64
    assert store.target().tolist() == [r % 2 for r in range(201)]
    source = store.meta["source"]
    assert (source["format"], source["path"]) == ("svmlight", "data.svm")
    assert source["size"] == path.stat().st_size
    assert source["mtime_ns"] == path.stat().st_mtime_ns
    assert source["fingerprint"] == SvmlightSource(path).fingerprint()
    reading = [c for c in calls if c[0] == "reading rows"]
    assert reading[-1][1:] == (path.stat().st_size,) * 2
    sorting = [c for c in calls if "sorting" in c[0]]
    assert sorting[-1][1:] == (matrix.nnz, matrix.nnz)


def test_columns_without_entries_are_kept(tmp_path):
    matrix = sp.csr_matrix(([1.0], ([1], [2])), (3, 9))
    assert_same(write_store(tmp_path / "a.cols", Rows(matrix)), matrix)


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_columns_in_memory_are_copied_straight(tmp_path, layout):
    matrix = random_rows(7)
    sp.save_npz(tmp_path / "X.npz", matrix.asformat(layout))
    np.save(tmp_path / "y.npy", np.arange(200))
    store = write_store(tmp_path / "a.cols", NpzSource(tmp_path / "X.npz"))
    assert_same(store, matrix)
    assert store.target().tolist() == list(range(200))


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("is_dense", [False, True])
def test_an_error_leaves_nothing_behind(tmp_path, error, is_dense):
    matrix = random_rows(0)
    seen = []

    class Watched(Rows):
        def batches(self, size=None, after=None, stop=None, bad=None, progress=silent):
            for block in super().batches(size, progress=progress):
                yield block
                seen.append(sum(len(files) for _, _, files in os.walk(tmp_path)))

    source = Watched(matrix.toarray() if is_dense else matrix, fail_at=150, error=error)
    with pytest.raises(error):
        write_store(tmp_path / "a.cols", source, memory=3_000)
    assert max(seen) > 3  # runs were written next to the store
    assert os.listdir(tmp_path) == []


def test_refusals(tmp_path):
    matrix = random_rows(0)
    write_store(tmp_path / "a.cols", Rows(matrix))
    with pytest.raises(OutputError, match="force=True"):
        write_store(tmp_path / "a.cols", Rows(matrix))
    write_store(tmp_path / "a.cols", Rows(matrix[:, :9]), force=True)
    with pytest.raises(SourceError, match="holds no rows"):
        write_store(tmp_path / "b.cols", Rows(matrix[:0]))
    wide = sp.csr_matrix(([1.0], ([0], [10**6])), (1, 10**6 + 1))
    with pytest.raises(InputError, match="1000001 columns need memory of at least 8000008 bytes"):
        write_store(tmp_path / "b.cols", Rows(wide), memory=10**6)
    assert os.listdir(tmp_path) == ["a.cols"]


PEAK = """
import sys
from tamis.sources.text.svmlight_rows import SvmlightSource
from tamis.sources.axis import write_store

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))

folder, memory = sys.argv[1], int(sys.argv[2])
write_store(folder + "/warm.cols", SvmlightSource(folder + "/small.svm"), memory=5_000)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # reset the peak, after importing and compiling
before = status("VmRSS")
store = write_store(folder + "/a.cols", SvmlightSource(folder + "/data.svm"), memory=memory)
print(status("VmHWM") - before, store.meta["stored"])
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="measured as Linux can")
def test_memory_stays_near_the_budget(tmp_path):
    """About 54 MB of numbers go through a budget of 8 MB."""
    rng = np.random.default_rng(0)
    (tmp_path / "small.svm").write_text("1 1:0.3 2:0.3 3:0.3\n" * 2000)
    lines = []
    for _ in range(1500):
        index = np.cumsum(rng.integers(1, 40, 500))
        value = rng.integers(1, 9, 500) + 0.3
        pairs = zip(index.tolist(), value.tolist(), strict=True)
        lines.append("1 " + " ".join(f"{i}:{v}" for i, v in pairs) + "\n")
    (tmp_path / "data.svm").write_text("".join(lines * 6))
    # One arena: how many the C library makes for threads depends on what else the machine does.
    settings = {"TAMIS_THREADS": "2", "MALLOC_ARENA_MAX": "1"}
    grown = {}
    for memory in (8_000_000, 200_000_000):
        folder = tmp_path / str(memory)
        folder.mkdir()
        for name in ("data.svm", "small.svm"):
            (folder / name).symlink_to(tmp_path / name)
        done = subprocess.run(
            [sys.executable, "-c", PEAK, str(folder), str(memory)],
            capture_output=True, text=True, check=True, env=os.environ | settings,
        )  # fmt: skip
        grown[memory], stored = map(int, done.stdout.split())
        assert stored == 4_500_000
    assert grown[8_000_000] < 12_000_000, grown
    assert grown[200_000_000] > 40_000_000, grown  # the measurement can see the difference
