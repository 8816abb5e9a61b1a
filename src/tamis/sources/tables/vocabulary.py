"""Vocabulary: the sorted distinct values of a column; the code of a value is its index."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.errors import SourceError
from tamis.core.names import Names
from tamis.sources.tables.table_columns import as_words, kind_of, sorted_words


class Vocabulary:
    """Distinct integers, or strings sorted by code point, collected batch by batch.

    `values` is an array of integers, or an Arrow array of strings. `rising` is True if the values
    have arrived in non-decreasing order so far.
    """

    def __init__(self, where: str, kind: Any) -> None:
        import pyarrow as pa

        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        self._where = where
        self.is_numbers = pa.types.is_integer(kind)
        if not self.is_numbers and kind_of(kind) != "text":
            raise SourceError(f"{where} is of type {kind}; give whole numbers or text")
        self.values = self._of(pa.array([], kind))
        self._last: Any = None
        self.rising = True

    def __len__(self) -> int:
        return len(self.values)

    def add(self, column: Any) -> None:
        """Add the values of some lines."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if column.null_count:
            raise SourceError(f"{self._where} has a missing value; name every row and feature")
        if not len(column):
            return
        values = self._of(column)
        if self.is_numbers:
            first, last, falls = values[0], values[-1], bool(np.any(values[1:] < values[:-1]))
            self.values = np.union1d(self.values, values)
        else:
            first, last = values[0].as_py(), values[-1].as_py()
            falls = pc.any(pc.less(values[1:], values[:-1])).as_py() or False
            self.values = sorted_words(pa.concat_arrays([self.values, pc.unique(values)]))
        self.rising &= not falls and (self._last is None or first >= self._last)
        self._last = last

    def codes(self, column: Any) -> npt.NDArray[np.int64]:
        """Return the code of each value."""
        import pyarrow.compute as pc

        values = self._of(column)
        if self.is_numbers:
            indices: npt.NDArray[Any] = np.searchsorted(self.values, values)
        else:
            indices = pc.index_in(values, value_set=self.values).to_numpy(zero_copy_only=False)
        return indices.astype(np.int64)

    def names(self) -> Names:
        """Return the values as packed names, without one Python object per name."""
        import pyarrow as pa

        words = self.values
        if self.is_numbers:
            words = pa.array(self.values).cast(pa.large_string())
        offsets = np.frombuffer(words.buffers()[1], np.int64, len(words) + 1, words.offset * 8)
        data = words.buffers()[2]
        first, last = int(offsets[0]), int(offsets[-1])
        return Names(b"" if data is None else data[first:last].to_pybytes(), offsets - first)

    def name(self, place: int) -> str:
        """Return one value as text."""
        return str(self.values[place])

    def _of(self, column: Any) -> Any:
        import pyarrow as pa

        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if not self.is_numbers:
            return as_words(column)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        return column.to_numpy(zero_copy_only=False)
