"""What a measure offers: strengths towards the target, strengths between columns, and a level.

Every measure has these. Tests given other columns are one more thing that a measure may offer, and
only some selectors need: `tamis.measures.conditional`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.errors import InputError, ParameterError
from tamis.core.target import Target

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Strength:
    """Strengths and the levels above which they count as dependence.

    A constant column has strength 0 and level NaN. Works as an array of its values:
    ``np.asarray(strength)``, ``strength[3]``, ``len(strength)``.
    """

    value: Floats
    cutoff: Floats

    @classmethod
    def room(cls, width: int) -> Strength:
        """Room for the strengths of `width` columns."""
        return cls(np.empty(width), np.empty(width))

    def part(self, width: int) -> Strength:
        """The first `width`, sharing memory."""
        return Strength(self.value[:width], self.cutoff[:width])

    @property
    def dependent(self) -> npt.NDArray[np.bool_]:
        """Which values count as dependence."""
        result: npt.NDArray[np.bool_] = self.value > self.cutoff
        return result

    @property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Which columns have the same value in every row."""
        return np.isnan(self.cutoff)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.value, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, i: Any) -> Any:
        return self.value[i]


class Prepared(Sequence[Any]):
    """Columns that a panel made ready, as arrays end to end."""

    #: The pointers that cut each array into columns; None for an array of one number a column.
    arrays: ClassVar[Mapping[str, str | None]]

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The columns of all parts, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        whole = {}
        for name, by in cls.arrays.items():
            # Arrays may have room to spare at the end.
            ends = [None if by is None else getattr(part, by)[-1] for part in parts]
            whole[name] = np.concatenate(
                [getattr(part, name)[:end] for part, end in zip(parts, ends, strict=True)]
            )
        for by in {by for by in cls.arrays.values() if by is not None}:
            lengths = [np.diff(getattr(part, by)) for part in parts]
            whole[by] = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        return cls(**whole)

    def pick(self, which: npt.NDArray[Any]) -> Self:
        """Some of the columns, copied, in the given order."""
        picked, at = {}, {}
        for by in {by for by in self.arrays.values() if by is not None}:
            starts, lengths = getattr(self, by)[:-1][which], np.diff(getattr(self, by))[which]
            picked[by] = np.concatenate([[0], np.cumsum(lengths)])
            at[by] = np.arange(picked[by][-1]) + np.repeat(starts - picked[by][:-1], lengths)
        for name, indptr in self.arrays.items():
            picked[name] = getattr(self, name)[which if indptr is None else at[indptr]]
        return type(self)(**picked)

    @property
    def mean_n_levels(self) -> float:
        """Different values of a column on average, where they are counted; else NaN."""
        return np.nan


class Panel(ABC):
    """The kept columns, in order of arrival, ready to be compared with a newcomer."""

    #: Pair values computed so far.
    pairs: int

    @abstractmethod
    def prepare(self, block: ColumnBlock, picks: npt.NDArray[np.intp]) -> Sequence[Any]:
        """Ready some columns of a block for `between` and `add`."""

    @abstractmethod
    def between_many(self, columns: Any, lo: int, hi: int) -> Floats:
        """Strength of the prepared columns lo..hi-1 (rows) with every kept column, oldest first."""

    @abstractmethod
    def between(self, column: Any) -> Floats:
        """Strength of a ready column with every kept column, oldest first."""

    def against(self, columns: Any, one: int, picks: Ints) -> Floats:
        """Strength of prepared column `one` with those at `picks`; what is kept does not matter."""
        self.add(columns[one])
        values = np.array([self.between(columns[i])[-1] for i in picks.tolist()])
        self.drop(np.array([len(self) - 1]))
        return values

    @abstractmethod
    def cutoffs(self, column: Any) -> Floats:
        """Level above which each of those strengths counts as dependence."""

    @abstractmethod
    def add(self, column: Any) -> None:
        """Keep a ready column."""

    @abstractmethod
    def drop(self, positions: npt.NDArray[np.intp]) -> None:
        """Let go of the kept columns at these positions (0 is the oldest)."""

    @property
    def mean_n_levels(self) -> float:
        """Different values of a kept column on average, where they are counted; else NaN."""
        return np.nan

    @abstractmethod
    def __len__(self) -> int: ...


class Measure(ABC):
    """Base of the measures: a strength (larger is more dependent) and a level that gates it.

    Attributes
    ----------
    name : str
        The word for it: ``SAOLA(measure="mutual_information")``.
    kind : {"discrete", "continuous"}
        The values it is meant for.
    symbol : str
        How a strength is written, with ``{a}`` and ``{b}`` for the two sides.
    resolution : float
        Differences up to this are rounding, and such values count as tied.
    """

    name: ClassVar[str]
    kind: ClassVar[str]
    symbol: ClassVar[str]
    resolution: ClassVar[float] = 0.0

    @abstractmethod
    def relevance(self, columns: Any, target: Any, out: Strength | None = None) -> Strength:
        """Strength of every column (2-d array, scipy sparse or ColumnBlock) towards the target.

        `out` is room for the result, for callers that go through millions of columns: fresh memory
        costs more than the sums.
        """

    @abstractmethod
    def panel(self, target: Target) -> Panel:
        """An empty panel of kept columns."""

    @abstractmethod
    def gate(self) -> str:
        """Say in a few words what the level is."""

    @abstractmethod
    def check_target(self, target: Target) -> None:
        """Raise one sentence if the measure cannot use this target."""

    def between(self, columns: Any, others: Any) -> Floats:
        """Strength between each of `columns` (rows of the result) and each of `others`."""
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
        """Tell which values count as dependence: a `Strength` knows its own levels."""
        if isinstance(value, Strength):
            return value.dependent
        if cutoff is None:
            cutoff = getattr(self, "threshold", None)
        if cutoff is None:
            raise ParameterError(
                f"{type(self).__name__}.dependent needs a cutoff here: it depends on the rows; "
                "pass cutoff=, or a Strength from relevance()"
            )
        return np.asarray(value) > cutoff

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn asks for them."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> Measure:
        """Set parameters, so that a search can go over ``saola__measure__alpha``."""
        changed = replace(self, **params)  # type: ignore[type-var]
        for name, value in changed.get_params().items():
            object.__setattr__(self, name, value)
        return self

    def template_fields(self, target: Target) -> dict[str, str]:
        """The words that sentences about this measure need."""
        of = "class" if target.is_classes else "target"
        return {
            "target": of,
            "relevance_symbol": self.symbol.format(a="{name}", b=of),
            "pair_symbol": self.symbol.format(a="{name}", b="{because}"),
            "gate": self.gate(),
        }


def ready_target(target: Any, n_rows: int) -> Target:
    """Encode a target and check that it has one value a row."""
    encoded = Target.of(target)
    if encoded.n_rows != n_rows:
        raise InputError(
            f"the columns have {n_rows} rows but the target has {encoded.n_rows}; "
            "give one target value for each row"
        )
    return encoded
