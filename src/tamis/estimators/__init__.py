"""The scikit-learn interface of the methods; only this, evaluate and checks import scikit-learn.

`estimator_of` makes an estimator from a user-defined rule.
"""

from __future__ import annotations

from tamis.estimators.estimator import (
    BatchEstimator,
    ColumnEstimator,
    StreamEstimator,
    estimator_of,
)

__all__ = ["BatchEstimator", "ColumnEstimator", "StreamEstimator", "estimator_of"]
