"""AnnDataSource: the matrix of an AnnData .h5ad file or .zarr folder, read directly.

Ranges of the arrays are read with h5py or zarr, never through AnnData's own backed mode. The layout
decides the axis: compressed columns (CSC) stream columns; compressed rows (CSR) and dense matrices
stream rows, and are transposed once when columns are needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, RowBlock
from tamis.core.errors import SourceError
from tamis.core.names import Names
from tamis.core.sentences import suggestion
from tamis.sources.addresses import AddressedFile, from_here
from tamis.sources.base import (
    MEMORY,
    ColumnSource,
    Progress,
    RowSource,
    Source,
    as_path,
    seen_as,
    short_hash,
)
from tamis.sources.omics import anndata_file as file
from tamis.sources.tables.table_columns import name_one
from tamis.sources.text_files import TextFile


class AnnDataSource(Source):
    """Cells are rows and genes (`var`) are columns, called by their names in `var`."""

    format: ClassVar[str] = "anndata"

    path: str
    n_rows: int = 0
    n_columns: int = 0
    stored: int | None = None

    def __init__(self, path: str, target: str | None, layer: str | None, memory: int) -> None:
        self.path = path
        self.layer, self.memory, self.target_name = layer, memory, target
        if "://" in self.path and self.path.rstrip("/").endswith(".zarr"):
            raise SourceError(
                f"{self.path}: a .zarr folder cannot be read from an address; write it as .h5ad or "
                "convert it to a column store"
            )
        if "://" not in self.path and not os.path.isdir(self.path):
            TextFile(self.path)  # raises an error if it does not exist
        self._y: npt.NDArray[Any] | None = None
        self._pointers: npt.NDArray[np.int64] | None = None
        with file.opened(self.path) as root:
            self._matrix = matrix = _find_matrix(self.path, root, layer)
            # Only `raw` has a table of its own that names the columns.
            var = matrix.where.removesuffix("X") + "var" if matrix.where[:3] == "raw" else "var"
            self._names = file.index_names(root[var])
            if target is not None:
                there = file.column_names(root["obs"])
                if target not in there:
                    raise SourceError(
                        f"{self.path} has no column {target!r} in obs; "
                        + suggestion(target, there or ["none"], "its columns are")
                    )
                self._y = file.column(self.path, root, "obs", target)
        (self.n_rows, self.n_columns), self.stored = matrix.shape, matrix.stored
        if "://" in self.path and matrix.layout != "csc":
            raise SourceError(
                f"{self.path}: {matrix.where} is not stored by columns (CSC), the only "
                "layout that can be read from an address; copy it to a local file first"
            )
        found = (self.n_rows if self._y is None else len(self._y), len(self._names))
        if found != matrix.shape:
            raise SourceError(
                f"{self.path}: {matrix.where} has {self.n_rows} rows and {self.n_columns} "
                f"columns, and obs and var name {found[0]} and {found[1]}; write the file again"
            )

    def missing_target(self) -> str | None:
        """Return how to give a target, or None if there is one."""
        if self.target_name is not None:
            return None
        with file.opened(self.path) as root:
            there = file.column_names(root["obs"])
        return name_one(self.path, there, "obs")

    def target(self) -> npt.NDArray[Any] | None:
        """Return the column of `obs` that was named, or None."""
        return self._y

    def names(self) -> Names:
        """Return the names of the columns."""
        return self._names

    def row_names(self) -> npt.NDArray[Any]:
        """Return the names of the cells."""
        with file.opened(self.path) as root:
            return np.array(list(file.index_names(root["obs"])))

    @property
    def column_names(self) -> list[str]:
        """Names of the columns of `obs`."""
        with file.opened(self.path) as root:
            return file.column_names(root["obs"])

    def column(self, name: str) -> npt.NDArray[Any] | None:
        """Return a column of `obs`, or None if it does not exist."""
        with file.opened(self.path) as root:
            there = name in file.column_names(root["obs"])
            return file.column(self.path, root, "obs", name) if there else None

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        return {"kept_by": self._matrix.layout, "matrix": self._matrix.where}

    def fingerprint(self) -> str:
        """Return a short hash of the bytes on disk, the layer and the target's name."""
        parts = [f"{self.layer!r} {self.target_name!r}"]
        if "://" in self.path:
            parts.append(AddressedFile(self.path).fingerprint())
        for path in _files(self.path):
            parts.append(os.path.relpath(path, self.path))
            if os.path.getsize(path):
                parts.append(TextFile(path).fingerprint())
        return short_hash(*parts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path and the options."""
        return type(self), (from_here(self.path), self.target_name, self.layer, self.memory)


class AnnDataColumns(AnnDataSource, ColumnSource):
    """A matrix in CSC layout."""

    portable = True

    def read(self, lo: int, hi: int) -> ColumnBlock:
        """Read only columns lo to hi - 1."""
        with file.opened(self.path) as root:
            if self._pointers is None:
                self._pointers = self._matrix.bounds(root)
            vectors = self._matrix.vectors(root, self._pointers, lo, hi)
        block = ColumnBlock(lo, self.n_rows, vectors.widened(), self._names.part(lo, hi))
        return block.without_zeros()


class AnnDataRows(AnnDataSource, RowSource):
    """A matrix in CSR layout, or a dense one."""

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows."""
        matrix = self._matrix
        with file.opened(self.path) as root:
            read: Any = partial(matrix.rows, root)
            if matrix.layout == "csr":
                read = partial(matrix.vectors, root, matrix.bounds(root))
            yield from self._row_ranges(read, size, progress)


def open_anndata(
    path: str | os.PathLike[str],
    target: str | None = None,
    layer: str | None = None,
    *,
    memory: int = MEMORY,
) -> AnnDataSource:
    """Open a matrix by columns if it is stored by columns (CSC), else by rows.

    Parameters
    ----------
    path : str or path
        An .h5ad file or a .zarr folder.
    target : str, optional
        Name of the column of `obs` that is the target; categories are returned as their values.
    layer : str, optional
        Name of the layer to read; "raw" is the matrix stored as `raw`. By default `X`.
    memory : int
        Bytes that transposing rows may use; larger data is transposed on disk, next to the file.

    Notes
    -----
    Missing values (NaN) stay NaN. Unsorted and duplicate indices are sorted and summed, block by
    block.
    """
    rows = AnnDataRows(as_path(path), target, layer, memory)
    return seen_as(AnnDataColumns, rows) if rows._matrix.layout == "csc" else rows


def _find_matrix(path: str, root: Any, layer: str | None) -> file.Matrix:
    choices = {name: f"layers/{name}" for name in root.get("layers", ())}
    raw = "raw/X" if "raw" in root else "raw.X"  # before anndata 0.7
    if raw in root:
        choices["raw"] = raw
    others = f"its layers are {', '.join(sorted(choices))}" if choices else "it has no layers"
    if layer is None:
        if "X" not in root:
            raise SourceError(f"{path} has no matrix X; name a layer: {others}")
        return file.Matrix(path, "X", root["X"])
    if layer not in choices:
        raise SourceError(f"{path} has no layer {layer!r}; {others}")
    return file.Matrix(path, choices[layer], root[choices[layer]])


def _files(path: str) -> Iterator[str]:
    """Yield the file itself, or all files of a folder in order of name."""
    if os.path.isfile(path):
        yield path
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            yield os.path.join(folder, name)
