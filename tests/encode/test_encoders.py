"""Encoders against slow forms, in every layout and width; known cuts; missing values; text."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
import slow_cuts as slow
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import tamis
from tamis.core.blocks import GAP, ColumnBlock
from tamis.core.errors import InputError, ParameterError
from tamis.core.target import Target
from tamis.encode import (
    BY_NAME,
    MDLP,
    EqualFrequency,
    EqualWidth,
    KMeansBins,
    Missing,
    Plain,
    resolve,
)
from tamis.kernels.threads import threads

ENCODERS = [MDLP(which="all"), EqualWidth(4, which="all"), EqualFrequency(4, which="all"),
            KMeansBins(4, which="all")]  # fmt: skip
several = settings(deadline=None, max_examples=60)


def table(seed, n_rows, n_classes, kind):
    """Columns that are informative about the class, with ties, zeros and negative values."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    X = rng.normal(size=(n_rows, 4)) + y[:, None] * rng.choice([0.0, 1.0, 3.0], 4)
    if kind == "ties":
        X = np.round(X, 1)
    if kind == "sparse":
        X[rng.random(X.shape) < 0.7] = 0.0
    if kind == "whole":
        X = np.round(3 * X)
    X[:, 3] = X[0, 3]  # a constant
    return X, y


tables = st.builds(
    table,
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.sampled_from([1, 2, 3, 10, 60, 150]),
    n_classes=st.integers(1, 5),
    kind=st.sampled_from(["plain", "ties", "sparse", "whole"]),
)


@several
@given(data=tables)
def test_mdlp_is_the_papers(data):
    X, y = data
    found = MDLP(which="all").to_encoder().find(ColumnBlock.of(X), Target.of(y, "classification"))
    for j in range(X.shape[1]):
        cuts, close = slow.mdlp(X[:, j], y)
        if not close:
            assert np.allclose(found.of(j), cuts, rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize(
    ("encoder", "naive"),
    [
        (EqualWidth, slow.equal_width),
        (EqualFrequency, slow.equal_frequency),
        (KMeansBins, slow.kmeans),
    ],
)
@several
@given(data=tables, bins=st.integers(2, 7))
def test_bins_match_their_definition(encoder, naive, data, bins):
    X, _ = data
    encoded = encoder(bins, which="all")
    block = ColumnBlock.of(X)
    encoded = encoded.to_encoder()
    cuts = encoded.find(block, None)
    for j in range(X.shape[1]):
        expected = naive(X[:, j], bins)
        assert np.allclose(cuts.of(j), expected, rtol=1e-12, atol=1e-12)
    out = encoded.apply(block, cuts).values
    assert all(
        np.array_equal(out[:, j], slow.codes(X[:, j], cuts.of(j))) for j in range(X.shape[1])
    )


def test_cuts_of_iris_are_those_of_the_literature():
    X, y = load_iris(return_X_y=True)
    cuts = [c.round(2).tolist() for c in MDLP().fit(X, y).cuts_]
    assert cuts == [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]


def test_kmeans_is_scikit_learns():
    X = load_iris().data
    peer = KBinsDiscretizer(3, strategy="kmeans", encode="ordinal", subsample=None).fit(X)
    ours = KMeansBins(3).fit(X)
    for cuts, edges in zip(ours.cuts_, peer.bin_edges_, strict=True):
        assert np.allclose(cuts, edges[1:-1], rtol=1e-12)


@pytest.mark.parametrize("encoder", ENCODERS, ids=repr)
@pytest.mark.parametrize("missing", ["error", "category", "delete", Missing("category", 0),
                                     Missing("delete", 0), Missing("category", -0.3)])  # fmt: skip
def test_layout_width_and_threads_do_not_matter(encoder, missing):
    X, y = table(5, 120, 3, "sparse")
    rng = np.random.default_rng(0)
    X = np.round(np.repeat(X, 5, axis=1), 1)
    if missing != "error":
        X[rng.random(X.shape) < 0.1] = np.nan
    encoder = type(encoder)(**{**encoder.get_params(), "missing": missing}).to_encoder()
    target = Target.of(y)
    expected = encoder.encode(ColumnBlock.of(X), target).values
    for width in (1, 3, 7):
        parts = [
            encoder.encode(ColumnBlock.of(X[:, lo : lo + width], lo), target).values
            for lo in range(0, X.shape[1], width)
        ]
        assert np.array_equal(np.hstack(parts), expected)
    for count in (1, 3):
        with threads(count, least_work=1):
            out = encoder.encode(ColumnBlock.of(sp.csc_matrix(X)), target).values
        dense = sp.csc_matrix((out.data, out.indices, out.indptr), shape=X.shape).toarray()
        assert np.array_equal(dense, expected)
    assert np.array_equal(expected, np.floor(expected))


@pytest.mark.parametrize("encoder", ENCODERS, ids=repr)
def test_missing_values_do_not_affect_the_cuts(encoder):
    X, y = table(3, 100, 2, "plain")
    gone = np.random.default_rng(1).random(100) < 0.2
    gone[:2] = False
    holes = X.copy()
    holes[gone, 0] = np.nan
    left = encoder.to_encoder().find(ColumnBlock.of(X[~gone, :1]), Target.of(y[~gone]))
    for policy, code in (
        ("category", len(left.of(0)) - (left.of(0) < 0).sum() + 1),
        ("delete", GAP),
    ):
        with_gaps = type(encoder)(**{**encoder.get_params(), "missing": policy}).to_encoder()
        cuts = with_gaps.find(ColumnBlock.of(holes), Target.of(y))
        assert np.array_equal(cuts.of(0), left.of(0))
        assert cuts.missing.tolist() == [gone.sum(), 0, 0, 0]
        out = with_gaps.apply(ColumnBlock.of(holes), cuts).values[:, 0]
        assert set(out[gone]) == {code}
        assert np.array_equal(out[~gone], slow.codes(X[~gone, 0], left.of(0)))


def test_zeros_are_values_by_default():
    X = sp.csc_matrix(np.array([[0.0, 1.5], [2.5, 0.0], [0.0, 3.5], [7.5, 0.0]]))
    bins = EqualFrequency(2, which="all")
    assert bins.fit(X).transform(X).toarray().tolist() == [[0, 1], [1, 0], [0, 1], [1, 0]]
    as_missing = EqualFrequency(2, which="all", missing=Missing("category", values=0)).fit(X)
    assert [c.tolist() for c in as_missing.cuts_] == [[5.0], [2.5]]
    assert as_missing.transform(X).toarray().tolist() == [[0, 1], [1, 0], [0, 2], [2, 0]]


def test_mixed_columns_become_discrete_by_their_own_rule():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    flags, counts = rng.integers(0, 2, 200), rng.integers(0, 100, 200) + 50 * y
    numbers = rng.normal(size=200) + 2 * y
    X = np.column_stack([flags, counts, numbers]).astype(float)
    encoder = MDLP().fit(X, y)
    assert encoder.cuts_[0] is None
    assert len(encoder.cuts_[1]) > 0
    assert len(encoder.cuts_[2]) > 0
    assert np.array_equal(encoder.transform(X)[:, 0], flags)
    words = ColumnBlock(0, 200, np.asfortranarray(X), is_text=np.array([False, True, False]))
    assert MDLP().to_encoder().find(words, Target.of(y)).stays.tolist() == [True, True, False]


def test_names_are_kept():
    frame = pd.DataFrame({"width": [0.5, 1.5, 2.5, 9.5], "height": [1.0, 2.5, 3.5, 4.5]})
    encoder = EqualWidth(2).fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["width", "height"]
    frame.loc[1, "height"] = np.nan
    with pytest.raises(InputError, match=r"NaN \(a missing value\) in column 'height'; say what"):
        EqualWidth(2).fit(frame)


def test_policies_with_the_same_settings_are_equal():
    assert Missing() == Missing("error") == Missing("error", values=np.nan)
    assert Missing("category", -9) == Missing("category", -9.0) != Missing("category")


def test_invalid_settings_raise_one_sentence():
    X = np.array([[0.5, 1.0], [1.5, np.inf]])
    for encoder, kind, sentence in (
        (EqualWidth(1), ParameterError, "EqualWidth: bins=1 is not a whole number at least 2"),
        (MDLP(which="some"), ParameterError, "MDLP: which='some' is not one of 'numbers', 'all'"),
        (EqualWidth(), InputError, "Input X contains infinity in column 'x1'; drop the column"),
        (MDLP(missing=3), ParameterError, "missing=3 is not one of 'auto', 'error', 'category'"),
    ):
        with pytest.raises(kind) as caught:
            encoder.fit(X, [0, 1])
        assert str(caught.value).startswith(sentence)
    with pytest.raises(InputError, match="MDLP needs classes, and y holds real numbers"):
        MDLP().fit(X[:, :1], [0.5, 1.5])
    with pytest.raises(InputError, match="column 'x0' has missing values among numbers that are"):
        Plain(missing="category").fit(np.array([[0.5], [np.nan]]))
    with pytest.raises(ParameterError, match="missing: policy='drop' is not one of 'auto'"):
        Missing("drop")
    with pytest.raises(ParameterError, match="encode='tree' is not known; give an encoder such as"):
        resolve("tree")


def test_encoders_from_text():
    assert tamis.encode.MDLP is MDLP
    assert list(BY_NAME) == ["mdlp", "equal-width", "equal-frequency", "kmeans"]
    assert [type(resolve(word)) for word in BY_NAME] == list(BY_NAME.values())


OLD_SKLEARN = [int(part) for part in re.findall(r"\d+", sklearn.__version__)[:3]] < [1, 7, 2]


@parametrize_with_checks(
    [MDLP(), EqualWidth(), EqualFrequency(), KMeansBins(), Plain(), MDLP(missing="category")],
    expected_failed_checks=lambda estimator: dict.fromkeys(
        ["check_positive_only_tag_during_fit"]
        if OLD_SKLEARN and estimator.missing != "category"
        else [],
        "before 1.7.2, this check of scikit-learn subtracts a fraction from whole numbers in place",
    ),
)
def test_sklearn_encoder(estimator, check):
    check(estimator)


def test_select_refuses_a_transformer_whose_methods_it_would_not_call():
    class Mine(MDLP):
        def transform(self, X):
            return np.zeros(X.shape)

    y = np.arange(60) % 2
    with pytest.raises(ParameterError, match=r"Mine derives from a transformer.*MDLPEncoder"):
        tamis.select(np.random.default_rng(0).normal(size=(60, 3)), "saola", y, encode=Mine())
