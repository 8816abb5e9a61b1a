"""Dependence of any shape with sample weights, and given covariates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
from scipy.special import betaincc, ndtri
from scipy.stats import rankdata

from tamis.core.blocks import ColumnBlock, Compressed, has_no_order
from tamis.core.p_levels import level_of
from tamis.core.params import Number, check
from tamis.core.target import Target
from tamis.kernels.adjusted_shapes import (
    BINS,
    BOTH,
    NOTHING,
    NUMBERS,
    class_moments,
    compare_adjusted,
    fill_gaps,
    least_of_bins,
    prepare_adjusted,
    relate,
)
from tamis.kernels.adjusting import extend_basis
from tamis.kernels.bin_cells import EXPECTED
from tamis.kernels.shapes import MOST_BINS
from tamis.kernels.threads import over_columns
from tamis.measures.adjusted import (
    Adjustment,
    GivenTarget,
    adjusted_relevance,
    adjustment_of,
    given_target,
)
from tamis.measures.any_shape import FAR, ROWS_A_CLASS, permutation_p
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
from tamis.measures.p_values import DOUBTED, p_values_given, variance_p
from tamis.measures.panels import compressed, roomy

#: Bins of a column of numbers: one for so many rows, but at least and at most so many.
ROWS_A_BIN, LEAST_BINS, MOST_OF_NUMBERS = 20, 3, 6

#: With more than two classes, a column that is carried by fewer rows for each class is tested with
#: each class, and so are the bins of a column if one has fewer rows.
FEW_A_CLASS, FEW_IN_BIN = 3, 20

#: A numeric target is taken for normal up to this excess kurtosis, and half of it as skewness.
NORMAL = 1.0

#: The positions of the two tests in `AdjustedShape.tests`.
BY_VALUES, BY_BINS = 0, 1

#: So many columns are prepared in one go.
AT_ONCE = 256


@dataclass(frozen=True)
class AdjustedShape(Measure):
    """What `AnyShape` becomes with sample weights or covariates Z: dependence given Z.

    Everything is weighted least squares on [1, Z]. A column enters twice: as its values less what Z
    explains of them, and as a few bins of those residuals (a column with few different or many
    equal values: bins of its values; text: categories only), less what Z explains of their
    indicators. The dependence of two columns is the larger of the partial correlation and
    Tschuprow's T of the bins given Z. The relevance is the larger of the partial (multiple)
    correlation with the target and Cramer's V of the bins given Z, both adjusted for degrees of
    freedom.

    The p-value is twice the smaller one of two tests: that of `FisherZ` given Z, and a test of the
    bins. See docs/any-shape.md.

    Cost: for each column a sort and products with Z; for a pair, the rows of one of the two.

    Parameters
    ----------
    alpha : float, default=0.01
        Level of the test.
    """

    alpha: float = 0.01

    name: ClassVar[str] = "adjusted_shape"
    kind: ClassVar[str] = "any"
    symbol: ClassVar[str] = "R({a}, {b})"
    resolution: ClassVar[float] = 1e-12
    takes_gaps: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True
    takes_given: ClassVar[bool] = True
    tests: ClassVar[tuple[str, ...]] = ("values", "bins")

    def __post_init__(self) -> None:
        check("AdjustedShape", "alpha", self.alpha, Number(0, 1, open_low=True, open_high=True))

    def gate(self) -> str:
        """Describe the cutoff in a few words, for explanations."""
        return f"the {100 * self.alpha:g}% level of its tests"

    def relevance(self, columns: Any, target: Any, out: Strength | None = None) -> Strength:
        """Return the relevance R of every column; it is above its cutoff when p < alpha."""
        block = ColumnBlock.of(columns)
        encoded = ready_target(target, block.n_rows)
        result = Strength.room(block.width) if out is None else out.part(block.width)
        tested = self.tested(block, encoded)
        result.value[:], result.cutoff[:] = level_of(
            tested.value, tested.p, self.alpha, tested.test == BY_BINS
        )
        form = form_of(encoded)
        if form.freedom <= len(form.targets):
            result.cutoff[:] = np.inf  # there are too few rows to test anything
        result.cutoff[tested.constant] = np.nan
        return result

    def template_fields(self, target: Target) -> dict[str, str]:
        """Return the texts that explanations by this measure need."""
        fields, known = super().template_fields(target), ""
        if target.given is not None:
            known = " given " + " and ".join(str(target.given).rsplit(", ", 1))
            known = known.replace("{", "(").replace("}", ")")
        return fields | {
            "alpha": repr(self.alpha),
            "tests": "|".join(self.tests),
            "gate": self.gate() + known,
            "level_passed": (
                "{relevance_symbol}={relevance}, p={p} (by {test_used}" + known + ") is below "
                "{alpha}"
            ),
            "level_missed": (
                "{relevance_symbol}={relevance}, p={p}" + known + " is not below {alpha}"
            ),
        }

    def tested(self, block: ColumnBlock, target: Target, bound: float = 1.0) -> Tested:
        """Return the strength and the p-value of every column, whatever the bound."""
        form = form_of(target)
        block, width = form.rows_of(block), block.width
        kinds, directions, n_bins = np.empty((3, width), np.int64)
        strength, trace, fourths = np.empty((3, width))
        over_columns(
            lambda lo, hi: relate(
                *block.arrays, has_no_order(block), form.bins, *form.arrays, lo, hi, kinds,
                strength, trace, directions, n_bins, fourths,
            ),
            block.spans,
        )  # fmt: skip
        t, freedom = len(form.targets), form.freedom
        by_values, by_bins = np.ones(width), np.ones(width)
        if t and freedom > t:
            by_values = self._test_values(block, form, strength)
            some = np.flatnonzero((kinds >= BINS) & (directions > 0))
            by_bins[some] = permutation_p(
                trace[some], np.minimum(directions[some], t), directions[some], fourths[some], t,
                form.fourths, freedom + 1,
            )  # fmt: skip
            by_bins = self._of_classes(block, form, by_bins, by_values=False)
        both = kinds == BOTH
        p = np.where(both, np.minimum(1.0, 2 * np.minimum(by_values, by_bins)), 1.0)
        p = np.where(kinds == NUMBERS, by_values, np.where(kinds == BINS, by_bins, p))
        least = np.maximum(np.minimum(directions, t), 1)
        shaped = beyond_chance(trace / least, np.maximum(directions, t), freedom)
        value = np.sqrt(np.maximum(beyond_chance(strength**2, t, freedom), shaped))
        constant = n_bins < 2
        value[constant | (kinds == NOTHING)] = 0.0
        test = np.where((kinds == BINS) | (both & (by_bins <= by_values)), BY_BINS, BY_VALUES)
        return Tested(value, constant, p, np.zeros(width), test.astype(np.uint8))

    def _test_values(self, block: ColumnBlock, form: AdjustedForm, strength: Floats) -> Floats:
        """Return the p-values of the t or F test, or larger ones where it may not be valid."""
        block, a, target = form.filled(block), form.adjustment, form.target
        if form.classes is not None and a.n_targets > 1:
            p = variance_p(strength, a.n_targets, form.freedom - a.n_targets)
            return self._of_classes(block, form, p, by_values=True)
        found = Strength(strength, np.zeros(len(strength)))
        p = p_values_given(block, target, a, found, 1.0, by_classes=target.is_classes).p
        doubted = np.flatnonzero(p <= DOUBTED)
        if form.is_normal or not len(doubted):
            return p
        # Neither the target nor the column may be near normal: the target is tested by its normal
        # scores, too.
        some, again = block.pick(doubted), Strength.room(len(doubted))
        adjusted_relevance(some, replace(a, targets=form.scored), 0.0, again)
        p[doubted] = np.maximum(p[doubted], variance_p(again.value, 1, form.freedom - 1))
        return p

    def _of_classes(
        self, block: ColumnBlock, form: AdjustedForm, p: Floats, *, by_values: bool
    ) -> Floats:
        """Test columns again where they may be relevant, given the probabilities of the classes.

        The mean and the variance of the statistic follow from these. Where few rows carry a column,
        and far out in the tail where they are not many in each class, tests of each class count,
        too. No p-value is made smaller.
        """
        doubted, classes = np.flatnonzero(p <= DOUBTED), form.classes
        if classes is None or not len(doubted):
            return p
        c, m = adjust_shapes(block, doubted, form), form.freedom
        statistic, mean, variance, carried = np.empty((4, len(c)))
        over_columns(
            lambda lo, hi: class_moments(
                *c.form, by_values, form.adjustment.root, form.adjustment.basis, classes.codes,
                classes.shares, classes.weights, classes.fourths, lo, hi, statistic, mean, variance,
                carried,
            ),
            c.indptr,
        )  # fmt: skip
        n, several = classes.shares.shape
        most = n * np.minimum(1 if by_values else c.directions, several - 1)
        again = _beta_tail(statistic / most, mean * n / m / most, variance / most**2)
        again = np.maximum(p[doubted], again)
        few = carried < (FEW_A_CLASS * several if by_values else FEW_IN_BIN)
        few &= several > 2
        expected = carried * form.target.counts.min() / n
        some = np.flatnonzero(few | ((again < FAR) & (expected < EXPECTED)))
        if len(some):
            least = (self._least_of_classes(block.pick(doubted[some]), form) if by_values
                     else self._least_of_bins(c, form, some))  # fmt: skip
            least = np.where(few[some], least, np.minimum(least, FAR))
            again[some] = np.maximum(again[some], least)
        p = p.copy()
        p[doubted] = again
        return p

    def _least_of_classes(self, block: ColumnBlock, form: AdjustedForm) -> Floats:
        """Return the p-values of tests of numbers with each class, as `FisherZ` has them."""
        value = Strength.room(block.width)
        adjusted_relevance(block, form.adjustment, 0.0, value)
        return p_values_given(block, form.target, form.adjustment, value, 1.0, by_classes=True).p

    def _least_of_bins(self, c: AdjustedShapes, form: AdjustedForm, picks: Ints) -> Floats:
        """Return the least p-value of single bins and classes, times their number."""
        given = form.given
        assert given is not None
        found, least = np.empty(len(picks)), np.ones(len(picks))
        for each in zip(given.shares, given.bases, form.target.against_rest(), strict=True):
            least_of_bins(c.form[0], np.diff(c.cells_at), c.backgrounds, picks, *each, found)
            least = np.minimum(least, found)
        return np.minimum(len(given.shares) * least, 1.0)

    def panel(self, target: Target) -> AdjustedShapePanel:
        """Return an empty panel of kept columns."""
        return AdjustedShapePanel(target, self)


def _beta_tail(share: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return upper tails of beta distributions with these means and variances."""
    with np.errstate(all="ignore"):
        size = mean * (1 - mean) / variance - 1
        known = np.isfinite(size) & (size < 1e9) & (size > 0)
        size = np.where(known, size, 1.0)
        p = betaincc(mean * size, (1 - mean) * size, np.clip(share, 0.0, 1.0))
    found: Floats = np.where(known, p, 1.0)
    return found


def beyond_chance(share: Any, expected: Any, freedom: int) -> Any:
    """Return a share of variance less what chance explains: `expected` of `freedom` dimensions."""
    chance = np.minimum(np.asarray(expected, float) / max(freedom, 1), 1.0)
    with np.errstate(all="ignore"):
        left = (share - chance) / (1.0 - chance)
    return np.where(chance < 1.0, np.clip(left, 0.0, 1.0), 0.0)


# --- the target -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LikelyClasses:
    """Classes as `tamis.kernels.adjusted_shapes.class_moments` needs them."""

    codes: Any
    shares: Floats
    weights: Floats
    fourths: Floats


@dataclass(frozen=True, eq=False)
class AdjustedForm:
    """A target with weights and covariates, in the form that kernels take.

    Attributes
    ----------
    target : Target
        The rows with a positive weight.
    there : ndarray of int or None
        Which rows these are; None if they are all.
    adjustment : Adjustment
        The basis of the covariates, and what it leaves of the target.
    scored : ndarray
        The directions of the target that bins are compared with: those of classes, or the normal
        scores of what is left of a number.
    """

    target: Target
    there: Ints | None
    adjustment: Adjustment
    scored: Floats

    @property
    def targets(self) -> Floats:
        """What the basis leaves of the target, orthonormal."""
        return self.adjustment.targets

    @property
    def freedom(self) -> int:
        """The dimension of what the covariates leave."""
        return self.adjustment.n_rows - len(self.adjustment.basis)

    @property
    def bins(self) -> int:
        """Number of bins of a column of numbers."""
        n = self.target.n_rows
        if n < ROWS_A_CLASS * self.target.n_classes:
            return LEAST_BINS
        return max(LEAST_BINS, min(MOST_OF_NUMBERS, n // ROWS_A_BIN))

    @cached_property
    def weights(self) -> Floats:
        """The weight of each row."""
        weights: Floats = self.adjustment.root**2
        return weights

    @cached_property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """What kernels take: square roots of weights, basis, target, terms and their sums."""
        a, weights = self.adjustment, self.weights
        terms = _terms(weights, weights**2, a.basis * a.root, self.scored * a.root)
        return a.root, a.basis, self.targets, terms, terms.sum(axis=0)

    @cached_property
    def fourths(self) -> float:
        """Sum of the squared diagonal of the projection on the directions of the target."""
        return float(np.sum(np.sum(self.scored**2, axis=0) ** 2))

    @cached_property
    def is_normal(self) -> bool:
        """Whether what is left of a numeric target is near normal; classes have tests of their own.

        Only the target decides this, so that it costs no validity.
        """
        if self.target.is_classes or not len(self.targets):
            return True
        z = self.targets[0] / max(float(np.sqrt(np.mean(self.targets[0] ** 2))), 1e-300)
        skew, kurtosis = float(np.mean(z**3)), float(np.mean(z**4)) - 3
        return abs(skew) <= NORMAL / 2 and kurtosis <= NORMAL

    @cached_property
    def given(self) -> GivenTarget | None:
        """The probabilities of the classes by the covariates; None for numbers and with weights."""
        if not self.target.is_classes or self.target.weights is not None:
            return None
        found = given_target(self.target, by_classes=True)
        return found if len(found.shares) else None

    @cached_property
    def classes(self) -> LikelyClasses | None:
        """Classes with their probabilities by the covariates; None for numbers and with weights."""
        given = self.given
        if given is None:
            return None
        shares = given.shares
        if len(shares) == 1:
            shares = np.vstack([1 - shares, shares])
        shares = np.ascontiguousarray((shares / shares.sum(axis=0)).T)
        weights = self.target.n_rows / np.maximum(self.target.counts, 1)
        # A row adds the sum of weights (mark - share)^2, which depends on its class alone.
        of_all = shares**2 @ weights
        added = of_all[:, np.newaxis] + weights * (1 - 2 * shares)
        variance = np.sum(shares * added**2, axis=1) - np.sum(shares * added, axis=1) ** 2
        same = (shares**2 * (1 - 2 * shares)) @ weights**2
        fourths = variance - 2 * (same + of_all**2)
        return LikelyClasses(self.target.codes, shares, weights, fourths)

    def rows_of(self, block: ColumnBlock) -> ColumnBlock:
        """Return the rows of a block that have a positive weight."""
        if self.there is None:
            return block
        v, there = block.values, self.there
        if not isinstance(v, Compressed):
            values: Any = np.asfortranarray(v[there])
        else:
            place = np.full(block.n_rows, -1)
            place[there] = np.arange(len(there))
            stays = place[v.indices] >= 0
            before = np.concatenate([[0], np.cumsum(stays)])
            rows = place[v.indices[stays]].astype(v.indices.dtype)
            values = Compressed(before[v.indptr], rows, v.data[stays])
        return replace(block, n_rows=len(there), values=values)

    def filled(self, block: ColumnBlock) -> ColumnBlock:
        """Return a block with each missing value as the weighted mean of its column."""
        if not np.isnan(block.entries).any():
            return block
        v, data = block.values, np.empty(len(block.entries))
        if isinstance(v, Compressed):
            rows, values = v.indices, cast("Any", replace(v, data=data))
        else:
            rows = np.tile(np.arange(block.n_rows, dtype=np.int32), block.width)
            values = data.reshape(-1, block.n_rows).T
        root, total = self.adjustment.root, float(self.weights.sum())
        fill_gaps(block.spans, rows, block.entries, root, total, data)
        return replace(block, values=values)


def _terms(weights: Floats, second: Floats, of_basis: Floats, of_target: Floats) -> Floats:
    """Return the terms of each row: see `tamis.kernels.adjusted_shapes`."""
    return np.ascontiguousarray(np.vstack([weights, second, of_basis, of_target]).T)


@lru_cache(maxsize=16)
def form_of(target: Target) -> AdjustedForm:
    """Return the form of a target."""
    there = None
    if target.weights is not None and not target.weights.all():
        there = np.flatnonzero(target.weights)
        given = target.given
        if given is not None:
            given = replace(given, values=given.values[there])
        target = Target.of(target.labels[there], target.task).adjusted(target.weights[there], given)
    if target.n_rows and np.ptp(target.values) > 0:
        adjustment = adjustment_of(target, by_indicators=target.n_classes > 2)
    else:  # columns are only compared with each other
        adjustment = _without_target(target)
    scored = adjustment.targets
    if not target.is_classes and len(scored):
        scored = _normal_scores(adjustment)
    return AdjustedForm(target, there, adjustment, scored)


def _without_target(target: Target) -> Adjustment:
    """Return the adjustment of a target that is the same in every row."""
    n = target.n_rows
    root = np.ones(n) if target.weights is None else np.sqrt(target.weights)
    design = np.zeros((0, n)) if target.given is None else target.given.design()
    basis = np.empty((1 + len(design), n))
    known = extend_basis(root.reshape(1, -1), basis, 0)
    centred = design - design.mean(axis=1, keepdims=True)
    known = extend_basis(centred * root, basis, known)
    return Adjustment(root, basis[:known].copy(), np.zeros((0, n)), n)


def _normal_scores(adjustment: Adjustment) -> Floats:
    """Return the normal scores of what is left of a number, less what the covariates explain."""
    n = adjustment.targets.shape[1]
    scores = ndtri((rankdata(adjustment.targets[0]) - 0.5) / n).reshape(1, -1)
    known = len(adjustment.basis)
    whole = np.concatenate([adjustment.basis, np.empty((1, n))])
    found = extend_basis(scores, whole, known)
    return whole[known:found].copy()


# --- pairs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AdjustedShapes(Prepared):
    """Columns as adjusted numbers and bins: see `tamis.kernels.adjusted_shapes`."""

    arrays: ClassVar[Mapping[str, str | None]] = {
        "rows": "indptr", "codes": "indptr", "scores": "indptr", "backgrounds": None,
        "kinds": None, "directions": None, "squares": None, "coefs": None, "parts": None,
        "sums": "cells_at", "lifts": "cells_at", "of_bins": "cells_at", "inner": "cells_at",
    }  # fmt: skip

    indptr: Ints
    rows: npt.NDArray[np.int32]
    codes: npt.NDArray[np.int32]
    scores: Floats
    backgrounds: Ints
    kinds: Ints
    directions: Ints
    squares: Floats
    coefs: Floats
    parts: Floats
    cells_at: Ints
    sums: Floats
    lifts: Floats
    of_bins: Floats
    inner: Floats

    @property
    def form(self) -> tuple[tuple[npt.NDArray[Any], ...], ...]:
        """What kernels take: the listed rows, numbers of each column, and those of its bins."""
        return (
            (self.indptr, self.rows, self.codes, self.scores),
            (
                self.backgrounds, self.kinds, self.directions, self.squares, self.coefs,
                self.parts,
            ),
            (
                self.cells_at, self.sums, self.lifts, self.of_bins, self.inner, self.directions,
            ),
        )  # fmt: skip


def adjust_shapes(
    block: ColumnBlock, picks: npt.NDArray[np.intp], form: AdjustedForm
) -> AdjustedShapes:
    """Adjust and bin the picked columns of a block, whose rows are those of the form."""
    starts = range(0, max(len(picks), 1), AT_ONCE)
    return AdjustedShapes.joined(
        [_adjust_some(block, picks[lo : lo + AT_ONCE], form) for lo in starts]
    )


def _adjust_some(
    block: ColumnBlock, picks: npt.NDArray[np.intp], form: AdjustedForm
) -> AdjustedShapes:
    v, n, width = compressed(block, picks), block.n_rows, len(picks)
    lengths, unordered = np.diff(v.indptr), has_no_order(block)[picks]
    indptr = np.concatenate([[0], np.cumsum(np.where(2 * lengths > n, n, lengths))])
    rows, codes = np.empty((2, indptr[-1]), np.int32)
    listing = indptr, rows, codes, np.empty(indptr[-1])
    k, t, room = len(form.adjustment.basis), len(form.targets), width * MOST_BINS
    numbers, n_bins = np.empty((3, width), np.int64), np.empty(width, np.int64)
    about: tuple[Any, ...] = (*numbers, np.empty(width), np.empty((width, k)), np.empty((width, t)))
    shapes = (2 + k + t, MOST_BINS, t, MOST_BINS)
    of_bins: tuple[Any, ...] = tuple(np.zeros((room, columns)) for columns in shapes)
    over_columns(
        lambda lo, hi: prepare_adjusted(
            v.indptr,
            v.indices,
            v.data,
            unordered,
            form.bins,
            *form.arrays,
            lo,
            hi,
            listing,
            about,
            n_bins,
            of_bins,
        ),
        indptr,
    )
    used = np.arange(room) % MOST_BINS < np.repeat(n_bins, MOST_BINS)
    cells_at = np.concatenate([[0], np.cumsum(n_bins)])
    arrays: Any = (*listing, *about, cells_at, *(each[used] for each in of_bins))
    return AdjustedShapes(*arrays)


class AdjustedShapePanel(Panel):
    """Kept columns, compared given the covariates.

    `_kept` holds them one after the other, with room at the end; `_live` are those that were not
    dropped, oldest first. Dropped ones are removed when they outnumber the others.
    """

    def __init__(self, target: Target, measure: AdjustedShape) -> None:
        self.measure, self.pairs, self.form = measure, 0, form_of(target)
        self.n_rows = target.n_rows
        self._kept = adjust_shapes(
            ColumnBlock.of(np.zeros((self.form.target.n_rows, 0))), np.arange(0), self.form
        )
        self._live = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._live)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without spare capacity: copies are sent to workers."""
        return vars(self) | {"_kept": self._kept.pick(self._live), "_live": np.arange(len(self))}

    def prepare(self, block: ColumnBlock, picks: npt.NDArray[np.intp]) -> AdjustedShapes:
        """Adjust and bin the picked columns."""
        return adjust_shapes(self.form.rows_of(block), picks, self.form)

    def between_many(self, columns: AdjustedShapes, lo: int, hi: int) -> Floats:
        """Return the dependence of prepared columns lo..hi-1 on every kept column."""
        out = np.zeros((1, hi - lo, len(self)))
        dependence: Floats = self._compare(columns, np.arange(lo, hi), self._kept, self._live, out)[
            0
        ]
        return dependence

    def beyond_many(
        self,
        columns: AdjustedShapes,
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
        return self._compare(columns, picks, self._kept, self._live, out, places)

    def among(
        self,
        columns: AdjustedShapes,
        picks: npt.NDArray[np.intp],
        others: npt.NDArray[np.intp],
    ) -> Floats:
        """Return the same for prepared columns `picks` and `others`, none of which is kept."""
        out = np.zeros((3, len(picks), len(others)))
        return self._compare(columns, picks, columns, others, out)

    def against(self, columns: AdjustedShapes, one: int, picks: Ints) -> Floats:
        """Return the dependence of prepared column `one` on those at `picks`, kept or not."""
        out = np.zeros((1, len(picks), 1))
        dependence: Floats = self._compare(columns, picks, columns, np.array([one]), out)[0, :, 0]
        return dependence

    def _compare(
        self,
        columns: AdjustedShapes,
        which: npt.NDArray[np.intp],
        kept: AdjustedShapes,
        slots: npt.NDArray[np.intp],
        out: Floats,
        places: Ints | None = None,
    ) -> Floats:
        self.pairs += len(which) * len(slots)
        if not len(which) or not len(slots):
            return out
        lengths = kept.indptr[slots + 1] - kept.indptr[slots]
        at, form = np.arange(len(slots)) if places is None else places, self.form
        over_columns(
            lambda lo, hi: compare_adjusted(
                *columns.form, which, lo, hi, *kept.form, slots, at, form.weights, form.freedom,
                len(form.targets), out,
            ),
            np.arange(len(which) + 1) * int(lengths.sum() + len(slots)),
        )  # fmt: skip
        return out

    def cutoffs(self, column: Any) -> Floats:
        """Return the cutoff of each dependence: that of a partial correlation at half the level."""
        return np.full(len(self), self.form.adjustment.cutoff(self.measure.alpha / 2))

    def add(self, column: Any) -> None:
        """Keep a prepared column."""
        columns, i, kept = column.columns, column.i, self._kept
        n = len(kept.indptr) - 1
        grown: dict[str, Any] = {}
        for by in ("indptr", "cells_at"):
            ends = getattr(columns, by)
            length = ends[i + 1] - ends[i]
            grown[by] = np.append(getattr(kept, by), getattr(kept, by)[-1] + length)
        for name, indptr in kept.arrays.items():
            used, need, mine = n, n + 1, slice(i, i + 1)
            if indptr is not None:
                used, need = getattr(kept, indptr)[-1], grown[indptr][-1]
                mine = slice(*getattr(columns, indptr)[i : i + 2])
            grown[name] = roomy(getattr(kept, name), used, need)
            grown[name][used:need] = getattr(columns, name)[mine]
        self._kept = AdjustedShapes(**grown)
        self._live = np.append(self._live, n)

    def add_many(self, columns: Sequence[Any]) -> None:
        """Keep all columns of a prepared set, one after the other."""
        for i in range(len(columns)):
            self.add(columns[i])

    def drop(self, positions: npt.NDArray[np.intp]) -> None:
        """Drop the kept columns at these positions (0 is the oldest)."""
        self._live = np.delete(self._live, positions)
        if len(self._kept) > 2 * len(self._live) + 8:
            self._kept, self._live = self._kept.pick(self._live), np.arange(len(self._live))
