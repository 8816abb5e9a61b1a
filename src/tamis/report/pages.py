"""Which page a folder gets: tell what it is by what lies in it."""

from __future__ import annotations

import os

from tamis.core.errors import SourceError
from tamis.engine.record import open_run
from tamis.report.comparison import is_results, page_of_results
from tamis.report.learned import is_model, page_of_model
from tamis.report.page import Page
from tamis.report.stream_run import page_of_run


def page_of_folder(folder: str | os.PathLike[str]) -> Page:
    """Read a folder that tamis wrote, and tell what it holds."""
    path = os.fspath(folder)
    if os.path.isfile(os.path.join(path, "run.json")):
        return page_of_run(open_run(path), path.rstrip("/\\"))
    if is_model(path):
        return page_of_model(path)
    if is_results(path):
        return page_of_results(path)
    if not os.path.exists(path):
        raise SourceError(f"{path}: there is no such folder")
    raise SourceError(
        f"{path} is no folder that tamis wrote; give one made by tamis select, learn or compare"
    )
