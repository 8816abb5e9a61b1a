"""Ranks over data sets: Friedman, Iman-Davenport, Nemenyi with its critical difference, Holm.

A table has one row per data set and one column per method. Rank 1 is the best; tied methods share
the mean of their ranks. A method without a result on a data set (NaN) ranks last there: leaving
the data set out would favour methods that failed on it.

References
----------
J. Demšar. Statistical Comparisons of Classifiers over Multiple Data Sets. JMLR 7, 2006.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from tamis.core.errors import InputError
from tamis.core.params import Number, check

Floats = npt.NDArray[np.float64]


def rank_rows(table: npt.ArrayLike, *, larger_is_better: bool = True) -> Floats:
    """Return the ranks of the methods on every data set.

    >>> rank_rows([[0.9, 0.8, 0.9]])
    array([[1.5, 3. , 1.5]])
    """
    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2 or values.size == 0:
        raise InputError("give a table with a row for each data set and a column for each method")
    signed = -values if larger_is_better else values.copy()
    signed[np.isnan(values)] = np.inf  # no result: last
    return np.asarray(stats.rankdata(signed, axis=1), dtype=np.float64)


@dataclass(frozen=True)
class Friedman:
    """Friedman's test of any difference, and the more powerful F form of Iman and Davenport.

    Attributes
    ----------
    chi_square, p : float
        Friedman's statistic and its p-value, as in Demšar's equation (no correction for ties).
    chi_square_ties, p_ties : float
        The same, corrected for ties, as in scipy.stats.friedmanchisquare.
    f, f_p : float
        Iman and Davenport's F from `chi_square`, with k-1 and (k-1)(N-1) degrees of freedom.
    average_ranks : ndarray
        Mean rank of each method, 1 = best.
    """

    chi_square: float
    p: float
    chi_square_ties: float
    p_ties: float
    f: float
    f_p: float
    average_ranks: Floats


def friedman(table: npt.ArrayLike, *, larger_is_better: bool = True) -> Friedman:
    """Return Friedman's test with both corrections.

    Two methods are allowed: the test is then a sign test in its normal approximation.
    """
    ranks = rank_rows(table, larger_is_better=larger_is_better)
    n, k = ranks.shape
    if k < 2 or n < 2:
        raise InputError(
            f"rank tests need at least two methods and two data sets, but there are {k} and {n}; "
            "compare more of them"
        )
    mean = ranks.mean(axis=0)
    chi = 12 * n / (k * (k + 1)) * (float(np.sum(mean**2)) - k * (k + 1) ** 2 / 4)
    chi = max(chi, 0.0)
    # Ranks are halves, so the sum of their squares is exact: without ties it is k(k+1)(2k+1)/6.
    spread = float(np.sum(ranks**2)) - n * k * (k + 1) ** 2 / 4
    chi_ties = chi * (n * k * (k**2 - 1) / 12) / spread if spread > 0 else 0.0
    left = n * (k - 1) - chi
    f = (n - 1) * chi / left if left > 0 else math.inf
    return Friedman(
        chi,
        float(stats.chi2.sf(chi, k - 1)),
        chi_ties,
        float(stats.chi2.sf(chi_ties, k - 1)),
        f,
        float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))),
        mean,
    )


def nemenyi_q(n_methods: int, alpha: float = 0.05) -> float:
    """Return the q of Nemenyi's test: the studentised range (infinite df) over √2.

    >>> round(nemenyi_q(4), 3), round(nemenyi_q(4, alpha=0.10), 3)
    (2.569, 2.291)
    """
    check("nemenyi_q", "n_methods", n_methods, Number(2, integer=True))
    check("nemenyi_q", "alpha", alpha, Number(0, 1, open_low=True, open_high=True))
    return float(stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / math.sqrt(2))


def standard_error(n_methods: int, n_data: int) -> float:
    """Return the standard error of the difference of two average ranks."""
    return math.sqrt(n_methods * (n_methods + 1) / (6 * n_data))


def critical_difference(n_methods: int, n_data: int, alpha: float = 0.05) -> float:
    """Return the smallest difference of average ranks that is significant (Nemenyi).

    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    check("critical_difference", "n_data", n_data, Number(1, integer=True))
    return nemenyi_q(n_methods, alpha) * standard_error(n_methods, n_data)


def nemenyi_p(average: npt.ArrayLike, n_data: int) -> Floats:
    """Return the p-values of all pairs of methods by Nemenyi's test, from their average ranks."""
    mean = np.asarray(average, dtype=np.float64)
    z = np.abs(mean[:, None] - mean[None, :]) / standard_error(len(mean), n_data)
    p = stats.studentized_range.sf(z * math.sqrt(2), len(mean), np.inf)
    return np.clip(np.asarray(p, dtype=np.float64), 0.0, 1.0)


def cliques(average: npt.ArrayLike, difference: float) -> list[list[int]]:
    """Return the largest groups of methods whose average ranks are within the critical difference.

    >>> cliques([3.143, 2.0, 2.893, 1.964], 1.12)
    [[3, 1, 2], [2, 0]]
    """
    mean = np.asarray(average, dtype=np.float64)
    order = np.argsort(mean, kind="stable")
    groups: list[list[int]] = []
    reached = -1
    for start in range(len(order)):
        within = np.flatnonzero(mean[order] - mean[order[start]] < difference)
        end = int(within[-1])
        if end > reached and end > start:
            groups.append(order[start : end + 1].tolist())
        reached = max(reached, end)
    return groups


@dataclass(frozen=True)
class AgainstControl:
    """One method against the control.

    `z` is positive if the control ranks better; `p` is two-sided, `p_holm` is the p-value
    adjusted by Holm's step-down for all the methods compared with the control.
    """

    method: int
    z: float
    p: float
    p_holm: float


def holm(average: npt.ArrayLike, n_data: int, control: int) -> list[AgainstControl]:
    """Compare every other method with a control, by average ranks, with Holm's correction.

    The most significant is first.
    """
    mean = np.asarray(average, dtype=np.float64)
    others = np.array([i for i in range(len(mean)) if i != control])
    z = (mean[others] - mean[control]) / standard_error(len(mean), n_data)
    p = 2 * stats.norm.sf(np.abs(z))
    lines = zip(*(x.tolist() for x in (others, z, p, holm_adjust(p))), strict=True)
    return sorted((AgainstControl(*line) for line in lines), key=lambda one: one.p)


def holm_adjust(p: Sequence[float] | Floats) -> Floats:
    """Return Holm's adjusted p-values, in the order given.

    >>> holm_adjust([0.02, 0.01, 0.6]).tolist()
    [0.04, 0.03, 0.6]
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
