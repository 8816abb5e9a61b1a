"""What the sparse readers share: blocks of a scipy matrix, and labels as whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed, RowBlock
from tamis.core.names import Names
from tamis.core.params import Number, check
from tamis.sources.base import Progress, default_width


def block_ranges(
    owner: str, asked: int | None, length: int, across: int, stored: int | None
) -> Iterator[tuple[int, int]]:
    """Cut `length` columns (or rows) of `across` numbers each into the ranges of blocks."""
    if asked is not None:
        check(
            owner, "width" if owner.endswith("columns") else "size", asked, Number(1, integer=True)
        )
    step = asked or default_width(across, length, stored)
    for lo in range(0, length, step):
        yield lo, min(lo + step, length)


def matrix_columns(matrix: Any, names: Names | None = None) -> Callable[[int, int], ColumnBlock]:
    """Return a function that reads columns lo to hi - 1 of a canonical CSC matrix."""
    whole = Compressed(matrix.indptr.astype(np.int64), matrix.indices, matrix.data)

    def read(lo: int, hi: int) -> ColumnBlock:
        part = whole.part(lo, hi).widened().without_zeros()
        return ColumnBlock(lo, matrix.shape[0], part, None if names is None else names.part(lo, hi))

    return read


def row_blocks(
    matrix: Any, y: npt.NDArray[Any] | None, size: int | None, progress: Progress
) -> Iterator[RowBlock]:
    """Stream a canonical CSR matrix."""
    n_rows, n_columns = matrix.shape
    whole = Compressed(matrix.indptr.astype(np.int64), matrix.indices, matrix.data)
    for lo, hi in block_ranges("rows", size, n_rows, n_columns, matrix.nnz):
        yield RowBlock(
            lo, n_columns, _as_float(whole.part(lo, hi)), None if y is None else y[lo:hi]
        )
        progress("reading rows", hi, n_rows)


def _as_float(part: Compressed) -> Compressed:
    return Compressed(part.indptr, part.indices, part.data.astype(np.float64, copy=False))


def whole_numbers(y: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Labels as int64 when all of them are whole numbers, else unchanged.

    >>> whole_numbers(np.array([1.0, -1.0])).tolist(), whole_numbers(np.array([0.5, 1.0])).tolist()
    ([1, -1], [0.5, 1.0])
    """
    is_whole = bool(np.all(np.abs(y) < 2**53) and np.all(y == np.floor(y)))
    return y.astype(np.int64) if is_whole else y
