"""Correlation with Fisher's z test, for continuous columns and for targets of any kind.

The strength is |r|. A column counts as dependent on the target when a valid p-value is at most
alpha (`tamis.measures.p_values`), or with ``statistic="z"`` when Fisher's z is significant:
sqrt(n - 3) atanh|r| is above the normal quantile at 1 - alpha/2, that is, |r| is above
tanh(quantile / sqrt(n - 3)). Two columns are always compared by z.

With more than two classes the strength towards the class is the multiple correlation with the class
indicators, R = sqrt(between-class / total sum of squares), which equals |r| for two classes and
does not depend on how classes are numbered. Its cutoff is that of the F test with (k-1, n-k)
degrees of freedom: Fisher's z would call almost every feature relevant when there are many classes,
because R grows with k by chance alone.

Given a set S of m columns, the test uses the partial correlation r(x, y | S) and n - m - 3; with
more than two classes, R is the partial multiple correlation with the indicators (the share of the
variance of x that S leaves and the indicators explain), and its F test has (k-1, n-m-k) degrees of
freedom. m counts the columns of S that are not collinear with others in it. A column of which S
leaves less than 1e-10 of the variance is collinear with S: it is redundant, whatever the target.

With sample weights or covariates Z the strength is the weighted partial correlation given Z, and
the test is that of weighted least squares of the target on 1, Z and the column: the t test of its
coefficient with n - q - 2 degrees of freedom, where q is the rank of Z (more than two classes: the
F test of the column on Z and the indicators). With valid p-values the larger one of that test and
another counts (`tamis.measures.p_values.p_values_given`). Rows with weight 0 do not count.
Strengths between columns are partial correlations given Z as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, fdtrc, ndtr, ndtri

from tamis.core.blocks import ColumnBlock
from tamis.core.growable import without
from tamis.core.params import Number, OneOf, check
from tamis.core.target import Target
from tamis.kernels.correlation import centre, dense_relevance, pair_correlation, relevance
from tamis.kernels.lanes import LANES
from tamis.kernels.one_to_many import correlation_with_one
from tamis.kernels.partial import COLLINEAR, separate, target_products
from tamis.kernels.threads import over_columns
from tamis.kernels.walk import walk_correlations
from tamis.measures.adjusted import AdjustedPanel, Adjustment, adjusted_relevance, adjustment_of
from tamis.measures.conditional import UNRELIABLE, ConditionalPanel
from tamis.measures.measure import (
    Floats,
    Ints,
    Measure,
    Panel,
    Prepared,
    Strength,
    Tested,
    ready_target,
    together,
)
from tamis.measures.p_values import (
    NO_ONES,
    TESTS,
    gate_by_p,
    p_values_given,
    p_values_of_numbers,
    sentences,
)
from tamis.measures.panels import MORE_NODES, ROOM, RowListPanel, Walk, compressed


@dataclass(frozen=True)
class FisherZ(Measure):
    """Absolute correlation, gated by a valid p-value or by Fisher's z test.

    Parameters
    ----------
    alpha : float, default=0.01
        Level of the test.
    classes : {"indicator", "numeric"}, default="indicator"
        How a class target enters: as indicators, or as its number (the authors' program; with more
        than two classes the answer then depends on the numbering).
    unreliable : {"independent", "skip", "dependent"}, default="independent"
        What a test with too few rows counts as (n - m - 3 < 1, or n - m - k < 1 with k > 2
        classes): independence; nothing, so that it neither separates a feature from the target nor
        admits one; dependence.
    statistic : {"exact", "z"}, default="exact"
        The test of a column against the target: one whose p-values are valid for flags, sparse
        numbers, rare classes and few rows, too (docs/trust.md); or Fisher's z, and F for more than
        two classes, as in the papers. Conditional tests always use the latter.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [2.0, -1.0], [3.0, 0.5], [4.0, 1.5]])
    >>> FisherZ().relevance(X, [0.5, 1.1, 1.4, 2.1]).value.round(3)
    array([0.99 , 0.028])
    """

    alpha: float = 0.01
    classes: str = "indicator"
    unreliable: str = field(default="independent", repr=False)
    statistic: str = field(default="exact", repr=False)

    name: ClassVar[str] = "fisher_z"
    kind: ClassVar[str] = "continuous"
    symbol: ClassVar[str] = "|r({a}, {b})|"
    resolution: ClassVar[float] = 1e-12
    symmetric: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True
    takes_given: ClassVar[bool] = True
    tests: ClassVar[tuple[str, ...]] = TESTS

    def __post_init__(self) -> None:
        check("FisherZ", "alpha", self.alpha, Number(0, 1, open_low=True, open_high=True))
        check("FisherZ", "classes", self.classes, OneOf(("indicator", "numeric")))
        check("FisherZ", "statistic", self.statistic, OneOf(("exact", "z")))
        check("FisherZ", "unreliable", self.unreliable, OneOf(UNRELIABLE))

    def gate(self) -> str:
        """Describe the cutoff in a few words, for explanations."""
        return f"the {100 * self.alpha:g}% level of its test"

    def relevance(self, columns: Any, target: Any, out: Strength | None = None) -> Strength:
        """Return the strength of every column towards the target."""
        block = ColumnBlock.of(columns)
        encoded = ready_target(target, block.n_rows)
        result = Strength.room(block.width) if out is None else out.part(block.width)
        gate = self.target_cutoff(encoded)
        if math.isinf(gate) and self.unreliable == "dependent":
            gate = -1.0
        adjustment, ones = self._adjustment(encoded), NO_ONES
        exact = self.statistic == "exact" and 0 <= gate < math.inf
        if adjustment is not None:
            adjusted_relevance(block, adjustment, gate, result)
        else:
            ones = self._correlate(block, encoded, gate, result, counted=exact)
        if exact:
            tested = self._test(block, encoded, result, self.alpha, ones)
            return gate_by_p(result, tested, self.alpha, 1.0)
        return result

    def _correlate(
        self, block: ColumnBlock, target: Target, gate: float, result: Strength, *, counted: bool
    ) -> Ints:
        """Compute strengths and cutoffs; return counts for the exact tests if they are wanted."""
        form = self._target_form(target)
        kernel: Any = dense_relevance
        # Whole numbers are widened, rather than that the kernel is compiled once more for them.
        is_float = block.narrow is not None and block.narrow.dtype.kind == "f"
        arrays: Any = (block.flat if is_float else block.entries,)
        if block.is_sparse:
            kernel, arrays = relevance, block.arrays[1:]
        ones = np.empty(block.width, np.int64) if counted else NO_ONES
        into = (result.value, result.cutoff, ones)
        over_columns(lambda lo, hi: kernel(*arrays, *form, gate, lo, hi, *into), block.spans)
        return ones

    def tested(self, block: ColumnBlock, target: Target, bound: float = 1.0) -> Tested:
        """Return the strength and the p-value of every column of a block."""
        adjustment, ones = self._adjustment(target), NO_ONES
        strength, gate = Strength.room(block.width), self.target_cutoff(target)
        if adjustment is not None:
            adjusted_relevance(block, adjustment, gate, strength)
        else:
            ones = self._correlate(block, target, gate, strength, counted=True)
        return self._test(block, target, strength, bound, ones)

    def _test(
        self,
        block: ColumnBlock,
        target: Target,
        strength: Strength,
        bound: float,
        ones: Ints = NO_ONES,
    ) -> Tested:
        by_classes = target.codes is not None and (
            self.classes == "indicator" or target.n_classes == 2
        )
        adjustment = self._adjustment(target)
        if adjustment is not None:
            return p_values_given(block, target, adjustment, strength, bound, by_classes=by_classes)
        return p_values_of_numbers(block, target, strength, bound, ones, by_classes=by_classes)

    def with_paper_statistic(self) -> FisherZ:
        """Return the measure with Fisher's z test in place of valid p-values."""
        return replace(self, statistic="z")

    def panel(self, target: Target) -> CorrelationPanel | AdjustedPanel:
        """Return an empty panel of kept columns."""
        adjustment = self._adjustment(target)
        if adjustment is not None:
            return AdjustedPanel(target.n_rows, self, adjustment)
        return CorrelationPanel(target.n_rows, self)

    def cutoff(self, n: int) -> float:
        """Return the |r| above which two columns of n rows count as dependent; inf below 4 rows."""
        if n - 3 < 1:
            return math.inf
        # The lower quantile, negated: 1 - alpha/2 would be 1 for tiny levels.
        return math.tanh(-float(ndtri(self.alpha / 2)) / math.sqrt(n - 3))

    def conditional_panel(self, target: Target) -> PartialCorrelations:
        """Return an empty panel that makes conditional tests."""
        adjustment = self._adjustment(target)
        if adjustment is not None:
            return AdjustedPartialPanel(target, self, adjustment)
        return PartialCorrelationPanel(target, self)

    def under(self, unreliable: str) -> FisherZ:
        """Return the same measure with another rule for tests with too few rows."""
        return replace(self, unreliable=unreliable)

    def template_fields(self, target: Target) -> dict[str, str]:
        """Return the texts that explanations by this measure need."""
        several, adjusted = self._by_indicators(target), self._adjustment(target) is not None
        letter = "t" if adjusted else "z"
        test = "R={value}, F={statistic}" if several else f"|r|={{value}}, {letter}={{statistic}}"
        exact = sentences(self.alpha) if self.statistic == "exact" else {}
        return {**super().template_fields(target), **exact, "test": test + ", p={p}"}

    def target_cutoff(self, target: Target, given: int = 0) -> float:
        """Return the strength above which a column depends on this target, given others."""
        adjustment = self._adjustment(target)
        if adjustment is not None:
            return adjustment.cutoff(self.alpha, adjustment.n_targets, given)
        if not self._by_indicators(target):
            return self.cutoff(target.n_rows - given)
        k, rest = target.n_classes, target.n_rows - given - target.n_classes
        if rest < 1:
            return math.inf
        # The F test in terms of R: without dependence 1 - R^2 is beta distributed.
        return math.sqrt(1.0 - float(betaincinv(rest / 2, (k - 1) / 2, self.alpha)))

    def target_test(
        self, target: Target, strength: float, given: int = 0
    ) -> tuple[float, float, float]:
        """Return statistic, degrees of freedom and p-value of a strength, given so many columns."""
        adjustment = self._adjustment(target)
        if adjustment is not None:
            return adjustment.test(strength, given)
        if not self._by_indicators(target):
            df = target.n_rows - given - 3
            z = math.sqrt(df) * math.atanh(strength) if strength < 1 else math.inf
            return z, df, 2 * float(ndtr(-z))
        k, rest = target.n_classes, target.n_rows - given - target.n_classes
        unexplained = 1 - strength**2
        f = strength**2 / (k - 1) / (unexplained / rest) if unexplained > 0 else math.inf
        return f, k - 1, float(fdtrc(k - 1, rest, f))

    def target_basis(self, target: Target) -> Floats:
        """Return the target as orthonormal centred columns: one, or one fewer than classes.

        With classes, column j contrasts class j + 1 with all the classes before it.
        """
        if not self._by_indicators(target):
            centred = target.values - target.values.mean()
            norm = math.sqrt(float(np.add.reduce(centred * centred)))
            basis: Floats = (centred / norm if norm > 0 else centred).reshape(-1, 1)
            return basis
        counts = target.counts.astype(np.float64)
        before = np.cumsum(counts)[:-1]
        contrasts = np.zeros((len(counts), len(counts) - 1))
        for j, (earlier, own) in enumerate(zip(before, counts[1:], strict=True)):
            norm = math.sqrt(1 / earlier + 1 / own)
            contrasts[: j + 1, j] = -1 / earlier / norm
            contrasts[j + 1, j] = 1 / own / norm
        return np.ascontiguousarray(contrasts[target.codes])

    def _by_indicators(self, target: Target) -> bool:
        return target.n_classes > 2 and self.classes == "indicator"

    def _adjustment(self, target: Target) -> Adjustment | None:
        """Return what weighted least squares needs, or None without weights and covariates."""
        if target.weights is None and target.given is None:
            return None
        return adjustment_of(target, self._by_indicators(target))

    def _target_form(self, target: Target) -> tuple[npt.NDArray[Any], ...]:
        """Return (groups, weights, totals, norms) for the kernel."""
        if target.codes is not None and self.classes == "indicator":
            counts = target.counts.astype(np.float64)
            return target.codes, np.empty(0), counts, counts
        centred = target.values - target.values.mean()
        norm = float(centred @ centred) if np.ptp(target.values) > 0 else 0.0
        groups = np.zeros(target.n_rows, dtype=np.int32)
        return groups, centred, np.zeros(1), np.array([norm])


@dataclass(frozen=True, eq=False)
class CentredColumns(Prepared):
    """Columns prepared for products: whole and centred, or their nonzeros and their mean."""

    arrays: ClassVar[Mapping[str, str | None]] = {
        "rows": "indptr",
        "values": "indptr",
        "means": None,
        "squares": None,
    }

    indptr: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int32]
    values: Floats
    means: Floats
    squares: Floats

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the row numbers if all columns are whole: that is a third of the bytes."""
        n = int(self.indptr[1]) if len(self) else 0
        whole = n and np.array_equal(self.rows[: self.indptr[-1]], _all_rows(n, len(self)))
        return vars(self) | {"rows": n} if whole else vars(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore it, with all rows of whole columns."""
        if isinstance(n := state["rows"], int):
            state = state | {"rows": _all_rows(n, len(state["means"]))}
        self.__dict__.update(state)


def _all_rows(n: int, times: int) -> npt.NDArray[np.int32]:
    return np.tile(np.arange(n, dtype=np.int32), times)


class CorrelationPanel(RowListPanel):
    """Kept continuous columns: whole ones in tiles, others as lists by row.

    In a list a cell is a slot, with the value as its number. See `tamis.kernels.correlation`.
    """

    slot_types: ClassVar[Mapping[str, Any]] = {
        "mean": np.float64,
        "squares": np.float64,
        "lane": np.int64,
    }
    with_numbers: ClassVar[bool] = True
    walks: ClassVar[bool] = True

    measure: FisherZ

    def __init__(self, n_rows: int, measure: Any) -> None:
        super().__init__(n_rows, measure)
        self._tiles, self._used_lanes = np.zeros(0), 0

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_tiles": self._tiles_in_use()}

    def prepare(self, block: ColumnBlock, picks: npt.NDArray[np.intp]) -> CentredColumns:
        """Prepare the picked columns."""
        v = compressed(block, picks)
        n, width = block.n_rows, len(v)
        lengths = np.diff(v.indptr)
        room = int(np.where(2 * lengths > n, n, lengths).sum())
        indptr = np.zeros(width + 1, np.int64)
        rows, values = np.empty(room, np.int32), np.empty(room)
        means, squares = np.empty(width), np.empty(width)
        centre(v.indptr, v.indices, v.data, n, indptr, rows, values, means, squares)
        return CentredColumns(indptr, rows, values, means, squares)

    def between_many(self, columns: CentredColumns, lo: int, hi: int) -> Floats:
        """Return the strength of prepared columns lo..hi-1 with every kept column, oldest first."""
        self.pairs += (hi - lo) * len(self._live)
        return np.abs(self.signed(columns, lo, hi))

    def signed(self, columns: CentredColumns, lo: int, hi: int) -> Floats:
        """Return the correlation of prepared columns lo..hi-1 with every kept column."""
        out = np.zeros((hi - lo, len(self._alive)))
        c, kept = columns, (*self._lists(), self.n_rows)
        new = (c.indptr, c.rows, c.values, c.means, c.squares)
        if hi - lo == 1:
            pair_correlation(*new, lo, hi, *kept, lo, out)
        else:
            over_columns(
                lambda a, b: pair_correlation(*new, lo + a, lo + b, *kept, lo, out),
                c.indptr[lo : hi + 1] + len(self) * np.arange(hi - lo + 1),
            )
        return out.take(self._live, axis=1)

    def against(self, columns: CentredColumns, one: int, picks: Ints) -> Floats:
        """Return the strength of prepared column `one` with those at `picks`, kept or not."""
        c, mine = columns, columns[one]
        spread = np.zeros(self.n_rows)
        spread[mine.rows] = mine.values
        out = np.empty(len(picks))
        over_columns(
            lambda lo, hi: correlation_with_one(
                spread, mine.means, mine.squares, c.indptr, c.rows, c.values, c.means,
                c.squares, picks, lo, hi, self.n_rows, out,
            ),
            np.arange(len(picks) + 1) * (c.indptr[-1] // len(c)),
        )  # fmt: skip
        self.pairs += len(picks)
        return out

    def _tiles_in_use(self) -> Floats:
        return self._tiles[: -(-self._used_lanes // LANES) * LANES * self.n_rows]

    def _lists(self) -> tuple[Any, ...]:
        n, slots = len(self._alive), self._slots
        return (
            self._heads, self._nodes, self._numbers, self._tiles_in_use(), slots["mean"][:n],
            slots["squares"][:n], slots["lane"][:n], self._alive,
        )  # fmt: skip

    def cutoffs(self, column: Any) -> Floats:
        """Return the cutoff of each strength."""
        return np.full(len(self._live), self.measure.cutoff(self.n_rows))

    def add(self, column: Any) -> None:
        """Keep a prepared column."""
        CorrelationPanel.add_many(self, together([column]))

    def add_many(self, columns: CentredColumns) -> None:
        """Keep all columns of a prepared set, one after the other."""
        n, lengths = self.n_rows, np.diff(columns.indptr)
        rows, values = (array[: columns.indptr[-1]] for array in (columns.rows, columns.values))
        whole, lanes = (lengths == n) & (n > 0), np.full(len(columns), -1)
        if whole.any():
            first, self._used_lanes = self._used_lanes, self._used_lanes + int(whole.sum())
            self._room_for_lanes(self._used_lanes)
            lanes[whole] = mine = np.arange(first, self._used_lanes)
            tiles = self._tiles.reshape(-1, n, LANES)
            if whole.all():  # as nearly always: no values are sorted out
                tiles[mine // LANES, :, mine % LANES] = values.reshape(-1, n)
                rows, values = rows[:0], values[:0]
            else:
                listed = np.repeat(~whole, lengths)
                tiles[mine // LANES, :, mine % LANES] = values[~listed].reshape(-1, n)
                rows, values = rows[listed], values[listed]
        cells = np.repeat(np.arange(len(columns)), np.where(whole, 0, lengths))
        of_slot = {"mean": columns.means, "squares": columns.squares, "lane": lanes}
        self._hang(rows, cells, values, np.ones(len(columns), np.int64), of_slot)

    def _run_walk(
        self, columns: Any, first: int, last: int, walk: Walk, kept: Any, counts: Ints, events: Any
    ) -> int:
        c, of_slot, room = columns, self._slots, len(kept[0])
        lengths = np.diff(c.indptr[first : last + 1])
        if lengths.max() == self.n_rows:
            self._room_for_lanes(self._used_lanes + min(room - len(self._alive), ROOM))
        listed = lengths[lengths < self.n_rows]
        if len(listed):
            self._room_for_nodes(self._used + max(int(listed.max()), MORE_NODES))
        counts[1] = self._used_lanes
        stop = walk_correlations(
            (c.indptr, c.rows, c.values, c.means, c.squares), walk.about, first, last,
            (self._heads, self._nodes, self._numbers, self._tiles),
            (of_slot["mean"], of_slot["squares"], of_slot["lane"]), kept, counts, self.n_rows,
            walk.groups, walk.rule, events,
        )  # fmt: skip
        self._used_lanes = int(counts[1])
        self._slot_cells = np.arange(counts[0] + 1)
        return int(stop)

    def _room_for_lanes(self, count: int) -> None:
        """Make room for so many whole columns."""
        tiles, size = -(-count // LANES), self.n_rows * LANES
        if tiles * size > len(self._tiles):
            more = np.zeros(max(tiles, 3 * len(self._tiles) // (2 * size)) * size)
            more[: len(self._tiles)] = self._tiles
            self._tiles = more

    def _forget_dead(self) -> None:
        """Remove the slots of dropped columns."""
        super()._forget_dead()
        lanes = self._slots["lane"]
        whole, tiles = np.flatnonzero(lanes >= 0), self._tiles.reshape(-1, self.n_rows, LANES)
        stay, mine = lanes[whole], np.arange(len(whole))
        # Moved in place. What is left behind them is never read, but by products nobody looks at.
        tiles[mine // LANES, :, mine % LANES] = tiles[stay // LANES, :, stay % LANES]
        self._used_lanes = len(whole)
        lanes[whole] = mine


class PartialCorrelations(ConditionalPanel):
    """Conditional tests from correlations of kept columns among each other and with the target.

    Rows and columns 0..t-1 of `_correlations` are the target; then the kept columns, oldest first;
    then the newcomer. A row is computed once, when its column is considered.
    """

    measure: FisherZ
    target: Target

    def _begin_tests(self, target: Target, basis: Floats) -> None:
        """Start with an orthonormal basis of the target."""
        self.target, self._basis = target, basis
        self.tests, self.refused = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._n_targets = self._basis.shape[1]
        self._correlations = np.eye(self._n_targets + 1)
        self._cutoffs_given = np.zeros(0)
        self._considered: Any = None

    def consider(self, column: Any) -> None:
        """Put a prepared column at position ``len(panel)`` until another one is considered."""
        if column is self._considered:
            return
        row = self._correlations[-1]
        target_products(
            column.rows, column.values, column.squares, self._basis, row[: self._n_targets]
        )
        row[self._n_targets : -1] = self.signed(column.columns, column.i, column.i + 1)[0]
        self._correlations[:, -1] = row
        self._considered = column

    def add(self, column: Any) -> None:
        """Keep a prepared column."""
        self.consider(column)
        super().add(column)  # type: ignore[safe-super]
        self._considered = None
        width = len(self._correlations)
        larger = np.eye(width + 1)
        larger[:width, :width] = self._correlations
        self._correlations = larger

    def drop(self, positions: npt.NDArray[np.intp]) -> None:
        """Drop the kept columns at these positions (0 is the oldest)."""
        super().drop(positions)  # type: ignore[safe-super]
        rest = without(np.arange(len(self._correlations)), positions + self._n_targets)
        self._correlations = self._correlations[np.ix_(rest, rest)]

    def _search(
        self, x: int, among: Ints, including: int, smallest: int, largest: int, given: Ints
    ) -> tuple[int, tuple[Any, ...]]:
        numbers, first = np.full(4, np.nan), self._n_targets
        for m in range(len(self._cutoffs_given), largest + 1):
            level = self.measure.target_cutoff(self.target, m)
            self._cutoffs_given = np.append(self._cutoffs_given, level)
        size = separate(
            self._correlations, first, first + x, first + among,
            first + including if including >= 0 else -1, smallest, largest, self._cutoffs_given,
            self.measure.unreliable == "independent", self.tests, self.refused, given, numbers,
            self.limit,
        )  # fmt: skip
        strength, rank, level, variance = numbers.tolist()
        if variance < COLLINEAR or math.isnan(level):
            nothing, collinear = (math.nan,) * 5, variance < COLLINEAR
            return size, (*nothing, not collinear, collinear)
        return size, (strength, level, *self.measure.target_test(self.target, strength, int(rank)))

    if TYPE_CHECKING:

        def signed(self, columns: Any, lo: int, hi: int) -> Floats:
            """Return the correlation of prepared columns lo..hi-1 with every kept column."""


class PartialCorrelationPanel(PartialCorrelations, CorrelationPanel):
    """Kept continuous columns that make conditional tests."""

    add_many = Panel.add_many  # each is compared with those before it

    def __init__(self, target: Target, measure: FisherZ) -> None:
        super().__init__(target.n_rows, measure)
        self._begin_tests(target, measure.target_basis(target))


class AdjustedPartialPanel(PartialCorrelations, AdjustedPanel):
    """Kept columns, adjusted for weights and covariates, that make conditional tests."""

    def __init__(self, target: Target, measure: FisherZ, adjustment: Adjustment) -> None:
        super().__init__(target.n_rows, measure, adjustment)
        self._begin_tests(target, np.ascontiguousarray(adjustment.targets.T))
