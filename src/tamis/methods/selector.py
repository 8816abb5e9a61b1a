"""Selectors: what runs a rule over the columns of a source, block by block.

Taking a block has two halves. `score` is a pure function of the block, the target and the
parameters, so it may run earlier, elsewhere, or in parallel. `update` takes scored blocks in
order; only there do features meet what is kept.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import DecisionLog, Reason
from tamis.core.errors import InputError, NotStartedError, ParameterError, SourceError
from tamis.core.names import NameBook, Names
from tamis.core.target import Target
from tamis.kernels.scan import LARGEST, scan
from tamis.measures.auto import from_name, named
from tamis.measures.measure import Measure
from tamis.methods.rule import GATE_REASONS, REQUIRED
from tamis.sources.base import ColumnSource

#: A correlation multiplies two sums of squares: of larger numbers a double cannot hold that.
HUGE = 1e70


def cannot_use(name: str, what: str) -> str:
    """Return a message that a method cannot use weights or covariates."""
    return (
        f"{name} cannot use {what}; use a method with a measure, such as sieve, saola, fast-osfs, "
        "fcbf or mrmr"
    )


class ColumnSelector:
    """Runs a rule over the columns of a source, block by block.

    Parameters
    ----------
    rule : Rule
        The rule of the method.

    Attributes
    ----------
    method : str
        The name on the command line.
    log_ : DecisionLog
        What happened to every feature, and why.
    n_features_in_ : int
        Features seen so far.
    names : NameBook
        Names of the features seen so far.
    """

    log_: DecisionLog
    n_features_in_: int
    names: NameBook

    #: The measure in use, where the method has one, and why.
    measure_: Any
    measure_reason: str

    #: Called with the number of features settled so far; a loop that reports progress sets it.
    on_settled: Callable[[int], None] | None = None

    #: Reasons that come before those of the rule.
    common_reasons: ClassVar[Mapping[str, Reason]] = {}

    #: What `work_` counts, by name: attributes. Those of the rule follow them.
    counted: ClassVar[Mapping[str, str]] = {"features": "n_features_in_"}

    #: What values are taken for: "discrete" (categories, so words too), "continuous", or "".
    kind: str = ""
    #: Whether columns may hold missing values, as NaN; how many there were, in how many columns.
    takes_gaps: bool = False
    gaps: tuple[int, int] = (0, 0)
    #: Whether that was decided by the columns that came first.
    _picked_by_auto: bool = False
    #: The number of the first features, which must stay whatever the rule decides.
    required: int = 0
    #: Whether what is kept must not depend on the order in which columns arrive.
    free_order: bool = False
    #: Whether it decides when a table ends. Then the log tells what each table changed, so that it
    #: depends on how columns were fed; what is kept does not.
    waits_for_table: ClassVar[bool] = False
    #: Whether the selection is also repeated on parts of the rows, which keep groups of rows whole.
    rows_are_split: bool = False
    #: Whether features have other numbers than those in which they arrived (`renumber`).
    renumbered: bool = False
    #: Whether decisions about columns wait for the end of their table (`end_table`).
    is_inside_table: bool = False
    #: Turns the measure that "auto" picks into one that handles missing values.
    adapt_measure: Callable[[Measure], Measure] | None = None

    def __init__(self, rule: Any) -> None:
        self.rule = rule
        self.method: str = rule.name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.rule!r}>"

    # --- one pass over the columns ---------------------------------------------------------

    def start(
        self,
        y: Any,
        *,
        name_prefix: str = "x",
        name_base: int = 0,
        log: DecisionLog | None = None,
    ) -> Self:
        """Set the rows and their target, and forget everything seen before.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            The target.
        name_prefix, name_base : str, int
            Features without a name are called prefix + (arrival number + base).
        log : DecisionLog, optional
            The log to go on with, of a stream that is restored; it has its own names.
        """
        self.rule.check_params()
        self._target = Target.of(y)
        if log is None:
            self._target.refuse_constant()
        reasons = {**self.common_reasons, **self.rule.reasons()}
        if self.required or self._target.is_adjusted:
            self._refuse_adjustments()
            reasons |= {"required": REQUIRED} if self.required else {}
        if getattr(self.rule, "fdr", None) is not None:
            reasons |= GATE_REASONS
        if log is None:
            template_fields = {"target": "class" if self._target.is_classes else "target"}
            log = DecisionLog(reasons, NameBook(name_prefix, name_base), template_fields)
        newer = self.rule.newer_reasons
        old = [key for key in reasons if key not in newer]
        if [key for key in log.reasons if key not in newer][: len(old)] != old:
            raise SourceError(
                f"the log was written by a {self.rule.public_name} that gave other reasons; use "
                "the tamis that wrote it"
            )
        if not reasons.keys() <= log.reasons.keys():
            log.declare(reasons)
        self.log_, self.names, self.n_features_in_ = log, log.names, len(log)
        self.rule.begin(self._target)
        self._begin()
        return self

    def fresh(self) -> Self:
        """Return a selector with the same rule and settings that has not started."""
        copy = type(self)(self.rule.clone())
        copy.adapt_measure, copy.required = self.adapt_measure, self.required
        copy.rows_are_split = self.rows_are_split
        return copy

    def _log_required(self, relevance: npt.NDArray[np.float64]) -> None:
        """Log the features that must stay as kept, given their relevance."""
        every, nothing = np.arange(self.required), np.full(self.required, np.nan)
        self.log_.append_many("required", every, relevance, nothing, nothing)

    def renumber(self, positions: npt.NDArray[np.int64]) -> None:
        """Give feature j the number positions[j], once all columns were taken."""
        self.log_ = self.log_.renumbered(positions)
        self.names, self.renumbered = self.log_.names, True

    def _refuse_adjustments(self) -> None:
        """Raise an error for what the rule cannot use: weights, covariates, features to keep."""
        if self.required and not self.rule.keeps:
            raise InputError(
                f"{self.rule.public_name} cannot keep features on request (keep=); use a method "
                "such as sieve, saola, fast-osfs, fcbf, mrmr or relieff"
            )
        useless = not getattr(self.rule, "shadows", 0) and not self.rows_are_split
        if self._target.row_groups is not None and useless:
            raise InputError(
                "row_groups are rows that shadow worlds move together, and there are no worlds; "
                "add shadows=3 (--shadows 3), or leave row_groups out; tamis.judge and "
                "tamis.stability (--judge, --stability) keep them together too"
            )
        for what, there in (
            ("sample weights", self._target.weights), ("covariates", self._target.given)
        ):  # fmt: skip
            if there is not None and not self.rule.adjusts:
                raise InputError(cannot_use(self.rule.public_name, what))

    def _begin(self) -> None:
        """Set up for new columns; the target, the names and the log are already set."""

    def prepare(self, blocks: Iterable[ColumnBlock]) -> None:
        """Make the pass over the columns that must come before the first one is scored, if any."""

    @abstractmethod
    def score(self, block: ColumnBlock) -> Any:
        """Compute all that does not depend on what is kept: a pure function, in any order."""

    @abstractmethod
    def update(self, scored: Any) -> None:
        """Take a scored block; blocks must come in order."""

    def pass_over(self, width: int, names: Names | None, reason: str) -> None:
        """Log the next columns without looking at them."""
        self.n_features_in_ += width
        self.log_.append_bulk(np.full(width, np.nan, np.float32), np.nan, reason, names)

    def end_table(self) -> None:
        """Settle what waits for the end of a table that was fed (`is_inside_table`)."""

    @property
    def table_features(self) -> npt.NDArray[np.int64]:
        """Features of an unfinished table whose columns may still be needed."""
        return np.zeros(0, np.int64)

    def finish(self) -> None:
        """Settle what waits for the last column; a stream can still be fed afterwards."""

    @property
    @abstractmethod
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""

    @property
    def choices_(self) -> dict[str, str]:
        """What was chosen for the task and the measure, and why: one sentence for each."""
        found = {"task": f"{self._target.task}, because {self._target.reason}"}
        if hasattr(self, "measure_"):
            found["measure"] = f"{self.measure_!r}, because {self.measure_reason}"
        return found

    @property
    def trust(self) -> dict[str, Any]:
        """What is known about how far the selection can be trusted, as plain values."""
        return {}

    @property
    def scores_(self) -> npt.NDArray[np.float64]:
        """Relevance of each feature to the target; NaN where it was not measured."""
        return self.log_.scores

    @property
    def support_(self) -> npt.NDArray[np.bool_]:
        """Whether each feature is kept."""
        return self.log_.support

    @property
    def work_(self) -> dict[str, int]:
        """Counted work: what was computed, whatever the machine."""
        return {
            name: attrgetter(path)(owner)
            for owner in (self, self.rule)
            for name, path in owner.counted.items()
        }

    def run(self, source: ColumnSource, y: Any, width: int | None = None) -> Self:
        """Select from a whole source, block after block: the loop that any other must equal."""
        self.start(y, name_prefix=source.name_prefix, name_base=source.name_base)
        self.prepare(source.columns())
        self.log_.expected = source.n_columns or 0
        for block in source.columns(width):
            self.update(self.score(block))
        self.end_table()
        self.finish()
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in another process needs: it reports no progress."""
        return {key: value for key, value in vars(self).items() if key != "on_settled"}

    # --- with workers elsewhere ------------------------------------------------------------

    def snapshot(self) -> Any:
        """Return a copy of what is kept, for workers that can use it, or None."""
        return None

    # --- small steps -----------------------------------------------------------------------

    def name_of(self, block: ColumnBlock, column: int) -> str:
        """Return the name of a column of a block, for a sentence."""
        return block.name_of(column, self.names.prefix, self.names.base)

    def refuse_bad_values(self, block: ColumnBlock) -> None:
        """Raise an error for unsupported values: NaN, infinity, text instead of numbers."""
        if block.narrow is not None and block.narrow.dtype.kind == "i":
            return  # small whole numbers
        entries = block.entries if block.narrow is None else block.flat
        most = HUGE if self.kind == "continuous" else LARGEST
        not_finite, not_whole, beyond = scan(entries, most)
        if not_finite >= 0 and self.takes_gaps:
            infinite = np.isinf(entries)
            not_finite = int(np.argmax(infinite)) if infinite.any() else -1
        if not_finite >= 0:
            column = block.column_of_entry(not_finite)
            sentence = _of_gap(block, int(not_finite), self.name_of(block, column))
        elif (
            block.is_text is not None
            and block.is_text.any()
            and self.kind not in ("discrete", "any")
        ):
            column = block.first + int(np.argmax(block.is_text))
            sentence = (
                f"column {self.name_of(block, column)} holds words, which have no order, and "
                "numbers are needed here; leave it out (--ignore), make a column of each word "
                "(pandas.get_dummies, sklearn's OneHotEncoder), or turn numbers into categories "
                "too (--encode mdlp)"
            )
        elif beyond >= 0:
            column = block.column_of_entry(int(beyond))
            sentence = (
                f"column {self.name_of(block, column)} holds numbers beyond {HUGE:g}, whose "
                "squares cannot be held; divide it by a constant"
            )
        elif self.kind == "discrete" and self._picked_by_auto and not_whole >= 0:
            column = block.column_of_entry(not_whole)
            sentence = (
                f"column {self.name_of(block, column)} holds numbers that are not whole, but "
                f"measure='auto' had picked {self.measure_!r} from the columns before it; pass "
                "measure=FisherZ(), or turn the column into categories"
            )
        else:
            return
        called = block.called(column, self.names.prefix, self.names.base)
        raise InputError(sentence, column=called)  # the caller can leave that column out

    def _ready(self, block: ColumnBlock) -> ColumnBlock:
        """Return the block without stored zeros, or raise an error that says what is wrong."""
        if block.n_rows != self._target.n_rows:
            raise InputError(
                f"the columns have {block.n_rows} rows but the target has {self._target.n_rows}; "
                "feed columns of the same rows, in the same order"
            )
        self.refuse_bad_values(block)
        return block.without_zeros()

    def _in_order(self, first: int, width: int) -> None:
        """Count `width` columns from `first` on as seen, or refuse them."""
        if first != self.n_features_in_:
            raise InputError(
                f"a block that begins with feature {first} came when feature "
                f"{self.n_features_in_} was next; update with blocks in order"
            )
        self.n_features_in_ += width


def _of_gap(block: ColumnBlock, entry: int, name: str) -> str:
    """Return one sentence about a value that is not a number."""
    where = f"column {name}, row {block.row_of_entry(entry)} (counted from 0)"
    if np.isinf(block.entries[entry]):
        return (
            f"Input X contains infinity in {where}; put a number in its place, or drop the column"
        )
    return (
        f"Input X contains NaN (a missing value) in {where}; say what missing values mean with "
        "missing='category' or 'delete' (--missing), fill the gaps (for example with "
        "sklearn.impute.SimpleImputer), or drop the column or the rows"
    )


class FeatureStreamSelector(ColumnSelector):
    """Runs a rule for columns that arrive over time, one at a time, in order.

    What it keeps at any moment is what it would keep if no more columns came.

    The caller that saves the stream saves the target, the log and the values of the held columns. A
    selector adds the few numbers that do not follow from them (`state`), such as the wealth of
    alpha-investing. Everything else (panels, bases, distances) is recomputed by `restore`, so a
    file holds no internal structures that an untrusted file could corrupt.
    """

    #: What `state` holds, by name: attributes with one value per kept feature, and with one value.
    #: Those of the rule follow them.
    saved_per_feature: ClassVar[Mapping[str, str]] = {}
    saved: ClassVar[Mapping[str, str]] = {}
    #: Of those, what streams of earlier versions did not save.
    saved_later: ClassVar[frozenset[str]] = frozenset()

    #: The gate, if the rule has a false discovery rate, and what is saved of it.
    _gate: Any = None
    gate_memory: dict[str, Any]

    #: What the rule keeps, and the shadow worlds, if it has them.
    _kept: Any
    _shadows: Any = None

    #: Takes a measure into use, for the reason that is given, where the method has one.
    _use: Callable[[Measure, str], None]

    @property
    def ranking_(self) -> npt.NDArray[np.int64]:
        """Kept features, the most relevant first."""
        return self.log_.ranking()

    @property
    def candidates(self) -> npt.NDArray[np.int64]:
        """Kept features, and those that a rule holds in reserve, in order of arrival."""
        return self.kept_

    @property
    def held_features(self) -> npt.NDArray[np.int64]:
        """Features whose columns the stream needs to go on, in order of arrival."""
        return self.candidates

    def state(self) -> dict[str, Any]:
        """Return what the stream needs to resume, besides target, log and held columns.

        Nested dicts of numbers, strings and arrays: ``features`` are the `candidates`, ``each``
        has one entry for each of them in every array, ``numbers`` is about the whole.
        """
        state: dict[str, Any] = {"features": self.candidates, "each": {}, "numbers": {}}
        for owner in (self, self.rule):
            for name, path in owner.saved_per_feature.items():
                state["each"][name] = attrgetter(path)(owner)
            for name, path in owner.saved.items():
                state["numbers"][name] = attrgetter(path)(owner)
        if hasattr(self, "measure_"):
            state["numbers"]["measure"] = named(self.measure_)
        if self._gate is not None:
            state["numbers"]["gate"] = self.gate_memory
        return state if self._shadows is None else self._shadows.added_to(state)

    def restore(
        self, y: Any, state: Mapping[str, Any], columns: ColumnBlock, log: DecisionLog
    ) -> Self:
        """Resume from a `state` as if the stream had never been saved.

        `columns` are the held columns, oldest first. What follows from them is computed again.
        """
        has_worlds, own, held = "worlds" in state["each"], state, columns
        if has_worlds:
            from tamis.methods.shadow_worlds import without_decoys  # it imports this module

            own, held = without_decoys(state, columns)
        elif getattr(self.rule, "shadows", 0) and len(log):
            raise ParameterError("the selection was made without shadow worlds; leave shadows out")
        self.start(y, log=log)
        if "measure" in state["numbers"] and not hasattr(self, "measure_"):
            self._use(from_name(**state["numbers"]["measure"]), "")  # the first columns decided it
        self._keep_again({**own, "features": np.asarray(own["features"], np.int64)}, held)
        for owner in (self, self.rule):
            for name, path in owner.saved.items():
                parent, _, attribute = path.rpartition(".")
                holder = attrgetter(parent)(owner) if parent else owner
                if name in owner.saved_later and name not in state["numbers"]:
                    continue
                now, value = getattr(holder, attribute, None), state["numbers"][name]
                if isinstance(now, np.ndarray):  # an array of a file may be read-only, or flat
                    value = np.array(value, now.dtype)
                    value = value.reshape(now.shape) if value.size == now.size else value
                setattr(holder, attribute, value)
        if self._gate is not None and "gate" in state["numbers"]:
            self.gate_memory = state["numbers"]["gate"]
        if has_worlds:
            self._shadows.restore(state, columns, self._kept)
        return self

    def without(self, features: Sequence[int], columns: ColumnBlock) -> Self:
        """Return a copy that never held some features; `columns` are those of the ones that stay.

        What the log says about them is left to the caller.
        """
        state = self.state()
        stays = ~np.isin(state["features"], features)
        state["features"] = state["features"][stays]
        state["each"] = {key: array[stays] for key, array in state["each"].items()}
        copy = self.fresh().restore(self._target, state, columns, self.log_)
        copy._after_withdrawal()
        return copy

    @abstractmethod
    def _keep_again(self, state: Mapping[str, Any], columns: ColumnBlock) -> None:
        """Keep the features of a saved stream again, after `start`; see `restore`."""

    def _after_withdrawal(self) -> None:
        """Update what depends on all kept features after some were removed."""


class BatchSelector(ColumnSelector):
    """Runs a rule that decides when it has seen every column.

    It holds what it needs of the columns (`update`), and decides in `finish`, which sets
    `ranking_`.

    Attributes
    ----------
    ranking_ : ndarray of int
        The kept features in the order of the method, best first.
    """

    ranking_: npt.NDArray[np.int64]

    @property
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""
        if not hasattr(self, "ranking_"):
            raise NotStartedError(f"this {self.rule.public_name} has not seen every column yet")
        return np.sort(self.ranking_)

    def renumber(self, positions: npt.NDArray[np.int64]) -> None:
        """Give feature j the number positions[j], once all columns were taken."""
        super().renumber(positions)
        self.ranking_ = positions[self.ranking_]
