"""Rows of a source of dense columns: in memory where it fits, else by a store that goes again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator

import numpy as np

from tamis.core.blocks import RowBlock
from tamis.sources.base import Progress, Source
from tamis.sources.shared.matrix import block_ranges
from tamis.sources.stores.transpose import write_store


def rows_of_columns(
    source: Source, memory: int, folder: Callable[[], str], size: int | None, progress: Progress
) -> Iterator[RowBlock]:
    """Stream blocks of `size` rows of a source that only gives dense columns."""
    n_rows, n_columns, y = source.n_rows, source.n_columns or 0, source.target()
    if 8 * n_rows * n_columns > memory // 2:
        with tempfile.TemporaryDirectory(prefix=".tamis-", dir=folder()) as work:
            progress(f"copying columns to {work}", 0, None)
            store = write_store(os.path.join(work, "now.cols"), source, progress=progress)
            yield from store.rows(size, progress)
        return
    values = source.load()[0]
    for lo, hi in block_ranges("rows", size, n_rows, n_columns, None):
        part = np.ascontiguousarray(values[lo:hi])
        yield RowBlock(lo, n_columns, part, None if y is None else y[lo:hi])
        progress("reading rows", hi, n_rows)
