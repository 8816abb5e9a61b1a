"""n_features="auto": several sizes side by side, against one learner for each and a slow choice."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import many_classes, streams

import tamis
from tamis.core.errors import ParameterError
from tamis.methods.online.kept_learner import SIZES
from tamis.methods.online.progressive import Recent
from tamis.methods.online.row_input import sparse_rows
from tamis.methods.online.weights import from_arrays, to_arrays

SOME = (1, 2, 3, 5, 9)
LEARNERS = [tamis.SOFS, tamis.PET, tamis.FOFS]


def mistakes_of(learner, X, y, size):
    """Row by row: was the prediction wrong before the row was learned?"""
    model, wrong = learner(size, classes=np.unique(y)), []
    for row in range(len(y)):
        before = model.predict(X[row : row + 1])[0] if row else np.unique(y)[0]
        wrong.append(before != y[row])
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    return np.array(wrong), model


def slow_choice(wrong):
    """Sizes' errors on the rows that count, and the first within a standard error of the best."""
    t = wrong.shape[1]
    p = 1
    while 2 * p <= t / 2:
        p *= 2
    recent = wrong[:, p if t >= 2 else 0 :]
    n = recent.shape[1]
    errors = recent.mean(axis=1)
    share = (recent.sum(axis=1).min() + 1) / (n + 2)
    good = errors <= errors.min() + math.sqrt(share * (1 - share) / n)
    return errors, int(np.flatnonzero(good)[0])


@pytest.mark.parametrize("learner", LEARNERS)
@settings(max_examples=12)
@given(data=st.one_of(streams, many_classes), rows=st.integers(2, 60))
def test_each_size_is_a_model_of_its_own(learner, data, rows):
    X, y = data[0][:rows], data[1][:rows]
    if len(np.unique(y)) < 2:
        y = np.arange(rows) % 2
    one_by_one = [mistakes_of(learner, X, y, size) for size in SOME]
    errors, best = slow_choice(np.array([wrong for wrong, _ in one_by_one]))
    auto = learner("auto", sizes=SOME).fit(X, y)
    assert list(auto.size_curve_) == list(SOME)
    assert np.allclose(list(auto.size_curve_.values()), errors, rtol=0, atol=1e-15)
    assert auto.n_features_ == SOME[best]
    assert auto.kept_.tolist() == one_by_one[best][1].kept_.tolist()
    assert np.array_equal(auto.weights_, one_by_one[best][1].weights_)


def known_stream(informative, rows=4000, columns=600, others=30, seed=0):
    """Informative features in every row, others now and then: what SOFS is made for."""
    rng = np.random.default_rng(seed)
    good = np.sort(rng.choice(columns, informative, replace=False))
    X = np.zeros((rows, columns))
    for row in X:
        row[rng.choice(columns, others, replace=False)] = rng.normal(size=others)
    X[:, good] = rng.normal(size=(rows, informative))
    return sp.csr_matrix(X), X[:, good] @ rng.random(informative) > 0, good


@pytest.mark.parametrize("informative", [12, 48])
def test_the_number_of_informative_features_is_found(informative):
    X, y, good = known_stream(informative)
    sizes = (6, 12, 24, 48, 96, 192)
    model = tamis.SOFS("auto", gamma=100.0, sizes=sizes).fit(X, y)
    assert model.n_features_ == informative
    assert model.kept_.tolist() == good.tolist()
    by_default = tamis.SOFS("auto", gamma=100.0).fit(X, y)
    assert by_default.n_features_ == {12: 16, 48: 64}[informative]
    assert set(good) <= set(by_default.kept_)


@given(done=st.integers(0, 300), coming=st.integers(0, 300))
def test_cuts_stop_at_powers_of_two(done, coming):
    parts = list(Recent.cuts(done, coming))
    ends = [done + hi for _, hi in parts]
    inside = [p for p in (2**k for k in range(12)) if done < p < done + coming]
    assert ends == sorted({*inside, *([done + coming] if coming else [])})
    assert [lo for lo, _ in parts] == [0, *[hi for _, hi in parts]][: len(parts)]


def test_recent_rows_are_half_to_three_quarters():
    recent = Recent(1)
    for t in range(1, 500):
        recent.record(t, np.array([t]))
        assert recent.mistakes.tolist() == [recent.rows]
        if t >= 2:
            assert t / 2 <= recent.rows < 0.75 * t + 1


def test_learning_by_dicts_and_pickling_on_the_way():
    X, y, _ = known_stream(12, rows=300, columns=40, others=5)
    live = tamis.SOFS("auto", sizes=SOME)
    for row, label in zip(X, y, strict=True):
        live.learn_one(dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)), bool(label))
        if live.work_["rows"] % 70 == 0:
            live = pickle.loads(pickle.dumps(live))
    whole = tamis.SOFS("auto", sizes=SOME).fit(X, y)
    assert live.size_curve_ == whole.size_curve_
    assert live.kept_.tolist() == whole.kept_.tolist()
    assert np.array_equal(live.weights_, whole.weights_)


def test_threads_do_not_matter():
    X, y, _ = known_stream(12, rows=500)
    with tamis.threads(1):
        one = tamis.SOFS("auto").fit(X, y)
    with tamis.threads(4, least_work=1):
        four = tamis.SOFS("auto").fit(X, y)
    assert one.size_curve_ == four.size_curve_
    assert np.array_equal(one.weights_, four.weights_)


def test_the_default_sizes_are_those_of_the_docstring():
    assert SIZES[:3] == (4, 8, 16)
    assert SIZES[-1] == 4096
    assert len(SIZES) == 11
    for learner in LEARNERS:
        assert "4, 8, 16, ..., 4096" in learner.__doc__
        assert "eleven times four bytes per column" in " ".join(learner.__doc__.split())


def test_a_given_size_has_a_curve_of_one_point():
    model = tamis.PET(3).fit(np.eye(4), [0, 1, 0, 1])
    assert model.n_features_ == 3
    assert model.size_curve_ == {3: model.work_["mistakes"] / 4}


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        (
            {"n_features": 5, "sizes": (1, 2)},
            "SOFS: sizes= are for n_features='auto', but n_features=5; give one of the two",
        ),
        ({"n_features": "auto", "sizes": ()}, "SOFS: sizes= is empty; give one size or more"),
        (
            {"n_features": "auto", "sizes": (3, 0)},
            "SOFS: sizes=0 is not a whole number at least 1 and at most 1.67772e+07",
        ),
        (
            {"n_features": "most"},
            "SOFS: n_features='most' is not a whole number at least 1 and at most 1.67772e+07 or "
            "one of 'auto'",
        ),
    ],
)
def test_wrong_sizes_are_reported(parameters, sentence):
    with pytest.raises(ParameterError) as caught:
        tamis.SOFS(**parameters).fit(np.eye(4), [0, 1, 0, 1])
    assert str(caught.value) == sentence


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_saved_state_continues_to_the_same_model(learner):
    X, y, _ = known_stream(12, rows=600, columns=60, others=5)
    half = learner("auto", sizes=SOME).partial_fit(X[:250], y[:250], [False, True])
    state = {name: array.copy() for name, array in to_arrays(half.learner_.model).items()}
    other = learner("auto", sizes=SOME).partial_fit(X[:3], y[:3], [False, True])
    from_arrays(other.learner_.model, state)
    other.partial_fit(X[250:], y[250:])
    whole = learner("auto", sizes=SOME).fit(X, y)
    assert other.size_curve_ == whole.size_curve_
    assert other.work_ == whole.work_
    assert np.array_equal(other.weights_, whole.weights_)


def test_work_counts_only_the_leading_sizes():
    X, y, _ = known_stream(12, rows=900, columns=200, others=20)
    model = tamis.SOFS("auto", sizes=SOME)
    wrong, lead, counted = 0, 0, []
    for row in range(len(y)):
        alone = model.learner_.model.models[lead] if row else None
        if alone is not None:
            wrong += (alone.scores(model.learner_.prepare(sparse_rows(X[row])))[0, 0] > 0) != y[row]
        else:
            wrong += bool(y[row])  # nothing is known yet, and a score of 0 predicts the first class
        model.partial_fit(X[row], y[row : row + 1], [False, True])
        counted.append(model.work_["mistakes"])
        if (row + 1) & row == 0:
            lead = model.learner_.model.recent.first_good()
    assert counted[-1] == wrong
    assert all(b - a in (0, 1) for a, b in pairwise(counted))
