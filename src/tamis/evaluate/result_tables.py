"""Collect the records of all cells into the tables of a `Results`."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tamis.evaluate.cells import OK, judge_key
from tamis.evaluate.datasets import DataSet
from tamis.evaluate.metrics import METRICS
from tamis.evaluate.results import COSTS, ROWS, SELECTIONS, Results


def results_of(
    params: dict[str, Any], states: Sequence[Any], sets: Sequence[DataSet], computed: int
) -> Results:
    """Return the records of all cells as results."""
    by_name = {one.name: one for one in sets}
    rows: list[dict[str, Any]] = []
    selections: list[dict[str, Any]] = []
    for state in states:
        about = by_name[state.cell.data]
        selections += _selection_rows(state, about)
        for classifier in params["classifiers"]:
            rows += _score_rows(state, about, classifier)
    return Results(
        pa.Table.from_pylist(rows, ROWS),
        pa.Table.from_pylist(selections, SELECTIONS),
        params,
        computed,
    )


def _common(state: Any, share: float) -> dict[str, Any]:
    cell = state.cell
    return {
        "data": cell.data, "method": cell.method.label, "repeat": cell.repeat,
        "fold": cell.number, "share": share, "cell": cell.key,
    }  # fmt: skip


def _selection_rows(state: Any, about: DataSet) -> list[dict[str, Any]]:
    selection = state.record["selection"]
    found = []
    for i, share in enumerate(state.cell.shares):
        kept = selection["kept"][i] if selection["status"] == OK else None
        features = None if kept is None else kept["features"]
        found.append(
            _common(state, share)
            | {
                "status": selection["status"],
                "note": selection["note"],
                "measure": selection.get("measure", ""),
                "work": json.dumps(selection.get("work", {})),
                "every_feature": kept is not None and features is None,
                "features": features,
                "names": None if features is None else [_plain(about.name_of(f)) for f in features],
            }
        )
    return found


def _score_rows(state: Any, about: DataSet, classifier: str) -> list[dict[str, Any]]:
    """Return the rows of a cell and a classifier, one per share."""
    cell, selection = state.cell, state.record["selection"]
    score = state.record["scores"].get(judge_key(classifier))
    if selection["status"] != OK or score is None:
        score = {"status": selection["status"], "note": selection["note"]}
    found = []
    for i, share in enumerate(cell.shares):
        one = score["over"][i] if score["status"] == OK else score
        row = _common(state, share) | {
            "family": cell.method.family or cell.method.label,
            "order": cell.method.order,
            "classifier": classifier,
            "status": one["status"],
            "note": one["note"],
            **{metric: one.get(metric) for metric in METRICS},
            "features": about.n_features,
            "train_rows": len(state.fold.train),
            "test_rows": len(state.fold.test),
            "fit_seconds": one.get("fit_seconds"),
            "predict_seconds": one.get("predict_seconds"),
            "seed": cell.seed,
            "right": base64.b64decode(one["right"]) if "right" in one else None,
        }
        if row["predict_seconds"] is not None:
            row["predict_microseconds_a_row"] = 1e6 * row["predict_seconds"] / row["test_rows"]
        if selection["status"] == OK:
            row["kept"] = selection["kept"][i]["count"]
            row |= {cost: selection[cost] for cost in COSTS if cost != "kept"}
        found.append(row)
    return found


def _plain(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
