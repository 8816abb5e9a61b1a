"""Rows to columns, once: a source of rows is turned into a column store that is kept."""

from __future__ import annotations

import os
from pathlib import Path

from tamis.core.errors import SourceError
from tamis.sources.base import Report, Source, silent
from tamis.sources.store import ColumnStore
from tamis.sources.transpose import MEMORY, write_store


def as_columns(
    source: Source,
    cache: str | os.PathLike[str],
    *,
    memory: int = MEMORY,
    report: Report = silent,
) -> tuple[Source, str]:
    """Give a source that streams columns, and a sentence about what that took ("" for nothing).

    A source of columns is given back as it is. Rows are turned into a column store at `cache`; a
    store found there is used again if it was made from the same file, unchanged.
    """
    if source.axis == "columns":
        return source, ""
    kept = _same_store(source, Path(cache))
    if kept is not None:
        return kept, f"using the column store {cache}, made from the same file before"
    store = write_store(cache, source, memory=memory, report=report, overwrite=True)
    return store, (
        f"this format is stored by rows, so it was turned into the column store {cache}, "
        "which is kept for next time"
    )


def _same_store(source: Source, cache: Path) -> ColumnStore | None:
    """The store at `cache` if it was made from this very file."""
    path = getattr(source, "path", None)
    if path is None or not cache.exists():
        return None
    try:
        store = ColumnStore(cache)
    except SourceError:
        return None
    made_from = store.meta["source"]
    status = os.stat(path)
    same = (
        made_from.get("path") == os.path.basename(os.path.normpath(path))
        and made_from.get("size") == status.st_size
        and made_from.get("mtime_ns") == status.st_mtime_ns
    )
    return store if same else None
