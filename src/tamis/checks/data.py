"""Shared by the checks: small but difficult data sets, and comparisons of fitted objects.

The data have copies, ties, constants, rare and full columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.decisions import DecisionLog
from tamis.core.errors import TamisError

E = TypeVar("E", bound=Any)


@dataclass(frozen=True, eq=False)
class Case:
    """A table with a target and a name."""

    name: str
    X: npt.NDArray[np.float64]
    y: npt.NDArray[Any]

    def __repr__(self) -> str:
        return self.name


def cases() -> list[Case]:
    """Discrete, rare, continuous and real-valued sparse data; two and three classes."""
    return [_discrete(), _rare(), _continuous(), _sparse_real()]


def _discrete() -> Case:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 120)
    X = rng.integers(0, 4, (120, 60)).astype(np.float64)
    for j, noise in ((5, 0.3), (17, 0.1), (30, 0.2), (44, 0.1)):
        X[:, j] = np.where(rng.random(120) < noise, X[:, j], y)
    return Case("discrete, three classes", _with_troubles(X), y)


def _rare() -> Case:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    X = (rng.random((200, 150)) < 0.03).astype(np.float64)
    for j in range(0, 150, 10):
        X[:, j] = (rng.random(200) < 0.05 + 0.3 * y * (j % 3)).astype(np.float64)
    X[:, 7] *= rng.integers(1, 30, 200)  # counts, with more levels than a linear search handles
    return Case("rare events, two classes", _with_troubles(X), y)


def _continuous() -> Case:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 90)
    X = rng.normal(size=(90, 70)) + 3.0
    for j in range(0, 70, 7):
        X[:, j] += y * rng.random()
    X[:, 11] = -2.0 * X[:, 7] + 5.0  # an affine copy
    return Case("continuous, two classes", _with_troubles(X), y)


def _sparse_real() -> Case:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 150)
    X = rng.exponential(size=(150, 80)) * (rng.random((150, 80)) < 0.15)
    for j in range(0, 80, 8):
        X[:, j] += (y == j % 3) * rng.random(150) * (rng.random(150) < 0.5)
    X[:, 9] = rng.normal(size=150)  # a full column among sparse ones
    return Case("sparse and real, three classes", _with_troubles(X), y)


def _with_troubles(X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Add exact copies and constant columns."""
    X = X.copy()
    X[:, 20] = X[:, 10]
    X[:, 40] = X[:, 10]
    X[:, 3] = 0.0
    X[:, 13] = 7.0
    return X


def assert_same_log(found: DecisionLog, expected: DecisionLog, when: str) -> None:
    """Raise an error about the first difference between two logs."""
    a, b = found.state(), expected.state()
    assert found.replay() == expected.replay(), (
        f"{when}: kept {found.replay()} where {expected.replay()} was expected"
    )
    for key in b:
        same = np.array_equal(a[key], b[key], equal_nan=b[key].dtype.kind == "f")
        assert same, f"{when}: the logs differ in {key!r}"
    assert set(a) == set(b), f"{when}: the logs have different contents"


def fitted(estimator: E, case: Case) -> E:
    """A copy of an estimator, fitted."""
    copy: E = clone(estimator).fit(case.X, case.y)
    return copy


def refusal(call: Callable[..., Any], *given: Any) -> str:
    """The message of the error that a call raises; "" if it raises none."""
    try:
        call(*given)
    except TamisError as error:
        return str(error)
    return ""


def assert_same_model(found: Any, expected: Any, when: str) -> None:
    """Raise an error about the first difference between two models."""
    for what in ("kept_", "weights_", "confidence_", "work_", "size_curve_"):
        pair: list[Any] = [getattr(model, what, None) for model in (found, expected)]
        assert np.array_equal(*pair), f"{when}: {what} is {pair[0]} where {pair[1]} was expected"


def assert_same(found: Any, expected: Any, when: str) -> None:
    """Raise an error about the first difference between two fitted estimators."""
    if hasattr(expected, "log_"):
        assert_same_log(found.log_, expected.log_, when)
    else:
        assert_same_model(found, expected, when)


def rows_of(X: Any, y: Any, first: int = 0, n_columns: int | None = None) -> RowBlock:
    """Compressed rows of a table, as a source gives them."""
    csr = sp.csr_matrix(X)
    return RowBlock(first, n_columns, Compressed(csr.indptr, csr.indices, csr.data), y)
