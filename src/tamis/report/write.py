"""Write a page to a file, all or nothing."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from tamis.core.errors import OutputError
from tamis.report.html import as_html
from tamis.report.markdown import as_markdown
from tamis.report.page import Page


def _as_json(page: Page) -> str:
    return json.dumps(page.as_json(), indent=1, ensure_ascii=False) + "\n"


#: Forms of a report, by the word that asks for them, which is also the extension.
FORMS: dict[str, Callable[[Page], str]] = {"html": as_html, "md": as_markdown, "json": _as_json}


def write_page(page: Page, path: str | os.PathLike[str], form: str = "html") -> Path:
    """Write the page beside its place and move it there with one rename."""
    target = Path(path)
    work = target.with_name(f".{target.name}.partial-{secrets.token_hex(4)}")
    try:
        work.write_bytes(FORMS[form](page).encode("utf-8", "backslashreplace"))
        work.replace(target)
    except OSError as error:
        raise OutputError(f"{target} cannot be written ({error.strerror})") from error
    finally:
        work.unlink(missing_ok=True)
    return target
