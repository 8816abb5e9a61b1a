"""Pairs that workers compared with an older kept set, without a cluster: the log is the same."""

from __future__ import annotations

import pickle
from collections import deque
from dataclasses import replace
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
from tamis.engine.workers.copies import CHAIN, OLD, SHARE, Copies, current
from tamis.measures.pairwise_deletion import PairwiseDeletion
from tamis.methods.known_pairs import Changes
from tamis.methods.measured import MeasuredStream
from tamis.methods.replaying import can_be_joined
from tamis.methods.streaming.saola import SAOLARule
from tamis.sources.arrays.in_memory import MemorySource

MEASURES = [
    MutualInformation(threshold=0.02),
    MutualInformation(alpha=0.01),
    SymmetricUncertainty(threshold=0.02),
    FisherZ(alpha=0.05),
    GSquared(),
]


def run_lagging(selector, y, table, cuts, lag, parts=1, full=False, at_once=None):
    """Score as workers do: each piece knows what was kept when it was given out, `lag` ago.

    A piece has several blocks. With `full`, workers get whole copies, otherwise what changed. Of
    columns that are read again, `at_once` are in a call. Return how many were.
    """
    old, worker, again = deque([None] * lag), None, []

    def fetch(features):
        features = features[:at_once]
        again.extend(features)
        blocks = [ColumnBlock.of(table[:, [f]], first=f) for f in features]
        return selector.prepared(blocks)

    selector.start(y)
    for lo, hi in pairwise(cuts):
        first = full or selector._recent is None
        old.append(pickle.dumps(selector.snapshot() if first else selector.changes()))
        if (sent := old.popleft()) is not None:
            what = pickle.loads(sent)
            if isinstance(what, Changes):
                worker.follow(what)
            else:
                worker = what
        inner = np.unique(np.linspace(lo, hi, parts + 1).astype(int))
        scored = []
        for a, b in pairwise(inner.tolist()):
            block = ColumnBlock.of(table[:, a:b], first=a)
            scored.append(
                selector.score(block) if worker is None
                else selector.score_knowing(block, worker, send_all=False)
            )  # fmt: skip
        assert all(can_be_joined(*pair) for pair in pairwise(scored))
        piece = pickle.loads(pickle.dumps(selector.joined(scored)))
        selector.update(replace(piece, fetch=fetch))
    selector.finish()
    return len(again)


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
    parts=st.integers(1, 3),
    full=st.booleans(),
    at_once=st.sampled_from([1, 2, None]),
)
def test_an_older_kept_set_foresees_the_same_log(
    seed, measure, bound, ties, lag, ahead, sparse, parts, full, at_once
) -> None:
    rng = np.random.default_rng(seed)
    X, y = stream(rng, measure.kind == "discrete")
    selector = SAOLA(measure, bound=bound, ties=ties)._to_selector()
    expected = SAOLA(measure, bound=bound, ties=ties).fit(X, y)
    inner = np.unique(rng.integers(1, X.shape[1], rng.integers(0, 30)))
    table = sp.csc_matrix(X) if sparse else X
    with patch.object(MeasuredStream, "look_ahead", ahead):
        cuts = [0, *inner.tolist(), X.shape[1]]
        run_lagging(selector, y, table, cuts, lag, parts, full, at_once)
    assert_same_log(selector.log_, expected.log_, f"lag {lag}")
    assert selector.work_["relevant"] == expected.work_["relevant"]


@pytest.mark.parametrize("later", [1, 2, 20])
def test_columns_are_read_again_when_the_cause_of_their_drop_was_evicted(later) -> None:
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
    scored = selector.joined([selector.score_knowing(copies, known, send_all=False)])
    assert scored.known.features.tolist() == [0] * later
    assert not scored.known.is_open.any()
    assert len(scored.columns) == 0
    calls = []

    def fetch(features):
        calls.append(features)
        return selector.prepared([blocks[feature] for feature in features])

    selector.update(replace(scored, fetch=fetch))
    assert calls == [list(range(2, 2 + later))]  # all of them at once
    assert selector.kept_.tolist() == [1]
    assert selector.log_.counts()["evicted"] == 1
    assert_same_log(selector.log_, SAOLA(MutualInformation(alpha=0.01)).fit(X, y).log_, "again")


def test_pairs_that_workers_compared_are_not_computed_again() -> None:
    X, y = stream(np.random.default_rng(3), True)
    selector = SAOLA(MutualInformation(alpha=0.01)).fit(X, y)._selector
    pairs = selector.work_["pair_values"]
    known = pickle.loads(pickle.dumps(selector.snapshot()))
    copies = ColumnBlock.of(np.repeat(X[:, selector.kept_], 5, axis=1), first=X.shape[1])
    selector.update(selector.joined([selector.score_knowing(copies, known, send_all=False)]))
    assert selector.work_["pair_values"] == pairs


@pytest.mark.parametrize(
    "world", [{"fdr": 0.2}, {"shadows": 2}, {"fdr": 0.2, "shadows": 1}], ids=str
)
def test_gates_and_shadow_worlds_see_the_same(world) -> None:
    for seed in range(5):
        X, y = stream(np.random.default_rng(seed), True, width=120)
        expected = SAOLA(**world).fit(X, y)
        selector = SAOLA(**world)._to_selector()
        selector.start(y)
        selector.prepare(iter([ColumnBlock.of(X)]))
        with patch.object(type(selector), "start", lambda self, y: self):
            run_lagging(selector, y, X, [0, 10, 30, 60, 90, 120], 1)
        assert_same_log(selector.log_, expected.log_, f"seed {seed}")
        assert selector.trust == expected._selector.trust
        assert len(selector.kept_) > 0


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


class Selector:
    """A selector whose copies are texts; a whole one has many letters."""

    n_changes, kept_ = 0, range(0)

    def snapshot(self):
        return "base".ljust(1000) if self.kept_ else None

    def changes(self):
        return "changes".ljust(30)


def test_changes_are_sent_when_they_are_many_or_after_a_while() -> None:
    selector, sent = Selector(), []
    copies = Copies(selector, lambda what: sent.append(pickle.loads(what).strip()) or len(sent))
    assert copies.latest() is None
    selector.kept_ = range(SHARE)
    run, parts = copies.latest()
    assert parts == ((0, 1),)
    selector.kept_, selector.n_changes = range(2 * SHARE), 1  # few
    assert [copies.latest() for _ in range(OLD - 1)] == [(run, parts)] * (OLD - 1)
    assert copies.latest() == (run, ((0, 1), (1, 2)))
    selector.n_changes = 0
    assert [len(copies.latest()[1]) for _ in range(2 * OLD)] == [2] * (2 * OLD)
    selector.n_changes = 2  # a sixteenth
    assert [len(copies.latest()[1]) for _ in range(3)] == [3, 4, 5]
    assert sent == ["base", *["changes"] * 4]


@pytest.mark.parametrize("letters", [30, 300])
def test_a_new_base_is_sent_now_and_then_and_old_parts_are_deleted_later(letters) -> None:
    selector, sent, gone = Selector(), [], []
    selector.kept_, selector.n_changes = range(SHARE), 1
    selector.changes = lambda: "changes".ljust(letters)
    copies = Copies(
        selector, lambda what: sent.append(pickle.loads(what).strip()) or len(sent), gone.append
    )
    lengths = [len(copies.latest()[1]) for _ in range(50)]
    longest = CHAIN + 1 if letters == 30 else 5  # four changes take more room than the base
    assert lengths == [1 + i % longest for i in range(50)]
    assert sent == ["changes" if i % longest else "base" for i in range(50)]
    assert gone == list(range(1, longest * ((50 - 1) // longest - 1) + 1))


def test_a_worker_reads_only_what_is_new_to_it() -> None:
    X, y = stream(np.random.default_rng(1), False)
    selector = SAOLA(FisherZ(alpha=0.05), bound="max")._to_selector().start(y)
    shared: list[bytes] = []
    copies = Copies(selector, lambda what: shared.append(what) or len(shared) - 1)
    read: list[int] = []

    def look(number):
        read.append(number)
        return shared[number]

    for lo in range(0, 70, 5):
        selector.update(selector.score(ColumnBlock.of(X[:, lo : lo + 5], first=lo)))
        version = copies.latest()
        if version is None or lo == 20:  # a task that another worker has
            continue
        copy = current(version, look)
        if selector.n_changes == 0:
            assert copy.kept.features.tolist() == selector.kept_.tolist()
            assert np.array_equal(copy.kept.relevance, selector._kept.relevance)
    assert len(shared) > 4
    assert read == sorted(set(read))  # each at most once, in order
    copy = current(version, look)
    column = selector.prepared([ColumnBlock.of(X[:, 3:4])])[0]
    assert len(copy.kept.panel.between(column)) == len(copy.kept)


class _Lenient(SAOLARule):
    """A rule of a user that compares in another way."""

    def compare(self, arrival, kept):
        values, bound, redundant = super().compare(arrival, kept)
        return values, bound, redundant & (values > 0.9)


def test_methods_that_foresee_nothing_send_nothing() -> None:
    X, y = stream(np.random.default_rng(1), True)
    for selector in (SAOLA(variant="program"), tamis.SFSFI(), tamis.FastOSFS(), tamis.GroupSAOLA()):
        assert selector.fit(X, y)._selector.snapshot() is None
    assert SAOLA().start(y)._selector.snapshot() is None
    assert len(SAOLA().fit(X, y)._selector.snapshot().kept) > 0
    lenient = _Lenient(MutualInformation()).to_selector().run(MemorySource(X, y), y)
    assert len(lenient.kept_) > 0
    assert lenient.snapshot() is None
