"""DailySource: a folder of tables with the same rows, each with a few new columns."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.errors import SourceError, warn
from tamis.core.names import Names
from tamis.core.params import Number, OneOf, check
from tamis.core.sentences import counted
from tamis.sources.base import MEMORY, ColumnRange, ColumnSource, as_path, short_hash
from tamis.sources.rebatch import with_rows
from tamis.sources.tables.table import ArrowTable, ParquetTable, TableFile, TableSource
from tamis.sources.tables.table_columns import (
    Roles,
    as_words,
    key_values,
    matches,
    name_one,
    no_such,
)

_TABLES: dict[str, type[ParquetTable] | type[ArrowTable]] = {
    ".parquet": ParquetTable, ".pq": ParquetTable, ".arrow": ArrowTable, ".feather": ArrowTable,
}  # fmt: skip


#: What if a table lacks some of the rows.
MISSING_ROWS = ("error", "gaps")


class DailySource(ColumnSource):
    """A folder of Parquet (or Arrow) files: one row per key, new columns in every file.

    Files are sorted by name, so that ``2026-01-02.parquet`` follows ``2026-01-01.parquet``; names
    that begin with a dot or an underscore are skipped. The rows are those of the first file; the
    other files may have them in another order but must have the same keys, each exactly once. The
    columns of a file are a group, for selectors that use groups.

    Parameters
    ----------
    path : str or path
        The folder.
    target : str, optional
        The column to predict; if several files have it, it must be the same in all.
    memory, work
        Bytes that reading by rows may use, and a folder for larger data.
    key : str
        The column that identifies the rows, in every file.
    ignore, categorical
        Names of columns that are not features, and of those whose numbers are categories.
    missing_rows : {"error", "gaps"}, default="error"
        What if a file lacks some rows of the first: an error, or their values are missing.
    """

    format: ClassVar[str] = "daily"

    path: str
    n_rows: int = 0
    n_columns: int = 0

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: str | None = None,
        *,
        memory: int = MEMORY,
        work: str | os.PathLike[str] | None = None,
        key: str | None = None,
        ignore: str | Iterable[str] = (),
        categorical: str | Iterable[str] = (),
        missing_rows: str = "error",
    ) -> None:
        check("DailySource", "memory", memory, Number(1, integer=True))
        check("DailySource", "missing_rows", missing_rows, OneOf(MISSING_ROWS))
        self._gaps = missing_rows == "gaps"
        self.path, self.memory, self.work = as_path(path), memory, work
        if key is None:
            raise SourceError(
                f"{self.path} is a folder of tables; name the column that identifies their rows "
                "with key= (--key)"
            )
        self.target_name = target
        self._key, self._roles = key, Roles(target, key, ignore, categorical)
        self._parts = [self._part(file) for file in _files(self.path)]
        self._check_names()
        self._keys = _keys(self._parts[0]._file, key)
        self.n_rows = len(self._keys)
        self.n_columns = sum(part.n_columns for part in self._parts)
        orders = [self._order(part) for part in self._parts]
        self._in_order = [order is None for order in orders]
        #: Rows that a file lacks, by its name.
        self._lacking = {
            part.label: int(np.count_nonzero(order < 0))
            for part, order in zip(self._parts, orders, strict=True)
            if order is not None and np.any(order < 0)
        }
        if self._lacking:
            most = max(self._lacking, key=self._lacking.__getitem__)
            files = counted(len(self._lacking), "file lacks", "files lack")
            warn(
                f"{self.path}: {files} rows, which count as missing values (at most "
                f"{self._lacking[most]:,} of {self.n_rows:,}, in {most})"
            )
        self._y: npt.NDArray[Any] | None = None

    def names(self) -> Names:
        """Return the names of the features, file by file."""
        return Names.of(name for part in self._parts for name in part.names())

    def keys(self) -> tuple[str, npt.NDArray[Any]]:
        """Return the name and values of the key column, in the order of the first file."""
        return self._key, key_values(self._keys)

    def missing_target(self) -> str | None:
        """Return how to give a target, or None if there is one."""
        if self._roles.target is not None:
            return None
        return name_one(self.path, [name for name in self.names() if name != self._key])

    @property
    def column_names(self) -> list[str]:
        """Names of all columns, file by file."""
        every = [name for part in self._parts for name in part.column_names]
        return list(dict.fromkeys(every))

    def original(self, names: Sequence[str], text: Collection[str] = ()) -> Iterator[Any]:
        """Stream some columns as they are in the files, in the row order of the first."""
        import pyarrow as pa

        found: dict[str, Any] = {}
        for part, in_order in zip(self._parts, self._in_order, strict=True):
            here = [n for n in names if n in part.column_names and n not in found]
            if here:
                table = part._file.read(here)
                order = None if in_order else self._order(part)
                if order is not None:
                    table = table.take(pa.array(order, mask=order < 0))
                found |= {name: table.column(name) for name in here}
        yield from pa.table({name: found[name] for name in names}).to_batches(1 << 16)

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target in the row order of the first file, or None if none was named."""
        if self._y is None and self._roles.target is not None:
            for part, in_order in zip(self._parts, self._in_order, strict=True):
                y = part.target()
                if y is None:
                    continue
                order = None if in_order else self._order(part)
                if order is not None and np.any(order < 0):
                    raise SourceError(
                        f"{part.path} lacks {counted(self._lacking[part.label], 'row')}, and it "
                        f"holds the target {self._roles.target!r}, which must not be missing; give "
                        "it every row"
                    )
                y = y if order is None else y[order]
                if self._y is not None and not np.array_equal(self._y, y):
                    raise SourceError(
                        f"{part.path} has other values of the target {self._roles.target!r} than "
                        "a file before it; leave it out of one of them"
                    )
                self._y = y
        return self._y

    def blocks(self, wanted: ColumnRange) -> Iterator[ColumnBlock]:
        """Stream blocks of at most `width` columns, file by file."""
        before, last = 0, wanted.end(self.n_columns)
        for part, in_order in zip(self._parts, self._in_order, strict=True):
            lo, hi = max(wanted.start - before, 0), min(last - before, part.n_columns)
            if lo < hi:
                order = None if in_order else self._order(part)
                for block in part.columns(wanted.width, lo, hi):
                    block = block if order is None else with_rows(block, order)
                    first = before + block.first
                    yield replace(block, first=first, group=part.label)
                    wanted.progress("reading columns", first + block.width, self.n_columns)
            before += part.n_columns

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        first, last = self._parts[0].label, self._parts[-1].label
        lacking = {"rows_missing": self._lacking} if self._lacking else {}
        return {"files": len(self._parts), "first": first, "last": last, **lacking}

    def fingerprint(self) -> str:
        """Return a short hash of every file and of the roles of columns."""
        files = (f"{part.label} {part.fingerprint()}\n" for part in self._parts)
        return short_hash(repr(self._roles.options), *files)

    def _part(self, file: TableFile) -> TableSource:
        """Return one file, with the roles of its columns."""
        names, roles = set(file.schema.names), self._roles
        if self._key not in names:
            raise SourceError(no_such(file.path, "key", self._key, file.schema.names))
        target = roles.target if roles.target in names else None
        ignore = [name for pattern in roles.ignore for name in matches(pattern, names)]
        categorical = [name for name in roles.categorical if name in names]
        return TableSource(file, Roles(target, self._key, ignore, categorical))

    def _check_names(self) -> None:
        """Refuse a requested name that no file has, and a name that two files have."""
        every = {name for part in self._parts for name in part._file.schema.names}
        roles = self._roles
        ignored = [name for name in roles.ignore if not matches(name, every)]
        for requested in (roles.target, *ignored, *roles.categorical):
            if requested is not None and requested not in every:
                raise SourceError(
                    f"no file in {self.path} has a column {requested!r}; check the name"
                )
        found: dict[str, str] = {}
        for part in self._parts:
            for name in part.names():
                if name in found:
                    raise SourceError(
                        f"{part.path} has a column {name!r}, and so does {found[name]}; give each "
                        "day's columns unique names"
                    )
                found[name] = part.path

    def _order(self, part: TableSource) -> npt.NDArray[np.int64] | None:
        """Return the positions of the first file's rows in another file; None if equal."""
        import pyarrow.compute as pc

        first, keys = self._parts[0].path, _keys(part._file, self._key)
        if keys.type != self._keys.type:
            raise SourceError(
                f"{part.path} has keys of type {keys.type} and {first} has {self._keys.type}; "
                "use one type for both"
            )
        if keys.equals(self._keys):
            return None
        lost = pc.is_null(pc.index_in(keys, value_set=self._keys))
        if pc.any(lost).as_py():
            extra = keys.filter(lost)[0].as_py()
            raise SourceError(
                f"{part.path} has a row with {self._key} {extra!r} that is not in {first}; give "
                "every file the same rows"
            )
        indices = pc.index_in(self._keys, value_set=keys)
        if indices.null_count and not self._gaps:
            lacking = self._keys.filter(pc.is_null(indices))[0].as_py()
            raise SourceError(
                f"{part.path} has no row with {self._key} {lacking!r}, which {first} has; give "
                "every file the same rows, or take their values as missing with --missing-rows "
                "gaps (missing_rows='gaps')"
            )
        found = pc.fill_null(indices, -1).to_numpy(zero_copy_only=False)
        order: npt.NDArray[np.int64] = found.astype(np.int64)
        return order


def _files(folder: str) -> list[TableFile]:
    """Return the tables in a folder, sorted by name."""
    try:
        found: list[TableFile] = [kind(path) for path, kind in tables_in(folder)]
    except OSError as error:
        raise SourceError(f"{folder} cannot be read ({error.strerror}); check it") from error
    if not found:
        raise SourceError(
            f"{folder} holds no Parquet or Arrow file; give a folder with one per day"
        )
    return found


def _keys(file: TableFile, name: str) -> Any:
    """Return the keys of a file, which must be unique integers or strings."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = file.read([name]).column(0)
    if column.null_count:
        raise SourceError(f"{file.path} has a row without {name}; give every row its key")
    column = column.cast(pa.int64()) if pa.types.is_integer(column.type) else as_words(column)
    keys = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if len(pc.unique(keys)) < len(keys):
        counts = pc.value_counts(keys)
        twice = counts.filter(pc.greater(counts.field("counts"), 1))[0]["values"].as_py()
        raise SourceError(f"{file.path} has two rows with {name} {twice!r}; give each key one row")
    return keys


def tables_in(folder: str) -> list[tuple[str, type[ParquetTable] | type[ArrowTable]]]:
    """Return the paths of the tables in a folder, sorted by name, and the class that opens each."""
    kinds = ((n, _TABLES.get(os.path.splitext(n)[1].lower())) for n in sorted(os.listdir(folder)))
    return [
        (os.path.join(folder, name), kind)
        for name, kind in kinds
        if kind is not None and not name.startswith((".", "_"))
    ]
