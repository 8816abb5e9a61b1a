"""RowWriter: write rows to a row store, block by block; only a block or two is in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import InputError, SourceError
from tamis.core.names import Names
from tamis.sources.base import whole_numbers
from tamis.sources.rebatch import Piece, join
from tamis.sources.stores.row_blocks import LINE, VALUES, write_block
from tamis.sources.stores.row_store import RowStore
from tamis.sources.stores.store_files import DTYPES, FolderWriter, Seen, Values
from tamis.sources.stores.store_folder import StoreFolder

#: Approximate number of entries of a block: its numbers fit in the processor's cache, and it is
#: large enough to keep a learner busy while the next one is read.
ENTRIES = 1 << 17


class RowWriter(FolderWriter):
    """Writes rows in order and commits them as one store; used as a context manager."""

    STORE: ClassVar[type[StoreFolder]] = RowStore

    def __init__(self, path: str, *, force: bool = False) -> None:
        super().__init__(path, force=force)
        self.n_rows = self.stored = self._n_blocks = 0
        self._highest = -1
        self._width: int | None = None  # of dense rows
        self._held: list[Piece] = []
        self._dense: Values | None = None
        self._seen = Seen()  # of sparse rows
        self._widest = 0  # bytes of a value
        self._y_type: np.dtype[Any] | None = None
        self._whole = True  # whether all targets are whole numbers
        self._words: dict[Any, int] = {}  # codes of text targets

    def append(self, block: RowBlock) -> None:
        """Append the rows of a block."""
        if not block.height:
            return
        self._append_labels(block)
        if isinstance(block.values, Compressed):
            self._append_sparse(block.values)
        else:
            self._append_dense(block.values)

    def _append_labels(self, block: RowBlock) -> None:
        if (block.y is None) != (self._y_type is None) and (self.n_rows or self._held):
            raise InputError("some rows have a target and others have none; give all or none")
        if block.y is None:
            return
        y = np.asarray(block.y)
        if len(y) != block.height:
            raise InputError(f"y holds {len(y)} values for {block.height} rows")
        is_text = y.dtype.kind in "OSU"
        if self._y_type is None:
            self._y_type = y.dtype
            self.open("y.npy", np.int64 if is_text else y.dtype)
        if y.dtype != self._y_type and not (is_text and self._y_type.kind in "OSU"):
            if y.dtype == np.int64 and self._y_type == np.float64:
                raise InputError(
                    f"the label {int(y[np.argmax(np.abs(y))])} is beyond 2^53, and smaller ones "
                    "came before, so a store of rows cannot hold it exactly; convert to a store of "
                    "columns (any name but NAME.rows), or give the rows shorter labels"
                )
            raise InputError(
                f"targets of type {y.dtype} follow targets of another type; give all in one type"
            )
        if is_text:  # the length of the longest string is only known at the end
            words, codes = np.unique(y.astype(str) if y.dtype == object else y, return_inverse=True)
            known = [self._words.setdefault(word, len(self._words)) for word in words.tolist()]
            y = np.array(known)[codes]
        elif self._whole:
            self._whole = whole_numbers(y).dtype == np.int64
        self.files["y.npy"].append(y)

    def _append_sparse(self, rows: Compressed) -> None:
        if self._width is not None:
            raise InputError("sparse rows cannot follow dense ones in one row store")
        if "pointers.npy" not in self.files:
            self.open("pointers.npy", "<i8").append([0])
            for name, dtype in (("gaps.npy", "|u1"), ("values.npy", "|u1"), ("blocks.npy", "<i8")):
                self.open(name, dtype)
        self._held.append((None, rows.part(0, len(rows))))
        if sum(piece.stored for _, piece in self._held) >= ENTRIES:
            self._flush(whole_only=True)

    def _flush(self, *, whole_only: bool = False) -> None:
        """Write the buffered rows in blocks; with `whole_only`, a partial block stays buffered.

        Block boundaries depend only on the rows, not on how they were appended.
        """
        if not self._held:
            return
        rows, done = join(self._held)[1], 0
        self._held = []
        while done < len(rows):
            # The row that reaches the size ends the block, so a block has at least one row.
            end = int(np.searchsorted(rows.indptr, rows.indptr[done] + ENTRIES))
            if end > len(rows) and whole_only:
                self._held = [(None, rows.part(done, len(rows)))]
                return
            end = min(end, len(rows))
            part = rows.part(done, end)
            part = replace(part, indices=_signed(part.indices, self.n_rows))
            highest, width = write_block(part, self.n_rows, self._seen, self.files)
            self.files["pointers.npy"].append(part.indptr[1:] + self.stored)
            self._highest, self._widest = max(self._highest, highest), max(self._widest, width)
            self._n_blocks += 1
            self.n_rows += len(part)
            self.stored += len(part.indices)
            done = end

    def _append_dense(self, rows: npt.NDArray[Any]) -> None:
        if self._dense is None and "pointers.npy" not in self.files:
            self._dense = Values(self, "dense.npy", level=1)
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
        """Flush everything to disk and move it into place; columns count from `first_number`."""
        self._flush()
        if not self.n_rows:
            raise SourceError(f"{self.path} would hold no rows; give at least one")
        if self._words:
            words = np.array(list(self._words))
            self.rewrite("y.npy", words.dtype, words)
        elif whole_labels and self._whole and self._y_type is not None:
            self.rewrite("y.npy", np.int64)
        dense, width = self._dense, self._width
        if width is None:
            width = max(self._highest + 1 - first_number, n_columns or 0)
        if names is not None:
            if len(names) != width:
                raise InputError(f"{len(names)} names were given for {width} columns")
            self.append_names(names)
        self._finish(
            (self.n_rows, width),
            self.stored if dense is None else None,
            str(VALUES[self._widest] or "ones") if dense is None else str(DTYPES[dense.level]),
            self._seen if dense is None else dense,
            {"dense.npy": (self.n_rows, width), "blocks.npy": (self._n_blocks, len(LINE))},
            {"name_prefix": name_prefix, "name_base": name_base}
            | {"first_number": first_number, "source": source},
        )


def _signed(indices: npt.NDArray[Any], first: int) -> npt.NDArray[Any]:
    """Return feature numbers in the type that kernels take."""
    if indices.dtype in (np.int32, np.int64):
        return np.ascontiguousarray(indices)
    if indices.dtype == np.uint64 and len(indices) and int(indices.max()) >= 2**63:
        raise InputError(
            f"rows from {first} on hold a feature number of 2**63 or more; hash them to fewer "
            "bits first (n_bits= of the learners)"
        )
    return indices.astype(np.int64)
