"""Alpha-investing against the paper's rule with a fit from scratch at every step."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import tamis
from tamis import AlphaInvesting, DecisionLog, Verdict


def errors(design, targets):
    """Cross-products of the residuals of a least-squares fit."""
    fitted = design @ np.linalg.lstsq(design, targets, rcond=None)[0]
    return (targets - fitted).T @ (targets - fitted)


def p_of_adding(design, column, targets):
    """Wilks' test of one more regressor, by determinants; for one target the usual F test."""
    before, after = errors(design, targets), errors(np.column_stack([design, column]), targets)
    wilks = np.linalg.det(after) / np.linalg.det(before)
    responses = targets.shape[1]
    degrees = len(column) - design.shape[1] - responses
    return stats.f.sf((1 - wilks) / wilks * degrees / responses, responses, degrees)


def slow_alpha_investing(X, targets, wealth=0.5, payout=0.5):
    """The rule of the paper, with a full fit for each feature."""
    n = len(X)
    kept, i, design = [], 0, np.ones((n, 1))
    for j, column in enumerate(X.T):
        if np.ptp(column) == 0:
            continue
        i += 1
        bet = wealth / (2 * i)
        if p_of_adding(design, column, targets) < bet:
            kept.append(j)
            design = np.column_stack([design, column])
            wealth += payout - bet
        else:
            wealth -= bet
    return kept, wealth


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["number", 2, 3, 5]),
    density=st.sampled_from([0.1, 0.6, 1.0]),
    shift=st.sampled_from([0.0, 1000.0]),
    start=st.sampled_from([(0.5, 0.5), (0.05, 0.2), (1.0, 0.0)]),
)
def test_it_keeps_what_a_fit_from_scratch_keeps(seed, kind, density, shift, start) -> None:
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(80, 25)) + shift) * (rng.random((80, 25)) < density)
    X[:, 6] = 3.0  # constant
    signal = X[:, [2, 9, 10, 20]] @ rng.normal(size=4)
    signal = (signal - signal.mean()) / (signal.std() + 1e-9) + 0.5 * rng.normal(size=80)
    if kind == "number":
        y, targets = signal, signal[:, None]
    else:
        y = np.searchsorted(np.quantile(signal, np.arange(1, kind) / kind), signal)
        targets = (y[:, None] == np.arange(1, kind)).astype(float)  # another class is left out
    expected, wealth = slow_alpha_investing(X, targets, *start)

    found = AlphaInvesting(*start).fit(sp.csc_matrix(X) if density < 1 else X, y)

    assert found.kept_.tolist() == expected
    assert found.wealth_ == pytest.approx(wealth, rel=1e-9)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_logged_numbers_are_those_of_the_rule(seed) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 12))
    y = X[:, 1] + X[:, 7] + rng.normal(size=60)
    found = AlphaInvesting().fit(X, y)
    design, wealth = np.ones((60, 1)), 0.5
    table = found.log_.columns()
    events = {event.feature: event for event in found.log_.events()}
    for j in range(12):
        p, bet = p_of_adding(design, X[:, j], y[:, None]), wealth / (2 * (j + 1))
        assert 10 ** -table["relevance"][j] == pytest.approx(p, rel=1e-4, abs=1e-300)
        assert 10 ** -table["level"][j] == pytest.approx(bet, rel=1e-5)
        wealth -= bet
        if j in events:
            design = np.column_stack([design, X[:, j]])
            wealth += 0.5
            evidence = events[j].evidence
            assert evidence["p"] == pytest.approx(p, rel=1e-8)
            assert evidence["bet"] == pytest.approx(bet, rel=1e-12)
            assert evidence["wealth_before"] == pytest.approx(wealth - 0.5 + bet)
            assert evidence["wealth_after"] == pytest.approx(wealth)
    assert events.keys() == set(found.kept_.tolist())


def test_class_numbers_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 200)
    X = rng.normal(size=(200, 30))
    X[:, 3] += y == 2
    X[:, 17] += y == 0
    expected = AlphaInvesting().fit(X, y)
    assert {3, 17} <= set(expected.kept_.tolist())
    for order in ([3, 1, 0, 2], [1, 2, 3, 0]):
        found = AlphaInvesting().fit(X, np.array(order)[y])
        assert found.kept_.tolist() == expected.kept_.tolist()
        assert found.wealth_ == pytest.approx(expected.wealth_, rel=1e-12)


def test_the_intercept_is_always_fitted() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 10))
    y = X[:, 4] + 0.3 * rng.normal(size=100)
    expected = AlphaInvesting().fit(X, y).kept_
    assert AlphaInvesting().fit(1e4 + X, y + 1e4).kept_.tolist() == expected.tolist()


def test_constant_columns_cost_nothing_and_are_not_counted() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 8))
    y = X[:, 5] + rng.normal(size=50)
    without = AlphaInvesting().fit(X, y)
    X_with = np.insert(X, [0, 3, 3], 2.0, axis=1)
    found = AlphaInvesting().fit(X_with, y)
    assert found.wealth_ == without.wealth_
    assert found.log_.counts()["irrelevant"] == without.log_.counts()["irrelevant"] + 3


def test_of_exact_copies_the_first_is_kept() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 120))
    y = a + b + 0.1 * rng.normal(size=120)
    X = np.column_stack([a, b, -2 * a + 5, a + b, a + 1e-3 * rng.normal(size=120)])
    found = AlphaInvesting().fit(X, y)
    assert found.log_.verdicts[:4].tolist() == [3, 3, 1, 1]
    assert found.log_.verdicts[4] != Verdict.REDUNDANT  # nearly a copy is not a copy


def test_without_degrees_of_freedom_nothing_more_is_kept() -> None:
    rng = np.random.default_rng(4)
    y = rng.normal(size=6)
    X = rng.normal(size=(6, 40)) + y[:, None]
    live = AlphaInvesting(1.0, 1.0).start(y)
    live._selector.rule.model.add(X[:, 0] - X[:, 0].mean())
    for j in range(1, 4):
        live._selector.rule.model.add(X[:, j] - X[:, j].mean())
    assert live._selector.rule.model.degrees == 0
    live.feed(X[:, 4:])
    assert live.kept_.tolist() == []
    assert live.wealth_ == 1.0
    assert live.log_.why(0) == (
        "x0 was dropped as irrelevant: no degrees of freedom are left to test it, with so many "
        "features kept on so few rows"
    )


@pytest.mark.parametrize("rows", [2, 3, 4, 5])
def test_it_never_keeps_more_than_the_rows_allow(rows) -> None:
    rng = np.random.default_rng(rows)
    for kind in range(3):
        y = [rng.normal(size=rows), np.arange(rows) % 2, np.arange(rows)][kind]
        found = AlphaInvesting(1.0, 1.0).fit(rng.normal(size=(rows, 200)), y)
        assert len(found.kept_) <= rows - 2
        assert all("nan" not in found.log_.why(j) for j in range(200))


def test_when_all_is_explained_nothing_more_is_kept() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 6))
    y = 3 * X[:, 2] + 0.25
    found = AlphaInvesting().fit(X, y)
    assert found.kept_[-1] == 2
    assert (
        found.log_.why(5)
        == "x5 was dropped as irrelevant: nothing of the target is left to explain"
    )


def test_a_class_that_is_explained_leaves_the_others() -> None:
    rng = np.random.default_rng(6)
    y = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 20))
    X[:, 0] = y == 0
    X[:, 9] += 2 * (y == 1)
    found = AlphaInvesting().fit(X, y)
    assert {0, 9} <= set(found.kept_.tolist())


def test_noise_is_kept_no_more_often_than_bets_allow() -> None:
    # The sum of all bets, without a find, is below the wealth, so false finds are few.
    kept = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        kept.append(
            len(AlphaInvesting(0.1, 0.1).fit(rng.normal(size=(40, 300)), rng.normal(size=40)).kept_)
        )
    assert np.mean(kept) < 0.25


def test_the_program_uses_the_first_column_as_the_intercept() -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 5))
    y = rng.integers(0, 2, 60)
    found = AlphaInvesting(variant="program").fit(X, y)
    assert found.kept_[0] == 0
    assert found.log_.why(0) == "x0 is kept: it came first and is taken for the intercept"
    zeros = X.copy()
    zeros[:, 0] = 0.0
    assert 0 not in AlphaInvesting(variant="program").fit(zeros, y).kept_


def test_the_programs_p_value() -> None:
    rng = np.random.default_rng(8)
    X = np.column_stack([np.ones(80), rng.normal(size=(80, 3))])
    y = (X[:, 1] + rng.normal(size=80) > 0) + 1
    found = AlphaInvesting(variant="program").fit(X, y)
    design = X[:, :1]
    before = errors(design, y[:, None].astype(float))[0, 0]
    after = errors(X[:, :2], y[:, None].astype(float))[0, 0]
    event = list(found.log_.events())[1]
    assert event.feature == 1
    assert event.evidence["p"] == pytest.approx(np.exp(-(before - after) / (2 * before / 80)))
    assert event.evidence["bet"] == 0.125


def test_sentences_carry_the_numbers() -> None:
    rng = np.random.default_rng(9)
    good, noise = rng.normal(size=(2, 100))
    y = good + rng.normal(size=100)
    live = AlphaInvesting().start(y)
    live.feed(noise, names=["noise"]).feed(good, names=["good"]).feed(1 - good, names=["copy"])
    live.feed(np.ones(100), names=["flat"])
    assert live.log_.why("noise") == (
        "noise was dropped as irrelevant: the p-value of adding it to the kept features, 0.424, "
        "is not below the bet of 0.25"
    )
    assert live.log_.why("good") == (
        "good is kept: the p-value of adding it to the features kept before, 6.33e-19, is below "
        "the bet of 0.0625; the wealth went from 0.25 to 0.688"
    )
    assert live.log_.why("copy") == (
        "copy was dropped as redundant: it is a linear combination of the kept features, so its "
        "p-value is 1, not below the bet of 0.115"
    )
    assert live.log_.why("flat") == (
        "flat was dropped as irrelevant: it has the same value in every row"
    )


def test_work_is_counted_and_bounded() -> None:
    rng = np.random.default_rng(10)
    X = rng.normal(size=(100, 3000))
    y = X[:, 1500] + rng.normal(size=100)
    found = AlphaInvesting().fit(X, y)
    work = found.work_
    assert work["features"] == 3000
    assert work["updates"] == len(found.kept_)
    # Runs double while nothing is found, so a find wastes less than was scanned since the last one.
    assert 3000 <= work["p_values"] <= 2 * 3000 + 16 * (len(found.kept_) + 1)


def test_a_log_read_from_a_file_has_the_same_sentences() -> None:
    rng = np.random.default_rng(11)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 30)) + y[:, None] * (np.arange(30) % 7 == 0)
    X[:, 4], X[:, 9] = 1.0, X[:, 0]
    log = AlphaInvesting().fit(X, y).log_
    read = DecisionLog.from_state(log.state(), log.reasons, log.names, log.template_fields)
    assert [read.why(j) for j in range(30)] == [log.why(j) for j in range(30)]


def test_columns_whose_squares_overflow_are_reported() -> None:
    rng = np.random.default_rng(12)
    X = rng.normal(size=(50, 4)) * [1, 1e200, 1e-200, 1e150]
    log = AlphaInvesting().fit(X, X[:, 3] > 0).log_
    for j in (1, 2):
        assert log.why(j) == (
            f"x{j} was dropped as irrelevant: its values are so large or so small that their "
            "squares cannot be held"
        )
    assert log.replay() == [3]


def test_parameters_are_checked_in_one_sentence() -> None:
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(tamis.TamisError, match="AlphaInvesting: wealth=0 is not a number above 0"):
        AlphaInvesting(wealth=0).fit(X, y)
    with pytest.raises(
        tamis.TamisError, match="payout=-1 is not a number at least 0 and at most 1"
    ):
        AlphaInvesting(payout=-1).fit(X, y)
    with pytest.raises(tamis.TamisError, match="variant='book' is not one of 'paper', 'program'"):
        AlphaInvesting(variant="book").fit(X, y)
