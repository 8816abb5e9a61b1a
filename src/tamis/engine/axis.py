"""Rows to columns, once: a source of rows is turned into a column store that is kept."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tamis.core.errors import OutputError, SourceError
from tamis.sources.base import MEMORY, Progress, Source, silent
from tamis.sources.store import ColumnStore
from tamis.sources.stores.store_files import META
from tamis.sources.stores.transpose import write_store


def as_columns(
    source: Source,
    cache: str | os.PathLike[str],
    *,
    memory: int = MEMORY,
    progress: Progress = silent,
    say: Callable[[str], object] = lambda sentence: None,
) -> Source:
    """Give a source that streams columns, and say in a sentence what that took, if anything.

    A source of columns is given back as it is. Rows are turned into a column store at `cache`; a
    store found there is used again if it was made from the same file, unchanged.
    """
    if source.axis == "columns":
        return source
    name = source.label
    kept = _same_store(source, os.fspath(cache))
    if kept is not None:
        say(f"using the column store {cache}, made from {name} before")
        return kept
    if os.path.lexists(cache) and not os.path.isfile(os.path.join(cache, META)):
        raise OutputError(
            f"{cache} is in the way: the columns of {name} would be kept there, and it is no "
            "column store; move it, or write to another folder"
        )
    store = write_store(cache, source, memory=memory, progress=progress, force=True)
    say(
        f"{name} is stored by rows, so it was turned into the column store {cache}, which is kept "
        "for next time"
    )
    return store


@contextmanager
def columns_for_now(source: Source, progress: Progress = silent) -> Iterator[Source]:
    """Give a source that streams columns as often as needed; what is made for it goes afterwards.

    Rows are turned into a column store in a hidden folder beside the file.
    """
    if source.axis == "columns":
        yield source
        return
    with tempfile.TemporaryDirectory(prefix=".tamis-", dir=source.work_folder()) as work:
        store = os.path.join(work, "now.cols")
        yield write_store(store, source, memory=source.memory, progress=progress)


def _same_store(source: Source, cache: str) -> ColumnStore | None:
    """The store at `cache` if it was made from this very file, read in the same way."""
    path = source.path
    if path is None or not os.path.exists(cache):
        return None
    try:
        store = ColumnStore(cache)
    except SourceError:
        return None
    made_from = store.meta["source"] or {}
    status = os.stat(path)
    same = (
        made_from.get("path") == os.path.basename(os.path.normpath(path))
        and made_from.get("size") == status.st_size
        and made_from.get("mtime_ns") == status.st_mtime_ns
        and all(made_from.get(key) == value for key, value in source.reading().items())
    )
    if not source.reading():  # the target or the query may be another one
        same = same and made_from.get("fingerprint") == source.fingerprint()
    return store if same else None
