"""The target, encoded once: class codes, class counts, and numeric values."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.covariates import Covariates, checked_weights
from tamis.core.errors import InputError, warn
from tamis.core.params import check
from tamis.core.tasks import TASKS, Task, numbers_of, task_of

#: Class codes are 16-bit, so that the codes of many rows fit in the processor's cache.
MOST_CLASSES = 65_535


@dataclass(frozen=True, eq=False)
class Target:
    """The target: one value to predict per row.

    `codes` number the classes 0..k-1 in sorted order (None for a regression target); `values` are
    the targets as numbers: unchanged for regression; for classification the labels if they are
    numbers, else the ranks of the classes, counted from 1.

    >>> t = Target.of(["ham", "spam", "spam"])
    >>> t.classes.tolist(), t.codes.tolist(), t.counts.tolist()
    (['ham', 'spam'], [0, 1, 1], [1, 2])
    """

    n_rows: int
    codes: npt.NDArray[np.uint16] | None
    classes: npt.NDArray[Any] | None
    values: npt.NDArray[np.float64]
    #: True for a classification target.
    is_classes: bool
    #: Number of classes; 0 for regression.
    n_classes: int
    #: Why the values are taken for classes or for numbers.
    reason: str = "it was given"
    #: One weight per row, and the covariates to adjust for, if there are any.
    weights: npt.NDArray[np.float64] | None = None
    given: Covariates | None = None
    #: The group of each row, from 0, if some rows belong together.
    row_groups: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(cls, y: Any, task: str = "auto", *, needs_classes: bool = False) -> Target:
        """Encode a vector of labels or numbers.

        Parameters
        ----------
        y : array-like of shape (n_rows,) or Target
            The labels or numbers.
        task : {"auto", "classification", "regression"}, default="auto"
            Whether they are classes or numbers; "auto" decides (`task_of`), and warns if the
            decision was close.
        needs_classes : bool, default=False
            For "auto": take whole numbers for classes, because a method can use no others.
        """
        check("target", "task", task, TASKS)
        if isinstance(y, Target):
            if task in ("auto", y.task):
                return y
            return cls.of(y.labels, task).adjusted(y.weights, y.given, y.row_groups)
        array = _vector(y)
        found = Task(task, "it was given")
        if task == "auto":
            found = task_of(array, needs_classes)
            if is_categorical(y):
                found = Task("classification", "the target is of a categorical type")
            if found.close:
                warn(found.warning)
        if found.name == "regression":
            values = _numbers(array)
            return cls(len(array), None, None, values, False, 0, found.reason)
        try:
            classes, codes = np.unique(array, return_inverse=True)
        except TypeError as error:
            raise InputError(
                "y mixes values that cannot be sorted together, such as text and numbers; "
                "make them all text or all numbers"
            ) from error
        if len(classes) > MOST_CLASSES:
            raise InputError(
                f"y holds {len(classes)} different values, too many to be classes; if it is a "
                "number to predict, pass task='regression' (--task regression)"
            )
        numeric = classes.dtype.kind in "biuf"
        numbers = np.arange(1.0, len(classes) + 1)
        if numeric and len(np.unique(classes.astype(np.float64))) == len(classes):
            numbers = classes.astype(np.float64)  # else they are identifiers that floats round
        short = codes.astype(np.uint16)
        return cls(
            len(array), short, classes, numbers[codes], True, len(classes), found.reason
        )  # fmt: skip

    @property
    def task(self) -> str:
        """Return "classification" or "regression"."""
        return "classification" if self.is_classes else "regression"

    @property
    def labels(self) -> npt.NDArray[Any]:
        """The target as it was given: classes by name, or numbers."""
        if self.codes is None or self.classes is None:
            return self.values
        return np.asarray(self.classes[self.codes])

    def adjusted(
        self, weights: Any = None, given: Covariates | None = None, row_groups: Any = None
    ) -> Target:
        """Return the target with sample weights, covariates and row groups, or raise an error."""
        if weights is None and given is None and row_groups is None:
            return self
        if given is not None and len(given.values) != self.n_rows:
            raise InputError(
                f"the covariates have {len(given.values)} rows but the target has {self.n_rows}; "
                "give one row of covariates for each row"
            )
        checked = None if weights is None else checked_weights(weights, self.n_rows)
        if checked is not None and self.n_rows > 1 and np.ptp(self.values[checked > 0]) == 0:
            raise InputError(
                "the target is the same in every row with a positive weight, so no feature can "
                "predict it; give weights to rows of two classes or more"
            )
        groups = None if row_groups is None else _groups(row_groups, self.n_rows)
        return replace(self, weights=checked, given=given, row_groups=groups)

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """Rows per class."""
        if self.codes is None:
            raise InputError("a regression target has no classes; use FisherZ, which needs none")
        return np.bincount(self.codes, minlength=self.n_classes).astype(np.int64)

    def against_rest(self) -> npt.NDArray[np.bool_]:
        """Return the members of each class, one row per class; of two classes, only the second."""
        classes = np.arange(self.n_classes) if self.n_classes > 2 else np.array([1])
        assert self.codes is not None
        rows: npt.NDArray[np.bool_] = np.equal(self.codes, classes[:, np.newaxis])
        return rows

    def refuse_numbers(self, method: str) -> None:
        """Raise a one-sentence error for a regression target, which `method` cannot use."""
        if not self.is_classes:
            raise InputError(
                f"{method} needs classes, and y holds real numbers (an unknown label type for it): "
                "turn y into classes, or use a selector with measure='fisher_z'"
            )

    def refuse_constant(self) -> None:
        """Raise a one-sentence error if the target is the same in every row."""
        if self.n_rows > 1 and np.all(self.values == self.values[0]):
            label = self.values[0] if self.classes is None else self.classes[0]
            raise InputError(
                f"the target is {label} in every row, so no feature can predict it; "
                "give a target with two classes or more"
            )

    @property
    def fingerprint(self) -> str:
        """A short hash of the rows in their order."""
        digest = hashlib.sha256()
        if self.classes is not None and self.codes is not None:
            labels = "\0".join(map(str, self.classes.tolist()))
            digest.update(labels.encode("utf-8", "surrogatepass"))
            digest.update(np.ascontiguousarray(self.codes).tobytes())
        else:
            digest.update(np.ascontiguousarray(self.values).tobytes())
        if self.weights is not None:
            digest.update(self.weights.tobytes())
        if self.given is not None:
            self.given.update(digest)
        if self.row_groups is not None:
            digest.update(self.row_groups.tobytes())
        return digest.hexdigest()[:16]


def _groups(labels: Any, n_rows: int) -> npt.NDArray[np.int64]:
    """Return the group of each row as numbers from 0, or raise an error."""
    array = np.asarray(labels)
    if array.shape != (n_rows,):
        raise InputError(
            f"row_groups has the shape {array.shape} and there are {n_rows} rows; give one label "
            "for each row"
        )
    missing = np.array([_is_missing(label) for label in array.tolist()])
    if missing.any():
        raise InputError(
            f"row_groups has no label in row {int(np.argmax(missing))} (counted from 0); give "
            "every row a label, its own if it belongs to no other"
        )
    names, codes = np.unique(array, return_inverse=True)
    if len(names) < 2:
        raise InputError("row_groups has the same label in every row; give two groups or more")
    return codes.astype(np.int64)


def _vector(y: Any) -> npt.NDArray[Any]:
    """Return a target as an array with one value per row, none of them missing."""
    refuse_masked(y)
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim != 1:
        raise InputError(f"y should be a 1d vector, got an array of shape {array.shape}")
    if array.size == 0:
        raise InputError("y holds no rows; give one target value for each row")
    # NumPy turns a missing value in a list of strings into the string "nan": check first.
    is_text = array.dtype.kind in "US" and not isinstance(y, np.ndarray)
    refuse_missing(np.asarray(y, dtype=object) if is_text else array)
    return numbers_of(array) if array.dtype.kind == "O" else array


def is_categorical(y: Any) -> bool:
    """Return True for columns of pandas, polars and Arrow whose type says that they are classes."""
    kind = str(getattr(y, "dtype", getattr(y, "type", "")))
    return kind == "category" or kind.startswith(("Categorical", "Enum", "dictionary"))


def _numbers(array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the target of a regression, or raise a one-sentence error for text."""
    try:
        if array.dtype.kind in "USmM":
            raise ValueError(f"{array[0]} is {array.dtype.type.__name__}")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"task='regression' needs numbers, and y holds something else ({error}); leave out "
            "task (--task), or give a target of numbers"
        ) from error


def refuse_masked(y: Any) -> None:
    """Raise an error for a target with masked values: NumPy would unmask them."""
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise InputError(
            f"y is a masked array with {np.count_nonzero(np.ma.getmaskarray(y)):,} masked values; "
            "leave out those rows: keep = ~np.ma.getmaskarray(y), then X[keep] and y[keep]"
        )


def refuse_missing(array: npt.NDArray[Any]) -> None:
    """Raise an error that names the first row whose target is missing."""
    if array.dtype.kind == "f":
        bad = ~np.isfinite(array)
    elif array.dtype.kind == "O":
        bad = np.array([_is_missing(v) for v in array.ravel().tolist()])
    elif array.dtype.kind in "mM":
        bad = np.isnat(array)
    else:
        return
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"Input y contains NaN, infinity or a missing value in row {row} ({array[row]!r}); "
            "drop the rows that have no target"
        )


def _is_missing(value: Any) -> bool:
    """Return True for None and for values that do not equal themselves: NaN, NaT and NA."""
    same = value is not None and value == value
    return not (isinstance(same, bool | np.bool_) and same)
