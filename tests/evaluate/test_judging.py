"""Classifiers and metrics."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from tamis.core.errors import InputError, ParameterError
from tamis.evaluate import classifiers
from tamis.evaluate.cells import judge
from tamis.evaluate.classifiers import CLASSIFIERS, check_classifiers, make_classifier
from tamis.evaluate.metrics import quality


def two_parts(seed=0, classes=2, n=120, p=6):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = rng.normal(size=(n, p))
    X[:, 0] += 2.0 * y
    return X[: n // 2], X[n // 2 :], y[: n // 2], y[n // 2 :]


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("zeros", [False, True])
def test_every_classifier_judges_the_same_dense_and_sparse(name, classes, zeros):
    train, test, y, truth = two_parts(classes=classes)
    if zeros:
        train, test = (np.where(np.abs(part) < 1.2, 0.0, part) for part in (train, test))
    keep = np.array([0, 1, 3])
    dense = judge(name, 1, keep, train, test, y, truth)
    csc, csr = sp.csc_matrix(train), sp.csr_matrix(test)
    sparse = judge(name, 1, keep, csc, csr, y, truth)
    for metric in ("accuracy", "balanced_accuracy", "auc", "f1", "right"):
        assert dense[metric] == sparse[metric], metric
    assert dense["status"] == "ok"
    assert dense["accuracy"] > 1 / classes
    assert dense["auc"] > 0.6


def test_nothing_kept_is_the_most_frequent_class():
    train, test, y, truth = two_parts()
    got = judge("knn", 0, np.array([], dtype=np.int64), train, test, y, truth)
    assert got["accuracy"] == pytest.approx(np.mean(truth == np.bincount(y).argmax()))
    assert got["note"] == "nothing was kept, so the most frequent class is predicted"
    model, _ = make_classifier("nb", train[:, :0])
    assert isinstance(model, DummyClassifier)


def test_naive_bayes_by_what_the_values_are():
    flags = np.array([[0, 1], [1, 1], [1, 0]])
    assert isinstance(make_classifier("nb", flags)[0], BernoulliNB)
    assert isinstance(make_classifier("nb", sp.csr_matrix(flags))[0], BernoulliNB)
    assert isinstance(make_classifier("nb", flags + 0.5)[0], GaussianNB)
    counts = sp.csr_matrix(np.array([[0, 3], [0, 0], [1, 0]]))
    assert isinstance(make_classifier("nb", counts)[0], GaussianNB)


def test_scaling_looks_at_training_rows_only():
    train, test, y, truth = two_parts()
    before = judge("knn", 0, None, train, test, y, truth)
    wild = test.copy()
    wild[0] = 1e6  # one test row cannot change what another is scaled by
    after = judge("knn", 0, None, train, wild, y, truth)
    right = [
        np.unpackbits(np.frombuffer(__import__("base64").b64decode(r["right"]), np.uint8))[:60]
        for r in (before, after)
    ]
    assert np.array_equal(right[0][1:], right[1][1:])


def test_too_wide_to_fill_with_zeros(monkeypatch):
    monkeypatch.setattr(classifiers, "MOST_DENSE", 10)
    wide = sp.csr_matrix(np.arange(24.0).reshape(4, 6))
    _, ready = make_classifier("nb", wide)
    with pytest.raises(InputError, match="4 rows of 6 kept features are too many"):
        ready(wide)


def test_names_of_classifiers():
    assert check_classifiers(["knn", "lr"]) == ("knn", "lr")
    with pytest.raises(ParameterError, match="classifier 'j48' is not known; give one of knn1"):
        check_classifiers(["j48"])
    with pytest.raises(ParameterError, match="give at least one classifier, and each of them once"):
        check_classifiers(["knn", "knn"])


def test_metrics_are_scikit_learns():
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(0, 3, 80), rng.integers(0, 3, 80)
    scores = rng.random((80, 3))
    scores /= scores.sum(axis=1, keepdims=True)
    got = quality(truth, predicted, scores, np.arange(3))
    assert got.accuracy == np.mean(truth == predicted)
    assert got.balanced_accuracy == pytest.approx(balanced_accuracy_score(truth, predicted))
    assert got.auc == pytest.approx(roc_auc_score(truth, scores, multi_class="ovr"))
    two = quality(truth % 2, predicted % 2, scores[:, 0], np.arange(2))
    assert two.auc == pytest.approx(roc_auc_score(truth % 2, scores[:, 0]))


def test_a_test_fold_of_one_class_has_no_area():
    zeros = np.zeros(5, dtype=int)
    got = quality(zeros, zeros, np.arange(5.0), np.arange(2))
    assert math.isnan(got.auc)
    assert (got.accuracy, got.balanced_accuracy) == (1, 1)
