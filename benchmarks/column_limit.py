"""Preselection for a model with a column limit: 500 columns of wide sets, then gradient boosting.

LightGBM is the model. It has no limit itself, so its score with all columns is shown as well. Every
selection and every projection is fitted inside the folds. Fills a table of docs/column-limit.md.
``LIMIT=100`` sets another limit, ``SETS=prostate,arcene`` measures some sets; both fill nothing.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold

import tamis
from benchmarks._data import SHARED
from benchmarks._docs import fill
from benchmarks._harness import Report, table

DOCUMENTED = 500
LIMIT = int(os.environ.get("LIMIT", DOCUMENTED))
ALL_SETS = (
    "prostate,arcene,cns,colon,leukemia,dlbcl,pcmac_asu,relathe,basehock,gisette_valid,dexter"
)
SETS = os.environ.get("SETS", ALL_SETS)
FOLDS = 3
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"LIMIT": 100, "SETS": "colon"}


def ways(n_rows: int) -> dict[str, Callable[[], Any]]:
    """Return how columns are chosen; there are at most as many components as rows."""
    return {
        "Sieve": lambda: tamis.Sieve(n_features=LIMIT),
        "mRMR": lambda: tamis.MRMR(n_features=LIMIT),
        "PCA": lambda: PCA(min(LIMIT, n_rows - 1), random_state=0),
        "random": lambda: tamis.RandomFeatures(n_features=LIMIT),
    }


def dense(name: str) -> tuple[Any, Any]:
    """Return all rows of a set in the shared folder as a dense table, and its classes."""
    folder = SHARED / name
    sparse = (folder / "X.npz").exists()
    X = sp.load_npz(folder / "X.npz").toarray() if sparse else np.load(folder / "X.npy")
    return X.astype(np.float64), np.load(folder / "y.npy")


def score(X: Any, y: Any, make: Callable[[], Any] | None) -> tuple[float, float]:
    """Return the balanced accuracy over the folds, and the CPU seconds of choosing columns."""
    from lightgbm import LGBMClassifier
    from sklearn.metrics import balanced_accuracy_score

    scores, seconds = [], 0.0
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        seen, unseen = X[train], X[test]
        if make is not None:
            begun = time.process_time()
            way = make().fit(seen, y[train])
            seconds += time.process_time() - begun
            seen, unseen = way.transform(seen), way.transform(unseen)
        model = LGBMClassifier(n_jobs=1, random_state=0, verbose=-1).fit(seen, y[train])
        scores.append(balanced_accuracy_score(y[test], model.predict(unseen)))
    return float(np.mean(scores)), seconds / FOLDS


def main() -> None:
    """Measure every way on every set."""
    report = Report("column_limit", __doc__ or "")
    accuracy, cost = [], []
    warnings.simplefilter("ignore")
    for name in SETS.split(","):
        X, y = dense(name)
        found = {way: score(X, y, make) for way, make in ways(2 * len(y) // FOLDS).items()}
        shape = {"set": name, "rows": len(y), "columns": X.shape[1]}
        everything = score(X, y, None)[0]
        accuracy.append(
            shape | {way: f"{100 * s:.1f}" for way, (s, _) in found.items()}
            | {"all columns": f"{100 * everything:.1f}"}
        )  # fmt: skip
        cost.append({"set": name} | {way: f"{s:.2g}" for way, (_, s) in found.items()})
        print(accuracy[-1], cost[-1], flush=True)
    report.table(f"Balanced accuracy, %, with {LIMIT} columns", accuracy)
    report.table("CPU seconds to choose them, per fold", cost)
    report.save()
    if LIMIT == DOCUMENTED and SETS == ALL_SETS:
        fill("column-limit.md", "accuracy", table(accuracy))
        fill("column-limit.md", "cost", table(cost))
