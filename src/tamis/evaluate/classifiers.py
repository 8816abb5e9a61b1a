"""The classifiers that evaluate a selection, by name: scikit-learn's, with these settings.

========  ============================================================================
knn1      the nearest neighbour
knn       three nearest neighbours (k of the SFS-FI paper)
svm       linear support vectors, ``LinearSVC(C=1)``
rbf       support vectors with a Gaussian kernel, ``SVC(C=1, gamma="scale")``
tree      entropy, two rows or more in a leaf, not pruned: replaces J48 (C4.5), whose
          pessimistic pruning scikit-learn does not have, so these trees are larger
nb        naive Bayes: Bernoulli where every kept value is 0 or 1, Gaussian elsewhere
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
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tamis._registry import CLASSIFIERS
from tamis.core.errors import InputError, ParameterError
from tamis.core.sentences import suggestion

#: Largest table (in numbers) that is made dense for a classifier that needs it.
MOST_DENSE = 200_000_000

_SCALED: dict[str, Callable[[int], BaseEstimator]] = {
    "knn1": lambda random_state: KNeighborsClassifier(1),
    "knn": lambda random_state: KNeighborsClassifier(3),
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
        return DummyClassifier(strategy="prior"), np.asarray
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
    return GaussianNB(), _as_dense


def settings_of(name: str) -> str:
    """Return the settings of a classifier as text; they are part of the identity of a result."""
    if name == "nb":
        return "BernoulliNB() or GaussianNB()"
    made = (_SCALED | _PLAIN)[name](0)
    return " ".join(repr(made).split())


def _as_dense(X: Any) -> Any:
    if sp.issparse(X):
        if X.shape[0] * X.shape[1] > MOST_DENSE:
            raise InputError(
                f"{X.shape[0]:,} rows of {X.shape[1]:,} kept features are too many for a "
                "classifier that needs every zero in memory; keep fewer features, or use svm or lr"
            )
        X = X.toarray()
    return np.asarray(X, dtype=np.float64)
