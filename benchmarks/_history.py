"""The history of the benchmarks: one JSON line per run, and a page that plots every number."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from html import escape
from math import isfinite
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
:root { color-scheme: light dark; --line: #8885; --quiet: #8889; --mark: #e5484d; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1, h2 { line-height: 1.2; }
h2 { margin-top: 2.5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 0.5rem; }
a { color: inherit; }
small, .quiet { color: color-mix(in srgb, currentColor 65%, transparent); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; }
td, th { padding: 0.25rem 0.7rem; text-align: left; vertical-align: top; }
td, th { border-bottom: 1px solid var(--line); }
th { font-weight: 600; max-width: 11rem; vertical-align: bottom; }
td.n, th.r { text-align: right; }
.n { font-variant-numeric: tabular-nums; white-space: nowrap; }
.slower { background: color-mix(in srgb, var(--mark) 22%, transparent); }
details { border: 1px solid var(--line); border-radius: 0.5rem; margin: 0.6rem 0; }
details > :not(summary) { margin-left: 1rem; margin-right: 1rem; }
summary { cursor: pointer; padding: 0.5rem 1rem; overflow-wrap: anywhere; }
summary b { margin-right: 0.4rem; }
svg { display: block; margin-left: auto; overflow: visible; }
polyline { fill: none; stroke: currentColor; stroke-width: 1.5; opacity: 0.7; }
circle { fill: currentColor; }
.slower polyline, .slower circle { stroke: var(--mark); opacity: 1; }
.slower circle { fill: var(--mark); }
"""
#: Opens the benchmark that the address names.
SCRIPT = """
const open = () => {
  const at = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (at && at.tagName === "DETAILS") { at.open = true; at.scrollIntoView(); }
};
addEventListener("hashchange", open);
open();
"""
#: Slower numbers that are listed at once.
LISTED = 15


def append(folder: Path, content: dict[str, Any]) -> None:
    """Add a run of a benchmark to the history."""
    with (folder / "history.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({**content, "commit": _commit()}) + "\n")


def write_page(folder: Path) -> Path:
    """Write history.html from history.jsonl, and return its path."""
    lines = (folder / "history.jsonl").read_text(encoding="utf-8").splitlines()
    runs: dict[str, list[dict[str, Any]]] = {}
    for run in sorted((json.loads(line) for line in lines), key=lambda run: str(run["when"])):
        runs.setdefault(_title(run), []).append(run)
    found = {title: series(runs[title]) for title in sorted(runs)}
    marked = slower(found)
    last = max((some[-1] for some in runs.values()), key=lambda run: str(run["when"]))
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Benchmarks over time</title>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<style>{STYLE}</style><h1>Benchmarks over time</h1>",
        f"<p>{len(lines):,} runs of {len(runs)} benchmarks. The last one: {_when(last)}"
        f"{_of(' at commit ', last.get('commit'))}, {escape(str(last['machine']['platform']))}, "
        f"Python {escape(str(last['machine']['python']))}.</p>",
        "<p>Each table is that of the last run. A small line shows a number over all runs that "
        "have it, from 0 upwards. A time is marked if it is more than "
        f"{SLOWER} times the median of the runs before. Compare runs of one machine only. If it "
        "was busy, many times are marked at once; ratios to a peer suffer less.</p>",
        f"<h2>Slower in the last run: {len(marked):,}</h2>",
        f"<ul>{''.join(map(_item, marked[:LISTED])) or '<li>none'}</ul>",
    ]
    if len(marked) > LISTED:
        rest = "".join(map(_item, marked[LISTED:]))
        parts.append(f"<details><summary>{len(marked) - LISTED:,} more</summary><ul>{rest}</ul>")
        parts.append("</details>")
    parts.append("<h2>All benchmarks</h2>")
    for title, numbers in found.items():
        parts += _benchmark(title, runs[title], numbers)
    path = folder / "history.html"
    text = "\n".join([*parts, f"<script>{SCRIPT}</script></html>", ""])
    path.write_text(text, encoding="utf-8")
    return path


def _title(run: dict[str, Any]) -> str:
    """Return the name of a benchmark; that of its short form is the plain one."""
    return str(run["name"]) if run.get("short") else f"{run['name']}, in full"


def _when(run: dict[str, Any]) -> str:
    return escape(str(run["when"])[:16].replace("T", " ")) + " UTC"


def _of(before: str, word: Any, after: str = "") -> str:
    return f"{before}{escape(str(word))}{after}" if word else ""


def _benchmark(title: str, runs: list[dict[str, Any]], numbers: Series) -> Iterator[str]:
    """Yield a benchmark: closed at first, with the tables of its last run."""
    last = runs[-1]
    marked = sum(is_slower(key, values) for key, values in numbers.items())
    about = [f"runs: {len(runs)}", f"last: {_when(last)}"]
    if "seconds" in last:
        about.append(f"{last['seconds']:,.0f} s, of them {last.get('cpu', 0):,.0f} s of CPU time")
    if marked:
        about.append(f"<span class='slower'>slower: {marked}</span>")
    yield f"<details id='{escape(title)}'><summary><b>{escape(title)}</b> "
    yield f"{_of('', last.get('description'))}<br><small>{'; '.join(about)}</small></summary>"
    for name, rows in last["tables"].items():
        if not rows:
            continue
        heads = "".join(
            f"<th{'' if _number(cell) is None else ' class=r'}>{escape(column)}"
            for column, cell in rows[0].items()
        )
        yield f"<h3>{escape(name)}</h3><div class='wide'><table><tr>{heads}"
        for label, row in zip(_labels(rows), rows, strict=True):
            cells = (_cell((name, label, column), row.get(column, ""), numbers) for column in row)
            yield f"<tr>{''.join(cells)}"
        yield "</table></div>"
    notes = "".join(f"<li>{escape(note)}" for note in last.get("notes", ()))
    yield f"<ul class='quiet'>{notes}</ul></details>"


def _cell(key: Key, cell: Any, numbers: Series) -> str:
    """Return a cell: the last number, over a line of all if they differ."""
    value = _number(cell)
    if value is None:
        word = {True: "yes", False: "no"}[cell] if isinstance(cell, bool) else str(cell)
        return f"<td>{escape(word)}"
    values = numbers[key]
    shown = escape(cell) if isinstance(cell, str) else _shown(value)
    if len(set(values)) == 1:
        return f"<td class='n'>{shown}"
    marked = " slower" if is_slower(key, values) else ""
    return f"<td class='n{marked}'>{shown}{_plot(values)}"


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
    times, title, key = one
    words = ": ".join(word for word in key if word)
    return f"<li>{times:.2f} times: <a href='#{escape(title)}'>{escape(title)}</a>, {escape(words)}"


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _plot(values: list[float], width: int = 90, height: int = 22) -> str:
    """Return a small line chart, from 0 to the largest value; the last one has a dot."""
    known = [value for value in values if isfinite(value)]
    top = max(map(abs, known), default=1.0) or 1.0
    step = (width - 4) / max(len(known) - 1, 1)
    points = [
        (2 + k * step, height - 2 - (height - 4) * max(value, 0) / top)
        for k, value in enumerate(known)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dot = "".join(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2'/>" for x, y in points[-1:])
    title = f"<title>{', '.join(map(_shown, known))}</title>"
    drawn = f"{title}<polyline points='{line}'/>{dot}"
    return f"<svg width='{width}' height='{height}'>{drawn}</svg>"


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
