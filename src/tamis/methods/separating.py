"""Methods that drop a feature when others make it independent of the target."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision, DecisionLog, Reason
from tamis.core.errors import ParameterError, warn
from tamis.core.growable import with_one, without
from tamis.core.params import Number, OneOf, param
from tamis.core.target import Target
from tamis.measures.conditional import (
    UNRELIABLE,
    Conditional,
    ConditionalPanel,
    Independence,
    TestsSpent,
)
from tamis.measures.fisher_z import FisherZ
from tamis.measures.g_squared import GSquared
from tamis.measures.measure import Measure
from tamis.methods.measured import (
    UNTESTED,
    Arrival,
    Kept,
    MeasuredRule,
    MeasuredStream,
    Measuring,
    MeasuringRule,
    ScoredBlock,
)
from tamis.methods.rule import (
    UNEXAMINED,
    no_deletion,
    when_evicted,
    when_kept,
    when_redundant,
)
from tamis.methods.shadow_worlds import SeparatingWorld, World
from tamis.methods.taken_in_order import TakenInOrder, check_order, reasons_in_order, world_of

#: What is searched for: parents and children of the target, or spouses as well.
BLANKETS = ("parents-children", "full")

#: A warning says so if the tests seem to take more seconds than this: of all columns, once so many
#: tests were made, or of a single search.
LONG, MANY_TESTS = 10.0, 10_000

#: Searches of at least so many tests show how many seconds a test takes; the last number is taken
#: until there was one.
TIMED_TESTS, USUAL_SECONDS = 20, 1e-6

#: What to do about too many tests.
REMEDY = (
    "bound them with max_tests (--param max_tests=1000000), or pass max_conditioning=1 or a "
    "smaller alpha"
)

#: The first columns after which the tests of all columns are estimated.
FEW_COLUMNS = 16


class Separable(Kept):
    """The kept features, which may separate others from the target.

    A set S separates a feature from the target if they are independent given S. Features are given
    by position: 0 is the oldest kept one, and a newcomer under consideration comes last.
    """

    panel: ConditionalPanel

    def __init__(self, rule: SeparatingRule, measure: Measure, target: Target) -> None:
        assert isinstance(measure, Conditional)
        super().__init__(measure.conditional_panel(target), measure)
        self.rule, self.target = rule, target
        # Tests made and refused by the number of features given, up to the largest set.
        largest = rule.largest_set + (rule.blanket == "full")
        self.panel.tests, self.panel.refused = np.zeros((2, largest + 1), np.int64)
        self.panel.max_tests = rule.max_tests
        #: Decisions that rest on tests which were not made.
        self.decided_by_refusals = 0
        #: For a spouse, the feature that it and the target have as an effect; -1 for the others.
        self.through = np.zeros(0, np.int64)
        #: The kept columns, if spouses are searched for.
        self.columns: list[Any] = []
        #: The feature at which all conditional tests had been made.
        self.spent_at: int | None = None
        #: The number of all columns; 0 if it is not known.
        self.n_columns = 0
        self._child = -1
        self._warned = False
        #: Seconds of a test in the fastest search; the first ones may include compiling.
        self._fastest = math.inf
        #: Columns and tests when the tests of all columns were last estimated.
        self._estimated = (FEW_COLUMNS // 2, 0)

    def add(self, arrival: Arrival) -> None:
        """Keep a feature."""
        super().add(arrival)
        self.through, self._child = with_one(self.through, self._child), -1
        if self.rule.blanket == "full":
            one = arrival.column
            self.columns.append(one.columns.pick(np.array([one.i]))[0])

    def drop(self, features: Sequence[int]) -> None:
        """Drop features."""
        gone = np.searchsorted(self.features, np.asarray(features, dtype=np.int64))
        super().drop(features)
        self.through = without(self.through, gone)
        if self.columns:
            stay = without(np.arange(len(self.columns)), gone).tolist()
            self.columns = [self.columns[i] for i in stay]

    def towards(self, target: Target) -> Separable:
        """Return an empty kept set of another target, whose tests count as those of this one."""
        other = Separable(self.rule, self.measure, target)
        other.panel.tests, other.panel.refused = self.panel.tests, self.panel.refused
        other.decided_by_refusals, other._warned = self.decided_by_refusals, self._warned
        return other

    def consider(self, arrival: Arrival) -> int:
        """Append the newcomer to the kept features and return its position."""
        self.panel.consider(arrival.column)
        return len(self)

    def separator(
        self, x: int, candidates: Sequence[int], including: int | None = None
    ) -> Independence | None:
        """Find the first set of candidates that separates x from the target, if any does."""
        panel, largest = self.panel, self.rule.largest_set
        if panel.max_tests is None and not self._warned:
            self._warn_of_search(len(candidates), largest - (including is not None))
        before, tests = sum(panel.refused.tolist()), sum(panel.tests.tolist())
        begun = time.perf_counter()
        found = panel.separator(x, candidates, largest, including)
        if (made := sum(panel.tests.tolist()) - tests) >= TIMED_TESTS:
            self._fastest = min(self._fastest, (time.perf_counter() - begun) / made)
        if found.refused if found is not None else sum(panel.refused.tolist()) > before:
            self.count_refusals(1)
        return found

    def count_refusals(self, times: int) -> None:
        """Count decisions that rest on tests which were not made; warn the first time."""
        if times and not self.decided_by_refusals:
            warn(
                f"{self.rule.public_name}: there are too few rows for some tests, and decisions "
                f"rest on what they count as, unreliable={self.rule.unreliable!r}; work_ says how "
                "many",
            )
        self.decided_by_refusals += times

    def estimate_tests(self, column: int) -> None:
        """Warn if the tests of all columns will take long; `column` is the number of the next one.

        Whenever the number of columns has doubled, the growth of the tests since then is continued
        to the last column.
        """
        before, tests_before = self._estimated
        if self._warned or self.panel.max_tests is not None or column < 2 * before:
            return
        tests = int(self.panel.tests[1:].sum())
        self._estimated = column, tests
        if not tests_before or tests < MANY_TESTS or column >= self.n_columns:
            return
        growth = math.log(tests / tests_before) / math.log(column / before)
        # If every search fails, OSFS makes |B| of |B|^k tests for each column.
        most = self.rule.largest_set + 2.0
        every = tests * (self.n_columns / column) ** min(max(growth, 1.0), most)
        if (seconds := self._seconds_of(every)) > LONG:
            self._warned = True
            warn(
                f"{self.rule.public_name}: the first {column:,} of {self.n_columns:,} columns took "
                f"{tests:,} conditional tests; if they keep growing as they do, all columns take "
                f"about {float(f'{every:.0e}'):,.0f} tests and {_duration(seconds)}; {REMEDY}"
            )

    def _warn_of_search(self, candidates: int, largest: int) -> None:
        """Warn before the first search that may take long."""
        if self._seconds_of(candidates**largest) <= LONG:  # there are no more sets than that
            return
        tests = sum(math.comb(candidates, size) for size in range(1, largest + 1))
        if (seconds := self._seconds_of(tests)) > LONG:
            self._warned = True
            warn(
                f"{self.rule.public_name}: {len(self)} features are kept, so one search may need "
                f"{tests:,} conditional tests and {_duration(seconds)}, and more with each further "
                f"feature; {REMEDY}"
            )

    def _seconds_of(self, tests: float) -> float:
        """Return how long so many tests take."""
        return tests * (self._fastest if self._fastest < math.inf else USUAL_SECONDS)

    def pruned(
        self, members: Sequence[int], arrival: Arrival, including: int | None = None
    ) -> tuple[Sequence[int], list[Decision]]:
        """Drop, one after the other, members that the others left separate from the target.

        A spouse is tested only given sets that hold the child it was found through, and leaves
        with it. Returns the members that stay, and the decisions about those that go.
        """
        gone = []
        spouses = [x for x in members if x < len(self) and self.through[x] >= 0]
        for x in members:
            if x < self.required or x in spouses:
                continue
            others = [m for m in members if m != x]
            found = self.separator(x, others, including)
            if found is not None:
                members = others
                gone.append(self.dropped(found, x, arrival))
        for x in spouses:
            others = [m for m in members if m != x]
            child = int(self.through[x])
            at = np.flatnonzero(self.features == child).tolist()
            if not at or at[0] not in members:
                members = others
                feature, relevance = int(self.features[x]), float(self.relevance[x])
                gone.append(Decision(feature, "evicted, alone", relevance, because=(child,)))
                continue
            newer = [] if including is None else [including]
            found = self.separator(x, [m for m in others + newer if m != at[0]], at[0])
            if found is not None:
                members = others
                gone.append(self.dropped(found, x, arrival))
        return members, gone

    def married(self, test: Independence, arrival: Arrival, child: int) -> Decision:
        """Return the decision that keeps a newcomer as a spouse through the feature `child`."""
        self._child = child
        given = (test.given[-1], *test.given[:-1])  # the child first
        numbers = {"statistic": test.statistic, "df": test.df, "p": test.p}
        return Decision(
            arrival.feature, "kept, spouse", arrival.relevance, test.strength, test.cutoff,
            tuple(int(self.features[i]) for i in given),
            evidence={key: number for key, number in numbers.items() if not math.isnan(number)},
        )  # fmt: skip

    def dropped(self, found: Independence, x: int, arrival: Arrival | None) -> Decision:
        """Return the decision that drops the feature at position x, with its separating set."""
        features, relevance = self.features.tolist(), self.relevance.tolist()
        if arrival is not None:
            features, relevance = [*features, arrival.feature], [*relevance, arrival.relevance]
        why = "refused" if found.refused else "collinear" if found.collinear else "independent"
        numbers = {"statistic": found.statistic, "df": found.df, "p": found.p}
        return Decision(
            features[x],
            f"{'redundant' if x == len(self) else 'evicted'}, {why}",
            relevance[x],
            found.strength,
            found.cutoff,
            tuple(features[i] for i in found.given),
            evidence={key: number for key, number in numbers.items() if not math.isnan(number)},
        )


def _duration(seconds: float) -> str:
    """Return a time as people say it.

    >>> _duration(20), _duration(70), _duration(5000), _duration(3e5)
    ('20 seconds', '1 minute', '1 hour', '3 days')
    """
    units = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
    size, name = next((one for one in units if seconds >= one[0]), units[-1])
    number = max(1, round(seconds / size))
    return f"{number} {name}{'s' if number > 1 else ''}"


def taken(arrival: Arrival, evicts: Sequence[Decision] = ()) -> Decision:
    """Return the decision that keeps the newcomer."""
    return Decision(
        arrival.feature,
        "kept" if arrival.level >= 0 else "kept untested",
        arrival.relevance,
        level=arrival.level,
        evicts=tuple(evicts),
    )


def say_spent(log: DecisionLog, max_tests: int | None, where: str) -> None:
    """Say in a log that the selection ended because all conditional tests were made."""
    if not log.stopped:
        spent = f"all {max_tests:,} conditional tests (max_tests) were made"
        log.template_fields |= {"stopped_at": where, "stopped_because": spent}


class SeparatingRule(MeasuringRule):
    """A rule that searches for separating sets (see `Separable`).

    Parameters
    ----------
    measure : {"auto", "g_squared", "fisher_z"} or Measure
        The test. "auto" depends on the data: whole numbers with few levels and a class target get
        ``GSquared(alpha=0.01)``, everything else ``FisherZ(alpha=0.01)``.
    max_conditioning : int, optional
        k, the largest conditioning set. Default: 3, as in the paper; 2 with ``blanket="full"``,
        where more searches are made and larger sets separate too much.
    unreliable : {"independent", "skip", "dependent"}, default="independent"
        How to count a test for which there are too few rows: as independence, as in the paper;
        not at all, so that it neither separates a feature from the class nor lets one in; or as
        dependence. It overrides what the measure says. With few rows the paper's choice decides
        nearly everything: with 62 rows, 3 levels and 2 classes every test given two features is
        refused, so at most two features can be kept. A warning is given when refused tests
        decide.
    blanket : {"parents-children", "full"}, default="parents-children"
        What to find of the target's Markov blanket: its parents and children, as in the paper, or
        spouses too, which have a child in common with it. With "full" every column is tested
        given each parent and child, and "auto" picks ``GSquared(alpha=0.01, statistic="g2",
        degrees="observed")`` for categories.
    max_tests : int, optional
        The largest number of conditional tests. The selection ends when they are spent: features
        that would need another one are not examined, and the log and the run say so.

    Attributes
    ----------
    log_ : DecisionLog
        What happened to every feature, and why: the separating set, the statistic, its degrees of
        freedom and the p-value.
    work_ : dict
        Among others ``tests_given_0``, ``tests_given_1``, ...: tests made by the number of features
        given; ``refused_given_...``: those refused for lack of rows; ``decided_by_refused``:
        decisions that rest on refused tests.
    """

    paper_measures: ClassVar[tuple[Measure, Measure] | None] = (
        GSquared(alpha=0.05, statistic="g2", degrees="spirtes"),
        FisherZ(alpha=0.05, statistic="z"),
    )
    paper: ClassVar[Mapping[str, Any] | None] = {"measure": "paper"}
    adjusts: ClassVar[bool] = True
    keeps: ClassVar[bool] = True

    max_conditioning: int | None = param(None, Number(1, integer=True), None)
    unreliable: str = param("independent", OneOf(UNRELIABLE))
    _: KW_ONLY
    blanket: str = param("parents-children", OneOf(BLANKETS))
    max_tests: int | None = param(None, Number(1, integer=True), None)

    def check_params(self) -> None:
        """Raise an error for a parameter outside its range, or two that exclude each other."""
        super().check_params()
        if getattr(self, "shadows", 0) and (self.blanket == "full" or self.max_tests is not None):
            other = "blanket='full'" if self.blanket == "full" else "max_tests"
            raise ParameterError(
                f"{self.public_name}: shadow worlds cannot be used with {other}; leave one of the "
                "two out"
            )

    @property
    def largest_set(self) -> int:
        """The largest conditioning set."""
        if self.max_conditioning is None:
            return 2 if self.blanket == "full" else 3
        return self.max_conditioning

    @property
    def gated(self) -> bool:
        """Whether columns that are independent of the target are dropped in bulk."""
        return self.blanket != "full"

    @classmethod
    def usual_measures(cls) -> tuple[Measure, Measure]:
        """Return what ``measure="auto"`` picks between: for categories, and for numbers."""
        return GSquared(alpha=0.01), FisherZ(alpha=0.01)

    def auto_measures(self) -> tuple[Measure, Measure]:
        """Return what "auto" or "paper", with these parameters, picks between."""
        if self.blanket == "full":
            categories = GSquared(alpha=0.01, statistic="g2", degrees="observed")
            return categories, self.usual_measures()[1]
        return super().auto_measures()

    def kept(self, measure: Measure, target: Target) -> Separable:
        """Return an empty kept set, or refuse a measure that cannot test features given others."""
        if measure.deletes_pairs:
            raise ParameterError(no_deletion(self.public_name, "several others"))
        if not isinstance(measure, Conditional):
            raise ParameterError(
                f"{self.public_name} tests features given others, which "
                f"{type(measure).__name__} cannot; use GSquared() for categories or FisherZ() for "
                "numbers"
            )
        if self.blanket == "full" and not (target.weights is None and target.given is None):
            raise ParameterError(
                f"{self.public_name}: blanket='full' cannot use sample weights or covariates; "
                "leave them out, or use blanket='parents-children'"
            )
        return Separable(self, measure.under(self.unreliable), target)

    def reasons(self) -> dict[str, Reason]:
        """Return the reasons, for features that come and for features that leave."""
        untested = "there are too few rows to test its dependence on the {target}, which counts as "
        found = {
            "independent": "it is independent of the {target} ({test})",
            "collinear": "nothing of it is left (less than 1e-10 of its variance)",
            "refused": untested + "independence",
        }
        reasons = {
            f"{word}, {why}": when(begin + " given {because} " + text)
            for word, when, begin in (
                ("redundant", when_redundant, "{name} was dropped as redundant:"),
                ("evicted", when_evicted, "{name} was kept until a later feature came:"),
            )
            for why, text in found.items()
        }
        up_to = f"{self.largest_set} or fewer kept features make"
        if self.largest_set == 1:
            up_to = "single kept feature makes"
        alone = f"and no {up_to} it independent of the {{target}}"
        reasons |= {
            "kept": when_kept("{name} is kept: {level_passed}, " + alone),
            "kept untested": when_kept("{name} is kept: " + untested + "dependence, " + alone),
        }
        if self.blanket == "full":
            reasons |= {
                "kept, spouse": when_kept(
                    "{name} is kept as a spouse of the {target}: given {because} they are "
                    "dependent ({test}), but not without it"
                ),
                "evicted, alone": when_evicted(
                    "{name} was kept as a spouse of the {target} until {because} left, which was "
                    "their common child"
                ),
            }
        return reasons if self.max_tests is None else reasons | UNEXAMINED


class Separating(Measuring):
    """Runs a rule that searches for separating sets."""

    _kept: Separable

    def _begin(self) -> None:
        self._refused_alone = 0
        super()._begin()

    def update(self, scored: ScoredBlock) -> None:
        """Take a scored block; blocks must come in order."""
        refused = int((scored.constant == UNTESTED).sum() + (scored.levels < 0).sum())
        self._refused_alone += refused
        self._kept.count_refusals(refused)
        super().update(scored)

    @property
    def work_(self) -> dict[str, int]:
        """Counted work: tests made by the number of features given, and how many were refused."""
        work, panel = super().work_, self._kept.panel
        tests = [work["features"], *panel.tests[1:].tolist()]
        refused = [self._refused_alone, *panel.refused[1:].tolist()]
        work |= {f"tests_given_{m}": count for m, count in enumerate(tests)}
        work |= {f"refused_given_{m}": count for m, count in enumerate(refused)}
        return work | {"decided_by_refused": self._kept.decided_by_refusals}


class SeparatingStream(Separating, MeasuredStream):
    """Runs a rule for a feature stream that searches for separating sets."""

    saved_per_feature: ClassVar[Mapping[str, str]] = {
        **MeasuredStream.saved_per_feature,
        "through": "_kept.through",
    }

    saved: ClassVar[Mapping[str, str]] = {
        **MeasuredStream.saved,
        "tests": "_kept.panel.tests",
        "refused": "_kept.panel.refused",
        "refused_alone": "_refused_alone",
        "decided_by_refusals": "_kept.decided_by_refusals",
    }

    def update(self, scored: ScoredBlock) -> None:
        """Take a scored block; blocks must come in order."""
        self._kept.n_columns = self.log_.expected
        super().update(scored)
        if self._kept.spent_at is not None:
            say_spent(self.log_, self.rule.max_tests, self.names[self._kept.spent_at])

    def _keep_again(self, state: Mapping[str, Any], columns: ColumnBlock) -> None:
        super()._keep_again(state, columns)
        if "through" in state["each"]:  # streams of earlier versions had no spouses
            self._kept.through = np.array(state["each"]["through"], np.int64)


class OrderedSeparatingStream(TakenInOrder, SeparatingStream):
    """Runs a rule that searches for separating sets, in the order of the features."""

    def _empty(self, rule: Any, width: int) -> Separable:
        kept = self._kept.towards(self._target)
        kept.n_columns = width
        return kept


class SeparatingStreamRule(SeparatingRule, MeasuredRule):
    """A rule for feature streams that searches for separating sets.

    Parameters
    ----------
    order : {"arrival", "free"}, default="arrival"
        The order in which features are tested: that of arrival, as in the paper; or by relevance,
        then by name, so that the same features are kept whatever the order of arrival. With "free"
        the columns of all relevant features are held, and all are tested again when more come.
    """

    machinery = SeparatingStream
    in_order = OrderedSeparatingStream

    _: KW_ONLY
    order: str = param("arrival", OneOf(("arrival", "free")))

    @property
    def world(self) -> type[World]:  # type: ignore[override]
        """How decoys are judged."""
        return world_of(self, SeparatingWorld)

    def check_params(self) -> None:
        """Raise an error for a parameter outside its range, or two that exclude each other."""
        super().check_params()
        check_order(
            self, {
                "blanket='full', which needs columns that are not relevant by themselves":
                    self.blanket == "full",
                "max_tests": self.max_tests is not None,
            },
        )  # fmt: skip

    def reasons(self) -> dict[str, Reason]:
        """Return the reasons, which depend on the order."""
        found = super().reasons()
        return found if self.order == "arrival" else reasons_in_order(found)

    def judge(self, arrival: Arrival, kept: Separable) -> Decision | None:
        """Decide about one feature; None leaves a feature that is independent of the target."""
        raise NotImplementedError(f"{type(self).__name__} has no judge()")

    def decide(self, arrival: Arrival, kept: Separable) -> Decision | None:
        """Decide about one feature, or leave it unexamined if all tests were made."""
        kept.estimate_tests(arrival.feature)
        try:
            return self.judge(arrival, kept)
        except TestsSpent:
            if kept.spent_at is None:
                kept.spent_at = arrival.feature
            return Decision(arrival.feature, "unexamined", arrival.relevance)

    former_parameters: ClassVar[Mapping[str, str | None]] = {"variant": None}
