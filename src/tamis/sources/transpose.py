"""Rows on disk to columns on disk, in bounded memory.

Rows are gathered until they fill their share of the memory, then sorted by column (a stable
counting sort) and, if more rows follow, set aside on disk as one *run*. Afterwards the columns are
taken in buckets that fit the memory: a bucket is one contiguous piece of every run, so each entry
is written once and read once on its way, and data that fit the memory never touch the disk before
the store itself. The runs live in the folder of the store in the making and go with it.

Memory: the budget, plus the blocks that the source has in flight. One counter for each column must
fit half of the budget (125 million columns in the default of 2 GB).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import InputError, SourceError
from tamis.core.params import Number, check
from tamis.kernels.transpose import (
    begin_columns,
    count_places,
    merge_columns,
    scatter_entries,
    scatter_places,
)
from tamis.sources._matrix import whole_numbers
from tamis.sources._store_writer import StoreWriter
from tamis.sources.base import Report, Source, as_path, silent
from tamis.sources.store import ColumnStore

#: Bytes that a transposition may use unless told otherwise.
MEMORY = 2_000_000_000
#: Rows are numbered by int32 in a store.
_MOST_ROWS = 2**31 - 1
_COUNTER = 8


@runtime_checkable
class LateBase(Protocol):
    """A source that learns only while it is read whether its first column is number 0 or 1."""

    def raw_rows(self, memory: int, report: Report) -> Iterator[RowBlock]:
        """Stream rows whose places are the numbers in the file; afterwards name_base is known."""


def write_store(
    path: str | os.PathLike[str],
    source: Source,
    *,
    memory: int = MEMORY,
    report: Report = silent,
    overwrite: bool = False,
) -> ColumnStore:
    """Write all of a source as a column store and open it.

    Parameters
    ----------
    path : str or path
        The folder to make, by habit called NAME.cols.
    source : Source
        Columns are copied as they come; rows are transposed.
    memory : int
        Bytes that may be used for it, about.
    report : callable
        Called as report(what, done, total).
    overwrite : bool
        Replace a column store of that name.

    Raises
    ------
    OutputError
        If `path` exists, or cannot be written; nothing is left behind.
    """
    check("write_store", "memory", memory, Number(1, integer=True))
    with StoreWriter(as_path(path), overwrite=overwrite) as writer:
        if source.axis == "columns":
            for block in source.columns(report=report):
                writer.append(block)
            n_rows, y = source.n_rows, source.target()
        else:
            n_rows, y = _transpose(writer, source, memory, report)
        writer.commit(
            n_rows=n_rows,
            y=y,
            name_prefix=source.name_prefix,
            name_base=source.name_base,
            source=origin(source),
        )
    return ColumnStore(path)


def _transpose(
    writer: StoreWriter, source: Source, memory: int, report: Report
) -> tuple[int, npt.NDArray[Any] | None]:
    """Take all rows of a source to the writer as columns; return their number and the target."""
    is_late = isinstance(source, LateBase)
    if isinstance(source, LateBase):
        blocks = source.raw_rows(memory, report)
    else:
        blocks = source.rows(report=report)
    runs: SparseRuns | DenseRuns | None = None
    labels: list[npt.NDArray[Any]] = []
    for block in blocks:
        if runs is None:
            runs = (SparseRuns if block.is_sparse else DenseRuns)(writer.folder, memory)
        runs.add(block.values)
        if block.y is not None:
            labels.append(block.y)
    if runs is None:
        raise SourceError(f"the {source.format} source holds no rows; give at least one")
    shift = source.name_base if is_late else 0
    runs.write(writer, shift, source.n_columns, report)
    names = source.names()
    if names is not None:
        writer.append_names(names)
    words = source.words()
    if words is not None:
        writer.words[0] = words
    y = np.concatenate(labels) if labels else None
    return runs.n_rows, whole_numbers(y) if is_late and y is not None else y


class SparseRuns:
    """Compressed rows, sorted by column in runs as large as the memory allows."""

    def __init__(self, folder: str, memory: int) -> None:
        self.folder, self.memory = folder, memory
        self.n_rows = 0
        self._blocks: list[tuple[int, Compressed, bool]] = []
        self._held = 0
        self._counts = np.zeros(0, dtype=np.int64)
        self._width = 0
        self._runs: list[_Run] = []

    def add(self, rows: Any) -> None:
        """Take the next rows."""
        places = rows.places
        if self.n_rows + len(rows) > _MOST_ROWS:
            raise SourceError(f"a column store takes at most {_MOST_ROWS} rows; split the data")
        if len(places):
            self._make_room(int(places.max()) + 1)
            count_places(places, self._counts)
        # Narrow copies: they do not keep the buffers of the parser alive.
        places = places.astype(np.int32 if self._width < 2**31 else np.int64)
        is_ones = bool(np.all(rows.values == 1.0))
        values = np.zeros(0) if is_ones else rows.values.copy()
        kept = Compressed(rows.pointers - rows.pointers[0], places, values)
        self._blocks.append((self.n_rows, kept, is_ones))
        self.n_rows += len(rows)
        self._held += kept.pointers.nbytes + places.nbytes + values.nbytes
        # The sorted copy is as large as what is held.
        if 2 * self._held + _COUNTER * self._width > 0.6 * self.memory:
            self._runs.append(self._sort().spill(self.folder, len(self._runs)))

    def _make_room(self, width: int) -> None:
        """Count columns up to `width`."""
        self._width = max(self._width, width)
        if self._width * _COUNTER > self.memory // 2:
            raise InputError(
                f"{self._width} columns need memory of at least {2 * _COUNTER * self._width} bytes "
                f"to transpose and {self.memory} are allowed; allow more, or number the features "
                "without gaps"
            )
        if self._width > len(self._counts):
            longer = np.zeros(self._width + self._width // 4, dtype=np.int64)
            longer[: len(self._counts)] = self._counts
            self._counts = longer

    def _sort(self) -> _Run:
        """Sort what is held by column; afterwards nothing is held."""
        slots = self._counts[: self._width]
        entries = int(begin_columns(slots))
        rows = np.empty(entries, dtype=np.int32)
        has_values = not all(is_ones for _, _, is_ones in self._blocks)
        values = np.empty(entries) if has_values else None
        for first, block, is_ones in self._blocks:
            if values is None:
                scatter_places(block.pointers, block.places, first, slots, rows)
                continue
            given = np.ones(len(block.places)) if is_ones else block.values
            scatter_entries(block.pointers, block.places, given, first, slots, rows, values)
        # Every slot has moved to the end of its column, where the next one begins.
        run = _Run(slots, rows, values)
        self._counts = np.zeros(len(self._counts), dtype=np.int64)
        self._blocks, self._held = [], 0
        return run

    def write(self, writer: StoreWriter, shift: int, n_columns: int | None, report: Report) -> None:
        """Give the columns from number `shift` on to the writer, in order."""
        if self._blocks:
            run = self._sort()
            is_only = not self._runs
            self._runs.append(run if is_only else run.spill(self.folder, len(self._runs)))
        self._counts = np.zeros(0, dtype=np.int64)
        width = max(self._width, shift, 0 if n_columns is None else n_columns + shift)
        total = sum(run.entries for run in self._runs)
        writer.append_entries(np.zeros(0, np.int32), None)
        for lo, hi in self._buckets(shift, width):
            pieces = [(run, run.pointers(lo, hi)) for run in self._runs]
            if len(pieces) == 1 or hi - lo == 1:  # nothing to merge: the pieces follow each other
                _copy(writer, pieces)
            else:
                writer.append_sparse(*_merge(pieces))
            report("sorting entries by column", writer.stored, total)
        for run in self._runs:
            run.remove()

    def _buckets(self, first: int, width: int) -> Iterator[tuple[int, int]]:
        """Ranges of columns whose entries fit the memory; a range holds one column at least."""
        limit = self.memory // 64  # entries: 24 bytes each while two copies exist, and room
        step = max(1024, min(1 << 20, self.memory // (32 * (1 + len(self._runs)))))
        for lo in range(first, width, step):
            hi = min(lo + step, width)
            ends = np.zeros(hi - lo, dtype=np.int64)
            for run in self._runs:
                pointers = run.pointers(lo, hi)
                ends += pointers[1:] - pointers[0]
            start = before = 0
            while start < hi - lo:
                stop = max(start + 1, int(np.searchsorted(ends, before + limit, side="right")))
                yield lo + start, lo + stop
                start, before = stop, int(ends[stop - 1])


class _Run:
    """Some rows sorted by column, in memory or on disk: row numbers and values, and their bounds.

    `ends` says where each column ends; values None means that all of them are 1.
    """

    def __init__(
        self, ends: npt.NDArray[np.int64], rows: npt.NDArray[Any], values: npt.NDArray[Any] | None
    ) -> None:
        self.entries, self.width = len(rows), len(ends)
        self.has_values = values is not None
        self._arrays = {"ends": ends, "rows": rows, "values": values}
        self._dtypes = {k: v.dtype for k, v in self._arrays.items() if v is not None}
        self._stem = ""

    def spill(self, folder: str, number: int) -> _Run:
        """Move to disk."""
        self._stem = os.path.join(folder, f"run-{number}-")
        for name in self._dtypes:
            with open(self._stem + name, "wb") as file:
                file.write(np.ascontiguousarray(self._arrays[name]).data)
        self._arrays = {}
        return self

    def remove(self) -> None:
        """Forget the data, on disk too."""
        self._arrays = {}
        for name in self._dtypes:
            if self._stem:
                os.remove(self._stem + name)

    def read(self, name: str, lo: int, hi: int) -> npt.NDArray[Any]:
        """Read elements lo to hi - 1 of an array; read, not mapped, to be gone when it is done."""
        if name in self._arrays:
            array = self._arrays[name]
            assert array is not None
            return array[lo:hi]
        dtype = self._dtypes[name]
        return np.fromfile(self._stem + name, dtype, max(0, hi - lo), offset=lo * dtype.itemsize)

    def pointers(self, lo: int, hi: int) -> npt.NDArray[np.int64]:
        """Bounds of columns lo to hi - 1, one more than columns; columns it lacks are empty."""
        bounds = np.full(hi - lo + 1, self.entries, dtype=np.int64)
        skip = 1 if lo == 0 else 0
        bounds[:skip] = 0
        have = self.read("ends", max(lo - 1, 0), min(hi, self.width))
        bounds[skip : skip + len(have)] = have
        return bounds


def _copy(writer: StoreWriter, pieces: list[tuple[_Run, npt.NDArray[np.int64]]]) -> None:
    """Append columns that need no merging; of several runs, a single column."""
    lengths = np.zeros(len(pieces[0][1]), dtype=np.int64)
    start = writer.stored
    for run, pointers in pieces:
        lo, hi = int(pointers[0]), int(pointers[-1])
        values = run.read("values", lo, hi) if run.has_values else None
        writer.append_entries(run.read("rows", lo, hi), values)
        lengths += pointers - lo
    writer.close_columns(lengths[1:] + start)


def _merge(
    pieces: list[tuple[_Run, npt.NDArray[np.int64]]],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float64] | None]:
    """Join the pieces that the runs hold of some columns: pointers, row numbers, values."""
    pointers = np.sum([p - p[0] for _, p in pieces], axis=0)
    slots = pointers[:-1].copy()
    rows = np.empty(int(pointers[-1]), dtype=np.int32)
    values = np.ones(len(rows)) if any(run.has_values for run, _ in pieces) else None
    for run, bounds in pieces:
        lo, hi = int(bounds[0]), int(bounds[-1])
        merge_columns(bounds, run.read("rows", lo, hi), slots, rows)
        if values is not None and run.has_values:
            merge_columns(bounds, run.read("values", lo, hi), slots, values)
        slots += np.diff(bounds)
    return pointers, rows, values


class DenseRuns:
    """Dense rows, turned in runs as large as the memory allows."""

    def __init__(self, folder: str, memory: int) -> None:
        self.folder, self.memory = folder, memory
        self.n_rows = 0
        self._blocks: list[npt.NDArray[np.float64]] = []
        self._held = 0
        self._runs: list[tuple[str, int]] = []

    def add(self, rows: Any) -> None:
        """Take the next rows."""
        if self._blocks and rows.shape[1] != self._blocks[0].shape[1]:
            raise InputError(f"rows of {rows.shape[1]} numbers follow longer or shorter ones")
        self._blocks.append(np.array(rows, dtype=np.float64))
        self._held += rows.size * 8
        self.n_rows += len(rows)
        if 2 * self._held > 0.6 * self.memory:
            self._spill()

    def _spill(self) -> None:
        path = os.path.join(self.folder, f"run-{len(self._runs)}")
        joined = np.concatenate(self._blocks)
        self._blocks, self._held = [joined[:0]], 0
        step = max(1, int(0.1 * self.memory) // max(1, 8 * len(joined)))
        with open(path, "wb") as file:
            for lo in range(0, joined.shape[1], step):
                file.write(np.ascontiguousarray(joined[:, lo : lo + step].T).data)
        self._runs.append((path, len(joined)))

    def write(self, writer: StoreWriter, shift: int, n_columns: int | None, report: Report) -> None:
        """Give the columns to the writer, in order."""
        width = self._blocks[0].shape[1]
        if not self._runs:
            joined = np.concatenate(self._blocks)
            self._blocks = []
        elif self._held:
            self._spill()
        step = max(1, min(width, int(0.3 * self.memory) // (8 * max(1, self.n_rows))))
        for lo in range(0, width, step):
            hi = min(lo + step, width)
            if not self._runs:
                writer.append_dense(joined[:, lo:hi])
            else:
                columns = np.empty((self.n_rows, hi - lo), order="F")
                row = 0
                for path, height in self._runs:
                    part = np.fromfile(path, count=height * (hi - lo), offset=8 * lo * height)
                    columns[row : row + height] = part.reshape(hi - lo, height).T
                    row += height
                writer.append_dense(columns)
            report("turning rows into columns", hi, width)
        for path, _ in self._runs:
            os.remove(path)


def origin(source: Source) -> dict[str, Any]:
    """Where a store came from: the name of the file, never the folders above it."""
    path = getattr(source, "path", None)
    own = getattr(source, "fingerprint", None)
    record: dict[str, Any] = {
        "format": source.format,
        "fingerprint": own() if callable(own) else source.info().fingerprint,
    }
    if isinstance(path, str) and os.path.exists(path):
        status = os.stat(path)
        record |= {"path": os.path.basename(os.path.normpath(path))}
        record |= {"size": status.st_size, "mtime_ns": status.st_mtime_ns}
    if hasattr(source, "zero_based"):
        record["zero_based"] = source.zero_based
    return record
