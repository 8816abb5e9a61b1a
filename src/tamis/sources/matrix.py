"""Sources of a sparse matrix in memory, blocks of a scipy matrix, and labels as whole numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed, RowBlock
from tamis.kernels.counting_sort import begin_columns, count_places, scatter_entries
from tamis.sources.base import (
    ColumnSource,
    Progress,
    RowSource,
    Wrapper,
    default_width,
)


class MatrixSource(ColumnSource, RowSource):
    """Sparse data held in memory, by columns and by rows alike."""

    @abstractmethod
    def _read(self) -> Any:
        """Return a canonical CSR or CSC matrix of float64 values."""

    @property
    def stored(self) -> int:
        """Number of stored values."""
        return int(self._read().nnz)

    @cached_property
    def _columns(self) -> Compressed:
        matrix = self._read().tocsc()
        return Compressed(matrix.indptr.astype(np.int64), matrix.indices, matrix.data)

    def read(self, lo: int, hi: int) -> ColumnBlock:
        """Return columns lo to hi - 1."""
        names, values = self.names(), self._columns.part(lo, hi).widened().without_zeros()
        return ColumnBlock(lo, self.n_rows, values, None if names is None else names.part(lo, hi))

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows."""
        return row_blocks(self._read().tocsr(), self.target(), size, progress)

    def load(self) -> tuple[Any, npt.NDArray[Any] | None]:
        """Return the matrix and the target."""
        return self._read(), self.target()


class HeldRows(Wrapper, MatrixSource):
    """Sparse rows that fit the memory, by columns and by rows alike; read when first needed."""

    @property
    def stored(self) -> int:
        """Number of stored values."""
        return int(self._matrix.nnz)

    @cached_property
    def _matrix(self) -> Any:
        return self._source.load()[0]

    def _read(self) -> Any:
        return self._matrix


class HeldColumns(Wrapper, ColumnSource):
    """Columns in memory that a source of rows was turned into."""

    def __init__(self, source: RowSource, columns: Compressed, y: npt.NDArray[Any] | None) -> None:
        super().__init__(source)
        self._columns, self._y = columns, y

    @property
    def stored(self) -> int:
        """Number of stored values."""
        return len(self._columns.data)

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target that came with the rows."""
        return self._y

    def read(self, lo: int, hi: int) -> ColumnBlock:
        """Return columns lo to hi - 1."""
        return ColumnBlock(lo, self.n_rows, self._columns.part(lo, hi).without_zeros())


def transposed(rows: Compressed, width: int) -> Compressed:
    """Return the columns of sparse rows; rows are sorted inside each column."""
    slots = np.empty(width, np.int64)
    counts = np.zeros(width, np.int64)
    count_places(rows.indices, counts)
    total = int(begin_columns(counts, slots))
    indptr = np.append(slots, total)
    columns = Compressed(indptr, np.empty(total, np.int32), np.empty(total))
    scatter_entries(
        rows.indptr[:-1].copy(), rows.indptr[1:], rows.indices, 0, rows.data, 0, width, slots,
        columns.indices, columns.data,
    )  # fmt: skip
    return columns


def row_blocks(
    matrix: Any, y: npt.NDArray[Any] | None, size: int | None, progress: Progress
) -> Iterator[RowBlock]:
    """Stream a canonical CSR matrix."""
    n_rows, n_columns = matrix.shape
    whole = Compressed(matrix.indptr.astype(np.int64), matrix.indices, matrix.data)
    step = size or default_width(n_columns, n_rows, matrix.nnz)
    for lo in range(0, n_rows, step):
        hi = min(lo + step, n_rows)
        yield RowBlock(
            lo, n_columns, _as_float(whole.part(lo, hi)), None if y is None else y[lo:hi]
        )
        progress("reading rows", hi, n_rows)


def _as_float(part: Compressed) -> Compressed:
    return Compressed(part.indptr, part.indices, part.data.astype(np.float64, copy=False))


def whole_numbers(y: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Return labels as int64 when all of them are whole numbers, else unchanged.

    >>> whole_numbers(np.array([1.0, -1.0])).tolist(), whole_numbers(np.array([0.5, 1.0])).tolist()
    ([1, -1], [0.5, 1.0])
    """
    is_whole = bool(np.all(np.abs(y) < 2**53) and np.all(y == np.floor(y)))
    return y.astype(np.int64) if is_whole else y
