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
from tamis.report.stand_ins_table import stand_in_table
from tamis.report.trust_section import trust_section, votes_table

#: Colour of each verdict in all plots.
COLOURS = {
    "kept": "green", "evicted": "purple", "redundant": "orange", "irrelevant": "grey",
    "withdrawn": "blue", "unexamined": "grey",
}  # fmt: skip

#: Bytes of names and sentences in a page; `tamis why` explains the rest.
ROOM = 250_000
#: Rows of the tables of kept and of dropped features.
MOST_KEPT = 1_000
MOST_DROPPED = 200


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
    features = _Features(log)
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
            run.notes,
        ),
        trust_section(run),
        votes_table(run),
        _kept(run, features),
        stand_in_table(log),
        _dropped(log, features),
        _flow(log),
        _growth(log),
        _strengths(log),
        _explorer(run, features, folder),
        _requested(run, name),
        _costs(run),
    ]
    command = run.command or "(made in Python; see the parameters above)"
    return Page.of(f"tamis: {name}", summary, sections, command, run.versions)


class _Features:
    """The features of a log in the order of a page: kept ones and dropped ones, strongest first."""

    def __init__(self, log: DecisionLog) -> None:
        self.log = log
        events = log.state()
        features = events["event_feature"]
        _, from_the_end = np.unique(features[::-1], return_index=True)
        last = len(features) - 1 - from_the_end  # the last event of each feature with one
        # In the four bytes that the log has for each feature: there may be many million.
        weakness = -events["relevance"]
        weakness[features[last]] = -events["event_relevance"][last]
        weakness[np.isnan(weakness)] = np.inf
        self._weakness = weakness
        self._event = dict(zip(features[last].tolist(), last.tolist(), strict=True))
        kept = log.verdicts == Verdict.KEPT
        self.kept = self._strongest(kept, len(log))
        self.dropped = self._strongest(~kept, ROOM // 40)  # more than can be on a page

    def _strongest(self, wanted: npt.NDArray[np.bool_], most: int) -> npt.NDArray[np.intp]:
        """Return at most so many of the wanted features, the most relevant first."""
        if np.count_nonzero(wanted) > most:
            level = np.partition(self._weakness[wanted], most)[most]
            below = np.flatnonzero(wanted & (self._weakness < level))
            same = np.flatnonzero(wanted & (self._weakness == level))[: most - len(below)]
            which = np.sort(np.concatenate([below, same]))
        else:
            which = np.flatnonzero(wanted)
        return which[np.argsort(self._weakness[which], kind="stable")]

    def decision(self, feature: int) -> Decision:
        """Return the last decision about a feature."""
        event = self._event.get(feature)
        return self.log.bulk_decision(feature) if event is None else self.log.decision(event)

    def explain(self, decision: Decision) -> str:
        """Explain a decision in one sentence."""
        known = self.decision(decision.because[0]).relevance if decision.because else None
        return self.log.explain(decision, known)


def _kept(run: Run, features: _Features) -> Section:
    made_go, names = displaced(run.log), run.log.names
    rows = [
        [names[f], _number(features.decision(f).relevance), f + 1, made_go.get(f, 0)]
        for f in features.kept[:MOST_KEPT].tolist()
    ]
    note = "Strongest first. Click a name to see why it is here; its link can be copied and sent."
    if not rows:
        note = "No feature was kept. The strongest that were dropped are below, each with a reason."
    if len(features.kept) > MOST_KEPT:
        note += f" The first {MOST_KEPT:,} of {len(features.kept):,}; all are in selected.csv."
    columns = [
        Column("feature", "feature"), Column("relevance", "number", bar=True),
        Column("arrived as", "count"), Column("displaced", "count"),
    ]  # fmt: skip
    return Table("Kept features", columns, rows, note=note)


def _dropped(log: DecisionLog, features: _Features) -> Section | None:
    """Return the table of the strongest features that were dropped, and what decided."""
    rows: list[list[Any]] = []
    for feature in features.dropped[:MOST_DROPPED].tolist():
        event = features.decision(feature)
        verdict = log.reasons[event.reason].verdict.name.lower()
        decided = log.names[event.because[0]] if event.because else None
        rows.append([log.names[feature], _number(event.relevance), verdict, decided])
    if not rows:
        return None
    columns = [
        Column("feature", "feature"), Column("relevance", "number", bar=True), Column("verdict"),
        Column("because of", "feature"),
    ]  # fmt: skip
    note = "Strongest first, with the feature that decided, if one did."
    left = len(log) - log.counts()["kept"]
    if left > len(rows):
        note = (
            f"The strongest {len(rows):,} of {left:,}, with the feature that decided, if one did."
        )
    return Table("Dropped features", columns, rows, note=note)


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
    # Those that were dropped when they arrived, or came after a stop, before those evicted later.
    for verdict, label, count in sorted(went.dropped, key=lambda one: one[0] == "evicted"):
        if verdict == "evicted" and stage == 1:
            stage, source = 2, add("kept at first", went.entered, 1, "green", 0)
        add(label, count, stage, COLOURS[verdict], source)
    add("kept", went.kept, stage, "green", source)
    note = "A feature is dropped when it arrives, or kept until a later one makes it redundant."
    return Flow("Where features went", nodes, links, note=note)


def _growth(log: DecisionLog) -> Section | None:
    curve = growth(log)
    if curve is None or not (curve.entered[-1] or curve.redundant[-1]):
        return None
    series: dict[str, list[float | None]] = {
        "kept now": curve.kept.tolist(),
        "kept at some time": curve.entered.tolist(),
        "redundant": curve.redundant.tolist(),
        "evicted": curve.evicted.tolist(),
    }
    # On one scale with many redundant features, the kept ones would be a flat line.
    hidden = ["redundant"] if curve.redundant[-1] > 5 * curve.entered[-1] else []
    note = "Features kept, and features dropped again, after each number of arrivals."
    if hidden:
        note += " Click redundant below the curves to add it."
    return Lines(
        "Over the stream", "features seen", curve.seen.tolist(), series, "features",
        colours=["green", "blue", "orange", "purple"], steps=True, hidden=hidden, note=note,
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
        "Relevance of all features", labels, series, [COLOURS[v] for v in series],
        note="Features by their strength of association with the target, on one scale per verdict.",
    )  # fmt: skip


def _explorer(run: Run, features: _Features, folder: str) -> Section:
    """Return the most important features that fit on the page, and how they are connected."""
    log = run.log
    made_go = displaced(log)
    # Those in the tables first, so that their links lead somewhere.
    order = np.concatenate([features.kept[:MOST_KEPT], features.dropped, features.kept[MOST_KEPT:]])
    chosen: list[Decision] = []
    sentences: list[str] = []
    room = ROOM
    for feature in order.tolist():
        decision = features.decision(feature)
        sentence = run.with_encoding(feature, features.explain(decision))
        room -= len(sentence) + len(log.names[feature]) + 40
        if room < 0:
            break
        chosen.append(decision)
        sentences.append(sentence)
    place = {d.feature: i for i, d in enumerate(chosen)}
    left = len(log) - len(chosen)
    note = "Search, or click any name on this page: why it was kept or dropped, what decided about "
    note += "it, and what it displaced."
    if left:
        note += f" {counted(left, 'weaker feature is', 'weaker features are')} not on this page; "
        note += "tamis why explains any feature."
    return Explorer(
        "Why a feature was kept or dropped",
        [log.names[d.feature] for d in chosen],
        [log.reasons[d.reason].verdict.name.lower() for d in chosen],
        [_number(d.relevance) for d in chosen],
        sentences,
        [[place[b] for b in d.because if b in place] for d in chosen],
        [made_go.get(d.feature, 0) for d in chosen],
        COLOURS,
        f"tamis why {folder or 'RUN'} FEATURE",
        note=note,
    )


def _number(value: float) -> float | None:
    """Round to five digits, which is enough for a page; None if there is no number."""
    return float(f"{value:.5g}") if np.isfinite(value) else None


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
