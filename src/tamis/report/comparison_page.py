"""The page about a comparison: which method is better, at what size and cost, how certainly."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from tamis.evaluate.curves import MEANING, Curves, open_curves
from tamis.evaluate.fact_tables import FactTable, fact_tables, short_names
from tamis.evaluate.result_tables import Line
from tamis.evaluate.results import Results, open_results
from tamis.report.page import (
    Code,
    Column,
    Facts,
    Lines,
    Page,
    Ranks,
    Scatter,
    Section,
    Table,
)  # fmt: skip


def page_of_results(folder: str | os.PathLike[str]) -> Page:
    """Return the page about a folder of results."""
    return page_of(open_results(folder), folder)


def interim_page(lines: list[Line], command: str) -> Page:
    """Return the page about a comparison that is still running."""
    finished, folds = sum(line.finished for line in lines), sum(line.folds for line in lines)
    columns = [
        Column("data"), Column("method"), Column("classifier"), Column("folds finished"),
        Column("mean accuracy", "number"), Column("features kept", "number"),
        Column("seconds", "number"),
    ]  # fmt: skip
    rows = [[*one[:3], f"{one.finished} of {one.folds}", *one[5:]] for one in lines]
    table = Table("So far", columns, rows, note="Means over the finished folds.")
    summary = f"{finished:,} of {folds:,} folds are finished."
    return Page("tamis compare", summary, [table, Code("Command", command)])


def page_of(results: Results, folder: str | os.PathLike[str] | None = None) -> Page:
    """Return the page about results, and the curves in their folder."""
    summary, params, judges = results.summary(), results.params, results.classifiers
    facts = [
        ("data sets", f"{len(results.data):,}"),
        ("methods", f"{len(results.methods):,}"),
        ("classifiers", ", ".join(judges)),
        ("protocol", str(params.get("cv", "")) or "official splits"),
        ("cells without a result", f"{len(summary['problems']):,}"),
    ]
    note = "Features are selected inside each training fold; all methods get the same folds."
    sections: list[Section | None] = [Facts("At a glance", facts, note=note)]
    tables = [_table(one) for one in fact_tables(results)]
    for judge in judges:
        sections.append(_ranks(results, summary, judge))
        sections += [one for one in tables if one.title.endswith(f" with {judge}")]
        sections.append(_trade_off(results, judge))
    sections += [*(one for one in tables if one not in sections), *_over(folder)]
    title = f"tamis compare: {len(results.methods)} methods on {len(results.data)} data sets"
    return Page.of(
        title, _sentence(results, summary), sections, params["command"] or "(made in Python)",
        params["versions"], f"random_state={params['random_state']}",
    )  # fmt: skip


def _sentence(results: Results, summary: dict[str, Any]) -> str:
    judge = results.classifiers[0]
    means = np.array(summary["classifiers"][judge]["accuracy"], dtype=float)
    done = ~np.isnan(means).any(axis=0)
    if not done.any():
        return "No method finished every fold; see the problems below."
    overall = np.where(done, np.nan_to_num(means).mean(axis=0), -1.0)
    best = int(np.argmax(overall))
    return (
        f"With {judge}, {short_names(results.methods)[best]} has the highest mean accuracy, "
        f"{overall[best]:.1%} over {len(results.data)} data sets"
        f"{', of the methods that finished every fold' if not done.all() else ''}."
    )


def _ranks(results: Results, summary: dict[str, Any], judge: str) -> Section | None:
    found = summary["classifiers"][judge]["ranks"]
    if found is None:
        return None
    note = (
        "Rank 1 is the best accuracy on a data set. Methods joined by a bar do not differ "
        "significantly (Nemenyi, 5 %). Test of no difference between the methods: "
        f"p = {found['iman_davenport']['p']:.3g} (Iman-Davenport)."
    )
    return Ranks(
        f"Average ranks with {judge}", short_names(results.methods), found["average_ranks"],
        found["critical_difference"], found["not_different"], note=note,
    )  # fmt: skip


def _table(facts: FactTable) -> Table:
    columns = [
        Column(head, "number", facts.digits) if is_number else Column(head)
        for head, is_number in zip(facts.heads, facts.is_number, strict=True)
    ]
    best: Literal["", "highest"] = "highest" if facts.title.startswith("Accuracy") else ""
    return Table(facts.title, columns, facts.rows, best, note=" ".join(facts.notes))


def _trade_off(results: Results, judge: str) -> Section | None:
    """Return accuracy against size: one point per method, with its time as the area."""
    accuracy = results.grid("accuracy", judge).mean(axis=0)
    kept = results.grid("kept").mean(axis=0)
    seconds = results.grid("seconds").mean(axis=0)
    done = np.flatnonzero(~np.isnan(accuracy) & ~np.isnan(kept))
    if len(done) < 2:
        return None
    names = short_names(results.methods)
    points = [(names[i], float(kept[i]), float(accuracy[i]), float(seconds[i])) for i in done]
    best = [
        i
        for i, (_, size, score, _) in enumerate(points)
        if not any(s <= size and a >= score and (s, a) != (size, score) for _, s, a, _ in points)
    ]
    return Scatter(
        f"Accuracy against size with {judge}", "features kept (logarithmic)", "mean accuracy",
        "seconds", points, best, True,
        note="Few features and high accuracy are at the upper left; the dashed line joins "
        "the methods that no other method beats on both. The area shows the time of a selection.",
    )  # fmt: skip


def _over(folder: str | os.PathLike[str] | None) -> list[Section]:
    """Return accuracy and number kept over time, orders or thresholds, if there are curves."""
    return [
        section
        for kind in MEANING
        if folder is not None and os.path.isfile(os.path.join(folder, f"over_{kind}.parquet"))
        for section in _drawn(open_curves(folder, kind))
    ]


def _drawn(curves: Curves) -> Iterator[Section]:
    points = curves.points.to_pylist()
    judge = points[0]["classifier"] if points else ""
    mine = [point for point in points if point["classifier"] == judge]
    for data in dict.fromkeys(point["data"] for point in mine):
        here = [point for point in mine if point["data"] == data]
        x = sorted({point["x"] for point in here})
        for what, label in (("accuracy", f"accuracy with {judge}"), ("kept", "features kept")):
            series: dict[str, list[float | None]] = {}
            for method in dict.fromkeys(point["method"] for point in here):
                at = {p["x"]: p[what] for p in here if p["method"] == method}
                series[method] = [at.get(place) for place in x]
            title = f"{data} over {curves.over}: {label}"
            x_label = curves.params.get("parameter", MEANING[curves.kind])
            yield Lines(title, x_label, x, series, label, points=len(x) < 40)
