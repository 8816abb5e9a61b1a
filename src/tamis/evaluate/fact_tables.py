"""What a comparison found, as tables: the terminal, summary.md and the report show these."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tamis.core.markup import cell, code, table
from tamis.evaluate.cells import OK
from tamis.evaluate.results import Results
from tamis.evaluate.summary import (
    ROPE,
    paired_p_values,
    rank_summary,
    too_few_data_sets,
    win_tie_loss,
)

#: Rows of a list in summary.md; all are in the files beside it.
MOST = 20


@dataclass(frozen=True)
class FactTable:
    """A table with a title, and sentences about it."""

    title: str
    heads: list[str]
    #: Text, whole numbers, and numbers; None where there is none.
    rows: list[list[Any]]
    notes: list[str] = field(default_factory=list)
    #: Digits after the point; three in all if None.
    digits: int | None = None
    #: Whether the terminal shows it as well.
    brief: bool = True
    #: Whether it is a list that may be cut, because all of it is in results.parquet.
    is_list: bool = False

    @property
    def is_number(self) -> list[bool]:
        """For each column, whether it holds numbers, perhaps with words where there is none."""
        columns = zip(*self.rows, strict=True)
        return [any(isinstance(value, int | float) for value in column) for column in columns]

    def texts(self) -> list[list[str]]:
        """Return the rows as text."""
        return [[self._text(value) for value in row] for row in self.rows]

    def _text(self, value: Any) -> str:
        if value is None:
            return "-"
        if isinstance(value, float):
            return f"{value:.3g}" if self.digits is None else f"{value:,.{self.digits}f}"
        return f"{value:,}" if isinstance(value, int) else str(value)


def fact_tables(results: Results) -> list[FactTable]:
    """Return everything a comparison found, the most important first; empty tables are left out."""
    found = []
    for judge in results.classifiers:
        ranks = rank_summary(results, judge)
        found += [_accuracy(results, judge), _wins(results, judge, ranks)]
        if ranks is not None:
            found.append(_tests(results, judge, ranks))
    found += [
        FactTable("Features kept", _heads(results), _means(results, "kept"), digits=1),
        FactTable("Seconds to select", _heads(results), _means(results, "seconds"), digits=3),
        FactTable(
            "Memory above the data and the libraries (MB)", _heads(results),
            _means(results, "extra_megabytes"), digits=0, brief=False,
        ),
        _stability(results),
        _problems(results),
        _warnings(results),
    ]  # fmt: skip
    return [one for one in found if one.rows]


def short_names(methods: Sequence[str]) -> list[str]:
    """Return the names of methods; the user's own classes appear without their module.

    >>> short_names(["saola", "lab.methods:Mine", "lab.methods:Mine:share=1"])
    ['saola', 'Mine', 'Mine:share=1']
    """
    short = [re.sub(r"^[\w.]+:(?=[^\W\d]\w*(:|$))", "", method) for method in methods]
    return [a if short.count(a) == 1 else b for a, b in zip(short, methods, strict=True)]


def _heads(results: Results) -> list[str]:
    return ["data", *short_names(results.methods)]


def _by_method(results: Results, value: Callable[[str, str], Any]) -> list[list[Any]]:
    """Return a row for each data set, with a value for each method."""
    return [[data, *(value(data, method) for method in results.methods)] for data in results.data]


def _means(results: Results, metric: str, judge: str | None = None) -> list[list[Any]]:
    """Return means by data set and method; where there is none, how the cells ended instead."""
    ended: dict[tuple[str, str], set[str]] = {}
    for row in results.problems():
        ended.setdefault((row["data"], row["method"]), set()).add(row["status"])
    values = dict(zip(_cells(results), results.grid(metric, judge).ravel().tolist(), strict=True))
    return _by_method(
        results,
        lambda *cell: ", ".join(sorted(ended.get(cell, ()))) or None
        if math.isnan(values[cell]) else values[cell],
    )  # fmt: skip


def _cells(results: Results) -> list[tuple[str, str]]:
    return [(data, method) for data in results.data for method in results.methods]


def _accuracy(results: Results, judge: str) -> FactTable:
    rows = _means(results, "accuracy", judge)
    if len(rows) > 1:
        overall = results.grid("accuracy", judge).mean(axis=0).tolist()
        rows.append(["mean", *(None if math.isnan(v) else v for v in overall)])
    note = "Means over the folds."
    return FactTable(f"Accuracy with {judge}", _heads(results), rows, [note], digits=4)


def _wins(results: Results, judge: str, ranks: dict[str, Any] | None) -> FactTable:
    """Return the data sets that the control wins, ties and loses, and the average ranks."""
    names = dict(zip(results.methods, short_names(results.methods), strict=True))
    control, p_values = names[results.control], paired_p_values(results, judge)
    rows: list[list[Any]] = [
        # With one data set there is one p-value.
        [names[method], *counts, *(p_values[method] if len(results.data) == 1 else [])]
        for method, counts in win_tie_loss(results, judge).items()
    ]
    test = {"corrected-t": "a corrected resampled t-test", "t": "a paired t-test"}.get(
        results.params["paired"], "Wilcoxon's test"
    )
    single = any(one["folds"] == 1 for one in results.params["data"])
    notes = [f"By {test} at 5%{' (over the test rows of a single split)' if single else ''}."]
    if ranks is not None:
        averages, shown = ranks["average_ranks"], list(names.values())
        order = np.argsort(averages, kind="stable").tolist()
        notes.append(
            f"Average ranks (1 = best): {', '.join(f'{shown[i]} {averages[i]:.4g}' for i in order)}"
            f"; Nemenyi's critical difference at 5%: {ranks['critical_difference']:.4g}; "
            f"Friedman p = {ranks['friedman']['p']:.3g}."
        )
        if note := too_few_data_sets(results):
            notes.append(f"{note}.")
    heads = [f"{control} against", "wins", "ties", "losses"]
    heads += ["p"] if len(results.data) == 1 else []
    return FactTable(f"Wins, ties and losses of {control} with {judge}", heads, rows, notes)


def _tests(results: Results, judge: str, ranks: dict[str, Any]) -> FactTable:
    """Return the tests over all data sets: Holm, and the Bayesian signed-rank test."""
    names = dict(zip(results.methods, short_names(results.methods), strict=True))
    control, f = names[results.control], ranks["iman_davenport"]["f"]
    rows: list[list[Any]] = []
    for one in ranks["holm"]:
        belief = ranks["bayesian_signed_rank"].get(one["method"])
        shares = [None] * 3 if belief is None else list(belief.values())
        rows.append([names[one["method"]], one["z"], one["p"], one["p_holm"], *shares])
    notes = [
        f"Friedman: chi-square {ranks['friedman']['chi_square']:.4g}, "
        f"p = {ranks['friedman']['p']:.3g} (with ties {ranks['friedman']['p_ties']:.3g}); "
        f"Iman-Davenport: F = {'infinite' if f is None else format(f, '.4g')}, "
        f"p = {ranks['iman_davenport']['p']:.3g}.",
        f"z above 0: {control} ranks better. P: Bayesian signed-rank test; equal means within "
        f"{ROPE:g} of accuracy.",
    ]
    if ranks["unfinished"]:
        notes.append("A method without a result on a data set ranks last there.")
    heads = [f"{control} against", "z", "p", "p (Holm)", "P(better)", "P(equal)", "P(worse)"]
    return FactTable(f"Tests of ranks with {judge}", heads, rows, notes, brief=False)


def _stability(results: Results) -> FactTable:
    def value(data: str, method: str) -> str | None:
        s = results.stability(data, method)
        kuncheva = "-" if math.isnan(s.kuncheva) else f"{s.kuncheva:.2f}"
        interval = f"{s.nogueira:.2f} [{s.low:.2f}, {s.high:.2f}]; {kuncheva}"
        return None if math.isnan(s.nogueira) else interval

    several = any(one["folds"] > 1 for one in results.params["data"])
    note = (
        "Nogueira's measure over the folds with its 95% interval, and Kuncheva's index: 1 is the "
        "same set every time, 0 is chance."
    )
    rows = _by_method(results, value) if several else []
    return FactTable("Stability of the selections", _heads(results), rows, [note], brief=False)


def _problems(results: Results) -> FactTable:
    """Return the cells without a result, counted by data, method, status and note."""
    heads = ["data", "method", "status", "note"]
    counts = Counter(tuple(row[head] for head in heads) for row in results.problems())
    rows = [[*what, count] for what, count in counts.items()]
    return FactTable(
        "Cells without a result", [*heads, "folds and classifiers"], rows, is_list=True
    )


def _warnings(results: Results) -> FactTable:
    """Return the first warning of each method or classifier on each data set, and how many.

    Numbers in a warning differ from fold to fold, so it is reported once.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for rows, who in ((results.selections, ["method"]), (results.rows, ["method", "classifier"])):
        for row in rows.select(["data", *who, "status", "note"]).to_pylist():
            if row["status"] == OK and row["note"]:
                source = ", ".join(row[name] for name in who)
                found.setdefault((row["data"], source), []).append(row["note"])
    cells: list[list[Any]] = [[*what, notes[0], len(notes)] for what, notes in found.items()]
    return FactTable("Warnings", ["data", "of", "warning", "folds"], cells, is_list=True)


# --- summary.md -----------------------------------------------------------------------------------


def summary_markdown(results: Results) -> str:
    """Return everything as Markdown."""
    params = results.params
    parts = ["# Comparison of feature selectors", _intro(results)]
    for one in fact_tables(results):
        rows = [[cell(text) for text in row] for row in one.texts()]
        most = MOST if one.is_list else len(rows)
        sides = "".join("r" if is_number else "l" for is_number in one.is_number)
        parts += [f"## {cell(one.title)}", *map(cell, one.notes)]
        parts.append(table([*map(cell, one.heads)], rows[:most], sides))
        if len(rows) > most:
            parts.append(f"And {len(rows) - most:,} more, in results.parquet.")
    if params["command"]:
        parts.append(f"To reproduce: {code(params['command'])}")
    versions = ", ".join(f"{name} {number}" for name, number in params["versions"].items())
    parts.append(f"random_state={params['random_state']}; {versions}.")
    return "\n\n".join(parts) + "\n"


def _intro(results: Results) -> str:
    heads = ["data", "rows", "features", "classes", "folds", "train", "test", "fingerprint"]
    rows = [
        [
            cell(d["name"]), f"{d['rows']:,}", f"{d['features']:,}", str(len(d["classes"])),
            str(d["folds"]), f"{d['train_rows']:,}", f"{d['test_rows']:,}",
            f"`{d['fingerprint'][:16]}`",
        ]
        for d in results.params["data"]
    ]  # fmt: skip
    return (
        "Features were selected inside each training fold. Folds are the same for all methods. "
        f"Cross-validation: {results.params['cv']} (repeats x folds, stratified), unless a data "
        f"set has an official split and it was used.\n\n{table(heads, rows, 'lrrrrrrl')}"
    )
