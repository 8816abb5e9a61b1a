"""What the tests of a comparison can find, and when they say that they cannot."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tamis.core.errors import DataWarning
from tamis.evaluate import compare
from tamis.evaluate.paired import LEAST_FOLDS, compare_pair, paired_p, wilcoxon


@pytest.fixture(scope="module")
def easy():
    """Three classes that one column tells apart, among columns of noise."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 12))
    X[:, 4] = 4 * y + rng.normal(size=90)
    return {"easy": (X, y)}


@pytest.mark.slow
def test_the_default_protocol_tells_97_percent_from_37_percent(easy):
    results = compare(easy, "saola,random:n_features=1", "knn", n_jobs=1)
    assert results.params["cv"] == "5x10"
    good, bad = results.grid("accuracy", "knn")[0]
    assert good > 0.9
    assert bad < 0.5
    found = results.summary()["classifiers"]["knn"]
    assert found["win_tie_loss"] == {"random:n_features=1": [1, 0, 0]}
    assert found["paired_p"]["random:n_features=1"][0] < 1e-6


@pytest.mark.parametrize("test", ["corrected-t", "t", "wilcoxon"])
def test_the_least_number_of_folds_is_where_a_test_can_reject(test):
    least = LEAST_FOLDS[test]
    good, bad = 0.97 + np.linspace(-0.01, 0.01, least), np.full(least, 0.37)
    assert compare_pair(good, bad, test=test, share=1 / (least - 1)) == "win"
    if least > 2:
        assert compare_pair(good[1:], bad[1:], test=test) == "tie"


def test_wilcoxon_over_five_folds_cannot_go_below_one_sixteenth():
    assert wilcoxon(np.ones(5) + np.arange(5), np.zeros(5)) == 0.0625
    assert paired_p(np.ones(6) + np.arange(6), np.zeros(6), test="wilcoxon") < 0.05


@pytest.mark.parametrize(("paired", "cv"), [("wilcoxon", 5), ("wilcoxon", 2)])
def test_too_few_folds_are_reported_before_the_work(easy, paired, cv):
    with pytest.warns(DataWarning, match=rf"easy: {cv} folds are too few for the {paired} test"):
        compare(easy, "all,random:n_features=1", "nb", cv=cv, paired=paired, n_jobs=1)


def test_enough_folds_are_not(easy):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        compare(easy, "all,random:n_features=1", "nb", cv=5, n_jobs=1)


def test_two_data_sets_are_too_few_for_ranks_and_the_page_says_so(easy, tmp_path):
    twice = {"a": easy["easy"], "b": easy["easy"]}
    compare(twice, "all,random:n_features=1", "nb", cv=3, n_jobs=1, out=tmp_path / "r")
    text = (tmp_path / "r" / "summary.md").read_text()
    assert "2 data sets and 2 methods are too few for a test of ranks" in text
