"""The page about a folder that tamis wrote, whatever it holds."""

from __future__ import annotations

import os
from dataclasses import replace

from tamis.core.errors import SourceError
from tamis.core.files import kind_of
from tamis.engine.runs import open_run
from tamis.report.history import history_of
from tamis.report.page import Page
from tamis.report.run_page import page_of_run


def page_of_folder(folder: str | os.PathLike[str]) -> Page:
    """Return the page about a run, a model or a comparison."""
    path = os.fspath(folder)
    kind = kind_of(path)
    if kind == "run":
        page, fed = page_of_run(open_run(path), path.rstrip("/\\")), history_of(path)
        *sections, again = page.sections
        return page if fed is None else replace(page, sections=[*sections, fed, again])
    # The readers of these need scikit-learn; a page about a run need not wait for it.
    if kind == "model":
        from tamis.report.model_page import page_of_model

        return page_of_model(path)
    if kind == "comparison":
        from tamis.report.comparison_page import page_of_results

        return page_of_results(path)
    if not os.path.exists(path):
        raise SourceError(f"{path}: there is no such folder")
    raise SourceError(
        f"{path} was not written by tamis; give a folder made by tamis select, learn or compare"
    )
