"""The named columns that a selection has seen: hashes of their names and of their values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.growable import Growable
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
    both = np.array([target.values, codes], np.float64).T
    return hashes_of(ColumnBlock(0, target.n_rows, both))


def equal_to_target(block: ColumnBlock, target: Target) -> int | None:
    """Return the arrival number of a column that equals the target in every row, or None.

    A few rows rule out nearly all columns, so this is very cheap.
    """
    if block.n_rows != target.n_rows:
        return None  # which the selector reports
    codes = target.values if target.codes is None else target.codes.astype(np.float64)
    for wanted in (target.values, codes):
        for column in _candidates(block, wanted):
            if isinstance(block.values, Compressed):
                one, dense = block.values.part(column, column + 1), np.zeros(block.n_rows)
                dense[one.indices] = one.data
            else:
                dense = block.values[:, column]
            if np.array_equal(dense, wanted):
                return block.first + int(column)
    return None


def _candidates(block: ColumnBlock, wanted: npt.NDArray[np.float64]) -> Ints:
    v = block.without_zeros().values if block.narrow is None else block.narrow
    if isinstance(v, Compressed):
        rows = np.flatnonzero(wanted)
        found = np.flatnonzero(np.diff(v.indptr) == len(rows))
        for at in np.linspace(0, len(rows) - 1, 8).astype(np.intp) if len(rows) else ():
            stored = v.indptr[found] + at
            same = (v.indices[stored] == rows[at]) & (v.data[stored] == wanted[rows[at]])
            found = found[same]
        return found
    rows = np.linspace(0, block.n_rows - 1, 16).astype(np.intp)
    return np.flatnonzero((v[rows] == wanted[rows, None]).all(axis=0))


def name_hashes(names: Names) -> Hashes:
    """Return a hash of each name."""
    out = np.empty(len(names), dtype=np.uint64)
    hash_names(np.frombuffer(names.blob, dtype=np.uint8), names.offsets, out)
    return out


@dataclass(eq=False)
class SeenColumns:
    """The named columns that a selection has seen: eight bytes each for name, values and number.

    Columns without a name are not in it: they are new arrivals every time.
    """

    #: Numbers of the columns, rising.
    features: Growable = field(default_factory=lambda: Growable(np.int64))
    _names: Growable = field(default_factory=lambda: Growable(np.uint64))
    _values: Growable = field(default_factory=lambda: Growable(np.uint64))
    _sorted: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def add(self, features: Ints, names: Hashes, values: Hashes) -> None:
        """Add columns by their numbers, which are larger than those before, and their hashes."""
        if not len(features) == len(names) == len(values):
            raise ValueError("the arrays of the columns seen do not fit together")
        self.features.extend(features)
        self._names.extend(names)
        self._values.extend(values)

    def forget(self, features: Iterable[int]) -> None:
        """Forget columns, so that they count as new if they are fed again."""
        stays = ~np.isin(self.features.view, np.array(list(features), dtype=np.int64))
        for array in (self.features, self._names, self._values):
            kept, array.view = array.view[stays], array.view[:0]
            array.extend(kept)
        self._sorted = np.zeros(0, np.int64)

    def find(self, names: Names) -> tuple[Ints, Hashes]:
        """Return the number of the column of each name (-1: not seen), and the hash of its values.

        Two names share a hash with probability 2^-64; a caller that rejects a name compares it.
        """
        found, values = np.full(len(names), -1, np.int64), np.zeros(len(names), np.uint64)
        known = self._names.view
        if not len(known) or not len(names):
            return found, values
        if len(self._sorted) != len(known):
            self._sorted = np.argsort(known, kind="stable")
        wanted = name_hashes(names)
        ends = np.searchsorted(known, wanted, side="right", sorter=self._sorted)
        indices = self._sorted[np.maximum(ends - 1, 0)]
        hits = np.flatnonzero((ends > 0) & (known[indices] == wanted))
        found[hits] = self.features.view[indices[hits]]
        values[hits] = self._values.view[indices[hits]]
        return found, values

    def with_values(self, hashes: Hashes) -> Ints:
        """Return the numbers of the columns whose values have one of some hashes."""
        return self.features.view[np.isin(self._values.view, hashes)]

    def has(self, feature: int) -> bool:
        """Return whether a column was seen, by its number."""
        at = int(np.searchsorted(self.features.view, feature))
        return at < len(self.features.view) and int(self.features.view[at]) == feature

    def arrays(self, first: int, last: int) -> dict[str, npt.NDArray[Any]]:
        """Return the columns first to last - 1 as plain arrays, for a file."""
        lo, hi = np.searchsorted(self.features.view, [first, last])
        return {
            "features": self.features.view[lo:hi],
            "names": self._names.view[lo:hi],
            "values": self._values.view[lo:hi],
        }
