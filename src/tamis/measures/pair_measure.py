"""Measures that are a formula for two columns: the short way to add one.

The columns are given as whole arrays, one pair at a time, so such a measure is simple and slow.
Measures that read only the nonzeros of many columns at once implement `Measure` and `Panel`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.target import Target
from tamis.measures.measure import Floats, Measure, Panel, Prepared, Strength, ready_target


class PairMeasure(Measure):
    """Base of a measure that is defined by `pair`, `cutoff` and `gate`."""

    @abstractmethod
    def pair(self, x: Floats, y: Floats) -> float:
        """Return the strength between two columns, neither of them constant."""

    @abstractmethod
    def cutoff(self, n_rows: int) -> float:
        """Return the strength above which two columns of `n_rows` rows count as dependent."""

    def relevance(self, columns: Any, target: Any, out: Strength | None = None) -> Strength:
        """Return the strength of every column towards the target, taken as numbers."""
        block = ColumnBlock.of(columns)
        encoded = ready_target(target, block.n_rows, self.needs_classes)
        self.check_target(encoded)
        result = Strength.room(block.width) if out is None else out.part(block.width)
        for j, column in enumerate(_dense(block, np.arange(block.width)).values.T):
            result.value[j] = self.strength(column, encoded.values)
            result.cutoff[j] = np.nan if _is_constant(column) else self.cutoff(block.n_rows)
        return result

    def panel(self, target: Target) -> DensePanel:
        """Return an empty panel of kept columns."""
        return DensePanel(self, target.n_rows)

    def strength(self, x: Floats, y: Floats) -> float:
        """Return `pair`, or 0 if one of the columns is constant."""
        return 0.0 if _is_constant(x) or _is_constant(y) else float(self.pair(x, y))


@dataclass(frozen=True, eq=False)
class DenseColumns(Prepared):
    """Whole columns, in Fortran order."""

    values: Floats

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the columns of all parts, one part after the other."""
        return cls(np.asfortranarray(np.hstack([part.values for part in parts])))

    def pick(self, which: npt.NDArray[Any]) -> Self:
        """Return a copy of some of the columns, in the given order."""
        return type(self)(np.asfortranarray(self.values[:, which]))

    def __len__(self) -> int:
        return int(self.values.shape[1])


class DensePanel(Panel):
    """The kept columns as whole arrays."""

    def __init__(self, measure: PairMeasure, n_rows: int) -> None:
        self.measure, self.n_rows, self.pairs = measure, n_rows, 0
        self._kept: list[Floats] = []

    def __len__(self) -> int:
        return len(self._kept)

    def prepare(self, block: ColumnBlock, picks: npt.NDArray[np.intp]) -> DenseColumns:
        """Return the picked columns as whole arrays."""
        return _dense(block, picks)

    def between_many(self, columns: DenseColumns, lo: int, hi: int) -> Floats:
        """Return the strength of columns lo..hi-1 with every kept column, oldest first."""
        self.pairs += (hi - lo) * len(self)
        strength, new = self.measure.strength, columns.values.T[lo:hi]
        pairs = [[strength(kept, column) for kept in self._kept] for column in new]
        return np.array(pairs).reshape(hi - lo, len(self))

    def cutoffs(self, column: Any) -> Floats:
        """Return the cutoff of each of those strengths."""
        return np.full(len(self), self.measure.cutoff(self.n_rows))

    def add(self, column: Any) -> None:
        """Keep a column."""
        self._kept.append(column.columns.values[:, column.i])

    def drop(self, positions: npt.NDArray[np.intp]) -> None:
        """Drop the kept columns at these positions (0 is the oldest)."""
        gone = set(positions.tolist())
        self._kept = [column for i, column in enumerate(self._kept) if i not in gone]


def _dense(block: ColumnBlock, picks: npt.NDArray[np.intp]) -> DenseColumns:
    if not isinstance(block.values, Compressed):
        return DenseColumns(np.asfortranarray(block.values[:, picks]))
    values, stored = np.zeros((block.n_rows, len(picks)), order="F"), block.values.pick(picks)
    columns = np.repeat(np.arange(len(picks)), np.diff(stored.indptr))
    values[stored.indices, columns] = stored.data
    return DenseColumns(values)


def _is_constant(column: Floats) -> bool:
    return bool(np.all(column == column[0]))
