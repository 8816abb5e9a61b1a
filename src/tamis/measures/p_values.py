"""Valid p-values of columns: which test a column gets, and what the tests share.

The counts of the column and of the target choose the test, never how the rows are arranged, so the
choice costs no validity. `tamis.kernels.exact_tests` tests columns against classes; p-values that
need the chi-square, t or F law are computed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincinv, chdtrc, gammaln, ndtri

from tamis.core.blocks import ColumnBlock, has_no_order
from tamis.core.p_levels import LEAST, significance
from tamis.core.target import Target
from tamis.kernels.correlation import DENSE_NUMBER
from tamis.kernels.exact_counts import MOST_MARKED, law_of_counts
from tamis.kernels.exact_tests import (
    CHI_SQUARE,
    CUTS,
    NUMBERS,
    OPEN,
    gate_columns,
    mark_open,
    test_columns,
    test_many_levels,
    test_whole_levels,
)
from tamis.kernels.known_rows import retest_known, retest_known_against_numbers
from tamis.kernels.saddle_point import (
    FEW_VALUES,
    SADDLE_POINT,
    SMOOTH,
    TRUSTWORTHY,
    find_doubted,
    find_trusted,
    retest_against_numbers,
    retest_given,
    retest_smooth,
)
from tamis.kernels.threads import over_columns
from tamis.measures.adjusted import Adjustment, given_target
from tamis.measures.measure import Floats, Ints, Measure, Strength, Tested

#: The names of the tests; the kernels know their positions.
TESTS = (
    "Fisher's exact test",
    "the exact test of its counts",
    "Fisher's exact test of each class",
    "exact tests of its cuts",
    "the G-squared test",
    "the t test",
    "the F test",
    "a permutation test (saddle-point)",
    "the t test of normal scores",
    "a test given the covariates (saddle-point)",
    "exact tests of its categories",
)
T_TEST, F_TEST, WITHIN = 5, 6, 10

#: No counts are known: see `against_classes`.
NO_ONES = np.empty(0, np.int64)

#: The t and F laws are checked where their p-value is at most this: two standard deviations.
DOUBTED = 0.0455

#: With more classes than this the exact law of the counts takes too long to tabulate.
MOST_CLASSES = 100


def against_classes(
    block: ColumnBlock,
    target: Target,
    strength: Strength,
    bound: float,
    ones: Ints,
    *,
    numbers: bool,
) -> tuple[Tested, Ints]:
    """Test every column against classes; return that and the number of levels of each column.

    P-values of the tests that the kernel leaves to the caller (G-squared, numbers) are -1. `ones`
    are counts that are known already (see `test_columns`); -2 marks a number, and -2 less the
    levels a column of categories with enough rows for the G-squared test.
    """
    n, counts, width = target.n_rows, target.counts, block.width
    p, least, test = np.empty(width), np.empty(width), np.empty(width, np.uint8)
    n_levels = np.empty(width, np.int64)
    into = p, least, test, n_levels
    log_bound = math.log(bound) if bound < 1 else math.inf
    rest = log_factorials(n), log_bound, *_laws(tuple(counts.tolist()))
    known = ones < -1
    done = len(ones) > 0 and bool(known.all())
    if len(ones) and not done and ones.max() < 0 and (block.is_sparse or not numbers):
        flat, indptr, _, values = block.arrays
        done = mark_open(flat, indptr, values, ones, n, numbers, *into)
    if not done:
        form = target.codes, counts, numbers, *rest
        over_columns(
            lambda lo, hi: test_columns(*block.arrays, ones, *form, lo, hi, *into), block.spans
        )
    if len(known):
        p[known], least[known], n_levels[known] = -1.0, 0.0, -2 - ones[known]
        test[known] = np.where(ones[known] == DENSE_NUMBER, NUMBERS, CHI_SQUARE)
    of_many = np.flatnonzero(test == OPEN)
    if len(of_many):
        _test_many_levels(block, of_many, target, numbers, rest, into)
    return Tested(strength.value, strength.constant, p, least, test), n_levels


def _test_many_levels(
    block: ColumnBlock, picks: Ints, target: Target, numbers: bool, rest: Any, into: Any
) -> None:
    """Test the picked columns; `rest` are tables and the bound, `into` is written."""
    about, unordered, spans = (target.codes, target.counts), has_no_order(block), block.spans
    if not numbers:
        form: Any = *about, unordered, *rest
        over_columns(
            lambda lo, hi: test_whole_levels(*block.arrays, picks, *form, lo, hi, *into),
            np.concatenate([[0], np.cumsum((spans[1:] - spans[:-1])[picks])]),
        )
        picks = picks[into[2][picks] == OPEN]
        if not len(picks):
            return
    form = *about, numbers, unordered, *rest
    over_columns(
        lambda lo, hi: test_many_levels(*block.arrays, picks, *form, lo, hi, *into),
        np.concatenate([[0], np.cumsum((spans[1:] - spans[:-1])[picks])]),
    )


def p_values_of_categories(
    block: ColumnBlock,
    target: Target,
    strength: Strength,
    g_squared: float,
    bound: float,
    ones: Ints = NO_ONES,
) -> Tested:
    """Test columns of categories; strength times `g_squared` is their G-squared statistic."""
    tested, n_levels = against_classes(block, target, strength, bound, ones, numbers=False)
    some = np.flatnonzero(tested.test == CHI_SQUARE)
    if len(some):
        df = (n_levels[some] - 1.0) * (target.n_classes - 1)
        tested.p[some] = chdtrc(df, strength.value[some] * g_squared)
    return tested


def p_values_of_numbers(
    block: ColumnBlock,
    target: Target,
    strength: Strength,
    bound: float,
    ones: Ints = NO_ONES,
    *,
    by_classes: bool,
) -> Tested:
    """Test columns of numbers by their (multiple) correlation with the target."""
    n, width = target.n_rows, block.width
    if by_classes:
        tested, _ = against_classes(block, target, strength, bound, ones, numbers=True)
        some = np.flatnonzero(tested.test == NUMBERS)
        groups = target.n_classes
    else:
        tested = tested_as(strength, np.ones(width), T_TEST)
        some, groups = np.flatnonzero(~strength.constant), 2
    if not len(some):
        return tested
    tested.test[some] = T_TEST if groups == 2 else F_TEST
    tested.p[some] = variance_p(strength.value[some], groups - 1, n - groups, max(bound, DOUBTED))
    doubted = some[tested.p[some] <= DOUBTED]
    if len(doubted):
        form = _moments_of(target, by_classes)
        few, at = block.wide(doubted)
        if few is block:
            _retest(block, target, form, doubted, tested)
            return tested
        again = tested.pick(doubted)
        _retest(few, target, form, at, again)
        tested.p[doubted], tested.test[doubted] = again.p, again.test
    return tested


def _retest(
    block: ColumnBlock, target: Target, form: TargetMoments, picks: Ints, tested: Tested
) -> None:
    """Test some columns again, in place, where the t or F law cannot be trusted."""
    n, of_block, logs = block.n_rows, block.arrays, log_factorials(block.n_rows)
    z = -ndtri(np.maximum(tested.p[picks], 1e-300) / 2)
    trusted, (flat, indptr, _, values) = np.empty(len(picks), np.bool_), of_block

    def over(picks: Ints, work: Callable[[int, int], None]) -> None:
        if len(picks):  # else a kernel would be compiled that is never needed
            over_columns(work, np.arange(len(picks) + 1) * n)

    moments = form.skew, form.kurtosis
    over(picks, lambda lo, hi: find_trusted(
        flat, indptr, values, picks, z, n, *moments, lo, hi, trusted
    ))  # fmt: skip
    picks, z = picks[~trusted], z[~trusted]
    doubts = np.empty(len(picks), np.uint8)
    over(picks, lambda lo, hi: find_doubted(*of_block, picks, z, n, *moments, lo, hi, doubts))
    if not len(form.values):
        few, smooth = picks[doubts == FEW_VALUES], picks[doubts == SMOOTH]
        if len(few):
            no_laws, unused = _laws(()), np.empty(block.width)
            into = tested.p, unused, tested.test, np.empty(block.width, np.int64)
            _test_many_levels(block, few, target, True, (logs, math.inf, *no_laws), into)
        against = form.codes, form.counts, logs
        over(smooth, lambda lo, hi: retest_smooth(*of_block, smooth, *against, lo, hi, tested.p))
        tested.test[few], tested.test[smooth] = CUTS, SADDLE_POINT
        return
    picks = picks[doubts != TRUSTWORTHY]
    correlation = np.full(len(picks), np.nan)
    numbers = form.values, form.scores, form.score_table, logs
    over(picks, lambda lo, hi: retest_against_numbers(
        *of_block, picks, *numbers, lo, hi, tested.p, tested.test, correlation
    ))  # fmt: skip
    scored = np.flatnonzero(~np.isnan(correlation))
    if len(scored):
        tested.p[picks[scored]] = variance_p(correlation[scored], 1, n - 2)


def p_values_given(
    block: ColumnBlock,
    target: Target,
    adjustment: Adjustment,
    strength: Strength,
    bound: float,
    *,
    by_classes: bool,
) -> Tested:
    """Test columns of numbers with weights or covariates.

    The t and F tests take every row's error for equally large, and sums for normal. A class that is
    rarer where the covariates say so, or a rare flag, is neither: the larger of their p-value and
    that of another test counts. That other one is, for classes given covariates, the test of the
    column in a logistic model with the covariates; with weights, and for numbers, a permutation
    test of columns that are mostly one value.
    """
    explaining = adjustment.n_targets
    most = max(bound, DOUBTED)
    p = variance_p(strength.value, explaining, adjustment.rest(explaining, 0), most)
    tested = tested_as(strength, p, T_TEST if explaining == 1 else F_TEST)
    doubted = np.flatnonzero(tested.p <= DOUBTED)
    if len(doubted):
        form, n = given_target(target, by_classes), block.n_rows
        over_columns(
            lambda lo, hi: retest_given(
                *block.arrays, doubted, *form.arrays, log_factorials(n), lo, hi, tested.p,
                tested.test,
            ),
            np.arange(len(doubted) + 1) * n,
        )  # fmt: skip
    return tested


class KnownRows(NamedTuple):
    """Columns with missing values: their entries, the number that means missing, and what is left.

    `n_rows` and `n_classes` are those of the rows where a column is not missing.
    """

    indptr: Ints
    rows: npt.NDArray[np.int32]
    values: Floats
    gap: float
    n_rows: Ints
    n_classes: Ints


def tested_with_gaps(
    measure: Measure,
    block: ColumnBlock,
    target: Target,
    known: KnownRows,
    tested: Tested,
    bound: float,
    *,
    by_classes: bool,
    numbers: bool,
) -> Tested:
    """Test columns by the rows where they are not missing.

    The p-values of `tested` are those of the t, F or G-squared test of these rows. Where that law
    cannot be trusted, columns are tested again, in place; complete ones as `measure` does.
    """
    whole = np.flatnonzero(known.n_rows == block.n_rows)
    if len(whole):
        found = measure.tested(block.pick(whole), target, bound)
        tested.p[whole], tested.least_p[whole] = found.p, found.least_p
        tested.test[whole] = found.test
    picks = np.flatnonzero((known.n_rows < block.n_rows) & ~tested.constant)
    if len(picks):
        _retest_known(block, target, known, tested, picks, by_classes=by_classes, numbers=numbers)
    return tested


def _retest_known(
    block: ColumnBlock,
    target: Target,
    known: KnownRows,
    tested: Tested,
    picks: Ints,
    *,
    by_classes: bool,
    numbers: bool,
) -> None:
    z = -ndtri(np.maximum(tested.p[picks], 1e-300) / 2)
    columns = known.indptr, known.rows, known.values, known.gap, picks, z
    logs, spans = log_factorials(block.n_rows), np.arange(len(picks) + 1) * block.n_rows
    if by_classes:
        codes, none = target.codes, _laws(())
        form = target.n_classes, numbers, has_no_order(block), logs, *none
        over_columns(
            lambda lo, hi: retest_known(*columns, codes, *form, lo, hi, tested.p, tested.test),
            spans,
        )
        return
    moments, correlation = _moments_of(target, by_classes=False), np.full(len(picks), np.nan)
    over_columns(
        lambda lo, hi: retest_known_against_numbers(
            *columns, moments.values, moments.score_table, logs, lo, hi, tested.p, tested.test,
            correlation,
        ),
        spans,
    )  # fmt: skip
    scored = np.flatnonzero(~np.isnan(correlation))
    some = picks[scored]
    tested.p[some] = variance_p_of(correlation[scored], np.ones(1), known.n_rows[some] - 2.0)


def variance_p_of(strength: Floats, explaining: Any, rest: Any) -> Floats:
    """Return p-values of the t or F test, each with its own degrees of freedom."""
    unexplained = (1.0 - strength) * (1.0 + strength)
    p = betainc(np.maximum(rest, 1) / 2, np.maximum(explaining, 1) / 2, unexplained)
    found: Floats = np.where((rest >= 1) & (explaining >= 1), p, 1.0)
    return found


class TargetMoments(NamedTuple):
    """A target as the test of numbers needs it: classes, or standardised numbers."""

    codes: npt.NDArray[np.uint16]
    counts: Ints
    values: Floats
    scores: Floats
    score_table: Floats
    skew: float
    kurtosis: float


@lru_cache(maxsize=4)
def _moments_of(target: Target, by_classes: bool) -> TargetMoments:
    """Return the form of a target, with its largest skewness and excess kurtosis, cached."""
    none = np.empty(0)
    if by_classes:
        share = target.counts[target.counts > 0] / target.n_rows
        spread = share * (1 - share)
        skew = float(np.abs((1 - 2 * share) / np.sqrt(spread)).max())
        kurtosis = float(np.abs((1 - 6 * spread) / spread).max())
        assert target.codes is not None
        return TargetMoments(target.codes, target.counts, none, none, none, skew, kurtosis)
    n = target.n_rows
    _, level, sizes = np.unique(target.values, return_inverse=True, return_counts=True)
    table = ndtri(np.arange(1, 2 * n) / (2 * n))  # of doubled mid-ranks, from 0 to 2n - 2
    scores = _standardised(table[2 * np.cumsum(sizes) - sizes - 1][level])
    values = _standardised(target.values)
    skew, kurtosis = float(np.mean(values**3)), float(np.mean(values**4)) - 3
    codes, counts = np.empty(0, np.uint16), np.empty(0, np.int64)
    return TargetMoments(codes, counts, values, scores, table, skew, kurtosis)


def _standardised(values: Floats) -> Floats:
    centred = values - values.mean()
    scaled: Floats = centred / max(float(np.sqrt(np.mean(centred**2))), 1e-300)
    return scaled


def gate_by_p(result: Strength, tested: Tested, alpha: float, most: float) -> Strength:
    """Set the cutoffs such that a strength is above its cutoff where p <= alpha.

    No strength is above `most`.
    """
    tests = np.arange(len(TESTS), dtype=np.uint8)
    _, missed, _ = significance(np.zeros(len(tests)), np.ones(len(tests)), alpha, tests, most)
    logged, cutoff = np.empty(len(result)), result.cutoff
    gate_columns(
        result.value, tested.constant, tested.p, tested.test, alpha, LEAST, missed,
        cutoff.view(np.int64), cutoff, logged,
    )  # fmt: skip
    return Strength(result.value, cutoff, logged)


def sentences(alpha: float) -> dict[str, str]:
    """Return what explanations say about p-values."""
    return {
        "alpha": repr(alpha),
        "tests": "|".join(TESTS),
        "level_passed": "{relevance_symbol}={relevance}, p={p} by {test_used}",
        "level_missed": ("{relevance_symbol}={relevance}, p is above {alpha} by {test_used}"),
    }


def tested_as(strength: Strength, p: Floats, test: int) -> Tested:
    """Return columns that all had the same test, with their p-values."""
    constant, width = strength.constant, len(strength)
    p = np.where(constant, 1.0, p)
    return Tested(
        strength.value, constant, p, np.zeros(width), np.full(width, test, np.uint8)
    )  # fmt: skip


def variance_p(strength: Floats, explaining: int, rest: int, bound: float = 1.0) -> Floats:
    """Return p-values of multiple correlations: those of the t test, or of the F test.

    Those above the bound are only known to be so.
    """
    if rest < 1:
        return np.ones(len(strength))
    p = np.full(len(strength), np.nextafter(bound, 2.0) if bound < 1 else 1.0)
    least = 0.0
    if bound < 1:  # p is at most the bound from here on
        least = math.sqrt(1.0 - float(betaincinv(rest / 2, explaining / 2, bound)))
    some = np.flatnonzero(strength >= least * (1.0 - 1e-9))
    # Without dependence 1 - R^2 is beta distributed.
    unexplained = (1.0 - strength[some]) * (1.0 + strength[some])
    p[some] = betainc(rest / 2, explaining / 2, unexplained)
    return p


@lru_cache(maxsize=4)
def log_factorials(n: int) -> Floats:
    """Return ln i! for i = 0..n, cached."""
    logs: Floats = gammaln(np.arange(n + 1) + 1.0)
    return logs


@lru_cache(maxsize=16)
def _laws(counts: tuple[int, ...]) -> tuple[Ints, Floats, Floats]:
    """Return lattice steps, tails and least p-values by number of ones; empty for two classes."""
    if not 2 < len(counts) <= MOST_CLASSES:
        return np.empty((0, 0), np.int64), np.empty((0, 0)), np.empty(0)
    steps, tails = law_of_counts(counts, MOST_MARKED)
    least = np.where(tails > 0, tails, 1.0).min(axis=1)
    return steps, tails, least[: sum(counts) // 2 + 1]
