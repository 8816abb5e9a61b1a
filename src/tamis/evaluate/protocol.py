"""Training and test rows: official splits, or repeated stratified folds, the same for all methods.

``5x10`` is five times ten folds: the rows are shuffled five times, and cut into ten stratified
folds each time. (As in "5x2cv": repeats come first.) ``10`` is ten folds, once. The shuffle of a
repeat depends only on `random_state` and on its number, so more repeats add folds and
leave the others unchanged.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedKFold

from tamis.core.errors import InputError, ParameterError, warn

Ints = npt.NDArray[np.int64]
Split = Literal["official", "never"]


@dataclass(frozen=True)
class CrossValidation:
    """Repeated stratified folds."""

    repeats: int
    folds: int

    def __str__(self) -> str:
        return f"{self.repeats}x{self.folds}"


def parse_cv(text: str | int) -> CrossValidation:
    """Read ``5x10`` (five times ten folds) or ``10`` (ten folds, once).

    >>> parse_cv("5x10"), str(parse_cv(3))
    (CrossValidation(repeats=5, folds=10), '1x3')
    """
    match = re.fullmatch(r"(?:(\d+)\s*[x×]\s*)?(\d+)", str(text).strip())
    if match is None or int(match[1] or 1) < 1 or int(match[2]) < 2:
        raise ParameterError(
            f"cv={text!r} is not of the form REPEATSxFOLDS, such as 5x10 for five times ten folds, "
            "or FOLDS, such as 10, with two folds or more"
        )
    return CrossValidation(int(match[1] or 1), int(match[2]))


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows and test rows, both sorted."""

    repeat: int
    number: int
    train: Ints
    test: Ints

    @cached_property
    def digest(self) -> str:
        """A short hash of the rows, which identifies the fold."""
        digest = hashlib.blake2b(digest_size=16)
        for rows in (self.train, self.test):
            digest.update(str(len(rows)).encode())
            digest.update(np.ascontiguousarray(rows, dtype=np.int64).data)
        return digest.hexdigest()


def make_folds(
    codes: Ints,
    cv: CrossValidation,
    random_state: int,
    official: tuple[Ints, Ints] | None = None,
    *,
    name: str = "the data",
) -> list[Fold]:
    """Return the folds of a data set: its official split if given, otherwise stratified folds."""
    if official is not None:
        train, test = official
        if len(np.unique(codes[train])) < 2:
            raise InputError(f"{name}: the training rows of its split have only one class")
        return [Fold(0, 0, train, test)]
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    if counts.max() < cv.folds:
        raise InputError(
            f"{name}: no class has {cv.folds} rows, so it cannot be cut into {cv.folds} folds; "
            f"use fewer, at most {int(counts.max())}"
        )
    if counts.min() < cv.folds:
        warn(
            f"{name}: a class has {int(counts.min())} rows, fewer than the {cv.folds} folds, so "
            "some folds have no test rows of it",
        )
    folds = []
    for repeat in range(cv.repeats):
        cutter = StratifiedKFold(cv.folds, shuffle=True, random_state=_seed(random_state, repeat))
        with warnings.catch_warnings():  # reported above
            warnings.filterwarnings("ignore", message="The least populated class")
            parts = list(cutter.split(np.zeros((len(codes), 1)), codes))
        folds += [Fold(repeat, i, np.sort(a), np.sort(b)) for i, (a, b) in enumerate(parts)]
    return folds


def fold_seed(random_state: int, fold: Fold) -> int:
    """Return the seed of random draws inside a fold, different for every fold."""
    return _seed(random_state, 1, fold.repeat, fold.number)


def _seed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])
