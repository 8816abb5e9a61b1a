"""Matrix files with a target in a separate file, and sparse matrices in memory."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed, RowBlock
from tamis.core.errors import SourceError
from tamis.core.process_memory import available_bytes
from tamis.sources.base import (
    ColumnSource,
    Progress,
    RowSource,
    Source,
    Wrapper,
    as_path,
    short_hash,
)
from tamis.sources.text_files import TextFile

#: Bytes per row or column while a matrix is turned: an index of 32 bits, and a copy of 64.
_POINTER = 12


class MatrixFile(Source):
    """A file that holds a matrix and no target.

    Parameters
    ----------
    path : str or path
        The matrix. Without `y` the target is NAME.y.npy or y.npy next to it, if there is one.
    y : array, str or path, optional
        The target, or an .npy file that holds it.
    """

    path: str
    n_rows: int = 0
    n_columns: int = 0

    def __init__(self, path: str | os.PathLike[str], y: Any) -> None:
        self.path = as_path(path)
        self._bytes = TextFile(self.path)  # raises an error if it does not exist
        folder, name = os.path.split(self.path)
        self._stem = os.path.splitext(name)[0]
        beside = [os.path.join(folder, name) for name in (f"{self._stem}.y.npy", "y.npy")]
        self._y = y if y is not None else next(filter(os.path.isfile, beside), None)

    def missing_target(self) -> str | None:
        """Return how to give a target, or None if there is one."""
        if self._y is not None:
            return None
        return (
            f"save one with numpy.save as {self._stem}.y.npy beside it, or name the file that "
            "holds it with --y (y=)"
        )

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target that was given or found next to the file, or None."""
        if self._y is not None:
            is_path = isinstance(self._y, (str, os.PathLike))
            y = load_y(as_path(self._y)) if is_path else self._y
            self._y = one_for_each_row(y, self.path, self.n_rows)
        return self._y

    def fingerprint(self) -> str:
        """Return a short hash of the bytes of the file and of the target."""
        fingerprint, y = self._bytes.fingerprint(), self.target()
        if y is None:
            return fingerprint
        values = np.ascontiguousarray(y.astype(str) if y.dtype == object else y)
        return short_hash(fingerprint, str(y.dtype), values.tobytes())


def one_for_each_row(y: Any, path: str, n_rows: int) -> npt.NDArray[Any]:
    """Return a target as an array; raise an error unless it has one value per row."""
    values = np.asarray(y)
    if values.shape != (n_rows,):
        raise SourceError(
            f"y has shape {values.shape} and {path} has {n_rows} rows; "
            "give one target value for each row"
        )
    return values


def load_y(path: str) -> npt.NDArray[Any]:
    """Read a target written by numpy.save."""
    try:
        y: npt.NDArray[Any] = np.load(path, allow_pickle=False)
    except Exception as error:  # NumPy raises many kinds for a damaged header
        raise SourceError(
            f"{path} cannot be read as a target; write it with numpy.save, without objects"
        ) from error
    return y


class MatrixSource(ColumnSource, RowSource):
    """Sparse data in memory that can be read by columns or by rows."""

    @cached_property
    @abstractmethod
    def _matrix(self) -> Any:
        """A canonical CSR or CSC matrix of float64 values."""

    @property
    def stored(self) -> int:
        """Number of stored values."""
        return int(self._matrix.nnz)

    @cached_property
    def _columns(self) -> Compressed:
        with self._in_memory(int(self._matrix.shape[1]), "columns"):
            return vectors(self._matrix.tocsc())

    @contextmanager
    def _in_memory(self, n: int, what: str) -> Iterator[None]:
        """Refuse a shape whose index does not fit; Linux would end the process without a word."""
        try:
            if n * _POINTER > available_bytes():
                raise MemoryError
            yield
        except (MemoryError, ValueError) as error:  # ValueError: more than the address space
            raise SourceError(
                f"{self.path or self.format} has {n:,} {what}, which do not fit in memory; check "
                f"how it was written, or number its {what} without gaps"
            ) from error

    def read(self, lo: int, hi: int) -> ColumnBlock:
        """Return columns lo to hi - 1."""
        names, values = self.names(), self._columns.part(lo, hi).widened()
        some = None if names is None else names.part(lo, hi)
        return ColumnBlock(lo, self.n_rows, values, some).without_zeros()

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows."""
        with self._in_memory(int(self._matrix.shape[0]), "rows"):
            vectors_of_rows = vectors(self._matrix.tocsr())
        return self._row_ranges(vectors_of_rows.part, size, progress)

    def load(self) -> tuple[Any, npt.NDArray[Any] | None]:
        """Return the matrix and the target."""
        return self._matrix, self.target()


class HeldRows(Wrapper, MatrixSource):
    """Sparse rows that fit in memory, readable by columns or rows; read when first needed."""

    stored: Any = MatrixSource.stored

    @cached_property
    def _matrix(self) -> Any:
        return self._source.load()[0]


def vectors(matrix: Any) -> Compressed:
    """Return the rows of a canonical CSR matrix, or the columns of a CSC one, as floats."""
    values = matrix.data.astype(np.float64, copy=False)
    return Compressed(matrix.indptr.astype(np.int64), matrix.indices, values)
