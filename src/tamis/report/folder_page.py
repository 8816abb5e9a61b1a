"""The page about a folder that tamis wrote, whatever it holds, and the file it is written to."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tamis.core.errors import SourceError, TamisError
from tamis.core.files import atomic_file, kind_of
from tamis.engine.persistent.saved_selection import is_persistent, read_history
from tamis.engine.runs import open_run
from tamis.report.html_page import as_html
from tamis.report.markdown_page import as_markdown
from tamis.report.page import Column, Page, Section, Table
from tamis.report.run_page import page_of_run

#: Rows of the table; earlier ones are in the log.
MOST = 200


def page_of_folder(folder: str | os.PathLike[str]) -> Page:
    """Return the page about a run, a model, a comparison or a size path."""
    path = os.fspath(folder)
    kind = kind_of(path)
    if kind == "run":
        page, fed = page_of_run(open_run(path), path.rstrip("/\\")), _history_of(path)
        *sections, again = page.sections
        return page if fed is None else replace(page, sections=[*sections, fed, again])
    # Imported late: these need scikit-learn, and a page about a run does not.
    if kind == "model":
        from tamis.report.model_page import page_of_model

        return page_of_model(path)
    if kind == "comparison":
        from tamis.report.comparison_page import page_of_results

        return page_of_results(path)
    if kind == "path":
        from tamis.report.path_page import page_of_path

        return page_of_path(path)
    if not os.path.exists(path):
        raise SourceError(f"{path}: there is no such folder")
    raise SourceError(
        f"{path} was not written by tamis; give a folder made by tamis select, learn or compare"
    )


def _history_of(folder: str) -> Section | None:
    """Return every feed, drop and refused file of a run; None for a run that was never fed."""
    if not is_persistent(Path(folder)):
        return None
    try:
        lines = read_history(folder)
    except TamisError:
        return None  # the run itself is intact; tamis status reports what is wrong with its state
    steps: dict[Any, dict[str, Any]] = {}
    for line in lines:  # a long feed has many commits; the last one has the totals
        same = line["action"], line.get("source"), line.get("fingerprint")
        steps[same if "done" in line else line["commit"]] = line
    if len(steps) < 2:
        return None
    columns = [
        Column("when (UTC)"), Column("what"), Column("of"), Column("columns taken", "count"),
        Column("features seen", "count"), Column("note"),
    ]  # fmt: skip
    rows = [_row(line) for line in steps.values()]
    note = "Run tamis log to print the decisions of each."
    if len(rows) > MOST:
        note = f"The last {MOST:,} of {len(rows):,}. {note}"
    return Table("What was fed", columns, rows[-MOST:], note=note)


def _row(line: dict[str, Any]) -> list[Any]:
    counted = [f"{line[word]:,} {word}" for word in ("skipped", "replaced") if line.get(word)]
    return [
        line["time"][:19].replace("T", " "),
        {"refuse": "refused"}.get(line["action"], line["action"]),
        str(line.get("source") or line.get("feature") or ""),
        line.get("taken"),
        line["features"],
        str(line.get("why") or ", ".join(counted)),
    ]


#: Formats of a report, by name, which is also the extension.
FORMS: dict[str, Callable[[Page], str]] = {
    "html": as_html,
    "md": as_markdown,
    "json": lambda page: json.dumps(page.as_json(), indent=1, ensure_ascii=False) + "\n",
}


def write_page(page: Page, path: str | os.PathLike[str], form: str = "html") -> Path:
    """Write a page to a file, completely or not at all."""
    with atomic_file(path) as file:
        file.write(FORMS[form](page).encode("utf-8", "backslashreplace"))
    return Path(path)
