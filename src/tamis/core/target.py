"""The target, encoded once: class codes, class counts, and numeric values.

Whether it holds classes or numbers is decided by its values (`task_of`). Text and Booleans are
classes, and numbers that are not whole are numbers. Whole numbers can be either: a class label
repeats, and its number is only a name; a price, an age or a count has many different values, whose
frequencies rise and fall smoothly.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis._registry import TASKS as TASK_NAMES
from tamis.core.covariates import Covariates, checked_weights
from tamis.core.errors import InputError, warn
from tamis.core.params import OneOf, check

#: Class codes are 16-bit, so that the codes of many rows fit in the processor's cache.
MOST_CLASSES = 65_535

#: What a target may hold; "auto" decides by its values.
TASKS = OneOf(TASK_NAMES)

#: Up to `FEW` different whole numbers are classes if they repeat at all. Up to `SOME` are classes
#: if they repeat `OFTEN` and do not look like counts. More of them must look like labels.
FEW, SOME, OFTEN = 10, 20, 5

#: Labels of more than `SOME` classes repeat at least this often, or are equally frequent.
VERY_OFTEN = 50

#: Frequencies in random order have a von Neumann ratio of about 2; below this they are smooth.
SMOOTH = 0.8

#: Numbers that often stand for a missing value.
_GAP_NUMBERS = {-9, -99, -999, -9999, -99999, 99, 999, 9999, 99999}

#: Floats hold whole numbers exactly up to here; larger ones are identifiers.
EXACT = 2**53

#: A number in text, perhaps grouped or with a sign such as $ or %; a date or a time is none.
_NUMBER = re.compile(r"^[^\w]*\d[\d.,' \u00a0\u202f\u2019]*(?:[eE][-+]?\d+)?[^\w]*$")

#: A date in text, with a year of four digits; what follows may be a time.
_DATE = re.compile(
    r"^\s*(?:[A-Za-z]{3,9}\.?,? +)?(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|"
    r"\d{1,2}(?:st|nd|rd|th)?[-/. ](?:\d{1,2}|[A-Za-z]{3,9})[-/. ,]+\d{4}|"
    r"[A-Za-z]{3,9} \d{1,2}(?:st|nd|rd|th)?,? \d{4})(?:[T ,].*:.*)?\s*$"
)

#: If fewer of the first texts of a target are numbers than half, the others are not looked at.
_FIRST_TEXTS = 1_000


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
            if task == "auto" or task == y.task:
                return y
            return cls.of(y.labels, task).adjusted(y.weights, y.given, y.row_groups)
        array = _vector(y)
        found = Task(task, "it was given")
        if task == "auto":
            found = task_of(array, needs_classes)
            if not isinstance(y, np.ndarray) and is_categorical(y):
                found = Task("classification", "the target is of a categorical type")
            if found.refusal:
                raise InputError(found.refusal)
            if found.close:
                warn(found.warning)
            _question_numbers(array)
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
        if not numeric and task == "auto":
            _question_texts(classes, len(array))
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
    def is_adjusted(self) -> bool:
        """Whether it has sample weights, covariates or row groups."""
        return not (self.weights is None and self.given is None and self.row_groups is None)

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

    def question_classes(self) -> None:
        """Warn about so many classes that nothing can be told about them."""
        if self.n_rows >= 2 * FEW and 2 * self.n_classes > self.n_rows:
            warn(
                f"the target holds {self.n_classes:,} classes in {self.n_rows:,} rows, too few "
                "rows of each to tell a relation from chance; if it is a number to predict, say so "
                "with task='regression' (--task regression)"
            )

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
    refuse_masked(labels, "row_groups")
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
    if isinstance(y, np.ma.MaskedArray):
        refuse_masked(y)
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim != 1:
        raise InputError(f"y should be a 1d vector, got an array of shape {array.shape}")
    if array.size == 0:
        raise InputError("y holds no rows; give one target value for each row")
    if array.dtype.kind in "cV":
        raise InputError(
            f"y holds values of type {array.dtype}, which are neither classes nor real numbers; "
            "give one label or number for each row"
        )
    # NumPy turns a missing value in a list of strings into the string "nan": check first.
    is_text = array.dtype.kind in "US" and not isinstance(y, np.ndarray)
    if is_text or array.dtype.kind in "fOmM":
        refuse_missing(np.asarray(y, dtype=object) if is_text else array)
    return numbers_of(array) if array.dtype.kind == "O" else array


def is_categorical(y: Any) -> bool:
    """Return True for columns of pandas, polars and Arrow whose type says that they are classes."""
    kind = str(getattr(y, "dtype", getattr(y, "type", "")))
    return kind == "category" or kind.startswith(("Categorical", "Enum", "dictionary"))


def _numbers(array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the target of a regression, or raise a one-sentence error for text."""
    try:
        if array.dtype.kind in "mM":
            raise ValueError(f"{array[0]} is {array.dtype.type.__name__}")
        is_text = array.dtype.kind in "US"  # as a list: errors of NumPy show its own type of text
        numbers = np.array(array.tolist() if is_text else array, dtype=np.float64)
        if is_text and not np.isfinite(numbers).all():  # the text "nan"
            raise ValueError(f"{str(array[~np.isfinite(numbers)][0])!r} is not a number")
        return numbers
    except (TypeError, ValueError) as error:
        raise InputError(
            f"task='regression' needs numbers, and y holds something else ({error}); leave out "
            "task (--task), or give a target of numbers"
        ) from error


def refuse_masked(y: Any, called: str = "y") -> None:
    """Raise an error for a target with masked values: NumPy would unmask them."""
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        n = np.count_nonzero(np.ma.getmaskarray(y))
        raise InputError(
            f"{called} is a masked array with {n:,} masked values; leave out those rows: "
            f"keep = ~np.ma.getmaskarray({called}), then X[keep] and {called}[keep]"
        )


def refuse_missing(array: npt.NDArray[Any]) -> None:
    """Raise an error that names the first row whose target is missing."""
    bad = missing_values(array)
    if bad.any():
        row = int(np.argmax(bad))
        value = array[row]  # the repr of a number of numpy is not the same in every version
        shown = value if isinstance(value, np.number | np.datetime64) else repr(value)
        raise InputError(
            f"Input y contains NaN, infinity or a missing value in row {row} ({shown}); "
            "drop the rows that have no target (of a file: --missing-target drop, "
            "missing_target='drop')"
        )


def missing_values(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which values of a target are missing or infinite."""
    if array.dtype.kind == "f":
        return np.asarray(~np.isfinite(array))
    if array.dtype.kind == "O":
        return np.array([_is_missing(v) for v in array.ravel().tolist()], dtype=np.bool_)
    if array.dtype.kind in "mM":
        return np.asarray(np.isnat(array))
    return np.zeros(len(array), dtype=np.bool_)


def _is_missing(value: Any) -> bool:
    """Return True for None and for values that do not equal themselves: NaN, NaT and NA."""
    same = value is not None and value == value
    return not (isinstance(same, bool | np.bool_) and same)


# --- classes or numbers --------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """What a target holds, why, and whether another answer is nearly as likely.

    `refusal` says why "auto" cannot decide, and `others` are the words among numbers.
    """

    name: str
    reason: str
    close: bool = False
    refusal: str = ""
    others: tuple[str, ...] = ()

    @property
    def warning(self) -> str:
        """A sentence for a decision that was close."""
        is_classes = self.name == "classification"
        taken, other = ("classes", "numbers") if is_classes else ("numbers", "classes")
        return (
            f"{self.reason}, so it was treated as {taken}, but it may hold {other}: say which with "
            "task='classification' or task='regression' (--task)"
        )


def task_of(array: npt.NDArray[Any], needs_classes: bool = False) -> Task:
    """Decide what the values of a target are.

    Parameters
    ----------
    array : array of shape (n_rows,)
        The target, without missing values.
    needs_classes : bool, default=False
        Take whole numbers for classes in any case, because a method can use no others.

    >>> task_of(np.array(["ham", "spam", "ham"])).name
    'classification'
    >>> task_of(np.array([0, 1, 1, 0])).reason
    'the target holds 2 different whole numbers, each in 2 rows on average'
    >>> task_of(np.arange(5_000) % 2).reason
    'the target holds 2 different whole numbers, each in 2,500 rows on average'
    >>> task_of(np.arange(87_000, 99_000, 1_000)).name
    'regression'
    """
    if array.dtype.kind == "b":
        return Task("classification", "the target holds true and false")
    if array.dtype.kind not in "iuf":
        words = Task("classification", "the target holds text")
        return words if needs_classes else _of_texts(array) or words
    values, counts = np.unique(array, return_counts=True)
    fractions = array[array != np.floor(array)] if array.dtype.kind == "f" else array[:0]
    if len(fractions):
        few = len(values) <= OFTEN <= len(array) / len(values)
        reason = f"the target holds numbers that are not whole, such as {fractions[0]!s}"
        return Task("regression", reason, close=few)
    found = _of_whole_numbers(values, counts, len(array))
    if needs_classes and found.name == "regression":
        return Task("classification", f"the method needs classes, although {found.reason}", True)
    return found


def _of_texts(array: npt.NDArray[Any]) -> Task | None:
    """Return what texts are that are mostly numbers, or dates; None for names of classes."""
    how = "or say that they are classes with task='classification' (--task classification)"
    some = {str(text) for text in array[:_FIRST_TEXTS].tolist()}
    if array.dtype.kind == "M" or all(map(_DATE.match, some)):
        days = "such as days (of a file: --dates number, dates='number')"
        refusal = f"the target holds dates; make numbers of them, {days}, {how}"
        many = len(array) >= 2 * FEW and len(np.unique(array)) > SOME
        return Task("classification", "the target holds dates", refusal=refusal if many else "")
    if 2 * sum(map(bool, map(_NUMBER.match, some))) < len(some):
        return None
    texts, counts = np.unique(array.astype(str), return_counts=True)
    is_number = np.array([_NUMBER.match(text) is not None for text in texts.tolist()])
    digits = [re.sub(r"\D", "", text)[:15] for text in texts[is_number].tolist()]
    numbers, at = np.unique(np.array(digits, dtype=np.int64), return_inverse=True)
    rows = np.bincount(at, weights=counts[is_number])
    if len(numbers) <= SOME or 2 * np.count_nonzero(is_number) < len(texts):
        return None
    if _of_whole_numbers(numbers, rows.astype(np.int64), int(rows.sum())).name != "regression":
        return None
    reason = f"the target holds numbers as text, such as {str(texts[is_number][0])!r}"
    if len(others := texts[~is_number]):
        refusal = (
            f"the target holds numbers and also {str(others[0])!r}; fix it, or, if it means a "
            "missing value, leave out its rows with na= and missing_target='drop' (--na, "
            f"--missing-target drop), {how}"
        )
        return Task("classification", reason, False, refusal, tuple(map(str, others)))
    if 2 * len(texts) <= len(array):  # text that repeats may be names of classes
        return Task("classification", reason, close=True)
    try:
        texts.astype(np.float64)
    except ValueError:
        refusal = f"{reason}; convert them to numbers, {how}"
        return Task("classification", reason, refusal=refusal)
    return Task("regression", reason)


def _three_digits(number: float) -> str:
    """Return a number with three digits, and large ones in full: 1.23, 45.6, 2,500."""
    return f"{number:.3g}" if number < 999.5 else f"{number:,.0f}"


def _of_whole_numbers(values: npt.NDArray[Any], counts: npt.NDArray[np.int64], n: int) -> Task:
    k, low, high = len(values), int(values[0]), int(values[-1])
    rows = n / k
    shown = _three_digits(rows)
    repeats = f"each in {shown} {'row' if shown == '1' else 'rows'} on average"
    reason = f"the target holds {k:,} different whole numbers, {repeats}"
    if max(high, -low) > EXACT:
        reason += ", and numbers beyond 2^53 are identifiers"
        return Task("classification", reason, close=rows < 2)
    if n < FEW:  # too few rows to tell; scikit-learn takes whole numbers for classes
        return Task("classification", reason)
    numbered = _are_numbered(values)
    # About k if frequencies differ by chance only. Designed data has less, most labels have more.
    dispersion = float(np.sum((counts - rows) ** 2) / rows)
    even, uneven = rows >= 2 and dispersion <= k / 2, dispersion > 3 * k
    smooth = uneven and _roughness(counts) < SMOOTH
    if k <= 2 or (k <= FEW and rows >= 2):
        close = (k > FEW / 2 and smooth) or (k > 2 and rows < 3 and not numbered)
        return Task("classification", reason, close)
    enough = min(k, VERY_OFTEN) if uneven else VERY_OFTEN
    label_like = numbered and (even or (rows >= enough and not smooth))
    if label_like or (k <= SOME and rows >= OFTEN and not smooth):
        if numbered:
            reason += f", numbered from {low} to {high}"
        return Task("classification", reason, close=not (even or uneven))
    if k == n:
        return Task("regression", f"all {k:,} whole numbers of the target are different", numbered)
    if smooth:
        reason += ", and their frequencies rise and fall smoothly"
    far_apart = high - low + 1 > 4 * k and rows >= 2 * OFTEN
    return Task("regression", reason, far_apart or (rows >= 2 and (numbered or k <= SOME)))


def _question_texts(classes: npt.NDArray[Any], n: int) -> None:
    """Warn about texts that are probably no classes, or several spellings of one."""
    if n >= 2 * FEW and 2 * len(classes) > n:
        warn(
            f"the target holds {len(classes):,} different texts in {n:,} rows, so it may be an "
            "identifier; if it is one, name another column"
        )
    spellings: dict[str, list[str]] = {}
    for name in map(str, classes.tolist()):
        spellings.setdefault(name.strip().lower(), []).append(name)
    several = [names for names in spellings.values() if len(names) > 1]
    if several:
        each = ", ".join(map(repr, several[0]))
        warn(
            f"the classes {each} of the target differ only in spaces or capital letters; if they "
            "are one class, write them alike"
        )


def gap_number(values: npt.NDArray[Any]) -> tuple[float, int] | None:
    """Return a number that is far from all others and often stands for a missing value, or None.

    It is returned with its number of rows, two or more.

    >>> gap_number(np.array([1, 2, -99, 2, 1, -99])), gap_number(np.array([-9, 0, 9, -9]))
    ((-99.0, 2), None)
    """
    known = values[np.isfinite(values)]
    for code in (float(known.min(initial=0)), float(known.max(initial=0))):
        if code not in _GAP_NUMBERS:
            continue
        rest = known[known != code]
        often = len(known) - len(rest)
        if often < 2 or not len(rest):
            continue
        low, high = float(rest.min()), float(rest.max())
        if low < high and min(abs(low - code), abs(high - code)) > high - low:
            return code, often
    return None


def _question_numbers(values: npt.NDArray[Any]) -> None:
    """Warn about a number that may mean that the target is missing."""
    found = gap_number(values) if values.dtype.kind in "iuf" else None
    if found is not None:
        code, often = found
        warn(
            f"the target holds {code:g} in {often:,} rows, far from its other values; if it means "
            f"a missing value, leave these rows out (of a CSV file: --na={code:g} --missing-target "
            "drop)"
        )


def _are_numbered(values: npt.NDArray[Any]) -> bool:
    """Return whether whole numbers count from 0 or 1, as labels do; a few may be missing."""
    low, high = int(values[0]), int(values[-1])
    return low in (0, 1) and high - low + 1 <= len(values) / 0.9


def look_like_numbers(values: npt.NDArray[Any]) -> bool:
    """Return whether different labels, in order, are probably numbers to predict.

    This is for streams of rows, where it is not known how often each one comes.
    """
    if values.dtype.kind not in "iuf" or len(values) <= SOME:
        return False
    return max(abs(int(values[0])), abs(int(values[-1]))) <= EXACT and not _are_numbered(values)


def numbers_in_labels(labels: npt.NDArray[Any]) -> str:
    """Return why different labels in text are numbers to predict; an empty text if they are not.

    This is for streams of rows, as `look_like_numbers`.
    """
    found, texts = task_of(labels), set(labels.tolist())
    numbers = {int("0" + re.sub(r"\D", "", t)[:15]) for t in texts - set(found.others)}
    if not look_like_numbers(np.array(sorted(numbers), dtype=np.int64)):
        return ""
    if found.name == "regression" and any("." in text for text in texts):
        how = "or say that they are classes with task='classification' (--task classification)"
        return f"{found.reason}; convert them to numbers, {how}"
    return found.refusal


def _roughness(counts: npt.NDArray[np.int64]) -> float:
    """Return the von Neumann ratio of the ranks of frequencies: about 2 if their order is random.

    Values come in rising order. The frequencies of counts and measurements rise and fall, so that
    neighbours have similar ranks; those of labels are in no order.
    """
    order = np.argsort(counts, kind="stable")
    _, first, same = np.unique(counts[order], return_index=True, return_counts=True)
    ranks = np.empty(len(counts))
    ranks[order] = np.repeat(first + (same - 1) / 2, same)
    spread = np.sum((ranks - ranks.mean()) ** 2)
    return float(np.sum(np.diff(ranks) ** 2) / spread) if spread else 2.0


def numbers_of(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers and Booleans that are held as objects as an array of their own type."""
    kinds = {type(value) for value in array.tolist()}
    if kinds == {bool}:
        return array.astype(np.bool_)
    if kinds == {int} and max(array.max(), -array.min()) < 2**63:
        return array.astype(np.int64)
    if kinds <= {int, float, Decimal} and kinds & {float, Decimal}:
        floats = array.astype(np.float64)
        return floats if np.all(np.abs(floats) <= EXACT) or kinds == {float} else array
    return array
