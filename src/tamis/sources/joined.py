"""Data whose target is in a table of its own, joined by a key: samples and their phenotypes.

The rows are those that both have, in the order of the data. What only one of them has is counted in
a warning.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed, RowBlock
from tamis.core.errors import InputError, SourceError, warn
from tamis.core.names import Names
from tamis.core.sentences import counted
from tamis.sources.base import (
    ColumnRange,
    ColumnSource,
    Progress,
    RowSource,
    Source,
    Wrapper,
    short_hash,
)
from tamis.sources.rebatch import Piece, with_rows
from tamis.sources.tables.table_columns import listed, name_one, no_such

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Join:
    """Rows of the data that are in a table of phenotypes, and where.

    Attributes
    ----------
    table : Source
        The phenotypes.
    rows, lines : ndarray of int
        Rows of the data, in order, and for each its line in the table.
    key, keys : str, ndarray of str
        The name of the key, and the keys of these rows.
    target_name, y : str or None, ndarray or None
        The column to predict, and its values.
    """

    table: Source
    rows: Indices
    lines: Indices
    key: str
    keys: npt.NDArray[Any]
    target_name: str | None
    y: npt.NDArray[Any] | None

    @classmethod
    def of(cls, data: Source, table: Source, key: str | None, target: str | None) -> Join:
        """Match the rows of the data with the lines of a table."""
        called, there = table.path or "the table of y=", table.column_names or []
        if key is None:
            raise SourceError(
                f"name the column of {called} that identifies the rows with key= (--key); it has "
                f"{listed(there)}"
            )
        if key not in there:
            raise SourceError(no_such(called, "key", key, there))
        ours, theirs = _row_keys(data), _as_text(table.key_column(key))
        if not np.isin(ours, theirs).any():  # numbers may be written in two ways, as 7 and 7.0
            theirs = _as_text(np.asarray(table.column(key)))
        for name, keys in ((data.path or "the data", ours), (called, theirs)):
            different, counts = np.unique(keys, return_counts=True)
            if len(different) < len(keys):
                again = str(different[np.argmax(counts > 1)])
                raise SourceError(f"{name} has {again!r} twice in {key!r}; give every row once")
        order = np.argsort(theirs, kind="stable")
        at = np.minimum(np.searchsorted(theirs[order], ours), len(order) - 1)
        found = theirs[order[at]] == ours
        rows, lines = np.flatnonzero(found), order[at[found]]
        if not len(rows):
            raise SourceError(
                f"no row of {data.path or 'the data'} is in column {key!r} of {called}: "
                f"{listed(ours[:2].tolist())} there and {listed(theirs[:2].tolist())} here; make "
                "the keys equal"
            )
        y, lacking = None, 0
        if target is not None:
            if target not in there:
                raise SourceError(no_such(called, "target", target, there))
            y = np.asarray(table.column(target))[lines]
            known = ~_missing(y)
            lacking = int(np.count_nonzero(~known))
            y, rows, lines = _settled(y[known]), rows[known], lines[known]
        only_ours = ours[~found].tolist()
        only_theirs = theirs[~np.isin(theirs, ours)].tolist()
        _report(data, called, len(rows), only_ours, only_theirs, lacking, target)
        return cls(table, rows, lines, key, ours[rows], target, y)

    def missing_target(self) -> str | None:
        """Return how to name the target, or None if there is one."""
        if self.y is not None:
            return None
        table = os.path.basename(self.table.path) if self.table.path else "the table of y="
        return name_one("", self.table.column_names or [], table)

    @property
    def fingerprint(self) -> str:
        """A short hash of the matched rows and their target."""
        y = "" if self.y is None else repr(self.y.astype(str).tolist())
        return short_hash(self.rows.astype(np.int64).tobytes(), y)


def joined(data: Source, table: Source, key: str | None, target: str | None) -> Source:
    """Return the rows of a source that a table has as well, with a target from that table."""
    join = Join.of(data, table, key, target)
    if isinstance(data, ColumnSource):
        return JoinedColumns(data, join)
    return JoinedRows(data, join)


def with_a_target(source: Source) -> Source:
    """Return the rows of a source whose target is not missing, with a warning that counts others.

    The rows are those of a join with the source itself.
    """
    name, y = source.target_name, source.target()
    if y is None:
        raise SourceError(
            "missing_target='drop' (--missing-target) needs a target, and "
            f"{source.path or 'the data'} has none; name it with target= (--target)"
        )
    known, what = ~_missing(y), "target" if name is None else repr(name)
    if known.all():
        return source
    if not known.any():
        raise SourceError(f"{source.path or 'the data'}: no row has a value of {what}")
    rows = np.flatnonzero(known)
    lacking = counted(len(y) - len(rows), "row has", "rows have")
    warn(f"{lacking} no {what} and {'is' if len(y) - len(rows) == 1 else 'are'} left out")
    key, keys = source.keys() or ("", np.arange(len(y)))
    join = Join(source, rows, rows, key, keys[rows], name, _settled(y[known]))
    kind = _KnownColumns if isinstance(source, ColumnSource) else _KnownRows
    return kind(source, join)


class _Joined(Wrapper):
    """A source with some of its rows, and a target from another table."""

    n_rows: int = 0
    target_name: str | None = None
    #: Why its columns cannot be streamed as they are in the file.
    as_it_is: ClassVar[str] = (
        "a table is written as it is, without the phenotypes of y=; leave y (--y) out, and join "
        "them with the result"
    )

    def __init__(self, source: Source, join: Join) -> None:
        super().__init__(source)
        self._join, self.n_rows = join, len(join.rows)
        self.target_name = join.target_name

    def missing_target(self) -> str | None:
        """Return how to give a target, or None if there is one."""
        return self._join.missing_target()

    def target(self) -> npt.NDArray[Any] | None:
        """Return the column of the table, in the order of the rows."""
        return self._join.y

    def keys(self) -> tuple[str, npt.NDArray[Any]]:
        """Return the keys of the rows."""
        return self._join.key, self._join.keys

    def names(self) -> Names | None:
        """Return the names of the features."""
        names: Names | None = self._source.names()
        return names

    def words(self) -> npt.NDArray[np.bool_] | None:
        """Return which columns are coded text with three or more categories."""
        words: npt.NDArray[np.bool_] | None = self._source.words()
        return words

    def row_names(self) -> npt.NDArray[Any]:
        """Return the keys of the rows."""
        return self._join.keys

    @property
    def column_names(self) -> list[str]:
        """Names of the columns of the table of phenotypes, then of the data."""
        theirs = self._join.table.column_names or []
        return [*theirs, *(n for n in self._source.column_names or () if n not in theirs)]

    def column(self, name: str) -> npt.NDArray[Any] | None:
        """Return a column of the table of phenotypes, or else of the data, for these rows."""
        found = self._join.table.column(name)
        if found is not None:
            return np.asarray(found)[self._join.lines]
        found = self._source.column(name)
        return None if found is None else np.asarray(found)[self._join.rows]

    def original(self, names: Sequence[str], text: Collection[str] = ()) -> Iterator[Any] | None:
        """Refuse tables, which are written as they are; other data holds numbers only."""
        if self._source.original(names, text) is not None:
            raise InputError(self.as_it_is)
        return None

    def fingerprint(self) -> str:
        """Return a short hash of the data and of what was joined."""
        return short_hash(self._source.fingerprint(), self._join.fingerprint)


class JoinedColumns(_Joined, ColumnSource):
    """Columns of which some rows are read, in the order of the data."""

    def blocks(self, wanted: ColumnRange) -> Iterator[ColumnBlock]:
        """Stream the columns with the rows of both."""
        rows = self._join.rows
        whole = len(rows) == self._source.n_rows
        for block in self._source.blocks(wanted):
            yield block if whole else with_rows(block, rows)


class JoinedRows(_Joined, RowSource):
    """Rows of which some are read, in the order of the data."""

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream the rows of both."""
        return self._blocks_of(self._pieces(progress), size, progress)

    def _pieces(self, progress: Progress) -> Iterator[Piece]:
        for block in self._source.batches(progress=progress):
            inside = self._join.rows - block.first
            inside = inside[(inside >= 0) & (inside < len(block.values))]
            values = block.values
            yield None, values.pick(inside) if isinstance(values, Compressed) else values[inside]


class _Known(_Joined):
    """The rows of a source that have a target."""

    as_it_is: ClassVar[str] = (
        "a table is written as it is, with the rows that have no target; leave missing_target "
        "(--missing-target) out"
    )

    def keys(self) -> tuple[str, npt.NDArray[Any]] | None:  # type: ignore[override]
        """Return the keys of the rows, if the source has any."""
        return super().keys() if self._join.key else None

    def row_names(self) -> npt.NDArray[Any] | None:  # type: ignore[override]
        """Return the names of the rows, if the source has any."""
        names = self._source.row_names()
        return None if names is None else names[self._join.rows]


class _KnownColumns(_Known, JoinedColumns):
    """Columns of a source, without the rows that have no target."""


class _KnownRows(_Known, JoinedRows):
    """Rows of a source that have a target."""


def _row_keys(data: Source) -> npt.NDArray[Any]:
    """Return the key of every row of the data, as text."""
    named = data.row_names()
    if named is None:
        raise SourceError(
            f"{data.path or 'the data'} has no names of rows to join with the table of y= (--y); "
            "give a table with that column, or one target value for each row"
        )
    return _as_text(named)


def _as_text(keys: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return keys as text, whole numbers without a decimal point."""
    if keys.dtype.kind == "f" and np.all(keys == np.floor(keys)):
        keys = keys.astype(np.int64)
    return np.char.strip(keys.astype(str))


def _missing(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=np.bool_)
    return np.array([value is None or value != value for value in values.tolist()], np.bool_)


def _settled(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return values without missing ones as whole numbers or text, if they are."""
    if values.dtype.kind == "f" and len(values) and np.all(values == np.floor(values)):
        return values.astype(np.int64)
    if values.dtype.kind == "O":
        return np.array(values.tolist())
    return values


def _report(
    data: Source, table: str, common: int, ours: list[str], theirs: list[str], lacking: int,
    target: str | None,
) -> None:  # fmt: skip
    """Warn about rows that only one side has, and rows without a target."""
    called = os.path.basename(data.path) if data.path else "the data"
    table, parts = os.path.basename(table), []
    if ours:
        parts.append(f"{_are(len(ours), called)} not in {table} ({listed(ours)})")
    if theirs:
        parts.append(f"{_are(len(theirs), table)} not in {called} ({listed(theirs)})")
    if lacking:
        parts.append(f"{counted(lacking, 'has', 'have')} no {target!r}")
    if parts:
        warn(f"{counted(common, 'row is', 'rows are')} used; {', '.join(parts)}")


def _are(count: int, of: str) -> str:
    return f"{count:,} of {of} {'is' if count == 1 else 'are'}"
