"""Numbers of many features, kept as stretches: one number for all of a stretch, or one each."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
import numpy.typing as npt

#: Stretches are joined up to this many features.
JOINED = 4096


class Stretches:
    """A float32 for every feature, NaN where none was given; memory is what the stretches hold.

    >>> s = Stretches()
    >>> s.append(0, 3, 0.5); s.append(4, 2, np.array([1.0, 2.0]))
    >>> s.between(1, 6).tolist()
    [0.5, 0.5, nan, 1.0, 2.0]
    """

    def __init__(self) -> None:
        self._parts: list[tuple[int, int, float | npt.NDArray[np.float32]]] = []

    def __bool__(self) -> bool:
        return bool(self._parts)

    @property
    def nbytes(self) -> int:
        """Bytes held by the numbers."""
        return sum(np.asarray(numbers).nbytes for _, _, numbers in self._parts)

    def append(self, first: int, width: int, numbers: float | npt.NDArray[Any]) -> None:
        """Give `width` features from `first` on one number, or one each; stretches must rise."""
        if isinstance(numbers, np.ndarray):
            numbers = numbers.astype(np.float32)
        last = first + width
        start, stop, before = self._parts[-1] if self._parts else (0, -1, np.nan)
        if stop == first:  # short stretches are joined: features may arrive one at a time
            arrays = isinstance(numbers, np.ndarray) or isinstance(before, np.ndarray)
            if not arrays and numbers == before:
                self._parts[-1] = (start, last, before)
                return
            if last - start <= JOINED:
                self._parts[-1] = (start, last, self.between(start, last))
                self._parts[-1][2][first - start :] = numbers  # type: ignore[index]
                return
        self._parts.append((first, last, numbers))

    def between(self, lo: int, hi: int) -> npt.NDArray[np.float32]:
        """The numbers of features lo to hi - 1."""
        out = np.full(hi - lo, np.nan, dtype=np.float32)
        at = max(bisect_right(self._parts, lo, key=lambda part: part[0]) - 1, 0)
        for start, stop, numbers in self._parts[at:]:
            if start >= hi:
                break
            a, b = max(start, lo), min(stop, hi)
            if a < b:
                each = isinstance(numbers, np.ndarray)
                out[a - lo : b - lo] = numbers[a - start : b - start] if each else numbers  # type: ignore[index]
        return out
