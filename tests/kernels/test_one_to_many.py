"""Pair values of one column with many are those of the row lists, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis import FisherZ, MutualInformation, SymmetricUncertainty
from tamis.core.blocks import ColumnBlock
from tamis.core.target import Target
from tamis.kernels import one_to_many
from tamis.kernels.threads import threads
from tamis.measures import fisher_z, mutual_information
from tamis.measures.measure import Panel

MEASURES = [MutualInformation(), SymmetricUncertainty(), FisherZ()]


@pytest.fixture(params=["compiled", "python"])
def _either(request, monkeypatch):
    """The compiled kernels, and their Python functions."""
    if request.param == "python":
        for module, name in ((mutual_information, "information_with_one"),
                             (fisher_z, "correlation_with_one")):  # fmt: skip
            monkeypatch.setattr(module, name, getattr(one_to_many, name).py_func)


def table(seed: int, levels: int, density: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, levels, (40, 9)) * (rng.random((40, 9)) < density) * 1.5
    X[:, 4] = 2.0  # constant
    X[:, 7] = -X[:, 2]
    return X


@pytest.mark.usefixtures("_either")
@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    levels=st.sampled_from([2, 4, 30]),
    density=st.sampled_from([0.1, 0.6, 1.0]),
)
def test_one_with_many_equals_the_panel(measure, seed, levels, density) -> None:
    X = table(seed, levels, density)
    panel = measure.panel(Target.of(np.arange(40) % 2))
    columns = panel.prepare(ColumnBlock.of(X), np.arange(9))
    picks = np.array([8, 0, 3, 4, 7, 7, 2])
    for one in (2, 4, 6):
        expected = measure.between(X[:, picks], X[:, [one]])[:, 0]
        found = panel.against(columns, one, picks)
        assert found.tolist() == expected.tolist()
        with threads(3, least_work=1):
            assert panel.against(columns, one, picks).tolist() == expected.tolist()
        # What every panel can do without a special kernel.
        assert Panel.against(panel, columns, one, picks).tolist() == expected.tolist()
    assert len(panel) == 0


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
def test_joined_columns_are_the_columns_of_the_parts(measure) -> None:
    X = table(3, 4, 0.5)
    panel = measure.panel(Target.of(np.arange(40) % 2))

    def ready(lo: int, hi: int):
        return panel.prepare(ColumnBlock.of(X), np.arange(lo, hi))

    whole, parts = ready(0, 9), [ready(0, 2), ready(2, 3), ready(3, 9)]
    joined = type(whole).joined(parts)
    assert type(whole).joined(parts[:1]) is parts[0]
    assert len(joined) == 9
    for mine, expected in zip(joined, whole, strict=True):
        for key in whole.arrays:
            assert np.array_equal(getattr(mine, key), getattr(expected, key)), key
