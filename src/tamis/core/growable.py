"""Arrays that grow at the end, for logs of unknown length, and arrays that lose entries."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

#: Short pieces are joined until they have this many positions.
JOINED = 4096


class Growable:
    """A one-dimensional array with spare capacity at the end.

    `view` is the filled part; writing into it writes into the array.

    >>> g = Growable(np.int64)
    >>> g.extend(np.arange(3)); g.extend([7]); g.view.tolist()
    [0, 1, 2, 7]
    """

    def __init__(self, dtype: npt.DTypeLike, start: Sequence[Any] = ()) -> None:
        self._array: npt.NDArray[Any] = np.array(list(start), dtype=dtype)
        self.view = self._array

    def extend(self, values: Sequence[Any] | npt.NDArray[Any], *, expected: int = 0) -> None:
        """Append many values; `expected` is the final number of values, if known."""
        start, stop = len(self.view), len(self.view) + len(values)
        if stop > len(self._array):
            # Grow by half instead of doubling: thirty million entries should not waste much memory.
            room = expected if expected >= stop else max(stop, len(self._array) * 3 // 2, 16)
            bigger = np.empty(room, dtype=self._array.dtype)
            bigger[:start] = self.view
            self._array = bigger
        self.view = self._array[:stop]
        self.view[start:] = values

    def append(self, value: Any) -> None:
        """Append one value."""
        length = len(self.view)
        if length == len(self._array):
            self.extend([value])
            return
        self._array[length] = value
        self.view = self._array[: length + 1]

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` values."""
        self.view = self._array[:length]

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the filled part only; the spare capacity may be gigabytes."""
        filled = self.view.copy()
        return {"_array": filled, "view": filled}


@dataclass(eq=False)
class PiecewiseFloats:
    """One float32 per position, stored by pieces: one number per piece, or one per position.

    Positions without a number are NaN. Memory grows with the pieces only.

    >>> s = PiecewiseFloats()
    >>> s.append(0, 3, 0.5); s.append(4, 2, np.array([1.0, 2.0]))
    >>> s.between(1, 6).tolist()
    [0.5, 0.5, nan, 1.0, 2.0]
    """

    _parts: list[tuple[int, int, float | npt.NDArray[np.float32]]] = field(default_factory=list)

    def append(self, first: int, width: int, numbers: float | npt.NDArray[Any]) -> None:
        """Set positions `first` to `first + width - 1`; append pieces in increasing order."""
        if isinstance(numbers, np.ndarray):
            numbers = numbers.astype(np.float32)
        last = first + width
        start, stop, before = self._parts[-1] if self._parts else (0, -1, np.nan)
        if stop == first:  # short pieces are joined: features may arrive one at a time
            arrays = isinstance(numbers, np.ndarray) or isinstance(before, np.ndarray)
            if not arrays and numbers == before:
                self._parts[-1] = (start, last, before)
                return
            if last - start <= JOINED:
                joined = self.between(start, last)
                joined[first - start :] = numbers
                self._parts[-1] = (start, last, joined)
                return
        self._parts.append((first, last, numbers))

    def truncate(self, length: int) -> None:
        """Forget all positions from `length` on."""
        while self._parts and self._parts[-1][0] >= length:
            self._parts.pop()
        if self._parts and self._parts[-1][1] > length:
            start, _, numbers = self._parts[-1]
            if isinstance(numbers, np.ndarray):
                numbers = numbers[: length - start]
            self._parts[-1] = (start, length, numbers)

    def between(self, lo: int, hi: int) -> npt.NDArray[np.float32]:
        """Return the numbers of positions lo to hi - 1."""
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


def with_one(array: npt.NDArray[Any], value: Any) -> npt.NDArray[Any]:
    """Return an array with one more entry: `np.append` of short arrays, faster.

    >>> with_one(np.array([5, 6]), 7).tolist()
    [5, 6, 7]
    """
    larger = np.empty(len(array) + 1, array.dtype)
    larger[:-1] = array
    larger[-1] = value
    return larger


def without(array: npt.NDArray[Any], positions: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Return an array without the entries at some positions: `np.delete` of short arrays, faster.

    >>> without(np.array([5, 6, 7]), np.array([1])).tolist()
    [5, 7]
    """
    stay = np.ones(len(array), np.bool_)
    stay[positions] = False
    return array[stay]
