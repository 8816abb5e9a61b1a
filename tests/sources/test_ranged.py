"""Sources whose columns can be read in any range, by workers that know only the path."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import tamis
from tamis.checks.data import assert_same_log
from tamis.sources import open_source
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store

ROWS, COLUMNS = 150, 400


def numbers():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, ROWS)
    X = rng.integers(0, 3, (ROWS, COLUMNS)) * (rng.random((ROWS, COLUMNS)) < 0.4)
    X[:, ::25] += y[:, None] * (rng.random((ROWS, 16)) < 0.6)
    return X.astype(float), y


def store(folder, X, y):
    return write_store(folder / "X.cols", MemorySource(sp.csc_matrix(X), y))


def npy(folder, X, y):
    np.save(folder / "X.npy", np.asfortranarray(X))
    np.save(folder / "X.y.npy", y)
    return open_source("X.npy")


def npy_by_rows(folder, X, y):
    np.save(folder / "X.npy", np.ascontiguousarray(X))
    return open_source("X.npy", y=y)


def table(X, y):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(COLUMNS)])
    frame["c7"] = np.array(["low", "middle", "high"])[(X[:, 7] % 3).astype(int)]
    return frame.assign(y=y, id=np.arange(len(y)))


def parquet(folder, X, y):
    table(X, y).to_parquet(folder / "X.parquet", index=False, row_group_size=40)
    return open_source("X.parquet", target="y", key="id")


def arrow(folder, X, y):
    table(X, y).to_feather(folder / "X.feather")
    return open_source("X.feather", target="y", ignore=["id"])


def anndata(folder, X, y):
    pd = pytest.importorskip("pandas")
    obs = pd.DataFrame({"y": y}, index=[f"r{i}" for i in range(ROWS)])
    var = pd.DataFrame(index=[f"g{j}" for j in range(COLUMNS)])
    with warnings.catch_warnings(action="ignore"):  # anndata's own, about pandas
        ad = pytest.importorskip("anndata")
        ad.settings.allow_write_nullable_strings = True
        ad.AnnData(sp.csc_matrix(X), obs=obs, var=var).write_h5ad(folder / "X.h5ad")
    return open_source("X.h5ad", target="y")


@pytest.fixture(params=[store, npy, npy_by_rows, parquet, arrow, anndata])
def source(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return request.param(tmp_path, *numbers())


def same(a, b):
    assert (a.first, a.width, a.n_rows) == (b.first, b.width, b.n_rows)
    assert list(a.names or ()) == list(b.names or ())
    dense = [
        block.values
        if isinstance(block.values, np.ndarray)
        else sp.csc_matrix(
            (block.values.data, block.values.indices, block.values.indptr),
            shape=(block.n_rows, block.width),
        ).toarray()
        for block in (a, b)
    ]
    assert np.array_equal(*dense)
    words = [np.zeros(x.width, bool) if x.is_text is None else x.is_text for x in (a, b)]
    assert np.array_equal(*words)


def test_any_range_of_columns_can_be_read(source, tmp_path, monkeypatch):
    assert source.portable
    packed = pickle.dumps(source)
    assert len(packed) < 5_000  # the path, and at most a target
    blocks, target = list(source.columns(90)), source.target()
    monkeypatch.chdir("/")
    there = pickle.loads(packed)
    assert (there.n_rows, there.n_columns) == (source.n_rows, source.n_columns)
    assert there.stored == source.stored
    for block in reversed(blocks):
        (found,) = there.columns(None, block.first, block.first + block.width)
        same(found, block)
    assert np.array_equal(there.target(), target)


@pytest.mark.parametrize("source", [parquet], indirect=True)
@pytest.mark.usefixtures("shared_processes")
def test_workers_read_the_same_columns(source):
    here = tamis.select(source, "saola", width=33)
    there = tamis.select(source, "saola", cluster="local:2", width=70)
    assert_same_log(there.log, here.log, source.format)
    assert sum(1 for _ in here.kept_rows()) > 1
