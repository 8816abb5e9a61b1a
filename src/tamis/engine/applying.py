"""Apply a run to data: write only the kept columns, with the values that the user gave.

Tables are streamed row by row with their words and dates. Numbers of other formats are streamed by
rows, or their kept columns are read: memory holds what is kept and one block.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed, RowBlock
from tamis.core.errors import InputError, OutputError, ParameterError
from tamis.core.names import Names
from tamis.core.sentences import counted, join
from tamis.engine.runs import Run
from tamis.engine.sinks import WRITERS, Part
from tamis.sources import format_of, open_source
from tamis.sources.aside import original_positions
from tamis.sources.axis import to_columns, to_rows, write_rows, write_store
from tamis.sources.base import (
    ColumnRange,
    ColumnSource,
    Progress,
    RowSource,
    Source,
    Wrapper,
    silent,
)
from tamis.sources.text.csv_text import ReadAgainError

#: Formats that can be written, by extension.
TABLES = (".parquet", ".pq", ".arrow", ".feather", ".csv", ".tsv")
MATRICES = (".npy", ".npz", ".svm")
STORES = (".cols", ".rows")

#: The most names in a sentence.
LISTED = 10


@dataclass(frozen=True)
class Applied:
    """What was written: the file or folder, its rows and columns, and their names."""

    out: str
    rows: int
    columns: list[str]
    target: str | None
    key: str | None

    def __str__(self) -> str:
        more = [f"the {what} {name!r}" for what, name in self._others if name is not None]
        size = f"{counted(self.rows, 'row')}, {counted(len(self.columns), 'column')}"
        return f"wrote {self.out}: {join([size, *more])}"

    @property
    def _others(self) -> tuple[tuple[str, str | None], ...]:
        return ("key", self.key), ("target", self.target)


def apply_run(
    run: Run,
    data: Any,
    out: str | os.PathLike[str],
    *,
    force: bool = False,
    progress: Progress = silent,
    **reading: Any,
) -> Applied:
    """Write the kept columns of data to a file or a store, completely or not at all.

    Parameters
    ----------
    run : Run
        The run that selected.
    data : path, Source, array, data frame or Arrow table
        New data, or the data of the run.
    out : path
        NAME.parquet, .arrow, .csv, .tsv, .npy, .npz, .svm, .cols or .rows.
    force : bool, default=False
        Replace an existing file or store.
    progress : callable, optional
        Called as ``progress(what, done, total)``.
    **reading
        How data is read, as in ``tamis.open``.
    """
    path = os.fspath(out)
    ending = _ending(path)
    kept = run.log.replay()
    if not kept:
        raise InputError("the run kept no feature, so there is nothing to write")
    if os.path.lexists(path) and not force:
        raise OutputError(f"{path} already exists; choose another name, or use --force")
    source = _opened(run, data, reading)
    if source.path is not None and os.path.exists(path) and os.path.samefile(source.path, path):
        raise OutputError(f"{path} is the data itself; choose another name")
    names = [run.log.names[feature] for feature in kept]
    taken = _taken(run, source, kept, names)
    target, named = source.target_name, source.keys()
    key = None if named is None else named[0]
    original = source.original(names) is not None
    if ending in STORES:
        made = _write_store(path, _picked(source, taken, names), force, progress)
        has_target = None if made.target() is None else target or "target"
        return Applied(path, int(made.n_rows or 0), names, has_target, None)
    while True:
        if original:
            parts = _original(source, names, target, key, as_text=ending in (".csv", ".tsv"))
        else:
            parts = _numbers(_picked(source, taken, names), target, key)
        total = None if source.axis == "rows" or source.format == "csv" else source.n_rows
        try:
            rows, written = WRITERS[ending](path, _reported(parts, total, progress))
        except ReadAgainError:  # a column of a CSV file is not what its first lines suggest
            continue
        return Applied(path, rows, names, *written)


def _write_store(path: str, picked: Any, force: bool, progress: Progress) -> Source:
    if os.path.normpath(path).endswith(".rows"):
        return write_rows(path, picked, progress=progress, force=force)
    return write_store(path, picked, progress=progress, force=force)


def _reported(parts: Iterator[Part], total: int | None, progress: Progress) -> Iterator[Part]:
    rows = 0
    for part in parts:
        yield part
        rows += part.height
        progress("writing rows", rows, total)


def _ending(path: str) -> str:
    known = (*TABLES, *MATRICES, *STORES)
    ending = os.path.splitext(os.path.normpath(path))[1].lower()
    if ending not in known:
        raise ParameterError(
            f"{path}: the format to write is not clear from the name; end it with one of "
            f"{', '.join(known)}"
        )
    return ending


# --- which columns ---------------------------------------------------------------------------


def _opened(run: Run, data: Any, reading: dict[str, Any]) -> Source:
    """Open data the way the run read its own, with the target and the key if it has them."""
    if not isinstance(data, str | os.PathLike):
        return open_source(data, **reading)
    format, names = reading.get("format") or format_of(os.fspath(data)), run.log.names
    if format == "svmlight" and names.prefix == "":  # features count from the same base
        reading = {"zero_based": names.base == 0, **reading}
    elif format in ("csv", "parquet", "arrow"):
        reading = {"dates": "ignore", **reading}  # a note would be out of place here
    elif format == "daily" and "key" in run.source:
        reading = {"key": run.source["key"], **reading}
    source = open_source(data, **reading)
    there = source.column_names or ()
    roles = {"target": run.source.get("target_name"), "key": run.source.get("key")}
    known = {role: name for role, name in roles.items() if name in there and role not in reading}
    return open_source(data, **reading, **known) if known else source


def _taken(run: Run, source: Source, kept: list[int], names: list[str]) -> npt.NDArray[np.int64]:
    """Return where the kept columns are among the columns of the source, or name those it lacks."""
    known = source.names()
    if known is None and source.axis == "columns":
        blocks = [block.names for block in to_columns(source).columns()]
        known = None if not blocks or None in blocks else Names.joined([b for b in blocks if b])
    if known is None:
        arranged = run.source.get("arranged")
        if arranged is not None:
            kept = original_positions(arranged, kept)
        elif not run.log.names.numbered:
            raise InputError(
                f"{source.label} has columns without names, and the run selected by name; give "
                "data with the same names"
            )
        total, is_svm = source.n_columns or 0, source.format == "svmlight"
        lacking = [] if is_svm else [n for f, n in zip(kept, names, strict=True) if f >= total]
        _refuse(lacking, len(kept), source)
        return np.array(kept, dtype=np.int64)  # svmlight: a column without entries is all zeros
    where = {name: i for i, name in enumerate(known)}
    there = set(source.column_names or ()) | set(where)
    _refuse([name for name in names if name not in there], len(kept), source)
    return np.array([where.get(name, -1) for name in names], dtype=np.int64)


def _refuse(lacking: list[str], total: int, source: Source) -> None:
    if lacking:
        more = [f"{len(lacking) - LISTED:,} more"] if len(lacking) > LISTED else []
        raise InputError(
            f"{source.label} lacks {len(lacking):,} of the {counted(total, 'kept column')}: "
            f"{join([*map(repr, lacking[:LISTED]), *more])}; give data with all of them"
        )


# --- streaming rows --------------------------------------------------------------------------


def _original(
    source: Source, names: list[str], target: str | None, key: str | None, *, as_text: bool
) -> Iterator[Part]:
    """Stream the kept columns of a table, unchanged; a key such as 007 is always text."""
    wanted = [*names, *(name for name in (target, key) if name is not None)]
    text = wanted if as_text else [] if key is None else [key]
    for batch in source.original(list(dict.fromkeys(wanted)), text) or ():
        yield Part(
            names, batch.select(names),
            None if target is None else (target, batch.column(target)),
            None if key is None else (key, batch.column(key)),
        )  # fmt: skip


def _numbers(picked: Any, target: str | None, key: str | None) -> Iterator[Part]:
    """Stream the kept columns of a source of numbers."""
    labels, found, first = picked.target(), picked.keys(), 0
    names = list(picked.names())
    for block in to_rows(picked).batches():
        rows = slice(first, first + block.height)
        y = block.y if labels is None else labels[rows]
        keys = None if found is None else (key or found[0], found[1][rows])
        yield Part(names, block.values, None if y is None else (target or "target", y), keys)
        first += block.height


def _picked(source: Source, taken: npt.NDArray[np.int64], names: list[str]) -> Any:
    """Return the kept columns as a source."""
    if np.any(taken < 0):
        lost = [name for name, at in zip(names, taken.tolist(), strict=True) if at < 0]
        raise InputError(
            f"{source.label}: {join(list(map(repr, lost[:LISTED])))} cannot be read as a number or "
            "a category; write a .parquet or .csv file"
        )
    return (PickedRows if source.axis == "rows" else PickedColumns)(source, taken, Names.of(names))


class PickedColumns(Wrapper, ColumnSource):
    """Some columns of a source of columns, with their names."""

    n_columns: int = 0

    def __init__(self, source: Any, taken: npt.NDArray[np.int64], names: Names) -> None:
        super().__init__(source)
        self._taken, self._names, self.n_columns = taken, names, len(taken)

    def names(self) -> Names:
        """Return the names of these columns."""
        return self._names

    def blocks(self, wanted: ColumnRange) -> Iterator[ColumnBlock]:
        """Stream the columns, one at a time."""
        end = wanted.end(self.n_columns)
        for at in range(wanted.start, end):
            number = int(self._taken[at])
            block = next(self._source.columns(1, number, number + 1))
            yield replace(block, first=at, names=self._names.part(at, at + 1), group=None)
            wanted.progress("reading columns", at + 1, end)


class PickedRows(Wrapper, RowSource):
    """Some columns of a source of rows, with their names."""

    n_columns: int = 0

    def __init__(self, source: Any, taken: npt.NDArray[np.int64], names: Names) -> None:
        super().__init__(source)
        self._taken, self._names, self.n_columns = taken, names, len(taken)
        self.whole_labels = source.whole_labels
        self._order = np.argsort(taken, kind="stable")
        self._sorted = taken[self._order]

    def names(self) -> Names:
        """Return the names of these columns."""
        return self._names

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream the rows."""
        for block in self._source.batches(size, progress=progress):
            yield RowBlock(block.first, self.n_columns, self._pick(block.values), block.y)

    def _pick(self, values: Any) -> Any:
        """Return some rows with these columns only, renumbered."""
        if not isinstance(values, Compressed):
            return np.ascontiguousarray(values[:, self._taken])
        at = np.searchsorted(self._sorted, values.indices)
        at = np.minimum(at, len(self._sorted) - 1)
        inside = self._sorted[at] == values.indices
        indptr = np.concatenate([[0], np.cumsum(inside)])[values.indptr]
        indices, data = self._order[at[inside]], values.data[inside]
        if np.any(self._order[1:] < self._order[:-1]):  # names in another order than the columns
            rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
            order = np.lexsort((indices, rows))
            indices, data = indices[order], data[order]
        return Compressed(indptr, indices, data)
