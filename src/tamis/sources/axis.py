"""Change the axis of a source: rows to columns and columns to rows. Nothing else does.

Sparse rows that are small become columns in memory; others by way of a column store on disk, in
bounded memory (`stores/row_transpose.py`).
Columns become rows in memory or, where dense columns do not fit, across a mapped column store.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import OutputError, SourceError
from tamis.core.files import scratch_folder, scratch_for
from tamis.core.names import Names
from tamis.core.params import Number, check
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.base import (
    ColumnSource,
    Progress,
    RowSource,
    Source,
    Wrapper,
    as_path,
    silent,
)
from tamis.sources.matrix import HeldColumns, row_blocks, transposed, whole_numbers
from tamis.sources.stores.column_store import ColumnStore
from tamis.sources.stores.column_writer import StoreWriter
from tamis.sources.stores.row_store import RowStore
from tamis.sources.stores.row_transpose import transpose
from tamis.sources.stores.row_writer import RowWriter
from tamis.sources.stores.store_folder import META


def to_columns(
    source: Source,
    store: str | os.PathLike[str] | None = None,
    *,
    memory: int | None = None,
    progress: Progress = silent,
    say: Callable[[str], object] = lambda sentence: None,
) -> ColumnSource:
    """Return a source of columns; one that is stored by columns is returned unchanged.

    Parameters
    ----------
    source : Source
        Where the data come from.
    store : str or path, optional
        The column store to write, which is kept. A store that is there already is used again if it
        was made from the same data. Without `store`, small data is held in memory, and for other
        data a temporary store is removed with the source.
    memory : int, optional
        Bytes to use, about; by default those of the source.
    progress, say : callable
        Called with the progress, and with a sentence about what was done.
    """
    if isinstance(source, ColumnSource):
        return source
    memory = source.memory if memory is None else memory
    if store is None:
        held = _held(source, memory, progress)
        if held is not None:
            return held
        with ExitStack() as stack:
            folder = stack.enter_context(scratch_folder(source.work_folder()))
            made = write_store(folder / "now.cols", source, memory=memory, progress=progress)
            weakref.finalize(made, stack.pop_all().close)
        return made
    kept = _same_store(source, os.fspath(store))
    if kept is not None:
        say(f"using the column store {store}, made from {source.label} before")
        return kept
    if os.path.lexists(store) and not os.path.isfile(os.path.join(store, META)):
        raise OutputError(
            f"{store} is in the way: the columns of {source.label} would be kept there, and it is "
            "not a column store; move it, or write to another folder"
        )
    made = write_store(store, source, memory=memory, progress=progress, force=True)
    say(
        f"{source.label} is stored by rows, so it was turned into the column store {store}, which "
        "is kept for next time"
    )
    return made


def _held(source: Source, memory: int, progress: Progress) -> HeldColumns | None:
    """Turn rows that are few and sparse into columns in memory; None: they need a store."""
    if not source.is_small(memory) or not isinstance(source, RowSource):
        return None
    blocks = list(source.all_rows(memory, progress))
    width, base = source.n_columns or 0, source.first_number
    if not blocks or 64 * width > memory:  # a short file can number its features up to billions
        return None
    parts: list[Any] = [block.values for block in blocks]
    ends = np.concatenate([np.diff(part.indptr) for part in parts]).cumsum()
    rows = Compressed(
        np.concatenate([[0], ends]),
        np.concatenate([part.indices for part in parts]) - base,
        np.concatenate([part.data for part in parts]),
    )
    labels = [block.y for block in blocks if block.y is not None]
    y = whole_numbers(np.concatenate(labels)) if labels else None
    return HeldColumns(source, transposed(rows, width), y)


@contextmanager
def temporary_columns(source: Source, progress: Progress = silent) -> Iterator[ColumnSource]:
    """Yield a source of columns; a column store that is made for it is removed at the end."""
    at_hand = source if isinstance(source, ColumnSource) else _held(source, source.memory, progress)
    if at_hand is not None:
        yield at_hand
        return
    with scratch_folder(source.work_folder()) as folder:
        yield to_columns(source, folder / "now.cols", progress=progress)


def to_rows(source: Source) -> RowSource:
    """Return a source of rows; one that gives rows is returned unchanged.

    Columns are turned into rows when they are first read.
    """
    if isinstance(source, RowSource):
        return source
    assert isinstance(source, ColumnSource)
    return _Rows(source)


def write_store(
    path: str | os.PathLike[str],
    source: Source,
    *,
    memory: int | None = None,
    progress: Progress = silent,
    force: bool = False,
) -> ColumnStore:
    """Write all of a source as a column store and open it; rows are turned into columns.

    Parameters
    ----------
    path : str or path
        The folder to make, usually called NAME.cols.
    source : Source
        Where the data come from.
    memory : int, optional
        Bytes to use, about; by default those of the source.
    progress : callable
        Called as progress(what, done, total).
    force : bool
        Replace a column store of that name.

    Raises
    ------
    OutputError
        If `path` exists, or cannot be written; nothing is left behind.
    """
    memory = source.memory if memory is None else memory
    check("write_store", "memory", memory, Number(1, integer=True))
    with StoreWriter(as_path(path), force=force) as writer:
        if isinstance(source, ColumnSource):
            for block in source.columns(progress=progress):
                writer.append(block)
            n_rows, y = source.n_rows, source.target()
        else:
            assert isinstance(source, RowSource)
            n_rows, y = transpose(writer, source, memory, progress)
        writer.commit(
            n_rows=n_rows,
            y=y,
            name_prefix=source.name_prefix,
            name_base=source.name_base or 0,
            source=_origin(source),
        )
    return ColumnStore(path)


def write_rows(
    path: str | os.PathLike[str],
    source: Source,
    *,
    progress: Progress = silent,
    force: bool = False,
) -> RowStore:
    """Write all rows of a source as a row store and open it; columns are turned into rows.

    Parameters are those of `write_store`; the folder is usually called NAME.rows.
    """
    with RowWriter(as_path(path), force=force) as writer:
        rows = to_rows(source)
        for block in rows.all_rows(progress=progress):
            writer.append(block)
        writer.commit(
            n_columns=rows.n_columns,
            first_number=rows.first_number,
            whole_labels=rows.whole_labels,
            names=_all_names(source),
            name_prefix=source.name_prefix,
            name_base=source.name_base or 0,
            source=_origin(source),
        )
    return RowStore(path)


class _Rows(Wrapper, RowSource):
    """The rows of a source of columns."""

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows."""
        y, n_columns = self.target(), self.n_columns or 0
        if self._source.layout == "sparse":
            progress("transposing columns to rows in memory", 0, n_columns)
            matrix = self._matrix
            progress("transposing columns to rows in memory", n_columns, n_columns)
            yield from row_blocks(matrix, y, size, progress)
            return
        for lo, hi in self._row_ranges(size):
            values = np.ascontiguousarray(self._columns[:, lo:hi].T, dtype=np.float64)
            yield RowBlock(lo, n_columns, values, None if y is None else y[lo:hi])
            progress("reading rows", hi, self.n_rows)

    @cached_property
    def _matrix(self) -> Any:
        """All rows of a sparse source."""
        return self._source.load()[0].tocsr()

    @cached_property
    def _columns(self) -> npt.NDArray[Any]:
        """All columns of a dense source, one after the other: in memory, or a mapped file."""
        source = self._source
        fits = 8 * self.n_rows * (self.n_columns or 0) <= self.memory // 2
        if isinstance(source, ColumnStore):
            return source.mapped()
        if fits or isinstance(source, MemorySource):
            values: npt.NDArray[Any] = source.load()[0]
            return values.T
        return write_store(scratch_for(self, self.work_folder()) / "now.cols", source).mapped()


def _origin(source: Source) -> dict[str, Any]:
    """Return where a store came from: the name of the file, never the folders above it."""
    record: dict[str, Any] = {"format": source.format, "fingerprint": source.fingerprint()}
    if source.path is not None and os.path.exists(source.path):
        status = os.stat(source.path)
        record |= {"path": os.path.basename(os.path.normpath(source.path))}
        record |= {"size": status.st_size, "mtime_ns": status.st_mtime_ns}
    return record | source.reading()


def _same_store(source: Source, path: str) -> ColumnStore | None:
    """Return the store at a path if it was made from this very file, read in the same way."""
    if source.path is None or not os.path.exists(path):
        return None
    try:
        store = ColumnStore(path)
    except SourceError:
        return None
    made_from, status, reading = store.meta["source"] or {}, os.stat(source.path), source.reading()
    same = (
        made_from.get("path") == os.path.basename(os.path.normpath(source.path))
        and made_from.get("size") == status.st_size
        and made_from.get("mtime_ns") == status.st_mtime_ns
        and {key: made_from.get(key) for key in reading} == reading
    )
    if not reading:  # only the fingerprint tells how the file was read, such as its target
        same = same and made_from.get("fingerprint") == source.fingerprint()
    return store if same else None


def _all_names(source: Source) -> Names | None:
    """Return the names of all columns; blocks of columns bring their own."""
    if not isinstance(source, ColumnSource):
        return source.names()
    known = [block.names for block in source.columns() if block.names is not None]
    return Names.of(name for part in known for name in part) if known else None
