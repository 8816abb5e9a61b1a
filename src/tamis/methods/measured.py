"""Methods that score features with a measure: what they share, and those for feature streams.

Irrelevant features are logged in bulk and never meet the rule. The rule of a feature stream is
`decide`: what to do with one arriving feature that is relevant, given what is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision, Reason, Verdict
from tamis.core.errors import warn
from tamis.core.kinds import most_levels
from tamis.core.params import Nothing, Number, Range
from tamis.core.target import Target
from tamis.kernels.scan import sift
from tamis.measures.auto import CONTINUOUS, DISCRETE, at_level, choose, from_name, named, resolve
from tamis.measures.measure import Measure, Panel, Prepared, Strength
from tamis.methods.arrivals import Arrival, Floats, Foresight, Kept, ScoredBlock
from tamis.methods.rule import Rule
from tamis.methods.selector import ColumnSelector, FeatureStreamSelector, Saved

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


class MeasuringRule(Rule):
    """A rule with a measure, whose gate only relevant features pass.

    Parameters
    ----------
    measure : {"auto", "mutual_information", "symmetric_uncertainty", "fisher_z"} or Measure
        How strongly a feature depends on the target, and on another feature. "auto" looks at the
        data: whole numbers with few levels and a class target get a measure of categories,
        everything else a measure of numbers; `measure_` and `measure_reason_` say what was picked
        and why.
    alpha : float, optional
        Significance level of a measure given by name or picked by "auto"; default: its own.

    Attributes
    ----------
    measure_, measure_reason_ : Measure, str
        The measure in use and why.
    """

    #: What ``measure="auto"`` picks between.
    discrete_measure: ClassVar[Measure] = DISCRETE
    continuous_measure: ClassVar[Measure] = CONTINUOUS

    measure: Measure | str = "auto"
    _: KW_ONLY
    alpha: float | None = None

    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {
        "alpha": (Number(0, 1, open_low=True, open_high=True), Nothing())
    }

    def check_params(self) -> None:
        """Raise one sentence for a parameter outside its range, or a measure that is not known."""
        super().check_params()
        resolve(self.measure, self.alpha)

    @property
    def gated(self) -> bool:
        """Whether columns below their level are dropped in bulk and never meet the rule.

        Without that gate every column that is not constant meets it.
        """
        return True

    def adapt(self, measure: Measure) -> Measure:
        """Return the measure as the rule uses it, or refuse it in one sentence."""
        return measure

    def panel(self, measure: Measure, target: Target) -> Panel:
        """Return an empty panel that can compare what the rule compares."""
        return measure.panel(target)

    def kept(self, measure: Measure, target: Target) -> Kept:
        """Return an empty kept set."""
        return Kept(self.panel(measure, target), measure)

    def raise_cutoffs(self, cutoffs: Floats) -> None:
        """Raise, in place, the cutoffs above which columns are relevant."""

    def template_fields(self, measure: Measure, target: Target) -> dict[str, str]:
        """Return the fields that the sentences share."""
        return measure.template_fields(target)


class MeasuredRule(MeasuringRule):
    """A rule for feature streams with a measure.

    Subclasses have a `name`, say which values their parameters may take (`ranges`) and why a
    feature can be kept or dropped (`reasons`), and decide about one arriving feature (`decide`).
    They all have the parameters `measure` and `alpha`.
    """

    def decide(self, arrival: Arrival, kept: Any) -> Decision:
        """Decide about one relevant feature: keep it, drop it, evict others."""
        raise NotImplementedError(f"{type(self).__name__} has no decide()")

    @property
    def foresees(self) -> bool:
        """Whether `foresee` can settle anything."""
        return type(self).foresee is not MeasuredRule.foresee

    def foresee(self, relevance: Floats, pairs: Floats, kept: Kept) -> Foresight | None:
        """Settle plain drops of many survivors at once, or None to let `decide` settle each.

        `pairs` are their strengths with the kept features. This may only say earlier what `decide`
        would say; the contract tests compare the two.
        """
        return None


_scratch = threading.local()

#: Threads of a worker share a copy of the kept set, and some panels have a place to work in.
_pairing = threading.Lock()


def _room_for(width: int) -> Strength:
    """Return room for strengths that the same thread uses again and again."""
    room: Strength | None = getattr(_scratch, "room", None)
    if room is None or len(room) < width:
        room = _scratch.room = Strength.room(width)
    return room


class Measuring(ColumnSelector):
    """Runs a rule with a measure.

    Attributes
    ----------
    measure_, measure_reason_ : Measure, str
        The measure in use and why.
    """

    measure_: Measure

    _kept: Any

    def reasons(self) -> dict[str, Reason]:
        """Return the reasons of the measure, then those of the rule."""
        return {**COMMON_REASONS, **self.rule.reasons()}

    # --- beginning -------------------------------------------------------------------------

    def _begin(self) -> None:
        self._relevant = 0
        for stale in ("measure_", "measure_reason_", "_kept"):
            vars(self).pop(stale, None)
        measure = resolve(self.rule.measure, self.rule.alpha)
        self._picked_by_auto = measure is None
        if measure is not None:
            self._use(measure, "it was given")

    def prepare(self, blocks: Iterable[ColumnBlock], n_columns: int | None = None) -> None:
        """Pick a measure if that was left to the data."""
        if not hasattr(self, "measure_"):
            rule = self.rule
            between = (rule.discrete_measure, rule.continuous_measure)
            if rule.alpha is not None:
                level = {"alpha": rule.alpha}
                between = (at_level(between[0], level), at_level(between[1], level))
            self._use(*choose(blocks, self._target, n_columns, *between, self.name_of))

    def _use(self, measure: Measure, why: str) -> None:
        measure = self.rule.adapt(measure)
        measure.check_target(self._target)
        self.measure_, self.measure_reason_ = measure, why
        self._kept = self.rule.kept(measure, self._target)
        self._new_log(self.rule.template_fields(measure, self._target))

    # --- the two halves of taking a block --------------------------------------------------

    def score(self, block: ColumnBlock) -> ScoredBlock:
        """Compute all that does not depend on what is kept: a pure function, in any order."""
        block = self._ready(block)
        width = block.width
        strength = self.measure_.relevance(block, self._target, out=_room_for(width))
        self.rule.raise_cutoffs(strength.cutoff)
        relevance, constant = np.empty(width, np.float32), np.empty(width, np.uint8)
        survivors = np.empty(width, np.int64)
        found, level = sift(strength.value, strength.cutoff, relevance, constant, survivors)
        survivors = survivors[:found].copy() if self.rule.gated else np.flatnonzero(constant == 0)
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

    def _warn_of_levels(self, mean: float, what: str) -> None:
        """Warn of columns whose values are not categories, where the measure takes them as such."""
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

    def refuse_bad_values(self, block: ColumnBlock) -> int:
        """Raise one sentence for values that the measure cannot take."""
        not_whole = super().refuse_bad_values(block)
        if self.measure_.kind == "continuous":
            self._refuse_huge_values(block)
        if not_whole >= 0 and self._picked_by_auto and self.measure_.kind == "discrete":
            column = block.column_of_entry(not_whole)
            name = self.name_of(block, column)
            raise self._error_about(
                block, column,
                f"column {name} holds numbers that are not whole, but measure='auto' had picked "
                f"{self.measure_!r} from the columns before it; pass measure=FisherZ(), or turn "
                "the column into categories",
            )  # fmt: skip
        return not_whole

    def _takes_text(self) -> bool:
        return self.measure_.kind == "discrete"

    def _refuse_huge_values(self, block: ColumnBlock) -> None:
        """Raise one sentence for numbers whose squares a correlation could not hold."""
        entries = block.entries
        largest = max(entries.max(initial=0.0), -entries.min(initial=0.0))
        if largest > HUGE:
            entry = int(np.argmax(np.abs(entries)))
            column = block.column_of_entry(entry)
            name = self.name_of(block, column)
            raise self._error_about(
                block, column,
                f"column {name} holds numbers beyond {HUGE:g}, whose squares cannot be held; "
                "divide it by a constant",
            )  # fmt: skip


class MeasuredStream(Measuring, FeatureStreamSelector):
    """Runs a rule for a feature stream with a measure."""

    #: Survivors compared with the kept set in one go. A prefetch: it cannot change a decision.
    look_ahead: int = 256

    saved_per_feature: ClassVar[Mapping[str, str]] = {"relevance": "_kept.relevance"}
    saved: ClassVar[Mapping[str, str]] = {
        "measure": "_named_measure",
        "why": "measure_reason_",
        "relevant": "_relevant",
        "pairs": "_kept.panel.pairs",
    }

    @property
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""
        self._check_started()
        return self._kept.features.copy() if hasattr(self, "_kept") else np.zeros(0, np.int64)

    def update(self, scored: ScoredBlock) -> None:
        """Take a scored block into the stream; blocks must come in order."""
        super().update(scored)
        self._meet(scored, 0, len(scored.features))

    def finish(self) -> None:
        """Warn if what was kept are not categories, where a measure for categories was given."""
        if hasattr(self, "_kept") and not self._picked_by_auto:
            self._warn_of_levels(self._kept.panel.mean_n_levels, "kept")

    def _meet(self, scored: ScoredBlock, first: int, last: int) -> None:
        """Compare survivors first..last-1 with the kept features."""
        for lo in range(first, last, self.look_ahead):
            self._update_some(scored, lo, min(lo + self.look_ahead, last))

    def _update_some(self, scored: ScoredBlock, lo: int, hi: int) -> None:
        """Take survivors lo..hi-1: foreseen drops in bulk, the others by the rule."""
        foresight = self._foreseen(scored, lo, hi)
        if foresight is None:
            for i in range(lo, hi):
                self._decide(scored.arrival(i))
            return
        waiting: list[int] = []
        still_kept = set(self._kept.features.tolist())
        for i, because in enumerate(foresight.because.tolist()):
            if because in still_kept:
                waiting.append(i)
                continue
            self._record(scored, lo, foresight, waiting)
            waiting.clear()
            if self._decide(scored.arrival(lo + i)).evicts:
                still_kept.intersection_update(self._kept.features.tolist())
        self._record(scored, lo, foresight, waiting)

    def _foreseen(self, scored: ScoredBlock, lo: int, hi: int) -> Foresight | None:
        """Return foreseen drops of survivors lo..hi-1, computed again where they no longer hold."""
        earlier, rest = None, np.arange(hi - lo)
        if scored.foresight is not None:
            earlier = scored.foresight.part(lo, hi)
            # Those that it left open are likely to be kept, so the rule decides at once.
            gone = ~np.isin(earlier.because, self._kept.features)
            rest = np.flatnonzero(gone & (earlier.because >= 0))
        if len(rest) < 2 or len(self._kept) == 0 or not self.rule.foresees:
            return earlier
        columns: Any = scored.columns
        if earlier is None:
            pairs = self._kept.panel.between_many(columns, lo, hi)
        else:
            pairs = self._kept.panel.between_many(columns.pick(lo + rest), 0, len(rest))
        now = self.rule.foresee(scored.strengths[lo + rest], pairs, self._kept)
        return now if earlier is None or now is None else earlier.filled(rest, now)

    def _decide(self, arrival: Arrival) -> Decision:
        """Let the rule decide about one feature, and carry it out."""
        decision = self._carry_out(self.rule.decide(arrival, self._kept), arrival)
        if self.on_settled is not None:
            self.on_settled(arrival.feature + 1)
        return decision

    def _carry_out(self, decision: Decision, arrival: Arrival) -> Decision:
        """Log a decision, evict and keep."""
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
        """Return the kept features, where many drops can be foreseen with them."""
        useful = self.rule.foresees and len(getattr(self, "_kept", ())) > 0
        return self._kept if useful else None

    def score_knowing(self, block: ColumnBlock, kept: Kept) -> ScoredBlock:
        """Score a block, and foresee what the kept features of a while ago drop."""
        scored = self.score(block)
        survivors, columns, parts = len(scored.features), scored.columns, []
        if not survivors or not isinstance(columns, Prepared):
            return scored
        with _pairing:
            for lo in range(0, survivors, self.look_ahead):
                hi = min(lo + self.look_ahead, survivors)
                pairs = kept.panel.between_many(columns, lo, hi)
                part = self.rule.foresee(scored.strengths[lo:hi], pairs, kept)
                if part is None:
                    return scored
                parts.append(part)
        return replace(scored, foresight=Foresight.joined(parts))

    # --- saving a stream -------------------------------------------------------------------

    @property
    def _named_measure(self) -> dict[str, Any]:
        """The measure as its name and its parameters."""
        return named(self.measure_)

    @_named_measure.setter
    def _named_measure(self, measure: Mapping[str, Any]) -> None:
        if not hasattr(self, "measure_"):
            self._use(from_name(**measure), "")

    def _keep_again(self, saved: Saved) -> None:
        self._named_measure = saved.numbers["measure"]
        ready = self._kept.panel.prepare(saved.columns, np.arange(saved.columns.width))
        pairs = zip(saved.features, saved.each["relevance"], strict=True)
        for i, (feature, relevance) in enumerate(pairs):
            self._kept.add(Arrival(int(feature), float(relevance), np.nan, ready[i]))


MeasuredRule.machinery = MeasuredStream
