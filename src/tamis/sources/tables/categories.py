"""Words as numbers: a column of words is coded by the sorted list of the words it holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def as_words(column: Any) -> Any:
    """Return an Arrow column as plain text, whatever its values are."""
    import pyarrow as pa

    text = pa.large_string()
    if not pa.types.is_dictionary(column.type):
        return column if column.type == text else column.cast(text)
    # Arrow cannot cast every dictionary; picking from the words works for all of them.
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return pa.chunked_array(
        [chunk.dictionary.cast(text).take(chunk.indices) for chunk in chunks], text
    ).combine_chunks()


def sorted_words(column: Any) -> Any:
    """The different words of a text column by code point, as an Arrow array; gaps are no words."""
    import pyarrow.compute as pc

    words = pc.drop_null(pc.unique(column))
    return words.take(pc.sort_indices(words))


def coded(column: Any, words: Any) -> Floats:
    """Return the index of each word in the sorted list, NaN for a missing one.

    >>> import pyarrow as pa
    >>> text = pa.array(["red", "blue", None, "red"], pa.large_string())
    >>> coded(text, sorted_words(text)).tolist()
    [1.0, 0.0, nan, 1.0]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    indices = pc.index_in(column, value_set=words).cast(pa.float64())
    return floats(indices)


def floats(column: Any) -> Floats:
    """Return an Arrow column of numbers or truth values as float64, NaN for a gap."""
    import pyarrow as pa

    if column.type != pa.float64():
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        # Whole numbers that floats cannot hold are refused elsewhere, by the name of the column.
        column = column.cast(pa.float64(), safe=False)
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    found: Floats = column.to_numpy(zero_copy_only=False)
    return found
