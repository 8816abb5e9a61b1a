"""Methods that score features with a measure: what they share, and those for feature streams.

Irrelevant features are logged in bulk and never meet the rule. The rule of a feature stream is
`decide`: what to do with one arriving feature that is relevant, given what is kept.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, most_levels
from tamis.core.decisions import Decision, Reason
from tamis.core.errors import ParameterError, warn
from tamis.core.false_keeps import FalseKeeps
from tamis.core.growable import with_one, without
from tamis.core.names import Names
from tamis.core.params import Number, OneOf, param
from tamis.core.target import Target
from tamis.kernels.scan import sift
from tamis.measures.auto import at_level, choose, resolve, usual_choices
from tamis.measures.measure import Floats, Measure, Panel, Prepared, Strength, together
from tamis.measures.panels import Walk
from tamis.methods.gated import Gating, check_gate
from tamis.methods.gates import GATES
from tamis.methods.known_pairs import Fetch, KnownPairs
from tamis.methods.replaying import Replaying
from tamis.methods.rule import CONSTANT, Rule, when_irrelevant
from tamis.methods.selector import ColumnSelector, FeatureStreamSelector

#: Reasons that the measure alone decides. They come first, so 0, 1 and 2 are their codes.
COMMON_REASONS = {
    "irrelevant": when_irrelevant("{name} was dropped as irrelevant: {level_missed}"),
    "constant": CONSTANT,
    "untested": when_irrelevant(
        "{name} was dropped as irrelevant: there are too few rows to test its dependence on the "
        "{target}"
    ),
}

#: The code of "untested".
UNTESTED = 2

#: The most shadow worlds; each is one bit of a saved number.
MOST_WORLDS = 50


# --- data exchanged between a stream and its rule ------------------------------------------------


@dataclass(frozen=True, eq=False)
class Arrival:
    """A relevant feature at the moment it arrives.

    `column` is what the measure's panel made of its values, `contents` a digest of the values
    themselves, where the rule needs one.
    """

    feature: int
    relevance: float
    level: float
    column: Any
    contents: bytes = b""


@dataclass(eq=False)
class Kept:
    """The kept features, oldest first, and the panel that compares newcomers with them.

    Attributes
    ----------
    features, relevance : ndarray
        Arrival numbers, and strengths towards the target.
    panel : Panel
        Compares a newcomer with them: ``kept.panel.between(arrival.column)``.
    measure : Measure
        The measure in use.
    """

    panel: Panel
    measure: Measure
    features: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    relevance: Floats = field(default_factory=lambda: np.zeros(0))
    #: The number of the oldest ones, which must stay.
    required: int = 0

    def __len__(self) -> int:
        return len(self.features)

    def add(self, arrival: Arrival) -> None:
        """Keep a feature."""
        self.panel.add(arrival.column)
        self.features = with_one(self.features, arrival.feature)
        self.relevance = with_one(self.relevance, arrival.relevance)

    def add_many(self, arrivals: Sequence[Arrival]) -> None:
        """Keep features, one after the other."""
        if not arrivals:
            return
        self.panel.add_many(together(arrival.column for arrival in arrivals))
        self.features = np.append(self.features, [arrival.feature for arrival in arrivals])
        self.relevance = np.append(self.relevance, [arrival.relevance for arrival in arrivals])

    def drop(self, features: Sequence[int]) -> None:
        """Drop features."""
        positions = np.searchsorted(self.features, np.asarray(features, dtype=np.int64))
        self.panel.drop(positions)
        self.features = without(self.features, positions)
        self.relevance = without(self.relevance, positions)


#: Stands for what is kept until the measure is known.
NOTHING: Any = SimpleNamespace(
    features=np.zeros(0, np.int64),
    decided_by_refusals=0,
    through=np.zeros(0, np.int64),
    panel=SimpleNamespace(pairs=0, mean_n_levels=0.0, tests=np.zeros(0), refused=np.zeros(0)),
)


@dataclass(frozen=True, eq=False)
class ScoredBlock:
    """Everything about a block that does not depend on what is kept.

    `relevance` and `level` go to the log (`level` is one number where all columns share it);
    the survivors, with their exact strengths, go to the rule. A worker that had a copy of the kept
    set adds the redundant pairs that it found, and then sends the columns of open survivors only.
    """

    first: int
    names: Names | None
    relevance: npt.NDArray[np.float32]
    level: float | Floats
    constant: npt.NDArray[np.uint8]
    features: npt.NDArray[np.int64]
    strengths: Floats
    levels: Floats
    columns: Sequence[Any]
    known: KnownPairs | None = field(default=None, kw_only=True)
    #: Reads the columns that were not sent.
    fetch: Fetch | None = field(default=None, kw_only=True)
    #: Digests of the values of survivors, where the rule needs them.
    contents: tuple[bytes, ...] = field(default=(), kw_only=True)
    #: Missing values, and columns that have some.
    gaps: tuple[int, int] = field(default=(0, 0), kw_only=True)
    #: P-values of all columns of the block, if the rule has a false discovery rate,
    #: the least ones that their counts allow, and positions of the tests in `Measure.tests`.
    p: Floats | None = field(default=None, kw_only=True)
    least_p: Floats | None = field(default=None, kw_only=True)
    test: npt.NDArray[np.uint8] | None = field(default=None, kw_only=True)
    #: The decoys that passed, one entry for each shadow world.
    decoys: tuple[Any, ...] = field(default=(), kw_only=True)

    def arrival(self, i: int, column: Any = None) -> Arrival:
        """Return survivor i; `column` is its column, if it is not among those of the block."""
        return Arrival(
            int(self.features[i]), float(self.strengths[i]), float(self.levels[i]),
            self.columns[i] if column is None else column,
            self.contents[i] if self.contents else b"",
        )  # fmt: skip

    def pick(self, which: npt.NDArray[np.intp], levels: Floats) -> Self:
        """Return the block with some of its survivors, at other levels."""
        known, columns, sent = self.known, self.columns, which
        if known is not None:
            sent = (np.cumsum(known.is_open) - 1)[which[known.is_open[which]]]
            known = known.pick(which)
        if len(sent) < len(columns):
            if isinstance(columns, Prepared):
                columns = columns.pick(sent)
            else:
                columns = [columns[i] for i in sent]
        contents = tuple(self.contents[i] for i in which.tolist()) if self.contents else ()
        return replace(
            self, features=self.features[which], strengths=self.strengths[which],
            levels=levels[which], columns=columns, known=known, contents=contents,
        )  # fmt: skip


#: What the rule would decide about survivors, if the kept set did not change: one entry each.
#:
#: Only plain drops can be foreseen: `because` is the kept feature that drops a survivor while none
#: is evicted, or -1 where the rule itself must decide. A drop holds as long as `because` is still
#: kept when the survivor's turn comes: features that are kept meanwhile come after it in the walk,
#: and those that left dropped no other. `reason` is a position in `MeasuredRule.foreseen`.
FORESIGHT = np.dtype(
    [("because", np.int64), ("value", np.float64), ("level", np.float64), ("reason", np.intp)]
)
Foresight = npt.NDArray[np.void]


# --- rules ---------------------------------------------------------------------------------------


class MeasuringRule(Rule):
    """A rule with a measure, whose gate only relevant features pass.

    Parameters
    ----------
    measure : {"auto", "mutual_information", "fisher_z", "any_shape", ...} or Measure
        How strongly a feature depends on the target, and on another feature. "auto" depends on
        the data: whole numbers with few levels and a class target get a measure of categories,
        everything else a measure of numbers; `measure_` is the one that was picked, and
        `choices_` says why. "paper" is "auto" with the tests and thresholds of the papers, whose
        p-values can be far too small: docs/trust.md.
    alpha : float, optional
        Significance level of a measure given by name or picked by "auto"; default: its own.
    fdr : float, optional
        Instead of one level for all columns: the expected share of false ones among the columns
        that pass is at most this. See docs/trust.md for what that needs.
    gate : {"lord++", "lond", "lond-any", "spending", "batch-bh", "bh", "by", "saffron", "addis"}
        How `fdr` is kept. "lord++" is the default for methods that decide as columns arrive, "bh"
        for those that see all columns first; "lond-any" and "by" hold whatever the dependence
        between columns; "batch-bh" decides about each fed table as a whole.

    Attributes
    ----------
    measure_ : Measure
        The measure in use.
    gate_ : Gate
        With `fdr`: the gate, with the numbers of tests and finds, the coming level, and the wealth
        that is left for coming tests.
    """

    #: Whether it decides as columns arrive, and whether it can control the false discovery rate.
    is_stream: ClassVar[bool] = False
    takes_fdr: ClassVar[bool] = True
    #: How decoys are judged (`tamis.methods.shadow_worlds.World`); None if they cannot be.
    world: ClassVar[type[Any] | None] = None

    #: What ``measure="paper"`` picks between; None: as "auto", with the tests of the papers.
    paper_measures: ClassVar[tuple[Measure, Measure] | None] = None

    measure: Measure | str = "auto"
    _: KW_ONLY
    alpha: float | None = param(None, Number(0, 1, open_low=True, open_high=True), None)
    fdr: float | None = param(None, Number(0, 1, open_low=True, open_high=True), None)
    gate: str = param("lord++", OneOf(tuple(GATES)))

    def check_params(self) -> None:
        """Raise an error for a parameter outside its range, or that the rule cannot have."""
        super().check_params()
        resolve(self.measure, self.alpha)
        if self.fdr is not None or self.gate != type(self).gate:
            check_gate(self)
        if getattr(self, "shadows", 0) and self.world is None:
            raise ParameterError(
                f"{self.public_name} cannot judge decoys, so it has no shadow worlds; leave "
                "shadows out, or use sieve, saola, group-saola, osfs or fast-osfs"
            )

    def needs_classes(self) -> bool:
        """Return whether the measure, given or picked for numbers, needs classes."""
        measure = resolve(self.measure, self.alpha) or self.usual_measures()[1]
        return self.only_classes or measure.needs_classes

    @property
    def gated(self) -> bool:
        """Whether columns below their level are dropped in bulk and never meet the rule.

        Without that gate every column that is not constant meets it.
        """
        return True

    @classmethod
    def usual_measures(cls) -> tuple[Measure, Measure]:
        """Return what ``measure="auto"`` picks between: for categories, and for numbers."""
        return usual_choices()

    def auto_measures(self) -> tuple[Measure, Measure]:
        """Return what "auto" or "paper", with these parameters, picks between."""
        if self.measure != "paper":
            return self.usual_measures()
        if self.paper_measures is not None:
            return self.paper_measures
        categories, numbers = self.usual_measures()
        return categories.with_paper_statistic(), numbers.with_paper_statistic()

    def kept(self, measure: Measure, target: Target) -> Kept:
        """Return an empty kept set, or raise an error if the measure is not supported."""
        return Kept(measure.panel(target), measure)

    def raise_cutoffs(self, cutoffs: Floats) -> None:
        """Raise, in place, the cutoffs above which columns are relevant."""

    def template_fields(self, kept: Any, target: Target) -> dict[str, str]:
        """Return the fields that the sentences share, given the empty kept set."""
        measure: Measure = kept.measure
        return measure.template_fields(target)


class MeasuredRule(MeasuringRule):
    """A rule for feature streams with a measure.

    Subclasses have a `name`, say which values their parameters may take (`param`) and why a
    feature can be kept or dropped (`reasons`), and decide about one arriving feature (`decide`).
    They all have the parameters `measure` and `alpha`.

    Parameters
    ----------
    shadows : int, default=0
        Shadow worlds that estimate how many of the kept features are luck (`false_keeps_`); 3 is
        the usual number. The selection itself stays the same. Each costs one more pass of
        relevance over the columns.
    random_state : int, default=0
        Seed of the row orders of the shadow worlds.

    Attributes
    ----------
    false_keeps_ : FalseKeeps
        With `shadows`: the number of kept features that are expected to be false, with its
        standard error.
    """

    is_stream: ClassVar[bool] = True
    #: With order="free", whether the most relevant feature comes first: the better of two is to
    #: stay.
    strongest_first: ClassVar[bool] = True

    #: The reasons of drops that `foresee` settles.
    foreseen: ClassVar[tuple[str, ...]] = ()

    _: KW_ONLY
    shadows: int = param(0, Number(0, MOST_WORLDS, integer=True))
    random_state: int = param(0, Number(0, integer=True))

    def decide(self, arrival: Arrival, kept: Any) -> Decision | None:
        """Decide about one relevant feature: keep it, drop it, evict others.

        A rule without a gate may return None for a feature that is logged as irrelevant already.
        """
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

    @property
    def compares_pairs(self) -> bool:
        """Whether its walk needs no more than the redundant pairs, so that workers find them."""
        return False

    def walking(self, kept: Kept) -> tuple[bool, bool, float, int] | None:
        """Return the numbers of the compiled walk that decides as `decide` does; None if none does.

        They are: whether the larger relevance is the bound, whether the older of two equally
        relevant features stays (else both do), the difference that is a tie, and how many of the
        oldest must stay. See `tamis.kernels.walk`; the contract tests compare the two.
        """
        return None


#: The reasons that a compiled walk gives, in the order of its codes.
WALKED = ("kept", "redundant", "tied", "evicted")

#: Which of two equally relevant features stays.
Ties = Literal["older", "newer", "neither"]

#: Parts of sentences: what happened, about the weaker of two features, and about the stronger.
DROPPED = "{name} was dropped as redundant: "
REPLACED = "{name} was kept until {because} arrived and made it redundant: "
WEAKER = "{relevance_symbol}={relevance} is not above its dependence on {because} ({value})"
BETTER = ", which is the better predictor ({because_relevance})"
OLDER = ", which predicts as well and came first"


def walk(
    arrival: Arrival,
    kept: Kept,
    values: Floats,
    bound: Floats,
    redundant: npt.NDArray[np.bool_],
    ties: Ties,
) -> Decision:
    """Compare a newcomer with every kept feature, oldest first, until one makes it redundant.

    `redundant` marks the redundant pairs, judged by their `values` and `bound`. Of such a pair the
    more relevant feature stays; `ties` says which if both are equally relevant. It is one walk: a
    feature that was evicted before the newcomer falls stays out. Reasons are "kept", "redundant",
    "tied" (equal, and the older stays) and "evicted".
    """
    tied = np.abs(kept.relevance - arrival.relevance) <= kept.measure.resolution
    older_wins = ~tied & (kept.relevance > arrival.relevance)
    newer_wins = ~tied & ~older_wins
    if ties == "older":
        older_wins |= tied
    elif ties == "newer":
        newer_wins |= tied
    newer_wins[: kept.required] = False

    throws_out = np.flatnonzero(redundant & older_wins)
    end = int(throws_out[0]) if len(throws_out) else len(tied)
    evicts = tuple(
        Decision(
            int(kept.features[i]), "evicted", float(kept.relevance[i]),
            float(values[i]), float(bound[i]), (arrival.feature,),
        )
        for i in np.flatnonzero((redundant & newer_wins)[:end])
    )  # fmt: skip
    if end == len(tied):
        return Decision(
            arrival.feature, "kept", arrival.relevance, level=arrival.level, evicts=evicts
        )
    return Decision(
        arrival.feature, "tied" if tied[end] else "redundant", arrival.relevance,
        float(values[end]), float(bound[end]), (int(kept.features[end]),), evicts,
    )  # fmt: skip


# --- selectors -----------------------------------------------------------------------------------

_scratch = threading.local()

#: A compiled walk takes this many times `look_ahead` survivors before it reports progress.
STRETCH = 8


def _room_for(width: int) -> Strength:
    """Return a buffer for strengths that the same thread reuses."""
    room: Strength | None = getattr(_scratch, "room", None)
    if room is None or len(room) < width:
        room = _scratch.room = Strength.room(width)
    return room


class Measuring(Gating):
    """Runs a rule with a measure.

    Attributes
    ----------
    measure_ : Measure
        The measure in use.
    """

    common_reasons: ClassVar[Mapping[str, Reason]] = COMMON_REASONS

    measure_: Measure

    counted: ClassVar[Mapping[str, str]] = {
        **ColumnSelector.counted, "relevant": "_relevant", "pair_values": "_kept.panel.pairs",
    }  # fmt: skip

    _kept: Any
    #: The shadow worlds, which only streams have; None without any.
    _shadows: Any = None

    # --- beginning -------------------------------------------------------------------------

    def _begin(self) -> None:
        self._relevant, self.gaps = 0, (0, 0)
        self._kept, self._gate, self._shadows = NOTHING, None, None
        if self.rule.fdr is not None:
            self._begin_gate()
        for stale in ("measure_", "measure_reason", "_recent"):
            vars(self).pop(stale, None)
        measure = resolve(self.rule.measure, self.rule.alpha)
        self._picked_by_auto = measure is None
        if measure is not None:
            own = self.rule.measure == type(self.rule).measure
            name = self.rule.public_name
            self._use(measure, f"it is the default of {name}" if own else "it was given")

    def prepare(self, blocks: Iterable[ColumnBlock]) -> None:
        """Pick a measure if that was left to the data."""
        if not hasattr(self, "measure_"):
            rule = self.rule
            between: tuple[Measure, Measure] = rule.auto_measures()
            if rule.alpha is not None:
                level = {"alpha": rule.alpha}
                between = (at_level(between[0], level), at_level(between[1], level))
            cannot = between[0].cannot_use(self._target)
            measure, why = between[1], f"{type(between[0]).__name__} cannot use {cannot}"
            if not cannot:
                measure, why = choose(
                    blocks, self._target, between, self.name_of, every=self.free_order
                )
            self._use(measure if self.adapt_measure is None else self.adapt_measure(measure), why)

    def _use(self, measure: Measure, why: str) -> None:
        measure.check_target(self._target)
        if self._target.is_adjusted:
            measure = measure.for_adjusted(self._target)
        self._kept = self.rule.kept(measure, self._target)
        self.measure_, self.measure_reason = self._kept.measure, why
        self.kind, self.takes_gaps = self.measure_.kind, self.measure_.takes_gaps
        if not len(self.log_):  # a stream that is restored has its texts
            self.log_.template_fields |= self.rule.template_fields(self._kept, self._target)
            if self._gate is not None:
                self.log_.template_fields |= self._gate_fields(self.measure_)
                self.log_.template_fields.pop("tests", None)
        if getattr(self.rule, "shadows", 0):
            from tamis.methods.shadow_worlds import Shadows  # it imports this module

            self._shadows = Shadows(self.rule, self.measure_, self._target)

    # --- the two halves of taking a block --------------------------------------------------

    def score(self, block: ColumnBlock) -> ScoredBlock:
        """Compute all that does not depend on what is kept: a pure function, in any order."""
        if self._gate is not None:
            return self._score_tested(block, ScoredBlock)
        block = self._ready(block)
        width = block.width
        strength, *of_worlds = self.measure_.relevance_to_each(
            block, self._targets, out=_room_for(width)
        )
        self.rule.raise_cutoffs(strength.cutoff)
        relevance, constant = np.empty(width, np.float32), np.empty(width, np.uint8)
        survivors = np.empty(width, np.int64)
        found, level = sift(
            strength.value, strength.cutoff, strength.logged, relevance, constant, survivors
        )
        survivors = survivors[:found].copy() if self.rule.gated else np.flatnonzero(constant == 0)
        if block.first < self.required:
            must_stay = np.arange(min(self.required - block.first, width))
            survivors = np.union1d(must_stay, survivors)
        if not np.isfinite(level):  # else all share a level that can be reached
            constant[np.isposinf(strength.cutoff)] = UNTESTED
        return ScoredBlock(
            block.first,
            block.names,
            relevance,
            strength.logged.copy() if np.isnan(level) else level,
            constant,
            survivors + block.first,
            strength.value[survivors],
            strength.cutoff[survivors],
            self._kept.panel.prepare(block, survivors),
            gaps=block.count_gaps() if self.takes_gaps else (0, 0),
            decoys=self._decoys(block, of_worlds),
        )

    def update(self, scored: ScoredBlock) -> None:
        """Log a scored block in bulk, then take its survivors; blocks must come in order."""
        self._in_order(scored.first, len(scored.relevance))
        if self._gate is not None:
            self._through_gate(scored)
        else:
            if self._shadows is not None:
                self._shadows.expect(scored.decoys)
            # The marks of `score` are the codes of the reasons that come first.
            self.log_.append_bulk(scored.relevance, scored.level, scored.constant, scored.names)
            self._relevant += int(np.count_nonzero(scored.strengths > scored.levels))
            self.gaps = self.gaps[0] + scored.gaps[0], self.gaps[1] + scored.gaps[1]
            self._take(scored, 0, len(scored.features))
        if self._shadows is not None:
            self._shadows.catch_up(self.n_features_in_, self._kept)

    @abstractmethod
    def _take(self, scored: ScoredBlock, first: int, last: int) -> None:
        """Take survivors first..last-1 of a block."""

    @property
    def false_keeps_(self) -> FalseKeeps:
        """How many of the kept features are expected to be false."""
        if not getattr(self.rule, "shadows", 0):
            raise AttributeError("false_keeps_ needs shadow worlds; set shadows=3")
        if self._shadows is None:  # no column came yet
            return FalseKeeps(0, (0,) * self.rule.shadows)
        found: FalseKeeps = self._shadows.false_keeps(self._kept, len(self.kept_))
        return found

    @property
    def trust(self) -> dict[str, Any]:
        """What is known about how far the selection can be trusted, as plain values."""
        found: dict[str, Any] = {}
        if self._gate is not None:
            found["gate"] = self._gate.record() | {"reachable": self._reachable}
        if getattr(self.rule, "shadows", 0):
            found["false_keeps"] = self.false_keeps_.record()
        return found

    @property
    def gate_memory(self) -> dict[str, Any]:
        """What a saved stream holds of its gate."""
        assert self._gate is not None
        return {**self._gate.memory, "reachable": self._reachable}

    @gate_memory.setter
    def gate_memory(self, saved: Mapping[str, Any]) -> None:
        assert self._gate is not None
        self._gate.memory, self._reachable = saved, int(saved["reachable"])

    def _warn_of_levels(self, mean: float, what: str) -> None:
        """Warn about columns whose values are not categories, if the measure treats them so."""
        if mean > most_levels(self._target.n_rows):
            other = "pass measure='fisher_z', or " if "measure" in self.rule.parameter_names else ""
            warn(
                f"{self.measure_!r} takes every value as a category, but a {what} column has "
                f"{mean:.0f} different values on average, too many for {self._target.n_rows} rows; "
                f"{other}cut the columns into a few categories first (--encode mdlp, encode='mdlp' "
                "of tamis.select, or tamis.encode.MDLP in a pipeline)"
            )


class MeasuredStream(Replaying, Measuring, FeatureStreamSelector):
    """Runs a rule for a feature stream with a measure."""

    #: Survivors compared with the kept set in one go. A prefetch: it cannot change a decision.
    look_ahead: int = 256

    saved_per_feature: ClassVar[Mapping[str, str]] = {"relevance": "_kept.relevance"}
    saved: ClassVar[Mapping[str, str]] = {
        "why": "measure_reason",
        "relevant": "_relevant",
        "pairs": "_kept.panel.pairs",
        "gaps": "gaps",
    }
    saved_later: ClassVar[frozenset[str]] = frozenset({"gaps"})

    @property
    def _targets(self) -> list[Target]:
        return [self._target, *(() if self._shadows is None else self._shadows.targets)]

    def _decoys(self, block: ColumnBlock, of_worlds: Sequence[Any]) -> tuple[Any, ...]:
        if self._shadows is None:
            return ()
        found: tuple[Any, ...] = self._shadows.decoys(block, of_worlds, self.required)
        return found

    def _watched(self, scored: ScoredBlock) -> Floats | None:
        if self._shadows is None or scored.p is None:
            return None
        least = scored.p.copy()
        for decoys in scored.decoys:
            np.minimum.at(least, decoys.features - scored.first, decoys.levels)
        return least

    def _expect_decoys(self, scored: ScoredBlock, level: float | Floats) -> None:
        if self._shadows is not None:
            of_width = np.broadcast_to(level, len(scored.relevance))
            at = [decoys.features - scored.first for decoys in scored.decoys]
            met = zip(scored.decoys, at, strict=True)
            self._shadows.expect([decoys.within(of_width[where]) for decoys, where in met])

    def _end_of_block(self, end: int) -> None:
        if self._shadows is not None:
            self._shadows.catch_up(end, self._kept)

    @property
    def held_features(self) -> npt.NDArray[np.int64]:
        """The candidates, and the features whose decoys a shadow world keeps."""
        if self._shadows is None:
            return self.candidates
        return np.union1d(self.candidates, self._shadows.features)

    @property
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""
        features: npt.NDArray[np.int64] = self._kept.features.copy()
        return np.sort(features) if self.renumbered else features

    def renumber(self, positions: npt.NDArray[np.int64]) -> None:
        """Give feature j the number positions[j], once all columns were taken."""
        super().renumber(positions)
        self._kept.features = positions[self._kept.features]

    def finish(self) -> None:
        """Warn if kept columns are not categories but the given measure is for categories."""
        if self.kind == "discrete" and not self._picked_by_auto:
            self._warn_of_levels(self._kept.panel.mean_n_levels, "kept")

    def _take(self, scored: ScoredBlock, first: int, last: int) -> None:
        """Keep what must stay, and let the other survivors of first..last-1 meet the rule."""
        if scored.known is not None or self._recent is not None:
            self._take_beside_copies(scored, first, last)
            return
        first = self._take_required(scored, first, last)
        if not self._walk(scored, first, last):
            self._decide_each(scored, first, last)

    def _decide_each(self, scored: ScoredBlock, first: int, last: int) -> None:
        """Let survivors first..last-1 meet the rule, one by one unless their drop is foreseen."""
        for lo in range(first, last, self.look_ahead):
            hi = min(lo + self.look_ahead, last)
            still_kept, causes = set(), [-1] * (hi - lo)
            foresight: Any = None
            if hi - lo > 1 and len(self._kept.features):
                foresight = self._foreseen(scored, lo, hi)
            if foresight is not None:
                still_kept = set(self._kept.features.tolist())
                causes = foresight["because"].tolist()
            recorded = lo  # survivors before this one are in the log
            for i, cause in enumerate(causes, lo):
                if cause in still_kept:
                    continue
                if recorded < i:
                    self._record(scored, lo, foresight, recorded, i)
                recorded = i + 1
                arrival = scored.arrival(i)
                decision = self.rule.decide(arrival, self._kept)
                if decision is None:
                    continue
                if self.required and decision.evicts:
                    leave = tuple(e for e in decision.evicts if e.feature >= self.required)
                    decision = replace(decision, evicts=leave)
                self._carry_out(decision, arrival)
                if decision.evicts:
                    still_kept.intersection_update(self._kept.features.tolist())
            if recorded < hi:
                self._record(scored, lo, foresight, recorded, hi)

    def _walk(self, scored: ScoredBlock, first: int, last: int) -> bool:
        """Let survivors first..last-1 meet the rule in a compiled walk, if there is one."""
        if first == last or self._shadows is not None:
            return False
        numbers = self.rule.walking(self._kept)
        if numbers is None or not getattr(self._kept.panel, "walks", False):
            return False
        kept, step = self._kept, STRETCH * self.look_ahead
        walk = Walk((scored.features, scored.strengths, scored.levels), numbers, kept)
        for lo in range(first, last, step):
            hi = min(lo + step, last)
            kept.panel.walk(scored.columns, lo, hi, walk)
            events = walk.take_events()
            self.log_.append_events(WALKED, *events)
            self._walked(scored, events)
            if self.on_settled is not None:
                self.on_settled(int(scored.features[hi - 1]) + 1)
        return True

    def _walked(self, scored: ScoredBlock, events: tuple[npt.NDArray[Any], ...]) -> None:
        """Note what a compiled walk did."""

    def _foreseen(self, scored: ScoredBlock, lo: int, hi: int) -> Foresight | None:
        """Return foreseen drops of survivors lo..hi-1."""
        if not self.rule.foresees:
            return None
        pairs = self._kept.panel.between_many(scored.columns, lo, hi)
        found: Foresight | None = self.rule.foresee(scored.strengths[lo:hi], pairs, self._kept)
        return found

    def _take_required(self, scored: ScoredBlock, first: int, last: int) -> int:
        """Keep features that must stay, whatever the rule would decide; return the next one."""
        while first < last and scored.features[first] < self.required:
            arrival = scored.arrival(first)
            decision = Decision(arrival.feature, "required", arrival.relevance, level=arrival.level)
            self._carry_out(decision, arrival)
            self._kept.required += 1
            first += 1
        return first

    def _carry_out(self, decision: Decision, arrival: Arrival) -> None:
        """Log a decision, evict and keep."""
        if self._shadows is not None:
            self._shadows.catch_up(arrival.feature, self._kept)
        keeps, gone = self.log_.append(decision), [e.feature for e in decision.evicts]
        if gone:
            self._kept.drop(gone)
        if keeps:
            self._kept.add(arrival)
        if self._shadows is not None and (keeps or gone):
            self._shadows.changed(self._kept, arrival if keeps else None, gone)
        if self.on_settled is not None:
            self.on_settled(arrival.feature + 1)

    def _record(self, scored: ScoredBlock, lo: int, seen: Foresight, first: int, end: int) -> None:
        """Log foreseen drops of survivors first..end-1, one run of equal reasons at a time."""
        picks = np.arange(first - lo, end - lo)
        for run in np.split(picks, np.flatnonzero(np.diff(seen["reason"][picks])) + 1):
            some = seen[run]
            self.log_.append_many(
                self.rule.foreseen[some["reason"][0]], scored.features[lo + run],
                scored.strengths[lo + run], some["value"], some["level"], some["because"],
            )  # fmt: skip

    # --- saving a stream -------------------------------------------------------------------

    def _keep_again(self, state: Mapping[str, Any], columns: ColumnBlock) -> None:
        ready = self._kept.panel.prepare(columns, np.arange(columns.width))
        pairs = zip(state["features"], state["each"]["relevance"], strict=True)
        for i, (feature, relevance) in enumerate(pairs):
            self._kept.add(Arrival(int(feature), float(relevance), np.nan, ready[i]))
        self._kept.required = int(np.count_nonzero(state["features"] < self.required))


MeasuredRule.machinery = MeasuredStream
