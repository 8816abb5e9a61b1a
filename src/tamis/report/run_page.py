"""The page about a selection: what was kept, what was dropped, and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.decisions import Decision, DecisionLog, Verdict
from tamis.core.overview import displaced, growth, passage, strengths
from tamis.core.sentences import counted, show
from tamis.engine.runs import Run
from tamis.report.page import Bars, Column, Explorer, Facts, Flow, Lines, Page, Section, Table

#: Colour of each verdict in all plots.
COLOURS = {
    "kept": "green", "evicted": "purple", "redundant": "orange", "irrelevant": "grey",
    "withdrawn": "blue",
}  # fmt: skip

#: Bytes of names and sentences in a page; `tamis why` explains the rest.
ROOM = 250_000
#: Rows of the table of kept features.
MOST_KEPT = 1_000


def page_of_run(run: Run, folder: str = "", name: str = "") -> Page:
    """Return the page about a run.

    `folder` is its folder, for the commands that are shown; `name` is that of the data, if the run
    is not finished and does not contain it yet.
    """
    log, counts = run.log, run.log.counts()
    gone = ", ".join(f"{n:,} {word}" for word, n in counts.items() if n and word != "kept")
    name = name or str(run.source.get("name") or f"{run.source['format']} data")
    summary = (
        f"{run.method} kept {counts['kept']:,} of {counted(len(log), 'feature')}"
        f"{f' ({gone})' if gone else ''} on {counted(run.source['n_rows'], 'row')} of {name}."
    )
    sections: list[Section | None] = [
        Facts(
            "At a glance",
            [
                ("features seen", f"{len(log):,}"),
                ("kept", f"{counts['kept']:,}"),
                ("rows", f"{run.source['n_rows']:,}"),
                ("seconds", show(sum(run.seconds.values()))[0]),
                ("most memory", f"{run.peak_megabytes:,.0f} MB"),
            ],
        ),
        _kept(run),
        _flow(log),
        _growth(log),
        _strengths(log),
        _explorer(run, folder),
        _requested(run, name),
        _costs(run),
    ]
    command = run.command or "(made in Python; see the parameters above)"
    return Page.of(f"tamis: {name}", summary, sections, command, run.versions)


def _kept(run: Run) -> Section:
    made_go = displaced(run.log)
    kept = sorted(run.kept_rows(), key=lambda row: -row["relevance"])
    rows = [
        [r["name"], r["relevance"], r["arrival"] + 1, made_go.get(r["feature"], 0)]
        for r in kept[:MOST_KEPT]
    ]
    note = "Strongest first; click a name to see why it is here and what it displaced."
    if len(kept) > MOST_KEPT:
        note += f" The first {MOST_KEPT:,} of {len(kept):,}; all are in selected.csv."
    columns = [
        Column("feature", "feature"), Column("relevance", "number"), Column("arrived as", "count"),
        Column("displaced", "count"),
    ]  # fmt: skip
    return Table("Kept features", columns, rows, opens=0, note=note)


def _flow(log: DecisionLog) -> Section:
    went = passage(log)
    nodes: list[tuple[str, int, int, str]] = [("arrived", went.seen, 0, "blue")]
    links: list[tuple[int, int, int]] = []

    def add(name: str, count: int, stage: int, colour: str, source: int) -> int:
        if count:
            nodes.append((name, count, stage, colour))
            links.append((source, len(nodes) - 1, count))
        return len(nodes) - 1

    stage, source = 1, 0
    for verdict, label, count in went.dropped:
        if verdict == "evicted" and stage == 1:
            stage, source = 2, add("kept at first", went.entered, 1, "green", 0)
        add(label, count, stage, COLOURS[verdict], source)
    add("kept", went.kept, stage, "green", source)
    note = "A feature is dropped when it arrives, or kept until a later one makes it redundant."
    return Flow("Where features went", nodes, links, note=note)


def _growth(log: DecisionLog) -> Section | None:
    curve = growth(log)
    if curve is None:
        return None
    series: dict[str, list[float | None]] = {
        "kept now": curve.kept.tolist(),
        "kept at some time": curve.entered.tolist(),
        "redundant": curve.redundant.tolist(),
        "evicted": curve.evicted.tolist(),
    }
    return Lines(
        "Over the stream", "features seen", curve.seen.tolist(), series, "features",
        colours=["green", "blue", "orange", "purple"], steps=True,
        note="Features kept, and features dropped again, after each number of arrivals.",
    )  # fmt: skip


def _strengths(log: DecisionLog) -> Section | None:
    spread = strengths(log)
    if spread is None:
        return None
    edges, counts = spread
    step = edges[1] - edges[0]
    labels = [f"{low:.6g}" if abs(low) > step / 100 else "0" for low in edges[:-1]]
    series = {v: count.astype(float).tolist() for v, count in counts.items() if count.any()}
    return Bars(
        "Relevance of all features", labels, series, [COLOURS[v] for v in series], True,
        note="Features by their strength of association with the target, on a square-root scale.",
    )  # fmt: skip


def _explorer(run: Run, folder: str) -> Section:
    """Return the most important features that fit on the page, and how they are connected."""
    log = run.log
    made_go = displaced(log)
    order = _by_weight(log)
    chosen: list[Decision] = []
    sentences: list[str] = []
    room = ROOM
    for i in order.tolist():
        event = log.decision(i)
        sentence = log.explain(event)
        room -= len(sentence) + len(log.names[event.feature]) + 40
        if room < 0:
            break
        chosen.append(event)
        sentences.append(sentence)
    place = {event.feature: i for i, event in enumerate(chosen)}
    left = len(order) - len(chosen)
    note = "Search or click to see which features decided about a feature, and which it displaced."
    if left:
        note += f" {left:,} weaker features that met the rule are not on this page."
    return Explorer(
        "Who made whom redundant",
        [log.names[e.feature] for e in chosen],
        [log.reasons[e.reason].verdict.name.lower() for e in chosen],
        [_number(e.relevance) for e in chosen],
        sentences,
        [[place[b] for b in e.because if b in place] for e in chosen],
        [made_go.get(e.feature, 0) for e in chosen],
        COLOURS,
        f"tamis why {folder or 'RUN'} FEATURE",
        note=note,
    )


def _by_weight(log: DecisionLog) -> npt.NDArray[np.intp]:
    """Return the last event of each feature with one: kept ones first, then by relevance."""
    events = log.state()
    features = events["event_feature"]
    _, from_the_end = np.unique(features[::-1], return_index=True)
    last = len(features) - 1 - from_the_end
    verdicts = np.array([reason.verdict for reason in log.reasons.values()])
    dropped = verdicts[events["event_reason"][last]] != Verdict.KEPT
    return np.asarray(last[np.lexsort((features[last], -events["event_relevance"][last], dropped))])


def _number(value: float) -> float:
    """Round to four digits, which is enough for a plot."""
    return float(np.format_float_positional(value, 5, fractional=False)) if value else 0.0


def _requested(run: Run, name: str) -> Section:
    items = [("method", run.method), *((k, str(v)) for k, v in run.parameters.items())]
    if run.measure:
        items += [("measure in use", run.measure), ("because", run.measure_reason)]
    about = ("format", "target", "fingerprint")
    items += [("data", name), *((what, str(run.source[what])) for what in about)]
    return Table("Parameters", [Column("what"), Column("value")], [list(i) for i in items])


def _costs(run: Run) -> Section:
    whats = {"columns": "open the data", "fingerprint": "take its fingerprint"}
    rows: list[list[Any]] = [[f"seconds to {whats.get(k, k)}", v] for k, v in run.seconds.items()]
    rows += [["most memory, MB", run.peak_megabytes]]
    rows += [[what.replace("_", " "), n] for what, n in run.work.items()]
    return Table("Time, memory and counted work", [Column("what"), Column("", "number")], rows)
