"""Stopping rules: end a selection before the last column.

Wu et al. (TPAMI 2013) let online selection stop at a target accuracy, at a number of features, or
when nothing is gained any more. A rule is checked after each column, so it stops at the same one
for every block width and number of workers. Columns after that one are logged as not examined.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.decisions import Mark, Verdict
from tamis.core.errors import ParameterError
from tamis.core.names import Names
from tamis.core.params import Number, check, parameters
from tamis.core.sentences import counted, suggestion
from tamis.core.target import Target
from tamis.methods import rule
from tamis.methods.gates import GATES
from tamis.methods.selector import ColumnSelector, FeatureStreamSelector
from tamis.sources.base import ColumnSource

if TYPE_CHECKING:
    from tamis.engine.loop import ScoredColumns

#: The reason of columns after the stop.
UNEXAMINED = "unexamined"

#: The values of a kept column: all of them, or the rows and values of its nonzeros.
Held = tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Stop:
    """When to end a selection before the last column: at the first of these that holds.

    Parameters
    ----------
    features : int, optional
        As many features are kept.
    idle : int, optional
        So many columns came since the last one that was kept.
    accuracy : float, optional
        The kept features predict the class with this accuracy: a decision tree, in five stratified
        folds, measured each time a feature is kept.

    Examples
    --------
    >>> Stop.of("features=20"), Stop.of({"idle": 10_000, "accuracy": 0.95})
    (Stop(features=20), Stop(idle=10000, accuracy=0.95))
    """

    features: int | None = None
    idle: int | None = None
    accuracy: float | None = None

    def __post_init__(self) -> None:
        check("stop", "features", self.features, (Number(1, integer=True), None))
        check("stop", "idle", self.idle, (Number(1, integer=True), None))
        check("stop", "accuracy", self.accuracy, (Number(0, 1, open_low=True), None))

    def __repr__(self) -> str:
        return f"Stop({', '.join(f'{k}={v}' for k, v in self.settings().items())})"

    @classmethod
    def of(cls, given: Any) -> Stop | None:
        """Return a rule from ``{"features": 20}``, ``"features=20"`` or a list of such texts."""
        if given is None or isinstance(given, cls):
            return given
        if isinstance(given, str):
            given = [given]
        if not isinstance(given, Mapping | list | tuple):
            raise ParameterError(
                f"stop={given!r} does not say what to count; write stop='features=20', "
                "stop='idle=10000' or stop='accuracy=0.95'"
            )
        settings = dict(given) if isinstance(given, Mapping) else parameters(list(given), "stop")
        known = tuple(cls.__dataclass_fields__)
        for name in settings:
            if name not in known:
                raise ParameterError(
                    f"there is no stopping rule {name!r}; {suggestion(name, known)}"
                )
        return cls(**settings) if settings else None

    def settings(self) -> dict[str, Any]:
        """Return the rules that are set, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def for_selector(cls, given: Any, selector: ColumnSelector, target: Target) -> Stop | None:
        """Return a rule, or raise an error if a selector or a target cannot be stopped by it."""
        stop = cls.of(given)
        if stop is not None and not isinstance(selector, FeatureStreamSelector):
            raise ParameterError(
                f"{selector.method} decides when it has seen every column, so it cannot stop "
                "before; use a method for feature streams such as saola"
            )
        if stop is not None and selector.free_order:
            raise ParameterError(
                "where a stopping rule ends a selection depends on the order of the columns, so it "
                "cannot be used with order='free'; leave one of the two out"
            )
        gate = getattr(selector.rule, "gate", "")
        if stop is not None and getattr(selector.rule, "fdr", None) and GATES[gate].waits:
            raise ParameterError(
                f"gate={gate!r} decides when it has seen a whole table, so a selection cannot stop "
                "before; use gate='lord++'"
            )
        if stop is not None and stop.accuracy is not None and not target.is_classes:
            raise ParameterError(
                "stop: accuracy is for a target of classes; with numbers use features or idle"
            )
        return stop


class Stopper:
    """Updates a selector until a rule stops it, at the same column however blocks are cut.

    A block that may contain the stop is tried on the selector. If the log shows that a rule held
    inside, everything since the block is rolled back, and the selector takes the block up to there.

    Parameters
    ----------
    stop : Stop
        The rules.
    selector : ColumnSelector
        The selector, which may have seen columns.
    target : Target
        The target that an accuracy is measured on.
    held : mapping of int to (rows, values), optional
        The columns kept so far.
    """

    #: Returns columns lo to hi - 1 as the selector sees them, if workers did not send them.
    read: Callable[[int, int], ColumnBlock]
    #: Returns the widths and names of the columns that follow, given the number of the first.
    rest: Callable[[int], Iterable[tuple[int, Names | None]]]

    def __init__(
        self,
        stop: Stop,
        selector: ColumnSelector,
        target: Target,
        held: Mapping[int, Held] | None = None,
    ) -> None:
        self._stop, self._selector, self._target = stop, selector, target
        self._held = dict(held or {})
        self._kept: dict[int, None] = {}
        self._last = -1  # the last feature that was kept when it arrived
        self._replay(Mark())
        #: Whether a rule held, so that the columns that follow are not examined.
        self.ended = bool(selector.log_.stopped)

    def update(self, columns: ScoredColumns) -> ScoredColumns:
        """Update the selector; return the columns that it took, which are fewer at the stop."""
        selector, end = self._selector, columns.first + _width(columns)
        only_idle = self._stop.features is None and self._stop.accuracy is None
        if only_idle and end <= self._last + (self._stop.idle or 0):  # too early to stop
            mark = selector.log_.mark
            selector.update(columns.scores)
            self._replay(mark)
            return columns
        log = selector.log_
        before, known = _snapshot(selector), (dict(self._kept), self._last)
        mark = log.checkpoint()
        selector.update(columns.scores)
        found = self._first_stop(mark, columns, end)
        if found is None:
            if self._stop.accuracy is not None:
                needed = selector.held_features.tolist()  # type: ignore[attr-defined]
                self._hold(columns, needed)
                self._held = {feature: self._held[feature] for feature in needed}
            return columns
        at, why = found
        log.roll_back(mark)
        vars(selector).clear()
        vars(selector).update(before)
        self._kept, self._last = known
        part = self._block(columns).part(0, at + 1 - columns.first)
        selector.update(selector.score(part))
        self._replay(mark)
        self._end(log.names[at], why)
        size, names = part.width, part.names
        leak = None if columns.leak is None or columns.leak > at else columns.leak
        return replace(
            columns, end=columns.first + size, names=names, leak=leak,
            block=None if columns.block is None else part,
            hashes=None if columns.hashes is None else columns.hashes[:size],
            cuts=None if columns.cuts is None else columns.cuts.part(size),
        )  # fmt: skip

    def pass_over_rest(self) -> None:
        """Log the columns after the stop as not examined."""
        for width, names in self.rest(self._selector.n_features_in_) if self.ended else ():
            self._selector.pass_over(width, names, UNEXAMINED)
        for used in ("read", "rest"):  # they belong to these columns only
            vars(self).pop(used, None)

    def over(self, source: ColumnSource) -> Self:
        """Take the columns of a source, all of them, in order.

        A source of unknown length has no rest: nobody waits for columns that are not needed.
        """
        names = self._selector.log_.names

        def rest(start: int) -> Iterator[tuple[int, Names | None]]:
            total = source.n_columns
            if total is None or start >= total:
                return
            known = source.names()
            if known is not None:
                yield total - start, known.part(start, total)
            elif names.numbered:
                yield total - start, None
            else:
                for block in source.columns(None, start):
                    yield block.width, block.names

        self.read = lambda lo, hi: next(source.columns(hi - lo, lo, hi))
        self.rest = rest
        return self

    # --- small steps -------------------------------------------------------------------------

    def _end(self, name: str, why: str) -> None:
        log = self._selector.log_
        log.declare(rule.UNEXAMINED)
        log.template_fields |= {"stopped_at": name, "stopped_because": why}
        self.ended = True

    def _block(self, columns: ScoredColumns) -> ColumnBlock:
        if columns.block is not None:
            return columns.block
        return self.read(columns.first, columns.first + _width(columns))

    def _entries(self, mark: Mark) -> Iterator[int]:
        """Follow the decisions since a mark; yield each arrival that made a feature enter.

        All decisions that an arrival caused are followed before it is yielded. Those between groups
        come after the last arrival of a group, and belong to none.
        """
        log, kept, in_groups = self._selector.log_, self._kept, self._selector.rule.takes_groups
        arrays = log.since(replace(mark, features=len(log)))
        verdicts = log.reason_verdicts[arrays["event_reason"]].tolist()
        features, at = arrays["event_feature"].tolist(), arrays["event_at"].tolist()
        entered = False
        for i, (feature, moment, verdict) in enumerate(zip(features, at, verdicts, strict=True)):
            if verdict != Verdict.KEPT:
                kept.pop(feature, None)
            elif feature not in kept:
                kept[feature] = None
                entered = True
            settled = i + 1 == len(at) or at[i + 1] != moment or (in_groups and feature == moment)
            if settled and entered:
                yield moment
                entered = False

    def _replay(self, mark: Mark) -> None:
        """Follow the decisions since a mark."""
        for moment in self._entries(mark):
            self._last = moment

    def _first_stop(self, mark: Mark, columns: ScoredColumns, end: int) -> tuple[int, str] | None:
        """Return the first column of a block after which a rule holds, and why; None if none."""
        stop = self._stop
        for moment in self._entries(mark):
            if stop.idle is not None and self._last + stop.idle < moment:
                break
            self._last = moment
            if stop.features is not None and len(self._kept) >= stop.features:
                return moment, f"{counted(stop.features, 'feature was', 'features were')} kept"
            if stop.accuracy is not None:
                self._hold(columns, self._kept)
                accuracy = self._accuracy()
                if accuracy >= stop.accuracy:
                    return moment, (
                        f"the kept features predicted the class with a cross-validated accuracy of "
                        f"{accuracy:.4g}, which is at least {stop.accuracy:g}"
                    )
        if stop.idle is not None and self._last + stop.idle < end:
            none = counted(stop.idle, "column was", "columns were")
            return self._last + stop.idle, f"none of the last {none} kept"
        return None

    def _hold(self, columns: ScoredColumns, features: Iterable[int]) -> None:
        """Hold the columns of some features, those of a block among them."""
        new = [feature for feature in features if feature not in self._held]
        block = self._block(columns) if new else None
        for feature in new:
            assert block is not None
            self._held[feature] = _column(block, feature - block.first)

    def _accuracy(self) -> float:
        """Measure the kept features, with a module of a layer above this one."""
        rows = self._target.n_rows
        table = np.zeros((rows, len(self._kept)), order="F")
        for j, feature in enumerate(sorted(self._kept)):
            where, values = self._held[feature]
            table[where, j] = values
        judge: Any = importlib.import_module("tamis.evaluate.kept_accuracy")
        return float(judge.kept_accuracy(table, self._target.codes))


def _width(columns: ScoredColumns) -> int:
    """Return the number of scored columns."""
    if columns.block is not None:
        return columns.block.width
    return columns.end - columns.first


def _snapshot(selector: ColumnSelector) -> dict[str, Any]:
    """Return a copy of what a selector holds; the log, the names and the target are shared."""
    shared: dict[int, Any] = {
        id(one): one
        for one in (selector.log_, selector.names, selector._target, selector.on_settled)
        if one is not None
    }
    return copy.deepcopy(vars(selector), shared)


def _column(block: ColumnBlock, j: int) -> Held:
    """Return the rows and values of the nonzeros of column j."""
    if isinstance(block.values, Compressed):
        one = block.values.part(j, j + 1)
        return one.indices.astype(np.int32), one.data.astype(np.float64)
    rows = np.flatnonzero(block.values[:, j])
    return rows.astype(np.int32), block.values[rows, j].astype(np.float64)
