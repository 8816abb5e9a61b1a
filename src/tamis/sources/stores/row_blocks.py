"""Encode blocks of rows of a row store as bytes, and decode them, in the narrowest exact types.

blocks.npy has one line of int64 per block of complete rows; the fields are listed below. In
gaps.npy, a block has one unit per entry, followed by the positions and values (int64) of the gaps
that are too large for a unit. In values.npy, it has its values in the narrowest type that is exact
for all of them, or nothing if all are 1. Each of these begins at a multiple of eight bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed
from tamis.core.errors import InputError
from tamis.kernels.row_codes import NOT_RISING, decode_gaps, encode_gaps, measure_gaps
from tamis.sources.stores.store_files import GrowingFile, Seen, fit_float32
from tamis.sources.stores.store_folder import OpenFiles

#: Fields of a line of blocks.npy: the first row, where its gaps begin, bytes per unit, number of
#: far gaps (too large for a unit), where its values begin, and bytes per value.
LINE = FIRST_ROW, FIRST_GAP, WIDTH, FAR, FIRST_VALUE, VALUE_WIDTH = range(6)

#: Types of units by their width in bytes.
UNITS = {n: np.dtype(f"<u{n}") for n in (1, 2, 4, 8)}
#: Types of values by their width in bytes; 0: all are 1.
VALUES = {
    0: None, 1: np.dtype("u1"), 2: np.dtype("<u2"), 4: np.dtype("<f4"), 8: np.dtype("<f8"),
}  # fmt: skip

#: Largest share of gaps that may be far: more of them would make decoding slow.
_MOST_FAR = 1 / 64
#: Smaller gaps fit in a unit of 1, 2 or 4 bytes; 8 bytes hold every gap.
_LIMITS = np.array([2**8, 2**16, 2**32], dtype=np.uint64)


def lines_fit(lines: npt.NDArray[np.int64], n_rows: int) -> bool:
    """Return True if the blocks cover all rows in order and their lines are valid."""
    if lines.ndim != 2 or lines.shape[1] != len(LINE) or not len(lines):
        return False
    rows, indices = np.append(lines[:, FIRST_ROW], n_rows), lines[:, [FIRST_GAP, FAR, FIRST_VALUE]]
    return bool(
        rows[0] == 0
        and np.all(rows[1:] > rows[:-1])
        and np.all((indices >= 0) & (indices < 2**48))
        and np.all(np.isin(lines[:, WIDTH], list(UNITS)))
        and np.all(np.isin(lines[:, VALUE_WIDTH], list(VALUES)))
    )


def write_block(
    rows: Compressed, first_row: int, seen: Seen, files: dict[str, GrowingFile]
) -> tuple[int, int]:
    """Append a block to gaps, values and blocks; return (highest feature, bytes per value)."""
    beyond = np.zeros(len(_LIMITS), dtype=np.int64)
    fault, row, highest = measure_gaps(rows.indptr, rows.indices, -1, _LIMITS, beyond)
    if fault == NOT_RISING:
        raise InputError(
            f"row {first_row + row} holds feature {highest} out of order; the features of a row "
            "must rise from 0, each given once"
        )
    width, n_far = _narrowest(len(rows.indices), beyond.tolist())
    units, far = np.empty(len(rows.indices), UNITS[width]), np.empty((2, n_far), np.int64)
    limit = 2 ** (8 * width) if width < 8 else np.iinfo(np.int64).max
    encode_gaps(rows.indptr, rows.indices, -1, limit, units, *far)
    value_width, values = _narrowed(np.asarray(rows.data, dtype=np.float64), seen)
    gaps, numbers = files["gaps.npy"], files["values.npy"]
    line = [first_row, gaps.bytes, width, n_far, numbers.bytes, value_width]
    files["blocks.npy"].append(line)
    for file, part in ((gaps, units), (gaps, far), (numbers, values)):
        file.append(part.reshape(-1).view(np.uint8))
        file.append(np.zeros(-part.nbytes % 8, dtype=np.uint8))
    return int(highest), value_width


def read_block(
    files: OpenFiles, line: list[int], n_rows: int, start: int, n_columns: int
) -> Compressed | None:
    """Decode the block of a line of blocks.npy; return None if it is inconsistent."""
    indptr = files.read("pointers.npy", line[FIRST_ROW], line[FIRST_ROW] + n_rows + 1)
    begin, n = int(indptr[0]), int(indptr[-1] - indptr[0])
    indptr -= begin
    at, width = line[FIRST_GAP], line[WIDTH]
    far_at = at + n * width + -(n * width) % 8
    end = far_at + 16 * line[FAR]
    # A damaged length must be detected before memory is allocated for it.
    if n < 0 or end > files.length("gaps.npy"):
        return None
    gaps = files.read("gaps.npy", at, end, scratch=True)
    units = gaps[: n * width].view(UNITS[width])
    far = gaps[far_at - at :].view(np.int64).reshape(2, -1)
    if width == 8:  # their sum may overflow: check each one
        far = np.stack([np.arange(n), units.view(np.int64)])
    indices = np.empty(n, dtype=np.int32 if n_columns < 2**31 else np.int64)
    if not decode_gaps(indptr, units, *far, start, n_columns, indices):
        return None
    values = _values(files, line, n)
    return None if values is None else Compressed(indptr, indices, values)


def _values(files: OpenFiles, line: list[int], n: int) -> npt.NDArray[np.float64] | None:
    at, width = line[FIRST_VALUE], line[VALUE_WIDTH]
    dtype = VALUES[width]
    if dtype is None:
        return np.ones(n)
    if at + n * width > files.length("values.npy"):
        return None
    # Numbers that are already float64 are read directly into the result.
    read = files.read("values.npy", at, at + n * width, scratch=width < 8).view(dtype)
    return read.astype(np.float64, copy=False)


def _narrowest(entries: int, beyond: list[int]) -> tuple[int, int]:
    """Return the unit width that takes the fewest bytes, and the number of far gaps."""
    best, fewest = (8, 0), 8 * entries
    for width, far in zip((4, 2, 1), reversed(beyond), strict=True):
        size = width * entries + 16 * far
        if size < fewest and far <= entries * _MOST_FAR:
            best, fewest = (width, far), size
    return best


def _narrowed(values: npt.NDArray[np.float64], seen: Seen) -> tuple[int, npt.NDArray[Any]]:
    """Return the width of the narrowest exact type, and the values in it."""
    there = seen.prepare(values)
    if len(there) < len(values) or not np.all(values == 1.0):
        for width in (1, 2):
            if len(there) == len(values) and _are_whole(values, UNITS[width]):
                return width, values.astype(UNITS[width])
        width = 4 if fit_float32(there) else 8
        return width, values.astype(VALUES[width])
    return 0, np.empty(0, dtype=np.uint8)


def _are_whole(values: npt.NDArray[np.float64], dtype: np.dtype[Any]) -> bool:
    """Return True if an integer type holds all values exactly; it has no negative zero."""
    if not (values.min() >= 0 and values.max() <= np.iinfo(dtype).max):
        return False
    back = values.astype(dtype).astype(np.float64)
    return np.array_equal(back.view(np.int64), values.view(np.int64))
