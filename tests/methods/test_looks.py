"""How a fitted selector is displayed: a plot, and a card in a notebook."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import tamis


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.integers(0, 3, (200, 30)) + y[:, None] * rng.integers(0, 2, (200, 30))
    return X.astype(float), y


def test_a_stream_is_drawn_as_growth_and_a_batch_as_counts(data):
    [stream] = tamis.SAOLA().fit(*data).plot().axes
    assert stream.get_xlabel() == "features seen"
    [batch] = tamis.FCBF().fit(*data).plot().axes
    assert batch.get_title() == "Where 30 features went"


def test_nothing_is_drawn_before_fit():
    with pytest.raises(NotFittedError):
        tamis.SAOLA().plot()


def test_a_notebook_shows_parameters_and_decisions(data):
    fresh = tamis.SAOLA()._repr_mimebundle_()
    assert "Decisions about" not in fresh["text/html"]
    assert "SAOLA" in fresh["text/html"]
    fitted = tamis.SAOLA().fit(*data)._repr_mimebundle_()
    assert "Decisions about 30 features" in fitted["text/html"]
    assert fitted["text/plain"] == "SAOLA()"
