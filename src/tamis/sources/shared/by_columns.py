"""What sources of rows share when they are read by columns: a column store for the time being."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator

from tamis.core.blocks import ColumnBlock
from tamis.sources.base import Progress, Source
from tamis.sources.stores.transpose import write_store


def columns_by_disk(
    source: Source, width: int | None, start: int, stop: int | None, progress: Progress
) -> Iterator[ColumnBlock]:
    """Stream the columns of a source of rows by way of a column store that goes afterwards."""
    path = os.path.join(source.work_folder(), f".tamis-{secrets.token_hex(4)}.cols")
    progress(f"transposing rows to columns in {path}", 0, None)
    try:
        store = write_store(path, source, memory=source.memory, progress=progress)
        yield from store.columns(width, start, stop, progress)
    finally:
        shutil.rmtree(path, ignore_errors=True)
