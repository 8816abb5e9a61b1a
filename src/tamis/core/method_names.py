"""Methods as text: ``saola``, ``saola:alpha=0.05``, ``my_lab.top_k:TopK:size=5``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from tamis._registry import METHODS
from tamis.core.errors import ParameterError


def split_method(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``method:name=value:name=value``; the method is a name or ``package.module:Class``.

    >>> split_method("saola:bound=max"), split_method("my_lab.top_k:TopK:size=5")
    (('saola', {'bound': 'max'}), ('my_lab.top_k:TopK', {'size': 5}))
    """
    first, *rest = text.split(":")
    if rest and "=" not in rest[0] and first not in METHODS:
        first, rest = f"{first}:{rest[0]}", rest[1:]
    return first, parameters(rest, f"{text!r}:")


def parameters(pairs: Sequence[str], where: str = "--param") -> dict[str, Any]:
    """Return ``["bound=max", "gamma=0.1"]`` as keyword arguments.

    >>> parameters(["bound=max", "gamma=0.1"])
    {'bound': 'max', 'gamma': 0.1}
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ParameterError(
                f"{where} {pair!r} is not of the form name=value, as in alpha=0.05"
            )
        found[name] = _value_of(value)
    return found


def _value_of(text: str) -> Any:
    """Return a Python literal (a number, a Boolean, a list), or the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
