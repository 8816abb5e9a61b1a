"""Correlations with sample weights, and given covariates: those of weighted least squares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, expit, fdtrc

from tamis.core.blocks import ColumnBlock
from tamis.core.errors import InputError
from tamis.core.target import Target
from tamis.kernels.adjusting import (
    adjust_columns,
    extend_basis,
    one_adjusted,
    pairs_adjusted,
    relevance_adjusted,
)
from tamis.kernels.threads import over_columns
from tamis.measures.measure import Floats, Ints, Panel, Prepared, Strength
from tamis.measures.panels import compressed


@dataclass(frozen=True, eq=False)
class Adjustment:
    """What weighted least squares needs besides the columns.

    Attributes
    ----------
    root : ndarray of shape (n_rows,)
        Square roots of the weights.
    basis : ndarray of shape (k, n_rows)
        An orthonormal basis of the constant and the covariates, weighted.
    targets : ndarray of shape (t, n_rows)
        What the basis leaves of the target, orthonormal: one row, or one fewer than classes.
    n_rows : int
        Rows with a positive weight.
    """

    root: Floats
    basis: Floats
    targets: Floats
    n_rows: int

    @property
    def n_targets(self) -> int:
        """Number of rows of `targets`."""
        return len(self.targets)

    def rest(self, tested: int, given: int) -> int:
        """Return the residual degrees of freedom of a test of so many coefficients."""
        return self.n_rows - len(self.basis) - tested - given

    def cutoff(self, alpha: float, tested: int = 1, given: int = 0) -> float:
        """Return the (multiple) correlation whose t or F test has p = alpha."""
        rest = self.rest(tested, given)
        if rest < 1:
            return math.inf
        # Without dependence 1 - R^2 is beta distributed.
        return math.sqrt(1.0 - float(betaincinv(rest / 2, tested / 2, alpha)))

    def test(self, strength: float, given: int = 0) -> tuple[float, float, float]:
        """Return the statistic (t, or F for several targets), degrees of freedom and p-value."""
        tested, rest = self.n_targets, self.rest(self.n_targets, given)
        unexplained = 1 - strength**2
        f = strength**2 / tested / (unexplained / rest) if unexplained > 0 else math.inf
        p = float(fdtrc(tested, rest, f))
        return (math.sqrt(f), rest, p) if tested == 1 else (f, tested, p)


@lru_cache(maxsize=4)
def adjustment_of(target: Target, by_indicators: bool) -> Adjustment:
    """Return the adjustment of a target with weights or covariates.

    Classes enter as indicators, or else as numbers.
    """
    n = target.n_rows
    weights = np.ones(n) if target.weights is None else target.weights
    root = np.sqrt(weights)
    design = np.zeros((0, n)) if target.given is None else target.given.design()
    basis = np.empty((1 + len(design), n))
    known = extend_basis(root.reshape(1, -1), basis, 0)
    centred = design - design.mean(axis=1, keepdims=True)
    known = extend_basis(centred * root, basis, known)
    if by_indicators:
        assert target.codes is not None
        classes = np.arange(1, target.n_classes)[:, np.newaxis]
        columns = np.equal(target.codes, classes).astype(float)
    else:
        columns = target.values.reshape(1, -1)
    columns = columns - columns.mean(axis=1, keepdims=True)
    whole = np.concatenate([basis[:known], np.empty((len(columns), n))])
    found = extend_basis(columns * root, whole, known)
    if found == known:
        raise InputError(
            "the covariates determine the target, so nothing is left that a feature could explain; "
            "leave out the covariate that holds the target"
        )
    rows = int(np.count_nonzero(weights))
    return Adjustment(root, whole[:known].copy(), whole[known:found].copy(), rows)


#: Steps of the logistic fit, its ridge in units of one row, and the least weight of a row.
FIT_STEPS, RIDGE, LEAST_WEIGHT = 50, 1e-3, 1e-6


@dataclass(frozen=True, eq=False)
class GivenTarget:
    """A target as the tests beside the t and F tests need it.

    Attributes
    ----------
    there : ndarray of int
        The rows with a positive weight.
    codes : ndarray of int
        The class of each row.
    shares : ndarray of shape (c, n_rows)
        The probabilities of each class by the covariates, in a logistic model; for two classes
        those of the second. Without covariates, with weights, and for numbers there are none.
    bases : ndarray of shape (c, k, n_rows)
        The constant and the covariates, orthonormal with shares (1 - shares) as weights.
    residuals : ndarray of shape (c, rows that are there)
        What is left of the classes or of the numbers, with mean 0 and variance 1.
    """

    there: Ints
    codes: npt.NDArray[np.uint16]
    shares: Floats
    bases: Floats
    residuals: Floats

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """What the kernel takes."""
        return self.there, self.codes, self.shares, self.bases, self.residuals


@lru_cache(maxsize=4)
def given_target(target: Target, by_classes: bool) -> GivenTarget:
    """Return the form of a target with weights or covariates."""
    n = target.n_rows
    if by_classes:
        assert target.codes is not None
        codes = target.codes
        classes = np.arange(target.n_classes) if target.n_classes > 2 else np.array([1])
        parts = np.equal(codes, classes[:, np.newaxis]).astype(float)
    else:
        codes, parts = np.zeros(n, np.uint16), target.values.reshape(1, -1)
    adjustment = adjustment_of(target, by_classes and target.n_classes > 2)
    root, basis = adjustment.root, adjustment.basis
    there = np.flatnonzero(root > 0)
    left = parts * root
    left = (left - (left @ basis.T) @ basis) * root
    left = left[:, there]
    left -= left.mean(axis=1, keepdims=True)
    left /= np.maximum(np.sqrt((left**2).mean(axis=1, keepdims=True)), 1e-300)
    shares, bases = np.empty((0, n)), np.empty((0, 0, n))
    if by_classes and target.weights is None:
        shares = np.array([_probabilities(basis, part) for part in parts])
        bases = np.array([_orthonormal(basis, share) for share in shares])
    return GivenTarget(there, codes, shares, bases, left)


def _probabilities(basis: Floats, marks: Floats) -> Floats:
    """Return the probabilities of a logistic model with an orthonormal basis.

    A small ridge keeps them from 0 and 1 where the covariates separate the classes.
    """
    n, beta = basis.shape[1], np.zeros(len(basis))
    ridge = RIDGE / n * np.eye(len(basis))
    for _ in range(FIT_STEPS):
        share = expit(beta @ basis)
        hessian = (basis * (share * (1 - share))) @ basis.T + ridge
        step = np.linalg.solve(hessian, basis @ (marks - share) - np.diag(ridge) * beta)
        beta += step * min(1.0, 5.0 * math.sqrt(n) / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-9 * math.sqrt(n):
            break
    found: Floats = expit(beta @ basis)
    return found


def _orthonormal(basis: Floats, share: Floats) -> Floats:
    """Return the span of a basis, orthonormal with share (1 - share) as weights."""
    root = np.sqrt(np.maximum(share * (1 - share), LEAST_WEIGHT))
    _, upper = np.linalg.qr((basis * root).T)
    found: Floats = np.linalg.solve(upper.T, basis)
    return found


def adjusted_relevance(
    block: ColumnBlock, adjustment: Adjustment, gate: float, result: Strength
) -> None:
    """Write the strength of every column towards the target, with `gate` as its cutoff."""
    a, arrays = adjustment, block.arrays
    over_columns(
        lambda lo, hi: relevance_adjusted(
            *arrays, a.root, a.basis, a.targets, gate, lo, hi, result.value, result.cutoff
        ),
        block.spans,
    )


@dataclass(frozen=True, eq=False)
class AdjustedColumns(Prepared):
    """Weighted columns: less their projection on the basis, or their nonzeros and coefficients."""

    arrays: ClassVar[Mapping[str, str | None]] = {
        "rows": "indptr",
        "values": "indptr",
        "coefs": None,
        "squares": None,
    }

    indptr: Ints
    rows: npt.NDArray[np.int32]
    values: Floats
    coefs: Floats
    squares: Floats


class AdjustedPanel(Panel):
    """Kept columns, adjusted for weights and covariates."""

    def __init__(self, n_rows: int, measure: Any, adjustment: Adjustment) -> None:
        self.n_rows, self.measure, self.pairs = n_rows, measure, 0
        self.adjustment = adjustment
        self._kept = AdjustedColumns(
            np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0),
            np.zeros((0, len(adjustment.basis))), np.zeros(0),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self._kept)

    def prepare(self, block: ColumnBlock, picks: npt.NDArray[np.intp]) -> AdjustedColumns:
        """Adjust the picked columns."""
        v, a, n = compressed(block, picks), self.adjustment, block.n_rows
        lengths, width = np.diff(v.indptr), len(picks)
        room = int(np.where(2 * lengths > n, n, lengths).sum())
        indptr = np.zeros(width + 1, np.int64)
        rows, values = np.empty(room, np.int32), np.empty(room)
        coefs, squares = np.zeros((width, len(a.basis))), np.empty(width)
        adjust_columns(
            v.indptr, v.indices, v.data, a.root, a.basis, indptr, rows, values, coefs, squares
        )
        end = int(indptr[-1])
        return AdjustedColumns(indptr, rows[:end], values[:end], coefs, squares)

    def between_many(self, columns: AdjustedColumns, lo: int, hi: int) -> Floats:
        """Return the strength of columns lo..hi-1 with every kept column, oldest first."""
        self.pairs += (hi - lo) * len(self)
        return np.abs(self.signed(columns, lo, hi))

    def signed(self, columns: AdjustedColumns, lo: int, hi: int) -> Floats:
        """Return the partial correlation of columns lo..hi-1 with every kept column."""
        c, k, out = columns, self._kept, np.zeros((hi - lo, len(self)))
        over_columns(
            lambda a, b: pairs_adjusted(
                c.indptr, c.rows, c.values, c.coefs, c.squares, k.indptr, k.rows, k.values,
                k.coefs, k.squares, self.n_rows, lo, a, b, out,
            ),
            np.arange(hi - lo + 1) * int(k.indptr[-1] + 1),
        )  # fmt: skip
        return out

    def against(self, columns: AdjustedColumns, one: int, picks: Ints) -> Floats:
        """Return the strength of column `one` with those at `picks`, kept or not."""
        c, out = columns, np.empty(len(picks))
        over_columns(
            lambda lo, hi: one_adjusted(
                c.indptr, c.rows, c.values, c.coefs, c.squares, one, picks, self.n_rows, lo, hi, out
            ),
            np.arange(len(picks) + 1) * int(c.indptr[-1] // len(c) + 1),
        )
        self.pairs += len(picks)
        return np.abs(out)

    def cutoffs(self, column: Any) -> Floats:
        """Return the cutoff of each strength."""
        return np.full(len(self), self.adjustment.cutoff(self.measure.alpha))

    def add(self, column: Any) -> None:
        """Keep a column."""
        one = column.columns.pick(np.array([column.i]))
        self._kept = AdjustedColumns.joined([self._kept, one])

    def drop(self, positions: npt.NDArray[np.intp]) -> None:
        """Drop the kept columns at these positions (0 is the oldest)."""
        self._kept = self._kept.pick(np.delete(np.arange(len(self._kept)), positions))
