"""The F test as a selector, a baseline on the NIPS 2003 sets."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin, f_classif


class FTest(SelectorMixin, BaseEstimator):
    """Keep the features with the largest F statistic of an analysis of variance.

    Parameters
    ----------
    n_features : int, default=10
        How many features are kept.
    """

    def __init__(self, n_features: int = 10) -> None:
        self.n_features = n_features

    def fit(self, X: Any, y: Any) -> FTest:
        """Rank the features; of equal ones the first to arrive is kept."""
        with warnings.catch_warnings():  # of constant features, whose statistic is NaN
            warnings.simplefilter("ignore")
            scores = np.nan_to_num(f_classif(X, y)[0], nan=-1.0)
        self.support_ = np.zeros(X.shape[1], dtype=bool)
        self.support_[np.argsort(-scores, kind="stable")[: self.n_features]] = True
        return self

    def _get_support_mask(self) -> Any:
        return self.support_
