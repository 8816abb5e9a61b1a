"""Discrete columns, coded: the rows that leave the most common level, and the level counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.kernels.information import entropy_table
from tamis.kernels.levels import encode, encode_dense
from tamis.measures.measure import Ints, Prepared
from tamis.measures.panels import compressed


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column as the rows that leave its most common level, with the count of every level."""

    rows: npt.NDArray[np.int32]
    codes: npt.NDArray[np.int32]
    level_counts: Ints
    entropy: int

    @property
    def n_levels(self) -> int:
        """Number of levels that occur."""
        return int(np.count_nonzero(self.level_counts))


@dataclass(frozen=True, eq=False)
class CodedColumns(Prepared):
    """Many coded columns, end to end."""

    arrays: ClassVar[Mapping[str, str | None]] = {
        "rows": "indptr",
        "codes": "indptr",
        "level_counts": "level_pointers",
        "entropies": None,
    }

    indptr: Ints
    rows: npt.NDArray[np.int32]
    codes: npt.NDArray[np.int32]
    level_pointers: Ints
    level_counts: Ints
    entropies: Ints

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, i: Any) -> Any:
        a, b = self.indptr[i], self.indptr[i + 1]
        counts = self.level_counts[self.level_pointers[i] : self.level_pointers[i + 1]]
        return CodedColumn(self.rows[a:b], self.codes[a:b], counts, int(self.entropies[i]))

    @cached_property
    def widest(self) -> int:
        """Largest number of levels of a column."""
        return int(np.diff(self.level_pointers).max())

    @property
    def mean_n_levels(self) -> float:
        """Mean number of distinct values per column."""
        return float(np.count_nonzero(self.level_counts)) / len(self)


def code_columns(block: ColumnBlock, picks: npt.NDArray[np.intp]) -> CodedColumns:
    """Code the picked columns of a block."""
    n, width = block.n_rows, len(picks)
    v = compressed(block, picks) if isinstance(block.values, Compressed) else None
    stored = n * width if v is None else v.stored
    indptr, level_pointers = np.zeros(width + 1, np.int64), np.zeros(width + 1, np.int64)
    rows, codes = np.empty(stored + 1, np.int32), np.empty(stored + 1, np.int32)
    counts = np.empty(stored + width, np.int64)
    into = (indptr, rows, codes, level_pointers, counts)
    if v is None:
        encode_dense(np.asfortranarray(block.values), picks, *into)
    else:
        encode(v.indptr, v.indices, v.data, n, *into)
    table, _ = table_of(n)
    counts = counts[: level_pointers[-1]].copy()
    h = np.zeros(0, np.int64)
    if width:
        h = table[n] - np.add.reduceat(table[counts], level_pointers[:-1])
    return CodedColumns(indptr, rows, codes, level_pointers, counts, h)


_tables: dict[int, tuple[Ints, float]] = {}


def table_of(n: int) -> tuple[Ints, float]:
    """Return the entropy table for n rows; the last few are cached."""
    if n not in _tables:
        while len(_tables) >= 4:
            _tables.pop(next(iter(_tables)))
        _tables[n] = entropy_table(n)
    return _tables[n]
