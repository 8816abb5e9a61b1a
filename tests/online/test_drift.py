"""RowSieve with a test for change: what it finds, and that chunks of rows decide nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from all_learners import same
from river.drift import ADWIN

import tamis
from tamis.methods.online.drift import BATCH, Adwin
from tamis.methods.online.weights import from_arrays, to_arrays


def changing(n_rows, at, seed=0):
    """Rows whose informative columns are 0 to 4 up to row `at`, then 50 to 54."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 100)) * (rng.random((n_rows, 100)) < 0.3)
    good = np.where(np.arange(n_rows)[:, None] < at, np.arange(5), np.arange(50, 55))
    return X, np.take_along_axis(X, good, axis=1).sum(axis=1) > 0


def test_new_features_are_found_after_a_change() -> None:
    X, y = changing(8000, 4000)
    model = tamis.RowSieve(5, drift=0.002).fit(X, y)
    assert len(model.changes_) == 1
    assert 4000 < model.changes_[0] <= 4000 + 8 * BATCH
    assert model.kept_.tolist() == [50, 51, 52, 53, 54]
    without = tamis.RowSieve(5).fit(X, y)
    assert without.changes_ == []
    late = model.predict(X[7000:]) == y[7000:]
    assert late.mean() > (without.predict(X[7000:]) == y[7000:]).mean() + 0.1


def test_without_change_nothing_changes() -> None:
    X, y = changing(6000, 6000)
    watched, plain = tamis.RowSieve(5, drift=0.002).fit(X, y), tamis.RowSieve(5).fit(X, y)
    assert watched.changes_ == []
    same(watched, plain)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_chunks_decide_nothing(n_classes) -> None:
    X, y = changing(3000, 1500)
    codes = y.astype(int) + (n_classes == 3) * (X[:, 7] > 0.5)
    whole = tamis.RowSieve(5, drift=0.05).fit(X, codes)
    assert whole.changes_
    for step in (7, 32, 1001):
        parts = tamis.RowSieve(5, drift=0.05)
        for lo in range(0, 3000, step):
            rows = sp.csr_matrix(X[lo : lo + step])
            parts.partial_fit(rows, codes[lo : lo + step], classes=range(n_classes))
        assert parts.changes_ == whole.changes_
        same(parts, whole)
        assert parts.work_ == whole.work_


@pytest.mark.parametrize("kind", ["two classes", "three classes", "numbers"])
def test_a_target_that_is_turned_round_is_followed(kind) -> None:
    X, y = changing(5000, 5000)
    codes = 1 * y + (X[:, 7] > 0.5) if kind == "three classes" else 1 * y
    target = X[:, :5].sum(axis=1) if kind == "numbers" else codes
    goals = np.where(np.arange(5000) < 3000, target, target.max() * (kind != "numbers") - target)
    cls = tamis.RowSieveRegressor if kind == "numbers" else tamis.RowSieve
    known = {} if kind == "numbers" else {"classes": np.unique(codes)}
    scores = []
    for drift in (0.002, None):
        model = cls(5, drift=drift).partial_fit(X[:3800], goals[:3800], **known)
        scores.append(model.score(X[3800:], goals[3800:]))
        if drift:
            assert 3000 < model.changes_[0] < 3300
    assert scores[0] > scores[1] + 0.1


def test_weights_survive_a_rise_of_errors_that_is_no_change() -> None:
    X, y = changing(6000, 6000)
    rng = np.random.default_rng(1)
    noisy = (np.arange(6000) >= 3000) & (np.arange(6000) < 4000) & (rng.random(6000) < 0.3)
    model = tamis.RowSieve(5, drift=0.002).fit(X, np.where(noisy, ~y, y))
    assert model.changes_
    assert model.kept_.tolist() == [0, 1, 2, 3, 4]
    assert (model.predict(X[5000:]) == y[5000:]).mean() > 0.9


def test_a_resumed_trial_goes_on_with_the_same_numbers() -> None:
    X, y = changing(3000, 1500)
    whole = tamis.RowSieve(5, drift=0.002).fit(X, y)
    n = whole.changes_[0] + 10
    first = tamis.RowSieve(5, drift=0.002).partial_fit(X[:n], y[:n], classes=[False, True])
    assert first.learner_.model.trial.running
    other = tamis.RowSieve(5, drift=0.002).partial_fit(X[:1], y[:1], classes=[False, True])
    from_arrays(other.learner_.model, to_arrays(first.learner_.model))
    for model in (other, pickle.loads(pickle.dumps(first))):
        same(model.partial_fit(X[n:], y[n:]), whole)
        assert model.changes_ == whole.changes_


@pytest.mark.parametrize("seed", range(5))
def test_changes_are_found_when_river_finds_them(seed) -> None:
    rng = np.random.default_rng(seed)
    shares = np.repeat([0.3, 0.05, 0.25, 0.2], 3000)
    wrong = rng.random(len(shares)) < shares
    ours, theirs, found, expected = Adwin(0.002), ADWIN(delta=0.002, clock=BATCH), [], []
    for row, value in enumerate(wrong, start=1):
        before = theirs.estimation
        theirs.update(int(value))
        if theirs.drift_detected and theirs.estimation > before:
            expected.append(row)
        if ours.record(row, int(wrong[:row].sum())):
            found.append(row)
    assert found
    assert 6000 < found[0] < 6000 + 20 * BATCH
    assert abs(found[0] - expected[0]) <= 10 * BATCH
    assert ours.rows == found


def test_buckets_hold_every_row_since_the_last_cut() -> None:
    watch = Adwin(1e-9)
    for batch in range(1, 2000):
        watch.add(batch % 3)
        rows, wrong = watch.buckets.sum(axis=0)
        assert rows == batch * BATCH
        assert wrong == sum(n % 3 for n in range(1, batch + 1))
    assert np.count_nonzero(watch.buckets[:, 0]) < 60


def test_a_training_records_who_came_and_went(tmp_path) -> None:
    X, y = changing(4000, 2000)
    source = tamis.open(sp.csr_matrix(X), y=y.astype(int))
    done = tamis.learn(source, tamis.RowSieve(5, drift=0.002), out=tmp_path / "model")
    entries = done.learner.learner_.turnover_
    assert {j for j, entry in entries.items() if entry[1] == 0} == {50, 51, 52, 53, 54}
    for j in range(5):  # they were there until the change
        came, left, _ = entries[j]
        assert came < 2000 < left <= done.learner.changes_[0] + 1000
    saved = tamis.open_model(tmp_path / "model")
    assert saved.record["changes"] == done.learner.changes_
    assert ["x50", *entries[50]] in saved.record["turnover"]
