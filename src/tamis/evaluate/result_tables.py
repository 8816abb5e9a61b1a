"""Collect the records of cells: into the tables of a `Results`, or while cells still run."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tamis.evaluate.cells import OK, judge_key
from tamis.evaluate.datasets import DataSet
from tamis.evaluate.metrics import METRICS
from tamis.evaluate.results import COSTS, ROWS, SELECTIONS, TIMES, Results


class Line(NamedTuple):
    """One method on one data set with one classifier, over the finished folds."""

    data: str
    method: str
    classifier: str
    finished: int
    folds: int
    accuracy: float | None
    kept: float | None
    seconds: float | None


def interim_lines(states: Iterable[Any], classifiers: Sequence[str]) -> list[Line]:
    """Return means over the finished folds, in the order of the cells."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for state in states:
        groups.setdefault((state.cell.data, state.cell.method.label), []).append(state.record)
    lines = []
    for (data, method), records in groups.items():
        for classifier in classifiers:
            scores, kept, seconds, finished = [], [], [], 0
            for record in records:
                selection, score = record["selection"], record["scores"].get(judge_key(classifier))
                if selection is None or (selection["status"] == OK and score is None):
                    continue
                finished += 1
                if selection["status"] == OK:
                    kept.append(selection["kept"][-1]["count"])
                    seconds.append(selection["seconds"])
                    if score["status"] == OK and score["over"][-1]["accuracy"] is not None:
                        scores.append(score["over"][-1]["accuracy"])
            means = [float(np.mean(v)) if v else None for v in (scores, kept, seconds)]
            lines.append(Line(data, method, classifier, finished, len(records), *means))
    return lines


def results_of(
    params: dict[str, Any], states: Sequence[Any], sets: Sequence[DataSet], computed: int
) -> Results:
    """Return the records of all cells as results."""
    by_name = {one.name: one for one in sets}
    judges = params["classifiers"]
    pairs = [(state, by_name[state.cell.data]) for state in states]
    selections = [row for pair in pairs for row in _selection_rows(*pair)]
    rows = [row for pair in pairs for judge in judges for row in _score_rows(*pair, judge)]
    tables = pa.Table.from_pylist(rows, ROWS), pa.Table.from_pylist(selections, SELECTIONS)
    return Results(*tables, params, computed)


def _common(state: Any, share: float) -> dict[str, Any]:
    cell = state.cell
    return {
        "data": cell.data, "method": cell.method.label, "repeat": cell.repeat,
        "fold": cell.number, "share": share, "cell": cell.key,
    }  # fmt: skip


def _selection_rows(state: Any, about: DataSet) -> Iterator[dict[str, Any]]:
    """Yield the rows of a selection, one per share."""
    selection = state.record["selection"]
    for i, share in enumerate(state.cell.shares):
        kept = selection["kept"][i] if selection["status"] == OK else None
        features = None if kept is None else kept["features"]
        yield _common(state, share) | {
            "status": selection["status"],
            "note": selection["note"],
            "measure": selection.get("measure", ""),
            "work": json.dumps(selection.get("work", {})),
            "every_feature": kept is not None and features is None,
            "features": features,
            "names": None if features is None else [_plain(about.name_of(f)) for f in features],
        }


def _score_rows(state: Any, about: DataSet, classifier: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a cell and a classifier, one per share."""
    cell, selection = state.cell, state.record["selection"]
    score = state.record["scores"].get(judge_key(classifier))
    if selection["status"] != OK or score is None:
        score = {"status": selection["status"], "note": selection["note"]}
    for i, share in enumerate(cell.shares):
        one = score["over"][i] if score["status"] == OK else score
        row = _common(state, share) | {
            "family": cell.method.family or cell.method.label,
            "order": cell.method.order,
            "classifier": classifier,
            **{name: one.get(name) for name in ("status", "note", *METRICS, *TIMES)},
            "features": about.X.shape[1],
            "train_rows": len(state.fold.train),
            "test_rows": len(state.fold.test),
            "seed": cell.seed,
            "right": base64.b64decode(one["right"]) if "right" in one else None,
        }
        if row["predict_seconds"] is not None:
            row["predict_microseconds_a_row"] = 1e6 * row["predict_seconds"] / row["test_rows"]
        if selection["status"] == OK:
            row |= {cost: selection[cost] for cost in COSTS}
            row["kept"] = selection["kept"][i]["count"]
        yield row


def _plain(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
