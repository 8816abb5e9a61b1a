"""Interim results of a comparison, while cells are still running."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.evaluate.cells import OK, judge_key


@dataclass(frozen=True)
class Line:
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
    groups: dict[tuple[str, str], list[Any]] = {}
    for state in states:
        groups.setdefault((state.cell.data, state.cell.method.label), []).append(state)
    return [
        _line(data, method, classifier, cells)
        for (data, method), cells in groups.items()
        for classifier in classifiers
    ]


def _line(data: str, method: str, classifier: str, cells: list[Any]) -> Line:
    scores, kept, seconds, finished = [], [], [], 0
    for state in cells:
        record = getattr(state, "record", None) or {"selection": None, "scores": {}}
        selection, score = record["selection"], record["scores"].get(judge_key(classifier))
        if selection is None or (selection["status"] == OK and score is None):
            continue
        finished += 1
        if selection["status"] == OK:
            kept.append(selection["kept"][-1]["count"])
            seconds.append(selection["seconds"])
            if score["status"] == OK:
                scores.append(score["over"][-1]["accuracy"])
    return Line(
        data, method, classifier, finished, len(cells), _mean(scores), _mean(kept), _mean(seconds)
    )


def _mean(values: list[Any]) -> float | None:
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if numbers else None
