"""Group-SAOLA: columns that come in groups are sieved inside their group, then between groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, group_labels
from tamis.core.decisions import Decision, DecisionLog, Reason, Verdict
from tamis.core.errors import ParameterError
from tamis.core.target import Target
from tamis.kernels.walk import EVICTED, KEPT
from tamis.measures.measure import Floats, Ints, Measure
from tamis.measures.panels import Walk
from tamis.methods.measured import (
    BETTER,
    NOTHING,
    OLDER,
    STRETCH,
    WALKED,
    WEAKER,
    Arrival,
    Kept,
    MeasuredStream,
    ScoredBlock,
    walk,
)
from tamis.methods.rule import when_evicted, when_kept
from tamis.methods.shadow_worlds import PairWorld
from tamis.methods.streaming.saola import SAOLARule

#: A stretch of columns of one group: arrival number of the first, and the label.
Run = tuple[int, Any]

#: The verdicts of the walk about a newcomer, and their names between groups.
BETWEEN_GROUPS = {"kept": "stays", "redundant": "outdone", "tied": "matched"}


class GroupWorld(PairWorld):
    """The shadow world of Group-SAOLA: decoys meet their own group, then the earlier ones."""

    def __init__(self, rule: Any, measure: Measure, target: Target) -> None:
        super().__init__(rule, measure, target)
        self.earlier: Kept = rule.kept(measure, target)
        #: The decoys of the present group, and perhaps some that left it.
        self._present: dict[int, Arrival] = {}

    @property
    def features(self) -> Ints:
        """The columns whose decoys are kept, in order of arrival."""
        return np.concatenate([self.earlier.features, self.kept.features])

    def meet(self, decoy: Arrival, real: Kept, arrivals: dict[int, Arrival]) -> None:
        """Compare a decoy with the really kept features of its group, then with its decoys."""
        super().meet(decoy, real, arrivals)
        if decoy.feature in self.kept.features[-1:]:
            self._present[decoy.feature] = replace(decoy, column=deepcopy(decoy.column))

    def end_group(self, staying: Sequence[Arrival], real: Kept) -> None:
        """Compare the decoys of a group with earlier groups, whose real features are `real`."""
        for arrival in staying:
            self.kept, present = self.earlier, self.kept
            super().newcomer(arrival, real, {})
            self.kept = present
        mine = [self._present[feature] for feature in self.kept.features.tolist()]
        pairs, left = real.panel.pairs, []
        for decoy in mine:
            if self.rule.decide(decoy, real).reason == "kept":
                decision = self.rule.decide(decoy, self.earlier)
                self.earlier.drop([gone.feature for gone in decision.evicts])
                left += [decoy] if decision.reason == "kept" else []
        real.panel.pairs = pairs
        for decoy in left:
            self.earlier.add(decoy)
        self.kept, self._present = self.rule.kept(self.measure, self.of_target), {}

    def restore(self, decoys: Sequence[Arrival], real: Kept, columns: Sequence[Arrival]) -> None:
        """Keep the decoys of a saved world again, until `begin_group` as those of one group."""
        super().restore(decoys, real, columns)
        for decoy in decoys:
            self._present[decoy.feature] = replace(decoy, column=deepcopy(decoy.column))

    def begin_group(self, first: int) -> None:
        """Move the decoys of columns before `first` to the earlier groups."""
        for feature in [f for f in self._present if f < first]:
            self.earlier.add(self._present.pop(feature))
            self.kept.drop([feature])


class GroupSAOLARule(SAOLARule):
    """SAOLA for features that come in groups, such as the genes of a pathway.

    Stage 1, inside a group: each newcomer F is compared with the kept features Y of its own group,
    as in `SAOLA` with delta = min(I(F;C), I(Y;C)).

    Stage 2, when the group ends: each F that is left is compared, in order of arrival, with what
    earlier groups G_1, G_2, ... still keep, by the same rule:

    * I(Y;C) >= I(F;C) and I(F;Y) >= delta: F is dropped;
    * I(F;C) > I(Y;C) and I(F;Y) >= delta: Y is dropped.

    A feature that was dropped drops no other. Features of one group are not compared again, and a
    group that loses all its features is gone. With one group it is SAOLA.

    A group ends when a column of another group comes, or with `finish()`, which `fit` calls. Until
    then its features have been compared only with each other. A label that occurs again later is a
    new group.

    Cost: pairs inside groups, and between what groups keep. Memory: the kept columns, those of the
    present group twice.

    Parameters
    ----------
    measure : {"auto", "mutual_information", "fisher_z", "any_shape", ...} or Measure
        The measure used for I, as in `SAOLA`.
    variant : {"paper", "program"}, default="paper"
        "program" does what the authors' program does: a pair counts only if the measure calls it
        dependent and must be *above* delta; in stage 2 features that were dropped still drop
        others, and of two equally relevant features the newer stays.

    Attributes
    ----------
    groups_ : dict
        Kept features by group label, for the groups that keep any.

    References
    ----------
    K. Yu, X. Wu, W. Ding, J. Pei. Scalable and Accurate Online Feature Selection for Big Data.
    ACM TKDD 11(2), 2016. doi:10.1145/2976744

    Examples
    --------
    >>> import numpy as np, tamis
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> good = np.where(rng.random(200) < 0.9, y, 1 - y)
    >>> better = np.where(rng.random(200) < 0.3, y, good)
    >>> X = np.column_stack([good, rng.integers(0, 2, 200), better, better])
    >>> sel = tamis.GroupSAOLA().fit(X, y, groups=["blood", "blood", "urine", "urine"])
    >>> sel.groups_
    {'urine': array([2])}
    >>> print(sel.log_.why("x0"))  # doctest: +NORMALIZE_WHITESPACE
    x0 was kept until x2 arrived and made it redundant: I(x0; class)=0.439 is not above its
    dependence on x2 (0.779), which is the better predictor (0.546)
    """

    name: ClassVar[str] = "group-saola"
    takes_groups: ClassVar[bool] = True
    keeps: ClassVar[bool] = False
    paper: ClassVar[Mapping[str, Any] | None] = {"measure": "paper"}
    world = GroupWorld
    bound: ClassVar[str] = "min"  # type: ignore[misc]
    ties: ClassVar[str] = "kept"  # type: ignore[misc]
    order: ClassVar[str] = "arrival"  # type: ignore[misc]
    costs: ClassVar[None] = None  # type: ignore[misc]

    def check_params(self) -> None:
        """Raise an error for a parameter outside its range, or two that exclude each other."""
        super().check_params()
        if self.shadows and self.variant == "program":
            raise ParameterError(
                "GroupSAOLA judges decoys by the paper's rule; leave shadows out, or use "
                "variant='paper'"
            )

    def decide(self, arrival: Arrival, kept: Kept) -> Decision:
        """Walk over the kept features, oldest first; of equally relevant ones the older stays."""
        return walk(arrival, kept, *self.compare(arrival, kept), "older")

    def walking(self, kept: Kept) -> tuple[bool, bool, float, int] | None:
        """Return the numbers of the compiled walk inside a group."""
        own = type(self).decide is GroupSAOLARule.decide
        own = own and type(self).compare is SAOLARule.compare
        return self.numbers_of_walk(kept) if own else None

    def reasons(self) -> dict[str, Reason]:
        """Return the reasons of SAOLA, which hold inside a group, and those between groups."""
        fell = "{name} was kept in its group, but is redundant with an earlier group: " + WEAKER
        return super().reasons() | {
            "stays": when_kept(
                "{name} is kept: {level_passed}, and no kept feature of its own or an earlier "
                "group makes it redundant"
            ),
            "outdone": when_evicted(fell + BETTER),
            "matched": when_evicted(fell + OLDER),
        }


class GroupStream(MeasuredStream):
    """Runs Group-SAOLA: the kept set of the present group, and that of the earlier ones."""

    saved_per_feature: ClassVar[Mapping[str, str]] = {
        "relevance": "_every.relevance", "level": "_every.level", "label": "_every.label",
    }  # fmt: skip
    saved: ClassVar[Mapping[str, str]] = {
        **MeasuredStream.saved,
        "label": "_label",
        "open": "_open",
        "pairs_before": "_pairs",
        "pairs_between": "_earlier.panel.pairs",
        "began": "_began",
    }
    saved_later: ClassVar[frozenset[str]] = MeasuredStream.saved_later | {"began"}

    #: What the present group keeps, and the label of every kept feature of an earlier one.
    _held: dict[int, Arrival]
    _label: Any
    _label_of: dict[int, Any]
    _pairs: int
    #: The first feature of the present group.
    _began: int

    def _begin(self) -> None:
        self._earlier, self._held, self._label_of = NOTHING, {}, {}
        self._label, self._open, self._pairs, self._began = None, False, 0, 0
        super()._begin()

    def _use(self, measure: Measure, why: str) -> None:
        super()._use(measure, why)
        self._earlier = self.rule.kept(self.measure_, self._target)

    # --- inside a group --------------------------------------------------------------------

    def score(self, block: ColumnBlock) -> Grouped:
        """Compute all that does not depend on what is kept: a pure function, in any order."""
        return Grouped(**vars(super().score(block)), runs=runs_of(block))

    def _take(self, scored: ScoredBlock, first: int, last: int) -> None:
        assert isinstance(scored, Grouped)
        end = (scored.first + len(scored.relevance), None)
        ends = [*scored.runs[1:], end]
        runs = [(*run, stop) for run, (stop, _) in zip(scored.runs, ends, strict=True)]
        runs = [run for run in runs if run[0] < run[2]]
        while runs:
            start, label, stop = runs[0]
            if self._open and label != self._label:
                if self._shadows is not None:
                    self._shadows.catch_up(start, self._kept)
                self._end_group()
            if not self._open and self._walk_groups(scored, runs[:-1]):
                runs = runs[-1:]
                continue
            if not self._open:
                self._began = start
            self._open, self._label = True, label
            lo, hi = np.searchsorted(scored.features, [start, stop])
            super()._take(scored, int(lo), int(hi))
            runs = runs[1:]
        # Copies: these columns are parts of their block, which must not live as long as they do.
        for feature, arrival in self._held.items():
            if feature >= scored.first:
                self._held[feature] = replace(arrival, column=deepcopy(arrival.column))

    def _carry_out(self, decision: Decision, arrival: Arrival) -> None:
        super()._carry_out(decision, arrival)
        for gone in decision.evicts:
            del self._held[gone.feature]
        if self.log_.reasons[decision.reason].verdict == Verdict.KEPT:
            self._held[arrival.feature] = arrival

    def _walked(self, scored: ScoredBlock, events: tuple[npt.NDArray[Any], ...]) -> None:
        _, features, codes, _, _ = events
        settled = np.flatnonzero((codes == KEPT) | (codes == EVICTED))
        for feature, code in zip(features[settled].tolist(), codes[settled].tolist(), strict=True):
            if code == KEPT:
                at = int(np.searchsorted(scored.features, feature))
                self._held[feature] = scored.arrival(at)
            else:
                del self._held[feature]

    def snapshot(self) -> None:
        """Return None: each group begins with an empty kept set, so a snapshot is soon outdated."""

    # --- whole groups ----------------------------------------------------------------------

    def _walk_groups(self, scored: ScoredBlock, runs: Sequence[tuple[int, Any, int]]) -> bool:
        """Take whole groups in compiled walks, if there are any; none is open before or after."""
        numbers = self.rule.walking(self._kept)
        if not runs or numbers is None or self._shadows is not None or scored.known is not None:
            return False
        if self._recent is not None or not getattr(self._kept.panel, "walks", False):
            return False
        bounds = np.array([start for start, _, _ in runs] + [runs[-1][2]])
        cuts, step = np.searchsorted(scored.features, bounds), STRETCH * self.look_ahead
        since = np.zeros(len(scored.features), np.int64)
        since[cuts[0] : cuts[-1]] = np.repeat(bounds[:-1], np.diff(cuts))
        # Groups are walked together until they have `step` survivors.
        ends = np.flatnonzero(np.diff(cuts // step)) + 1
        for a, b in pairwise(np.union1d([0, len(runs)], ends).tolist()):
            if cuts[a] < cuts[b]:
                about = (scored.features, scored.strengths, scored.levels, since)
                span = (int(cuts[a]), int(cuts[b]))
                self._walk_some(scored.columns, about, span, numbers, runs[a:b])
            if self.on_settled is not None:
                self.on_settled(int(bounds[b]))
        return True

    def _walk_some(
        self,
        columns: Any,
        about: tuple[Ints, Floats, Floats, Ints],
        span: tuple[int, int],
        numbers: tuple[bool, bool, float, int],
        runs: Sequence[tuple[int, Any, int]],
    ) -> None:
        """Take the groups of some runs, whose survivors are those of `span`.

        Walks inside groups do not depend on those between groups, so there is one call for each
        stage; then the events are put in order.
        """
        inside = Walk(about[:3], numbers, self._kept, (about[3], False))
        self._kept.panel.walk(columns, *span, inside)
        self._pairs += self._kept.panel.pairs
        self._kept = self.rule.kept(self.measure_, self._target)
        first = inside.take_events()
        _, features, codes, _, _ = first
        mine = np.setdiff1d(features[codes == KEPT], features[codes == EVICTED])

        at, earlier = np.searchsorted(about[0], mine), self._earlier
        *about_mine, since = (array[at] for array in about)
        n_before, pairs = len(earlier), earlier.panel.pairs
        between = Walk(tuple(about_mine), numbers, earlier, (since, True))  # type: ignore[arg-type]
        earlier.panel.walk(columns.pick(at), 0, len(mine), between)
        second = between.take_events()
        settled, features, codes, _, _ = second
        stays, gone = features[codes == KEPT], features[codes == EVICTED]
        # Each counts as compared with all that earlier groups keep when its turn comes.
        met = n_before + np.searchsorted(stays, since)
        met -= np.searchsorted(settled[codes == EVICTED], mine)
        earlier.panel.pairs = pairs + int(met.sum())
        if not n_before:  # the first group has no earlier one to meet
            later = since[np.searchsorted(mine, settled)] > since[0]
            second = tuple(array[later] for array in second)
        self._log_stages(first, second, np.array([start for start, _, _ in runs]))

        of_run = np.searchsorted([start for start, _, _ in runs], stays, side="right") - 1
        for feature, run in zip(stays.tolist(), of_run.tolist(), strict=True):
            self._label_of[feature] = runs[run][1]
        for feature in gone.tolist():
            del self._label_of[feature]

    def _log_stages(
        self,
        inside: tuple[npt.NDArray[Any], ...],
        between: tuple[npt.NDArray[Any], ...],
        starts: Ints,
    ) -> None:
        """Log what happened inside groups and between them, group by group."""
        settled, features, codes, *rest = between
        codes = np.where(codes == EVICTED, codes, codes + len(WALKED))
        stages = (inside, (settled, features, codes, *rest))
        turns = [
            2 * np.searchsorted(starts, events[0], side="right") + stage
            for stage, events in enumerate(stages)
        ]
        order = np.argsort(np.concatenate(turns), kind="stable")
        events = [np.concatenate(arrays)[order] for arrays in zip(*stages, strict=True)]
        self.log_.append_events((*WALKED, *BETWEEN_GROUPS.values()), *events)

    # --- between groups --------------------------------------------------------------------

    def _end_group(self) -> None:
        """Compare what the present group keeps with what earlier groups keep."""
        earlier, mine = self._earlier, list(self._held.values())
        if len(earlier):
            meet = self._meet_earlier if self.rule.variant == "paper" else self._meet_snapshots
            mine = meet(mine, earlier)
        for world in () if self._shadows is None else self._shadows.worlds:
            world.end_group(mine, earlier)
        for arrival in mine:
            earlier.add(arrival)
            self._label_of[arrival.feature] = self._label
        self._pairs += self._kept.panel.pairs
        self._kept = self.rule.kept(self.measure_, self._target)
        self._held = {}
        self._open, self._began = False, self.n_features_in_

    def _meet_earlier(self, mine: list[Arrival], earlier: Kept) -> list[Arrival]:
        """Walk as for a newcomer, once for each feature; return those that stay."""
        staying = []
        for arrival in mine:
            decision = self.rule.decide(arrival, earlier)
            if self.log_.append(replace(decision, reason=BETWEEN_GROUPS[decision.reason])):
                staying.append(arrival)
            if decision.evicts:
                self._drop_earlier([e.feature for e in decision.evicts])
        return staying

    def _meet_snapshots(self, mine: list[Arrival], earlier: Kept) -> list[Arrival]:
        """Walk as the program does: over each earlier group, and nothing leaves meanwhile."""
        labels = [self._label_of[f] for f in earlier.features.tolist()]
        groups = [np.array([label == one for label in labels]) for one in dict.fromkeys(labels)]
        gone: set[int] = set()
        staying = []
        for arrival in mine:
            values, bound, redundant = self.rule.compare(arrival, earlier)
            met = [
                walk(arrival, earlier, values, bound, redundant & inside, "newer")
                for inside in groups
            ]
            decision = next((m for m in met if m.reason != "kept"), met[-1])
            evicts = tuple(e for m in met for e in m.evicts if e.feature not in gone)
            gone.update(e.feature for e in evicts)
            decision = replace(decision, reason=BETWEEN_GROUPS[decision.reason], evicts=evicts)
            if self.log_.append(decision):
                staying.append(arrival)
        self._drop_earlier(sorted(gone))
        return staying

    def _drop_earlier(self, features: list[int]) -> None:
        """Drop features of earlier groups."""
        self._earlier.drop(features)
        for feature in features:
            del self._label_of[feature]

    def finish(self) -> None:
        """End the present group; a column that comes later begins a new one."""
        if self._open:
            self._end_group()
        if self.kind == "discrete" and not self._picked_by_auto:
            self._warn_of_levels(self._earlier.panel.mean_n_levels, "kept")

    # --- saving a stream -------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return what the stream needs to resume, besides target, log and held columns."""
        state = super().state()
        state["numbers"]["labels"] = list(dict.fromkeys(self._label_of.values()))
        return state

    @property
    def _every(self) -> SimpleNamespace:
        """Relevance, level and number of the label of kept features: -1 for the present group."""
        earlier, present = self._earlier, list(self._held.values())
        number = {label: i for i, label in enumerate(dict.fromkeys(self._label_of.values()))}
        of_label = [number[self._label_of[f]] for f in earlier.features.tolist()]
        return SimpleNamespace(
            relevance=np.concatenate([earlier.relevance, self._kept.relevance]),
            level=np.array([np.nan] * len(earlier) + [a.level for a in present]),
            label=np.array(of_label + [-1] * len(present), dtype=np.int64),
        )

    def restore(
        self, y: Any, state: Mapping[str, Any], columns: ColumnBlock, log: DecisionLog
    ) -> Self:
        """Resume from a `state` as if the stream had never been saved."""
        super().restore(y, state, columns, log)
        for world in () if self._shadows is None else self._shadows.worlds:
            world.begin_group(self._began)
        return self

    def _keep_again(self, state: Mapping[str, Any], columns: ColumnBlock) -> None:
        ready = self._kept.panel.prepare(columns, np.arange(columns.width))
        numbers = [state["each"][key].tolist() for key in ("relevance", "level", "label")]
        each = zip(state["features"].tolist(), *numbers, strict=True)
        for i, (feature, relevance, level, label) in enumerate(each):
            arrival = Arrival(feature, relevance, level, deepcopy(ready[i]))
            if label < 0:
                self._kept.add(arrival)
                self._held[feature] = arrival
            else:
                self._earlier.add(arrival)
                self._label_of[feature] = state["numbers"]["labels"][label]

    # --- what can be read ------------------------------------------------------------------

    @property
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""
        return np.concatenate([self._earlier.features, self._kept.features])

    @property
    def groups_(self) -> dict[Any, npt.NDArray[np.int64]]:
        """Kept features by group label, for the groups that keep any."""
        by_label: dict[Any, list[int]] = {}
        for feature in self.kept_.tolist():
            label = self._label_of.get(feature, self._label)
            by_label.setdefault(label, []).append(feature)
        return {label: np.array(features) for label, features in by_label.items()}

    @property
    def work_(self) -> dict[str, int]:
        """Counted work: what was computed, whatever the machine."""
        work = super().work_
        work["pair_values"] += self._pairs + self._earlier.panel.pairs
        return work


GroupSAOLARule.machinery = GroupStream


@dataclass(frozen=True, eq=False)
class Grouped(ScoredBlock):
    """A scored block and where its groups begin."""

    runs: list[Run]


def runs_of(block: ColumnBlock) -> list[Run]:
    """Return where the groups of a block begin, and their labels."""
    labels = block.group
    if isinstance(labels, np.ndarray):
        labels = group_labels(labels, block.width)
    if not isinstance(labels, np.ndarray):
        return [(block.first, labels)]
    starts = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]])[: len(labels)])
    return [(block.first + int(i), labels[i : i + 1].tolist()[0]) for i in starts]
