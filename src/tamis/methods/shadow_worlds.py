"""Shadow worlds: how many of the kept features are expected to be luck.

A world is a fixed random order of the rows, the same for all columns and for all time. The decoy of
a column is that column with its rows in this order: it has the same values, the same gaps and the
same copies among its neighbours, and says nothing about the target. Decoys are judged like
features: by the same measure, at the same level, then by the selector's own rule against the really
kept features and the decoys that the world kept before. Each world counts the decoys that it keeps.

Real features are never touched. A decoy is judged at the moment of its column, after the column
itself; a real newcomer that is kept displaces decoys by the same rule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.decisions import Decision, Verdict
from tamis.core.false_keeps import FalseKeeps
from tamis.core.p_levels import LEAST
from tamis.core.target import Target
from tamis.kernels.scan import sift
from tamis.measures.measure import Floats, Ints, Measure, Strength
from tamis.methods.gates import GATES
from tamis.methods.measured import Arrival, Kept

#: Decoys are numbered after all real features where both are in one list.
AFTER_REAL = 1 << 40


@dataclass(frozen=True, eq=False)
class Decoys:
    """The decoys of a block that passed the test of one world.

    With a false discovery rate, `levels` are p-values until the levels are known (`within`).
    """

    features: Ints
    strengths: Floats
    levels: Floats
    columns: Sequence[Any]
    #: Digests of their values, where the rule needs them.
    contents: tuple[bytes, ...] = ()

    def within(self, levels: Floats) -> Decoys:
        """Return the decoys whose p-value is within the level of their column."""
        some = np.flatnonzero(self.levels <= levels)
        columns = [self.columns[i] for i in some.tolist()]
        contents = tuple(self.contents[i] for i in some.tolist()) if self.contents else ()
        return Decoys(self.features[some], self.strengths[some], levels[some], columns, contents)

    def __iter__(self) -> Iterator[Arrival]:
        for i, feature in enumerate(self.features.tolist()):
            yield Arrival(
                feature, float(self.strengths[i]), float(self.levels[i]), self.columns[i],
                self.contents[i] if self.contents else b"",
            )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RowOrder:
    """A random order of the rows: row i of a decoy is row ``order[i]`` of its column."""

    order: Ints

    @classmethod
    def of(cls, target: Target, random_state: int, world: int) -> Self:
        """Return the order of a world; rows of one group stay together.

        It is a function of the numbers given, whatever the version of NumPy: only the raw output
        of its generators is guaranteed to stay the same.
        """
        bits = np.random.PCG64(np.random.SeedSequence([random_state, world]))
        if target.row_groups is None:
            return cls(np.argsort(bits.random_raw(target.n_rows), kind="stable"))
        groups = target.row_groups
        shuffled = bits.random_raw(int(groups.max()) + 1)
        order = np.empty(target.n_rows, np.int64)
        order[np.argsort(groups, kind="stable")] = np.lexsort((groups, shuffled[groups]))
        return cls(order)

    @cached_property
    def inverse(self) -> Ints:
        """Where each row of a column is in its decoy."""
        return np.argsort(self.order)

    def target(self, target: Target) -> Target:
        """Return the target that a column meets as its decoy meets the real one."""
        to = self.inverse
        given = target.given
        return replace(
            target,
            codes=None if target.codes is None else target.codes[to],
            values=target.values[to],
            weights=None if target.weights is None else target.weights[to],
            given=None if given is None else replace(given, values=given.values[to]),
            row_groups=None,
        )

    def decoys(self, block: ColumnBlock) -> ColumnBlock:
        """Return the decoys of the columns of a block."""
        v = block.values
        if not isinstance(v, Compressed):
            return replace(block, values=np.asfortranarray(v[self.order]))
        rows = self.inverse[v.indices]
        column = np.repeat(np.arange(block.width), np.diff(v.indptr))
        sort = np.lexsort((rows, column))
        values = Compressed(v.indptr, rows[sort].astype(v.indices.dtype), v.data[sort])
        return replace(block, values=values)

    def __deepcopy__(self, memo: Any) -> RowOrder:
        return self


# --- worlds --------------------------------------------------------------------------------------


class World(ABC):
    """The decoys that one world keeps, by the rule of a method."""

    #: Whether the world needs the columns of the really kept features.
    needs_real: ClassVar[bool] = False

    def __init__(self, rule: Any, measure: Measure, target: Target) -> None:
        self.rule, self.measure, self.of_target = rule, measure, target
        reasons = rule.reasons()
        self._keeps = {name for name in reasons if reasons[name].verdict == Verdict.KEPT}

    @classmethod
    def contents(cls, decoys: ColumnBlock) -> tuple[bytes, ...]:
        """Return digests of the values of decoys, if the world needs them."""
        return ()

    @property
    @abstractmethod
    def features(self) -> Ints:
        """The columns whose decoys are kept, in order of arrival."""

    @abstractmethod
    def meet(self, decoy: Arrival, real: Kept, arrivals: dict[int, Arrival]) -> None:
        """Judge a decoy that passed the test."""

    @abstractmethod
    def newcomer(self, arrival: Arrival, real: Kept, arrivals: dict[int, Arrival]) -> None:
        """Let a real feature that was kept displace decoys."""

    @abstractmethod
    def restore(self, decoys: Sequence[Arrival], real: Kept, columns: Sequence[Arrival]) -> None:
        """Keep the decoys of a saved world again; `columns` are those of the real features."""

    def count(self, real: Kept) -> int:
        """Return how many decoys are kept."""
        return len(self.features)


class PairWorld(World):
    """The world of a rule that compares pairs, oldest first, as SAOLA does."""

    def __init__(self, rule: Any, measure: Measure, target: Target) -> None:
        super().__init__(rule, measure, target)
        self.kept: Kept = rule.kept(measure, target)

    @property
    def features(self) -> Ints:
        """The columns whose decoys are kept, in order of arrival."""
        return self.kept.features

    def meet(self, decoy: Arrival, real: Kept, arrivals: dict[int, Arrival]) -> None:
        """Compare a decoy with the really kept features, then with the decoys."""
        pairs = real.panel.pairs
        decision = self.rule.decide(decoy, real)
        real.panel.pairs = pairs  # which counts the work of the selection itself
        if decision.reason not in self._keeps:
            return
        decision = self.rule.decide(decoy, self.kept)
        self.kept.drop([gone.feature for gone in decision.evicts])
        if decision.reason in self._keeps:
            self.kept.add(decoy)

    def newcomer(self, arrival: Arrival, real: Kept, arrivals: dict[int, Arrival]) -> None:
        """Drop the decoys that are redundant with a better real feature."""
        if len(self.kept):
            _, _, redundant = self.rule.compare(arrival, self.kept)
            weaker = arrival.relevance - self.kept.relevance > self.measure.resolution
            self.kept.drop(self.kept.features[redundant & weaker].tolist())

    def restore(self, decoys: Sequence[Arrival], real: Kept, columns: Sequence[Arrival]) -> None:
        """Keep the decoys of a saved world again."""
        for decoy in decoys:
            self.kept.add(decoy)


class SeparatingWorld(World):
    """The world of a rule that searches for separating sets, as OSFS does.

    Sets may hold real features and decoys, so one list has both: the real ones first, which must
    stay. It is made anew after either of them has changed; there are few of them.

    Kept features explain the target *together*, also those that are luck. A false feature had only
    the other false ones against it; a decoy would have all of them, and the decoys besides. So each
    decoy takes the place of one real feature, the one whose relevance is nearest to its own, and
    that one is left out of the world (`beside`).
    """

    needs_real: ClassVar[bool] = True

    def __init__(self, rule: Any, measure: Measure, target: Target) -> None:
        super().__init__(rule, measure, target)
        self.decoys: dict[int, Arrival] = {}
        self._both: Any = None

    @property
    def features(self) -> Ints:
        """The columns whose decoys are kept, in order of arrival."""
        return np.array(list(self.decoys), np.int64)

    def beside(self, arrivals: Mapping[int, Arrival], required: int) -> list[Arrival]:
        """Return the real features that decoys meet: those whose place no decoy takes.

        Decoys choose in order of arrival. Features that must stay, the oldest ones, keep theirs.
        """
        every = list(arrivals.values())
        stay, others = every[:required], every[required:]
        for decoy in self.decoys.values():
            if others:
                distances = [abs(one.relevance - decoy.relevance) for one in others]
                others.pop(distances.index(min(distances)))
        return stay + others

    def _all(self, real: Sequence[Arrival]) -> Any:
        """Return real features and the decoys."""
        both = self.rule.kept(self.measure, self.of_target)
        both.decided_by_refusals = 1  # the selection itself warns of them
        for arrival in real:
            both.add(arrival)
        both.required = len(real)
        for decoy in self.decoys.values():
            both.add(replace(decoy, feature=decoy.feature + AFTER_REAL))
        return both

    def meet(self, decoy: Arrival, real: Kept, arrivals: dict[int, Arrival]) -> None:
        """Test a decoy, and the decoys given it."""
        if self._both is None:
            self._both = self._all(self.beside(arrivals, real.required))
        decision = self.rule.decide(replace(decoy, feature=decoy.feature + AFTER_REAL), self._both)
        self._drop(decision.evicts)
        if decision.reason in self._keeps:
            # A copy: the column is a part of its block, which must not live as long as it does.
            self.decoys[decoy.feature] = replace(decoy, column=deepcopy(decoy.column))
            self._both = None

    def newcomer(self, arrival: Arrival, real: Kept, arrivals: dict[int, Arrival]) -> None:
        """Drop the decoys that sets with a new real feature separate from the target."""
        self._both = None
        present = self.beside(arrivals, real.required)
        others = [one for one in present if one.feature != arrival.feature]
        if self.decoys and len(others) < len(present):  # no decoy takes its place
            both = self._all(others)
            at = both.consider(arrival)
            self._drop(both.pruned(range(at), arrival, including=at)[1])

    def _drop(self, gone: Sequence[Decision]) -> None:
        for feature in [decision.feature for decision in gone]:
            if feature >= AFTER_REAL:
                del self.decoys[feature - AFTER_REAL]
                self._both = None

    def restore(self, decoys: Sequence[Arrival], real: Kept, columns: Sequence[Arrival]) -> None:
        """Keep the decoys of a saved world again."""
        self.decoys = {one.feature: replace(one, column=deepcopy(one.column)) for one in decoys}

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_both": None}


# --- all worlds of a selection -------------------------------------------------------------------


class Shadows:
    """The worlds of a selection, and the decoys that wait for the turn of their columns.

    Parameters
    ----------
    rule, measure, target
        Those of the selection.
    """

    def __init__(self, rule: Any, measure: Measure, target: Target) -> None:
        worlds = range(rule.shadows)
        self.rule, self.measure = rule, measure
        self.orders = [RowOrder.of(target, rule.random_state, world) for world in worlds]
        self.targets = [order.target(target) for order in self.orders]
        self.worlds: list[World] = [rule.world(rule, measure, target) for _ in worlds]
        self._prepare = rule.kept(measure, target).panel.prepare
        self._arrivals: dict[int, Arrival] = {}
        self._waiting: list[tuple[int, World, Arrival]] = []

    # --- a pure function of a block --------------------------------------------------------

    def decoys(
        self, block: ColumnBlock, of_worlds: Sequence[Any], required: int
    ) -> tuple[Decoys, ...]:
        """Return the decoys of a block that pass the test of each world.

        The relevance of a decoy to the target is that of its column to the target of the world
        (`of_worlds`, as `Strength` or, with a false discovery rate, `Tested`), so only decoys that
        pass are made. Features that must stay have none.
        """
        found = []
        for order, one in zip(self.orders, of_worlds, strict=True):
            if isinstance(one, Strength):
                passed, value, level = self._passed(one)
            else:
                gate = GATES[self.rule.gate](self.rule.fdr)
                passed = np.flatnonzero(~one.constant & (one.p <= gate.most))
                value, level = np.maximum(one.value, LEAST), one.p
            picks = passed[passed + block.first >= required]
            made = self._made(order, block, picks)
            found.append(Decoys(picks + block.first, value[picks], level[picks], *made))
        return tuple(found)

    def _passed(self, strength: Strength) -> tuple[Ints, Floats, Floats]:
        """Return the columns whose decoys pass, the strengths, and their cutoffs."""
        self.rule.raise_cutoffs(strength.cutoff)
        width = len(strength)
        relevance, constant = np.empty(width, np.float32), np.empty(width, np.uint8)
        passed = np.empty(width, np.int64)
        cutoff = strength.cutoff
        count, _ = sift(strength.value, cutoff, cutoff, relevance, constant, passed)
        return passed[:count], strength.value, cutoff

    def _made(
        self, order: RowOrder, block: ColumnBlock, picks: Ints
    ) -> tuple[Sequence[Any], tuple[bytes, ...]]:
        """Return the decoys of some columns, ready for the rule, and their digests."""
        if not len(picks):
            return (), ()
        decoys = order.decoys(block.pick(picks))
        return self._prepare(decoys, np.arange(len(picks))), self.rule.world.contents(decoys)

    # --- in order --------------------------------------------------------------------------

    def expect(self, decoys: Sequence[Decoys]) -> None:
        """Let the decoys of a block wait for the turn of their columns."""
        waiting = [(decoy.feature, i, decoy) for i, world in enumerate(decoys) for decoy in world]
        waiting.sort(key=lambda one: one[:2], reverse=True)
        self._waiting = [(feature, self.worlds[i], decoy) for feature, i, decoy in waiting]

    def catch_up(self, end: int, real: Kept) -> None:
        """Judge the decoys of the columns before `end`; the real features are about to change."""
        while self._waiting and self._waiting[-1][0] < end:
            _, world, decoy = self._waiting.pop()
            world.meet(decoy, real, self._arrivals)

    def changed(self, real: Kept, newcomer: Arrival | None, gone: Sequence[int] = ()) -> None:
        """Tell every world that real features were dropped, and one was kept."""
        if self.worlds[0].needs_real:
            for feature in gone:
                self._arrivals.pop(feature, None)
            if newcomer is not None:
                kept = replace(newcomer, column=deepcopy(newcomer.column))
                self._arrivals[newcomer.feature] = kept
        for world in self.worlds:
            if newcomer is not None:
                world.newcomer(newcomer, real, self._arrivals)
            elif gone and isinstance(world, SeparatingWorld):
                world._both = None

    # --- results and saving ----------------------------------------------------------------

    def false_keeps(self, real: Kept, n_kept: int) -> FalseKeeps:
        """Return the estimate."""
        return FalseKeeps(n_kept, tuple(world.count(real) for world in self.worlds))

    @property
    def features(self) -> Ints:
        """The columns that some world keeps, in order of arrival."""
        every = [world.features for world in self.worlds]
        return np.unique(np.concatenate(every)).astype(np.int64)

    def added_to(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Add the columns of decoys to the state of a stream; bit w of a number means world w."""
        features = np.union1d(state["features"], self.features)
        worlds = np.zeros(len(features), np.int64)
        for i, world in enumerate(self.worlds):
            worlds |= np.isin(features, world.features).astype(np.int64) << i
        real = np.isin(features, state["features"])
        each: dict[str, Any] = {"worlds": worlds, "real": real}
        for name, array in state["each"].items():
            each[name] = np.zeros((len(features), *array.shape[1:]), array.dtype)
            each[name][real] = array
        return {**state, "features": features, "each": each}

    def restore(self, state: Mapping[str, Any], columns: ColumnBlock, real: Kept) -> None:
        """Keep the decoys of a saved stream again; `columns` are its held columns."""
        features, worlds = np.asarray(state["features"], np.int64), state["each"]["worlds"]
        own = np.flatnonzero(state["each"]["real"])
        ready = self._prepare(columns.pick(own), np.arange(len(own)))
        nothing = np.full(len(own), np.nan)
        arrivals = list(Decoys(features[own], state["each"]["relevance"][own], nothing, ready))
        if self.worlds[0].needs_real:
            self._arrivals = {
                one.feature: replace(one, column=deepcopy(one.column)) for one in arrivals
            }
        for i, world in enumerate(self.worlds):
            picks = np.flatnonzero(worlds >> i & 1)
            some = columns.pick(picks)
            value = self.measure.relevance(some, self.targets[i]).value
            if self.rule.fdr is not None:
                value = np.maximum(self.measure.tested(some, self.targets[i]).value, LEAST)
            made, nothing = self._made(self.orders[i], columns, picks), np.full(len(picks), np.nan)
            decoys = Decoys(features[picks], value, nothing, *made)
            world.restore(list(decoys), real, arrivals)


def without_decoys(
    state: Mapping[str, Any], columns: ColumnBlock
) -> tuple[dict[str, Any], ColumnBlock]:
    """Return the state of a stream as `Shadows.added_to` found it, and the columns it needs."""
    own = np.asarray(state["each"]["real"], np.bool_)
    each = {
        name: array[own] for name, array in state["each"].items() if name not in ("worlds", "real")
    }
    features = np.asarray(state["features"], np.int64)[own]
    return {**state, "features": features, "each": each}, columns.pick(np.flatnonzero(own))
