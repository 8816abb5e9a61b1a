"""LongSource: a table with a line for each value that is not 0: row, feature, value."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.errors import SourceError
from tamis.core.files import scratch_folder
from tamis.sources.base import MEMORY, Progress, as_path, describe_target
from tamis.sources.tables.categories import floats
from tamis.sources.tables.entries import ENTRY_BYTES, LINES, Entries, EntrySource
from tamis.sources.tables.roles import name_one, need_columns
from tamis.sources.tables.table import target_values
from tamis.sources.tables.table_files import TableFile
from tamis.sources.tables.vocabulary import Vocabulary
from tamis.sources.target_file import load_y


class LongSource(EntrySource):
    """A line for each value: row, feature, value.

    Rows are the different values of the row column, sorted; with `y` they are its row numbers,
    from 0, and rows without a line are rows of zeros.

    Parameters
    ----------
    file : TableFile
        Where the table is.
    columns : two or three names
        The columns that hold row, feature and value; without the third, every value is 1.
    target : str, optional
        A column to predict that is the same in all lines of a row.
    y : array or path, optional
        The target by row number, or an .npy file that holds it.
    memory, work
        Bytes to use, about, and a folder for what needs more.
    """

    def __init__(
        self,
        file: TableFile,
        columns: Sequence[str],
        target: str | None = None,
        *,
        y: Any = None,
        memory: int = MEMORY,
        work: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(file, memory, work)
        if len(columns) not in (2, 3):
            raise SourceError(f"{file.path}: long= names the columns row, feature and value")
        need_columns(
            file.path,
            file.schema.names,
            dict(zip(("row", "feature", "value"), columns, strict=False)),
        )
        need_columns(file.path, file.schema.names, {"target": target})
        if y is not None and target is not None:
            raise SourceError(f"{file.path}: give the target as a column (target=) or as y=")
        self._row, self._feature, *rest = columns
        self._value = rest[0] if rest else None
        self._columns, self.target_name = tuple(columns), target
        self._y = None if y is None else _as_target(y)
        self._ids: Vocabulary | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if self._y is not None and self.target_name is None:
            return len(self._y)
        self._vocabulary()
        assert self._ids is not None
        return len(self._ids)

    def missing_target(self) -> str | None:
        """Return how to give a target, if none was given."""
        if self.target_name is not None or self._y is not None:
            return None
        return name_one(self.path, self._file.schema.names)

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target given or gathered, one value for each row, or None."""
        if self._y is None and self.target_name is not None:
            self._y = self._gather_target(self.target_name)
        return self._y

    def _how_it_is_read(self) -> str:
        return repr((self._columns, self.target_name, describe_target(self._y)))

    def _count(self) -> int:
        return self._file.n_rows

    def _vocabulary(self) -> Vocabulary:
        if self._features is None:
            schema, where = self._file.schema, f"{self.path}: column "
            ids = Vocabulary(f"{where}{self._row!r}", schema.field(self._row).type)
            features = Vocabulary(f"{where}{self._feature!r}", schema.field(self._feature).type)
            for batch in self._file.batches([self._row, self._feature], LINES):
                ids.add(batch.column(self._row))
                features.add(batch.column(self._feature))
            if self._y is not None:
                self._check_numbers(ids, len(self._y))
            self._ids, self._features = ids, features
        return self._features

    def _check_numbers(self, ids: Vocabulary, n_rows: int) -> None:
        fine = ids.is_numbers and ids.first_number() >= 0 and ids.last_number() < n_rows
        if not fine:
            raise SourceError(
                f"{self.path}: with y= the column {self._row!r} must hold row numbers from 0 to "
                f"{n_rows - 1}"
            )

    def _row_numbers(self, column: Any) -> npt.NDArray[np.int64]:
        self._vocabulary()
        assert self._ids is not None
        if self._y is not None and self.target_name is None:
            return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)
        return self._ids.codes(column)

    def _entries(self, progress: Progress) -> Iterator[Entries]:
        features, done = self._vocabulary(), 0
        for batch in self._file.batches(self._columns, LINES):
            rows = self._row_numbers(batch.column(self._row))
            codes = features.codes(batch.column(self._feature))
            values = np.ones(len(rows)) if self._value is None else self._numbers(batch)
            yield Entries(rows, codes, values)
            done += len(rows)
            progress("reading lines", done, self._file.n_rows)

    def _numbers(self, batch: Any) -> npt.NDArray[np.float64]:
        import pyarrow as pa

        column = batch.column(self._value)
        kind, types = column.type, pa.types
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise SourceError(
                f"{self.path}: column {self._value!r} is of type {kind}; values are numbers"
            )
        return floats(column)

    def _in_order(self, progress: Progress) -> Iterator[Entries]:
        self._vocabulary()
        assert self._ids is not None
        if self._ids.rising:
            yield from self._entries(progress)
            return
        with scratch_folder(self.work_folder()) as folder:
            yield from self._by_buckets(str(folder), progress)

    def _by_buckets(self, folder: str, progress: Progress) -> Iterator[Entries]:
        """Sort entries by row: into buckets of rows that fit the memory, then bucket by bucket."""
        counts = np.zeros(self.n_rows, dtype=np.int64)
        for batch in self._file.batches([self._row], LINES):
            counts += np.bincount(self._row_numbers(batch.column(0)), minlength=self.n_rows)
        most = max(1, self.memory // (4 * ENTRY_BYTES))
        bucket_of = (np.cumsum(counts) - counts) // most
        n_buckets = int(bucket_of[-1]) + 1
        stems = [os.path.join(folder, str(i)) for i in range(n_buckets)]
        for entries in self._entries(progress):
            of_entry = bucket_of[entries.rows]
            order = np.argsort(of_entry, kind="stable")
            ends = np.searchsorted(of_entry[order], np.arange(n_buckets + 1))
            for i in np.flatnonzero(np.diff(ends)).tolist():
                at = order[ends[i] : ends[i + 1]]
                _append(stems[i], entries, at)
        for stem in stems:
            if os.path.exists(stem):
                yield _read_sorted(stem)

    def _twice(self, row: int, feature: int) -> None:
        assert self._ids is not None
        assert self._features is not None
        has_numbers = self._y is not None and self.target_name is None
        called = str(row) if has_numbers else self._ids.name(row)
        raise SourceError(
            f"{self.path}: row {called!r} has two values of feature "
            f"{self._features.name(feature)!r}; add them up or keep one"
        )

    def _gather_target(self, name: str) -> npt.NDArray[Any]:
        """Return the target of each row, which must be the same in all of its lines."""
        y: npt.NDArray[Any] = np.zeros(0)
        for batch in self._file.batches([self._row, name], LINES):
            rows, values = self._row_numbers(batch.column(self._row)), batch.column(name)
            given = target_values(values).astype(object)
            if not len(y):
                y, seen = np.empty(self.n_rows, dtype=object), np.zeros(self.n_rows, np.bool_)
            new = ~seen[rows]
            y[rows[new]] = given[new]
            seen[rows] = True
            differs = y[rows] != given
            if differs.any():
                assert self._ids is not None
                row = self._ids.name(int(rows[np.argmax(differs)]))
                raise SourceError(
                    f"{self.path}: row {row!r} has two values of the target {name!r}; give each "
                    "row one"
                )
        return np.array(y.tolist())


def _as_target(y: Any) -> npt.NDArray[Any]:
    return load_y(as_path(y)) if isinstance(y, (str, os.PathLike)) else np.asarray(y)


def _append(stem: str, entries: Entries, at: npt.NDArray[np.intp]) -> None:
    """Write some entries behind those in a file, as three numbers of 8 bytes each."""
    triple = np.empty((len(at), 3))
    triple[:, 0], triple[:, 1] = entries.rows[at], entries.features[at]
    triple[:, 2] = entries.values[at]
    with open(stem, "ab") as file:
        file.write(triple.data)


def _read_sorted(stem: str) -> Entries:
    triple = np.fromfile(stem).reshape(-1, 3)
    triple = triple[np.argsort(triple[:, 0], kind="stable")]
    rows, features = triple[:, 0].astype(np.int64), triple[:, 1].astype(np.int64)
    return Entries(rows, features, triple[:, 2].copy())
