"""The contract of instance learners: rows may arrive in chunks of any size, in any layout.

For regressors the codes of the classes are the numbers to predict.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from tamis.checks.data import Case, assert_same_model, cases, fitted, refusal, rows_of
from tamis.engine.learning.checkpoint import read_checkpoint, write_checkpoint
from tamis.engine.learning.model import open_model, save_model
from tamis.engine.learning.training import Schedule, Training
from tamis.estimators.online import OnlineClassifier, OnlineEstimator
from tamis.sources import open_rows

L = TypeVar("L", bound=OnlineEstimator)


def _most_of(done: OnlineEstimator) -> int:
    """How many features a fitted learner may keep."""
    return int(getattr(done, "n_features_", done.n_features_in_))


def _scores(done: Any, X: Any) -> Any:
    """The scores of rows; the numbers that a regressor predicts."""
    return done.decision_function(X) if isinstance(done, OnlineClassifier) else done.predict(X)


def _chunks(learner: OnlineEstimator, case: Case, size: int) -> Iterator[slice]:
    """The rows of a case in chunks, once per pass of the learner."""
    for _ in range(learner.get_params().get("passes", 1)):
        for lo in range(0, len(case.y), size):
            yield slice(lo, lo + size)


def _in_chunks(learner: L, case: Case, size: int) -> L:
    """A copy of a learner that was given the rows of a case in chunks."""
    live: L = clone(learner)
    for part in _chunks(live, case, size):
        _learn(live, case.X[part], case.y[part], case)
    return live


def _learn(live: Any, X: Any, y: Any, case: Case) -> None:
    """Learn more rows of a case."""
    if isinstance(live, OnlineClassifier):
        live.partial_fit(X, y, classes=np.unique(case.y))
    else:
        live.partial_fit(X, y)


def model_is_the_same_for_every_chunking(learner: OnlineEstimator, case: Case) -> None:
    """The size of a chunk affects speed, never the model."""
    expected = fitted(learner, case)
    for size in (1, 7, 64, len(case.y)):
        found = _in_chunks(learner, case, size)
        assert_same_model(found, expected, f"{case}, chunks of {size} rows")


def model_is_the_same_for_64_bits_and_for_blocks(learner: OnlineEstimator, case: Case) -> None:
    """Sparse rows with 32-bit or 64-bit indices, and blocks of rows, give bit-identical models."""
    expected = fitted(learner, case)
    wide: Any = sp.csr_matrix(case.X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert_same_model(clone(learner).fit(wide, case.y), expected, f"{case}, 64-bit indices")
    block = rows_of(case.X, case.y)
    assert_same_model(clone(learner).fit(block), expected, f"{case}, RowBlock")


def model_is_the_same_when_columns_come_later(learner: OnlineEstimator, case: Case) -> None:
    """A stream whose width is not known in advance gives the same model as one of known width."""
    order = np.argsort([np.flatnonzero(row).max(initial=0) for row in case.X], kind="stable")
    sorted_case = Case(f"{case}, narrow rows first", case.X[order], case.y[order])
    live = clone(learner)
    for part in _chunks(live, sorted_case, 10):
        block = rows_of(sorted_case.X[part], sorted_case.y[part], part.start)
        _learn(live, block, None, case)
    assert_same_model(live, fitted(learner, sorted_case), f"{sorted_case}, growing")


def model_goes_on_after_stop_and_resume(learner: OnlineEstimator, case: Case) -> None:
    """A model saved in the middle resumes where it stopped, and stays within its size limit."""
    live = clone(learner)
    for part in _chunks(live, case, 10):
        live = pickle.loads(pickle.dumps(live))
        _learn(live, case.X[part], case.y[part], case)
        assert len(live.kept_) <= _most_of(live), f"{case}: {len(live.kept_)} kept, resumed"
    assert_same_model(live, _in_chunks(learner, case, 10), f"{case}, resumed")


def no_more_is_kept_than_requested(learner: OnlineEstimator, case: Case) -> None:
    """At most n_features are kept, in increasing order; all other features have weight 0."""
    done = fitted(learner, case)
    most = _most_of(done)
    assert len(done.kept_) <= most, f"{case}: {len(done.kept_)} kept, but the limit is {most}"
    assert np.all(np.diff(done.kept_) > 0), f"{case}: the kept features are not in increasing order"
    assert len(done.weights_) == len(done.kept_) == len(done.confidence_), f"{case}: lengths"
    assert np.all(np.isfinite(done.weights_)), f"{case}: a weight is not finite"
    if learner.get_params().get("n_bits") is None and not learner.get_params()["normalize"]:
        scores = case.X[:, done.kept_] @ done.weights_ + getattr(done, "intercept_", 0.0)
        same = np.allclose(scores, _scores(done, case.X), rtol=1e-9, atol=1e-9)
        assert same, f"{case}: other features than the kept ones count"


def bad_rows_leave_the_model_as_it_was(learner: OnlineEstimator, case: Case) -> None:
    """Rows with NaN or an unknown class (no number) raise an error and do not change the model."""
    half = len(case.y) // 2
    first = Case(case.name, case.X[:half], case.y[:half])
    live, expected = _in_chunks(learner, first, half), _in_chunks(learner, first, half)
    spoilt = case.X[half:].copy()
    spoilt[-1, 5] = np.nan
    of_classes = isinstance(learner, OnlineClassifier)
    strange: Any = np.where(np.arange(len(case.y) - half) == 3, 99, case.y[half:])
    if not of_classes:
        strange = np.where(strange == 99, "many", strange.astype(object))
    for X, y, words in (
        (spoilt, case.y[half:], ("NaN", f"row {len(spoilt) - 1}", "column 5")),
        (sp.csr_matrix(spoilt), case.y[half:], ("NaN", "column 5")),
        (case.X[half:], strange, ("row 3", "99", "classes") if of_classes else ("row 3", "many")),
    ):
        message = refusal(live.partial_fit, X, y)
        assert all(word in message for word in words), f"{case}: bad rows raised {message!r}"
        assert_same_model(live, expected, f"{case}, after refused rows")


def _write_svmlight(case: Case, folder: str, base: int) -> str:
    """Write a case as svmlight text, every number exact, and return its path."""
    path = os.path.join(folder, f"{len(os.listdir(folder))}.svm")
    with open(path, "w", encoding="ascii") as file:
        for label, row in zip(case.y.tolist(), case.X, strict=True):
            entries = [f"{j + base}:{row[j].item()!r}" for j in np.flatnonzero(row).tolist()]
            file.write(" ".join([str(label), *entries]) + "\n")
    return path


def files_and_blocks_give_the_same_model(learner: OnlineEstimator, case: Case) -> None:
    """Rows from a file in chunks of any size, from several files or blocks, make the same model."""
    expected = fitted(learner, case)
    with tempfile.TemporaryDirectory() as folder:
        for base, chunk in ((0, 4_000_000), (1, 500)):
            path = _write_svmlight(case, folder, base)
            found = clone(learner).fit_stream(path, chunk=chunk)
            assert_same_model(found, expected, f"{case}, from {base}, {chunk} bytes")
        half = len(case.y) // 2
        parts = slice(half), slice(half, None)
        paths = [_write_svmlight(Case("", case.X[p], case.y[p]), folder, 1) for p in parts]
        found = clone(learner).fit_stream(paths, zero_based=False)
        assert_same_model(found, expected, f"{case}, two files")
    once = clone(learner).set_params(passes=1)
    blocks = (rows_of(case.X[p], case.y[p], p.start) for p in _chunks(once, case, 9))
    classes = np.unique(case.y) if isinstance(learner, OnlineClassifier) else None
    found = clone(once).fit_stream(blocks, classes=classes)
    assert_same_model(found, fitted(once, case), f"{case}, blocks")


def shuffling_depends_on_the_seed_alone(learner: OnlineEstimator) -> None:
    """The same seed gives the same model for every chunk size, and every row is used."""
    case = cases()[1]
    with tempfile.TemporaryDirectory() as folder:
        path = _write_svmlight(case, folder, 1)
        first, *others = [
            clone(learner).fit_stream(path, passes=2, shuffle=size, random_state=seed, chunk=chunk)
            for size, seed, chunk in ((40, 3, 10**6), (40, 3, 50), (40, 3, 1), (40, 4, 50))
        ]
        for other in others[:2]:
            assert_same_model(other, first, f"{case}, shuffled, in chunks")
        assert others[2].work_["rows"] == 2 * len(case.y), f"{case}: rows were lost in shuffling"


def training_goes_on_from_plain_arrays(learner: OnlineEstimator) -> None:
    """Training that is saved as plain arrays after any batch resumes to the same model."""
    case = cases()[3]
    with tempfile.TemporaryDirectory() as folder:
        path = _write_svmlight(case, folder, 1)
        for shuffle in (0, 30):
            expected = clone(learner).fit_stream(path, passes=2, shuffle=shuffle)
            place, params = Path(folder, "c"), {"what": "check"}
            while True:  # one batch, then resume as a new process would
                schedule = Schedule(passes=2, shuffle=shuffle)
                live = Training(learner.new_learner(), open_rows(path, chunk=6000), schedule)
                if place.exists():
                    read_checkpoint(place, live, params)
                else:
                    live.start()
                batch = next(live.batches(), None)
                if batch is None:
                    break
                live.take(batch)
                write_checkpoint(place, live, params, 0.0)
            place.unlink()
            assert_same_model(live.learner, expected, f"{case}, resumed, shuffle={shuffle}")
            live.finish()
            assert live.learner.curve_ == expected.curve_, f"{case}: another curve, {shuffle}"


def a_saved_model_predicts_the_same(learner: OnlineEstimator, case: Case) -> None:
    """A model folder holds only the kept features, and its scores are bit-identical."""
    done = fitted(learner, case)
    with tempfile.TemporaryDirectory() as folder:
        model = open_model(save_model(done, os.path.join(folder, "model")))
    for X in (case.X, sp.csr_matrix(case.X), sp.csc_matrix(case.X), rows_of(case.X, None)):
        same = np.array_equal(model.decision_function(X), _scores(done, X))
        assert same, f"{case}: other scores for {type(X).__name__}"
    assert np.array_equal(model.predict(case.X), done.predict(case.X)), f"{case}: classes"
    assert np.array_equal(model.weights_, done.weights_), f"{case}: other weights"
    assert model.kept_.tolist() == done.kept_.tolist(), f"{case}: other features"
