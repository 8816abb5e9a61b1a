"""Names of features, packed: thirty million names must not become thirty million objects."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from tamis.core.errors import SourceError
from tamis.core.growable import Growable


def gathered(
    offsets: npt.NDArray[Any], vectors: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the offsets of some vectors laid end to end, and their entries' old positions."""
    lengths = np.diff(offsets)[vectors]
    new = np.zeros(len(vectors) + 1, dtype=np.int64)
    np.cumsum(lengths, out=new[1:])
    return new, np.arange(new[-1]) + np.repeat(offsets[:-1][vectors] - new[:-1], lengths)


@dataclass(frozen=True, eq=False)
class Names(Sequence[str]):
    """A fixed list of names in two arrays: the UTF-8 bytes end to end, and the offset of each.

    >>> names = Names.of(["age", "height", "weight"])
    >>> names[1], names.find("weight"), names.find("ight")
    ('height', 2, None)
    """

    blob: bytes | bytearray
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

    @property
    def decode(self) -> bool:
        """Whether every name is valid UTF-8; those that tamis wrote are."""
        try:
            bytes(self.blob).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return False
        text = np.frombuffer(self.blob, np.uint8)
        starts = self.offsets[self.offsets < len(text)]
        return not np.any((text[starts] & 0xC0) == 0x80)  # none begins inside a character

    def part(self, lo: int, hi: int) -> Names:
        """Return names lo to hi - 1."""
        hi = max(lo, hi)
        first, last = int(self.offsets[lo]), int(self.offsets[hi])
        return Names(self.blob[first:last], self.offsets[lo : hi + 1] - first)

    def pick(self, indices: npt.NDArray[np.intp]) -> Names:
        """Return the names at the given indices, in the given order."""
        offsets, at = gathered(self.offsets, indices)
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


@dataclass(eq=False)
class NameBook:
    """The names of all features seen so far, in arrival order.

    Features that arrived without a name are named by number: `prefix` followed by the arrival
    number plus `base` (a svmlight file that counts from 1 has an empty prefix and base 1). The
    names of the others are packed as in `Names`; consecutive named features form one run.
    """

    prefix: str = "x"
    base: int = 0
    count: int = field(default=0, init=False)
    #: True if no feature arrived with a name.
    numbered: bool = field(default=True, init=False)
    _text: bytearray = field(default_factory=bytearray, init=False)
    _offsets: Growable = field(default_factory=lambda: Growable(np.int64, [0]), init=False)
    #: First feature, last feature + 1, and number of names before, for each run.
    _runs: list[tuple[int, int, int]] = field(default_factory=list, init=False)

    def append(self, width: int, names: Names | None) -> None:
        """Append the names of the next `width` features."""
        if names is not None and len(names):
            start, stop, before = self._runs[-1] if self._runs else (0, -1, 0)
            if stop == self.count:
                self._runs.pop()
            else:
                start, before = self.count, len(self._offsets.view) - 1
            self._runs.append((start, self.count + len(names), before))
            self._offsets.extend(names.offsets[1:] + (len(self._text) - names.offsets[0]))
            self._text += names.blob
            self.numbered = False
        self.count += width

    def truncate(self, count: int) -> None:
        """Forget the names of all but the first `count` features."""
        while self._runs and self._runs[-1][0] >= count:
            self._runs.pop()
        if self._runs:
            start, stop, before = self._runs[-1]
            self._runs[-1] = start, min(stop, count), before
        names = self._runs[-1][2] + self._runs[-1][1] - self._runs[-1][0] if self._runs else 0
        self._offsets.truncate(names + 1)
        del self._text[int(self._offsets.view[-1]) :]
        self.numbered, self.count = not self._runs, count

    @property
    def named(self) -> Names:
        """The names that features arrived with; valid until more features arrive."""
        return Names(self._text, self._offsets.view)

    def between(self, lo: int, hi: int) -> dict[str, npt.NDArray[Any]]:
        """Return the names that features lo to hi - 1 arrived with, as plain arrays.

        These are the first feature and the size of each run, the length of each name, and the bytes
        of all.
        """
        starts, stops, before = np.array(self._runs, dtype=np.int64).reshape(-1, 3).T
        first, last = np.maximum(starts, lo), np.minimum(stops, hi)
        inside = first < last
        sizes = (last - first)[inside]
        at = int((before + first - starts)[inside][0]) if len(sizes) else 0
        offsets = self._offsets.view[at : at + int(sizes.sum()) + 1]
        return {
            "name_starts": first[inside],
            "name_sizes": sizes,
            "name_lengths": np.diff(offsets),
            "name_bytes": np.frombuffer(self._text[offsets[0] : offsets[-1]], np.uint8),
        }

    def extend(self, arrays: Mapping[str, npt.NDArray[Any]], width: int) -> None:
        """Append what `between` returned as the names of the next `width` features.

        The arrays may come from an untrusted file.
        """
        starts, sizes, lengths = (
            arrays[f"name_{key}"].astype(np.int64, casting="same_kind")
            for key in ("starts", "sizes", "lengths")
        )
        text, last = arrays["name_bytes"].tobytes(), self.count + width
        ends = np.concatenate([[self.count], starts + sizes])
        if (
            np.any(lengths < 0)
            or lengths.sum() != len(text)
            or np.any(sizes < 0)
            or sizes.sum() != len(lengths)
            or np.any(starts < ends[:-1])
            or ends[-1] > last
        ):
            raise SourceError("the names in the log are inconsistent")
        before = len(self._offsets.view) - 1 + np.cumsum(sizes) - sizes
        self._runs += zip(starts.tolist(), ends[1:].tolist(), before.tolist(), strict=True)
        self._offsets.extend(len(self._text) + np.cumsum(lengths))
        self._text += text
        self.numbered = not self._runs
        self.count = last

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, feature: int) -> str:
        if not 0 <= feature < self.count:
            raise IndexError(feature)
        name = None if self.numbered else self.given_name(feature)
        return f"{self.prefix}{feature + self.base}" if name is None else name

    def given_name(self, feature: int) -> str | None:
        """Return the name that a feature arrived with, or None if it is named by number."""
        i = bisect_right(self._runs, feature, key=lambda run: run[0]) - 1
        if i < 0 or feature >= self._runs[i][1]:
            return None
        start, _, before = self._runs[i]
        lo, hi = self._offsets.view[before + feature - start :][:2]
        return self._text[lo:hi].decode("utf-8", "surrogatepass")

    def find(self, name: str) -> int | None:
        """Return the newest feature called `name`, or None."""
        numbered, at = self.find_numbered(name), self.named.find(name)
        if at is None:
            return numbered
        start, _, before = self._runs[bisect_right(self._runs, at, key=lambda run: run[2]) - 1]
        return max(start + at - before, -1 if numbered is None else numbered)

    def find_numbered(self, name: str) -> int | None:
        """Return the unnamed feature that is called `name` by its number, or None."""
        # Nineteen digits hold every arrival number; Python refuses to parse thousands of digits.
        match = re.fullmatch(re.escape(self.prefix) + r"(\d{1,19})", name)
        if match is None:
            return None
        feature = int(match[1]) - self.base
        return feature if 0 <= feature < self.count and self[feature] == name else None
