"""RowStore: rows in a folder of plain .npy files, for data that is read several times.

======================  ========================================================================
file                    holds
======================  ========================================================================
pointers.npy            int64, rows + 1: where each row begins among the entries
blocks.npy              int64, one line per block of complete rows (`row_blocks.py`)
gaps.npy                bytes: the feature numbers of the rows as gaps (`kernels/row_codes.py`),
                        block after block
values.npy              bytes: the values, block after block, each block in the narrowest type that
                        is exact for it: nothing if all are 1, uint8, uint16, float32, float64
dense.npy               instead of these four: one row after another, float32 or float64
y.npy                   the target, if there is one
names.bin               names of the columns, if they have any; names_offsets.npy splits them
meta.json               shape, layout, what is known about the values, where they came from, and
                        for every file its length and blake2b (of the bytes after an .npy header)
======================  ========================================================================

Written by `tamis.sources.axis.write_rows`; no file needs pickle. Feature numbers are
those of the original file: the first column has the number `first_number` of meta.json.
"""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Generator, Iterator
from typing import ClassVar

import numpy as np

from tamis.core.blocks import RowBlock
from tamis.core.errors import ParameterError, SourceError
from tamis.core.names import Names
from tamis.core.params import Number, check
from tamis.sources.base import MEMORY, RowPlace, RowRange, RowSource, as_path, default_width
from tamis.sources.rebatch import Piece, rebatch
from tamis.sources.stores.row_blocks import FIRST_ROW, LINE, lines_fit, read_block
from tamis.sources.stores.store_folder import Expected, OpenFiles, StoreFolder, whole


class RowStore(StoreFolder, RowSource):
    """A row store on disk.

    Parameters
    ----------
    path : str or path
        The folder, usually called NAME.rows.
    memory : int
        Bytes that reading by columns may use; a store that needs more is transposed on disk.
    work : str or path, optional
        Folder for that temporary column store; by default the one the store is in or, if that
        cannot be written to, the current one.

    Attributes
    ----------
    meta : dict
        The content of meta.json.
    """

    format: ClassVar[str] = "rows"
    KIND: ClassVar[str] = "row store"
    STORED_AS: ClassVar[tuple[str, int]] = ("tamis-rows", 2)
    KEYS: ClassVar[frozenset[str]] = StoreFolder.KEYS | {"missing", "first_number"}

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        memory: int = MEMORY,
        work: str | os.PathLike[str] | None = None,
    ) -> None:
        check("RowStore", "memory", memory, Number(1, integer=True))
        self.memory, self.work = memory, work
        self._open_folder(as_path(path))
        #: The range of rows to read: first row, and last row + 1.
        self._range = 0, self.n_rows
        if self.stored is not None:
            self._blocks = np.array(self._part("blocks.npy"))
            ends = self._part("pointers.npy", 0, 1)[0], self._part("pointers.npy", -1, None)[0]
            if ends != (0, self.stored) or not lines_fit(self._blocks, self.n_rows):
                raise SourceError(f"{self.path} is damaged: its blocks do not fit; rebuild it")

    def expected(self) -> dict[str, Expected]:
        """Return the files that it may have: their types and shapes."""
        if self.stored is None:
            return {"dense.npy": ("<f4 <f8", (self.n_rows, self.n_columns))}
        return {
            "pointers.npy": ("<i8", (self.n_rows + 1,)), "blocks.npy": ("<i8", (None, len(LINE))),
            "gaps.npy": ("|u1", (None,)), "values.npy": ("|u1", (None,)),
        }  # fmt: skip

    def required(self) -> set[str]:
        """Return the files without which the store cannot be read."""
        whole(self.meta["first_number"])
        more = set() if self.stored is None else {"blocks.npy", "gaps.npy", "values.npy"}
        return super().required() | more

    def names(self) -> Names | None:
        """Return the names of all columns, if they have any."""
        return self._names(0, self.n_columns)

    def read_batches(self, wanted: RowRange) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows; by default as stored, with about 130,000 entries each.

        A mark is the number of rows before it.
        """
        size, after, stop = wanted.size, wanted.after, wanted.stop
        first = self._range[0] if after is None else self._row_of(after)
        last = self._range[1] if stop is None else self._row_of(stop)
        is_dense = self.stored is None
        read = self._dense(first, last, size) if is_dense else self._decoded(first, last)
        with contextlib.closing(read):
            for y, values in rebatch(read, size):
                end = first + len(values)
                place = RowPlace(f"{self.name}, row", first)
                yield RowBlock(first, self.n_columns, values, y, str(end), place)
                wanted.progress("reading rows", end, self.n_rows)
                first = end

    def share(self, number: int, of: int) -> RowSource | None:
        """Return one of `of` ranges of equal height, up to one row."""
        part, n = copy.copy(self), self.n_rows
        part._range = n * number // of, n * (number + 1) // of
        return part

    # --- small steps ---------------------------------------------------------------------------

    def _row_of(self, mark: str) -> int:
        if not mark.isdigit() or int(mark) > self.n_rows:
            raise ParameterError(
                f"{self.path} has no mark {mark!r}; a mark is a number of rows, 0 to {self.n_rows}"
            )
        return int(mark)

    def _decoded(self, first: int, last: int) -> Generator[Piece]:
        """Yield the stored blocks that hold rows first to last - 1, trimmed to that range."""
        starts = self._blocks[:, FIRST_ROW]
        ends = np.append(starts[1:], self.n_rows)
        start = -1 - int(self.meta["first_number"])
        begin, end = np.searchsorted(ends, [first, last - 1], side="right").tolist()
        with OpenFiles(self) as files:
            for k in range(begin, end + 1 if last > first else begin):
                lo, hi = int(starts[k]), int(ends[k])
                rows = read_block(files, self._blocks[k].tolist(), hi - lo, start, self.n_columns)
                if rows is None:
                    raise SourceError(
                        f"{self.path} is damaged: block {k} does not fit; rebuild the store"
                    )
                y = files.read("y.npy", lo, hi) if self._has("y.npy") else None
                part = slice(max(first - lo, 0), min(last, hi) - lo)
                if part != slice(0, hi - lo):
                    y, rows = None if y is None else y[part], rows.part(part.start, part.stop)
                yield y, rows

    def _dense(self, first: int, last: int, size: int | None) -> Generator[Piece]:
        step = size or default_width(self.n_columns, last - first, None)
        for lo in range(first, last, step):
            part = slice(lo, min(lo + step, last))
            y = self._part("y.npy", part.start, part.stop) if self._has("y.npy") else None
            yield y, self._part("dense.npy", part.start, part.stop).astype(np.float64, copy=False)
