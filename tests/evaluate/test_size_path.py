"""Scores by number of features, from one ranking per fold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_wine
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from tamis import MRMR
from tamis.core.errors import InputError, ParameterError
from tamis.evaluate import SizePath, size_path

X, y = load_wine(return_X_y=True)
FOLDS = KFold(4, shuffle=True, random_state=0)


def test_every_size_is_scored_as_if_it_were_selected_alone() -> None:
    found = size_path(
        X, y, MRMR(n_features=6), estimator=KNeighborsClassifier(3), cv=FOLDS, sizes=[5, 2]
    )
    assert found.sizes == [2, 5]
    for size, column in zip(found.sizes, found.scores.T, strict=True):
        for (train, test), score in zip(FOLDS.split(X, y), column, strict=True):
            alone = MRMR(n_features=size).fit(X[train], y[train])
            judge = KNeighborsClassifier(3).fit(X[train][:, alone.ranking_], y[train])
            assert score == judge.score(X[test][:, alone.ranking_], y[test])
    assert found.kept(5) == [f"x{f}" for f in MRMR(n_features=5).fit(X, y).ranking_]


def test_noise_is_no_better_than_chance() -> None:
    """The rows that are scored are not those that were selected with."""
    rng = np.random.default_rng(0)
    noise, coin = rng.normal(size=(60, 400)), np.arange(60) % 2
    found = size_path(noise, coin, MRMR(n_features=3), sizes=[3], cv=FOLDS)
    assert found.mean[0] < 0.65


def test_frames_and_sparse_matrices_give_the_same() -> None:
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(13)])
    tree, selector = DecisionTreeClassifier(random_state=0), MRMR(n_features=4)
    expected = size_path(X, y, selector, sizes=[1, 4], estimator=tree)
    for table in (frame, sp.csr_matrix(X)):
        found = size_path(table, y, selector, sizes=[1, 4], estimator=tree)
        np.testing.assert_array_equal(found.scores, expected.scores)
    named = size_path(frame, pd.Series(y), selector, sizes=[4])
    assert named.ranking[0] == f"c{expected.ranking[0][1:]}"


def test_the_task_of_the_selector_decides_how_it_is_scored() -> None:
    found = size_path(X, y, MRMR(n_features=3, task="regression"), sizes=[3])
    assert found.scoring == "r2"


def test_numbers_are_scored_by_r_squared() -> None:
    table, progress = load_diabetes(return_X_y=True)
    found = size_path(table, progress / 3, MRMR(n_features=5), sizes=[1, 3])
    assert found.scoring == "r2"
    assert 0.2 < found.mean[0] < found.mean[1] < 0.6


def test_enough_is_the_smallest_size_near_the_best() -> None:
    scores = np.array([[0.5, 0.80, 0.81], [0.5, 0.82, 0.85]])
    path = SizePath([1, 5, 9], scores, [f"x{i}" for i in range(9)], "accuracy")
    assert (path.best, path.enough) == (9, 5)
    frame = path.to_frame()
    assert frame["n_features"].tolist() == [1, 5, 9]
    assert frame["adds"].tolist()[1] == ["x1", "x2", "x3", "x4"]
    assert "best accuracy 0.830 with 9 features, 0.810 with 5" in repr(path)
    labels = [text.get_text().strip() for text in path.plot().axes[0].texts]
    assert labels == ["enough: 5", "best: 9"]


def test_what_cannot_be_ranked_is_refused_in_one_sentence() -> None:
    with pytest.raises(
        ParameterError, match="SelectKBest does not rank its features; use one that"
    ):
        size_path(X, y, SelectKBest())
    with pytest.raises(ParameterError, match="sizes=0 is not a whole number at least 1"):
        size_path(X, y, MRMR(n_features=3), sizes=[0])
    with pytest.raises(InputError, match="has 3 features, fewer than every size"):
        size_path(X, y, MRMR(n_features=3), sizes=[5])
