"""Let any rule take features in an order that belongs to them, not in the order of arrival.

All relevant features are held until their table ends. Then the rule takes them as if they had
arrived in one order: by relevance, then by name, then by contents. What it keeps is a function of
the set of features, so no order of arrival can change it. When more features come, the rule takes
all of them again, and what changed is logged.

The most relevant comes first, unless the rule prefers the newer of two features, as OSFS does: then
it comes last. This needs nothing of a rule but that it is deterministic. Rules that compare pairs
do with less work: see `tamis.methods.free_order`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, ClassVar, Self

import numpy as np

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision, DecisionLog, Reason, Verdict
from tamis.core.errors import ParameterError
from tamis.core.false_keeps import FalseKeeps
from tamis.measures.measure import Floats, Ints, Prepared
from tamis.methods.free_order import FeatureOrder, OrderedWorld, digests, place_of
from tamis.methods.measured import Kept, ScoredBlock
from tamis.methods.rule import when_evicted, when_kept
from tamis.methods.selector import FeatureStreamSelector
from tamis.methods.shadow_worlds import Decoys, Shadows, World

#: The reason of a feature whose table has not ended.
WAITING = "waiting"

#: What is added to the name of a reason if a feature was kept before, and if it was not.
NO_MORE, AGAIN = ", no more", ", again"

_DROPPED = re.compile(r"^\{name\} (was dropped as redundant|was dropped|is not kept for now):")


def reasons_in_order(reasons: Mapping[str, Reason]) -> dict[str, Reason]:
    """Return the reasons of a rule, with those of features that are decided about again."""
    later = "{name} was kept until a later feature came:"
    found = {
        key: replace(one, sentence=one.sentence.replace(
            later, "{name} was kept until another feature was compared:"
        ))
        for key, one in reasons.items()
    }  # fmt: skip
    for key, one in list(found.items()):
        if one.verdict == Verdict.REDUNDANT:
            until = "{name} was kept until more columns came; now"
            found[key + NO_MORE] = when_evicted(_DROPPED.sub(until, one.sentence))
        elif one.verdict == Verdict.KEPT:
            kept = one.sentence.replace("{name} is kept", "{name} is kept again", 1)
            found[key + AGAIN] = when_kept(kept)
    found[WAITING] = Reason(
        Verdict.UNEXAMINED,
        "{name} waits: features are compared in the order of their relevance, when all columns "
        "of a table have come",
    )
    return found


def check_order(rule: Any, cannot: Mapping[str, bool]) -> None:
    """Raise a one-sentence error if a rule cannot have order="free" beside other parameters."""
    for what, there in cannot.items():
        if rule.order == "free" and there:
            raise ParameterError(
                f"{rule.public_name}: order='free' cannot be used with {what}; leave one of the "
                "two out"
            )


@dataclass(frozen=True, eq=False)
class Held:
    """Relevant features with their columns, in order of arrival."""

    features: Ints
    strengths: Floats
    levels: Floats
    columns: Prepared
    contents: tuple[bytes, ...]

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the features of all parts, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([one.features for one in parts]),
            np.concatenate([one.strengths for one in parts]),
            np.concatenate([one.levels for one in parts]),
            type(parts[0].columns).joined([one.columns for one in parts]),
            tuple(digest for one in parts for digest in one.contents),
        )


def _of_held(name: str, kind: type) -> Any:
    """Return a property: an array about all features that are held."""
    return property(
        lambda self: np.concatenate([np.zeros(0, kind), *(getattr(p, name) for p in self._parts)])
    )


class TakenInOrder(FeatureOrder):
    """Holds relevant features, and lets a rule, whose machinery is a later base, take them."""

    waits_for_table: ClassVar[bool] = True

    _parts: list[Held]
    #: The features that are kept, in order of arrival, and those that were decided about.
    _now: Ints
    _settled: Ints
    #: How many decoys each world keeps, and how many of all worlds were judged.
    _false_keeps: list[int]
    _n_judged: int
    #: The feature at each position of the order, for what `_kept` says.
    _at: Ints

    saved_per_feature: ClassVar[Mapping[str, str]] = {
        "relevance": "_held_relevance", "level": "_held_levels", "status": "_held_status",
    }  # fmt: skip

    def _begin(self) -> None:
        self._parts, self._false_keeps, self._n_judged = [], [0] * self.rule.shadows, 0
        self._now = self._settled = self._at = np.zeros(0, np.int64)
        super()._begin()

    # --- while columns come ----------------------------------------------------------------

    def update(self, scored: ScoredBlock) -> None:
        """Take a scored block; blocks must come in order."""
        if self._gate is None:
            codes = scored.constant.copy()
            codes[scored.features - scored.first] = list(self.log_.reasons).index(WAITING)
            scored = replace(scored, constant=codes)
        super().update(scored)

    def _take(self, scored: ScoredBlock, first: int, last: int) -> None:
        if first == last:
            return
        assert isinstance(scored.columns, Prepared)
        some, every = slice(first, last), np.arange(first, last)
        contents = scored.contents or (b"",) * len(scored.features)
        # A copy: without spare capacity, and without the columns that did not pass a gate.
        self._parts.append(
            Held(
                scored.features[some], scored.strengths[some], scored.levels[some],
                scored.columns.pick(every), contents[some],
            )
        )  # fmt: skip

    def end_table(self) -> None:
        """Decide about all relevant features, if some of them are new."""
        super().end_table()
        if len(self._held_features) > len(self._settled) or self._n_decoys > self._n_judged:
            self._decide_again()

    def _after_withdrawal(self) -> None:
        self._decide_again()

    # --- in order --------------------------------------------------------------------------

    def _decide_again(self) -> None:
        """Let the rule take all features in order, and log what changed."""
        before, known = set(self._now.tolist()), set(self._settled.tolist())
        log = self._take_in_order()
        chains: dict[int, list[Decision]] = {}
        for decision in log.events():
            chains.setdefault(decision.feature, []).append(decision)
        order: list[Decision] = []
        for feature, chain in chains.items():
            number = int(self._at[feature])
            mine = [self._in_arrival(decision) for decision in chain]
            if number in known:
                mine = self._news(number, mine, number in before)
            order += mine
        for decision in order:
            self.log_.append(decision, at=len(self.log_) - 1)
        self._now = np.sort(self._at[np.array(log.replay(), np.int64)])
        self._settled = self._held_features

    def _in_arrival(self, decision: Decision) -> Decision:
        """Return a decision with the numbers that features have by arrival."""
        because = tuple(self._at[list(decision.because)].tolist())
        return replace(decision, feature=int(self._at[decision.feature]), because=because)

    def _news(self, feature: int, chain: list[Decision], was_kept: bool) -> list[Decision]:
        """Return what is to be logged of a feature that was decided about before."""
        last, verdicts = chain[-1], self.log_.reasons
        is_kept = verdicts[last.reason].verdict == Verdict.KEPT
        if was_kept and is_kept:
            return []
        if was_kept:
            evicted = verdicts[last.reason].verdict == Verdict.EVICTED
            return [last if evicted else replace(last, reason=last.reason + NO_MORE)]
        if is_kept:
            return [replace(last, reason=last.reason + AGAIN)]
        old = self.log_.final_decision(feature)
        same = old.reason.removesuffix(NO_MORE) == last.reason and old.because == last.because
        return [] if same else chain

    def _take_in_order(self) -> DecisionLog:
        """Let the rule take all features anew; return its log, with positions for numbers."""
        rule = self.rule.clone()
        rule.order = "arrival"
        held, log = self._held(), DecisionLog(self.log_.reasons, None, self.log_.template_fields)
        worlds = [] if self._shadows is None else [
            [world.decoys[f] for f in world.features.tolist()] for world in self._shadows.worlds
        ]  # fmt: skip
        entries = [
            (feature >= self.required, self._place(feature, strength, digest), 0, i)
            for i, (feature, strength, digest) in enumerate(
                zip(held.features.tolist(), held.strengths.tolist(), held.contents, strict=True)
            )
        ]
        entries += [
            (True, self._place(one.feature, one.relevance, one.contents), 1 + w, i)
            for w, decoys in enumerate(worlds) for i, one in enumerate(decoys)
        ]  # fmt: skip
        entries.sort(reverse=not rule.strongest_first)
        entries.sort(key=itemgetter(0))  # features to keep come first
        whose = np.array([entry[2] for entry in entries], np.int64)
        which = np.array([entry[3] for entry in entries], np.int64)
        mine = np.flatnonzero(whose == 0)
        order = which[mine]
        features = [held.features.tolist(), *([one.feature for one in some] for some in worlds)]
        self._at = np.array([features[entry[2]][entry[3]] for entry in entries], np.int64)
        width = len(entries)
        log.append_bulk(np.zeros(width, np.float32), np.nan, WAITING)
        scored = ScoredBlock(
            0, None, np.zeros(width, np.float32), np.nan, np.zeros(width, np.uint8), mine,
            held.strengths[order], held.levels[order], held.columns.pick(order),
        )  # fmt: skip
        own = self.log_, self._shadows, self.on_settled
        self._kept, self.log_, self.on_settled = self._empty(rule, width), log, None
        if worlds:
            self._shadows = Shadows(rule, self.measure_, self._target)
            self._shadows.expect([
                _decoys(np.flatnonzero(whose == 1 + w), [some[i] for i in which[whose == 1 + w]])
                for w, some in enumerate(worlds)
            ])  # fmt: skip
        try:
            super()._take(scored, 0, len(mine))
            if worlds:
                self._shadows.catch_up(width, self._kept)
                self._false_keeps = list(self._shadows.false_keeps(self._kept, 0).worlds)
        finally:
            self.log_, self._shadows, self.on_settled = own
        self._n_judged = self._n_decoys
        return log

    @property
    def _n_decoys(self) -> int:
        """How many decoys are held."""
        worlds = () if self._shadows is None else self._shadows.worlds
        return sum(len(world.decoys) for world in worlds)

    def _empty(self, rule: Any, width: int) -> Any:
        """Return an empty kept set for so many features, whose work counts as that of the last."""
        kept: Kept = rule.kept(self.measure_, self._target)
        kept.panel.pairs = self._kept.panel.pairs
        return kept

    def _place(self, feature: int, strength: float, contents: bytes) -> tuple[Any, ...]:
        return place_of(strength, self.names, feature, contents)

    # --- what can be read ------------------------------------------------------------------

    def _held(self) -> Held:
        if not self._parts:
            nothing = np.zeros(0)
            block = ColumnBlock.of(np.zeros((self._target.n_rows, 0)))
            columns = self._kept.panel.prepare(block, np.arange(0))
            return Held(np.zeros(0, np.int64), nothing, nothing, columns, ())
        self._parts = [Held.joined(self._parts)]
        return self._parts[0]

    _held_features: Any = _of_held("features", np.int64)
    _held_relevance: Any = _of_held("strengths", np.float64)
    _held_levels: Any = _of_held("levels", np.float64)

    @property
    def _held_status(self) -> Ints:
        """Whether each feature is kept (2), is not (1), or waits for the end of its table (0)."""
        features = self._held_features
        found = np.isin(features, self._settled).astype(np.int64)
        return found + np.isin(features, self._now)

    @property
    def kept_(self) -> Ints:
        """Kept features by number, in order of arrival."""
        return self._now.copy()

    @property
    def candidates(self) -> Ints:
        """All relevant features, in order of arrival."""
        features: Ints = self._held_features
        return features

    @property
    def false_keeps_(self) -> FalseKeeps:
        """How many of the kept features are expected to be false."""
        if not self.rule.shadows:
            raise AttributeError("false_keeps_ needs shadow worlds; set shadows=3")
        return FalseKeeps(len(self._now), tuple(self._false_keeps))

    @property
    def _in_use(self) -> Any:
        """What the rule keeps, by position; after a restart it must be found again."""
        if len(self._at) == 0 and len(self._settled):
            self._take_in_order()
        return self._kept

    def renumber(self, positions: Ints) -> None:
        """Give feature j the number positions[j], once all columns were taken."""
        FeatureStreamSelector.renumber(self, positions)
        self._parts = [replace(one, features=positions[one.features]) for one in self._parts]
        self._now, self._settled = np.sort(positions[self._now]), positions[self._settled]
        self._at = positions[self._at]
        for world in () if self._shadows is None else self._shadows.worlds:
            world.renumber(positions)

    # --- saving a stream -------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return what the stream needs to resume, besides target, log and held columns."""
        state = super().state()
        state["numbers"]["decoys_kept"] = [int(count) for count in self._false_keeps]
        state["numbers"]["decoys_judged"] = self._n_judged
        return state

    def restore(
        self, y: Any, state: Mapping[str, Any], columns: ColumnBlock, log: DecisionLog
    ) -> Self:
        """Resume from a `state` as if the stream had never been saved."""
        super().restore(y, state, columns, log)
        self._false_keeps = [int(count) for count in state["numbers"].get("decoys_kept", ())]
        self._n_judged = int(state["numbers"].get("decoys_judged", 0))
        return self

    def _keep_again(self, state: Mapping[str, Any], columns: ColumnBlock) -> None:
        features, each = state["features"], state["each"]
        if len(features):
            ready = self._kept.panel.prepare(columns, np.arange(columns.width))
            relevance, levels = (np.array(each[key], np.float64) for key in ("relevance", "level"))
            contents = digests(columns.without_zeros())
            self._parts = [Held(features, relevance, levels, ready, contents)]
        status = np.asarray(each["status"])
        self._now, self._settled = features[status == 2], features[status >= 1]


def _decoys(positions: Ints, some: Sequence[Any]) -> Decoys:
    """Return decoys at positions of the order."""
    return Decoys(
        positions, np.array([one.relevance for one in some]), np.array([one.level for one in some]),
        [one.column for one in some],
    )  # fmt: skip


def world_of(rule: Any, by_arrival: type[World]) -> type[World]:
    """Return how decoys are judged: as they come, or when all have come, in their order."""
    return by_arrival if rule.order == "arrival" else OrderedWorld
