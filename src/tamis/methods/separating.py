"""Methods that drop a feature when others make it independent of the target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tamis.core.decisions import Decision, Reason
from tamis.core.errors import ParameterError, warn
from tamis.core.params import Number, OneOf, param
from tamis.core.target import Target
from tamis.measures.conditional import UNRELIABLE, Conditional, ConditionalPanel, Independence
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
from tamis.methods.rule import no_deletion, when_evicted, when_kept, when_redundant
from tamis.methods.shadow_worlds import SeparatingWorld


class Separable(Kept):
    """The kept features, which may separate others from the target.

    A set S separates a feature from the target if they are independent given S. Features are given
    by position: 0 is the oldest kept one, and a newcomer under consideration comes last.
    """

    panel: ConditionalPanel

    def __init__(self, rule: SeparatingRule, measure: Measure, target: Target) -> None:
        assert isinstance(measure, Conditional)
        super().__init__(measure.conditional_panel(target), measure)
        self._rule = rule
        # Tests made and refused by the number of features given, up to the largest set.
        self.panel.tests, self.panel.refused = np.zeros((2, rule.max_conditioning + 1), np.int64)
        #: Decisions that rest on tests which were not made.
        self.decided_by_refusals = 0

    def consider(self, arrival: Arrival) -> int:
        """Append the newcomer to the kept features and return its position."""
        self.panel.consider(arrival.column)
        return len(self)

    def separator(
        self, x: int, candidates: Sequence[int], including: int | None = None
    ) -> Independence | None:
        """Find the first set of candidates that separates x from the target, if any does."""
        panel = self.panel
        before = sum(panel.refused.tolist())
        found = panel.separator(x, candidates, self._rule.max_conditioning, including)
        if found.refused if found is not None else sum(panel.refused.tolist()) > before:
            self.count_refusals(1)
        return found

    def count_refusals(self, times: int) -> None:
        """Count decisions that rest on tests which were not made; warn the first time."""
        if times and not self.decided_by_refusals:
            warn(
                f"{self._rule.public_name}: there are too few rows for some tests, and decisions "
                f"rest on what they count as, unreliable={self._rule.unreliable!r}; work_ says how "
                "many",
            )
        self.decided_by_refusals += times

    def pruned(
        self, members: Sequence[int], arrival: Arrival, including: int | None = None
    ) -> tuple[Sequence[int], list[Decision]]:
        """Drop, one after the other, members that the others left separate from the target.

        Returns the members that stay, and the decisions about those that go.
        """
        gone = []
        for x in members:
            if x < self.required:
                continue
            others = [m for m in members if m != x]
            found = self.separator(x, others, including)
            if found is not None:
                members = others
                gone.append(self.dropped(found, x, arrival))
        return members, gone

    def dropped(self, found: Independence, x: int, arrival: Arrival) -> Decision:
        """Return the decision that drops the feature at position x, with its separating set."""
        features = [*self.features.tolist(), arrival.feature]
        relevance = [*self.relevance.tolist(), arrival.relevance]
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


def taken(arrival: Arrival, evicts: Sequence[Decision] = ()) -> Decision:
    """Return the decision that keeps the newcomer."""
    return Decision(
        arrival.feature,
        "kept" if arrival.level >= 0 else "kept untested",
        arrival.relevance,
        level=arrival.level,
        evicts=tuple(evicts),
    )


class SeparatingRule(MeasuringRule):
    """A rule that searches for separating sets (see `Separable`).

    Parameters
    ----------
    measure : {"auto", "g_squared", "fisher_z"} or Measure
        The test. "auto" depends on the data: whole numbers with few levels and a class target get
        ``GSquared(alpha=0.01)``, everything else ``FisherZ(alpha=0.01)``.
    max_conditioning : int, default=3
        k, the largest conditioning set.
    unreliable : {"independent", "skip", "dependent"}, default="independent"
        How to count a test for which there are too few rows: as independence, as in the paper;
        not at all, so that it neither separates a feature from the class nor lets one in; or as
        dependence. It overrides what the measure says. With few rows the paper's choice decides
        nearly everything: with 62 rows, 3 levels and 2 classes every test given two features is
        refused, so at most two features can be kept. A warning is given when refused tests
        decide.

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

    discrete_measure: ClassVar[Measure] = GSquared(alpha=0.01)
    continuous_measure: ClassVar[Measure] = FisherZ(alpha=0.01)

    max_conditioning: int = param(3, Number(1, integer=True))
    unreliable: str = param("independent", OneOf(UNRELIABLE))

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
        up_to = f"{self.max_conditioning} or fewer kept features make"
        if self.max_conditioning == 1:
            up_to = "single kept feature makes"
        alone = f"and no {up_to} it independent of the {{target}}"
        return reasons | {
            "kept": when_kept("{name} is kept: {level_passed}, " + alone),
            "kept untested": when_kept("{name} is kept: " + untested + "dependence, " + alone),
        }


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

    saved: ClassVar[Mapping[str, str]] = {
        **MeasuredStream.saved,
        "tests": "_kept.panel.tests",
        "refused": "_kept.panel.refused",
        "refused_alone": "_refused_alone",
        "decided_by_refusals": "_kept.decided_by_refusals",
    }


class SeparatingStreamRule(SeparatingRule, MeasuredRule):
    """A rule for feature streams that searches for separating sets."""

    machinery = SeparatingStream
    world = SeparatingWorld
    former_parameters: ClassVar[Mapping[str, str | None]] = {"variant": None}
