"""Stability measures against their formulas on the dense table of selections."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tamis.evaluate.stability import stability


def dense(kept, d):
    Z = np.zeros((len(kept), d))
    for row, features in zip(Z, kept, strict=True):
        row[list(features)] = 1
    return Z


def nogueira(Z):
    """Nogueira, Sechidis, Brown 2018: Definition 4 and Theorem 7, literally."""
    M, d = Z.shape
    p, k = Z.mean(axis=0), Z.sum(axis=1)
    kbar = k.mean()
    denominator = kbar / d * (1 - kbar / d)
    value = 1 - (M / (M - 1) * p * (1 - p)).mean() / denominator
    phi = [
        ((Z[i] * p).mean() - k[i] * kbar / d**2
         + value / 2 * (2 * kbar * k[i] / d**2 - k[i] / d - kbar / d + 1)) / denominator
        for i in range(M)
    ]  # fmt: skip
    return value, 4 / M**2 * sum((x - np.mean(phi)) ** 2 for x in phi)


selections = st.integers(4, 12).flatmap(
    lambda d: st.tuples(
        st.just(d),
        st.lists(st.sets(st.integers(0, d - 1), max_size=d), min_size=2, max_size=8),
    )
)


@given(selections)
def test_nogueira_by_its_definition(given_):
    d, kept = given_
    ours = stability([sorted(k) for k in kept], d)
    total = sum(map(len, kept))
    if total in (0, d * len(kept)):
        assert math.isnan(ours.nogueira)
        return
    value, variance = nogueira(dense(kept, d))
    assert ours.nogueira == pytest.approx(value, abs=1e-12)
    half = stats.norm.ppf(0.975) * math.sqrt(variance)
    assert ours.high - ours.low == pytest.approx(2 * half, abs=1e-9)


@given(
    st.integers(1, 5).flatmap(
        lambda k: st.lists(
            st.permutations(range(12)).map(lambda p: sorted(p[:k])), min_size=2, max_size=6
        )
    )
)
def test_kuncheva_of_sets_of_one_size_is_hers_and_nogueiras(kept):
    d, k = 12, len(kept[0])
    pairs = [
        (len(set(a) & set(b)) * d - k * k) / (k * (d - k))
        for i, a in enumerate(kept)
        for b in kept[i + 1 :]
    ]
    ours = stability(kept, d)
    assert ours.kuncheva == pytest.approx(np.mean(pairs))
    # With one size the two measures are the same number (their Theorem 3).
    assert ours.nogueira == pytest.approx(ours.kuncheva)


def test_extreme_values_of_the_measures():
    same = stability([[1, 5, 9]] * 4, 1000)
    assert (same.nogueira, same.low, same.high, same.kuncheva) == (1, 1, 1, 1)
    rng = np.random.default_rng(0)
    chance = stability([rng.choice(200, 20, replace=False) for _ in range(50)], 200)
    assert abs(chance.nogueira) < 0.03
    assert chance.low < 0 < chance.high + 0.03
    assert math.isnan(stability([[1]], 10).nogueira)
    assert math.isnan(stability([[], []], 10).kuncheva)
    # Millions of features that are never kept cost nothing.
    assert stability([[1, 2], [1, 3]], 10**9).nogueira == pytest.approx(0.5)
