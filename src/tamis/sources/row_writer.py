"""Rows of any source to a row store, block after block: memory holds a block or two, never all."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import InputError, SourceError
from tamis.core.names import Names
from tamis.kernels.row_codes import NOT_RISING, encode_gaps, measure_gaps
from tamis.sources._folder_writer import FolderWriter
from tamis.sources._matrix import whole_numbers
from tamis.sources._rebatch import Piece, join
from tamis.sources._store_files import Values
from tamis.sources.base import Report, Source, as_path, silent
from tamis.sources.row_store import FORMAT, UNITS, VERSION, RowStore
from tamis.sources.transpose import MEMORY, LateBase, origin

#: A block has about so many entries: its numbers fit a processor's cache, and a learner has
#: something to do before it asks for the next.
ENTRIES = 1 << 18
#: Gaps that may be escaped, of all: where more are, telling them apart would cost time.
_MOST_ESCAPES = 1 / 64
#: Smaller gaps fit a unit of 1, 2 or 4 bytes; 8 bytes take every gap.
_LIMITS = np.array([2**8 - 1, 2**16 - 1, 2**32 - 1], dtype=np.uint64)


def write_rows(
    path: str | os.PathLike[str],
    source: Source,
    *,
    report: Report = silent,
    overwrite: bool = False,
) -> RowStore:
    """Write all rows of a source as a row store and open it.

    Parameters
    ----------
    path : str or path
        The folder to make, by habit called NAME.rows.
    source : Source
        Where the rows come from; a source of columns is turned first.
    report : callable
        Called as report(what, done, total).
    overwrite : bool
        Replace a row store of that name.

    Raises
    ------
    OutputError
        If `path` exists, or cannot be written; nothing is left behind.
    """
    with RowWriter(as_path(path), overwrite=overwrite) as writer:
        is_late = isinstance(source, LateBase)
        if isinstance(source, LateBase):
            blocks = source.raw_rows(MEMORY, report)
        else:
            blocks = source.rows(report=report)
        for block in blocks:
            writer.append(block)
        first_number = source.name_base if is_late else 0
        writer.commit(
            n_columns=source.n_columns,
            first_number=first_number,
            whole_labels=is_late,
            names=_names(source),
            name_prefix=source.name_prefix,
            name_base=source.name_base,
            source=origin(source),
        )
    return RowStore(path)


class RowWriter(FolderWriter):
    """Takes rows in order and commits them as one store; used as a context manager."""

    KIND: ClassVar[str] = "row store"

    def __init__(self, path: str, *, overwrite: bool = False) -> None:
        super().__init__(path, overwrite=overwrite)
        self.n_rows = self.stored = 0
        self._highest = -1
        self._width: int | None = None  # of dense rows
        self._held: list[Piece] = []
        self._values: Values | None = None
        self._labels: _Labels | None = None

    def _close(self) -> None:
        super()._close()
        if self._values is not None and self._values.file is not None:
            self._values.file.close()

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
        if self._values is None:
            self._values = Values(os.path.join(self.folder, "values.npy"))
            self._open("pointers.npy", "<i8").append([0])
            self._open("gaps.npy", "|u1")
            self._open("blocks.npy", "<i8")
        elif self._width is not None:
            raise InputError("sparse rows cannot follow dense ones in one row store")
        self._held.append((None, rows.part(0, len(rows))))
        if sum(piece.stored for _, piece in self._held) >= ENTRIES:
            self._flush()

    def _flush(self) -> None:
        """Write what is held, in blocks of whole rows."""
        if not self._held:
            return
        rows = join(self._held)[1]
        self._held = []
        done = 0
        while done < len(rows):
            # The row that reaches the size ends the block: a block has one row at least.
            reached = np.searchsorted(rows.pointers, rows.pointers[done] + ENTRIES)
            end = min(max(int(reached), done + 1), len(rows))
            self._write_block(rows.part(done, end))
            done = end

    def _write_block(self, rows: Compressed) -> None:
        assert self._values is not None
        places = _signed(rows.places, self.n_rows)
        beyond = np.zeros(len(_LIMITS) + 1, dtype=np.int64)
        fault, row, found = measure_gaps(rows.pointers, places, -1, _LIMITS, beyond[:-1])
        if fault == NOT_RISING:
            raise InputError(
                f"row {self.n_rows + row} holds feature {found} out of order; the features of a "
                "row must rise from 0, each given once"
            )
        width, n_units = _narrowest(len(places), beyond.tolist())
        units = np.empty(n_units, dtype=UNITS[width])
        encode_gaps(rows.pointers, places, -1, np.iinfo(units.dtype).max, units)
        gaps = self._files["gaps.npy"]
        self._files["blocks.npy"].append([self.n_rows, gaps.bytes, units.nbytes, width])
        gaps.append(units.view(np.uint8))
        gaps.append(np.zeros(-units.nbytes % 8, dtype=np.uint8))
        self._values.append(rows.values, len(places))
        self._files["pointers.npy"].append(rows.pointers[1:] + self.stored)
        self._highest = max(self._highest, int(found))
        self.n_rows += len(rows)
        self.stored += len(places)

    def _append_dense(self, rows: npt.NDArray[Any]) -> None:
        if self._values is None:
            self._values = Values(os.path.join(self.folder, "dense.npy"), level=1)
            self._width = rows.shape[1]
        elif self._width != rows.shape[1]:
            raise InputError("all rows of a store must be dense and of one length, or sparse")
        self._values.append(np.ascontiguousarray(rows).reshape(-1), rows.size)
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
        values = self._values
        if values is None or self._labels is None or not self.n_rows:
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
        n_blocks = self._files["blocks.npy"].bytes // 32 if self._width is None else 0
        shapes = {"blocks.npy": (n_blocks, 4)}
        files = {name: file.finish(shapes.get(name)) for name, file in self._files.items()}
        if values.file is not None:
            shape = (values.count,) if self._width is None else (self.n_rows, width)
            files[os.path.basename(values.path)] = values.file.finish(shape)
        self._finish({
            "format": FORMAT,
            "version": VERSION,
            "n_rows": self.n_rows,
            "n_columns": width,
            "layout": "sparse" if self._width is None else "dense",
            "stored": self.stored if self._width is None else None,
            "values": ("ones", "float32", "float64")[values.level],
            "integer_values": values.integer,
            "lowest": values.lowest if values.count else None,
            "highest": values.highest if values.count else None,
            "stored_zeros": values.zeros,
            "missing": values.gaps,
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


def _narrowest(entries: int, beyond: list[int]) -> tuple[int, int]:
    """Width of units that takes the fewest bytes without many escapes, and how many units."""
    best = (8, entries)
    for width, escaped in zip((4, 2, 1), reversed(beyond[:3]), strict=True):
        units = entries + escaped * (8 // width)
        if width * units < best[0] * best[1] and escaped <= entries * _MOST_ESCAPES:
            best = width, units
    return best


def _signed(places: npt.NDArray[Any], first: int) -> npt.NDArray[Any]:
    """Feature numbers as kernels take them."""
    if places.dtype in (np.int32, np.int64):
        return np.ascontiguousarray(places)
    if places.dtype == np.uint64 and len(places) and int(places.max()) >= 2**63:
        raise InputError(
            f"rows from {first} on hold a feature number of 2**63 or more; hash them to fewer "
            "bits first (n_bits= of the learners)"
        )
    return places.astype(np.int64)


def _names(source: Source) -> Names | None:
    """Names of the columns: a source of columns tells them block by block."""
    if source.axis == "rows":
        return source.names()
    parts = [block.names for block in source.columns()]
    known = [part for part in parts if part is not None]
    return Names.of(name for part in known for name in part) if known else None
