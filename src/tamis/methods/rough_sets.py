"""Methods for feature streams with neighbourhood rough sets: what they share.

Such a method keeps a set S of features and its neighbourhood dependency D: how far the neighbours
of the rows agree in class. An arriving feature whose own dependency does not reach a gate, which
follows from S, is logged in bulk and never meets the rule; every other one is tried together with
S.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision, Reason
from tamis.core.params import Number, OneOf, param
from tamis.core.target import Target
from tamis.kernels.neighbours import first_reaching
from tamis.measures.dependency import Dependency, LineColumn, Neighbourhoods, sign
from tamis.measures.measure import Floats
from tamis.methods.rule import (
    CONSTANT,
    Rule,
    when_evicted,
    when_irrelevant,
    when_kept,
    when_redundant,
)
from tamis.methods.selector import FeatureStreamSelector

#: Features that miss the gate by less than this are logged with all their digits.
HAIR = 1e-6

SET = "the dependency of the kept set"
GATE = "dep({name})={relevance} is {reaches} {mean}, {gate}, and "

REASONS = {
    # These two come first: their positions are the codes that `update` writes in bulk.
    "irrelevant": when_irrelevant(
        "{name} was dropped as irrelevant: dep({name})={relevance} is {misses} {level}, {gate}"
    ),
    "constant": CONSTANT,
    "worse": when_redundant(
        "{name} was dropped as redundant: " + SET + " is {level} without it and {value} with it"
    ),
    "unneeded": when_redundant(
        "{name} was dropped as redundant: " + SET + " is {level} with it and still {value} "
        "without it"
    ),
    "evicted": when_evicted(
        "{name} was kept until {because} arrived and made it redundant: " + SET + " is {level} "
        "with both and still {value} without {name}"
    ),
    "first": when_kept("{name} is kept: nothing was kept before it, and dep({name})={relevance}"),
    "kept": when_kept("{name} is kept: " + GATE + "it raises " + SET + " from {level} to {value}"),
    "needed": when_kept(
        "{name} is kept: " + GATE + SET + " is {value} with it where it was {level} before"
    ),
}


@dataclass(frozen=True, eq=False)
class ScoredBlock:
    """A block, and the dependency of each of its columns alone (-1: constant)."""

    block: ColumnBlock
    dependency: Floats


@dataclass(frozen=True, eq=False)
class Pruned:
    """A feature that was dropped while the set was pruned, and the dependency around that."""

    column: LineColumn
    before: Dependency
    after: Dependency

    def decision(self, reason: str, because: tuple[int, ...]) -> Decision:
        """Return the decision that drops it."""
        return Decision(
            self.column.feature, reason, self.column.alone.value,
            self.after.value, self.before.value, because,
        )  # fmt: skip


class KeptSet:
    """The kept set S, its dependency, and the gate that follows from it.

    Attributes
    ----------
    space : Neighbourhoods
        The kept columns and the distances of the rows.
    whole : Dependency
        D, the dependency of the kept set.
    gate : list of Dependency
        Those of the kept features alone, when the gate was last moved.
    mean : float
        The gate: what the dependency of a newcomer alone must reach.
    """

    def __init__(self, rule: RoughSetRule, target: Target) -> None:
        self._rule = rule
        program = rule.variant == "program"
        self.space = Neighbourhoods(target, rule.neighbours[rule.variant], program=program)
        self.whole = self.space.nothing
        self.gate: list[Dependency] = []
        self.mean = 0.0

    def balance(self, column: LineColumn) -> int:
        """Return whether a feature is below (-1), at (0) or above (1) the gate, exactly."""
        if self.space.program:
            value = column.alone.value
            return (value > self.mean) - (value < self.mean)
        singles = [(-1, other.shares) for other in self.gate]
        return sign((max(1, len(singles)), column.alone.shares), *singles)

    def move_gate(self) -> None:
        """Move the gate as the rule says, given the current kept set."""
        self.gate = [column.alone for column in self.space.columns]
        self.mean = sum(single.value for single in self.gate) / max(1, len(self.gate))
        self.mean = self._rule.gate(self.mean, self)

    def prune(self, newcomer: LineColumn, whole: Dependency) -> list[Pruned]:
        """Drop kept features that the rule considers redundant; the program spares the newcomer.

        `whole` is the dependency with all of them. They come in order of arrival, or shuffled by a
        draw for this newcomer.
        """

        def draw(column: LineColumn) -> bytes:
            key = f"{self._rule.random_state} {newcomer.feature} {column.feature}"
            return hashlib.blake2b(key.encode(), digest_size=8).digest()

        columns, gone = list(self.space.columns), list[Pruned]()
        if self._rule.order == "random":
            columns.sort(key=draw)
        for column in columns:
            if self.space.program and column is newcomer:
                continue
            without = self.space.dependency(minus=column)
            if self._rule.lets_go(self.space.compare(without, whole)):
                self.space.drop(column)
                gone.append(Pruned(column, whole, without))
                whole = without
        return gone

    def taken(
        self, column: LineColumn, mean: float, before: Dependency, gone: list[Pruned]
    ) -> Decision:
        """Return the decision about a newcomer, and about those dropped because of it."""
        evicts = tuple(
            g.decision("evicted", (column.feature,)) for g in gone if g.column is not column
        )
        for g in gone:
            if g.column is column:
                dropped = g.decision("unneeded", ())
                return replace(dropped, evicts=evicts, evidence={"mean": mean})
        now = self.whole
        reason = "kept" if self.space.compare(now, before) > 0 else "needed"
        if before is self.space.nothing:
            reason = "first"
        return Decision(
            column.feature, reason, column.alone.value, now.value, before.value,
            evicts=evicts, evidence={"mean": mean},
        )  # fmt: skip


class RoughSetRule(Rule):
    """A rule that tries a newcomer with the kept set.

    Parameters
    ----------
    order : {"random", "natural"}, default="random"
        Order of pruning: drawn for each newcomer from `random_state` and its number, or oldest
        first.
    random_state : int, default=0
        The seed of the random order.

    Attributes
    ----------
    dependency_ : float
        D.
    """

    #: Where a neighbourhood ends, by variant.
    neighbours: ClassVar[Mapping[str, str]]

    only_classes: ClassVar[bool] = True
    former_parameters: ClassVar[Mapping[str, str | None]] = {"seed": "random_state"}

    _: KW_ONLY
    variant: str = param("paper", OneOf(("paper", "program")))
    order: str = param("random", OneOf(("random", "natural")))
    random_state: int = param(0, Number(0, integer=True))

    def decide(self, column: LineColumn, kept: KeptSet) -> Decision:
        """Decide about one feature that reached the gate, and change the kept set accordingly."""
        mean, before, space = kept.mean, kept.whole, kept.space
        tried = space.dependency(plus=column)
        change = space.compare(tried, before)
        if not self.accepts(change, tried, before):
            return Decision(
                column.feature, "worse", column.alone.value, tried.value, before.value,
                evidence={"mean": mean},
            )  # fmt: skip
        space.add(column)
        gone = kept.prune(column, tried) if change <= 0 else []
        after = gone[-1].after if gone else tried
        if space.program and space.compare(after, before) < 0:
            for pruned in gone:
                space.add(pruned.column)
            return kept.taken(column, mean, before, [])
        kept.whole = after
        kept.move_gate()
        return kept.taken(column, mean, before, gone)

    def accepts(self, change: int, tried: Dependency, before: Dependency) -> bool:
        """Return whether a newcomer enters that makes D fall (-1), stay (0) or rise (1)."""
        return change >= 0

    def lets_go(self, change: int) -> bool:
        """Return whether to drop a feature without which D falls (-1), stays (0) or rises (1)."""
        return change == 0

    def passes(self, balance: int) -> bool:
        """Return whether a feature below (-1), at (0) or above (1) the gate passes."""
        return balance >= 0

    def gate(self, mean: float, kept: KeptSet) -> float:
        """Return the gate, given the mean dependency of the kept features alone."""
        return mean

    def gate_words(self) -> str:
        """Return a few words about what the gate is."""
        return "the mean of the kept features"

    def reasons(self) -> dict[str, Reason]:
        """Return every reason that the rule can give."""
        return REASONS


class RoughSetStream(FeatureStreamSelector):
    """Runs a rule that tries a newcomer with the kept set."""

    _kept: KeptSet

    saved: ClassVar[Mapping[str, str]] = {
        "mean": "_kept.mean",
        "met": "_met",
        "computed": "_kept.space.computed",
    }
    counted: ClassVar[Mapping[str, str]] = {
        **FeatureStreamSelector.counted,
        "reached_the_gate": "_met",
        "set_dependencies": "_kept.space.computed",
    }

    def _begin(self) -> None:
        self._kept = KeptSet(self.rule, self._target)
        self._met = 0
        at_gate = self.rule.passes(0)
        if not len(self.log_):  # a stream that is restored has its texts
            self.log_.template_fields |= {
                "gate": self.rule.gate_words(),
                "reaches": "not below" if at_gate else "above",
                "misses": "below" if at_gate else "not above",
            }

    def score(self, block: ColumnBlock) -> ScoredBlock:
        """Compute the dependency of each column alone: a pure function, in any order."""
        block = self._ready(block)
        return ScoredBlock(block, self._kept.space.alone(block))

    def update(self, scored: ScoredBlock) -> None:
        """Take a scored block into the stream; blocks must come in order."""
        block, dependency, kept = scored.block, scored.dependency, self._kept
        self._in_order(block.first, block.width)
        at = 0
        while at < block.width:
            j = first_reaching(dependency, at, kept.mean - HAIR)
            end = min(j + 1, block.width)
            some = dependency[at:end]
            self.log_.append_bulk(
                np.maximum(some, 0.0), kept.mean, (some < 0.0).astype(np.uint8),
                None if block.names is None else block.names.part(at, end),
            )  # fmt: skip
            at = end
            if j < block.width:
                self._meet(kept.space.ready(block, j))

    def _meet(self, column: LineColumn) -> None:
        """Let the rule decide about a feature, unless it turns out to miss the gate by a hair."""
        balance = self._kept.balance(column)
        if self.rule.passes(balance):
            self._met += 1
            self.log_.append(self.rule.decide(column, self._kept))
        elif balance < 0:
            self.log_.append(
                Decision(column.feature, "irrelevant", column.alone.value, level=self._kept.mean)
            )

    # --- saving a stream -------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return what the stream needs to resume."""
        state, kept = super().state(), self._kept
        known = kept.gate if kept.whole is kept.space.nothing else [*kept.gate, kept.whole]
        shares = np.array([d.shares for d in known], np.int64).reshape(len(known), -1)
        values = np.array([d.value for d in known])
        state["numbers"] |= {"shares": shares, "values": values, "in_gate": len(kept.gate)}
        return state

    def _keep_again(self, state: Mapping[str, Any], columns: ColumnBlock) -> None:
        space = self._kept.space
        space.columns = [
            replace(space.ready(columns, j), feature=feature)
            for j, feature in enumerate(state["features"].tolist())
        ]
        numbers = state["numbers"]
        shares = numbers["shares"].reshape(len(numbers["values"]), len(space.nothing.shares))
        known = [Dependency(*d) for d in zip(shares, numbers["values"].tolist(), strict=True)]
        in_gate = numbers["in_gate"]
        self._kept.gate, rest = known[:in_gate], known[in_gate:]
        self._kept.whole = rest[0] if rest else space.nothing

    def _after_withdrawal(self) -> None:
        self._kept.whole = self._kept.space.dependency()
        self._kept.move_gate()

    # --- what can be read ------------------------------------------------------------------

    @property
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""
        return np.array([column.feature for column in self._kept.space.columns], dtype=np.int64)

    @property
    def dependency_(self) -> float:
        """D, the dependency that the next feature has to beat."""
        return self._kept.whole.value


RoughSetRule.machinery = RoughSetStream
