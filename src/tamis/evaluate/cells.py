"""One cell: one method on the training rows of one fold of one data set, and its classifiers.

A cell is identified by everything that determines its result: the data, the rows of the fold, the
class, code and parameters of the method, the seed, the versions. Selection and classification are
separate steps: a classifier that is added later is trained on the existing selection. A finished
cell is one file, named by a hash of its identity.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tamis._version import __version__
from tamis.core.errors import DAMAGE, InputError, MissingDependencyError, TamisError
from tamis.core.files import atomic_file, make_folder
from tamis.core.process_memory import peak_megabytes, start_peak
from tamis.engine.encoded import EncodedSource
from tamis.evaluate.classifiers import make_classifier, settings_of
from tamis.evaluate.compared_methods import ComparedMethod, encoded, make, settle_measure
from tamis.evaluate.metrics import quality
from tamis.kernels._uncompiled import compiling
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.base import ColumnSource

Ints = npt.NDArray[np.int64]

#: Increased whenever older cells can no longer be compared with new ones.
FORMAT_VERSION = 1

OK, FAILED, TIME_CAP, MEMORY_CAP = "ok", "failed", "time cap", "memory cap"

#: The clock of a time cap that counts processor time.
CPU = "cpu"


@dataclass(frozen=True)
class Caps:
    """Limits of each step of a cell; None means no limit."""

    seconds: float | None = None
    megabytes: float | None = None
    cpu_seconds: float | None = None


@dataclass(frozen=True)
class Cell:
    """One method on one fold of one data set.

    Attributes
    ----------
    data, fingerprint : str
        Name and fingerprint of the data set.
    method : Method
        The method.
    repeat, number, fold : int, int, str
        The fold, by number and by the hash of its rows.
    seed : int
        The seed of random draws inside the cell.
    shares : tuple of float
        Shares of the features after which the kept set is evaluated; (1.0,) is the end only.
    """

    data: str
    fingerprint: str
    method: ComparedMethod
    repeat: int
    number: int
    fold: str
    seed: int
    shares: tuple[float, ...] = (1.0,)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that determines the selection, as JSON."""
        return {
            "format": FORMAT_VERSION,
            "data": self.fingerprint,
            "fold": self.fold,
            "method": self.method.identity(),
            "seed": self.seed,
            "shares": list(self.shares),
            "versions": {"tamis": __version__, "scikit-learn": version("scikit-learn")},
        }

    @cached_property
    def key(self) -> str:
        """The name of the cell: a hash of its identity."""
        text = json.dumps(self.identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def judge_key(classifier: str) -> str:
    """Return the name of a classifier with its settings, the key of its scores in a cell."""
    return f"{classifier}: {settings_of(classifier)}"


def outcome(status: str, note: str = "") -> dict[str, Any]:
    """Return the record of a step without a result."""
    return {"status": status, "note": note}


def failure(error: BaseException) -> dict[str, Any]:
    """Return the record of a step that raised; a missing package is not recorded permanently."""
    lines = str(error).splitlines() or [""]
    sentence = lines[0] if isinstance(error, TamisError) else f"{type(error).__name__}: {lines[0]}"
    record = outcome(MEMORY_CAP if isinstance(error, MemoryError) else FAILED, sentence.strip(": "))
    if isinstance(error, (ImportError, MissingDependencyError, OSError)):
        record["passing"] = True
    return record


# --- finished cells on disk -----------------------------------------------------------------------


class CellCache:
    """A folder of finished cells.

    A file holds the identity of the cell, its selection, and the scores of every classifier. It is
    written atomically, so that a kill leaves no partial file.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = make_folder(folder)

    def path(self, cell: Cell) -> Path:
        """Return the file of a cell."""
        return self.folder / cell.key[:2] / f"{cell.key}.json"

    def load(self, cell: Cell) -> dict[str, Any]:
        """Return the ``selection`` and ``scores`` of a cell that are finished.

        A file that cannot be read (after a full disk) is ignored, and written again.
        """
        empty: dict[str, Any] = {"selection": None, "scores": {}}
        try:
            record = json.loads(self.path(cell).read_text(encoding="utf-8"))
        except DAMAGE:
            return empty
        same = isinstance(record, dict) and record.get("identity") == cell.identity
        return {k: record[k] for k in empty} if same else empty

    def save(self, cell: Cell, record: dict[str, Any]) -> None:
        """Save what is known about a cell."""
        path = self.path(cell)
        text = json.dumps({"identity": cell.identity, **record}, ensure_ascii=False)
        make_folder(path.parent)
        with atomic_file(path, hint="finished cells are kept") as file:
            file.write(text.encode())


def finished(step: dict[str, Any] | None, caps: Caps) -> bool:
    """Return True if a step needs no more work under these caps.

    A step that was stopped by a cap is finished unless the cap is larger now.
    """
    if step is None or step.get("passing"):
        return False
    if step["status"] == TIME_CAP:
        most = caps.cpu_seconds if step.get("clock") == CPU else caps.seconds
        return most is not None and most <= step["cap"]
    if step["status"] == MEMORY_CAP:
        return caps.megabytes is not None and caps.megabytes <= step.get("cap", 0.0)
    return True


def missing(
    record: dict[str, Any], classifiers: tuple[str, ...], caps: Caps
) -> tuple[bool, list[str]]:
    """Return whether the selection is missing, and which classifiers are."""
    selection = record["selection"]
    if not finished(selection, caps):
        return True, list(classifiers)
    if selection["status"] != OK:
        return False, []
    scores = record["scores"]
    return False, [c for c in classifiers if not finished(scores.get(judge_key(c)), caps)]


# --- what a worker does ---------------------------------------------------------------------------


def select_features(
    method: ComparedMethod, seed: int, X: Any, y: Ints, shares: Iterable[float]
) -> dict[str, Any]:
    """Select from training rows; return what was kept after each share of features, and the cost.

    Only the selector is timed; columns are converted and encoded before that.
    """
    numbers = np.arange(X.shape[1])
    if method.order is not None:
        numbers = np.random.default_rng(method.order).permutation(X.shape[1])
        X = X[:, numbers]
    X = encoded(method, X, y)
    selector = make(method, seed)
    if method.level:
        settle_measure(selector, method, X, y)
    shares = list(shares)
    held = start_peak()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cpu, begun = time.process_time(), time.perf_counter()
        if shares == [1.0]:
            kept = [_kept(selector.fit(X, y))]
        else:
            kept = _kept_over(selector, X, y, shares)
        seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu
    peak = peak_megabytes()
    lists = [np.sort(numbers[k]).tolist() for k in kept]
    return {
        **outcome(OK, _note(caught)),
        # If all are kept, without a list.
        "kept": [{"count": len(k), "features": None if len(k) == X.shape[1] else k} for k in lists],
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_megabytes": peak,
        "extra_megabytes": max(0.0, peak - held),
        "measure": repr(selector.measure_) if hasattr(selector, "measure_") else "",
        "work": {k: int(v) for k, v in getattr(selector, "work_", {}).items()},
    }


def judge(
    classifier: str, seed: int, kept: Any, train: Any, test: Any, y: Ints, truth: Ints
) -> dict[str, Any]:
    """Train a classifier on the kept columns of the training rows and score it on the test rows."""
    columns = slice(None) if kept is None else kept
    train, test = train[:, columns], test[:, columns]
    model, ready = make_classifier(classifier, train, seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train, test = ready(train), ready(test)
        begun = time.perf_counter()
        model.fit(train, y)
        fitted = time.perf_counter()
        predicted = model.predict(test)
        finished = time.perf_counter()
        of_scores = "decision_function" if hasattr(model, "decision_function") else "predict_proba"
        scores = np.asarray(getattr(model, of_scores)(test))
    found = quality(truth, predicted, scores, model.classes_)
    note = _note(caught)
    if train.shape[1] == 0:
        note = "nothing was kept, so the most frequent class is predicted"
    return {
        **outcome(OK, note),
        **{k: None if math.isnan(v) else v for k, v in found._asdict().items()},
        "fit_seconds": fitted - begun,
        "predict_seconds": finished - fitted,
        "right": base64.b64encode(np.packbits(predicted == truth).tobytes()).decode(),
    }


def _note(caught: Iterable[warnings.WarningMessage]) -> str:
    """Return warnings as one note, without duplicates."""
    lines = dict.fromkeys(str(w.message).splitlines()[0] for w in caught if str(w.message))
    return "; ".join(lines)


def _kept(selector: Any) -> Ints:
    """Return the features that a fitted selector kept; any scikit-learn selector will do."""
    if hasattr(selector, "kept_"):
        return np.sort(np.asarray(selector.kept_, dtype=np.int64))
    if hasattr(selector, "get_support"):
        return np.flatnonzero(selector.get_support()).astype(np.int64)
    raise InputError(f"{type(selector).__name__} has no get_support() that returns what it kept")


def _kept_over(selector: Any, X: Any, y: Ints, shares: list[float]) -> list[Ints]:
    """Return what a feature-stream selector has kept after each share of the columns."""
    if not hasattr(selector, "feed"):
        raise InputError(
            f"{type(selector).__name__} waits for the last feature, so it keeps nothing before"
        )
    p = X.shape[1]
    stops = [max(1, math.ceil(share * p - 1e-9)) for share in shares]
    seen: dict[int, Ints] = {}

    live = selector.start(y)._selector
    source: ColumnSource = MemorySource(X, y)
    if selector._encoding is not None:
        source = EncodedSource(source, selector._encoding, live._target)
    live.prepare(source.columns())
    for lo, hi in pairwise([0, *sorted({*stops, p})]):
        for block in source.columns(None, lo, hi):
            live.update(live.score(block))
        live.end_table()
        seen[hi] = live.kept_
    live.finish()
    return [np.sort(seen[stop]) for stop in stops]


def warm_up(method: ComparedMethod, X: Any, y: Ints, classes: int = 20, columns: int = 16) -> None:
    """Run a method on a few rows and columns, so that loading its kernels is not timed."""
    rows = np.concatenate([np.flatnonzero(y == c)[:classes] for c in np.unique(y)])
    few = X[np.sort(rows)][:, : min(columns, X.shape[1])]
    few = few.tocsc() if sp.issparse(few) else few
    with warnings.catch_warnings(), compiling():
        warnings.simplefilter("ignore")
        try:
            selector = make(method, 0)
            few = encoded(method, few, y[np.sort(rows)])
            # The measure is picked from all rows: a few may look different.
            settle_measure(selector, method, encoded(method, X, y), y)
            selector.fit(few, y[np.sort(rows)])
        except Exception:  # the cell itself will report the error
            return
