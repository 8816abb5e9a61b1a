"""Interaction terms: compiled and plain, against entropies and least squares."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis import FisherZ, MutualInformation
from tamis.core.blocks import ColumnBlock
from tamis.core.target import Target
from tamis.kernels import interaction
from tamis.measures import interaction_gain as panels
from tamis.measures.interaction_gain import (
    CorrelationInteractions,
    GainForm,
    InformationInteractions,
)


def entropy(*columns) -> float:
    counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)[1]
    share = counts / counts.sum()
    return float(-(share * np.log2(share)).sum())


def naive_term(f, s, d) -> float:
    """I(D; f,s) - I(D;s) - I(D;f)."""
    together = entropy(f, s) + entropy(d) - entropy(f, s, d)
    return together - sum(entropy(x) + entropy(d) - entropy(x, d) for x in (f, s))


def naive_partial(s, f, targets) -> float:
    """Multiple correlation of s and the targets after taking f off all of them."""

    def off(column):
        basis = np.column_stack([np.ones(len(f)), f])
        return column - basis @ np.linalg.lstsq(basis, column, rcond=None)[0]

    left, rest = off(s), np.column_stack([off(t) for t in targets.T])
    fitted = rest @ np.linalg.lstsq(rest, left, rcond=1e-8)[0]
    return float(np.sqrt((fitted @ fitted) / (left @ left)))


@pytest.fixture(params=["compiled", "python"])
def either(request, monkeypatch):
    """Run the compiled kernels, and their Python functions."""
    if request.param == "python":
        for name in (
            "count_with_class", "_terms_of_slots", "_two_flags", "_many_levels", "counts_in",
            "partial_given_one",
        ):  # fmt: skip
            monkeypatch.setattr(interaction, name, getattr(interaction, name).py_func)
        monkeypatch.setattr(panels, "meet_counts", interaction.meet_counts.py_func)
        monkeypatch.setattr(panels, "meet_correlations", interaction.meet_correlations.py_func)


def full(panel, X, kept):
    """Keep some columns of X in a panel, with one dropped again; return columns prepared for it."""
    ready = panel.prepare(ColumnBlock.of(X), np.arange(X.shape[1]))
    for j in [*kept[:2], 0, *kept[2:]]:
        panel.add(ready[j])
    panel.drop(np.array([2]))
    return ready


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_terms_of_counts_are_those_of_entropies(seed, classes) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, 50)
    X = rng.integers(0, [1, 2, 3, 2, 5, 2, 3, 4], (50, 8)).astype(float)
    X[:, 1] = (rng.random(50) < 0.1) * 7.0
    X[:, 3] = y % 2
    X[:, 6] = X[:, 5]
    kept = [1, 2, 3, 4, 5]
    panel = InformationInteractions(Target.of(y), MutualInformation(), GainForm())
    ready = full(panel, X, kept)
    for f in range(1, 8):
        met = panel.meet_one(ready[f])
        expected = [naive_term(X[:, f], X[:, s], y) for s in kept]
        np.testing.assert_allclose(met.terms, expected, atol=1e-12)
        assert met.gains[0] == pytest.approx(sum(expected), abs=1e-12)
        np.testing.assert_array_equal(
            met.pairs, MutualInformation().between(X[:, f], X[:, kept])[0]
        )


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("density", [0.2, 1.0])
def test_terms_of_correlations_are_those_of_least_squares(classes, density) -> None:
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, 60)
    X = rng.normal(size=(60, 8)) * (rng.random((60, 8)) < density) + 2.0 * (density == 1.0)
    X[:, 1::2] += 0.7 * y[:, None] * (rng.random((60, 4)) < density)
    kept = [1, 2, 3, 4, 5]
    panel = CorrelationInteractions(Target.of(y), FisherZ(), GainForm())
    ready = full(panel, X, kept)
    targets = (y[:, None] == np.arange(1, classes)).astype(float)
    for f in (0, 6, 7):
        met = panel.meet_one(ready[f])
        alone = FisherZ().relevance(X[:, kept], y).value
        expected = [naive_partial(X[:, s], X[:, f], targets) for s in kept] - alone
        np.testing.assert_allclose(met.terms, expected, atol=1e-10)
        assert met.gains[0] == pytest.approx(sum(expected), abs=1e-10)
        np.testing.assert_allclose(met.pairs, FisherZ().between(X[:, f], X[:, kept])[0])


@pytest.mark.usefixtures("either")
def test_a_collinear_new_feature_adds_nothing() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    s = rng.normal(size=40) + y
    X = np.column_stack([rng.normal(size=40), s, 5 - 3 * s, y])
    panel = CorrelationInteractions(Target.of(y), FisherZ(), GainForm())
    ready = panel.prepare(ColumnBlock.of(X), np.arange(4))
    panel.add(ready[1])
    alone = FisherZ().relevance(s, y).value[0]
    for f in (2, 3):  # a copy of s, and the class itself
        assert panel.meet_one(ready[f]).terms[0] == pytest.approx(-alone, abs=1e-7)


@settings(max_examples=200)
@given(values=st.lists(st.floats(-1, 1), min_size=5, max_size=5))
def test_a_partial_correlation_is_never_outside_its_range(values) -> None:
    a, b, c, d, between = values
    found = interaction.partial_given_one(np.array([a, b]), np.array([c, d]), between)
    assert 0.0 <= found <= 1.0


@pytest.mark.usefixtures("either")
def test_the_scan_stops_at_the_first_column_that_gains_or_needs_a_decision() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 200)
    X = rng.integers(0, 2, (200, 12)).astype(float)
    X[:, 0] = X[:, 5] = y
    panel = InformationInteractions(Target.of(y), MutualInformation(), GainForm())
    ready = panel.prepare(ColumnBlock.of(X), np.arange(12))
    panel.add(ready[0])
    gains = [panel.meet_one(ready[f]).gains[0] for f in range(12)]
    for lo, ask in itertools.product(range(12), range(12)):
        asks = np.arange(lo, 12) == ask
        met = panel.meet(ready, lo, 12, asks)
        first = [f for f in range(lo, 12) if gains[f] > 0 or f == ask]
        assert met.stop == (first[0] if first else 12)
        assert met.gains.tolist() == gains[lo : met.stop + 1]


@pytest.mark.usefixtures("either")
def test_only_terms_that_are_more_than_chance_count() -> None:
    rng = np.random.default_rng(4)
    X = rng.integers(0, 2, (300, 4)).astype(float)
    y = (X[:, 0].astype(int) ^ X[:, 1].astype(int)) | (X[:, 3] > 2)
    noisy = np.where(rng.random(300) < 0.1, 1 - X[:, 0], X[:, 0])
    X = np.column_stack([X, noisy])
    form = GainForm(correction="significant")
    panel = InformationInteractions(Target.of(y), MutualInformation(alpha=0.01), form)
    ready = panel.prepare(ColumnBlock.of(X), np.arange(5))
    for j in (0, 2):
        panel.add(ready[j])
    partner, noise, copy = (panel.meet_one(ready[f]) for f in (1, 3, 4))
    assert partner.terms[0] > 0.9
    assert np.isnan(partner.terms[1])
    assert np.isnan(noise.terms).all()
    assert noise.gains[0] == 0.0
    assert copy.terms[0] < 0 or copy.terms[0] > 0  # it depends on s, with or without the class
    assert np.isnan(copy.terms[1])
