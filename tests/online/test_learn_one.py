"""Rows one by one, as dicts of numbers or names to values, as river gives them."""

from __future__ import annotations

import math
import pickle
import random

import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
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


def test_a_row_may_bring_features_that_a_table_did_not_have() -> None:
    X, y = stream("continuous", 0, 4, 2, 60)
    frame = pd.DataFrame(X, columns=list("abcd"))
    live = tamis.RowSieve(3).fit(frame, y)
    for _ in range(100):
        live.learn_one({"new": 5.0, "a": 0.1}, 1)
        live.learn_one({"new": -5.0}, 0)
    assert "new" in live.kept_names_
    assert live.predict_one({"new": 1.0, "never": 3.0}) == 1
    assert live.predict(frame).shape == (60,)  # tables still have four columns
    assert live.transform(frame).shape[1] == len(live.get_feature_names_out()) == 2
    live.partial_fit(frame, y)
    again = pickle.loads(pickle.dumps(live))
    again.learn_one({"newer": 5.0}, 1)
    assert live.learner_.columns.numbers["new"] == 4
    numbers = tamis.RowSieve(3).fit(X, y)
    for _ in range(200):
        numbers.learn_one({9: 5.0}, 1)
        numbers.learn_one({9: -5.0}, 0)
    assert 9 in numbers.kept_
    assert numbers.predict_one({9: 1.0, 70: 1.0}) == 1
    with pytest.raises(InputError, match="trained on a table without names"):
        tamis.RowSieve(3).fit(X, y).learn_one({"x3": 1.0}, 1)


def test_the_order_of_a_dict_decides_nothing() -> None:
    rows = [{"b": 1.0, "a": 1.0, "c": 1.0}, {"d": 1.0, "c": 1.0, "a": -1.0}]
    for kind in (tamis.PET, tamis.FOFS, tamis.SOFS, tamis.RowSieve):
        kept = []
        for turned in (False, True):
            live = kind(2)
            for n, row in enumerate(rows):
                live.learn_one(dict(reversed(row.items())) if turned else row, n == 0)
            kept.append(dict(zip(live.kept_names_, live.weights_.tolist(), strict=True)))
        assert kept[0] == kept[1]


def test_names_of_kept_buckets_are_known(tmp_path) -> None:
    live = tamis.RowSieve(2, n_bits=20)
    for n in range(60):
        live.learn_one({"rain": 1.0, f"noise{n}": 0.1}, True)
        live.learn_one({"sun": 1.0, f"other{n}": 0.1}, False)
    assert sorted(live.kept_names_) == ["rain", "sun"]
    assert len(live.learner_.columns.hashed_names) <= 4
    saved = tamis.open_model(tamis.save_model(live, tmp_path / "model"))
    assert saved.names_ == live.kept_names_
    assert saved.predict_one({"rain": 1.0}) is True


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


RIVER = ("RowSieve", "MergedRowSieve", "SOFS", "MergedSOFS", "PET", "FOFS", "OGD", "AROW")
RIVER += ("RowSieveRegressor", "MergedRowSieveRegressor", "SOFSRegressor", "PETRegressor")
RIVER += ("OGDRegressor", "AROWRegressor")


@pytest.mark.parametrize("name", RIVER)
@pytest.mark.filterwarnings("ignore:The `_more_tags` method is deprecated:FutureWarning")
def test_checks_of_river(name) -> None:
    pytest.importorskip("river")
    import river_models
    from river import checks

    kind = getattr(river_models, name)
    model = kind(n_features=5) if "n_features" in kind().get_params() else kind()
    done = []
    for check in checks.yield_checks(model):
        if check.__name__ == "check_tags" and sklearn.__version__.startswith("1.6."):
            continue  # scikit-learn 1.6 still has tags of its own under the name of river's
        random.seed(0)  # some checks draw features
        check(model.clone())
        done.append(check.__name__)
    assert {"check_shuffle_features_no_impact", "check_emerging_features"} <= set(done)


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
