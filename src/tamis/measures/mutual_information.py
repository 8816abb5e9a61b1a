"""Mutual information and symmetrical uncertainty of discrete columns, in bits.

I(X;Y) = H(X) + H(Y) - H(X,Y) and SU(X,Y) = 2 I(X;Y) / (H(X) + H(Y)), with plug-in probabilities and
no bias correction. A plug-in estimate is above 0 for almost every feature, so there are two gates:

* ``threshold``: the value must be above it (the papers' gate, usually 0);
* ``alpha``: a test of the same counts must reject independence. ``statistic="exact"`` has valid
  p-values (`tamis.measures.p_values`); with ``statistic="g2"`` 2 n ln2 I is compared with the
  chi-square quantile for (levels - 1)(classes - 1) degrees of freedom.

A value smaller than the rounding of its own sum (about 1e-14 bits) is 0.

With sample weights a row counts as often as its weight says: counts are sums of weights, and n is
the sum of all. Given covariates, which must be categories, I(X;Y|Z) and the entropies given Z take
the place of I and H, where Z is their joint category. The test is then that of the sum over the
categories of their G-squared statistics, with the sum of their degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from tamis.core.blocks import ColumnBlock
from tamis.core.errors import ParameterError
from tamis.core.params import Number, OneOf, check, inherit_docs
from tamis.core.target import Target
from tamis.kernels.information import (
    dense_relevance,
    pair_information,
    relevance,
    relevance_by_value,
)
from tamis.kernels.one_to_many import information_with_one
from tamis.kernels.threads import over_columns
from tamis.kernels.walk import FEW_SETS, walk_information
from tamis.measures.measure import (
    Floats,
    Ints,
    Measure,
    Strength,
    Tested,
    ready_target,
    together,
)
from tamis.measures.p_values import (
    NO_ONES,
    TESTS,
    gate_by_p,
    p_values_of_categories,
    sentences,
)
from tamis.measures.panels import (
    MORE_NODES,
    ROOM,
    CodedColumns,
    RowListPanel,
    Walk,
    code_columns,
    roomy,
    table_of,
)
from tamis.measures.stratified import StratifiedPanel, stratified_relevance

#: Cutoffs are tabulated for columns with fewer levels than this.
FEW = 64


@dataclass(frozen=True)
class InformationMeasure(Measure):
    """Base of both measures: counting, cutoffs, panels.

    Parameters
    ----------
    threshold : float, default=0.0
        A feature is relevant when its strength with the class is above this.
    alpha : float, optional
        Gate by a test of independence at this level instead.
    statistic : {"exact", "g2"}, default="exact"
        That test: one with valid p-values, exact for flags and rare values (docs/trust.md); or
        G-squared with the chi-square law, as in the papers.
    """

    threshold: float = 0.0
    alpha: float | None = None
    statistic: str = field(default="exact", repr=False)

    kind: ClassVar[str] = "discrete"
    needs_classes: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True
    takes_given: ClassVar[bool] = True
    tests: ClassVar[tuple[str, ...]] = TESTS
    _symmetric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check(owner, "threshold", self.threshold, Number(0))
        check(owner, "alpha", self.alpha, (Number(0, 1, open_low=True, open_high=True), None))
        check(owner, "statistic", self.statistic, OneOf(("exact", "g2")))
        if self.alpha is not None and self.threshold != 0.0:
            raise ParameterError(f"{owner}: give threshold or alpha, not both")

    def for_adjusted(self, target: Target) -> Self:
        """Return the measure as it is used with such a target: sums of weights are rounded."""
        if target.weights is None and target.given is None:
            return self
        rounded = replace(self)
        object.__setattr__(rounded, "resolution", 1e-12)
        return rounded

    def gate(self) -> str:
        """Describe the cutoff in a few words, for explanations."""
        if self.alpha is None:
            return "the threshold"
        test = "exact" if self.statistic == "exact" else "G-squared"
        return f"the {100 * self.alpha:g}% level of its {test} test"

    def template_fields(self, target: Target) -> dict[str, str]:
        """Return the texts that explanations by this measure need."""
        fields = super().template_fields(target)
        if self.alpha is None or self.statistic != "exact":
            return fields
        return fields | sentences(self.alpha)

    def with_paper_statistic(self) -> Self:
        """Return the measure with the G-squared test in place of valid p-values."""
        return replace(self, statistic="g2")

    def relevance(self, columns: Any, target: Any, out: Strength | None = None) -> Strength:
        """Return the strength of every column towards the class."""
        block = ColumnBlock.of(columns)
        encoded = ready_target(target, block.n_rows, self.needs_classes)
        self.check_target(encoded)
        result = Strength.room(block.width) if out is None else out.part(block.width)
        alpha = self.alpha if self.statistic == "exact" else None
        if encoded.weights is not None or encoded.given is not None:
            tested = stratified_relevance(self, block, encoded, result, exact=alpha is not None)
        else:
            ones = self._measure(block, encoded, result)
            if alpha is not None:
                tested = self._test(block, encoded, result, alpha, ones)
        if alpha is None:
            return result
        return gate_by_p(result, tested, alpha, math.log2(max(encoded.n_classes, 2)))

    def _measure(self, block: ColumnBlock, target: Target, result: Strength) -> Ints:
        """Compute strengths and the cutoffs of G-squared; return counts for the exact tests."""
        n, groups = block.n_rows, target.n_classes
        (table, unit), cutoffs = table_of(n), _cutoffs(self, n, groups)
        ones = np.empty(block.width, np.int64)
        form = (table, unit * n, self._symmetric, cutoffs, result, ones)
        if count_relevance(block, target, *form):
            many = np.flatnonzero(result.cutoff < 0)
            bits = self._bits((-result.cutoff[many] - 1) * (groups - 1), n)
            if self._symmetric and self.alpha is not None:
                total = code_columns(block, many).entropies + table[n] - table[target.counts].sum()
                bits *= 2.0 * unit * n / total
            result.cutoff[many] = bits
        return ones

    def tested(self, block: ColumnBlock, target: Target, bound: float = 1.0) -> Tested:
        """Return the strength and the p-value of every column of a block."""
        strength = Strength.room(block.width)
        if target.weights is not None or target.given is not None:
            return stratified_relevance(self, block, target, strength, exact=True)
        self.check_target(target)
        ones = replace(self, alpha=None, threshold=0.0)._measure(block, target, strength)
        return self._test(block, target, strength, bound, ones)

    def _test(
        self,
        block: ColumnBlock,
        target: Target,
        strength: Strength,
        bound: float,
        ones: Ints = NO_ONES,
    ) -> Tested:
        bits = MutualInformation().relevance(block, target) if self._symmetric else strength
        g_squared = 2 * target.n_rows * math.log(2.0)
        tested = p_values_of_categories(block, target, bits, g_squared, bound, ones)
        return replace(tested, value=strength.value)

    def panel(self, target: Target) -> InformationPanel | StratifiedPanel:
        """Return an empty panel of kept columns."""
        if target.weights is not None or target.given is not None:
            return StratifiedPanel(target, self)
        return InformationPanel(target.n_rows, self)

    def _bits(self, df: npt.NDArray[Any], n: float) -> Floats:
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

    def pair_values(self, information: Ints, h_x: Any, h_y: Any, units: float) -> Floats:
        """Return strengths from n I, n H(X) and n H(Y) in table units."""
        if not self._symmetric:
            bits: Floats = information / units
            return bits
        share: Floats = np.zeros(information.shape)
        np.divide(2.0 * information, h_x + h_y, out=share, where=h_x + h_y > 0)
        return share


@dataclass(frozen=True)
class MutualInformation(InformationMeasure):
    """Mutual information I(X;Y) in bits.

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

    Examples
    --------
    >>> import numpy as np
    >>> SymmetricUncertainty().relevance(np.array([[0], [0], [1], [2]]), [0, 0, 1, 1]).value
    array([0.8])
    """

    name: ClassVar[str] = "symmetric_uncertainty"
    symbol: ClassVar[str] = "SU({a}, {b})"
    _symmetric: ClassVar[bool] = True


for _kind in (MutualInformation, SymmetricUncertainty):
    _names = ("threshold", "alpha", "statistic")
    _kind.__doc__ = inherit_docs(_kind.__doc__ or "", [InformationMeasure], _names)


class InformationPanel(RowListPanel):
    """Kept discrete columns; a cell is one level of one column that is not its background."""

    slot_types: ClassVar[Mapping[str, Any]] = {"entropy": np.int64, "n_levels": np.int64}
    cell_types: ClassVar[Mapping[str, Any]] = {"counts": np.int64, "set": np.int64}
    walks: ClassVar[bool] = True

    measure: InformationMeasure

    #: Levels as sets of rows, for walks, and how many there are.
    _words: npt.NDArray[np.uint64] = np.zeros(0, np.uint64)
    _used_sets: int = 0

    @property
    def mean_n_levels(self) -> float:
        """Mean number of distinct values per kept column."""
        return float(self._slots["n_levels"][self._live].mean()) if len(self) else np.nan

    prepare = staticmethod(code_columns)

    def between_many(self, columns: CodedColumns, lo: int, hi: int) -> Floats:
        """Return the strength of coded columns lo..hi-1 with every kept column, oldest first."""
        table, unit = table_of(self.n_rows)
        out = np.zeros((hi - lo, len(self._alive)), dtype=np.int64)
        c, entropy = columns, self._slots["entropy"]
        new = (c.indptr, c.rows, c.codes, c.level_pointers, c.level_counts, c.entropies)
        kept = (
            self._heads, self._nodes, self._slot_cells, self._cells["counts"], entropy,
            self._alive, table, self.n_rows,
        )  # fmt: skip
        if hi - lo == 1:
            pair_information(*new, lo, hi, *kept, lo, out)
        else:
            over_columns(
                lambda a, b: pair_information(*new, lo + a, lo + b, *kept, lo, out),
                c.indptr[lo : hi + 1] + len(self) * np.arange(hi - lo + 1),
            )
        self.pairs += (hi - lo) * len(self._live)
        information, units = out.take(self._live, axis=1), unit * self.n_rows
        if not self.measure._symmetric:
            return self.measure.pair_values(information, 0, 0, units)
        h_x, h_y = entropy.take(self._live), c.entropies[lo:hi, None]
        return self.measure.pair_values(information, h_x, h_y, units)

    def against(self, columns: CodedColumns, one: int, picks: Ints) -> Floats:
        """Return the strength of coded column `one` with those at `picks`, kept or not."""
        table, unit = table_of(self.n_rows)
        c, mine = columns, columns[one]
        spread = np.zeros(self.n_rows, dtype=np.int32)
        spread[mine.rows] = mine.codes
        out = np.empty(len(picks), dtype=np.int64)
        over_columns(
            lambda lo, hi: information_with_one(
                spread, mine.level_counts, mine.entropies, c.indptr, c.rows, c.codes,
                c.level_pointers, c.entropies, c.widest, picks, lo, hi, table, self.n_rows, out,
            ),
            np.arange(len(picks) + 1) * (c.indptr[-1] // len(c)),
        )  # fmt: skip
        self.pairs += len(picks)
        return self.measure.pair_values(out, c.entropies[picks], mine.entropies, unit * self.n_rows)

    def cutoffs(self, column: Any) -> Floats:
        """Return the cutoff of each strength."""
        n_levels = np.count_nonzero(column.level_counts)
        df = (self._slots["n_levels"][self._live] - 1) * (n_levels - 1)
        bits = self.measure._bits(df, self.n_rows)
        if self.measure.alpha is None or not self.measure._symmetric:
            return bits
        unit = table_of(self.n_rows)[1]
        total = np.maximum(self._slots["entropy"][self._live] + column.entropies, 1)
        scaled: Floats = bits * 2.0 * unit * self.n_rows / total
        return scaled

    def add(self, column: Any) -> None:
        """Keep a coded column."""
        InformationPanel.add_many(self, together([column]))

    def add_many(self, columns: CodedColumns) -> None:
        """Keep all columns of a coded set, one after the other."""
        pointers, used = columns.level_pointers, columns.indptr[-1]
        counts, n_cells = columns.level_counts[: pointers[-1]], np.diff(pointers) - 1
        n_levels = np.add.reduceat((counts != 0).astype(np.int64), pointers[:-1])
        first = self._slot_cells[-1]
        before = np.repeat(np.cumsum(n_cells) - n_cells, np.diff(columns.indptr))
        self._hang(
            columns.rows[:used], columns.codes[:used] - 1 + before, np.empty(0), n_cells,
            {"entropy": columns.entropies, "n_levels": n_levels},
        )  # fmt: skip
        others = np.delete(counts, pointers[:-1])  # the background has no cell
        self._put(self._cells, "counts", first, others, len(others))
        self._put(self._cells, "set", first, -1, len(others))

    def _run_walk(
        self, columns: Any, first: int, last: int, walk: Walk, kept: Any, counts: Ints, events: Any
    ) -> int:
        c, room = columns, len(kept[0])
        n_words = -(-self.n_rows // 64)
        widths, lengths = np.diff(c.level_pointers[first : last + 1]) - 1, np.diff(c.indptr)
        slot_cells = np.empty(room + 1, np.int64)
        slot_cells[: len(self._slot_cells)] = self._slot_cells
        used, more = int(self._slot_cells[-1]), max(int(widths.max()), 4 * ROOM)
        cells = {name: roomy(array, used, used + more) for name, array in self._cells.items()}
        in_use = self._used_sets * n_words
        words = roomy(self._words, in_use, in_use + max(FEW_SETS, ROOM) * n_words)
        self._room_for_nodes(self._used + max(int(lengths[first:last].max()), MORE_NODES))
        counts[1] = self._used_sets
        table, unit = table_of(self.n_rows)
        stop = walk_information(
            (c.indptr, c.rows, c.codes, c.level_pointers, c.level_counts, c.entropies),
            walk.about, first, last, (self._heads, self._nodes, words),
            (slot_cells, self._slots["entropy"], self._slots["n_levels"]), kept,
            (cells["counts"], cells["set"]), counts, self.n_rows, walk.groups,
            walk.rule, (table, unit * self.n_rows, self.measure._symmetric), events,
        )  # fmt: skip
        self._words, self._used_sets, self._cells = words, int(counts[1]), cells
        self._slot_cells = slot_cells[: counts[0] + 1]
        return int(stop)

    def __getstate__(self) -> dict[str, Any]:
        in_use = self._used_sets * -(-self.n_rows // 64)
        return super().__getstate__() | {"_words": self._words[:in_use]}

    def _forget_dead(self) -> None:
        """Remove the slots of dropped columns."""
        super()._forget_dead()
        sets = self._cells["set"]
        there = np.flatnonzero(sets >= 0)
        n_words = -(-self.n_rows // 64)
        words = self._words[: self._used_sets * n_words].reshape(-1, max(1, n_words))
        self._words, self._used_sets = words[sets[there]].reshape(-1), len(there)
        sets[there] = np.arange(len(there))


def count_relevance(
    block: ColumnBlock,
    target: Target,
    table: Ints,
    units: float,
    symmetric: bool,
    cutoff_table: Floats,
    result: Strength,
    ones: Ints,
) -> bool:
    """Compute the information of every column with the class, divided by `units`, and its cutoff.

    Cutoffs come from `cutoff_table` by number of levels. Returns True if a column has more levels
    than that: its cutoff is then minus their number. `ones` is for `p_values_of_categories`.
    """
    left = np.zeros(2, dtype=np.bool_)
    kernel: Any = dense_relevance
    # Fractions, which have no few levels, are widened: see `FisherZ`.
    is_short = block.narrow is not None and block.narrow.dtype.kind == "i"
    arrays: Any = (block.flat if is_short else block.entries,)
    if block.is_sparse:
        kernel, arrays = relevance, block.arrays[1:]
    form = (target.codes, target.counts, table, units, symmetric, cutoff_table)
    into = (result.value, result.cutoff, left, ones)
    over_columns(lambda lo, hi: kernel(*arrays, *form, lo, hi, *into), block.spans)
    if left[1]:
        others, spans = np.flatnonzero(result.value < 0.0), block.spans
        over_columns(
            lambda lo, hi: relevance_by_value(*block.arrays, others, *form, lo, hi, *into),
            np.concatenate([[0], np.cumsum((spans[1:] - spans[:-1])[others])]),
        )
    return bool(left[0])


@lru_cache(maxsize=16)
def _quantiles(alpha: float) -> Floats:
    """Return chi-square quantiles for 0, 1, 2, ... degrees of freedom, cached."""
    freedom = np.arange(1024)
    quantiles: Floats = np.where(freedom > 0, chdtri(np.maximum(freedom, 1), alpha), 0.0)
    return quantiles


@lru_cache(maxsize=16)
def _cutoffs(measure: InformationMeasure, n_rows: int, n_classes: int) -> Floats:
    """Return the cutoffs for 0 to FEW levels; entry 0 is set if they come from tests."""
    df = (np.arange(FEW) - 1) * (n_classes - 1)
    table = measure._bits(np.maximum(df, 0), n_rows)
    table[0] = 0.0 if measure.alpha is None else 1.0
    return table
