"""Runs as one Markdown page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tamis.core.decisions import Decision
from tamis.core.errors import OutputError
from tamis.engine.run import Run

#: Kept features listed for each run; the rest are in selected.csv.
MOST = 20
#: Dropped features explained for each run, of each kind.
EXAMPLES = 2


def write_markdown(runs: Mapping[str, Run], path: Path, title: str, intro: str = "") -> Path:
    """Write a page with a section for each run."""
    parts = [f"# {title}\n"]
    if intro:
        parts.append(intro + "\n")
    parts += [_section(heading, run) for heading, run in runs.items()]
    text = "\n".join(parts).encode("utf-8", "backslashreplace")
    try:
        path.write_bytes(text)
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror})") from error
    return path


def _work(run: Run) -> str:
    return ", ".join(f"{n:,} {what.replace('_', ' ')}" for what, n in run.work.items())


def _section(heading: str, run: Run) -> str:
    counts, source = run.log.counts(), run.source
    measure = ""
    if run.measure:
        measure = f" Measure: `{run.measure}`, because {cell(run.measure_reason)}."
    lines = [
        f"## {cell(heading)}\n",
        f"{source['n_rows']:,} rows, {len(run.log):,} features; "
        f"{cell(source['target'])}.{measure}\n",
        "| verdict | features |",
        "|---|---:|",
        *[f"| {word} | {n:,} |" for word, n in counts.items()],
        "",
        *_kept_table(run.kept()),
        *_examples(run),
        f"Selected in {run.seconds['select']:.2f} s; counted work: {_work(run)}; "
        f"{', '.join(f'{name} {number}' for name, number in run.versions.items())}. "
        f"Data fingerprint `{source['fingerprint']}`.",
        *([f"\nTo reproduce: {code(run.command)}"] if run.command else []),
        "",
    ]
    return "\n".join(lines)


def _kept_table(kept: list[dict[str, Any]]) -> list[str]:
    """The kept features, strongest first."""
    if not kept:
        return ["No feature was kept.", ""]
    some = f" (the first {MOST} of {len(kept):,})" if len(kept) > MOST else ""
    strongest = sorted(kept, key=lambda row: -row["relevance"])[:MOST]
    return [
        f"Kept, by relevance{some}:\n",
        "| feature | relevance |",
        "|---|---:|",
        *[f"| {cell(row['name'])} | {row['relevance']:.4g} |" for row in strongest],
        "",
    ]


def _examples(run: Run) -> list[str]:
    """The strongest features that were relevant and went, a sentence each."""
    dropped: dict[str, list[Decision]] = {"redundant": [], "evicted": []}
    last = {event.feature: event for event in run.log.events()}
    for event in last.values():
        verdict = run.log.reasons[event.reason].verdict.name.lower()
        if verdict in dropped:
            dropped[verdict].append(event)
    strongest = [
        event
        for events in dropped.values()
        for event in sorted(events, key=lambda e: -e.relevance)[:EXAMPLES]
    ]
    if not strongest:
        return []
    return ["Why some others went:\n", *[f"- {cell(run.why(e.feature))}" for e in strongest], ""]


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
