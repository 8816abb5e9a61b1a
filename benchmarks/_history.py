"""The history of the benchmarks: one JSON line per run, and a page that plots every number."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from html import escape
from pathlib import Path
from statistics import median
from typing import Any

#: A number this many times the median of the runs before it is marked.
SLOWER = 1.25
#: A column, or a table, of times, as in "CPU s, merging"; not "thread's", "MB/s" or "rows per s".
TIME = re.compile(r"(?<![\w'/])(?<!per )(s|ms|us|µs|ns|seconds)(?!\w)")

#: The title of a table, the name of a row, and a column.
Key = tuple[str, str, str]
#: The values of numbers over all runs.
Series = dict[Key, list[float]]

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
td, th { padding: 0.15rem 0.6rem; text-align: left; border-bottom: 1px solid #8884; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
tr.slower { background: #f004; }
polyline { fill: none; stroke: currentColor; stroke-width: 1.5; }
"""


def append(folder: Path, content: dict[str, Any]) -> None:
    """Add a run of a benchmark to the history."""
    with (folder / "history.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({**content, "commit": _commit()}) + "\n")


def write_page(folder: Path) -> Path:
    """Write history.html from history.jsonl, and return its path."""
    lines = (folder / "history.jsonl").read_text(encoding="utf-8").splitlines()
    runs = sorted((json.loads(line) for line in lines), key=lambda run: run["when"])
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Benchmarks over time</title>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<style>{STYLE}</style><h1>Benchmarks over time</h1>",
        f"<p>Runs in history.jsonl: {len(runs)}. Each line is a number of a table, over all runs. "
        f"A time that is more than {SLOWER} times the median of the runs before it has a red line. "
        "Compare runs of one machine only; ratios to a peer can be compared between machines.</p>",
    ]
    found = {name: series([run for run in runs if run["name"] == name])
             for name in sorted({run["name"] for run in runs})}  # fmt: skip
    items = [_item(one) for one in slower(found)] or ["<li>none"]
    parts += ["<h2>Slower in the last run</h2>", "<ul>", *items, "</ul>"]
    for name, numbers in found.items():
        parts.append(f"<h2 id='{escape(name)}'>{escape(name)}</h2><div class='wide'><table>")
        parts.append("<tr><th>table<th>row<th>number<th>runs<th>median before<th>last<th>over time")
        parts += [_line(key, values) for key, values in numbers.items()]
        parts.append("</table></div>")
    path = folder / "history.html"
    path.write_text("\n".join(parts) + "</html>\n", encoding="utf-8")
    return path


def series(runs: list[dict[str, Any]]) -> Series:
    """Return every number of a benchmark over its runs, by table, row and column."""
    found: Series = {}
    for run in runs:
        for key, value in _numbers(run["tables"]):
            found.setdefault(key, []).append(value)
    return found


def slower(found: dict[str, Series]) -> list[tuple[float, str, Key]]:
    """Return the times that stand out: how many times the median before, benchmark, and key."""
    times = [
        (values[-1] / median(values[:-1]), name, key)
        for name, numbers in found.items()
        for key, values in numbers.items()
        if is_slower(key, values)
    ]
    return sorted(times, reverse=True)


def is_slower(key: Key, values: list[float]) -> bool:
    """Return whether the last number is a time that stands out from those before it."""
    if len(values) < 2 or not (TIME.search(key[0].lower()) or TIME.search(key[2].lower())):
        return False
    return values[-1] > SLOWER * median(values[:-1]) > 0


def _numbers(tables: dict[str, Any]) -> Iterator[tuple[Key, float]]:
    for title, rows in tables.items():
        for label, row in zip(_labels(rows), rows, strict=True):
            for column, cell in row.items():
                value = _number(cell)
                if value is not None:
                    yield (title, label, column), value


def _number(cell: Any) -> float | None:
    """Return the number of a cell, which may be formatted; None if it is something else."""
    if isinstance(cell, bool) or not isinstance(cell, int | float | str):
        return None
    try:
        return float(cell.replace(",", "")) if isinstance(cell, str) else float(cell)
    except ValueError:
        return None


def _labels(rows: list[dict[str, Any]]) -> list[str]:
    """Name each row by the first columns that tell the rows of a table apart.

    A column after the first is not part of a name if it has fractions: it was measured, and a row
    has the same name in every run. Rows that stay alike are numbered.
    """
    names = [""] * len(rows)
    for place, column in enumerate(rows[0] if rows else ()):
        cells = [row.get(column, "") for row in rows]
        measured = place and any(isinstance(cell, float) for cell in cells)
        if measured or (len(set(names)) == len(names) and (place or not isinstance(cells[0], str))):
            break
        words = [cell if isinstance(cell, str) else f"{column} {cell}" for cell in cells]
        names = [f"{name}, {word}".strip(", ") for name, word in zip(names, words, strict=True)]
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            names[place] = f"{name} ({seen[name]})"
    return names


def _item(one: tuple[float, str, Key]) -> str:
    times, name, key = one
    words = ": ".join(word for word in key if word)
    return f"<li>{times:.2f} times: <a href='#{escape(name)}'>{escape(name)}</a>, {escape(words)}"


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _line(key: Key, values: list[float]) -> str:
    marked = " class='slower'" if is_slower(key, values) else ""
    before = _shown(median(values[:-1])) if len(values) > 1 else ""
    cells = "".join(f"<td>{escape(word)}" for word in key)
    numbers = f"<td class='n'>{len(values)}<td class='n'>{before}<td class='n'>{_shown(values[-1])}"
    return f"<tr{marked}>{cells}{numbers}<td>{_plot(values)}"


def _plot(values: list[float], width: int = 160, height: int = 28) -> str:
    """Return a small line chart, from 0 to the largest value."""
    top = max((abs(value) for value in values if value == value), default=1.0) or 1.0
    step = width / max(len(values) - 1, 1)
    points = " ".join(
        f"{k * step:.1f},{height - 2 - (height - 4) * max(value, 0) / top:.1f}"
        for k, value in enumerate(values)
        if value == value  # not NaN
    )
    return f"<svg width='{width}' height='{height}'><polyline points='{points}'/></svg>"


def _commit() -> str:
    """Return the commit that was measured, or an empty string outside a repository."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip()
