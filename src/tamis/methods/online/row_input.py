"""Rows as the learners take them: converted to compressed rows, and checked.

Called by `scorer.py` and `learner.py` for arrays, matrices, row blocks and dicts.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import InputError
from tamis.kernels import row_scoring as kernel

#: Numbers of a dense table that are converted at a time.
PART_ENTRIES = 1_000_000


def block_rows(block: RowBlock) -> Compressed:
    """Return the rows of a block with the data types of the kernels."""
    if not isinstance(block.values, Compressed):
        return dense_rows(np.asarray(block.values, dtype=np.float64))
    rows, stored = block.values, len(block.values.indices)
    starts = np.asarray(rows.indptr)
    in_order = len(starts) > 0 and starts[0] >= 0 and bool(np.all(starts[1:] >= starts[:-1]))
    if not in_order or starts[-1] > stored or len(rows.data) != stored:
        raise InputError(
            "a RowBlock has an indptr that does not fit its indices and data; row r is "
            "indices[indptr[r]:indptr[r + 1]]"
        )
    return _typed(rows.indptr, rows.indices, rows.data)


def sparse_rows(matrix: Any) -> Compressed:
    """Return the rows of a scipy matrix, sharing memory if it is canonical and its types allow."""
    csr = matrix.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()  # sorts the indices too
    return _typed(csr.indptr, csr.indices, csr.data)


def dense_rows(table: npt.NDArray[np.float64]) -> Compressed:
    """Return the nonzeros of a table."""
    filled = table != 0
    indptr = np.zeros(len(table) + 1, dtype=np.int64)
    np.cumsum(np.count_nonzero(filled, axis=1), out=indptr[1:])
    return Compressed(indptr, np.nonzero(filled)[1].astype(np.int32), table[filled])


def dense_parts(
    table: npt.NDArray[np.float64],
) -> Iterator[tuple[int, npt.NDArray[np.float64]]]:
    """Cut a table into parts of about a million numbers, each with the number of its first row."""
    step = max(1, PART_ENTRIES // max(1, table.shape[1]))
    for first in range(0, len(table), step):
        yield first, table[first : first + step]


def n_rows_of(X: Any) -> int | None:
    """Return the number of rows, if it is known."""
    if isinstance(X, RowBlock):
        return X.height
    shape = getattr(X, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    return len(X) if hasattr(X, "__len__") else None


def dict_row(
    row: Mapping[Any, float], number_of: Callable[[str], int | None], hashed: bool, first: int
) -> Compressed:
    """Return one row from a dict of numbers or names to values; unknown names are left out.

    Names are looked up in their own order, so the order of the dict does not decide which of two
    new names gets the lower number.
    """
    for key, value in row.items():
        if not math.isfinite(value):  # before any name gets a number
            raise InputError(f"Input X contains NaN or infinity in row {first}, column {key!r}")
    entries = []
    for key, value in sorted(row.items(), key=lambda item: str(item[0])):
        if isinstance(key, Integral):
            feature: int | None = int(key)
        else:
            feature = hash_name(str(key)) if hashed else number_of(str(key))
        if feature is not None:
            entries.append((feature, float(value)))
    entries.sort()
    indices = np.array([feature for feature, _ in entries], dtype=np.int64)
    values = np.array([value for _, value in entries], dtype=np.float64)
    return Compressed(np.array([0, len(entries)]), indices, values)


def hash_name(name: str) -> int:
    """Return a 63-bit number for a name, the same on every machine."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def codes_of(classes: npt.NDArray[Any], labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the position of each label among the classes; -1 for a label that is not a class.

    >>> codes_of(np.array([-1, 1]), np.array([1.0, 0.0, -1.0])).tolist()
    [1, -1, 0]
    """
    classes_are_text, labels_are_text = (a.dtype.kind in "USO" for a in (classes, labels))
    if classes_are_text != labels_are_text:
        return np.full(len(labels), -1, dtype=np.int64)
    try:
        codes = np.searchsorted(classes, labels)
    except TypeError as error:
        raise InputError(
            "labels mix text, numbers or missing values, which have no order; make them all text"
        ) from error
    codes[codes == len(classes)] = 0
    return np.where(classes[codes] == labels, codes, -1).astype(np.int64)


def signed(rows: Compressed, hashed: bool) -> Compressed:
    """Return the rows with signed feature numbers, unless these are hashed later."""
    if hashed or rows.indices.dtype != np.uint64:
        return rows
    return Compressed(rows.indptr, rows.indices.astype(np.int64), rows.data)


#: Descriptions of bad rows, for counts of skipped lines.
FAULTS = {
    kernel.NOT_FINITE: "with NaN or infinity",
    kernel.TOO_LARGE: "with a number too large to learn from",
    kernel.NEGATIVE: "with a feature number below 0",
    kernel.BEYOND: "with a feature beyond the last column",
    kernel.NOT_RISING: "with features that do not rise",
}


def _typed(indptr: Any, indices: Any, values: Any) -> Compressed:
    indices = np.ascontiguousarray(indices)
    if indices.dtype not in (np.int32, np.int64, np.uint64):
        indices = indices.astype(np.int64)
    values = np.ascontiguousarray(values, dtype=np.float64)
    return Compressed(np.ascontiguousarray(indptr, dtype=np.int64), indices, values)
