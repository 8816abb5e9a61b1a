"""Selectors: the noun they share, and the roles: columns that arrive one by one, and all at once.

Taking a block has two halves. `score` is a pure function of the block, the target and the
parameters, so it may run earlier, elsewhere, or in parallel. `update` takes examined blocks in
order; only there do features meet what is kept.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from tamis.core.blocks import ColumnBlock
from tamis.core.decisions import DecisionLog, Reason
from tamis.core.errors import InputError
from tamis.core.names import NameBook, Names
from tamis.core.params import Range, check
from tamis.core.target import Target
from tamis.kernels.scan import scan
from tamis.methods.restoring import Restorable
from tamis.methods.telling import Telling, untold
from tamis.sources.base import Report, Source, silent
from tamis.sources.memory import MemorySource, is_frame, is_series, one_column, without_row_labels


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

    def transform(self, X: Any) -> Any:
        """Reduce a table, whose columns are those that were fitted, to the kept features."""
        return super().transform(without_row_labels(X))

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=np.bool_)
        mask[self.kept_] = True
        return mask

    def _repr_html_(self) -> str:
        """In a notebook: the parameters as scikit-learn shows them, and what was decided."""
        log = getattr(self, "log_", None)
        decided = "" if log is None else log._repr_html_()
        return str(estimator_html_repr(self)) + decided

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _check_parameters(self) -> None:
        for name, allowed in self.ranges.items():
            check(type(self).__name__, name, getattr(self, name), allowed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


#: Gives the blocks of a source, so wide, as the selector examines them, in order, telling progress:
#: one after the other here (`in_turn`), ahead in a thread, or on other machines.
Scoring = Callable[["ColumnSelector", Source, int | None, Report, int], Iterable[Any]]


def in_turn(
    selector: ColumnSelector, source: Source, width: int | None, report: Report, start: int = 0
) -> Iterable[Any]:
    """Examine each block when it is wanted."""
    return map(selector.score, source.columns(width, start, progress=report))


class ColumnSelector(Selector):
    """A selector that takes the columns of a whole source, block by block.

    Subclasses say what may be given as parameters (`ranges`), why a feature can be kept or dropped
    (`reasons`), how a run begins (`_begin`), and the two halves of taking a block (`score`,
    `update`); what waits for the last column is settled in `finish`.
    """

    #: The word for it on the command line: ``tamis select --method saola``.
    method: ClassVar[str]

    #: Whether it takes columns in groups.
    takes_groups: ClassVar[bool] = False

    #: Told how many features are settled, while `run` goes on.
    _tell: Callable[[int], None] = staticmethod(untold)

    @abstractmethod
    def reasons(self) -> dict[str, Reason]:
        """Every reason this selector can give."""

    @abstractmethod
    def _begin(self) -> None:
        """Set up for new columns; the target and the names are there."""

    def prepare(self, blocks: Iterable[ColumnBlock], n_columns: int | None = None) -> None:
        """Look at the data before the first column is taken, to pick what is left to be picked."""

    @abstractmethod
    def score(self, block: ColumnBlock) -> Any:
        """Work out all that does not depend on what is kept: a pure function, in any order."""

    def snapshot(self) -> Any:
        """What is kept now, for workers that can make use of it, or None."""
        return None

    def score_knowing(self, block: ColumnBlock, kept: Any) -> Any:
        """Examine a block where something is known of what was kept a while ago (`snapshot`)."""
        return self.score(block)

    @abstractmethod
    def update(self, scored: Any) -> None:
        """Take an examined block; blocks must come in order."""

    def finish(self) -> None:
        """Settle what waits for the last column; a stream can still go on afterwards."""

    @property
    def work_(self) -> dict[str, int]:
        """Counted work: what was computed, whatever the machine."""
        check_is_fitted(self)
        return {"features": self.n_features_in_}

    def plot(self) -> Any:
        """Draw how the kept set grew, or where features went if all came at once.

        Returns a matplotlib figure; `log_.plot_growth()` and `log_.plot_flow()` draw either.
        """
        check_is_fitted(self)
        return self.log_.plot_growth() if self.log_.is_in_order else self.log_.plot_flow()

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
            X = without_row_labels(X)
            source = MemorySource(X, column_or_1d(y, warn=True))
            validate_data(self, X, skip_check_array=True)
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

    def run(
        self,
        source: Source,
        y: Any,
        scoring: Scoring = in_turn,
        width: int | None = None,
        report: Report = silent,
    ) -> Self:
        """Select from a whole source, whose blocks come examined, in order."""
        self._start(y, source.name_prefix, source.name_base)
        self.prepare(source.columns(), source.n_columns)
        return self.go_on(source, scoring, width, report)

    def go_on(
        self,
        source: Source,
        scoring: Scoring = in_turn,
        width: int | None = None,
        report: Report = silent,
        start: int = 0,
    ) -> Self:
        """Take the blocks of a source from column `start` on, which come scored, in order."""
        if source.n_columns is not None:
            self.log_.reserve(source.n_columns)
        # What examines is this selector as it is now, which is small: it has seen nothing yet.
        blocks = scoring(self, source, width, report, start)
        self._tell = Telling(report, source.n_columns)
        try:
            for block in blocks:
                self.update(block)
                self._tell(self.n_features_in_)
            self.finish()
        finally:
            del self._tell
        return self

    def __getstate__(self) -> dict[str, Any]:
        """What a copy elsewhere needs: from there nobody is told how far it is."""
        state: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_tell"}

    # --- small steps -----------------------------------------------------------------------

    def _start(self, y: Any, name_prefix: str, name_base: int) -> None:
        """Fix the rows and their target, and forget whatever came before."""
        self._check_parameters()
        self._target = Target.of(y)
        self._target.refuse_constant()
        self._names = NameBook(name_prefix, name_base)
        self.n_features_in_ = 0
        for stale in ("log_", "feature_names_in_", "ranking_"):
            if hasattr(self, stale):
                delattr(self, stale)
        self._begin()

    def _new_log(self, template_fields: Mapping[str, str]) -> None:
        """Begin the log, with the reasons of this selector."""
        self.log_ = DecisionLog(self.reasons(), self._names, template_fields)

    def _ready(self, block: ColumnBlock) -> ColumnBlock:
        """The block as measures and models want it, or one sentence about what is wrong."""
        if block.n_rows != self._target.n_rows:
            raise InputError(
                f"the columns have {block.n_rows} rows but the target has {self._target.n_rows}; "
                "feed columns of the same rows, in the same order"
            )
        self._refuse_bad_values(block)
        return block.without_zeros()

    def _in_order(self, first: int, width: int) -> None:
        """Count `width` columns from `first` on as seen, or refuse them."""
        if first != self.n_features_in_:
            raise InputError(
                f"a block that begins with feature {first} came when feature "
                f"{self.n_features_in_} was next; absorb blocks in order"
            )
        self.n_features_in_ += width

    def _name_of(self, block: ColumnBlock, column: int) -> str:
        return block.name_of(column, self._names.prefix, self._names.base)

    def _in_the_way(self, block: ColumnBlock, column: int, sentence: str) -> InputError:
        """An error that knows which column it is about, so that it can be left out."""
        called = block.called(column, self._names.prefix, self._names.base)
        return InputError(sentence, column=called)

    def _refuse_bad_values(self, block: ColumnBlock) -> int:
        """Raise one sentence for NaN or infinity; give the first entry that is not whole, or -1."""
        not_finite, not_whole = scan(block.entries)
        if not_finite >= 0:
            column = block.column_of_entry(not_finite)
            gap = _of_gap(block, int(not_finite), self._name_of(block, column))
            raise self._in_the_way(block, column, gap)
        if block.is_text is not None and block.is_text.any() and not self._takes_words():
            column = block.first + int(np.argmax(block.is_text))
            name = self._name_of(block, column)
            raise self._in_the_way(
                block, column,
                f"column {name} holds words, which have no order, and numbers are needed here; "
                "leave it out (--ignore), make a column of each word (pandas.get_dummies, "
                "sklearn's OneHotEncoder), or turn numbers into categories too (--encode mdlp)",
            )  # fmt: skip
        return int(not_whole)

    def _takes_words(self) -> bool:
        """Whether codes without an order make sense to this selector as it is set up."""
        measure = getattr(self, "measure_", None)
        return measure is not None and measure.kind == "discrete"


def _of_gap(block: ColumnBlock, entry: int, name: str) -> str:
    """One sentence about a value that is no number."""
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


class FeatureStreamSelector(Restorable, ColumnSelector):
    """A selector for columns that arrive over time, one at a time, in order.

    What it keeps at any moment is what it would keep if no more columns came. Those that score
    features with a measure derive from `MeasuredSelector`, which leaves them one method to write.
    """

    def start(self, y: Any, *, name_prefix: str = "x", name_base: int = 0) -> Self:
        """Begin a stream: the rows and their target are fixed, columns will come by `feed`.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            The target.
        name_prefix, name_base : str, int
            Features that come without a name are called prefix + (arrival number + base).
        """
        self._start(y, name_prefix, name_base)
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
        self.prepare(self._blocks_of(columns, names))
        # All of it is checked before any of it is taken.
        for block in self._blocks_of(columns, names):
            self._refuse_bad_values(block)
        for block in self._blocks_of(columns, names):
            self.update(self.score(block))
        return self

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


class BatchSelector(ColumnSelector):
    """A selector that decides when it has seen every column.

    It reads the columns once, holds what it needs of them (`update`), and decides in `finish`,
    which sets `ranking_`. Those that score features with a measure derive from
    `MeasuredBatchSelector`.

    Attributes
    ----------
    ranking_ : ndarray of int
        The kept features in the order of the method, best first.
    """

    ranking_: npt.NDArray[np.int64]

    @property
    def kept_(self) -> npt.NDArray[np.int64]:
        """Kept features by number, in order of arrival."""
        check_is_fitted(self, "ranking_")
        return np.sort(self.ranking_)

    def select(self, X: Any, y: Any) -> npt.NDArray[np.int64]:
        """Fit, and give the kept features in order of arrival."""
        return self.fit(X, y).kept_

    def rank(self, X: Any, y: Any) -> npt.NDArray[np.int64]:
        """Fit, and give the kept features best first."""
        return self.fit(X, y).ranking_
