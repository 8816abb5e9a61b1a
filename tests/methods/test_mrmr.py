"""MRMR against a slow reference for the paper's greedy search, and against scikit-feature."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_information import information

from golden_outputs import matrix
from tamis import MRMR, FisherZ, MutualInformation
from tamis.core.errors import ParameterError

pytestmark = pytest.mark.filterwarnings("ignore:.* takes every value as a category")


# --- slow references -------------------------------------------------------------------------


def paper(X, y, n_features, score, strength=information, level=0.0):
    """Score every feature again in every round; mathematically equal scores are equal."""
    with_class = [strength(column, y) for column in X.T]
    left = [j for j in range(X.shape[1]) if round(with_class[j], 11) > level]
    picks: list[int] = []
    while left and len(picks) < n_features:
        scores = {j: with_class[j] for j in left}
        if picks:
            means = {j: np.mean([strength(X[:, j], X[:, s]) for s in picks]) for j in left}
            unbounded = [j for j in left if score == "quotient" and round(means[j], 11) <= 0]
            if score == "difference":
                scores = {j: with_class[j] - means[j] for j in left}
            elif unbounded:
                scores = {j: with_class[j] for j in unbounded}
            else:
                scores = {j: with_class[j] / means[j] for j in left}
        top = max(scores.values())
        best = next(j for j, one in scores.items() if one >= top - 1e-10 * max(1.0, abs(top)))
        picks.append(best)
        left.remove(best)
    return picks


def troubled(seed, rows, levels):
    """Random codes with copies, relabelled copies, constants and columns that follow the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, rng.integers(2, 4), rows)
    y[:2] = 0, 1  # never one class only
    X = rng.integers(0, levels, (rows, 18)).astype(float)
    informative = rng.random((rows, 6)) < rng.random(6)
    X[:, ::3] = np.where(informative, y[:, None] % levels, X[:, ::3])
    X[:, 10] = X[:, 0]
    X[:, 11] = levels - 1 - X[:, 3]
    X[:, 13] = 4.0
    return X[:, rng.permutation(18)], y


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.sampled_from([8, 30, 90]),
    levels=st.sampled_from([2, 3, 5]),
    n_features=st.sampled_from([1, 2, 5, 30]),
    score=st.sampled_from(["difference", "quotient"]),
)
def test_it_picks_what_the_paper_picks(seed, rows, levels, n_features, score) -> None:
    X, y = troubled(seed, rows, levels)
    found = MRMR("mutual_information", n_features, score).fit(X, y)
    assert found.ranking_.tolist() == paper(X, y, n_features, score)
    sparse = MRMR("mutual_information", n_features, score).fit(sp.csr_matrix(X), y)
    assert sparse.ranking_.tolist() == found.ranking_.tolist()


@pytest.mark.parametrize("score", ["difference", "quotient"])
def test_it_picks_what_the_paper_picks_with_correlations(score) -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 80)
    X = rng.normal(size=(80, 15))
    X[:, ::2] += y[:, None] * rng.random(8) * 2

    def correlation(a, b):
        return abs(np.corrcoef(a, b)[0, 1])

    level = FisherZ(alpha=0.1).cutoff(80)
    found = MRMR(FisherZ(alpha=0.1), 6, score).fit(X, y)
    assert found.ranking_.tolist() == paper(X, y, 6, score, correlation, level)


def test_two_picks_are_those_of_scikit_feature() -> None:
    """Its MRMR uses 0.8 times the sum over the picks where the paper uses their mean, and returns
    ranks instead of features; its inner function, with weight 1, gives the same two picks.
    """
    peer = pytest.importorskip("skfeature.function.information_theoretical_based.LCSI")
    for seed in range(10):
        rng = np.random.default_rng(seed)  # no copies: its last bits decide about ties
        y = rng.integers(0, 2, 150)
        X = rng.integers(0, 4, (150, 30))
        X[:, ::4] = np.where(rng.random((150, 8)) < 0.4, y[:, None], X[:, ::4])
        picks = peer.lcsi(X, y, gamma=0, beta=1, n_selected_features=2, mode="index")
        assert MRMR(n_features=2).fit(X, y).ranking_.tolist() == picks.tolist()


@pytest.mark.parametrize("name", ["spect", "wdbc_q3", "colon_disc", "leukemia_disc"])
def test_it_picks_what_the_paper_picks_of_real_data(name) -> None:
    X, y = matrix(name)
    X, y = X[:300, :150], y[:300]
    assert MRMR(n_features=12).fit(X, y).ranking_.tolist() == paper(X, y, 12, "difference")


# --- work and words --------------------------------------------------------------------------


def test_each_pick_costs_one_pair_value_for_each_feature_left() -> None:
    X, y = troubled(0, 90, 3)
    found = MRMR(n_features=4).fit(X, y)
    relevant = found.work_["relevant"]
    assert found.work_["pair_values"] == sum(relevant - k for k in (1, 2, 3))


def test_more_picks_begin_with_the_same() -> None:
    X, y = troubled(1, 90, 4)
    longest = MRMR(n_features=18).fit(X, y).ranking_.tolist()
    for n_features in range(1, len(longest)):
        assert MRMR(n_features=n_features).fit(X, y).ranking_.tolist() == longest[:n_features]


def test_sentences_carry_the_numbers() -> None:
    import pandas as pd

    y = np.repeat([0, 1], 50)
    weak = np.where(np.arange(100) % 10 < 2, 1 - y, y)
    odd = np.arange(100) % 2
    frame = pd.DataFrame({"odd": odd, "weak": weak, "flat": 1, "best": y, "copy": 1 - y})
    log = MRMR(n_features=2).fit(frame, y).log_
    assert log.why("best") == "best is kept, the first pick: I(best; class)=1 is the highest"
    assert log.why("weak") == (
        "weak is kept, pick number 2: I(weak; class)=0.278 less 0.278, its mean dependence on the "
        "picks before it, was the highest score (0)"
    )
    assert log.why("copy") == (
        "copy was dropped: I(copy; class)=1, but in the last round its score was 0, not above that "
        "of the last pick (0); the pick it depends on most is best"
    )
    assert log.why("flat") == "flat was dropped as irrelevant: it has the same value in every row"
    assert log.why("odd").startswith("odd was dropped as irrelevant: I(odd; class)=0 is not above")
    log = MRMR(n_features=1).fit(frame, y).log_
    assert log.why("weak") == (
        "weak was dropped: I(weak; class)=0.278 is not above that of best (1), the only pick"
    )


def test_a_feature_independent_of_the_picks_has_the_highest_quotient() -> None:
    rows = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 10)
    a, b, c = rows.T
    y = (a + b + c >= 2).astype(int) + 2 * a
    found = MRMR(n_features=3, criterion="quotient").fit(np.column_stack([a, b, c]), y)
    assert found.ranking_.tolist() == [0, 1, 2]
    assert "was the highest score (inf)" in found.log_.why("x1")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_features": 0}, "MRMR: n_features=0 is not a whole number at least 1"),
        ({"criterion": "sum"}, "MRMR: criterion='sum' is not one of 'difference', 'quotient'"),
    ],
)
def test_wrong_parameters_are_refused(wrong, message) -> None:
    with pytest.raises(ParameterError) as error:
        MRMR(**wrong).fit(np.eye(4), [0, 0, 1, 1])
    assert str(error.value) == message


def test_auto_picks_plain_information_for_categories() -> None:
    X, y = troubled(2, 90, 3)
    assert MRMR().fit(X, y).measure_ == MutualInformation()


def test_numbers_are_picked_by_correlation_by_default() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 200))
    X[:, 150] += 2 * y
    assert MRMR(n_features=1).fit(X, y).kept_.tolist() == [150]
