"""Compressed rows to compressed columns in bounded memory: sorted runs on disk, then their merge.

Rows are buffered until they fill the memory. A *run* is the buffer sorted by column, one range of
columns at a time: each buffered row keeps its current position, so the sorted copy is never larger
than one range. Data that fits in memory is written only to the store itself. Otherwise a run is
written to disk as three files (entries per column, row numbers counted from the run's first row,
values), and at the end ranges of columns are read from all runs in turn and merged.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.errors import InputError, SourceError
from tamis.kernels import counting_sort as kernel
from tamis.sources.base import Progress
from tamis.sources.stores.column_writer import StoreWriter
from tamis.sources.stores.store_files import fit_float32

#: Rows are numbered by int32 in a store.
_MOST_ROWS = 2**31 - 1
#: Bytes of the counter of each column while rows are buffered.
_COUNTER = 4
#: Bytes per buffered entry: its index and its value.
_ENTRY = 12
#: Buffered entries are counted by int32.
_MOST_ENTRIES = 2**31 - 1
#: Shares of the memory: buffered rows and counters; one sorted range; counts read during merging.
_HELD, _SORTED, _COUNTS = 0.75, 0.1, 0.12


#: Row numbers of some columns, sorted by column, and their values (None: all of them are 1).
_Entries = tuple[npt.NDArray[Any], npt.NDArray[Any] | None]
#: The same, and where each column ends.
_Columns = tuple[npt.NDArray[Any], npt.NDArray[Any] | None, npt.NDArray[np.int64]]


class SparseRuns:
    """Takes compressed rows in order and passes compressed columns to a writer."""

    def __init__(self, folder: str, memory: int) -> None:
        self.folder, self.memory = folder, memory
        self.n_rows = self._width = 0
        self._counts = np.zeros(0, dtype=np.int32)
        self._held = _Held(0)
        self._runs: list[_Run] = []
        self._exact: np.dtype[Any] = np.dtype(np.float32)  # the type that holds every value so far

    def add(self, rows: Any) -> None:
        """Add the next rows."""
        if self.n_rows + len(rows) > _MOST_ROWS:
            raise SourceError(f"a column store takes at most {_MOST_ROWS} rows; split the data")
        indices, held = rows.indices, self._held
        width = max(int(indices.max()) + 1 if len(indices) else 0, self._width)
        wants = held.bytes + 16 * len(rows) + _ENTRY * len(indices)
        is_full = wants > int(_HELD * self.memory) - _COUNTER * width
        if held.n_rows and (is_full or held.entries + len(indices) > _MOST_ENTRIES):
            self._spill()
        self._width = width
        if width * _COUNTER > self.memory // 2:
            raise InputError(
                f"{width} columns need memory of at least {2 * _COUNTER * width} bytes "
                f"to transpose and {self.memory} are allowed; allow more, or number the features "
                "without gaps"
            )
        if width > len(self._counts):
            # In place where the system can, so that old and new arrays are not in memory together.
            self._counts.resize(width + width // 8, refcheck=False)
        kernel.count_places(indices, self._counts)
        if self._exact == np.float32 and not fit_float32(rows.data):
            self._exact = np.dtype(np.float64)
        held.add(rows, int(_HELD * self.memory), wide=width >= 2**31)
        self.n_rows += len(rows)

    def _spill(self) -> None:
        """Write the buffered rows to disk as a run and clear the buffer."""
        held = self._held
        run = _Run(os.path.join(self.folder, f"run-{len(self._runs)}-"), held.first, held.n_rows)
        for counts, rows, values in self._sorted(0, run.row_type):
            run.append(counts, rows, values)
        self._runs.append(run)
        held.clear(self.n_rows)
        self._counts[:] = 0

    def _sorted(self, first: int, row_type: Any) -> Iterator[tuple[npt.NDArray[Any], *_Entries]]:
        """Yield the buffered rows as ranges of columns from number `first` on.

        Each range has the entries per column, row numbers and values, valid until the next range.
        """
        counts, held = self._counts[: self._width], self._held
        most = max(1, int(_SORTED * self.memory) // 16)
        rows_out = np.empty(0, dtype=row_type)
        values_out = np.empty(0, dtype=self._exact)
        while first < self._width:
            end = int(kernel.range_of_columns(counts, first, most, most))
            slots = np.cumsum(counts[first:end], dtype=np.int64)
            entries = int(slots[-1])
            slots -= counts[first:end]
            if entries > len(rows_out):
                rows_out = np.empty(max(entries, min(most, held.entries)), dtype=row_type)
                values_out = np.empty(len(rows_out) if held.has_values else 0, dtype=self._exact)
            for row, cursors, ends in held.bounds:
                kernel.scatter_entries(
                    cursors, ends, held.indices, row, held.values, first, end, slots, rows_out,
                    values_out,
                )  # fmt: skip
            values = values_out[:entries] if held.has_values else None
            yield counts[first:end], rows_out[:entries], values
            first = end

    def write(
        self, writer: StoreWriter, shift: int, n_columns: int | None, progress: Progress
    ) -> None:
        """Pass the columns from number `shift` on to the writer, in order."""
        if self._runs and self._held.n_rows:
            self._spill()
        total = self._held.entries + sum(run.entries for run in self._runs)
        alone = (
            (rows, values, np.cumsum(counts, dtype=np.int64))
            for counts, rows, values in self._sorted(shift, np.int32)
        )
        for rows, values, ends in self._merged(shift) if self._runs else alone:
            writer.append_sparse(np.concatenate([[0], ends]), rows, values)
            progress("sorting entries by column", writer.stored, total)
        width = max(self._width, shift, 0 if n_columns is None else n_columns + shift)
        indptr = np.zeros(1 + width - shift - writer.n_columns, dtype=np.int64)
        writer.append_sparse(indptr, np.zeros(0, np.int32), None)

    def _merged(self, first: int) -> Iterator[_Columns]:
        """Yield the columns of all runs: row numbers, values, and where each column ends."""
        self._counts, self._held = np.zeros(0, dtype=np.int32), _Held(self.n_rows)
        most = max(1, int(0.5 * self.memory) // 14)
        step = max(1024, int(_COUNTS * self.memory) // (4 * len(self._runs) + 24))
        for run in self._runs:
            run.column = first  # the columns before it are empty
        for lo in range(first, self._width, step):
            counts = [run.read_counts(min(step, self._width - lo)) for run in self._runs]
            totals = np.zeros(len(counts[0]), dtype=np.int64)
            for each in counts:
                totals += each
            start = 0
            while start < len(totals):
                end = int(kernel.range_of_columns(totals, start, len(totals), most))
                if totals[start] > most:
                    yield from self._long_column(totals[start], [int(c[start]) for c in counts])
                else:
                    yield self._join(totals[start:end], [c[start:end] for c in counts])
                start = end

    def _join(self, totals: npt.NDArray[np.int64], counts: list[npt.NDArray[Any]]) -> _Columns:
        """Merge the runs' pieces of some columns."""
        slots = np.cumsum(totals) - totals
        entries = int(totals.sum())
        rows = np.empty(entries, dtype=np.int32)
        kinds = [run.value_type for run in self._runs if run.value_type is not None]
        values = np.empty(entries if kinds else 0, dtype=max(kinds, default=np.float32))
        for run, each in zip(self._runs, counts, strict=True):
            part, given = run.read(int(each.sum(dtype=np.int64)))
            if given is None:
                given = np.ones(len(part) if kinds else 0, np.float32)
            kernel.merge_entries(each, part, given, run.first_row, slots, rows, values)
        # Every slot has moved to the end of its column.
        return rows, values if kinds else None, slots

    def _long_column(self, total: int, counts: list[int]) -> Iterator[_Columns]:
        """Yield one column that exceeds the memory: the runs' pieces one after another."""
        done = 0
        for run, count in zip(self._runs, counts, strict=True):
            rows, values = run.read(count)
            done += count
            ends = np.array([count] if done == total else [], dtype=np.int64)
            yield run.first_row + rows.astype(np.int32), values, ends
            if done == total:
                return


class _Held:
    """Rows in memory, in two arrays that are allocated once and refilled.

    Allocating and freeing thousands of arrays would fragment the memory of the process.
    """

    def __init__(self, first: int) -> None:
        self.indices: npt.NDArray[Any] = np.empty(0, dtype=np.int32)
        self.values = np.empty(0)
        self.clear(first)

    def clear(self, first: int) -> None:
        """Clear the buffer; the next row is number `first`."""
        self.first, self.n_rows, self.entries = first, 0, 0
        self.has_values = False
        # One item per group of rows: number of the first row, next entry and end of every row.
        self.bounds: list[tuple[int, npt.NDArray[Any], npt.NDArray[Any]]] = []

    @property
    def bytes(self) -> int:
        """Memory used by the rows."""
        return 16 * self.n_rows + (_ENTRY if self.has_values else 4) * self.entries

    def add(self, rows: Any, memory: int, *, wide: bool) -> None:
        """Append a copy of rows; newly allocated memory is not in use until it is filled."""
        lo, hi = self.entries, self.entries + len(rows.indices)
        place_type = np.int64 if wide else np.int32
        if hi > len(self.indices) or self.indices.dtype != place_type:
            old, self.indices = self.indices, np.empty(max(memory // 4, hi), dtype=place_type)
            self.indices[:lo] = old[:lo]
        was_ones = not self.has_values
        self.has_values = not (was_ones and np.all(rows.data == 1.0))
        if self.has_values:
            if hi > len(self.values):
                given, self.values = self.values, np.empty(max(memory // _ENTRY, hi))
                self.values[: min(lo, len(given))] = given[:lo]
            if was_ones:
                self.values[:lo] = 1.0
            self.values[lo:hi] = rows.data
        self.indices[lo:hi] = rows.indices
        bounds = rows.indptr - rows.indptr[0] + lo
        self.bounds.append((self.n_rows, bounds[:-1].copy(), bounds[1:]))
        self.n_rows += len(rows)
        self.entries = hi


class _Run:
    """Some rows sorted by column, on disk; written and read range by range, in order."""

    def __init__(self, stem: str, first_row: int, n_rows: int) -> None:
        self._stem, self.first_row = stem, first_row
        self.row_type = np.dtype(np.uint16 if n_rows <= 2**16 else np.int32)
        self._count_type = np.dtype(np.uint16 if n_rows < 2**16 else np.int32)
        self.value_type: np.dtype[Any] | None = None
        self.entries = self.column = self._width = self._entry = 0

    def append(
        self, counts: npt.NDArray[Any], rows: npt.NDArray[Any], values: npt.NDArray[Any] | None
    ) -> None:
        """Append a range of columns."""
        self.value_type = None if values is None else values.dtype
        arrays = {"counts": counts.astype(self._count_type), "rows": rows, "values": values}
        for name, array in arrays.items():
            if array is not None:
                with open(self._stem + name, "ab") as file:
                    file.write(array.data)
        self.entries += len(rows)
        self._width += len(counts)

    def read_counts(self, n: int) -> npt.NDArray[Any]:
        """Return the number of entries of the next n columns; 0 for columns not in the run."""
        have = max(0, min(n, self._width - self.column))
        counts = np.zeros(n, dtype=self._count_type)
        counts[:have] = self._read("counts", self._count_type, self.column, have)
        self.column += n
        return counts

    def read(self, n: int) -> _Entries:
        """Return the next n entries."""
        rows = self._read("rows", self.row_type, self._entry, n)
        values = None
        if self.value_type is not None:
            values = self._read("values", self.value_type, self._entry, n)
        self._entry += n
        return rows, values

    def _read(self, name: str, dtype: np.dtype[Any], at: int, n: int) -> npt.NDArray[Any]:
        """Read instead of mapping, so that memory is freed after use."""
        if not n:
            return np.empty(0, dtype=dtype)
        return np.fromfile(self._stem + name, dtype, n, offset=at * dtype.itemsize)
