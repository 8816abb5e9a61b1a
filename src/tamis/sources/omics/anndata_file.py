"""AnnData in an HDF5 file or a Zarr folder: both are read through the same few calls.

A table (`obs`, `var`) is a group of columns. A column is an array, or a group of codes and
categories, or a group of values and a mask. A matrix is an array, or a group of the three arrays of
compressed rows or columns. Before anndata 0.7 a table was one array of records.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed
from tamis.core.errors import SourceError, need, one_sentence
from tamis.core.names import Names
from tamis.core.process_memory import available_bytes
from tamis.sources.addresses import AddressedFile
from tamis.sources.omics.hdf5_probe import refuse_endless
from tamis.sources.omics.zarr_probe import refuse_unsafe

#: Bytes fetched at a time from an address: HDF5 makes many small reads.
_METADATA = 1 << 16


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """Open the file or folder and yield its root group; damage raises a one-sentence error."""
    what = f"{path} cannot be read as AnnData"
    with one_sentence(what, "fetch it or write it again"):
        if os.path.isdir(path):
            zarr = need("zarr", extra="anndata", what_for="reading an AnnData .zarr folder")
            yield zarr.open_group(path, mode="r")
        else:
            h5py = need("h5py", extra="anndata", what_for="reading an AnnData .h5ad file")
            far: Any = AddressedFile(path).open(_METADATA) if "://" in path else None
            if far is None:
                refuse_endless(path)
            with far or nullcontext(path) as held, h5py.File(held, "r") as file:
                yield file


def is_array(node: Any) -> bool:
    """Return True for an array, False for a group."""
    return hasattr(node, "shape")


class Matrix:
    """One matrix of an AnnData file: its location, its layout, and access to its vectors."""

    def __init__(self, path: str, where: str, node: Any) -> None:
        self.path, self.where = path, where
        attributes = dict(node.attrs)
        kind = str(attributes.get("encoding-type", attributes.get("h5sparse_format", "array")))
        self.layout = "dense" if is_array(node) else kind[:3]
        if self.layout not in ("dense", "csr", "csc"):
            raise SourceError(
                f"{path}: {where} is of the kind {kind!r}, which is not a matrix that tamis reads; "
                "write it as an array, CSR or CSC"
            )
        values = node if is_array(node) else node["data"]
        for array in [node] if is_array(node) else [node[k] for k in ("data", "indices", "indptr")]:
            refuse_unsafe(array)
        shape = attributes.get("shape", attributes.get("h5sparse_shape", values.shape))
        self.stored = None if is_array(node) else int(values.shape[0])
        if len(shape) != 2:
            raise SourceError(
                f"{path}: {where} has shape {tuple(shape)}; a matrix has two dimensions"
            )
        if values.dtype.kind not in "biuf":
            raise SourceError(f"{path}: {where} holds {values.dtype} values; store real numbers")
        self.shape = (int(shape[0]), int(shape[1]))

    def bounds(self, root: Any) -> npt.NDArray[np.int64]:
        """Return where each compressed vector begins, and where the last one ends."""
        node, length = root[self.where]["indptr"], self.shape[0 if self.layout == "csr" else 1]
        fits = tuple(node.shape) == (length + 1,)  # before it is read: it may claim any length
        indptr = np.asarray(node[...] if fits else [-1]).astype(np.int64)
        whole = fits and indptr[0] == 0 and indptr[-1] == self.stored
        if not whole or np.any(np.diff(indptr) < 0):
            raise SourceError(
                f"{self.path} is damaged: {self.where}/indptr does not fit its matrix; "
                "fetch it or write it again"
            )
        return indptr

    def vectors(self, root: Any, indptr: npt.NDArray[np.int64], lo: int, hi: int) -> Compressed:
        """Return compressed vectors lo to hi - 1: float64, with sorted, unique indices."""
        from scipy.sparse import csr_matrix

        first, last = int(indptr[lo]), int(indptr[hi])
        group, across = root[self.where], self.shape[1 if self.layout == "csr" else 0]
        indices = np.asarray(group["indices"][first:last])
        values = np.asarray(group["data"][first:last]).astype(np.float64, copy=False)
        if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= across):
            raise SourceError(
                f"{self.path} is damaged: {self.where}/indices holds an index of {across} "
                "or more; fetch it or write it again"
            )
        parts = (values, indices, indptr[lo : hi + 1] - first)
        matrix = csr_matrix(parts, shape=(hi - lo, across))
        matrix.sum_duplicates()  # many programs write unsorted indices
        return Compressed(matrix.indptr.astype(np.int64), matrix.indices, matrix.data)

    def rows(self, root: Any, lo: int, hi: int) -> npt.NDArray[np.float64]:
        """Return dense rows lo to hi - 1."""
        return np.ascontiguousarray(root[self.where][lo:hi], dtype=np.float64)


def column(path: str, root: Any, where: str, name: str) -> npt.NDArray[Any]:
    """Return the values of one column of a table; missing values are refused."""
    table = root[where]
    node = table[name]
    missing = None
    if is_array(node):
        values = _values(node)
        # Where anndata stored the categories before 0.8 and before 0.7.
        for kept, key in ((f"{where}/__categories", name), ("uns", f"{name}_categories")):
            if kept in root and key in root[kept] and values.dtype.kind == "i":
                values, missing = _decoded(values, _values(root[kept][key]))
    elif "codes" in node:
        values, missing = _decoded(_values(node["codes"]), _values(node["categories"]))
    else:
        values, missing = _values(node["values"]), _values(node["mask"]).astype(bool)
    if values.dtype.kind == "f":
        missing = np.isnan(values) if missing is None else missing | np.isnan(values)
    if missing is not None and missing.any():
        raise SourceError(
            f"{path}: {int(missing.sum())} of the {len(values)} values of {name!r} in {where} are "
            "missing; fill them, or drop these rows, and write the file again"
        )
    return values


def index_names(table: Any) -> Names:
    """Return the names of the rows of a table: of `var`, the names of the features."""
    if is_array(table):
        index = table["index" if "index" in table.dtype.names else table.dtype.names[0]]
    else:
        index = table[str(table.attrs["_index"])]
    values = _values(index if is_array(index) else index["values"])
    return Names.of(values.tolist())


def column_names(table: Any) -> list[str]:
    """Return the names of the columns of a table, in the order in which they were written."""
    if is_array(table):
        return [str(name) for name in table.dtype.names if name != "index"]
    order = table.attrs.get("column-order")
    if order is None:
        return sorted(set(table) - {table.attrs.get("_index"), "__categories"})
    return [str(name) for name in np.asarray(order).tolist()]


def _decoded(codes: Any, categories: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Any]:
    """Return the values of codes, and a mask of missing ones (code -1)."""
    missing = codes < 0
    if not len(categories):
        return np.zeros(len(codes)), missing
    return categories[np.where(missing, 0, codes)], missing


def _values(node: Any) -> npt.NDArray[Any]:
    """Return a whole one-dimensional array; text as str."""
    refuse_unsafe(node)
    # Chunks that are not stored are zeros: a damaged length would fill the memory with them.
    if math.prod(node.shape) * 2 * max(8, node.dtype.itemsize) > available_bytes():
        raise MemoryError(f"{math.prod(node.shape):,} values do not fit in memory")
    values = np.asarray(node[...])
    if values.dtype.kind not in "OST":
        return values
    return np.array(
        [v.decode("utf-8", "surrogateescape") if isinstance(v, bytes) else str(v) for v in values],
        dtype=np.str_,
    )
