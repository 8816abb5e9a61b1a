"""Arrays that grow at the end, for logs of unknown length."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
import numpy.typing as npt

#: Pieces are joined up to this many positions.
JOINED = 4096


class Growable:
    """A one-dimensional array with spare capacity at the end.

    >>> g = Growable(np.int64)
    >>> g.extend(np.arange(3)); g.append(7); g.view.tolist()
    [0, 1, 2, 7]
    """

    def __init__(self, dtype: npt.DTypeLike, start: npt.NDArray[Any] | None = None) -> None:
        self._array = np.zeros(0, dtype=dtype) if start is None else np.array(start, dtype=dtype)
        self._length = len(self._array)

    def __len__(self) -> int:
        return self._length

    @property
    def view(self) -> npt.NDArray[Any]:
        """The filled part; writing into it writes into the array."""
        return self._array[: self._length]

    def append(self, value: Any) -> None:
        """Append one value."""
        self.reserve(1)
        self._array[self._length] = value
        self._length += 1

    def extend(self, values: npt.NDArray[Any]) -> None:
        """Append many values."""
        self.reserve(len(values))
        self._array[self._length : self._length + len(values)] = values
        self._length += len(values)

    def extend_with(self, value: Any, count: int) -> None:
        """Append the same value `count` times."""
        self.reserve(count)
        self._array[self._length : self._length + count] = value
        self._length += count

    def reserve(self, more: int) -> None:
        """Allocate memory for `more` values, and some spare capacity if the array must move."""
        needed = self._length + more
        if needed > len(self._array):
            # Grow by half, not to twice the size: of thirty million entries few should be spare.
            bigger = np.empty(max(needed, len(self._array) * 3 // 2, 16), dtype=self._array.dtype)
            bigger[: self._length] = self.view
            self._array = bigger

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the filled part only; the spare capacity may be gigabytes."""
        return {"_array": self.view.copy(), "_length": self._length}


class PiecewiseFloats:
    """One float32 per position, stored by pieces: one number per piece, or one per position.

    Positions without a number are NaN. Memory grows with the pieces only.

    >>> s = PiecewiseFloats()
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
        """Bytes that the numbers take."""
        return sum(np.asarray(numbers).nbytes for _, _, numbers in self._parts)

    def append(self, first: int, width: int, numbers: float | npt.NDArray[Any]) -> None:
        """Set positions `first` to `first + width - 1`; pieces come in increasing order."""
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
                self._parts[-1] = (start, last, self.between(start, last))
                self._parts[-1][2][first - start :] = numbers  # type: ignore[index]
                return
        self._parts.append((first, last, numbers))

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
