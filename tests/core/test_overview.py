"""The overview of a log, against its events one by one; and its plots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tamis
from tamis.core.decisions import DecisionLog
from tamis.core.errors import InputError
from tamis.core.overview import _round_edges, displaced, growth, passage, strengths


@pytest.fixture(scope="module")
def log():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 200)
    X = rng.integers(0, 2, (200, 90)).astype(float)
    for k in range(0, 90, 7):
        X[:, k] = np.where(rng.random(200) < 0.3 + k / 300, y, X[:, k])
    return tamis.SAOLA(tamis.MutualInformation(alpha=0.1)).fit(X, y).log_


def test_growth_is_what_replaying_the_first_features_gives(log):
    curve = growth(log)
    assert curve.seen.tolist() == list(range(91))
    state = log.state()
    verdict = [log.reasons[key].verdict.name for key in log.reasons]
    for seen, kept, entered, evicted, redundant in zip(
        curve.seen, curve.kept, curve.entered, curve.evicted, curve.redundant, strict=True
    ):
        words = [
            verdict[code]
            for at, code in zip(state["event_at"], state["event_reason"], strict=True)
            if at < seen
        ]
        assert words.count("KEPT") == entered
        assert words.count("EVICTED") == evicted
        assert words.count("REDUNDANT") == redundant
        assert kept == entered - evicted
    counts = log.counts()
    assert curve.kept[-1] == counts["kept"] > 0
    assert curve.evicted[-1] == counts["evicted"] > 0


def test_a_thinned_curve_has_points_of_the_full_curve(log):
    whole, few = growth(log), growth(log, points=7)
    assert len(few.seen) == 8
    for name in ("kept", "entered", "evicted", "redundant"):
        assert getattr(few, name).tolist() == getattr(whole, name)[few.seen].tolist()


def test_every_feature_has_one_outcome(log):
    went, counts = passage(log), log.counts()
    assert went.seen == len(log)
    dropped = dict.fromkeys(("irrelevant", "redundant", "evicted"), 0)
    for verdict, _, count in went.dropped:
        dropped[verdict] += count
    assert dropped | {"kept": went.kept} == counts
    assert went.entered == counts["kept"] + counts["evicted"]
    assert dropped["irrelevant"] + dropped["redundant"] + went.entered == went.seen


def test_strengths_count_every_feature_once(log):
    edges, by_verdict = strengths(log)
    assert sum(counts.sum() for counts in by_verdict.values()) == len(log)
    relevance = log.state()["relevance"]
    first = sum(counts[0] for counts in by_verdict.values())
    assert first == np.count_nonzero(relevance < edges[1])


def test_displaced_counts_the_events_a_feature_decided(log):
    made_go = displaced(log)
    slow: dict[int, int] = {}
    for event in log.events():
        for cause in event.because:
            slow[cause] = slow.get(cause, 0) + 1
    assert made_go == slow
    assert slow


def test_an_empty_log_has_an_overview():
    log = DecisionLog({})
    assert growth(log).seen.tolist() == [0]
    assert passage(log).seen == 0
    assert strengths(log) is None
    assert displaced(log) == {}


def test_plots_show_the_counts(log):
    flow = log.plot_flow()
    [axes] = flow.axes
    words = [tick.get_text() for tick in axes.get_yticklabels()]
    widths = [bar.get_width() for bar in axes.patches]
    assert widths[words.index("kept")] == log.counts()["kept"]
    [axes] = log.plot_growth().axes
    kept = next(line for line in axes.lines if line.get_label() == "kept now")
    assert kept.get_ydata()[-1] == log.counts()["kept"]


def test_batch_methods_have_no_growth_to_draw():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.integers(0, 3, (200, 30)) + y[:, None] * rng.integers(0, 2, (200, 30))
    log = tamis.FCBF().fit(X.astype(float), y).log_
    with pytest.raises(InputError, match="looks at all features at once"):
        log.plot_growth()


def test_a_notebook_shows_counts_and_names_as_text():
    y = np.arange(60) % 2
    X = np.column_stack([y, 1 - y, np.zeros(60)]).astype(float)
    live = tamis.SAOLA(tamis.MutualInformation(alpha=0.01)).start(y)
    html = live.feed(X, names=["<script>alert(1)</script>", "b&c", "d"]).log_._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert "1 kept" in html


@given(st.floats(-1e6, 1e6), st.floats(1e-9, 1e6), st.integers(1, 60))
def test_bin_edges_are_round_and_cover_everything(low, width, bins):
    high = low + width
    assume(high > low)
    edges = _round_edges(low, high, bins)
    assert edges[0] <= low
    assert edges[-1] >= high
    assert np.all(np.diff(edges) >= 0)  # as np.histogram wants them
    assert len(edges) <= bins + 3


def test_edges_have_few_digits():
    assert _round_edges(0.0003, 0.6685, 40)[:4].tolist() == pytest.approx([0, 0.02, 0.04, 0.06])
    assert _round_edges(-3.0, 97.0, 10)[:3].tolist() == [-10.0, 0.0, 10.0]
