"""Features that must stay: `keep=` of `tamis.select`, of estimators and of saved selections."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import tamis
from tamis import Selection
from tamis._registry import METHODS
from tamis.checks.data import assert_same_log
from tamis.core.errors import InputError, ParameterError
from tamis.engine.applying import apply_run
from tamis.engine.persistent.resuming import begin, resume
from tamis.engine.runs import save_run
from tamis.methods import BY_METHOD
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store

COLUMNS = [name for name, entry in METHODS.items() if entry.role in ("streaming", "batch")]
JUDGING = ["sieve", "saola", "osfs", "fast-osfs", "fcbf", "mrmr", "cfs", "hiton-pc"]
KEEPING = [*JUDGING, "relieff", "all", "random"]


def table() -> tuple[pd.DataFrame, np.ndarray]:
    """Noise, a constant, a good feature, a worse copy of it, and another good one."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    frame = pd.DataFrame(rng.normal(size=(300, 12)), columns=[f"n{j}" for j in range(12)])
    frame["good"] = rng.normal(size=300) + y
    frame["copy"] = frame["good"] + 0.5 * rng.normal(size=300)
    frame["other"] = rng.normal(size=300) + 1.5 * y
    frame["same"] = 2.0
    frame["worse"] = frame["copy"] + 0.2 * rng.normal(size=300)
    return frame, y


@pytest.mark.parametrize("method", COLUMNS)
@pytest.mark.usefixtures("shared_processes")
def test_every_method_keeps_what_it_must_or_refuses(method):
    frame, y = table()
    must = ["copy", "same", "n3"]
    if method not in KEEPING:
        with pytest.raises(InputError) as caught:
            tamis.select(frame, method, y, keep=must)
        assert str(caught.value) == (
            f"{BY_METHOD[method].public_name} cannot keep features on request (keep=); use a "
            "method such as sieve, saola, fast-osfs, fcbf, mrmr or relieff"
        )
        return
    run = tamis.select(frame, method, y, keep=must)
    assert set(must) <= set(run.kept_names)
    assert [run.why(name) for name in must] == [
        f"{name} is kept: you asked for it" for name in must
    ]
    assert sorted(run.log.replay()) == sorted(run.selector.kept_.tolist())
    # Neither the order nor the form in which they are named, blocks or workers matter.
    for how in (
        {"keep": ["n3", "same", "copy"]},
        {"keep": [3, frame.columns.get_loc("same"), "copy"]},
        {"keep": must, "width": 1},
        {"keep": must, "cluster": "local:2", "width": 2},
    ):
        assert_same_log(tamis.select(frame, method, y, **how).log, run.log, str(how))
    fitted = getattr(tamis, BY_METHOD[method].public_name)(keep=must).fit(frame, y)
    assert sorted(fitted.get_feature_names_out()) == sorted(run.kept_names)
    assert fitted.kept_.tolist() == sorted(frame.columns.get_loc(name) for name in run.kept_names)
    assert fitted.get_support().sum() == len(run.kept_names)
    assert fitted.transform(frame).shape == (300, len(run.kept_names))
    for name in frame:
        assert fitted.why(name) == run.why(name)
        assert fitted.why(frame.columns.get_loc(name)) == run.why(name)
    if method != "random":
        array = getattr(tamis, BY_METHOD[method].public_name)(keep=[13, 15, 3])
        assert array.fit(sp.csr_matrix(frame.to_numpy()), y).kept_.tolist() == fitted.kept_.tolist()


@pytest.mark.parametrize("method", JUDGING)
def test_the_others_are_judged_beside_them(method):
    frame, y = table()
    run = tamis.select(frame, method, y, keep=["copy"])
    assert "copy" in run.kept_names
    if method not in ("mrmr", "cfs"):
        assert "worse" not in run.kept_names  # which copy makes redundant
    without = tamis.select(frame, method, y)
    assert "other" in run.kept_names
    if method in ("saola", "fcbf"):  # the better predictor stays beside it
        assert {"good", "other"} <= set(run.kept_names)
        assert without.kept_names == ["good", "other"]


def test_the_position_of_kept_features_does_not_matter():
    frame, y = table()
    first = tamis.select(frame[["copy", *frame.columns.drop("copy")]], "saola", y, keep=["copy"])
    last = tamis.select(frame[[*frame.columns.drop("copy"), "copy"]], "saola", y, keep=["copy"])
    assert first.kept_names == last.kept_names
    assert [first.why(name) for name in frame] == [last.why(name) for name in frame]


def test_mrmr_counts_them_among_its_features():
    frame, y = table()
    run = tamis.select(frame, tamis.MRMR(n_features=3), y, keep=["n3", "n4"])
    assert run.selector.ranking_.tolist()[:2] == [0, 1]
    assert len(run.kept_names) == 3
    only = tamis.select(frame, tamis.MRMR(n_features=2), y, keep=["n3", "n4", "n5"])
    assert only.kept_names == ["n3", "n4", "n5"]
    assert len(tamis.select(frame, tamis.ReliefF(5), y, keep=["n3", "n4"]).kept_names) == 5


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        (tamis.MRMR(n_features=1), ", but the features that you asked for are as many as "),
        (tamis.MRMR(n_features=2), ", but the features that you asked for are as many as "),
        (tamis.ReliefF(2), " is not above the cut, because the features that you asked for are "),
        (tamis.RandomFeatures(2), " is not above the cut, because the features that you asked "),
    ],
)
def test_others_are_told_that_there_is_no_room(selector, why):
    frame, y = table()
    run = tamis.select(frame, selector, y, keep=["n3", "n4"][: selector.n_features])
    assert why in run.why("copy")
    assert not any(word in run.why(name) for name in frame for word in ("nan", "{"))


def test_categories_weights_covariates_and_gaps_go_with_it():
    frame, y = table()
    coded = tamis.select(frame, "saola", y, keep=["n3"], encode="mdlp")
    assert coded.kept_names[0] == "n3"
    assert coded.why("n3").startswith("n3 is kept: you asked for it")
    adjusted = tamis.select(
        frame, "fast-osfs", y, keep=["copy"], given=["n1"], sample_weight="same"
    )
    assert adjusted.kept_names[0] == "copy"
    assert "n1" not in [adjusted.log.names[j] for j in range(len(adjusted.log))]
    gaps = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.05)
    assert tamis.select(gaps, "saola", y, keep=["n3"], missing="delete").kept_names[0] == "n3"
    with pytest.raises(InputError, match="the column 'n1' was given twice; a column has one role"):
        tamis.select(frame, "saola", y, keep=["n1"], given=["n1"])


@pytest.mark.parametrize("method", ["saola", "osfs", "fast-osfs"])
@pytest.mark.usefixtures("shared_processes")
def test_a_saved_selection_keeps_them(tmp_path, method):
    frame, y = table()
    must = ["n3", "copy"]
    expected = tamis.select(frame, method, y, keep=must)
    some = tamis.select(
        frame[[*frame.columns[:9], "copy"]], method, y, keep=must, keep_state=True
    )  # fmt: skip
    save_run(some, tmp_path / "run")
    selection = Selection.open(tmp_path / "run")
    selection.feed(frame[[name for name in frame.columns[9:] if name != "copy"]], width=2)
    opened = Selection.open(tmp_path / "run")
    assert set(must) <= set(opened.kept_names)
    assert opened.kept_names == expected.kept_names
    assert [opened.why(name) for name in frame] == [expected.why(name) for name in frame]
    store = write_store(tmp_path / "data.cols", MemorySource(frame, y))
    begin(tmp_path / "resumed", store, method, keep=must)
    run = resume(tmp_path / "resumed", cluster="local:2", width=3)
    assert_same_log(run.log, expected.log, "resumed")
    opened.drop("copy")  # what no longer exists cannot stay
    assert "copy" not in Selection.open(tmp_path / "run").kept_names


def test_what_cannot_be_kept_is_reported():
    frame, y = table()
    with pytest.raises(InputError, match="the data has no column 'coppy', which keep names"):
        tamis.select(frame, "saola", y, keep=["coppy"])
    with pytest.raises(InputError, match="keep: 99 is neither the name of a column nor a number"):
        tamis.SAOLA(keep=[99]).fit(frame, y)
    with pytest.raises(ParameterError, match="keep= puts features first, so it needs all columns"):
        tamis.SAOLA(keep=["a"]).start(y)
    with pytest.raises(InputError, match="columns cannot be fed after fit with keep="):
        tamis.SAOLA(keep=["copy"]).fit(frame, y).feed(frame["n1"])


def test_an_estimator_with_keep_can_be_cloned_and_searched():
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    frame, y = table()
    assert clone(tamis.FCBF(keep=["copy"])).keep == ["copy"]
    model = make_pipeline(tamis.SAOLA(keep=["copy"]), LogisticRegression())
    search = GridSearchCV(model, {"saola__keep": [None, ["copy"], ["n3"]]}, cv=3).fit(frame, y)
    assert search.best_estimator_[0].kept_ is not None


def test_the_kept_columns_of_data_without_names_are_found(tmp_path):
    frame, y = table()
    X = frame.to_numpy()
    np.save(tmp_path / "x.npy", X)
    for how in ({"keep": ["x13"]}, {"keep": ["x13"], "given": "x1", "sample_weight": "x15"}):
        run = tamis.select(tmp_path / "x.npy", "saola", y, keep_state=True, **how)
        at = [int(name[1:]) for name in run.kept_names]
        assert at[0] == 13
        assert np.array_equal(run.transform(X), X[:, at])
        save_run(run, tmp_path / "run", force=True)
        opened = tamis.open_run(tmp_path / "run")
        assert np.array_equal(opened.transform(sp.csr_matrix(X)).toarray(), X[:, at])
        done = apply_run(opened, tmp_path / "x.npy", tmp_path / "small.npy", force=True)
        assert done.columns == run.kept_names
        assert np.array_equal(np.load(tmp_path / "small.npy"), X[:, at])
        with pytest.raises(InputError, match="the run selected from 17 columns and X has 16"):
            run.transform(X[:, 1:])
