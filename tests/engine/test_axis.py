"""Rows to columns: stored once, reused, and rebuilt when the file has changed."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from tamis.core.errors import OutputError, SourceError
from tamis.sources import open_source
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import to_columns
from tamis.sources.stores.column_store import ColumnStore


@pytest.fixture
def svm(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("1 1:1 3:2\n-1 2:1\n1 1:5\n")
    return path


def turn(svm, cache, **options):
    """Return the columns of a file, and the messages printed."""
    messages = []
    return to_columns(open_source(svm, **options), cache, say=messages.append), messages


def inode(cache):
    return os.stat(cache / "meta.json").st_ino


def test_columns_are_returned_unchanged(tmp_path):
    source, messages = MemorySource(np.eye(2)), []
    assert to_columns(source, tmp_path / "c", say=messages.append) is source
    assert messages == []
    assert list(tmp_path.iterdir()) == []


def test_rows_become_a_store_that_is_kept_and_reported(svm, tmp_path):
    store, message = turn(svm, tmp_path / "c.cols")
    assert isinstance(store, ColumnStore)
    assert store.load()[0].toarray().tolist() == [[1, 0, 2], [0, 1, 0], [5, 0, 0]]
    assert store.target().tolist() == [1, -1, 1]
    (sentence,) = message
    assert sentence.startswith("t.svm is stored by rows, so it was turned into the column store")
    assert str(tmp_path / "c.cols") in sentence
    assert sorted(os.listdir(tmp_path)) == ["c.cols", "t.svm"]


def test_the_store_is_used_again(svm, tmp_path):
    turn(svm, tmp_path / "c.cols")
    before = inode(tmp_path / "c.cols")
    store, message = turn(svm, tmp_path / "c.cols")
    assert inode(tmp_path / "c.cols") == before
    assert store.n_columns == 3
    assert message == [f"using the column store {tmp_path / 'c.cols'}, made from t.svm before"]


@pytest.mark.parametrize("change", ["content", "time", "name"])
def test_a_file_that_changed_makes_a_new_store(svm, tmp_path, change):
    turn(svm, tmp_path / "c.cols")
    before = inode(tmp_path / "c.cols")
    status = os.stat(svm)
    if change == "content":
        svm.write_text("1 1:1 4:2\n-1 2:10\n")
        os.utime(svm, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif change == "time":
        os.utime(svm, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    else:
        svm = svm.rename(tmp_path / "u.svm")
    store, messages = turn(svm, tmp_path / "c.cols")
    assert inode(tmp_path / "c.cols") != before
    assert "is stored by rows" in messages[0]
    assert store.n_rows == (2 if change == "content" else 3)


def test_a_store_with_another_index_base_is_not_used(svm, tmp_path):
    names = {}
    for zero_based in ("auto", True, "auto", False):
        store, messages = turn(svm, tmp_path / "c.cols", zero_based=zero_based)
        names[zero_based] = (store.name_base, store.n_columns)
        assert "is stored by rows" in messages[0]
    assert names == {"auto": (1, 3), True: (0, 4), False: (1, 3)}


@pytest.mark.parametrize("damage", ["truncated", "missing", "keys", "version", "json", "source"])
def test_a_damaged_store_is_rebuilt(svm, tmp_path, damage):
    cache = tmp_path / "c.cols"
    turn(svm, cache)
    meta = json.loads((cache / "meta.json").read_text())
    if damage == "truncated":
        os.truncate(cache / "places.npy", 130)
    elif damage == "missing":
        (cache / "y.npy").unlink()
    elif damage == "keys":
        (cache / "meta.json").write_text(json.dumps({k: meta[k] for k in ("format", "version")}))
    elif damage == "version":
        (cache / "meta.json").write_text(json.dumps(meta | {"version": 99}))
    elif damage == "json":
        (cache / "meta.json").write_text("{")
    else:
        (cache / "meta.json").write_text(json.dumps(meta | {"source": None}))
    store, messages = turn(svm, cache)
    assert "is stored by rows" in messages[0]
    assert store.load()[0].toarray().tolist() == [[1, 0, 2], [0, 1, 0], [5, 0, 0]]
    store.verify()
    assert sorted(os.listdir(tmp_path)) == ["c.cols", "t.svm"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_folder_that_is_not_a_store_is_not_replaced(svm, tmp_path, kind):
    cache = tmp_path / "c.cols"
    if kind == "file":
        cache.write_text("mine")
    else:
        cache.mkdir()
        (cache / "mine").write_text("mine")
    with pytest.raises(OutputError, match=r"c\.cols is in the way: .* move it, or write to"):
        turn(svm, cache)
    assert cache.read_text() == "mine" if kind == "file" else (cache / "mine").exists()


def test_a_bad_line_leaves_the_existing_store(svm, tmp_path):
    turn(svm, tmp_path / "c.cols")
    before = inode(tmp_path / "c.cols")
    svm.write_text("1 1:1\nspam 1:1\n")
    with pytest.raises(SourceError, match="line 2, byte 1: 'spam'"):
        turn(svm, tmp_path / "c.cols")
    assert inode(tmp_path / "c.cols") == before
    assert sorted(os.listdir(tmp_path)) == ["c.cols", "t.svm"]
