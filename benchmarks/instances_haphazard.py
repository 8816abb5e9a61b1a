"""Columns that come and go: settings of the haphazard-input benchmarks, beside river's learners.

- *missing p*: every value that is not 0 is there with probability p, independently.
- *trapezoidal*: the columns arrive in ten groups, one after each tenth of the rows, and stay.
- *vanishing*: the columns leave in ten groups, one after each tenth of the rows.

Rows arrive as dicts of names, one at a time, in random order, and are predicted before they are
learned: the figure is the accuracy of these predictions. Learners of tamis keep 50 features; those
of river keep every feature they have seen. Parameters are the defaults, rows have length 1 before
values go missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

import tamis
from benchmarks._data import SHARED
from benchmarks._docs import fill
from benchmarks._harness import Report, table
from benchmarks.instance_curves import load

SETS = ("basehock", "pcmac_asu", "a9a")
ROWS, KEPT, GROUPS = 1_000, 50, 10
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"SETS": SETS[-1:], "ROWS": 200}


def learners() -> dict[str, Callable[[], Any]]:
    """Return what makes a learner that has learned nothing, by name."""
    from river import linear_model, naive_bayes

    return {
        "RowSieve": lambda: tamis.RowSieve(KEPT),
        "SOFS": lambda: tamis.SOFS(KEPT),
        "PET": lambda: tamis.PET(KEPT),
        "FOFS": lambda: tamis.FOFS(KEPT),
        "river LogisticRegression": linear_model.LogisticRegression,
        "river PAClassifier": linear_model.PAClassifier,
        "river ALMAClassifier": linear_model.ALMAClassifier,
        "river BernoulliNB": naive_bayes.BernoulliNB,
    }


def settings() -> dict[str, Callable[[Any, Any, Any], Any]]:
    """Return functions of (column groups, row's share of the stream, draws): what is there."""
    return {
        "all": lambda group, part, draw: np.ones(len(group), dtype=bool),
        "missing 0.75": lambda group, part, draw: draw < 0.75,
        "missing 0.5": lambda group, part, draw: draw < 0.5,
        "missing 0.25": lambda group, part, draw: draw < 0.25,
        "trapezoidal": lambda group, part, draw: group <= part * GROUPS,
        "vanishing": lambda group, part, draw: group >= part * GROUPS,
    }


def stream(name: str, there: Callable[..., Any]) -> list[tuple[dict[str, float], bool]]:
    """Return rows as dicts, and their classes."""
    X, y, _ = load(name)
    X, y = normalize(X.tocsr().astype(np.float64)), y == y.max()
    rng = np.random.default_rng(0)
    order, groups = rng.permutation(len(y))[:ROWS], rng.integers(0, GROUPS, X.shape[1])
    found = []
    for n, row in enumerate(order.tolist()):
        entries = slice(X.indptr[row], X.indptr[row + 1])
        columns, values = X.indices[entries], X.data[entries]
        keep = there(groups[columns], n / len(order), rng.random(len(columns)))
        names = (f"c{j}" for j in columns[keep].tolist())
        found.append((dict(zip(names, values[keep].tolist(), strict=True)), bool(y[row])))
    return found


def accuracy(model: Any, rows: list[tuple[dict[str, float], bool]]) -> tuple[float, float]:
    """Return the accuracy before learning, in percent, and CPU seconds."""
    right, begun = 0, time.process_time()
    for x, label in rows:
        right += bool(model.predict_one(x)) == label
        model.learn_one(x, label)
    return 100 * right / len(rows), time.process_time() - begun


def main() -> None:
    report = Report("instances_haphazard", __doc__)
    lines: list[dict[str, Any]] = []
    for name in SETS:
        if not (SHARED / name).is_dir():
            report.note(f"{name}: not available, skipped")
            continue
        for setting, there in settings().items():
            rows, line = stream(name, there), {"set": name, "columns": setting}
            for label, make in learners().items():
                line[label] = f"{accuracy(make(), rows)[0]:.1f}"
            lines.append(line)
            print(line, flush=True)
    report.table("progressive accuracy %", lines)
    if lines:
        fill("instance-streams.md", "haphazard", table(lines))
    report.save()


if __name__ == "__main__":
    main()
