"""AnnDataSource against files that anndata wrote: kept ones, and new ones where it is installed."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tamis.checks import check
from tamis.core.blocks import Compressed
from tamis.core.errors import MissingDependencyError, SourceError
from tamis.sources import open_source
from tamis.sources.axis import to_columns
from tamis.sources.omics import hdf5_probe
from tamis.sources.omics.anndata_matrix import open_anndata

h5py = pytest.importorskip("h5py")
DATA = Path(__file__).parent / "data"
CELLS = np.load(DATA / "cells.npz")
GENES = ["g0", "g1", "g2"]
#: Layer -> how it lies, and by what the kept matrix is multiplied.
LAYERS = {None: ("csc", 1), "rows": ("csr", 2), "dense": ("dense", 3), "raw": ("csr", 4)}


@pytest.fixture(params=["h5ad", "zarr 2", "zarr 3"])
def cells(request, tmp_path):
    """A file or folder that anndata wrote."""
    if request.param == "h5ad":
        return DATA / "cells.h5ad"
    version = request.param[-1]
    zarr = pytest.importorskip("zarr")
    if version == "3" and zarr.__version__.startswith("2"):
        pytest.skip("zarr 2 does not read version 3")
    shutil.unpack_archive(DATA / f"cells_v{version}.zarr.zip", tmp_path / "cells.zarr")
    return tmp_path / "cells.zarr"


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_is_what_was_written(cells, layer):
    kept_by, factor = LAYERS[layer]
    source = open_source(cells, target="type", layer=layer)
    X, y = source.load()
    assert np.array_equal(X if kept_by == "dense" else X.toarray(), factor * CELLS["X"])
    assert y.tolist() == CELLS["type"].tolist()
    assert list(source.names()) == [f"gene{j}" for j in range(20)]
    assert source.info().details["kept_by"] == kept_by
    assert source.axis == ("columns" if kept_by == "csc" else "rows")
    check(source)


@pytest.mark.parametrize("name", ["type", "batch", "dose", "alive", "day"])
def test_every_kind_of_obs_column_can_be_a_target(cells, name):
    target = open_anndata(cells, target=name).target()
    assert target.astype(str).tolist() == CELLS[name].tolist()


def test_names_survive_the_turn_to_columns(cells, tmp_path):
    source = open_anndata(cells, target="type", layer="rows")
    store = to_columns(source, tmp_path / "kept.cols")
    assert [name for block in store.columns(7) for name in block.names] == list(source.names())
    assert store.target().tolist() == source.target().tolist()
    messages: list[str] = []
    to_columns(source, tmp_path / "kept.cols", say=messages.append)
    assert messages[-1].startswith("using the column store")
    # Another target, or another layer, is not what was kept.
    other = to_columns(open_anndata(cells, "dose", "rows"), tmp_path / "kept.cols")
    assert other.target().tolist() == source_target(cells, "dose")


def source_target(path, name):
    return open_anndata(path, name).target().tolist()


def test_transposing_more_than_fits_in_memory_uses_the_disk(tmp_path):
    shutil.copy(DATA / "cells.h5ad", tmp_path / "cells.h5ad")
    for layer in ("rows", "dense"):
        source = open_anndata(tmp_path / "cells.h5ad", layer=layer, memory=2000)
        messages: list[str] = []
        columns = to_columns(
            source, progress=lambda *words, messages=messages: messages.append(words[0])
        )
        blocks = list(columns.columns(6))
        del columns
        assert [name for b in blocks for name in b.names] == list(source.names())
        found = np.hstack([_dense(block) for block in blocks])
        assert np.array_equal(found, LAYERS[layer][1] * CELLS["X"])
        assert "reading rows" in messages
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cells.h5ad"]


def _dense(block):
    v = block.values
    if not isinstance(v, Compressed):
        return v
    return sp.csc_matrix((v.data, v.indices, v.indptr), (block.n_rows, block.width)).toarray()


def write_by_hand(path, X, names, **sparse):
    """The least that a file needs, for what anndata would not write."""
    with h5py.File(path, "w") as file:
        for table, index in (("obs", range(X.shape[0])), ("var", names)):
            group = file.create_group(table)
            group.attrs["_index"] = "_index"
            group.attrs["column-order"] = []
            group["_index"] = [str(i) for i in index]
        group = file.create_group("X")
        group.attrs["encoding-type"] = f"{X.format}_matrix"
        group.attrs["shape"] = X.shape
        for name, array in {"data": X.data, "indices": X.indices, "indptr": X.indptr}.items():
            group[name] = sparse.get(name, array)


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_unsorted_and_duplicate_indices_are_corrected(tmp_path, layout):
    want = sp.random(6, 5, 0.7, layout, random_state=np.random.default_rng(1))
    messy = want.copy()
    for lo, hi in zip(messy.indptr[:-1], messy.indptr[1:], strict=True):
        for array in (messy.indices, messy.data):
            array[lo:hi] = array[lo:hi][::-1].copy()
    write_by_hand(tmp_path / "a.h5ad", messy, "abcde")
    source = open_anndata(tmp_path / "a.h5ad")
    check(source)
    assert np.array_equal(source.load()[0].toarray(), want.toarray())


def test_missing_values_stay_missing(tmp_path):
    X = sp.csc_matrix([[1.0, 0.0], [np.nan, 2.0]])
    write_by_hand(tmp_path / "a.h5ad", X, "ab")
    (block,) = to_columns(open_anndata(tmp_path / "a.h5ad")).columns()
    assert np.isnan(block.values.data).tolist() == [False, True, False]


def test_files_from_before_anndata_0_7(tmp_path):
    """Tables as one array of records, categories in `uns`, `raw.X`: as scanpy still ships one."""
    X = sp.random(4, 3, 0.5, "csr", random_state=np.random.default_rng(1))
    obs = np.array(
        [(b"c0", 1, 2.5), (b"c1", 0, 3.5), (b"c2", 1, 4.5), (b"c3", 2, 5.5)],
        dtype=[("index", "S2"), ("kind", "i1"), ("size", "<f4")],
    )
    with h5py.File(tmp_path / "old.h5ad", "w") as file:
        file["obs"], file["X"] = obs, X.toarray()
        file["var"] = np.array([(b"g0",), (b"g1",), (b"g2",)], dtype=[("index", "S2")])
        file["raw.var"] = np.array([(b"r0",), (b"r1",), (b"r2",)], dtype=[("index", "S2")])
        file["uns/kind_categories"] = np.array([b"a", b"b", b"c"])
        group = file.create_group("raw.X")
        group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = "csr", X.shape
        group["data"], group["indices"], group["indptr"] = X.data, X.indices, X.indptr
    source = open_anndata(tmp_path / "old.h5ad", "kind", "raw")
    assert source.target().tolist() == ["b", "a", "b", "c"]
    assert list(source.names()) == ["r0", "r1", "r2"]
    assert np.array_equal(source.load()[0].toarray(), X.toarray())
    source = open_anndata(tmp_path / "old.h5ad", "size")
    assert (source.target().tolist(), list(source.names())) == ([2.5, 3.5, 4.5, 5.5], GENES)
    assert "its columns are kind, size" in sentence(tmp_path / "old.h5ad", "age")


def sentence(*args, **options):
    with pytest.raises(SourceError) as caught:
        list(to_columns(open_anndata(*args, **options)).columns())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_missing_columns_layers_and_files_are_named(cells, tmp_path):
    assert sentence(cells, target="age") == (
        f"{cells} has no column 'age' in obs; its columns are type, batch, dose, alive, day, gaps"
    )
    assert sentence(cells, layer="x") == (
        f"{cells} has no layer 'x'; its layers are dense, raw, rows"
    )
    assert sentence(cells, target="gaps") == (
        f"{cells}: 10 of the 30 values of 'gaps' in obs are missing; fill them, or drop these "
        "rows, and write the file again"
    )
    none = tmp_path / "none.h5ad"
    assert sentence(none) == f"{none} does not exist; check the path"


def test_a_file_that_is_cut_off_is_one_sentence(tmp_path):
    whole = (DATA / "cells.h5ad").read_bytes()
    for length in (1, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.h5ad").write_bytes(whole[:length])
        message = sentence(tmp_path / "cut.h5ad")
        assert "cannot be read as AnnData" in message
        assert message.endswith("fetch it or write it again")


def test_damage_inside_is_one_sentence(tmp_path):
    X = sp.random(6, 5, 0.7, "csc", random_state=np.random.default_rng(1))
    path = tmp_path / "a.h5ad"
    write_by_hand(path, X, "abcde", indices=X.indices + 3)
    assert "X/indices holds an index of 6 or more" in sentence(path)
    write_by_hand(path, X, "abcde", indptr=X.indptr[:-1])
    assert "X/indptr does not fit its matrix" in sentence(path)
    write_by_hand(path, X, "abc")
    assert "X has 6 rows and 5 columns, and obs and var name 6 and 3" in sentence(path)
    write_by_hand(path, X, "abcde", data=X.data.astype("S3"))
    assert "X holds |S3 values; store real numbers" in sentence(path)
    with h5py.File(path, "w") as file:
        file["other"] = [1]
    assert "has no matrix X; name a layer: it has no layers" in sentence(path)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'tamis\[anndata\]'"):
        open_anndata(DATA / "cells.h5ad")


@pytest.mark.parametrize("layout", ["csr", "csc", "dense"])
def test_files_that_anndata_writes_today(tmp_path, layout):
    anndata = pytest.importorskip("anndata")
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    X = np.round(rng.normal(size=(40, 11)), 3) * (rng.random((40, 11)) < 0.5)
    words = rng.choice(["x", "y"], 40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecation warnings of the package
        anndata.settings.allow_write_nullable_strings = True
        matrix = X if layout == "dense" else sp.csr_matrix(X).asformat(layout)
        obs = pd.DataFrame({"word": words, "category": pd.Categorical(words)})
        made = anndata.AnnData(matrix, obs=obs.set_index(obs.index.astype(str)))
        made.write_h5ad(tmp_path / "a.h5ad", compression="gzip")
        made.write_zarr(tmp_path / "a.zarr")
    for name in ("a.h5ad", "a.zarr"):
        for column in ("word", "category"):
            source = open_anndata(tmp_path / name, target=column)
            assert source.target().tolist() == words.tolist()
        check(source)
        found = source.load()[0]
        assert np.array_equal(found if layout == "dense" else found.toarray(), X)


def test_a_file_that_hangs_the_library_is_refused(tmp_path, monkeypatch):
    # The heap of names has an object without a length: the library walks over it forever.
    monkeypatch.setattr(hdf5_probe, "LIMIT", 2)
    path = tmp_path / "a.h5ad"
    with h5py.File(path, "w") as root:
        root["X"] = np.eye(3)
        for name in ("obs", "var"):
            root[f"{name}/_index"] = [f"{name}{i}" for i in range(3)]
            root[name].attrs["_index"] = "_index"
    whole = path.read_bytes()
    heap = whole.index(b"GCOL")
    path.write_bytes(whole[: heap + 48] + bytes(1000) + whole[heap + 1048 :])
    with pytest.raises(SourceError, match=r"a\.h5ad is damaged: the HDF5 library does not end"):
        open_source(path)


# --- damaged chunks of a Zarr folder -------------------------------------------------------------


def zarr_cells(folder, version, **options):
    """A .zarr folder with one matrix; return its values and the files that hold them."""
    zarr = pytest.importorskip("zarr")
    X = np.arange(120.0).reshape(12, 10) % 7
    root = zarr.open_group(folder, mode="w", zarr_format=version)
    root.create_array("X", data=X, chunks=(6, 5), **options)
    for name, n in zip(("obs", "var"), X.shape, strict=True):
        root.create_array(f"{name}/_index", data=np.arange(n))
        root[name].attrs["_index"] = "_index"
    files = [path for path in (folder / "X").rglob("*") if path.is_file()]
    return X, sorted(path for path in files if path.name[0] != "." and path.suffix != ".json")


def blosc(version):
    zarr, numcodecs = pytest.importorskip("zarr"), pytest.importorskip("numcodecs")
    return {"compressors": numcodecs.Blosc() if version == 2 else zarr.codecs.BloscCodec()}


BLOSC = {"2": (2, {}), "3": (3, {}), "shards": (3, {"shards": (12, 10)})}


@pytest.mark.parametrize("case", BLOSC)
def test_a_blosc_chunk_with_deleted_or_added_bytes_is_refused(tmp_path, case):
    # Blosc would read the memory behind the chunk: other values each time, or a crash.
    version, options = BLOSC[case]
    folder = tmp_path / "a.zarr"
    X, chunks = zarr_cells(folder, version, **blosc(version), **options)
    assert len(chunks) == (1 if case == "shards" else 4)
    assert np.array_equal(open_source(folder).load()[0], X)
    whole = chunks[-1].read_bytes()
    for part in (whole[:-1], whole[:20] + whole[60:], whole[:9], b"", whole + b"x"):
        chunks[-1].write_bytes(part)
        with pytest.raises(SourceError, match=r"; fetch it or write it again$"):
            open_source(folder).load()
    chunks[-1].write_bytes(whole)
    assert np.array_equal(open_source(folder).load()[0], X)


def test_a_shard_whose_index_points_outside_it_is_refused(tmp_path):
    folder = tmp_path / "a.zarr"
    _, (shard,) = zarr_cells(folder, 3, **blosc(3), shards=(12, 10))
    whole = bytearray(shard.read_bytes())
    at = len(whole) - 4 - 16 * 4
    for offset, size in ((2**40, 16), (0, 2**40), (2**63, 1)):
        whole[at : at + 16] = offset.to_bytes(8, "little") + size.to_bytes(8, "little")
        shard.write_bytes(whole)
        with pytest.raises(SourceError, match=r"fetch it or write it again$"):
            open_source(folder)


def test_chunks_that_hold_only_zeros_are_not_stored_and_not_missed(tmp_path):
    folder = tmp_path / "a.zarr"
    zarr = pytest.importorskip("zarr")
    zarr_cells(folder, 3, **blosc(3), shards=(12, 10))
    zarr.open_group(folder)["X"][:6, :5] = 0
    assert np.count_nonzero(open_source(folder).load()[0][:6, :5]) == 0


def test_codecs_that_run_code_or_do_not_check_their_input_are_refused(tmp_path):
    folder = tmp_path / "a.zarr"
    zarr_cells(folder, 2)
    record = json.loads((folder / "X" / ".zarray").read_text())
    codecs = {"pickle": {"id": "pickle", "protocol": 5}, "blosc": {"id": "blosc"}}
    for name, codec in codecs.items():
        changed = record | {"filters": [codec]}  # packed again by another codec
        (folder / "X" / ".zarray").write_text(json.dumps(changed))
        with pytest.raises(SourceError, match=f"{name}"):
            open_source(folder)


def test_targets_and_names_in_damaged_chunks_are_refused(tmp_path):
    zarr = pytest.importorskip("zarr")
    folder = tmp_path / "a.zarr"
    zarr_cells(folder, 2)
    root = zarr.open_group(folder)
    root.create_array("obs/type", data=np.arange(12) % 2, **blosc(2))
    assert open_anndata(folder, target="type").target().tolist() == [0, 1] * 6
    chunk = folder / "obs" / "type" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-3])
    with pytest.raises(SourceError, match="another length"):
        open_anndata(folder, target="type")


def test_an_index_that_claims_another_length_is_refused_before_it_is_read(tmp_path):
    zarr = pytest.importorskip("zarr")
    root = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=2)
    parts = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 2]}
    for name, values in {**{f"X/{k}": v for k, v in parts.items()},
                         "obs/_index": [0, 1], "var/_index": [0, 1]}.items():  # fmt: skip
        root.create_array(name, data=np.array(values))
    for name in ("obs", "var"):
        root[name].attrs.update({"_index": "_index", "column-order": []})
    root["X"].attrs.update({"encoding-type": "csr_matrix", "shape": [2, 2]})
    assert open_source(tmp_path / "a.zarr").load()[0].shape == (2, 2)
    path = tmp_path / "a.zarr" / "X" / "indptr" / ".zarray"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"shape": [2**40]}))
    with pytest.raises(SourceError, match="X/indptr does not fit its matrix"):
        open_source(tmp_path / "a.zarr").load()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"shape": [3]}))
    path = tmp_path / "a.zarr" / "var" / "_index" / ".zarray"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"shape": [2**36]}))
    with pytest.raises(SourceError, match="68,719,476,736 values do not fit in memory"):
        open_source(tmp_path / "a.zarr")
