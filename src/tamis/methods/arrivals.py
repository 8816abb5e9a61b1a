"""What passes between a stream and its rule: arrivals, what is kept, what can be foreseen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tamis.core.names import Names
from tamis.measures.measure import Measure, Panel

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Arrival:
    """A relevant feature at the moment it arrives.

    `column` is what the measure's panel made of its values.
    """

    feature: int
    relevance: float
    level: float
    column: Any


class Kept:
    """The kept features, oldest first, and the panel that compares newcomers with them.

    Attributes
    ----------
    features, relevance : ndarray
        Arrival numbers, and strengths towards the target.
    panel : Panel
        Compares a newcomer with them: ``kept.panel.between(arrival.column)``.
    measure : Measure
        The measure in use.
    """

    def __init__(self, panel: Panel, measure: Measure) -> None:
        self.panel, self.measure = panel, measure
        self.features = np.zeros(0, dtype=np.int64)
        self.relevance = np.zeros(0)

    def __len__(self) -> int:
        return len(self.features)

    def add(self, arrival: Arrival) -> None:
        """Keep a feature."""
        self.panel.add(arrival.column)
        self.features = np.append(self.features, arrival.feature)
        self.relevance = np.append(self.relevance, arrival.relevance)

    def drop(self, features: Sequence[int]) -> None:
        """Drop features."""
        positions = np.searchsorted(self.features, np.asarray(features, dtype=np.int64))
        self.panel.drop(positions)
        self.features = np.delete(self.features, positions)
        self.relevance = np.delete(self.relevance, positions)


@dataclass(frozen=True, eq=False)
class ScoredBlock:
    """Everything about a block that does not depend on what is kept.

    `relevance` and `level` go to the log (`level` is one number where all columns share it);
    the survivors, with their exact strengths, go to the rule. A worker that knew an older kept set
    adds a `foresight`.
    """

    first: int
    names: Names | None
    relevance: npt.NDArray[np.float32]
    level: float | Floats
    constant: npt.NDArray[np.uint8]
    features: npt.NDArray[np.int64]
    strengths: Floats
    levels: Floats
    columns: Sequence[Any]
    foresight: Foresight | None = field(default=None, kw_only=True)

    @property
    def width(self) -> int:
        """Columns in the block."""
        return len(self.relevance)

    def arrival(self, i: int) -> Arrival:
        """Return survivor i."""
        return Arrival(
            int(self.features[i]), float(self.strengths[i]), float(self.levels[i]), self.columns[i]
        )


@dataclass(frozen=True, eq=False)
class Foresight:
    """What the rule would decide about survivors, had the kept set not changed since.

    Only plain drops can be foreseen: `because[i]` is the kept feature that drops survivor i while
    none is evicted, or -1 where the rule itself must decide. A drop holds as long as `because[i]`
    is still kept when survivor i's turn comes: features that are kept meanwhile come after it in
    the walk, and those that left dropped no other.
    """

    because: npt.NDArray[np.int64]
    value: Floats
    level: Floats
    reasons: tuple[str, ...]
    reason: npt.NDArray[np.intp]

    def part(self, lo: int, hi: int) -> Foresight:
        """Return the part about survivors lo..hi-1."""
        return Foresight(
            self.because[lo:hi], self.value[lo:hi], self.level[lo:hi], self.reasons,
            self.reason[lo:hi],
        )  # fmt: skip

    def filled(self, indices: npt.NDArray[np.intp], other: Foresight) -> Foresight:
        """Return a copy with those of another one at some positions."""
        both = {}
        for name in ("because", "value", "level", "reason"):
            both[name] = getattr(self, name).copy()
            both[name][indices] = getattr(other, name)
        return Foresight(reasons=self.reasons, **both)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return all parts, one after the other."""
        names = ("because", "value", "level", "reason")
        whole = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(reasons=parts[0].reasons, **whole)
