"""One cell of the comparison: one method on the training rows of one fold, and its scores.

Finished cells are lines of one JSON Lines file. A line is written as soon as its cell is finished,
so that Ctrl-C loses at most the cell in progress.
"""

from __future__ import annotations

import json
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, balanced_accuracy_score, r2_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from reproduce.default.methods import Kept, Method, Table
from reproduce.default.sets import DataSet, Limits

OK, TOO_SLOW, TOO_WIDE, FAILED = "ok", "too slow", "too wide", "failed"

#: The number that stands for "the first fold, in three orders of the columns".
ORDERS = -1

Cell = tuple[str, int, str]


class TooSlow(Exception):  # noqa: N818
    """The selection used more processor time than it may."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TooSlow after this much processor time, where the system has such a timer."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


class Cells:
    """The finished cells of one file, for one pair of limits."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path = path
        self.limits = [limits.rows, limits.columns]
        self.found: dict[Cell, dict[str, Any]] = {}
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        for line in text.splitlines():
            with suppress(ValueError):  # the process was killed while it wrote
                record = json.loads(line)
                if record["limits"] == self.limits:
                    self.found[record["set"], record["fold"], record["method"]] = record
        if text and not text.endswith("\n"):
            path.write_text(text + "\n", encoding="utf-8")

    def add(self, cell: Cell, record: dict[str, Any]) -> None:
        """Append a finished cell to the file."""
        name, fold, method = cell
        whole = record | {"set": name, "fold": fold, "method": method, "limits": self.limits}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(whole) + "\n")
        self.found[cell] = whole

    def forget(self, methods: list[str]) -> None:
        """Remove the cells of these methods; the old file is kept as a backup."""
        if self.path.is_file():
            self.path.replace(self.path.with_suffix(".before"))
        before, self.found = self.found, {}
        for cell, record in before.items():
            if cell[2] not in methods:
                self.add(cell, record)


def run_fold(
    data: DataSet, fold: int, method: Method, seconds: float, found: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Select on the training rows of a fold, in a random order of the columns, and score.

    `found` is an earlier record, of which only scores are missing.
    """
    train, test = data.folds()[fold]
    X, rest = _filled(data.X[train], data.X[test])
    if found is None:
        found = _select(method, X, data.y[train], data.task, fold, seconds) | {"scores": {}}
    if found["status"] == OK:
        scorer = _Scorer(data.task, X, data.y[train], rest, data.y[test])
        for size, kept in found["kept"].items():
            if size not in found["scores"]:
                found["scores"][size] = scorer(kept)
    return found


def add_sizes(record: dict[str, Any], sizes: set[int]) -> bool:
    """Add the first columns of a ranking for these sizes; return True if scores are missing."""
    if record["status"] == OK:
        ranking = max(record["kept"].values(), key=len)
        for size in sizes:
            record["kept"].setdefault(str(size), ranking[:size])
        return len(record["scores"]) < len(record["kept"])
    return False


def run_orders(data: DataSet, method: Method, seconds: float) -> dict[str, Any]:
    """Select on the training rows of the first fold, in three orders of the columns.

    Columns that are equal on these rows count as one: any of them may be kept.
    """
    train, test = data.folds()[0]
    X, _ = _filled(data.X[train], data.X[test])
    same = _first_equal(X)
    runs = [_select(method, X, data.y[train], data.task, 100 + k, seconds) for k in range(3)]
    bad = [run for run in runs if run["status"] != OK]
    if bad:
        return bad[0]
    agreement = {
        size: [_jaccard(same[a["kept"][size]], same[b["kept"][size]]) for a, b in _pairs(runs)]
        for size in runs[0]["kept"]
    }
    return {"status": OK, "seconds": sum(r["seconds"] for r in runs), "jaccard": agreement}


def _select(
    method: Method, X: Any, y: Any, task: str, random_state: int, seconds: float
) -> dict[str, Any]:
    """Return the kept columns by size, and the processor time."""
    if method.columns is not None and X.shape[1] > method.columns:
        return {"status": TOO_WIDE, "seconds": 0.0, "note": f"more than {method.columns} columns"}
    order = np.random.default_rng(random_state).permutation(X.shape[1])
    table = Table(X[:, order], y, task, random_state)
    begun = time.process_time()
    try:
        with warnings.catch_warnings(), at_most(seconds):
            warnings.simplefilter("ignore")
            kept: Kept = method.select(table)
    except TooSlow:
        return {"status": TOO_SLOW, "seconds": seconds, "note": f"more than {seconds:g} s"}
    except Exception as error:
        note = f"{type(error).__name__}: {error}".splitlines()[0]
        return {"status": FAILED, "seconds": time.process_time() - begun, "note": note}
    return {
        "status": OK,
        "seconds": round(time.process_time() - begun, 3),
        "kept": {
            size: order[columns].tolist()
            for size, columns in kept.items()
            if not size.isdigit() or int(size) < X.shape[1]  # else there is nothing to choose
        },
    }


def _filled(train: Any, test: Any) -> tuple[Any, Any]:
    """Fill gaps with the median of the training rows."""
    if sp.issparse(train) or not (np.isnan(train).any() or np.isnan(test).any()):
        return train, test
    fill = SimpleImputer(strategy="median", keep_empty_features=True).fit(train)
    return fill.transform(train), fill.transform(test)


class _Scorer:
    """Three models on the kept columns of one fold."""

    def __init__(self, task: str, X: Any, y: Any, test: Any, truth: Any) -> None:
        self.task, self.X, self.y, self.test, self.truth = task, X, y, test, truth

    def __call__(self, kept: list[int]) -> dict[str, list[float]]:
        """Return accuracy and balanced accuracy, or R^2, of every model.

        Models get the columns in the order of the table: a forest gives other scores in another.
        """
        X, test = (self._columns(part, sorted(kept)) for part in (self.X, self.test))
        scores = {}
        for name, model in self._models(bool(kept)).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                predicted = model.fit(X, self.y).predict(test)
            scores[name] = [round(float(s), 5) for s in self._scores(predicted)]
        return scores

    def _columns(self, part: Any, kept: list[int]) -> Any:
        """Return columns as a dense array; one column of zeros where none is kept."""
        if not kept:
            return np.zeros((part.shape[0], 1))
        columns = part[:, kept]
        return columns.toarray() if sp.issparse(columns) else columns

    def _scores(self, predicted: Any) -> list[float]:
        if self.task == "regression":
            return [r2_score(self.truth, predicted)]
        measures = (accuracy_score, balanced_accuracy_score)
        return [measure(self.truth, predicted) for measure in measures]

    def _models(self, any_kept: bool) -> dict[str, Any]:
        regression = self.task == "regression"
        if not any_kept:
            model = DummyRegressor() if regression else DummyClassifier()
            return dict.fromkeys(("linear", "forest", "knn"), model)
        if regression:
            models: tuple[Any, ...] = (Ridge(), RandomForestRegressor, KNeighborsRegressor())
        else:
            models = (LogisticRegression(max_iter=300), RandomForestClassifier,
                      KNeighborsClassifier())  # fmt: skip
        linear, forest, knn = models
        return {
            "linear": make_pipeline(StandardScaler(), linear),
            "forest": forest(n_estimators=60, random_state=0, n_jobs=1),
            "knn": make_pipeline(StandardScaler(), knn),
        }


def _pairs(runs: list[Any]) -> list[tuple[Any, Any]]:
    return [(a, b) for i, a in enumerate(runs) for b in runs[i + 1 :]]


def _first_equal(X: Any) -> Any:
    """Return, for every column, the number of the first column with the same values."""
    columns = sp.csc_array(X)
    columns.sort_indices()
    columns.eliminate_zeros()
    first: dict[bytes, int] = {}
    found = np.empty(X.shape[1], np.int64)
    for j in range(X.shape[1]):
        part = slice(columns.indptr[j], columns.indptr[j + 1])
        content = columns.indices[part].tobytes() + columns.data[part].tobytes()
        found[j] = first.setdefault(content, j)
    return found


def _jaccard(a: Any, b: Any) -> float:
    """Return the share of the union that both have; 1 if both are empty."""
    ours, theirs = set(np.asarray(a).tolist()), set(np.asarray(b).tolist())
    union = ours | theirs
    return round(len(ours & theirs) / len(union), 4) if union else 1.0
