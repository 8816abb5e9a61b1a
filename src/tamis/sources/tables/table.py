"""Parquet and Arrow files: plain columns, a column of lists, or one line per value.

A file of either kind holds a table of named columns, of which a few are read at a time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, RowBlock
from tamis.core.errors import ParameterError, SourceError, warn
from tamis.core.names import Names
from tamis.core.process_memory import available_bytes
from tamis.core.sentences import counted
from tamis.sources.addresses import AddressedFile, from_here
from tamis.sources.base import (
    MEMORY,
    ColumnSource,
    Progress,
    RowSource,
    Source,
    default_width,
    short_hash,
)
from tamis.sources.rebatch import Piece
from tamis.sources.tables import table_columns as columns
from tamis.sources.tables.dates import (
    Order,
    days,
    note_left_out,
    orders,
    refuse_others,
    refuse_two_orders,
    target_days,
    text_days,
)
from tamis.sources.text.units import warn_of_numbers
from tamis.sources.text_files import TextFile

#: Number of default blocks of rows read at a time.
_HIGHER = 8


#: Values that say whether a column of text holds dates.
FIRST = 1_000

#: A column of more rows than this takes seconds to read.
MANY_ROWS = 50_000_000

#: With more columns than this, the metadata of a Parquet file is too large for its readers.
MOST_COLUMNS = 50_000


# --- files ---------------------------------------------------------------------------------------


class TableFile(Protocol):
    """A table on disk or in memory.

    Attributes
    ----------
    format, path : str
        The name of the format, and where the file is.
    schema : pyarrow.Schema
        Names and types of the columns.
    n_rows : int
        Number of rows.
    content : TextFile or AddressedFile
        The bytes of the file, which give its fingerprint; None for a table in memory.
    details : dict
        Additional details for `tamis info`.
    """

    format: str
    path: str
    schema: Any
    n_rows: int
    content: Any
    details: dict[str, Any]

    def read(self, names: Sequence[str]) -> Any:
        """Return all rows of some columns, as an Arrow table."""

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield record batches of at most `size` rows with some columns, in order."""


@contextmanager
def _damage_as_one_sentence(path: str, what: str) -> Iterator[None]:
    """Turn Arrow's errors about a damaged file into a one-sentence error."""
    import pyarrow as pa

    try:
        yield
    except SourceError:
        raise
    except Exception as error:
        known = (pa.ArrowException, OSError, MemoryError, UnicodeError)
        # Remote file systems have their own errors.
        if not isinstance(error, known) and "://" not in path:
            raise
        reason = " ".join(str(error).split()).rstrip(".")[:200] or "it needs too much memory"
        if "TProtocolException" in reason or "size limit" in reason:
            raise SourceError(f"{path}: {_too_wide(None)}") from error
        raise SourceError(
            f"{path} cannot be read as {what}, it is truncated or damaged ({reason}); fetch or "
            "write it again"
        ) from error


def _too_wide(n_columns: int | None) -> str:
    many = "more columns" if n_columns is None else f"{n_columns:,} columns, more"
    return (
        f"the file has {many} than a Parquet file can carry well ({MOST_COLUMNS:,}); write a list "
        "of the features of each row (tokens=) or one line for each row, feature and value (long=)"
    )


class ParquetTable:
    """A Parquet file; only its metadata stays in memory."""

    format = "parquet"

    def __init__(self, path: str) -> None:
        self.path = path
        # Both raise an error if the file does not exist.
        self.content: Any = AddressedFile(path) if "://" in path else TextFile(path)
        with _damage_as_one_sentence(path, "a Parquet file"):
            self._file = self._open(None)
            self._file.schema_arrow.names  # noqa: B018 - damaged ones may not be text
        self._lock = threading.Lock()
        self.schema, metadata = self._file.schema_arrow, self._file.metadata
        self.n_rows = int(metadata.num_rows)
        self.details = {"bytes": self.content.size, "row_groups": int(metadata.num_row_groups)}
        if len(self.schema) > MOST_COLUMNS:
            raise SourceError(f"{path}: {_too_wide(len(self.schema))}")

    def read(self, names: Sequence[str]) -> Any:
        """Return all rows of some columns, as an Arrow table; nothing else is read."""
        # Numbers; a small file can hold many rows if they repeat.
        if (size := 8 * self.n_rows * len(names)) > available_bytes():
            raise SourceError(
                f"{self.path} has {self.n_rows:,} rows, so that reading "
                f"{counted(len(names), 'column')} needs {size / 1e9:,.1f} GB, more than there is; "
                "use fewer rows"
            )
        with _damage_as_one_sentence(self.path, "a Parquet file"), self._lock:
            table = self._file.read(columns=list(names), use_threads=len(names) > 1)
            table.validate(full=True)  # strings of a damaged file may not be valid text
            if table.num_rows != self.n_rows:
                raise self._shorter(table.num_rows)
            return table

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield record batches of at most `size` rows, row group by row group."""
        known = self._file.metadata  # reading it takes a second for a wide file
        found = 0
        with _damage_as_one_sentence(self.path, "a Parquet file"), self._open(known) as file:
            for batch in file.iter_batches(size, columns=list(names), use_threads=False):
                batch.validate(full=True)
                found += batch.num_rows
                yield batch
            if found != self.n_rows:
                raise self._shorter(found)

    def _shorter(self, found: int) -> Any:
        """Return an error about columns that do not have the rows of the metadata."""
        import pyarrow as pa

        return pa.ArrowInvalid(f"its columns have {found:,} of {self.n_rows:,} rows")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path, not the open file."""
        return type(self), (from_here(self.path),)

    def _open(self, metadata: Any) -> Any:
        import pyarrow.parquet as pq

        far = "://" in self.path
        # Few writers store page checksums; if there are any, comparing them is cheap.
        return pq.ParquetFile(
            self.content.open() if far else self.path, metadata=metadata,
            page_checksum_verification=True, pre_buffer=far,
        )  # fmt: skip


class ArrowTable:
    """An Arrow IPC (feather) file, or a stream of record batches in a file."""

    format = "arrow"

    def __init__(self, path: str) -> None:
        import pyarrow as pa

        self.path, self.content = path, TextFile(path)
        self.details = {"bytes": self.content.size}
        with open(path, "rb") as raw:
            head = raw.read(6)
        if head.startswith(b"FEA1"):
            raise SourceError(
                f"{path} is a feather file of version 1, which is obsolete; write it "
                "again with pyarrow.feather.write_feather"
            )
        self._is_file = head == b"ARROW1"
        self._reader = pa.ipc.open_file if self._is_file else pa.ipc.open_stream
        with _damage_as_one_sentence(path, "an Arrow file"), pa.OSFile(path) as file:
            self.schema = self._reader(file).schema
            first = self.schema.names[:1]  # damaged ones may not be text
        self.n_rows = sum(batch.num_rows for batch in self._each(first))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path."""
        return type(self), (from_here(self.path),)

    def _each(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield every batch, decompressing only the named columns.

        Lengths and offsets are checked, because Arrow trusts the file.
        """
        import pyarrow as pa

        indices = {name: i for i, name in enumerate(self.schema.names)}
        options = pa.ipc.IpcReadOptions(included_fields=sorted(indices[name] for name in names))
        with (
            _damage_as_one_sentence(self.path, "an Arrow file"),
            # Not mapped: if a mapped file is cut off, reading it kills the process.
            pa.OSFile(self.path) as file,
            self._reader(file, options=options) as reader,
        ):
            numbers = range(reader.num_record_batches) if self._is_file else None
            for batch in reader if numbers is None else map(reader.get_batch, numbers):
                batch.validate(full=True)
                yield batch

    def read(self, names: Sequence[str]) -> Any:
        """Return all rows of some columns, as an Arrow table."""
        import pyarrow as pa

        batches = list(self._each(names))
        table = pa.Table.from_batches(batches) if batches else self.schema.empty_table()
        return table.select(list(names))

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield record batches of at most `size` rows with some columns, in order."""
        for batch in self._each(names):
            picked = batch.select(list(names))
            for lo in range(0, picked.num_rows, size):
                yield picked.slice(lo, size)


class MemoryTable:
    """An Arrow table in memory that was read from a file; its owner knows that file."""

    content = None

    def __init__(self, table: Any, path: str, format: str) -> None:
        self.path, self.format = path, format
        self.schema, self.n_rows = table.schema, int(table.num_rows)
        self.details = {"bytes": int(table.nbytes)}
        self._table = table

    def read(self, names: Sequence[str]) -> Any:
        """Return all rows of some columns."""
        return self._table.select(list(names))

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield record batches of at most `size` rows with some columns, in order."""
        yield from self.read(names).to_batches(max_chunksize=size)


# --- sources -------------------------------------------------------------------------------------


class TableSource(ColumnSource, RowSource):
    """Columns of a table in a file, read a few at a time; one is the target.

    Numbers and Booleans are features unchanged; text and categories are coded by their rank among
    all sorted values of the column, so that the codes do not depend on how the file is split into
    row groups or blocks. A missing value is NaN.

    Parameters
    ----------
    file : TableFile
        Where the columns are.
    roles : Roles
        Which columns are not features, and which numbers are categories.
    y : array, optional
        A target that is not a column of the table.
    """

    portable = True

    path: str
    n_rows: int = 0
    n_columns: int = 0

    def __init__(
        self, file: TableFile, roles: columns.Roles, y: npt.NDArray[Any] | None = None
    ) -> None:
        import pyarrow as pa

        self.path, self.format = file.path, file.format  # type: ignore[misc]
        self._file, self._roles, self._y = file, roles, y
        self.target_name = roles.target
        self._row_labels = columns.row_labels(file.schema.names, file.schema.metadata)
        names = list(file.schema.names)
        try:
            self._features = roles.features(file.path, names, self._row_labels)
        except SourceError as error:
            if roles.target not in {None, *names} and columns.has_lines_of_features(
                names, file.schema.types, lambda: file.read(names[:1]).column(0).to_pylist()
            ):
                raise SourceError(f"{error}; {columns.TURNED}") from error
            raise
        kinds = {n: columns.kind_of(file.schema.field(n).type) for n in self._features}
        #: Columns of dates that are left out, and how dates are written in columns of text.
        self._dates: list[str] = []
        self._in_text: dict[str, list[Order]] = {}
        if not {"text", "date"}.isdisjoint(kinds.values()):
            self._features = self._without_dates(kinds)
        self.n_rows, self.n_columns = file.n_rows, len(self._features)
        self._names = Names.of(self._features)
        self._is_words = np.zeros(self.n_columns, dtype=np.bool_)
        for j, name in enumerate(self._features):
            kind, known = file.schema.field(name).type, kinds[name]
            is_category = name in roles.categorical
            if pa.types.is_dictionary(kind):
                kind, is_category = kind.value_type, True
                known = columns.kind_of(kind)
            if known == "other" and not pa.types.is_null(kind):
                raise SourceError(f"{self.path}: {_no_feature(name, kind)}")
            self._is_words[j] = is_category or (known == "text" and name not in self._in_text)
        self._words: dict[str, Any] = {}

    def _without_dates(self, kinds: Mapping[str, str]) -> list[str]:
        """Return the features that are not dates, unless dates are taken as numbers.

        `kinds` holds the kind of the values of each feature.
        """
        features, roles = list(kinds), self._roles
        plain = [name for name in features if name not in roles.categorical]
        text = [name for name in plain if kinds[name] == "text"]
        if text:
            self._in_text = self._dates_in_text(text)
        found = [name for name in plain if name in self._in_text or kinds[name] == "date"]
        if not found or roles.dates == "number":
            return features
        left = [name for name in features if name not in set(found)]
        self._dates = found
        if not left:
            raise SourceError(
                f"{self.path} has only dates ({columns.listed(found)}) besides the target; take "
                "them as numbers with dates='number' (--dates number)"
            )
        if roles.dates is None:
            note_left_out(self.path, found)
            roles.dates = "ignore"  # said once, not again where the source is opened again
        return left

    def _dates_in_text(self, names: list[str]) -> dict[str, list[Order]]:
        """Find the columns of text in a file that hold dates: those whose first values are dates.

        Returns the ways in which they are written. A column that also holds something else raises
        an error, as in a CSV file.
        """
        if getattr(self._file, "content", None) is None:
            return {}
        found = {}
        first: Any = next(iter(self._file.batches(names, FIRST)), None)
        for name in names if first is not None else ():
            values = first.column(name).drop_null().to_pylist()
            if ways := orders(values):
                what = f"{self.path}: column {name!r}"
                refuse_others(self._file.read([name]).column(0), what)
                if self._roles.dates == "number":
                    refuse_two_orders(ways, values, what)
                found[name] = ways
        return found

    def names(self) -> Names:
        """Return the names of the features."""
        return self._names

    def missing_target(self) -> str | None:
        """Return how to give a target, or None if there is one."""
        if self._roles.target is not None or self._y is not None:
            return None
        return columns.name_one(self.path, self._file.schema.names)

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target column, or None if none was named."""
        if self._y is None and self._roles.target is not None:
            column = self._file.read([self._roles.target]).column(0)
            if self._roles.dates == "number":
                column = target_days(column, f"{self.path}: the target")
            self._y = columns.target_values(column)
        return self._y

    def keys(self) -> tuple[str, npt.NDArray[Any]] | None:
        """Return the name and values of the key column, if one was given."""
        key = self._roles.key
        return None if key is None else (key, columns.key_values(self._file.read([key]).column(0)))

    @property
    def column_names(self) -> list[str]:
        """Names of all columns."""
        return list(self._file.schema.names)

    def original(self, names: Sequence[str], text: Collection[str] = ()) -> Iterator[Any]:
        """Stream some columns as they are in the file."""
        step = default_width(len(names), max(self.n_rows, 1), None)
        return self._file.batches(names, step)

    def column(self, name: str) -> npt.NDArray[Any] | None:
        """Return the values of one column, numbers or text, or None if it does not exist."""
        if name not in self._file.schema.names:
            return None
        return columns.target_values(self._file.read([name]).column(0))

    def read(self, lo: int, hi: int) -> ColumnBlock:
        """Read only columns lo to hi - 1."""
        table = self._file.read(self._features[lo:hi])
        values = np.empty((self.n_rows, hi - lo), order="F")
        is_text = np.zeros(hi - lo, dtype=np.bool_)
        for j, name in enumerate(self._features[lo:hi]):
            column = table.column(name)
            if self._is_words[lo + j]:
                text = columns.as_words(column)
                words = columns.sorted_words(text)
                if self._file.content is not None and columns.kind_of(column.type) == "text":
                    warn_of_numbers(words, f"{self.path}: column {name!r}")
                values[:, j], is_text[j] = columns.coded(text, words), len(words) > 2
            else:
                values[:, j] = self._floats(column, name)
        return ColumnBlock(lo, self.n_rows, values, self._names.part(lo, hi), is_text=is_text)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path; the target is included."""
        return type(self), (self._file, self._roles, self._y)

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows; text columns need a pass first."""
        # Each column of each batch costs a call, so batches have more rows than elsewhere.
        step = size or _HIGHER * default_width(self.n_columns, self.n_rows, None)
        pieces = map(self._numbers, self._file.batches(self._features, step))
        return self._blocks_of(pieces, step, progress)

    def _numbers(self, batch: Any) -> Piece:
        """Return some rows as numbers."""
        values = np.empty((batch.num_rows, self.n_columns))
        for j, name in enumerate(self._features):
            column = batch.column(name)
            if self._is_words[j]:
                values[:, j] = columns.coded(columns.as_words(column), self._words_of(name))
            else:
                values[:, j] = self._floats(column, name)
        return None, values

    def _floats(self, column: Any, name: str) -> npt.NDArray[np.float64]:
        """Return a column of numbers or dates as floats."""
        if columns.kind_of(column.type) == "date":
            return columns.floats(days(column))
        if name in self._in_text:
            what = f"{self.path}: column {name!r}"
            whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
            return columns.floats(text_days(whole, self._in_text[name][0], what))
        return columns.floats(column, f"{self.path}: column {name!r}")

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        details = self._file.details | {"columns_of_words": int(self._is_words.sum())}
        left = {"dates_left_out": self._dates} if self._dates else {}
        return details | self._roles.passed_over(self._row_labels) | left

    def fingerprint(self) -> str:
        """Return a short hash of the file and of the roles of its columns."""
        return short_hash(self._file.content.fingerprint(), repr(self._roles.options))

    def words(self) -> npt.NDArray[np.bool_]:
        """Return which columns are coded text with three or more categories."""
        in_words = zip(self._features, self._is_words.tolist(), strict=True)
        return np.array([is_words and len(self._words_of(name)) > 2 for name, is_words in in_words])

    def vocabulary(self) -> dict[str, list[str]]:
        """Return the sorted words of each column of text."""
        in_words = zip(self._features, self._is_words.tolist(), strict=True)
        return {name: self._words_of(name).to_pylist() for name, is_words in in_words if is_words}

    def _words_of(self, name: str) -> Any:
        """Return the sorted categories of a text column, read once."""
        if name not in self._words:
            self._words[name] = columns.sorted_words(
                columns.as_words(self._file.read([name]).column(0))
            )
        return self._words[name]


def _no_feature(name: str, kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return (
            f"column {name!r} holds lists; take their elements as features with tokens={name!r} "
            f"(--tokens {name}), or leave it out with ignore= (--ignore)"
        )
    return (
        f"column {name!r} is of type {kind}, which is neither a number nor a category; leave it "
        f"out with ignore= (--ignore {name}), or make numbers of it first"
    )


def open_table(
    kind: Callable[[str], TableFile],
    path: str | os.PathLike[str],
    target: str | None = None,
    *,
    tokens: str | None = None,
    long: Any = None,
    y: Any = None,
    memory: int = MEMORY,
    work: str | os.PathLike[str] | None = None,
    **roles: Any,
) -> Source:
    """Open a table in one of its three forms.

    Parameters
    ----------
    kind : {ParquetTable, ArrowTable}
        What opens the file.
    path : str or path
        The file.
    target : str, optional
        Name of the column to predict.
    tokens : str, optional
        A column of lists: each distinct element is a feature, its count in a row the value. Only
        this column and the target are read.
    long : two or three names, optional
        The columns row, feature and value of a table with one line per nonzero value;
        without the third, every value is 1. A text such as "row,feature,value" will do.
    y : array or path, optional
        With `long`: the target by row number, or an .npy file that holds it.
    memory, work : int, str or path
        With `tokens` or `long`: approximate number of bytes to use, and a folder for larger data.
    key, ignore, categorical, dates
        Names of columns, as in `Roles`: the one that identifies the rows; those that are not
        features; those whose numbers are names of categories. `dates` says what to do with dates.
    """
    file, given = kind(os.fspath(path)), columns.Roles(target, **roles)
    if file.n_rows > MANY_ROWS:
        warn(
            f"{file.path} has {file.n_rows:,} rows: one column takes {8e-9 * file.n_rows:,.1f} GB, "
            "and reading it some time"
        )
    if tokens is not None and long is not None:
        raise ParameterError("tokens= and long= cannot be combined; give one of them")
    if long is None and y is not None:
        raise ParameterError("y= goes with long=; name the column to predict with target=")
    if long is None and tokens is None:
        return TableSource(file, given)
    from tamis.sources.matrix import HeldRows
    from tamis.sources.tables.sparse_table import EntrySource, LongSource, TokenSource

    source: EntrySource
    if tokens is not None:
        source = TokenSource(file, tokens, target, memory=memory, work=work)
    else:
        names = tuple(long.split(",") if isinstance(long, str) else long)
        source = LongSource(file, names, target, y=y, memory=memory, work=work)
    # Entries that fit are held in memory, so that they can also be read by columns.
    return HeldRows(source) if source.fits() else source


open_parquet = partial(open_table, ParquetTable)
open_arrow = partial(open_table, ArrowTable)
