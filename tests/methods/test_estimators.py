"""The attributes of an estimator, its parameters, and its rule."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin

import tamis
from tamis.core.errors import ParameterError
from tamis.engine.known_selectors import as_selector
from tamis.estimators import ColumnEstimator, estimator_of
from tamis.methods import BY_METHOD
from tamis.methods.streaming.saola import SAOLARule

ESTIMATORS = [getattr(tamis, rule.public_name) for rule in BY_METHOD.values()]

#: What every fitted estimator shows beyond its parameters.
SHOWN = {
    "fit", "fit_transform", "transform", "inverse_transform", "get_support",
    "get_feature_names_out", "get_params", "set_params", "set_output", "get_metadata_routing",
    "why", "plot", "kept_", "log_", "work_", "n_features_in_", "rule", "selector_", "to_selector",
}  # fmt: skip
#: What those for feature streams, those with a measure and batch methods add.
STREAM = {"start", "feed", "finish"}
MEASURED = {"measure_", "measure_reason_"}
BATCH = {"ranking_", "rank", "select"}
#: What a few methods found out besides.
OWN = {
    "GroupSAOLA": {"groups_", "set_fit_request"}, "AlphaInvesting": {"wealth_"},
    "Grafting": {"coef_", "intercept_"}, "OFSA3M": {"dependency_"}, "OFSDensity": {"dependency_"},
    "CFS": {"merit_"}, "Consistency": {"rate_"}, "L1SVM": {"C_", "n_iter_"}, "FGM": {"cuts_"},
    "GDM": {"cuts_", "groups_"}, "NaiveBoosting": {"rounds_"},
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
    shown = {name for name in dir(fitted) if not name.startswith("_")} - set(fitted.get_params())
    expected = SHOWN | OWN.get(kind.__name__, set())
    expected |= STREAM if hasattr(kind, "feed") else BATCH
    expected |= MEASURED if hasattr(fitted, "measure_") else set()
    assert shown == expected
    of_sklearn = {name for base in (BaseEstimator, SelectorMixin) for name in dir(base)}
    assert len(shown - of_sklearn) <= 20
    for name in shown:
        assert getattr(fitted, name) is not None


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_parameters_and_documentation_are_those_of_the_rule(kind) -> None:
    assert inspect.signature(kind) == inspect.signature(kind.rule)
    assert kind.__doc__ == kind.rule.__doc__
    assert kind().get_params() == kind.rule().get_params()
    assert type(as_selector(kind()).rule) is kind.rule
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
    with pytest.raises(AttributeError, match="'SAOLA' object has no attribute 'ranking_'"):
        _ = tamis.SAOLA().fit(*data()).ranking_


def test_why_explains_a_feature() -> None:
    X, y = data()
    fitted = tamis.SAOLA().fit(X, y)
    assert fitted.why("x3") == fitted.why(3) == fitted.log_.why("x3")
    assert fitted.why("x3").startswith("x3 is kept: ")


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
    for method in (Mine(bound="max"), fitted, fitted.selector_):
        run = tamis.select(X, method, y)
        assert run.method == "mine"
        assert run.log.replay() == fitted.kept_.tolist()


def test_other_objects_than_rules_and_methods_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"is not a rule; give a subclass of tamis.methods.Ru"):
        estimator_of(tamis.SAOLA)
    with pytest.raises(ParameterError, match=r"^3 is not a method; give its name, such as 'saola'"):
        tamis.select(np.eye(4), 3, [0, 1, 0, 1])
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
