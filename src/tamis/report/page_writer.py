"""Write a page to a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from tamis.core.files import atomic_file
from tamis.report.html_page import as_html
from tamis.report.markdown_page import as_markdown
from tamis.report.page import Page


def _as_json(page: Page) -> str:
    return json.dumps(page.as_json(), indent=1, ensure_ascii=False) + "\n"


#: Formats of a report, by name, which is also the extension.
FORMS: dict[str, Callable[[Page], str]] = {"html": as_html, "md": as_markdown, "json": _as_json}


def write_page(page: Page, path: str | os.PathLike[str], form: str = "html") -> Path:
    """Write a page to a file, completely or not at all."""
    with atomic_file(path) as file:
        file.write(FORMS[form](page).encode("utf-8", "backslashreplace"))
    return Path(path)
