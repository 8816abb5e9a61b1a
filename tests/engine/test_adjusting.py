"""Sample weights and covariates in `tamis.select`, estimators and persistent selections."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline

import tamis
from tamis import Selection
from tamis._registry import METHODS
from tamis.checks.data import assert_same_log
from tamis.core.errors import InputError, ParameterError, SourceError
from tamis.engine.persistent.resuming import begin, resume
from tamis.engine.runs import save_run
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store

ADJUSTING = [
    "sieve", "saola", "group-saola", "osfs", "fast-osfs", "fcbf", "mrmr", "cfs", "hiton-pc"
]  # fmt: skip


def patients(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns that age explains, columns of their own, age, sex and weights; and a class."""
    rng = np.random.default_rng(0)
    age, sex = rng.normal(50, 10, n), rng.choice(["f", "m", "x"], n)
    y = (0.1 * age + rng.normal(size=n) > 5).astype(int)
    frame = pd.DataFrame({"by_age": age + 3 * rng.normal(size=n), "age": age})
    frame["own"] = rng.normal(size=n) + y
    frame["sex"], frame["w"] = sex, rng.integers(1, 4, n)
    for j in range(8):
        frame[f"noise{j}"] = rng.normal(size=n)
    frame["echo"] = frame["own"] + 0.3 * rng.normal(size=n)
    return frame, y


ASIDE = ["age", "sex", "w"]


@pytest.mark.parametrize("method", ADJUSTING)
@pytest.mark.usefixtures("shared_processes")
def test_covariates_explain_features_away(method):
    frame, y = patients()
    assert "by_age" in tamis.select(frame.drop(columns=ASIDE), method, y).kept_names
    run = tamis.select(frame, method, y, given=["age", "sex"], sample_weight="w")
    assert "by_age" not in run.kept_names
    assert {"own", "echo"} & set(run.kept_names)
    assert not set(ASIDE) & set(run.kept_names)
    assert (run.source["given"], run.source["weights"]) == (["age", "sex"], "w")
    arrays = {"given": frame[["age", "sex"]], "sample_weight": frame["w"].to_numpy()}
    rest = frame.drop(columns=ASIDE)
    same = tamis.select(rest, method, y, **arrays)
    assert_same_log(same.log, run.log, "by arrays")
    for how in ({"width": 1}, {"width": 5, "n_jobs": 1}, {"cluster": "local:2", "width": 2}):
        again = tamis.select(frame, method, y, given=["age", "sex"], sample_weight="w", **how)
        assert_same_log(again.log, run.log, str(how))
    fitted = getattr(tamis, type(tamis.select(rest, method, y).selector.rule).public_name)()
    fitted.fit(rest, y, **arrays)
    assert fitted.get_feature_names_out().tolist() == run.kept_names
    table = {"given": pl.DataFrame(frame[["age", "sex"]]), "sample_weight": list(frame["w"])}
    assert fitted.fit(rest, y, **table).get_feature_names_out().tolist() == run.kept_names


def test_every_method_uses_weights_and_covariates_or_refuses_them():
    frame, y = patients(60)
    rest, weights = frame.drop(columns=ASIDE), np.linspace(0.5, 1.5, 60)
    columns = {name for name, entry in METHODS.items() if entry.role in ("streaming", "batch")}
    assert set(ADJUSTING) < columns
    for method in sorted(columns - set(ADJUSTING)):
        for how, what in (
            ({"sample_weight": weights}, "sample weights"), ({"given": frame["age"]}, "covariates")
        ):  # fmt: skip
            with pytest.raises(InputError) as caught:
                tamis.select(rest, method, y, **how)
            sentence = str(caught.value)
            assert f" cannot use {what}; use a method with a measure, such as sieve" in sentence


def test_categories_are_compared_inside_the_categories_of_covariates():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    site = np.where(rng.random(400) < 0.8, y, 1 - y)  # confounded with the class
    X = np.column_stack([
        np.where(rng.random(400) < 0.8, site, 1 - site), rng.integers(0, 3, 400),
        np.where(rng.random(400) < 0.7, y, rng.integers(0, 2, 400)),
    ]).astype(float)  # fmt: skip
    assert tamis.select(X, "saola", y).kept_names == ["x0", "x2"]
    run = tamis.select(X, "saola", y, given=site)
    assert run.kept_names == ["x2"]
    assert run.why("x0").startswith("x0 was dropped as irrelevant: I(x0; class | z0)=")
    sparse = tamis.select(sp.csc_matrix(X), "saola", y, given=site, width=1)
    assert_same_log(sparse.log, run.log, "sparse")
    with pytest.raises(InputError, match="GSquared cannot use covariates; use FisherZ"):
        tamis.select(X, tamis.OSFS("g_squared"), y, given=site)
    linear = tamis.select(X, "osfs", y, given=site)
    assert linear.measure.startswith("FisherZ(")
    assert linear.measure_reason == "GSquared cannot use covariates"
    with pytest.raises(InputError, match=r"cannot use sample weights.*without missing='delete'"):
        tamis.select(X, "saola", y, sample_weight=np.ones(400), missing="delete")


def test_columns_without_names_keep_the_names_of_their_positions():
    frame, y = patients()
    X = frame.drop(columns=["sex"]).to_numpy()
    run = tamis.select(sp.csr_matrix(X), "saola", y, given="x1", sample_weight="x3")
    numbers = frame.drop(columns=["sex"])
    by_frame = tamis.select(numbers, "saola", y, given="age", sample_weight="w")
    assert [numbers.columns[int(name[1:])] for name in run.kept_names] == by_frame.kept_names


def test_wrong_names_are_reported():
    frame, y = patients(60)
    with pytest.raises(InputError, match="the data has no column 'aeg', which given names; it has"):
        tamis.select(frame, "saola", y, given=["aeg"])
    with pytest.raises(InputError, match="the column 'age' was given twice; a column has one role"):
        tamis.select(frame, "saola", y, given=["age"], sample_weight="age")
    with pytest.raises(InputError, match="mixes names of columns with something else"):
        tamis.select(frame, "saola", y, given=["age", 3])


@pytest.mark.parametrize("method", ["sieve", "saola", "fast-osfs", "osfs"])
def test_a_saved_selection_keeps_weights_and_covariates(tmp_path, method):
    frame, y = patients()
    adjust = {"given": ["age", "sex"], "sample_weight": "w"}
    expected = tamis.select(frame, method, y, **adjust)
    names = [name for name in frame if name not in ASIDE]
    some = tamis.select(frame[[*names[:4], *ASIDE]], method, y, keep_state=True, **adjust)
    save_run(some, tmp_path / "run")
    Selection.open(tmp_path / "run").feed(frame[names[4:]])
    assert_same_log(Selection.open(tmp_path / "run").run.log, expected.log, "fed")
    arrays = {"given": frame[["age", "sex"]], "sample_weight": frame["w"]}
    made = Selection.create(tmp_path / "made", y, method, **arrays)
    made.feed(frame[names[:5]])
    Selection.open(tmp_path / "made").feed(frame[names[5:]])
    assert_same_log(Selection.open(tmp_path / "made").run.log, expected.log, "created and fed")


@pytest.mark.usefixtures("shared_processes")
def test_a_run_resumes_with_its_weights_and_covariates(tmp_path):
    frame, y = patients()
    numbers = frame.drop(columns=["sex"])
    store = write_store(tmp_path / "data.cols", MemorySource(numbers, y))
    adjust = {"given": ["age"], "sample_weight": "w"}
    expected = tamis.select(store, "saola", **adjust)
    begin(tmp_path / "run", store, "saola", **adjust)
    run = resume(tmp_path / "run", cluster="local:2", width=3)
    assert_same_log(run.log, expected.log, "resumed")
    with pytest.raises(ParameterError, match="takes weights and covariates from columns"):
        begin(tmp_path / "other", store, "saola", sample_weight=np.ones(300))
    changed = numbers.assign(w=1)
    write_store(tmp_path / "data.cols", MemorySource(changed, y), force=True)
    begin(tmp_path / "again", tamis.open(tmp_path / "data.cols"), "saola", **adjust)
    write_store(tmp_path / "data.cols", MemorySource(numbers, y), force=True)
    with pytest.raises(SourceError, match="is not what it was when"):
        resume(tmp_path / "again")


def test_a_stream_can_be_started_with_weights_and_covariates():
    frame, y = patients()
    rest = frame.drop(columns=ASIDE)
    arrays = {"given": frame[["age", "sex"]], "sample_weight": frame["w"]}
    live = tamis.SAOLA().start(y, **arrays)
    for name in rest:
        live.feed(rest[[name]])
    assert live.kept_.tolist() == tamis.SAOLA().fit(rest, y, **arrays).kept_.tolist()


# --- scikit-learn's metadata routing -------------------------------------------------------------


def test_weights_and_covariates_are_routed_through_pipelines():
    frame, y = patients()
    X, weights = frame.drop(columns=ASIDE), frame["w"].to_numpy()
    given = frame[["age", "sex"]]
    with config_context(enable_metadata_routing=True):
        selector = tamis.SAOLA().set_fit_request(sample_weight=True, given=True)
        last = LogisticRegression().set_fit_request(sample_weight=True)
        model = make_pipeline(selector, last)
        model.fit(X, y, sample_weight=weights, given=given)
        alone = tamis.SAOLA().fit(X, y, sample_weight=weights, given=given)
        assert model[0].kept_.tolist() == alone.kept_.tolist()
        assert "by_age" not in model[0].get_feature_names_out()
        routed = {"sample_weight": weights, "given": given}
        # Before scikit-learn 1.8, the score of a pipeline itself could not take weights here.
        how = {"scoring": get_scorer("accuracy").set_score_request(sample_weight=True), "cv": 3}
        scores = cross_validate(model, X, y, params=routed, return_estimator=True, **how)
        for fitted in scores["estimator"]:
            assert "by_age" not in fitted[0].get_feature_names_out()
        search = GridSearchCV(model, {"saola__alpha": [0.01, 0.1]}, **how).fit(X, y, **routed)
        best = tamis.SAOLA(alpha=search.best_params_["saola__alpha"])
        expected = best.fit(X, y, sample_weight=weights, given=given).kept_
        assert search.best_estimator_[0].kept_.tolist() == expected.tolist()
        ignoring = make_pipeline(
            tamis.SAOLA().set_fit_request(sample_weight=False, given=False), LogisticRegression()
        )
        plain = ignoring.fit(X, y)[0].kept_
        assert plain.tolist() == tamis.SAOLA().fit(X, y).kept_.tolist()
    with pytest.raises(InputError, match="LARS cannot use sample weights; use a method"):
        tamis.LARS().fit(X, y, sample_weight=weights)


def test_no_call_is_suggested_that_would_leave_out_the_covariates():
    frame, y = patients()
    X = frame.drop(columns=ASIDE).assign(more=["a", "b", "c"] * (len(y) // 3))
    X.iloc[::9, 0] = np.nan
    for given, suggested in ((None, True), (frame[["age"]], False)):
        with pytest.raises(InputError) as caught:
            tamis.select(X, "saola", y, given=given)
        assert ("this works" in str(caught.value)) is suggested
