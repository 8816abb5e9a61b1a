"""Change the axis of a source: rows to columns and columns to rows.

Small sparse data is transposed in memory; other rows become columns through a column store on disk,
in bounded memory (`stores/row_transpose.py`). Columns become rows in memory or, where dense columns
do not fit, through a column store that is read in bands of rows.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed, RowBlock
from tamis.core.errors import OutputError, SourceError
from tamis.core.files import scratch_folder, scratch_for
from tamis.core.names import Names
from tamis.core.params import Number, check
from tamis.kernels.counting_sort import scatter_entries
from tamis.sources.addresses import in_bands
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.base import (
    ColumnSource,
    Progress,
    RowSource,
    Source,
    Wrapper,
    as_path,
    silent,
    whole_numbers,
)
from tamis.sources.matrix import vectors
from tamis.sources.rebatch import join
from tamis.sources.stores.column_store import ColumnStore
from tamis.sources.stores.store_folder import META

if TYPE_CHECKING:
    from tamis.sources.stores.row_store import RowStore


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
        The column store to write, which is kept. An existing store is reused if it was made from
        the same data. Without `store`, small data is held in memory; other data goes to a
        temporary store that is removed with the source.
    memory : int, optional
        Approximate number of bytes to use; by default `memory` of the source.
    progress, say : callable
        Called with the progress, and with a message about what was done.
    """
    if isinstance(source, ColumnSource):
        return source
    memory = source.memory if memory is None else memory
    if store is None:
        held = held_columns(source, memory, progress)
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


def held_columns(source: Source, memory: int, progress: Progress) -> HeldColumns | None:
    """Transpose a few sparse rows in memory; return None if they need a store."""
    if not source.is_small(memory) or not isinstance(source, RowSource):
        return None
    pieces: list[Any] = [(block.y, block.values) for block in source.all_rows(memory, progress)]
    # Even a short file can have feature numbers up to billions.
    if not pieces or 64 * (source.n_columns or 0) > memory:
        return None
    return HeldColumns(source, *(pieces[0] if len(pieces) == 1 else join(pieces)))


class HeldColumns(Wrapper, ColumnSource):
    """Columns in memory, made from a source of sparse rows.

    Parameters
    ----------
    source : RowSource
        The source, all of whose rows were read.
    y, rows : array or None, Compressed
        The target and the rows, with the feature numbers of the source.
    """

    n_rows: int = 0
    n_columns: int = 0
    stored: int = 0
    layout = "sparse"

    def __init__(self, source: RowSource, y: npt.NDArray[Any] | None, rows: Compressed) -> None:
        self._source, self._y = source, None if y is None else whole_numbers(y)
        self.n_rows, self.n_columns = len(rows), source.n_columns or 0
        indices = rows.indices - source.first_number
        counts = np.bincount(indices, minlength=self.n_columns)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        self.stored = int(indptr[-1])
        self._columns = Compressed(indptr, np.empty(self.stored, np.int32), np.empty(self.stored))
        scatter_entries(
            rows.indptr[:-1].copy(), rows.indptr[1:], indices, 0, rows.data, 0, self.n_columns,
            indptr[:-1].copy(), self._columns.indices, self._columns.data,
        )  # fmt: skip

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target that came with the rows."""
        return self._y

    def read(self, lo: int, hi: int) -> ColumnBlock:
        """Return columns lo to hi - 1."""
        return ColumnBlock(lo, self.n_rows, self._columns.part(lo, hi)).without_zeros()


def to_rows(source: Source) -> RowSource:
    """Return a source of rows; one that already yields rows is returned unchanged.

    Columns are transposed when they are first read.
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
        Approximate number of bytes to use; by default `memory` of the source.
    progress : callable
        Called as progress(what, done, total).
    force : bool
        Replace a column store of that name.

    Raises
    ------
    OutputError
        If `path` exists, or cannot be written; nothing is left behind.
    """
    from tamis.sources.stores.column_writer import StoreWriter
    from tamis.sources.stores.row_transpose import transpose

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
        writer.commit(n_rows=n_rows, y=y, **_description(source))
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
    from tamis.sources.stores.row_store import RowStore
    from tamis.sources.stores.row_writer import RowWriter

    with RowWriter(as_path(path), force=force) as writer:
        rows = to_rows(source)
        for block in rows.all_rows(progress=progress):
            writer.append(block)
        writer.commit(
            n_columns=rows.n_columns,
            first_number=rows.first_number,
            whole_labels=rows.whole_labels,
            names=_all_names(source),
            **_description(source),
        )
    return RowStore(path)


class _Rows(Wrapper, RowSource):
    """The rows of a source of columns."""

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows."""
        sparse, doing = self._source.layout == "sparse", "transposing columns to rows in memory"
        if sparse:
            progress(doing, 0, self.n_columns)
        read = self._part
        if sparse:
            progress(doing, self.n_columns, self.n_columns)
        return self._row_ranges(read, size, progress)

    @cached_property
    def _part(self) -> Callable[[int, int], Any]:
        """Return a function that returns the values of a range of rows, from all columns.

        Dense columns are in memory, or in a store.
        """
        source = self._source
        if source.layout == "sparse":
            return vectors(source.load()[0].tocsr()).part
        fits = 16 * self.n_rows * (self.n_columns or 0) <= self.memory
        if isinstance(source, ColumnStore):
            return in_bands(source.some_rows, (self.n_rows, self.n_columns or 0), self.memory)
        if fits or isinstance(source, MemorySource):
            columns = source.load()[0].T
            return lambda lo, hi: np.ascontiguousarray(columns[:, lo:hi].T, dtype=np.float64)
        folder = scratch_for(self, self.work_folder())
        store = write_store(folder / "now.cols", source)
        return in_bands(store.some_rows, (store.n_rows, store.n_columns), self.memory)


def _description(source: Source) -> dict[str, Any]:
    """Return what a store records about its source, besides the data."""
    made_from = {"format": source.format, "fingerprint": source.fingerprint()} | _origin(source)
    if "decimal" in (identity := source.identity() if isinstance(source, RowSource) else {}):
        made_from["decimal"] = identity["decimal"]
    names = {"name_prefix": source.name_prefix, "name_base": source.name_base or 0}
    return {"source": made_from, **names}


def _origin(source: Source) -> dict[str, Any]:
    """Return the name of a source's file, without its folders, and how it is read.

    The fingerprint covers everything else.
    """
    if source.path is None or not os.path.exists(source.path):
        return source.reading()
    status, name = os.stat(source.path), os.path.basename(os.path.normpath(source.path))
    file = {"path": name, "size": status.st_size, "mtime_ns": status.st_mtime_ns}
    return file | source.reading()


def _same_store(source: Source, path: str) -> ColumnStore | None:
    """Return the store at a path if it was made from this same file, read in the same way."""
    if source.path is None or not os.path.exists(path):
        return None
    try:
        store = ColumnStore(path)
    except SourceError:
        return None
    made_from = store.meta["source"] or {}
    same = all(made_from.get(key) == value for key, value in _origin(source).items())
    if not source.reading():  # only the fingerprint covers how the file was read
        same = same and made_from.get("fingerprint") == source.fingerprint()
    return store if same else None


def _all_names(source: Source) -> Names | None:
    """Return the names of all columns, from the source or from its blocks."""
    if not isinstance(source, ColumnSource):
        return source.names()
    known = [block.names for block in source.columns() if block.names is not None]
    return Names.of(name for part in known for name in part) if known else None
