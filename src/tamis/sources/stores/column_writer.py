"""Write a column store, column by column, in the folder that `FolderWriter` makes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.errors import InputError, SourceError
from tamis.sources.stores.column_store import ColumnStore
from tamis.sources.stores.store_files import DTYPES, FolderWriter, Values
from tamis.sources.stores.store_folder import StoreFolder


class StoreWriter(FolderWriter):
    """Writes columns in order and commits them as one store; used as a context manager."""

    STORE: ClassVar[type[StoreFolder]] = ColumnStore

    def __init__(self, path: str, *, force: bool = False) -> None:
        super().__init__(path, force=force)
        self.n_columns = self.stored = 0
        self._n_rows: int | None = None
        self._values: Values | None = None
        #: Which columns hold text, keyed by the number of the first column covered.
        self.words: dict[int, npt.NDArray[np.bool_]] = {}

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
        """Append compressed columns; `indptr` begins with 0, and without `values` all are 1.

        Entries after the last pointer belong to a column that is not complete yet.
        """
        if self._values is None:
            self._values = Values(self, "values.npy")
            self.open("pointers.npy", "<i8").append([0])
            self.open("places.npy", "<i4")
        elif "dense.npy" in self.files:
            raise InputError("sparse columns cannot follow dense ones in one column store")
        self.files["pointers.npy"].append(indptr[1:] + self.stored)
        self.files["places.npy"].append(indices)
        self._values.append(values, len(indices))
        self.n_columns += len(indptr) - 1
        self.stored += len(indices)

    def append_dense(self, columns: npt.NDArray[Any]) -> None:
        """Append dense columns, an array of shape (rows, columns)."""
        if self._values is None:
            self._values = Values(self, "dense.npy", level=1)
            self._n_rows = columns.shape[0]
        elif "dense.npy" not in self.files or columns.shape[0] != self._n_rows:
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
        """Flush everything to disk and move the store into place."""
        if self._values is None:
            self.append_sparse(np.zeros(1, np.int64), np.zeros(0, np.int32), None)
        values = self._values
        assert values is not None
        if self._n_rows is not None and self._n_rows != n_rows:
            raise SourceError(f"{self._n_rows} rows were read where {n_rows} are expected")
        if y is not None:
            if len(y) != n_rows:
                raise InputError(f"y holds {len(y)} values for {n_rows} rows")
            y = np.asarray(y)
            y = y.astype(str) if y.dtype == object else y
            self.open("y.npy", y.dtype).append(y)
        offsets = self.files.get("names_offsets.npy")
        if offsets is not None and offsets.bytes != 8 * (self.n_columns + 1):
            raise InputError("some columns have names and others have none; name all or none")
        if any(part.any() for part in self.words.values()):
            words = np.zeros(self.n_columns, dtype=np.bool_)
            for first, part in self.words.items():
                words[first : first + len(part)] = part
            self.open("words.npy", "|b1").append(words)
        self._finish(
            (n_rows, self.n_columns),
            None if "dense.npy" in self.files else self.stored,
            str(DTYPES[values.level] or "ones"),
            values,
            {"dense.npy": (self.n_columns, n_rows)},
            {"name_prefix": name_prefix, "name_base": name_base, "source": source},
        )
