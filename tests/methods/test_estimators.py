"""The attributes of an estimator, its parameters, and its rule."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import tamis
from tamis.core.errors import DataWarning, InputError, ParameterError, TamisError
from tamis.engine.common_parameters import CommonParameters
from tamis.engine.known_selectors import as_selector
from tamis.estimators import ColumnEstimator, estimator_of
from tamis.methods import BY_METHOD, FeatureStreamSelector
from tamis.methods.streaming.saola import SAOLARule

ESTIMATORS = [getattr(tamis, rule.public_name) for rule in BY_METHOD.values()]

#: What every fitted estimator shows beyond its parameters.
SHOWN = {
    "fit", "fit_transform", "transform", "inverse_transform", "get_support",
    "get_feature_names_out", "get_params", "set_params", "set_output",
    "why", "plot", "kept_", "log_", "choices_", "n_features_in_", "scores_", "support_",
    "ranking_",
}  # fmt: skip
#: What those for feature streams, those with a measure and batch methods add.
STREAM = {"start", "feed"}
MEASURED = {"measure_"}
BATCH = {"rank", "select"}
#: What a few methods found out besides.
OWN = {
    "GroupSAOLA": {"finish", "groups_"}, "AlphaInvesting": {"wealth_"},
    "Grafting": {"coef_", "intercept_"}, "OFSA3M": {"dependency_"}, "OFSDensity": {"dependency_"},
    "CFS": {"merit_"}, "Consistency": {"rate_"}, "L1SVM": {"C_", "n_iter_"}, "FGM": {"cuts_"},
    "GDM": {"cuts_", "groups_"}, "NaiveBoosting": {"rounds_"}, "Sieve": {"worth_"},
}  # fmt: skip


def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = rng.integers(0, 3, (80, 6)).astype(float)
    X[:, 3] = y
    return X, y


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_a_fitted_estimator_shows_these_names_and_no_others(kind) -> None:
    X, y = data()
    fitted = kind().fit(X, y)
    shown = {name for name in dir(fitted) if not name.startswith("_")}
    expected = SHOWN | OWN.get(kind.__name__, set())
    expected |= STREAM if hasattr(kind, "feed") else BATCH
    expected |= MEASURED if hasattr(fitted, "measure_") else set()
    assert shown == expected
    of_sklearn = {name for base in (BaseEstimator, SelectorMixin) for name in dir(base)}
    assert len(shown - of_sklearn) <= 16
    for name in shown:
        assert getattr(fitted, name) is not None
    # Before the fit the parameters are what one can look at, and they are never out of reach.
    parameters = set(kind().get_params())
    assert parameters <= set(dir(kind()))
    assert all(hasattr(fitted, name) for name in parameters)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_parameters_and_documentation_are_those_of_the_rule(kind) -> None:
    rule, common = kind._rule, CommonParameters()
    shared = dict(inspect.signature(CommonParameters).parameters)
    if not issubclass(rule.machinery, FeatureStreamSelector):
        del shared["stop"]  # which needs columns that arrive one at a time
    parameters = [*inspect.signature(rule).parameters.values(), *shared.values()]
    assert list(inspect.signature(kind).parameters.values()) == parameters
    defaults = {name: getattr(common, name) for name in shared}
    assert kind().get_params() == rule().get_params() | defaults
    assert set(rule.parameter_names).isdisjoint(common.parameter_names)
    assert kind.__doc__.partition("\n\n")[0] == rule.__doc__.partition("\n\n")[0]
    assert type(as_selector(kind()).rule) is rule
    parameters = list(inspect.signature(kind).parameters)
    assert "measure" not in parameters[1:]
    described = kind.__doc__.partition("Parameters\n")[2].partition("Attributes\n")[0]
    for name in parameters:
        assert name in described


def test_attributes_before_fit_raise_an_error() -> None:
    for name in ("kept_", "log_", "measure_", "work_"):
        with pytest.raises(NotFittedError, match=f"has seen no columns yet, so it has no {name}"):
            getattr(tamis.SAOLA(), name)
    with pytest.raises(NotFittedError):
        tamis.SAOLA().why("x0")
    with pytest.raises(AttributeError, match="'SAOLA' object has no attribute 'wealth_'"):
        _ = tamis.SAOLA().fit(*data()).wealth_


def test_why_explains_a_feature() -> None:
    X, y = data()
    fitted = tamis.SAOLA().fit(X, y)
    assert fitted.why("x3") == fitted.why(3) == fitted.log_.why("x3")
    assert fitted.why("x3").startswith("x3 is kept: ")


def test_common_parameters_work_as_scikit_learn_expects() -> None:
    sel = tamis.SAOLA(bound="max", task="regression", encode="mdlp", missing="category")
    assert repr(clone(sel)) == repr(sel)
    assert repr(sel) == ("SAOLA(bound='max', encode='mdlp', missing='category', task='regression')")
    assert sel.set_params(task="auto").task == "auto"
    with pytest.raises(TypeError):
        tamis.SAOLA("auto", "max", "older", None, "regression")  # by keyword only
    X, y = data()
    search = GridSearchCV(
        make_pipeline(tamis.SAOLA(missing="category"), DecisionTreeClassifier(random_state=0)),
        {"saola__encode": ["mdlp", "equal-width"]}, cv=2,
    ).fit(X, y)  # fmt: skip
    assert search.best_params_["saola__encode"] in ("mdlp", "equal-width")


def test_fit_and_select_read_the_data_the_same_way() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 200)
    X = rng.normal(size=(200, 12))
    X[:, 4] += y
    X[:, 9] += y**2
    X[rng.random(X.shape) < 0.05] = np.nan
    how = {"encode": "mdlp", "missing": "category"}
    run = tamis.select(X, "saola", y, **how)
    fitted = tamis.SAOLA(**how).fit(X, y)
    assert run.kept_names == fitted.get_feature_names_out().tolist() == ["x4", "x9"]
    assert tamis.select(X, tamis.SAOLA(**how), y).kept_names == run.kept_names
    assert "turned into categories by MDLP()" in fitted.choices_["measure"]
    live = tamis.SAOLA(**how).start(y).feed(X[:, :5]).feed(X[:, 5:])
    assert live.kept_.tolist() == fitted.kept_.tolist()
    assert [live.why(f) for f in range(12)] == [fitted.why(f) for f in range(12)]
    with pytest.raises(
        ParameterError, match=r"^encode='kmeans' contradicts encode='mdlp' of SAOLA; give one of"
    ):
        tamis.select(X, tamis.SAOLA(**how), y, encode="kmeans")
    assert tamis.select(X, tamis.SAOLA(**how), y, encode=tamis.encode.MDLP()).kept_names
    with pytest.raises(ParameterError, match="task='rank' is not one of 'auto', 'classification'"):
        tamis.SAOLA(task="rank").fit(X, y)
    assert 1 in tamis.SAOLA(keep=["x1"], **how).fit(X, y).kept_


def test_the_task_decides_what_the_target_is() -> None:
    rng = np.random.default_rng(0)
    price = rng.integers(100, 400, 150)
    X = np.column_stack([price * 3.7 + rng.normal(size=150), rng.normal(size=150)])
    sel = tamis.SAOLA(task="regression").fit(X, price)
    assert sel.kept_.tolist() == [0]
    assert sel.choices_["task"].startswith("regression, because ")
    assert "target" in sel.why(0)
    assert tamis.select(X, "saola", price, task="regression").kept_names == ["x0"]
    as_classes = tamis.SAOLA(task="classification").fit(X, np.round(price / 100) + 0.5)
    assert as_classes.choices_["task"].startswith("classification, because ")
    with pytest.raises(InputError, match=r"^task='regression' needs numbers, and y holds someth"):
        tamis.SAOLA(task="regression").fit(X, ["a", "b"] * 75)


def test_a_copy_of_the_target_is_reported_by_every_way_in() -> None:
    X, y = data()
    X[:, 3] = numbers = y + np.random.default_rng(1).normal(size=80)
    words = np.array(["no", "yes"])[y]
    same = r"the column 'x3' equals the target in every row; if it is the target, select again"
    for how in ({}, {"encode": "mdlp"}):
        for table, target in ((X, numbers), (sp.csc_matrix(data()[0]), words), (data()[0], y)):
            if how and target is numbers:
                continue  # a target of numbers, and an encoder that needs classes
            with pytest.warns(DataWarning, match=same):
                tamis.SAOLA(**how).fit(table, target)
            with pytest.warns(DataWarning, match=same):
                tamis.select(table, "saola", target, **how)
            with pytest.warns(DataWarning, match=same):
                tamis.SAOLA("mutual_information" if target is not numbers else "fisher_z").start(
                    target
                ).feed(table)
    frame = pd.DataFrame(data()[0], columns=list("abcdef"))
    with pytest.warns(DataWarning, match="the column 'd' equals the target"):
        tamis.FCBF().fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tamis.SAOLA().fit(np.delete(data()[0], 3, axis=1), y)


def test_a_rule_may_not_repeat_a_common_parameter() -> None:
    with pytest.raises(TypeError, match="OwnTask has a parameter 'task', which every estimator"):
        estimator_of(OwnTask)


class OwnTask(SAOLARule):
    """A rule with a parameter that estimators have."""

    name = "own-task"
    task: str = "auto"


class Mine(SAOLARule):
    """A custom rule."""

    name = "mine"


def test_a_custom_rule_gets_an_estimator() -> None:
    X, y = data()
    kind = estimator_of(Mine)
    assert estimator_of(Mine) is kind
    fitted = clone(kind(bound="max")).fit(X, y)
    assert repr(fitted) == "Mine(bound='max')"
    assert issubclass(kind, ColumnEstimator)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.bound == "max"
    assert again.kept_.tolist() == fitted.kept_.tolist()
    for method in (Mine(bound="max"), fitted, fitted._selector):
        run = tamis.select(X, method, y)
        assert run.method == "mine"
        assert run.log.replay() == fitted.kept_.tolist()


def test_other_objects_than_rules_and_methods_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"is not a rule; give a subclass of tamis.methods.Ru"):
        estimator_of(tamis.SAOLA)
    with pytest.raises(ParameterError, match=r"^3 is not a method; give its name, such as 'saola'"):
        tamis.select(np.eye(4), 3, [0, 1, 0, 1])
    with pytest.raises(
        ParameterError, match=r"^data \(list\) is not a method; .* and the target as y=$"
    ):
        tamis.select(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ParameterError, match=r"^SAOLA is a class; give an object: SAOLA\(\)$"):
        tamis.select(np.eye(4), tamis.SAOLA, [0, 1, 0, 1])
    with pytest.raises(TypeError, match="decide belongs to a rule: derive a class from SAOLARule"):
        type("Own", (tamis.SAOLA,), {"decide": lambda *_: None})


def test_selecting_needs_no_scikit_learn() -> None:
    script = """
import sys, numpy as np
import tamis
from tamis.methods.streaming.saola import SAOLARule
rng = np.random.default_rng(0)
y = rng.integers(0, 2, 80)
X = rng.normal(size=(80, 6)) + y[:, None]
for method in ("saola", "osfs", "sfs-fi", "ofs-a3m", "grafting", "fcbf", "relieff", SAOLARule()):
    tamis.select(X, method, y)
tamis.select(X, "saola", y, encode="mdlp", missing="category")
assert "sklearn" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("estimator", "given", "sentence"),
    [
        (tamis.LARS(), "sample_weight", "LARS cannot use sample weights; use a method .* saola"),
        (tamis.ReliefF(), "given", "ReliefF cannot use covariates; use a method .* such as sieve"),
        (tamis.MRMR(), "row_groups", "MRMR has no shadow worlds, .* saola with shadows=3"),
        (tamis.SAOLA(), "keep", r"keep is a parameter of SAOLA .*; write SAOLA\(keep=\.\.\.\)"),
    ],
)  # fmt: skip
def test_fit_says_what_to_do_about_an_argument_of_others(estimator, given, sentence):
    X = np.eye(6)
    with pytest.raises(TamisError, match=sentence):
        estimator.fit(X, [0, 1] * 3, **{given: np.ones(6)})
    with pytest.raises(TypeError, match="unexpected keyword argument 'sample_weigth'"):
        estimator.fit(X, [0, 1] * 3, sample_weigth=np.ones(6))
