"""SAOLA against a slow reference for the paper's Algorithm 1."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import tamis
from tamis import SAOLA, FisherZ, MutualInformation
from tamis.core.errors import DataWarning


def algorithm_1(relevance, between, gate, *, bound=min, strict=False):
    """The paper's algorithm, line by line: a list walked over while it shrinks."""
    kept = []
    for f in range(len(relevance)):
        if relevance[f] <= gate:
            continue
        thrown_out = False
        for y in list(kept):
            delta = bound(relevance[f], relevance[y])
            older = relevance[y] > relevance[f] if strict else relevance[y] >= relevance[f]
            if older and between[f][y] >= delta:
                thrown_out = True
                break
            if relevance[f] > relevance[y] and between[f][y] >= delta:
                kept.remove(y)
        if not thrown_out:
            kept.append(f)
    return kept


def bits(a, b):
    """Mutual information from shares, rounded so that equal counts give equal numbers."""

    def entropy(codes):
        share = np.unique(codes, return_counts=True)[1] / len(codes)
        return -(share * np.log2(share)).sum()

    return round(entropy(a) + entropy(b) - entropy(100 * a + b), 11)


tables = st.integers(0, 2**32 - 1).map(
    lambda seed: (
        np.random.default_rng(seed).integers(0, 3, (30, 15)).astype(float),
        np.random.default_rng(seed + 1).integers(0, 2, 30),
    )
)


@pytest.mark.parametrize("bound", ["min", "max"])
@pytest.mark.parametrize("ties", ["kept", "neither"])
@settings(max_examples=25)
@given(table=tables)
def test_it_keeps_what_algorithm_1_keeps_on_discrete_data(table, bound, ties) -> None:
    X, y = table
    X[:, 5] = y  # something to find, and copies of it
    X[:, 11] = 2 - X[:, 5]
    relevance = [bits(c, y) for c in X.T]
    between = [[bits(a, b) for b in X.T] for a in X.T]
    steps = np.diff(np.sort(relevance))
    assume(not np.any((steps > 0) & (steps < 1e-12)))  # nearly tied: rounding would decide here

    found = SAOLA(MutualInformation(threshold=0.0), bound=bound, ties=ties).fit(X, y)

    rule = {"min": min, "max": max}[bound]
    expected = algorithm_1(relevance, between, 0.0, bound=rule, strict=ties == "neither")
    assert found.kept_.tolist() == expected


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), density=st.sampled_from([0.1, 0.5, 1.0]))
def test_it_keeps_what_algorithm_1_keeps_on_continuous_data(seed, density) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 20)) * (rng.random((60, 20)) < density)
    X[:, ::3] += y[:, None] * rng.random(7)
    # Rounded, so that mathematically equal values are equal.
    with np.errstate(invalid="ignore"):  # a column may be all zero
        r = np.nan_to_num(np.abs(np.corrcoef(np.column_stack([X, y]).T))).round(11)
    gate = FisherZ(alpha=0.05).cutoff(60)

    found = SAOLA(FisherZ(alpha=0.05, statistic="z")).fit(X, y)

    assert found.kept_.tolist() == algorithm_1(r[-1, :-1], r, gate)


def test_a_feature_evicted_by_one_that_is_dropped_later_stays_out() -> None:
    # Relevance: old < new < strong; new is a near copy of old, strong of new.
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    flip = rng.permutation(400)

    def noisy(wrong: int) -> np.ndarray:
        x = y.copy()
        x[flip[:wrong]] = 1 - x[flip[:wrong]]
        return x

    strong, new, old = noisy(20), noisy(60), noisy(80)
    found = SAOLA().fit(np.column_stack([old, strong, new]), y)
    # strong arrives second and evicts old; new then falls to strong.
    assert found.kept_.tolist() == [1]
    assert found.log_.counts() == {"irrelevant": 0, "redundant": 1, "evicted": 1, "kept": 1}


def test_sentences_carry_the_numbers() -> None:
    y = np.repeat([0, 1], 50)
    weak = np.where(np.arange(100) % 10 < 2, 1 - y, y)
    live = SAOLA(MutualInformation(alpha=0.01)).start(y)
    live.feed(weak, names=["gene_17"]).feed(y, names=["gene_4"]).feed(weak, names=["gene_20"])
    live.feed(np.ones(100), names=["flat"]).feed(np.arange(100) % 2, names=["odd"])
    assert live.log_.why("gene_17") == (
        "gene_17 was kept until gene_4 arrived and made it redundant: I(gene_17; class)=0.278 is "
        "not above its dependence on gene_4 (0.278), which is the better predictor (1)"
    )
    assert live.log_.why("gene_20") == (
        "gene_20 was dropped as redundant: I(gene_20; class)=0.278 is not above its dependence on "
        "gene_4 (0.278), which is the better predictor (1)"
    )
    assert live.log_.why("gene_4") == (
        "gene_4 is kept: I(gene_4; class)=1, p=1.98e-29 by Fisher's exact test, "
        "and no kept feature makes it redundant"
    )
    assert live.log_.why("flat") == (
        "flat was dropped as irrelevant: it has the same value in every row"
    )
    assert live.log_.why("odd") == (
        "odd was dropped as irrelevant: I(odd; class)=0, p is above 0.01 by Fisher's exact test"
    )


def test_auto_reports_what_it_picked_and_why() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    discrete = SAOLA().fit(rng.integers(0, 3, (100, 5)), y)
    assert discrete.measure_ == MutualInformation(alpha=0.01)
    assert "whole number" in discrete.choices_["measure"]
    continuous = SAOLA().fit(rng.normal(size=(100, 5)), y)
    assert continuous.measure_ == FisherZ(alpha=0.01)
    assert "column 'x0' holds numbers that are not whole" in continuous.choices_["measure"]
    regression = SAOLA().fit(rng.integers(0, 3, (100, 5)), rng.normal(size=100))
    assert regression.measure_ == FisherZ(alpha=0.01)
    assert "target is a number" in regression.choices_["measure"]


def test_auto_refuses_a_later_column_it_did_not_pick_for() -> None:
    y = np.arange(40) % 2
    live = SAOLA().start(y).feed(np.arange(40) % 3)
    with pytest.raises(tamis.TamisError, match=r"column 'x1' holds .* not whole.*FisherZ\(\)"):
        live.feed(np.linspace(0, 1, 40))


def test_a_regression_target_finds_what_drives_it() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40))
    y = 2 * X[:, 8] + X[:, 21] + 0.1 * rng.normal(size=300)
    assert {8, 21} <= set(SAOLA(FisherZ(alpha=1e-4)).fit(X, y).kept_.tolist())


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "csr"])
def test_frames_and_matrices_give_the_same_answer(kind) -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    data = load_breast_cancer(as_frame=True)
    make = {
        "pandas": lambda frame: frame,
        "polars": pl.from_pandas,
        "arrow": pa.Table.from_pandas,
        "csr": lambda frame: sp.csr_matrix(frame.to_numpy()),
    }[kind]
    X = make(data.data)
    found = SAOLA().fit(X, data.target)
    assert found.kept_.tolist() == [21, 27]
    assert found.transform(X).shape == (569, 2)
    if kind != "csr":
        assert found.get_feature_names_out().tolist() == ["worst texture", "worst concave points"]
        assert isinstance(
            found.set_output(transform="pandas").transform(pd.DataFrame(data.data)), pd.DataFrame
        )
        frame = found.set_output(transform="polars").transform(X)
        assert frame.columns == ["worst texture", "worst concave points"]


def test_it_works_in_pipelines_and_searches() -> None:
    X, y = load_digits(return_X_y=True)
    grid = GridSearchCV(
        make_pipeline(SAOLA(), GaussianNB()),
        {"saola__measure": ["auto", FisherZ(alpha=0.05)], "saola__bound": ["min", "max"]},
        cv=3,
    ).fit(X, y)
    assert grid.best_score_ > 0.5
    names = grid.best_estimator_[:-1].get_feature_names_out()
    assert all(name.startswith("x") for name in names)


def test_feature_names_are_checked() -> None:
    data = load_breast_cancer(as_frame=True)
    found = SAOLA().fit(data.data, data.target)
    with pytest.raises(ValueError, match="feature names"):
        found.transform(data.data.rename(columns={"mean radius": "radius"}))


def test_parameters_are_checked_in_one_sentence() -> None:
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(tamis.TamisError, match="SAOLA: bound='both' is not one of 'min', 'max'"):
        SAOLA(bound="both").fit(X, y)
    with pytest.raises(tamis.TamisError, match="measure='mi' is not known; give a measure such"):
        SAOLA("mi").fit(X, y)
    with pytest.raises(tamis.TamisError, match=r"MutualInformation needs classes"):
        SAOLA(MutualInformation()).fit(X, [0.5, 1.2, 0.1, 2.2])


def test_columns_with_missing_values_are_named() -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [1.0, np.nan, 0, 1]})
    with pytest.raises(ValueError, match=r"NaN \(a missing value\) in column 'b', row 1 "):
        SAOLA().fit(frame, [0, 1, 0, 1])


def test_feeding_needs_a_start_and_the_same_rows() -> None:
    with pytest.raises(ValueError, match=r"call SAOLA.start\(y\) before feed"):
        SAOLA().feed(np.eye(3))
    with pytest.raises(ValueError, match="the columns have 3 rows but the target has 4"):
        SAOLA().start([0, 1, 0, 1]).feed(np.eye(3))
    with pytest.raises(ValueError, match="2 names were given for 3 columns"):
        SAOLA().start([0, 1, 0]).feed(np.eye(3), names=["a", "b"])


def test_the_level_can_be_searched_over() -> None:
    X, y = load_digits(return_X_y=True)
    steps = make_pipeline(SAOLA(FisherZ()), GaussianNB())
    grid = GridSearchCV(steps, {"saola__measure__alpha": [0.01, 1e-20]}, cv=2).fit(X, y)
    assert grid.best_params_ == {"saola__measure__alpha": 0.01}
    with pytest.raises(tamis.TamisError, match=r"alpha=2 is not a number above 0 and below 1"):
        FisherZ().set_params(alpha=2)


def test_text_is_refused_where_numbers_are_needed() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 200)
    frame = pd.DataFrame({"age": rng.normal(size=200), "tissue": np.array(["a", "b", "c"])[level]})
    y = level == 1
    with pytest.raises(tamis.TamisError, match=r"column 'tissue' holds words.*get_dummies"):
        SAOLA().fit(frame, y)
    assert SAOLA().fit(frame[["tissue"]], y).kept_.tolist() == [0]
    one_each = SAOLA().fit(pd.get_dummies(frame, dtype=float), y)
    assert one_each.get_feature_names_out().tolist() == ["tissue_b"]
    two = frame.assign(tissue=np.where(y, "yes", "no"))
    assert SAOLA().fit(two, y).get_feature_names_out().tolist() == ["tissue"]


def test_whole_numbers_that_floats_would_round_are_refused() -> None:
    import pandas as pd

    y = np.arange(40) % 2
    for big in (pd.DataFrame({"id": 2**62 + y}), (2**62 + y).reshape(-1, 1)):
        with pytest.raises(tamis.TamisError, match=r"beyond 2\^53"):
            SAOLA().fit(big, y)


def test_duplicate_names_are_refused_in_one_sentence() -> None:
    import pandas as pd

    with pytest.raises(tamis.TamisError, match="two columns have the same name"):
        SAOLA().fit(pd.DataFrame(np.eye(4), columns=list("aabc")), [0, 1, 0, 1])


def test_a_target_that_never_changes_is_refused() -> None:
    with pytest.raises(tamis.TamisError, match="the target is 1 in every row"):
        SAOLA().fit(np.eye(4), [1, 1, 1, 1])


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_the_unit_of_the_numbers_does_not_matter(unit) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 8))
    X[:, 2] += 0.8 * y
    X[:, 5] = X[:, 2] + 0.1 * rng.normal(size=200)
    expected = SAOLA(FisherZ()).fit(X, y)
    found = SAOLA(FisherZ()).fit(X * unit, y)
    assert found.kept_.tolist() == expected.kept_.tolist()
    assert [found.log_.why(j) for j in range(8)] == [expected.log_.why(j) for j in range(8)]


def test_numbers_whose_squares_overflow_are_refused() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[7, 1] = 1e160
    with pytest.raises(tamis.TamisError, match=r"column 'x1' holds numbers beyond 1e\+70"):
        SAOLA(FisherZ()).fit(X, np.arange(40) % 2)


@pytest.mark.parametrize("kind", [SAOLA, tamis.GroupSAOLA])
@pytest.mark.parametrize("width", [1, 3, None])
def test_kept_columns_that_are_not_categorical_are_reported_once(kind, width) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = rng.normal(size=(100, 5)) + y[:, None]
    with pytest.warns(DataWarning) as caught:
        tamis.select(X, kind(measure="mutual_information"), y, width=width)
    assert [str(one.message) for one in caught] == [
        "MutualInformation(threshold=0.0, alpha=None) takes every value as a category, but a kept "
        "column has 100 different values on average, too many for 100 rows; pass "
        "measure='fisher_z', or cut the columns into a few categories first (--encode mdlp, "
        "encode='mdlp' of tamis.select, or tamis.encode.MDLP in a pipeline)"
    ]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(kind().fit(X, y).kept_)
        assert len(kind(measure="mutual_information").fit((X > 0.5).astype(float), y).kept_)
