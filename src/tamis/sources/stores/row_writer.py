"""RowWriter: rows to a row store, block after block; memory holds a block or two, never all."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import InputError, SourceError
from tamis.core.names import Names
from tamis.sources.matrix import whole_numbers
from tamis.sources.rebatch import Piece, join
from tamis.sources.stores.folder_writer import FolderWriter
from tamis.sources.stores.row_blocks import LINE, VALUES, write_block
from tamis.sources.stores.row_store import FORMAT, VERSION
from tamis.sources.stores.store_files import Seen, Values

#: A block has about so many entries: its numbers fit a processor's cache, and a learner has
#: something to do before it asks for the next.
ENTRIES = 1 << 17


class RowWriter(FolderWriter):
    """Takes rows in order and commits them as one store; used as a context manager."""

    KIND: ClassVar[str] = "row store"

    def __init__(self, path: str, *, force: bool = False) -> None:
        super().__init__(path, force=force)
        self.n_rows = self.stored = 0
        self._highest = -1
        self._width: int | None = None  # of dense rows
        self._held: list[Piece] = []
        self._dense: Values | None = None
        self._seen = Seen()  # of sparse rows
        self._widest = 0  # bytes of a value
        self._labels: _Labels | None = None

    def _close(self) -> None:
        super()._close()
        if self._dense is not None and self._dense.file is not None:
            self._dense.file.close()

    def append(self, block: RowBlock) -> None:
        """Append the rows of a block."""
        if not block.height:
            return
        if self._labels is None:
            self._labels = _Labels(self, block.y is not None)
        self._labels.append(block)
        if isinstance(block.values, Compressed):
            self._append_sparse(block.values)
        else:
            self._append_dense(block.values)

    def _append_sparse(self, rows: Compressed) -> None:
        if self._width is not None:
            raise InputError("sparse rows cannot follow dense ones in one row store")
        if "pointers.npy" not in self._files:
            self._open("pointers.npy", "<i8").append([0])
            for name, dtype in (("gaps.npy", "|u1"), ("values.npy", "|u1"), ("blocks.npy", "<i8")):
                self._open(name, dtype)
        self._held.append((None, rows.part(0, len(rows))))
        if sum(piece.stored for _, piece in self._held) >= ENTRIES:
            self._flush(whole_only=True)

    def _flush(self, *, whole_only: bool = False) -> None:
        """Write what is held, in blocks of whole rows; `whole_only` holds back a smaller one.

        Where blocks end depends on the rows alone, not on how they came.
        """
        if not self._held:
            return
        rows = join(self._held)[1]
        self._held = []
        done = 0
        while done < len(rows):
            # The row that reaches the size ends the block: a block has one row at least.
            end = int(np.searchsorted(rows.indptr, rows.indptr[done] + ENTRIES))
            if end > len(rows) and whole_only:
                self._held = [(None, rows.part(done, len(rows)))]
                return
            end = min(end, len(rows))
            self._write_block(rows.part(done, end))
            done = end

    def _write_block(self, rows: Compressed) -> None:
        rows = replace(rows, indices=_signed(rows.indices, self.n_rows))
        highest, width = write_block(rows, self.n_rows, self._seen, self._files)
        self._files["pointers.npy"].append(rows.indptr[1:] + self.stored)
        self._highest, self._widest = max(self._highest, highest), max(self._widest, width)
        self.n_rows += len(rows)
        self.stored += len(rows.indices)

    def _append_dense(self, rows: npt.NDArray[Any]) -> None:
        if self._dense is None and "pointers.npy" not in self._files:
            self._dense = Values(os.path.join(self.folder, "dense.npy"), level=1)
            self._width = rows.shape[1]
        if self._dense is None or self._width != rows.shape[1]:
            raise InputError("all rows of a store must be dense and of one length, or sparse")
        self._dense.append(np.ascontiguousarray(rows).reshape(-1), rows.size)
        self.n_rows += len(rows)

    def commit(
        self,
        *,
        n_columns: int | None = None,
        first_number: int = 0,
        whole_labels: bool = False,
        names: Names | None = None,
        name_prefix: str = "x",
        name_base: int = 0,
        source: dict[str, Any] | None = None,
    ) -> None:
        """Make everything durable and move it into place; columns count from `first_number`."""
        self._flush()
        if self._labels is None or not self.n_rows:
            raise SourceError(f"{self.path} would hold no rows; give at least one")
        self._labels.finish(whole_labels)
        width = self._width
        if width is None:
            width = max(self._highest + 1 - first_number, n_columns or 0)
        if names is not None:
            if len(names) != width:
                raise InputError(f"{len(names)} names were given for {width} columns")
            self._open("names.bin", None).append(names.blob)
            self._open("names_offsets.npy", "<i8").append(names.offsets - names.offsets[0])
        if self._dense is not None and self._dense.file is not None:
            self._files["dense.npy"] = self._dense.file
        shapes = {"dense.npy": (self.n_rows, width), "blocks.npy": (-1, len(LINE))}
        files = {name: file.finish(shapes.get(name)) for name, file in self._files.items()}
        self._finish({
            "format": FORMAT,
            "version": VERSION,
            "n_rows": self.n_rows,
            "n_columns": width,
            "layout": "sparse" if self._width is None else "dense",
            "stored": self.stored if self._width is None else None,
            "values": str(VALUES[self._widest] or "ones"),
            **(self._seen if self._dense is None else self._dense).facts(),
            "name_prefix": name_prefix,
            "name_base": name_base,
            "first_number": first_number,
            "source": source,
            "files": files,
        })  # fmt: skip


class _Labels:
    """Targets on their way to y.npy: numbers as they come, words when all are known."""

    def __init__(self, writer: RowWriter, given: bool) -> None:
        self._writer, self._given = writer, given
        self._words: list[npt.NDArray[Any]] = []
        self._dtype: np.dtype[Any] | None = None

    def append(self, block: RowBlock) -> None:
        """Take the targets of some rows."""
        if (block.y is not None) != self._given:
            raise InputError("some rows have a target and others have none; give all or none")
        if block.y is None:
            return
        y = np.asarray(block.y)
        if len(y) != block.height:
            raise InputError(f"y holds {len(y)} values for {block.height} rows")
        if y.dtype.kind not in "biuf":
            self._words.append(y)
            return
        if self._dtype is None:
            self._dtype = y.dtype
            self._writer._open("y.npy", y.dtype)
        if self._words or y.dtype != self._dtype:
            raise InputError(
                f"targets of type {y.dtype} follow others of another type; give all in one type"
            )
        self._writer._files["y.npy"].append(y)

    def finish(self, whole: bool) -> None:
        """Write what was held back; `whole`: numbers that are all whole become int64."""
        files = self._writer._files
        if self._words:
            y = np.concatenate(self._words)
            y = y.astype(str) if y.dtype.kind == "O" else y
            self._writer._open("y.npy", y.dtype).append(y)
        elif whole and self._dtype is not None:
            files["y.npy"].finish()
            y = whole_numbers(np.load(files["y.npy"].path, allow_pickle=False))
            self._writer._open("y.npy", y.dtype).append(y)


def _signed(indices: npt.NDArray[Any], first: int) -> npt.NDArray[Any]:
    """Feature numbers as kernels take them."""
    if indices.dtype in (np.int32, np.int64):
        return np.ascontiguousarray(indices)
    if indices.dtype == np.uint64 and len(indices) and int(indices.max()) >= 2**63:
        raise InputError(
            f"rows from {first} on hold a feature number of 2**63 or more; hash them to fewer "
            "bits first (n_bits= of the learners)"
        )
    return indices.astype(np.int64)
