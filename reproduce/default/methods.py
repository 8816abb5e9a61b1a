"""The methods of the comparison: tamis's default, SAOLA, and the usual baselines, untuned."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import feature_selection as fs
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, lars_path
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import tamis

#: The L1 penalty of a logistic regression; since scikit-learn 1.8 by its ratio alone.
_L1: Any = {"l1_ratio": 1.0}
if LogisticRegression().get_params()["penalty"] != "deprecated":
    _L1 = {"penalty": "l1"}

#: The sizes that are compared.
SIZES = (10, 20, 50)

#: The names of the other sizes: the method decides, or every column.
OWN, ALL = "own", "all"


@dataclass(frozen=True)
class Table:
    """The training rows of one fold."""

    X: Any
    y: Any
    task: str
    random_state: int

    @property
    def regression(self) -> bool:
        """Return True if the target is a number."""
        return self.task == "regression"

    def dense(self) -> Any:
        """Return the columns as a dense array."""
        return self.X.toarray() if sp.issparse(self.X) else self.X


#: The kept columns by size; a baseline that ranks columns returns a prefix of its ranking.
Kept = dict[str, list[int]]


@dataclass(frozen=True)
class Method:
    """A method: its function, and what it needs.

    `columns` is the widest table that it is tried on, because wider ones take too long.
    `package` has to be installed.
    """

    select: Callable[[Table], Kept]
    columns: int | None = None
    package: str | None = None
    ordered: bool = False

    def missing(self) -> str | None:
        """Return the package or class that is not there, or None."""
        if self.package is None:
            return None
        module, _, name = self.package.partition(":")
        if importlib.util.find_spec(module) is None:
            return module
        return name if name and not hasattr(importlib.import_module(module), name) else None


def _prefixes(order: Any) -> Kept:
    """Return the first columns of a ranking, for every size."""
    return {str(size): [int(c) for c in order[:size]] for size in SIZES}


def _by_score(score: Any) -> Kept:
    """Return the columns of the highest scores; of equal ones, the first."""
    return _prefixes(np.argsort(-np.nan_to_num(score, nan=-np.inf), kind="stable"))


def f_test(table: Table) -> Kept:
    """Rank by scikit-learn's F test."""
    score = fs.f_regression if table.regression else fs.f_classif
    return _by_score(score(table.X, table.y)[0])


def mutual_info(table: Table) -> Kept:
    """Rank by scikit-learn's mutual information, with its own defaults."""
    score = fs.mutual_info_regression if table.regression else fs.mutual_info_classif
    return _by_score(score(table.X, table.y, random_state=table.random_state))


def l1(table: Table) -> Kept:
    """Rank by an L1 penalty: weights of a logistic regression, or the order of the lasso path.

    The penalty is weakened until at least as many weights as the largest size are not zero.
    """
    if table.regression:
        X = StandardScaler().fit_transform(table.dense())
        return _prefixes(lars_path(X, table.y - table.y.mean(), method="lasso")[1])
    X = (MaxAbsScaler() if sp.issparse(table.X) else StandardScaler()).fit_transform(table.X)
    for C in (1.0, 10.0, 100.0, 1000.0):
        model = LogisticRegression(C=C, **_L1, solver="liblinear", random_state=table.random_state)
        fitted = OneVsRestClassifier(model).fit(X, table.y)
        weight = np.sum([np.abs(m.coef_[0]) for m in fitted.estimators_], axis=0)
        if np.count_nonzero(weight) >= min(max(SIZES), X.shape[1]):
            break
    return _by_score(weight)


def _forest(table: Table, **options: Any) -> Any:
    kind = RandomForestRegressor if table.regression else RandomForestClassifier
    return kind(random_state=table.random_state, n_jobs=1, **options)


def forest(table: Table) -> Kept:
    """Rank by the importances of a random forest of 100 trees."""
    X = table.X.tocsc() if sp.issparse(table.X) else table.X
    return _by_score(_forest(table).fit(X, table.y).feature_importances_)


def mrmr(table: Table) -> Kept:
    """Rank by batch mRMR (mrmr_selection: F test over the mean absolute correlation).

    The package's loop is given its own F test, correlation and mean for all columns at once, which
    picks the same columns in a tenth of the time.
    """
    import pandas as pd
    from mrmr.main import mrmr_base

    X = pd.DataFrame(table.dense())
    Z = StandardScaler().fit_transform(X.to_numpy()) / np.sqrt(len(X))
    score = fs.f_regression if table.regression else fs.f_classif

    def relevance() -> Any:
        return pd.Series(score(X.to_numpy(), table.y)[0], index=X.columns).fillna(0.0)

    def redundancy(target_column: int, features: list[int]) -> Any:
        return pd.Series(Z[:, features].T @ Z[:, target_column], index=features)

    return _prefixes(
        mrmr_base(
            K=max(SIZES), relevance_func=relevance, redundancy_func=redundancy,
            denominator_func="mean", show_progress=False,
        )
    )  # fmt: skip


def boruta(table: Table) -> Kept:
    """Keep what Boruta confirms, with 100 trees of the depth that its documentation proposes."""
    from boruta import BorutaPy

    model = _forest(table, max_depth=5)
    found = BorutaPy(model, n_estimators=100, random_state=table.random_state)
    return {OWN: np.flatnonzero(found.fit(table.dense(), table.y).support_).tolist()}


def sieve(table: Table, **options: Any) -> Kept:
    """Run tamis's default at every size, and at its own."""
    sizes = {**{str(size): size for size in SIZES}, OWN: None}
    return {
        name: _fitted(tamis.Sieve(n_features=size, task=table.task, **options), table)
        for name, size in sizes.items()
    }


def sieve_free(table: Table) -> Kept:
    """Run it with the most relevant column first, whatever their order."""
    return sieve(table, order="free")


def saola(table: Table) -> Kept:
    """Run SAOLA, which decides how many it keeps."""
    return {OWN: _fitted(tamis.SAOLA(task=table.task), table)}


def _fitted(selector: Any, table: Table) -> list[int]:
    columns = selector.fit(table.X, table.y).get_support(indices=True)
    return [int(c) for c in columns]


def every(table: Table) -> Kept:
    """Keep every column: the control."""
    return {ALL: list(range(table.X.shape[1]))}


METHODS: dict[str, Method] = {
    "sieve": Method(sieve, package="tamis:Sieve", ordered=True),
    "sieve_free": Method(sieve_free, package="tamis:Sieve", ordered=True),
    "saola": Method(saola, ordered=True),
    "f_test": Method(f_test),
    "mutual_info": Method(mutual_info),
    "l1": Method(l1),
    "forest": Method(forest),
    "mrmr": Method(mrmr, package="mrmr"),
    "boruta": Method(boruta, columns=130, package="boruta"),
    "all": Method(every),
}

#: The baselines that are given the size of the default.
BASELINES = ("f_test", "mutual_info", "l1", "forest", "mrmr")
