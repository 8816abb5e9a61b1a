"""Names of features, packed: thirty million names must not become thirty million objects."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import overload

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Names(Sequence[str]):
    """A fixed list of names in two arrays: the UTF-8 bytes end to end, and the offset of each.

    >>> names = Names.of(["age", "height", "weight"])
    >>> names[1], names.find("weight"), names.find("ight")
    ('height', 2, None)
    """

    blob: bytes
    offsets: npt.NDArray[np.int64]

    @classmethod
    def of(cls, names: Iterable[object]) -> Names:
        """Pack any iterable of names."""
        if isinstance(names, Names):
            return names
        encoded = [str(n).encode("utf-8", "surrogatepass") for n in names]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(e) for e in encoded], out=offsets[1:])
        return cls(b"".join(encoded), offsets)

    @classmethod
    def joined(cls, parts: Sequence[Names]) -> Names:
        """Concatenate lists of names."""
        offsets, end = [np.zeros(1, dtype=np.int64)], 0
        for part in parts:
            offsets.append(part.offsets[1:] + (end - int(part.offsets[0])))
            end += len(part.blob)
        return cls(b"".join(part.blob for part in parts), np.concatenate(offsets))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> Names: ...
    def __getitem__(self, i: int | slice) -> str | Names:
        if isinstance(i, slice):
            start, stop, step = i.indices(len(self))
            return self.part(start, stop) if step == 1 else Names.of(list(self)[i])
        at = range(len(self))[i]
        return self.blob[self.offsets[at] : self.offsets[at + 1]].decode("utf-8", "surrogatepass")

    def part(self, lo: int, hi: int) -> Names:
        """Return names lo to hi - 1."""
        hi = max(lo, hi)
        first, last = int(self.offsets[lo]), int(self.offsets[hi])
        return Names(self.blob[first:last], self.offsets[lo : hi + 1] - first)

    def pick(self, indices: npt.NDArray[np.intp]) -> Names:
        """Return the names at the given indices, in the given order."""
        lengths = np.diff(self.offsets)[indices]
        offsets = np.zeros(len(indices) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        at = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][indices] - offsets[:-1], lengths)
        return Names(np.frombuffer(self.blob, np.uint8)[at].tobytes(), offsets)

    def __iter__(self) -> Iterator[str]:
        bounds = self.offsets.tolist()
        for lo, hi in pairwise(bounds):
            yield self.blob[lo:hi].decode("utf-8", "surrogatepass")

    def find(self, name: str) -> int | None:
        """Return the last index of `name`, or None; scans the bytes."""
        wanted = name.encode("utf-8", "surrogatepass")
        if not wanted:
            empty = np.flatnonzero(np.diff(self.offsets) == 0)
            return int(empty[-1]) if len(empty) else None
        at = self.blob.rfind(wanted)
        while at >= 0:
            i = int(np.searchsorted(self.offsets, at, side="right")) - 1
            if self.offsets[i] == at and self.offsets[i + 1] == at + len(wanted):
                return i
            at = self.blob.rfind(wanted, 0, at + len(wanted) - 1)
        return None


#: Names that follow each other are joined up to this many: features may arrive one at a time.
JOINED = 4096


class NameBook:
    """The names of all features seen so far, in arrival order.

    Features that arrived without a name are named by number: `prefix` followed by the arrival
    number plus `base` (a svmlight file that counts from 1 has an empty prefix and base 1).
    """

    def __init__(self, prefix: str = "x", base: int = 0) -> None:
        self.prefix = prefix
        self.base = base
        self.count = 0
        self._starts: list[int] = []
        self._named: list[Names] = []

    def append(self, width: int, names: Names | None) -> None:
        """Append the names of the next `width` features."""
        if names is not None and len(names):
            last = len(self._named[-1]) if self._named else 0
            if last and self._starts[-1] + last == self.count and last + len(names) <= JOINED:
                self._named[-1] = Names.joined([self._named[-1], names])
            else:
                self._starts.append(self.count)
                self._named.append(names)
        self.count += width

    def pieces(self) -> list[tuple[int, Names]]:
        """Return the pieces of names, each with its first feature."""
        return list(zip(self._starts, self._named, strict=True))

    def pieces_between(self, lo: int, hi: int) -> Iterator[tuple[int, Names]]:
        """Yield the same for features lo to hi - 1; the pieces are cut at both ends."""
        at = max(bisect_right(self._starts, lo) - 1, 0)
        for start, names in zip(self._starts[at:], self._named[at:], strict=True):
            a, b = max(start, lo), min(start + len(names), hi)
            if start >= hi:
                break
            if a < b:
                yield a, names.part(a - start, b - start)

    @property
    def numbered(self) -> bool:
        """True if no feature arrived with a name."""
        return not self._named

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, feature: int) -> str:
        if not 0 <= feature < self.count:
            raise IndexError(feature)
        i = bisect_right(self._starts, feature) - 1
        if i >= 0 and feature - self._starts[i] < len(self._named[i]):
            return self._named[i][feature - self._starts[i]]
        return f"{self.prefix}{feature + self.base}"

    def find(self, name: str) -> int | None:
        """Return the newest feature called `name`, or None."""
        numbered = self.find_numbered(name)
        for start, names in zip(reversed(self._starts), reversed(self._named), strict=True):
            i = names.find(name)
            if i is not None:
                return start + i if numbered is None else max(start + i, numbered)
        return numbered

    def find_numbered(self, name: str) -> int | None:
        """Return the unnamed feature that is called `name` by its number, or None."""
        # Nineteen digits hold every arrival number; Python refuses to parse thousands of digits.
        match = re.fullmatch(re.escape(self.prefix) + r"(\d{1,19})", name)
        if match is None:
            return None
        feature = int(match[1]) - self.base
        return feature if 0 <= feature < self.count and self[feature] == name else None
