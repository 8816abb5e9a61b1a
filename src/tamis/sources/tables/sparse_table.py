"""Sparse data in a table: a column of lists, or one line per nonzero value.

Both are read as *entries*: row number, feature number, value. Features are numbered in
sorted order (strings by code point, integers by size), so their order depends neither on the order
of the rows nor on how the file is split. A small number of entries is kept in memory; otherwise the
file is read again for each pass, and lines that are not ordered by row are first sorted into
buckets of rows on disk.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import SourceError
from tamis.core.files import scratch_folder
from tamis.core.names import Names
from tamis.core.params import Number, check
from tamis.sources.base import (
    MEMORY,
    Progress,
    RowSource,
    as_path,
    describe_target,
    short_hash,
    silent,
)
from tamis.sources.matrix import load_y
from tamis.sources.tables.table import TableFile
from tamis.sources.tables.table_columns import floats, kind_of, name_one, no_such, target_values
from tamis.sources.tables.vocabulary import Vocabulary

#: Lines of a table read at a time.
_LINES = 1 << 18
#: A nonzero value with its row and feature number.
_ENTRY = np.dtype([("row", np.int64), ("feature", np.int64), ("value", np.float64)])
#: Bytes per entry while a matrix is built.
_ENTRY_BYTES = 48

Entries = npt.NDArray[Any]


class EntrySource(RowSource):
    """Base class of sparse tables: turn entries into rows."""

    path: str
    #: The reading options, as text.
    _how: str

    def __init__(
        self,
        file: TableFile,
        target: str | None,
        memory: int,
        work: str | os.PathLike[str] | None,
        **columns: str | None,
    ) -> None:
        check(type(self).__name__, "memory", memory, Number(1, integer=True))
        for role, name in (columns | {"target": target}).items():
            if name is not None and name not in file.schema.names:
                raise SourceError(no_such(file.path, role, name, file.schema.names))
        self.path, self.format = file.path, file.format  # type: ignore[misc]
        self.target_name, self.memory, self.work = target, memory, work
        self._file = file
        self._y: npt.NDArray[Any] | None = None

    @property
    def n_columns(self) -> int:
        """Number of distinct features."""
        return len(self._known[0])

    def names(self) -> Names:
        """Return the names of the features."""
        return self._known[0].names()

    def missing_target(self) -> str | None:
        """Return how to give a target, or None if there is one."""
        if self.target_name is not None or self._y is not None:
            return None
        return name_one(self.path, self._file.schema.names)

    @cached_property
    @abstractmethod
    def _known(self) -> tuple[Vocabulary, Any]:
        """The features, and other facts found in a pass over the file."""

    @property
    @abstractmethod
    def stored(self) -> int:
        """Approximate number of entries."""

    @abstractmethod
    def _entries(self, progress: Progress) -> Iterator[Entries]:
        """Stream all entries in the order of the file."""

    def _in_order(self, progress: Progress) -> Iterator[Entries]:
        """Stream all entries in order of row."""
        return self._entries(progress)

    def _twice(self, row: int, feature: int) -> None:
        """Handle a feature with two values in one row: raise an error, or let them be summed."""

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows, by default the size of each batch of the file."""
        pieces = ((None, piece) for piece in self._pieces(progress))
        return self._blocks_of(pieces, size, silent)

    def load(self) -> tuple[Any, npt.NDArray[Any] | None]:
        """Return a CSR matrix, and the target."""
        entries = np.concatenate([np.empty(0, _ENTRY), *self._entries(silent)])
        return self._compress(entries, 0, self.n_rows or 0), self.target()

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        return self._file.details

    def fingerprint(self) -> str:
        """Return a short hash of the file and of how it is read."""
        return short_hash(self._file.content.fingerprint(), self._how)

    def fits(self) -> bool:
        """Return True if all entries fit in memory."""
        return self.stored * _ENTRY_BYTES <= self.memory // 2

    def _pieces(self, progress: Progress) -> Iterator[Compressed]:
        """Stream compressed rows, each complete."""
        done, held = 0, np.empty(0, _ENTRY)
        for entries in self._in_order(progress):
            held = np.concatenate([held, entries])
            if not len(held):
                continue
            last = int(held["row"][-1])  # more of this row may follow
            cut = int(np.searchsorted(held["row"], last))
            yield _compressed(self._compress(held[:cut], done, last))
            done, held = last, held[cut:]
        yield _compressed(self._compress(held, done, self.n_rows or 0))

    def _compress(self, entries: Entries, first: int, stop: int) -> Any:
        """Return rows first to stop - 1 as a canonical CSR matrix."""
        from scipy.sparse import coo_matrix

        rows, features = entries["row"] - first, entries["feature"]
        shape = (stop - first, self.n_columns)
        matrix = coo_matrix((entries["value"], (rows, features)), shape).tocsr()
        if matrix.nnz < len(entries):
            entries = entries[np.lexsort((features, rows))]
            pairs = entries[["row", "feature"]]
            at = int(np.argmax(pairs[1:] == pairs[:-1]))
            self._twice(int(entries["row"][at]), int(entries["feature"][at]))
        matrix.eliminate_zeros()
        return matrix


class TokenSource(EntrySource):
    """A column of lists: each distinct element is a feature, its count in a row the value.

    Parameters
    ----------
    file : TableFile
        Where the table is.
    tokens : str
        The column of lists, of strings or integers. A missing list counts as empty.
    target : str, optional
        The column to predict.
    memory, work
        Approximate number of bytes to use, and a folder for larger data.
    """

    n_rows: int = 0

    def __init__(
        self,
        file: TableFile,
        tokens: str,
        target: str | None = None,
        *,
        memory: int = MEMORY,
        work: str | os.PathLike[str] | None = None,
    ) -> None:
        import pyarrow as pa

        super().__init__(file, target, memory, work, tokens=tokens)
        kind = file.schema.field(tokens).type
        if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
            raise SourceError(
                f"{file.path}: column {tokens!r} is of type {kind}; tokens= names a column of lists"
            )
        self.n_rows, self._tokens, self._kind = file.n_rows, tokens, kind.value_type
        self._how = repr((tokens, target))

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target column, or None if none was named."""
        if self._y is None and self.target_name is not None:
            self._y = target_values(self._file.read([self.target_name]).column(0))
        return self._y

    @property
    def stored(self) -> int:
        """Total number of elements of all lists."""
        return self._known[1]

    @cached_property
    def _known(self) -> tuple[Vocabulary, int]:
        """The features, and the total number of elements."""
        where = f"{self.path}: a list in column {self._tokens!r}"
        features, n_elements = Vocabulary(where, self._kind), 0
        for batch in self._file.batches([self._tokens], _LINES):
            elements = batch.column(0).flatten()
            features.add(elements)
            n_elements += len(elements)
        return features, n_elements

    def _entries(self, progress: Progress) -> Iterator[Entries]:
        import pyarrow.compute as pc

        features, done = self._known[0], 0
        for batch in self._file.batches([self._tokens], _LINES):
            lists = batch.column(0)
            lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
            rows = np.repeat(np.arange(done, done + len(lists)), lengths)
            yield _entries(rows, features.codes(lists.flatten()), 1.0)
            done += len(lists)
            progress("reading rows", done, self.n_rows)


class LongSource(EntrySource):
    """One line per value: row, feature, value.

    Rows are the distinct values of the row column, sorted; with `y` they are its row numbers,
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
        Approximate number of bytes to use, and a folder for larger data.
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
        if len(columns) not in (2, 3):
            raise SourceError(f"{file.path}: long= names the columns row, feature and value")
        self._columns = tuple(columns)
        self._row, self._feature = columns[:2]
        self._value = columns[2] if len(columns) == 3 else None
        named = {"row": self._row, "feature": self._feature, "value": self._value}
        super().__init__(file, target, memory, work, **named)
        if y is not None and target is not None:
            raise SourceError(f"{file.path}: give the target as a column (target=) or as y=")
        self._has_numbers = y is not None
        if y is not None:
            self._y = load_y(as_path(y)) if isinstance(y, (str, os.PathLike)) else np.asarray(y)
        self._how = repr((self._columns, target, describe_target(self._y)))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._known[1] if self._y is None or not self._has_numbers else self._y)

    @property
    def stored(self) -> int:
        """Number of lines."""
        return self._file.n_rows

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target, given or collected from the lines, one value per row, or None."""
        if self._y is None and self.target_name is not None:
            self._y = self._gather_target(self.target_name)
        return self._y

    @cached_property
    def _known(self) -> tuple[Vocabulary, Vocabulary]:
        """The features and the rows."""
        features, ids = (
            Vocabulary(f"{self.path}: column {name!r}", self._file.schema.field(name).type)
            for name in (self._feature, self._row)
        )
        for batch in self._file.batches([self._row, self._feature], _LINES):
            ids.add(batch.column(self._row))
            features.add(batch.column(self._feature))
        if self._has_numbers:
            last, numbers = self.n_rows - 1, ids.values
            if not ids.is_numbers or (len(ids) and (numbers[0] < 0 or numbers[-1] > last)):
                raise SourceError(
                    f"{self.path}: with y= the column {self._row!r} must hold row numbers from 0 "
                    f"to {last}"
                )
        return features, ids

    def _row_numbers(self, column: Any) -> npt.NDArray[np.int64]:
        if self._has_numbers:
            return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)
        return self._known[1].codes(column)

    def _entries(self, progress: Progress) -> Iterator[Entries]:
        features, done = self._known[0], 0
        for batch in self._file.batches(self._columns, _LINES):
            values: Any = 1.0
            if self._value is not None:
                column = batch.column(self._value)
                if kind_of(column.type) != "number":
                    raise SourceError(
                        f"{self.path}: column {self._value!r} is of type {column.type}; values "
                        "are numbers"
                    )
                values = floats(column)
            rows = self._row_numbers(batch.column(self._row))
            yield _entries(rows, features.codes(batch.column(self._feature)), values)
            done += len(rows)
            progress("reading lines", done, self._file.n_rows)

    def _in_order(self, progress: Progress) -> Iterator[Entries]:
        if self._known[1].rising:
            yield from self._entries(progress)
            return
        with scratch_folder(self.work_folder()) as folder:
            yield from self._by_buckets(str(folder), progress)

    def _by_buckets(self, folder: str, progress: Progress) -> Iterator[Entries]:
        """Sort entries by row: into buckets of rows that fit the memory, then bucket by bucket."""
        counts = np.zeros(self.n_rows, dtype=np.int64)
        for batch in self._file.batches([self._row], _LINES):
            counts += np.bincount(self._row_numbers(batch.column(0)), minlength=self.n_rows)
        most = max(1, self.memory // (4 * _ENTRY_BYTES))
        bucket_of = (np.cumsum(counts) - counts) // most
        stems = [os.path.join(folder, str(i)) for i in range(int(bucket_of[-1]) + 1)]
        for entries in self._entries(progress):
            of_entry = bucket_of[entries["row"]]
            order = np.argsort(of_entry, kind="stable")
            ends = np.searchsorted(of_entry[order], np.arange(len(stems) + 1))
            for i in np.flatnonzero(np.diff(ends)).tolist():
                with open(stems[i], "ab") as file:
                    file.write(entries[order[ends[i] : ends[i + 1]]].data)
        for stem in filter(os.path.exists, stems):
            bucket = np.fromfile(stem, _ENTRY)
            yield bucket[np.argsort(bucket["row"], kind="stable")]

    def _twice(self, row: int, feature: int) -> None:
        features, ids = self._known
        called = str(row) if self._has_numbers else ids.name(row)
        raise SourceError(
            f"{self.path}: row {called!r} has two values of feature {features.name(feature)!r}; "
            "add them up or keep one"
        )

    def _gather_target(self, name: str) -> npt.NDArray[Any]:
        """Return the target of each row, which must be the same in all of its lines."""
        y, seen = np.empty(self.n_rows, dtype=object), np.zeros(self.n_rows, np.bool_)
        for batch in self._file.batches([self._row, name], _LINES):
            rows = self._row_numbers(batch.column(self._row))
            given = target_values(batch.column(name)).astype(object)
            new = ~seen[rows]
            y[rows[new]] = given[new]
            seen[rows] = True
            differs = y[rows] != given
            if differs.any():
                row = self._known[1].name(int(rows[np.argmax(differs)]))
                raise SourceError(
                    f"{self.path}: row {row!r} has two values of the target {name!r}; give each "
                    "row one"
                )
        return np.array(y.tolist())


def _entries(rows: npt.NDArray[np.int64], features: npt.NDArray[np.int64], values: Any) -> Entries:
    entries = np.empty(len(rows), _ENTRY)
    entries["row"], entries["feature"], entries["value"] = rows, features, values
    return entries


def _compressed(matrix: Any) -> Compressed:
    return Compressed(matrix.indptr.astype(np.int64), matrix.indices, matrix.data)
