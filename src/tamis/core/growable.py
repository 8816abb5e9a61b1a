"""An array that grows at the end, for logs that do not know their length."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class Growable:
    """A one-dimensional array with room to spare at the end.

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
        """Add one value."""
        self.reserve(1)
        self._array[self._length] = value
        self._length += 1

    def extend(self, values: npt.NDArray[Any]) -> None:
        """Add many values."""
        self.reserve(len(values))
        self._array[self._length : self._length + len(values)] = values
        self._length += len(values)

    def extend_with(self, value: Any, count: int) -> None:
        """Add the same value `count` times."""
        self.reserve(count)
        self._array[self._length : self._length + count] = value
        self._length += count

    def reserve(self, more: int) -> None:
        """Make room for `more` values, and some to spare when the array must move."""
        needed = self._length + more
        if needed > len(self._array):
            # Half as much again, not twice: thirty million entries should not leave thirty spare.
            bigger = np.empty(max(needed, len(self._array) * 3 // 2, 16), dtype=self._array.dtype)
            bigger[: self._length] = self.view
            self._array = bigger

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what is filled; room to spare may be gigabytes."""
        return {"_array": self.view.copy(), "_length": self._length}
