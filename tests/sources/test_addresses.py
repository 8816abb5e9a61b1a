"""Parquet, AnnData and column stores at an address: the same columns, fetched in parts."""

from __future__ import annotations

import http.server
import os
import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp

import tamis
from tamis.checks.data import assert_same_log
from tamis.core.errors import SourceError
from tamis.engine.persistent.resuming import begin, resume
from tamis.methods import BY_METHOD
from tamis.sources import open_source
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store

fsspec = pytest.importorskip("fsspec")

READING = {"X.cols": {}, "dense.cols": {}, "sparse.cols": {}, "X.parquet": {"target": "y"},
           "X.h5ad": {"target": "y"}}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A store with names, a dense and a sparse one, and a Parquet file of several row groups."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("shared")
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    X = (rng.integers(0, 3, (200, 900)) * (rng.random((200, 900)) < 0.3)).astype(float)
    X[:, ::30] += y[:, None] * (rng.random((200, 30)) < 0.6)
    names = [f"c{j}" for j in range(900)]
    table = pa.table({name: X[:, j] for j, name in enumerate(names)} | {"y": y})
    pq.write_table(table, folder / "X.parquet", row_group_size=70)
    write_store(folder / "X.cols", open_source(folder / "X.parquet", target="y"))
    write_store(folder / "dense.cols", MemorySource(rng.normal(size=(200, 900)) + X, y))
    write_store(folder / "sparse.cols", MemorySource(sp.csc_matrix(X), y))
    _write_cells(folder / "X.h5ad", sp.csc_matrix(X), names, y)
    _write_cells(folder / "by_rows.h5ad", sp.csr_matrix(X), names, y)
    return folder


def _write_cells(path, X, names, y):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        matrix = file.create_group("X")
        matrix.attrs.update({"encoding-type": f"{X.format}_matrix", "shape": X.shape})
        for part in ("data", "indices", "indptr"):
            matrix[part] = getattr(X, part)
        for table, index in (("obs", [str(i) for i in range(len(y))]), ("var", names)):
            group = file.create_group(table)
            group.attrs.update({"encoding-type": "dataframe", "_index": "_index"})
            group.attrs["column-order"] = ["y"] if table == "obs" else np.zeros(0)
            group["_index"] = index
        file["obs"]["y"] = y


@pytest.fixture(scope="module")
def memory(folder):
    files = fsspec.filesystem("memory")
    files.put(str(folder), "/shared", recursive=True)
    yield "memory://shared"
    files.rm("/shared", recursive=True)


class _Ranges(http.server.SimpleHTTPRequestHandler):
    """Serves files and parts of them (or not), and counts the bytes that go out."""

    protocol_version = "HTTP/1.1"
    sent, parts = 0, True

    def do_GET(self):
        path = self.translate_path(self.path)
        byte_range = self.headers.get("Range") if self.parts else None
        if not os.path.isfile(path):
            self.send_error(404)
            return
        with open(path, "rb") as file:
            data = file.read()
        first, last = 0, len(data) - 1
        if byte_range:
            lo, _, hi = byte_range.removeprefix("bytes=").partition("-")
            first, last = int(lo), min(int(hi), last) if hi else last
        self.send_response(206 if byte_range else 200)
        if byte_range:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        type(self).sent += last - first + 1  # before the client can see the last byte
        self.wfile.write(data[first : last + 1])

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def web(folder):
    pytest.importorskip("aiohttp")

    class Here(_Ranges):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Here) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", Here
        server.shutdown()


@pytest.mark.parametrize("name", READING)
def test_what_is_at_an_address_is_what_is_on_disk(name, folder, memory, web):
    here = open_source(folder / name, **READING[name])
    expected = tamis.select(here, "saola")
    for place in (memory, web[0], folder.as_uri()):
        there = open_source(f"{place}/{name}", **READING[name])
        assert there.portable
        again = pickle.loads(pickle.dumps(there))
        (a,), (b,) = here.columns(200, 100, 300), again.columns(200, 100, 300)
        assert list(a.names or ()) == list(b.names or ())
        values = [x.values if isinstance(x.values, np.ndarray) else x.values.data for x in (a, b)]
        assert np.array_equal(*values)
        assert np.array_equal(there.target(), here.target())
        assert_same_log(tamis.select(there, "saola", width=77).log, expected.log, place)
        assert there.info().fingerprint == open_source(there.path, **READING[name]).fingerprint()


def test_cells_stored_by_rows_are_reported(memory):
    with pytest.raises(SourceError) as caught:
        open_source(f"{memory}/by_rows.h5ad", target="y")
    assert str(caught.value) == (
        "memory://shared/by_rows.h5ad: X is not stored by columns (CSC), the only layout that can "
        "be read from an address; copy it to a local file first"
    )


def test_only_the_columns_in_use_are_fetched(folder, web):
    place, server = web
    for name, size in (
        ("dense.cols", (folder / "dense.cols" / "dense.npy").stat().st_size),
        ("X.parquet", (folder / "X.parquet").stat().st_size),
    ):
        source = open_source(f"{place}/{name}", **READING[name])
        server.sent = 0
        assert sum(block.width for block in source.columns(None, 450, 459)) == 9
        assert 0 < server.sent < size / 20


def test_a_server_without_range_requests_is_reported(web, monkeypatch):
    place, server = web
    monkeypatch.setattr(server, "parts", False)
    with pytest.raises(SourceError) as caught:
        open_source(f"{place}/X.cols")
    assert "X.cols/" in str(caught.value)
    assert str(caught.value).endswith(
        ": its server cannot send parts of a file; copy it to a local file first"
    )
    with pytest.raises(SourceError, match=r"X\.parquet cannot be read"):
        next(open_source(f"{place}/X.parquet", target="y").columns(3))


@pytest.mark.usefixtures("shared_processes")
def test_workers_fetch_their_own_columns(folder, web):
    here = tamis.select(folder / "X.cols", "saola")
    cells = open_source(f"{web[0]}/X.h5ad", target="y")
    there = tamis.select(cells, "saola", cluster="local:2", width=200)
    assert_same_log(there.log, here.log, "fetched by a worker from .h5ad")
    there = tamis.select(f"{web[0]}/X.cols", "saola", cluster="local:2", width=200)
    assert_same_log(there.log, here.log, "fetched by a worker")


def test_a_run_from_an_address_is_resumed(folder, web, tmp_path):
    source = open_source(f"{web[0]}/X.parquet", target="y")
    begin(tmp_path / "run", source, BY_METHOD["saola"](), {"target": "y"}, name="X.parquet")
    run = resume(tmp_path / "run")
    assert_same_log(run.log, tamis.select(source, "saola").log, "resumed")


def test_a_store_at_an_address_is_verified(memory):
    open_source(f"{memory}/X.cols").verify()
    files = fsspec.filesystem("memory")
    files.cp("/shared/dense.cols", "/damaged.cols", recursive=True)
    data = bytearray(files.cat_file("/damaged.cols/dense.npy"))
    data[5000] ^= 1
    files.pipe_file("/damaged.cols/dense.npy", bytes(data))
    with pytest.raises(SourceError, match=r"dense\.npy has changed; rebuild the store"):
        open_source("memory://damaged.cols").verify()
    files.pipe_file("/damaged.cols/dense.npy", bytes(data[:-8]))
    with pytest.raises(SourceError, match="has another length or shape"):
        open_source("memory://damaged.cols")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("memory://no.cols", "memory://no.cols/meta.json @"),
        ("memory://no.parquet", "memory://no.parquet @"),
        ("nosuch://a.cols", "nosuch://a.cols/meta.json cannot be opened (Protocol not known: "
         "nosuch); check the address"),
        ("memory://a.svm", "memory://a.svm: svmlight data cannot be read from an address, "
         "only Parquet, AnnData .h5ad files and column stores can; copy it to a local file first"),
        ("memory://no.h5ad", "memory://no.h5ad @"),
        ("memory://a.zarr", "memory://a.zarr: a .zarr folder cannot be read from an address; write "
         "it as .h5ad or convert it to a column store"),
        ("http://127.0.0.1:1/a.parquet", "http://127.0.0.1:1/a.parquet @"),
    ],
)  # fmt: skip
def test_unreadable_data_is_reported(address, message):
    with pytest.raises(SourceError) as caught:
        open_source(address)
    gone = "does not exist, or its server cannot be reached; check the address"
    assert str(caught.value) == message.replace("@", gone)


def test_a_broken_parquet_file_at_an_address_is_reported(memory):
    fsspec.filesystem("memory").pipe_file("/broken.parquet", b"PAR1" * 40)
    with pytest.raises(SourceError, match=r"memory://broken\.parquet cannot be read as a Parquet"):
        open_source("memory://broken.parquet")
