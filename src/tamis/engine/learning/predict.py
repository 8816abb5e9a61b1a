"""Rows to predictions as they stream, with a learner or a model that was saved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import RowBlock
from tamis.core.errors import InputError
from tamis.kernels import rows as kernel
from tamis.methods.online import intake
from tamis.methods.online.scoring import RowScorer
from tamis.sources.base import Report, silent
from tamis.sources.readers.open_rows import open_rows
from tamis.sources.readers.row_reader import BadLines, Part, RowReader


@dataclass(frozen=True)
class Predictions:
    """Predictions of some rows.

    Attributes
    ----------
    rows : ndarray of int
        Numbers of the rows, from 0 on, over all files; lines that were passed over have none.
    classes : ndarray
        The class of each.
    scores : ndarray
        As `decision_function` gives them.
    right : ndarray of bool
        Which agree with their label, among those that have a class for one.
    """

    rows: npt.NDArray[np.int64]
    classes: npt.NDArray[Any]
    scores: npt.NDArray[np.float64]
    right: npt.NDArray[np.bool_]


@dataclass
class Tally:
    """How many rows were predicted, how many had a class for a label, and how many were right."""

    rows: int = 0
    labelled: int = 0
    right: int = 0
    bad: BadLines = field(default_factory=BadLines)

    def add(self, found: Predictions) -> None:
        """Count more predictions."""
        self.rows += len(found.rows)
        self.labelled += len(found.right)
        self.right += int(np.count_nonzero(found.right))

    @property
    def accuracy(self) -> float | None:
        """The share that was right; None if no label is a class."""
        return self.right / self.labelled if self.labelled else None


def predict_stream(
    model: RowScorer,
    data: Any,
    *,
    tally: Tally,
    skip_bad_lines: bool = False,
    report: Report = silent,
    format: str | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    **options: Any,
) -> Iterator[Predictions]:
    """Predict rows as they are read; `tally` counts them.

    Svmlight indices count from where those of the training data did, unless `zero_based` says
    otherwise.
    """
    for reader in open_rows(data, format, zero_based=zero_based, **options):
        if reader.name_base is None and model._name_prefix == "":
            reader.name_base = model._name_base
        _same_columns(model, reader)
        bad = tally.bad if skip_bad_lines else None
        for part in reader.parts(None, bad, lambda _, *way: report("predicting", *way)):
            found = _predicted(model, part, bad, tally.rows)
            tally.add(found)
            yield found


def accuracy_on(model: RowScorer, data: Any, **reading: Any) -> Tally:
    """Count the predictions of a whole stream that are right."""
    tally = Tally()
    for _ in predict_stream(model, data, tally=tally, **reading):
        pass
    return tally


def _predicted(model: RowScorer, part: Part, bad: BadLines | None, first: int) -> Predictions:
    block = part.block
    rows = intake.signed(intake.of_block(block), model.n_bits is not None)
    labels = None if block.y is None else np.asarray(block.y)
    if bad is None:
        rows = model._checked(rows, block.first, None, part.where)
    else:
        faults = intake.faults_of(rows, model._width(), model.n_bits is not None)
        intake.count_faults(bad, faults, part.where)
        if np.any(faults != kernel.FINE):
            good = np.flatnonzero(faults == kernel.FINE)
            rows = rows.pick(good)
            labels = None if labels is None else labels[good]
    scores = model.decision_function(RowBlock(0, None, rows))
    codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
    truth = None if labels is None else intake.codes_of(model.classes_, labels)
    right = np.zeros(0, dtype=np.bool_) if truth is None else (codes == truth)[truth >= 0]
    numbers = np.arange(first, first + len(rows), dtype=np.int64)
    return Predictions(numbers, model.classes_[codes], scores, right)


def _same_columns(model: RowScorer, reader: RowReader) -> None:
    """Raise one sentence if the columns of the kept features have other names than in training."""
    names = reader.names()
    wanted = model._known_words()
    if not wanted or names is None or model.n_bits is not None:
        return
    for name, number in wanted.items():
        if number >= len(names) or names[number] != name:
            there = names[number] if number < len(names) else "nothing"
            raise InputError(
                f"{reader.name} has {there!r} where the model was trained on {name!r}; give the "
                "same columns in the same order"
            )
