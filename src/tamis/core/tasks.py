"""Whether a target holds classes or numbers, decided by its values.

Text and Booleans are classes, and numbers that are not whole are numbers. Whole numbers can be
either: a class label repeats, and its number is only a name; a price, an age or a count has many
different values, whose frequencies rise and fall smoothly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis._registry import TASKS as NAMES
from tamis.core.params import OneOf

#: What a target may hold; "auto" decides by its values.
TASKS = OneOf(NAMES)

#: Up to `FEW` different whole numbers are classes if they repeat at all. Up to `SOME` are classes
#: if they repeat `OFTEN` and do not look like counts. More of them must look like labels.
FEW, SOME, OFTEN = 10, 20, 5

#: Labels of more than `SOME` classes repeat at least this often, or are equally frequent.
VERY_OFTEN = 50

#: Frequencies in random order have a von Neumann ratio of about 2; below this they are smooth.
SMOOTH = 0.8

#: Floats hold whole numbers exactly up to here; larger ones are identifiers.
EXACT = 2**53


@dataclass(frozen=True)
class Task:
    """What a target holds, why, and whether another answer is nearly as likely."""

    name: str
    reason: str
    close: bool = False

    @property
    def warning(self) -> str:
        """A sentence for a decision that was close."""
        is_classes = self.name == "classification"
        taken, other = ("classes", "numbers") if is_classes else ("numbers", "classes")
        return (
            f"{self.reason}, so it was taken for {taken}, but it may hold {other}: say which with "
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
    >>> task_of(np.arange(87_000, 99_000, 1_000)).name
    'regression'
    """
    if array.dtype.kind == "b":
        return Task("classification", "the target holds true and false")
    if array.dtype.kind not in "iuf":
        return Task("classification", "the target holds no numbers")
    values, counts = np.unique(array, return_counts=True)
    fractions = array[array != np.floor(array)] if array.dtype.kind == "f" else array[:0]
    if len(fractions):
        few = len(values) <= OFTEN <= len(array) / len(values)
        reason = f"the target holds numbers that are not whole, such as {fractions[0]:g}"
        return Task("regression", reason, close=few)
    found = _of_whole_numbers(values, counts, len(array))
    if needs_classes and found.name == "regression":
        return Task("classification", f"the method needs classes, although {found.reason}", True)
    return found


def _of_whole_numbers(values: npt.NDArray[Any], counts: npt.NDArray[np.int64], n: int) -> Task:
    k, low, high = len(values), int(values[0]), int(values[-1])
    rows = n / k
    repeats = f"each in {rows:.3g} {'row' if rows == 1 else 'rows'} on average"
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


def _are_numbered(values: npt.NDArray[Any]) -> bool:
    """Return whether whole numbers go from 0 or 1 upwards, as labels usually do; a few may lack."""
    low, high = int(values[0]), int(values[-1])
    return low in (0, 1) and high - low + 1 <= len(values) / 0.9


def look_like_numbers(values: npt.NDArray[Any]) -> bool:
    """Return whether different labels, in order, are probably numbers to predict.

    This is for streams of rows, where it is not known how often each one comes.
    """
    if values.dtype.kind not in "iuf" or len(values) <= SOME:
        return False
    return max(abs(int(values[0])), abs(int(values[-1]))) <= EXACT and not _are_numbered(values)


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
    if kinds <= {int, float} and float in kinds:
        floats = array.astype(np.float64)
        return floats if np.all(np.abs(floats) <= EXACT) or int not in kinds else array
    return array
