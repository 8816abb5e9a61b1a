"""Selectors that score features with a measure: what they share, and those for feature streams.

Irrelevant features are logged in bulk and never meet the rule. A feature-stream selector is defined
by `decide`: what it does with one arriving feature that is relevant, given what is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision, Reason, Verdict
from tamis.core.errors import warn
from tamis.core.kinds import most_levels
from tamis.kernels.scan import sift
from tamis.measures.auto import CONTINUOUS, DISCRETE, as_asked, choose, from_name, named, resolve
from tamis.measures.base import Measure, Panel, Prepared, Strength
from tamis.methods.arrivals import Arrival, Floats, Foresight, Kept, ScoredBlock
from tamis.methods.base import ColumnSelector, FeatureStreamSelector

#: What a measure alone can say. These come first among the reasons, so 0, 1 and 2 are their codes.
COMMON_REASONS = {
    "irrelevant": Reason(
        Verdict.IRRELEVANT,
        "{name} was dropped as irrelevant: {relevance_symbol}={relevance} is not above {level}, "
        "{gate}",
    ),
    "constant": Reason(
        Verdict.IRRELEVANT,
        "{name} was dropped as irrelevant: it has the same value in every row",
    ),
    "untested": Reason(
        Verdict.IRRELEVANT,
        "{name} was dropped as irrelevant: there are too few rows to test its dependence on the "
        "{target}",
    ),
}

#: The code of "untested".
UNTESTED = 2

#: A correlation multiplies two sums of squares: of larger numbers a double cannot hold that.
HUGE = 1e70

_scratch = threading.local()

#: Threads of a worker share a copy of the kept set, and some panels have a place to work in.
_pairing = threading.Lock()


def _room_for(width: int) -> Strength:
    """Room for strengths that is used again and again by the same thread."""
    room: Strength | None = getattr(_scratch, "room", None)
    if room is None or len(room) < width:
        room = _scratch.room = Strength.room(width)
    return room


class Measured(ColumnSelector):
    """A selector with a measure, whose gate only relevant features pass."""

    #: What ``measure="auto"`` picks between.
    discrete_measure: ClassVar[Measure] = DISCRETE
    continuous_measure: ClassVar[Measure] = CONTINUOUS

    measure: Measure | str
    measure_: Measure
    measure_reason_: str

    def why(self) -> dict[str, Reason]:
        """The reasons of the rule."""
        raise NotImplementedError

    def reasons(self) -> dict[str, Reason]:
        """The reasons of the measure, then those of the rule."""
        return {**COMMON_REASONS, **self.why()}

    # --- beginning -------------------------------------------------------------------------

    def _begin(self) -> None:
        self._relevant = 0
        for stale in ("measure_", "measure_reason_", "_kept"):
            if hasattr(self, stale):
                delattr(self, stale)
        measure = resolve(self.measure)
        self._picked_by_auto = measure is None
        if measure is not None:
            self._use(measure, "it was given")

    def prepare(self, blocks: Iterable[ColumnBlock], n_columns: int | None = None) -> None:
        """Pick a measure if it was left to us."""
        if not hasattr(self, "measure_"):
            between = (
                as_asked(self.measure, self.discrete_measure),
                as_asked(self.measure, self.continuous_measure),
            )
            self._use(*choose(blocks, self._target, n_columns, *between, self._name_of))

    def _use(self, measure: Measure, why: str) -> None:
        measure.check_target(self._target)
        self.measure_ = measure
        self.measure_reason_ = why
        self._kept = Kept(self._panel())
        self._new_log(self._template_fields(measure))

    def _panel(self) -> Panel:
        """An empty panel that can compare what the rule compares."""
        return self.measure_.panel(self._target)

    @property
    def _gated(self) -> bool:
        """Whether columns below their level are dropped in bulk and never meet the rule.

        Without that gate every column that is not constant meets it.
        """
        return True

    def _template_fields(self, measure: Measure) -> dict[str, str]:
        """The words of the sentences."""
        return measure.template_fields(self._target)

    # --- the two halves of taking a block --------------------------------------------------

    def _strengths(self, block: ColumnBlock) -> Strength:
        """How relevant each column is, and the level above which it counts."""
        return self.measure_.relevance(block, self._target, out=_room_for(block.width))

    def score(self, block: ColumnBlock) -> ScoredBlock:
        """Work out all that does not depend on what is kept: a pure function, in any order."""
        block = self._ready(block)
        width = block.width
        strength = self._strengths(block)
        relevance, constant = np.empty(width, np.float32), np.empty(width, np.uint8)
        survivors = np.empty(width, np.int64)
        found, level = sift(strength.value, strength.cutoff, relevance, constant, survivors)
        survivors = survivors[:found].copy() if self._gated else np.flatnonzero(constant == 0)
        if not np.isfinite(level):  # else all share a level that can be reached
            constant[np.isposinf(strength.cutoff)] = UNTESTED
        return ScoredBlock(
            block.first,
            block.names,
            relevance,
            strength.cutoff.copy() if np.isnan(level) else level,
            constant,
            survivors + block.first,
            strength.value[survivors],
            strength.cutoff[survivors],
            self._kept.panel.prepare(block, survivors),
        )

    def update(self, scored: ScoredBlock) -> None:
        """Log a block in bulk; the survivors then meet the rule."""
        self._in_order(scored.first, scored.width)
        # The marks of `score` are the codes of the reasons that come first.
        self.log_.append_bulk(scored.relevance, scored.level, scored.constant, scored.names)
        self._relevant += int(np.count_nonzero(scored.strengths > scored.levels))

    def _tell_of_levels(self, mean: float, what: str) -> None:
        """Warn of columns whose values are no categories, where the measure takes them as such."""
        if mean > most_levels(self._target.n_rows):
            other = "pass measure='fisher_z', or " if "measure" in self.get_params() else ""
            warn(
                f"{self.measure_!r} takes every value as a category, but a {what} column has "
                f"{mean:.0f} different values on average, too many for {self._target.n_rows} rows; "
                f"{other}cut the columns into a few categories first (--encode mdlp, encode='mdlp' "
                "of tamis.select, or tamis.encode.MDLP in a pipeline)"
            )

    @property
    def work_(self) -> dict[str, int]:
        """Counted work: what was computed, whatever the machine."""
        return {
            **super().work_,
            "relevant": self._relevant,
            "pair_values": self._kept.panel.pairs if hasattr(self, "_kept") else 0,
        }

    def _refuse_bad_values(self, block: ColumnBlock) -> int:
        not_whole = super()._refuse_bad_values(block)
        if self.measure_.kind == "continuous":
            self._refuse_huge_values(block)
        if not_whole >= 0 and self._picked_by_auto and self.measure_.kind == "discrete":
            column = block.column_of_entry(not_whole)
            name = self._name_of(block, column)
            raise self._in_the_way(
                block, column,
                f"column {name} holds numbers that are not whole, but measure='auto' had picked "
                f"{self.measure_!r} from the columns before it; pass measure=FisherZ(), or turn "
                "the column into categories",
            )  # fmt: skip
        return not_whole

    def _refuse_huge_values(self, block: ColumnBlock) -> None:
        """Raise one sentence for numbers whose squares a correlation could not hold."""
        entries = block.entries
        largest = max(entries.max(initial=0.0), -entries.min(initial=0.0))
        if largest > HUGE:
            entry = int(np.argmax(np.abs(entries)))
            column = block.column_of_entry(entry)
            name = self._name_of(block, column)
            raise self._in_the_way(
                block, column,
                f"column {name} holds numbers beyond {HUGE:g}, whose squares cannot be held; "
                "divide it by a constant",
            )  # fmt: skip


class MeasuredSelector(Measured, FeatureStreamSelector):
    """A feature-stream selector with a measure and a rule.

    Subclasses say what may be given as parameters (`ranges`), why a feature can be kept or dropped
    (`why`), and what to do with one arriving feature (`decide`).
    """

    #: Survivors compared with the kept set in one go. A prefetch: it cannot change a decision.
    look_ahead: ClassVar[int] = 256

    def decide(self, arrival: Arrival, kept: Kept) -> Decision:
        """Decide about one relevant feature: keep it, drop it, evict others."""
        raise NotImplementedError

    def foresee(self, relevance: Floats, pairs: Floats, kept: Kept) -> Foresight | None:
        """Settle plain drops of many survivors at once, or None to ask `decide` about each.

        `pairs` are their strengths with the kept features. This may only say earlier what `decide`
        would say; the contract tests compare the two.
        """
        return None

    @property
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""
        if not hasattr(self, "n_features_in_"):
            raise NotFittedError(f"this {type(self).__name__} has seen no columns yet")
        return self._kept.features.copy() if hasattr(self, "_kept") else np.zeros(0, np.int64)

    def update(self, scored: ScoredBlock) -> None:
        """Take an examined block into the stream; blocks must come in order."""
        super().update(scored)
        self._meet(scored, 0, len(scored.features))

    def finish(self) -> None:
        """Say so if what was kept are no categories, where a measure for categories was given."""
        if hasattr(self, "_kept") and not self._picked_by_auto:
            self._tell_of_levels(self._kept.panel.mean_n_levels, "kept")

    def _meet(self, scored: ScoredBlock, first: int, last: int) -> None:
        """Let survivors first..last-1 meet the kept features."""
        for lo in range(first, last, self.look_ahead):
            self._absorb_some(scored, lo, min(lo + self.look_ahead, last))

    def _absorb_some(self, scored: ScoredBlock, lo: int, hi: int) -> None:
        """Take survivors lo..hi-1: those whose fate is foreseen in bulk, the others by the rule."""
        foresight = self._foreseen(scored, lo, hi)
        if foresight is None:
            for i in range(lo, hi):
                self._ask(scored.arrival(i))
            return
        waiting: list[int] = []
        still_kept = set(self._kept.features.tolist())
        for i, because in enumerate(foresight.because.tolist()):
            if because in still_kept:
                waiting.append(i)
                continue
            self._record(scored, lo, foresight, waiting)
            waiting.clear()
            if self._ask(scored.arrival(lo + i)).evicts:
                still_kept.intersection_update(self._kept.features.tolist())
        self._record(scored, lo, foresight, waiting)

    def _foreseen(self, scored: ScoredBlock, lo: int, hi: int) -> Foresight | None:
        """What a worker foresaw of survivors lo..hi-1, seen anew where it no longer holds."""
        told, rest = None, np.arange(hi - lo)
        if scored.foresight is not None:
            told = scored.foresight.part(lo, hi)
            # Those that it left open are likely to be kept, so the rule is asked at once.
            gone = ~np.isin(told.because, self._kept.features)
            rest = np.flatnonzero(gone & (told.because >= 0))
        if len(rest) < 2 or len(self._kept) == 0 or not self._foresees():
            return told
        columns: Any = scored.columns
        if told is None:
            pairs = self._kept.panel.between_many(columns, lo, hi)
        else:
            pairs = self._kept.panel.between_many(columns.pick(lo + rest), 0, len(rest))
        now = self.foresee(scored.strengths[lo + rest], pairs, self._kept)
        return now if told is None or now is None else told.filled(rest, now)

    def _ask(self, arrival: Arrival) -> Decision:
        """Let the rule decide about one feature, and do as it says."""
        decision = self._carry_out(self.decide(arrival, self._kept), arrival)
        self._tell(arrival.feature + 1)
        return decision

    def _carry_out(self, decision: Decision, arrival: Arrival) -> Decision:
        """Log a decision and do as it says."""
        self.log_.append(decision)
        if decision.evicts:
            self._kept.drop([e.feature for e in decision.evicts])
        if self.log_.keeps(decision):
            self._kept.add(arrival)
        return decision

    def _record(self, scored: ScoredBlock, lo: int, seen: Foresight, some: list[int]) -> None:
        """Log foreseen drops, in order, one run of equal reasons at a time."""
        if not some:
            return
        picks = np.array(some)
        reason = seen.reason[picks]
        for run in np.split(picks, np.flatnonzero(np.diff(reason)) + 1):
            self.log_.append_many(
                seen.reasons[int(seen.reason[run[0]])],
                scored.features[lo + run],
                scored.strengths[lo + run],
                seen.value[run],
                seen.level[run],
                seen.because[run],
            )

    # --- with workers elsewhere --------------------------------------------------------------

    def snapshot(self) -> Kept | None:
        """The kept features, where many drops can be foreseen with them."""
        told = self._foresees() and len(getattr(self, "_kept", ())) > 0
        return self._kept if told else None

    def score_knowing(self, block: ColumnBlock, kept: Kept) -> ScoredBlock:
        """Examine a block, and foresee what the kept features of a while ago throw out."""
        scored = self.score(block)
        survivors, columns, parts = len(scored.features), scored.columns, []
        if not survivors or not isinstance(columns, Prepared):
            return scored
        with _pairing:
            for lo in range(0, survivors, self.look_ahead):
                hi = min(lo + self.look_ahead, survivors)
                pairs = kept.panel.between_many(columns, lo, hi)
                part = self.foresee(scored.strengths[lo:hi], pairs, kept)
                if part is None:
                    return scored
                parts.append(part)
        return replace(scored, foresight=Foresight.joined(parts))

    # --- putting a stream away, and going on -------------------------------------------------

    def _each(self) -> dict[str, npt.NDArray[Any]]:
        return {"relevance": self._kept.relevance}

    def _numbers(self) -> dict[str, Any]:
        return {
            "measure": named(self.measure_),
            "why": self.measure_reason_,
            "relevant": self._relevant,
            "pairs": self._kept.panel.pairs,
        }

    def _take_back(
        self,
        columns: ColumnBlock,
        features: npt.NDArray[np.int64],
        each: Mapping[str, Any],
        numbers: Mapping[str, Any],
    ) -> None:
        if not hasattr(self, "measure_"):
            self._use(from_name(**numbers["measure"]), numbers["why"])
        self.measure_reason_ = numbers["why"]  # also of a measure that was given by somebody else
        self._relevant = numbers["relevant"]
        ready = self._kept.panel.prepare(columns, np.arange(columns.width))
        for i, (feature, relevance) in enumerate(zip(features, each["relevance"], strict=True)):
            self._kept.add(Arrival(int(feature), float(relevance), np.nan, ready[i]))
        self._kept.panel.pairs = numbers["pairs"]

    def _foresees(self) -> bool:
        return type(self).foresee is not MeasuredSelector.foresee
