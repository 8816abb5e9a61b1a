"""ColumnStore: columns in a folder of plain .npy files, on disk or at an address.

======================  ========================================================================
file                    holds
======================  ========================================================================
pointers.npy            int64, columns + 1: where each column begins in the next two
places.npy              int32: row numbers, increasing within a column
values.npy              float32 where that is exact for every value, else float64; absent when
                        every stored value is 1
dense.npy               instead of these three: one column after another, float32 or float64
y.npy                   the target, if there is one
words.npy               bool: which columns are coded text, if any are
names.bin               names of the columns, UTF-8, end to end; names_offsets.npy splits them
meta.json               shape, layout, what is known about the values, where they came from, and
                        for every file its length and blake2b (of the bytes after an .npy header)
======================  ========================================================================

Written by `tamis.sources.axis.write_store`; no file needs pickle.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.kernels.compressed_checks import first_broken
from tamis.sources.addresses import from_here
from tamis.sources.base import ColumnRange, ColumnSource, as_path, default_width
from tamis.sources.read_ahead import read_ahead, spans
from tamis.sources.stores.store_folder import HEADER, Expected, StoreFolder


class ColumnStore(StoreFolder, ColumnSource):
    """A column store on disk.

    Parameters
    ----------
    path : str or path
        The folder, usually called NAME.cols; or its address, such as ``s3://bucket/NAME.cols``.

    Attributes
    ----------
    meta : dict
        The content of meta.json.
    """

    format: ClassVar[str] = "cols"
    portable = True
    KIND: ClassVar[str] = "column store"
    STORED_AS: ClassVar[tuple[str, int]] = ("tamis-columns", 1)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._open_folder(as_path(path))
        if "://" in self.path:
            self.blocks = self._fetched  # type: ignore[method-assign]
        if self.stored is not None:
            ends = self._part("pointers.npy", 0, 1)[0], self._part("pointers.npy", -1, None)[0]
            if ends != (0, self.stored):
                raise self._damaged("the ends of pointers.npy")

    def expected(self) -> dict[str, Expected]:
        """Return the files that it may have: their types and shapes."""
        n, m = self.n_rows, self.n_columns
        words: dict[str, Expected] = {"words.npy": ("b", (m,))}
        if self.stored is None:
            return {"dense.npy": ("<f4 <f8", (m, n)), **words}
        return {
            "pointers.npy": ("<i8", (m + 1,)), "places.npy": ("<i4", (self.stored,)),
            "values.npy": ("<f4 <f8", (self.stored,)), **words,
        }  # fmt: skip

    def required(self) -> set[str]:
        """Return the files without which the store cannot be read."""
        if self.stored is None:
            return super().required()
        values = set() if self.meta["values"] == "ones" else {"values.npy"}
        return super().required() | {"places.npy"} | values

    def _fetched(self, wanted: ColumnRange) -> Iterator[ColumnBlock]:
        """Stream a range of columns from an address: `blocks` in few requests, made ahead."""
        last = wanted.end(self.n_columns)
        step = wanted.width or default_width(self.n_rows, self.n_columns, self.stored)
        per_column = self.details()["bytes"] / max(1, self.n_columns)
        fetches = spans(wanted.start, last, step, per_column)
        with contextlib.closing(read_ahead(fetches, lambda span: self.read(*span))) as fetched:
            for wide in fetched:
                for lo in range(0, wide.width, step):
                    hi = min(lo + step, wide.width)
                    yield wide.part(lo, hi)
                    wanted.progress("reading columns", wide.first + hi, self.n_columns)

    def read(self, lo: int, hi: int) -> ColumnBlock:
        """Read only columns lo to hi - 1."""
        words = self._part("words.npy", lo, hi) if self._has("words.npy") else None
        values, names = self._values(lo, hi), self._names(lo, hi)
        block = ColumnBlock(lo, self.n_rows, values, names, is_text=words)
        return block.without_zeros() if self.meta["stored_zeros"] else block

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path, not the columns: workers open the folder themselves."""
        return type(self), (from_here(self.path),)

    def some_rows(self, lo: int, hi: int) -> npt.NDArray[Any]:
        """Return rows lo to hi - 1 of all columns of a dense store, one column after another."""
        dtype, shape = np.dtype(self.meta["files"]["dense.npy"]["dtype"]), (self.n_columns, hi - lo)
        if 0 in shape:
            return np.empty(shape, dtype)
        first, step = HEADER + lo * dtype.itemsize, self.n_rows * dtype.itemsize
        return self._at("dense.npy").spaced(dtype, first, shape, step)

    def _values(self, lo: int, hi: int) -> npt.NDArray[np.float64] | Compressed:
        if self.stored is None:
            return self._part("dense.npy", lo, hi).T.astype(np.float64, copy=False)
        indptr = self._part("pointers.npy", lo, hi + 1)
        first, last = int(indptr[0]), int(indptr[-1])
        if not 0 <= first <= last <= self.stored:
            raise self._damaged(f"pointers.npy at columns {lo} to {hi - 1}")
        if self.meta["values"] == "ones":
            values = np.ones(last - first)
        else:
            values = self._part("values.npy", first, last).astype(np.float64, copy=False)
        indptr -= first
        indices = self._part("places.npy", first, last)
        if (broken := first_broken(indptr, indices, self.n_rows)) >= 0:
            raise self._damaged(f"the row numbers of column {lo + broken}")
        return Compressed(indptr, indices, values)
