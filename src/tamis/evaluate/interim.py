"""Interim results of a comparison, while cells are still running."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tamis.evaluate.cells import OK, judge_key


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
