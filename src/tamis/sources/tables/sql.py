"""SqlSource: the result of a query, from DuckDB, SQLite or any DB-API connection.

DuckDB returns Arrow batches that never become Python objects; other databases return rows.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import RowBlock
from tamis.core.errors import SourceError, need, one_sentence
from tamis.core.masking import masked
from tamis.core.names import Names
from tamis.sources.base import MEMORY, Progress, RowSource, as_path, default_width
from tamis.sources.rebatch import Piece, rebatch
from tamis.sources.tables.table_columns import kind_of, listed, name_one
from tamis.sources.text_files import TextFile

#: Names of the columns, and a function that takes a number of rows and streams blocks, as lists of
#: columns. A missing value is NaN in numbers and None elsewhere.
_Answer = tuple[list[str], Callable[[int], Iterator[list[npt.NDArray[Any]]]]]

IN_MEMORY = ":memory:"
_SQLITE = b"SQLite format 3\0"
_SQLITE_TABLES = "select name from sqlite_master where type in ('table', 'view') order by name"
_DUCKDB_TABLES = "select table_name from information_schema.tables order by table_name"


class SqlSource(RowSource):
    """The rows and columns of a query result, with the column names of the query.

    Features are numbers or Booleans; NULL is NaN. The target may be text. The query is sent again
    for every pass: give it an ORDER BY unless the database keeps a fixed order.

    Parameters
    ----------
    database : str, path or connection
        A DuckDB or SQLite file (recognised by content, opened read-only), ":memory:" for a DuckDB
        that reads files named in the query, a URL such as ``duckdb:///clicks.duckdb?query=...`` or
        ``sqlite:///clicks.db?query=...`` (four slashes before an absolute path), or an open
        connection of duckdb, sqlite3 or another DB-API package.
    query : str
        A SELECT statement.
    target : str, optional
        Name of the result column that is the target.
    memory : int
        Bytes that transposing rows into columns may use.

    Examples
    --------
    >>> import sqlite3
    >>> db = sqlite3.connect(":memory:")
    >>> _ = db.execute("create table t as select 1 as y, 2.5 as a, 3 as b union select 0, 1, 2")
    >>> source = SqlSource(db, "select * from t order by y", target="y")
    >>> list(source.names()), source.target().tolist(), source.n_rows
    (['a', 'b'], [0, 1], 2)
    >>> db.close()
    """

    format: ClassVar[str] = "sql"
    n_rows: int = 0
    n_columns: int = 0

    def __init__(
        self,
        database: Any,
        query: str | None = None,
        target: str | None = None,
        *,
        memory: int = MEMORY,
    ) -> None:
        self._library: str | None = None
        self.memory = memory
        if isinstance(database, (str, os.PathLike)):
            database = as_path(database)
            if "://" in database:
                self._library, database, options = _of_url(database)
                query, target = query or options.get("query"), target or options.get("target")
            if database != IN_MEMORY:
                self.path = database
        self._database = database
        self._where = database if isinstance(database, str) else "this connection"
        if not query or not query.strip(" ;\n\t"):
            raise SourceError(self._say_what_to_read())
        self.query, self.target_name = query.strip(" ;\n\t"), target
        with self._connected() as connection:
            # First inside another SELECT, where only a SELECT is allowed.
            _, count = self._ask(connection, f"select count(*) from ({self.query}\n) as q")
            self._all, _ = self._ask(connection, self.query)
            with self._one_sentence():
                self.n_rows = int(next(count(1))[0][0])
        twice = [name for name in self._all if self._all.count(name) > 1]
        if twice:
            raise SourceError(
                f"the query on {self._where} gives two columns called {twice[0]!r}; rename one "
                "of them with AS"
            )
        if target is not None and target not in self._all:
            raise SourceError(
                f"the query on {self._where} gives no column {target!r}; its columns are "
                f"{', '.join(self._all)}"
            )
        self.n_columns = len(self._all) - (target is not None)
        self._y: npt.NDArray[Any] | None = None

    def _say_what_to_read(self) -> str:
        """Return how to give a query, with the tables of a database in a file."""
        found: list[str] = []
        if self.path is not None:
            with suppress(SourceError, sqlite3.Error), self._connected() as connection:
                is_sqlite = isinstance(connection, sqlite3.Connection)
                _, blocks = self._ask(connection, _SQLITE_TABLES if is_sqlite else _DUCKDB_TABLES)
                found = [str(name) for block in blocks(100) for name in block[0]]
        example = f"--query 'SELECT * FROM {found[0]}'" if found else "--query"
        tables = f"; it has {listed(found)}" if found else ""
        return f"{self._where} is a database; say what to read with query= ({example}){tables}"

    def names(self) -> Names:
        """Return the names of the columns, without the target."""
        return Names.of(name for name in self._all if name != self.target_name)

    def missing_target(self) -> str | None:
        """Return how to give a target, or None if there is one."""
        return None if self.target_name is not None else name_one(self._where, self._all)

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target; the first call sends the query."""
        if self.target_name is not None and self._y is None:
            labels = [np.asarray(block.y) for block in self.batches()]
            self._y = np.concatenate(labels) if labels else np.zeros(0)
        return self._y

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows, in the order of the result."""
        step, first = size or default_width(self.n_columns, max(1, self.n_rows), None), 0
        for y, values in rebatch(self._pieces(step), step):
            yield RowBlock(first, self.n_columns, values, y)
            first += len(values)
            progress("reading rows", first, self.n_rows)

    def _pieces(self, size: int) -> Iterator[Piece]:
        """Stream the targets and values of rows, about `size` rows at a time."""
        at = self._all.index(self.target_name) if self.target_name is not None else None
        first = 0
        with self._connected() as connection:
            _, blocks = self._ask(connection, self.query)
            with self._one_sentence():
                for block in blocks(size):
                    y = None if at is None else self._labels(block.pop(at), first)
                    values = self._numbers(block, first)
                    yield y, values
                    first += len(values)

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        return {"query": masked(self.query), "columns": len(self._all)}

    def fingerprint(self) -> str:
        """Return a short hash of the query and the database file (or, without one, the result)."""
        digest = hashlib.blake2b(f"{self.query!r} {self.target_name!r}".encode(), digest_size=8)
        if self.path is not None:
            digest.update(TextFile(self.path).fingerprint().encode())
            return digest.hexdigest()
        for block in self.batches():
            digest.update(np.ascontiguousarray(block.values).data)
            digest.update(repr(None if block.y is None else block.y.tolist()).encode())
        return digest.hexdigest()

    def _connected(self) -> AbstractContextManager[Any]:
        """Return the given connection, or a new read-only one that is closed afterwards."""
        path, library = self._database, self._library
        if not isinstance(path, str):
            return nullcontext(path)
        if path != IN_MEMORY:
            TextFile(path)  # raises an error if it does not exist
            with open(path, "rb") as file:
                found = "sqlite" if file.read(len(_SQLITE)) == _SQLITE else "duckdb"
            library = library or found
        if library == "sqlite":
            address = f"{Path(os.path.abspath(path)).as_uri()}?mode=ro"
            return closing(sqlite3.connect(address, uri=True))
        duckdb = need("duckdb", extra="duckdb", what_for="a query on a DuckDB database")
        with self._one_sentence():
            return closing(duckdb.connect(path, read_only=path != IN_MEMORY))

    def _one_sentence(self) -> AbstractContextManager[None]:
        """Turn any error of a database into a one-sentence error."""
        return one_sentence(f"the query on {self._where} failed", "check it")

    def _ask(self, connection: Any, query: str) -> _Answer:
        """Send a query."""
        with self._one_sentence():
            if type(connection).__module__.partition(".")[0].lstrip("_") == "duckdb":
                relation = connection.sql(query)
                if relation is not None:
                    return list(map(str, relation.columns)), partial(_arrow_blocks, relation)
            else:
                cursor = connection.cursor()
                cursor.execute(query)
                if cursor.description is not None:
                    names = [str(column[0]) for column in cursor.description]
                    return names, partial(_row_blocks, cursor)
        raise SourceError(f"the query on {self._where} gives no rows; begin it with SELECT")

    def _numbers(self, columns: list[npt.NDArray[Any]], first: int) -> npt.NDArray[np.float64]:
        height = len(columns[0]) if columns else 0
        values = np.empty((height, len(columns)))
        for j, column in enumerate(columns):
            if column.dtype == object:
                name = self.names()[j]
                row = next((i for i, v in enumerate(column) if v is not None), 0)
                raise SourceError(
                    f"column {name!r} of the query on {self._where} holds {column[row]!r} in row "
                    f"{first + row + 1}, which is not a number; leave it out, or convert it "
                    "to numbers in the query"
                )
            values[:, j] = column
        return values

    def _labels(self, labels: npt.NDArray[Any], first: int) -> npt.NDArray[Any]:
        is_text = labels.dtype == object
        gaps = np.asarray(labels == None) if is_text else np.isnan(labels)  # noqa: E711
        if np.any(gaps):
            raise SourceError(
                f"the target {self.target_name!r} of the query on {self._where} is NULL in row "
                f"{first + int(np.argmax(gaps)) + 1}; add WHERE {self.target_name} IS NOT NULL"
            )
        return labels.astype(np.str_) if is_text else labels


def _of_url(url: str) -> tuple[str, str, dict[str, str]]:
    """Return library, path and options of a URL; three slashes begin a relative path."""
    parts = urlsplit(url)
    if parts.scheme not in ("duckdb", "sqlite") or parts.netloc:
        raise SourceError(
            f"{url}: begin with duckdb:/// or sqlite:/// and the path of the database"
        )
    path = as_path(unquote(parts.path.removeprefix("/"))) or IN_MEMORY
    return parts.scheme, path, dict(parse_qsl(parts.query, keep_blank_values=True))


def _arrow_blocks(relation: Any, size: int) -> Iterator[list[npt.NDArray[Any]]]:
    """Stream DuckDB's result: numbers as int64 or float64, everything else as objects."""
    import pyarrow as pa

    stream = getattr(relation, "to_arrow_reader", None)
    for batch in (stream or relation.fetch_arrow_reader)(size):
        block = []
        for column in batch.columns:
            is_number = kind_of(column.type) == "number"
            if is_number and (column.null_count or pa.types.is_decimal(column.type)):
                column = column.cast(pa.float64())
            dtype = np.float64 if pa.types.is_floating(column.type) else np.int64
            array = column.to_numpy(zero_copy_only=False)
            block.append(array.astype(dtype if is_number else object, copy=False))
        yield block


def _row_blocks(cursor: Any, size: int) -> Iterator[list[npt.NDArray[Any]]]:
    """Stream the result of any other database: columns of numbers, or of objects."""
    while rows := cursor.fetchmany(size):
        yield [_array(values) for values in zip(*rows, strict=True)]


def _array(values: tuple[Any, ...]) -> npt.NDArray[Any]:
    """Return the values of one column: numbers (NaN if missing) if all are, else objects."""
    array = np.array(values, dtype=object)
    kinds = set(map(type, values))
    if str in kinds or bytes in kinds:
        return array
    try:
        return array.astype(np.float64 if kinds - {int, bool} else np.int64)
    except (TypeError, ValueError, OverflowError):
        return array
