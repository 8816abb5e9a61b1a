"""Nearest neighbours that are the same on every machine."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin

from tamis.core.errors import InputError

Floats = npt.NDArray[np.float64]

#: Finest step of a value, as a power of two, and distances that are held at a time.
FINEST = 20
MOST_DISTANCES = 20_000_000


class NearestRows(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The classes of the `n_neighbors` nearest training rows.

    Values are rounded to whole steps, so small that squared distances are whole numbers below
    2^53: sums of products are then exact in any order, however a machine adds them up. Ties
    between distances go to the row with the lower number, ties between votes to the first class.

    A step is 2^-20, or the smallest larger power of two for which distances stay below 2^53. The
    training rows decide that, so that no row changes the neighbours of another; a row more than 16
    times as long as the longest of them has distances of 16 digits instead of exact ones.

    Parameters
    ----------
    n_neighbors : int, default=3
        How many rows vote; all of them if there are fewer.
    """

    def __init__(self, n_neighbors: int = 3) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any) -> Self:
        """Remember the rows."""
        self.classes_, self._codes = np.unique(y, return_inverse=True)
        longest = float(_lengths(X).max(initial=0.0))
        if not math.isfinite(longest):
            raise InputError("nearest rows need finite numbers in every column")
        # For a row b and a training row a it is |a|^2 - 2ab, below 33 |a|^2, that must be exact.
        self._steps = min(FINEST, (53 - 6 - math.frexp(longest)[1]) // 2)
        self._rows = _rounded(X, self._steps)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the share of the neighbours of each row in each class."""
        near = self.nearest(X)
        votes = np.zeros((len(near), len(self.classes_)))
        for column in near.T:
            votes[np.arange(len(near)), self._codes[column]] += 1.0
        shares: Floats = votes / near.shape[1]
        return shares

    def predict(self, X: Any) -> Any:
        """Return the class with most votes."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def nearest(self, X: Any) -> npt.NDArray[np.intp]:
        """Return the numbers of the training rows nearest to each row, nearest first."""
        train, test = self._rows, _rounded(X, self._steps)
        own = _lengths(train)
        k, n = min(self.n_neighbors, train.shape[0]), test.shape[0]
        found = np.empty((n, k), dtype=np.intp)
        height = max(1, MOST_DISTANCES // train.shape[0])
        for lo in range(0, n, height):
            part = test[lo : lo + height]
            products = part @ train.T
            if sp.issparse(products):
                products = products.toarray()
            # The length of the test row is left out: it is the same for all training rows.
            distances = own - 2.0 * products
            for i in range(k):
                nearest = np.argmin(distances, axis=1)  # the first of equals
                found[lo : lo + height, i] = nearest
                distances[np.arange(len(nearest)), nearest] = np.inf
        return found


def _lengths(X: Any) -> Floats:
    """Return the sum of squares of every row."""
    squares = X.multiply(X) if sp.issparse(X) else np.square(X)
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()


def _rounded(X: Any, steps: int) -> Any:
    if sp.issparse(X):
        X = X.astype(np.float64, copy=True)
        X.data = np.rint(np.ldexp(X.data, steps))
        return X.tocsr()
    return np.rint(np.ldexp(np.asarray(X, dtype=np.float64), steps))
