"""A page as one self-contained HTML file: no network, no other files."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from tamis._version import __version__
from tamis.report.page import Page

#: Scripts in the order of their dependencies.
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
    """Return the page as a document; `live` is the address of the events of a live page."""
    data = page.as_json()
    if live is not None:
        data["live"] = live
    fields = {
        "title": escape(page.title),
        "summary": escape(page.summary),
        "version": escape(__version__),
        "connect": "'none'" if live is None else "'self'",
        "style": "\n".join(map(_asset, STYLES)),
        "data": as_script_data(data),
        "script": "\n".join(map(_asset, SCRIPTS)),
    }
    return Template(_asset("page.html")).substitute(fields)


def as_script_data(data: Any) -> str:
    r"""Return JSON that is safe inside a script element, whatever names it holds.

    Characters that change the direction of the text around them are shown as their codes.

    >>> as_script_data({"name": "</script><b>"})
    '{"name":"\\u003c/script\\u003e\\u003cb\\u003e"}'
    >>> print(as_script_data({"name": "\u202eevil"}))
    {"name":"\\u202eevil"}
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for raw in "<>&\u2028\u2029":
        text = text.replace(raw, f"\\u{ord(raw):04x}")
    for turn in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069":
        text = text.replace(turn, f"\\\\u{ord(turn):04x}")
    # What UTF-8 cannot encode becomes a JSON escape.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@cache
def _asset(name: str) -> str:
    return files("tamis.report").joinpath("assets", name).read_text(encoding="utf-8")
