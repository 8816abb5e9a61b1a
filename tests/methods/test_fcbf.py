"""FCBF against a slow reference for the paper's algorithm."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from slow_information import uncertainty

import tamis
from golden_outputs import matrix
from tamis import FCBF, FisherZ, SymmetricUncertainty
from tamis.core.errors import DataWarning, ParameterError
from tamis.estimators import estimator_of
from tamis.methods.batch.candidates import best_first
from tamis.methods.batch.fcbf import FCBFRule
from tests_shared import SHARED

# Some of the real sets have few rows per level, which is intended here.
pytestmark = pytest.mark.filterwarnings("ignore:.* takes every value as a category")


# --- slow references -------------------------------------------------------------------------


def correlation(a, b):
    """|r|, rounded likewise."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return round(abs(np.corrcoef(a, b)[0, 1]), 11)


def paper(X, y, delta=0.0, strength=uncertainty):
    """Figure 2 of the paper: a list that is walked and shortened."""
    with_class = [strength(column, y) for column in X.T]
    listed = [i for i in range(X.shape[1]) if with_class[i] > delta]
    listed.sort(key=lambda i: -with_class[i])  # stable: tied features in order of arrival
    at = 0
    while at < len(listed):
        predominant = listed[at]
        listed[at + 1 :] = [
            later
            for later in listed[at + 1 :]
            if strength(X[:, predominant], X[:, later]) < with_class[later]
        ]
        at += 1
    return listed


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    levels=st.sampled_from([2, 3, 5]),
    rows=st.sampled_from([8, 30, 90]),
    delta=st.sampled_from([0.0, 0.05, 0.3]),
)
def test_it_keeps_what_the_paper_keeps_however_many_are_tied(seed, levels, rows, delta) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, rng.integers(2, 4), rows)
    y[:2] = 0, 1  # two classes, whatever is drawn
    X = rng.integers(0, levels, (rows, 25)).astype(float)
    informative = rng.random((rows, 8)) < rng.random(8)
    X[:, ::3][:, :8] = np.where(informative, y[:, None] % levels, X[:, ::3][:, :8])
    X[:, 20] = X[:, 0]  # copies, relabelled copies and constants are all tied
    X[:, 21] = levels - 1 - X[:, 3]
    X[:, 22] = 7 * X[:, 6] - 3
    X[:, 23] = 1.0
    X = X[:, rng.permutation(25)]

    found = FCBF("symmetric_uncertainty", delta).fit(X, y)

    assert found.ranking_.tolist() == paper(X, y, delta)
    assert found.kept_.tolist() == sorted(found.ranking_.tolist())


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), density=st.sampled_from([0.1, 0.5, 1.0]))
def test_it_keeps_what_the_paper_keeps_with_correlations(seed, density) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 20)) * (rng.random((60, 20)) < density)
    X[:, ::3] += y[:, None] * rng.random(7)
    X[:, 11] = 5 - 2 * X[:, 3]
    level = FisherZ(alpha=0.1).cutoff(60)

    by_z = FisherZ(alpha=0.1, statistic="z")
    found = FCBF(measure=by_z).fit(X, y)
    assert found.ranking_.tolist() == paper(X, y, level, correlation)

    found = FCBF(threshold=0.3, measure=by_z).fit(X, y)
    assert found.ranking_.tolist() == paper(X, y, max(level, 0.3), correlation)


# --- real sets -------------------------------------------------------------------------------

#: Real and golden sets, and how many columns the slow version can afford on each.
REAL = {
    "ada": 48, "arcene": 250, "arrhythmia": 279, "basehock": 200, "breast_west": 300,
    "cns": 300, "coil2000": 60, "colon": 400, "colon_disc": 400, "dexter": 400, "dlbcl": 300,
    "dna": 100, "dorothea": 400, "gisette_valid": 150, "glioma": 300, "isolet": 60,
    "leukemia": 300, "leukemia_disc": 400, "lung_cancer_uci": 56, "lymphoma": 300,
    "madelon": 100, "marti1": 200, "monk1": 6, "monk2": 6, "monk3": 6, "multi_features": 80,
    "pcmac_asu": 200, "promoters": 57, "prostate": 300, "reged1": 200, "relathe": 200,
    "spambase": 57, "spect": 22, "splice": 60, "synth_bn": 60, "synth_lin": 100, "thrombin": 300,
    "wdbc": 30, "wdbc_q3": 30,
}  # fmt: skip
MOST_ROWS = 1000


def in_bins(column, bins=5):
    """Equal-frequency bins."""
    inner = np.quantile(column, np.arange(1, bins) / bins)
    return np.searchsorted(np.unique(inner), column, side="right").astype(float)


def real(name):
    """Columns spread over a set, cut into bins where they hold more than ten values."""
    folder = SHARED / "data" / name
    if folder.is_dir():
        sparse = (folder / "X.npz").is_file()
        X = sp.load_npz(folder / "X.npz") if sparse else np.load(folder / "X.npy")
        y = np.load(folder / "y.npy")
    else:
        X, y = matrix(name)
    rows = np.unique(np.linspace(0, len(y) - 1, min(MOST_ROWS, len(y))).astype(int))
    X, y = X[rows], y[rows]
    if sp.issparse(X):
        # Columns that are ever on: most of a sparse set is empty in a thousand rows.
        X = X.tocsc()[:, np.flatnonzero(np.diff(X.tocsc().indptr))]
    columns = np.unique(np.linspace(0, X.shape[1] - 1, min(REAL[name], X.shape[1])).astype(int))
    X = X[:, columns]
    X = (X.toarray() if sp.issparse(X) else X).astype(float)
    for j in range(X.shape[1]):
        if len(np.unique(X[:, j])) > 10:
            X[:, j] = in_bins(X[:, j])
    return X, y


def test_there_are_enough_real_sets() -> None:
    assert len(REAL) >= 30


@pytest.mark.parametrize("name", REAL)
def test_it_keeps_what_the_paper_keeps_on_real_data(name) -> None:
    X, y = real(name)
    found = FCBF(measure="symmetric_uncertainty").fit(sp.csr_matrix(X) if name > "k" else X, y)
    assert found.ranking_.tolist() == paper(X, y)
    assert len(found.ranking_)


# --- scikit-feature --------------------------------------------------------------------------


def by_relevance(X, y):
    """Columns in the order in which the paper lists them."""
    strength = np.asarray(SymmetricUncertainty().relevance(X, y))
    return np.argsort(-strength.round(12), kind="stable")


@pytest.mark.parametrize("name", ["colon", "colon_disc", "dna", "leukemia_disc", "promoters"])
def test_it_keeps_what_scikit_feature_keeps_of_sorted_columns(name) -> None:
    """scikit-feature's list is not sorted: it truncates SU to whole numbers before it finds the
    largest, so all below 1 are tied and the first to arrive counts as the best. Given the columns
    in the order of the paper's list, it follows the paper.
    """
    peer = pytest.importorskip("skfeature.function.information_theoretical_based.FCBF")
    X, y = real(name)
    order = by_relevance(X, y)
    expected = order[peer.fcbf(X[:, order], y, mode="index")]
    assert FCBF().fit(X, y).ranking_.tolist() == expected.tolist()


def test_scikit_feature_treats_the_first_to_arrive_as_the_best() -> None:
    peer = pytest.importorskip("skfeature.function.information_theoretical_based.FCBF")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    good = np.where(rng.random(200) < 0.95, y, 1 - y)
    weak = np.where(rng.random(200) < 0.6, good, rng.integers(0, 2, 200))
    X = np.column_stack([weak, good]).astype(float)
    assert peer.fcbf(X, y, mode="index").tolist() == [0, 1]
    assert FCBF().fit(X, y).ranking_.tolist() == paper(X, y) == [1]


# --- messages --------------------------------------------------------------------------------


def test_sentences_carry_the_numbers() -> None:
    import pandas as pd

    y = np.repeat([0, 1], 50)
    weak = np.where(np.arange(100) % 10 < 2, 1 - y, y)
    weaker = np.where(np.arange(100) % 10 < 3, 1 - y, y)
    odd = np.arange(100) % 2
    frame = pd.DataFrame(
        {"odd": odd, "weak": weak, "flat": 1, "best": y, "copy": 1 - y, "weaker": weaker}
    )
    log = FCBF().fit(frame, y).log_
    assert log.why("best") == (
        "best is kept: SU(best, class)=1 is above 0, the threshold, and no better predictor makes "
        "it redundant"
    )
    assert log.why("copy") == (
        "copy was dropped as redundant: SU(copy, class)=1 is not above SU(copy, best)=1, and best "
        "predicts as well and came first"
    )
    assert log.why("weak") == (
        "weak was dropped as redundant: SU(weak, class)=0.278 is not above SU(weak, best)=0.278, "
        "and best is the better predictor (1)"
    )
    assert log.why("flat") == "flat was dropped as irrelevant: it has the same value in every row"
    assert log.why("odd") == (
        "odd was dropped as irrelevant: SU(odd, class)=0 is not above 0, the threshold"
    )
    log = FCBF(threshold=0.2).fit(frame, y).log_
    assert log.why("weaker") == (
        "weaker was dropped as irrelevant: SU(weaker, class)=0.119 is not above 0.2, the threshold"
    )
    log = FCBF(threshold=0.5, measure="fisher_z").fit(frame, y).log_
    assert log.why("weaker") == (
        "weaker was dropped as irrelevant: |r(weaker, class)|=0.4 does not pass both the "
        "threshold of 0.5 and the 1% level of its test"
    )


def test_columns_that_are_not_categorical_are_reported() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = rng.normal(size=(100, 5)) + y[:, None]
    with pytest.warns(DataWarning) as caught:
        FCBF(measure="symmetric_uncertainty").fit(X, y)
    assert str(caught[0].message) == (
        "SymmetricUncertainty(threshold=0.0, alpha=None) takes every value as a category, but a "
        "relevant column has 100 different values on average, too many for 100 rows; pass "
        "measure='fisher_z', or cut the columns into a few categories first (--encode mdlp, "
        "encode='mdlp' of tamis.select, or tamis.encode.MDLP in a pipeline)"
    )
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(FCBF(measure="fisher_z").fit(X, y).kept_)
        assert FCBF().fit(X, y).measure_ == FisherZ(alpha=0.01)
        binned = np.column_stack([in_bins(column) for column in X.T])
        assert FCBF().fit(binned, y).measure_ == SymmetricUncertainty()


@pytest.mark.parametrize("wrong", [-0.1, "much", None, float("nan")])
def test_an_invalid_threshold_is_refused(wrong) -> None:
    with pytest.raises(ParameterError, match=r"FCBF: threshold=.* is not a number at least 0"):
        FCBF(threshold=wrong).fit(np.eye(4), [0, 0, 1, 1])


def test_a_regression_target_needs_another_measure() -> None:
    X, y = np.eye(6), np.linspace(0, 1, 6)
    with pytest.raises(tamis.TamisError, match=r"needs classes.*FisherZ"):
        FCBF(measure="symmetric_uncertainty").fit(X, y)
    assert FCBF().fit(X, y).measure_ == FisherZ(alpha=0.01)


# --- order, work, memory ---------------------------------------------------------------------


def test_strengths_within_rounding_are_tied_and_ordered_by_arrival() -> None:
    relevance = np.array([0.5, 0.5 + 1e-13, 0.7, 0.5 + 2e-13, 0.6])
    assert best_first(relevance, 1e-12).tolist() == [2, 4, 0, 1, 3]
    assert best_first(relevance, 0.0).tolist() == [2, 4, 3, 1, 0]


def test_rank_and_select_give_the_two_orders() -> None:
    X, y = load_digits(return_X_y=True)
    ranked, selected = FCBF().rank(X, y), FCBF().select(X, y)
    assert selected.tolist() == sorted(ranked.tolist())
    strength = np.asarray(SymmetricUncertainty().relevance(X, y))[ranked]
    assert np.all(np.diff(strength) <= 0)
    assert FCBF().fit_transform(X, y).shape == (1797, len(ranked))


def test_no_pair_is_computed_that_the_walk_does_not_need() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = np.where(rng.random((300, 400)) < 0.4, y[:, None], rng.integers(0, 3, (300, 400)))
    found = FCBF().fit(X, y)
    assert found.work_["features"] == 400
    assert found.work_["relevant"] == int((found.log_.columns()["verdict"] > 0).sum())
    # What the paper's walk needs: each candidate is compared up to the one that drops it.
    place = {int(feature): at for at, feature in enumerate(found.ranking_)}
    fallen = [place[d.because[0]] + 1 for d in found.log_.events() if d.because]
    needed = sum(fallen) + sum(range(len(place)))
    assert found.work_["pair_values"] == needed


def test_only_the_columns_of_candidates_are_held() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 2
    X = np.repeat(rng.integers(0, 2, (500, 50)), 2, axis=0).astype(float)  # independent of y
    X[:, 7] = np.where(rng.random(1000) < 0.9, y, 1 - y)
    held = []

    class Watched(FCBFRule):
        def rank(self, candidates, log):
            held.append(candidates.columns.indptr[-1])
            return super().rank(candidates, log)

    assert estimator_of(Watched)().fit(X, y).kept_.tolist() == [7]
    assert held == [np.bincount(X[:, 7].astype(int)).min()]  # rows off its more common level


# --- files -----------------------------------------------------------------------------------


def test_it_runs_from_a_file(tmp_path: Path) -> None:
    from sklearn.datasets import dump_svmlight_file

    X, y = load_digits(return_X_y=True)
    dump_svmlight_file(X, y, str(tmp_path / "digits.svm"), zero_based=False)
    run = tamis.select(tmp_path / "digits.svm", "fcbf", width=5, n_jobs=2)
    assert run.log.replay() == FCBF().fit(X, y).kept_.tolist()
    assert run.method == "fcbf"
    tamis.save_run(run, tmp_path / "run")
    again = tamis.open_run(tmp_path / "run")
    assert again.log.replay() == run.log.replay()
    assert [again.why(i) for i in range(64)] == [run.why(i) for i in range(64)]
