"""Selecting from encoded columns: the same for every block width, as if encoded before."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import tamis
from tamis.checks.data import assert_same_log
from tamis.core.errors import DataWarning, InputError, ParameterError
from tamis.encode import MDLP, EqualFrequency, Missing
from tamis.engine.encoded import Encoding
from tamis.engine.runs import save_run
from tamis.measures.pairwise_deletion import PairwiseDeletion
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store


def mixed(seed=0, rows=240, gaps=0.1):
    """Numbers, counts, flags and words, some of them missing, some copies of others."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    frame = pd.DataFrame(rng.normal(size=(rows, 12)), columns=[f"n{j}" for j in range(12)])
    frame["n3"] += y
    frame["n7"] = frame["n3"] + 0.01 * rng.normal(size=rows)
    frame["count"] = rng.poisson(40 + 10 * y).astype(float)
    frame["flag"] = (y == 1) ^ (rng.random(rows) < 0.1)
    frame["word"] = np.array(["a", "b", "c"])[np.where(rng.random(rows) < 0.5, y, 0)]
    for name in ("n3", "n5", "count", "word"):
        frame.loc[rng.random(rows) < gaps, name] = None
    return frame, y


@pytest.mark.parametrize("encode", ["mdlp", "equal-frequency", "kmeans", "equal-width"])
@pytest.mark.parametrize("missing", ["category", "delete"])
def test_width_and_threads_do_not_matter(encode, missing):
    frame, y = mixed()
    runs = [
        tamis.select(frame, "saola", y, encode=encode, missing=missing, **how)
        for how in ({}, {"width": 1}, {"width": 5}, {"n_jobs": 1}, {"width": 4, "n_jobs": 3})
    ]
    for run in runs[1:]:
        assert run.kept_rows() == runs[0].kept_rows()
        assert run.log.counts() == runs[0].log.counts()
        assert [run.why(f) for f in range(15)] == [runs[0].why(f) for f in range(15)]
        assert run.source["encoded"] == runs[0].source["encoded"]
        assert run.source["missing"] == runs[0].source["missing"]
    recorded = runs[0].source["missing"]
    assert recorded["policy"] == missing
    assert recorded["gaps"] == int(frame.isna().sum().sum())
    assert recorded["columns"] == 4


def test_it_is_the_same_as_encoding_beforehand():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 30)) + y[:, None] * (np.arange(30) % 4 == 0)
    run = tamis.select(X, tamis.SAOLA(tamis.MutualInformation()), y, encode=MDLP())
    before = MDLP().fit(X, y)
    by_hand = tamis.SAOLA(tamis.MutualInformation()).fit(before.transform(X), y)
    assert [row["feature"] for row in run.kept_rows()] == by_hand.kept_.tolist()
    for feature in by_hand.kept_.tolist():
        facts = run.source["encoded"][str(feature)]
        assert facts == {"cuts": before.cuts_[feature].tolist(), "gaps": 0}
    sparse = X * (rng.random(X.shape) < 0.3)
    runs = [
        tamis.select(make(sparse), "saola", y, encode="mdlp") for make in (np.array, sp.csr_matrix)
    ]
    assert runs[0].kept_rows() == runs[1].kept_rows()


def test_missing_values_are_a_category_or_left_out():
    """Missing values that predict the class: kept as a category, irrelevant if deleted."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.integers(0, 2, (400, 3)).astype(float)
    X[y == 1, 1] = np.nan
    kept = {
        policy: [row["feature"] for row in tamis.select(X, "saola", y, missing=policy).kept_rows()]
        for policy in ("category", "delete")
    }
    assert 1 in kept["category"]
    assert 1 not in kept["delete"]
    with pytest.raises(InputError, match=r"NaN \(a missing value\) in column 'x1'"):
        tamis.select(X, "saola", y)


def test_zeros_that_mean_missing():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    seen = rng.random((300, 6)) < 0.5
    X = np.where(seen, 1 + rng.integers(0, 2, (300, 6)) * (y[:, None] + 1), 0).astype(float)
    for missing in (Missing("delete", 0), Missing("category", 0)):
        dense, sparse = (
            tamis.select(make(X), "saola", y, missing=missing) for make in (np.array, sp.csc_matrix)
        )
        assert dense.kept_rows() == sparse.kept_rows()
        assert dense.source["missing"] == {
            "policy": missing.policy, "gaps": int((X == 0).sum()), "columns": 6, "values": 0,
        }  # fmt: skip
        assert dense.source["missing"] == sparse.source["missing"]
    holes = np.where(X == 0, np.nan, X)
    by_nan = tamis.select(holes, "saola", y, missing="delete")
    by_zero = tamis.select(X, "saola", y, missing=Missing("delete", 0))
    assert by_nan.kept_rows() == by_zero.kept_rows()


def test_the_encoding_is_recorded_and_shown(tmp_path):
    frame, y = mixed()
    run = tamis.select(frame, "saola", y, encode="mdlp", missing="category")
    assert run.measure_reason == (
        "every column is turned into categories by MDLP(); its p-values are not valid here, "
        "because the cuts were chosen by looking at the target"
    )
    tamis.save_run(run, tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["source"]["encode"] == "MDLP()"
    opened = tamis.open_run(tmp_path / "run")
    word = next(row["name"] for row in run.kept_rows() if row["name"] == "word")
    gaps = int(frame["word"].isna().sum())
    assert opened.why(word) == run.why(word)
    assert opened.why(word).endswith(f"; {gaps} missing values are a category of their own")
    number = next(row["name"] for row in run.kept_rows() if row["name"].startswith("n"))
    assert "; its values were cut at " in opened.why(number)
    plain = tamis.select(frame[["flag"]], "saola", y)
    assert plain.source["missing"] == {"policy": "error", "gaps": 0, "columns": 0}
    assert "encode" not in plain.source


def test_an_encoder_may_have_its_own_policy():
    frame, y = mixed()
    mine = tamis.select(frame, "saola", y, encode=EqualFrequency(3, missing="category"))
    named = tamis.select(frame, "saola", y, encode=EqualFrequency(3), missing="category")
    assert mine.kept_rows() == named.kept_rows()
    assert mine.source["missing"] == named.source["missing"]


def test_the_given_measure_is_kept():
    frame, y = mixed(gaps=0.0)
    given = tamis.SAOLA(tamis.SymmetricUncertainty(alpha=0.01))
    run = tamis.select(frame, given, y, encode="mdlp")
    assert run.measure == repr(tamis.SymmetricUncertainty(alpha=0.01))
    assert given.measure == tamis.SymmetricUncertainty(alpha=0.01)
    deleted = tamis.select(frame, given, y, encode="mdlp", missing="delete")
    assert deleted.measure == repr(PairwiseDeletion(tamis.SymmetricUncertainty(alpha=0.01)))
    assert deleted.kept_rows() == run.kept_rows()  # nothing is missing


@pytest.mark.parametrize(
    ("selector", "how", "sentence"),
    [
        ("grafting", {"missing": "category"}, "grafting takes numbers, so missing values can be"),
        (tamis.SAOLA(tamis.FisherZ()), {"missing": "category"}, "the measure FisherZ takes number"),
        (tamis.OSFS("fisher_z"), {"missing": "delete"}, "OSFS compares a feature with several oth"),
        (tamis.SFSFI("fisher_z"), {"missing": "delete"}, "SFSFI compares a feature with another "),
        ("osfs", {"missing": "delete"}, "OSFS compares a feature with several others at once, so"),
        (tamis.OSFS("g_squared"), {"missing": "delete"}, "GSquared cannot leave out missing val"),
        ("saola", {"encode": "tree"}, "encode='tree' is not known; give an encoder such as MDLP()"),
        ("saola", {"missing": "drop"}, "missing: policy='drop' is not one of 'auto', 'error'"),
        ("saola", {"encode": EqualFrequency(1)}, "EqualFrequency: bins=1 is not a whole number"),
    ],
)
def test_invalid_settings_are_reported_before_anything_is_read(selector, how, sentence):
    with pytest.raises(ParameterError) as caught:
        tamis.select(np.eye(6), selector, [0, 1, 0, 1, 0, 1], **how)
    assert str(caught.value).startswith(sentence)


def test_mdlp_needs_classes():
    with pytest.raises(InputError, match="MDLP needs classes, and y holds real numbers"):
        tamis.select(np.random.default_rng(0).normal(size=(9, 2)), "saola", np.arange(9) + 0.5,
                     encode="mdlp")  # fmt: skip


@pytest.mark.usefixtures("shared_processes")
def test_workers_read_and_encode_their_columns(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 40)) + 0.8 * y[:, None] * (np.arange(40) % 7 == 0)
    store = write_store(tmp_path / "numbers.cols", MemorySource(X, y))
    expected = tamis.select(store, "saola", encode="mdlp")
    encoded_here = []
    encode = Encoding.encode
    monkeypatch.setattr(
        Encoding, "encode", lambda *given: encoded_here.append(given[1].width) or encode(*given)
    )
    for keep_state in (False, True):
        run = tamis.select(store, "saola", encode="mdlp", cluster="local:2", keep_state=keep_state)
        assert_same_log(run.log, expected.log, "encoded elsewhere")
        assert run.source == expected.source
        # The values of what is kept are read here, one column at a time, and nothing else.
        assert encoded_here == [1] * len(run.kept_names) * keep_state
    save_run(run, tmp_path / "run")
    assert tamis.Selection.open(tmp_path / "run").run.source["encoded"] == run.source["encoded"]


def numbers_with_gaps(kind: str = "classes") -> tuple[np.ndarray, np.ndarray]:
    """A strong column and noise, both with gaps, and a noisy copy of the strong one."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300) if kind == "classes" else rng.normal(size=300)
    X = np.column_stack([rng.normal(size=300), 3 * y + rng.normal(size=300), rng.normal(size=300)])
    X = np.column_stack([X, X[:, 1] + rng.normal(size=300)])
    X[rng.random(X.shape) < 0.02] = np.nan
    return X, y


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("method", ["saola", "fcbf", "mrmr", "cfs", "group-saola"])
def test_numbers_with_gaps_are_correlated_over_complete_pairs(method, kind):
    X, y = numbers_with_gaps(kind)
    run = tamis.select(X, method, y, missing="delete")
    assert run.kept_names[0] == "x1"
    assert "x0" not in run.kept_names
    assert run.measure.startswith("CompletePairs(measure=FisherZ(")
    there = ~np.isnan(X[:, 1])
    r = abs(np.corrcoef(X[there, 1], y[there])[0, 1])
    assert run.kept_rows()[0]["relevance"] == pytest.approx(r, rel=1e-12)
    sparse = tamis.select(sp.csc_matrix(X), method, y, missing="delete", width=1)
    assert sparse.kept_rows() == run.kept_rows()


def test_auto_decides_about_columns_with_gaps_as_about_others():
    X, y = numbers_with_gaps()
    with pytest.raises(InputError, match="missing values among numbers that are not whole"):
        tamis.select(X, "saola", y, missing="category")
    frame = pd.DataFrame(X, columns=list("abcd"))
    words = np.where(X[:, 0] > 0.5, "high", np.where(X[:, 0] < -0.5, "low", "mid"))
    frame["a"] = np.where(np.isnan(X[:, 0]), None, words)
    with pytest.raises(InputError, match="column 'a' holds words, which have no order"):
        tamis.select(frame, "saola", y, missing="delete")
    assert "b" in tamis.select(frame, "saola", y, missing="delete", encode="mdlp").kept_names
    filled = frame[["a"]].assign(strong=np.nan_to_num(X[:, 1], nan=0.5))
    with pytest.raises(ParameterError, match="the measure FisherZ takes numbers, so missing"):
        tamis.select(filled, "saola", y, missing="category")
    few = np.round(np.nan_to_num(X))
    few[np.isnan(X)] = np.nan
    assert tamis.select(few, "saola", y, missing="delete").measure.startswith("PairwiseDeletion(")


def test_a_measure_of_categories_still_warns_about_numbers_with_gaps():
    X, y = numbers_with_gaps()
    with pytest.warns(DataWarning, match="takes every value as a category"):
        tamis.select(
            np.round(X, 1), tamis.SAOLA(tamis.MutualInformation()), y, missing="delete"
        )  # fmt: skip


def test_noise_that_mdlp_cuts_passes_and_the_run_says_that_its_p_values_are_not_valid():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3000)), np.arange(60) % 2
    cut = tamis.select(X, tamis.SAOLA(), y, encode="mdlp")
    passed = 3000 - cut.log.counts()["irrelevant"]
    codes = tamis.encode.MDLP().fit_transform(X, y)
    assert passed == np.sum(np.ptp(codes, axis=0) > 0) > 10
    assert "its p-values are not valid here" in cut.measure_reason
    for encode, measure in (("equal-frequency", "auto"), ("mdlp", tamis.MutualInformation())):
        run = tamis.select(X[:, :5], tamis.SAOLA(measure), y, encode=encode)
        assert "not valid" not in run.measure_reason
