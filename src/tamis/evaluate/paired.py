"""Tests of two methods on one data set, fold by fold, and over many data sets.

Folds of cross-validation share training rows, so their differences are not independent and a plain
paired t-test reports "significant" too often. The corrected resampled t-test (Nadeau, Bengio 2003)
increases the variance by n_test/n_train; it is the default. The plain one is offered because the
papers used it.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import stats

from tamis.core.errors import InputError
from tamis.core.params import Number, OneOf, check

Floats = npt.NDArray[np.float64]
PairedTest = Literal["corrected-t", "t", "wilcoxon"]
PAIRED_TESTS: tuple[str, ...] = get_args(PairedTest)
Outcome = Literal["win", "tie", "loss"]

#: The fewest folds over which each test can reject at 5%. Wilcoxon's smallest p-value over n folds
#: is 2 / 2^n, which is 0.0625 for 5.
LEAST_FOLDS: dict[str, int] = {"corrected-t": 2, "t": 2, "wilcoxon": 6}


def paired_t(a: npt.ArrayLike, b: npt.ArrayLike, *, share: float = 0.0) -> float:
    """Return the two-sided p-value of a paired t-test of a - b.

    `share` is n_test / n_train of the folds for the corrected resampled t-test; 0 gives the plain
    one. If all differences are equal, the result is 1 if they are 0, and 0 otherwise.
    """
    d = _differences(a, b)
    if len(d) < 2:
        return math.nan
    variance = float(np.var(d, ddof=1))
    mean = float(np.mean(d))
    # The rounding errors of equal differences are not variance.
    if variance <= (1e-12 * max(1.0, float(np.max(np.abs(d))))) ** 2:
        return 1.0 if abs(mean) < 1e-12 else 0.0
    t = mean / math.sqrt(variance * (1 / len(d) + share))
    return float(2 * stats.t.sf(abs(t), len(d) - 1))


def wilcoxon(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test; zeros are split evenly.

    Fewer than two differences give NaN, and no difference at all gives 1.
    """
    d = _differences(a, b)
    if len(d) < 2:
        return math.nan
    # The last bits of differences are rounding: 0.9 - 0.8 and 0.3 - 0.2 are tied.
    scores = np.concatenate([np.asarray(side, dtype=np.float64) for side in (a, b)])
    largest = float(np.nanmax(np.abs(scores)))
    d = np.round(d / largest, 12) if largest > 0 else d
    if not np.any(d):
        return 1.0
    with warnings.catch_warnings():  # older SciPy warns about few folds (so do we), and of zeros
        warnings.filterwarnings("ignore", "Sample size too small|Exact p-value calculation")
        return float(stats.wilcoxon(d, zero_method="zsplit").pvalue)


def paired_p(
    a: npt.ArrayLike, b: npt.ArrayLike, *, test: PairedTest = "corrected-t", share: float = 0.0
) -> float:
    """Return the two-sided p-value of a test by name; NaN if there are fewer than two pairs."""
    check("paired_p", "test", test, OneOf(PAIRED_TESTS))
    if test == "wilcoxon":
        return wilcoxon(a, b)
    return paired_t(a, b, share=share if test == "corrected-t" else 0.0)


def compare_pair(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    test: PairedTest = "corrected-t",
    share: float = 0.0,
    alpha: float = 0.05,
) -> Outcome:
    """Return whether `a` wins, ties or loses against `b` on one data set.

    >>> compare_pair([0.9, 0.8, 0.85, 0.9], [0.5, 0.6, 0.55, 0.4], test="t")
    'win'
    """
    check("compare_pair", "test", test, OneOf(PAIRED_TESTS))
    check("compare_pair", "alpha", alpha, Number(0, 1, open_low=True, open_high=True))
    p = paired_p(a, b, test=test, share=share)
    if math.isnan(p) or p > alpha:
        return "tie"
    return "win" if float(np.mean(_differences(a, b))) > 0 else "loss"


@dataclass(frozen=True)
class SignedRankBelief:
    """Probabilities that the first method is better, practically equal, or worse."""

    better: float
    equal: float
    worse: float


def bayesian_signed_rank(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    rope: float = 0.01,
    prior: float = 0.5,
    samples: int = 50_000,
    random_state: int = 0,
) -> SignedRankBelief:
    """Return the probability that `a` is better than `b` by more than `rope`, over data sets.

    The Bayesian signed-rank test (Benavoli, Corani, Demšar, Zaffalon, JMLR 18, 2017): weights of
    the data sets are drawn from a Dirichlet distribution with one pseudo-observation of weight
    `prior` at 0; in each draw the region with the largest probability of (z_i + z_j)/2 wins.
    """
    check("bayesian_signed_rank", "rope", rope, Number(0))
    check("bayesian_signed_rank", "prior", prior, Number(0, open_low=True))
    z = np.concatenate([[0.0], _differences(a, b)])
    middle = (z[:, None] + z[None, :]) / 2
    slack = 1e-12  # a difference of exactly the rope counts as practically equal, despite rounding
    above = (middle > rope + slack).astype(np.float64)
    below = (middle < -rope - slack).astype(np.float64)
    rng = np.random.default_rng(random_state)
    weights = rng.dirichlet(np.concatenate([[prior], np.ones(len(z) - 1)]), size=samples)
    up = np.einsum("si,ij,sj->s", weights, above, weights, optimize=True)
    down = np.einsum("si,ij,sj->s", weights, below, weights, optimize=True)
    regions = np.stack([up, 1 - up - down, down])
    largest = regions >= regions.max(axis=0) - 1e-12
    won = (largest / largest.sum(axis=0)).mean(axis=1)  # tied regions share the draw
    return SignedRankBelief(*(float(x) for x in won))


def _differences(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """Return `a` minus `b` for the pairs where both have a result."""
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if left.shape != right.shape or left.ndim != 1:
        raise InputError("give two lists of the same length: paired results")
    both = ~(np.isnan(left) | np.isnan(right))
    differences: Floats = left[both] - right[both]
    return differences
