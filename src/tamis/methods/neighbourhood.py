"""Feature-stream selectors that ask how far the neighbours of the rows agree: what they share.

Such a selector holds a set S of features and its neighbourhood dependency D. An arriving feature
whose own dependency does not reach a gate, which follows from S, is logged in bulk and never meets
the rule; every other one is tried together with S.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision, Reason, Verdict
from tamis.core.params import Number, OneOf, Range
from tamis.kernels.neighbours import first_reaching
from tamis.measures.base import Floats
from tamis.measures.neighbourhood import Dependency, LineColumn, Neighbourhoods, sign
from tamis.methods.base import FeatureStreamSelector

#: Features that miss the gate by less than this are logged with all their digits.
HAIR = 1e-6

SET = "the dependency of the kept set"
GATE = "dep({name})={relevance} is {reaches} {mean}, {gate}, and "

REASONS = {
    # These two come first: their places are the codes that `update` writes in bulk.
    "irrelevant": Reason(
        Verdict.IRRELEVANT,
        "{name} was dropped as irrelevant: dep({name})={relevance} is {misses} {level}, {gate}",
    ),
    "constant": Reason(
        Verdict.IRRELEVANT,
        "{name} was dropped as irrelevant: it has the same value in every row",
    ),
    "worse": Reason(
        Verdict.REDUNDANT,
        "{name} was dropped as redundant: " + SET + " is {level} without it and {value} with it",
    ),
    "unneeded": Reason(
        Verdict.REDUNDANT,
        "{name} was dropped as redundant: " + SET + " is {level} with it and still {value} "
        "without it",
    ),
    "evicted": Reason(
        Verdict.EVICTED,
        "{name} was kept until {because} arrived and made it redundant: " + SET + " is {level} "
        "with both and still {value} without {name}",
    ),
    "first": Reason(
        Verdict.KEPT, "{name} is kept: nothing was kept before it, and dep({name})={relevance}"
    ),
    "kept": Reason(
        Verdict.KEPT, "{name} is kept: " + GATE + "it raises " + SET + " from {level} to {value}"
    ),
    "needed": Reason(
        Verdict.KEPT,
        "{name} is kept: " + GATE + SET + " is {value} with it where it was {level} before",
    ),
}


@dataclass(frozen=True, eq=False)
class ScoredBlock:
    """A block, and the dependency of each of its columns alone (-1: constant)."""

    block: ColumnBlock
    dependency: Floats


@dataclass(frozen=True, eq=False)
class Pruned:
    """A feature that was let go while the set was pruned, and the set's dependency around it."""

    column: LineColumn
    before: Dependency
    after: Dependency

    def decision(self, reason: str, because: tuple[int, ...]) -> Decision:
        """Say it."""
        return Decision(
            self.column.feature, reason, self.column.alone.value,
            self.after.value, self.before.value, because,
        )  # fmt: skip


class NeighbourhoodSelector(FeatureStreamSelector):
    """A feature-stream selector with a neighbourhood rule (`rule`) and a decision (`decide`)."""

    #: Where a neighbourhood ends, by variant.
    rule: ClassVar[Mapping[str, str]]

    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {
        "variant": OneOf(("paper", "program")),
        "order": OneOf(("random", "natural")),
        "seed": Number(0, integer=True),
    }

    variant: str
    order: str
    seed: int

    @abstractmethod
    def decide(self, column: LineColumn) -> Decision:
        """Decide about one feature that reached the gate, and change the kept set accordingly."""

    def passes(self, balance: int) -> bool:
        """Tell whether a feature below (-1), at (0) or above (1) the gate passes."""
        return balance >= 0

    def gate_words(self) -> str:
        """Say in a few words what the gate is."""
        return "the mean of the kept features"

    def reasons(self) -> dict[str, Reason]:
        """Every reason this selector can give."""
        return REASONS

    def _begin(self) -> None:
        program = self.variant == "program"
        self._space = Neighbourhoods(self._target, self.rule[self.variant], program=program)
        self._whole = self._space.nothing
        self._set_gate([])
        self._met = 0
        at_gate = self.passes(0)
        self._new_log(
            {
                "gate": self.gate_words(),
                "reaches": "not below" if at_gate else "above",
                "misses": "below" if at_gate else "not above",
            }
        )

    # --- the two halves of feeding ---------------------------------------------------------

    def score(self, block: ColumnBlock) -> ScoredBlock:
        """Work out the dependency of each column alone: a pure function, in any order."""
        block = self._ready(block)
        return ScoredBlock(block, self._space.alone(block))

    def update(self, scored: ScoredBlock) -> None:
        """Take an examined block into the stream; blocks must come in order."""
        block, dependency = scored.block, scored.dependency
        self._in_order(block.first, block.width)
        at = 0
        while at < block.width:
            j = first_reaching(dependency, at, self._mean - HAIR)
            end = min(j + 1, block.width)
            some = dependency[at:end]
            self.log_.append_bulk(
                np.maximum(some, 0.0), self._mean, (some < 0.0).astype(np.uint8),
                None if block.names is None else block.names.part(at, end),
            )  # fmt: skip
            at = end
            if j < block.width:
                self._meet(self._space.ready(block, j))

    def _meet(self, column: LineColumn) -> None:
        """Let the rule decide about a feature, unless it turns out to miss the gate by a hair."""
        if self._space.program:
            value = column.alone.value
            balance = (value > self._mean) - (value < self._mean)
        else:
            singles = [(-1, other.shares) for other in self._gate]
            balance = sign((max(1, len(singles)), column.alone.shares), *singles)
        if self.passes(balance):
            self._met += 1
            self.log_.append(self.decide(column))
        elif balance < 0:
            self.log_.append(
                Decision(column.feature, "irrelevant", column.alone.value, level=self._mean)
            )

    # --- steps that the rules share ----------------------------------------------------------

    def _set_gate(self, singles: list[Dependency]) -> None:
        """Let in what reaches the mean of these from now on."""
        self._gate = singles
        self._mean = sum(single.value for single in singles) / max(1, len(singles))

    def _gate_at_mean_of_kept(self) -> None:
        self._set_gate([column.alone for column in self._space.columns])

    def _prune(
        self,
        newcomer: LineColumn,
        whole: Dependency,
        lets_go: Callable[[int], bool],
        *,
        spare: bool,
    ) -> list[Pruned]:
        """Drop held features, each if the change in dependency lets it go, the newcomer too.

        `whole` is the dependency with all of them; `spare` the newcomer.
        """
        gone: list[Pruned] = []
        for column in self._in_pruning_order(newcomer):
            if spare and column is newcomer:
                continue
            without = self._space.dependency(minus=column)
            if lets_go(self._space.compare(without, whole)):
                self._space.drop(column)
                gone.append(Pruned(column, whole, without))
                whole = without
        return gone

    def _in_pruning_order(self, newcomer: LineColumn) -> list[LineColumn]:
        """Held features in order of arrival, or shuffled by a draw for this newcomer alone."""
        if self.order == "natural":
            return list(self._space.columns)

        def draw(column: LineColumn) -> bytes:
            key = f"{self.seed} {newcomer.feature} {column.feature}"
            return hashlib.blake2b(key.encode(), digest_size=8).digest()

        return sorted(self._space.columns, key=draw)

    def _worse(self, column: LineColumn, tried: Dependency) -> Decision:
        return Decision(
            column.feature, "worse", column.alone.value,
            tried.value, self._whole.value, evidence={"mean": self._mean},
        )  # fmt: skip

    def _take(
        self, column: LineColumn, mean: float, before: Dependency, gone: list[Pruned]
    ) -> Decision:
        """Say what became of a newcomer, and of those that were let go because of it."""
        evicts = tuple(
            g.decision("evicted", (column.feature,)) for g in gone if g.column is not column
        )
        for g in gone:
            if g.column is column:
                said = g.decision("unneeded", ())
                return Decision(
                    said.feature, said.reason, said.relevance, said.value, said.level,
                    evicts=evicts, evidence={"mean": mean},
                )  # fmt: skip
        now = self._whole
        reason = "kept" if self._space.compare(now, before) > 0 else "needed"
        if before is self._space.nothing:
            reason = "first"
        return Decision(
            column.feature, reason, column.alone.value, now.value, before.value,
            evicts=evicts, evidence={"mean": mean},
        )  # fmt: skip

    # --- putting a stream away, and going on -------------------------------------------------

    def _each(self) -> dict[str, npt.NDArray[Any]]:
        return {}

    def _numbers(self) -> dict[str, Any]:
        known = [*self._gate, *([] if self._whole is self._space.nothing else [self._whole])]
        return {
            # The gate's dependencies, and that of the kept set unless nothing was ever kept.
            "shares": np.array([d.shares for d in known], np.int64).reshape(len(known), -1),
            "values": np.array([d.value for d in known]),
            "in_gate": len(self._gate),
            "mean": self._mean,
            "met": self._met,
            "computed": self._space.computed,
        }

    def _take_back(
        self,
        columns: ColumnBlock,
        features: npt.NDArray[np.int64],
        each: Mapping[str, Any],
        numbers: Mapping[str, Any],
    ) -> None:
        self._space.columns = [
            replace(self._space.ready(columns, j), feature=feature)
            for j, feature in enumerate(features.tolist())
        ]
        shares = numbers["shares"].reshape(len(numbers["values"]), self._target.n_rows)
        known = [Dependency(*d) for d in zip(shares, numbers["values"].tolist(), strict=True)]
        self._gate, rest = known[: numbers["in_gate"]], known[numbers["in_gate"] :]
        self._whole = rest[0] if rest else self._space.nothing
        self._mean, self._met = numbers["mean"], numbers["met"]
        self._space.computed = numbers["computed"]

    def _after_withdrawal(self) -> None:
        self._whole = self._space.dependency()
        self._gate_at_mean_of_kept()

    # --- what can be read ------------------------------------------------------------------

    @property
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""
        if not hasattr(self, "n_features_in_"):
            raise NotFittedError(f"this {type(self).__name__} has seen no columns yet")
        return np.array([column.feature for column in self._space.columns], dtype=np.int64)

    @property
    def dependency_(self) -> float:
        """D, the dependency that the next feature has to beat."""
        return self._whole.value

    @property
    def work_(self) -> dict[str, int]:
        """Counted work: what was computed, whatever the machine."""
        return {
            **super().work_,
            "reached_the_gate": self._met,
            "set_dependencies": self._space.computed,
        }
