"""scikit-learn's interface to the online learners: RowSieve, SOFS, PET and the others.

A class here names its learner (`tamis.methods.online`), which has the parameters, their
documentation and the model. `OnlineEstimator` adds what scikit-learn and river expect: validation
of tables, `fit`, `partial_fit`, `predict`, `transform`, `learn_one`; `OnlineClassifier` and
`OnlineRegressor` add what only the one or the other has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from tamis.core.blocks import RowBlock, refuse_broken
from tamis.core.errors import InputError
from tamis.core.target import refuse_masked, refuse_missing
from tamis.engine.learning.training import Schedule, Training
from tamis.estimators.estimator import SelectingEstimator
from tamis.kernels.row_scoring import buckets_of
from tamis.methods.online import row_input
from tamis.methods.online.arow import ArowLearner
from tamis.methods.online.fofs import FofsLearner
from tamis.methods.online.learner import OnlineLearner
from tamis.methods.online.merged_row_sieve import MergedRowSieveLearner
from tamis.methods.online.merged_sofs import MergedSofsLearner
from tamis.methods.online.ogd import OgdLearner
from tamis.methods.online.pet import PetLearner
from tamis.methods.online.regressors import (
    ArowRegressorLearner,
    MergedRowSieveRegressorLearner,
    NumberLearner,
    OgdRegressorLearner,
    PetRegressorLearner,
    RowSieveRegressorLearner,
    SofsRegressorLearner,
)
from tamis.methods.online.row_sieve import RowSieveLearner
from tamis.methods.online.sofs import SofsLearner
from tamis.sources import open_rows
from tamis.sources.base import Progress, silent


class OnlineEstimator(SelectingEstimator):
    """A linear model for rows that arrive over time, which selects features too.

    A subclass names its learner, whose constructor and documentation it shares. What was learned
    (`kept_`, `weights_`, ...) is read from the fitted learner, `learner_`.
    """

    #: The learner of the method.
    learner_class: ClassVar[type[OnlineLearner]]

    learner_: OnlineLearner
    n_features_in_: int

    #: What river expects of a step in its pipelines: it learns from labels.
    _supervised: ClassVar[bool] = True

    _takes: ClassVar[str] = "rows"
    _begin_with: ClassVar[str] = "fit, partial_fit or fit_stream"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "learner_class" in vars(cls):
            cls.__init__ = cls.learner_class.__init__  # type: ignore[assignment,method-assign]
            cls.__doc__ = cls.learner_class.__doc__

    @classmethod
    def _method(cls) -> Any:
        return cls.learner_class

    def _fitted(self) -> tuple[Any, ...]:
        return (self.learner_,) if self._is_fitted else ()

    # --- learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from all rows, in order, `passes` times; an earlier model is dropped.

        Parameters
        ----------
        X : array, scipy sparse matrix, data frame or RowBlock of shape (n_rows, n_columns)
            The rows.
        y : array-like of shape (n_rows,)
            Their classes, or the numbers to predict; a RowBlock brings its own.
        """
        self._forget()
        labels = self._labels_of(X, y)
        learner = self.new_learner()
        learner.begin(self._classes_in(labels))
        for _ in range(learner.passes):
            self._learn(learner, X, labels)
        return self

    def fit_stream(
        self,
        data: Any,
        *,
        passes: int | None = None,
        shuffle: int = 0,
        random_state: int = 0,
        classes: Any = None,
        skip_bad_lines: bool = False,
        progress: Progress = silent,
        **reading: Any,
    ) -> Self:
        """Learn from a file, several files, a source or an iterator of row blocks, as they stream.

        The model is the one that `fit` gives on the same rows; an earlier model is dropped. Text is
        parsed by threads while the model learns.

        Parameters
        ----------
        data : path, list of paths, Source, or iterator of RowBlock
            The rows; ``-`` is standard input, svmlight text, plain or compressed.
        passes : int, optional
            How often to go over the rows; default: the parameter `passes`. A pipe or an iterator
            can be read once.
        shuffle : int, default=0
            Number of rows to shuffle at a time, which are held in memory; the runs of rows differ
            in each pass. 0 keeps the order.
        random_state : int, default=0
            The seed of the shuffling.
        classes : array-like, optional
            All classes, for a classifier. If neither these nor the parameter `classes` are given,
            files are read once for their labels; of a pipe the first megabytes must show every
            class, of an iterator the first block.
        skip_bad_lines : bool, default=False
            Count lines that cannot be learned, in `bad_lines_`, and continue; otherwise the first
            one raises an error.
        progress : callable, optional
            Called as ``progress(what, done, total)``.
        **reading
            How files are read (`format`, `zero_based` and others), as for `tamis.open`. By default
            the first megabytes decide whether svmlight indices count from 0; an index 0 that
            occurs only later is a bad line.
        """
        learner = self.new_learner()
        learner.check_params()
        sources = open_rows(data, **reading)
        schedule = Schedule(
            learner.passes if passes is None else passes, shuffle, random_state, skip_bad_lines
        )
        training = Training(learner, sources, schedule)
        self._forget()
        training.start(classes, progress)
        training.run(progress)
        training.finish()
        self._hold(learner)
        return self

    # --- predicting ----------------------------------------------------------------------------

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each row, of classes with the same score the first; or a number."""
        check_is_fitted(self)
        return self.learner_.predict(self._validated(self.learner_, X))

    # --- selecting -----------------------------------------------------------------------------

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the names of the kept features, in increasing order of their numbers."""
        check_is_fitted(self)
        if input_features is not None or hasattr(self, "feature_names_in_"):
            # SelectorMixin checks that the names given are the names seen.
            return np.asarray(super().get_feature_names_out(input_features))
        if self._hashes_columns:
            columns = np.flatnonzero(self._get_support_mask())
            return np.array(self.learner_.columns.names_of(columns), dtype=object)
        return self.learner_.get_feature_names_out()

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self)
        columns = np.arange(self.n_features_in_, dtype=np.int64)
        if self._hashes_columns:
            columns = buckets_of(columns, self.n_bits)
        return np.isin(columns, self.kept_)

    @property
    def _hashes_columns(self) -> bool:
        """Whether the columns of a table were hashed to buckets."""
        return self.n_bits is not None and not self.learner_.columns.is_open

    # --- the learner inside --------------------------------------------------------------------

    def new_learner(self) -> OnlineLearner:
        """Return an untrained learner with these parameters, for `tamis.learn`."""
        return self.learner_class(**self.get_params(deep=False))

    def holding(self, learner: OnlineLearner) -> OnlineEstimator:
        """Return a new estimator around a fitted learner."""
        same = type(learner) is self.learner_class
        kind = type(self) if same else ESTIMATORS[type(learner)]
        found = kind(**learner.get_params())
        found._hold(learner)
        return found

    # --- small steps ---------------------------------------------------------------------------

    @property
    def _is_fitted(self) -> bool:
        return "learner_" in vars(self)

    def _forget(self) -> None:
        for stale in ("learner_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(stale, None)

    def _hold(self, learner: OnlineLearner) -> None:
        """Take over a learner that has learned."""
        self.learner_, self.n_features_in_ = learner, learner.columns.width
        if learner.columns.names is not None:
            self.feature_names_in_ = np.asarray(learner.columns.names, dtype=object)

    def _classes_in(self, labels: npt.NDArray[Any]) -> Any:
        """Return what a learner begins with when it has these labels."""
        raise NotImplementedError

    def _begun(self) -> OnlineLearner:
        """Return the learner that has begun, with the present parameters."""
        for name in self.learner_.parameter_names:  # they may have been set meanwhile
            setattr(self.learner_, name, getattr(self, name))
        return self.learner_

    def _learn(self, learner: OnlineLearner, X: Any, labels: npt.NDArray[Any]) -> None:
        """Check all rows, then learn from them; a first call that fails leaves no model."""
        fresh = not self._is_fitted
        try:
            rows = self._validated(learner, X, first=fresh)
            learner.learn(rows, labels, X.first if isinstance(X, RowBlock) else 0)
        except (TypeError, ValueError):
            if fresh:
                self._forget()
            raise
        self._hold(learner)

    def _validated(self, learner: OnlineLearner, X: Any, *, first: bool = False) -> Any:
        """Return a row block, or a matrix or table of float64 whose width is checked unless open.

        The `first` table sets the width.
        """
        if isinstance(X, RowBlock) or learner.preparation is not None:
            return X
        refuse_broken(X)  # before scikit-learn converts it
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64}
        options["ensure_all_finite"] = False  # the learner names the row and the column
        if learner.columns.is_open and not first:
            return check_array(X, **options, estimator=self)
        checked = validate_data(self, X, reset=first, **options)
        if first:
            if self.n_columns is not None and checked.shape[1] > self.n_columns:
                raise InputError(
                    f"X has {checked.shape[1]} columns, but n_columns={self.n_columns} was given"
                )
            learner.columns.fix(checked.shape[1], getattr(self, "feature_names_in_", None))
        return checked

    def _labels_of(self, X: Any, y: Any) -> npt.NDArray[Any]:
        if y is None and isinstance(X, RowBlock):
            y = X.y
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        is_array = isinstance(y, np.ndarray) and y.ndim == 1
        if isinstance(X, RowBlock) and is_array and self._is_fitted:
            # Blocks are many: later each label is checked to be a class, and no more.
            labels: npt.NDArray[Any] = y
        else:
            refuse_masked(y)
            labels = np.asarray(column_or_1d(y, warn=True))
            refuse_missing(labels)
            self._check_kind(labels)
        n_rows = row_input.n_rows_of(X)
        if n_rows is not None and n_rows != len(labels):
            raise InputError(
                f"X has {n_rows} rows but y has {len(labels)}: inconsistent numbers of samples; "
                "give one label for each row"
            )
        return labels

    def _check_kind(self, labels: npt.NDArray[Any]) -> None:
        """Raise an error if labels are not of the kind that is learned."""


class OnlineClassifier(ClassifierMixin, OnlineEstimator):  # type: ignore[misc]
    """A linear classifier for rows that arrive over time."""

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn from the next rows, once.

        Parameters
        ----------
        X, y
            As for `fit`.
        classes : array-like, optional
            All classes that will come; needed in the first call unless given as a parameter.
        """
        labels = self._labels_of(X, y)
        self._learn(self._begun_with(classes), X, labels)
        return self

    def learn_one(self, x: Mapping[Any, float], y: Any) -> None:
        """Learn from one row, a dict of feature numbers or names to values, as in river.

        Names get numbers as they come, or are hashed with `n_bits`. Classes other than True and
        False must be given beforehand, as a parameter or to `partial_fit`.
        """
        boolean = isinstance(y, bool | np.bool_) and self.classes is None and not self._is_fitted
        learner = self._begun_with([False, True] if boolean else None)
        learner.learn_one(x, y)
        self._hold(learner)

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return scores: above 0 for the second of two classes; else one column per class."""
        check_is_fitted(self)
        return self.learner_.decision_function(self._validated(self.learner_, X))

    def predict_one(self, x: Mapping[Any, float]) -> Any:
        """Return the class of one row given as a dict; None while nothing was learned."""
        return self.learner_.predict_one(x) if self._is_fitted else None

    def _classes_in(self, labels: npt.NDArray[Any]) -> Any:
        return labels if self.classes is None else self.classes

    def _begun_with(self, classes: Any) -> OnlineLearner:
        """Return the learner, begun with the classes given, or check that they are the same."""
        given = self.classes if classes is None else classes
        known = None if given is None else np.unique(np.asarray(given))
        if self._is_fitted:
            learner = self.learner_
            if known is not None and known.tolist() != learner.classes_.tolist():
                raise InputError(
                    f"`classes={known.tolist()}` is not the same as on the last call "
                    f"to partial_fit, was: {learner.classes_.tolist()}"
                )
            return self._begun()
        if known is None:
            raise InputError(
                "classes must be passed on the first call to partial_fit: the rows that come "
                "first may not show every class"
            )
        learner = self.new_learner()
        learner.begin(known, f"classes={known.tolist()}")
        return learner

    def _check_kind(self, labels: npt.NDArray[Any]) -> None:
        check_classification_targets(labels)


class OnlineRegressor(RegressorMixin, OnlineEstimator):  # type: ignore[misc]
    """A linear model of a number, for rows that arrive over time."""

    learner_class: ClassVar[type[NumberLearner]]

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the next rows, once; X and y as for `fit`."""
        labels = self._labels_of(X, y)
        self._learn(self._begun_or_new(), X, labels)
        return self

    def learn_one(self, x: Mapping[Any, float], y: float) -> None:
        """Learn from one row, a dict of feature numbers or names to values, as in river.

        Names get numbers as they come, or are hashed with `n_bits`.
        """
        learner = self._begun_or_new()
        learner.learn_one(x, y)
        self._hold(learner)

    def predict_one(self, x: Mapping[Any, float]) -> float:
        """Return the number predicted for one row given as a dict; 0 while nothing was learned."""
        return float(self.learner_.predict_one(x)) if self._is_fitted else 0.0

    def _classes_in(self, labels: npt.NDArray[Any]) -> Any:
        return None

    def _begun_or_new(self) -> OnlineLearner:
        if self._is_fitted:
            return self._begun()
        learner = self.new_learner()
        learner.begin(None)
        return learner


class RowSieve(OnlineClassifier):
    learner_class = RowSieveLearner


class MergedRowSieve(OnlineClassifier):
    learner_class = MergedRowSieveLearner


class SOFS(OnlineClassifier):
    learner_class = SofsLearner


class MergedSOFS(OnlineClassifier):
    learner_class = MergedSofsLearner


class PET(OnlineClassifier):
    learner_class = PetLearner


class FOFS(OnlineClassifier):
    learner_class = FofsLearner


class OGD(OnlineClassifier):
    learner_class = OgdLearner


class AROW(OnlineClassifier):
    learner_class = ArowLearner


class RowSieveRegressor(OnlineRegressor):
    learner_class = RowSieveRegressorLearner


class MergedRowSieveRegressor(OnlineRegressor):
    learner_class = MergedRowSieveRegressorLearner


class SOFSRegressor(OnlineRegressor):
    learner_class = SofsRegressorLearner


class PETRegressor(OnlineRegressor):
    learner_class = PetRegressorLearner


class OGDRegressor(OnlineRegressor):
    learner_class = OgdRegressorLearner


class AROWRegressor(OnlineRegressor):
    learner_class = ArowRegressorLearner


#: Estimators by their learner.
ESTIMATORS: dict[type[OnlineLearner], type[OnlineEstimator]] = {
    kind.learner_class: kind
    for kind in (
        RowSieve, MergedRowSieve, SOFS, MergedSOFS, PET, FOFS, OGD, AROW, RowSieveRegressor,
        MergedRowSieveRegressor, SOFSRegressor, PETRegressor, OGDRegressor, AROWRegressor,
    )
}  # fmt: skip
