"""ColumnStore: what is written is read back, and partial or damaged stores are rejected."""

from __future__ import annotations

import json
import os
import shutil
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.errors import InputError, OutputError, ParameterError, SourceError
from tamis.core.names import Names
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import to_rows, write_store
from tamis.sources.stores.column_store import ColumnStore
from tamis.sources.stores.column_writer import StoreWriter
from tamis.sources.stores.store_folder import HEADER, npy_header


def write(path, matrix, y=None, *, cuts=(), names=None, force=False, **more):
    """Write a CSC matrix or an array as a store, cut into blocks before the given columns."""
    n_rows, n_columns = matrix.shape
    bounds = [0, *cuts, n_columns]
    with StoreWriter(str(path), force=force) as writer:
        for lo, hi in pairwise(bounds):
            part = matrix[:, lo:hi]
            if sp.issparse(part):
                part = Compressed(part.indptr.astype(np.int64), part.indices, part.data)
            label = None if names is None else Names.of(names[lo:hi])
            writer.append(ColumnBlock(lo, n_rows, part, label))
        writer.commit(n_rows=n_rows, y=y, **more)
    return ColumnStore(path)


def random_csc(rng, n_rows=30, n_columns=17, density=0.2, values=None):
    matrix = sp.random(n_rows, n_columns, density, "csc", random_state=rng, data_rvs=values)
    matrix.sort_indices()
    return matrix


def collect(store, width=None):
    """Join the blocks of columns() into one array."""
    out, first = [], 0
    for block in store.columns(width):
        assert block.first == first
        assert block.kind == "unknown"
        first += block.width
        if not block.is_sparse:
            assert block.values.dtype == np.float64
            assert block.values.flags.f_contiguous
            out.append(block.values)
            continue
        part = block.values
        assert part.indptr[0] == 0
        assert (part.indptr.dtype, part.indices.dtype) == (np.int64, np.int32)
        assert part.data.dtype == np.float64
        columns = sp.csc_matrix((part.data, part.indices, part.indptr), (block.n_rows, block.width))
        out.append(columns.toarray())
    return np.hstack(out) if out else np.zeros((store.n_rows, 0))


VALUES = {
    "ones": lambda size: np.ones(size),
    "float32": lambda size: np.random.default_rng(1).integers(-9, 9, size) / 4.0,
    "float64": lambda size: np.random.default_rng(1).normal(size=size),
}


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("width", [None, 1, 2, 5, 17, 99])
@pytest.mark.parametrize("cuts", [(), (1,), (4, 4, 12)])
def test_sparse_columns_come_back(tmp_path, values, width, cuts):
    matrix = random_csc(np.random.default_rng(0), values=VALUES[values])
    store = write(tmp_path / "a.cols", matrix, np.arange(30) % 3, cuts=cuts)
    assert store.meta["values"] == values
    assert (tmp_path / "a.cols" / "values.npy").exists() == (values != "ones")
    assert np.array_equal(collect(store, width), matrix.toarray())
    loaded, y = store.load()
    assert np.array_equal(loaded.toarray(), matrix.toarray())
    assert y.tolist() == (np.arange(30) % 3).tolist()
    store.verify()


@pytest.mark.parametrize("values", ["float32", "float64"])
@pytest.mark.parametrize("width", [None, 1, 3, 99])
def test_dense_columns_come_back(tmp_path, values, width):
    matrix = VALUES[values](30 * 7).reshape(30, 7)
    store = write(tmp_path / "a.cols", matrix, cuts=(2,))
    assert (store.meta["values"], store.meta["layout"], store.meta["stored"]) == (
        values,
        "dense",
        None,
    )
    assert np.array_equal(collect(store, width), matrix)
    assert np.array_equal(store.load()[0], matrix)
    assert store.target() is None
    rows = np.vstack([block.values for block in to_rows(store).batches(width)])
    assert np.array_equal(rows, matrix)
    store.verify()


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3)),
    st.integers(1, 4),
)
def test_any_numbers_come_back(tmp_path_factory, columns, width):
    """Ones, then float32, then float64: the file is widened as needed, and stays exact."""
    dense = np.array(columns).reshape(-1, 3).T
    folder = tmp_path_factory.mktemp("any")
    matrix = sp.csc_matrix(dense)
    cuts = tuple(range(1, dense.shape[1]))
    store = write(folder / "s.cols", matrix, cuts=cuts)
    assert np.array_equal(collect(store, width), dense)
    if dense.size:
        assert np.array_equal(collect(write(folder / "d.cols", dense, cuts=cuts), width), dense)
    store.verify()


def test_files_are_plain_npy(tmp_path):
    matrix = random_csc(np.random.default_rng(0))
    write(tmp_path / "a.cols", matrix, np.array(["b", "äa"] * 15, dtype=object))
    load = lambda name: np.load(tmp_path / "a.cols" / name, allow_pickle=False)  # noqa: E731
    assert load("pointers.npy").tolist() == matrix.indptr.tolist()
    assert load("places.npy").tolist() == matrix.indices.tolist()
    assert load("values.npy").tolist() == matrix.data.tolist()
    assert load("y.npy").tolist() == ["b", "äa"] * 15
    assert len(npy_header(np.dtype("<U1000000"), (2**62, 2**62))) == HEADER


def test_what_is_known_about_the_values(tmp_path):
    whole = sp.csc_matrix(np.array([[0, 2, -3], [1, 0, 5]], dtype=float))
    whole.data[0] = 0.0  # stored, and zero
    meta = write(tmp_path / "a.cols", whole).meta
    assert (meta["integer_values"], meta["lowest"], meta["highest"]) == (True, -3, 5)
    assert meta["stored_zeros"] == 1
    assert write(tmp_path / "b.cols", whole * 0.5).meta["integer_values"] is False
    for bad in (np.inf, -np.inf):
        whole.data[1] = bad
        with pytest.raises(InputError, match="the data hold infinity"):
            write(tmp_path / "c.cols", whole)
    assert sorted(os.listdir(tmp_path)) == ["a.cols", "b.cols"]


@pytest.mark.parametrize("dense", [True, False])
def test_missing_values_are_kept_for_the_selector(tmp_path, dense):
    table = np.array([[1.0, np.nan, 3.0], [1.0, np.nan, np.nan], [1.0, np.nan, 0.1]])
    store = write_store(tmp_path / "a.cols", MemorySource(table if dense else sp.csc_matrix(table)))
    assert (store.meta["missing"], store.meta["lowest"], store.meta["highest"]) == (4, 0.1, 3.0)
    found = store.load()[0]
    assert np.array_equal(found if dense else found.toarray(), table, equal_nan=True)
    only = write_store(tmp_path / "b.cols", MemorySource(np.full((2, 1), np.nan)))
    assert (only.meta["lowest"], only.meta["integer_values"]) == (None, True)


def test_text_columns_stay_text_columns(tmp_path):
    frame = pa.table({"n": [1.0, 2, 3], "w": ["a", "b", "c"], "flag": ["no", "yes", "no"]})
    store = write_store(tmp_path / "a.cols", MemorySource(frame))
    for width in (1, 2, 3):
        words = np.concatenate([block.is_text for block in store.columns(width)])
        assert words.tolist() == [False, True, False]


def test_names_are_read_block_by_block(tmp_path):
    names = ["a", "", "längst", "a b", "x" * 300]
    matrix = random_csc(np.random.default_rng(0), n_columns=5)
    store = write(tmp_path / "a.cols", matrix, cuts=(2,), names=names)
    for width in (1, 2, 5):
        assert [n for block in store.columns(width) for n in block.names] == names
    with StoreWriter(str(tmp_path / "b.cols")) as writer:
        part = Compressed(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0))
        writer.append(ColumnBlock(0, 3, part, Names.of(["a"])))
        writer.append(ColumnBlock(1, 3, part))
        with pytest.raises(InputError, match="name all or none"):
            writer.commit(n_rows=3)


def test_rows_are_transposed_in_memory_and_reported(tmp_path):
    matrix = random_csc(np.random.default_rng(0))
    y = np.arange(30)
    store = write(tmp_path / "a.cols", matrix, y)
    calls = []
    blocks = list(to_rows(store).batches(7, progress=lambda *call: calls.append(call[0])))
    assert any("transposing" in what for what in calls)
    assert [b.first for b in blocks] == [0, 7, 14, 21, 28]
    assert np.concatenate([b.y for b in blocks]).tolist() == y.tolist()
    parts = [b.values for b in blocks]
    rows = [sp.csr_matrix((p.data, p.indices, p.indptr), (len(p), 17)).toarray() for p in parts]
    assert np.array_equal(np.vstack(rows), matrix.toarray())


def test_a_column_block_may_be_written_to_without_changing_the_store(tmp_path):
    store = write(tmp_path / "a.cols", random_csc(np.random.default_rng(0)))
    block = next(iter(store.columns(3)))
    assert block.values.indices.flags.writeable
    block.values.indices[:] = 0
    block.values.data[:] = 7.0
    store.verify()


def test_a_store_without_columns_or_entries(tmp_path):
    store = write(tmp_path / "a.cols", sp.csc_matrix((4, 0)))
    assert (store.n_rows, store.n_columns, list(store.columns())) == (4, 0, [])
    store = write(tmp_path / "b.cols", sp.csc_matrix((4, 3)))
    assert collect(store).tolist() == np.zeros((4, 3)).tolist()
    assert store.load()[0].shape == (4, 3)


def test_info_and_naming(tmp_path):
    matrix = random_csc(np.random.default_rng(0), values=VALUES["ones"])
    store = write(tmp_path / "a.cols", matrix, np.arange(30) % 2, name_prefix="", name_base=1)
    info = store.info()
    assert (info.format, info.axis, info.layout) == ("cols", "columns", "sparse")
    assert (info.n_rows, info.n_columns, info.stored) == (30, 17, matrix.nnz)
    assert info.target == "2 classes: 0 (15), 1 (15)"
    assert (store.name_prefix, store.name_base) == ("", 1)
    assert len(info.fingerprint) == 16
    other = write(tmp_path / "b.cols", matrix, np.arange(30) % 3)
    assert other.info().fingerprint != info.fingerprint


def test_nothing_is_overwritten_without_force(tmp_path):
    first, second = (random_csc(np.random.default_rng(s)) for s in (0, 1))
    write(tmp_path / "a.cols", first)
    with pytest.raises(OutputError, match="already exists; choose another name"):
        write(tmp_path / "a.cols", second)
    assert np.array_equal(collect(ColumnStore(tmp_path / "a.cols")), first.toarray())
    write(tmp_path / "a.cols", second, force=True)
    assert np.array_equal(collect(ColumnStore(tmp_path / "a.cols")), second.toarray())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(OutputError, match="is not a column store"):
        write(tmp_path / "mine", second, force=True)
    with pytest.raises(OutputError, match="does not exist"):
        write(tmp_path / "absent" / "a.cols", second)
    assert sorted(os.listdir(tmp_path)) == ["a.cols", "mine"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_an_interrupted_writer_changes_nothing(tmp_path, error):
    matrix = random_csc(np.random.default_rng(0))
    write(tmp_path / "a.cols", matrix)

    def interrupted():
        with StoreWriter(str(tmp_path / "a.cols"), force=True) as writer:
            writer.append_sparse(np.array([0, 1]), np.array([2]), np.array([0.3]))
            raise error

    with pytest.raises(error):
        interrupted()
    assert os.listdir(tmp_path) == ["a.cols"]
    assert np.array_equal(collect(ColumnStore(tmp_path / "a.cols")), matrix.toarray())


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(self, *_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tamis.sources.stores.store_files.GrowingFile.append", full)
    with pytest.raises(OutputError, match="No space left on device"):
        write(tmp_path / "a.cols", random_csc(np.random.default_rng(0)))
    assert os.listdir(tmp_path) == []


def test_a_killed_writer_leaves_no_store(tmp_path):
    """Leftovers of a killed writer have another name, and no meta.json."""
    writer = StoreWriter(str(tmp_path / "a.cols")).__enter__()
    writer.append_sparse(np.array([0, 1]), np.array([2]), np.array([0.3]))
    assert not (tmp_path / "a.cols").exists()
    with pytest.raises(SourceError, match="is not a column store"):
        ColumnStore(writer.folder)
    writer.__exit__(None, None, None)


def damage_cut(folder):
    with open(folder / "places.npy", "r+b") as file:
        file.truncate(HEADER + 8)


def damage_header(folder):
    data = (folder / "places.npy").read_bytes()
    (folder / "places.npy").write_bytes(data.replace(b"<i4", b"<u4", 1))


def damage_meta(folder):
    (folder / "meta.json").write_text("{")


def endless_meta(folder):
    os.remove(folder / "meta.json")
    os.mkfifo(folder / "meta.json")


def damage_version(folder):
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(meta | {"version": 99}))


def damage_pointers(folder):
    data = bytearray((folder / "pointers.npy").read_bytes())
    data[-8] ^= 1
    (folder / "pointers.npy").write_bytes(data)


DAMAGE = {
    "cut": (damage_cut, "another length or shape"),
    "header": (damage_header, "another length or shape"),
    "absent file": (lambda folder: os.remove(folder / "values.npy"), "cannot be read"),
    "absent meta": (lambda folder: os.remove(folder / "meta.json"), "is not a column store"),
    "meta": (damage_meta, "is not a column store"),
    "endless meta": (endless_meta, "is not a column store"),
    "version": (damage_version, "version 99"),
    "indptr": (damage_pointers, "the ends of pointers.npy cannot be right"),
    "all of it": (shutil.rmtree, "does not exist"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_store_is_refused(tmp_path, kind):
    write(tmp_path / "a.cols", random_csc(np.random.default_rng(0)))
    harm, says = DAMAGE[kind]
    harm(tmp_path / "a.cols")
    with pytest.raises(SourceError, match=says):
        ColumnStore(tmp_path / "a.cols")


@pytest.mark.parametrize("name", ["places.npy", "values.npy", "pointers.npy", "names.bin", "y.npy"])
def test_verify_finds_one_changed_byte(tmp_path, name):
    matrix = random_csc(np.random.default_rng(0), n_columns=3)
    store = write(tmp_path / "a.cols", matrix, np.arange(30), names=["a", "b", "c"])
    store.verify()
    with open(tmp_path / "a.cols" / name, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([byte ^ 1]))
    with pytest.raises(SourceError, match=name):
        store.verify()


def test_invalid_requests(tmp_path):
    matrix = random_csc(np.random.default_rng(0))
    store = write(tmp_path / "a.cols", matrix)
    with pytest.raises(ParameterError, match="width=0"):
        next(store.columns(0))
    with pytest.raises(ParameterError, match=r"size=1\.5"):
        next(to_rows(store).batches(1.5))
    with pytest.raises(InputError, match="y holds 2 values for 30 rows"):
        write(tmp_path / "b.cols", matrix, np.zeros(2))
    with StoreWriter(str(tmp_path / "c.cols")) as writer:
        writer.append_dense(np.ones((3, 2)))
        with pytest.raises(InputError, match="cannot follow dense"):
            writer.append_sparse(np.zeros(1, np.int64), np.zeros(0, np.int32), None)
        with pytest.raises(InputError, match="of one length"):
            writer.append_dense(np.ones((4, 2)))


def test_two_writers_of_one_store_do_not_disturb_each_other(tmp_path):
    with StoreWriter(str(tmp_path / "x.cols")) as writer:
        writer.append_dense(np.ones((3, 2)))
        write_store(tmp_path / "x.cols", MemorySource(np.eye(3), [0, 1, 1]))
        with pytest.raises(OutputError, match=r"x\.cols was made by another process"):
            writer.commit(n_rows=3)
    assert os.listdir(tmp_path) == ["x.cols"]
    assert ColumnStore(tmp_path / "x.cols").n_columns == 3


@pytest.mark.parametrize("dense", [True, False])
def test_a_store_that_is_cut_off_while_it_is_read_ends_in_a_sentence(tmp_path, dense):
    """A mapped file would end the process."""
    X = np.random.default_rng(0).random((500, 3_000))
    X = X if dense else sp.csc_matrix(np.where(X < 0.1, X, 0.0))
    store = write_store(tmp_path / "a.cols", MemorySource(X, np.arange(500) % 2))
    blocks = store.columns(500)
    next(blocks)
    name = "dense.npy" if dense else "places.npy"
    os.truncate(tmp_path / "a.cols" / name, 300_000)
    with pytest.raises(SourceError, match=rf"{name} ends before byte .*cut off"):
        list(blocks)
