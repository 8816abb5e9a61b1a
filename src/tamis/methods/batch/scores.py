"""Batch methods that give every column a number: on its own, or by a model of the whole table.

A rule may need a pass over all columns before the first one is scored, to fit its model: the
neighbours of the rows, say, or the weights of a machine (`fit`). Scoring a block is then a pure
function of it (`score`). A rule with a model of the whole table has one hook, `find`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import DecisionLog, Reason
from tamis.core.errors import InputError
from tamis.core.names import Names
from tamis.core.target import Target
from tamis.measures.fisher_z import CentredColumns, FisherZ
from tamis.measures.measure import Floats, Ints
from tamis.measures.panels import compressed
from tamis.methods.modelled import UNUSABLE, Columns
from tamis.methods.rule import Rule, when_irrelevant, when_kept
from tamis.methods.selector import BatchSelector

Codes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Scored:
    """A block's scores, and the codes of the reasons why its columns are not kept (0: the first).

    The reasons with codes 1 and 2 are `UNUSABLE`: such columns have no score.
    """

    first: int
    names: Names | None
    scores: Floats
    codes: Codes


class ScoredRule(Rule):
    """A batch rule that keeps the `n_features` columns with the highest scores.

    Equal scores: the lower arrival number wins. Subclasses score a block (`score`).
    """

    #: How a score is written in a sentence.
    symbol: ClassVar[str] = "score({name})"

    keeps: ClassVar[bool] = True

    #: Whether it supports text columns, which are coded by numbers without an order.
    takes_text: ClassVar[bool] = False

    def fit(self, blocks: Iterable[ColumnBlock], target: Target) -> Any:
        """Return the model that scoring needs, fitted to all columns, or None if it needs none.

        Its `fields`, if it has them, can be used by the sentences.
        """
        return None

    def score(self, block: ColumnBlock, model: Any) -> tuple[Floats, Codes]:
        """Return the scores of a block's columns, and codes of `UNUSABLE` where there are none."""
        raise NotImplementedError(f"{type(self).__name__} has no score()")

    @property
    def n_held(self) -> int:
        """How many of the best columns so far are remembered while columns are scored."""
        return getattr(self, "n_features", None) or 0

    def best(self, features: Ints, scores: Floats, model: Any) -> tuple[Ints, Floats]:
        """Return the kept features, best first, and their scores, given those remembered."""
        order = np.argsort(-scores, kind="stable")
        return features[order], scores[order]

    def log_kept(self, log: DecisionLog, ranking: Ints, scores: Floats) -> Ints:
        """Log features as kept, best first, with their positions from the top; return them.

        The last one is the cut.
        """
        positions = np.arange(1.0, len(ranking) + 1)
        log.append_many("kept", ranking, scores, positions, np.full(len(ranking), np.nan))
        if len(ranking):
            last = log.names[int(ranking[-1])]
            log.template_fields["cut"] = f"that of {last} ({scores[-1]:.6g}), the last that is kept"
        return ranking

    def reasons(self) -> dict[str, Reason]:
        """Return every reason that the rule can give."""
        return {
            "below": when_irrelevant(
                "{name} was dropped: " + self.symbol + "={relevance} is not above {cut}"
            ),
            **UNUSABLE,
            "kept": when_kept(
                "{name} is kept: " + self.symbol + "={relevance} is number {value} from the top"
            ),
        }


class ScoredBatch(BatchSelector):
    """Runs a batch rule that gives every column a number."""

    def _begin(self) -> None:
        vars(self).pop("ranking_", None)
        self.kind = "discrete" if self.rule.takes_text else ""
        self._features, self._scores = np.zeros(0, np.int64), np.zeros(0)
        self._model: Any = None

    def prepare(self, blocks: Iterable[ColumnBlock]) -> None:
        """Fit the model of the rule to all columns."""
        self._model = self.rule.fit(map(self._ready, blocks), self._target)
        self.log_.template_fields.update(getattr(self._model, "fields", {}))

    def score(self, block: ColumnBlock) -> Scored:
        """Score a block: a pure function, in any order."""
        block = self._ready(block)
        return Scored(block.first, block.names, *self.rule.score(block, self._model))

    def update(self, scored: Scored) -> None:
        """Log a block in bulk, and remember the best so far."""
        self._in_order(scored.first, len(scored.scores))
        shown = np.where(np.isin(scored.codes, (1, 2)), 0.0, scored.scores)
        self.log_.append_bulk(shown, np.nan, scored.codes, scored.names)
        most = self.rule.n_held
        if most == 0:
            return
        usable = np.flatnonzero(scored.codes == 0)
        self._features = np.concatenate([self._features, scored.first + usable])
        self._scores = np.concatenate([self._scores, scored.scores[usable]])
        if len(self._scores) > most:
            best = np.sort(np.argsort(-self._scores, kind="stable")[:most])
            self._features, self._scores = self._features[best], self._scores[best]

    def finish(self) -> None:
        """Keep the best, and forget the model."""
        ranking, scores = self.rule.best(self._features, self._scores, self._model)
        own = ranking >= self.required
        if self.required and self.rule.n_held:
            own &= np.cumsum(own) <= max(0, self.rule.n_held - self.required)
        self.ranking_ = self.rule.log_kept(self.log_, ranking[own], scores[own])
        if self.required:
            every = np.arange(self.required)
            self._log_required(self.log_.relevances_of(every))
            others = self.ranking_[self.ranking_ >= self.required]
            if not len(others):
                self.log_.template_fields["cut"] = (
                    "the cut, because the features that you asked for are as many as n_features"
                )
            self.ranking_ = np.concatenate([every, others])
        del self._features, self._scores, self._model


ScoredRule.machinery = ScoredBatch


@dataclass(frozen=True, eq=False)
class Table:
    """The columns that can be used, ready for products, and how each was seen.

    Columns that are mostly not zero are centred and whole; others are their nonzeros, with a mean.
    `unusable` has a code for every column, 0 for those that are here.
    """

    target: Target
    columns: CentredColumns
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
        import scipy.sparse as sp

        return sp.csc_array((c.values[:end], c.rows[:end], indptr), shape=shape)

    def scaled(self) -> Any:
        """Return the columns scaled to standard deviation 1."""
        size = np.sqrt(self.target.n_rows / self.columns.squares)
        lengths = np.diff(self.columns.indptr)
        m = self.matrix
        return type(m)((m.data * np.repeat(size, lengths), m.indices, m.indptr), m.shape)


@dataclass(frozen=True, eq=False)
class Found:
    """The outcome of a model for the columns of a table, which are given by position.

    `ranking` are the kept ones, best first; `codes` are the positions of the others' reasons among
    those of the rule (None: the first, for all); `fields` are for the sentences.
    """

    ranking: Ints
    scores: Floats
    codes: Codes | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


class TableRule(ScoredRule):
    """A batch rule with a model of the whole table (`find`), which is held while it is fitted.

    Its first reason is that of a column that the model was offered and did not take.
    """

    keeps: ClassVar[bool] = False  # a model picks its columns together

    #: The reasons of the model: first that of a column it did not take.
    model_reasons: ClassVar[Mapping[str, Reason]]

    #: Whether columns are centred for products; else they stay unchanged, without their zeros.
    centred: ClassVar[bool] = True

    def find(self, table: Table) -> Found:
        """Fit the model and return its outcome for the columns, of which there is at least one."""
        raise NotImplementedError(f"{type(self).__name__} has no find()")

    def reasons(self) -> dict[str, Reason]:
        """Return every reason that the rule can give."""
        first = next(iter(self.model_reasons))
        return {first: self.model_reasons[first], **UNUSABLE, **self.model_reasons}

    def code(self, reason: str) -> int:
        """Return the position of a reason."""
        return list(self.reasons()).index(reason)

    @property
    def n_held(self) -> int:
        """How many columns are remembered while columns are scored: the model knows the best."""
        return 0

    def fit(self, blocks: Iterable[ColumnBlock], target: Target) -> Found:
        """Gather the table, fit the model, and return the outcome for every column."""
        panel = FisherZ().panel(target)
        parts: list[Any] = []
        features, unusable = [], []
        for block in blocks:
            codes = Columns.of(block).unusable(0, block.width)
            picks = np.flatnonzero(codes == 0)
            parts.append(panel.prepare(block, picks) if self.centred else _plain(block, picks))
            features.append(picks + block.first)
            unusable.append(codes)
        codes = np.concatenate(unusable)
        table = Table(target, CentredColumns.joined(parts), np.concatenate(features), codes)
        parts.clear()
        scores, codes = np.zeros(len(codes)), codes.copy()
        if table.width == 0:
            return Found(np.zeros(0, np.int64), scores, codes)
        found = self.find(table)
        scores[table.features] = found.scores
        if found.codes is not None:
            codes[table.features] = found.codes
        return Found(table.features[found.ranking], scores, codes, found.fields)

    def score(self, block: ColumnBlock, model: Found) -> tuple[Floats, Codes]:
        """Look up the outcome for a block's columns."""
        known = slice(block.first, block.first + block.width)
        assert model.codes is not None
        return model.scores[known], model.codes[known]

    def best(self, features: Ints, scores: Floats, model: Found) -> tuple[Ints, Floats]:
        """Return what the model kept."""
        return model.ranking, model.scores[model.ranking]


def constants(block: ColumnBlock) -> Codes:
    """Return codes of the reason why columns cannot be used: only constant ones cannot."""
    constant: Codes = (Columns.of(block).unusable(0, block.width) == 1).astype(np.uint8)
    return constant


def _plain(block: ColumnBlock, picks: npt.NDArray[np.intp]) -> CentredColumns:
    """Return columns unchanged, by their nonzeros."""
    v = compressed(block, picks).widened()
    mean, squares = np.zeros(len(picks)), np.ones(len(picks))
    return CentredColumns(v.indptr, v.indices, v.data, mean, squares)
