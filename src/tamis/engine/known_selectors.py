"""Selectors as a word and parameters in a file, and back: only what tamis knows by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tamis.core.errors import ParameterError
from tamis.measures.auto import Auto, from_name, named
from tamis.measures.base import Measure
from tamis.selectors import BY_METHOD, FeatureStreamSelector


def parameters_of(selector: FeatureStreamSelector) -> dict[str, Any]:
    """The parameters of a selector as numbers and words."""
    return {key: _told(value) for key, value in selector.get_params(deep=False).items()}


def selector_from(method: str, parameters: Mapping[str, Any]) -> FeatureStreamSelector:
    """The selector that `parameters_of` told of; only methods of tamis are known."""
    kind = BY_METHOD.get(method)
    if kind is None or not issubclass(kind, FeatureStreamSelector):
        raise ParameterError(
            f"the method {method!r} is not known here; give the selector with "
            "tamis.Selection.open(folder, selector=...)"
        )
    given = {
        key: _measure(value) if isinstance(value, dict) else value
        for key, value in parameters.items()
    }
    chosen = kind(**given)
    chosen._check_parameters()
    return chosen


def _told(value: Any) -> Any:
    if isinstance(value, Auto):
        return {"auto": asdict(value)}
    return {"measure": named(value)} if isinstance(value, Measure) else value


def _measure(told: Mapping[str, Any]) -> Measure | Auto:
    return Auto(**told["auto"]) if "auto" in told else from_name(**told["measure"])
