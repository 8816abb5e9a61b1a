"""A linear classifier that scores rows of any kind: arrays, matrices, row blocks and dicts.

`LinearScorer` is the common base of the learners (`learner.py`), which change their weights, and
of saved models (`tamis.engine.learning.model`), which do not. `Columns` says what is known about
the columns: how many there are, and their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed, RowBlock, refuse_broken
from tamis.core.errors import InputError
from tamis.kernels import row_scoring as kernel
from tamis.methods.online import row_input
from tamis.methods.online.weights import Floats

#: Without a given number of columns, features may have any signed 64-bit number.
NO_END = int(np.iinfo(np.int64).max)

#: Called with checked rows and their width before they are used.
Expect = Callable[[Compressed | None, int | None], None]


class Weights(Protocol):
    """What scores rows."""

    blocks: int

    def scores(self, rows: Compressed) -> Floats:
        """Return one score per row and block."""


class Preparation(Protocol):
    """How the rows of a table became the features that a model knows."""

    def rows_of(self, X: Any, features: npt.NDArray[np.int64]) -> Any:
        """Return a data frame as a matrix; columns that make the given features must be there."""

    def of_dict(self, x: Mapping[Any, Any]) -> dict[str, float]:
        """Return one row of the table as features by name."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""


@dataclass
class Columns:
    """The columns of the rows seen so far.

    Attributes
    ----------
    width : int
        How many there are; in tables, if these have set it.
    is_open : bool
        Whether later tables and row blocks may have more; dicts always may.
    names : sequence of str, optional
        The names of all of them, where rows came as a table with names.
    vocabulary : dict
        Numbers of names that came in dicts, in order of arrival; those of one row by name.
    hashed_names : dict
        Names of buckets that came in dicts, of kept features only.
    keys : str
        What dicts call features by: "names", "numbers", or "" before the first.
    prefix, base : str, int
        Columns without a name are called prefix + (number + base).
    """

    width: int = 0
    is_open: bool = True
    names: Sequence[str] | None = None
    vocabulary: dict[str, int] = field(default_factory=dict)
    hashed_names: dict[int, list[str]] = field(default_factory=dict)
    keys: str = ""
    prefix: str = "x"
    base: int = 0

    def fix(self, width: int, names: Sequence[str] | None = None) -> None:
        """Set the number of columns, and their names, for good."""
        self.width, self.is_open, self.names = width, False, names

    @property
    def numbers(self) -> dict[str, int]:
        """Numbers of the names that are known."""
        if not self.vocabulary and self.names is not None:
            self.vocabulary = {str(name): j for j, name in enumerate(self.names)}
        return self.vocabulary

    def number_of(self, name: str, limit: int | None) -> int:
        """Return the number of a name; a new name gets the next one, below the limit."""
        numbers = self.numbers
        if name not in numbers:
            if not self.is_open and self.names is None:
                raise InputError(
                    f"the feature {name!r} is given by name, but the model was trained on a table "
                    "without names; call features by number"
                )
            if len(numbers) == limit:
                raise InputError(f"feature {name!r} is new, but n_columns={limit} was given")
            numbers[name] = len(numbers)
        return numbers[name]

    def check_keys(self, x: Mapping[Any, float]) -> None:
        """Raise an error if a dict mixes feature names and numbers with earlier dicts."""
        kinds = {"names" if isinstance(key, str) else "numbers" for key in x}
        if len(kinds | {self.keys} - {""}) > 1:
            raise InputError("features are called by numbers and by names; use one of them")
        self.keys = kinds.pop() if kinds else self.keys

    def check_names(self, names: Sequence[Any], whose: str) -> None:
        """Raise an error if known columns have other names in a table."""
        for name, number in self.numbers.items():
            if not self.is_open and number >= self.width:
                continue  # it came in a dict
            if number >= len(names) or str(names[number]) != name:
                there = repr(str(names[number])) if number < len(names) else "nothing"
                raise InputError(
                    f"column {number} of {whose} is not {name!r}, as it was in training, but "
                    f"{there}; give the same columns in the same order"
                )

    def describe(self, column: int) -> str:
        """Return the name of a column for an error."""
        return str(column + self.base) if self.names is None else repr(str(self.names[column]))

    def names_of(self, numbers: npt.NDArray[np.int64]) -> list[str]:
        """Return the names of columns; those without one are numbered."""
        known = {number: name for name, number in self.numbers.items()}
        known |= {bucket: " or ".join(names) for bucket, names in self.hashed_names.items()}
        return [known.get(j, f"{self.prefix}{j + self.base}") for j in numbers.tolist()]


class LinearScorer:
    """Scores of rows under a linear model, and their classes, or the numbers it predicts."""

    #: What it predicts: classes or numbers.
    task: str = "classification"
    #: How rows of a table are made features, if it was trained on a table.
    preparation: Preparation | None = None

    normalize: bool
    n_columns: int | None
    n_bits: int | None

    classes_: npt.NDArray[Any]
    columns: Columns
    model: Weights
    kept_: Any

    @property
    def n_features_in_(self) -> int:
        """Number of columns seen."""
        return self.columns.width

    def decision_function(self, X: Any) -> Floats:
        """Return scores: above 0 for the second of two classes; else one column per class."""
        parts = [self.model.scores(rows) for _, rows in self.checked_parts(X)]
        scores = np.concatenate(parts) if parts else np.zeros((0, self.model.blocks))
        return scores[:, 0] if self.model.blocks == 1 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each row, of classes with the same score the first; or a number."""
        return self.answers(self.decision_function(X))

    def answers(self, scores: Floats) -> npt.NDArray[Any]:
        """Return the classes of rows with these scores, or the numbers."""
        return scores if self.task == "regression" else self.classes_[best_class(scores)]

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy of the predictions; R² for numbers."""
        found, truth = self.predict(X), np.asarray(y)
        if self.task == "regression":
            return r_squared(float(np.sum((found - truth) ** 2)), spread_of(truth))
        return float(np.mean(found == truth))

    def predict_one(self, x: Mapping[Any, float]) -> Any:
        """Return the class of one row given as a dict, or the number."""
        if self.preparation is not None:
            x = self.preparation.of_dict(x)
        rows = row_input.dict_row(x, self.columns.numbers.get, self.n_bits is not None, 0)
        scores = self.model.scores(self.prepare(self.check(rows, limit=NO_END)))
        return self.answers(scores[:, 0] if scores.shape[1] == 1 else scores)[0].item()

    # --- rows, step by step ---------------------------------------------------------------------

    def checked_parts(
        self, X: Any, expect: Expect = lambda rows, width: None
    ) -> Iterator[tuple[int, Compressed]]:
        """Return prepared rows in parts, each with its first row; all are checked before any.

        `expect` is called with the rows, if they are compressed, and their width, once they are
        found to be good.
        """
        if isinstance(X, RowBlock):
            rows = self.check(row_input.block_rows(X), first=X.first)
            expect(rows, X.n_columns)
            return iter([(0, self.prepare(rows))])
        from scipy.sparse import issparse

        X = self.as_matrix(X)
        if issparse(X):
            rows = self.check(row_input.sparse_rows(X))
            expect(rows, X.shape[1])
            return iter([(0, self.prepare(rows))])
        for first, part in row_input.dense_parts(X):
            if part.size and not np.abs(part).max() <= kernel.LARGEST:
                self.check(row_input.dense_rows(part), first=first)
        expect(None, X.shape[1])
        return (
            (first, self.prepare(row_input.dense_rows(part)))
            for first, part in row_input.dense_parts(X)
        )

    def as_matrix(self, X: Any) -> Any:
        """Return a scipy CSR matrix or a table of float64 of the expected width."""
        from scipy.sparse import issparse

        if self.preparation is not None:
            X = self.preparation.rows_of(X, self.kept_)
        refuse_broken(X)
        try:
            if issparse(X):
                table = X.tocsr().astype(np.float64, copy=False)
            else:
                table = np.asarray(X, np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"X holds something other than numbers ({error})") from error
        if table.ndim != 2:
            raise InputError(
                f"expected a table of rows and columns, got an array of {table.ndim} dimensions; "
                "use reshape(1, -1) for one row"
            )
        if not self.columns.is_open and table.shape[1] != self.columns.width:
            raise InputError(
                f"X has {table.shape[1]:,} columns, but the model was trained on "
                f"{self.columns.width:,}"
            )
        return table

    def check(
        self,
        rows: Compressed,
        where: Callable[[int], str] | None = None,
        *,
        first: int = 0,
        limit: int | None = None,
    ) -> Compressed:
        """Return the rows if all are valid, or raise an error about the first that is not.

        `where` says where a row is: ``where(0)`` may be ``'train.svm, line 7'``. `limit` is the
        maximum number of columns; default: `width_limit`.
        """
        hashed, limit = self.n_bits is not None, self.width_limit if limit is None else limit
        rows = row_input.signed(rows, hashed)
        fault, row, entry = kernel.find_fault(
            rows.indptr, rows.indices, rows.data, limit, not hashed
        )
        if fault == kernel.FINE:
            return rows
        feature, value = int(rows.indices[entry]), float(rows.data[entry])
        place = f"row {first + row}" if where is None else where(row)
        cell = f"{place}, column {self.columns.describe(feature)}"
        if fault == kernel.NOT_FINITE:
            raise InputError(
                f"Input X contains NaN or infinity in {cell}; impute missing values (for example "
                "with sklearn.impute.SimpleImputer) or drop the rows"
            )
        if fault == kernel.TOO_LARGE:
            raise InputError(f"{cell} holds {value:g}, which is too large to learn from; scale it")
        if fault == kernel.NEGATIVE:
            raise InputError(f"{place} holds the feature number {feature}, which is negative")
        if fault == kernel.BEYOND:
            raise InputError(
                f"{place} holds feature {feature}, but there are {limit} features; "
                "their numbers count from 0"
            )
        raise InputError(
            f"{place} holds feature {feature} after feature {int(rows.indices[entry - 1])}; "
            "the features of a row must rise, each given once"
        )

    @property
    def width_limit(self) -> int:
        """How many columns rows may have."""
        if self.n_bits is not None or (self.columns.is_open and self.n_columns is None):
            return NO_END
        return self.n_columns or self.columns.width

    def prepare(self, rows: Compressed) -> Compressed:
        """Return checked rows as the model takes them: hashed and scaled if requested."""
        if self.n_bits is not None:
            rows = Compressed(*kernel.hash_rows(rows.indptr, rows.indices, rows.data, self.n_bits))
        if self.normalize:
            scaled = kernel.unit_rows(rows.indptr, rows.data)
            rows = Compressed(rows.indptr, rows.indices, scaled)
        return rows


def spread_of(numbers: npt.NDArray[Any]) -> float:
    """Return the sum of squares around the mean."""
    return float(np.sum((numbers - np.mean(numbers)) ** 2)) if len(numbers) else 0.0


def r_squared(errors: float, spread: float) -> float:
    """Return R² from a sum of squared errors and one around the mean; as scikit-learn if it is 0.

    >>> r_squared(1.0, 4.0), r_squared(0.0, 0.0), r_squared(1.0, 0.0)
    (0.75, 1.0, 0.0)
    """
    if spread > 0:
        return 1.0 - errors / spread
    return 1.0 if errors == 0 else 0.0


def best_class(scores: Floats) -> npt.NDArray[np.intp]:
    """Return the position of the predicted class of each row."""
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
