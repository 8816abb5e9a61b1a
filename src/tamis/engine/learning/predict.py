"""Predict rows from a stream, with a learner or a saved model. Called by `learn` and `predict`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import RowBlock
from tamis.engine.learning.training import usable_rows
from tamis.methods.online import row_input
from tamis.methods.online.scorer import LinearScorer, best_class
from tamis.sources import open_rows, read_like
from tamis.sources.base import BadLines, Progress, silent


@dataclass(frozen=True)
class Predictions:
    """Predictions of some rows.

    Attributes
    ----------
    rows : ndarray of int
        Row numbers, counted from 0 over all files; skipped lines are not numbered.
    classes : ndarray
        The class of each.
    scores : ndarray
        As `decision_function` gives them.
    right : ndarray of bool
        Which agree with their label, among those whose label is a class.
    """

    rows: npt.NDArray[np.int64]
    classes: npt.NDArray[Any]
    scores: npt.NDArray[np.float64]
    right: npt.NDArray[np.bool_]


@dataclass
class Tally:
    """How many rows were predicted, how many had a class as label, and how many were right."""

    rows: int = 0
    labelled: int = 0
    right: int = 0
    bad: BadLines = field(default_factory=BadLines)

    @property
    def accuracy(self) -> float | None:
        """The accuracy; None if no label is a class."""
        return self.right / self.labelled if self.labelled else None


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
    trained_on = getattr(model, "record", {}).get("source") or [{}]
    for source in open_rows(data, **read_like(data, trained_on[0].get("decimal"), reading)):
        if source.name_base is None and model.columns.prefix == "":
            source.name_base = model.columns.base
        names = source.names()
        if names is not None and model.n_bits is None:
            model.columns.check_names(names, source.name)
        bad = tally.bad if skip_bad_lines else None
        for block in source.batches(bad=bad, progress=lambda _, *way: progress("predicting", *way)):
            rows, kept = usable_rows(model, block, bad)
            scores = model.decision_function(RowBlock(0, None, rows))
            codes = best_class(scores)
            right = np.zeros(0, dtype=np.bool_)
            if block.y is not None:
                labels = np.asarray(block.y)
                truth = row_input.codes_of(model.classes_, labels if kept is None else labels[kept])
                right = (codes == truth)[truth >= 0]
            numbers = np.arange(tally.rows, tally.rows + len(rows), dtype=np.int64)
            tally.rows += len(rows)
            tally.labelled += len(right)
            tally.right += int(np.count_nonzero(right))
            yield Predictions(numbers, model.classes_[codes], scores, right)


def accuracy_on(model: LinearScorer, data: Any, **options: Any) -> Tally:
    """Count the correct predictions for a whole stream."""
    tally = Tally()
    for _ in predict_stream(model, data, tally=tally, **options):
        pass
    return tally
