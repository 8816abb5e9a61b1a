"""Sources of columns or rows. To add a format, add a file here and an entry in `_registry`."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal
from urllib.parse import urlsplit

from tamis._registry import FORMATS, MISSING_TARGET, load
from tamis.core.blocks import ColumnBlock, Compressed, RowBlock
from tamis.core.errors import InputError, ParameterError, SourceError
from tamis.core.files import scratch_folder
from tamis.core.names import Names
from tamis.core.params import OneOf, check
from tamis.core.sentences import suggestion
from tamis.sources.arrays.in_memory import MemorySource, is_frame, split_target
from tamis.sources.base import (
    ColumnSource,
    Progress,
    RowSource,
    Source,
    SourceInfo,
    as_path,
    silent,
)

#: Formats by URL scheme.
_SCHEMES = {"duckdb": "sql", "sqlite": "sql"} | dict.fromkeys(("redis", "rediss", "unix"), "redis")
_PACKED = (".gz", ".bz2", ".zst")
#: Formats of tables with named columns.
_TABLES = ("csv", "parquet", "arrow")

#: Files of other programs, and how to get at what they hold.
_ELSEWHERE = {
    (".zip", ".xz", ".7z", ".tar", ".tgz", ".rar", ".lz4"): "packed in a way that tamis does not "
    "read (it reads .gz, .bz2 and .zst); unpack it first",
    (".pkl", ".pickle", ".joblib"): "a pickle, which may run any program; load it in Python, and "
    "pass on the data frame",
    (".html", ".htm", ".xml"): "markup; read it with pandas (read_html, read_xml) and pass on the "
    "data frame, or write it as CSV",
    (
        ".xlsx",
        ".xls",
        ".xlsm",
        ".ods",
    ): "a spreadsheet; save the sheet as CSV, and select from that",
    (".json", ".jsonl", ".ndjson"): "JSON; read it with pandas (read_json) and pass on the data "
    "frame, or write it as Parquet",
    (".dta", ".sav", ".sas7bdat", ".rds", ".rdata"): "a file of a statistics program; "
    "write it as CSV or Parquet there, or read it with pandas",
    (
        ".pgen",
        ".vcf",
        ".bcf",
        ".bgen",
    ): "a file of genotypes that tamis does not read; write a .bed "
    "file, for example with: plink2 --make-bed",
}

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
    "is_read_with",
    "open_rows",
    "open_source",
    "read_like",
    "reader",
    "temporary_columns",
]


def reader(format: str) -> Callable[..., Source]:
    """Return the source class for a format name."""
    if format not in FORMATS:
        known = suggestion(format, sorted(FORMATS))
        raise SourceError(f"format {format!r} is not known; {known}")
    found: Callable[..., Source] = load(FORMATS[format].where)
    return found


def is_read_with(data: Any, name: str) -> bool:
    """Return whether `open_source` takes an option of this name for data."""
    if name in ("format", "key", "missing_target", "transpose"):
        return True
    is_path = isinstance(data, str | os.PathLike)
    if not is_path:
        return name in inspect.signature(MemorySource).parameters
    from tamis.sources.text.csv_table import CsvRows

    taken = inspect.signature(reader(format_of(os.fspath(data)))).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
        taken = inspect.signature(CsvRows).parameters  # one of the readers of tables
    return name in taken


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
        Name of the format, if the extension does not identify it.
    memory : int, optional
        Approximate number of bytes to use, for formats that may need a lot of memory.
    **options
        Passed on to the reader, e.g. ``zero_based=True`` for svmlight or ``y=`` for arrays.
        ``target=`` names the column of a table or a data frame that is the target.
        ``transpose=True`` reads a table with one line per feature and one column per sample. With
        ``y=`` a table (a path or a data frame), its column `key` is matched with the names of the
        rows, and its column `target` is the target. ``missing_target="drop"`` leaves out the rows
        that have no target; by default they raise an error.

    Examples
    --------
    >>> import numpy as np
    >>> source = open_source(np.eye(3), y=[0, 1, 1])
    >>> source.n_rows, source.n_columns
    (3, 3)
    """
    if isinstance(data, Source):
        _refuse_options(options, "a source that is already open")
        return data
    if "missing_target" in options:
        return _known(data, format, memory, options)
    is_path = isinstance(data, (str, os.PathLike))
    if is_path:
        data, format = _place(data, format)
    opener: Callable[..., Source] = MemorySource
    data = data if is_path else _without_target(data, format, options)
    if "y" in options and _is_table(options["y"]) and (format != "plink" or "key" in options):
        return _joined(data, format, memory, options)
    if format is not None:
        opener = reader(format)
    elif gives_blocks(data):
        from tamis.sources.streams.iterators import open_blocks

        opener = open_blocks
    if opener is MemorySource:
        options.setdefault("dates", None)
    known = {} if memory is None else inspect.signature(opener).parameters
    if "memory" in known or any(p.kind is p.VAR_KEYWORD for p in known.values()):
        options["memory"] = memory
    try:
        if options.pop("transpose", False):
            return _transposed(data, format, opener, options)
        return opener(data, **options)
    except TypeError as error:
        if not is_path or "unexpected keyword" not in str(error):
            raise
        option = str(error).rsplit(" ", 1)[-1]
        raise SourceError(
            f"{data}: the {format} reader has no option {option}; {_instead(format, option)}"
        ) from error


def _instead(format: str | None, option: str) -> str:
    """Return what to do where a reader lacks an option, such as `'target'`."""
    if option == "'target'" and format == "svmlight":
        return "leave it out: the first value of each line is the target"
    if option == "'target'" and format in ("npy", "npz"):
        return "leave it out, and give the target as y= (--y)"
    return "leave it out"


def _without_target(data: Any, format: str | None, options: dict[str, Any]) -> Any:
    """Return a data frame without the column that is the target, which becomes the option y.

    A format, as of a query on an open connection, has a reader that knows the target.
    """
    if format is not None or options.get("target") is None or "y" in options:
        return data
    name = options.pop("target")
    if not is_frame(data):
        raise ParameterError(
            f"{name!r} names a column of a data frame or a file; give the target of other data as "
            "y=, or make a data frame of the data: pandas.DataFrame(data)"
        )
    data, options["y"] = split_target(data, name)
    return data


def _known(data: Any, format: str | None, memory: int | None, options: dict[str, Any]) -> Source:
    """Open data, without the rows that have no target if they are to be dropped."""
    options = dict(options)
    missing = options.pop("missing_target")
    check("open", "missing_target", missing, OneOf(MISSING_TARGET))
    source = open_source(data, format, memory=memory, **options)
    if missing == "error":
        return source
    from tamis.sources.joined import with_a_target

    return with_a_target(source)


def _place(data: str | os.PathLike[str], format: str | None) -> tuple[str, str]:
    """Return the path or address of a file, and its format."""
    path = os.path.expanduser(os.fspath(data))
    if path.startswith("file://"):
        from urllib.request import url2pathname  # slow: imports HTTP modules

        path = url2pathname(urlsplit(path).path)
    format = format_of(path) if format is None else format
    refuse = format in FORMATS and not FORMATS[format].at_address
    if "://" in path and refuse and path.partition("://")[0] not in _SCHEMES:
        raise SourceError(
            f"{path}: {format} data cannot be read from an address, only Parquet, AnnData .h5ad "
            "files and column stores can; copy it to a local file first"
        )
    return path, format


def _transposed(
    data: Any, format: str | None, opener: Callable[..., Source], options: dict[str, Any]
) -> Source:
    """Open a table with one line per feature and one column per sample."""
    if format not in _TABLES:
        what = "data in memory" if format is None else f"{format} data"
        raise SourceError(
            f"transpose= (--transpose) is for CSV, Parquet and Arrow files, not for {what}"
        )
    from tamis.sources.tables.transposed import open_transposed

    return open_transposed(opener, data, options)


def _is_table(y: Any) -> bool:
    """Return whether a target is a table of which one column is the target."""
    if isinstance(y, str | os.PathLike):
        return not os.fspath(y).endswith(".npy") and format_of(as_path(y)) in _TABLES
    return y is not None and is_frame(y)


def _joined(data: Any, format: str | None, memory: int | None, options: dict[str, Any]) -> Source:
    """Open data whose target is in a table of its own."""
    from tamis.sources.joined import joined

    options = dict(options)
    y, key, target = (options.pop(name, None) for name in ("y", "key", "target"))
    if key is not None and (options.get("transpose") or format in _TABLES):
        options["key"] = key  # of the data as well
    how: dict[str, Any] = {"dates": "ignore"} if isinstance(y, str | os.PathLike) else {}
    table = open_source(y, **how)
    try:
        source = open_source(data, format, memory=memory, **options)
    except SourceError as error:
        is_read = not options.get("transpose")
        hint = _has_samples_in_header(data, format, table, key) if is_read else ""
        if hint:
            raise SourceError(f"{error}; {hint}") from error
        raise
    return joined(source, table, key, target)


def _has_samples_in_header(data: Any, format: str | None, table: Source, key: str | None) -> str:
    """Return a hint if the columns of a table are the rows of another, as in tables of genes."""
    keys = None if key is None else table.column(key)
    if keys is None or format not in _TABLES:
        return ""
    names = set(open_source(data, format).column_names or ())
    if 2 * sum(str(one) in names for one in keys.tolist()) < len(keys):
        return ""
    return f"its columns are the {key!r} of the other table: give --transpose (transpose=True)"


@contextmanager
def temporary_columns(source: Source, progress: Progress = silent) -> Iterator[ColumnSource]:
    """Yield a source of columns; a temporary column store is removed at the end."""
    if isinstance(source, ColumnSource):
        yield source
        return
    from tamis.sources.axis import held_columns, to_columns

    held = held_columns(source, source.memory, progress)
    if held is not None:
        yield held
        return
    with scratch_folder(source.work_folder()) as folder:
        yield to_columns(source, folder / "now.cols", progress=progress)


def open_rows(
    data: Any,
    format: str | None = None,
    *,
    zero_based: bool | Literal["auto"] = "auto",
    **options: Any,
) -> list[RowSource]:
    """Open data for reading row by row, in order.

    Parameters
    ----------
    data : path, list of paths, Source, or iterator of RowBlock
        What to read; ``-`` is standard input.
    format : str, optional
        Name of the format, if extensions do not identify it.
    zero_based : {"auto", True, False}
        Whether svmlight indices count from 0.
    **options
        Passed on to the reader of the format.
    """
    from tamis.sources.axis import to_rows
    from tamis.sources.text_files import is_pipe

    if isinstance(data, str | os.PathLike):
        pipe = is_pipe(data)
        if format is None:
            format = "svmlight" if pipe else format_of(as_path(data))
        if format == "svmlight":
            options = {"zero_based": zero_based, "learning": True} | options
        elif pipe:
            raise SourceError(f"{data}: only svmlight text can come through a pipe, not {format}")
        elif zero_based != "auto":
            options = {"zero_based": zero_based} | options
        return [to_rows(open_source(data, format, **options))]
    if zero_based != "auto" and not isinstance(data, list | tuple):
        options["zero_based"] = zero_based
    if isinstance(data, Source):
        _refuse_options(options, "a source that is already open")
        return [to_rows(data).learning()]
    if isinstance(data, RowBlock):
        data = iter([data])
    is_table = hasattr(data, "shape") or hasattr(data, "__arrow_c_stream__")
    if is_table or not isinstance(data, Iterable) or isinstance(data, bytes | dict):
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

    _refuse_options(options, "rows made by a program")
    return [RowStream(data)]


def _refuse_options(options: dict[str, Any], what: str) -> None:
    """Raise an error for options of a reader where nothing is left to read with them."""
    if options:
        raise ParameterError(
            f"{', '.join(options)}: {what} cannot be read in another way; give such options with "
            "a path"
        )


def read_like(data: Any, decimal: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """Return options for a CSV file, with the decimal mark of an earlier one unless one is given.

    The mark of the earlier file is not the usual one; for other data nothing changes.
    """
    paths = data if isinstance(data, list | tuple) else [data]
    if decimal in (None, ".") or "decimal" in options or not paths:
        return options
    if not all(isinstance(path, str | os.PathLike) and path != "-" for path in paths):
        return options
    formats = {options.get("format") or format_of(as_path(path)) for path in paths}
    return {"decimal": decimal, **options} if formats == {"csv"} else options


def format_of(path: str) -> str:
    """Return the format of a file or folder, recognised by its name."""
    scheme, is_address, _ = path.partition("://")
    if is_address and scheme in _SCHEMES:
        return _SCHEMES[scheme]
    name = os.path.basename(os.path.normpath(path)).lower()
    while name.endswith(_PACKED):
        name = name.rsplit(".", 1)[0]
    for format, entry in FORMATS.items():
        if entry.extensions and name.endswith(entry.extensions):
            return format
    if path == "-":
        raise SourceError(
            "data is read more than once, so it cannot come from standard input (-); write it to "
            "a file first"
        )
    if not is_address and not os.path.exists(path):
        raise SourceError(f"{path}: there is no such file or folder")
    if os.path.isfile(os.path.join(path, "meta.json")):
        return "cols"
    if os.path.isdir(path):
        return _of_folder(path)
    for endings, what in _ELSEWHERE.items():
        if name.endswith(endings):
            raise SourceError(f"{path} is {what}")
    known = ", ".join(sorted(FORMATS))
    raise SourceError(
        f"{path}: the format is not clear from the extension; name it with format= "
        f"(--format on the command line), one of {known}"
    )


def _of_folder(path: str) -> str:
    """Return the format of a folder of tables; raise an error for any other folder."""
    from tamis.sources.tables.daily import tables_in

    if tables_in(path):
        return "daily"
    ends = FORMATS["csv"].extensions
    texts = sorted(name for name in os.listdir(path) if name.lower().endswith(ends))
    hint = "give a file of data"
    if texts:
        hint = (
            f"give one of its files, such as {os.path.join(path, texts[0])}; tables of a folder "
            "that are to be read together are Parquet or Arrow files"
        )
    raise SourceError(f"{path} is a folder but not a column store; {hint}")


def gives_blocks(data: Any) -> bool:
    """Return True for blocks made by a program: an iterator, a function, or a list of blocks."""
    if is_frame(data) or hasattr(data, "shape"):
        return False
    if isinstance(data, (list, tuple)):
        return bool(data) and isinstance(data[0], (ColumnBlock, RowBlock))
    return isinstance(data, Iterator) or callable(data)
