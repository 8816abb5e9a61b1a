"""Parquet and Arrow files: columns as they are, a column of lists, or a line for each value."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from tamis.core.errors import ParameterError
from tamis.sources.base import MEMORY, Source, as_path
from tamis.sources.matrix import HeldRows
from tamis.sources.tables.entries import EntrySource
from tamis.sources.tables.long import LongSource
from tamis.sources.tables.roles import Roles, names_of
from tamis.sources.tables.table import TableSource
from tamis.sources.tables.table_files import ArrowTable, ParquetTable, TableFile
from tamis.sources.tables.tokens import TokenSource


def open_parquet(path: str | os.PathLike[str], target: str | None = None, **options: Any) -> Source:
    """Open a Parquet file; `open_table` says what the options are."""
    return open_table(ParquetTable(as_path(path)), target, **options)


def open_arrow(path: str | os.PathLike[str], target: str | None = None, **options: Any) -> Source:
    """Open an Arrow IPC or feather file; `open_table` says what the options are."""
    return open_table(ArrowTable(as_path(path)), target, **options)


def open_table(
    file: TableFile,
    target: str | None = None,
    *,
    key: str | None = None,
    ignore: str | Iterable[str] = (),
    categorical: str | Iterable[str] = (),
    tokens: str | None = None,
    long: str | Iterable[str] | None = None,
    y: Any = None,
    memory: int = MEMORY,
    work: str | os.PathLike[str] | None = None,
) -> Source:
    """Open a table in one of its three forms.

    Parameters
    ----------
    file : TableFile
        The file.
    target, key, ignore, categorical
        Names of columns: the one to predict; the one that names the rows; those that are not
        features; those whose numbers are names of categories.
    tokens : str, optional
        A column of lists: each different element is a feature, its count in a row the value.
        Other columns than this and the target are not read.
    long : two or three names, optional
        The columns row, feature and value of a table with one line for each value that is not 0;
        without the third, every value is 1. A text such as "row,feature,value" will do.
    y : array or path, optional
        With `long`: the target by row number, or an .npy file that holds it.
    memory, work : int, str or path
        With `tokens` or `long`: bytes to use, about, and a folder for what needs more.
    """
    if tokens is not None and long is not None:
        raise ParameterError("tokens= and long= are two forms of a table; give one of them")
    if long is not None:
        columns = names_of(long.split(",") if isinstance(long, str) else long)
        return _held(LongSource(file, columns, target, y=y, memory=memory, work=work))
    if y is not None:
        raise ParameterError("y= goes with long=; name the column to predict with target=")
    if tokens is not None:
        return _held(TokenSource(file, tokens, target, memory=memory, work=work))
    return TableSource(file, Roles.of(target, key, ignore, categorical))


def _held(source: EntrySource) -> Source:
    """Hold the entries in memory where they fit, to be read by columns too."""
    return HeldRows(source) if source.fits() else source
