"""Declared parameter ranges: one place that turns a wrong value into one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

from tamis.core.errors import ParameterError


class Range(Protocol):
    """A set of allowed values that can say what it allows."""

    def allows(self, value: Any) -> bool:
        """Tell whether `value` is inside."""

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Number:
    """A real number between two bounds, each inside the range unless `open_low`/`open_high`."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    integer: bool = False

    def allows(self, value: Any) -> bool:
        """Tell whether `value` is a number inside the bounds."""
        wanted = Integral if self.integer else Real
        if isinstance(value, bool) or not isinstance(value, wanted) or math.isnan(value):
            return False
        number = float(value)
        above = number > self.low if self.open_low else number >= self.low
        below = number < self.high if self.open_high else number <= self.high
        return above and below

    def __str__(self) -> str:
        noun = "a whole number" if self.integer else "a number"
        parts = []
        if self.low > -math.inf:
            parts.append(f"{'above' if self.open_low else 'at least'} {self.low:g}")
        if self.high < math.inf:
            parts.append(f"{'below' if self.open_high else 'at most'} {self.high:g}")
        return f"{noun} {' and '.join(parts)}" if parts else noun


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    words: tuple[str, ...]

    def allows(self, value: Any) -> bool:
        """Tell whether `value` is one of the words."""
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(w) for w in self.words)


@dataclass(frozen=True)
class Nothing:
    """None is allowed."""

    def allows(self, value: Any) -> bool:
        """Tell whether `value` is None."""
        return value is None

    def __str__(self) -> str:
        return "None"


def check(owner: str, name: str, value: Any, allowed: Range | Iterable[Range]) -> None:
    """Raise one sentence if `value` is outside every range in `allowed`.

    >>> check("FisherZ", "alpha", 2.0, Number(0, 1, open_low=True, open_high=True))
    Traceback (most recent call last):
      ...
    tamis.core.errors.ParameterError: FisherZ: alpha=2.0 is not a number above 0 and below 1
    """
    ranges = (allowed,) if not isinstance(allowed, Iterable) else tuple(allowed)
    if any(r.allows(value) for r in ranges):
        return
    raise ParameterError(f"{owner}: {name}={value!r} is not {' or '.join(str(r) for r in ranges)}")
