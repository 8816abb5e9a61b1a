"""Options that several commands share, and how their words become values."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from tamis.core.errors import ParameterError
from tamis.sources import FORMATS, Source, open_source

F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes such as 2GB or 500M."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a size."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", str(value).strip(), re.IGNORECASE)
        if match is None or float(match[1]) == 0:
            self.fail(f"{value!r} is not a size such as 2GB or 500MB", param, ctx)
        return int(float(match[1]) * _UNITS[match[2].upper()])


def source_options(command: F) -> F:
    """Add --format and --zero-based."""
    command = click.option(
        "--format",
        "format_",
        type=click.Choice(sorted(FORMATS)),
        help="Format of DATA, where its extension does not tell.",
    )(command)
    return click.option(
        "--zero-based/--one-based",
        default=None,
        help="Do svmlight indices begin at 0 or 1? Default: look for an index 0.",
    )(command)


def open_data(data: str, format_: str | None, zero_based: bool | None) -> Source:
    """Open DATA as the options say."""
    options = {} if zero_based is None else {"zero_based": zero_based}
    return open_source(data, format_, **options)


def parameters(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Turn ``("bound=max", "gamma=0.1")`` into keyword arguments.

    >>> parameters(("bound=max", "gamma=0.1"))
    {'bound': 'max', 'gamma': 0.1}
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ParameterError(f"--param {pair!r} is not of the form name=value")
        try:
            found[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            found[name] = text
    return found
