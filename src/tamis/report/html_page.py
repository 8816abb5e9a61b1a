"""A page as one HTML file that needs nothing else: no network, no folder beside it."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from tamis._version import __version__
from tamis.report.page import Page

#: In the order in which they need each other.
SCRIPTS = (
    "uPlot.min.js",
    "parts.js",
    "tables.js",
    "charts.js",
    "flow.js",
    "explorer.js",
    "page.js",
)
STYLES = ("uPlot.min.css", "style.css")


def as_html(page: Page, *, live: str | None = None) -> str:
    """The page as a document; `live` is where a page that follows a run hears the news."""
    data = page.as_json()
    if live is not None:
        data["live"] = live
    gaps = {
        "title": escape(page.title),
        "summary": escape(page.summary),
        "version": escape(__version__),
        "connect": "'none'" if live is None else "'self'",
        "style": "\n".join(map(_asset, STYLES)),
        "data": as_script_data(data),
        "script": "\n".join(map(_asset, SCRIPTS)),
    }
    html = _asset("page.html")
    # One cut of the template, so that what is filled in cannot hold a gap of its own.
    pieces = html.split("{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        gap, _, rest = piece.partition("}")
        filled.append(gaps[gap] + rest)
    return "".join(filled)


def as_script_data(data: Any) -> str:
    r"""JSON that can stand inside a script element whatever names it holds.

    >>> as_script_data({"name": "</script><b>"})
    '{"name":"\\u003c/script\\u003e\\u003cb\\u003e"}'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for raw in "<>&\u2028\u2029":
        text = text.replace(raw, f"\\u{ord(raw):04x}")
    # What has no UTF-8 becomes the escape that JSON has for it.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@cache
def _asset(name: str) -> str:
    return files("tamis.report").joinpath("assets", name).read_text(encoding="utf-8")
