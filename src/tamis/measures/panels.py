"""Kept columns as lists by row: the base of the compiled panels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.kernels.levels import compress
from tamis.kernels.rowlists import NODE_ROOM, NODE_WIDTH, append_column, rebuild
from tamis.measures.measure import Panel


class RowListPanel(Panel):
    """Store kept columns as entries by row, so a newcomer visits only the entries of its own rows.

    A slot is a kept column; `alive` says whether it is still kept. Slots of dropped columns are
    removed when they outnumber the live ones.
    """

    def __init__(self, n_rows: int, *, with_numbers: bool) -> None:
        self.n_rows = n_rows
        self.pairs = 0
        self._heads = np.full(n_rows, -1, dtype=np.int32)
        self._nodes = np.empty((0, NODE_WIDTH), dtype=np.int32)
        self._numbers = np.empty((0, NODE_ROOM), dtype=np.float64)
        self._with_numbers = with_numbers
        self._used = 0
        self._alive = np.zeros(0, dtype=np.bool_)
        self._live = np.zeros(0, dtype=np.intp)

    def __len__(self) -> int:
        return len(self._live)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without spare capacity: copies are sent to workers."""
        few = {"_nodes": self._nodes[: self._used], "_numbers": self._numbers[: self._used]}
        return self.__dict__ | few

    def _hang(
        self, rows: npt.NDArray[Any], cells: npt.NDArray[Any], values: npt.NDArray[Any]
    ) -> None:
        """Add a slot with these entries."""
        room = self._used + len(rows)
        if room > len(self._nodes):
            bigger = max(room, 2 * len(self._nodes), 256)
            self._nodes = _grown(self._nodes, bigger)
            if self._with_numbers:
                self._numbers = _grown(self._numbers, bigger)
        self._used = append_column(
            self._heads, self._nodes, self._numbers, self._used, rows, cells, values
        )
        self._live = np.append(self._live, len(self._alive))
        self._alive = np.append(self._alive, True)

    def drop(self, positions: npt.NDArray[np.intp]) -> None:
        """Drop the kept columns at these positions (0 is the oldest)."""
        self._alive[self._live[positions]] = False
        self._live = np.delete(self._live, positions)
        if len(self._alive) > 2 * len(self._live) + 8:
            self._sweep()

    def _sweep(self) -> None:
        self._nodes, self._numbers, self._used = rebuild(
            self._heads, self._nodes, self._numbers, self._forget_dead()
        )
        self._alive = np.ones(len(self._live), dtype=np.bool_)
        self._live = np.arange(len(self._live))

    def _forget_dead(self) -> npt.NDArray[np.int32]:
        """Remove the data of dead slots; return the new number of each cell, -1 if removed."""
        raise NotImplementedError


def compressed(block: ColumnBlock, picks: npt.NDArray[np.intp]) -> Compressed:
    """Return some columns of a block, compressed, whatever its layout."""
    if isinstance(block.values, Compressed):
        everything = len(picks) == block.width and np.array_equal(picks, np.arange(block.width))
        return block.values if everything else block.values.pick(picks)
    indptr = np.zeros(len(picks) + 1, dtype=np.int64)
    rows = np.empty(len(picks) * block.n_rows, dtype=np.int32)
    values = np.empty(len(picks) * block.n_rows, dtype=np.float64)
    compress(np.asfortranarray(block.values), picks, indptr, rows, values)
    return Compressed(indptr, rows[: indptr[-1]], values[: indptr[-1]])


def _grown(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    bigger = np.empty((length, array.shape[1]), dtype=array.dtype)
    bigger[: len(array)] = array
    return bigger
