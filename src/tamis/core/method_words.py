"""Methods as words: ``saola``, ``saola:alpha=0.05``, ``my_lab.top_k:TopK:size=5``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from tamis._registry import METHODS
from tamis.core.errors import ParameterError


def split_method(text: str) -> tuple[str, dict[str, Any]]:
    """Read ``method:name=value:name=value``; the method is a word or ``package.module:Class``.

    >>> split_method("saola:bound=max"), split_method("my_lab.top_k:TopK:size=5")
    (('saola', {'bound': 'max'}), ('my_lab.top_k:TopK', {'size': 5}))
    """
    first, *rest = text.split(":")
    if rest and "=" not in rest[0] and first not in METHODS:
        return f"{first}:{rest[0]}", _pairs(rest[1:], text)
    return first, _pairs(rest, text)


def _pairs(words: Sequence[str], text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise ParameterError(
                f"{text!r}: {word!r} is not of the form name=value (as in saola:alpha=0.05)"
            )
        found[name] = value_of(value)
    return found


def value_of(text: str) -> Any:
    """A number, truth value or list as Python writes it; anything else is a word."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
