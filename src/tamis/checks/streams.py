"""The contract of feature-stream selectors: columns may arrive at any time, split in any way."""

from __future__ import annotations

import os
import pickle
import tempfile
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from tamis.checks.data import Case, assert_same_log, fitted, refusal
from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import DecisionLog
from tamis.engine.persistent.selection import Selection
from tamis.estimators import StreamEstimator


def _started(selector: StreamEstimator, case: Case) -> StreamEstimator:
    """A copy of a selector that waits for columns; "auto" has already seen those of the case."""
    live: StreamEstimator = clone(selector)
    live.start(case.y)
    live._selector.prepare([ColumnBlock.of(case.X)])
    return live


def _assert_same(found: DecisionLog, expected: StreamEstimator, when: str) -> None:
    """Compare the log of a fed stream with that of one fit.

    If decisions wait for the end of a table, only what is kept must be the same.
    """
    if not expected._selector.waits_for_table:
        assert_same_log(found, expected.log_, when)
        return
    assert len(found) == len(expected.log_), f"{when}: the logs have different lengths"
    kept, same = found.replay(), expected.log_.replay()
    assert kept == same, f"{when}: kept {kept} where {same} was expected"
    for feature in kept:
        assert found.relevance_of(feature) == expected.log_.relevance_of(feature), when


def log_is_the_same_when_columns_are_fed(selector: StreamEstimator, case: Case) -> None:
    """Feeding columns in parts, dense and sparse in turn, gives the same result as one fit."""
    expected = fitted(selector, case)
    rng = np.random.default_rng(len(case.y))
    for _ in range(3):
        cuts = np.sort(rng.integers(0, case.X.shape[1], rng.integers(0, 9)))
        live = _started(selector, case)
        for i, part in enumerate(np.split(case.X, cuts, axis=1)):
            live.feed(sp.csc_matrix(part) if i % 2 else part)
        _assert_same(live.log_, expected, f"{case}, fed in parts {cuts.tolist()}")


def log_is_the_same_after_stop_and_resume(selector: StreamEstimator, case: Case) -> None:
    """A stream that was pickled in the middle resumes where it stopped."""
    expected = fitted(selector, case)
    live = _started(selector, case)
    for part in np.array_split(case.X, 4, axis=1):
        live = pickle.loads(pickle.dumps(live)).feed(part)
    _assert_same(live.log_, expected, f"{case}, resumed")


def log_is_the_same_after_being_written_to_disk(selector: StreamEstimator, case: Case) -> None:
    """A selection in a folder, reopened every few columns, gives the same result as one fit."""
    expected = fitted(selector, case)
    given = clone(selector)
    if hasattr(expected, "measure_"):  # what "auto" sees first must not matter in this check
        fixed, known = {"measure": expected.measure_, "alpha": None}, given.get_params()
        given.set_params(**{name: fixed[name] for name in fixed if name in known})
    cuts = np.sort(np.random.default_rng(len(case.y)).integers(0, case.X.shape[1], 3))
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(folder, "run")
        Selection.create(place, case.y, given)
        for first, stop in pairwise([0, *cuts.tolist(), case.X.shape[1]]):
            part = case.X[:, first:stop]
            if part.shape[1]:
                names = [f"x{j}" for j in range(first, stop)]
                Selection.open(place, given).feed(sp.csc_matrix(part) if first % 2 else part, names)
        found = Selection.open(place, given).run
    _assert_same(found.log, expected, f"{case}, written to disk after {cuts.tolist()}")


def bad_columns_leave_the_stream_as_it_was(selector: StreamEstimator, case: Case) -> None:
    """A block with infinity raises an error and changes nothing; the stream goes on without it."""
    expected = fitted(selector, case)
    live = _started(selector, case)
    half = case.X.shape[1] // 2
    live.feed(case.X[:, :half])
    spoilt = case.X[:, half:].copy()
    spoilt[0, -1] = np.inf
    message = refusal(live.feed, spoilt)
    assert "infinity" in message, f"{case}: a column with infinity was not refused as such"
    live.feed(case.X[:, half:])
    _assert_same(live.log_, expected, f"{case}, after a refused block")
