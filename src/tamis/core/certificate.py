"""A certificate: the part of a kept set whose false discovery rate is bounded, whatever happened.

Let a column have a p-value p and a weight w that was fixed beforehand; the weights of all columns
add up to at most 1. With beta(r) = min(r, 100) / (1 + 1/2 + ... + 1/100), a set S in which every
column has p <= alpha * w * beta(|S|) has an expected share of false columns of at most alpha. It
may have been chosen in any way, by these and any other numbers, and columns may depend on each
other in any way.

Proof. The share of false columns in S is the sum of 1{p <= alpha w beta(V)} / V over false columns,
V = |S|. As 1/V is the sum of 1/(x(x+1)) over x >= V, and beta never falls, a term is at most the
sum of 1{p <= alpha w beta(x)} / (x(x+1)) over all x, whose expectation is at most alpha w times the
sum of beta(x) / (x(x+1)), which is 1. So the expected share is at most alpha times the sum of the
weights. (G. Blanchard, E. Roquain. EJS 2, 2008, 963. doi:10.1214/08-EJS180)

A column is false if it is independent of the target, with rows that are exchangeable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.decisions import DecisionLog
from tamis.core.errors import InputError
from tamis.core.p_levels import p_of
from tamis.core.params import Number, check
from tamis.core.sentences import counted

Floats = npt.NDArray[np.float64]

#: Sizes above this are worth no more than this.
MOST_SIZE = 100

#: Columns that cannot have a p-value of at most this have no weight. It is fixed beforehand.
REACHABLE = 1e-4

_HARMONIC = float(np.sum(1.0 / np.arange(1, MOST_SIZE + 1)))


def certify(p: npt.ArrayLike, weights: npt.ArrayLike, alpha: float = 0.1) -> npt.NDArray[np.bool_]:
    """Return the largest part of a kept set with a false discovery rate of at most `alpha`.

    Parameters
    ----------
    p : array-like
        Valid p-values of the kept features.
    weights : array-like
        The weight of each of them. The weights of all columns, kept or not, must add up to at most
        1, and must not depend on the p-values: 1 / (number of columns), for example.
    alpha : float
        The false discovery rate.

    Examples
    --------
    >>> certify([1e-9, 1e-8, 0.003], np.full(3, 1 / 1000)).tolist()
    [True, True, False]
    """
    check("certify", "alpha", alpha, Number(0, 1, open_low=True, open_high=True))
    values, shares = np.asarray(p, np.float64), np.asarray(weights, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(shares > 0, values / (alpha * shares), np.inf)
    ordered = np.sort(needed)
    sizes = np.arange(1, len(ordered) + 1)
    enough = np.flatnonzero(ordered <= np.minimum(sizes, MOST_SIZE) / _HARMONIC)
    if not len(enough):
        return np.zeros(len(values), np.bool_)
    certified: npt.NDArray[np.bool_] = needed <= min(enough[-1] + 1, MOST_SIZE) / _HARMONIC
    return certified


def share_by_arrival(number: npt.ArrayLike) -> Floats:
    """Return the weights of columns by arrival, from 1 on, for streams without an end.

    >>> float(share_by_arrival(np.arange(1, 100_000)).sum().round(2))
    0.46
    """
    t = np.asarray(number, np.float64)
    found: Floats = 0.07720838 * np.log(np.maximum(t, 2)) / (t * np.exp(np.sqrt(np.log(t))))
    return found


@dataclass(frozen=True)
class Certificate:
    """The certified part of a kept set.

    Attributes
    ----------
    alpha : float
        The false discovery rate.
    features, names : list
        Numbers and names of the certified features, in order of arrival.
    kept, columns : int
        Numbers of kept features and of columns that count.
    by_arrival : bool
        Whether weights fall with the number of the column, so that more may follow.
    given : tuple of str
        The covariates that the p-values adjust for.
    """

    alpha: float
    features: list[int]
    names: list[str]
    kept: int
    columns: int
    by_arrival: bool
    given: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        log: DecisionLog,
        alpha: float,
        *,
        by_arrival: bool,
        columns: int | None = None,
        given: Sequence[str] = (),
    ) -> Certificate:
        """Return the certificate of the features that a log keeps.

        `columns` is the number of columns whose counts allow a p-value of at most `REACHABLE`, if
        it is known. If these are at most half of all, only they have weights.
        """
        kept = np.array(log.replay(), np.int64)
        p = p_values_of(log, kept.tolist())
        total = max(1, len(log))
        weights = share_by_arrival(kept + 1) if by_arrival else np.full(len(kept), 1.0 / total)
        if columns is not None and 2 * columns <= total and not by_arrival:
            # Weights of columns that cannot be certified go to the others.
            total = max(1, columns)
            weights = np.where(p <= REACHABLE, 1.0 / total, 0.0)
        passed = kept[certify(p, weights, alpha)].tolist()
        names = [log.names[feature] for feature in passed]
        return cls(alpha, passed, names, len(kept), total, by_arrival, tuple(given))

    def record(self) -> dict[str, Any]:
        """Return the certificate as plain values."""
        return {
            "alpha": self.alpha, "certified": self.names, "kept": self.kept,
            "columns": self.columns, "by_arrival": self.by_arrival,
        }  # fmt: skip

    def __str__(self) -> str:
        of = counted(self.kept, "kept feature")
        known = f" once {', '.join(self.given)} are known" if self.given else ""
        known = known.replace(" are ", " is ") if len(self.given) == 1 else known
        price = "by arrival, so that more columns may follow" if self.by_arrival else "equally"
        return (
            f"{len(self.features):,} of {of} are certified: on average at most "
            f"{100 * self.alpha:g} % of these are independent of the target{known}, however the "
            "columns depend on each other and however they were selected (rows exchangeable; "
            f"{self.columns:,} columns, weighted {price})"
        )


def p_values_of(log: DecisionLog, features: Sequence[int]) -> Floats:
    """Return the p-values of features from a log, or raise an error if it holds none."""
    fields, found = log.template_fields, np.full(len(features), np.nan)
    if "p_tests" in fields:
        found = np.array([log.p_of(feature) for feature in features])
    elif "tests" in fields and "alpha" in fields:
        # Levels stand for p-values, rounded to float32.
        alpha, shared = float(fields["alpha"]), len(fields["tests"].split("|")) > 2
        pairs = zip(*log.tested_levels(features), strict=True)
        found = np.array([p_of(*pair, alpha) for pair in pairs]) * (1 + 1e-6)
        if shared:  # a level above all strengths, which stands for no p-value
            found[found > 1.01 * alpha] = np.nan
    if len(features) and np.isnan(found).all():
        raise InputError(
            "the log of this selection holds no p-values, so nothing can be certified; select with "
            "fdr=0.1 (--fdr 0.1), or with the default method, sieve"
        )
    return np.where(np.isnan(found), 1.0, found)
