"""The accuracy of a kept set, for the stopping rule of a selection."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from tamis.evaluate.classifiers import make_classifier

#: Folds, or as many as the smallest class that has two rows.
FOLDS = 5


def kept_accuracy(X: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> float:
    """Return the share of rows that a decision tree predicts correctly, in stratified folds.

    A tree takes numbers and the codes of words alike. The folds do not depend on the columns, so
    the answer is a function of the kept set.
    """
    counts = np.bincount(y)
    folds = int(max(2, min(FOLDS, counts[counts > 1].min(initial=FOLDS))))
    cv = StratifiedKFold(folds, shuffle=True, random_state=0)
    found = cross_val_predict(make_classifier("tree", X)[0], X, y, cv=cv)
    return float(np.mean(found == y))
