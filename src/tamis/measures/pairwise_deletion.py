"""Mutual information of columns with missing values, by pairwise deletion."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from tamis.core.blocks import GAP, ColumnBlock
from tamis.core.errors import InputError, ParameterError
from tamis.core.target import Target
from tamis.kernels import gaps as kernel
from tamis.kernels.exact_tests import CHI_SQUARE
from tamis.kernels.gaps import pairs_gapped, relevance_gapped
from tamis.kernels.threads import over_columns
from tamis.measures.complete_pairs import CompletePairs
from tamis.measures.fisher_z import FisherZ
from tamis.measures.measure import Floats, Ints, Measure, Panel, Strength, Tested, ready_target
from tamis.measures.mutual_information import MutualInformation, SymmetricUncertainty
from tamis.measures.p_values import TESTS, KnownRows, gate_by_p, tested_as, tested_with_gaps
from tamis.measures.panels import GappedColumns, compressed, gapped_columns, table_of

#: The most cells a table of counts may have.
MOST_CELLS = 2**26


def deleting(measure: Measure, gap: float) -> Measure:
    """Return the measure that leaves out missing values pair by pair, or raise an error."""
    if isinstance(measure, PairwiseDeletion | CompletePairs):
        return measure
    if isinstance(measure, FisherZ):
        return CompletePairs(measure, gap)
    return PairwiseDeletion(measure, gap)


@dataclass(frozen=True)
class PairwiseDeletion(Measure):
    """An information measure that leaves out missing values, pair by pair.

    I(X;Y), its entropies, its cutoff and its number of rows are those of the rows where neither X
    nor Y is missing; without missing values they are those of the measure itself. Values of
    different pairs are based on different rows.

    Cost: the stored entries of two columns, and their table of counts, per pair. Memory: the stored
    entries of the kept columns.

    Parameters
    ----------
    measure : MutualInformation or SymmetricUncertainty
        The measure; for correlations see `CompletePairs`.
    gap : float
        The number that means missing, in columns of whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 1], [0, GAP], [1, 1], [1, GAP]])
    >>> PairwiseDeletion(MutualInformation()).relevance(X, [0, 0, 1, 1]).value
    array([1., 0.])
    """

    measure: Measure = field(default_factory=MutualInformation)
    gap: float = field(default=GAP, repr=False)

    name: ClassVar[str] = "pairwise_deletion"
    kind: ClassVar[str] = "discrete"
    symbol: ClassVar[str] = MutualInformation.symbol
    deletes_pairs: ClassVar[bool] = True
    tests: ClassVar[tuple[str, ...]] = TESTS

    def __post_init__(self) -> None:
        if not isinstance(self.measure, MutualInformation | SymmetricUncertainty):
            raise ParameterError(
                f"{type(self.measure).__name__} cannot leave out missing values pair by pair; "
                "FisherZ, MutualInformation and SymmetricUncertainty can, or use missing='category'"
            )

    def gate(self) -> str:
        """Describe the cutoff in a few words, for explanations."""
        return self.measure.gate()

    def template_fields(self, target: Target) -> dict[str, str]:
        """Return the texts that explanations by the measure itself need."""
        return self.measure.template_fields(target)

    def check_target(self, target: Target) -> None:
        """Raise an error for a regression target, sample weights or covariates."""
        super().check_target(target)
        self.measure.check_target(target)

    def relevance(self, columns: Any, target: Any, out: Strength | None = None) -> Strength:
        """Return the strength of every column towards the class."""
        block = ColumnBlock.of(columns).without_zeros()
        encoded = ready_target(target, block.n_rows, self.needs_classes)
        self.check_target(encoded)
        result = Strength.room(block.width) if out is None else out.part(block.width)
        pairs = self._measure(block, encoded, result)
        information: Any = self.measure
        if information.alpha is None or information.statistic != "exact":
            return result
        tested = self._test(block, encoded, result, pairs, information.alpha)
        most = math.log2(max(encoded.n_classes, 2))
        return gate_by_p(result, tested, information.alpha, most)

    def tested(self, block: ColumnBlock, target: Target, bound: float = 1.0) -> Tested:
        """Return the strength and the p-value of every column of a block."""
        self.check_target(target)
        block, strength = block.without_zeros(), Strength.room(block.width)
        pairs = self._measure(block, target, strength)
        return self._test(block, target, strength, pairs, bound)

    def _measure(self, block: ColumnBlock, target: Target, result: Strength) -> Ints:
        """Compute strengths and the cutoffs of G-squared; return the numbers of the kernel."""
        assert target.codes is not None
        c = gapped_columns(block, np.arange(block.width), self.gap)
        _refuse_many_levels(c.n_levels, target.n_classes)
        pairs = np.zeros((block.width, 6), dtype=np.int64)
        table, _ = table_of(block.n_rows)
        over_columns(
            lambda lo, hi: relevance_gapped(
                c.indptr, c.rows, c.codes, c.n_levels, c.gaps, target.codes, target.counts,
                table, lo, hi, pairs,
            ),
            c.indptr,
        )  # fmt: skip
        result.value[:], result.cutoff[:] = self.values(pairs, block.n_rows)
        result.cutoff[pairs[:, kernel.LEVELS_X] < 2] = np.nan
        return pairs

    def _test(
        self, block: ColumnBlock, target: Target, strength: Strength, pairs: Ints, bound: float
    ) -> Tested:
        classes = pairs[:, kernel.LEVELS_Y]
        df = (pairs[:, kernel.LEVELS_X] - 1) * (classes - 1)
        g_squared = 2 * math.log(2) * pairs[:, kernel.INFORMATION] / table_of(block.n_rows)[1]
        p = np.where(df > 0, chdtrc(np.maximum(df, 1), g_squared), 1.0)
        v = compressed(block, np.arange(block.width)).widened()
        entries = v.indptr - v.indptr[0], v.indices, v.data
        known = KnownRows(*entries, self.gap, pairs[:, kernel.ROWS], classes)
        return tested_with_gaps(
            self.measure, block, target, known, tested_as(strength, p, CHI_SQUARE), bound,
            by_classes=True, numbers=False,
        )  # fmt: skip

    def panel(self, target: Target) -> GappedPanel:
        """Return an empty panel of kept columns."""
        return GappedPanel(target.n_rows, self)

    def values(self, pairs: Ints, n_rows: int) -> tuple[Floats, Floats]:
        """Return strengths and cutoffs from the kernels' results about pairs (last axis)."""
        information: Any = self.measure
        unit = table_of(n_rows)[1]
        x, y = pairs[..., kernel.ENTROPY_X], pairs[..., kernel.ENTROPY_Y]
        rows = np.maximum(pairs[..., kernel.ROWS], 1)
        value = information.pair_values(pairs[..., kernel.INFORMATION], x, y, unit * rows)
        df = (pairs[..., kernel.LEVELS_X] - 1) * (pairs[..., kernel.LEVELS_Y] - 1)
        shape = df.shape
        cutoff = information._bits(np.maximum(df.ravel(), 0), rows.ravel()).reshape(shape)
        if information.alpha is not None and information._symmetric:
            cutoff = cutoff * 2.0 * unit * rows / np.maximum(x + y, 1)
        return value, cutoff


class GappedPanel(Panel):
    """Kept columns with missing values."""

    def __init__(self, n_rows: int, measure: PairwiseDeletion) -> None:
        self.n_rows, self.measure, self.pairs = n_rows, measure, 0
        nothing = np.zeros(0, dtype=np.int64)
        few = np.zeros(0, dtype=np.int32)
        self._kept = GappedColumns(np.zeros(1, dtype=np.int64), few, few, nothing, nothing)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def mean_n_levels(self) -> float:
        """Mean number of distinct values per kept column."""
        return self._kept.mean_n_levels if len(self) else np.nan

    def prepare(self, block: ColumnBlock, picks: npt.NDArray[np.intp]) -> GappedColumns:
        """Code the picked columns."""
        return gapped_columns(block.without_zeros(), picks, self.measure.gap)

    def between_many(self, columns: GappedColumns, lo: int, hi: int) -> Floats:
        """Return the strength of coded columns lo..hi-1 with every kept column, oldest first."""
        self.pairs += (hi - lo) * len(self)
        return self._compare(columns, lo, hi)[0]

    def cutoffs(self, column: Any) -> Floats:
        """Return the cutoff of each strength."""
        found: Floats = self._compare(column.columns, column.i, column.i + 1)[1][0]
        return found

    def add(self, column: Any) -> None:
        """Keep a coded column."""
        self._kept = GappedColumns.joined([self._kept, column.columns.pick([column.i])])

    def drop(self, positions: npt.NDArray[np.intp]) -> None:
        """Drop the kept columns at these positions (0 is the oldest)."""
        self._kept = self._kept.pick(np.delete(np.arange(len(self._kept)), positions))

    def _compare(self, c: GappedColumns, lo: int, hi: int) -> tuple[Floats, Floats]:
        """Return strengths and cutoffs of columns lo..hi-1 with every kept one."""
        k = self._kept
        _refuse_many_levels(c.n_levels[lo:hi], int(k.n_levels.max(initial=1)))
        pairs = np.zeros((hi - lo, len(k), 6), dtype=np.int64)
        table, _ = table_of(self.n_rows)
        over_columns(
            lambda a, b: pairs_gapped(
                c.indptr, c.rows, c.codes, c.n_levels, c.gaps, k.indptr, k.rows, k.codes,
                k.n_levels, k.gaps, table, self.n_rows, lo, a, b, pairs,
            ),
            np.arange(hi - lo + 1) * int(k.indptr[-1] + 1),
        )  # fmt: skip
        return self.measure.values(pairs, self.n_rows)


def _refuse_many_levels(n_levels: Ints, others: int) -> None:
    """Raise an error if tables of counts would not fit in memory."""
    if n_levels.max(initial=1) * others > MOST_CELLS:
        raise InputError(
            "columns have too many different values to be counted in pairs; turn them into "
            "categories with encode='mdlp' (--encode mdlp)"
        )
