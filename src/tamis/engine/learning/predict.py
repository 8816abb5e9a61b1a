"""Predict rows from a stream, with a learner or a saved model. Called by `learn` and `predict`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import RowBlock
from tamis.engine.learning.table_rows import Preparation, TableRows, refuse_text
from tamis.engine.learning.training import usable_rows
from tamis.methods.online import row_input
from tamis.methods.online.regressors import numbers_of
from tamis.methods.online.scorer import LinearScorer, r_squared, spread_of
from tamis.sources import open_rows, read_like
from tamis.sources.base import BadLines, Progress, silent


@dataclass(frozen=True)
class Predictions:
    """Predictions of some rows.

    Attributes
    ----------
    rows : ndarray of int
        Row numbers, counted from 0 over all files; skipped lines are not numbered.
    answers : ndarray
        The class of each, or the number.
    scores : ndarray
        As `decision_function` gives them.
    """

    rows: npt.NDArray[np.int64]
    answers: npt.NDArray[Any]
    scores: npt.NDArray[np.float64]


@dataclass
class Tally:
    """How many rows were predicted, how many had a class (a number) as label, and how well.

    For numbers: the sum of squared errors, and the mean of the targets and their squares around it.
    """

    rows: int = 0
    labelled: int = 0
    right: int = 0
    bad: BadLines = field(default_factory=BadLines)
    task: str = "classification"
    errors: float = 0.0
    mean: float = 0.0
    squares: float = 0.0

    @property
    def accuracy(self) -> float | None:
        """The accuracy; None if no label is a class."""
        return self.right / self.labelled if self.labelled else None

    def scores(self) -> dict[str, float | None]:
        """Return the accuracy; for numbers R² and the root of the mean squared error."""
        if self.task == "classification":
            return {"accuracy": self.accuracy}
        if not self.labelled:
            return {"r2": None, "rmse": None}
        rmse = math.sqrt(self.errors / self.labelled)
        return {"r2": r_squared(self.errors, self.squares), "rmse": rmse}

    def count(self, model: LinearScorer, answers: npt.NDArray[Any], y: npt.NDArray[Any]) -> None:
        """Compare predictions with their labels, as far as these are classes, or numbers."""
        if self.task == "regression":
            truth, wrong = numbers_of(y)
            fine = np.setdiff1d(np.arange(len(truth)), wrong)
            truth, found = truth[fine], answers[fine]
            if not len(truth):
                return
            rows, mean = len(truth), float(np.mean(truth))
            off, total = mean - self.mean, self.labelled + rows
            self.squares += spread_of(truth) + off * off * self.labelled * rows / total
            self.mean += off * rows / total
            self.errors += float(np.sum((found - truth) ** 2))
        else:
            known = row_input.codes_of(model.classes_, y) >= 0
            rows = int(np.count_nonzero(known))
            codes = row_input.codes_of(model.classes_, answers[known])
            self.right += int(
                np.count_nonzero(codes == row_input.codes_of(model.classes_, y[known]))
            )
        self.labelled += rows


def predict_stream(
    model: LinearScorer,
    data: Any,
    *,
    tally: Tally,
    skip_bad_lines: bool = False,
    progress: Progress = silent,
    **reading: Any,
) -> Iterator[Predictions]:
    """Predict rows as they are read; `tally` counts them.

    Svmlight indices count from the same base as those of the training data, unless `zero_based`
    is given among the options of reading.
    """
    tally.task = model.task
    record = getattr(model, "record", {})
    trained_on = record.get("source") or [{}]
    how = model.preparation
    for source in open_rows(data, **read_like(data, trained_on[0].get("decimal"), reading)):
        if source.name_base is None and model.columns.prefix == "":
            source.name_base = model.columns.base
        if how is not None:
            assert isinstance(how, Preparation)
            source = TableRows(source, how, how.columns_of(model.kept_))
        elif record:
            refuse_text(source, "the model was trained on numbers only")
        names = source.names()
        if names is not None and model.n_bits is None:
            model.columns.check_names(names, source.name)
        bad = tally.bad if skip_bad_lines else None
        for block in source.batches(bad=bad, progress=lambda _, *way: progress("predicting", *way)):
            rows, kept = usable_rows(model, block, bad)
            scores = model.decision_function(RowBlock(0, None, rows))
            answers = model.answers(scores)
            if block.y is not None:
                labels = np.asarray(block.y)
                tally.count(model, answers, labels if kept is None else labels[kept])
            numbers = np.arange(tally.rows, tally.rows + len(rows), dtype=np.int64)
            tally.rows += len(rows)
            yield Predictions(numbers, answers, scores)


def accuracy_on(model: LinearScorer, data: Any, **options: Any) -> Tally:
    """Count the correct predictions for a whole stream."""
    tally = Tally()
    for _ in predict_stream(model, data, tally=tally, **options):
        pass
    return tally
