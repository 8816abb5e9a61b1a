"""Progressive errors: each row is predicted before it is learned, and the mistakes are counted.

`Curve` records them at some two hundred points, for the training (`tamis.engine.learning`) and the
report, and `Turnover` which features entered and left the kept set. `Recent` counts those of the
latest half of the rows, to compare models that learn side by side: sizes of a kept set
(`kept_learner.py`) or settings of a grid (`tamis.tune`); `RecentLosses` does so for numbers to
predict. All depend on the rows seen, whatever chunks they came in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.kernels import binary, heap
from tamis.methods.online.weights import Floats, Ints

#: Rows between two points at first, and the number of points at which every other one is dropped.
FIRST, MOST = 16, 256


class Curve:
    """Rows seen, mistakes, and features that entered the kept set, at evenly spread rows.

    The points are multiples of a power of two, which doubles when there are too many. Of numbers to
    predict, squared errors take the place of mistakes, and the curve is the root of their mean.

    >>> curve = Curve()
    >>> for lo, hi in curve.cuts(0, 40): curve.record(hi, hi // 4, 1)
    >>> curve.table()["rows"], curve.table()["error"]
    ([16, 32], [0.25, 0.25])
    """

    def __init__(self, *, of_numbers: bool = False) -> None:
        self.every, self.of_numbers = FIRST, of_numbers
        self.points: list[tuple[int, float, int]] = []

    def cuts(self, done: int, coming: int) -> Iterator[tuple[int, int]]:
        """Cut the next `coming` rows where a point is due."""
        lo = 0
        while lo < coming:
            hi = min(coming, lo + self.every - (done + lo) % self.every)
            yield lo, hi
            lo = hi

    def record(self, rows: int, mistakes: float, entered: int) -> None:
        """Record the totals so far if a point is due."""
        if rows % self.every == 0:
            self.points.append((rows, mistakes, entered))
        if len(self.points) > MOST:
            self.points, self.every = self.points[1::2], 2 * self.every

    def table(self) -> dict[str, list[float]]:
        """Return rows, error up to there, error since the last point, and features entered."""
        counts = self._array((0, 0, 0))
        rows, mistakes = counts[:, 0], counts[:, 1]
        since = np.diff(counts, axis=0)
        error = mistakes[1:] / np.maximum(rows[1:], 1)
        recent = since[:, 1] / np.maximum(since[:, 0], 1)
        if self.of_numbers:
            error, recent = np.sqrt(error), np.sqrt(recent)
        return {
            "rows": rows[1:].astype(np.int64).tolist(),
            "error": error.tolist(),
            "recent_error": recent.tolist(),
            "entered": since[:, 2].astype(np.int64).tolist(),
        }

    def _array(self, first: tuple[int, int, int]) -> npt.NDArray[Any]:
        """Return a line and the points below it."""
        return np.array([first, *self.points], dtype=np.float64 if self.of_numbers else np.int64)

    def state(self) -> npt.NDArray[Any]:
        """Return everything as one array, for a checkpoint."""
        return self._array((self.every, 0, 0))

    @classmethod
    def from_state(cls, state: npt.NDArray[Any]) -> Curve:
        """Return the curve that `state` was taken from."""
        curve = cls(of_numbers=state.dtype.kind == "f")
        (every, _, _), *points = state.tolist()
        curve.every = int(every)
        curve.points = [(int(rows), wrong, int(entered)) for rows, wrong, entered in points]
        return curve


class Turnover:
    """Which features entered and left the kept set, checked at the points of a curve.

    >>> turnover = Turnover()
    >>> for rows, kept in ((16, [3, 5]), (32, [3]), (48, [3, 5])): turnover.record(rows, kept)
    >>> turnover.entries
    {3: [16, 0, 1], 5: [16, 0, 2]}
    """

    #: How many features are remembered; those that left first are forgotten first.
    MOST: ClassVar[int] = 10_000

    def __init__(self) -> None:
        #: By feature: rows seen when it came first and when it left last (0: it is kept), and how
        #: often it came.
        self.entries: dict[int, list[int]] = {}

    def record(self, rows: int, kept: Iterable[int]) -> None:
        """Compare the kept features with those of the last point."""
        now = {int(feature) for feature in kept}
        for feature, entry in self.entries.items():
            if entry[1] == 0 and feature not in now:
                entry[1] = rows
        for feature in sorted(now):
            entry = self.entries.setdefault(feature, [rows, 1, 0])
            entry[2] += entry[1] > 0
            entry[1] = 0
        if len(self.entries) > 2 * self.MOST:
            order = sorted(self.entries, key=lambda j: self.entries[j][1] or math.inf)
            self.entries = {j: self.entries[j] for j in sorted(order[-self.MOST :])}

    def state(self) -> Ints:
        """Return everything as one array, for a checkpoint."""
        lines = [(feature, *entry) for feature, entry in self.entries.items()]
        return np.array(lines, dtype=np.int64).reshape(-1, 4)

    @classmethod
    def from_state(cls, state: Ints) -> Turnover:
        """Return the turnover that `state` was taken from."""
        turnover = cls()
        turnover.entries = {feature: entry for feature, *entry in state.tolist()}
        return turnover


class Recent:
    """Mistakes of several models on the latest half of the rows, or a little more.

    The first rows say how fast a model starts, not how good it gets. With t rows seen, the rows
    that count are those after the first p, where p is the largest power of two up to t/2: between
    half and three quarters of all. Only the counts at the last two powers of two are stored.

    >>> recent = Recent(1)
    >>> for rows, mistakes in ((1, 1), (2, 2), (4, 3), (8, 3), (10, 4)):
    ...     recent.record(rows, np.array([mistakes]))
    >>> recent.rows, recent.mistakes.tolist()
    (6, [1])
    """

    def __init__(self, models: int) -> None:
        #: Rows seen, then the mistakes of each model: two powers of two ago, one ago, and now.
        self.counts: npt.NDArray[Any] = np.zeros((3, 1 + models), dtype=np.int64)

    @staticmethod
    def totals(models: Iterable[Any]) -> npt.NDArray[Any]:
        """Return what is to be recorded of models: mistakes so far."""
        return np.array([model.counts[heap.MISTAKES] for model in models])

    @staticmethod
    def cuts(done: int, coming: int) -> Iterator[tuple[int, int]]:
        """Cut the next `coming` rows where the number of rows seen is a power of two.

        >>> list(Recent.cuts(0, 6)), list(Recent.cuts(6, 4))
        ([(0, 1), (1, 2), (2, 4), (4, 6)], [(0, 2), (2, 4)])
        """
        first = 0
        while first < coming:
            power = 1 << (done + first).bit_length()  # the next one above
            last = min(coming, power - done)
            yield first, last
            first = last

    def record(self, rows: int, totals: npt.NDArray[Any]) -> None:
        """Record the totals so far; must be called at every power of two (see `cuts`)."""
        self.counts[2, 0], self.counts[2, 1:] = rows, totals
        if rows & (rows - 1) == 0:
            self.counts[0] = self.counts[1]
            self.counts[1] = self.counts[2]

    @property
    def rows(self) -> int:
        """How many rows count."""
        return int(self.counts[2, 0] - self.counts[0, 0])

    @property
    def mistakes(self) -> npt.NDArray[Any]:
        """Mistakes on those rows, one number per model."""
        return np.asarray(self.counts[2, 1:] - self.counts[0, 1:])

    @property
    def errors(self) -> Floats:
        """Share of those rows that each model got wrong; 0 before the first row."""
        return np.asarray(self.mistakes / max(self.rows, 1))

    def first_good(self) -> int:
        """Return the first model whose errors are within one standard error of the fewest.

        That is of the fewest errors, e = (mistakes + 1) / (rows + 2).
        """
        errors = self.errors
        return int(np.argmax(errors <= errors.min() + self._standard_error()))

    def _standard_error(self) -> float:
        """Return the standard error of the fewest errors."""
        rows = self.rows
        share = (int(self.mistakes.min()) + 1) / (rows + 2)
        return math.sqrt(share * (1.0 - share) / max(rows, 1))


class RecentLosses(Recent):
    """The same for models that predict numbers: losses take the place of mistakes.

    >>> recent = RecentLosses(2)
    >>> for rows in (1, 2, 4):
    ...     recent.record(rows, np.array([3.0 * rows, rows, 9.0 * rows, rows]))
    >>> recent.errors.tolist(), recent.first_good()
    ([3.0, 1.0], 1)
    """

    def __init__(self, models: int) -> None:
        #: Rows seen, then the losses of each model, then its squared losses.
        self.counts = np.zeros((3, 1 + 2 * models))

    @staticmethod
    def totals(models: Iterable[Any]) -> npt.NDArray[Any]:
        """Return what is to be recorded of models: losses and squared losses so far."""
        fits = np.array([model.fit for model in models])
        return np.concatenate([fits[:, binary.LOSSES], fits[:, binary.SQUARED_LOSSES]])

    @property
    def mistakes(self) -> npt.NDArray[Any]:
        """Losses on those rows, one number per model."""
        both = super().mistakes
        return np.asarray(both[: len(both) // 2])

    def _standard_error(self) -> float:
        """Return the standard error of the smallest mean loss."""
        rows, best = max(self.rows, 1), int(np.argmin(self.errors))
        squares = float(super().mistakes[len(self.mistakes) + best]) / rows
        return math.sqrt(max(squares - float(self.errors[best]) ** 2, 0.0) / rows)
