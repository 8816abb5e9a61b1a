"""Rows on disk to columns on disk, in bounded memory.

Rows are collected until they fill their share of the memory, then sorted by column and, if more
rows follow, written to disk as one *run* (`sparse_runs.py`). Afterwards ranges of columns are read
from all runs. Each entry is thus written once and read once before it reaches the store, and data
that fits in memory is written only to the store itself. The runs are in the folder of the
unfinished store and are removed with it.

Memory: the budget, plus the blocks that the source has in flight. One counter per column must fit
in half of the budget (250 million columns with the default of 2 GB).
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.errors import InputError, SourceError
from tamis.core.files import scratch_folder
from tamis.sources.base import Progress, RowSource, whole_numbers
from tamis.sources.rebatch import join_labels
from tamis.sources.stores.column_writer import StoreWriter
from tamis.sources.stores.sparse_runs import SparseRuns


def transpose(
    writer: StoreWriter, source: RowSource, memory: int, progress: Progress
) -> tuple[int, npt.NDArray[Any] | None]:
    """Write all rows of a source as columns; return the number of rows and the target."""
    runs: SparseRuns | DenseRuns | None = None
    labels: list[npt.NDArray[Any]] = []
    with scratch_folder(writer.folder) as folder:
        for block in source.all_rows(memory, progress):
            if runs is None:
                runs = (SparseRuns if block.is_sparse else DenseRuns)(str(folder), memory)
            runs.add(block.values)
            if block.y is not None:
                labels.append(block.y)
        if runs is None:
            raise SourceError(f"the {source.format} source holds no rows; give at least one")
        runs.write(writer, source.first_number, source.n_columns, progress)
    names = source.names()
    if names is not None:
        writer.append_names(names)
    words = source.words()
    if words is not None:
        writer.words[0] = words
    y = join_labels(labels) if labels else None
    return runs.n_rows, whole_numbers(y) if source.whole_labels and y is not None else y


class DenseRuns:
    """Dense rows, transposed in runs as large as the memory allows."""

    def __init__(self, folder: str, memory: int) -> None:
        self.folder, self.memory = folder, memory
        self.n_rows = 0
        self._blocks: list[npt.NDArray[np.float64]] = []
        self._held = 0
        self._runs: list[tuple[str, int]] = []

    def add(self, rows: Any) -> None:
        """Add the next rows."""
        if self._blocks and rows.shape[1] != self._blocks[0].shape[1]:
            raise InputError(f"rows of {rows.shape[1]} numbers follow rows of another length")
        self._blocks.append(np.array(rows, dtype=np.float64))
        self._held += rows.size * 8
        self.n_rows += len(rows)
        if 2 * self._held > 0.6 * self.memory:
            self._spill()

    def _spill(self) -> None:
        path = os.path.join(self.folder, f"run-{len(self._runs)}")
        joined = np.concatenate(self._blocks)
        self._blocks, self._held = [joined[:0]], 0
        step = max(1, int(0.1 * self.memory) // max(1, 8 * len(joined)))
        with open(path, "wb") as file:
            for lo in range(0, joined.shape[1], step):
                file.write(np.ascontiguousarray(joined[:, lo : lo + step].T).data)
        self._runs.append((path, len(joined)))

    def write(
        self, writer: StoreWriter, shift: int, n_columns: int | None, progress: Progress
    ) -> None:
        """Pass the columns to the writer, in order."""
        held, self._blocks = np.concatenate(self._blocks), []
        width = held.shape[1]
        step = max(1, min(width, int(0.3 * self.memory) // (8 * max(1, self.n_rows))))
        for lo in range(0, width, step):
            hi, row = min(lo + step, width), 0
            columns = np.empty((self.n_rows, hi - lo), order="F")
            for path, height in self._runs:
                part = np.fromfile(path, count=height * (hi - lo), offset=8 * lo * height)
                columns[row : row + height] = part.reshape(hi - lo, height).T
                row += height
            columns[row:] = held[:, lo:hi]
            writer.append_dense(columns)
            progress("turning rows into columns", hi, width)
