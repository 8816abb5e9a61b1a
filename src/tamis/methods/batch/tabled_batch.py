"""Batch selectors that fit a model to the whole table.

The table is gathered and the model fitted before the first column is taken, in `prepare`; taking a
column then only writes down what the model made of it. Every layout is gathered into the same
arrays, so it cannot change the model.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Reason, Verdict
from tamis.core.errors import InputError
from tamis.core.target import Target
from tamis.measures.base import Floats, Ints
from tamis.measures.fisher_z import FisherZ, ReadyColumns
from tamis.measures.panels import compressed
from tamis.methods.base import BatchSelector
from tamis.methods.batch.scored_batch import Scored, log_kept
from tamis.methods.modelled import UNUSABLE, Columns


@dataclass(frozen=True, eq=False)
class Table:
    """The columns that can be used, ready for products, and how each was seen.

    Columns that are mostly not zero are centred and whole; others are their nonzeros, with a mean.
    `unusable` has a code for every column, 0 for those that are here.
    """

    target: Target
    columns: ReadyColumns
    features: Ints
    unusable: npt.NDArray[np.uint8]

    @property
    def width(self) -> int:
        """How many columns can be used."""
        return len(self.features)

    @cached_property
    def matrix(self) -> Any:
        """The columns as a scipy CSC array."""
        c = self.columns
        end = int(c.indptr[-1])
        if end >= 2**31:
            raise InputError(
                f"the table holds {end:,} numbers, more than the 2,147,483,647 that the model can "
                "take; select some of the columns with another method first"
            )
        indptr, shape = c.indptr.astype(np.int32), (self.target.n_rows, self.width)
        return sp.csc_array((c.values[:end], c.rows[:end], indptr), shape=shape)

    def scaled(self) -> Any:
        """The columns with standard deviation 1."""
        size = np.sqrt(self.target.n_rows / self.columns.squares)
        lengths = np.diff(self.columns.indptr)
        m = self.matrix
        return sp.csc_array((m.data * np.repeat(size, lengths), m.indices, m.indptr), m.shape)


@dataclass(frozen=True, eq=False)
class Found:
    """What a model made of a table's columns, which are given by their places in it.

    `ranking` are the kept ones, best first; `codes` are the places of the others' reasons among
    those of the selector (None: the first, for all).
    """

    ranking: Ints
    scores: Floats
    codes: npt.NDArray[np.uint8] | None = None


class TabledBatchSelector(BatchSelector):
    """A batch selector with a model of the whole table (`_find`), which is held while it is fitted.

    Its first reason is that of a column that the model was offered and did not want; `UNUSABLE`
    come next.
    """

    #: Whether the columns are for products; else they are left as they are, without their zeros.
    centred: ClassVar[bool] = True

    @abstractmethod
    def _find(self, table: Table) -> Found:
        """Fit the model and say what it made of the columns; there is at least one."""

    @abstractmethod
    def why(self) -> dict[str, Reason]:
        """The reasons of the model: first that of a column it did not want."""

    def reasons(self) -> dict[str, Reason]:
        """Every reason this selector can give."""
        why = self.why()
        first = next(iter(why))
        return {first: why[first], **UNUSABLE, **why}

    def _code(self, reason: str) -> int:
        return list(self.reasons()).index(reason)

    def _template_fields(self) -> Mapping[str, str]:
        """Fixed words of the sentences; `_find` may add to those of the log."""
        return {"target": "class" if self._target.is_classes else "target"}

    def _begin(self) -> None:
        self._new_log(self._template_fields())

    def prepare(self, blocks: Iterable[ColumnBlock], n_columns: int | None = None) -> None:
        """Gather the table and fit the model."""
        table = self._gather(blocks)
        width = len(table.unusable)
        self._all_scores, self._all_codes = np.zeros(width), table.unusable.copy()
        self._kept_features, self._kept_scores = np.zeros(0, np.int64), np.zeros(0)
        if table.width == 0:
            return
        found = self._find(table)
        self._all_scores[table.features] = found.scores
        if found.codes is not None:
            self._all_codes[table.features] = found.codes
        self._kept_features = table.features[found.ranking]
        self._kept_scores = found.scores[found.ranking]

    def _gather(self, blocks: Iterable[ColumnBlock]) -> Table:
        panel = FisherZ().panel(self._target)
        parts, features, unusable = [], [], []
        for block in blocks:
            ready = self._ready(block)
            codes = Columns.of(ready).unusable(0, ready.width)
            picks = np.flatnonzero(codes == 0)
            parts.append(panel.prepare(ready, picks) if self.centred else _plain(ready, picks))
            features.append(picks + ready.first)
            unusable.append(codes)
        columns = ReadyColumns.joined(parts)
        return Table(self._target, columns, np.concatenate(features), np.concatenate(unusable))

    def score(self, block: ColumnBlock) -> Scored:
        """Look up what the model made of a block's columns."""
        scores, codes = np.zeros(block.width), np.zeros(block.width, np.uint8)
        known = slice(block.first, block.first + block.width)
        scores[: len(self._all_scores[known])] = self._all_scores[known]
        codes[: len(self._all_codes[known])] = self._all_codes[known]
        return Scored(block.first, block.names, scores, codes)

    def update(self, scored: Scored) -> None:
        """Log a block in bulk."""
        self._in_order(scored.first, len(scored.scores))
        self.log_.append_bulk(scored.scores, np.nan, scored.unusable, scored.names)

    def finish(self) -> None:
        """Log what the model kept."""
        self.ranking_ = self._kept_features
        log_kept(self, self.ranking_, self._kept_scores)
        del self._all_scores, self._all_codes, self._kept_features, self._kept_scores


def _plain(block: ColumnBlock, picks: npt.NDArray[np.intp]) -> ReadyColumns:
    """Columns as they are, by their nonzeros."""
    v = compressed(block, picks).widened()
    mean, squares = np.zeros(len(picks)), np.ones(len(picks))
    return ReadyColumns(v.indptr, v.indices, v.data, mean, squares)


def weight_reasons(symbol: str) -> dict[str, Reason]:
    """Reasons of models that give weights, of which many are 0."""
    return {
        "zero": Reason(
            Verdict.IRRELEVANT, "{name} was dropped: its weight is 0 in the model with {model}"
        ),
        "below": Reason(
            Verdict.IRRELEVANT, "{name} was dropped: " + symbol + "={relevance} is not above {cut}"
        ),
        "kept": Reason(
            Verdict.KEPT,
            "{name} is kept: " + symbol + "={relevance} is number {value} from the top in the "
            "model with {model}",
        ),
    }
