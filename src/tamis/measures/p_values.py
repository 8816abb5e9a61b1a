"""Valid p-values of columns: which test a column gets, and what the tests share.

The counts of the column and of the target choose the test, never how the rows are arranged, so the
choice costs no validity. `tamis.kernels.exact_tests` tests columns against classes; p-values that
need the chi-square, t or F law are computed here.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import betainc, betaincinv, chdtrc, gammaln

from tamis.core.blocks import ColumnBlock, has_no_order
from tamis.core.target import Target
from tamis.kernels.exact_counts import deviance_steps, tails_of_counts
from tamis.kernels.exact_tests import CHI_SQUARE, NUMBERS, test_columns
from tamis.kernels.threads import over_columns
from tamis.measures.measure import Floats, Ints, Strength, Tested

#: The names of the tests; the kernels know their positions.
TESTS = (
    "Fisher's exact test",
    "the exact test of its counts",
    "Fisher's exact test of each class",
    "exact tests of its cuts",
    "the G-squared test",
    "the t test",
    "the F test",
)
T_TEST, F_TEST = 5, 6

#: Most rows of a rare bin, class or level that gets an exact test of its counts.
MOST_MARKED = 100

#: With more classes than this the exact law of the counts takes too long to tabulate.
MOST_CLASSES = 100


def test_classes(
    block: ColumnBlock, target: Target, strength: Strength, bound: float, *, numbers: bool
) -> tuple[Tested, Ints]:
    """Test every column against classes; return that and the number of levels of each column.

    P-values of the tests that the kernel leaves to the caller (G-squared, numbers) are -1.
    """
    n, counts, width = target.n_rows, target.counts, block.width
    p, least, test = np.empty(width), np.empty(width), np.empty(width, np.uint8)
    n_levels = np.empty(width, np.int64)
    log_bound = math.log(bound) if bound < 1 else math.inf
    form = (
        target.codes, counts, numbers, has_no_order(block), log_factorials(n), log_bound,
        *_laws(tuple(counts.tolist())),
    )  # fmt: skip
    over_columns(
        lambda lo, hi: test_columns(*block.arrays, *form, lo, hi, p, least, test, n_levels),
        block.spans,
    )
    constant = strength.constant
    p[constant] = 1.0
    return Tested(strength.value, constant, p, least, test), n_levels


def test_categories(
    block: ColumnBlock, target: Target, strength: Strength, g_squared: float, bound: float
) -> Tested:
    """Test columns of categories; strength times `g_squared` is their G-squared statistic."""
    tested, n_levels = test_classes(block, target, strength, bound, numbers=False)
    some = np.flatnonzero((tested.test == CHI_SQUARE) & ~tested.constant)
    if len(some):
        df = (n_levels[some] - 1.0) * (target.n_classes - 1)
        tested.p[some] = chdtrc(df, strength.value[some] * g_squared)
    return tested


def test_numbers(
    block: ColumnBlock, target: Target, strength: Strength, bound: float, *, by_classes: bool
) -> Tested:
    """Test columns of numbers by their (multiple) correlation with the target."""
    n, width = target.n_rows, block.width
    if by_classes:
        tested, _ = test_classes(block, target, strength, bound, numbers=True)
        some = np.flatnonzero((tested.test == NUMBERS) & ~tested.constant)
        groups = target.n_classes
    else:
        tested = tested_as(strength, np.ones(width), T_TEST)
        some, groups = np.flatnonzero(~strength.constant), 2
    tested.test[some] = T_TEST if groups == 2 else F_TEST
    tested.p[some] = variance_p(strength.value[some], groups - 1, n - groups, bound)
    return tested


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


@lru_cache(maxsize=256)
def law_of_counts(sizes: tuple[int, ...], most: int) -> tuple[Ints, Floats]:
    """Return lattice steps and tail probabilities of up to `most` marked rows on groups."""
    counts = np.array(sizes)
    centre = most if most < MOST_MARKED else most / 2
    steps = deviance_steps(counts, most, min(centre, counts.sum() / 2))
    return steps, tails_of_counts(counts, steps)


@lru_cache(maxsize=16)
def _laws(counts: tuple[int, ...]) -> tuple[Ints, Floats, Floats]:
    """Return lattice steps, tails and least p-values by number of ones; empty for two classes."""
    if not 2 < len(counts) <= MOST_CLASSES:
        return np.empty((0, 0), np.int64), np.empty((0, 0)), np.empty(0)
    steps, tails = law_of_counts(counts, MOST_MARKED)
    least = np.where(tails > 0, tails, 1.0).min(axis=1)
    return steps, tails, least[: sum(counts) // 2 + 1]
