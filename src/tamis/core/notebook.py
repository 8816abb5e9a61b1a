"""Cards for notebooks: small pieces of HTML that need nothing else.

A card has no script, no class and no link. It takes the colours of the text around it, so that it
can be read on light and on dark backgrounds. All text is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

#: Colours of verdicts, which can be told apart by people who see few colours.
COLOURS = {
    "kept": "#1a9e77", "evicted": "#c0609a", "redundant": "#d08c00", "irrelevant": "#8a9097",
}  # fmt: skip
#: Characters of a name; the full name is its tooltip.
LONGEST = 60
LINE = "1px solid rgba(128,128,128,.35)"


def text(value: Any) -> str:
    r"""Return text that cannot become markup; a long one is cut, and in full as a tooltip.

    >>> text("<b> & \"c\"")
    '<bdi>&lt;b&gt; &amp; &quot;c&quot;</bdi>'
    """
    full = str(value)
    if len(full) <= LONGEST:
        return f"<bdi>{escape(full)}</bdi>"
    return f'<bdi title="{escape(full[:1000])}">{escape(full[: LONGEST - 1])}…</bdi>'


def card(title: str, *parts: str) -> str:
    """Return a card; the title is plain text, the parts are HTML, and empty ones are left out."""
    style = f"border:{LINE};border-radius:6px;padding:10px 14px;max-width:46rem;line-height:1.4"
    shown = "".join(f'<div style="margin-top:8px">{part}</div>' for part in parts if part)
    html = f'<div style="{style}"><strong>{escape(title[:400])}</strong>{shown}</div>'
    # Half a character, from a name that is not UTF-8, cannot be sent to a browser.
    return html.encode("utf-8", "backslashreplace").decode()


def listed(sentences: Sequence[str]) -> str:
    """Return sentences, one per line."""
    return "<br>".join(escape(sentence[:400]) for sentence in sentences)


def shares(counts: Mapping[str, int]) -> str:
    """Return one bar, divided in proportion to the counts, with the counts in words."""
    present = {word: n for word, n in counts.items() if n}
    pieces = "".join(
        f'<span style="flex:{n} 0 2px;background:{COLOURS.get(word, "#4a90c2")}"></span>'
        for word, n in present.items()
    )
    words = " ".join(
        f'<span style="white-space:nowrap;margin-right:1em"><span aria-hidden="true" '
        f'style="color:{COLOURS.get(word, "#4a90c2")}">■</span> {n:,} {escape(word)}</span>'
        for word, n in present.items()
    )
    bar = "display:flex;gap:1px;height:10px;border-radius:3px;overflow:hidden"
    return f'<div style="{bar}" aria-hidden="true">{pieces}</div>{words}' if present else ""


def html_table(
    heads: Sequence[str], rows: Sequence[Sequence[Any]], form: str = ".4g", best: bool = False
) -> str:
    """Return a table whose first column names the rows; empty without rows.

    `form` is the format of numbers that are not whole. With `best`, the highest number of each row
    is bold.
    """
    if not rows:
        return ""
    pad = f"padding:3px 10px;border-bottom:{LINE};vertical-align:top;text-align"
    sides = ["left" if isinstance(value, str) else "right" for value in rows[0]]
    head = "".join(
        f'<th scope="col" style="{pad}:{side}">{text(name)}</th>'
        for name, side in zip(heads, sides, strict=True)
    )
    body = ""
    for name, *values in rows:
        most = max((v for v in values if isinstance(v, float)), default=None) if best else None
        body += f'<tr><th scope="row" style="{pad}:left;font-weight:400">{text(name)}</th>'
        for value, side in zip(values, sides[1:], strict=True):
            bold = ";font-weight:700" if most is not None and value == most else ""
            body += f'<td style="{pad}:{side}{bold}">{_shown(value, form)}</td>'
        body += "</tr>"
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;background:none">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _shown(value: Any, form: str) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:{form}}"
    return f"{value:,}" if isinstance(value, int) else text(value)
