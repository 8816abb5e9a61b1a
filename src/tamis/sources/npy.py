"""NpySource: a table of numbers in an .npy file, memory-mapped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, RowBlock
from tamis.core.errors import SourceError
from tamis.core.params import Number, check
from tamis.sources.base import (
    MEMORY,
    Progress,
    Source,
    as_path,
    silent,
)
from tamis.sources.memory import refuse_rounding
from tamis.sources.shared.beside import TargetBeside
from tamis.sources.shared.by_columns import columns_by_disk
from tamis.sources.shared.matrix import block_ranges
from tamis.sources.shared.text import TextFile


class NpySource(Source):
    """A two-dimensional array on disk; only the blocks in use are in memory.

    Parameters
    ----------
    path : str or path
        Written by `numpy.save`: numbers or truth values. A file in Fortran order is read fastest.
    y : array, str or path, optional
        The target, or an .npy file that holds it. By default NAME.y.npy or y.npy beside the file,
        if there is one.
    memory, work
        A file in C order that is larger than `memory` bytes is stored by rows; reading it by
        columns turns it once, in the folder `work`.
    """

    format: ClassVar[str] = "npy"
    portable = True

    path: str

    def __init__(
        self,
        path: str | os.PathLike[str],
        y: Any = None,
        *,
        memory: int = MEMORY,
        work: str | os.PathLike[str] | None = None,
    ) -> None:
        check("NpySource", "memory", memory, Number(1, integer=True))
        self.path, self.memory, self.work = as_path(path), memory, work
        self._bytes = TextFile(self.path)  # says in one sentence if it is not there
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
        self._beside = TargetBeside(self.path, y, self.n_rows)

    @property
    def axis(self) -> Literal["columns", "rows"]:  # type: ignore[override]
        """Rows for a large array in C order, in which a column is spread over the whole file."""
        spread = self._array.flags.c_contiguous and not self._array.flags.f_contiguous
        return "rows" if spread and self._bytes.size > self.memory else "columns"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._array.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self._array.shape[1])

    def missing_target(self) -> str | None:
        """How to give a target, if none was given."""
        return self._beside.missing()

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target given or found beside the file, or None."""
        return self._beside.values()

    def columns(
        self,
        width: int | None = None,
        start: int = 0,
        stop: int | None = None,
        progress: Progress = silent,
    ) -> Iterator[ColumnBlock]:
        """Stream blocks of `width` columns."""
        if self.axis == "rows":
            return columns_by_disk(self, width, start, stop, progress)
        return self._in_blocks(self._read, width, start, stop, progress)

    def _read(self, lo: int, hi: int) -> ColumnBlock:
        """Read columns lo to hi - 1, without others."""
        values = np.array(self._part(slice(None), slice(lo, hi)), np.float64, order="F")
        return ColumnBlock(lo, self.n_rows, values)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the way to it, not the mapped array; the target goes along."""
        how = partial(type(self), y=self.target(), memory=self.memory, work=self.work)
        return how, (os.path.abspath(self.path),)

    def rows(self, size: int | None = None, progress: Progress = silent) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows."""
        y = self.target()
        for lo, hi in block_ranges("rows", size, self.n_rows, self.n_columns, None):
            values = np.array(self._part(slice(lo, hi), slice(None)), np.float64, order="C")
            yield RowBlock(lo, self.n_columns, values, None if y is None else y[lo:hi])
            progress("reading rows", hi, self.n_rows)

    def load(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any] | None]:
        """Everything at once: an array, and the target."""
        whole = slice(None)
        return np.array(self._part(whole, whole), np.float64), self.target()

    def details(self) -> dict[str, Any]:
        """Return what else `tamis info` prints."""
        order = "Fortran" if self._array.flags.f_contiguous else "C"
        return {"bytes": self._bytes.size, "values": str(self._array.dtype), "order": order}

    def fingerprint(self) -> str:
        """Return a short hash of the bytes of the file and of the target."""
        return self._beside.added_to(self._bytes.fingerprint())

    def _part(self, rows: slice, columns: slice) -> npt.NDArray[Any]:
        """Some of the array; whole numbers that floats cannot tell apart are refused."""
        # Touching what is mapped and no longer there would end the process.
        if os.path.exists(self.path) and os.path.getsize(self.path) < self._bytes.size:
            raise SourceError(f"{self.path} was cut off while it was read; write it again")
        part: npt.NDArray[Any] = self._array[rows, columns]
        refuse_rounding(part, f"{self.path}: some columns")
        return part
