"""Decide in an order that belongs to the features, so that the order of arrival does not matter.

The rule is applied to all relevant features in one order: the most relevant first, then by name,
then by contents. A feature F is then dropped exactly if a kept feature that comes before F in this
order makes it redundant. These two sentences determine the kept set, and neither mentions arrival.

The set is updated with each arrival F, and only what F changes is decided again:

1. If a kept feature before F makes it redundant, F is dropped and nothing else changes.
2. Else F is kept, and evicts the kept features after F that F makes redundant.
3. What a feature that left had dropped is decided again, in order; it may return, and then it is
   kept as in step 2.

For this the columns of all relevant features are held, not only those of the kept ones. A pair
value is computed when a decision asks for it, always as the strength of the later feature with the
earlier one: not every measure is symmetric.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision, DecisionLog, Reason, Verdict
from tamis.core.errors import ParameterError, warn
from tamis.core.names import NameBook
from tamis.core.sentences import join
from tamis.core.target import Target
from tamis.measures.measure import Floats, Ints, Measure, Prepared
from tamis.measures.panels import compressed
from tamis.methods.measured import DROPPED, Arrival, Foresight, Kept, MeasuredStream, ScoredBlock
from tamis.methods.rule import when_evicted, when_kept, when_redundant
from tamis.methods.selector import ColumnSelector
from tamis.methods.shadow_worlds import World

#: More than the rounding error of a pair value: pairs further below their bound are not redundant.
CLOSE = 1e-9

#: With costs, the relevance of the most expensive features counts this much less.
DEAREST = 0.05

#: A place in the order: smaller comes first.
Place = tuple[Any, ...]


def check_costs(costs: Any, order: str) -> None:
    """Raise a one-sentence error for costs that cannot be used."""
    if order != "free":
        raise ParameterError(
            "costs are compared in an order that belongs to the features; use order='free' "
            "(--order free) with them"
        )
    if not isinstance(costs, Mapping):
        raise ParameterError("costs is not a dict of names and numbers")
    for name, cost in costs.items():
        if isinstance(cost, bool) or not isinstance(cost, Real) or not math.isfinite(cost):
            raise ParameterError(f"costs: the cost of {name!r} is {cost!r}, not a number")


class ComparingRule(Protocol):
    """A rule that compares two features at a time."""

    def compare(self, arrival: Arrival, kept: Kept) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
        """Return the strength with every kept feature, its bound, and which are redundant."""

    def tied_stay(self, measure: Measure) -> bool:
        """Return whether two equally relevant features both stay."""


@dataclass(eq=False)
class OrderedKept(Kept):
    """The kept features, and all relevant ones that were dropped, with what dropped each.

    Attributes
    ----------
    one : Kept
        Room for one feature that others are compared with.
    costs : mapping of str to float, optional
        The cost of each feature by name.
    held : dict
        Every relevant feature, by number.
    dropped_by : dict
        The kept feature that drops each of those that are not kept.
    drops : dict
        The features that each kept feature drops.
    """

    _: KW_ONLY
    one: Kept
    costs: Mapping[str, float] | None = None
    names: NameBook = field(default_factory=NameBook)
    held: dict[int, Arrival] = field(default_factory=dict)
    dropped_by: dict[int, int] = field(default_factory=dict)
    drops: dict[int, set[int]] = field(default_factory=dict)
    #: What `rank` returns for each kept feature.
    ranks: Floats = field(default_factory=lambda: np.zeros(0))

    # --- the order -------------------------------------------------------------------------

    def __post_init__(self) -> None:
        levels = sorted(set((self.costs or {}).values()))
        steps = max(len(levels) - 1, 1)
        self._discount = {cost: 1 - DEAREST * i / steps for i, cost in enumerate(levels)}

    def rank(self, arrival: Arrival) -> float:
        """Return a number that decides the order, larger ones first, unless they are equal."""
        if self.costs is None:
            return arrival.relevance
        return arrival.relevance * self._discount.get(self.cost(arrival.feature), 1 - DEAREST)

    def cost(self, feature: int) -> float:
        """Return the cost of a feature; infinity if it is not known."""
        return math.inf if self.costs is None else self.costs.get(self.names[feature], math.inf)

    def place(self, arrival: Arrival) -> Place:
        """Return the place of a feature in the order."""
        return place_of(self.rank(arrival), self.names, arrival.feature, arrival.contents)

    def before(self, arrival: Arrival) -> npt.NDArray[np.bool_]:
        """Return which kept features come before a feature."""
        rank = self.rank(arrival)
        earlier: npt.NDArray[np.bool_] = self.ranks > rank
        for i in np.flatnonzero(self.ranks == rank).tolist():
            earlier[i] = self.place(self.held[int(self.features[i])]) < self.place(arrival)
        return earlier

    def drop_in_order(
        self, relevance: Floats, redundant: npt.NDArray[np.bool_], rule: ComparingRule
    ) -> npt.NDArray[np.bool_]:
        """Return which kept features drop each of many others, except those of equal rank."""
        found = redundant & (self.ranks > relevance[:, None])
        if rule.tied_stay(self.measure):
            found &= np.abs(relevance[:, None] - self.relevance) > self.measure.resolution
        return found

    # --- what is kept ----------------------------------------------------------------------

    def add(self, arrival: Arrival) -> None:
        """Keep a feature."""
        super().add(arrival)
        self.ranks = np.append(self.ranks, self.rank(arrival))

    def drop(self, features: Sequence[int]) -> None:
        """Drop features; the kept ones are in the order in which they entered."""
        positions = np.flatnonzero(np.isin(self.features, features))
        self.panel.drop(positions)
        self.features = np.delete(self.features, positions)
        self.relevance = np.delete(self.relevance, positions)
        self.ranks = np.delete(self.ranks, positions)

    def note(self, feature: int, dropped_by: int | None) -> None:
        """Note what drops a feature; None if it is kept."""
        if (old := self.dropped_by.pop(feature, None)) is not None:
            self.drops[old].discard(feature)
            if not self.drops[old]:
                del self.drops[old]
        if dropped_by is not None:
            self.dropped_by[feature] = dropped_by
            self.drops.setdefault(dropped_by, set()).add(feature)

    def freed(self, gone: Sequence[int]) -> list[int]:
        """Return the features that were dropped by features which are no longer kept."""
        return [feature for one in gone for feature in self.drops.get(one, ())]

    # --- what is saved ---------------------------------------------------------------------

    @property
    def held_features(self) -> npt.NDArray[np.int64]:
        """Every relevant feature, in order of arrival."""
        return np.array(sorted(self.held), dtype=np.int64)

    @property
    def held_relevance(self) -> Floats:
        """The relevance of each of them."""
        return np.array([self.held[f].relevance for f in sorted(self.held)], dtype=np.float64)

    @property
    def held_dropped_by(self) -> npt.NDArray[np.int64]:
        """What drops each of them, -1 if it is kept."""
        found = [self.dropped_by.get(f, -1) for f in sorted(self.held)]
        return np.array(found, dtype=np.int64)

    @property
    def held_entered(self) -> npt.NDArray[np.int64]:
        """The position of each of them in the order in which the kept ones entered, or -1."""
        entered = {feature: i for i, feature in enumerate(self.features.tolist())}
        return np.array([entered.get(f, -1) for f in sorted(self.held)], dtype=np.int64)


def place_of(rank: float, names: NameBook, feature: int, contents: bytes) -> Place:
    """Return the place of a feature in the order: by rank, then by name, then by contents.

    A name that is only the number of a column says when it arrived, so it does not count.
    """
    name = names.given_name(feature)
    return -rank, name or "", b"" if name is not None else contents, feature


def digests(block: ColumnBlock) -> tuple[bytes, ...]:
    """Return bytes for each column that depend on its values only, not on how they are stored."""
    v = compressed(block, np.arange(block.width))
    rows, values = v.indices.astype(np.int64), np.asarray(v.data, np.float64)
    return tuple(
        hashlib.blake2b(rows[lo:hi].tobytes() + values[lo:hi].tobytes(), digest_size=16).digest()
        for lo, hi in pairwise(v.indptr.tolist())
    )


def with_contents(selector: ColumnSelector, block: ColumnBlock, scored: ScoredBlock) -> ScoredBlock:
    """Return a scored block with digests of its survivors, if the columns have no names."""
    if block.names is not None:
        return scored
    survivors = selector._ready(block).pick(scored.features - block.first)
    return replace(scored, contents=digests(survivors))


# --- the rule --------------------------------------------------------------------------------


def reasons_in_order(weaker: str, better: str) -> dict[str, Reason]:
    """Return the reasons of a rule that compares pairs, given what it says about both features."""
    first = ", which predicts as well and comes first by name"
    cheaper = (
        "; {because} predicts nearly as well ({because_relevance} against {relevance}) and costs "
        "less ({because_cost})"
    )
    until = "{name} was kept until {because} entered and made it redundant: "
    return {
        "tied": when_redundant(DROPPED + weaker + first),
        "evicted": when_evicted(until + weaker + better),
        "evicted, tied": when_evicted(until + weaker + first),
        "returned": when_kept(
            "{name} is kept ({relevance_symbol}={relevance}): it returned when {because}, which "
            "made it redundant, was dropped, and no kept feature makes it redundant now"
        ),
        "cheaper": when_redundant(DROPPED + weaker + cheaper),
        "evicted, cheaper": when_evicted(until + weaker + cheaper),
    }


def decide_in_order(rule: ComparingRule, arrival: Arrival, kept: OrderedKept) -> Decision:
    """Decide about a feature, given the features before it that are kept.

    Reasons are "kept", "redundant", "tied" and "cheaper" (for what drops it), and "evicted",
    "evicted, tied" and "evicted, cheaper" for kept ones after it.
    """
    values, bound, redundant, earlier = _met(rule, arrival, kept)
    found = np.flatnonzero(redundant & earlier)
    if len(found):
        # Those with equal numbers last: what is decided in bulk does not look at names.
        larger = kept.ranks[found] > kept.rank(arrival)
        end = int(found[np.argmax(larger)])
        return _dropped(arrival, kept, end, float(values[end]), float(bound[end]))
    after = ~earlier
    after[: kept.required] = False
    if kept.measure.symmetric:
        after &= values >= bound - CLOSE
    evicts = tuple(
        decision
        for i in np.flatnonzero(after).tolist()
        if (decision := _evicted(rule, kept, i, arrival)) is not None
    )
    return Decision(arrival.feature, "kept", arrival.relevance, level=arrival.level, evicts=evicts)


def _met(
    rule: ComparingRule, arrival: Arrival, kept: OrderedKept
) -> tuple[Floats, Floats, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Compare a feature with the kept ones; also return which are redundant, and come before it."""
    values, bound, redundant = rule.compare(arrival, kept)
    if rule.tied_stay(kept.measure):
        tied = np.abs(kept.relevance - arrival.relevance) <= kept.measure.resolution
        redundant = redundant & ~tied
    return values, bound, redundant, kept.before(arrival)


def _dropped(arrival: Arrival, kept: OrderedKept, end: int, value: float, bound: float) -> Decision:
    other, feature = float(kept.relevance[end]), int(kept.features[end])
    reason, evidence = _compared(kept, arrival.feature, arrival.relevance, feature, other)
    return Decision(
        arrival.feature, reason or "redundant", arrival.relevance, value, bound, (feature,),
        evidence=evidence,
    )  # fmt: skip


def _evicted(rule: ComparingRule, kept: OrderedKept, i: int, arrival: Arrival) -> Decision | None:
    """Return the decision that evicts the kept feature at position i, if it is redundant."""
    feature = int(kept.features[i])
    other = kept.held[feature]
    tied = abs(other.relevance - arrival.relevance) <= kept.measure.resolution
    if tied and rule.tied_stay(kept.measure):
        return None
    kept.one.add(arrival)
    values, bound, redundant = rule.compare(other, kept.one)
    kept.one.drop([arrival.feature])
    if not redundant[0]:
        return None
    reason, evidence = _compared(kept, feature, other.relevance, arrival.feature, arrival.relevance)
    return Decision(
        feature, f"evicted, {reason}" if reason else "evicted", other.relevance, float(values[0]),
        float(bound[0]), (arrival.feature,), evidence=evidence,
    )  # fmt: skip


def _compared(
    kept: OrderedKept, feature: int, relevance: float, other: int, other_relevance: float
) -> tuple[str, dict[str, float]]:
    """Return why another feature comes first: "tied", "cheaper" or, if it is stronger, ""."""
    costs = {"cost": kept.cost(feature), "because_cost": kept.cost(other)}
    if costs["because_cost"] < costs["cost"] and other_relevance <= relevance:
        return "cheaper", {key: cost for key, cost in costs.items() if math.isfinite(cost)}
    tied = abs(other_relevance - relevance) <= kept.measure.resolution
    return ("tied" if tied else ""), {}


# --- the shadow worlds -----------------------------------------------------------------------


class OrderedWorld(World):
    """The world of a rule that decides in the order of the features.

    A decoy is kept unless a kept feature, or a kept decoy, that comes before it makes it redundant.
    That follows from the decoys that passed and the features that are kept, so it is decided when
    the number is asked for, and all decoys that passed are held until then.
    """

    def __init__(self, rule: Any, measure: Measure, target: Target) -> None:
        super().__init__(rule, measure, target)
        self.decoys: dict[int, Arrival] = {}

    @classmethod
    def contents(cls, decoys: ColumnBlock) -> tuple[bytes, ...]:
        """Return digests of decoys without names."""
        return digests(decoys) if decoys.names is None else ()

    @property
    def features(self) -> Ints:
        """The columns whose decoys are held, in order of arrival."""
        return np.array(sorted(self.decoys), np.int64)

    def meet(self, decoy: Arrival, real: Kept, arrivals: dict[int, Arrival]) -> None:
        """Hold a decoy that passed the test."""
        # A copy: the column is a part of its block, which must not live as long as it does.
        self.decoys[decoy.feature] = replace(decoy, column=deepcopy(decoy.column))

    def newcomer(self, arrival: Arrival, real: Kept, arrivals: dict[int, Arrival]) -> None:
        """Do nothing: decoys are decided about later."""

    def restore(self, decoys: Sequence[Arrival], real: Kept, columns: Sequence[Arrival]) -> None:
        """Hold the decoys of a saved world again."""
        for decoy in decoys:
            self.meet(decoy, real, {})

    def renumber(self, positions: Ints) -> None:
        """Give the decoy of feature j the number positions[j]."""
        new = positions.tolist()
        self.decoys = {new[f]: replace(a, feature=new[f]) for f, a in self.decoys.items()}

    def count(self, real: Kept) -> int:
        """Return how many decoys are kept."""
        assert isinstance(real, OrderedKept)
        kept: OrderedKept = self.rule.kept(self.measure, self.of_target)
        kept.names, pairs = real.names, real.panel.pairs
        for decoy in sorted(self.decoys.values(), key=real.place):
            if not self._is_dropped(decoy, real) and not self._is_dropped(decoy, kept):
                kept.held[decoy.feature] = decoy
                kept.add(decoy)
        real.panel.pairs = pairs  # which counts the work of the selection itself
        return len(kept)

    def _is_dropped(self, decoy: Arrival, kept: OrderedKept) -> bool:
        _, _, redundant, earlier = _met(self.rule, decoy, kept)
        return bool(np.any(redundant & earlier))


# --- the stream ------------------------------------------------------------------------------


class FeatureOrder(MeasuredStream):
    """Runs a rule in an order that belongs to the features."""

    free_order = True

    def score(self, block: ColumnBlock) -> ScoredBlock:
        """Score a block; columns without names are told apart by their values."""
        return with_contents(self, block, super().score(block))

    def snapshot(self) -> None:
        """Return None: workers do not know the order."""


class FreeOrderStream(FeatureOrder):
    """Runs a rule that compares pairs, in the order of the features."""

    _kept: OrderedKept

    saved_per_feature: ClassVar[Mapping[str, str]] = {
        "relevance": "_kept.held_relevance",
        "dropped_by": "_kept.held_dropped_by",
        "entered": "_kept.held_entered",
    }

    def _use(self, measure: Measure, why: str) -> None:
        super()._use(measure, why)
        self._kept.names = self.names

    def finish(self) -> None:
        """Warn about costs of features that did not come."""
        super().finish()
        if not self.rule.costs:
            return
        known = {self.names[j] for j in range(len(self.names))}
        unknown = [name for name in self.rule.costs if name not in known]
        if unknown:
            more = ["others"] if len(unknown) > 5 else []
            some = join([*map(repr, sorted(unknown)[:5]), *more])
            warn(f"costs names {some}, which no column is called; check the names")

    def _take(self, scored: ScoredBlock, first: int, last: int) -> None:
        if isinstance(scored.columns, Prepared):  # without spare capacity: they are held
            every = np.arange(len(scored.columns))
            scored = replace(scored, columns=scored.columns.pick(every))
        super()._take(scored, first, last)

    def _carry_out(self, decision: Decision, arrival: Arrival) -> None:
        self._kept.held[arrival.feature] = arrival
        super()._carry_out(decision, arrival)
        again = self._note(decision)
        if again:
            self._decide_again(again, arrival.feature)

    def _record(self, scored: ScoredBlock, lo: int, seen: Foresight, first: int, end: int) -> None:
        super()._record(scored, lo, seen, first, end)
        for i in range(first, end):
            arrival = scored.arrival(i)
            self._kept.held[arrival.feature] = arrival
            self._kept.note(arrival.feature, int(seen["because"][i - lo]))

    def _note(self, decision: Decision) -> list[int]:
        """Note what a decision drops; return the features that must be decided again."""
        for one in (*decision.evicts, decision):
            stays = self.log_.reasons[one.reason].verdict == Verdict.KEPT
            self._kept.note(one.feature, None if stays else one.because[0])
        return self._kept.freed([e.feature for e in decision.evicts])

    def _decide_again(self, features: Sequence[int], at: int) -> None:
        """Decide again about features that what left had dropped; `at` is the arrival behind it.

        In order, so that all before a feature are settled when its turn comes: what it changes
        comes after it.
        """
        kept = self._kept
        waiting = [kept.place(kept.held[feature]) for feature in features]
        heapify(waiting)
        while waiting:
            arrival = kept.held[heappop(waiting)[-1]]
            decision = self.rule.decide(arrival, kept)
            stays = decision.reason == "kept"
            if stays:
                gone = kept.dropped_by[arrival.feature]
                decision = replace(decision, reason="returned", because=(gone,))
            self.log_.append(decision, at=at)
            kept.drop([e.feature for e in decision.evicts])
            if stays:
                kept.add(arrival)
            for feature in self._note(decision):
                heappush(waiting, kept.place(kept.held[feature]))

    # --- what can be read ------------------------------------------------------------------

    @property
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""
        features: npt.NDArray[np.int64] = np.sort(self._kept.features)
        return features

    @property
    def candidates(self) -> npt.NDArray[np.int64]:
        """All relevant features, in order of arrival."""
        if not hasattr(self._kept, "held"):  # nothing was seen yet
            return np.zeros(0, np.int64)
        return self._kept.held_features

    @property
    def work_(self) -> dict[str, int]:
        """Counted work: what was computed, whatever the machine."""
        work = super().work_
        if hasattr(self._kept, "held"):
            work["pair_values"] += self._kept.one.panel.pairs
        return work

    def renumber(self, positions: npt.NDArray[np.int64]) -> None:
        """Give feature j the number positions[j], once all columns were taken."""
        super().renumber(positions)
        kept, new = self._kept, positions.tolist()
        kept.names = self.names
        kept.held = {new[f]: replace(a, feature=new[f]) for f, a in kept.held.items()}
        kept.dropped_by = {new[f]: new[by] for f, by in kept.dropped_by.items()}
        kept.drops = {new[f]: {new[g] for g in some} for f, some in kept.drops.items()}
        for world in () if self._shadows is None else self._shadows.worlds:
            world.renumber(positions)

    # --- saving a stream -------------------------------------------------------------------

    def restore(
        self, y: Any, state: Mapping[str, Any], columns: ColumnBlock, log: DecisionLog
    ) -> FreeOrderStream:
        """Resume from a `state` as if the stream had never been saved."""
        super().restore(y, state, columns, log)
        kept = self._kept
        kept.names = self.names
        ranks = [kept.rank(kept.held[feature]) for feature in kept.features.tolist()]
        kept.ranks = np.array(ranks, dtype=np.float64)
        return self

    def _keep_again(self, state: Mapping[str, Any], columns: ColumnBlock) -> None:
        kept, each = self._kept, state["each"]
        ready = kept.panel.prepare(columns, np.arange(columns.width))
        pairs = zip(state["features"].tolist(), each["relevance"].tolist(), strict=True)
        contents = digests(columns.without_zeros())
        for i, (feature, relevance) in enumerate(pairs):
            kept.held[feature] = Arrival(feature, relevance, np.nan, ready[i], contents[i])
        entered, by = np.asarray(each["entered"]), np.asarray(each["dropped_by"])
        for i in np.argsort(entered, kind="stable").tolist():
            feature = int(state["features"][i])
            if entered[i] >= 0:
                Kept.add(kept, kept.held[feature])  # its rank may need its name
            else:
                kept.note(feature, int(by[i]))
        kept.required = int(np.count_nonzero(state["features"] < self.required))

    def _after_withdrawal(self) -> None:
        """Decide again about what the withdrawn features had dropped."""
        kept = self._kept
        gone = [feature for feature in kept.drops if feature not in kept.held]
        self._decide_again(kept.freed(gone), len(self.log_) - 1)
