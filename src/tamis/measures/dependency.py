"""Neighbourhood dependency: how far neighbouring rows, on a set of features, agree in class.

dep(B) is the mean over rows of the share of a row's neighbours that have its label, and is 0 for no
features. Distances are Euclidean, with each column divided by its sample standard deviation. The
number of neighbours of a row follows from the distances themselves (`RULES`).

Rounding decides nothing:

* a squared difference is rounded to an integer number of units (2^-36 for 600 rows, 2^-30 for
  20,000), so distances are exact sums, whatever features were added and dropped before, and
  distances that are mathematically equal are equal here;
* a dependency is stored as counts, a fraction, and two of them are compared as fractions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.errors import InputError
from tamis.core.target import Target
from tamis.kernels.column_entries import list_column
from tamis.kernels.line import alone, alone_columns, room
from tamis.kernels.neighbours import (
    ENDS_FALLING,
    ENDS_RISING,
    GAP,
    add_column,
    mean_in_order,
    mean_share,
    set_shares,
)
from tamis.kernels.threads import over_columns
from tamis.measures.measure import Floats

Counts = npt.NDArray[np.int64]

#: Where a neighbourhood ends: at a gap of 1.5 times the mean gap, or where d_k/k turns.
RULES = {"gap": GAP, "density falls": ENDS_FALLING, "density rises": ENDS_RISING}

#: All distances between pairs of rows are in memory, which limits the number of rows.
MOST_ROWS = 20_000

#: Distances are integers that must not overflow, which limits the number of features.
MOST_FEATURES = 2**16 - 1

#: Dependencies as floats are much more accurate than this.
ROUNDING = 1e-9

_NO_COLUMN = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Dependency:
    """A dependency as a fraction, sum of ``shares[k] / k`` over n, and as a float."""

    shares: Counts
    value: float


@dataclass(frozen=True, eq=False)
class LineColumn:
    """One column, prepared as a coordinate, and its dependency alone.

    `values` times `factor` is the column in standard deviations, in square roots of a unit.
    """

    feature: int
    values: Floats
    factor: float
    alone: Dependency


class Neighbourhoods:
    """The distances between all rows on a set of columns, and the resulting dependency.

    Cost: adding, dropping or trying a column is O(n^2), for any number of columns (O(n^2 log n) at
    worst for the density rules). Memory: 8 n^2 bytes of distances, and the columns.

    Parameters
    ----------
    target : Target
        Classes.
    rule : {"gap", "density falls", "density rises"}
        Where a neighbourhood ends.
    program : bool
        Follow the authors' programs: treat the first row at distance 0 as the row itself, so
        that a row with an earlier copy is its own neighbour, and the copy is not; and let the last
        bits decide between distances, or dependencies, that are mathematically equal.
    """

    def __init__(self, target: Target, rule: str, *, program: bool = False) -> None:
        n = target.n_rows
        if target.codes is None:
            raise InputError(
                "neighbourhood dependency needs classes, but the target is a number; "
                "group it into classes, or use SAOLA with FisherZ, which takes numbers"
            )
        if n > MOST_ROWS:
            raise InputError(
                f"the distances between all pairs of {n:,} rows would take "
                f"{8 * n * n / 1e9:,.1f} GB; at most {MOST_ROWS:,} rows "
                f"({8 * MOST_ROWS**2 / 1e9:.1f} GB) are supported: sample the rows, or use "
                "SAOLA, which stores no distances"
            )
        self._form = (target.codes, target.counts)
        # The square of a difference is at most 2(n - 1); an even number of bits for its fraction.
        bits = (63 - 16 - math.ceil(math.log2(max(2, 2 * (n - 1))))) // 2 * 2
        self._how = (2.0 ** (bits // 2), RULES[rule], program)
        self._n = n
        self._squares: Counts | None = None
        self.program = program
        self.nothing = Dependency(np.zeros(n, np.int64), 0.0)
        self.columns: list[LineColumn] = []
        self.computed = 0

    def __len__(self) -> int:
        return len(self.columns)

    # --- one column ------------------------------------------------------------------------

    def alone(self, block: ColumnBlock) -> Floats:
        """Return dep of every column of a block alone; -1 for constant columns."""
        out, arrays = np.empty(block.width), block.arrays
        over_columns(
            lambda lo, hi: alone_columns(*arrays, *self._form, *self._how, lo, hi, out),
            # Few entries can mean many levels, and the cost grows with pairs of levels.
            8 * block.spans,
        )
        return out

    def ready(self, block: ColumnBlock, j: int) -> LineColumn:
        """Prepare column j of a block, which must not be constant, for `add`."""
        n = self._n
        rows, values = np.empty(n, np.int32), np.empty(n)
        count = list_column(*block.arrays, n, j, 0.0, rows, values)
        scaled, shares = np.empty(n), np.empty(n, np.int64)
        value, factor = alone(
            rows, values, count, *self._form, *self._how, room(n, len(self._form[1])), scaled,
            shares,
        )  # fmt: skip
        column = np.zeros(n)
        column[rows[:count]] = scaled[:count]
        return LineColumn(block.first + j, column, factor, Dependency(shares, value))

    # --- the set ---------------------------------------------------------------------------

    def dependency(
        self, plus: LineColumn | None = None, minus: LineColumn | None = None
    ) -> Dependency:
        """Return dep of the held columns, plus one and minus one of them."""
        columns = [c for c in (*self.columns, *([plus] if plus else [])) if c is not minus]
        if not columns:
            return self.nothing
        if len(columns) == 1:
            return columns[0].alone
        self.computed += 1
        squares, parts, share = self._distances(), [], np.empty(self._n)
        more = (plus.values, plus.factor) if plus else (_NO_COLUMN, 0.0)
        less = (minus.values, minus.factor) if minus else (_NO_COLUMN, 0.0)
        how = (self._form[0], *self._how[1:], len(columns))

        def count(lo: int, hi: int) -> None:
            part = np.zeros(self._n, np.int64)
            set_shares(squares, *more, *less, *how, lo, hi, part, share)
            parts.append(part)

        over_columns(count, self._by_row())
        shares = np.add.reduce(parts)
        return Dependency(shares, mean_in_order(share) if self.program else mean_share(shares))

    def compare(self, one: Dependency, other: Dependency) -> int:
        """Return -1, 0 or 1 if one is less than, equal to or greater than the other."""
        if self.program:
            return (one.value > other.value) - (one.value < other.value)
        return sign((1, one.shares), (-1, other.shares))

    def add(self, column: LineColumn) -> None:
        """Add a column, in order of arrival."""
        if len(self) == MOST_FEATURES:
            raise InputError(f"at most {MOST_FEATURES:,} features can be kept by their distances")
        squares = self._distances()
        self.columns.append(column)
        self.columns.sort(key=lambda c: c.feature)
        self._change(squares, column, 1)

    def drop(self, column: LineColumn) -> None:
        """Drop a held column."""
        squares = self._distances()
        self.columns.remove(column)
        self._change(squares, column, -1)

    def _change(self, squares: Counts, column: LineColumn, sign: int) -> None:
        over_columns(
            lambda lo, hi: add_column(
                squares, column.values, column.factor, sign, self.program, lo, hi
            ),
            self._by_row(),
        )

    def _by_row(self) -> Counts:
        return self._n * np.arange(self._n + 1, dtype=np.int64)

    def _distances(self) -> Counts:
        if self._squares is None:
            self._squares = np.zeros((self._n, self._n), np.int64)
            for column in self.columns:
                self._change(self._squares, column, 1)
        return self._squares

    def __getstate__(self) -> dict[str, Any]:
        # Distances can be recomputed exactly from the columns, and are far larger.
        return {**self.__dict__, "_squares": None}


def sign(*terms: tuple[int, Counts]) -> int:
    """Return the exact sign of a sum of dependencies, each times an integer: -1, 0 or 1.

    >>> half, thirds = np.array([0, 0, 3, 0]), np.array([0, 0, 1, 3])   # 3/2, 1/2 + 3/3
    >>> sign((1, half), (-1, thirds))
    0
    """
    sizes = np.arange(1, len(terms[0][1]))
    parts = [times * counts[1:] / sizes for times, counts in terms]
    total = float(np.sum(parts))
    if abs(total) > ROUNDING * float(np.sum(np.abs(parts))):
        return 1 if total > 0 else -1
    exact = np.sum([times * counts[1:].astype(object) for times, counts in terms], axis=0)
    left = [(size, count) for size, count in enumerate(exact.tolist(), 1) if count]
    common = math.lcm(*(size for size, _ in left))
    numerator: int = sum(count * (common // size) for size, count in left)
    return (numerator > 0) - (numerator < 0)


def dependency(X: Any, y: Any, rule: str = "gap", *, program: bool = False) -> float:
    """Return dep of all columns of X together, without constant columns.

    >>> X = np.array([[1.0, 0], [2, 0], [3, 0], [10, 1], [11, 1], [12, 1]])
    >>> dependency(X, [0, 0, 0, 1, 1, 1])
    1.0
    """
    block = ColumnBlock.of(X)
    space = Neighbourhoods(Target.of(y, needs_classes=True), rule, program=program)
    for j in np.flatnonzero(space.alone(block) >= 0.0):
        space.add(space.ready(block, int(j)))
    return space.dependency().value
