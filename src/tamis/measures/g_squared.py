"""Tests of independence on counts: G-squared and Pearson's chi-square, plain and conditional.

The strength is the statistic itself. With counts N and expected counts E = row * column / total in
every stratum of the columns given,

* G-squared = 2 sum N ln(N/E) over cells with N > 0;
* Pearson's = sum d^2/E over cells with E > 0, d = N - E, or |N - E| - 1/2 where E < 10.

The cutoff is the chi-square quantile at 1 - alpha for df = (r_x - 1)(r_y - 1) times the product of
the levels r_s of the columns given, at least 1: a statistic above it has p < alpha. (p = alpha
cannot occur: the quantile is neither a sum of logarithms of whole numbers nor a fraction.)

A test with fewer than 5 rows per degree of freedom is refused; `unreliable` sets what it counts as.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, chdtri

from tamis.core.blocks import ColumnBlock
from tamis.core.growable import with_one, without
from tamis.core.params import Number, OneOf, check
from tamis.core.target import Target
from tamis.kernels.contingency import (
    LEVELS,
    OBSERVED,
    ROWS_A_DEGREE,
    SPIRTES,
    dense_codes,
    pair_statistics,
    relevance_coded,
    separate,
)
from tamis.kernels.information import entropy_table
from tamis.kernels.threads import over_columns
from tamis.measures.conditional import UNRELIABLE, ConditionalPanel
from tamis.measures.measure import Floats, Ints, Measure, Strength, Tested, ready_target
from tamis.measures.mutual_information import FEW, count_relevance
from tamis.measures.p_values import NO_ONES, TESTS, gate_by_p, p_values_of_categories, sentences
from tamis.measures.panels import CodedColumns, code_columns

#: The rules for degrees of freedom, by name.
DEGREES = {"levels": LEVELS, "observed": OBSERVED, "spirtes": SPIRTES}


@dataclass(frozen=True)
class GSquared(Measure):
    """The statistic of a test of independence on counts, gated by the test.

    Parameters
    ----------
    alpha : float, default=0.01
        Level of the test.
    statistic : {"exact", "g2", "pearson"}, default="exact"
        G-squared, 2 n ln 2 times the mutual information in bits, where columns are tested against
        the class with valid p-values, exact for flags and rare values (docs/trust.md); the same
        with the chi-square law; or Pearson's chi-square with half a row subtracted in small cells,
        as in the authors' program. Conditional tests always use the chi-square law.
    degrees : {"levels", "observed", "spirtes"}, default="levels"
        Degrees of freedom from the levels alone; or, in each stratum, from the levels that occur
        there, which finds more where strata are small; or one fewer per empty cell, and none for
        strata that do not occur (a heuristic of Spirtes, Glymour and Scheines).
    unreliable : {"independent", "skip", "dependent"}, default="independent"
        What a test with fewer than 5 rows per degree of freedom counts as: independence; nothing,
        so that it neither separates a feature from the class nor admits one; dependence.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 1], [0, 0], [1, 1], [1, 0]] * 5)
    >>> strength = GSquared().relevance(X, [0, 0, 1, 1] * 5)
    >>> strength.value.round(2), strength.dependent
    (array([27.73,  0.  ]), array([ True, False]))
    """

    alpha: float = 0.01
    statistic: str = "exact"
    degrees: str = "levels"
    unreliable: str = "independent"

    name: ClassVar[str] = "g_squared"
    kind: ClassVar[str] = "discrete"
    needs_classes: ClassVar[bool] = True
    symbol: ClassVar[str] = "G2({a}; {b})"
    tests: ClassVar[tuple[str, ...]] = TESTS

    def __post_init__(self) -> None:
        check("GSquared", "alpha", self.alpha, Number(0, 1, open_low=True, open_high=True))
        check("GSquared", "statistic", self.statistic, OneOf(("exact", "g2", "pearson")))
        check("GSquared", "degrees", self.degrees, OneOf(tuple(DEGREES)))
        check("GSquared", "unreliable", self.unreliable, OneOf(UNRELIABLE))

    def gate(self) -> str:
        """Describe the cutoff in a few words, for explanations."""
        test = {"exact": "exact", "g2": "G-squared", "pearson": "chi-square"}[self.statistic]
        return f"the {100 * self.alpha:g}% level of its {test} test"

    def template_fields(self, target: Target) -> dict[str, str]:
        """Return the texts that explanations by this measure need."""
        fields = super().template_fields(target)
        symbol = "chi2" if self.statistic == "pearson" else "G2"
        if self.statistic == "exact":
            fields |= sentences(self.alpha)
        fields["relevance_symbol"] = f"{symbol}({{name}}; {fields['target']})"
        fields["pair_symbol"] = f"{symbol}({{name}}; {{because}})"
        fields["test"] = f"{symbol}={{value}} on {{df}} degrees of freedom, p={{p}}"
        return fields

    def under(self, unreliable: str) -> GSquared:
        """Return the same measure with another rule for tests with too few rows."""
        return replace(self, unreliable=unreliable)

    def relevance(self, columns: Any, target: Any, out: Strength | None = None) -> Strength:
        """Return the statistic of every column with the class."""
        block = ColumnBlock.of(columns)
        encoded = ready_target(target, block.n_rows, self.needs_classes)
        self.check_target(encoded)
        result = Strength.room(block.width) if out is None else out.part(block.width)
        if self.statistic != "pearson" and self.degrees != "spirtes":
            n, groups = block.n_rows, encoded.n_classes
            table, unit = _table(n)
            ones = np.empty(block.width, np.int64)
            form = (table, unit, False, _few(self, n, groups), result, ones)
            if count_relevance(block, encoded, *form):
                many = np.flatnonzero(result.cutoff <= -FEW)
                result.cutoff[many] = self.cutoffs_for(-result.cutoff[many], groups, n)
            return self._gated(block, encoded, result, ones)
        c = code_columns(block, np.arange(block.width))
        over_columns(
            lambda lo, hi: relevance_coded(
                c.indptr, c.rows, c.codes, c.level_pointers, c.level_counts, encoded.codes,
                encoded.counts, *self.form(block.n_rows), self.refused_cutoff, lo, hi,
                result.value, result.cutoff,
            ),
            c.indptr,
        )  # fmt: skip
        return self._gated(block, encoded, result)

    def _gated(
        self, block: ColumnBlock, target: Target, result: Strength, ones: Ints = NO_ONES
    ) -> Strength:
        """Replace the cutoffs by those of valid p-values, unless the chi-square law is wanted."""
        if self.statistic != "exact":
            return result
        tested = p_values_of_categories(block, target, result, 1.0, self.alpha, ones)
        most = 2 * block.n_rows * math.log(max(target.n_classes, 2))
        return gate_by_p(result, tested, self.alpha, most)

    def with_paper_statistic(self) -> GSquared:
        """Return the measure with the chi-square law in place of valid p-values."""
        return replace(self, statistic="g2") if self.statistic == "exact" else self

    def tested(self, block: ColumnBlock, target: Target, bound: float = 1.0) -> Tested:
        """Return the statistic and the p-value of every column of a block."""
        plain = self.with_paper_statistic().relevance(block, target)
        g_squared = plain
        if self.statistic == "pearson":
            g_squared = GSquared(statistic="g2").relevance(block, target)
        return replace(
            p_values_of_categories(block, target, g_squared, 1.0, bound), value=plain.value
        )

    def panel(self, target: Target) -> GSquaredPanel:
        """Return an empty panel of kept columns."""
        return GSquaredPanel(target, self)

    conditional_panel = panel

    def cutoffs_for(self, n_levels: npt.NDArray[Any], groups: int, n: int) -> Floats:
        """Return the cutoffs of columns by their number of levels (not by Spirtes' rule)."""
        df = np.maximum(1, (n_levels - 1) * (groups - 1)).astype(np.int64)
        critical = _critical(self.alpha, n)
        made: Floats = critical[np.minimum(df, len(critical) - 1)]
        return np.where(n < ROWS_A_DEGREE * df, self.refused_cutoff, made)

    @property
    def refused_cutoff(self) -> float:
        """The cutoff of a refused test: nothing is above infinity, everything above -1."""
        return -1.0 if self.unreliable == "dependent" else math.inf

    def form(self, n: int) -> tuple[Any, ...]:
        """Return (table, unit, pearson, rule for degrees of freedom, critical) for the kernels."""
        return (
            *_table(n), self.statistic == "pearson", DEGREES[self.degrees],
            _critical(self.alpha, n),
        )  # fmt: skip


class GSquaredPanel(ConditionalPanel):
    """Kept discrete columns as dense level codes, one slot each, with a spare for a newcomer."""

    def __init__(self, target: Target, measure: GSquared) -> None:
        self.measure = measure
        self.target = target
        self.pairs = 0
        self.tests, self.refused = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._codes = np.zeros((1, target.n_rows), np.int32)
        self._n_levels = np.ones(1, np.int64)
        #: The slots of the kept columns, oldest first, and last the spare one; and unused slots.
        self._slots = np.zeros(1, np.int64)
        self._unused: list[int] = []
        self._considered: Any = None
        self._form = measure.form(target.n_rows)

    def __len__(self) -> int:
        return len(self._slots) - 1

    prepare = staticmethod(code_columns)

    def between_many(self, columns: CodedColumns, lo: int, hi: int) -> Floats:
        """Return the statistic of coded columns lo..hi-1 with every kept column, oldest first."""
        self.pairs += (hi - lo) * len(self)
        return np.array([self._pairs(columns[i])[0] for i in range(lo, hi)]).reshape(hi - lo, -1)

    def cutoffs(self, column: Any) -> Floats:
        """Return the cutoff of each statistic."""
        return self._pairs(column)[1]

    def _pairs(self, column: Any) -> tuple[Floats, Floats]:
        self.consider(column)
        value, cutoff = np.empty(len(self)), np.empty(len(self))
        pair_statistics(
            self._codes, self._n_levels, self._slots[-1], self._slots[:-1], *self._form,
            self.measure.refused_cutoff, value, cutoff,
        )  # fmt: skip
        return value, cutoff

    def add(self, column: Any) -> None:
        """Keep a coded column."""
        self.consider(column)
        self._considered = None
        if not self._unused:
            slots = len(self._n_levels)
            self._unused = list(range(2 * slots - 1, slots - 1, -1))
            self._codes = np.concatenate([self._codes, np.zeros_like(self._codes)])
            self._n_levels = np.concatenate([self._n_levels, np.ones_like(self._n_levels)])
        self._slots = with_one(self._slots, self._unused.pop())

    def drop(self, positions: npt.NDArray[np.intp]) -> None:
        """Drop the kept columns at these positions (0 is the oldest)."""
        self._unused += self._slots[positions].tolist()
        self._slots = without(self._slots, positions)

    def consider(self, column: Any) -> None:
        """Put a coded column at position ``len(panel)`` until another one is considered."""
        if column is not self._considered:
            spare = self._slots[-1]
            self._n_levels[spare] = dense_codes(
                column.rows, column.codes, column.level_counts, self._codes[spare]
            )
            self._considered = column

    def _search(
        self, x: int, among: Ints, including: int, smallest: int, largest: int, given: Ints
    ) -> tuple[int, tuple[Any, ...]]:
        slots, numbers = self._slots, np.full(3, np.nan)
        size = separate(
            self._codes, self._n_levels, slots[x], self.target.codes, self.target.n_classes,
            slots[among], slots[including] if including >= 0 else -1, smallest, largest,
            *self._form, self.measure.unreliable == "independent", self.tests, self.refused, given,
            numbers, self.limit,
        )  # fmt: skip
        statistic, df, cutoff = numbers.tolist()
        refused = math.isnan(cutoff)
        p = math.nan if refused else float(chdtrc(df, statistic))
        return size, (statistic, cutoff, statistic, df, p, refused)


@lru_cache(maxsize=4)
def _table(n: int) -> tuple[Ints, float]:
    """Return the entropy table of n rows, and its units per unit of G-squared.

    A sum has few kinds of cells and margins, so it fits in 63 bits. With extended
    precision it is good to about 1e-13 of G-squared.
    """
    table, unit = entropy_table(n, 60 if np.finfo(np.longdouble).nmant >= 60 else 52)
    return table, unit / (2.0 * math.log(2.0))


@lru_cache(maxsize=4)
def _critical(alpha: float, n: int) -> Floats:
    """Return chi-square quantiles by degrees of freedom, up to what n rows allow."""
    df = np.arange(max(2, n // ROWS_A_DEGREE + 1), dtype=np.float64)
    quantiles: Floats = chdtri(np.maximum(df, 1.0), alpha)
    return quantiles


@lru_cache(maxsize=16)
def _few(measure: GSquared, n: int, groups: int) -> Floats:
    """Return the cutoffs of columns of 0 to FEW - 1 levels; entry 0 marks them as unscaled."""
    cutoffs = measure.cutoffs_for(np.arange(FEW), groups, n)
    cutoffs[0] = 0.0
    return cutoffs
