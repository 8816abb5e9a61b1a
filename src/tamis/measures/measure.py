"""The interface of measures: strengths towards the target and between columns, and cutoffs.

Conditional tests, which only some selectors need, are in `tamis.measures.conditional`. To add a
measure that is a formula for two columns, see `tamis.measures.pair_measure`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from operator import getitem
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.errors import InputError, ParameterError
from tamis.core.target import Target

#: Braces in the names of covariates must not become fields of a sentence.
_NO_FIELDS = str.maketrans("{}", "()")

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


#: What explanations say about a strength and its level, unless a measure says it differently.
LEVEL_SENTENCES = {
    "level_passed": "{relevance_symbol}={relevance} is above {level}, {gate}",
    "level_missed": "{relevance_symbol}={relevance} is not above {level}, {gate}",
}


@dataclass(frozen=True, eq=False)
class Strength:
    """Strengths and the cutoffs above which they count as dependence.

    A constant column has strength 0 and cutoff NaN. Works as an array of its values:
    ``np.asarray(strength)``, ``strength[3]``, ``len(strength)``.
    """

    value: Floats
    cutoff: Floats
    #: The cutoffs of p-values that are not below the level; None: `cutoff` is not a p-value.
    missed: Floats | None = None

    @classmethod
    def room(cls, width: int) -> Strength:
        """Allocate the strengths of `width` columns."""
        return cls(np.empty(width), np.empty(width))

    def part(self, width: int) -> Strength:
        """Return the first `width`, sharing memory."""
        return Strength(self.value[:width], self.cutoff[:width])

    @property
    def logged(self) -> Floats:
        """What is logged in bulk, and shared by many columns: features that pass log their own."""
        return self.cutoff if self.missed is None else self.missed

    @property
    def dependent(self) -> npt.NDArray[np.bool_]:
        """Which strengths count as dependence."""
        result: npt.NDArray[np.bool_] = self.value > self.cutoff
        return result

    @property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Which columns have the same value in every row."""
        return np.isnan(self.cutoff)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is None:  # as numpy 2 takes it: only if needed; numpy 1 has no word for that
            return np.asarray(self.value, dtype=dtype)
        return np.array(self.value, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, i: Any) -> Any:
        return self.value[i]


@dataclass(frozen=True, eq=False)
class Tested:
    """Strengths of columns towards the target, and their p-values.

    Attributes
    ----------
    value : ndarray of float
        The strength, as `Measure.relevance` gives it.
    constant : ndarray of bool
        Which columns have the same value in every row; their p-value is 1.
    p : ndarray of float
        The p-value where it is at most the bound that was given; elsewhere some number above the
        bound that the p-value is not below, because the test ended early.
    least_p : ndarray of float
        The least p-value that a column with these counts can have; 0 if it is not known.
    test : ndarray of uint8
        The test of each column: a position in `Measure.tests`.
    """

    value: Floats
    constant: npt.NDArray[np.bool_]
    p: Floats
    least_p: Floats
    test: npt.NDArray[np.uint8]

    def pick(self, columns: Ints) -> Tested:
        """Return a copy of some columns."""
        return Tested(
            self.value[columns], self.constant[columns], self.p[columns], self.least_p[columns],
            self.test[columns],
        )  # fmt: skip


class Prepared(Sequence[Any]):
    """Columns that a panel prepared, as arrays end to end."""

    #: The name of the indptr that splits each array into columns; None for one number per column.
    arrays: ClassVar[Mapping[str, str | None]]

    indptr: Ints

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the columns of all parts, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        whole = {}
        for name, by in cls.arrays.items():
            # Arrays may have spare capacity at the end.
            ends = [None if by is None else getattr(part, by)[-1] for part in parts]
            whole[name] = np.concatenate(
                [getattr(part, name)[:end] for part, end in zip(parts, ends, strict=True)]
            )
        for by in {by for by in cls.arrays.values() if by is not None}:
            lengths = [np.diff(getattr(part, by)) for part in parts]
            whole[by] = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        return cls(**whole)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, i: Any) -> Any:
        """Return column i."""
        if i >= len(self):
            raise IndexError(i)
        return PreparedColumn(self, i)

    def pick(self, which: npt.NDArray[Any]) -> Self:
        """Return a copy of some of the columns, in the given order."""
        picked: dict[str, Any] = {}
        of_each: dict[str | None, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
            None: lambda array: array[which]
        }
        for by in {by for by in self.arrays.values() if by is not None}:
            picked[by], of_each[by] = _parts_of(getattr(self, by), which)
        for name, split_by in self.arrays.items():
            picked[name] = of_each[split_by](getattr(self, name))
        return type(self)(**picked)

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return sum(int(getattr(self, name).nbytes) for name in self.arrays)

    @property
    def mean_n_levels(self) -> float:
        """Mean number of distinct values per column if they are counted, else NaN."""
        return np.nan


def _parts_of(
    indptr: Ints, which: npt.NDArray[Any]
) -> tuple[Ints, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]]:
    """Return the indptr of some columns, and what returns their part of an array."""
    each = np.diff(indptr)
    length, lengths = int(each[0]) if len(each) else 0, each[which]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    if length and (each == length).all():  # whole columns: copied, not looked up one by one

        def picked(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
            rest = array.shape[1:]
            columns = array[indptr[0] : indptr[-1]].reshape(len(each), length, *rest)
            found: npt.NDArray[Any] = columns[which].reshape(ends[-1], *rest)
            return found

        return ends, picked
    at = np.arange(ends[-1]) + np.repeat(indptr[:-1][which] - ends[:-1], lengths)
    return ends, lambda array: array[at]


@dataclass(slots=True, eq=False)
class PreparedColumn:
    """A prepared column: a reference to its set and its position there, cheap to create.

    It has the arrays of the set, each as the part that belongs to this column.
    """

    columns: Any
    i: int

    def __getattr__(self, name: str) -> Any:
        if name not in self.columns.arrays:
            raise AttributeError(name)
        array, by = getattr(self.columns, name), self.columns.arrays[name]
        if by is None:
            return array[self.i]
        indptr = getattr(self.columns, by)
        return array[indptr[self.i] : indptr[self.i + 1]]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy, or pickle, this column without the others."""
        return getitem, (self.columns.pick(np.array([self.i])), 0)


def together(columns: Iterable[PreparedColumn]) -> Any:
    """Return prepared columns, of one set or several, as a set of their own."""
    parts = []
    for _, run in groupby(columns, key=lambda column: id(column.columns)):
        some = list(run)
        of_set, which = some[0].columns, np.array([column.i for column in some])
        everything = len(which) == len(of_set) and np.array_equal(which, np.arange(len(which)))
        parts.append(of_set if everything else of_set.pick(which))
    return type(parts[0]).joined(parts)


class Panel(ABC):
    """The kept columns, in order of arrival, prepared for comparison with a newcomer."""

    #: Pair values computed so far.
    pairs: int

    @abstractmethod
    def prepare(self, block: ColumnBlock, picks: npt.NDArray[np.intp]) -> Sequence[Any]:
        """Prepare some columns of a block for `between` and `add`."""

    def between(self, column: Any) -> Floats:
        """Return the strength of a prepared column with every kept column, oldest first."""
        values: Floats = self.between_many(column.columns, column.i, column.i + 1)[0]
        return values

    @abstractmethod
    def between_many(self, columns: Any, lo: int, hi: int) -> Floats:
        """Return `between` for the prepared columns lo to hi - 1, one row per column."""

    def against(self, columns: Any, one: int, picks: Ints) -> Floats:
        """Return the strength of prepared column `one` with those at `picks`, kept or not."""
        self.add(columns[one])
        values = np.array([self.between(columns[i])[-1] for i in picks.tolist()])
        self.drop(np.array([len(self) - 1]))
        return values

    @abstractmethod
    def cutoffs(self, column: Any) -> Floats:
        """Return the cutoff above which each of those strengths counts as dependence."""

    @abstractmethod
    def add(self, column: Any) -> None:
        """Keep a prepared column."""

    def add_many(self, columns: Any) -> None:
        """Keep all columns of a prepared set, one after the other."""
        for column in columns:
            self.add(column)

    @abstractmethod
    def drop(self, positions: npt.NDArray[np.intp]) -> None:
        """Drop the kept columns at these positions (0 is the oldest)."""

    @property
    def mean_n_levels(self) -> float:
        """Mean number of distinct values per kept column if they are counted, else NaN."""
        return np.nan

    @abstractmethod
    def __len__(self) -> int: ...


class Measure(ABC):
    """Base of the measures: a strength (larger is more dependent) and a cutoff that gates it.

    Attributes
    ----------
    name : str
        Its name as a parameter: ``SAOLA(measure="mutual_information")``.
    kind : {"discrete", "continuous", "any"}
        The kind of values it is meant for.
    symbol : str
        Notation of a strength, with ``{a}`` and ``{b}`` for the two sides.
    resolution : float
        Differences up to this are rounding errors, and such values count as tied.
    needs_classes : bool
        Whether a regression target is refused.
    takes_gaps : bool
        Whether columns may hold missing values, as NaN.
    deletes_pairs : bool
        Whether missing values are left out pair by pair.
    symmetric : bool
        Whether the strength of two columns is the same, up to rounding errors, whichever comes
        first.
    takes_weights, takes_given : bool
        Whether it uses the sample weights, and the covariates, of a target that has them.
    tests : tuple of str
        The names of its tests, if it has p-values (`tested`).
    """

    name: ClassVar[str]
    kind: ClassVar[str]
    symbol: ClassVar[str]
    resolution: ClassVar[float] = 0.0
    needs_classes: ClassVar[bool] = False
    takes_gaps: ClassVar[bool] = False
    deletes_pairs: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = False
    takes_given: ClassVar[bool] = False
    tests: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def relevance(self, columns: Any, target: Any, out: Strength | None = None) -> Strength:
        """Return the strength of every column (array, SciPy matrix or ColumnBlock) with the target.

        `out` is memory for the result, for callers that process millions of columns: allocating it
        would cost more than the sums. Called by every selector that has a measure, once per block.
        """

    def tested(self, block: ColumnBlock, target: Target, bound: float = 1.0) -> Tested:
        """Return the strength and the p-value of every column of a block.

        P-values are valid: if a column is independent of the target, p <= level has a probability
        of at most `level`. P-values above `bound` need not be computed, which is much faster.
        """
        raise ParameterError(
            f"{type(self).__name__} has no p-values; use one of the measures mutual_information, "
            "g_squared, fisher_z and any_shape"
        )

    def relevance_to_each(
        self, block: ColumnBlock, targets: Sequence[Target], out: Strength | None = None
    ) -> list[Strength]:
        """Return the strengths with targets that differ in the order of their rows only.

        A measure that sorts or codes columns may do so once for all of them.
        """
        first, *others = targets
        return [
            self.relevance(block, first, out=out),
            *(self.relevance(block, target) for target in others),
        ]

    def tested_with_each(
        self, block: ColumnBlock, targets: Sequence[Target], bound: float = 1.0
    ) -> list[Tested]:
        """Return what `tested` does, for targets that differ in the order of their rows only."""
        return [self.tested(block, target, bound) for target in targets]

    def p_values(self, columns: Any, target: Any) -> Floats:
        """Return the p-value of every column of an array, SciPy matrix or ColumnBlock."""
        block = ColumnBlock.of(columns)
        wrong = np.isinf(block.entries) if self.takes_gaps else ~np.isfinite(block.entries)
        if wrong.any():
            column = block.column_of_entry(int(np.argmax(wrong)))
            kinds = "infinity" if self.takes_gaps else "NaN or infinity"
            raise InputError(f"X holds {kinds} in column {column}; fill or drop such values first")
        encoded = ready_target(target, block.n_rows, self.needs_classes)
        self.check_target(encoded)
        return self.tested(block, encoded).p

    @abstractmethod
    def panel(self, target: Target) -> Panel:
        """Return an empty panel of kept columns."""

    @abstractmethod
    def gate(self) -> str:
        """Describe the cutoff in a few words, for explanations."""

    def check_target(self, target: Target) -> None:
        """Raise an error if the measure cannot use this target."""
        if self.needs_classes and not target.is_classes:
            raise InputError(
                f"{type(self).__name__} needs classes, and y holds real numbers (an unknown label "
                "type for it): use FisherZ(), or turn y into classes"
            )
        if target.is_adjusted and (what := self.cannot_use(target)):
            raise InputError(
                f"{type(self).__name__} cannot use {what}; use FisherZ() for numbers, or "
                "MutualInformation(alpha=0.01) for categories, without missing='delete'"
            )

    def cannot_use(self, target: Target) -> str:
        """Return what the measure cannot use of a target: sample weights, covariates or nothing."""
        if target.weights is not None and not self.takes_weights:
            return "sample weights"
        return "covariates" if target.given is not None and not self.takes_given else ""

    def for_adjusted(self, target: Target) -> Measure:
        """Return the measure as it is used with a target that has weights or covariates."""
        return self

    def with_paper_statistic(self) -> Self:
        """Return the measure with the test of the papers in place of valid p-values."""
        return self

    def between(self, columns: Any, others: Any) -> Floats:
        """Return the strength of each of `columns` (rows of the result) with each of `others`."""
        left, right = ColumnBlock.of(columns), ColumnBlock.of(others)
        if left.n_rows != right.n_rows:
            raise InputError(
                f"columns of {left.n_rows} and of {right.n_rows} rows cannot be compared"
            )
        panel = self.panel(Target.of(np.zeros(left.n_rows, dtype=int)))
        for column in panel.prepare(right, np.arange(right.width)):
            panel.add(column)
        return panel.between_many(panel.prepare(left, np.arange(left.width)), 0, left.width)

    def dependent(self, value: Any, cutoff: Any = None) -> Any:
        """Return which values count as dependence; a `Strength` has its own cutoffs."""
        if isinstance(value, Strength):
            return value.dependent
        if cutoff is None:
            cutoff = getattr(self, "threshold", None)
        if cutoff is None:
            raise ParameterError(
                f"{type(self).__name__}.dependent needs a cutoff here, because it depends on the "
                "number of rows; pass cutoff=, or a Strength from relevance()"
            )
        return np.asarray(value) > cutoff

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn does."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> Measure:
        """Set parameters, so that a grid search can vary ``saola__measure__alpha``."""
        changed = replace(self, **params)  # type: ignore[type-var]
        for name, value in changed.get_params().items():
            object.__setattr__(self, name, value)
        return self

    def template_fields(self, target: Target) -> dict[str, str]:
        """Return the texts that explanations by this measure need."""
        of = "class" if target.is_classes else "target"
        given = "" if target.given is None else " | " + str(target.given).translate(_NO_FIELDS)
        return LEVEL_SENTENCES | {
            "target": of,
            "relevance_symbol": self.symbol.format(a="{name}", b=of + given),
            "pair_symbol": self.symbol.format(a="{name}", b="{because}" + given),
            "gate": self.gate(),
        }


def ready_target(target: Any, n_rows: int, needs_classes: bool = False) -> Target:
    """Encode a target and check that it has one value per row."""
    encoded = Target.of(target, needs_classes=needs_classes)
    if encoded.n_rows != n_rows:
        raise InputError(
            f"the columns have {n_rows} rows but the target has {encoded.n_rows}; "
            "give one target value for each row"
        )
    return encoded
