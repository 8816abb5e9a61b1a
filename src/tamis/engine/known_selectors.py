"""Selectors by a word: on the command line, and in a file with their parameters, and back.

A file may name what is known to tamis. A class of somebody's own is imported because a user names
it, never because a file does: a folder may come from a stranger.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tamis.core.errors import ParameterError
from tamis.measures.auto import Auto, from_name, named
from tamis.measures.base import Measure
from tamis.methods import BY_METHOD, ColumnSelector, FeatureStreamSelector


def make_selector(method: str, **parameters: Any) -> ColumnSelector:
    """A selector by its word on the command line."""
    chosen: ColumnSelector = _known(method)(**parameters)
    chosen._check_parameters()  # now, not when the data have been read
    return chosen


def _known(method: str) -> type[ColumnSelector]:
    if method not in BY_METHOD:
        raise ParameterError(
            f"method {method!r} is not known; give one of {', '.join(sorted(BY_METHOD))}"
        )
    return BY_METHOD[method]


def class_of(where: str) -> Any:
    """The class of a method: a word of tamis, or ``package.module:Class``."""
    return load_class(where) if ":" in where else _known(where)


def place_of(kind: type) -> str:
    """Where a class can be imported from, as `load_class` takes it."""
    return f"{kind.__module__}:{kind.__qualname__}"


def load_class(where: str) -> Any:
    """The class at ``package.module:Class``."""
    module, _, name = where.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
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
    if not (isinstance(found, type) and hasattr(found, "fit")):
        raise ParameterError(f"{where} is no selector: it is not a class with fit(X, y)")
    return found


def parameters_of(selector: FeatureStreamSelector) -> dict[str, Any]:
    """The parameters of a selector as numbers and words."""
    return {key: _told(value) for key, value in selector.get_params(deep=False).items()}


def own_place(selector: FeatureStreamSelector) -> str | None:
    """Where the class of a selector is found, if it is none of tamis."""
    kind = type(selector)
    return None if BY_METHOD.get(selector.method) is kind else place_of(kind)


def selector_from(
    method: str,
    parameters: Mapping[str, Any],
    own: str | None = None,
    given: type[FeatureStreamSelector] | None = None,
) -> FeatureStreamSelector:
    """The selector that `parameters_of` told of.

    `own` is where a class that is none of tamis was found, as a file says. It is not imported: the
    user must have `given` it.
    """
    if own is not None and (given is None or place_of(given) != own):
        named = "" if given is None else f", and not with {place_of(given)}"
        raise ParameterError(
            f"this was selected with {own}{named}; it is no class of tamis, and none is imported "
            f"because a folder names it: name it yourself with --method {own}, in Python with "
            "tamis.Selection.open(folder, selector=...)"
        )
    kind = BY_METHOD.get(method) if own is None else given
    if given is not None and kind is not given:
        raise ParameterError(f"this was selected with {method}, and not with {place_of(given)}")
    if kind is None or not issubclass(kind, FeatureStreamSelector):
        raise ParameterError(
            f"the method {method!r} is not known here; give the selector with "
            "tamis.Selection.open(folder, selector=...)"
        )
    settings = {
        key: _measure(value) if isinstance(value, dict) else value
        for key, value in parameters.items()
    }
    chosen = kind(**settings)
    chosen._check_parameters()
    return chosen


def _told(value: Any) -> Any:
    if isinstance(value, Auto):
        return {"auto": asdict(value)}
    return {"measure": named(value)} if isinstance(value, Measure) else value


def _measure(told: Mapping[str, Any]) -> Measure | Auto:
    return Auto(**told["auto"]) if "auto" in told else from_name(**told["measure"])
