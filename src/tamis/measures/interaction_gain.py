"""Interaction gain: the joint information of a newcomer and kept columns beyond the single ones.

One term per kept column s: I(D; f,s) - I(D;s) - I(D;f) in bits for counts, and
|r(s, D | f)| - |r(s, D)| for correlations. The gain is their sum, or their mean.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from tamis.core.target import Target
from tamis.kernels.interaction import meet_correlations, meet_counts
from tamis.kernels.partial import target_products
from tamis.measures.fisher_z import CentredColumns, CorrelationPanel, FisherZ
from tamis.measures.measure import Floats, Panel
from tamis.measures.mutual_information import InformationMeasure, InformationPanel
from tamis.measures.panels import CodedColumns, table_of

Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Meeting:
    """The interactions of newcomers with the kept columns.

    Attributes
    ----------
    stop : int
        The first newcomer that needs a decision; those before it have no gain.
    gains : ndarray
        Gains of the newcomers, up to `stop`.
    terms, pairs : ndarray
        Of the last newcomer, with each kept column, oldest first: the term of its gain (NaN if it
        does not count) and the strength between the two.
    """

    stop: int
    gains: Floats
    terms: Floats
    pairs: Floats


@dataclass(frozen=True)
class GainForm:
    """How terms are combined into a gain.

    `mean` instead of the sum; `correction` of counts for chance, by name; `as_program`: the
    conditional information less the strength (which may be an uncertainty), and for correlations
    only terms whose partial correlation is significant.
    """

    mean: bool = False
    correction: str | None = None
    as_program: bool = False


class InteractionPanel(Panel):
    """A panel of kept columns that also computes how newcomers interact with them."""

    @abstractmethod
    def meet(self, columns: Any, lo: int, hi: int, asks: Marks) -> Meeting:
        """Compute the gains of prepared columns lo..hi-1, up to the first that needs a decision.

        That is one with a gain above 0, or one that is marked in `asks`.
        """

    def meet_one(self, column: Any) -> Meeting:
        """Compute the gain of one prepared column."""
        return self.meet(column.columns, column.i, column.i + 1, np.ones(1, dtype=np.bool_))


def interaction_panel(measure: object, target: Target, form: GainForm) -> InteractionPanel | None:
    """Return an empty panel of interactions for this measure; None if it supports none."""
    if isinstance(measure, InformationMeasure):
        return InformationInteractions(target, measure, form)
    if isinstance(measure, FisherZ):
        return CorrelationInteractions(target, measure, form)
    return None


class InformationInteractions(InformationPanel, InteractionPanel):
    """Kept discrete columns with the class counts of their levels.

    A plug-in term is too large by about (levels of f - 1)(levels of s - 1)(classes - 1) / 2n ln 2
    bits, by Miller and Madow; the correction "miller-madow" subtracts that. A term is also
    I(f;s|D) - I(f;s); with "significant" one above 0 counts only if a G-squared test rejects that f
    and s are independent given D, and one below 0 only if it rejects that they are independent, at
    the level of the measure over the number of kept columns.
    """

    slot_types: ClassVar[Mapping[str, Any]] = {
        **InformationPanel.slot_types,
        "rest": np.int64,
        "shift": np.float64,
    }
    add_many = Panel.add_many  # `add` stores more about each

    def __init__(self, target: Target, measure: InformationMeasure, form: GainForm) -> None:
        super().__init__(target.n_rows, measure)
        assert target.codes is not None
        self._codes, self._class_counts = target.codes, target.counts
        self._form = form
        self._bias = (target.n_classes - 1) / (2 * target.n_rows * math.log(2))
        self._cells["classes"] = np.zeros((0, target.n_classes), dtype=np.int64)
        self._significant = np.zeros((2, 0))
        self._significant_for = 0

    def meet(self, columns: CodedColumns, lo: int, hi: int, asks: Marks) -> Meeting:
        """Compute the gains of coded columns lo..hi-1, up to the first that needs a decision."""
        table, unit = table_of(self.n_rows)
        units, live = unit * self.n_rows, self._live
        gains = np.empty(hi - lo)
        terms, pairs = np.zeros((2, len(self._alive)), dtype=np.int64)
        counted = np.zeros(len(self._alive), dtype=np.bool_)
        bias = self._bias if self._form.correction == "miller-madow" else 0.0
        slots, cells = self._slots, self._cells
        n_levels, shifts = slots["n_levels"][live], slots["shift"][live]
        stop = meet_counts(
            columns.indptr, columns.rows, columns.codes, columns.level_pointers,
            columns.level_counts, columns.entropies, asks, lo, hi, self._heads, self._nodes,
            self._slot_cells, cells["counts"], slots["entropy"], self._alive, cells["classes"],
            slots["rest"], slots["n_levels"], self._codes, self._class_counts, table, units,
            bias * float((n_levels - 1).sum()), float(shifts.sum()),
            float(len(live)) if self._form.mean else 1.0, self._cutoffs_of_terms(columns, lo, hi),
            gains, terms, pairs, counted,
        )  # fmt: skip
        last = min(stop, hi - 1)
        self.pairs += (last + 1 - lo) * len(live)
        mine = columns[last]
        each = bias * (np.count_nonzero(mine.level_counts) - 1) * (n_levels - 1)
        h_x, h_y = slots["entropy"][live], mine.entropies
        return Meeting(
            stop,
            gains[: last + 1 - lo],
            np.where(counted[live], terms[live] / units + shifts - each, np.nan),
            self.measure.pair_values(pairs[live], h_x, h_y, units),
        )

    def _cutoffs_of_terms(self, columns: CodedColumns, lo: int, hi: int) -> Floats:
        """Return the table for `counts_in`, n times in units, as far as these columns need it."""
        if self._form.correction != "significant" or self.measure.alpha is None:
            return self._significant
        if self._significant_for != len(self):
            self._significant_for = len(self)
            self._significant = np.full((2, self.n_rows), np.nan)
        widths = np.unique(np.diff(columns.level_pointers[lo : hi + 1])) - 1
        # A column may have one level that does not occur.
        mine = np.unique(np.concatenate([widths, widths - 1]))
        freedom = np.unique(np.outer(mine, self._slots["n_levels"][self._live] - 1))
        freedom = freedom[(freedom > 0) & (freedom < self.n_rows)]
        freedom = freedom[np.isnan(self._significant[0, freedom])]
        units = table_of(self.n_rows)[1] / (2 * math.log(2))
        for row, strata in enumerate((1, len(self._class_counts))):
            quantile = chdtri(freedom * strata, self.measure.alpha / len(self))
            self._significant[row, freedom] = quantile * units
        return self._significant

    def add(self, column: Any) -> None:
        """Keep a coded column."""
        first, slot = self._slot_cells[-1], len(self._alive)
        super().add(column)
        table, unit = table_of(self.n_rows)
        k, levels = len(self._class_counts), len(column.level_counts)
        indices = column.codes.astype(np.int64) * k + self._codes[column.rows]
        by_class = np.bincount(indices, minlength=levels * k).reshape(levels, k)
        by_class[0] = self._class_counts - by_class.sum(axis=0)
        joint = int(table[by_class].sum())
        rest, shift = table[column.level_counts].sum() - joint, 0.0
        if self._form.as_program:
            of_class = int(table[self.n_rows] - table[self._class_counts].sum())
            information = column.entropies + of_class - table[self.n_rows] + joint
            units = unit * self.n_rows
            strength = self.measure.pair_values(information, column.entropies, of_class, units)
            shift = float(information / units - strength)
        self._put(self._cells, "classes", first, by_class[1:], levels - 1)
        self._put(self._slots, "rest", slot, rest, 1)
        self._put(self._slots, "shift", slot, shift, 1)


class CorrelationInteractions(CorrelationPanel, InteractionPanel):
    """Kept continuous columns with their correlations with the target.

    More than two classes are orthonormal columns, so that |r| is the multiple correlation and
    |r(s, D | f)| the partial one; neither depends on how classes are numbered.
    """

    add_many = Panel.add_many  # `add` stores more about each

    def __init__(self, target: Target, measure: FisherZ, form: GainForm) -> None:
        super().__init__(target.n_rows, measure)
        self._basis = measure.target_basis(target)
        self._slots["shares"] = np.zeros((0, self._basis.shape[1]))
        self._form = form
        self._resolution = measure.resolution
        self._counts_above = measure.target_cutoff(target, given=1) if form.as_program else -1.0

    def meet(self, columns: CentredColumns, lo: int, hi: int, asks: Marks) -> Meeting:
        """Compute the gains of prepared columns lo..hi-1, up to the first that needs a decision."""
        gains = np.empty(hi - lo)
        terms, pairs = np.zeros((2, len(self._alive)))
        stop = meet_correlations(
            columns.indptr, columns.rows, columns.values, columns.means, columns.squares, asks,
            lo, hi, *self._lists(), self._slots["shares"], self._basis, self._resolution,
            self._counts_above, self._form.mean, self.n_rows, gains, terms, pairs,
            np.empty(self._basis.shape[1]),
        )  # fmt: skip
        last = min(stop, hi - 1)
        self.pairs += (last + 1 - lo) * len(self._live)
        return Meeting(stop, gains[: last + 1 - lo], terms[self._live], np.abs(pairs[self._live]))

    def add(self, column: Any) -> None:
        """Keep a prepared column."""
        super().add(column)
        share = np.empty((1, self._basis.shape[1]))
        target_products(column.rows, column.values, column.squares, self._basis, share[0])
        self._put(self._slots, "shares", len(self._alive) - 1, share, 1)
