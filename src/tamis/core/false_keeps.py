"""How many of the kept features are expected to be false, from shadow worlds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from tamis.core.sentences import counted


@dataclass(frozen=True)
class FalseKeeps:
    """An estimate of the number of kept features that say nothing about the target.

    ``print(estimate)`` says it in one sentence.

    Attributes
    ----------
    kept : int
        Features that are kept.
    worlds : tuple of int
        Decoys that each shadow world keeps.

    Examples
    --------
    >>> print(FalseKeeps(48, (5, 7, 10)))
    48 kept, about 7 ± 1 of them expected to be false (3 shadow worlds)
    """

    kept: int
    worlds: tuple[int, ...]

    @property
    def estimate(self) -> float:
        """The mean over the worlds: false features expected among the kept ones."""
        return sum(self.worlds) / len(self.worlds)

    @property
    def standard_error(self) -> float:
        """The standard error of the estimate over the worlds; NaN with one world.

        It says how far other worlds would differ. That the number of false features among those
        kept is itself a matter of luck is not in it.
        """
        n, mean = len(self.worlds), self.estimate
        if n < 2:
            return math.nan
        return math.sqrt(sum((w - mean) ** 2 for w in self.worlds) / (n - 1) / n)

    @property
    def about(self) -> str:
        """The estimate with its standard error, as text."""
        if not any(self.worlds):
            return "none"
        error = self.standard_error
        more = "" if math.isnan(error) else f" ± {_rounded(error)}"
        return _rounded(self.estimate) + more

    def record(self) -> dict[str, Any]:
        """Return it as plain values, for run.json."""
        error = self.standard_error
        return {
            "kept": self.kept,
            "estimate": self.estimate,
            "standard_error": None if math.isnan(error) else error,
            "worlds": list(self.worlds),
        }

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Return the estimate that `record` wrote."""
        return cls(int(record["kept"]), tuple(int(count) for count in record["worlds"]))

    def __str__(self) -> str:
        worlds = counted(len(self.worlds), "shadow world")
        if not self.kept:
            return f"0 kept, so none is false ({worlds})"
        if not any(self.worlds):
            return f"{self.kept:,} kept, none of them expected to be false (no decoy in {worlds})"
        if self.estimate >= self.kept:
            return (
                f"{self.kept:,} kept, and chance alone keeps about {self.about}: all may be false "
                f"({worlds})"
            )
        return f"{self.kept:,} kept, about {self.about} of them expected to be false ({worlds})"


def _rounded(number: float) -> str:
    """Return a count as a whole number, or with a digit if it is small."""
    return f"{number:,.0f}" if number >= 0.95 else f"{number:.1f}"
