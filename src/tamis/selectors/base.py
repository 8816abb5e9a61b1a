"""Selectors: the noun they share, and the role for columns that arrive one by one.

A feature-stream selector is defined by `decide`: what it does with one arriving feature, given what
is kept. Everything else is here, once: start, feed, fit, the log, the scikit-learn contract.

Feeding a block has two halves. `examine` is a pure function of the block, the target and the
parameters (finite? relevant? ready for comparison), so it may run earlier, elsewhere, or in
parallel. `absorb` takes examined blocks in order and meets only the features that are relevant.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import Decision, DecisionLog, Reason, Verdict
from tamis.core.errors import InputError
from tamis.core.names import NameBook, Names
from tamis.core.params import Range, check
from tamis.core.target import Target
from tamis.kernels.scan import scan, sift
from tamis.measures.auto import choose, resolve
from tamis.measures.base import Measure, Strength
from tamis.selectors.arrivals import Arrival, Examined, Foresight, Kept
from tamis.sources.base import Report, Source, silent
from tamis.sources.memory import MemorySource, is_frame, is_series, one_column

Floats = npt.NDArray[np.float64]


_scratch = threading.local()


def _room_for(width: int) -> Strength:
    """Room for strengths that is used again and again by the same thread."""
    room: Strength | None = getattr(_scratch, "room", None)
    if room is None or len(room) < width:
        room = _scratch.room = Strength.room(width)
    return room


class Selector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """What every selector has: parameters, `kept_`, `log_`, `get_support`, `transform`."""

    #: Allowed values of each parameter; checked when data first arrives.
    ranges: ClassVar[Mapping[str, Range | Sequence[Range]]] = {}

    log_: DecisionLog
    n_features_in_: int

    @property
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""
        raise NotImplementedError

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Names of the kept features, in order of arrival."""
        check_is_fitted(self)
        if input_features is not None:
            # SelectorMixin checks that the names given are the names seen.
            return np.asarray(super().get_feature_names_out(input_features))
        return np.array([self.log_.names[int(f)] for f in self.kept_], dtype=object)

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=np.bool_)
        mask[self.kept_] = True
        return mask

    def _check_parameters(self) -> None:
        for name, allowed in self.ranges.items():
            check(type(self).__name__, name, getattr(self, name), allowed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


#: Maps `examine` over blocks and gives the results in order; `map` is one, threads another.
Examine = Callable[[Callable[[ColumnBlock], Examined], Iterable[ColumnBlock]], Iterable[Examined]]


class FeatureStreamSelector(Selector):
    """A selector for columns that arrive over time, one at a time, in order.

    Subclasses say what may be given as parameters (`ranges`), why a feature can be kept or dropped
    (`reasons`), and what to do with one arriving feature (`decide`).
    """

    #: The word for it on the command line: ``tamis select --method saola``.
    method: ClassVar[str]

    #: Survivors compared with the kept set in one go. A prefetch: it cannot change a decision.
    look_ahead: ClassVar[int] = 256

    measure: Measure | str

    def decide(self, arrival: Arrival, kept: Kept) -> Decision:
        """Decide about one relevant feature: keep it, drop it, evict others."""
        raise NotImplementedError

    @abstractmethod
    def reasons(self) -> dict[str, Reason]:
        """Every reason this selector can give; ``irrelevant`` and ``constant`` are always there."""

    def foresee(self, relevance: Floats, pairs: Floats, kept: Kept) -> Foresight | None:
        """Settle plain drops of many survivors at once, or None to ask `decide` about each.

        `pairs` are their strengths with the kept features. This may only say earlier what `decide`
        would say; the contract tests compare the two.
        """
        return None

    # --- the three ways in -----------------------------------------------------------------

    def run(
        self,
        source: Source,
        y: Any,
        examined: Examine = map,
        width: int | None = None,
        report: Report = silent,
    ) -> Self:
        """Select from a whole source; `examined` maps `examine` over its blocks, in order."""
        self.start(y, name_prefix=source.name_prefix, name_base=source.name_base)
        self._pick_measure(source.columns(), source.n_columns)
        if source.n_columns is not None:
            self.log_.reserve(source.n_columns)
        for block in examined(self.examine, source.columns(width, report)):
            self.absorb(block)
        return self

    def start(self, y: Any, *, name_prefix: str = "x", name_base: int = 0) -> Self:
        """Begin a stream: the rows and their target are fixed, columns will come by `feed`.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            The target.
        name_prefix, name_base : str, int
            Features that come without a name are called prefix + (arrival number + base).
        """
        self._check_parameters()
        target = Target.of(y)
        measure = resolve(self.measure)
        self._target = target
        self._names = NameBook(name_prefix, name_base)
        self._picked_by_auto = measure is None
        self.n_features_in_ = 0
        self._relevant = 0
        for stale in ("log_", "measure_", "measure_reason_", "_kept", "feature_names_in_"):
            if hasattr(self, stale):
                delattr(self, stale)
        if measure is not None:
            self._use(measure, "it was given")
        return self

    def feed(self, columns: Any, names: Sequence[str] | None = None) -> Self:
        """Take the next columns of the stream.

        Parameters
        ----------
        columns : array, scipy sparse matrix, data frame, Arrow table, series or ColumnBlock
            One or more columns with as many rows as the target. A 1-d array is one column.
        names : sequence of str, optional
            Their names; a data frame or a series brings its own.
        """
        if not hasattr(self, "_target"):
            raise NotFittedError(f"call {type(self).__name__}.start(y) before feed(columns)")
        for block in self._blocks_of(columns, names):
            self._pick_measure([block])
            self.absorb(self.examine(block))
        return self

    def fit(self, X: Any, y: Any) -> Self:
        """Select features from a whole table, its columns taken in order.

        Parameters
        ----------
        X : array, scipy sparse matrix, data frame or Arrow table of shape (n_rows, n_columns)
            The features.
        y : array-like of shape (n_rows,)
            The target: classes, or numbers for measures that take them.
        """
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        if is_frame(X):
            validate_data(self, X, skip_check_array=True)
            source = MemorySource(X, column_or_1d(y, warn=True))
        else:
            X, y = validate_data(
                self, X, y, accept_sparse=("csc", "csr"), dtype="numeric",
                ensure_all_finite=False, ensure_min_samples=2, y_numeric=False, multi_output=True,
            )  # fmt: skip
            source = MemorySource(X, column_or_1d(y, warn=True))
        given_names = getattr(self, "feature_names_in_", None)
        self.run(source, source.target())
        if given_names is not None:
            self.feature_names_in_ = given_names
        return self

    # --- the two halves of feeding ---------------------------------------------------------

    def examine(self, block: ColumnBlock) -> Examined:
        """Work out all that does not depend on what is kept: a pure function, in any order."""
        if block.n_rows != self._target.n_rows:
            raise InputError(
                f"the columns have {block.n_rows} rows but the target has {self._target.n_rows}; "
                "feed columns of the same rows, in the same order"
            )
        self._refuse_bad_values(block)
        block = block.without_zeros()
        width = block.width
        strength = self.measure_.relevance(block, self._target, out=_room_for(width))
        relevance, constant = np.empty(width, np.float32), np.empty(width, np.uint8)
        survivors = np.empty(width, np.int64)
        found, level = sift(strength.value, strength.level, relevance, constant, survivors)
        survivors = survivors[:found].copy()
        return Examined(
            block.first,
            block.names,
            relevance,
            strength.level.copy() if np.isnan(level) else level,
            constant,
            survivors + block.first,
            strength.value[survivors],
            strength.level[survivors],
            self._kept.panel.prepare(block, survivors),
        )

    def absorb(self, examined: Examined) -> None:
        """Take an examined block into the stream; blocks must come in order."""
        if examined.first != self.n_features_in_:
            raise InputError(
                f"a block that begins with feature {examined.first} came when feature "
                f"{self.n_features_in_} was next; absorb blocks in order"
            )
        # The reasons "irrelevant" and "constant" come first, so the marks 0 and 1 are their codes.
        self.log_.append_bulk(examined.relevance, examined.level, examined.constant, examined.names)
        self.n_features_in_ += examined.width
        self._relevant += len(examined.features)
        for lo in range(0, len(examined.features), self.look_ahead):
            self._absorb_some(examined, lo, min(lo + self.look_ahead, len(examined.features)))

    def _absorb_some(self, examined: Examined, lo: int, hi: int) -> None:
        """Take survivors lo..hi-1: those whose fate is foreseen in bulk, the others by the rule."""
        foresight = None
        if hi - lo > 1 and len(self._kept) and self._foresees():
            pairs = self._kept.panel.between_many(examined.columns, lo, hi)
            foresight = self.foresee(examined.strengths[lo:hi], pairs, self._kept)
        if foresight is None:
            for i in range(lo, hi):
                self._ask(examined.arrival(i))
            return
        waiting: list[int] = []
        still_kept = set(self._kept.features.tolist())
        for i, because in enumerate(foresight.because.tolist()):
            if because in still_kept:
                waiting.append(i)
                continue
            self._record(examined, lo, foresight, waiting)
            waiting.clear()
            if self._ask(examined.arrival(lo + i)).evicts:
                still_kept.intersection_update(self._kept.features.tolist())
        self._record(examined, lo, foresight, waiting)

    def _ask(self, arrival: Arrival) -> Decision:
        """Let the rule decide about one feature, and do as it says."""
        decision = self.decide(arrival, self._kept)
        self.log_.append(decision)
        if decision.evicts:
            self._kept.drop([e.feature for e in decision.evicts])
        if self.log_.keeps(decision):
            self._kept.add(arrival)
        return decision

    def _record(self, examined: Examined, lo: int, seen: Foresight, some: list[int]) -> None:
        """Log foreseen drops, in order, one run of equal reasons at a time."""
        if not some:
            return
        picks = np.array(some)
        reason = seen.reason[picks]
        for run in np.split(picks, np.flatnonzero(np.diff(reason)) + 1):
            self.log_.append_many(
                seen.reasons[int(seen.reason[run[0]])],
                examined.features[lo + run],
                examined.strengths[lo + run],
                seen.value[run],
                seen.level[run],
                seen.because[run],
            )

    def _foresees(self) -> bool:
        return type(self).foresee is not FeatureStreamSelector.foresee

    # --- what can be read ------------------------------------------------------------------

    @property
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""
        if not hasattr(self, "n_features_in_"):
            raise NotFittedError(f"this {type(self).__name__} has seen no columns yet")
        return self._kept.features.copy() if hasattr(self, "_kept") else np.zeros(0, np.int64)

    @property
    def work_(self) -> dict[str, int]:
        """Counted work: what was computed, whatever the machine."""
        check_is_fitted(self)
        return {
            "features": self.n_features_in_,
            "relevant": self._relevant,
            "pair_values": self._kept.panel.pairs if hasattr(self, "_kept") else 0,
        }

    # --- small steps -----------------------------------------------------------------------

    def _use(self, measure: Measure, why: str) -> None:
        measure.check_target(self._target)
        self.measure_ = measure
        self.measure_reason_ = why
        self._kept = Kept(measure.panel(self._target))
        self.log_ = DecisionLog(
            {**COMMON_REASONS, **self.reasons()}, self._names, measure.words(self._target)
        )

    def _pick_measure(self, blocks: Iterable[ColumnBlock], n_columns: int | None = None) -> None:
        if not hasattr(self, "measure_"):
            self._use(*choose(blocks, self._target, n_columns))

    def _blocks_of(self, columns: Any, names: Sequence[str] | None) -> Iterator[ColumnBlock]:
        given = None if names is None else Names.of(names)
        if isinstance(columns, ColumnBlock):
            yield ColumnBlock(
                self.n_features_in_, columns.n_rows, columns.values,
                given or columns.names, columns.kind, columns.group,
            )  # fmt: skip
            return
        if is_series(columns):
            columns, given = one_column(columns, given)
        elif getattr(columns, "ndim", 2) == 1:
            columns = np.asarray(columns).reshape(-1, 1)
        yield from MemorySource(columns, None, names=given, first=self.n_features_in_).columns()

    def _refuse_bad_values(self, block: ColumnBlock) -> None:
        not_finite, not_whole = scan(block.entries)
        if not_finite >= 0:
            name = block.name_of(block.column_of_entry(not_finite))
            raise InputError(
                f"Input X contains NaN or infinity in column {name}; drop the column, "
                "fill the gaps (for example with sklearn.impute.SimpleImputer), or drop the rows"
            )
        if not_whole >= 0 and self._picked_by_auto and self.measure_.kind == "discrete":
            name = block.name_of(block.column_of_entry(not_whole))
            raise InputError(
                f"column {name} holds numbers that are not whole, but measure='auto' had picked "
                f"{self.measure_!r} from the columns before it; pass measure=FisherZ(), or turn "
                "the column into categories"
            )


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
}
