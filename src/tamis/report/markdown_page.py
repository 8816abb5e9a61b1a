"""A page as Markdown: the tables behind the plots, cut to a readable length."""

from __future__ import annotations

import re
from typing import Any

from tamis.core.markup import cell, code, table
from tamis.report.page import Code, Column, Explorer, Lines, Page, Section

#: Rows of a table; the rest are in the files of the folder.
MOST = 20
#: Features explained per verdict.
EXAMPLES = 3


def as_markdown(page: Page) -> str:
    """Return the page as Markdown text."""
    parts = [f"# {cell(page.title)}", cell(page.summary)]
    for section in page.sections:
        parts.append(f"## {cell(section.title)}")
        if section.note and not isinstance(section, Explorer):
            parts.append(cell(section.note))
        parts.append(_body(section))
    return "\n\n".join(parts) + "\n"


def _body(section: Section) -> str:
    if isinstance(section, Code):
        longest = max(map(len, re.findall("`+", section.text)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}\n{section.text}\n{fence}"
    if isinstance(section, Explorer):
        return _sentences(section)
    columns, rows = section.table()
    if not rows:
        return "None."
    if len(rows) <= MOST:
        return _table(columns, rows)
    if isinstance(section, Lines):  # sample points along the whole curve
        step = (len(rows) - 1) / (MOST - 1)
        return _table(columns, [rows[round(k * step)] for k in range(MOST)])
    return f"{_table(columns, rows[:MOST])}\n\nThe first {MOST} of {len(rows):,}."


def _sentences(section: Explorer) -> str:
    """Return one sentence each about a few features per verdict, the strongest first."""
    lines = []
    for verdict in dict.fromkeys(section.verdicts):
        mine = [s for s, v in zip(section.sentences, section.verdicts, strict=True) if v == verdict]
        lines += [f"- {cell(sentence)}" for sentence in mine[:EXAMPLES]]
    lines.append(f"\nAsk about any other: {code(section.elsewhere)}")
    return "\n".join(lines)


def _table(columns: list[Column], rows: list[list[Any]]) -> str:
    align = "".join("r" if column.kind in ("count", "number") else "l" for column in columns)
    shown = [[*map(_show, row, columns)] for row in rows]
    return table([cell(column.label) for column in columns], shown, align)


def _show(value: Any, column: Column) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return cell(str(value))
    if column.digits is not None:
        return f"{value:,.{column.digits}f}"
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:.4g}"
