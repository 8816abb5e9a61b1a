"""What every estimator guarantees about `fit`, whether it selects columns or learns from rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from tamis.checks.data import Case, assert_same, assert_same_log, cases, fitted


def fit_is_the_same_for_every_layout(estimator: Any, case: Case) -> None:
    """Dense and sparse input, by rows or by columns, gives bit-identical results."""
    expected = fitted(estimator, case)
    for make in (sp.csc_matrix, sp.csr_matrix, sp.coo_matrix, np.asfortranarray):
        found = clone(estimator).fit(make(case.X), case.y)
        assert_same(found, expected, f"{case}, {make.__name__}")


def inputs_are_never_modified(estimator: Any, case: Case) -> None:
    """The input is not modified, not even unsorted indices or stored zeros."""
    for make in (np.array, sp.csr_matrix, sp.csc_matrix):
        X: Any = make(case.X)
        y = case.y.copy()
        arrays = [X, y]
        if sp.issparse(X):
            X.data[::5] = 0.0
            X.indices[:2] = X.indices[:2][::-1].copy()
            X.has_sorted_indices = False
            arrays = [X.data, X.indices, X.indptr, y]
        before = [a.copy() for a in arrays]
        done = clone(estimator).fit(X, y)
        if hasattr(done, "predict"):
            done.predict(X)
        same = all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))
        assert same, f"{case}: {make.__name__} input was changed"


def stored_zeros_are_zeros(estimator: Any, case: Case) -> None:
    """A sparse matrix with stored zeros gives the same result as one without."""
    for make in (sp.csr_matrix, sp.csc_matrix):
        X: Any = make(case.X)
        X.data[::5] = 0.0
        found, when = clone(estimator).fit(X, case.y), f"{case}, stored zeros"
        expected = clone(estimator).fit(X.toarray(), case.y)
        if hasattr(found, "log_"):
            assert_same_log(found.log_, expected.log_, when)
            continue
        assert found.kept_.tolist() == expected.kept_.tolist(), f"{when}: other features"
        assert np.array_equal(found.weights_, expected.weights_), f"{when}: other weights"


def fitting_again_starts_afresh(estimator: Any) -> None:
    """Nothing remains of an earlier fit."""
    first, second = cases()[0], cases()[2]
    again = clone(estimator).fit(first.X, first.y).fit(second.X, second.y)
    assert_same(again, fitted(estimator, second), "fitted twice")
