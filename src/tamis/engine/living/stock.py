"""What a selection holds besides its log, so that it can go on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.errors import InputError, warn
from tamis.core.names import NameBook, Names
from tamis.core.target import Target
from tamis.engine.living.kept_columns import KeptColumns
from tamis.engine.living.ledger import Hashes, Ledger, hashes_of, target_hashes
from tamis.engine.living.rows import as_keys
from tamis.engine.wrappers.encoded import EncodedBlock, EncodedSoFar, Encoding
from tamis.measures.auto import known_by_name
from tamis.measures.base import Measure
from tamis.methods.selector import ColumnSelector, FeatureStreamSelector, Scoring
from tamis.sources.base import ColumnSource, Report, Source


@dataclass
class Stock:
    """The rows (their target, and their keys if they have any), kept columns, and names seen.

    `key` is the name of the column that holds the keys of the rows in files that are fed;
    `target_name` that of the target, which must never be fed as a feature. Kept columns are as the
    selector saw them; names seen go with the values as they came, before they were encoded.
    """

    target: Target
    columns: KeptColumns
    ledger: Ledger
    keys: npt.NDArray[Any] | None = None
    key: str | None = None
    target_name: str | None = None
    encoded: EncodedSoFar | None = None

    @classmethod
    def of(
        cls,
        target: Target,
        keys: Any = None,
        key: str | None = None,
        encoding: Encoding | None = None,
    ) -> Stock:
        """An empty stock for some rows."""
        idle = encoding is None or encoding.idle
        encoded = None if idle or encoding is None else EncodedSoFar(encoding)
        return cls(target, KeptColumns(target.n_rows), Ledger(), keys, key, encoded=encoded)

    def know_rows(self, source: Source) -> None:
        """Remember what a source calls its rows and its target."""
        named = source.keys()
        if named is not None:
            self.key, self.keys = named[0], as_keys(named[1], self.target.n_rows, named[0])
        self.target_name = source.target_name or self.target_name

    def filled(
        self,
        selector: FeatureStreamSelector,
        scoring: Scoring,
        *,
        blank: FeatureStreamSelector | None = None,
        at_hand: bool = True,
    ) -> Scoring:
        """The same examining; what the selector keeps of each block goes into stock on the way.

        `blank` examines instead of a selector that has seen much, and would be long to send. Blocks
        that are not at hand stay where they are read; `fetch` gets what is kept of them.
        """

        def examining_and_taking(
            _: ColumnSelector,
            source: ColumnSource,
            width: int | None,
            report: Report,
            start: int = 0,
        ) -> Iterator[Any]:
            noting: Any = _Noting(blank or selector, at_hand, selector)
            for noted in scoring(noting, source, width, report, start):
                yield noted.scored
                # The reader comes back for the next one when it has taken this one in.
                self._know(noted.first, noted.names, noted.hashes)
                if noted.block is not None:
                    self._hold(noted.block, selector)

        return examining_and_taking

    def fetch(self, selector: FeatureStreamSelector, source: ColumnSource) -> None:
        """Read those kept columns that are not held yet, each by itself: they are few."""
        kept = selector.kept_
        for feature in kept.tolist():
            if feature not in self.columns:
                self.columns.take(next(source.columns(1, feature, feature + 1)), kept)

    @staticmethod
    def hashes(block: ColumnBlock) -> Hashes | None:
        """Hashes of columns that have names; others are new arrivals every time."""
        if isinstance(block, EncodedBlock):
            return block.hashes  # of what came
        return None if block.names is None else hashes_of(block)

    def take(
        self, block: ColumnBlock, hashes: Hashes | None, selector: FeatureStreamSelector
    ) -> None:
        """Take what is to be held of a block that a selector has absorbed."""
        self._know(block.first, block.names, hashes)
        self._hold(block, selector)

    @cached_property
    def leaks(self) -> Hashes:
        """Hashes of columns that are the target itself, by whatever name they go."""
        return target_hashes(self.target)

    def tell_of_leaks(self, names: NameBook) -> None:
        """Warn of a column that was taken as a feature and says what the target says."""
        for feature in self.ledger.with_values(self.leaks)[:1].tolist():
            warn(
                f"the column {names[feature]!r} says the same as the target in every row; if it is "
                f"the target, select again without it (--ignore {shlex.quote(names[feature])})"
            )

    def _hold(self, block: ColumnBlock, selector: FeatureStreamSelector) -> None:
        kept = selector.kept_
        self.columns.take(block, kept)
        if self.encoded is not None:
            self.encoded.take(block, kept)

    def _know(self, first: int, names: Names | None, hashes: Hashes | None) -> None:
        if names is not None and hashes is not None:
            self.ledger.add(first, names, hashes)


def stock_for(
    selector: Any, source: Source, target: Target, encoding: Encoding | None = None
) -> Stock | None:
    """An empty stock for the rows of a source, or None where the run cannot be put away."""
    if not isinstance(selector, FeatureStreamSelector) or not can_be_saved(selector):
        return None
    if encoding is not None and not encoding.known_by_name:
        return None
    try:
        labels_of(target)
    except InputError:
        return None
    stock = Stock.of(target, encoding=encoding)
    stock.know_rows(source)
    return stock


def can_be_saved(selector: FeatureStreamSelector) -> bool:
    """Tell whether a selector says what its state is, in words that a file can hold."""
    measures = [p for p in selector.get_params().values() if isinstance(p, Measure)]
    return all(map(known_by_name, measures))


@dataclass(frozen=True, eq=False)
class _Noted:
    """What there is to know about a block, and the block itself if it is at hand."""

    first: int
    names: Names | None
    hashes: Hashes | None
    scored: Any
    block: ColumnBlock | None


class _Noting:
    """Examines blocks for a selector, and notes what the stock wants to know of each."""

    def __init__(
        self,
        selector: FeatureStreamSelector,
        at_hand: bool,
        deciding: FeatureStreamSelector | None = None,
    ) -> None:
        self._selector, self._at_hand, self._deciding = selector, at_hand, deciding

    def __reduce__(self) -> tuple[Any, ...]:
        # The one that decides stays here: it may have seen much.
        return _Noting, (self._selector, self._at_hand)

    def snapshot(self) -> Any:
        return None if self._deciding is None else self._deciding.snapshot()

    def score(self, block: ColumnBlock) -> _Noted:
        return self._note(block, self._selector.score(block))

    def score_knowing(self, block: ColumnBlock, kept: Any) -> _Noted:
        return self._note(block, self._selector.score_knowing(block, kept))

    def _note(self, block: ColumnBlock, scored: Any) -> _Noted:
        return _Noted(
            block.first, block.names, Stock.hashes(block), scored,
            block if self._at_hand else None,
        )  # fmt: skip


def labels_of(target: Target) -> npt.NDArray[Any]:
    """The target as an array that a file of numbers and words can hold."""
    if target.codes is None or target.classes is None:
        return target.values
    classes = target.classes
    if classes.dtype == object:
        classes = np.array(classes.tolist())
    labels: npt.NDArray[Any] = classes[target.codes]
    if labels.dtype == object or Target.of(labels).fingerprint != target.fingerprint:
        raise InputError(
            "the classes of the target are neither all numbers nor all words, so they cannot be "
            "written to a file; make words of them"
        )
    return labels
