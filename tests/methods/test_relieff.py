"""ReliefF against a slow reference from the paper, and against scikit-feature."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis import ReliefF
from tamis.core.errors import InputError, ParameterError
from tamis.methods.batch import relieff


def paper(X, y, k, picks=None, discrete=False):
    """W of every column; differences rounded in distances only. None for a constant column."""
    n = len(y)
    picks = range(n) if picks is None else picks
    span = np.ptp(X, axis=0)
    usable = span > 0
    Z = (X[:, usable] - X[:, usable].min(axis=0)) / span[usable]
    units = np.rint(Z * 2**24)

    def diff(r, s, of):
        return (of[r] != of[s]).astype(float) if discrete else np.abs(of[r] - of[s])

    weight = np.zeros(int(usable.sum()))
    prior = {c: np.mean(y == c) for c in np.unique(y)}
    for r in picks:
        for c in prior:
            others = [s for s in range(n) if s != r and y[s] == c]
            others.sort(key=lambda s: (diff(r, s, units).sum(), s))
            for s in others[:k]:
                share = -1.0 if c == y[r] else prior[c] / (1 - prior[y[r]])
                weight += share * diff(r, s, Z) / (len(picks) * min(k, len(others)))
    full = np.full(X.shape[1], np.nan)
    full[usable] = weight
    return full


def troubled(seed, rows, density, kind):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    y[:2] = 0, 1
    X = rng.integers(-2, 3, (rows, 12)).astype(float) if kind == "codes" else rng.normal(
        size=(rows, 12)
    )  # fmt: skip
    X *= rng.random((rows, 12)) < density
    X[:, 1] += y
    X[:, 5] = X[:, 1]
    X[:, 7] = 3.0
    return X, y


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.sampled_from([5, 20, 40]),
    density=st.sampled_from([0.2, 0.6, 1.0]),
    kind=st.sampled_from(["codes", "numbers"]),
    k=st.sampled_from([1, 3, 10]),
    values=st.sampled_from(["numeric", "discrete"]),
)
def test_weights_are_those_of_the_paper(seed, rows, density, kind, k, values) -> None:
    X, y = troubled(seed, rows, density, kind)
    expected = paper(X, y, k, discrete=values == "discrete")
    usable = np.flatnonzero(~np.isnan(expected))
    for given_ in (X, sp.csc_matrix(X)):
        found = ReliefF(12, n_neighbors=k, values=values).fit(given_, y)
        assert found.kept_.tolist() == usable.tolist()
        weight = found.log_.relevances_of(usable)
        np.testing.assert_allclose(weight, expected[usable], rtol=1e-12, atol=1e-13)
        top = found.ranking_
        assert np.all(np.diff(found.log_.relevances_of(np.arange(12))[top]) <= 0)


def test_equal_weights_are_ordered_by_arrival_and_fewer_features_are_a_prefix_of_more() -> None:
    X, y = troubled(3, 40, 1.0, "numbers")
    all_ = ReliefF(12).fit(X, y).ranking_.tolist()
    assert all_.index(5) == all_.index(1) + 1  # copies
    for n_features in range(1, 12):
        assert ReliefF(n_features).fit(X, y).ranking_.tolist() == all_[:n_features]


def test_rows_can_be_drawn() -> None:
    X, y = troubled(4, 40, 1.0, "numbers")
    picks = np.sort(np.random.default_rng(7).permutation(40)[:9])
    found = ReliefF(12, n_neighbors=4, n_samples=9, random_state=7).fit(X, y)
    expected = paper(X, y, 4, picks)
    weight = found.log_.relevances_of(found.kept_)
    np.testing.assert_allclose(weight, expected[found.kept_], rtol=1e-12, atol=1e-13)
    every = ReliefF(12, n_samples=1000).fit(X, y).ranking_.tolist()
    assert every == ReliefF(12).fit(X, y).ranking_.tolist()


def test_weights_are_those_of_scikit_feature() -> None:
    """For two classes: with more it divides by P(c) / (1 - P(class)) where the paper multiplies.
    Its columns are not divided by their range, so these all have range 1.
    """
    peer = pytest.importorskip("skfeature.function.similarity_based.reliefF")
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 60)
    X = rng.random((60, 20))
    X[:, 3] += y
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    found = ReliefF(20, n_neighbors=5).fit(X, y)
    theirs = peer.reliefF(X, y, mode="raw", k=5) / 60
    np.testing.assert_allclose(found.log_.relevances_of(np.arange(20)), theirs, atol=1e-12)


def test_text_has_no_order() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    words = rng.choice(["a", "b", "c"], 60)
    frame = pd.DataFrame({"number": rng.random(60), "word": words})
    found = ReliefF(2).fit(frame, (words == "b").astype(int))
    assert found.ranking_[0] == 1
    as_codes = np.column_stack([frame["number"], np.unique(words, return_inverse=True)[1]])
    ordered = ReliefF(2).fit(as_codes, (words == "b").astype(int))
    assert found.log_.relevance_of(1) != ordered.log_.relevance_of(1)


def test_sentences_carry_the_numbers() -> None:
    y = np.repeat([0, 1], 20)
    X = np.column_stack([y, np.ones(40), np.arange(40) % 2, 1 - y])
    log = ReliefF(1).fit(X, y).log_
    assert log.why("x0") == "x0 is kept: W(x0)=1 is number 1 from the top"
    assert log.why("x1") == "x1 was dropped as irrelevant: it has the same value in every row"
    assert log.why("x2") == (
        "x2 was dropped: W(x2)=-0.1 is not above that of x0 (1), the last that is kept"
    )
    assert log.why("x3") == (
        "x3 was dropped: W(x3)=1 is not above that of x0 (1), the last that is kept"
    )


def test_regression_targets_are_refused() -> None:
    with pytest.raises(InputError, match="ReliefF needs classes, and y holds real numbers"):
        ReliefF().fit(np.eye(6), np.linspace(0, 1, 6))


def test_too_many_rows_are_refused_before_memory_is_allocated(monkeypatch) -> None:
    monkeypatch.setattr(relieff, "MOST_DISTANCES", 1_000)
    X, y = troubled(0, 40, 1.0, "numbers")
    with pytest.raises(InputError) as error:
        ReliefF().fit(X, y)
    assert str(error.value) == (
        "ReliefF holds the distances of 40 rows to 40, more than 1,000 numbers; give n_samples=25 "
        "or fewer"
    )
    assert len(ReliefF(n_samples=25).fit(X, y).kept_) == 10


@pytest.mark.parametrize("wrong", [{"n_neighbors": 0}, {"n_samples": 0}, {"values": "words"}])
def test_wrong_parameters_are_refused(wrong) -> None:
    with pytest.raises(ParameterError, match=r"ReliefF: \w+=.* is not"):
        ReliefF(**wrong).fit(np.eye(4), [0, 0, 1, 1])


def test_it_runs_from_a_file(tmp_path) -> None:
    from sklearn.datasets import dump_svmlight_file, load_digits

    X, y = (of[:300] for of in load_digits(return_X_y=True))
    dump_svmlight_file(X, y, str(tmp_path / "digits.svm"), zero_based=False)
    run = tamis.select(tmp_path / "digits.svm", ReliefF(5), width=7, n_jobs=2)
    assert run.log.replay()[-1] < 64
    assert "the last that is kept" in run.why(1) or "same value" in run.why(1)
    whole = ReliefF(5).fit(X, y)
    assert run.log.replay() == whole.kept_.tolist()
