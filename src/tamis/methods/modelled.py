"""Methods for feature streams that keep a model and test what a newcomer would add to it.

The number that decides depends on the model, so it cannot be computed ahead of the stream. But the
model changes only when a feature is taken. So columns are tested in runs against the current model,
in compiled code, up to the first one that may enter. Runs begin short and double while nothing is
found, so little work is wasted. The length of the runs does not affect any number.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision
from tamis.core.names import Names
from tamis.kernels.column_entries import column_moments, list_column, spread_column
from tamis.kernels.threads import over_columns
from tamis.methods.rule import CONSTANT, Rule, when_irrelevant
from tamis.methods.selector import FeatureStreamSelector

Floats = npt.NDArray[np.float64]

#: Why a model cannot use a column. These are the second and third reasons of a method.
UNUSABLE = {
    "constant": CONSTANT,
    "out of range": when_irrelevant(
        "{name} was dropped as irrelevant: its values are so large or so small that their squares "
        "cannot be held"
    ),
}


@dataclass(frozen=True, eq=False)
class Columns:
    """A block as model kernels take it, with the moments of its columns.

    `arrays` are (flat, indptr, indices, data) as in `tamis.kernels.column_entries`; `squares` says
    below 0 that a column cannot be used, and why.
    """

    first: int
    names: Names | None
    n_rows: int
    arrays: tuple[npt.NDArray[Any], ...]
    means: Floats
    shifts: Floats
    squares: Floats

    @classmethod
    def of(cls, block: ColumnBlock, *, centred: bool = True) -> Columns:
        """Return a block with its moments; not `centred`: about zero."""
        arrays = block.arrays
        moments = tuple(np.empty(block.width) for _ in range(3))
        ready = cls(block.first, block.names, block.n_rows, arrays, *moments)
        ready.share_out(
            lambda lo, hi: column_moments(*arrays, block.n_rows, centred, lo, hi, *moments),
            0, block.width,
        )  # fmt: skip
        return ready

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.squares)

    def unusable(self, lo: int, hi: int) -> npt.NDArray[np.uint8]:
        """Return codes of the reasons why columns lo..hi-1 cannot be used; 0 where they can."""
        return np.maximum(-self.squares[lo:hi], 0.0).astype(np.uint8)

    def share_out(self, work: Any, lo: int, hi: int, cost: int = 1) -> None:
        """Let threads share columns lo..hi-1; `cost` is what one entry costs."""
        indptr = self.arrays[1]
        entries = (
            indptr[lo : hi + 1].astype(np.int64)
            if len(indptr)
            else np.arange(hi - lo + 1) * self.n_rows
        )
        over_columns(lambda a, b: work(lo + a, lo + b), entries * cost)

    def whole(self, j: int) -> Floats:
        """Return column j with all its rows, centred."""
        out = np.empty(self.n_rows)
        room = np.empty(self.n_rows, np.int32), np.empty(self.n_rows)
        spread_column(*self.arrays, self.n_rows, j, self.means[j], *room, out)
        return out

    def listed(self, j: int) -> tuple[npt.NDArray[np.int32], Floats]:
        """Return rows and entries of column j less its shift."""
        rows, entries = np.empty(self.n_rows, np.int32), np.empty(self.n_rows)
        count = list_column(*self.arrays, self.n_rows, j, self.shifts[j], rows, entries)
        return rows[:count], entries[:count]


@dataclass(frozen=True, eq=False)
class Page:
    """The log entries of the columns of one block: strength, level, code of the reason."""

    strengths: npt.NDArray[np.float32]
    levels: npt.NDArray[np.float32]
    codes: npt.NDArray[np.uint8]


class ModelRule(Rule):
    """A rule for feature streams that decides by what a column would add to its model.

    Subclasses say how a run of columns is taken, up to the first that the model meets (`take`), and
    list in `saved` what a later process needs besides the kept columns (`keep_again`).
    """

    @property
    def centred(self) -> bool:
        """Whether columns are taken less their means."""
        return True

    @abstractmethod
    def take(self, columns: Columns, lo: int, hi: int, page: Page) -> tuple[int, Decision | None]:
        """Take columns lo..hi-1 in turn, up to and with the first that the model meets.

        Those before it are noted on the page. Returns the next column, and the decision about the
        one that the model met.
        """

    @abstractmethod
    def keep_again(self, columns: Columns, each: Mapping[str, Any]) -> None:
        """Add the kept columns of a saved stream to the model; `features` is already set."""

    def after_withdrawal(self) -> None:
        """Update the model after some of its features were removed."""


class ModelStream(FeatureStreamSelector):
    """Runs a rule that decides by what a column would add to its model."""

    #: Columns looked at in the first run after the model changed. It cannot change a decision.
    look_ahead: int = 16

    def score(self, block: ColumnBlock) -> Columns:
        """Compute all that does not depend on what is kept: a pure function, in any order."""
        return Columns.of(self._ready(block), centred=self.rule.centred)

    def update(self, columns: Columns) -> None:
        """Take a scored block into the stream; blocks must come in order."""
        width = columns.width
        self._in_order(columns.first, width)
        levels, met = np.full(width, np.nan, np.float32), []
        page = Page(np.zeros(width, np.float32), levels, np.zeros(width, np.uint8))
        at, ahead = 0, self.look_ahead
        while at < width:
            at, decision = self.rule.take(columns, at, min(at + ahead, width), page)
            ahead = 2 * ahead if decision is None else self.look_ahead
            if decision is not None:
                met.append(decision)
        shared = width > 0 and bool((levels == levels[0]).all())
        level = float(levels[0]) if shared else levels
        self.log_.append_bulk(page.strengths, level, page.codes, columns.names)
        for decision in met:
            self.log_.append(decision)

    @property
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""
        kept: npt.NDArray[np.int64] = self.rule.features.copy()
        return kept

    def _keep_again(self, state: Mapping[str, Any], columns: ColumnBlock) -> None:
        self.rule.features = state["features"]
        self.rule.keep_again(self.score(columns), state["each"])

    def _after_withdrawal(self) -> None:
        self.rule.after_withdrawal()


ModelRule.machinery = ModelStream
