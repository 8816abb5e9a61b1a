"""Selectors that drop a feature when others make it independent of the target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision, Reason, Verdict
from tamis.core.errors import ParameterError, warn
from tamis.core.params import Number, OneOf, Range
from tamis.measures.base import Measure
from tamis.measures.conditional import (
    UNRELIABLE,
    Conditional,
    ConditionalPanel,
    Independence,
)
from tamis.measures.fisher_z import FisherZ
from tamis.measures.g_squared import GSquared
from tamis.methods.arrivals import Arrival, Kept, ScoredBlock
from tamis.methods.measured import UNTESTED, Measured, MeasuredSelector


class Separating(Measured):
    """A selector whose rule asks for separating sets.

    A set S separates a feature from the target if they are independent given S. Subclasses write
    their rule with `_consider`, `_separator` and `_dropped`.
    """

    discrete_measure: ClassVar[Measure] = GSquared(alpha=0.01)
    continuous_measure: ClassVar[Measure] = FisherZ(alpha=0.01)
    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {
        "max_conditioning": Number(1, integer=True),
        "unreliable": OneOf(UNRELIABLE),
    }

    max_conditioning: int
    unreliable: str

    # --- what the rule is written with -----------------------------------------------------

    def _consider(self, arrival: Arrival, kept: Kept) -> int:
        """Let the newcomer stand beside the kept features; its position."""
        self._conditional(kept).consider(arrival.column)
        return len(kept)

    def _separator(
        self, kept: Kept, x: int, candidates: Sequence[int], including: int | None = None
    ) -> Independence | None:
        """Find the first set of candidates that separates x from the target, if any does."""
        panel = self._conditional(kept)
        before = sum(panel.refused.tolist())
        found = panel.separator(x, candidates, self.max_conditioning, including)
        if found.refused if found is not None else sum(panel.refused.tolist()) > before:
            self._refusals_decided(1)
        return found

    def _dropped(
        self,
        found: Independence,
        x: int,
        arrival: Arrival,
        kept: Kept,
        evicts: tuple[Decision, ...] = (),
    ) -> Decision:
        """The decision that drops the feature at position x, with its witness."""
        features = [*kept.features.tolist(), arrival.feature]
        relevance = [*kept.relevance.tolist(), arrival.relevance]
        why = "refused" if found.refused else "collinear" if found.collinear else "independent"
        numbers = {"statistic": found.statistic, "df": found.df, "p": found.p}
        return Decision(
            features[x],
            f"{'redundant' if x == len(kept) else 'evicted'}, {why}",
            relevance[x],
            found.strength,
            found.cutoff,
            tuple(features[i] for i in found.given),
            evicts,
            {key: number for key, number in numbers.items() if not math.isnan(number)},
        )

    def _taken(self, arrival: Arrival, evicts: Sequence[Decision]) -> Decision:
        """The decision that keeps the newcomer."""
        return Decision(
            arrival.feature,
            "kept" if arrival.level >= 0 else "kept untested",
            arrival.relevance,
            level=arrival.level,
            evicts=tuple(evicts),
        )

    def why(self) -> dict[str, Reason]:
        """Say why, for features that come and for features that leave."""
        reasons: dict[str, Reason] = {}
        for word, verdict, begin in (
            ("redundant", Verdict.REDUNDANT, "{name} was dropped as redundant: "),
            ("evicted", Verdict.EVICTED, "{name} was kept until a later feature came: "),
        ):
            reasons |= {
                f"{word}, independent": Reason(
                    verdict, begin + "given {because} it is independent of the {target} ({test})"
                ),
                f"{word}, collinear": Reason(
                    verdict,
                    begin + "given {because} nothing of it is left (less than 1e-10 of its "
                    "variance)",
                ),
                f"{word}, refused": Reason(
                    verdict,
                    begin + "given {because} there are too few rows to test its dependence on the "
                    "{target}, which counts as independence",
                ),
            }
        alone = "and no {up_to} kept {features} it independent of the {target}"
        return reasons | {
            "kept": Reason(
                Verdict.KEPT,
                "{name} is kept: {relevance_symbol}={relevance} is above {level}, {gate}, " + alone,
            ),
            "kept untested": Reason(
                Verdict.KEPT,
                "{name} is kept: there are too few rows to test its dependence on the {target}, "
                "which counts as dependence, " + alone,
            ),
        }

    # --- around the rule -------------------------------------------------------------------

    def _begin(self) -> None:
        self._refused_alone = self._decided_by_refusals = 0
        super()._begin()

    def _use(self, measure: Measure, why: str) -> None:
        if not isinstance(measure, Conditional):
            raise ParameterError(
                f"{type(self).__name__} tests features given others, which "
                f"{type(measure).__name__} cannot; use GSquared() for categories or FisherZ() for "
                "numbers"
            )
        super()._use(measure.under(self.unreliable), why)

    def _panel(self) -> ConditionalPanel:
        assert isinstance(self.measure_, Conditional)
        return self.measure_.conditional_panel(self._target)

    def _template_fields(self, measure: Measure) -> dict[str, str]:
        single = self.max_conditioning == 1
        return {
            **super()._template_fields(measure),
            "up_to": "single" if single else f"{self.max_conditioning} or fewer",
            "features": "feature makes" if single else "features make",
        }

    @staticmethod
    def _conditional(kept: Kept) -> ConditionalPanel:
        panel = kept.panel
        assert isinstance(panel, ConditionalPanel)
        return panel

    def update(self, scored: ScoredBlock) -> None:
        """Take an examined block; blocks must come in order."""
        refused = int((scored.constant == UNTESTED).sum() + (scored.levels < 0).sum())
        self._refused_alone += refused
        self._refusals_decided(refused)
        super().update(scored)

    def _refusals_decided(self, times: int) -> None:
        """Count decisions that rest on tests which were not made; warn the first time."""
        if times and not self._decided_by_refusals:
            warn(
                f"{type(self).__name__}: there are too few rows for some tests, and decisions rest "
                f"on what they count as, unreliable={self.unreliable!r}; work_ says how many",
            )
        self._decided_by_refusals += times

    def _numbers(self) -> dict[str, Any]:
        panel = self._conditional(self._kept)
        return {
            **super()._numbers(),
            "tests": panel.tests,
            "refused": panel.refused,
            "refused_alone": self._refused_alone,
            "decided_by_refusals": self._decided_by_refusals,
        }

    def _take_back(
        self,
        columns: ColumnBlock,
        features: npt.NDArray[np.int64],
        each: Mapping[str, Any],
        numbers: Mapping[str, Any],
    ) -> None:
        super()._take_back(columns, features, each, numbers)
        panel = self._conditional(self._kept)
        tests, refused = np.zeros((2, max(len(numbers["tests"]), self.max_conditioning + 1)), int)
        tests[: len(numbers["tests"])] = numbers["tests"]
        refused[: len(numbers["refused"])] = numbers["refused"]
        panel.tests, panel.refused = tests, refused
        self._refused_alone = numbers["refused_alone"]
        self._decided_by_refusals = numbers["decided_by_refusals"]

    @property
    def work_(self) -> dict[str, int]:
        """Counted work: tests made by the number of features given, and how many were refused."""
        work = super().work_
        tests, refused = np.zeros((2, self.max_conditioning + 1), dtype=np.int64)
        if hasattr(self, "_kept"):
            panel = self._conditional(self._kept)
            tests[: len(panel.tests)] = panel.tests
            refused[: len(panel.refused)] = panel.refused
        tests[0], refused[0] = work["features"], self._refused_alone
        work |= {f"tests_given_{m}": count for m, count in enumerate(tests.tolist())}
        work |= {f"refused_given_{m}": count for m, count in enumerate(refused.tolist())}
        return work | {"decided_by_refused": self._decided_by_refusals}


class SeparatingSelector(Separating, MeasuredSelector):
    """A feature-stream selector whose rule, `decide`, asks for separating sets."""

    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {
        **Separating.ranges,
        "variant": OneOf(("paper", "program")),
    }

    def __init__(
        self,
        measure: Measure | str = "auto",
        max_conditioning: int = 3,
        unreliable: str = "independent",
        *,
        variant: str = "paper",
    ) -> None:
        self.measure = measure
        self.max_conditioning = max_conditioning
        self.unreliable = unreliable
        self.variant = variant
