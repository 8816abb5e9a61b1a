"""The contract of sources: columns, rows and the whole are the same data, in blocks of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tamis.core.blocks import ColumnBlock, Compressed, RowBlock
from tamis.sources.base import Source

Check = Callable[[Source], None]
Dense = npt.NDArray[np.float64]


def _whole(source: Source) -> Dense:
    X = source.load()[0]
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def _dense(block: ColumnBlock | RowBlock, indices: int) -> Dense:
    """A block as a dense table with one row for each of its vectors."""
    v: Any = block.values
    if not isinstance(v, Compressed):
        return np.asarray(v.T if isinstance(block, ColumnBlock) else v)
    rows: Any = sp.csr_matrix((v.data, v.indices, v.indptr), shape=(len(v), indices))
    return np.asarray(rows.toarray())


def _stack(blocks: Iterable[ColumnBlock] | Iterable[RowBlock], indices: int) -> Dense:
    parts: list[Dense] = []
    for block in blocks:
        assert block.first == sum(map(len, parts)), "blocks are not in order, or overlap"
        parts.append(_dense(block, indices))
    return np.concatenate(parts)


def columns_are_the_data_for_every_width(source: Source) -> None:
    """Blocks of 1, 7, 64 and all columns put together give the whole."""
    expected = _whole(source)
    for width in (1, 7, 64, None):
        found = _stack(source.columns(width), expected.shape[0]).T
        assert np.array_equal(found, expected), f"columns({width}) are not the data"


def rows_are_the_data_for_every_size(source: Source) -> None:
    """Blocks of 1, 7, 64 and all rows put together give the whole, with their targets."""
    expected, y = _whole(source), source.target()
    for size in (1, 7, 64, None):
        found = _stack(source.rows(size), expected.shape[1])
        assert np.array_equal(found, expected), f"rows({size}) are not the data"
        if y is not None:
            targets = np.concatenate([np.asarray(b.y) for b in source.rows(size)])
            assert np.array_equal(targets, y), f"rows({size}) bring other targets"


def info_tells_the_truth(source: Source) -> None:
    """Shape and format as they are, and the same fingerprint each time."""
    info, expected = source.info(), _whole(source)
    assert (info.n_rows, info.n_columns) == expected.shape, "info() gives another shape"
    assert (source.n_rows, source.n_columns) == expected.shape, "n_rows and n_columns differ"
    assert (info.format, info.axis) == (source.format, source.axis), "info() gives another format"
    assert info.fingerprint == source.info().fingerprint != "", "the fingerprint changes"


def blocks_hold_what_kernels_take(source: Source) -> None:
    """Float64 values, none of them 0, int32 rows, int64 pointers; dense in Fortran order."""
    for block in source.columns(5):
        v = block.values
        if isinstance(v, Compressed):
            types = [str(a.dtype) for a in (v.indptr, v.indices, v.data)]
            assert types == ["int64", "int32", "float64"], f"a block holds {types}"
            assert v.data.all(), "a block stores a zero"
            assert v.indptr[0] == 0, "pointers do not begin at 0"
            assert v.indptr[-1] == len(v.data), "pointers do not end where the values do"
        else:
            assert v.flags.f_contiguous, "a dense block is not in Fortran order"


def reading_reports_how_far_it_is(source: Source) -> None:
    """The last report of a stream says that it is done."""
    said: list[tuple[str, int, int | None]] = []
    for _ in source.columns(3, progress=lambda *words: said.append(words)):
        pass
    assert said, "nothing was reported"
    what, done, total = said[-1]
    assert total is None or done == total, f"the last report was {what}: {done} of {total}"


CHECKS: tuple[Check, ...] = (
    columns_are_the_data_for_every_width,
    rows_are_the_data_for_every_size,
    info_tells_the_truth,
    blocks_hold_what_kernels_take,
    reading_reports_how_far_it_is,
)
