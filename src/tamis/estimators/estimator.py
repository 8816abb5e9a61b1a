"""scikit-learn's interface to the methods on columns.

An estimator has the parameters, ranges and documentation of a rule, and the parameters that all
methods share (`CommonParameters`). Fitting makes a selector that runs the rule, in the loop of
`tamis.select`; what can be read afterwards (`kept_`, `log_`, ...) is the selector's.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from tamis.core.blocks import ColumnBlock, group_labels, refuse_broken, with_group
from tamis.core.decisions import DecisionLog
from tamis.core.errors import InputError, ParameterError, warn
from tamis.core.names import Names
from tamis.core.params import inherit_docs, refusing
from tamis.core.sentences import suggestion
from tamis.core.target import Target, refuse_masked
from tamis.engine.common_parameters import KEEP_LATER, CommonParameters
from tamis.engine.encoded import EncodedSource, Encoding
from tamis.engine.groups import grouped
from tamis.engine.known_selectors import of_paper
from tamis.engine.loop import Scorer, advance, take_all, warn_of_leaks
from tamis.engine.stopping import Stop, Stopper
from tamis.measures.auto import BY_NAME as MEASURES
from tamis.methods.rule import Rule
from tamis.methods.selector import (
    BatchSelector,
    ColumnSelector,
    FeatureStreamSelector,
    cannot_use,
)
from tamis.sources.arrays.in_memory import (
    MemorySource,
    as_table,
    is_frame,
    is_series,
    one_column,
    picked_columns,
    table_of_words,
    warn_of_order,
)
from tamis.sources.aside import arranged, covariates_of
from tamis.sources.base import ColumnSource, silent

#: What the arguments of `fit` are; which of them a method takes depends on its rule.
_FIT_PARAMETERS = """
X : array, scipy sparse matrix, data frame or Arrow table of shape (n_rows, n_columns)
    The features.
y : array-like of shape (n_rows,)
    The target: classes, or numbers for measures that take them.
groups : array-like of shape (n_columns,), optional
    The group of each column; one label stands for all.
sample_weight : array-like of shape (n_rows,), optional
    One weight per row, finite and not negative.
given : data frame or array with one row per row, optional
    Covariates to adjust for.
row_groups : array-like of shape (n_rows,), optional
    Rows that belong together, such as those of one patient: shadow worlds move them together.
"""


def _fit_doc(arguments: Mapping[str, Any]) -> str:
    """Return the docstring of a `fit` with some of these arguments."""
    entries = re.findall(r"^\S.*\n(?: .*\n)+", _FIT_PARAMETERS, re.MULTILINE)
    known = "".join(entry for entry in entries if entry.partition(" ")[0] in arguments)
    head = "Select features from a whole table, its columns taken in order."
    return f"{head}\n\nParameters\n----------\n{known}"


#: Decorates a `fit`: an argument that it does not take gets one sentence.
explained = refusing(lambda name, args, _: args[0]._refuse_argument(name))


#: What completion leaves out: counts for tests and benchmarks, a way to make another object, and
#: what only scikit-learn calls.
_NOT_SHOWN = {"work_", "paper", "get_metadata_routing", "set_fit_request"}


class SelectingEstimator(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all estimators that select; names that end in an underscore are what was fitted."""

    #: What was seen, and how to begin, for an error.
    _takes: ClassVar[str] = "columns"
    _begin_with: ClassVar[str] = "fit(X, y)"

    def _fitted(self) -> tuple[Any, ...]:
        """Return the objects that hold what was fitted; none before that."""
        raise NotImplementedError

    @classmethod
    def paper(cls, **params: Any) -> Self:
        """Return the method as in its paper: tests, thresholds and ties; `params` come on top.

        What it sets shows in its repr. docs/deviations.md says what still differs, and why.

        >>> import tamis
        >>> tamis.SAOLA.paper(bound="max")
        SAOLA(bound='max', measure='paper', ties='neither')
        """
        return cls(**{**of_paper(cls._method()), **params})

    @classmethod
    def _method(cls) -> Any:
        """Return the class that does the work: a rule or a learner."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name.endswith("_") and not name.startswith("_") and not name.endswith("_in_"):
            fitted = self._fitted()
            if not fitted:
                raise NotFittedError(
                    f"this {type(self).__name__} has seen no {self._takes} yet, so it has no "
                    f"{name}; call {self._begin_with} first"
                )
            for owner in fitted:
                with suppress(AttributeError):
                    return getattr(owner, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        # Some attributes depend on parameters, as `gate_` on `fdr`.
        owners = self._fitted()
        found = {
            name
            for owner in owners
            for name in dir(owner)
            if name.endswith("_") and not name.startswith("_") and hasattr(owner, name)
        }
        # Once something was fitted, completion shows the results: the parameters are in the repr.
        settled = set(self.get_params(deep=False)) if owners else set()
        return sorted({*super().__dir__(), *found} - settled - _NOT_SHOWN)

    def __sklearn_is_fitted__(self) -> bool:
        return bool(self._fitted())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    def transform(self, X: Any) -> Any:
        """Reduce a table with the fitted columns to the kept features."""
        refuse_broken(X)
        return super().transform(as_table(X))


class ColumnEstimator(SelectingEstimator):
    """Base of the estimators; a subclass names its `_rule`, which gives it its parameters."""

    #: The rule of the method.
    _rule: ClassVar[type[Rule]]

    #: The selector that runs the rule, and how its columns are encoded; there once the estimator
    #: was started or fitted.
    _selector: ColumnSelector
    _encoding: Encoding | None
    #: Where the features are in X, if some of its columns were left out.
    _positions: npt.NDArray[np.int64] | None = None
    _stop: Stop | None
    _stopper: Stopper | None

    if TYPE_CHECKING:
        kept_: npt.NDArray[np.int64]
        log_: DecisionLog
        choices_: dict[str, str]
        work_: dict[str, int]

        def __init__(self, *args: Any, **params: Any) -> None: ...

    def __init_subclass__(cls, **options: Any) -> None:
        if "_rule" in vars(cls) and cls._rule.adjusts and cls.fit is ColumnEstimator.fit:
            shadowed = getattr(cls._rule, "world", None) is not None
            cls.fit = _fit_shadowed if shadowed else _fit_adjusted  # type: ignore[method-assign]
        if "fit" in vars(cls):
            cls.fit.__doc__ = _fit_doc(inspect.signature(cls.fit).parameters)
        super().__init_subclass__(**options)
        if "_rule" in vars(cls):
            cls.__init__ = _constructor(cls._rule)  # type: ignore[method-assign]
            _, *names = inspect.signature(cls.__init__).parameters
            cls.__doc__ = inherit_docs(cls._rule.__doc__ or "", [CommonParameters], names)
        elif of_rule := {"decide", "foresee", "method", "ranges"} & set(vars(cls)):
            raise TypeError(
                f"{cls.__name__}.{min(of_rule)} belongs to a rule: derive a class from "
                f"{cls._rule.__name__}, and make its estimator with tamis.estimators.estimator_of"
            )

    @classmethod
    def _method(cls) -> Any:
        return cls._rule

    def _to_selector(self) -> ColumnSelector:
        """Return a new selector that runs the rule with these parameters."""
        names = self._rule.parameter_names
        return self._rule(**{name: getattr(self, name) for name in names}).to_selector()

    def _common_parameters(self) -> CommonParameters:
        """Return the parameters that the rule does not have."""
        return CommonParameters(**{name: getattr(self, name) for name in _shared(self._rule)})

    @explained
    def fit(self, X: Any, y: Any) -> Self:
        """Select features from a whole table, its columns taken in order."""
        return self._fit(X, y)

    def _refuse_argument(self, name: str) -> None:
        """Raise an error for an argument that other methods take, or this one when it is made."""
        own = type(self).__name__
        if name in inspect.signature(type(self)).parameters:
            raise ParameterError(
                f"{name} is a parameter of {own} and not of its fit; write {own}({name}=...)"
            )
        if name == "names":
            raise ParameterError(
                "fit takes names from a data frame; for other data, give them to "
                "get_feature_names_out(names), or select from tamis.open(X, y=y, names=names)"
            )
        if name == "row_groups":
            raise InputError(
                f"{own} has no shadow worlds, so it cannot use row_groups; use a method that has, "
                "such as saola with shadows=3"
            )
        if what := {"sample_weight": "sample weights", "given": "covariates"}.get(name):
            raise InputError(cannot_use(own, what))

    def _fit(self, X: Any, y: Any, groups: Any = None, **about_rows: Any) -> Self:
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        if getattr(X, "ndim", 1) == 1 and _are_texts(X):
            raise InputError(
                "X holds texts, and a method needs a table: count their words first, for example "
                "with sklearn.feature_extraction.text.TfidfVectorizer"
            )
        refuse_broken(X)  # before scikit-learn converts it
        refuse_masked(y)
        X = as_table(X)
        table = X if is_frame(X) else table_of_words(X)
        if table is not None:
            warn_of_order(X, y)
            source = MemorySource(table, column_or_1d(y, warn=True), dates=None)
            if not source.n_columns:
                raise InputError("X has 0 feature(s), that is no columns; give at least one")
            validate_data(self, X, skip_check_array=True)
        else:
            X, labels = validate_data(
                self, X, y, accept_sparse=("csc", "csr"), dtype="numeric",
                ensure_all_finite=False, ensure_min_samples=2, y_numeric=False, multi_output=True,
            )  # fmt: skip
            source = MemorySource(X, column_or_1d(labels, warn=True))
        self.__dict__.pop("_selector", None)
        self._positions = source.positions
        labelled = y if is_series(y) else source.target()
        selector, target, reason = self._begin(labelled, **about_rows)
        columns: ColumnSource = source
        positions = None
        if (keep := getattr(self, "keep", None)) is not None:
            found = arranged(source, keep=keep)
            columns, positions, selector.required = found.columns, found.positions, found.n_required
        if groups is not None:
            columns = grouped(columns, groups)
        if self._encoding is not None:
            columns = EncodedSource(columns, self._encoding, target)
        taken = take_all(selector, columns, target, reason, stop=self._stop)
        if positions is not None:
            selector.renumber(positions.astype(np.int64))
        self._selector, self._stopper = selector, taken.stopper
        return self

    def _begin(
        self, y: Any, sample_weight: Any = None, given: Any = None, row_groups: Any = None
    ) -> tuple[Any, Target, str]:
        """Return a new selector, its target, and why the encoding chose its measure, if it did."""
        common = CommonParameters.of(self)
        selector = self._to_selector()
        target = common.target(selector, y)
        covariates = None if given is None else covariates_of(given)
        target = target.adjusted(sample_weight, covariates, row_groups)
        self._encoding, self._stop, reason = common.prepare(selector, target)
        return selector, target, reason

    # --- what can be read ------------------------------------------------------------------

    def _fitted(self) -> tuple[Any, ...]:
        selector = vars(self).get("_selector")
        return () if selector is None else (selector, selector.rule)

    def __getattr__(self, name: str) -> Any:
        value, positions = super().__getattr__(name), vars(self).get("_positions")
        # Features are columns of X, even if dates among them were left out.
        if positions is None or name not in ("kept_", "ranking_", "scores_", "support_"):
            return value
        if name in ("kept_", "ranking_"):
            return positions[value]
        every = (
            np.zeros(self.n_features_in_, value.dtype)
            if name == "support_"
            else np.full(self.n_features_in_, np.nan)
        )
        every[positions] = value
        return every

    def transform(self, X: Any) -> Any:
        """Reduce a table with the fitted columns to the kept features.

        Of a data frame or an Arrow table, the kept columns are returned unchanged; of anything else
        an array or a sparse matrix. `set_output` decides the kind of data frame.
        """
        if not is_frame(X):
            return super().transform(X)
        check_is_fitted(self)
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        kept = np.flatnonzero(self.get_support()).tolist()
        if not kept:
            warn("No features were selected, so the table has no columns", UserWarning)
        kind = _get_output_config("transform", estimator=self)["dense"]
        return picked_columns(X, kept, None if kind == "default" else kind)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        stated = (self.missing, getattr(self.encode, "missing", "auto"))
        policies = {getattr(given, "policy", given) for given in stated}
        measure = getattr(self, "measure", "auto")
        if isinstance(measure, str):
            usual = getattr(self._rule, "usual_measures", None)
            measure = MEASURES.get(measure, None if usual is None else usual()[1])
        by_measure = "error" not in policies and getattr(measure, "takes_gaps", False)
        tags.input_tags.allow_nan = bool(policies & {"category", "delete"}) or by_measure
        takes_words = self.encode is not None or getattr(measure, "kind", "") in ("discrete", "any")
        tags.input_tags.categorical = tags.input_tags.string = takes_words
        return tags

    def why(self, feature: int | str) -> str:
        """Explain in one sentence, with the numbers, what happened to a feature.

        Parameters
        ----------
        feature : int or str
            Its number, in order of arrival, or its name.
        """
        if isinstance(feature, int) and self._positions is not None:
            feature = self.feature_names_in_[feature]
        return self.log_.why(feature)

    def plot(self) -> Any:
        """Draw how the kept set grew, or where features went if all came at once.

        Returns a matplotlib figure; `log_.plot_growth()` and `log_.plot_flow()` draw either.
        """
        return self.log_.plot_growth() if self.log_.is_in_order else self.log_.plot_flow()

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the names of the kept features, in order of arrival."""
        check_is_fitted(self)
        if input_features is not None:
            # SelectorMixin checks that the names given are the names seen.
            return np.asarray(super().get_feature_names_out(input_features))
        return np.array([self.log_.names[int(f)] for f in self._selector.kept_], dtype=object)

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=np.bool_)
        mask[self.kept_] = True
        return mask

    def _repr_html_(self) -> str:
        """Show the parameters as scikit-learn does, and what was decided."""
        log = getattr(self, "log_", None)
        decided = "" if log is None else log._repr_html_()
        return str(estimator_html_repr(self)) + decided

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


ColumnEstimator.fit.__doc__ = _fit_doc(inspect.signature(ColumnEstimator.fit).parameters)


class StreamEstimator(ColumnEstimator):
    """Base of the estimators for feature streams, which columns can be fed to."""

    _selector: FeatureStreamSelector
    _begin_with: ClassVar[str] = "fit(X, y), or start(y) and feed(columns)"

    def start(
        self,
        y: Any,
        *,
        sample_weight: Any = None,
        given: Any = None,
        row_groups: Any = None,
        name_prefix: str = "x",
        name_base: int = 0,
    ) -> Self:
        """Start a stream: the rows and their target are fixed, and `feed` adds columns.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            The target.
        sample_weight, given, row_groups : array-like, optional
            One weight per row, covariates to adjust for, and rows that belong together, as in
            ``tamis.select``.
        name_prefix, name_base : str, int
            Features that come without a name are called prefix + (arrival number + base).
        """
        for stale in ("feature_names_in_", "_selector", "_positions"):
            self.__dict__.pop(stale, None)
        selector, target, reason = self._begin(y, sample_weight, given, row_groups)
        if CommonParameters.of(self).keep is not None:
            raise ParameterError(KEEP_LATER)
        selector.start(target, name_prefix=name_prefix, name_base=name_base)
        if reason:
            selector.measure_reason = reason
        self._selector, self.n_features_in_ = selector, 0
        self._stopper = None if self._stop is None else Stopper(self._stop, selector, target)
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
        return self._feed(columns, names)

    def _feed(self, columns: Any, names: Sequence[str] | None, groups: Any = None) -> Self:
        selector = vars(self).get("_selector")
        if selector is None:
            raise NotFittedError(f"call {type(self).__name__}.start(y) before feed(columns)")
        if selector.renumbered:
            raise InputError(
                "columns cannot be fed after fit with keep=; use tamis.select(keep=...) and "
                "Selection.feed"
            )
        first, labels, stopper = selector.n_features_in_, None, self._stopper
        scorer = Scorer(selector, selector._target, send_blocks=stopper is not None)
        if groups is not None:
            labels = group_labels(groups, sum(b.width for b in blocks_of(columns, names, first)))

        def blocks() -> Iterator[ColumnBlock]:
            for block in blocks_of(columns, names, first):
                if labels is not None:
                    block = with_group(block, labels, first)
                if self._encoding is not None:
                    block = self._encoding.encode(block, scorer.target, selector.name_of)
                yield block

        selector.prepare(blocks())
        # All of it is checked before any of it is taken.
        for block in blocks():
            selector.refuse_bad_values(block)
        if stopper is not None:
            stopper.rest = lambda start: _after(blocks(), start)
        scored = (scorer(block) for block in blocks())
        taken = advance(selector, scored, stopper=stopper, progress=silent)
        warn_of_leaks(taken.leak, selector, scorer.target)
        self.n_features_in_ = selector.n_features_in_
        return self


class GroupEstimator(StreamEstimator):
    """Base of the estimators for feature streams whose columns come in groups."""

    @explained
    def fit(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        sample_weight: Any = None,
        given: Any = None,
        row_groups: Any = None,
    ) -> Self:
        """Select features from a whole table, its columns taken in order."""
        about_rows = {"sample_weight": sample_weight, "given": given, "row_groups": row_groups}
        return self._fit(X, y, groups, **about_rows)

    def feed(self, columns: Any, names: Sequence[str] | None = None, groups: Any = None) -> Self:
        """Take the next columns of the stream.

        Parameters
        ----------
        columns, names
            The columns, and their names if they do not bring them, as for other streams.
        groups : array-like, optional
            The group of each column, or one label for all. A ColumnBlock brings its own.
        """
        return self._feed(columns, names, groups)

    def finish(self) -> Self:
        """End the present group; a column that is fed later begins a new one."""
        check_is_fitted(self)
        self._selector.finish()
        return self


class BatchEstimator(ColumnEstimator):
    """Base of the estimators that decide when they have seen every column.

    Attributes
    ----------
    ranking_ : ndarray of int
        The kept features in the order of the method, best first.
    """

    _selector: BatchSelector

    if TYPE_CHECKING:
        ranking_: npt.NDArray[np.int64]

    def select(self, X: Any, y: Any) -> npt.NDArray[np.int64]:
        """Fit, and return the kept features in order of arrival."""
        return self.fit(X, y).kept_

    def rank(self, X: Any, y: Any) -> npt.NDArray[np.int64]:
        """Fit, and return the kept features best first."""
        return self.fit(X, y).ranking_


def _are_texts(X: Any) -> bool:
    """Return whether the first of some values is a text."""
    is_list = isinstance(X, list | tuple) or hasattr(X, "ndim")
    return is_list and isinstance(next(iter(X), None), str)


# --- parameters ----------------------------------------------------------------------------------


def _shared(rule: type[Rule]) -> dict[str, inspect.Parameter]:
    """Return the parameters that the estimator of a rule has besides those of the rule."""
    every = inspect.signature(CommonParameters).parameters
    streams = issubclass(rule.machinery, FeatureStreamSelector)
    return {name: p for name, p in every.items() if streams or name != "stop"}


def _constructor(rule: type[Rule]) -> Callable[..., None]:
    """Return a constructor with the parameters of a rule, and those that all methods share."""
    own, shared = inspect.signature(rule.__init__), _shared(rule)
    if taken := sorted(set(own.parameters) & set(shared)):
        raise TypeError(
            f"{rule.__name__} has a parameter {taken[0]!r}, which every estimator has; rename it"
        )

    def construct(self: Any, *args: Any, **params: Any) -> None:
        if unknown := next((name for name in params if name not in names), None):
            known = suggestion(unknown, sorted(names), "it has")
            raise TypeError(f"{rule.public_name} has no parameter {unknown!r}; {known}")
        common = {name: params.pop(name, shared[name].default) for name in shared}
        rule.__init__(self, *args, **params)
        vars(self).update(common)

    every = [*own.parameters.values(), *shared.values()]
    names = {parameter.name for parameter in every} - {"self"}
    construct.__signature__ = own.replace(parameters=every)  # type: ignore[attr-defined]
    construct.__name__ = "__init__"
    return construct


@explained
def _fit_adjusted(
    self: ColumnEstimator, X: Any, y: Any, sample_weight: Any = None, given: Any = None
) -> ColumnEstimator:
    """Select features from a whole table, its columns taken in order."""
    return self._fit(X, y, sample_weight=sample_weight, given=given)


@explained
def _fit_shadowed(
    self: ColumnEstimator,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    given: Any = None,
    row_groups: Any = None,
) -> ColumnEstimator:
    """Select features from a whole table, its columns taken in order."""
    return self._fit(X, y, sample_weight=sample_weight, given=given, row_groups=row_groups)


for _fit in (_fit_adjusted, _fit_shadowed):  # what Python's own errors call them
    _fit.__name__ = _fit.__qualname__ = _fit.__wrapped__.__qualname__ = "fit"  # type: ignore[attr-defined]


# --- blocks --------------------------------------------------------------------------------------


def _after(blocks: Iterator[ColumnBlock], start: int) -> Iterator[tuple[int, Names | None]]:
    """Yield the widths and names of columns from number `start` on."""
    for block in blocks:
        left = block.part(max(0, min(start - block.first, block.width)), block.width)
        if left.width:
            yield left.width, left.names


def blocks_of(columns: Any, names: Sequence[str] | None, first: int) -> Iterator[ColumnBlock]:
    """Return columns that are fed as blocks, the first of them with number `first`."""
    given = None if names is None else Names.of(names)
    if isinstance(columns, ColumnBlock):
        yield replace(columns, first=first, names=given or columns.names)
        return
    if is_series(columns):
        columns, given = one_column(columns, given)
    elif getattr(columns, "ndim", 2) == 1:
        columns = np.asarray(columns).reshape(-1, 1)
    yield from MemorySource(columns, None, names=given, first=first).columns()


# --- estimators of other people's rules ----------------------------------------------------------


def estimator_of(rule: type[Rule]) -> type[ColumnEstimator]:
    """Return the estimator of a rule, which scikit-learn can fit, clone and search over.

    Parameters
    ----------
    rule : subclass of Rule
        A rule of tamis or a user-defined one.

    Examples
    --------
    >>> from tamis.methods.streaming.saola import SAOLARule
    >>> class Largest(SAOLARule):
    ...     name = "largest"
    >>> estimator_of(Largest)(bound="max")
    Largest(bound='max')
    """
    if not (isinstance(rule, type) and issubclass(rule, Rule)):
        raise ParameterError(f"{rule!r} is not a rule; give a subclass of tamis.methods.Rule")
    kinds = [ColumnEstimator]
    for known in kinds:
        if vars(known).get("_rule") is rule:
            return known
        kinds += known.__subclasses__()
    base: type[ColumnEstimator] = BatchEstimator
    if issubclass(rule.machinery, FeatureStreamSelector):
        base = GroupEstimator if rule.takes_groups else StreamEstimator
    body = {"_rule": rule, "__module__": rule.__module__, "__reduce__": _reduce}
    return type(rule.public_name, (base,), body)


def _reduce(estimator: ColumnEstimator) -> tuple[Any, ...]:
    """Pickle by the rule: a class made here cannot be imported by its own name."""
    return _unfitted, (estimator._rule,), estimator.__getstate__()


def _unfitted(rule: type[Rule]) -> ColumnEstimator:
    kind = estimator_of(rule)
    return kind.__new__(kind)
