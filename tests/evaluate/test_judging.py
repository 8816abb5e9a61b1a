"""Classifiers and metrics."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB

from tamis.core.errors import InputError, ParameterError
from tamis.evaluate import classifiers
from tamis.evaluate.cells import judge
from tamis.evaluate.classifiers import CLASSIFIERS, check_classifiers, make_classifier
from tamis.evaluate.metrics import quality
from tamis.evaluate.nearest_rows import NearestRows


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
    csc, csr = sp.csc_matrix(train), sp.csr_matrix(test)
    sparse = judge("knn", 0, np.array([], dtype=np.int64), csc, csr, y, truth)
    assert [sparse[k] for k in ("status", "accuracy", "note", "right")] == [
        got[k] for k in ("status", "accuracy", "note", "right")
    ]
    model, _ = make_classifier("nb", train[:, :0])
    assert isinstance(model, DummyClassifier)


def test_naive_bayes_by_what_the_values_are():
    flags = np.array([[0, 1], [1, 1], [1, 0]])
    assert isinstance(make_classifier("nb", flags)[0], BernoulliNB)
    assert isinstance(make_classifier("nb", sp.csr_matrix(flags))[0], BernoulliNB)
    assert isinstance(make_classifier("nb", flags + 0.5)[0], GaussianNB)
    counts = sp.csr_matrix(np.array([[0, 3], [0, 0], [1, 0]]))
    assert isinstance(make_classifier("nb", counts)[0], GaussianNB)


def test_naive_bayes_takes_codes_for_categories():
    """The middle code of three is a class of its own, which no normal curve can tell."""
    codes = np.tile([3.0, 5.0, 4.0, 5.0, 3.0, 4.0], 10)[:, None]
    y = (codes[:, 0] == 4.0).astype(int)
    new = np.array([[4.0], [3.0], [5.0], [9.0]])  # no training row has a 9
    for table in (codes, sp.csc_matrix(codes)):
        model, ready = make_classifier("nb", table)
        assert isinstance(model.steps[-1][1], CategoricalNB)
        assert model.fit(ready(table), y).predict(new).tolist() == [1, 0, 0, 0]


def exact_neighbours(train, test, k):
    """The definition, in fractions."""
    found = []
    for row in test:
        squares = [
            sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(row, other, strict=True))
            for other in train
        ]
        found.append(sorted(range(len(train)), key=lambda i, d=squares: (d[i], i))[:k])
    return found


@pytest.mark.parametrize("seed", range(5))
def test_neighbours_are_exact_and_the_first_of_equals(seed):
    rng = np.random.default_rng(seed)
    # Eighths, so that many distances are equal.
    train, test = (rng.integers(0, 4, (n, 5)) / 8.0 for n in (60, 25))
    got = NearestRows(3).fit(train, np.zeros(60)).nearest(test)
    assert got.tolist() == exact_neighbours(train.tolist(), test.tolist(), 3)


def test_no_order_of_adding_up_changes_a_neighbour():
    """Equal distances in theory: 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in floats."""
    rng = np.random.default_rng(0)
    parts = np.sqrt(rng.integers(1, 9, 40) / 10.0)
    train = np.stack([rng.permutation(parts) for _ in range(200)])
    zero = np.zeros((1, 40))
    columns = rng.permutation(40)
    y = np.arange(200)
    first = NearestRows(3).fit(train, y)
    assert first.nearest(zero).tolist() == [[0, 1, 2]]
    assert first.predict(zero).tolist() == [0]
    for table in (train[:, columns], sp.csr_matrix(train[:, columns])):
        again = NearestRows(3).fit(table, y)
        assert again.nearest(table[:50]).tolist() == first.nearest(train[:50]).tolist()


def test_long_rows_have_larger_steps():
    train = np.array([[1e12, 0.0], [0.0, 1e12], [1e12, 1e6]])
    assert NearestRows(1).fit(train, [0, 1, 2]).predict([[1e12, 9e5]]).tolist() == [2]
    with pytest.raises(InputError, match="finite numbers"):
        NearestRows(1).fit(np.array([[np.inf]]), [0])


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
