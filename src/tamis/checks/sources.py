"""The contract of sources: columns, rows and the whole are the same data, in blocks of any size.

A source is checked along both axes: `to_columns` and `to_rows` convert it where needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tamis.core.blocks import ColumnBlock, Compressed, RowBlock
from tamis.sources import temporary_columns
from tamis.sources.axis import to_rows
from tamis.sources.base import Source

Dense = npt.NDArray[np.float64]


def _whole(source: Source) -> Dense:
    X = source.load()[0]
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def _dense(block: ColumnBlock | RowBlock, indices: int) -> Dense:
    """Return a block as a dense table with one row for each of its vectors."""
    v: Any = block.values
    if not isinstance(v, Compressed):
        return np.asarray(v.T if isinstance(block, ColumnBlock) else v)
    rows: Any = sp.csr_matrix((v.data, v.indices, v.indptr), shape=(len(v), indices))
    return np.asarray(rows.toarray())


def _stack(
    blocks: Iterable[ColumnBlock] | Iterable[RowBlock], indices: int, first: int = 0
) -> Dense:
    parts: list[Dense] = []
    for block in blocks:
        assert block.first == first + sum(map(len, parts)), "blocks are not in order, or overlap"
        parts.append(_dense(block, indices))
    return np.concatenate(parts)


def columns_are_the_data_for_every_width(source: Source) -> None:
    """Blocks of 1, 7, 64 and all columns put together give the whole."""
    expected = _whole(source)
    with temporary_columns(source) as columns:
        for width in (1, 7, 64, None):
            found = _stack(columns.columns(width), expected.shape[0]).T
            assert np.array_equal(found, expected), f"columns({width}) are not the data"


def a_range_of_columns_is_the_slice(source: Source) -> None:
    """Columns `start` to `stop` - 1 are these columns, with their numbers and names."""
    expected = _whole(source)
    n = expected.shape[1]
    with temporary_columns(source) as columns:
        names = _named(columns.columns())
        for start, stop in ((0, n), (1, n - 1), (n // 3, n // 2 + 1), (n - 1, n)):
            for width in (3, None):
                blocks = list(columns.columns(width, start, stop))
                found = _stack(blocks, expected.shape[0], start).T
                same = np.array_equal(found, expected[:, start:stop])
                assert same, f"columns({width}, {start}, {stop}) are not that slice"
                assert _named(blocks) == names[start:stop], "a range has other names"
        rest = list(columns.columns(5, n // 2))
        assert rest[0].first == n // 2, "a range begins elsewhere"
        assert sum(block.width for block in rest) == n - n // 2, "a range ends elsewhere"


def rows_are_the_data_for_every_size(source: Source) -> None:
    """Blocks of 1, 7, 64 and all rows put together give the whole, with their targets."""
    expected, y, rows = _whole(source), source.target(), to_rows(source)
    for size in (1, 7, 64, None):
        blocks = list(rows.batches(size))
        found = _stack(blocks, expected.shape[1])
        assert np.array_equal(found, expected), f"batches({size}) are not the data"
        if y is not None:
            targets = np.concatenate([np.asarray(block.y) for block in blocks])
            assert np.array_equal(targets, y), f"batches({size}) have other targets"


def a_mark_is_where_rows_resume(source: Source) -> None:
    """Reading from the mark of a block gives the rows after that block."""
    expected, rows = _whole(source), to_rows(source)
    blocks = list(rows.batches())
    for number, block in enumerate(blocks[:3]):
        if block.mark is None:
            continue
        done = block.first + block.height
        assert block.where(0), "a row has no position"
        after = [_dense(b, expected.shape[1]) for b in rows.batches(after=block.mark)]
        found = np.concatenate([expected[:0], *after])
        assert np.array_equal(found, expected[done:]), "a mark is not where rows resume"
        assert number == 0 or len(found) < len(expected), "a mark loses its position"


def target_names_and_keys_survive_a_change_of_axis(source: Source) -> None:
    """By columns and by rows, the target, the names and the keys are the same."""
    y, keys = source.target(), source.keys()
    rows = to_rows(source)
    assert _same(rows.target(), y), "rows have another target"
    with temporary_columns(source) as columns:
        assert _same(columns.target(), y), "columns have another target"
        names = _named(columns.columns())
        assert source.names() is None or list(source.names() or ()) == names, "other names"
        assert rows.names() is None or list(rows.names() or ()) == names, "rows have other names"
    if keys is not None:
        assert len(keys[1]) == source.n_rows, "keys of another number of rows"
        name, values = rows.keys() or ("", None)
        assert name == keys[0], "rows lose their keys"
        assert _same(values, keys[1]), "rows lose their keys"


def info_tells_the_truth(source: Source) -> None:
    """info() gives the actual shape and format, and the fingerprint is always the same."""
    info, expected = source.info(), _whole(source)
    assert (info.n_rows, info.n_columns) == expected.shape, "info() gives another shape"
    assert (source.n_rows, source.n_columns) == expected.shape, "n_rows and n_columns differ"
    assert (info.format, info.axis) == (source.format, source.axis), "info() gives another format"
    assert info.fingerprint == source.fingerprint() != "", "the fingerprint changes"


def blocks_hold_what_kernels_take(source: Source) -> None:
    """Float64 values, none of them 0, int32 rows, int64 indptr; dense blocks in Fortran order."""
    with temporary_columns(source) as columns:
        for block in columns.columns(5):
            v = block.values
            if isinstance(v, Compressed):
                types = [str(a.dtype) for a in (v.indptr, v.indices, v.data)]
                assert types == ["int64", "int32", "float64"], f"a block holds {types}"
                assert v.data.all(), "a block stores a zero"
                assert v.indptr[0] == 0, "indptr does not begin at 0"
                assert v.indptr[-1] == len(v.data), "indptr does not end where the values do"
            else:
                assert v.flags.f_contiguous, "a dense block is not in Fortran order"


def reading_reports_progress(source: Source) -> None:
    """The last progress report of a stream reports completion."""
    reports: list[tuple[str, int, int | None]] = []
    with temporary_columns(source) as columns:
        for _ in columns.columns(3, progress=lambda *report: reports.append(report)):
            pass
    assert reports, "nothing was reported"
    what, done, total = reports[-1]
    assert total is None or done == total, f"the last report was {what}: {done} of {total}"


def _named(blocks: Iterable[ColumnBlock]) -> list[str]:
    return [name for block in blocks for name in block.names or ()]


def _same(a: Any, b: Any) -> bool:
    return np.array_equal(a, b)  # None equals None
