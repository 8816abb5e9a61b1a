"""Text as Markdown that stays what it is, whatever a name holds."""

from __future__ import annotations

import re


def cell(text: str) -> str:
    r"""Text that stays text: it cannot break out of a table or a line, nor become markup.

    >>> cell("a|b<c>"), cell("mean_radius *[1]*")
    ('a&#124;b&lt;c&gt;', 'mean_radius \\*\\[1\\]\\*')
    """
    text = " ".join(text.splitlines())
    for raw, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(raw, safe)
    # An underscore inside a word means nothing to Markdown, and names are full of them.
    text = re.sub(r"[\\`*~\[\]]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)
    return text.replace("|", "&#124;")


def code(text: str) -> str:
    """Text as code, between more backticks than it has in a row itself.

    >>> code("echo `date`")
    '`` echo `date` ``'
    """
    text = " ".join(text.splitlines())
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"{fence}{text}{fence}"
