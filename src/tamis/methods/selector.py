"""Selectors: what runs a rule over the columns of a source, block by block.

Taking a block has two halves. `score` is a pure function of the block, the target and the
parameters, so it may run earlier, elsewhere, or in parallel. `update` takes scored blocks in
order; only there do features meet what is kept.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import DecisionLog, Reason
from tamis.core.errors import InputError, NotStartedError, SourceError
from tamis.core.names import NameBook
from tamis.core.target import Target
from tamis.kernels.scan import scan
from tamis.sources.base import ColumnSource


class ColumnSelector:
    """Runs a rule over the columns of a source, block by block.

    Parameters
    ----------
    rule : Rule
        The rule of the method.

    Attributes
    ----------
    log_ : DecisionLog
        What happened to every feature, and why; there is none before the measure is known.
    n_features_in_ : int
        Features seen so far.
    names : NameBook
        Names of the features seen so far.
    """

    log_: DecisionLog
    n_features_in_: int
    names: NameBook

    #: The measure in use and why, where the method has one.
    measure_: Any
    measure_reason_: str

    #: Called with the number of features settled so far; a loop that reports progress sets it.
    on_settled: Callable[[int], None] | None = None

    def __init__(self, rule: Any) -> None:
        self.rule = rule

    # --- what it is ------------------------------------------------------------------------

    @property
    def method(self) -> str:
        """The name on the command line."""
        return str(self.rule.name)

    @property
    def takes_groups(self) -> bool:
        """Whether it takes columns in groups."""
        return bool(self.rule.takes_groups)

    def get_params(self) -> dict[str, Any]:
        """Return the parameters of the rule by name."""
        params: dict[str, Any] = self.rule.get_params()
        return params

    def clone(self) -> Self:
        """Return a selector with the same parameters that has seen nothing."""
        return type(self)(self.rule.clone())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.rule!r}>"

    def reasons(self) -> dict[str, Reason]:
        """Return every reason that the log can hold, in the order of their codes."""
        reasons: dict[str, Reason] = self.rule.reasons()
        return reasons

    # --- one pass over the columns ---------------------------------------------------------

    def start(self, y: Any, *, name_prefix: str = "x", name_base: int = 0) -> Self:
        """Fix the rows and their target, and forget whatever came before.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            The target.
        name_prefix, name_base : str, int
            Features without a name are called prefix + (arrival number + base).
        """
        self.rule.check_params()
        self._target = Target.of(y)
        self._target.refuse_constant()
        self.names = NameBook(name_prefix, name_base)
        self.n_features_in_ = 0
        vars(self).pop("log_", None)
        self.rule.begin(self._target)
        self._begin()
        return self

    @abstractmethod
    def _begin(self) -> None:
        """Set up for new columns; the target and the names are there."""

    def _new_log(self, template_fields: Mapping[str, str]) -> None:
        """Begin the log, with these fields for its sentences."""
        self.log_ = DecisionLog(self.reasons(), self.names, template_fields)

    def prepare(self, blocks: Iterable[ColumnBlock], n_columns: int | None = None) -> None:
        """Make the pass over the columns that must come before the first one is scored, if any."""

    @abstractmethod
    def score(self, block: ColumnBlock) -> Any:
        """Compute all that does not depend on what is kept: a pure function, in any order."""

    @abstractmethod
    def update(self, scored: Any) -> None:
        """Take a scored block; blocks must come in order."""

    def finish(self) -> None:
        """Settle what waits for the last column; a stream can still be fed afterwards."""

    @property
    @abstractmethod
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""

    @property
    def work_(self) -> dict[str, int]:
        """Counted work: what was computed, whatever the machine."""
        self._check_started()
        return {"features": self.n_features_in_, **self.rule.work()}

    def run(self, source: ColumnSource, y: Any, width: int | None = None) -> Self:
        """Select from a whole source, block after block: the loop that any other must equal."""
        self.start(y, name_prefix=source.name_prefix, name_base=source.name_base)
        self.prepare(source.columns(), source.n_columns)
        for block in source.columns(width):
            self.update(self.score(block))
        self.finish()
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in another process needs: it reports no progress."""
        return {key: value for key, value in vars(self).items() if key != "on_settled"}

    # --- with workers elsewhere ------------------------------------------------------------

    def snapshot(self) -> Any:
        """Return what is kept now, for workers that can use it, or None."""
        return None

    def score_knowing(self, block: ColumnBlock, kept: Any) -> Any:
        """Score a block, given what was kept a while ago (`snapshot`)."""
        return self.score(block)

    # --- small steps -----------------------------------------------------------------------

    def name_of(self, block: ColumnBlock, column: int) -> str:
        """Return the name of a column of a block, for a sentence."""
        return block.name_of(column, self.names.prefix, self.names.base)

    def refuse_bad_values(self, block: ColumnBlock) -> int:
        """Raise one sentence for NaN or infinity; return the first entry not whole, or -1."""
        not_finite, not_whole = scan(block.entries)
        if not_finite >= 0:
            column = block.column_of_entry(not_finite)
            gap = _of_gap(block, int(not_finite), self.name_of(block, column))
            raise self._error_about(block, column, gap)
        if block.is_text is not None and block.is_text.any() and not self._takes_text():
            column = block.first + int(np.argmax(block.is_text))
            raise self._error_about(
                block, column,
                f"column {self.name_of(block, column)} holds words, which have no order, and "
                "numbers are needed here; leave it out (--ignore), make a column of each word "
                "(pandas.get_dummies, sklearn's OneHotEncoder), or turn numbers into categories "
                "too (--encode mdlp)",
            )  # fmt: skip
        return int(not_whole)

    def _takes_text(self) -> bool:
        """Tell whether codes without an order make sense to this selector as it is set up."""
        return False

    def _ready(self, block: ColumnBlock) -> ColumnBlock:
        """Return the block without stored zeros, or raise one sentence about what is wrong."""
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

    def _error_about(self, block: ColumnBlock, column: int, sentence: str) -> InputError:
        """Return an error that knows which column it is about, so that it can be left out."""
        called = block.called(column, self.names.prefix, self.names.base)
        return InputError(sentence, column=called)

    def _check_started(self) -> None:
        if not hasattr(self, "n_features_in_"):
            raise NotStartedError(f"this {self.rule.public_name} has seen no columns yet")


def _of_gap(block: ColumnBlock, entry: int, name: str) -> str:
    """Return one sentence about a value that is not a number."""
    where = f"column {name}, row {block.row_of_entry(entry)} (counted from 0)"
    if np.isinf(block.entries[entry]):
        return (
            f"Input X contains infinity in {where}; put a number in its place, or drop the column"
        )
    return (
        f"Input X contains NaN (a missing value) in {where}; say what missing values mean with "
        "missing= of tamis.select (--missing category or delete), fill the gaps (for example with "
        "sklearn.impute.SimpleImputer), or drop the column or the rows"
    )


@dataclass(frozen=True, eq=False)
class Saved:
    """A saved stream: the kept features, their columns, numbers of each of them, and others."""

    features: npt.NDArray[np.int64]
    columns: ColumnBlock
    each: Mapping[str, Any]
    numbers: Mapping[str, Any]


class FeatureStreamSelector(ColumnSelector):
    """Runs a rule for columns that arrive over time, one at a time, in order.

    What it keeps at any moment is what it would keep if no more columns came.

    The target, the log and the values of the kept columns are saved by whoever saves the stream. A
    selector adds the few numbers that do not follow from them (`state`), such as the wealth of
    alpha-investing. Everything else (panels, bases, distances) is computed again by `restore`, so
    a file holds no inner workings, and a strange file can break none.
    """

    #: What `state` holds, by name: attributes with one value per kept feature, and with one value.
    #: Those of the rule follow them.
    saved_per_feature: ClassVar[Mapping[str, str]] = {}
    saved: ClassVar[Mapping[str, str]] = {}

    def state(self) -> dict[str, Any]:
        """Return what the stream needs to resume, besides target, log and kept columns.

        Nested dicts of numbers, strings and arrays: ``features`` are the kept ones, ``each`` has
        one entry for each of them in every array, ``numbers`` is about the whole.
        """
        return {
            "features": self.kept_,
            "each": _read(self, self.saved_per_feature)
            | _read(self.rule, self.rule.saved_per_feature),
            "numbers": _read(self, self.saved) | _read(self.rule, self.rule.saved),
        }

    def restore(
        self, y: Any, state: Mapping[str, Any], columns: ColumnBlock, log: DecisionLog
    ) -> Self:
        """Resume from a `state` as if the stream had never been saved.

        `columns` are the kept columns, oldest first. What follows from them is computed again.
        """
        self.start(y, name_prefix=log.names.prefix, name_base=log.names.base)
        features = np.asarray(state["features"], dtype=np.int64)
        self._keep_again(Saved(features, columns, state["each"], state["numbers"]))
        _write(self, self.saved, state["numbers"])
        _write(self.rule, self.rule.saved, state["numbers"])
        declared = self.reasons()
        if list(log.reasons)[: len(declared)] != list(declared):
            raise SourceError(
                f"the log was written by a {self.rule.public_name} that gave other reasons; use "
                "the tamis that wrote it"
            )
        self.names, self.log_, self.n_features_in_ = log.names, log, len(log)
        return self

    def without(self, features: Sequence[int], columns: ColumnBlock) -> Self:
        """Return a copy that never kept some features; `columns` are those of the ones that stay.

        What the log says about them is left to the caller.
        """
        state = self.state()
        stays = ~np.isin(state["features"], features)
        state["features"] = state["features"][stays]
        state["each"] = {key: array[stays] for key, array in state["each"].items()}
        copy = self.clone().restore(self._target, state, columns, self.log_)
        copy._after_withdrawal()
        return copy

    @abstractmethod
    def _keep_again(self, saved: Saved) -> None:
        """Keep the features of a saved stream again, after `start`."""

    def _after_withdrawal(self) -> None:
        """Correct what depends on all kept features, when some were taken away."""


def _read(owner: Any, paths: Mapping[str, str]) -> dict[str, Any]:
    return {name: attrgetter(path)(owner) for name, path in paths.items()}


def _write(owner: Any, paths: Mapping[str, str], values: Mapping[str, Any]) -> None:
    for name, path in paths.items():
        parent, _, attribute = path.rpartition(".")
        holder, value = attrgetter(parent)(owner) if parent else owner, values[name]
        now = getattr(holder, attribute, None)
        if isinstance(now, np.ndarray):  # an array of a file may be read-only, or flat
            value = np.array(value, now.dtype)
            value = value.reshape(now.shape) if value.size == now.size else value
        setattr(holder, attribute, value)


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
