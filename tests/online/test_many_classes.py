"""Many classes on real data: the kept features predict far better than random ones."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

import tamis

KEPT, NOISE = 30, 236


@pytest.fixture(scope="module")
def digits():
    """The 64 pixels of each digit among uninformative columns, in random order."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    noise = rng.random((len(y), NOISE)) * (rng.random((len(y), NOISE)) < 0.05)
    columns = rng.permutation(64 + NOISE)
    X = np.hstack([X / 16.0, noise])[:, columns]
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    return (X[:1200], y[:1200]), (X[1200:], y[1200:]), np.flatnonzero(columns < 64)


def accuracy(model, train, test, columns=slice(None)):
    return model.fit(train[0][:, columns], train[1]).score(test[0][:, columns], test[1])


LEARNERS = {
    "SOFS": lambda **more: tamis.SOFS(gamma=0.1, **more),
    "PET": lambda **more: tamis.PET(eta=0.1, **more),
    "FOFS": lambda **more: tamis.FOFS(eta=0.1, lam=0.01, **more),
}


@pytest.mark.parametrize("multiclass", ["max", "uniform"])
@pytest.mark.parametrize("name", LEARNERS)
def test_digits_from_thirty_columns_of_three_hundred(digits, name, multiclass):
    """Far above the same learner on 30 columns drawn at random, and pixels most of them."""
    make, (train, test, pixels) = LEARNERS[name], digits
    mine = make(n_features=KEPT, multiclass=multiclass)
    chosen = accuracy(mine, train, test)
    drawn = []
    for seed in range(3):
        columns = np.random.default_rng(seed).choice(train[0].shape[1], KEPT, replace=False)
        drawn.append(accuracy(make(n_features=KEPT, multiclass=multiclass), train, test, columns))
    assert len(mine.kept_) == KEPT
    assert np.isin(mine.kept_, pixels).sum() >= 20  # 6 by chance; PET and FOFS keep the newest too
    assert chosen > np.mean(drawn) + 0.2
    assert chosen > 0.7
