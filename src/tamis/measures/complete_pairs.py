"""Correlation of columns with missing values, over complete pairs (pairwise deletion)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri

from tamis.core.blocks import GAP, ColumnBlock
from tamis.core.errors import ParameterError
from tamis.core.target import Target
from tamis.kernels import present_rows as kernel
from tamis.kernels.present_rows import (
    correlations_with_kept,
    correlations_with_one,
    relevance_present,
)
from tamis.kernels.threads import over_columns
from tamis.measures.fisher_z import FisherZ
from tamis.measures.measure import (
    Floats,
    Ints,
    Measure,
    Panel,
    Prepared,
    Strength,
    Tested,
    ready_target,
)
from tamis.measures.p_values import (
    F_TEST,
    T_TEST,
    TESTS,
    KnownRows,
    gate_by_p,
    tested_as,
    tested_with_gaps,
    variance_p_of,
)
from tamis.measures.panels import compressed


@dataclass(frozen=True)
class CompletePairs(Measure):
    """Correlation that leaves out missing values, pair by pair.

    The correlation of a column with the target, its cutoff and its degrees of freedom are those of
    the rows where the column is not missing; those of two columns are of the rows where neither is.
    Without missing values they are those of `FisherZ`. Values of different pairs are based on
    different rows.

    Cost: the stored entries of two columns, twice, per pair; a column with missing values costs one
    pass over the rows for its relevance. Memory: the stored entries of the kept columns.

    Parameters
    ----------
    measure : FisherZ
        The measure of complete columns.
    gap : float
        The number that means missing.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 1.0], [2.0, GAP], [3.0, 9.0], [4.0, GAP], [6.0, 2.0]])
    >>> CompletePairs().relevance(X, [0.5, 1.1, 1.4, 2.1, 2.8]).value.round(3)
    array([0.993, 0.01 ])
    """

    measure: FisherZ = field(default_factory=FisherZ)
    gap: float = field(default=GAP, repr=False)

    name: ClassVar[str] = "complete_pairs"
    kind: ClassVar[str] = FisherZ.kind
    symbol: ClassVar[str] = FisherZ.symbol
    resolution: ClassVar[float] = FisherZ.resolution
    deletes_pairs: ClassVar[bool] = True
    tests: ClassVar[tuple[str, ...]] = TESTS

    def __post_init__(self) -> None:
        if not isinstance(self.measure, FisherZ):
            raise ParameterError(f"CompletePairs takes FisherZ, not {type(self.measure).__name__}")

    def gate(self) -> str:
        """Describe the cutoff in a few words, for explanations."""
        return self.measure.gate()

    def template_fields(self, target: Target) -> dict[str, str]:
        """Return the texts that explanations by the measure itself need."""
        return self.measure.template_fields(target)

    def relevance(self, columns: Any, target: Any, out: Strength | None = None) -> Strength:
        """Return the strength of every column towards the target."""
        block = ColumnBlock.of(columns).without_zeros()
        encoded = ready_target(target, block.n_rows, self.needs_classes)
        result = Strength.room(block.width) if out is None else out.part(block.width)
        known = self._measure(block, encoded, result)
        odd = np.isinf(result.cutoff) | (result.cutoff < 0)
        if self.measure.statistic != "exact" or odd.all():
            return result
        there = result.cutoff.copy()
        tested = self._test(block, encoded, result, known, self.measure.alpha)
        gated = gate_by_p(result, tested, self.measure.alpha, 1.0)
        gated.cutoff[odd] = gated.logged[odd] = there[odd]
        return gated

    def tested(self, block: ColumnBlock, target: Target, bound: float = 1.0) -> Tested:
        """Return the strength and the p-value of every column of a block."""
        block, strength = block.without_zeros(), Strength.room(block.width)
        known = self._measure(block, target, strength)
        return self._test(block, target, strength, known, bound)

    def _measure(self, block: ColumnBlock, target: Target, result: Strength) -> KnownRows:
        """Compute strengths and the cutoffs of the papers' tests; return the rows that count."""
        v = _entries(block, np.arange(block.width))
        found = np.zeros((block.width, 2), dtype=np.int64)
        form = self.measure._target_form(target)
        over_columns(
            lambda lo, hi: relevance_present(
                v.indptr, v.rows, v.values, self.gap, *form, target.values, lo, hi,
                result.value, found,
            ),
            v.indptr,
        )  # fmt: skip
        rows, classes = found[:, kernel.ROWS], found[:, kernel.CLASSES]
        result.cutoff[:] = self.target_cutoffs(target, rows, classes)
        constant = result.value < 0
        result.value[constant], result.cutoff[constant] = 0.0, np.nan
        return KnownRows(v.indptr, v.rows, v.values, self.gap, rows, classes)

    def _test(
        self,
        block: ColumnBlock,
        target: Target,
        strength: Strength,
        known: KnownRows,
        bound: float,
    ) -> Tested:
        by_classes = target.codes is not None and (
            self.measure.classes == "indicator" or target.n_classes == 2
        )
        groups = np.maximum(known.n_classes, 2) if self.measure._by_indicators(target) else 2
        p = variance_p_of(strength.value, groups - 1, known.n_rows - groups)
        tested = tested_as(strength, p, T_TEST if np.max(groups, initial=2) == 2 else F_TEST)
        return tested_with_gaps(
            self.measure, block, target, known, tested, bound, by_classes=by_classes, numbers=True
        )

    def panel(self, target: Target) -> CompletePairsPanel:
        """Return an empty panel of kept columns."""
        return CompletePairsPanel(target.n_rows, self)

    def cutoffs(self, rows: Ints) -> Floats:
        """Return the |r| above which pairs of so many rows count as dependent; inf below 4 rows."""
        quantile = -float(ndtri(self.measure.alpha / 2))
        enough = rows > 3
        level: Floats = np.tanh(quantile / np.sqrt(np.where(enough, rows - 3, 1)))
        return np.where(enough, level, np.inf)

    def target_cutoffs(self, target: Target, rows: Ints, classes: Ints) -> Floats:
        """Return the strengths above which columns depend on the target, by rows and classes."""
        cutoff = self.cutoffs(rows)
        if self.measure._by_indicators(target):
            many = classes > 2
            rest, k = np.where(many, rows - classes, 1), np.where(many, classes, 3)
            share = betaincinv(np.maximum(rest, 1) / 2, (k - 1) / 2, self.measure.alpha)
            by_f = np.where(rest > 0, np.sqrt(1.0 - share), np.inf)
            cutoff = np.where(many, by_f, cutoff)
        if self.measure.unreliable == "dependent":
            cutoff = np.where(np.isinf(cutoff), -1.0, cutoff)
        return cutoff


@dataclass(frozen=True, eq=False)
class Entries(Prepared):
    """The entries of columns that are not zero, end to end; missing values are entries."""

    arrays: ClassVar[Mapping[str, str | None]] = {"rows": "indptr", "values": "indptr"}

    indptr: Ints
    rows: npt.NDArray[np.int32]
    values: Floats


def _entries(block: ColumnBlock, picks: npt.NDArray[np.intp]) -> Entries:
    v = compressed(block, picks).widened()
    return Entries(v.indptr - v.indptr[0], v.indices, v.data)


class CompletePairsPanel(Panel):
    """Kept columns with missing values."""

    def __init__(self, n_rows: int, measure: CompletePairs) -> None:
        self.n_rows, self.measure, self.pairs = n_rows, measure, 0
        self._kept = Entries(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))

    def __len__(self) -> int:
        return len(self._kept)

    def prepare(self, block: ColumnBlock, picks: npt.NDArray[np.intp]) -> Entries:
        """Return the picked columns without their zeros."""
        return _entries(block.without_zeros(), picks)

    def between_many(self, columns: Entries, lo: int, hi: int) -> Floats:
        """Return the strength of columns lo..hi-1 with every kept column, oldest first."""
        self.pairs += (hi - lo) * len(self)
        return np.abs(self._compare(columns, lo, hi)[0])

    def against(self, columns: Entries, one: int, picks: Ints) -> Floats:
        """Return the strength of column `one` with those at `picks`, kept or not."""
        c, out = columns, np.empty(len(picks))
        over_columns(
            lambda lo, hi: correlations_with_one(
                c.indptr, c.rows, c.values, one, picks, self.n_rows, self.measure.gap, lo, hi, out
            ),
            np.arange(len(picks) + 1) * int(2 * c.indptr[-1] // len(c) + 1),
        )
        self.pairs += len(picks)
        return np.abs(out)

    def cutoffs(self, column: Any) -> Floats:
        """Return the cutoff of each strength."""
        return self.measure.cutoffs(self._compare(column.columns, column.i, column.i + 1)[1][0])

    def add(self, column: Any) -> None:
        """Keep a column."""
        self._kept = Entries.joined([self._kept, column.columns.pick(np.array([column.i]))])

    def drop(self, positions: npt.NDArray[np.intp]) -> None:
        """Drop the kept columns at these positions (0 is the oldest)."""
        self._kept = self._kept.pick(np.delete(np.arange(len(self._kept)), positions))

    def _compare(self, c: Entries, lo: int, hi: int) -> tuple[Floats, Ints]:
        """Return correlations, and numbers of complete rows, of columns lo..hi-1 with the kept."""
        k = self._kept
        out = np.zeros((hi - lo, len(k)))
        counts = np.zeros((hi - lo, len(k)), dtype=np.int64)
        over_columns(
            lambda a, b: correlations_with_kept(
                c.indptr, c.rows, c.values, k.indptr, k.rows, k.values, self.n_rows,
                self.measure.gap, lo, a, b, out, counts,
            ),
            (c.indptr[lo : hi + 1] - c.indptr[lo]) * len(k)
            + np.arange(hi - lo + 1) * int(k.indptr[-1] + 1),
        )  # fmt: skip
        return out, counts
