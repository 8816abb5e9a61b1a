"""The honest score: nested cross-validation of the whole procedure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import tamis
from tamis import SAOLA, FisherZ, Sieve, judge
from tamis.core.errors import InputError, ParameterError
from tamis.core.judged import Judged
from tamis.core.target import Target
from tamis.evaluate.honest_score import folds_of, score_of
from tamis.evaluate.protocol import parse_cv


def test_the_mean_is_the_score_of_all_rows_each_predicted_once() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    found = judge(X, SAOLA(FisherZ()), y, cv=4)
    folds = folds_of(Target.of(y), parse_cv(4), 0)
    model = make_pipeline(
        SAOLA(FisherZ()),
        StandardScaler(),
        LogisticRegression(max_iter=1000, class_weight="balanced"),
    )  # the selection inside the folds
    predicted = cross_val_predict(model, X, y, cv=[(f.train, f.test) for f in folds])
    assert found.kept.mean == pytest.approx(balanced_accuracy_score(y, predicted))
    plain = cross_val_predict(model[1:], X, y, cv=[(f.train, f.test) for f in folds])
    assert found.every is not None
    assert found.every.mean == pytest.approx(balanced_accuracy_score(y, plain))


def test_numbers_are_scored_by_the_part_of_the_variance() -> None:
    X, y = load_diabetes(return_X_y=True)
    found = judge(X, Sieve(), y, cv="1x5")
    folds = folds_of(Target.of(y), parse_cv(5), 0)
    model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 5, 9)))
    plain = cross_val_predict(model, X, y, cv=[(f.train, f.test) for f in folds])
    assert found.scoring == "R squared"
    assert found.every is not None
    assert found.every.mean == pytest.approx(r2_score(y, plain), abs=1e-9)


def test_noise_is_judged_as_noise_although_features_are_kept() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 1000)), np.arange(80) % 2
    found = judge(X, SAOLA(FisherZ(alpha=0.05)), y)
    assert found.n_kept > 5
    assert found.kept.low < 0.5 < found.kept.high
    kept = SAOLA(FisherZ(alpha=0.05)).fit(X, y).kept_  # the usual mistake
    wrong = cross_val_predict(LogisticRegression(), X[:, kept], y, cv=5)
    assert balanced_accuracy_score(y, wrong) > found.kept.high


def test_words_gaps_rare_classes_and_sparse_columns_are_taken() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "rare"], [60, 57, 3])
    frame = pd.DataFrame({
        "word": np.where(rng.random(120) < 0.8, y, "other"),
        "gaps": np.where(rng.random(120) < 0.3, np.nan, rng.normal(size=120) + (y == "a")),
        "noise": rng.normal(size=120),
    })  # fmt: skip
    with pytest.warns(match="fewer than the 5 folds"):
        found = judge(frame, Sieve(), y)
    assert found.kept.mean > 0.5  # chance is a third
    sparse = sp.random(200, 400, 0.15, random_state=0, format="csr")
    labels = np.asarray((sparse != 0)[:, :3].sum(axis=1)).ravel() > 0
    assert judge(sparse, "saola", labels.astype(int)).kept.mean > 0.6


def test_perfect_predictions_still_have_an_interval() -> None:
    y = np.arange(40) % 2
    X = np.column_stack([y, np.random.default_rng(0).normal(size=40)])
    found = judge(X, SAOLA(FisherZ()), y)
    assert found.kept.mean == 1
    assert 0.7 < found.kept.low < 0.99  # 40 rows cannot show more


def test_the_standard_error_is_nadeaus_and_bengios() -> None:
    scores = np.array([0.7, 0.8, 0.9, 0.75, 0.85])
    found = score_of(scores, ratio=0.25)
    assert found.std_error == pytest.approx(scores.std(ddof=1) * np.sqrt(1 / 5 + 0.25))


def test_rows_that_belong_together_stay_in_one_fold() -> None:
    rng = np.random.default_rng(0)
    patients = np.repeat(np.arange(30), 6)
    y = np.repeat(rng.integers(0, 2, 30), 6)
    # Each patient has a pattern of their own, which says nothing about others.
    X = np.repeat(rng.normal(size=(30, 60)), 6, axis=0) + rng.normal(size=(180, 60)) * 0.1
    leaking = judge(X, SAOLA(FisherZ()), y, model=DecisionTreeClassifier(random_state=0))
    honest = judge(
        X, SAOLA(FisherZ()), y, model=DecisionTreeClassifier(random_state=0), row_groups=patients
    )
    assert leaking.kept.mean > 0.9
    assert honest.kept.mean < 0.75
    for fold in folds_of(Target.of(y), parse_cv("2x5"), 0, patients):
        assert not set(patients[fold.train]) & set(patients[fold.test])
    numbers = Target.of(rng.normal(size=180))
    for fold in folds_of(numbers, parse_cv("2x5"), 0, patients):
        assert not set(patients[fold.train]) & set(patients[fold.test])


def test_keep_and_encode_are_repeated_in_every_fold() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    found = judge(X, "saola", y, encode="mdlp", keep=["mean fractal dimension"], cv=3)
    assert found.n_features == 30
    dummy = judge(X, "saola", y, model=DummyClassifier(), cv=3)
    assert dummy.kept.mean == pytest.approx(0.5)
    assert dummy.model == "DummyClassifier"


def test_it_survives_a_file_and_says_it_in_a_sentence() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    found = judge(X, "saola", y, cv=3)
    assert Judged.of(found.record()) == found
    assert str(found).startswith("balanced accuracy 0.9")
    assert judge(X, "saola", y, cv=3) == found  # the same folds again


@pytest.mark.parametrize(
    ("params", "kind", "message"),
    [
        ({"model": "magic"}, ParameterError, "model"),
        ({"cv": "five"}, ParameterError, "cv='five'"),
        ({"sample_weight": np.ones(7), "cv": 2}, InputError, "7"),
        ({"cv": 5}, InputError, "5 folds"),
    ],
)
def test_what_cannot_be_judged_is_refused(params, kind, message) -> None:
    y = [0, 1, 0, 1, 0, 1]
    with pytest.raises(kind, match=message):
        judge(np.random.default_rng(0).normal(size=(6, 3)), "saola", y, **params)
    with pytest.raises(InputError, match="no target"):
        tamis.judge(np.eye(6))
