"""NpzSource against the scipy matrix it was written from."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tamis.core.errors import SourceError
from tamis.sources.arrays.npz import NpzSource


@pytest.fixture
def matrix():
    return sp.random(25, 11, 0.3, "csr", random_state=np.random.default_rng(0))


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
@pytest.mark.parametrize("width", [None, 1, 4, 50])
def test_both_axes_come_back(tmp_path, matrix, layout, width):
    sp.save_npz(tmp_path / "m.npz", matrix.asformat(layout))
    source = NpzSource(tmp_path / "m.npz", y=np.arange(25))
    assert (source.n_rows, source.n_columns) == (25, 11)
    want = matrix.toarray()
    columns = [
        sp.csc_matrix((b.values.data, b.values.indices, b.values.indptr), (25, b.width)).toarray()
        for b in source.columns(width)
    ]
    assert np.array_equal(np.hstack(columns), want)
    blocks = list(source.batches(width))
    rows = [
        sp.csr_matrix((b.values.data, b.values.indices, b.values.indptr), (b.height, 11)).toarray()
        for b in blocks
    ]
    assert np.array_equal(np.vstack(rows), want)
    assert np.concatenate([b.y for b in blocks]).tolist() == list(range(25))
    X, y = source.load()
    assert np.array_equal(X.toarray(), want)
    assert y.tolist() == list(range(25))


def test_the_target_is_found_beside_the_file(tmp_path, matrix):
    sp.save_npz(tmp_path / "m.npz", matrix)
    assert NpzSource(tmp_path / "m.npz").target() is None
    without = NpzSource(tmp_path / "m.npz").info().fingerprint
    np.save(tmp_path / "y.npy", np.zeros(25))
    assert NpzSource(tmp_path / "m.npz").target().tolist() == [0.0] * 25
    assert NpzSource(tmp_path / "m.npz").info().fingerprint != without
    np.save(tmp_path / "m.y.npy", np.ones(25, dtype=int))
    assert NpzSource(tmp_path / "m.npz").target().tolist() == [1] * 25
    np.save(tmp_path / "other.npy", np.full(25, "a"))
    assert NpzSource(tmp_path / "m.npz", y=tmp_path / "other.npy").target().tolist() == ["a"] * 25


def test_whole_numbers_flags_and_duplicates_become_plain_floats(tmp_path):
    for dtype in (np.int8, np.bool_, np.float32):
        sp.save_npz(tmp_path / "m.npz", sp.csr_matrix(np.eye(3, dtype=dtype)))
        X, _ = NpzSource(tmp_path / "m.npz").load()
        assert X.dtype == np.float64
        assert np.array_equal(X.toarray(), np.eye(3))
    twice = sp.csr_matrix(([1.0, 2.0, 4.0], [2, 0, 2], [0, 3]), (1, 3))
    sp.save_npz(tmp_path / "m.npz", twice)
    X, _ = NpzSource(tmp_path / "m.npz").load()
    assert (X.indices.tolist(), X.data.tolist()) == ([0, 2], [2.0, 5.0])


def test_info(tmp_path, matrix):
    sp.save_npz(tmp_path / "m.npz", matrix)
    info = NpzSource(tmp_path / "m.npz", y=np.arange(25) % 2).info()
    assert (info.format, info.axis, info.layout) == ("npz", "columns", "sparse")
    assert (info.n_rows, info.n_columns, info.stored) == (25, 11, matrix.nnz)
    assert info.details["kept_by"] == "csr"
    assert len(info.fingerprint) == 16


def test_refusals(tmp_path, matrix):
    path = tmp_path / "m.npz"
    with pytest.raises(SourceError, match="does not exist"):
        NpzSource(path)
    np.savez(path, a=np.ones(3))
    with pytest.raises(SourceError, match=r"scipy\.sparse\.save_npz"):
        NpzSource(path)
    path.write_bytes(b"not a zip file")
    with pytest.raises(SourceError, match=r"scipy\.sparse\.save_npz"):
        NpzSource(path)
    sp.save_npz(path, matrix)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(SourceError, match=r"scipy\.sparse\.save_npz"):
        NpzSource(path)
    sp.save_npz(path, matrix)
    with pytest.raises(SourceError, match=r"y has shape \(3,\)"):
        NpzSource(path, y=[1, 2, 3]).target()
    np.save(tmp_path / "y.npy", np.array([object()] * 25), allow_pickle=True)
    with pytest.raises(SourceError, match="without objects"):
        NpzSource(path).target()
    matrix.data[3] = np.nan
    sp.save_npz(path, matrix)
    with pytest.raises(SourceError, match="NaN or infinity"):
        NpzSource(path).load()
    sp.save_npz(path, sp.csr_matrix(np.eye(2) * 1j))
    with pytest.raises(SourceError, match="complex128"):
        NpzSource(path, y=[1, 2]).load()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("n", [1000, 2**53 + 1, 2**62])
def test_a_shape_that_does_not_fit_in_memory_is_one_sentence(tmp_path, monkeypatch, axis, n):
    if n == 1000:  # as many as Linux would give, and then end the process
        monkeypatch.setattr("tamis.sources.matrix.available_bytes", lambda: 11_999.0)
    make = sp.csr_matrix if axis else sp.csc_matrix
    sp.save_npz(tmp_path / "X.npz", make(([1.0], ([0], [3])), shape=(4, 5)))
    with np.load(tmp_path / "X.npz") as file:
        arrays = {name: file[name] for name in file.files}
    arrays["shape"] = np.array([4, n] if axis else [n, 5])
    np.savez(tmp_path / "X.npz", **arrays)
    source = NpzSource(tmp_path / "X.npz")
    what = "columns" if axis else "rows"
    with pytest.raises(SourceError, match=f"has {n:,} {what}, which do not fit"):
        next(source.columns() if axis else source.rows(10, lambda *_: None))


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo"])
def test_indices_outside_the_matrix_are_refused_before_scipy_follows_them(tmp_path, kind):
    sp.save_npz(tmp_path / "X.npz", sp.random(6, 8, 0.5, random_state=0).asformat(kind))
    with np.load(tmp_path / "X.npz") as file:
        arrays = {name: file[name] for name in file.files}
    arrays["row" if kind == "coo" else "indptr"][1] = 10**8
    np.savez(tmp_path / "X.npz", **arrays)
    with pytest.raises(SourceError, match=r"X\.npz cannot be read as a scipy sparse matrix"):
        NpzSource(tmp_path / "X.npz").load()
