"""L1-SVM against scikit-learn's machine on columns standardised by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from tamis import L1SVM
from tamis.core.errors import DataWarning, InputError, ParameterError


def data(seed, classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, 90)
    X = rng.normal(size=(90, 25)) * rng.random(25) * 10
    X[:, ::5] += 3 * rng.random((classes, 5))[y]
    return X, y


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_weights_are_those_of_scikit_learn(seed, classes) -> None:
    X, y = data(seed, classes)
    found = L1SVM(C=0.05).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    machine = LinearSVC(penalty="l1", dual=False, C=0.05, random_state=0, tol=1e-8, max_iter=10**5)
    expected = np.linalg.norm(machine.fit(Z, y).coef_, axis=0)
    assert found.kept_.tolist() == np.flatnonzero(expected).tolist()
    np.testing.assert_allclose(
        found.log_.relevances_of(found.kept_), expected[found.kept_], atol=2e-3
    )


def test_sparse_columns_stay_as_they_are() -> None:
    X, y = data(0)
    X *= np.random.default_rng(1).random(X.shape) < 0.2
    found = L1SVM(C=0.05, scale="none").fit(sp.csr_matrix(X), y)
    machine = LinearSVC(penalty="l1", dual=False, C=0.05, random_state=0, max_iter=5000)
    assert found.kept_.tolist() == np.flatnonzero(machine.fit(sp.csr_matrix(X), y).coef_).tolist()


@pytest.mark.parametrize("wanted", [1, 3, 7, 25])
def test_the_requested_number_is_kept(wanted) -> None:
    X, y = data(1)
    found = L1SVM(n_features=wanted).fit(X, y)
    assert len(found.kept_) == wanted
    sizes = found.log_.relevances_of(np.arange(25))
    assert np.all(np.diff(sizes[found.ranking_]) <= 0)
    fewer = L1SVM(C=0.97 * found.C_).fit(X, y)
    assert len(fewer.kept_) < wanted
    again = L1SVM(C=found.C_).fit(X, y)
    assert set(found.kept_) <= set(again.kept_)


def test_sentences_carry_the_numbers() -> None:
    X, y = data(2)
    log = L1SVM(C=0.02).fit(X, y).log_
    best, worst = log.replay()[0], next(j for j in range(25) if j not in log.replay())
    assert log.why(best).startswith(f"x{best} is kept: |w(x{best})|=0.")
    assert log.why(best).endswith("from the top in the model with C=0.02")
    assert log.why(worst) == f"x{worst} was dropped: its weight is 0 in the model with C=0.02"


def test_a_machine_that_did_not_converge_is_reported() -> None:
    X, y = data(3)
    with pytest.warns(DataWarning, match="L1SVM: liblinear did not end in max_iter=1 rounds"):
        L1SVM(C=100.0, max_iter=1).fit(X, y)


def test_regression_targets_and_wrong_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="L1SVM needs classes, and y holds real numbers"):
        L1SVM().fit(np.eye(6), np.linspace(0, 1, 6))
    for wrong in ({"C": 0}, {"n_features": 0}, {"scale": "max"}, {"max_iter": 0}):
        with pytest.raises(ParameterError, match=r"L1SVM: \w+=.* is not"):
            L1SVM(**wrong).fit(np.eye(4), [0, 0, 1, 1])
