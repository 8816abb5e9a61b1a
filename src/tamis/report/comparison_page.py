"""The page about a comparison: which method is better, at what size and cost, how certainly."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from tamis.evaluate.curves import MEANING, Curves, open_curves
from tamis.evaluate.result_tables import Line
from tamis.evaluate.results import Results, open_results
from tamis.evaluate.summary import warnings_of
from tamis.report.page import Code, Column, Facts, Lines, Page, Ranks, Scatter, Section, Table


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
    for judge in judges:
        note = "Means over the folds; – where a fold gave no result. The highest is highlighted."
        means = summary["classifiers"][judge]["accuracy"]
        accuracy = _table(f"Accuracy with {judge}", results, means, note, best="highest")
        sections += [_ranks(results, summary, judge), accuracy]
    sections += [_trade_off(results, judge) for judge in judges]
    stability = [[one["nogueira"] for one in row] for row in summary["stability"]]
    sections += [
        _table("Features kept", results, summary["kept"], "Means over the folds.", 1),
        _table("Seconds", results, summary["seconds"],
               "Seconds per selection, averaged over the folds."),
        _table("Stability of the selection", results, stability,
               "Nogueira's measure: 1 if every fold selects the same features, 0 for chance.", 3),
        *[_tests(results, summary, judge) for judge in judges],
        *_over(folder),
    ]  # fmt: skip
    if summary["problems"]:
        keys = ["data", "method", "repeat", "fold", "classifier", "status", "note"]
        cells = [[one[key] for key in keys] for one in summary["problems"]]
        sections.append(Table("Cells without a result", [Column(key) for key in keys], cells))
    if warned := [[*row] for row in warnings_of(results)]:
        heads = [Column("data"), Column("who"), Column("warned"), Column("folds", "count")]
        sections.append(Table("What methods and classifiers warned of", heads, warned))
    title = f"tamis compare: {len(results.methods)} methods on {len(results.data)} data sets"
    return Page.of(
        title, _sentence(results, summary), sections, params["command"] or "(made in Python)",
        params["versions"], f"random_state={params['random_state']}",
    )  # fmt: skip


def shown(methods: list[str]) -> list[str]:
    """Return the names of methods on the page; the user's own classes appear without their module.

    >>> shown(["saola", "lab.methods:Mine", "lab.methods:Mine:share=1"])
    ['saola', 'Mine', 'Mine:share=1']
    """
    short = [re.sub(r"^[\w.]+:(?=[^\W\d]\w*(:|$))", "", method) for method in methods]
    return [a if short.count(a) == 1 else b for a, b in zip(short, methods, strict=True)]


def _sentence(results: Results, summary: dict[str, Any]) -> str:
    judge = results.classifiers[0]
    means = np.array(summary["classifiers"][judge]["accuracy"], dtype=float)
    done = ~np.isnan(means).any(axis=0)
    if not done.any():
        return "No method finished every fold; see the problems below."
    overall = np.where(done, np.nan_to_num(means).mean(axis=0), -1.0)
    best = int(np.argmax(overall))
    return (
        f"With {judge}, {shown(results.methods)[best]} has the highest mean accuracy, "
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
        f"Average ranks with {judge}", shown(results.methods), found["average_ranks"],
        found["critical_difference"], found["not_different"], note=note,
    )  # fmt: skip


def _table(
    title: str, results: Results, values: Any, note: str, digits: int = 4, **more: Any
) -> Table:
    methods = [Column(method, "number", digits) for method in shown(results.methods)]
    rows: list[list[Any]] = [
        [data, *[None if v is None else round(v, digits) for v in row]]
        for data, row in zip(results.data, values, strict=True)
    ]
    return Table(title, [Column("data"), *methods], rows, note=note, **more)


def _trade_off(results: Results, judge: str) -> Section | None:
    """Return accuracy against size: one point per method, with its time as the area."""
    accuracy = results.grid("accuracy", judge).mean(axis=0)
    kept = results.grid("kept").mean(axis=0)
    seconds = results.grid("seconds").mean(axis=0)
    done = np.flatnonzero(~np.isnan(accuracy) & ~np.isnan(kept))
    if len(done) < 2:
        return None
    names = shown(results.methods)
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


def _tests(results: Results, summary: dict[str, Any], judge: str) -> Section | None:
    found = summary["classifiers"][judge]
    if not found["win_tie_loss"]:
        return None
    holm = {} if found["ranks"] is None else {one["method"]: one for one in found["ranks"]["holm"]}
    called = dict(zip(results.methods, shown(results.methods), strict=True))
    control = called[results.control]
    rows: list[list[Any]] = [
        [called[method], *counts, holm.get(method, {}).get("p_holm")]
        for method, counts in found["win_tie_loss"].items()
    ]
    columns = [
        Column("against"), Column("wins", "count"), Column("ties", "count"),
        Column("losses", "count"), Column("p, Holm", "number"),
    ]  # fmt: skip
    return Table(
        f"{control} against the others with {judge}", columns, rows,
        note=f"Data sets that {control} wins, ties and loses by the paired test at 5 %.",
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
