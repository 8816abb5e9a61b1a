"""Mutual information with sample weights, and inside the categories of covariates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from tamis.core.blocks import ColumnBlock
from tamis.core.errors import InputError, warn
from tamis.core.target import Target
from tamis.kernels import strata as kernel
from tamis.kernels.exact_tests import CHI_SQUARE
from tamis.kernels.strata import exact_strata, pairs_strata, relevance_strata
from tamis.kernels.threads import over_columns
from tamis.measures.measure import Floats, Ints, Panel, Strength, Tested
from tamis.measures.p_values import DOUBTED, WITHIN, log_factorials, tested_as
from tamis.measures.panels import GappedColumns, gapped_columns

#: The most cells a table of weights may have.
MOST_CELLS = 2**26


@dataclass(frozen=True, eq=False)
class Strata:
    """The weights of rows, and the joint category of their covariates."""

    codes: npt.NDArray[np.int32]
    number: int
    weights: Floats
    total: float

    def refuse_many(self, n_levels: int, others: int) -> None:
        """Raise an error if tables of weights would not fit in memory."""
        if self.number * n_levels * others > MOST_CELLS:
            raise InputError(
                "columns have too many different values to be counted in the categories of the "
                "covariates; turn them into categories with encode='mdlp' (--encode mdlp)"
            )


@lru_cache(maxsize=4)
def strata_of(target: Target, measure: str) -> Strata:
    """Return the strata of a target with weights or covariates."""
    weights = np.ones(target.n_rows) if target.weights is None else target.weights
    codes, number = np.zeros(target.n_rows, np.int32), 1
    if target.given is not None:
        codes, number = target.given.strata(measure)
    return Strata(codes, number, weights, float(weights.sum()))


def stratified_relevance(
    measure: Any, block: ColumnBlock, target: Target, result: Strength, *, exact: bool
) -> Tested:
    """Write strengths and cutoffs; return the p-values.

    The chi-square law of G-squared needs many rows in every cell. With `exact`, columns that have
    few in some cell get exact tests inside the strata, if G-squared says that p may be small, and
    weights count rows.
    """
    s, k = strata_of(target, type(measure).__name__), target.n_classes
    c = gapped_columns(block, np.arange(block.width), np.nan)
    if block.width:
        s.refuse_many(int(c.n_levels.max()), k)
    found = np.zeros((block.width, 4))
    over_columns(
        lambda lo, hi: relevance_strata(
            c.indptr, c.rows, c.codes, c.n_levels, target.codes, k, s.codes, s.number,
            s.weights, lo, hi, found,
        ),
        c.indptr,
    )  # fmt: skip
    result.value[:], result.cutoff[:] = values_of(measure, found, s)
    zeros = np.diff(c.indptr) < block.n_rows
    result.cutoff[c.n_levels - 1 + zeros < 2] = np.nan
    df = found[:, kernel.DEGREES]
    p = np.where(df > 0, chdtrc(np.maximum(df, 1), 2 * found[:, kernel.INFORMATION]), 1.0)
    tested = tested_as(result, p, CHI_SQUARE)
    doubted = np.flatnonzero(tested.p <= DOUBTED)
    if exact and len(doubted) and np.all(s.weights == np.floor(s.weights)):
        counts = s.weights.astype(np.int64)
        logs = log_factorials(int(counts.sum()))
        over_columns(
            lambda lo, hi: exact_strata(
                c.indptr, c.rows, c.codes, c.n_levels, doubted, target.codes, k, s.codes, s.number,
                counts, logs, lo, hi, WITHIN, tested.p, tested.test,
            ),
            np.arange(len(doubted) + 1) * block.n_rows,
        )  # fmt: skip
    return tested


def values_of(measure: Any, found: Floats, strata: Strata) -> tuple[Floats, Floats]:
    """Return strengths and cutoffs from the kernels' results (last axis)."""
    nats, entropies = found[..., kernel.INFORMATION], found[..., kernel.ENTROPY_X]
    entropies = entropies + found[..., kernel.ENTROPY_Y]
    df = found[..., kernel.DEGREES]
    bits = measure._bits(df.ravel(), strata.total).reshape(df.shape)
    if not measure._symmetric:
        return nats / (strata.total * np.log(2)), bits
    share, some = np.zeros(nats.shape), entropies > 0
    np.divide(2.0 * nats, entropies, out=share, where=some)
    if measure.alpha is not None:
        scale = np.full(nats.shape, np.inf)
        np.divide(2.0 * np.log(2) * strata.total, entropies, out=scale, where=some)
        bits = np.where(bits > 0, bits * scale, 0.0)
    return share, bits


class StratifiedPanel(Panel):
    """Kept discrete columns, compared by weights inside the categories of covariates."""

    def __init__(self, target: Target, measure: Any) -> None:
        self.n_rows, self.measure, self.pairs = target.n_rows, measure, 0
        self.strata = strata_of(target, type(measure).__name__)
        _warn_of_scale(target, type(measure).__name__)
        self._kept: GappedColumns | None = None

    def prepare(self, block: ColumnBlock, picks: npt.NDArray[np.intp]) -> GappedColumns:
        """Code the picked columns."""
        return gapped_columns(block.without_zeros(), picks, np.nan)

    def __len__(self) -> int:
        return 0 if self._kept is None else len(self._kept)

    @property
    def mean_n_levels(self) -> float:
        """Mean number of distinct values per kept column."""
        return np.nan if self._kept is None else self._kept.mean_n_levels

    def between_many(self, columns: GappedColumns, lo: int, hi: int) -> Floats:
        """Return the strength of coded columns lo..hi-1 with every kept column, oldest first."""
        self.pairs += (hi - lo) * len(self)
        return self._compare(columns, np.arange(lo, hi))[0]

    def against(self, columns: GappedColumns, one: int, picks: Ints) -> Floats:
        """Return the strength of coded column `one` with those at `picks`, kept or not."""
        self.pairs += len(picks)
        found = self._pairs(columns, picks, columns, np.array([one]))
        strengths: Floats = values_of(self.measure, found, self.strata)[0][:, 0]
        return strengths

    def cutoffs(self, column: Any) -> Floats:
        """Return the cutoff of each strength."""
        found: Floats = self._compare(column.columns, np.array([column.i]))[1][0]
        return found

    def add(self, column: Any) -> None:
        """Keep a coded column."""
        one = column.columns.pick(np.array([column.i]))
        self._kept = one if self._kept is None else GappedColumns.joined([self._kept, one])

    def drop(self, positions: npt.NDArray[np.intp]) -> None:
        """Drop the kept columns at these positions (0 is the oldest)."""
        stay = np.delete(np.arange(len(self)), positions)
        self._kept = None if self._kept is None or not len(stay) else self._kept.pick(stay)

    def _compare(self, columns: GappedColumns, picks: Ints) -> tuple[Floats, Floats]:
        if self._kept is None:
            return np.zeros((len(picks), 0)), np.zeros((len(picks), 0))
        found = self._pairs(columns, picks, self._kept, np.arange(len(self)))
        return values_of(self.measure, found, self.strata)

    def _pairs(self, c: GappedColumns, picks: Ints, k: GappedColumns, others: Ints) -> Floats:
        s, found = self.strata, np.zeros((len(picks), len(others), 4))
        s.refuse_many(int(c.n_levels.max()), int(k.n_levels.max()))
        over_columns(
            lambda lo, hi: pairs_strata(
                c.indptr, c.rows, c.codes, c.n_levels, picks, k.indptr, k.rows, k.codes,
                k.n_levels, others, s.codes, s.number, s.weights, lo, hi, found,
            ),
            np.arange(len(picks) + 1) * int(k.indptr[-1] + self.n_rows),
        )  # fmt: skip
        return found


def _warn_of_scale(target: Target, measure: str) -> None:
    """Warn about weights that are not counts but whose sum is not the number of rows."""
    weights = target.weights
    if weights is None or np.all(weights == np.floor(weights)):
        return
    rows, total = int(np.count_nonzero(weights)), float(weights.sum())
    if abs(total - rows) > 0.25 * rows:
        warn(
            f"the sample weights sum to {total:.6g} on {rows} rows, and {measure} counts each row "
            "as often as its weight says; divide the weights by their mean unless they are counts"
        )
