"""Selectors by name: on the command line, and in a file with their parameters, and back.

A file may name what is known to tamis. A class of somebody's own is imported because a user names
it, never because a file does: a folder may come from a stranger.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from tamis.core.errors import ParameterError
from tamis.measures.auto import from_name, named
from tamis.measures.base import Measure
from tamis.methods import BY_METHOD, ColumnSelector, FeatureStreamSelector, Rule


def make_selector(method: str, **parameters: Any) -> ColumnSelector:
    """Return a selector by the name of its method on the command line."""
    return _known(method)(**parameters).to_selector()  # which checks the parameters


def as_selector(method: Any) -> ColumnSelector:
    """Return a new selector for the name of a method, its rule, its estimator or a selector."""
    if isinstance(method, str):
        return make_selector(method)
    if isinstance(method, ColumnSelector):
        return method.clone()
    if hasattr(method, "to_selector") and not isinstance(method, type):
        selector: ColumnSelector = method.to_selector()  # of a rule or an estimator
        return selector
    raise ParameterError(
        f"{method!r} is not a method; give its name, such as 'saola', or an object such as "
        "tamis.SAOLA()"
    )


def rule_of(kind: Any) -> Any:
    """Return the rule of a class of estimators; any other class is returned unchanged."""
    rule = getattr(kind, "rule", None)
    return rule if isinstance(rule, type) and issubclass(rule, Rule) else kind


def _known(method: str) -> type[Rule]:
    if method not in BY_METHOD:
        raise ParameterError(
            f"method {method!r} is not known; give one of {', '.join(sorted(BY_METHOD))}"
        )
    return BY_METHOD[method]


def class_of(where: str) -> Any:
    """Return the rule of a method by its name, or the class at ``package.module:Class``."""
    return load_class(where) if ":" in where else _known(where)


def place_of(kind: type) -> str:
    """Return where a class can be imported from, as `load_class` takes it."""
    return f"{kind.__module__}:{kind.__qualname__}"


def load_class(where: str) -> Any:
    """Return the class at ``package.module:Class``: a rule, or a class with fit(X, y)."""
    module, _, name = where.partition(":")
    try:
        found = rule_of(getattr(importlib.import_module(module), name))
    except (ImportError, AttributeError, ValueError) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        is_its_own = missing is not None and f"{module}.".startswith(f"{missing}.")
        hint = (
            "; install its package, or name the folder that holds it in the environment variable "
            "PYTHONPATH"
        )
        raise ParameterError(
            f"there is no selector {where} to import ({error}){hint if is_its_own else ''}"
        ) from error
    is_rule = isinstance(found, type) and issubclass(found, Rule)
    if not (is_rule or (isinstance(found, type) and hasattr(found, "fit"))):
        raise ParameterError(
            f"{where} is not a selector: it is neither a rule nor a class with fit(X, y)"
        )
    return found


def parameters_of(selector: ColumnSelector) -> dict[str, Any]:
    """Return the parameters of a selector as numbers, strings and measures by name."""
    return {
        key: {"measure": named(value)} if isinstance(value, Measure) else value
        for key, value in selector.get_params().items()
    }


def own_place(selector: ColumnSelector) -> str | None:
    """Return where the rule of a selector is found, if it is not one of tamis."""
    kind = type(selector.rule)
    return None if BY_METHOD.get(selector.method) is kind else place_of(kind)


def selector_from(
    method: str,
    parameters: Mapping[str, Any],
    own: str | None = None,
    given: Any = None,
) -> FeatureStreamSelector:
    """Return the selector that `parameters_of` describes.

    `own` is where a rule that is not one of tamis was found, as a file says. It is not imported:
    the user must have `given` its class.
    """
    given = rule_of(given)
    if own is not None and (given is None or place_of(given) != own):
        named = "" if given is None else f", and not with {place_of(given)}"
        raise ParameterError(
            f"this was selected with {own}{named}; it is not a class of tamis, and none is "
            f"imported because a folder names it: name it yourself with --method {own}, in Python "
            "with tamis.Selection.open(folder, selector=...)"
        )
    kind = BY_METHOD.get(method) if own is None else given
    if given is not None and kind is not given:
        raise ParameterError(f"this was selected with {method}, and not with {place_of(given)}")
    if kind is None or not issubclass(kind.machinery, FeatureStreamSelector):
        raise ParameterError(
            f"the method {method!r} is not known here; give the selector with "
            "tamis.Selection.open(folder, selector=...)"
        )
    settings: dict[str, Any] = {}
    for key, value in parameters.items():
        if not isinstance(value, dict):
            settings[key] = value
        elif "auto" in value:  # until 0.2 the level was a part of the measure
            settings |= {key: "auto", "alpha": value["auto"]["alpha"]}
        else:
            settings[key] = from_name(**value["measure"])
    selector = kind.from_saved(settings).to_selector()
    assert isinstance(selector, FeatureStreamSelector)
    return selector
