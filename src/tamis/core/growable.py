"""Arrays that grow at the end, for logs of unknown length, and arrays that lose entries."""

from __future__ import annotations

import contextlib
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from mmap import mmap
from tempfile import TemporaryFile
from typing import Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

#: Short pieces are joined until they have this many positions.
JOINED = 4096


#: Arrays of at least so many bytes are in a temporary file.
ON_DISK = 1 << 28


class Growable:
    """A one-dimensional array with spare capacity at the end.

    `view` is the filled part; writing into it writes into the array. The log of a billion columns
    takes gigabytes, most of which nobody looks at: large arrays are in a file without a name in the
    temporary folder, so that the system can take back their memory.

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
            bigger = _mapped(room, self._array.dtype)
            if bigger is None:
                bigger = np.empty(room, dtype=self._array.dtype)
            else:
                _in_files.add(self)
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


def _mapped(count: int, dtype: np.dtype[Any]) -> npt.NDArray[Any] | None:
    """Return an array in a file if it is large, and the disk has room for it."""
    size = count * dtype.itemsize
    if size >= ON_DISK:
        # Reserved, as a process that writes to a page for which there is no room is killed. Systems
        # that cannot reserve it keep it in memory.
        with contextlib.suppress(OSError, AttributeError), TemporaryFile(prefix="tamis-") as file:
            os.posix_fallocate(file.fileno(), 0, size)
            return np.frombuffer(mmap(file.fileno(), size), dtype)
    return None


#: Arrays that are or were in a file.
_in_files: WeakSet[Growable] = WeakSet()


def _own_after_fork() -> None:
    """Give a forked process arrays of its own, as it would have of memory."""
    for one in _in_files:
        one._array = one.view = one.view.copy()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_own_after_fork)


#: Positions from one number to another, and the number of all of them or of each.
Part = tuple[int, int, float | npt.NDArray[np.float32]]


@dataclass(eq=False)
class PiecewiseFloats:
    """One float32 per position, stored by pieces: one number per piece, or one per position.

    Positions without a number are NaN. Memory grows with the pieces only.

    >>> s = PiecewiseFloats()
    >>> s.append(0, 3, 0.5); s.append(4, 2, np.array([1.0, 2.0]))
    >>> s.between(1, 6).tolist()
    [0.5, 0.5, nan, 1.0, 2.0]
    """

    _parts: list[Part] = field(default_factory=list)

    def append(self, first: int, width: int, numbers: float | npt.NDArray[Any]) -> None:
        """Set positions `first` to `first + width - 1`; append pieces in increasing order."""
        if isinstance(numbers, np.ndarray):
            numbers = _one_if_equal(numbers.astype(np.float32))
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

    def any_between(self, lo: int, hi: int) -> bool:
        """Return whether positions lo to hi - 1 have any number but NaN."""
        found = ((numbers, max(start, lo) - start, min(stop, hi) - start)
                 for start, stop, numbers in self._overlapping(lo, hi))  # fmt: skip
        return any(
            not np.isnan(numbers[a:b] if isinstance(numbers, np.ndarray) else numbers).all()
            for numbers, a, b in found
        )

    def at(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return the numbers of some positions."""
        out = np.full(len(positions), np.nan, dtype=np.float32)
        order = np.argsort(positions, kind="stable")
        ordered = positions[order]
        for start, stop, numbers in self._parts:
            a, b = np.searchsorted(ordered, [start, stop])
            each = isinstance(numbers, np.ndarray)
            out[order[a:b]] = numbers[ordered[a:b] - start] if each else numbers  # type: ignore[index]
        return out

    def between(self, lo: int, hi: int) -> npt.NDArray[np.float32]:
        """Return the numbers of positions lo to hi - 1."""
        out = np.full(hi - lo, np.nan, dtype=np.float32)
        for start, stop, numbers in self._overlapping(lo, hi):
            a, b = max(start, lo), min(stop, hi)
            each = isinstance(numbers, np.ndarray)
            out[a - lo : b - lo] = numbers[a - start : b - start] if each else numbers  # type: ignore[index]
        return out

    def _overlapping(self, lo: int, hi: int) -> Iterator[Part]:
        """Return the pieces that share a position with lo to hi - 1."""
        at = max(bisect_right(self._parts, lo, key=lambda part: part[0]) - 1, 0)
        for part in islice(self._parts, at, None):
            if part[0] >= hi:
                return
            if max(part[0], lo) < min(part[1], hi):
                yield part


def _one_if_equal(numbers: npt.NDArray[np.float32]) -> float | npt.NDArray[np.float32]:
    """Return one number if all have the same bits, as levels mostly do, else the array."""
    bits = numbers.view(np.uint32)
    return float(numbers[0]) if len(bits) and (bits == bits[0]).all() else numbers


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
