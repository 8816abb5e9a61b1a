"""Merged learners against one sequential pass, on X1 and news20: accuracy, and time of a shard.

`CPU s, longest shard` is the time for one of several machines to learn its share of the rows;
merging comes on top. Accuracy is on held-out rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tamis
from benchmarks import _streams
from benchmarks._data import load_real, zipf_matrix
from benchmarks._harness import MissingError, Report
from tamis.methods.online.shards import merged, posterior_of

#: Features to keep, and gamma of SOFS and RowSieve: set by hand, not tuned.
SETTINGS = {"X1": (100, 1e4, 1.0), "news20": (2_000, 1.0, 0.3)}
ROWS = 100_000
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"ROWS": 3_000, "SETTINGS": {"X1": (100, 1e4, 1.0)}}


def x1() -> tuple[Any, Any, Any, Any]:
    return *_streams.X1.matrix(0, ROWS), *_streams.X1.matrix(100_000, 110_000)


def news20() -> tuple[Any, Any, Any, Any]:
    """Return rows in random order, a quarter of them for testing."""
    try:
        X, y = load_real("news20_rebuilt")
    except MissingError:
        X, y = zipf_matrix(9_996, 1_355_191, 380)
    order = np.random.default_rng(0).permutation(X.shape[0])
    X, y, cut = X[order].astype(np.float64), y[order], 3 * X.shape[0] // 4
    return X[:cut], y[:cut], X[cut:], y[cut:]


def _cpu(job: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.process_time()
    found = job()
    return time.process_time() - begun, found


def line(name: str, data: tuple[Any, Any, Any, Any], shards: int, ours: bool) -> dict[str, Any]:
    """One line of the table, of SOFS or of RowSieve (`ours`); 0 shards is one learner."""
    X, y, X_test, y_test = data
    size, *gammas = SETTINGS[name]
    params: dict[str, Any] = {"n_features": int(size), "gamma": gammas[ours]}
    one_kind = tamis.RowSieve if ours else tamis.SOFS
    many_kind = tamis.MergedRowSieve if ours else tamis.MergedSOFS
    model = many_kind(**params, shards=shards) if shards else one_kind(**params)
    model.fit(X, y)
    seconds, parts = [], []
    for s in range(max(shards, 1)):
        one = one_kind(**params, classes=np.unique(y))
        step = max(shards, 1)
        rows, labels = X[s::step], y[s::step]
        spent, _ = _cpu(lambda one=one, rows=rows, labels=labels: one.fit(rows, labels))
        seconds.append(spent)
        parts.append(posterior_of(one.learner_.model))
    merging, _ = _cpu(lambda: merged(parts, int(size), by_strength=ours))
    return {
        "learner": f"{many_kind.__name__}, {shards} shards" if shards else one_kind.__name__,
        "test accuracy %": f"{100 * model.score(X_test, y_test):.2f}",
        "mistakes before learning": model.work_["mistakes"],
        "updates": model.work_["updates"],
        "CPU s, longest shard": max(seconds),
        "CPU s, merging": merging if shards else 0.0,
    }


def main() -> None:
    report = Report("merged", __doc__ or "")
    for name in SETTINGS:
        data = {"X1": x1, "news20": news20}[name]()
        with tamis.threads(1):
            for ours in (False, True):
                line(name, data, 2, ours)  # compiles
            rows = [line(name, data, n, ours) for ours in (False, True) for n in (0, 1, 2, 4, 16)]
        report.table(f"{name}: {data[0].shape[0]:,} rows, {data[0].shape[1]:,} columns", rows)
    report.save()


if __name__ == "__main__":
    main()
