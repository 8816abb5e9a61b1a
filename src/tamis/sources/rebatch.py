"""Regroup pieces of rows of any height into blocks of a given height."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed, compressed_columns

#: The targets of some rows, if any, and the rows: all compressed, or all arrays.
Piece = tuple[npt.NDArray[Any] | None, Any]


def rebatch(pieces: Iterable[Piece], size: int | None) -> Iterator[Piece]:
    """Cut rows into blocks of `size` rows; None leaves the pieces unchanged."""
    held: list[Piece] = []
    height = 0
    for y, rows in pieces:
        done = 0
        while size is not None and height + len(rows) - done >= size:
            cut = done + size - height
            yield join([*held, _cut(y, rows, done, cut)])
            held, height, done = [], 0, cut
        if done < len(rows):
            held.append(_cut(y, rows, done, len(rows)))
            height += len(rows) - done
        if size is None and held:
            yield held.pop()
    if height and size is not None:
        yield join(held)


def _cut(y: npt.NDArray[Any] | None, rows: Any, lo: int, hi: int) -> Piece:
    part = rows.part(lo, hi) if isinstance(rows, Compressed) else rows[lo:hi]
    return None if y is None else y[lo:hi], part


def join(pieces: list[Piece]) -> Piece:
    """Concatenate pieces into one."""
    if len(pieces) == 1:
        return pieces[0]
    rows = [piece for _, piece in pieces]
    targets = [y for y, _ in pieces if y is not None]
    y = join_labels(targets) if targets else None
    if not isinstance(rows[0], Compressed):
        return y, np.concatenate(rows)
    lengths = np.concatenate([np.diff(piece.indptr) for piece in rows])
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    indices = np.concatenate([piece.indices for piece in rows])
    values = np.concatenate([piece.data for piece in rows])
    return y, Compressed(indptr, indices, values)


def join_labels(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Concatenate targets; whole numbers beyond 2^53 stay exact beside smaller ones as floats.

    >>> join_labels([np.array([1.0, 2.0]), np.array([2**60 + 1])]).tolist()
    [1, 2, 1152921504606846977]
    """
    kinds = {part.dtype.kind for part in parts}
    floats = [part for part in parts if part.dtype.kind == "f"]
    if kinds == {"i", "f"} and all(map(are_whole, floats)):
        parts = [part.astype(np.int64) for part in parts]
    return np.concatenate(parts)


def are_whole(numbers: npt.NDArray[np.float64]) -> bool:
    """Return whether all numbers are whole and fit in 64 bits."""
    return bool(np.all(np.abs(numbers) < 2.0**63) and np.all(numbers == np.floor(numbers)))


def with_rows(block: ColumnBlock, rows: npt.NDArray[np.intp]) -> ColumnBlock:
    """Return a block with some of its rows, in the given order; -1 is a row of missing values."""
    absent = rows < 0
    if not isinstance(block.values, Compressed):
        values = np.asfortranarray(block.values[rows], dtype=np.float64)
        values[absent] = np.nan
        return replace(block, values=values, n_rows=len(rows))
    import scipy.sparse as sp

    v, shape = block.values, (block.n_rows, block.width)
    moved = sp.csc_matrix((v.data, v.indices, v.indptr), shape=shape)
    if absent.any():  # the last row, which -1 is
        gaps = sp.csc_matrix(np.full((1, block.width), np.nan))
        moved = sp.vstack([moved, gaps], format="csc")
    moved = moved[rows]
    return replace(block, values=compressed_columns(moved).widened(), n_rows=len(rows))
