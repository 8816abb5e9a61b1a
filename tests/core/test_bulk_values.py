"""Numbers that decided about features which have no event, four bytes each."""

from __future__ import annotations

import numpy as np

from tamis.core.decisions import Decision, DecisionLog, Reason, Verdict

REASONS = {
    "weak": Reason(Verdict.IRRELEVANT, "{name} is weak: {value} is not above {level}"),
    "kept": Reason(Verdict.KEPT, "{name} is kept with {value}"),
}


def a_log(*widths: int) -> DecisionLog:
    """Ten features whose values are their numbers, except that 3 has none and 5 is kept."""
    log = DecisionLog(REASONS)
    first = 0
    for width in widths:
        log.append_bulk(np.zeros(width), 0.5, "weak")
        values = np.arange(first, first + width, dtype=float)
        values[np.isin(values, [3, 5])] = np.nan
        if first <= 5 < first + width:
            log.append(Decision(5, "kept", 0.7, 9.0))
        log.append_values(first, values)
        first += width
    return log


def test_values_are_reported_and_tabulated() -> None:
    log = a_log(10)
    assert log.why(4) == "x4 is weak: 4 is not above 0.5"
    assert log.why(5) == "x5 is kept with 9"
    found = log.columns()["value"]
    assert np.isnan(found[3])
    assert np.delete(found, 3).tolist() == [0, 1, 2, 4, 9, 6, 7, 8, 9]
    assert log.columns(4, 7)["value"].tolist() == [4, 9, 6]


def test_the_widths_of_blocks_do_not_matter() -> None:
    expected = a_log(10).state()
    for widths in ((1,) * 10, (3, 1, 6), (4, 6)):
        found = a_log(*widths).state()
        assert found.keys() == expected.keys()
        np.testing.assert_array_equal(found["value"], expected["value"])
        np.testing.assert_array_equal(
            a_log(*widths).columns(2, 9)["value"], a_log(10).columns(2, 9)["value"]
        )


def test_values_are_saved_and_restored_as_plain_arrays() -> None:
    log = a_log(4, 6)
    again = DecisionLog.from_state(log.state(), REASONS, log.names, {})
    assert [again.why(i) for i in (0, 4, 5, 9)] == [log.why(i) for i in (0, 4, 5, 9)]
    assert again.state().keys() == log.state().keys()


def test_a_log_without_values_stores_none() -> None:
    log = DecisionLog(REASONS)
    log.append_bulk(np.zeros(3), 0.5, "weak")
    log.append_values(0, np.full(3, np.nan))
    assert "value" not in log.state()
    assert np.isnan(log.columns()["value"]).all()


def test_reasons_are_counted_in_pieces(monkeypatch) -> None:
    monkeypatch.setattr("tamis.core.decisions.PIECE", 3)
    log = a_log(4, 6)
    assert log.reason_counts() == [9, 1]
    assert log.counts() == {"irrelevant": 9, "redundant": 0, "evicted": 0, "kept": 1}
