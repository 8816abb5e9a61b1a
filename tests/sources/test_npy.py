"""NpySource against the array it was written from; bad files are one sentence."""

from __future__ import annotations

import os
import tracemalloc

import numpy as np
import pytest

import tamis
from tamis.core.errors import InputError, SourceError
from tamis.sources import addresses
from tamis.sources.axis import to_columns


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u8", "?", ">f8"])
@pytest.mark.parametrize("memory", [10**9, 10])
def test_both_axes_come_back(tmp_path, order, dtype, memory):
    table = np.asarray(np.random.default_rng(0).integers(0, 2, (23, 11)), dtype, order)
    np.save(tmp_path / "X.npy", table)
    np.save(tmp_path / "X.y.npy", np.arange(23))
    source = tamis.open(tmp_path / "X.npy", memory=memory)
    assert source.axis == ("rows" if (order, memory) == ("C", 10) else "columns")
    for width in (1, 4, None):
        assert np.array_equal(
            np.hstack([b.values for b in to_columns(source).columns(width)]), table
        )
        assert np.array_equal(np.vstack([b.values for b in source.batches(width)]), table)
    assert source.target().tolist() == list(range(23))
    assert sorted(os.listdir(tmp_path)) == ["X.npy", "X.y.npy"]


def test_the_file_is_not_read_into_memory(tmp_path):
    table = np.lib.format.open_memmap(
        tmp_path / "X.npy", "w+", dtype="f8", shape=(1000, 200), fortran_order=True
    )
    table[:] = 1.0
    del table
    source = tamis.open(tmp_path / "X.npy", y=np.arange(1000))
    tracemalloc.start()
    try:
        assert next(source.columns(3)).values.nbytes == 3 * 1000 * 8
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("dtype", ["f8", "f4", ">i4", "u1", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_bands_of_rows_and_blocks_of_columns_are_the_array(tmp_path, monkeypatch, dtype, order):
    monkeypatch.setattr(addresses, "_BAND", 500)  # a few rows
    table = np.random.default_rng(0).integers(0, 2, (37, 11)).astype(dtype)
    np.save(tmp_path / "X.npy", np.asarray(table, order=order))
    source = tamis.open(tmp_path / "X.npy")
    assert np.array_equal(np.vstack([b.values for b in source.batches(4)]), table)
    assert np.array_equal(np.hstack([b.values for b in source.columns(3)]), table)
    assert np.array_equal(source.load()[0], table)
    assert all(block.values.dtype == np.float64 for block in source.batches(9))


def test_the_target_is_given_found_or_absent(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(3))
    assert tamis.open(tmp_path / "X.npy").target() is None
    assert tamis.open(tmp_path / "X.npy", y=[1, 0, 1]).target().tolist() == [1, 0, 1]
    np.save(tmp_path / "labels.npy", ["a", "b", "a"])
    source = tamis.open(tmp_path / "X.npy", y=tmp_path / "labels.npy")
    assert source.target().tolist() == ["a", "b", "a"]
    assert source.fingerprint() != tamis.open(tmp_path / "X.npy").fingerprint()
    with pytest.raises(SourceError, match=r"y has shape \(2,\) and .*X\.npy has 3 rows"):
        tamis.open(tmp_path / "X.npy", y=[0, 1]).target()


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.zeros(3), "has shape (3,); a table has two dimensions"),
        (np.array([["a"]]), "holds <U1 values; store real numbers"),
        (np.zeros((1, 1), complex), "holds complex128 values; store real numbers"),
        (np.array([[{}]], dtype=object), "holds object values; store real numbers"),
    ],
)
def test_arrays_that_are_not_tables_give_one_sentence(tmp_path, array, sentence):
    path = tmp_path / "X.npy"
    np.save(path, array, allow_pickle=True)
    with pytest.raises(SourceError) as caught:
        tamis.open(path)
    assert str(caught.value) == f"{path} {sentence}"


@pytest.mark.parametrize("kept", [3, 20, 100, 200])
def test_a_truncated_file_is_one_sentence(tmp_path, kept):
    np.save(tmp_path / "X.npy", np.eye(9))
    whole = (tmp_path / "X.npy").read_bytes()
    (tmp_path / "X.npy").write_bytes(whole[:kept])
    with pytest.raises(SourceError, match="cannot be read as an array") as caught:
        tamis.open(tmp_path / "X.npy")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_file_that_is_cut_off_while_it_is_read_does_not_end_the_process(tmp_path, order):
    np.save(tmp_path / "X.npy", np.zeros((50_000, 4), order=order))
    source = tamis.open(tmp_path / "X.npy")
    blocks = source.columns(1) if order == "F" else source.batches(9)
    next(blocks)
    os.truncate(tmp_path / "X.npy", 4096)
    with pytest.raises(SourceError, match=r"X\.npy ends before byte .*; it was cut off"):
        list(blocks)


def test_numbers_that_are_not_exact_floats_are_refused(tmp_path):
    np.save(tmp_path / "X.npy", np.array([[2**60, 1]]))
    with pytest.raises(InputError, match=r"X\.npy: some columns hold whole numbers beyond 2\^53"):
        tamis.open(tmp_path / "X.npy").load()
