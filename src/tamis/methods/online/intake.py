"""Rows as learners want them: compressed, checked, hashed and scaled if asked for."""

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
from tamis.kernels import rows as kernel
from tamis.sources.base import BLOCK_ENTRIES
from tamis.sources.readers.row_reader import BadLines

#: Tells how a column is called in a sentence, and where a row is.
NameOf = Callable[[int], str]
Where = Callable[[int], str]


def of_block(block: RowBlock) -> Compressed:
    """The rows of a block, with the types that kernels take."""
    if not isinstance(block.values, Compressed):
        return of_dense(np.asarray(block.values, dtype=np.float64))
    rows, stored = block.values, len(block.values.indices)
    starts = np.asarray(rows.indptr)
    in_order = len(starts) > 0 and starts[0] >= 0 and bool(np.all(starts[1:] >= starts[:-1]))
    if not in_order or starts[-1] > stored or len(rows.data) != stored:
        raise InputError(
            "a RowBlock has pointers that do not fit its places and values; row r is "
            "places[pointers[r]:pointers[r + 1]]"
        )
    return _typed(rows.indptr, rows.indices, rows.data)


def of_sparse(matrix: Any) -> Compressed:
    """The rows of a scipy matrix, sharing memory where its types allow."""
    csr = matrix.tocsr()
    return _typed(csr.indptr, csr.indices, csr.data)


def canonical(matrix: Any) -> Compressed:
    """The same with the columns of each row rising, and entries that were given twice added up."""
    csr = matrix.tocsr().copy()
    csr.sum_duplicates()
    return of_sparse(csr)


def of_dense(table: npt.NDArray[np.float64]) -> Compressed:
    """What is not zero in a table."""
    filled = table != 0
    indptr = np.zeros(len(table) + 1, dtype=np.int64)
    np.cumsum(np.count_nonzero(filled, axis=1), out=indptr[1:])
    return Compressed(indptr, np.nonzero(filled)[1].astype(np.int32), table[filled])


def slices(
    table: npt.NDArray[np.float64],
) -> Iterator[tuple[int, npt.NDArray[np.float64]]]:
    """A table in parts of about a million numbers, each with the number of its first row."""
    step = max(1, BLOCK_ENTRIES // max(1, table.shape[1]))
    for first in range(0, len(table), step):
        yield first, table[first : first + step]


def spoilt_parts(table: npt.NDArray[np.float64]) -> Iterator[tuple[int, Compressed]]:
    """The parts of a table that hold NaN, infinity or something too large."""
    for first, part in slices(table):
        if part.size and not np.abs(part).max() <= kernel.LARGEST:
            yield first, of_dense(part)


def height_of(X: Any) -> int | None:
    """How many rows there are, if that can be told."""
    if isinstance(X, RowBlock):
        return X.height
    shape = getattr(X, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    return len(X) if hasattr(X, "__len__") else None


def of_dict(
    row: Mapping[Any, float], number_of: Callable[[str], int | None], hashed: bool, first: int
) -> Compressed:
    """One row from a dict of numbers or words to values; words without a number are left out."""
    for key, value in row.items():
        if not math.isfinite(value):  # before any word gets a number
            raise InputError(f"Input X contains NaN or infinity in row {first}, column {key!r}")
    entries = []
    for key, value in row.items():
        if isinstance(key, Integral):
            place: int | None = int(key)
        else:
            place = hash_of_word(str(key)) if hashed else number_of(str(key))
        if place is not None:
            entries.append((place, float(value)))
    entries.sort()
    indices = np.array([place for place, _ in entries], dtype=np.int64)
    values = np.array([value for _, value in entries], dtype=np.float64)
    return Compressed(np.array([0, len(entries)]), indices, values)


def hash_of_word(word: str) -> int:
    """A 63-bit number for a word, the same on every machine."""
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def codes_of(classes: npt.NDArray[Any], labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Numbers of the classes of rows; -1 for a label that is none.

    >>> codes_of(np.array([-1, 1]), np.array([1.0, 0.0, -1.0])).tolist()
    [1, -1, 0]
    """
    are_words, is_words = (array.dtype.kind in "USO" for array in (classes, labels))
    if are_words != is_words:
        return np.full(len(labels), -1, dtype=np.int64)
    try:
        codes = np.searchsorted(classes, labels)
    except TypeError as error:
        raise InputError(
            "labels mix words, numbers or gaps, which have no order; make them all words"
        ) from error
    codes[codes == len(classes)] = 0
    return np.where(classes[codes] == labels, codes, -1).astype(np.int64)


def signed(rows: Compressed, hashed: bool) -> Compressed:
    """The rows with signed numbers of features, unless they are to be hashed."""
    if hashed or rows.indices.dtype != np.uint64:
        return rows
    return Compressed(rows.indptr, rows.indices.astype(np.int64), rows.data)


#: What can be wrong with a row, in the words of a count.
IN_WORDS = {
    kernel.NOT_FINITE: "with NaN or infinity",
    kernel.TOO_LARGE: "with a number too large to learn from",
    kernel.NEGATIVE: "with a feature number below 0",
    kernel.BEYOND: "with a feature beyond the last column",
    kernel.NOT_RISING: "with features that do not rise",
}


def faults_of(rows: Compressed, n_columns: int, hashed: bool) -> npt.NDArray[np.uint8]:
    """What is wrong with each row, 0 for nothing."""
    faults = np.zeros(len(rows), dtype=np.uint8)
    kernel.find_faults(rows.indptr, rows.indices, rows.data, n_columns, not hashed, faults)
    return faults


def count_faults(bad: BadLines, faults: npt.NDArray[np.uint8], where: Where) -> None:
    """Count rows with faults by kind, and say where the first of each is."""
    for fault, words in IN_WORDS.items():
        rows = np.flatnonzero(faults == fault)
        if len(rows):
            bad.add(words, len(rows), where(int(rows[0])))


def checked(
    rows: Compressed,
    said: Where,
    n_columns: int,
    name_of: NameOf,
    hashed: bool,
    mend: Callable[[], Compressed] | None = None,
) -> Compressed:
    """The rows if nothing is wrong with them, or one sentence; `mend` puts their order right."""
    rows = signed(rows, hashed)
    fault, row, entry = kernel.find_fault(
        rows.indptr, rows.indices, rows.data, n_columns, not hashed
    )
    if fault == kernel.FINE:
        return rows
    if fault == kernel.NOT_RISING and mend is not None:
        return checked(mend(), said, n_columns, name_of, hashed)
    place, value = int(rows.indices[entry]), float(rows.data[entry])
    where = f"{said(row)}, column {name_of(place)}"
    if fault == kernel.NOT_FINITE:
        raise InputError(
            f"Input X contains NaN or infinity in {where}; fill the gaps (for example with "
            "sklearn.impute.SimpleImputer) or drop the rows"
        )
    if fault == kernel.TOO_LARGE:
        raise InputError(f"{where} holds {value:g}, which is too large to learn from; scale it")
    if fault == kernel.NEGATIVE:
        raise InputError(f"{said(row)} holds the feature number {place}, which is negative")
    if fault == kernel.BEYOND:
        raise InputError(
            f"{said(row)} holds feature {place}, but there are {n_columns} features; "
            "their numbers count from 0"
        )
    raise InputError(
        f"{said(row)} holds feature {place} after feature {int(rows.indices[entry - 1])}; "
        "the features of a row must rise, each given once"
    )


def _typed(
    indptr: npt.NDArray[Any], indices: npt.NDArray[Any], values: npt.NDArray[Any]
) -> Compressed:
    indices = np.ascontiguousarray(indices)
    if indices.dtype not in (np.int32, np.int64, np.uint64):
        indices = indices.astype(np.int64)
    return Compressed(
        np.ascontiguousarray(indptr, dtype=np.int64),
        indices,
        np.ascontiguousarray(values, dtype=np.float64),
    )
