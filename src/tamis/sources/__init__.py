"""Sources: where columns or rows come from. A format is a file here and an entry in `_registry`."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeGuard

from tamis._registry import FORMATS, load
from tamis.core.blocks import ColumnBlock, Compressed, RowBlock
from tamis.core.errors import InputError, ParameterError, SourceError
from tamis.core.names import Names
from tamis.sources.addresses import is_address, without_scheme
from tamis.sources.arrays.in_memory import MemorySource, is_frame
from tamis.sources.base import ColumnSource, RowSource, Source, SourceInfo, as_path

#: Formats that a URL tells, by what it begins with.
_SCHEMES = {"duckdb": "sql", "sqlite": "sql"} | dict.fromkeys(("redis", "rediss", "unix"), "redis")
_PACKED = (".gz", ".bz2", ".zst")

__all__ = [
    "FORMATS",
    "ColumnBlock",
    "ColumnSource",
    "Compressed",
    "MemorySource",
    "Names",
    "RowBlock",
    "RowSource",
    "Source",
    "SourceError",
    "SourceInfo",
    "is_source",
    "open_rows",
    "open_source",
    "reader",
]


def reader(format: str) -> Callable[..., Source]:
    """Return the source class for a format name."""
    if format not in FORMATS:
        known = ", ".join(sorted(FORMATS))
        raise SourceError(f"format {format!r} is not known; give one of {known}")
    found: Callable[..., Source] = load(FORMATS[format].where)
    return found


def open_source(
    data: Any, format: str | None = None, *, memory: int | None = None, **options: Any
) -> Source:
    """Open data for loading or streaming.

    Parameters
    ----------
    data : path, Source, array, scipy sparse matrix, data frame, Arrow table or iterator of blocks
        What to open. Files are recognised by extension (``.svm``, ``.npz``, ``.cols``, ...),
        compressed ones by what comes before ``.gz``, ``.bz2`` or ``.zst``.
    format : str, optional
        Name of the format, where the extension does not tell.
    memory : int, optional
        Bytes to use, about, for formats that may need many.
    **options
        Passed on to the reader, e.g. ``zero_based=True`` for svmlight or ``y=`` for arrays.

    Examples
    --------
    >>> import numpy as np
    >>> source = open_source(np.eye(3), y=[0, 1, 1])
    >>> source.n_rows, source.n_columns
    (3, 3)
    """
    if isinstance(data, Source):
        return data
    if not isinstance(data, (str, os.PathLike)):
        opener: Callable[..., Source] = MemorySource if format is None else reader(format)
        if format is None and gives_blocks(data):
            from tamis.sources.streams.iterators import open_blocks

            opener = open_blocks
        return opener(data, **_with_memory(opener, memory), **options)
    path = without_scheme(as_path(data))
    if format is None:
        format = format_of(path)
    can = format not in FORMATS or FORMATS[format].at_address or _is_known(path)
    if is_address(path) and not can:
        raise SourceError(
            f"{path}: data of the format {format} is not read at an address, only Parquet, AnnData "
            ".h5ad files and column stores are; copy it to a file here first"
        )
    try:
        return reader(format)(path, **_with_memory(reader(format), memory), **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        option = str(error).rsplit(" ", 1)[-1]
        raise SourceError(f"{path}: the {format} reader has no option {option}") from error


def open_rows(
    data: Any,
    format: str | None = None,
    *,
    zero_based: bool | Literal["auto"] = "auto",
    **options: Any,
) -> list[RowSource]:
    """Open data to be read row by row, in order.

    Parameters
    ----------
    data : path, list of paths, Source, or iterator of RowBlock
        What to read; ``-`` is standard input.
    format : str, optional
        Name of the format, where extensions do not tell.
    zero_based : {"auto", True, False}
        Whether svmlight indices count from 0.
    **options
        Passed on to the reader of the format.
    """
    if zero_based not in (True, False, "auto"):
        raise ParameterError(f"zero_based={zero_based!r} is not 'auto', True or False")
    if isinstance(data, str | os.PathLike):
        return [_rows_of_path(data, format, zero_based, options)]
    if isinstance(data, Source):
        from tamis.sources.axis import to_rows

        return [to_rows(data).learning()]
    if isinstance(data, RowBlock):
        data = iter([data])
    if hasattr(data, "shape") or hasattr(data, "__arrow_c_stream__") or not _is_iterable(data):
        raise InputError(
            f"a {type(data).__name__} is not a stream of rows; use fit for tables, and give a "
            "path, a list of paths, a Source or an iterator of RowBlocks here"
        )
    if isinstance(data, list | tuple) and not any(isinstance(item, RowBlock) for item in data):
        if not data:
            raise InputError("there is no file to read; give at least one")
        found = [open_rows(item, format, zero_based=zero_based, **options) for item in data]
        return [source for sources in found for source in sources]
    from tamis.sources.streams.iterators import RowStream

    return [RowStream(data)]


def _rows_of_path(
    path: str | os.PathLike[str],
    format: str | None,
    zero_based: bool | Literal["auto"],
    options: dict[str, Any],
) -> RowSource:
    from tamis.sources.axis import to_rows
    from tamis.sources.text.svmlight_rows import SvmlightSource
    from tamis.sources.text_files import is_pipe

    pipe = is_pipe(path)
    if format is None:
        format = "svmlight" if pipe else format_of(as_path(path))
    if format == "svmlight":
        wrong = [name for name in options if name != "chunk"]
        if wrong:
            raise SourceError(f"{path}: the svmlight reader has no option {wrong[0]!r}")
        return SvmlightSource.for_learning(path, zero_based, **options)
    if pipe:
        raise SourceError(f"{path}: only svmlight text can come through a pipe, not {format}")
    given = {} if zero_based == "auto" else {"zero_based": zero_based}
    return to_rows(open_source(path, format, **given, **options))


def _is_iterable(data: Any) -> bool:
    return isinstance(data, Iterable) and not isinstance(data, bytes | dict)


def _with_memory(opener: Callable[..., Source], memory: int | None) -> dict[str, int]:
    """Return the memory as an option, for those formats that have it."""
    if memory is None:
        return {}
    known = inspect.signature(opener).parameters
    takes = "memory" in known or any(p.kind is p.VAR_KEYWORD for p in known.values())
    return {"memory": memory} if takes else {}


def format_of(path: str) -> str:
    """Return the format of a file or folder, told by its name."""
    if is_address(path) and _is_known(path):
        return _SCHEMES[path.partition("://")[0]]
    name = os.path.basename(os.path.normpath(path)).lower()
    while name.endswith(_PACKED):
        name = name.rsplit(".", 1)[0]
    for format, entry in FORMATS.items():
        if entry.extensions and name.endswith(entry.extensions):
            return format
    if not is_address(path) and not os.path.exists(path):
        raise SourceError(f"{path}: there is no such file or folder")
    if os.path.isfile(os.path.join(path, "meta.json")):
        return "cols"
    if os.path.isdir(path):
        from tamis.sources.tables.daily import has_tables

        if has_tables(path):
            return "daily"
        raise SourceError(f"{path} is a folder but not a column store; give a file of data")
    known = ", ".join(sorted(FORMATS))
    raise SourceError(
        f"{path}: the extension does not tell the format; say which it is with format= "
        f"(--format on the command line), one of {known}"
    )


def _is_known(path: str) -> bool:
    """Return whether an address is that of a database or a stream, which tells its format."""
    return path.partition("://")[0] in _SCHEMES


def is_source(data: Any) -> TypeGuard[Source]:
    """Return whether data is a source already, and need not be opened."""
    return isinstance(data, Source)


def gives_blocks(data: Any) -> bool:
    """Whether data is blocks that a program makes: an iterator, a function, or a list of blocks."""
    if is_frame(data) or hasattr(data, "shape"):
        return False
    if isinstance(data, (list, tuple)):
        return bool(data) and isinstance(data[0], (ColumnBlock, RowBlock))
    return isinstance(data, Iterator) or callable(data)
