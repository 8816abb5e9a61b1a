"""Regroup pieces of rows of any height into blocks of a given height."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed

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
    y = np.concatenate(targets) if targets else None
    if not isinstance(rows[0], Compressed):
        return y, np.concatenate(rows)
    lengths = np.concatenate([np.diff(piece.indptr) for piece in rows])
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    indices = np.concatenate([piece.indices for piece in rows])
    values = np.concatenate([piece.data for piece in rows])
    return y, Compressed(indptr, indices, values)
