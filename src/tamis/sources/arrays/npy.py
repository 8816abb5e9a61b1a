"""NpySource: a table of numbers in an .npy file, read in parts.

It is not memory-mapped: if a mapped file is cut off, reading it kills the process.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.lib import format

from tamis.core.blocks import ColumnBlock, RowBlock
from tamis.core.errors import SourceError, one_sentence
from tamis.core.params import Number, check
from tamis.sources.addresses import LocalFile, in_bands
from tamis.sources.arrays.in_memory import refuse_rounding
from tamis.sources.base import MEMORY, ColumnSource, Progress, RowSource, seen_as
from tamis.sources.matrix import MatrixFile

#: A longer file is damaged, even if it announces that it is empty.
MOST = 2**48


class NpyRows(MatrixFile, RowSource):
    """A two-dimensional array on disk, by rows.

    Parameters
    ----------
    path : str or path
        Written by `numpy.save`: numbers or Booleans. A file in Fortran order is read fastest, and
        only the blocks in use are in memory.
    y : array, str or path, optional
        The target, or an .npy file that holds it. By default NAME.y.npy or y.npy next to the file,
        if there is one.
    memory, work
        A file in C order that is larger than `memory` bytes is treated as stored by rows; reading
        it by columns transposes it once, in the folder `work`.
    """

    format: ClassVar[str] = "npy"

    def __init__(
        self,
        path: str | os.PathLike[str],
        y: Any = None,
        *,
        memory: int = MEMORY,
        work: str | os.PathLike[str] | None = None,
    ) -> None:
        check("npy", "memory", memory, Number(1, integer=True))
        super().__init__(path, y)
        self.memory, self.work = memory, work
        what = f"{self.path} cannot be read as an array"
        with one_sentence(what, "write it with numpy.save, without objects"):
            shape, self._by_columns, self._dtype, self._begin = _read_header(self.path)
        if len(shape) != 2:
            raise SourceError(f"{self.path} has shape {shape}; a table has two dimensions")
        if self._dtype.kind not in "biuf":
            raise SourceError(f"{self.path} holds {self._dtype} values; store real numbers")
        self.n_rows, self.n_columns = shape
        size = math.prod(shape) * self._dtype.itemsize
        if self._begin + size > self._bytes.size or max(shape) > MOST:
            raise SourceError(
                f"{self.path} cannot be read as an array (it ends before the {shape[0]:,} x "
                f"{shape[1]:,} values that it announces); write it with numpy.save"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path, not the array; the target is included."""
        how = partial(type(self), y=self.target(), memory=self.memory, work=self.work)
        return how, (os.path.abspath(self.path),)

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows."""
        read: Callable[[int, int], npt.NDArray[Any]] = self._outer
        if self._by_columns:
            read = in_bands(self._inner, (self.n_rows, self.n_columns), self.memory)
        return self._row_ranges(lambda lo, hi: read(lo, hi).astype(np.float64), size, progress)

    def load(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any] | None]:
        """Return everything at once: an array, and the target."""
        outer = self._outer(0, self.n_columns if self._by_columns else self.n_rows)
        return (outer.T if self._by_columns else outer).astype(np.float64), self.target()

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        order = "Fortran" if self._by_columns or 1 in (self.n_rows, self.n_columns) else "C"
        return {"bytes": self._bytes.size, "values": str(self._dtype), "order": order}

    def _outer(self, lo: int, hi: int) -> npt.NDArray[Any]:
        """Return lines lo to hi - 1 of the file: rows, or columns in Fortran order."""
        inner = self.n_rows if self._by_columns else self.n_columns
        first = self._begin + lo * inner * self._dtype.itemsize
        return self._checked(LocalFile(self.path).array(self._dtype, first, (hi - lo, inner)))

    def _inner(self, lo: int, hi: int) -> npt.NDArray[Any]:
        """Return rows lo to hi - 1 of a file in Fortran order, one column after another."""
        size = self._dtype.itemsize
        first, step, shape = self._begin + lo * size, self.n_rows * size, (self.n_columns, hi - lo)
        return self._checked(LocalFile(self.path).spaced(self._dtype, first, shape, step))

    def _checked(self, part: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return part of the array; integers that floats cannot represent exactly are refused."""
        refuse_rounding(part, f"{self.path}: some columns")
        return part


class NpySource(NpyRows, ColumnSource):
    """An array on disk that can be read by columns and by rows."""

    axis = "columns"
    portable = True

    def read(self, lo: int, hi: int) -> ColumnBlock:
        """Read only columns lo to hi - 1."""
        columns = self._outer(lo, hi) if self._by_columns else self._whole[:, lo:hi].T
        values = np.ascontiguousarray(columns, np.float64).T
        return ColumnBlock(lo, self.n_rows, values)

    @cached_property
    def _whole(self) -> npt.NDArray[Any]:
        """All of a file in C order; a large one is not read by columns."""
        return self._outer(0, self.n_rows)


def open_npy(
    path: str | os.PathLike[str],
    y: Any = None,
    *,
    memory: int = MEMORY,
    work: str | os.PathLike[str] | None = None,
) -> NpyRows:
    """Open an array; a large one in C order is read by rows."""
    rows = NpyRows(path, y, memory=memory, work=work)
    is_spread = not rows._by_columns and 1 not in (rows.n_rows, rows.n_columns)
    return rows if is_spread and rows._bytes.size > rows.memory else seen_as(NpySource, rows)


def _read_header(path: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return the shape of an .npy file, whether it is in Fortran order, its type, and its start."""
    readers = {(1, 0): format.read_array_header_1_0, (2, 0): format.read_array_header_2_0}
    with open(path, "rb") as file:
        version = format.read_magic(file)
        if version not in readers:
            raise ValueError(f"it is of version {version}, which holds no plain numbers")
        shape, by_columns, dtype = readers[version](file)
        if min(shape, default=0) < 0:
            raise ValueError(f"its shape is {shape}")
        return shape, by_columns, dtype, file.tell()
