"""RowStore: rows are read back bit for bit, from any row on; damaged stores are rejected."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import InputError, OutputError, ParameterError, SourceError
from tamis.core.names import Names
from tamis.kernels import row_codes
from tamis.sources import MemorySource, open_source
from tamis.sources.axis import to_columns, write_rows
from tamis.sources.stores import row_writer
from tamis.sources.stores.row_blocks import VALUE_WIDTH, WIDTH
from tamis.sources.stores.row_store import RowStore
from tamis.sources.stores.row_writer import RowWriter
from tamis.sources.stores.store_folder import HEADER


def compressed(rows):
    """Rows as lists of (feature, value) pairs."""
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.array([f for row in rows for f, _ in row], dtype=np.int64)
    return Compressed(indptr, indices, np.array([v for row in rows for _, v in row], dtype=float))


def write(path, rows, y=None, *, cuts=(), **more):
    """Write rows given as lists of pairs, in blocks cut before the given rows."""
    bounds = [0, *cuts, len(rows)]
    with RowWriter(str(path)) as writer:
        for lo, hi in pairwise(bounds):
            labels = None if y is None else np.asarray(y)[lo:hi]
            writer.append(RowBlock(lo, None, compressed(rows[lo:hi]), labels))
        writer.commit(**more)
    return RowStore(path)


@pytest.mark.parametrize(
    ("make", "type_"),
    [(lambda i: i % 7 + 0.5, "<f8"), (lambda i: i % 7, "<i8"), (lambda i: f"w{i % 7}", "<U2")],
)
def test_memory_does_not_grow_with_the_number_of_targets(tmp_path, make, type_):
    height, n_blocks = 10_000, 100
    rows, y = np.ones((height, 1)), np.array([make(i) for i in range(height)])
    y = y if y.dtype.kind == "U" else y.astype(np.float64)
    tracemalloc.start()
    try:
        with RowWriter(str(tmp_path / "a.rows")) as writer:
            for first in range(0, height * n_blocks, height):
                writer.append(RowBlock(first, 1, rows, y.copy()))
            writer.commit(whole_labels=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < height * n_blocks * 8 / 2
    found = RowStore(tmp_path / "a.rows").target()
    assert found.dtype == type_
    assert np.array_equal(found, np.tile(y, n_blocks))


def test_a_dense_store_says_the_type_of_its_values(tmp_path):
    for value, type_ in ((1.0, "float32"), (0.5, "float32"), (0.1, "float64")):
        source = MemorySource(np.full((3, 2), value))
        store = write_rows(tmp_path / "a.rows", source, force=True)
        assert store.meta["values"] == type_


def pairs(blocks):
    """Rows of blocks as lists of pairs, with the bits of each value."""
    found, first = [], 0
    for block in blocks:
        assert first == 0 or block.first == first
        first = block.first + block.height
        v = block.values
        assert (v.indptr.dtype, v.data.dtype) == (np.int64, np.float64)
        for r in range(len(v)):
            part = slice(v.indptr[r], v.indptr[r + 1])
            found.append(list(zip(v.indices[part].tolist(), bits(v.data[part]), strict=True)))
    return found


def bits(values):
    return np.asarray(values, dtype=np.float64).view(np.int64).tolist()


def expected(rows):
    return [[(f, bits([v])[0]) for f, v in row] for row in rows]


GAPS = st.one_of(
    st.integers(0, 300), st.integers(60_000, 70_000), st.integers(2**32 - 3, 2**32 + 3),
    st.integers(0, 2**58),
)  # fmt: skip
VALUES = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def rows_of_anything(draw):
    value = draw(st.sampled_from([st.just(1.0), st.integers(-9, 9).map(float), VALUES]))
    rows = []
    for gaps in draw(st.lists(st.lists(GAPS, max_size=12), min_size=1, max_size=8)):
        indices = np.cumsum([g + 1 for g in gaps], dtype=np.int64) - 1
        rows.append([(int(f), draw(value)) for f in indices])
    return rows


@settings(max_examples=60, deadline=None)
@given(rows_of_anything(), st.integers(1, 9), st.integers(1, 40), st.integers(0, 8))
def test_any_rows_come_back_bit_for_bit(tmp_path_factory, rows, size, entries, first):
    folder = tmp_path_factory.mktemp("rows")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_writer, "ENTRIES", entries)  # blocks of few rows
        store = write(folder / "a.rows", rows, list(range(len(rows))), cuts=(len(rows) // 2,))
    highest = max((row[-1][0] for row in rows if row), default=-1)
    assert (store.n_rows, store.n_columns) == (len(rows), highest + 1)
    assert pairs(store.batches()) == pairs(store.batches(size)) == expected(rows)
    first = min(first, len(rows))
    blocks = list(store.batches(size, str(first)))
    assert pairs(blocks) == expected(rows[first:])
    labels = np.concatenate([b.y for b in blocks]).tolist() if blocks else []
    assert labels == list(range(first, len(rows)))
    store.verify()


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("compiled", [True, False])
def test_gaps_against_a_slow_form(width, compiled):
    """Each unit width, with and without separate gaps, compiled and not."""
    code = (lambda f: f) if compiled else (lambda f: f.py_func)
    decode = code(row_codes.decode_gaps)
    rng = np.random.default_rng(width)
    limit = min(2 ** (8 * width), 2**63 - 1)
    for share in (0.0, 0.5):
        gaps = rng.integers(0, min(limit, 2**40), 30)
        gaps[rng.random(30) < share] = min(limit, 2**50)
        indptr = np.array([0, 3, 3, 11, 30])
        indices = np.concatenate(
            [np.cumsum(gaps[a:b] + 1) + 4 for a, b in pairwise(indptr.tolist())]
        )
        highest = max(indices)
        units, far = np.zeros(30, dtype=f"<u{width}"), np.zeros((2, np.sum(gaps >= limit)), int)
        code(row_codes.encode_gaps)(indptr, indices, 4, limit, units, *far)
        assert units.tolist() == np.where(gaps < limit, gaps, 0).tolist()
        assert far.tolist() == [
            np.flatnonzero(gaps >= limit).tolist(),
            gaps[gaps >= limit].tolist(),
        ]

        def decoded(indptr=indptr, far=far, start=4, top=highest + 1, units=units):
            out = np.zeros(len(units), dtype=np.int64)
            return out.tolist() if decode(indptr, units, *far, start, top, out) else None

        assert decoded() == indices.tolist()
        assert decoded(top=highest) is None  # a feature that is no column
        assert decoded(start=-gaps[0] - 2) is None  # the first one is before the first column
        for wrong in ([0, 3, 31, 11, 30], [0, 3, -1, 11, 30], [0, 3, 2, 11, 30], [0, 3, 3, 11, 29]):
            assert decoded(np.array(wrong)) is None
        if far.size:
            assert decoded(far=far[:, ::-1].copy()) is None
            assert decoded(far=np.vstack([far[:1], -far[1:] - 1])) is None
            assert decoded(far=np.hstack([far, [[30], [0]]])) is None


@pytest.mark.parametrize(
    ("values", "width", "kind"),
    [
        ([1, 1, 1], 0, "ones"),
        ([0, 1, 255], 1, "uint8"),
        ([1, 256, 65535], 2, "uint16"),
        ([1, 65536, 2], 4, "float32"),
        ([1, -1, 2], 4, "float32"),
        ([0, -0.0, 2], 4, "float32"),
        ([1, np.nan, 1], 4, "float32"),
        ([1.5, 2, 3], 4, "float32"),
        ([0.1, np.nan, 3], 8, "float64"),
        ([1, 2**24 + 1, 3], 8, "float64"),
    ],
)
def test_values_are_stored_in_the_narrowest_type_that_is_exact(tmp_path, values, width, kind):
    rows = [[(f, float(v)) for f, v in enumerate(values)]]
    store = write(tmp_path / "a.rows", rows)
    assert store._blocks[:, VALUE_WIDTH].tolist() == [width]
    assert store.info().details["values"] == kind
    assert pairs(store.batches()) == expected(rows)


def test_each_block_has_its_own_width_of_values(tmp_path, monkeypatch):
    monkeypatch.setattr(row_writer, "ENTRIES", 2)
    rows = [[(3, v), (7, 1.0)] for v in (1.0, 7.0, 1000.0, -1.0, 0.3, 1.0)] + [[]]
    store = write(tmp_path / "a.rows", rows)
    assert store._blocks[:, VALUE_WIDTH].tolist() == [0, 1, 2, 4, 8, 0, 0]
    assert store.info().details["values"] == "float64"
    assert pairs(store.batches()) == expected(rows)


def test_the_store_does_not_depend_on_the_blocks_of_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(row_writer, "ENTRIES", 10)
    rows = [[(f, 2.0) for f in range(r % 4)] for r in range(40)]
    prints = [
        write(tmp_path / f"{len(cuts)}.rows", rows, cuts=cuts).fingerprint()
        for cuts in ((), (1, 2, 3, 20, 39), tuple(range(1, 40)))
    ]
    assert len(set(prints)) == 1


def test_the_width_of_units_follows_the_gaps(tmp_path):
    near = [[(f, 1.0) for f in range(0, 90, 3)]] * 4
    far = [[(f * 40_000, 1.0) for f in range(30)]] * 4
    rare = [[(f * 3 + (10**9 if f > 200 else 0), 1.0) for f in range(300)]]
    for rows, width in ((near, 1), (far, 2), (rare, 1)):
        store = write(tmp_path / f"{id(rows)}.rows", rows)
        assert store._blocks[:, WIDTH].tolist() == [width]
        assert pairs(store.batches()) == expected(rows)


def test_ids_beyond_32_bits(tmp_path):
    rows = [[(3, 1.0), (2**40, 2.0), (2**62, 0.5)], [], [(2**63 - 1 - 1, 1.0)]]
    store = write(tmp_path / "a.rows", rows, [1, -1, 1])
    assert pairs(store.batches()) == expected(rows)
    assert next(store.batches()).values.indices.dtype == np.int64
    small = write(tmp_path / "b.rows", [[(2**31 - 2, 1.0)]])
    assert next(small.batches()).values.indices.dtype == np.int32
    wide = np.array([2**63], dtype=np.uint64)
    with RowWriter(str(tmp_path / "c.rows")) as writer:
        writer.append(RowBlock(0, None, Compressed(np.array([0, 1]), wide, np.ones(1))))
        with pytest.raises(InputError, match=r"of 2\*\*63 or more; hash them"):
            writer.commit()


def test_text_and_store_hold_the_same(tmp_path):
    X = sp.random(200, 5000, 0.02, "csr", random_state=np.random.default_rng(0))
    y = np.arange(200) % 3
    for zero_based in (True, False):
        path = tmp_path / f"{zero_based}.svm"
        dump_svmlight_file(X, y, str(path), zero_based=zero_based)
        text = open_source(path)
        store = write_rows(tmp_path / f"{zero_based}.rows", text)
        assert (store.name_prefix, store.name_base) == (text.name_prefix, text.name_base)
        found, labels = store.load()
        theirs, their_labels = text.load()
        assert (found != theirs).nnz == 0
        assert found.has_canonical_format
        assert (labels.tolist(), labels.dtype) == (their_labels.tolist(), np.int64)
        assert (store.n_rows, store.n_columns) == theirs.shape


def test_text_booleans_and_numbers_as_targets(tmp_path):
    rows = [[(0, 1.0)], [(1, 1.0)], [(2, 1.0)]]
    for name, y in {
        "words": np.array(["no", "yes", "maybe"], dtype=object),
        "bool": np.array([True, False, True]),
        "float": np.array([0.5, 1.0, 2.0]),
        "int8": np.array([1, -1, 1], dtype=np.int8),
    }.items():
        store = write(tmp_path / f"{name}.rows", rows, y, cuts=(1,))
        assert store.target().tolist() == y.tolist()
        assert [b.y.tolist() for b in store.batches(2)] == [y[:2].tolist(), y[2:].tolist()]
    assert write(tmp_path / "none.rows", rows).target() is None
    with RowWriter(str(tmp_path / "mixed.rows")) as writer:
        writer.append(RowBlock(0, None, compressed(rows), np.arange(3)))
        with pytest.raises(InputError, match="some rows have a target and others have none"):
            writer.append(RowBlock(3, None, compressed(rows)))
        with pytest.raises(InputError, match="float64 follow targets of another type"):
            writer.append(RowBlock(3, None, compressed(rows), np.zeros(3)))
        with pytest.raises(InputError, match="y holds 2 values for 3 rows"):
            writer.append(RowBlock(3, None, compressed(rows), np.arange(2)))


def test_dense_rows_and_names(tmp_path):
    import pandas as pd

    table = pd.DataFrame({"a": [0.1, 0.0, -0.0], "ä b": [1.0, 2.0, 3.0]})
    store = write_rows(tmp_path / "a.rows", MemorySource(table, [0, 1, 1]))
    assert store.info().layout == "dense"
    assert bits(store.load()[0].ravel()) == bits(table.to_numpy().ravel())
    assert [b.values.tolist() for b in store.batches(2)] == [
        [[0.1, 1.0], [0.0, 2.0]],
        [[-0.0, 3.0]],
    ]
    assert store.names()[1] == "ä b"
    assert [n for block in to_columns(store).columns(1) for n in block.names] == ["a", "ä b"]
    with pytest.raises(InputError, match="3 names were given for 1 columns"):
        write(tmp_path / "b.rows", [[(0, 1.0)]], names=Names.of("abc"))


def test_columns_by_way_of_a_column_store(tmp_path):
    X = sp.random(60, 40, 0.2, "csr", random_state=np.random.default_rng(0))
    write_rows(tmp_path / "a.rows", MemorySource(X, np.arange(60)))
    for memory in (10**9, 5000):
        messages = []
        store = RowStore(tmp_path / "a.rows", memory=memory)
        columns = to_columns(
            store, progress=lambda *words, messages=messages: messages.append(words[0])
        )
        blocks = list(columns.columns(7))
        del columns
        joined = sp.hstack([
            sp.csc_matrix((b.values.data, b.values.indices, b.values.indptr), (60, b.width))
            for b in blocks
        ])  # fmt: skip
        assert (joined != X).nnz == 0
        assert "reading rows" in messages
    assert os.listdir(tmp_path) == ["a.rows"]


def test_rows_that_cannot_be_kept_are_refused(tmp_path):
    for rows, says in (
        ([[(0, 1.0)], [(3, 1.0), (3, 1.0)]], "row 1 holds feature 3 out of order"),
        ([[(-2, 1.0)]], "row 0 holds feature -2 out of order"),
        ([[(0, -np.inf)]], "infinity"),
    ):
        with pytest.raises(InputError, match=says):
            write(tmp_path / "a.rows", rows)
    with pytest.raises(SourceError, match="would hold no rows"):
        write(tmp_path / "a.rows", [])
    with RowWriter(str(tmp_path / "a.rows")) as writer:
        writer.append(RowBlock(0, 2, np.ones((2, 2))))
        with pytest.raises(InputError, match="sparse rows cannot follow dense ones"):
            writer.append(RowBlock(2, 2, compressed([[(0, 1.0)]])))
        with pytest.raises(InputError, match="dense and of one length"):
            writer.append(RowBlock(2, 2, np.ones((2, 3))))
    assert os.listdir(tmp_path) == []


def test_missing_values_come_back_and_are_counted(tmp_path):
    rows = [[(0, np.nan), (3, 0.5)], [(1, 1.0)]]
    store = write(tmp_path / "a.rows", rows)
    assert np.isnan(next(store.batches()).values.data).tolist() == [True, False, False]
    assert store.info().details["missing"] == 1


def test_it_resumes_from_a_mark(tmp_path):
    rows = [[(r, float(r))] for r in range(20)]
    store = write(tmp_path / "a.rows", rows)
    assert [b.mark for b in store.batches(8)] == ["8", "16", "20"]
    blocks = list(store.batches(8, "8"))
    assert (blocks[0].first, blocks[0].mark) == (8, "16")
    assert list(store.batches(after="20")) == []
    store.committed("8")
    for mark in ("21", "-1", "x", ""):
        with pytest.raises(ParameterError, match="a mark is a number of rows, 0 to 20"):
            next(store.batches(after=mark))
    with pytest.raises(ParameterError, match="size=0"):
        next(store.batches(0))


@pytest.mark.parametrize("dense", [False, True])
def test_any_range_of_rows(tmp_path, monkeypatch, dense):
    monkeypatch.setattr(row_writer, "ENTRIES", 5)
    X = sp.random(23, 9, 0.4, "csr", random_state=0)
    data = X.toarray() if dense else X
    store = write_rows(tmp_path / "a.rows", MemorySource(data, np.arange(23)))
    for first in range(24):
        for last in range(first, 24):
            blocks = list(store.batches(4, str(first), str(last)))
            assert [r for b in blocks for r in b.y.tolist()] == list(range(first, last))
            assert not blocks or blocks[0].first == first
            assert sum(b.height for b in blocks) == last - first
    if not dense:
        assert pairs(store.batches(None, "7", "16")) == pairs(store.batches())[7:16]


@pytest.fixture
def ten_blocks(tmp_path, monkeypatch):
    """A store of ten blocks of four rows."""
    monkeypatch.setattr(row_writer, "ENTRIES", 4)
    store = write(tmp_path / "a.rows", [[(r, 1.5)] for r in range(40)])
    assert len(list(store.batches())) == 10
    return store


def open_files(folder):
    held = (os.readlink(link) for link in os.scandir("/proc/self/fd") if os.path.islink(link))
    return [path for path in held if path.startswith(str(folder))]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_files_are_closed_with_the_reader(ten_blocks, tmp_path):
    rows = ten_blocks.batches(3)
    assert next(rows).mark == "3"
    assert open_files(tmp_path)
    rows.close()
    assert open_files(tmp_path) == []
    assert [b.mark for b in ten_blocks.batches(20, "3")] == ["23", "40"]
    assert open_files(tmp_path) == []


def test_a_block_is_not_changed_by_later_ones(ten_blocks):
    """Memory that is read into is used again; what was given is not."""
    blocks = list(ten_blocks.batches())
    assert pairs(blocks) == pairs(ten_blocks.batches()) == expected([[(r, 1.5)] for r in range(40)])


def test_rows_before_a_damaged_block_are_read_and_none_after_it(ten_blocks, tmp_path):
    with open(tmp_path / "a.rows" / "pointers.npy", "r+b") as file:
        file.seek(HEADER + 8 * (5 * 4 + 1))
        file.write(np.int64(99).tobytes())
    marks = []
    with pytest.raises(SourceError, match="block 5 does not fit"):
        marks.extend(b.mark for b in RowStore(tmp_path / "a.rows").batches())
    assert marks == ["4", "8", "12", "16", "20"]


def test_a_file_cut_under_an_open_store_is_one_sentence(ten_blocks, tmp_path):
    rows = ten_blocks.batches()
    next(rows)
    with open(tmp_path / "a.rows" / "values.npy", "r+b") as file:
        file.truncate(HEADER)
    with pytest.raises(SourceError, match=r"values\.npy ends early"):
        list(rows)


def flip(folder, name, at=-1):
    with open(folder / name, "r+b") as file:
        file.seek(at, os.SEEK_END if at < 0 else os.SEEK_SET)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 0x81]))


def meta(folder, **changes):
    content = json.loads((folder / "meta.json").read_text())
    del content["checksum"]  # as in a store that someone has changed on purpose
    (folder / "meta.json").write_text(json.dumps(content | changes))


def cut(folder):
    with open(folder / "gaps.npy", "r+b") as file:
        file.truncate(HEADER + 8)


DAMAGE = {
    "cut": (cut, "gaps.npy has another length or shape"),
    "absent": (lambda folder: os.remove(folder / "values.npy"), "values.npy cannot be read"),
    "no meta": (lambda folder: os.remove(folder / "meta.json"), "is not a row store"),
    "version": (lambda folder: meta(folder, version=99), "version 99"),
    "columns": (lambda folder: meta(folder, format="tamis-columns"), "is not a row store"),
    "last pointer": (lambda folder: flip(folder, "pointers.npy", -8), "blocks do not fit"),
    "a pointer": (lambda folder: flip(folder, "pointers.npy", HEADER + 15), "block 0 does not fit"),
    "block table": (lambda folder: flip(folder, "blocks.npy"), "blocks do not fit"),
    "value width": (lambda folder: flip(folder, "blocks.npy", -8), "blocks do not fit"),
    "block width": (lambda folder: flip(folder, "blocks.npy", -32), "blocks do not fit"),
    "place of gaps": (lambda folder: flip(folder, "blocks.npy", -35), "block 0 does not fit"),
    "place of values": (lambda folder: flip(folder, "blocks.npy", -11), "block 0 does not fit"),
    "far gaps": (lambda folder: flip(folder, "blocks.npy", -24), "block 0 does not fit"),
    "older": (lambda folder: meta(folder, version=1), "version 1 and this tamis reads version 2"),
    "a gap": (lambda folder: flip(folder, "gaps.npy", HEADER), "block 0 does not fit"),
    "columns too few": (lambda folder: meta(folder, n_columns=2), "block 0 does not fit"),
    "all": (shutil.rmtree, "does not exist"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_one_sentence(tmp_path, kind):
    folder = tmp_path / "a.rows"
    write(folder, [[(f, 0.3) for f in range(r, 250, 9)] for r in range(40)], list(range(40)))
    harm, says = DAMAGE[kind]
    harm(folder)
    with pytest.raises(SourceError, match=says):
        list(RowStore(folder).batches())


@pytest.mark.parametrize("name", ["gaps.npy", "values.npy", "pointers.npy", "blocks.npy", "y.npy"])
def test_verify_finds_one_changed_byte(tmp_path, name):
    rows = [[(f, 0.3) for f in range(r, 250, 9)] for r in range(40)]
    store = write(tmp_path / "a.rows", rows, list(range(40)))
    store.verify()
    flip(tmp_path / "a.rows", name)
    with pytest.raises(SourceError, match=name):
        store.verify()


def test_nothing_is_overwritten_without_force_and_an_interruption_changes_nothing(tmp_path):
    rows = [[(0, 1.0)]]
    write(tmp_path / "a.rows", rows)
    with pytest.raises(OutputError, match="already exists; choose another name"):
        write(tmp_path / "a.rows", rows)

    def interrupted():
        with RowWriter(str(tmp_path / "a.rows"), force=True) as writer:
            writer.append(RowBlock(0, None, compressed([[(5, 2.0)]] * 3)))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(tmp_path) == ["a.rows"]
    assert pairs(RowStore(tmp_path / "a.rows").batches()) == expected(rows)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(OutputError, match="is not a row store"):
        RowWriter(str(tmp_path / "mine"), force=True)


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(self, *_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tamis.sources.stores.store_files.GrowingFile.append", full)
    with pytest.raises(OutputError, match="No space left on device"):
        write(tmp_path / "a.rows", [[(0, 1.0)]])
    assert os.listdir(tmp_path) == []


KILLED = """
import sys, os, signal
import numpy as np
from tamis.core.blocks import Compressed, RowBlock
from tamis.sources.stores.row_writer import RowWriter
with RowWriter(sys.argv[1]) as writer:
    for k in range(100):
        writer.append(RowBlock(k, 9, Compressed(np.array([0, 1]), np.array([k]), np.ones(1))))
    writer._flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_leaves_no_store_and_the_next_one_cleans_up(tmp_path):
    path = tmp_path / "a.rows"
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".a.rows.partial-")
    with pytest.raises(SourceError, match="is not a row store"):
        RowStore(tmp_path / left)
    write(path, [[(0, 1.0)]])
    assert os.listdir(tmp_path) == ["a.rows"]


def test_memory_stays_bounded_while_writing(tmp_path):
    """Ten thousand blocks that together are far larger than what the writer holds."""
    import tracemalloc

    rows = compressed([[(f, 0.5) for f in range(1000)]] * 20)
    with RowWriter(str(tmp_path / "a.rows")) as writer:
        writer.append(RowBlock(0, 1000, rows, np.zeros(20)))
        tracemalloc.start()
        for k in range(1, 200):
            writer.append(RowBlock(20 * k, 1000, rows, np.zeros(20)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        writer.commit()
    store = RowStore(tmp_path / "a.rows")
    assert (store.n_rows, store.info().stored) == (4000, 4_000_000)
    assert peak < 30_000_000  # the rows are 64 MB
