"""NpySource: a table of numbers in an .npy file, memory-mapped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, RowBlock
from tamis.core.errors import SourceError
from tamis.core.params import Number, check
from tamis.sources.arrays.in_memory import refuse_rounding
from tamis.sources.base import MEMORY, ColumnSource, Progress, RowSource, seen_as
from tamis.sources.matrix import MatrixFile


class NpyRows(MatrixFile, RowSource):
    """A two-dimensional array on disk, by rows; only the blocks in use are in memory.

    Parameters
    ----------
    path : str or path
        Written by `numpy.save`: numbers or Booleans. A file in Fortran order is read fastest.
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
        try:
            self._array = np.load(self.path, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise SourceError(
                f"{self.path} cannot be read as an array ({' '.join(str(error).split())}); write "
                "it with numpy.save, without objects"
            ) from error
        if self._array.ndim != 2:
            raise SourceError(
                f"{self.path} has shape {self._array.shape}; a table has two dimensions"
            )
        if self._array.dtype.kind not in "biuf":
            raise SourceError(f"{self.path} holds {self._array.dtype} values; store real numbers")
        self.n_rows, self.n_columns = self._array.shape

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path, not the mapped array; the target is included."""
        how = partial(type(self), y=self.target(), memory=self.memory, work=self.work)
        return how, (os.path.abspath(self.path),)

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows."""

        def read(lo: int, hi: int) -> npt.NDArray[np.float64]:
            return np.array(self._part(np.s_[lo:hi]), np.float64, order="C")

        return self._row_ranges(read, size, progress)

    def load(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any] | None]:
        """Return everything at once: an array, and the target."""
        return np.array(self._part(np.s_[:]), np.float64), self.target()

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        order = "Fortran" if self._array.flags.f_contiguous else "C"
        return {"bytes": self._bytes.size, "values": str(self._array.dtype), "order": order}

    def _part(self, which: Any) -> npt.NDArray[Any]:
        """Return part of the array; integers that floats cannot represent exactly are refused."""
        # Accessing a mapped page that no longer exists would kill the process.
        if os.path.exists(self.path) and os.path.getsize(self.path) < self._bytes.size:
            raise SourceError(f"{self.path} was truncated while being read; write it again")
        part: npt.NDArray[Any] = self._array[which]
        refuse_rounding(part, f"{self.path}: some columns")
        return part


class NpySource(NpyRows, ColumnSource):
    """An array on disk that can be read by columns and by rows."""

    axis = "columns"
    portable = True

    def read(self, lo: int, hi: int) -> ColumnBlock:
        """Read only columns lo to hi - 1."""
        values = np.array(self._part(np.s_[:, lo:hi]), np.float64, order="F")
        return ColumnBlock(lo, self.n_rows, values)


def open_npy(
    path: str | os.PathLike[str],
    y: Any = None,
    *,
    memory: int = MEMORY,
    work: str | os.PathLike[str] | None = None,
) -> NpyRows:
    """Open an array; a large one in C order is read by rows."""
    rows = NpyRows(path, y, memory=memory, work=work)
    flags = rows._array.flags
    is_spread = flags.c_contiguous and not flags.f_contiguous and rows._bytes.size > rows.memory
    return rows if is_spread else seen_as(NpySource, rows)
