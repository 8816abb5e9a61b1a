"""Which named columns a selection has seen: hashes of their names and of their values."""

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
    """A hash of the values of each column, the same in every layout."""
    out = np.empty(block.width, dtype=np.uint64)
    if isinstance(block.values, Compressed):
        v = block.values
        bits = np.ascontiguousarray(v.data, dtype=np.float64).view(np.uint64)
        arrays = (np.empty(0, np.uint64), v.indptr, v.indices, bits)
        work = v.indptr
    else:
        none = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.uint64)
        arrays = (np.ascontiguousarray(block.entries).view(np.uint64), *none)
        work = np.arange(block.width + 1, dtype=np.int64) * block.n_rows
    over_columns(lambda lo, hi: hash_columns(*arrays, block.n_rows, lo, hi, out), work)
    return out


def target_hashes(target: Target) -> Hashes:
    """Hashes of columns that say what the target says: its numbers, and the codes of its words."""
    codes = target.values if target.codes is None else target.codes.astype(np.float64)
    return hashes_of(ColumnBlock.of(np.column_stack([target.values, codes])))


def name_hashes(names: Names) -> Hashes:
    """A hash of each name."""
    out = np.empty(len(names), dtype=np.uint64)
    hash_names(np.frombuffer(names.blob, dtype=np.uint8), names.offsets, out)
    return out


class Ledger:
    """The columns that count as seen, by name; eight bytes each for name, values and number.

    Columns that came without a name are not in it: they are new arrivals every time.
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
        """Enter columns from number `first` on."""
        self._parts.append((np.arange(first, first + len(names)), name_hashes(names), values))
        self._sorted = None

    def forget(self, features: Iterable[int]) -> None:
        """Let columns come again as new ones."""
        self._gather()
        stays = ~np.isin(self._features, np.array(list(features), dtype=np.int64))
        self._features, self._names = self._features[stays], self._names[stays]
        self._values, self._sorted = self._values[stays], None

    def find(self, names: Names) -> tuple[Ints, Hashes]:
        """The number of the column of each name (-1: not seen), and the hash of its values.

        Two names share a hash by chance once in 2^64; whoever refuses a name looks at it again.
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
        """The numbers of the columns whose values have one of some hashes."""
        self._gather()
        return self._features[np.isin(self._values, hashes)]

    def has(self, feature: int) -> bool:
        """Tell whether a column is in it, by its number."""
        self._gather()
        at = int(np.searchsorted(self._features, feature))
        return at < len(self._features) and int(self._features[at]) == feature

    def arrays(self, first: int = 0) -> dict[str, npt.NDArray[Any]]:
        """The columns from number `first` on as plain arrays, for a file."""
        self._gather()
        at = int(np.searchsorted(self._features, first))
        return {
            "ledger_features": self._features[at:],
            "ledger_names": self._names[at:],
            "ledger_values": self._values[at:],
        }

    def add_arrays(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Enter what `arrays` gave."""
        kinds = {"features": np.int64, "names": np.uint64, "values": np.uint64}
        part = tuple(arrays[f"ledger_{key}"].astype(kind) for key, kind in kinds.items())
        if len({len(array) for array in part}) != 1:
            raise ValueError("the ledger's arrays do not fit together")
        self._parts.append(part)  # type: ignore[arg-type]
        self._sorted = None

    def _gather(self) -> None:
        """Join what was entered since."""
        if self._parts:
            before = (self._features, self._names, self._values)
            joined = [np.concatenate(some) for some in zip(before, *self._parts, strict=True)]
            self._features, self._names, self._values = joined
            self._parts = []
