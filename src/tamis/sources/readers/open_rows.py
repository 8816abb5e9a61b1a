"""Whatever holds rows, as readers: paths, sources, pipes, iterators of blocks, or several."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Literal

from tamis.core.blocks import RowBlock
from tamis.core.errors import InputError, ParameterError, SourceError
from tamis.sources import format_of, open_source
from tamis.sources.base import Source, as_path
from tamis.sources.readers.row_reader import BlocksReader, RowReader, SourceReader
from tamis.sources.readers.svmlight_reader import SvmlightReader, is_pipe
from tamis.sources.svmlight import SvmlightSource


def open_rows(
    data: Any,
    format: str | None = None,
    *,
    zero_based: bool | Literal["auto"] = "auto",
    **options: Any,
) -> list[RowReader]:
    """Readers of the rows of data, in order.

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
        return [_of_path(data, format, zero_based, options)]
    if isinstance(data, RowReader):
        return [data]
    if isinstance(data, Source):
        return [_of_source(data)]
    if isinstance(data, RowBlock):
        return [BlocksReader(iter([data]))]
    if hasattr(data, "shape") or hasattr(data, "__arrow_c_stream__") or not _is_iterable(data):
        raise InputError(
            f"a {type(data).__name__} is no stream of rows; use fit for tables, and give a path, a "
            "list of paths, a Source or an iterator of RowBlocks here"
        )
    if isinstance(data, list | tuple) and not any(isinstance(item, RowBlock) for item in data):
        if not data:
            raise InputError("there is no file to read; give at least one")
        found = [open_rows(item, format, zero_based=zero_based, **options) for item in data]
        return [reader for readers in found for reader in readers]
    return [BlocksReader(iter(data))]


def _of_path(
    path: str | os.PathLike[str],
    format: str | None,
    zero_based: bool | Literal["auto"],
    options: dict[str, Any],
) -> RowReader:
    pipe = is_pipe(path)
    if format is None:
        format = "svmlight" if pipe else format_of(as_path(path))
    if format == "svmlight":
        wrong = [name for name in options if name != "chunk"]
        if wrong:
            raise SourceError(f"{path}: the svmlight reader has no option {wrong[0]!r}")
        return SvmlightReader(path, zero_based, **options)
    if pipe:
        raise SourceError(f"{path}: only svmlight text can come through a pipe, not {format}")
    given = {} if zero_based == "auto" else {"zero_based": zero_based}
    return _of_source(open_source(path, format, **given, **options))


def _of_source(source: Source) -> RowReader:
    if isinstance(source, SvmlightSource):
        return SvmlightReader(source.path, source.zero_based, chunk=source.chunk)
    return SourceReader(source)


def _is_iterable(data: Any) -> bool:
    return isinstance(data, Iterable) and not isinstance(data, bytes | dict)
