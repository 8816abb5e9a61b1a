"""The named columns that a selection has seen: hashes of their names and of their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.names import Names
from tamis.core.target import Target
from tamis.kernels.hashing import hash_columns, hash_names
from tamis.kernels.threads import over_columns

Hashes = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]


def hashes_of(block: ColumnBlock) -> Hashes:
    """Return a hash of the values of each column, the same in every layout."""
    out = np.empty(block.width, dtype=np.uint64)
    flat, indptr, indices, data = block.arrays
    flat, data = (np.ascontiguousarray(a, np.float64).view(np.uint64) for a in (flat, data))
    arrays = (flat, indptr, indices, data)
    over_columns(lambda lo, hi: hash_columns(*arrays, block.n_rows, lo, hi, out), block.spans)
    return out


def target_hashes(target: Target) -> Hashes:
    """Return hashes of columns equal to the target: its numbers, and the codes of its classes."""
    codes = target.values if target.codes is None else target.codes.astype(np.float64)
    return hashes_of(ColumnBlock.of(np.column_stack([target.values, codes])))


def equal_to_target(block: ColumnBlock, target: Target) -> int | None:
    """Return the first column of a block that equals the target in every row, or None.

    A few rows rule out nearly all columns, so this costs next to nothing.
    """
    codes = target.values if target.codes is None else target.codes.astype(np.float64)
    for wanted in (target.values, codes):
        for column in _candidates(block, wanted):
            one = block.pick(np.array([column]))
            if np.array_equal(_dense_column(one), wanted):
                return int(column)
    return None


def _candidates(block: ColumnBlock, wanted: npt.NDArray[np.float64]) -> Ints:
    if isinstance(block.values, Compressed):
        v, rows = block.values.without_zeros(), np.flatnonzero(wanted)
        found = np.flatnonzero(np.diff(v.indptr) == len(rows))
        for at in np.linspace(0, len(rows) - 1, 8).astype(np.intp):
            stored = v.indptr[found] + at
            same = (v.indices[stored] == rows[at]) & (v.data[stored] == wanted[rows[at]])
            found = found[same]
        return found
    rows = np.linspace(0, block.n_rows - 1, 16).astype(np.intp)
    return np.flatnonzero((block.values[rows] == wanted[rows, None]).all(axis=0))


def _dense_column(block: ColumnBlock) -> npt.NDArray[np.float64]:
    if not isinstance(block.values, Compressed):
        return np.asarray(block.values[:, 0], dtype=np.float64)
    dense = np.zeros(block.n_rows)
    dense[block.values.indices] = block.values.data
    return dense


def name_hashes(names: Names) -> Hashes:
    """Return a hash of each name."""
    out = np.empty(len(names), dtype=np.uint64)
    hash_names(np.frombuffer(names.blob, dtype=np.uint8), names.offsets, out)
    return out


class SeenColumns:
    """The named columns that a selection has seen: eight bytes each for name, values and number.

    Columns without a name are not in it: they are new arrivals every time.
    """

    def __init__(self) -> None:
        self._features: Ints = np.zeros(0, np.int64)
        self._names: Hashes = np.zeros(0, np.uint64)
        self._values: Hashes = np.zeros(0, np.uint64)
        self._parts: list[tuple[Ints, Hashes, Hashes]] = []
        self._sorted: npt.NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self._features) + sum(len(features) for features, _, _ in self._parts)

    def add(self, first: int, names: Names, values: Hashes) -> None:
        """Add columns from number `first` on."""
        self._parts.append((np.arange(first, first + len(names)), name_hashes(names), values))
        self._sorted = None

    def forget(self, features: Iterable[int]) -> None:
        """Let columns arrive again as new ones."""
        self._gather()
        stays = ~np.isin(self._features, np.array(list(features), dtype=np.int64))
        self._features, self._names = self._features[stays], self._names[stays]
        self._values, self._sorted = self._values[stays], None

    def find(self, names: Names) -> tuple[Ints, Hashes]:
        """Return the number of the column of each name (-1: not seen), and the hash of its values.

        Two names share a hash by chance once in 2^64; a caller that refuses a name compares it.
        """
        self._gather()
        found, values = np.full(len(names), -1, np.int64), np.zeros(len(names), np.uint64)
        if not len(self._features) or not len(names):
            return found, values
        if self._sorted is None:
            self._sorted = np.argsort(self._names, kind="stable")
        wanted = name_hashes(names)
        ends = np.searchsorted(self._names, wanted, side="right", sorter=self._sorted)
        indices = self._sorted[np.maximum(ends - 1, 0)]
        hits = np.flatnonzero((ends > 0) & (self._names[indices] == wanted))
        found[hits], values[hits] = self._features[indices[hits]], self._values[indices[hits]]
        return found, values

    def with_values(self, hashes: Hashes) -> Ints:
        """Return the numbers of the columns whose values have one of some hashes."""
        self._gather()
        return self._features[np.isin(self._values, hashes)]

    def has(self, feature: int) -> bool:
        """Tell whether a column was seen, by its number."""
        self._gather()
        at = int(np.searchsorted(self._features, feature))
        return at < len(self._features) and int(self._features[at]) == feature

    def arrays(self, first: int, last: int) -> dict[str, npt.NDArray[Any]]:
        """Return the columns first to last - 1 as plain arrays, for a file."""
        self._gather()
        lo, hi = np.searchsorted(self._features, [first, last])
        return {
            "features": self._features[lo:hi],
            "names": self._names[lo:hi],
            "values": self._values[lo:hi],
        }

    def add_arrays(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Add what `arrays` returned."""
        kinds = {"features": np.int64, "names": np.uint64, "values": np.uint64}
        part = tuple(arrays[key].astype(kind) for key, kind in kinds.items())
        if len({len(array) for array in part}) != 1:
            raise ValueError("the arrays of the columns seen do not fit together")
        self._parts.append(part)  # type: ignore[arg-type]
        self._sorted = None

    def _gather(self) -> None:
        """Join what was added since."""
        if self._parts:
            before = (self._features, self._names, self._values)
            joined = [np.concatenate(some) for some in zip(before, *self._parts, strict=True)]
            self._features, self._names, self._values = joined
            self._parts = []
