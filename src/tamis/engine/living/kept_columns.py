"""The values of the kept columns: what a selection must hold to go on, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.errors import SourceError

Ints = npt.NDArray[np.int64]


class KeptColumns:
    """Kept columns by feature number, each as its rows and numbers that are not zero."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self._columns: dict[int, tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]] = {}

    def __len__(self) -> int:
        return len(self._columns)

    def __contains__(self, feature: int) -> bool:
        return feature in self._columns

    def take(self, block: ColumnBlock, kept: Ints) -> None:
        """Hold those columns of an absorbed block that are kept, and let go of what is not.

        What fell in the meantime goes when it outnumbers what is kept.
        """
        lo, hi = np.searchsorted(kept, [block.first, block.first + block.width])
        for feature in kept[lo:hi].tolist():
            self._columns[feature] = _nonzeros(block, feature - block.first)
        if len(self._columns) > 2 * len(kept) + 64:
            self.keep_only(kept.tolist())

    def keep_only(self, features: Iterable[int]) -> None:
        """Let go of all other columns."""
        self._columns = {f: self._columns[f] for f in features if f in self._columns}

    def rows_of(self, feature: int) -> npt.NDArray[np.int32]:
        """Rows in which a kept column is not zero."""
        return self._columns[feature][0]

    def block(self, features: Iterable[int]) -> ColumnBlock:
        """Some kept columns as one block, in the order given."""
        arrays = self.arrays(features)
        values = Compressed(
            arrays["column_pointers"], arrays["column_rows"], arrays["column_values"]
        )
        return ColumnBlock(0, self.n_rows, values)

    def arrays(self, features: Iterable[int]) -> dict[str, npt.NDArray[Any]]:
        """Some kept columns as plain arrays, for a file."""
        chosen = list(features)
        held = [self._columns[f] for f in chosen]
        indptr = np.zeros(len(held) + 1, dtype=np.int64)
        np.cumsum([len(rows) for rows, _ in held], out=indptr[1:])
        none = np.zeros(0, np.int32), np.zeros(0)
        return {
            "column_features": np.array(chosen, dtype=np.int64),
            "column_pointers": indptr,
            "column_rows": np.concatenate([none[0], *(rows for rows, _ in held)]),
            "column_values": np.concatenate([none[1], *(values for _, values in held)]),
        }

    def add_arrays(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Hold what `arrays` gave; a file may come from a stranger, so all of it is looked at."""
        features = arrays["column_features"].astype(np.int64)
        indptr = arrays["column_pointers"].astype(np.int64)
        rows = arrays["column_rows"].astype(np.int32)
        values = arrays["column_values"].astype(np.float64)
        shaped = (
            len(indptr) == len(features) + 1
            and indptr[0] == 0
            and bool(np.all(np.diff(indptr) >= 0))
            and indptr[-1] == len(rows) == len(values)
        )
        if not shaped:
            raise SourceError("the kept columns do not fit together")
        rises = np.diff(rows) > 0
        begins = indptr[1:-1][(indptr[1:-1] > 0) & (indptr[1:-1] < len(rows))]
        rises[begins - 1] = True
        outside = len(rows) and (rows.min() < 0 or rows.max() >= self.n_rows)
        if outside or not rises.all() or not np.isfinite(values).all():
            raise SourceError("the kept columns hold rows or numbers that cannot be")
        for i, feature in enumerate(features.tolist()):
            a, b = indptr[i], indptr[i + 1]
            self._columns[feature] = (rows[a:b], values[a:b])


def _nonzeros(block: ColumnBlock, j: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Rows and numbers of column j of a block that are not zero, copied."""
    if isinstance(block.values, Compressed):
        one = block.values.part(j, j + 1)
        filled = one.data != 0
        return one.indices[filled].astype(np.int32), one.data[filled].astype(np.float64)
    column = block.values[:, j]
    rows = np.flatnonzero(column)
    return rows.astype(np.int32), column[rows].astype(np.float64)
