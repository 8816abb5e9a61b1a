"""Every learner, and whether two have learned the same."""

from __future__ import annotations

import numpy as np
import pytest

import tamis

LEARNERS = [
    tamis.PET(6), tamis.FOFS(6), tamis.SOFS(6), tamis.RowSieve(6), tamis.OGD(), tamis.AROW()
]  # fmt: skip
every = pytest.mark.parametrize("learner", LEARNERS, ids=lambda m: type(m).__name__)


def same(a, b):
    assert a.kept_.tolist() == b.kept_.tolist()
    np.testing.assert_array_equal(a.weights_, b.weights_)
