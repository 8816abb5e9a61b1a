"""The classifiers that evaluate a selection, by name; all but knn are scikit-learn's.

========  ============================================================================
knn1      the nearest neighbour (`NearestRows`)
knn       three nearest neighbours (k of the SFS-FI paper): exact distances, ties
          go to the first row, so results are the same on every machine
svm       linear support vectors, ``LinearSVC(C=1)``
rbf       support vectors with a Gaussian kernel, ``SVC(C=1, gamma="scale")``
tree      entropy, two rows or more in a leaf, not pruned: replaces J48 (C4.5), whose
          pessimistic pruning scikit-learn does not have, so these trees are larger
nb        naive Bayes: Bernoulli where every kept value is 0 or 1; categorical where all are
          whole numbers of few levels in a column; Gaussian elsewhere
lr        logistic regression, ``LogisticRegression(C=1)``
========  ============================================================================

Scaling happens inside the fold, with the training rows only, for knn1, knn, svm, rbf and lr: if
most kept values are 0, columns are divided by their largest absolute value and stay sparse;
otherwise they are standardised. The values decide, not the storage. tree and nb use the values
unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tamis._registry import CLASSIFIERS
from tamis.core.blocks import most_levels
from tamis.core.errors import InputError, ParameterError
from tamis.core.sentences import suggestion
from tamis.evaluate.nearest_rows import NearestRows

#: Largest table (in numbers) that is made dense for a classifier that needs it.
MOST_DENSE = 200_000_000

_SCALED: dict[str, Callable[[int], BaseEstimator]] = {
    "knn1": lambda random_state: NearestRows(1),
    "knn": lambda random_state: NearestRows(3),
    "svm": lambda random_state: LinearSVC(C=1.0, random_state=random_state, max_iter=5000),
    "rbf": lambda random_state: SVC(C=1.0, gamma="scale"),
    "lr": lambda random_state: LogisticRegression(C=1.0, max_iter=1000),
}
_PLAIN: dict[str, Callable[[int], BaseEstimator]] = {
    "tree": lambda random_state: DecisionTreeClassifier(
        criterion="entropy", min_samples_leaf=2, random_state=random_state
    ),
}


def check_classifiers(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names; raise one sentence for an unknown or duplicated one."""
    for name in names:
        if name not in CLASSIFIERS:
            raise ParameterError(
                f"classifier {name!r} is not known; {suggestion(name, CLASSIFIERS)}"
            )
    if len(set(names)) < len(names) or not names:
        raise ParameterError("give at least one classifier, and each of them once")
    return tuple(names)


def make_classifier(name: str, train: Any, random_state: int = 0) -> tuple[BaseEstimator, Any]:
    """Return an unfitted classifier for such training rows, and the function that prepares rows.

    Without columns the most frequent class is predicted.
    """
    if train.shape[1] == 0:
        return DummyClassifier(strategy="prior"), _as_dense
    # The values decide, not the storage.
    values = train.data if sp.issparse(train) else train
    sparse = 2 * np.count_nonzero(values) < train.shape[0] * train.shape[1]
    ready = sp.csr_matrix if sparse else _as_dense
    if name in _SCALED:
        scaler = MaxAbsScaler() if sparse else StandardScaler()
        return make_pipeline(scaler, _SCALED[name](random_state % 2**31)), ready
    if name in _PLAIN:
        return _PLAIN[name](random_state % 2**31), ready
    if np.all((values == 0) | (values == 1)):
        return BernoulliNB(), ready
    return _categorical(train) or GaussianNB(), _as_dense


def settings_of(name: str) -> str:
    """Return the settings of a classifier as text; they are part of the identity of a result."""
    if name == "nb":
        return "BernoulliNB(), CategoricalNB() or GaussianNB()"
    made = (_SCALED | _PLAIN)[name](0)
    return " ".join(repr(made).split())


def _categorical(train: Any) -> BaseEstimator | None:
    """Return categorical naive Bayes if the values of these rows are categories, else None.

    They are if all are whole numbers, and a column has at most as many levels as ``measure="auto"``
    takes for categories, on average. A level that only test rows have is one of its own.
    """
    values = train.data if sp.issparse(train) else train
    if not np.array_equal(values, np.floor(values)) or np.prod(train.shape) > MOST_DENSE:
        return None
    X = _as_dense(train)
    n_levels = np.array([len(np.unique(column)) for column in X.T])
    if n_levels.mean() > most_levels(len(X)):
        return None
    return make_pipeline(
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        FunctionTransformer(_from_zero),
        CategoricalNB(min_categories=n_levels + 1),
    )


def _from_zero(codes: Any) -> Any:
    """Return codes from -1, which is unknown, as codes from 0."""
    return codes + 1


def _as_dense(X: Any) -> Any:
    if sp.issparse(X):
        if X.shape[0] * X.shape[1] > MOST_DENSE:
            raise InputError(
                f"{X.shape[0]:,} rows of {X.shape[1]:,} kept features are too many for a "
                "classifier that needs every zero in memory; keep fewer features, or use svm or lr"
            )
        X = X.toarray()
    return np.asarray(X, dtype=np.float64)
