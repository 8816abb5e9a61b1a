"""Sources of a sparse matrix in memory, blocks of a scipy matrix, and labels as whole numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed, RowBlock
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

    def __init__(self, source: RowSource, matrix: Any = None) -> None:
        super().__init__(source)
        self._matrix = matrix

    @property
    def stored(self) -> int:
        """Number of stored values."""
        return int(self._read().nnz)

    def _read(self) -> Any:
        if self._matrix is None:
            self._matrix = self._source.load()[0]
        return self._matrix


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
