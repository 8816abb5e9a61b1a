"""What sources of rows share when they are read by columns: a column store for the time being."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator

from tamis.core.blocks import ColumnBlock
from tamis.core.errors import SourceError
from tamis.sources.base import Report, Source, as_path
from tamis.sources.stores.transpose import write_store


def columns_by_disk(
    source: Source, folder: str, memory: int, width: int | None, report: Report
) -> Iterator[ColumnBlock]:
    """Stream the columns of a source of rows by way of a column store that goes afterwards."""
    path = os.path.join(folder, f".tamis-{secrets.token_hex(4)}.cols")
    report(f"transposing rows to columns in {path}", 0, None)
    try:
        store = write_store(path, source, memory=memory, report=report)
        yield from store.columns(width, report)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def work_folder(path: str, given: str | os.PathLike[str] | None) -> str:
    """Where columns of a file may be kept while they are needed: given, beside it, or here."""
    if given is not None:
        return as_path(given)
    for folder in (os.path.dirname(os.path.abspath(path)), os.getcwd()):
        if os.access(folder, os.W_OK):
            return folder
    raise SourceError(f"reading {path} by columns needs a folder to write to; name one with work=")
