"""Drops that workers foresaw against an older kept set, without a cluster: the log is the same."""

from __future__ import annotations

import pickle
from collections import deque
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis import SAOLA, FisherZ, GSquared, MutualInformation, SymmetricUncertainty
from tamis.checks.data import assert_same_log, cases
from tamis.core.blocks import ColumnBlock
from tamis.engine.workers.ranges import OLD, News
from tamis.measures.pairwise_deletion import PairwiseDeletion
from tamis.methods.measured import MeasuredStream
from tamis.sources.arrays.in_memory import MemorySource

MEASURES = [
    MutualInformation(threshold=0.02),
    MutualInformation(alpha=0.01),
    SymmetricUncertainty(threshold=0.02),
    FisherZ(alpha=0.05),
    GSquared(),
]


def run_lagging(selector, y, table, cuts, lag):
    """Score as workers do: each block knows what was kept when it was given out, `lag` ago."""
    old = deque([None] * lag)
    selector.start(y)
    for lo, hi in pairwise(cuts):
        kept = selector.snapshot()
        old.append(None if kept is None else pickle.loads(pickle.dumps(kept)))
        known, block = old.popleft(), ColumnBlock.of(table[:, lo:hi], first=lo)
        if known is None:
            scored = selector.score(block)
        else:
            scored = pickle.loads(pickle.dumps(selector.score_knowing(block, known)))
        selector.update(scored)
    selector.finish()


def stream(rng, discrete, width=70, rows=60):
    """Columns of increasing relevance, with copies and ties: many are evicted."""
    y = rng.integers(0, 2, rows)
    wrong = np.sort(rng.random(width))[::-1] * 0.6
    hidden = np.where(rng.random((rows, width)) < wrong / 2, 1 - y[:, None], y[:, None])
    if discrete:
        X = hidden * rng.integers(1, 3, width) + 0.0
        X[:, rng.random(width) < 0.3] = rng.integers(0, 3, (rows, 1))
    else:
        X = hidden + rng.normal(size=(rows, width)) * rng.choice([0.2, 1.0], width)
    copies = rng.integers(0, width, (2, width // 3))
    X[:, copies[0]] = X[:, copies[1]]
    return X, y


@settings(max_examples=300)
@given(
    seed=st.integers(0, 2**32 - 1),
    measure=st.sampled_from(MEASURES),
    bound=st.sampled_from(["min", "max"]),
    ties=st.sampled_from(["kept", "neither"]),
    lag=st.integers(0, 4),
    ahead=st.sampled_from([1, 5, 256]),
    sparse=st.booleans(),
)
def test_an_older_kept_set_foresees_the_same_log(
    seed, measure, bound, ties, lag, ahead, sparse
) -> None:
    rng = np.random.default_rng(seed)
    X, y = stream(rng, measure.kind == "discrete")
    selector = SAOLA(measure, bound=bound, ties=ties)._to_selector()
    expected = SAOLA(measure, bound=bound, ties=ties).fit(X, y)
    inner = np.unique(rng.integers(1, X.shape[1], rng.integers(0, 30)))
    table = sp.csc_matrix(X) if sparse else X
    with patch.object(MeasuredStream, "look_ahead", ahead):
        run_lagging(selector, y, table, [0, *inner.tolist(), X.shape[1]], lag)
    assert_same_log(selector.log_, expected.log_, f"lag {lag}")
    assert selector.work_["relevant"] == expected.work_["relevant"]


@pytest.mark.parametrize("later", [1, 2, 20])
def test_drops_are_decided_again_when_their_cause_was_evicted(later) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    weak = np.where(rng.random(400) < 0.25, 1 - y, y)
    better = np.where((weak != y) & (rng.random(400) < 0.3), y, weak)
    # The copies are given out when only `weak` is kept; `better` evicts it before their turn.
    X = np.column_stack([weak, better, *[weak] * later]).astype(float)
    blocks = list(MemorySource(X, y).columns(1))
    selector = SAOLA(MutualInformation(alpha=0.01))._to_selector().start(y)
    selector.update(selector.score(blocks[0]))
    known = pickle.loads(pickle.dumps(selector.snapshot()))
    selector.update(selector.score(blocks[1]))
    copies = ColumnBlock.of(X[:, 2:], first=2)
    scored = selector.score_knowing(copies, known)
    selector.update(scored)
    assert scored.foresight["because"].tolist() == [0] * later
    assert selector.kept_.tolist() == [1]
    assert selector.log_.counts()["evicted"] == 1
    assert_same_log(selector.log_, SAOLA(MutualInformation(alpha=0.01)).fit(X, y).log_, "again")


def test_drops_that_still_hold_are_not_computed_again() -> None:
    X, y = stream(np.random.default_rng(3), True)
    selector = SAOLA(MutualInformation(alpha=0.01)).fit(X, y)._selector
    pairs = selector.work_["pair_values"]
    known = pickle.loads(pickle.dumps(selector.snapshot()))
    copies = ColumnBlock.of(np.repeat(X[:, selector.kept_], 5, axis=1), first=X.shape[1])
    selector.update(selector.score_knowing(copies, known))
    assert selector.work_["pair_values"] == pairs


@pytest.mark.parametrize(
    "measure", [*MEASURES, PairwiseDeletion(MutualInformation(), gap=-1.0)], ids=repr
)
def test_picked_columns_and_sent_panels_are_as_good_as_new(measure) -> None:
    case = cases()[0]
    panel = measure.panel(tamis.core.target.Target.of(case.y))
    block = ColumnBlock.of(case.X)
    ready = panel.prepare(block, np.arange(block.width))
    for i in range(30):
        panel.add(ready[i])
    panel.drop(np.array([2, 3, 29]))
    sent = pickle.loads(pickle.dumps(panel))
    which = np.array([50, 4, 4, 31])
    expected = np.array([panel.between(ready[i]) for i in which])
    assert np.array_equal(sent.between_many(ready.pick(which), 0, 4), expected)
    assert len(ready.pick(which[:0])) == 0
    sent.add(ready[7])
    assert len(sent.between(ready[5])) == 28


def test_a_kept_set_is_sent_compactly() -> None:
    rng = np.random.default_rng(0)
    y, X = rng.integers(0, 2, 1_000), rng.normal(size=(1_000, 40))
    panel = FisherZ().panel(tamis.core.target.Target.of(y))
    for column in panel.prepare(ColumnBlock.of(X), np.arange(40)):
        panel.add(column)
    # A value, its slot, and the way to the next entry of its row.
    assert len(pickle.dumps(panel)) < 24 * X.size


def test_news_is_sent_when_a_quarter_is_new_or_after_a_while() -> None:
    class Told:
        def __init__(self, features):
            self.features = np.array(features)

    class Selector:
        kept = None

        def snapshot(self):
            return self.kept

    selector, sent = Selector(), []
    with patch("tamis.engine.workers.ranges.pickle.dumps", lambda kept: kept.features.tolist()):
        news = News(selector, lambda what: sent.append(what) or len(sent))
        assert news.latest() is None
        selector.kept = Told(range(20))
        assert news.latest() == 1
        selector.kept = Told(range(24))
        assert news.latest() == 1
        selector.kept = Told(range(1, 24))  # four new, one gone: a quarter of the twenty
        assert news.latest() == 2
        selector.kept = Told(range(1, 25))
        assert [news.latest() for _ in range(OLD)] == [2] * (OLD - 1) + [3]
        assert [news.latest() for _ in range(2 * OLD)] == [3] * (2 * OLD)


def test_methods_that_foresee_nothing_send_nothing() -> None:
    X, y = stream(np.random.default_rng(1), True)
    for selector in (SAOLA(variant="program"), tamis.SFSFI(), tamis.FastOSFS()):
        assert selector.fit(X, y)._selector.snapshot() is None
    assert SAOLA().start(y)._selector.snapshot() is None
    assert len(SAOLA().fit(X, y)._selector.snapshot()) > 0
