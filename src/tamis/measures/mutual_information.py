"""Mutual information and symmetrical uncertainty of discrete columns, in bits.

I(X;Y) = H(X) + H(Y) - H(X,Y) and SU(X,Y) = 2 I(X;Y) / (H(X) + H(Y)), with plug-in probabilities and
no bias correction. A plug-in estimate is above 0 for almost every feature, so there are two gates:

* ``threshold``: the value must be above it (the papers' gate, usually 0);
* ``alpha``: the G-squared test of the same counts must reject independence: 2 n ln2 I is compared
  with the chi-square quantile for (levels - 1)(classes - 1) degrees of freedom.

A value smaller than the rounding of its own sum (about 1e-14 bits) is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.errors import InputError, ParameterError
from tamis.core.params import Nothing, Number, check
from tamis.core.target import Target
from tamis.kernels.information import (
    pair_information,
    pair_information_many,
    relevance_compressed,
    relevance_dense,
)
from tamis.kernels.one_to_many import information_with_one
from tamis.kernels.threads import over_columns
from tamis.measures.coded import CodedColumn, CodedColumns, code_columns, table_of
from tamis.measures.measure import Floats, Ints, Measure, Strength, ready_target
from tamis.measures.panels import RowListPanel

#: Cutoffs are tabulated for columns with fewer levels than this.
FEW = 64


@dataclass(frozen=True)
class InformationMeasure(Measure):
    """The common part of both measures: counting, cutoffs, panels."""

    threshold: float = 0.0
    alpha: float | None = None

    kind: ClassVar[str] = "discrete"
    _symmetric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check(owner, "threshold", self.threshold, Number(0))
        check(owner, "alpha", self.alpha, (Number(0, 1, open_low=True, open_high=True), Nothing()))
        if self.alpha is not None and self.threshold != 0.0:
            raise ParameterError(f"{owner}: give threshold or alpha, not both")

    def gate(self) -> str:
        """Describe the cutoff in a few words, for explanations."""
        if self.alpha is None:
            return "the threshold"
        return f"the {100 * self.alpha:g}% level of its G-squared test"

    def check_target(self, target: Target) -> None:
        """Raise one sentence for a regression target."""
        need_classes(self, target)

    def relevance(self, columns: Any, target: Any, out: Strength | None = None) -> Strength:
        """Return the strength of every column towards the class."""
        block = ColumnBlock.of(columns)
        encoded = ready_target(target, block.n_rows)
        self.check_target(encoded)
        result = Strength.room(block.width) if out is None else out.part(block.width)
        table, unit = table_of(block.n_rows)
        units, cutoffs = unit * block.n_rows, self._cutoff_table(encoded)
        if count_relevance(block, encoded, table, units, self._symmetric, cutoffs, result):
            self._look_up_cutoffs(result.cutoff, block, encoded)
        return result

    def _cutoff_table(self, target: Target) -> Floats:
        """Return the cutoffs for 0 to FEW levels; entry 0 says whether they come from tests."""
        return _cutoffs(self, target.n_rows, target.n_classes)

    def _look_up_cutoffs(self, cutoff: Floats, block: ColumnBlock, target: Target) -> None:
        """Fill in the cutoffs beyond the table, where the kernel left minus the level count."""
        many = np.flatnonzero(cutoff < 0)
        df = (-cutoff[many] - 1) * (target.n_classes - 1)
        cutoff[many] = self._bits(df, block.n_rows)
        if self._symmetric and self.alpha is not None:
            table, unit = table_of(block.n_rows)
            ready = self.panel(target).prepare(block, many)
            total = ready.entropies + (table[block.n_rows] - table[target.counts].sum())
            cutoff[many] *= 2.0 * unit * block.n_rows / total

    def panel(self, target: Target) -> InformationPanel:
        """Return an empty panel of kept columns."""
        return InformationPanel(target.n_rows, self)

    def _bits(self, df: npt.NDArray[Any], n: int) -> Floats:
        """Return the cutoff of the information, in bits, for `df` degrees of freedom and n rows."""
        if self.alpha is None:
            return np.full(len(df), self.threshold)
        known = _quantiles(self.alpha)
        if len(df) > 0 and df.max() < len(known):
            quantile = known[df.astype(np.intp)]
        else:
            quantile = np.where(df > 0, chdtri(np.maximum(df, 1), self.alpha), 0.0)
        bits: Floats = quantile / (2 * n * np.log(2))
        return bits

    def _pair_values(self, information: Ints, h_x: Any, h_y: Any, units: float) -> Floats:
        """Return strengths from n I, n H(X) and n H(Y) in table units."""
        if not self._symmetric:
            bits: Floats = information / units
            return bits
        total = np.broadcast_to(h_x + h_y, information.shape)
        share: Floats = np.zeros(information.shape)
        np.divide(2.0 * information, total, out=share, where=total > 0)
        return share


@dataclass(frozen=True)
class MutualInformation(InformationMeasure):
    """Mutual information I(X;Y) in bits.

    Parameters
    ----------
    threshold : float, default=0.0
        A feature is relevant when its information with the class is above this.
    alpha : float, optional
        Gate by a G-squared test at this level instead.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 1], [0, 0], [1, 1], [1, 0]])
    >>> MutualInformation().relevance(X, [0, 0, 1, 1]).value
    array([1., 0.])
    """

    name: ClassVar[str] = "mutual_information"
    symbol: ClassVar[str] = "I({a}; {b})"


@dataclass(frozen=True)
class SymmetricUncertainty(InformationMeasure):
    """Symmetrical uncertainty SU(X,Y) = 2 I(X;Y) / (H(X) + H(Y)), between 0 and 1.

    Parameters
    ----------
    threshold : float, default=0.0
        A feature is relevant when its uncertainty with the class is above this.
    alpha : float, optional
        Gate by a G-squared test at this level instead.

    Examples
    --------
    >>> import numpy as np
    >>> SymmetricUncertainty().relevance(np.array([[0], [0], [1], [2]]), [0, 0, 1, 1]).value
    array([0.8])
    """

    name: ClassVar[str] = "symmetric_uncertainty"
    symbol: ClassVar[str] = "SU({a}, {b})"
    _symmetric: ClassVar[bool] = True


class InformationPanel(RowListPanel):
    """Kept discrete columns; a cell is one level of one column that is not its background."""

    def __init__(self, n_rows: int, measure: InformationMeasure) -> None:
        super().__init__(n_rows, with_numbers=False)
        self.measure = measure
        self._slot_cells = np.zeros(1, dtype=np.int64)
        self._cell_counts = np.zeros(0, dtype=np.int64)
        self._entropy = np.zeros(0, dtype=np.int64)
        self._n_levels = np.zeros(0, dtype=np.int64)

    @property
    def mean_n_levels(self) -> float:
        """Mean number of distinct values per kept column."""
        return float(self._n_levels[self._live].mean()) if len(self) else np.nan

    def prepare(self, block: ColumnBlock, picks: npt.NDArray[np.intp]) -> CodedColumns:
        """Code the picked columns."""
        return code_columns(block, picks)

    def between(self, column: CodedColumn) -> Floats:
        """Return the strength of a coded column with every kept column, oldest first."""
        table, unit = table_of(self.n_rows)
        out = np.zeros(len(self._alive), dtype=np.int64)
        pair_information(
            column.rows, column.codes, column.level_counts, column.entropy, *self._lists(),
            table, self.n_rows, out,
        )  # fmt: skip
        self.pairs += len(self._live)
        units, h_x = unit * self.n_rows, self._entropy[self._live]
        return self.measure._pair_values(out[self._live], h_x, column.entropy, units)

    def between_many(self, columns: CodedColumns, lo: int, hi: int) -> Floats:
        """Return the strength of coded columns lo..hi-1 with every kept column, oldest first."""
        table, unit = table_of(self.n_rows)
        out = np.zeros((hi - lo, len(self._alive)), dtype=np.int64)
        c, lists = columns, self._lists()
        over_columns(
            lambda a, b: pair_information_many(
                c.indptr, c.rows, c.codes, c.level_pointers, c.level_counts, c.entropies,
                lo + a, lo + b, *lists, table, self.n_rows, lo, out,
            ),
            c.indptr[lo : hi + 1] + len(self) * np.arange(hi - lo + 1),
        )  # fmt: skip
        self.pairs += out.shape[0] * len(self._live)
        units, h_x = unit * self.n_rows, self._entropy[self._live]
        return self.measure._pair_values(
            out[:, self._live], h_x, columns.entropies[lo:hi, None], units
        )

    def against(self, columns: CodedColumns, one: int, picks: Ints) -> Floats:
        """Return the strength of coded column `one` with those at `picks`, kept or not."""
        table, unit = table_of(self.n_rows)
        c, mine = columns, columns[one]
        spread = np.zeros(self.n_rows, dtype=np.int32)
        spread[mine.rows] = mine.codes
        out = np.empty(len(picks), dtype=np.int64)
        over_columns(
            lambda lo, hi: information_with_one(
                spread, mine.level_counts, mine.entropy, c.indptr, c.rows, c.codes,
                c.level_pointers, c.entropies, c.widest, picks, lo, hi, table, self.n_rows, out,
            ),
            np.arange(len(picks) + 1) * (c.indptr[-1] // len(c)),
        )  # fmt: skip
        self.pairs += len(picks)
        units = unit * self.n_rows
        return self.measure._pair_values(out, c.entropies[picks], mine.entropy, units)

    def _lists(self) -> tuple[Any, ...]:
        return (
            self._heads, self._nodes, self._slot_cells, self._cell_counts, self._entropy,
            self._alive,
        )  # fmt: skip

    def cutoffs(self, column: CodedColumn) -> Floats:
        """Return the cutoff of each strength."""
        df = (self._n_levels[self._live] - 1) * (column.n_levels - 1)
        bits = self.measure._bits(df, self.n_rows)
        if self.measure.alpha is None or not self.measure._symmetric:
            return bits
        unit = table_of(self.n_rows)[1]
        total = np.maximum(self._entropy[self._live] + column.entropy, 1)
        return bits * 2.0 * unit * self.n_rows / total

    def add(self, column: CodedColumn) -> None:
        """Keep a coded column."""
        first = self._slot_cells[-1]
        cells = (column.codes + (first - 1)).astype(np.int32)
        self._hang(column.rows, cells, np.empty(0))
        width = len(column.level_counts) - 1
        self._slot_cells = np.append(self._slot_cells, first + width)
        self._cell_counts = np.append(self._cell_counts, column.level_counts[1:])
        self._entropy = np.append(self._entropy, column.entropy)
        self._n_levels = np.append(self._n_levels, column.n_levels)

    def _forget_dead(self) -> npt.NDArray[np.int32]:
        widths = np.diff(self._slot_cells)
        cell_lives = np.repeat(self._alive, widths)
        self._slot_cells = np.concatenate([[0], np.cumsum(widths[self._live])])
        self._cell_counts = self._cell_counts[cell_lives]
        self._entropy = self._entropy[self._live]
        self._n_levels = self._n_levels[self._live]
        return np.where(cell_lives, np.cumsum(cell_lives) - 1, -1).astype(np.int32)


def need_classes(measure: Measure, target: Target) -> None:
    """Raise one sentence for a regression target."""
    if not target.is_classes:
        raise InputError(
            f"{type(measure).__name__} needs classes, and y holds real numbers (an unknown label "
            "type for it): use FisherZ(), or turn y into classes"
        )


def count_relevance(
    block: ColumnBlock,
    target: Target,
    table: Ints,
    units: float,
    symmetric: bool,
    cutoff_table: Floats,
    result: Strength,
) -> bool:
    """Compute the information of every column with the class, divided by `units`, and its cutoff.

    Cutoffs come from `cutoff_table` by number of levels. Returns True if a column has more levels
    than that: its cutoff is then minus their number.
    """
    assert target.codes is not None
    n, many = block.n_rows, np.zeros(1, dtype=np.bool_)
    form = (target.codes, target.counts, table, units, symmetric, cutoff_table)
    into = (result.value, result.cutoff, many)
    if isinstance(block.values, Compressed):
        v = block.values
        over_columns(
            lambda lo, hi: relevance_compressed(v.indptr, v.indices, v.data, *form, lo, hi, *into),
            v.indptr,
        )
    else:
        dense = np.asfortranarray(block.values)
        over_columns(
            lambda lo, hi: relevance_dense(dense, *form, lo, hi, *into),
            np.arange(block.width + 1, dtype=np.int64) * n,
        )
    return bool(many[0])


@lru_cache(maxsize=16)
def _quantiles(alpha: float) -> Floats:
    """Return chi-square quantiles for 0, 1, 2, ... degrees of freedom, cached."""
    freedom = np.arange(1024)
    quantiles: Floats = np.where(freedom > 0, chdtri(np.maximum(freedom, 1), alpha), 0.0)
    return quantiles


@lru_cache(maxsize=16)
def _cutoffs(measure: InformationMeasure, n_rows: int, n_classes: int) -> Floats:
    """Return `InformationMeasure._cutoff_table`, computed once for all blocks."""
    df = (np.arange(FEW) - 1) * (n_classes - 1)
    table = measure._bits(np.maximum(df, 0), n_rows)
    table[0] = 0.0 if measure.alpha is None else 1.0
    return table
