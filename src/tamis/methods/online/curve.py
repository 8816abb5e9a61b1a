"""How learning went: mistakes and newcomers at some two hundred points, evenly spread over rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tamis.methods.online.weights import Ints

#: Rows between two points at first, and how many points there may be before every other one goes.
FIRST, MOST = 16, 256


class Curve:
    """Rows seen, mistakes and features that entered the kept set, at points that rows decide.

    The points are multiples of a power of two, which doubles when there are too many, so they are
    the same whatever chunks the rows came in.

    >>> curve = Curve()
    >>> for lo, hi in curve.cuts(0, 40): curve.note(hi, hi // 4, 1)
    >>> curve.table()["rows"], curve.table()["error"]
    ([16, 32], [0.25, 0.25])
    """

    def __init__(self) -> None:
        self.every = FIRST
        self.points: list[tuple[int, int, int]] = []

    def cuts(self, done: int, coming: int) -> Iterator[tuple[int, int]]:
        """Cut the next rows where a point is due."""
        lo = 0
        while lo < coming:
            hi = min(coming, lo + self.every - (done + lo) % self.every)
            yield lo, hi
            lo = hi

    def note(self, rows: int, mistakes: int, entered: int) -> None:
        """Hear the totals so far; kept if a point is due."""
        if rows % self.every == 0:
            self.points.append((rows, mistakes, entered))
        if len(self.points) > MOST:
            self.points, self.every = self.points[1::2], 2 * self.every

    def table(self) -> dict[str, list[float]]:
        """Rows, error up to there, error since the point before, and features entered since."""
        counts = np.array([(0, 0, 0), *self.points], dtype=np.int64)
        rows, mistakes = counts[:, 0], counts[:, 1]
        since = np.diff(counts, axis=0)
        return {
            "rows": rows[1:].tolist(),
            "error": (mistakes[1:] / np.maximum(rows[1:], 1)).tolist(),
            "recent_error": (since[:, 1] / np.maximum(since[:, 0], 1)).tolist(),
            "entered": since[:, 2].tolist(),
        }

    def state(self) -> Ints:
        """Everything as one array."""
        return np.array([(self.every, 0, 0), *self.points], dtype=np.int64)

    @classmethod
    def from_state(cls, state: Ints) -> Curve:
        """The curve that `state` was taken from."""
        curve = cls()
        (every, _, _), *points = state.tolist()
        curve.every, curve.points = every, [tuple(point) for point in points]
        return curve
