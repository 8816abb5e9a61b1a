"""Metrics of predictions: accuracy, balanced accuracy, area under the ROC curve, F1."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import f1_score, roc_auc_score

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Quality(NamedTuple):
    """The metrics of one set of predictions; NaN if a metric is undefined."""

    accuracy: float
    balanced_accuracy: float
    auc: float
    f1: float


#: The metrics of a fold, most important first.
METRICS = Quality._fields


def quality(truth: Ints, predicted: Ints, scores: Floats | None, classes: Ints) -> Quality:
    """Score predictions of class codes.

    Parameters
    ----------
    truth, predicted : ndarray of int
        Class codes of the test rows.
    scores : ndarray of shape (n_rows,) or (n_rows, n_classes), or None
        Decision scores of the classifier; one column for two classes.
    classes : ndarray of int
        The codes that the columns of `scores` belong to.

    Notes
    -----
    Balanced accuracy is the mean recall of the classes that occur in the test rows. F1 is the mean
    over classes (macro), so no class has to be the positive one. The area under the curve of more
    than two classes is the mean over classes, each against the rest, of those that occur in the
    test rows together with others.
    """
    right = truth == predicted
    recalls = [float(right[truth == c].mean()) for c in np.unique(truth)]
    return Quality(
        float(right.mean()),
        float(np.mean(recalls)),
        _area(truth, scores, classes),
        float(f1_score(truth, predicted, average="macro", zero_division=0.0)),
    )


def _area(truth: Ints, scores: Floats | None, classes: Ints) -> float:
    if scores is None or len(classes) < 2:
        return math.nan
    columns = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    areas = []
    for column, code in enumerate(classes.tolist()):
        inside = truth == code
        if inside.any() and not inside.all():
            areas.append(float(roc_auc_score(inside, columns[:, column])))
    return float(np.mean(areas)) if areas else math.nan
