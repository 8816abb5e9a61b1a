"""Dependence of any shape: ranks for what rises or falls, a few bins for everything else."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import groupby
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import betaincc, betaincinv

from tamis.core.blocks import ColumnBlock, has_no_order
from tamis.core.p_levels import level_of
from tamis.core.params import Number, check
from tamis.core.target import Target
from tamis.kernels.beta_tails import upper_tails
from tamis.kernels.bin_cells import least_of_cells
from tamis.kernels.exact_counts import MOST_MARKED, attained, exact_tests, law_of_counts
from tamis.kernels.rank_sums import rank_sum_tests
from tamis.kernels.shape_pairs import list_columns, pair_shapes
from tamis.kernels.shapes import (
    MOST_BINS,
    ROWS_A_BIN,
    relevance,
    shape_columns,
)
from tamis.kernels.threads import over_columns
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
from tamis.measures.panels import RowListPanel, compressed, roomy, table_of

#: Bins of a column of numbers, and of one with fewer than `FEW_ROWS` rows.
BINS, FEW_BINS, FEW_ROWS = 6, 3, 200

#: Below this, the law of the test of the bins is not trusted where counts are small.
FAR = 1e-3

#: Nor is that of the ranks where fewer rows off the background than this are expected in a class.
FEW_EXPECTED = 10

#: Up to this product of the number of rows and that of the rare class, the law of the ranks is
#: counted out, for columns whose approximate p-value is below the second number.
FEW_RANKS, UNLIKELY = 500, 0.02

#: The positions of the two tests in `AnyShape.tests`.
BY_RANKS, BY_BINS = 0, 1

#: Tests need fewer rows than strengths: so many for a bin.
ROWS_A_TESTED_BIN = 10

#: With fewer rows per class than this, on average, and fewer pairs of rows of the same class, the
#: statistics take so few values that their p-values cannot be trusted, and no column is relevant.
ROWS_A_CLASS, SAME_CLASS_PAIRS = 4, 150


@dataclass(frozen=True)
class AnyShape(Measure):
    """Dependence of any shape, gated by a valid p-value; for numbers, categories and words.

    A column enters twice: as ranks, for what rises or falls, and as a few bins of equal frequency,
    for everything else. Words and other categories enter as bins only. The relevance is the larger
    of sqrt(adjusted eta^2) of the ranks and sqrt(1 - exp(-2 I)) of the bins, where I is their
    information with the target in nats, minus its bias; the dependence of two columns is the
    larger of the rank correlation and the same function of their bins. A regression target is
    ranked and binned, too.

    The p-value is twice the smaller one of a rank test and of a test of the bins. Both use the mean
    and the variance over all permutations of the rows, which are known exactly, and rare values and
    rare classes get exact tests. So it is right with few rows, many classes, ties and heavy tails:
    see docs/any-shape.md.

    Cost: sorting a column, or its nonzeros; for a pair, the rows where both are off their
    background.

    Parameters
    ----------
    alpha : float, default=0.01
        Level of the test.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 200)
    >>> u_shaped = np.abs(x) > 0.5
    >>> AnyShape().relevance(x, u_shaped).dependent
    array([ True])
    """

    alpha: float = 0.01

    name: ClassVar[str] = "any_shape"
    kind: ClassVar[str] = "any"
    symbol: ClassVar[str] = "R({a}, {b})"
    resolution: ClassVar[float] = 1e-12
    takes_gaps: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True
    takes_given: ClassVar[bool] = True
    tests: ClassVar[tuple[str, ...]] = ("ranks", "bins")

    def __post_init__(self) -> None:
        check("AnyShape", "alpha", self.alpha, Number(0, 1, open_low=True, open_high=True))

    def gate(self) -> str:
        """Describe the cutoff in a few words, for explanations."""
        return f"the {100 * self.alpha:g}% level of its tests"

    def relevance(self, columns: Any, target: Any, out: Strength | None = None) -> Strength:
        """Return the relevance R of every column; it is above its cutoff when p < alpha."""
        block = ColumnBlock.of(columns)
        return self.relevance_to_each(block, [ready_target(target, block.n_rows)], out)[0]

    def relevance_to_each(
        self, block: ColumnBlock, targets: Sequence[Target], out: Strength | None = None
    ) -> list[Strength]:
        """Return the relevance to targets that differ in the order of their rows only.

        Each column is ranked and binned once for all of them.
        """
        if (adjusted := self.for_adjusted(targets[0])) is not self:
            return adjusted.relevance_to_each(block, targets, out)
        found, same_as = self._tested(block, targets)
        results = [Strength.room(block.width) if out is None else out.part(block.width)]
        results += [Strength.room(block.width) for _ in found[1:]]
        for target, tested, result in zip(targets, found, results, strict=True):
            self._at_level(target, tested, same_as, result)
        return results

    def _at_level(
        self, target: Target, tested: Tested, same_as: Ints | None, result: Strength
    ) -> None:
        """Write strengths and cutoffs from p-values."""
        value, cutoff = level_of(tested.value, tested.p, self.alpha, tested.test == BY_BINS)
        if _form_of(target).is_scattered:
            cutoff[:] = np.inf  # there are too few rows to test anything
        cutoff[tested.constant] = np.nan
        if same_as is None:
            result.value[:], result.cutoff[:] = value, cutoff
        else:
            np.take(value, same_as, out=result.value)
            np.take(cutoff, same_as, out=result.cutoff)

    def template_fields(self, target: Target) -> dict[str, str]:
        """Return the texts that explanations by this measure need."""
        return super().template_fields(target) | {
            "alpha": repr(self.alpha),
            "tests": "|".join(self.tests),
            "level_passed": (
                "{relevance_symbol}={relevance}, p={p} (by {test_used}) is below {alpha}"
            ),
            "level_missed": "{relevance_symbol}={relevance}, p={p} is not below {alpha}",
        }

    def tested(self, block: ColumnBlock, target: Target, bound: float = 1.0) -> Tested:
        """Return the strength and the p-value of every column, whatever the bound."""
        return self.tested_with_each(block, [target], bound)[0]

    def tested_with_each(
        self, block: ColumnBlock, targets: Sequence[Target], bound: float = 1.0
    ) -> list[Tested]:
        """Return the same for targets that differ in the order of their rows only."""
        if (adjusted := self.for_adjusted(targets[0])) is not self:
            return adjusted.tested_with_each(block, targets, bound)
        found, same_as = self._tested(block, targets)
        return found if same_as is None else [tested.pick(same_as) for tested in found]

    def _tested(
        self, block: ColumnBlock, targets: Sequence[Target]
    ) -> tuple[list[Tested], Ints | None]:
        """Return results for the columns that differ, and which of these each column has.

        None: each has its own.
        """
        forms = [_form_of(target) for target in targets]
        form, width, n, each = forms[0], block.width, targets[0].n_rows, len(forms)
        shares, statistic = np.empty((each, 3, width)), np.empty((each, width))
        fisher_p, information = np.empty((each, width)), np.empty((each, width), np.int64)
        inverses, (n_bins, freedoms) = np.empty(width), np.empty((2, width), np.int64)
        room = width if form.marks else 0
        marked = np.empty((each, room, max(MOST_BINS, len(form.counts))), np.int64)
        groups, weights = _rows_of(tuple(targets))
        bin_counts = np.empty((room if len(form.counts) == 2 else 0, MOST_BINS), np.int64)
        table, unit = table_of(n)
        same_as = np.empty(width, np.int64)
        tested = tested_bins_for(n, len(form.counts))
        over_columns(
            lambda lo, hi: relevance(
                *block.arrays, has_no_order(block), bins_for(n), tested, groups, weights,
                form.counts, form.norms, form.low_sums, table, MOST_MARKED, lo, hi, shares, n_bins,
                inverses, statistic, information, freedoms, fisher_p, marked, bin_counts, same_as,
            ),
            block.spans,
        )  # fmt: skip
        own = np.flatnonzero(same_as == np.arange(width))
        if len(own) < width:
            places = np.empty(width, np.int64)
            places[own] = np.arange(len(own))
            same_as = places[same_as]
            shares, statistic, fisher_p = shares[..., own], statistic[:, own], fisher_p[:, own]
            information, freedoms = information[:, own], freedoms[own]
            n_bins, inverses = n_bins[own], inverses[own]
            if room:
                marked = marked[:, own]
                bin_counts = bin_counts[own] if len(bin_counts) else bin_counts
        nats = information / unit * math.log(2.0) - freedoms / 2

        def of_cells(form: TargetForm, picks: Ints) -> Floats:
            p, picks = np.empty(len(picks)), own[picks]
            if len(picks):
                s = shape(block, picks, tested)
                listed = s.indptr, s.rows, s.codes, s.level_counts, s.n_bins, s.backgrounds
                least_of_cells(*listed, has_no_order(block)[picks], form.groups, form.counts, p)
            return p

        def of_ranks(form: TargetForm, picks: Ints) -> Floats:
            p, picks = np.empty(len(picks)), own[picks]
            if len(picks):
                ranks = shape(block, picks, tested).ranks(n)
                rare = int(np.argmin(form.counts))
                rank_sum_tests(ranks, form.groups, rare, int(form.counts[rare]), p)
            return p

        found = [
            combine(
                form, shares[i], n_bins, inverses, statistic[i], nats[i],
                ExactTests.of(form, n_bins, fisher_p[i], marked[i], bin_counts),
                partial(of_cells, form), partial(of_ranks, form),
            )
            for i, form in enumerate(forms)
        ]  # fmt: skip
        return found, same_as if len(own) < width else None

    def for_adjusted(self, target: Target) -> Measure:
        """Return the measure as it is used with a target that has weights or covariates."""
        if target.weights is None and target.given is None:
            return self
        from tamis.measures.adjusted_shape import AdjustedShape  # it imports this module

        return AdjustedShape(self.alpha)

    def panel(self, target: Target) -> Panel:
        """Return an empty panel of kept columns."""
        if (adjusted := self.for_adjusted(target)) is not self:
            return adjusted.panel(target)
        return ShapePanel(target, self)


def bins_for(n_rows: int) -> int:
    """Return the number of bins of a column of numbers."""
    return BINS if n_rows >= FEW_ROWS else FEW_BINS


def tested_bins_for(n_rows: int, n_classes: int) -> int:
    """Return the number of bins of a column of numbers that is tested against the target."""
    if n_rows < ROWS_A_CLASS * n_classes:
        return FEW_BINS
    return min(BINS, max(FEW_BINS, n_rows // ROWS_A_TESTED_BIN))


@dataclass(frozen=True, eq=False)
class TargetForm:
    """The target as classes or bins (`groups`) and as directions to correlate with.

    `weights` are the ranks of a numeric target, else empty. `fourths` is the sum of the squared
    diagonal of the projection on the directions, `bin_fourths` of that on the groups.
    """

    groups: npt.NDArray[np.uint16]
    weights: Floats
    counts: Ints
    norms: Floats

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.groups)

    @cached_property
    def low_sums(self) -> Floats:
        """Sums of the lowest 0, 1, 2, ... ranks of a numeric target."""
        return np.concatenate([[0.0], np.cumsum(np.sort(self.weights))])

    @property
    def marks(self) -> bool:
        """Whether some tables may have few counts in one of two rows, and need exact tests."""
        return len(self.counts) > 2 or int(self.counts.min()) <= ROWS_A_BIN * MOST_BINS

    @property
    def is_scattered(self) -> bool:
        """Whether nearly every row is a class of its own."""
        pairs = int(np.sum(self.counts * (self.counts - 1))) // 2
        return self.n_rows < ROWS_A_CLASS * len(self.counts) and pairs < SAME_CLASS_PAIRS

    @property
    def has_exact_ranks(self) -> bool:
        """Whether the law of the ranks is counted out: two classes, and few rows."""
        two = len(self.counts) == 2 and not len(self.weights)
        return two and self.n_rows * int(self.counts.min()) <= FEW_RANKS

    @property
    def freedom(self) -> int:
        """Number of directions of the target that ranks are compared with."""
        return 1 if len(self.weights) else len(self.counts) - 1

    @property
    def fourths(self) -> float:
        """Sum of the squared diagonal of the projection on those directions."""
        if len(self.weights):
            return float(np.sum((self.weights**2 / self.norms[0]) ** 2))
        return float(diagonal(np.sum(1.0 / self.counts), len(self.counts), self.n_rows))


@lru_cache(maxsize=8)
def _form_of(target: Target) -> TargetForm:
    """Return the target in the form that kernels take, cached."""
    if target.codes is not None:
        return TargetForm(target.codes, np.empty(0), target.counts, target.counts.astype(float))
    n = target.n_rows
    y = shape(ColumnBlock.of(target.values), np.arange(1))[0]
    groups, weights = np.full(n, max(0, y.backgrounds), np.uint16), np.full(n, y.bases)
    groups[y.rows], weights[y.rows] = y.codes, y.scores + y.bases
    counts = y.level_counts[: y.n_bins].copy()
    return TargetForm(groups, weights, counts, np.array([float(np.sum(weights**2))]))


@lru_cache(maxsize=8)
def _rows_of(targets: tuple[Target, ...]) -> tuple[npt.NDArray[np.uint16], Floats]:
    """Return the classes or bins of targets, and their ranks, one row for each, cached."""
    forms = [_form_of(target) for target in targets]
    return np.stack([form.groups for form in forms]), np.stack([form.weights for form in forms])


# --- p-values ------------------------------------------------------------------------------------


def diagonal(inverses: Any, groups: Any, n: int) -> Any:
    """Return the sum of the squared diagonal of the projection on centred group indicators."""
    return inverses - (2 * groups - 1) / n


def permutation_p(
    share: Any, top: Any, rank: Any, fourths: Any, other_rank: Any, other: Any, n: int
) -> Any:
    """Return p-values of the trace of the product of two projections, one with its rows permuted.

    The trace is a share of explained variance, or chi-square / n; `top` is its largest value. Its
    mean and variance over all permutations follow from the ranks and the sums of squared diagonals
    of the projections. The p-value is that of the beta distribution with this range, mean and
    variance.
    """
    if n < 4:
        return np.ones(np.shape(share))
    v, other_v = (k * (n - 1 - k) / (n - 1) for k in (rank, other_rank))
    w = np.maximum(0.0, n * fourths - rank**2) / (n - 2)
    other_w = np.maximum(0.0, n * other - other_rank**2) / (n - 2)
    mean = rank * other_rank / (n - 1)
    variance = 2 / (n * (n - 3)) * (v - w) * (other_v - other_w) + w * other_w / (n - 1)
    with np.errstate(all="ignore"):
        mean, variance = mean / top, variance / top**2
        size = mean * (1 - mean) / variance - 1
        # Nearly without variance, as one row of equal classes, the trace is the same for all
        # permutations; the function would take seconds for each such column.
        size = np.where(size < 1e9, size, 0.0)
        p = _upper_tails(mean * size, (1 - mean) * size, np.clip(share / top, 0.0, 1.0))
    return np.where((top > 0) & (size > 0), p, 1.0)


def _upper_tails(a: Any, b: Any, x: Any) -> Any:
    """Return ``betaincc(a, b, x)``."""
    shape = np.broadcast_shapes(np.shape(a), np.shape(b), np.shape(x))
    a, b, x = (np.ascontiguousarray(np.broadcast_to(values, shape)).ravel() for values in (a, b, x))
    result = np.empty(len(x))
    upper_tails(a, b, x, result)
    rest = np.flatnonzero(np.isnan(result))
    if len(rest):
        # SciPy's takes microseconds; columns with few entries share few different statistics.
        order = rest[np.lexsort((x[rest], b[rest], a[rest]))]
        ordered = np.array([a[order], b[order], x[order]])
        is_new = np.ones(len(order), np.bool_)
        is_new[1:] = np.any(ordered[:, 1:] != ordered[:, :-1], axis=0)
        result[order] = betaincc(*ordered[:, is_new])[np.cumsum(is_new) - 1]
    return result.reshape(shape)


def rank_p(form: TargetForm, explained: Floats, top: Floats, fourths: Floats) -> Floats:
    """Return p-values of the share of the variance of ranks that the target explains."""
    of_ranks, n = (1, fourths, form.freedom, form.fourths), form.n_rows
    p: Floats = permutation_p(explained, 1, *of_ranks, n)
    few = np.flatnonzero((top < 1) & (n * fourths < 3))
    if len(few):
        # A class of few rows cannot reach 1. The law on the range it can reach is too light in the
        # tail where the law on 0 to 1 is too heavy; their geometric mean is right to 3 % at 1 %
        # from three rows on (sums of uniform ranks are known exactly). Not for a column with few
        # nonzeros: it often reaches the end of its range by chance.
        of_ranks = (1, fourths[few], form.freedom, form.fourths)
        p[few] = np.sqrt(p[few] * permutation_p(explained[few], top[few], *of_ranks, n))
    return p


@dataclass(frozen=True, eq=False)
class ExactTests:
    """Exact tests of tables with few counts in one of two rows: p-values, -1 for other tables."""

    p: Floats
    #: The law of the statistic, the columns that it belongs to, and their marked rows.
    laws: tuple[tuple[Floats, Ints, Ints], ...]

    @classmethod
    def of(
        cls, form: TargetForm, n_bins: Ints, fisher_p: Floats, marked: Ints, bin_counts: Ints
    ) -> ExactTests:
        """Test the marked columns, those with the same groups together."""
        laws = []
        if len(form.counts) > 2 and len(marked):
            which = np.flatnonzero((n_bins == 2) & (marked[:, 0] >= 0))
            if len(which):
                laws.append((*law_of_counts(tuple(form.counts.tolist()), MOST_MARKED), which))
        elif len(marked):
            which = np.flatnonzero((n_bins > 2) & (marked[:, 0] >= 0))
            kinds, kind = np.unique(bin_counts[which], axis=0, return_inverse=True)
            for i, sizes in enumerate(kinds.tolist()):
                law = law_of_counts(tuple(size for size in sizes if size), int(form.counts.min()))
                laws.append((*law, which[kind.ravel() == i]))
        p, found = fisher_p, []
        for steps, tails, which in laws:
            at, some = np.empty(len(which), np.int64), np.empty(len(which))
            exact_tests(marked[which, : len(steps)], steps, tails, at, some)
            p[which] = some
            found.append((tails, which, at))
        return cls(p, tuple(found))

    def attained(self, p: Floats) -> Floats:
        """Return the probability of a p-value of at most p: less than p for an exact test."""
        result = p.copy()
        for tails, which, at in self.laws:
            some = np.empty(len(which))
            attained(tails, at, p[which], some)
            result[which] = some
        return result


def combine(
    form: TargetForm, shares: Floats, n_bins: Ints, inverses: Floats, statistic: Floats,
    nats: Floats, exact: ExactTests, of_cells: Callable[[Ints], Floats],
    of_ranks: Callable[[Ints], Floats],
) -> Tested:  # fmt: skip
    """Combine the test of the ranks and that of the bins.

    Far out in the tail the test of the bins gives way to that of their cells (`of_cells`), where
    that is larger; so does that of the ranks if few rows are off the background. With few rows, the
    test of the ranks gives way to the exact one (`of_ranks`).
    """
    n, groups = form.n_rows, len(form.counts)
    explained, top, fourths = shares
    constant = n_bins < 2
    # Words have no ranks, and two bins and classes have nothing to rank: one test, no more.
    single = (fourths == 0) | ((n_bins == 2) & (len(form.weights) == 0))
    by_ranks, by_bins = np.ones(len(n_bins)), np.where(exact.p >= 0, exact.p, 1.0)
    some = np.flatnonzero(~single & ~constant)
    by_ranks[some] = rank_p(form, explained[some], top[some], fourths[some])
    by_law = np.ones(len(n_bins), np.bool_)
    if form.has_exact_ranks:
        some = some[by_ranks[some] < UNLIKELY]
        by_ranks[some], by_law[some] = of_ranks(some), False
    some = np.flatnonzero((exact.p < 0) & ~constant)
    by_bins[some] = permutation_p(
        statistic[some], np.minimum(n_bins[some], groups) - 1, n_bins[some] - 1,
        diagonal(inverses[some], n_bins[some], n), groups - 1,
        diagonal(np.sum(1.0 / form.counts), groups, n), n,
    )  # fmt: skip
    # Standardised ranks of a column with few rows off its background have large fourth powers:
    # about one over their number.
    few = (form.counts.min() < FEW_EXPECTED * n * fourths) & (n * fourths > 3) & ~single
    bins_doubted = (exact.p < 0) & ~constant & (by_bins < FAR)
    ranks_doubted = few & by_law & ~constant & (by_ranks < FAR)
    some = np.flatnonzero(bins_doubted | ranks_doubted)
    least = np.zeros(len(n_bins))
    least[some] = np.minimum(of_cells(some), FAR)
    by_bins = np.where(bins_doubted, np.maximum(by_bins, least), by_bins)
    by_ranks = np.where(ranks_doubted, np.maximum(by_ranks, least), by_ranks)
    least = np.minimum(by_ranks, by_bins)
    p = np.where(single, by_bins, np.minimum(1.0, least + exact.attained(least)))
    p[constant | form.is_scattered] = 1.0
    rest = n - 1 - form.freedom
    adjusted = 1 - (1 - explained) * (n - 1) / rest if rest > 0 else np.zeros(len(p))
    linear = np.where(fourths > 0, np.maximum(0.0, adjusted), 0.0)
    shaped = -np.expm1(-2 * np.maximum(0.0, nats) / n)
    value = np.sqrt(np.maximum(linear, shaped))
    value[constant] = 0.0
    test = np.where(single | (by_bins <= by_ranks), BY_BINS, BY_RANKS).astype(np.uint8)
    return Tested(value, constant, p, np.zeros(len(p)), test)


# --- pairs ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ShapedColumns(Prepared):
    """Columns as bins and centred doubled mid-ranks of the rows off their background."""

    arrays: ClassVar[Mapping[str, str | None]] = {
        "rows": "indptr", "codes": "indptr", "scores": "indptr", "level_counts": None,
        "n_bins": None, "backgrounds": None, "bases": None, "squares": None, "exact": None,
    }  # fmt: skip

    indptr: Ints
    rows: npt.NDArray[np.int32]
    codes: npt.NDArray[np.int32]
    scores: Floats
    level_counts: Ints
    n_bins: Ints
    backgrounds: Ints
    bases: Floats
    squares: Floats
    exact: npt.NDArray[np.bool_]

    def ranks(self, n: int) -> Ints:
        """Return the doubled mid-ranks of all n rows, from 0 on; one row for each column."""
        ranks = np.repeat(self.bases, n).reshape(-1, n)
        at = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        ranks[at, self.rows] += self.scores
        whole: Ints = np.rint(ranks - ranks.min(axis=1, keepdims=True)).astype(np.int64)
        return whole

    @property
    def form(self) -> tuple[npt.NDArray[Any], ...]:
        """What kernels take."""
        return (
            self.indptr, self.rows, self.codes, self.scores, self.level_counts, self.n_bins,
            self.backgrounds, self.bases, self.squares, self.exact,
        )  # fmt: skip


def shape(block: ColumnBlock, picks: npt.NDArray[np.intp], bins: int = 0) -> ShapedColumns:
    """Shape the picked columns of a block into `bins`; 0 means as many as the rows allow."""
    v, n = compressed(block, picks), block.n_rows
    bins = bins or bins_for(n)
    width, lengths = len(v), np.diff(v.indptr)
    indptr = np.concatenate([[0], np.cumsum(np.where(2 * lengths > n, n, lengths))])
    rows, codes = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.int32)
    shaped = ShapedColumns(
        indptr, rows, codes, np.empty(indptr[-1]), np.zeros((width, MOST_BINS), np.int64),
        np.empty(width, np.int64), np.empty(width, np.int64), np.empty(width), np.empty(width),
        np.empty(width, np.bool_),
    )  # fmt: skip
    unordered = has_no_order(block)[picks]
    over_columns(
        lambda lo, hi: shape_columns(
            v.indptr, v.indices, v.data, n, unordered, bins, lo, hi, *shaped.form
        ),
        indptr,
    )
    return shaped


class ShapePanel(RowListPanel):
    """Kept columns; a cell is a bin of one of them, and the number of an entry is its score."""

    slot_types: ClassVar[Mapping[str, Any]] = {
        "background": np.int64, "base": np.float64, "squares": np.float64, "exact": np.bool_,
        "alone": np.int64, "joint": np.int64,
    }  # fmt: skip
    cell_types: ClassVar[Mapping[str, Any]] = {"counts": np.int64, "slot": np.int64}
    with_numbers: ClassVar[bool] = True

    measure: AnyShape

    def __init__(self, target: Target, measure: AnyShape) -> None:
        super().__init__(target.n_rows, measure)
        form, self._target = _form_of(target), target
        self._target_arrays = form.groups, form.weights, form.counts, form.norms
        self._slots["parts"] = np.zeros((0, len(form.norms)))
        self._cells["classes"] = np.zeros((0, len(form.counts)), np.int64)
        self._waiting: list[tuple[ShapedColumns, int]] = []  # columns that are not listed yet
        self._beside: ShapePanel | None = None  # its memory is used again

    def prepare(self, block: ColumnBlock, picks: npt.NDArray[np.intp]) -> ShapedColumns:
        """Prepare the picked columns."""
        return shape(block, picks)

    def between_many(self, columns: ShapedColumns, lo: int, hi: int) -> Floats:
        """Return the dependence of prepared columns lo..hi-1 on every kept column."""
        out = np.zeros((1, hi - lo, len(self)))
        dependence: Floats = self._compare(columns, np.arange(lo, hi), out)[0]
        return dependence

    def beyond_many(
        self,
        columns: ShapedColumns,
        picks: npt.NDArray[np.intp],
        out: Floats | None = None,
        places: Ints | None = None,
    ) -> Floats:
        """Return D, and what prepared columns (rows) and kept ones say beyond each other.

        First the dependence D, then c(column given kept), the squared relevance that is left of the
        column once that kept column is known, then c(kept given column); oldest kept column first.
        The last two are rounded to multiples of 2**-40. With `out`, each kept column is written to
        its place there.
        """
        if out is None:
            out = np.zeros((3, len(picks), len(self)))
        return self._compare(columns, picks, out, places)

    def among(
        self, columns: ShapedColumns, picks: npt.NDArray[np.intp], others: npt.NDArray[np.intp]
    ) -> Floats:
        """Return the same for prepared columns `picks` and `others`, none of which is kept."""
        if self._beside is None:
            self._beside = type(self)(self._target, self.measure)
        alone = self._beside
        alone._forget_all()
        alone._list_columns(columns, others)
        self.pairs += len(picks) * len(others)
        return alone._compare(columns, picks, np.zeros((3, len(picks), len(others))))

    def _compare(
        self,
        columns: ShapedColumns,
        which: npt.NDArray[np.intp],
        out: Floats,
        places: Ints | None = None,
    ) -> Floats:
        """Write the dependence on kept columns and, if there is room, what each adds to the other.

        Each kept column has a place in `out`, by default by age; return `out`.
        """
        if self._waiting:
            self._list_waiting()
        table, unit = table_of(self.n_rows)
        s, c = self._slots, self._cells
        place_of = np.full(len(self._alive), -1)
        place_of[self._live] = np.arange(len(self._live)) if places is None else places
        kept = (
            self._heads, self._nodes, self._numbers, place_of, self._slot_cells, c["slot"],
            c["counts"], c["classes"], s["background"], s["base"], s["squares"], s["exact"],
            s["alone"], s["joint"], s["parts"],
        )  # fmt: skip
        over_columns(
            lambda lo, hi: pair_shapes(
                *columns.form, which, lo, hi, *kept, *self._target_arrays, table,
                unit / math.log(2.0), len(out) == 3, 0, out,
            ),
            np.concatenate([[0], np.cumsum(len(self._live) + np.diff(columns.indptr)[which])]),
        )  # fmt: skip
        self.pairs += len(which) * len(self._live)
        return out

    def against(self, columns: ShapedColumns, one: int, picks: Ints) -> Floats:
        """Return the dependence of prepared column `one` on those at `picks`, kept or not."""
        alone = type(self)(Target.of(np.zeros(self.n_rows, int)), self.measure)
        alone.add(columns[one])
        self.pairs += len(picks)
        dependence: Floats = alone._compare(columns, picks, np.zeros((1, len(picks), 1)))[0, :, 0]
        return dependence

    def cutoffs(self, column: Any) -> Floats:
        """Return the cutoff of each dependence: that of a correlation at half the level."""
        n = self.n_rows
        share = 1.0 if n < 4 else 1.0 - float(_least_rest(self.measure.alpha / 2, n))
        return np.full(len(self), math.sqrt(share))

    def __len__(self) -> int:
        return len(self._live) + len(self._waiting)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without columns that wait: they refer to their blocks."""
        self._list_waiting()
        return super().__getstate__() | {"_beside": None}

    def add(self, column: Any) -> None:
        """Keep a prepared column; its entries are listed when a newcomer is compared with all."""
        self._waiting.append((column.columns, column.i))

    def drop(self, positions: npt.NDArray[np.intp]) -> None:
        """Drop the kept columns at these positions (0 is the oldest)."""
        listed = len(self._live)
        for i in sorted(positions[positions >= listed].tolist(), reverse=True):
            del self._waiting[i - listed]
        super().drop(positions[positions < listed])

    def _list_waiting(self) -> None:
        """List the entries of the columns that wait for it."""
        waiting, self._waiting = self._waiting, []
        for _, some in groupby(waiting, key=lambda one: id(one[0])):
            together = list(some)
            self._list_columns(together[0][0], np.array([i for _, i in together]))

    def _list_columns(self, columns: ShapedColumns, which: Ints) -> None:
        """List the entries of prepared columns, and store what is known about them."""
        before, first = len(self._alive), int(self._slot_cells[-1])
        n_slots, end = before + len(which), first + int(columns.n_bins[which].sum())
        lengths = columns.indptr[which + 1] - columns.indptr[which]
        need = self._used + int(lengths.sum())
        self._nodes, self._numbers = (
            roomy(array, self._used, need) for array in (self._nodes, self._numbers)
        )
        self._slots = {name: roomy(a, before, n_slots) for name, a in self._slots.items()}
        self._cells = {name: roomy(a, first, end) for name, a in self._cells.items()}
        slot_cells = np.zeros(n_slots + 1, np.int64)
        slot_cells[: before + 1] = self._slot_cells
        s, c = self._slots, self._cells
        self._used = list_columns(
            *columns.form, which, *self._target_arrays, table_of(self.n_rows)[0], self._heads,
            self._nodes, self._numbers, self._used, slot_cells, c["slot"], c["counts"],
            c["classes"], s["background"], s["base"], s["squares"], s["exact"], s["alone"],
            s["joint"], s["parts"], before,
        )  # fmt: skip
        self._slot_cells = slot_cells
        self._live = np.concatenate([self._live, np.arange(before, n_slots)])
        self._alive = np.concatenate([self._alive, np.ones(len(which), np.bool_)])

    def _forget_all(self) -> None:
        """Drop all columns."""
        self._heads.fill(-1)
        self._used, self._slot_cells = 0, np.zeros(1, np.int64)
        self._alive, self._live = np.zeros(0, np.bool_), np.zeros(0, np.intp)

    def _forget_dead(self) -> None:
        """Remove the slots of dropped columns."""
        super()._forget_dead()
        self._cells["slot"] = np.repeat(np.arange(len(self._alive)), np.diff(self._slot_cells))


@lru_cache(maxsize=16)
def _least_rest(alpha: float, n: int) -> float:
    """Return the share of variance that a correlation at this level leaves unexplained."""
    return float(betaincinv((n - 2) / 2, 0.5, alpha))
