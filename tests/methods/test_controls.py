"""The controls: all features, and random features."""

from __future__ import annotations

import numpy as np
import pytest

from tamis import AllFeatures, RandomFeatures
from tamis.core.errors import ParameterError
from tamis.methods.batch.random_features import draws


def test_all_is_all_but_constants() -> None:
    X = np.random.default_rng(0).integers(0, 3, (20, 9))
    X[:, 4] = 2
    X = X.astype(float)
    X[0, 5] = 1e300  # its square cannot be held, but it is a feature
    found = AllFeatures().fit(X, np.arange(20) % 2)
    assert found.ranking_.tolist() == [0, 1, 2, 3, 5, 6, 7, 8]
    assert found.log_.why("x5") == "x5 is kept, as every feature is that is not constant"
    assert (
        found.log_.why("x4") == "x4 was dropped as irrelevant: it has the same value in every row"
    )


def test_regression_targets_and_text_are_accepted() -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": list("xyzxyz"), "b": range(6)})
    for control in (AllFeatures(), RandomFeatures(2)):
        assert control.fit(frame, np.linspace(0, 1, 6)).kept_.tolist() == [0, 1]


def test_every_feature_has_the_same_chance() -> None:
    X = np.vstack([np.zeros(30), np.ones(30)])
    times = np.zeros(30)
    for seed in range(2000):
        times[RandomFeatures(6, random_state=seed).fit(X, [0, 1]).kept_] += 1
    assert times.sum() == 12_000
    # Each is kept in 400 of 2000 runs, give or take 18: five times that happens once in a million.
    assert np.abs(times - 400).max() < 90


def test_draws_look_random() -> None:
    from scipy.stats import kstest

    many = np.concatenate([draws(seed, np.arange(1000)) for seed in (0, 1, 2**40)])
    assert kstest(many, "uniform").pvalue > 0.001
    assert len(np.unique(many)) == 3000
    np.testing.assert_array_equal(draws(5, np.arange(10, 20)), draws(5, np.arange(30))[10:20])


def test_more_are_a_superset_of_fewer_and_other_columns_do_not_matter() -> None:
    X = np.random.default_rng(0).random((4, 50))
    y = [0, 1, 0, 1]
    longest = RandomFeatures(50, random_state=3).fit(X, y).ranking_.tolist()
    for n_features in (1, 7, 49):
        assert (
            RandomFeatures(n_features, random_state=3).fit(X, y).ranking_.tolist()
            == longest[:n_features]
        )
    first = RandomFeatures(50, random_state=3).fit(X[:, :20], y).ranking_.tolist()
    assert first == [f for f in longest if f < 20]


@pytest.mark.parametrize("wrong", [{"n_features": 0}, {"random_state": -1}, {"random_state": 0.5}])
def test_wrong_parameters_are_refused(wrong) -> None:
    with pytest.raises(ParameterError, match=r"RandomFeatures: \w+=.* is not a whole number"):
        RandomFeatures(**wrong).fit(np.eye(4), [0, 0, 1, 1])
