"""The decision log: a few bytes per feature, and a sentence for each of them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.core.decisions import Decision, DecisionLog, Reason, Verdict
from tamis.core.errors import InputError
from tamis.core.names import NameBook, Names
from tamis.core.sentences import fill, join, show

REASONS = {
    "weak": Reason(Verdict.IRRELEVANT, "{name} is weak: {I}={relevance} is not above {level}"),
    "constant": Reason(Verdict.IRRELEVANT, "{name} is constant"),
    "copied": Reason(
        Verdict.REDUNDANT, "{name} repeats {because} ({value}), which has {because_relevance}"
    ),
    "beaten": Reason(Verdict.EVICTED, "{name} lost to {because}: {value} against {level} at {p}"),
    "kept": Reason(Verdict.KEPT, "{name} is kept with {relevance}"),
}
WORDS = {"target": "class", "I": "I({name}; {target})"}


def example_log() -> DecisionLog:
    """Five features: 0 weak, 1 kept then evicted by 3, 2 copies 1, 3 kept, 4 constant."""
    log = DecisionLog(REASONS, template_fields=WORDS)
    codes = np.array([0, 0, 0], dtype=np.uint8)
    log.append_bulk(np.array([0.1, 0.5, 0.4]), 0.25, codes, Names.of(["a", "b", "c"]))
    log.append(Decision(1, "kept", 0.5, level=0.25))
    log.append(Decision(2, "copied", 0.4, 0.45, 0.4, (1,)))
    log.append_bulk(np.array([0.9, 0.0]), np.array([0.25, np.nan]), np.array([0, 1], np.uint8))
    eviction = Decision(1, "beaten", 0.5, 0.8, 0.5, (3, 2), evidence={"p": 0.001})
    log.append(Decision(3, "kept", 0.9, level=0.25, evicts=(eviction,)))
    return log


def test_every_feature_has_its_sentence_with_the_numbers():
    log = example_log()
    assert log.why("a") == "a is weak: I(a; class)=0.1 is not above 0.25"
    assert log.why("b") == "b lost to x3 and c: 0.8 against 0.5 at 0.001"
    assert log.why("c") == "c repeats b (0.45), which has 0.5"
    assert log.why("x3") == log.why(3) == "x3 is kept with 0.9"
    assert log.why(np.int64(4)) == "x4 is constant"


def test_a_number_equal_to_its_level_is_shown_equal_though_one_is_kept_in_half_the_bits():
    log = DecisionLog(REASONS, template_fields=WORDS)
    log.append_bulk(np.array([0.8]), 0.8, "weak")
    log.append_bulk(np.array([0.8]), np.array([0.8]), "weak")
    assert log.why(0) == "x0 is weak: I(x0; class)=0.8 is not above 0.8"
    assert log.why(1) == "x1 is weak: I(x1; class)=0.8 is not above 0.8"


@given(st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=100)
def test_no_sentence_claims_a_larger_number_is_not_above_a_smaller_one(a, b):
    relevance, level = min(a, b), max(a, b)
    log = DecisionLog({"weak": Reason(Verdict.IRRELEVANT, "{relevance} {level}")})
    log.append_bulk(np.array([relevance]), level, "weak")
    shown = [float(word) for word in log.why(0).split()]
    assert shown[0] <= shown[1]


def test_names_are_put_into_sentences_unchanged():
    odd = ["{value}", 'say "hi"\n', "", "🧬", "\ud800"]
    log = DecisionLog(REASONS, template_fields=WORDS)
    log.append_bulk(np.zeros(5), 0.0, "constant", Names.of(odd))
    assert [log.why(name) for name in odd] == [f"{name} is constant" for name in odd]


def test_an_unknown_feature_is_refused_in_one_sentence():
    log = example_log()
    for wrong, shown in (("zz", "'zz'"), (5, "5"), (-1, "-1"), ("x1", "'x1'")):
        with pytest.raises(InputError) as error:
            log.why(wrong)
        assert str(error.value) == (
            f"no feature is called {shown} among the 5 seen; the first is called 'a'"
        )
    with pytest.raises(InputError, match=r"no feature is called 0 among the 0 seen$"):
        DecisionLog(REASONS).why(0)


def test_the_log_counts_verdicts_and_replays_to_the_kept_set():
    log = example_log()
    assert len(log) == 5
    assert log.n_events == 4
    assert log.counts() == {"irrelevant": 2, "redundant": 1, "evicted": 1, "kept": 1}
    assert log.verdicts.tolist() == [0, 2, 1, 3, 0]
    assert log.replay() == [3]
    assert repr(log) == (
        "<DecisionLog of 5 features: 2 irrelevant, 1 redundant, 1 evicted, 1 kept>"
    )
    assert repr(DecisionLog(REASONS)) == "<DecisionLog of 0 features: none yet>"


def test_relevant_features_are_found_without_the_relevance_of_all():
    log = example_log()
    lowered = Decision(3, "kept", 0.3)  # the log holds 0.9 from before the rule saw it
    log.append(lowered)
    every = log.relevances_of(np.arange(len(log)))
    for least in (0.0, 0.1, 0.3, float(np.float32(0.4)), 0.4, np.nextafter(0.5, 1), 0.9, 2.0):
        assert log.as_relevant_as(least).tolist() == np.flatnonzero(every >= least).tolist()


def test_events_are_in_order_with_evictions_before_their_cause():
    events = list(example_log().events())
    assert [(d.feature, d.reason, d.because) for d in events] == [
        (1, "kept", ()), (2, "copied", (1,)), (1, "beaten", (3, 2)), (3, "kept", ()),
    ]  # fmt: skip
    assert events[2].evidence == {"p": 0.001}
    assert (events[2].relevance, events[2].value, events[2].level) == (0.5, 0.8, 0.5)


def test_many_decisions_at_once_are_the_same_as_one_by_one():
    rng = np.random.default_rng(0)
    relevance, value, level = rng.random((3, 6))
    one_by_one, at_once = DecisionLog(REASONS), DecisionLog(REASONS)
    for log in (one_by_one, at_once):
        log.append_bulk(np.ones(8), 0.0, "weak")
        log.append(Decision(0, "kept", 1.0, because=(5, 6, 7)))
    features, because = np.array([1, 2, 4, 5, 6, 7]), np.zeros(6, np.int64)
    at_once.append_many("copied", features, relevance, value, level, because)
    for i, feature in enumerate(features.tolist()):
        one_by_one.append(Decision(feature, "copied", relevance[i], value[i], level[i], (0,)))
    assert list(map(repr, at_once.events())) == list(map(repr, one_by_one.events()))
    assert {k: v.tobytes() for k, v in at_once.state().items()} == {
        k: v.tobytes() for k, v in one_by_one.state().items()
    }


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=40))
@settings(max_examples=60)
def test_replay_is_what_a_set_would_hold_after_the_same_steps(steps):
    log, kept = DecisionLog(REASONS), set()
    for feature, (what, pick) in enumerate(steps):
        log.append_bulk(np.array([0.5]), 0.1, "weak")
        leaving = sorted(kept)[pick % len(kept) :][:2] if kept and what >= 1 else []
        evicts = tuple(Decision(f, "beaten", 0.1, because=(feature,)) for f in leaving)
        verdict = "copied" if what == 2 else "kept"
        log.append(Decision(feature, verdict, 0.5, evicts=evicts))
        kept -= set(leaving)
        if verdict == "kept":
            kept.add(feature)
    assert log.replay() == sorted(kept)
    assert np.flatnonzero(log.verdicts == Verdict.KEPT).tolist() == sorted(kept)


def test_columns_hold_the_last_decision_about_every_feature():
    table = example_log().columns()
    assert table["feature"].tolist() == [0, 1, 2, 3, 4]
    assert table["verdict"].tolist() == [0, 2, 1, 3, 0]
    assert table["because"].tolist() == [-1, 3, 1, -1, -1]
    assert table["at"].tolist() == [0, 3, 2, 3, 4]
    assert np.allclose(table["relevance"], [0.1, 0.5, 0.4, 0.9, 0.0], rtol=1e-7)
    assert np.array_equal(table["value"], [np.nan, 0.8, 0.45, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(table["level"], [0.25, 0.5, 0.4, 0.25, np.nan], equal_nan=True)


def test_data_frames_hold_texts_and_names():
    log = example_log()
    pandas, polars = log.to_pandas(), log.to_polars()
    wanted = {
        "name": ["a", "b", "c", "x3", "x4"],
        "verdict": ["irrelevant", "evicted", "redundant", "kept", "irrelevant"],
        "reason": ["weak", "beaten", "copied", "kept", "constant"],
    }
    for column, words in wanted.items():
        assert pandas[column].tolist() == words
        assert polars[column].to_list() == words
    assert polars["because"].to_list() == [None, "x3", "b", None, None]
    assert pandas["because"].isna().tolist() == [True, False, False, True, True]
    assert list(pandas.columns) == polars.columns
    assert pandas["at"].tolist() == polars["at"].to_list() == [0, 3, 2, 3, 4]


def test_an_empty_log_makes_empty_tables():
    log = DecisionLog(REASONS)
    assert log.replay() == []
    assert all(len(column) == 0 for column in log.columns().values())
    assert log.to_polars().height == len(log.to_pandas()) == 0


def test_a_log_is_restored_from_its_arrays_and_continued():
    log = example_log()
    again = DecisionLog.from_state(log.state(), REASONS, log.names, WORDS)
    assert [again.why(i) for i in range(5)] == [log.why(i) for i in range(5)]
    assert list(map(repr, again.events())) == list(map(repr, log.events()))
    for each in (log, again):
        if each is again:
            each.names = NameBook()
            each.names.append(5, None)
        each.append_bulk(np.array([0.3]), 0.5, "weak")
        each.append(Decision(5, "kept", 0.3, evidence={"p": 0.5, "q": 1.0}))
    assert again.replay() == log.replay() == [3, 5]
    mine, theirs = log.state(), again.state()
    assert mine.keys() == theirs.keys()
    assert all(mine[k].tobytes() == theirs[k].tobytes() for k in mine)


def test_thirty_million_irrelevant_features_take_six_bytes_each():
    n, width = 30_000_000, 1_000_000
    log = DecisionLog(REASONS)
    log.expected = n
    strengths = np.linspace(0.0, 0.01, width, dtype=np.float32)
    for _ in range(n // width):
        log.append_bulk(strengths, 0.05, "weak")
    counted = log.counts()
    held = [log._reason._array, log._relevance._array, log._events._array, log._because._array]
    held += [np.asarray(numbers) for _, _, numbers in log._levels._parts]
    assert len(log) == n
    assert counted["irrelevant"] == n
    assert sum(array.nbytes for array in held) <= 6 * n
    assert log.why(n - 1) == "x29999999 is weak: {I}=0.01 is not above 0.05"


def test_capacity_grows_by_half_at_most_when_the_size_is_unknown():
    log = DecisionLog(REASONS)
    for _ in range(50):
        log.append_bulk(np.zeros(1_000, np.float32), 0.0, "weak")
    assert len(log._relevance._array) <= 1.5 * len(log) + 16


def test_numbers_are_shown_with_enough_digits_to_distinguish_them():
    assert show(0.5, float("nan"), 0.25) == ["0.5", "nan", "0.25"]
    assert show(0.1234, 0.1235) == ["0.1234", "0.1235"]
    assert show(1.0, 1.0) == ["1", "1"]


def test_sentences_join_names_and_leave_unknown_fields_unchanged():
    assert [join(list(names)) for names in ("", "a", "ab", "abc")] == [
        "", "a", "a and b", "a, b and c",
    ]  # fmt: skip
    assert fill("{a} {b} {c.__class__} {0}", {"a": "{b}"}, {"b": "{a}"}) == (
        "{b} {b} {c.__class__} {0}"
    )


def test_p_values_below_what_a_level_holds_are_bounds():
    rng = np.random.default_rng(0)
    y = rng.normal(size=2_000)
    X = y[:, np.newaxis] + rng.normal(size=(2_000, 2)) * np.array([0.01, 4.0])
    for method, bound in (
        (tamis.SAOLA("any_shape"), "p<1e-39 (by"),
        (tamis.SAOLA("any_shape", fdr=0.1), "p<1e-37 ("),
        (tamis.SAOLA("fisher_z"), "p<1e-309 by"),
    ):
        found = method.fit(X, y)
        assert bound in found.why(0)
        assert re.search(r"p=\d", found.fit(X[:, 1:], y).why(0))
