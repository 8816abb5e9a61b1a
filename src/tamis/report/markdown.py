"""Runs as one Markdown page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tamis.core.decisions import Decision
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
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def _section(heading: str, run: Run) -> str:
    counts, source = run.log.counts(), run.source
    kept = run.kept()
    lines = [
        f"## {heading}\n",
        f"{source['n_rows']:,} rows, {len(run.log):,} features; {source['target']}. "
        f"Measure: `{run.measure}`, because {run.measure_reason}.\n",
        "| verdict | features |",
        "|---|---:|",
        *[f"| {word} | {n:,} |" for word, n in counts.items()],
        "",
        f"Kept, by relevance{f' (the first {MOST} of {len(kept)})' if len(kept) > MOST else ''}:\n",
        "| feature | relevance |",
        "|---|---:|",
        *[
            f"| {cell(row['name'])} | {row['relevance']:.4g} |"
            for row in sorted(kept, key=lambda row: -row["relevance"])[:MOST]
        ],
        "",
        *(["Why some others went:\n"] if len(kept) < len(run.log) else []),
        *[f"- {cell(sentence)}" for sentence in _examples(run)],
        "",
        f"Selected in {run.seconds['select']:.2f} s with {run.work['pair_values']:,} pair values; "
        f"{', '.join(f'{name} {number}' for name, number in run.versions.items())}. "
        f"Data fingerprint `{source['fingerprint']}`.",
        *([f"\nTo reproduce: `{run.command}`"] if run.command else []),
        "",
    ]
    return "\n".join(lines)


def _examples(run: Run) -> list[str]:
    """The strongest features that were dropped, one sentence each."""
    dropped: dict[str, list[Decision]] = {"redundant": [], "evicted": []}
    last = {event.feature: event for event in run.log.events()}
    for event in last.values():
        verdict = run.log.reasons[event.reason].verdict.name.lower()
        if verdict in dropped:
            dropped[verdict].append(event)
    return [
        run.why(event.feature)
        for events in dropped.values()
        for event in sorted(events, key=lambda e: -e.relevance)[:EXAMPLES]
    ]


def cell(text: str) -> str:
    """Text that cannot break out of a table or a line.

    >>> cell("a|b<c>")
    'a&#124;b&lt;c&gt;'
    """
    for raw, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "&#124;"), ("\n", " ")):
        text = text.replace(raw, safe)
    return text
