"""Rows to scores and classes: what a learner and a model that was saved have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import InputError
from tamis.kernels.rows import hash_rows, unit_rows
from tamis.methods.online import intake
from tamis.methods.online.weights import Floats

#: Without a stated number of columns, features may have any signed 64-bit number.
NO_END = int(np.iinfo(np.int64).max)

#: Told of rows before they are learned: the rows, if they are compressed, and how wide they are.
Grow = Callable[[Compressed | None, int | None], None]


class Scores(Protocol):
    """What can score rows."""

    blocks: int

    def scores(self, rows: Compressed) -> Floats:
        """One score a row and block."""


class RowScorer(ClassifierMixin):  # type: ignore[misc]
    """A linear classifier that takes rows as they come: arrays, matrices, frames, blocks, dicts.

    `_model` scores; `_open` is True while the width of rows is whatever comes.
    """

    normalize: bool
    n_columns: int | None
    n_bits: int | None

    classes_: npt.NDArray[Any]
    n_features_in_: int
    _model: Scores
    _open: bool
    _vocabulary: dict[str, int]
    #: How features without a name are called: prefix + (number + base).
    _name_prefix: str = "x"
    _name_base: int = 0

    def decision_function(self, X: Any) -> Floats:
        """Scores: above 0 for the second of two classes; else one column a class."""
        self._check_fitted()
        parts = [self._model.scores(rows) for _, rows in self._rows_of(X)]
        scores = np.concatenate(parts) if parts else np.zeros((0, self._model.blocks))
        return scores[:, 0] if self._model.blocks == 1 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row; of classes with the same score, the first."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def predict_one(self, x: Mapping[Any, float]) -> Any:
        """The class of one row given as a dict; None while nothing was learned."""
        if not hasattr(self, "_model"):
            return None
        rows = intake.of_dict(x, self._known_words().get, self.n_bits is not None, 0)
        scores = self._model.scores(self._ready(self._checked(rows, 0)))[0]
        code = int(scores[0] > 0) if len(scores) == 1 else int(scores.argmax())
        return self.classes_.tolist()[code]

    def _check_fitted(self) -> None:
        check_is_fitted(self)

    # --- small steps ---------------------------------------------------------------------------

    def _rows_of(
        self, X: Any, *, first: bool = False, grow: Grow | None = None
    ) -> Iterator[tuple[int, Compressed]]:
        """Checked rows in parts, each with the place of its first row; all checked before any.

        `first`: they are the first the model sees, and tell the number of columns. `grow` is told
        of the rows when they are found to be good.
        """
        hear = grow or (lambda rows, width: None)
        if isinstance(X, RowBlock):
            rows = self._checked(intake.of_block(X), X.first)
            hear(rows, X.n_columns)
            return iter([(0, self._ready(rows))])
        X = self._as_matrix(X, first)
        if sp.issparse(X):
            rows = self._checked(intake.of_sparse(X), 0, lambda: intake.canonical(X))
            hear(rows, X.shape[1])
            return iter([(0, self._ready(rows))])
        for begin, part in intake.spoilt_parts(X):
            self._checked(part, begin)
        hear(None, X.shape[1])
        return ((begin, self._ready(intake.of_dense(part))) for begin, part in intake.slices(X))

    def _as_matrix(self, X: Any, first: bool) -> Any:
        """A matrix or table of float64, its width checked unless that is open."""
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64}
        options["ensure_all_finite"] = False  # `intake.checked` names row and column
        if self._open and not first:
            return check_array(X, **options, estimator=self)
        checked = validate_data(self, X, reset=first, **options)
        if first:
            self._open = False
            if self.n_columns is not None and checked.shape[1] > self.n_columns:
                raise InputError(
                    f"X has {checked.shape[1]} columns, but n_columns={self.n_columns} was given"
                )
        return checked

    def _checked(
        self, rows: Compressed, first: int, mend: Any = None, where: intake.Where | None = None
    ) -> Compressed:
        """The rows if nothing is wrong with them, or one sentence."""
        said = where or (lambda row: f"row {first + row}")
        return intake.checked(
            rows, said, self._width(), self._name_of, self.n_bits is not None, mend
        )

    def _width(self) -> int:
        """The number of columns that rows may have."""
        no_end = self.n_bits is not None or (self._open and self.n_columns is None)
        return NO_END if no_end else self.n_columns or self.n_features_in_

    def _ready(self, rows: Compressed) -> Compressed:
        """Rows as the model takes them."""
        if self.n_bits is not None:
            rows = Compressed(*hash_rows(rows.indptr, rows.indices, rows.data, self.n_bits))
        if self.normalize:
            scaled = unit_rows(rows.indptr, rows.data)
            rows = Compressed(rows.indptr, rows.indices, scaled)
        return rows

    def _name_of(self, column: int) -> str:
        names = getattr(self, "feature_names_in_", None)
        return str(column + self._name_base) if names is None else repr(str(names[column]))

    def _known_words(self) -> dict[str, int]:
        """Numbers of names: of the columns of a frame, or in the order in which dicts had them."""
        if not self._vocabulary and hasattr(self, "feature_names_in_"):
            self._vocabulary = {str(n): j for j, n in enumerate(self.feature_names_in_)}
        return self._vocabulary
