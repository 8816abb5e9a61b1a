"""The state of models for rows that arrive: the kept features with their weights, or all of them.

Everything is plain arrays, so that a model can be put away at any row and go on from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed
from tamis.core.errors import InputError
from tamis.kernels import binary, heap, multiclass
from tamis.kernels.rows import copy_filled, list_filled, score_full, score_kept

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Marks are float32, which counts without gaps up to here.
MOST_SLOTS = 2**24


class Zeros:
    """A table of zeros with rows to spare, in which untouched memory costs nothing.

    The system gives memory when it is first written to. Growing copies what is not zero, and only
    that is put away with a model.

    >>> table = Zeros(1, np.float32)
    >>> table.reach(3); table.view[1] = 5; table.reach(4); table.view.ravel().tolist()
    [0.0, 5.0, 0.0, 0.0]
    """

    def __init__(self, width: int, dtype: npt.DTypeLike) -> None:
        self._table = np.zeros((0, width), dtype=dtype)
        self._height = 0

    @property
    def view(self) -> npt.NDArray[Any]:
        """The rows in use."""
        return self._table[: self._height]

    @property
    def nbytes(self) -> int:
        """Bytes that may be written to, room to spare included."""
        return self._table.nbytes

    def reach(self, height: int, *, more_may_come: bool = False) -> None:
        """Have at least so many rows; where more may come, twice as many, which costs nothing yet.

        Without room to spare every new highest number would copy the table, and two are held then.
        """
        if height > len(self._table):
            rooms = [2 * height, height] if more_may_come or self._height else [height]
            bigger = self._zeros(rooms)
            copy_filled(self._table.reshape(-1), bigger.reshape(-1))
            self._table = bigger
        self._height = max(self._height, height)

    def _zeros(self, rooms: list[int]) -> npt.NDArray[Any]:
        """A table of the first size that the system grants."""
        for room in rooms:
            try:
                return np.zeros((room, self._table.shape[1]), dtype=self._table.dtype)
            except (MemoryError, ValueError, OverflowError):
                continue
        raise InputError(
            f"there is no room for {rooms[-1]:,} features; give n_bits= (for example 28) to "
            "share the room among them by hashing"
        )

    def __getstate__(self) -> dict[str, Any]:
        flat = self.view.reshape(-1)
        filled = list_filled(flat)
        shape, dtype = self.view.shape, self._table.dtype
        return {"shape": shape, "dtype": dtype, "filled": filled, "values": flat[filled]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._height = state["shape"][0]
        self._table = np.zeros(state["shape"], dtype=state["dtype"])
        self._table.reshape(-1)[state["filled"]] = state["values"]


def certainty(precision: Floats) -> Floats:
    """How far the variances of each feature have come down from 1, over all classes."""
    return np.asarray(np.sum(1.0 - 1.0 / (1.0 + precision), axis=1))


class KeptWeights:
    """At most `size` features, with k weights each; the weights of all others are zero.

    `marks` has a row for each feature: its slot if it is kept, and for second-order models (`held`)
    its accumulated precisions if it is not.
    """

    def __init__(self, size: int, blocks: int, *, second_order: bool) -> None:
        self.blocks = blocks
        self.marks = Zeros(blocks if second_order else 1, np.float32)
        self.held = np.zeros((size + 1, blocks if second_order else 0), dtype=np.float32)
        self.weight = np.zeros((size + 1, blocks))
        self.feature = np.full(size + 1, -1, dtype=np.int64)
        self.order = np.zeros(size, dtype=np.int64)
        self.where = np.zeros(size + 1, dtype=np.int64)
        self.bound = np.zeros(size + 1)
        self.key = np.zeros(size + 1)
        self.serial = np.zeros(size + 1, dtype=np.int64)
        self.counts = np.zeros(heap.N_COUNTS, dtype=np.int64)
        self.scale = np.array([1.0, 0.0, 0.0])

    def reach(self, n_columns: int, *, more_may_come: bool = False) -> None:
        """Make room for features 0 to n_columns - 1."""
        self.marks.reach(n_columns, more_may_come=more_may_come)

    def learn_first_order(
        self, rows: Compressed, codes: Ints, eta: float, lam: float, uniform: bool
    ) -> None:
        """Gradient steps; lam=0 neither shrinks nor projects."""
        kept = (
            self.feature, self.order, self.where, self.bound, self.key, self.serial, self.counts,
            self.scale,
        )  # fmt: skip
        data = (rows.indptr, rows.indices, rows.data, codes)
        if self.blocks == 1:
            marks, weight = self.marks.view[:, 0], self.weight[:, 0]
            binary.learn_first_order(*data, eta, lam, marks, weight, *kept)
        else:
            marks = self.marks.view
            multiclass.learn_first_order(*data, eta, lam, uniform, marks, self.weight, *kept)

    def learn_second_order(
        self, rows: Compressed, codes: Ints, gamma: float, uniform: bool
    ) -> None:
        """Confidence-weighted steps."""
        data = (rows.indptr, rows.indices, rows.data, codes)
        tables = (self.marks.view, self.held, self.weight)
        kept = (self.feature, self.order, self.where, self.bound)
        if self.blocks == 1:
            columns = (table[:, 0] for table in tables)
            binary.learn_second_order(*data, gamma, *columns, *kept, self.serial, self.counts)
        else:
            multiclass.learn_second_order(
                *data, gamma, uniform, *tables, *kept, self.key, self.serial, self.counts
            )

    @property
    def size(self) -> int:
        """How many features may be kept."""
        return len(self.order)

    @property
    def curve(self) -> dict[int, float]:
        """Share of rows that were predicted wrongly before they were learned, by size: the one."""
        return {self.size: int(self.counts[heap.MISTAKES]) / max(int(self.counts[heap.ROWS]), 1)}

    def scores(self, rows: Compressed) -> Floats:
        """One score a row and block."""
        found = np.zeros((len(rows), self.blocks))
        # With the weights as they are shown and saved, so that a saved model gives the same bits.
        weight = self.weight if self.scale[0] == 1.0 else self.weight * self.scale[0]
        score_kept(rows.indptr, rows.indices, rows.data, self.marks.view, weight, found)
        return found

    def _slots(self) -> Ints:
        """Slots of the kept features, the features rising."""
        used = np.arange(1, self.counts[heap.SIZE] + 1)
        return used[np.argsort(self.feature[used])]

    @property
    def kept(self) -> Ints:
        """Kept features, rising."""
        return self.feature[self._slots()]

    @property
    def weights(self) -> Floats:
        """Weights of the kept features, one column a block."""
        return np.asarray(self.weight[self._slots()] * self.scale[0])

    @property
    def precision(self) -> Floats:
        """Accumulated precisions of the kept features."""
        return self.held[self._slots()].astype(np.float64)


class FullWeights:
    """Every feature with its k weights and, for second-order models, its k precisions."""

    def __init__(self, blocks: int, *, second_order: bool) -> None:
        self.blocks = blocks
        self.weight = Zeros(blocks, np.float64)
        self.held = Zeros(blocks, np.float32) if second_order else None
        self.counts = np.zeros(heap.N_COUNTS, dtype=np.int64)

    def reach(self, n_columns: int, *, more_may_come: bool = False) -> None:
        """Make room for features 0 to n_columns - 1."""
        self.weight.reach(n_columns, more_may_come=more_may_come)
        if self.held is not None:
            self.held.reach(n_columns, more_may_come=more_may_come)

    def learn_first_order(
        self, rows: Compressed, codes: Ints, eta: float, decay: bool, uniform: bool
    ) -> None:
        """Gradient steps, at the rate eta/sqrt(t) with `decay`."""
        data = (rows.indptr, rows.indices, rows.data, codes)
        if self.blocks == 1:
            weight = self.weight.view[:, 0]
            binary.learn_full_first_order(*data, eta, decay, weight, self.counts)
        else:
            multiclass.learn_full_first_order(
                *data, eta, decay, uniform, self.weight.view, self.counts
            )

    def learn_second_order(
        self, rows: Compressed, codes: Ints, gamma: float, uniform: bool
    ) -> None:
        """Confidence-weighted steps."""
        assert self.held is not None
        data = (rows.indptr, rows.indices, rows.data, codes)
        tables = (self.weight.view, self.held.view)
        if self.blocks == 1:
            weight, held = (table[:, 0] for table in tables)
            binary.learn_full_second_order(*data, gamma, weight, held, self.counts)
        else:
            multiclass.learn_full_second_order(*data, gamma, uniform, *tables, self.counts)

    def scores(self, rows: Compressed) -> Floats:
        """One score a row and block."""
        found = np.zeros((len(rows), self.blocks))
        score_full(rows.indptr, rows.indices, rows.data, self.weight.view, found)
        return found

    @property
    def kept(self) -> Ints:
        """Features with a weight that is not zero, rising."""
        filled: Ints = list_filled(self.weight.view.reshape(-1))
        return np.unique(filled // self.blocks)

    @property
    def weights(self) -> Floats:
        """Weights of those features."""
        return np.asarray(self.weight.view[self.kept], dtype=np.float64)

    @property
    def precision(self) -> Floats:
        """Accumulated precisions of those features."""
        assert self.held is not None
        return self.held.view[self.kept].astype(np.float64)
