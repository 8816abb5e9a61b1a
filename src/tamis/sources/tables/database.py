"""Databases that answer a query block by block: DuckDB through Arrow, all others by DB-API."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tamis.core.errors import SourceError, TamisError, need
from tamis.sources.text_files import TextFile

IN_MEMORY = ":memory:"
_SQLITE = b"SQLite format 3\0"


class Answer(Protocol):
    """The answer to a query: names of its columns, and blocks of it as lists of columns."""

    names: list[str]

    def blocks(self, size: int) -> Iterator[list[npt.NDArray[Any]]]:
        """Stream blocks of `size` rows; a gap is NaN in numbers and None elsewhere."""


@contextmanager
def connected(database: Any, library: str | None) -> Iterator[Any]:
    """Give a connection: the one given, or a new one that only reads and is closed afterwards."""
    if not isinstance(database, str):
        yield database
        return
    connection = _connect(database, library)
    try:
        yield connection
    finally:
        connection.close()


def _connect(path: str, library: str | None) -> Any:
    if path != IN_MEMORY:
        TextFile(path)  # says in one sentence if it is not there
    library = library or library_of(path)
    if library == "sqlite":
        return sqlite3.connect(f"{Path(os.path.abspath(path)).as_uri()}?mode=ro", uri=True)
    duckdb = need("duckdb", extra="duckdb", what_for="a query on a DuckDB database")
    with one_sentence(path):
        return duckdb.connect(path, read_only=path != IN_MEMORY)


def library_of(path: str) -> str:
    """Tell "sqlite" or "duckdb" by the first bytes of a file; DuckDB answers without a file."""
    if path == IN_MEMORY:
        return "duckdb"
    with open(path, "rb") as file:
        return "sqlite" if file.read(len(_SQLITE)) == _SQLITE else "duckdb"


@contextmanager
def one_sentence(where: str) -> Iterator[None]:
    """Turn what a database raises, of whatever class, into one sentence."""
    try:
        yield
    except (TamisError, GeneratorExit):
        raise
    except Exception as error:
        said = " ".join(str(error).split("LINE 1:")[0].split()).rstrip(".")
        raise SourceError(f"the query on {where} failed ({said}); check it") from error


def ask(connection: Any, query: str, where: str) -> Answer:
    """Send a query."""
    with one_sentence(where):
        if type(connection).__module__.partition(".")[0].lstrip("_") == "duckdb":
            return _ArrowAnswer(connection, query, where)
        return _RowsAnswer(connection, query, where)


class _ArrowAnswer:
    """DuckDB's answer, as Arrow batches that never become Python objects."""

    def __init__(self, connection: Any, query: str, where: str) -> None:
        self._relation = connection.sql(query)
        if self._relation is None:
            raise SourceError(f"the query on {where} gives no rows; begin it with SELECT")
        self.names = [str(name) for name in self._relation.columns]

    def blocks(self, size: int) -> Iterator[list[npt.NDArray[Any]]]:
        """Stream blocks of `size` rows."""
        import pyarrow as pa

        stream = getattr(self._relation, "to_arrow_reader", None)
        reader = (stream or self._relation.fetch_arrow_reader)(size)
        held, height = [], 0
        for batch in reader:
            while height + len(batch) >= size:
                cut = size - height
                held.append(batch.slice(0, cut))
                yield _arrays(pa.Table.from_batches(held))
                held, height, batch = [], 0, batch.slice(cut)
            if len(batch):
                held, height = [*held, batch], height + len(batch)
        if height:
            yield _arrays(pa.Table.from_batches(held))


def _arrays(table: Any) -> list[npt.NDArray[Any]]:
    """Return columns of an Arrow table: numbers as int64 or float64, all else as objects."""
    import pyarrow as pa

    found = []
    for column in table.columns:
        kind = column.type
        if pa.types.is_decimal(kind) or (_is_number(kind) and column.null_count):
            column = column.cast(pa.float64())
        array = column.to_numpy(zero_copy_only=False)
        if _is_number(kind):
            array = array.astype(np.float64 if array.dtype.kind == "f" else np.int64, copy=False)
        found.append(array if _is_number(kind) else array.astype(object))
    return found


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
    )


class _RowsAnswer:
    """The answer of any other database (sqlite3 and whatever speaks DB-API), row by row."""

    def __init__(self, connection: Any, query: str, where: str) -> None:
        self._cursor = connection.cursor()
        self._cursor.execute(query)
        if self._cursor.description is None:
            raise SourceError(f"the query on {where} gives no rows; begin it with SELECT")
        self.names = [str(column[0]) for column in self._cursor.description]

    def blocks(self, size: int) -> Iterator[list[npt.NDArray[Any]]]:
        """Stream blocks of `size` rows."""
        while rows := self._cursor.fetchmany(size):
            yield [_array(values) for values in zip(*rows, strict=True)]


def _array(values: tuple[Any, ...]) -> npt.NDArray[Any]:
    """Return values of one column: numbers where all are, with NaN for gaps, else objects."""
    array = np.array(values, dtype=object)
    kinds = set(map(type, values))
    if str in kinds or bytes in kinds:
        return array
    try:
        return array.astype(np.float64 if kinds - {int, bool} else np.int64)
    except (TypeError, ValueError, OverflowError):
        return array
