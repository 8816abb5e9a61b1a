"""Writes a column store, column after column, in the folder that `FolderWriter` makes."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.errors import InputError, SourceError
from tamis.core.names import Names
from tamis.sources.stores.folder_writer import FolderWriter
from tamis.sources.stores.store_files import Values

FORMAT, VERSION = "tamis-columns", 1


class StoreWriter(FolderWriter):
    """Takes columns in order and commits them as one store; used as a context manager."""

    KIND: ClassVar[str] = "column store"

    def __init__(self, path: str, *, force: bool = False) -> None:
        super().__init__(path, force=force)
        self.n_columns = self.stored = 0
        self._n_rows: int | None = None
        self._values: Values | None = None
        #: Which columns hold words, by the number of the first column that is told about.
        self.words: dict[int, npt.NDArray[np.bool_]] = {}

    def _close(self) -> None:
        super()._close()
        if self._values is not None and self._values.file is not None:
            self._values.file.close()

    @property
    def is_dense(self) -> bool:
        """True once dense columns were appended."""
        return self._values is not None and "pointers.npy" not in self._files

    def append(self, block: ColumnBlock) -> None:
        """Append the columns of a block."""
        if isinstance(block.values, Compressed):
            self._n_rows = block.n_rows
            self.append_sparse(block.values.indptr, block.values.indices, block.values.data)
        else:
            self.append_dense(block.values)
        if block.names is not None:
            self.append_names(block.names)
        if block.is_text is not None:
            self.words[self.n_columns - block.width] = block.is_text

    def append_sparse(
        self,
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[Any],
        values: npt.NDArray[Any] | None,
    ) -> None:
        """Append compressed columns, pointers from 0; values None means that all of them are 1."""
        start = self.stored
        self.append_entries(indices, values)
        self.close_columns(indptr[1:] + start)

    def append_entries(self, indices: npt.NDArray[Any], values: npt.NDArray[Any] | None) -> None:
        """Append entries only; `close_columns` tells later which columns they make."""
        if self._values is None:
            self._values = Values(os.path.join(self.folder, "values.npy"))
            self._open("pointers.npy", "<i8").append([0])
            self._open("places.npy", "<i4")
        elif self.is_dense:
            raise InputError("sparse columns cannot follow dense ones in one column store")
        self._files["places.npy"].append(indices)
        self._values.append(values, len(indices))
        self.stored += len(indices)

    def close_columns(self, ends: npt.NDArray[np.int64]) -> None:
        """Say where each of the next columns ends among all entries so far."""
        self._files["pointers.npy"].append(ends)
        self.n_columns += len(ends)

    def append_dense(self, columns: npt.NDArray[Any]) -> None:
        """Append dense columns, an array of shape (rows, columns)."""
        if self._values is None:
            self._values = Values(os.path.join(self.folder, "dense.npy"), level=1)
            self._n_rows = columns.shape[0]
        elif not self.is_dense or columns.shape[0] != self._n_rows:
            raise InputError("all columns of a store must be dense and of one length, or sparse")
        self._values.append(np.ascontiguousarray(columns.T).reshape(-1), columns.size)
        self.n_columns += columns.shape[1]

    def commit(
        self,
        *,
        n_rows: int,
        y: npt.NDArray[Any] | None = None,
        name_prefix: str = "x",
        name_base: int = 0,
        source: dict[str, Any] | None = None,
    ) -> None:
        """Make everything durable and move it into place."""
        if self._values is None:
            self.append_sparse(np.zeros(1, np.int64), np.zeros(0, np.int32), None)
        values = self._values
        assert values is not None
        self._check(n_rows, y)
        if y is not None:
            y = np.asarray(y)
            y = y.astype(str) if y.dtype.kind == "O" else y
            self._open("y.npy", y.dtype).append(y)
        if any(part.any() for part in self.words.values()):
            words = np.zeros(self.n_columns, dtype=np.bool_)
            for first, part in self.words.items():
                words[first : first + len(part)] = part
            self._open("words.npy", "|b1").append(words)
        files = {name: file.finish() for name, file in self._files.items()}
        if values.file is not None:
            shape = (self.n_columns, n_rows) if self.is_dense else (values.count,)
            files[os.path.basename(values.path)] = values.file.finish(shape)
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "n_rows": n_rows,
            "n_columns": self.n_columns,
            "layout": "dense" if self.is_dense else "sparse",
            "stored": None if self.is_dense else self.stored,
            "values": ("ones", "float32", "float64")[values.level],
            **values.facts(),
            "name_prefix": name_prefix,
            "name_base": name_base,
            "source": source,
            "files": files,
        }
        self._finish(meta)

    def _check(self, n_rows: int, y: npt.NDArray[Any] | None) -> None:
        if self._n_rows is not None and self._n_rows != n_rows:
            raise SourceError(f"{self._n_rows} rows were read where {n_rows} are expected")
        if y is not None and len(y) != n_rows:
            raise InputError(f"y holds {len(y)} values for {n_rows} rows")
        offsets = self._files.get("names_offsets.npy")
        if offsets is not None and offsets.bytes != 8 * (self.n_columns + 1):
            raise InputError("some columns have names and others have none; name all or none")

    def append_names(self, names: Names) -> None:
        """Append the names of the next columns."""
        if "names.bin" not in self._files:
            self._open("names.bin", None)
            self._open("names_offsets.npy", "<i8").append([0])
        blob = self._files["names.bin"]
        self._files["names_offsets.npy"].append(names.offsets[1:] - names.offsets[0] + blob.bytes)
        blob.append(names.blob)
