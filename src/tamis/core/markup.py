"""Text and tables for Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def cell(text: str) -> str:
    r"""Escape text for a table or a line of Markdown.

    >>> cell("a|b<c>"), cell("mean_radius *[1]*")
    ('a&#124;b&lt;c&gt;', 'mean_radius \\*\\[1\\]\\*')
    """
    text = " ".join(text.splitlines())
    for raw, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(raw, safe)
    # Markdown ignores an underscore inside a word, and names are full of them.
    text = re.sub(r"[\\`*~\[\]]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)
    return text.replace("|", "&#124;")


def code(text: str) -> str:
    """Format text as code, with a fence longer than any run of backticks in it.

    >>> code("echo `date`")
    '`` echo `date` ``'
    """
    text = " ".join(text.splitlines())
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"{fence}{text}{fence}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], align: str = "") -> str:
    """Return a Markdown table; `align` has one l or r per column (default: lrr...).

    >>> print(table(["data", "rows"], [["a", "7"]]))
    | data | rows |
    |---|---:|
    | a | 7 |
    """
    align = align or "l".ljust(len(heads), "r")
    rule = "|".join("---:" if side == "r" else "---" for side in align)
    head, *body = (f"| {' | '.join(row)} |" for row in (heads, *rows))
    return "\n".join([head, f"|{rule}|", *body])
