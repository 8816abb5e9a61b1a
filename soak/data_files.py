"""Files of data, beside independent readers of them."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import math
import re
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp

import tamis
from soak import mutate
from soak.reader import Content, Reader, content, differ, seeds, sparse, table

# --- text ----------------------------------------------------------------------------------------


def svmlight_text(rng: Random) -> bytes:
    X, y = sparse(rng)
    base = rng.randrange(2)
    lines = []
    for r in range(X.shape[0]):
        lo, hi = X.indptr[r], X.indptr[r + 1]
        entries = zip(X.indices[lo:hi].tolist(), X.data[lo:hi].tolist(), strict=True)
        fields = [str(y[r]), *(f"{j + base}:{v!r}" for j, v in entries)]
        if rng.random() < 0.1:
            fields.append(rng.choice(["# note", " ", "\r", "#1:2"]))
        lines.append(" ".join(fields))
    return ("\n".join(lines) + "\n").encode()


class Svmlight(Reader):
    """Text of sparse rows, beside scikit-learn's loader."""

    name = "svmlight"

    def make(self, folder: Path, rng: Random) -> Path:
        path = folder / "a.svm"
        known = rng.random() < 0.3
        path.write_bytes(rng.choice(seeds("svmlight")) if known else svmlight_text(rng))
        return path

    def peer(self, path: Path, original: Path) -> Content | None:
        return by_sklearn(path.read_bytes())


def by_sklearn(text: bytes) -> Content:
    """Read svmlight text with scikit-learn."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(text.removeprefix(b"\xef\xbb\xbf")), zero_based="auto")
    return content(X, y)


class Compressed(Svmlight):
    """Compressed text, beside Python's own decompression and scikit-learn's loader."""

    name = "compressed text"

    def make(self, folder: Path, rng: Random) -> Path:
        import zstandard

        text, how = svmlight_text(rng), rng.choice(["gz", "bz2", "zst"])
        pack = {"gz": gzip.compress, "bz2": bz2.compress, "zst": zstandard.compress}[how]
        half = len(text) // 2 if rng.random() < 0.3 else len(text)
        path = folder / f"a.svm.{how}"
        path.write_bytes(pack(text[:half]) + (pack(text[half:]) if half < len(text) else b""))
        return path

    def damage(self, path: Path, rng: Random) -> str:
        return mutate.some_bytes(path, rng)

    def peer(self, path: Path, original: Path) -> Content | None:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            return by_sklearn(gzip.decompress(data))
        if data[:3] == b"BZh":
            return by_sklearn(bz2.decompress(data))
        if data[:4] == b"\x28\xb5\x2f\xfd":
            import zstandard

            reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
            return by_sklearn(reader.read())
        return by_sklearn(data)


class Csv(Reader):
    """Separated values, beside pandas, which splits the fields, and Python's float."""

    name = "CSV"
    _NUMBER = re.compile(
        r"[ \t]*[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity)[ \t]*", re.IGNORECASE
    )

    def make(self, folder: Path, rng: Random) -> Path:
        if rng.random() < 0.3:
            (folder / "a.csv").write_bytes(rng.choice(seeds("CSV")))
            return folder / "a.csv"
        delimiter = rng.choice([",", ",", ";", "\t", "|"])
        columns, quote = table(rng), rng.random() < 0.3
        lines = [delimiter.join(columns)]
        for row in zip(*columns.values(), strict=True):
            fields = ["" if v is None else str(v) for v in row]
            lines.append(delimiter.join(f'"{w}"' if quote and w else w for w in fields))
        path = folder / f"a.{'tsv' if delimiter == chr(9) else 'csv'}"
        path.write_bytes(rng.choice(["\n", "\n", "\r\n"]).join([*lines, ""]).encode())
        return path

    def options(self, path: Path) -> dict[str, Any]:
        return {"target": "y"}

    def read(self, path: Path) -> Content:
        source = tamis.open(path, target="y")
        X, y = source.load()
        names = list(source.names())
        self._how = source.details()
        return {"y": y, "X": np.asarray(X), "names": names}

    def peer(self, path: Path, original: Path) -> Content | None:
        import pandas as pd

        delimiter, decimal = self._how["delimiter"], self._how["decimal"]
        # pandas loses an empty value after a lone carriage return
        lone = b"\r" in path.read_bytes().replace(b"\r\n", b"")
        if delimiter == " " or decimal != "." or lone:
            return None
        frame = pd.read_csv(
            path, sep=delimiter, dtype=str, na_filter=False, encoding="utf-8-sig",
            compression=None,
        )  # fmt: skip
        names = [re.sub(r"^Unnamed: \d+$", "", name) for name in frame.columns]
        aside = [] if isinstance(frame.index, pd.RangeIndex) else [""]  # names of rows
        names = [*aside, *names]
        if names.count("") > 1:  # as tamis names all but the first column
            names[1:] = [name or f"column {j}" for j, name in enumerate(names[1:], 2)]
        frame.columns = names[len(aside) :]
        return {name: self._column(frame[name].tolist()) for name in frame.columns}

    def compare(self, ours: Content, theirs: Content) -> str | None:
        """Compare column by column; those that tamis leaves out (dates) have no values."""
        if list(ours["names"]) != [n for n in theirs if n in set(ours["names"])]:
            return f"names {ours['names']} and {list(theirs)}"
        for j, name in enumerate(ours["names"]):
            if theirs[name] is not None and (
                found := differ({name: ours["X"][:, j]}, {name: theirs[name]})
            ):
                return found
        return None

    def _column(self, texts: list[str]) -> Any:
        """Return numbers, or codes of sorted text; None if tamis may read the column otherwise."""
        from tamis.sources.text.csv_text import usual_gaps

        gaps = set(usual_gaps())
        there = [text for text in texts if text not in gaps]
        if all(self._NUMBER.fullmatch(text) for text in there):
            return np.array([math.nan if text in gaps else float(text) for text in texts])
        other = re.compile(r".*\d[,./:-]\d|\W*\d[\d.,]*\W*\w{0,8}\W*$", re.S)
        if any(self._NUMBER.fullmatch(text) or other.match(text) for text in there):
            return None  # grouped thousands, dates, units
        order = {text: k for k, text in enumerate(sorted(set(there), key=str.encode))}
        return np.array([math.nan if text in gaps else float(order[text]) for text in texts])


# --- tables --------------------------------------------------------------------------------------


class Parquet(Reader):
    """Parquet and Arrow files with ordinary and odd types, beside polars."""

    name = "Parquet, Arrow"

    def make(self, folder: Path, rng: Random) -> Path:
        import pyarrow as pa
        from pyarrow import feather, parquet

        columns = {name: pa.array(values) for name, values in table(rng).items()}
        n = len(columns["y"])
        odd = [
            pa.array([[1], [2, 3]] * (n // 2)), pa.array([{"a": 1}] * n), pa.nulls(n),
            pa.array(np.full(n, 1.5, np.float16)), pa.array(range(n), pa.decimal128(9, 2)),
            pa.array(["a", "b"] * (n // 2)).dictionary_encode(), pa.array(range(n), pa.uint64()),
            pa.array(range(n), pa.timestamp("ns")), pa.array([b"x", b"\xff"] * (n // 2)),
            pa.array([2**60 + k for k in range(n)]), pa.array(range(n), pa.duration("s")),
        ]  # fmt: skip
        if rng.random() < 0.4:
            columns["odd"] = rng.choice(odd)
        made = pa.table(columns)
        how = rng.choice(["parquet", "parquet", "arrow", "feather"])
        path = folder / f"a.{how}"
        if how == "parquet":
            parquet.write_table(
                made, path, row_group_size=rng.choice([5, 100]), version="2.6",
                compression=rng.choice(["snappy", "zstd", "none"]),
                use_dictionary=rng.random() < 0.5, data_page_version=rng.choice(["1.0", "2.0"]),
            )  # fmt: skip
        elif how == "feather":
            feather.write_feather(made, path, compression=rng.choice(["lz4", "uncompressed"]))
        else:
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, made.schema) as writer:
                writer.write_table(made, max_chunksize=rng.choice([7, 100]))
        return path

    def options(self, path: Path) -> dict[str, Any]:
        return {"target": "y"}

    def read(self, path: Path) -> Content:
        source = tamis.open(path, target="y", dates="ignore")
        X, y = source.load()
        columns = {name: X[:, j] for j, name in enumerate(source.names())}
        return {"y": y, **columns}

    def peer(self, path: Path, original: Path) -> Content | None:
        import polars as pl

        read = pl.read_parquet if path.suffix == ".parquet" else pl.read_ipc
        try:
            frame = read(io.BytesIO(path.read_bytes()))  # not mapped
        except pl.exceptions.ComputeError as error:
            if "not implemented" in str(error):  # by an older polars
                return None
            raise
        found: Content = {}
        for series in frame:
            if series.dtype.is_numeric() or series.dtype == pl.Boolean:
                found[series.name] = series.cast(pl.Float64).to_numpy()
        return found

    def compare(self, ours: Content, theirs: Content) -> str | None:
        """Compare the columns of numbers that both have."""
        common = [name for name in theirs if name in ours and name != "y"]
        return differ(ours, {name: theirs[name] for name in common})


class Sql(Reader):
    """Database files, beside sqlite3 and duckdb."""

    name = "SQLite, DuckDB"

    def make(self, folder: Path, rng: Random) -> Path:
        columns = {k: v for k, v in table(rng).items() if not isinstance(v[0], str)}
        columns = {"a": [rng.gauss(0, 1) for _ in columns["y"]], **columns}
        rows = list(zip(*columns.values(), strict=True))
        marks = ", ".join("?" * len(columns))
        if rng.random() < 0.25:  # a DuckDB file has half a megabyte
            import duckdb

            path = folder / "a.duckdb"
            types = ", ".join(f"{name} DOUBLE" for name in columns)
            with duckdb.connect(str(path)) as db:
                db.execute(f"create table t ({types})")
                db.executemany(f"insert into t values ({marks})", rows)
            return path
        path = folder / "a.sqlite"
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("pragma page_size=1024")
            db.execute(f"create table t ({', '.join(columns)})")
            db.executemany(f"insert into t values ({marks})", rows)
        return path

    def options(self, path: Path) -> dict[str, Any]:
        return {"format": "sql", "query": "select * from t", "target": "y"}

    def read(self, path: Path) -> Content:
        source = tamis.open(path, **self.options(path))
        X, _ = source.load()
        return {"names": list(source.names()), "X": X}

    def peer(self, path: Path, original: Path) -> Content | None:
        if path.suffix == ".duckdb":
            import duckdb

            with duckdb.connect(str(path), read_only=True) as db:
                answer = db.execute("select * from t")
                names, rows = [d[0] for d in answer.description], answer.fetchall()
        else:
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
                answer = db.execute("select * from t")
                names, rows = [d[0] for d in answer.description], answer.fetchall()
        keep = [k for k, name in enumerate(names) if name != "y"]
        X = np.array(
            [[math.nan if row[k] is None else float(row[k]) for k in keep] for row in rows]
        )
        return {"names": [names[k] for k in keep], "X": X.reshape(len(rows), len(keep))}


# --- arrays and stores ---------------------------------------------------------------------------


class Numpy(Reader):
    """Files of numpy and scipy, beside their own loaders."""

    name = "npy, npz"

    def make(self, folder: Path, rng: Random) -> Path:
        X, y = sparse(rng)
        np.save(folder / "a.y.npy", y)
        if rng.random() < 0.5:
            dense = X.toarray().astype(rng.choice(["f8", "f4", "i4", "i8", "u1", "b1"]))
            np.save(folder / "a.npy", np.asarray(dense, order=rng.choice("CF")))
            return folder / "a.npy"
        how = rng.choice(["csr", "csc", "coo", "bsr"])
        sp.save_npz(folder / "a.npz", X.asformat(how), compressed=rng.random() < 0.5)
        return folder / "a.npz"

    def damage(self, path: Path, rng: Random) -> str:
        if path.suffix == ".npz" and rng.random() < 0.4:  # inside the zip file
            with np.load(path) as file:
                arrays = {name: file[name] for name in file.files}
            name = rng.choice([name for name in arrays if name != "format"])
            changed = arrays[name].reshape(-1)
            if len(changed):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    number = np.array(rng.choice(mutate.NUMBERS) % 2**62, "i8")
                    changed[rng.randrange(len(changed))] = number.astype(changed.dtype)
            np.savez(path, **arrays)
            return f"one number of {name}"
        other = path.with_name("a.y.npy")
        return mutate.damage(other if rng.random() < 0.15 else path, rng)

    def peer(self, path: Path, original: Path) -> Content | None:
        y = np.load(path.with_name("a.y.npy"), allow_pickle=False)
        if path.suffix == ".npy":
            return content(np.load(path, allow_pickle=False), y)
        X = sp.load_npz(path)
        X.tocsr().check_format(full_check=True)
        return content(X.astype(np.float64), y)


class Stores(Reader):
    """Column stores and row stores, beside a slow reader of their files."""

    name = "cols, rows"

    def make(self, folder: Path, rng: Random) -> Path:
        from tamis.sources.axis import write_rows, write_store

        X, y = sparse(rng)
        names = [f"gene_{j}é" for j in range(X.shape[1])] if rng.random() < 0.5 else None
        source = tamis.open(X.toarray() if rng.random() < 0.3 else X.tocsc(), y=y)
        if names is not None:
            source._names = tamis.sources.Names.of(names)
        if rng.random() < 0.5:
            write_store(folder / "a.cols", source)
            return folder / "a.cols"
        write_rows(folder / "a.rows", source)
        return folder / "a.rows"

    def peer(self, path: Path, original: Path) -> Content | None:
        meta = json.loads((path / "meta.json").read_bytes())
        y = np.load(path / "y.npy")
        shape = meta["n_rows"], meta["n_columns"]
        if (path / "dense.npy").exists():
            dense = np.load(path / "dense.npy")
            return content(dense.T if path.suffix == ".cols" else dense, y)
        pointers, values = np.load(path / "pointers.npy"), None
        if path.suffix == ".cols":
            indices = np.load(path / "places.npy")
            if meta["values"] != "ones":
                values = np.load(path / "values.npy").astype(float)
            values = np.ones(len(indices)) if values is None else values
            X: Any = sp.csc_matrix((values, indices, pointers), shape=shape)
        else:
            X = sp.csr_matrix((*_decoded(path, meta), pointers), shape=shape)
        X.check_format(full_check=True)
        return content(X, y)


def _decoded(path: Path, meta: dict[str, Any]) -> tuple[Any, Any]:
    """Return the values and feature numbers of a row store, one number at a time."""
    pointers, blocks = np.load(path / "pointers.npy"), np.load(path / "blocks.npy")
    gaps, values = np.load(path / "gaps.npy").tobytes(), np.load(path / "values.npy").tobytes()
    types = {0: None, 1: "u1", 2: "<u2", 4: "<f4", 8: "<f8"}
    indices, data = [], []
    ends = [*blocks[1:, 0].tolist(), meta["n_rows"]]
    for (row, at, width, n_far, value_at, value_width), end in zip(
        blocks.tolist(), ends, strict=True
    ):
        n = int(pointers[end] - pointers[row])
        units = np.frombuffer(gaps, f"<u{width}", n, at).astype(object)
        far_at = at + -(-n * width // 8) * 8
        far = np.frombuffer(gaps, "<i8", 2 * n_far, far_at).reshape(2, n_far)
        for where, gap in far.T.tolist():
            units[where] = gap
        kind = types[value_width]
        data += [1.0] * n if kind is None else np.frombuffer(values, kind, n, value_at).tolist()
        for r in range(row, end):
            before = -1
            for unit in units[pointers[r] - pointers[row] : pointers[r + 1] - pointers[row]]:
                before += int(unit) + 1
                indices.append(before - meta["first_number"])
    return np.array(data, float), np.array(indices, np.int64)


# --- genes ---------------------------------------------------------------------------------------


class AnnData(Reader):
    """AnnData in HDF5 and Zarr, beside h5py, zarr and scipy."""

    name = "h5ad, zarr"

    def make(self, folder: Path, rng: Random) -> Path:
        X, y = sparse(rng)
        how = rng.choice(["csr", "csc", "dense"])
        arrays: dict[str, Any] = {"obs/type": y, "obs/_index": [f"cell{i}" for i in range(len(y))]}
        arrays["var/_index"] = [f"gene{j}" for j in range(X.shape[1])]
        if how == "dense":
            arrays["X"] = X.toarray()
        else:
            made = X.asformat(how)
            arrays |= {f"X/{k}": getattr(made, k) for k in ("data", "indices", "indptr")}
        if rng.random() < 0.6:
            import h5py

            path, packed = folder / "a.h5ad", rng.random() < 0.5
            with h5py.File(path, "w", libver=rng.choice(["earliest", "latest"])) as root:
                for name, values in arrays.items():
                    more = (
                        {"compression": "gzip", "chunks": True} if packed and name[0] == "X" else {}
                    )
                    root.create_dataset(name, data=values, **more)
                _describe(root, how, X.shape)
            return path
        import numcodecs
        import zarr

        path, version = folder / "a.zarr", rng.choice([2, 3])
        packed: Any = {"auto": "auto", "none": None, "blosc": numcodecs.Blosc()}
        if version == 3:
            packed["blosc"] = zarr.codecs.BloscCodec()
        options = {"compressors": packed[rng.choice(list(packed))]}
        whole = version == 3 and rng.random() < 0.3
        root = zarr.open_group(path, mode="w", zarr_format=version)
        for name, values in arrays.items():
            array = np.asarray(values)
            chunks = tuple(max(1, n // 2) for n in array.shape)
            shards = {
                "shards": tuple(-(-n // c) * c for n, c in zip(array.shape, chunks, strict=True))
            }
            root.create_array(
                name, data=array, chunks=chunks, **options, **(shards if whole else {})
            )
        _describe(root, how, X.shape)
        return path

    def damage(self, path: Path, rng: Random) -> str:
        if path.suffix != ".h5ad" or rng.random() < 0.6:
            return mutate.damage(path, rng)
        import h5py

        with h5py.File(path, "r+") as root:
            names: list[str] = []
            root.visit(names.append)
            node = root[rng.choice(names)]
            if isinstance(node, h5py.Group):
                if len(node.attrs) and rng.random() < 0.5:
                    key = rng.choice(list(node.attrs))
                    node.attrs[key] = rng.choice([b"x", 7, [2**40, 3], "csr_matrix"])
                    return f"attribute {key} of {node.name}"
                key = rng.choice(list(node))
                del node[key]
                return f"delete {node.name}/{key}"
            if node.dtype.kind in "if" and node.size:
                at = tuple(rng.randrange(n) for n in node.shape)
                node[at] = rng.choice(
                    [0, -1, 2**31 - 1, 5, float("nan") if node.dtype.kind == "f" else 3]
                )
                return f"one number of {node.name}"
            return f"nothing in {node.name}"

    def options(self, path: Path) -> dict[str, Any]:
        return {"target": "type"}

    def peer(self, path: Path, original: Path) -> Content | None:
        if path.is_dir():
            import zarr

            return _by_arrays(zarr.open_group(path, mode="r"))
        import h5py

        with h5py.File(path, "r") as root:
            return _by_arrays(root)


def _describe(root: Any, how: str, shape: tuple[int, int]) -> None:
    """Write the attributes by which AnnData recognises tables and matrices."""
    for name in ("obs", "var"):
        root[name].attrs.update({"_index": "_index", "encoding-type": "dataframe"})
        root[name].attrs["column-order"] = ["type"] if name == "obs" else []
    if how != "dense":
        root["X"].attrs.update({"encoding-type": f"{how}_matrix", "shape": list(shape)})


def _by_arrays(root: Any) -> Content:
    y, node = np.asarray(root["obs/type"][...]), root["X"]
    if hasattr(node, "shape"):
        return content(np.asarray(node[...]), y)
    parts = [np.asarray(node[k][...]) for k in ("data", "indices", "indptr")]
    kind = {"csr": sp.csr_matrix, "csc": sp.csc_matrix}[str(node.attrs["encoding-type"])[:3]]
    X = kind(tuple(parts), shape=tuple(int(n) for n in node.attrs["shape"]))
    X.check_format(full_check=True)
    return content(X.astype(np.float64), y)


class Plink(Reader):
    """PLINK genotypes, beside a few lines of numpy."""

    name = "PLINK"

    def make(self, folder: Path, rng: Random) -> Path:
        import bed_reader

        draw = np.random.default_rng(rng.randrange(2**32))
        calls = draw.choice([0.0, 1.0, 2.0, np.nan], (21, 13))
        phenotypes = [str(1 + k % 2) for k in range(21)]
        bed_reader.to_bed(folder / "a.bed", calls, properties={"pheno": phenotypes})
        return folder / "a.bed"

    def damage(self, path: Path, rng: Random) -> str:
        return mutate.damage(path.with_suffix(rng.choice([".bed", ".bim", ".fam"])), rng)

    def peer(self, path: Path, original: Path) -> Content | None:
        n, m = (
            sum(bool(line.strip()) for line in path.with_suffix(end).read_bytes().split(b"\n"))
            for end in (".fam", ".bim")
        )
        data = np.frombuffer(path.read_bytes(), np.uint8)
        if data[2] != 1:
            return None
        packed = data[3:].reshape(m, -1)
        bits = (packed[:, :, None] >> np.array([0, 2, 4, 6])) & 3
        codes = bits.reshape(m, -1)[:, :n].T
        return {"X": np.array([2.0, np.nan, 1.0, 0.0])[codes]}
