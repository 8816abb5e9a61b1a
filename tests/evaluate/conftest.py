"""Data sets that several tests of comparisons use."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from tamis.evaluate.datasets import read_dataset


@pytest.fixture(scope="module")
def data():
    return {
        "cancer": load_breast_cancer(return_X_y=True),
        "iris": load_iris(return_X_y=True),
    }


@pytest.fixture(scope="module")
def plain():
    """One split with 80 rows to train on, more than the odd selectors take for a warm-up."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 8))
    X[:, 3] += 2 * y
    data = read_dataset((X, y), "d")
    data.official = np.arange(80), np.arange(80, 120)
    return {"d": data}


@pytest.fixture(scope="module", autouse=True)
def _workers_stay(shared_comparers):
    """Every comparison begins with the workers of the last one."""
