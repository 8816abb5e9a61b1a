"""Grafting against fits that start from zero each time, and how its time grows.

Two peers use the same stream and the same gradient test: one refits scikit-learn's L1 logistic
regression (liblinear) whenever a feature enters, the other our own optimiser from weights 0.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from benchmarks._harness import Report, best_of
from benchmarks.growth import grow
from tamis import Grafting
from tamis.core.target import Target
from tamis.estimators import estimator_of
from tamis.methods.streaming.grafting import GraftingRule, PenalisedLogistic

#: The parameter for an L1 penalty changed in scikit-learn 1.8.
L1: dict[str, Any] = (
    {"penalty": "l1"}
    if inspect.signature(LogisticRegression).parameters["penalty"].default == "l2"
    else {"l1_ratio": 1.0}
)


SHAPES = ((500, 2_000, 10, 0.06), (2_000, 1_000, 40, 0.02), (2_000, 600, 100, 0.01))
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"SHAPES": SHAPES[:1]}


class FromZero(PenalisedLogistic):
    """Our optimiser, with its weights reset before each fit."""

    def fit(self) -> float:
        """Fit from zero."""
        self.weights[:] = 0.0
        return super().fit()


class ColdGraftingRule(GraftingRule):
    """Grafting without a warm start."""

    name = "cold-grafting"

    def begin(self, target: Target) -> None:
        """Begin with a model that resets its weights."""
        super().begin(target)
        self.model.__class__ = FromZero


ColdGrafting = estimator_of(ColdGraftingRule)


def with_sklearn(X: npt.NDArray[Any], y: npt.NDArray[Any], penalty: float) -> list[int]:
    """Apply the rule with scikit-learn as the optimiser; columns have standard deviation 1."""
    n, kept = len(y), []
    slopes = y.mean() - y
    for j in range(X.shape[1]):
        if abs(X[:, j] @ slopes) / n <= penalty * (1 + 1e-4):
            continue
        kept.append(j)
        model = LogisticRegression(
            **L1, C=1 / (n * penalty), solver="liblinear", tol=1e-6, intercept_scaling=100.0
        )
        model.fit(X[:, kept], y)
        slopes = model.predict_proba(X[:, kept])[:, 1] - y
        kept = [k for k, w in zip(kept, model.coef_[0], strict=True) if w != 0]
    return kept


def against_peers(n_rows: int, n_columns: int, informative: int, penalty: float) -> dict[str, Any]:
    """One line of the table against the peers."""
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.normal(size=(n_rows, n_columns)))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    picks = rng.choice(n_columns, informative, replace=False)
    y = (X[:, picks] @ rng.normal(size=informative) + rng.normal(size=n_rows) > 0).astype(int)
    warm, cold, theirs = Grafting(penalty), ColdGrafting(penalty), []
    warm_s, cold_s, peer_s = best_of(
        1,
        lambda: warm.fit(X, y),
        lambda: cold.fit(X, y),
        lambda: theirs.append(with_sklearn(X, y, penalty)),
    )
    return {
        "rows": n_rows,
        "columns": n_columns,
        "kept": len(warm.kept_),
        "fits": warm.work_["fits"],
        "kept by one only": len(set(warm.kept_.tolist()) ^ set(theirs[-1])),
        "tamis s": warm_s,
        "from zero s": cold_s,
        "ratio": cold_s / warm_s,
        "sweeps": warm.work_["sweeps"],
        "from zero sweeps": cold.work_["sweeps"],
        "scikit-learn s": peer_s,
        "ratio ": peer_s / warm_s,
    }


def main() -> None:
    report = Report("grafting", __doc__)
    report.table("Against fits from zero", [against_peers(*shape) for shape in SHAPES])
    grow(report, lambda X, y: Grafting(0.05).fit(X, y), counted=("gradients", "sweeps"))
    report.save()


if __name__ == "__main__":
    main()
