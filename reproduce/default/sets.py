"""The data sets of the comparison, cut to a size that a laptop can run.

Every set goes through the same steps: classes with fewer than 10 rows are left out, rows and
columns above the limits are left out at random, and constant columns are removed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import datasets
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.preprocessing import PolynomialFeatures

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"

#: Sets next to the project. Left out are sets of fewer than 25 columns, sets whose columns are
#: codes without an order (the baselines take numbers), and second versions of the same data.
FROM_FILES = (
    "a9a", "ada", "arcene", "arrhythmia", "basehock", "breast_west", "cns", "coil2000", "colon",
    "dexter", "dlbcl", "dna", "dorothea", "gisette_valid", "glioma", "isolet", "leukemia",
    "lymphoma", "madelon", "marti1", "multi_features", "ohsumed_23", "pcmac_asu", "prostate",
    "rcv1_vw_sample", "reged1", "relathe", "spambase", "sylva", "tick_reuters",
)  # fmt: skip

#: Fewer rows of a class cannot be split into folds.
LEAST_ROWS = 10


def _diabetes() -> Any:
    """Return the ten columns, their squares and their products: 65 columns."""
    X, y = datasets.load_diabetes(return_X_y=True)
    return PolynomialFeatures(2, include_bias=False).fit_transform(X), y


def _friedman2() -> Any:
    """Return the four columns of Friedman's second problem among 96 columns of noise."""
    X, y = datasets.make_friedman2(600, noise=100.0, random_state=0)
    return np.hstack([X, np.random.default_rng(0).normal(size=(600, 96))]), y


FROM_SKLEARN: dict[str, Callable[[], Any]] = {
    "breast_cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "wine": lambda: datasets.load_wine(return_X_y=True),
}

REGRESSION: dict[str, Callable[[], Any]] = {
    "diabetes_pairs": _diabetes,
    "friedman1": lambda: datasets.make_friedman1(600, 100, noise=1.0, random_state=0),
    "friedman2_noise": _friedman2,
    "linear": lambda: datasets.make_regression(
        600, 200, n_informative=30, effective_rank=40, noise=1.0, random_state=0
    ),
    "sparse_uncorrelated": lambda: datasets.make_sparse_uncorrelated(600, 100, random_state=0),
}

#: Sets that were looked at while the rule of the default was designed.
SEEN = (
    "ada", "arcene", "breast_cancer", "colon", "dexter", "digits", "gisette_valid", "isolet",
    "leukemia", "madelon", "multi_features", "prostate", "spambase", "sylva", "wine",
)  # fmt: skip

NAMES = (*FROM_SKLEARN, *FROM_FILES, *REGRESSION)


@dataclass(frozen=True)
class Limits:
    """The largest table of the comparison."""

    rows: int = 1000
    columns: int = 5000


@dataclass(frozen=True)
class DataSet:
    """One table of numbers with its target.

    `X` is dense, or CSR where the source is sparse. `full` is the shape before the limits.
    """

    name: str
    X: Any
    y: Any
    task: str
    full: tuple[int, int]

    @property
    def sparse(self) -> bool:
        """Return True if the columns are stored as nonzeros."""
        return bool(sp.issparse(self.X))

    @property
    def n_classes(self) -> int:
        """Return the number of classes; 0 for regression."""
        return 0 if self.task == "regression" else len(np.unique(self.y))

    def folds(self) -> list[tuple[Any, Any]]:
        """Return training and test rows: twice five folds below 300 rows, else three folds."""
        parts, repeats = (5, 2) if len(self.y) < 300 else (3, 1)
        kind = KFold if self.task == "regression" else StratifiedKFold
        return [
            fold
            for repeat in range(repeats)
            for fold in kind(parts, shuffle=True, random_state=repeat).split(self.X, self.y)
        ]


def available() -> list[str]:
    """Return the names of the sets that can be loaded here."""
    return [n for n in NAMES if n not in FROM_FILES or (SHARED / n / "meta.json").is_file()]


def load(name: str, limits: Limits) -> DataSet:
    """Return a set, cut to the limits."""
    if name in FROM_FILES:
        X, y = _from_file(SHARED / name)
    else:
        X, y = (FROM_SKLEARN | REGRESSION)[name]()
    task = "regression" if name in REGRESSION else "classification"
    full = X.shape
    if task == "classification":
        X, y = _without_rare_classes(X, y)
    if X.shape[0] > limits.rows:
        rows, _ = train_test_split(
            np.arange(X.shape[0]), train_size=limits.rows, random_state=0,
            stratify=None if task == "regression" else y,
        )  # fmt: skip
        X, y = X[np.sort(rows)], y[np.sort(rows)]
        if task == "classification":  # a class may have become rare
            X, y = _without_rare_classes(X, y)
    columns = np.flatnonzero(_varies(X))
    if len(columns) > limits.columns:
        drawn = np.random.default_rng(0).choice(columns, limits.columns, replace=False)
        columns = np.sort(drawn)
    return DataSet(name, X[:, columns], y, task, full)


def _from_file(folder: Path) -> tuple[Any, Any]:
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    y = np.load(folder / "y.npy")
    if "CSR" in meta["format"]:
        return sp.csr_array(sp.load_npz(folder / "X.npz")).astype(np.float64), y
    return np.load(folder / "X.npy").astype(np.float64), y


def _without_rare_classes(X: Any, y: Any) -> tuple[Any, Any]:
    _, numbers, counts = np.unique(y, return_inverse=True, return_counts=True)
    rows = np.flatnonzero(counts[numbers] >= LEAST_ROWS)
    return X[rows], y[rows]


def _varies(X: Any) -> Any:
    """Return which columns have two different values."""
    if sp.issparse(X):
        low, high = (np.asarray(v.todense()).ravel() for v in (X.min(axis=0), X.max(axis=0)))
    else:
        low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    return high > low
