"""Rows one by one, as dicts of numbers or names to values, as river gives them."""

from __future__ import annotations

import math
import pickle

import pytest
import scipy.sparse as sp
from all_learners import every, same
from sklearn.base import clone
from streams import stream

import tamis
from tamis.core.errors import InputError


@every
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_by_one_is_the_same_as_all_at_once(learner, n_classes) -> None:
    X, y = stream("counts", 2, 15, n_classes, 60)
    expected = clone(learner).partial_fit(sp.csr_matrix(X), y, classes=range(n_classes))
    live = clone(learner).set_params(classes=list(range(n_classes)))
    assert live.predict_one({0: 1.0}) is None
    right = 0
    for x, label in zip(X, y.tolist(), strict=True):
        row = {j: v for j, v in enumerate(x.tolist()) if v}
        guess = live.predict_one(row)
        right += guess == label
        assert live.learn_one(row, label) is None
    same(live, expected)
    # Before the first row a model predicts None, which does not count as a mistake.
    assert 60 - right - live.work_["mistakes"] in (0, 1)


def test_names_are_numbered_in_order_of_arrival() -> None:
    live = tamis.PET(3)
    live.learn_one({"rain": 1.0, "wind": 2.0}, True)
    live.learn_one({"sun": 3.0, "rain": 1.0}, False)
    assert live.get_feature_names_out().tolist() == ["rain", "wind", "sun"]
    assert live.predict_one({"wind": 1.0, "fog": 9.0}) is True
    assert live.predict_one({"sun": 1.0}) is False
    with pytest.raises(InputError, match="by numbers and by names"):
        live.learn_one({3: 1.0}, True)
    with pytest.raises(InputError, match="NaN or infinity in row 2, column 'snow'"):
        live.learn_one({"snow": math.nan, "hail": 1.0}, True)
    live.learn_one({"ice": 1.0}, True)
    assert live.n_features_in_ == 4
    again = pickle.loads(pickle.dumps(live))
    again.learn_one({"mist": 1.0}, True)
    assert again.n_features_in_ == 5
    assert live.n_features_in_ == 4


def test_names_are_hashed() -> None:
    live = tamis.SOFS(10, n_bits=18)
    for _ in range(3):
        live.learn_one({"rain": 1.0, 17: 1.0}, True)
        live.learn_one({"sun": 1.0, 18: 1.0}, False)
    assert live.predict_one({"rain": 1.0}) is True
    assert live.predict_one({"sun": 1.0}) is False
    assert len(live.kept_) == 4


def test_classes_other_than_true_and_false_must_be_known() -> None:
    with pytest.raises(InputError, match="classes must be passed"):
        tamis.SOFS(3).learn_one({0: 1.0}, "spam")
    live = tamis.SOFS(3)
    with pytest.raises(InputError, match="NaN"):
        live.learn_one({0: math.nan}, True)
    assert live.predict_one({0: 1.0}) is None
    live.learn_one({0: 1.0}, True)


def test_river() -> None:
    pytest.importorskip("river")
    from river import datasets, metrics, preprocessing

    model = preprocessing.StandardScaler() | tamis.SOFS(9)
    accuracy = metrics.Accuracy()
    for x, y in datasets.Phishing():
        guess = model.predict_one(x)
        if guess is not None:
            accuracy.update(y, guess)
        model.learn_one(x, y)
    assert accuracy.get() > 0.8
