"""SqlSource: the rows that a query gives, from DuckDB, SQLite or any DB-API connection."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import RowBlock
from tamis.core.errors import SourceError
from tamis.core.masking import masked
from tamis.core.names import Names
from tamis.sources.base import MEMORY, Progress, RowSource, as_path, default_width
from tamis.sources.tables.database import IN_MEMORY, ask, connected, one_sentence
from tamis.sources.tables.table_columns import name_one
from tamis.sources.text_files import TextFile


class SqlSource(RowSource):
    """Rows are the rows of the answer, columns its columns, called as the query calls them.

    Features are numbers or truth values; NULL is NaN. The target may be text. The query is sent
    anew for every pass: give it an ORDER BY where the database does not keep an order of its own.

    Parameters
    ----------
    database : str, path or connection
        A DuckDB or SQLite file (recognised by content, opened read-only), ":memory:" for a DuckDB
        that reads files named in the query, a URL such as ``duckdb:///clicks.duckdb?query=...`` or
        ``sqlite:///clicks.db?query=...`` (four slashes before an absolute path), or an open
        connection of duckdb, sqlite3 or another DB-API package.
    query : str
        A SELECT.
    target : str, optional
        Name of the column of the answer that is the target.
    memory : int
        Bytes that turning rows into columns may use.

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
            raise SourceError(f"{self._where} is a database; say what to read from it with query=")
        self.query, self._column = query.strip(" ;\n\t"), target
        self.target_name = target
        with connected(database, self._library) as connection:
            # First inside another SELECT, where nothing but a SELECT can stand.
            count = ask(connection, f"select count(*) from ({self.query}\n) as q", self._where)
            self._all = ask(connection, self.query, self._where).names
            with one_sentence(self._where):
                self._n_rows = int(next(iter(count.blocks(1)))[0][0])
        self._check_names()
        self._y: npt.NDArray[Any] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows of the answer."""
        return self._n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns, without the target."""
        return len(self._all) - (self._column is not None)

    def names(self) -> Names:
        """Return names of the columns, without the target."""
        return Names.of(name for name in self._all if name != self._column)

    def missing_target(self) -> str | None:
        """Return how to give a target, if none was given."""
        return None if self._column is not None else name_one(self._where, self._all)

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target; the first time the query is sent for it."""
        if self._column is not None and self._y is None:
            labels = [np.asarray(block.y) for block in self.batches()]
            self._y = np.concatenate(labels) if labels else np.zeros(0)
        return self._y

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows, in the order of the answer."""
        step = size or default_width(self.n_columns, max(1, self.n_rows), None)
        at = self._all.index(self._column) if self._column is not None else None
        first = 0
        with connected(self._database, self._library) as connection:
            answer = ask(connection, self.query, self._where)
            with one_sentence(self._where):
                for block in answer.blocks(step):
                    y = None if at is None else self._labels(block.pop(at), first)
                    values = self._numbers(block, first)
                    yield RowBlock(first, self.n_columns, values, y)
                    first += len(values)
                    progress("reading rows", first, self.n_rows)

    def load(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any] | None]:
        """Return everything at once: an array, and the target."""
        blocks = list(self.batches())
        if not blocks:
            return np.zeros((0, self.n_columns)), self.target()
        if self._column is not None:
            self._y = np.concatenate([np.asarray(block.y) for block in blocks])
        return np.concatenate([np.asarray(block.values) for block in blocks]), self._y

    def details(self) -> dict[str, Any]:
        """Return what else `tamis info` prints."""
        return {"query": masked(self.query), "columns": len(self._all)}

    def fingerprint(self) -> str:
        """Return a short hash of the database file, or of the answer without one, and the query."""
        digest = hashlib.blake2b(f"{self.query!r} {self._column!r}".encode(), digest_size=8)
        if self.path is not None:
            digest.update(TextFile(self.path).fingerprint().encode())
            return digest.hexdigest()
        for block in self.batches():
            digest.update(np.ascontiguousarray(block.values).data)
            digest.update(repr(None if block.y is None else block.y.tolist()).encode())
        return digest.hexdigest()

    def _check_names(self) -> None:
        there = ", ".join(self._all)
        twice = [name for name in self._all if self._all.count(name) > 1]
        if twice:
            raise SourceError(
                f"the query on {self._where} gives two columns called {twice[0]!r}; name one of "
                "them anew with AS"
            )
        if self._column is not None and self._column not in self._all:
            raise SourceError(
                f"the query on {self._where} gives no column {self._column!r}; its columns are "
                f"{there}"
            )

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
                f"the target {self._column!r} of the query on {self._where} is NULL in row "
                f"{first + int(np.argmax(gaps)) + 1}; add WHERE {self._column} IS NOT NULL"
            )
        return labels.astype(np.str_) if is_text else labels


def _of_url(url: str) -> tuple[str, str, dict[str, str]]:
    """The library, the path and the options of a URL; its path is relative after three slashes."""
    parts = urlsplit(url)
    if parts.scheme not in ("duckdb", "sqlite") or parts.netloc:
        raise SourceError(
            f"{url}: begin with duckdb:/// or sqlite:/// and the path of the database"
        )
    path = as_path(unquote(parts.path.removeprefix("/"))) or IN_MEMORY
    return parts.scheme, path, dict(parse_qsl(parts.query, keep_blank_values=True))
