"""BlocksSource: blocks that a Python program makes, one after the other."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tamis.core.blocks import ColumnBlock, Compressed, RowBlock
from tamis.core.errors import InputError
from tamis.core.params import Number, check
from tamis.sources.base import MEMORY, Progress, Source, silent
from tamis.sources.memory import MemorySource
from tamis.sources.shared.by_columns import columns_by_disk
from tamis.sources.shared.matrix import row_blocks
from tamis.sources.shared.rebatch import rebatch
from tamis.sources.shared.rows_of_columns import rows_of_columns
from tamis.sources.stores.row_writer import write_rows
from tamis.sources.stores.transpose import write_store

Block = ColumnBlock | RowBlock
#: Blocks of an iterator are held up to this part of the memory, then all go to disk.
_SHARE = 4


class BlocksSource(Source):
    """Blocks of columns, or of rows, from a list, a function that begins anew, or an iterator.

    Blocks are numbered as they come; their own numbers are not looked at. Besides blocks, a table
    is taken as columns, and a pair (X, y) as rows with their targets. Data are read more than once
    (a selector looks at them before it takes the first column), so what an iterator gives is held:
    in memory while it is little, else in a store on disk that goes when the source does.

    Parameters
    ----------
    blocks : iterable of blocks, or function that returns one
        All columns of the same rows, or rows of the same columns.
    y : array-like, optional
        The target; blocks of rows may bring their own.
    memory, work : int, str or path
        Bytes to use, about, and the folder for that store (default: the current one).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> days = (ColumnBlock.of(rng.normal(size=(50, 3))) for day in range(7))
    >>> source = BlocksSource(days, y=rng.integers(0, 2, 50))
    >>> sum(block.width for block in source.columns(2)), source.n_rows
    (21, 50)
    """

    format: ClassVar[str] = "blocks"

    def __init__(
        self,
        blocks: Iterable[Any] | Callable[[], Iterable[Any]],
        y: Any = None,
        *,
        memory: int = MEMORY,
        work: str | os.PathLike[str] | None = None,
    ) -> None:
        check("BlocksSource", "memory", memory, Number(1, integer=True))
        self.memory, self.work = memory, work
        if callable(blocks):
            self._make: Callable[[], Iterable[Any]] = blocks
        elif iter(blocks) is blocks:
            self._make = self._held(map(_as_block, blocks))
        else:
            self._make = lambda: blocks
        first = next(self._blocks(), None)
        if first is None:
            raise InputError("there is no block; give at least one")
        self._first = first
        self._y = None if y is None else np.asarray(y)
        self._known: tuple[int, int] | None = None

    @property
    def axis(self) -> Literal["columns", "rows"]:  # type: ignore[override]
        """What the blocks are."""
        return "columns" if isinstance(self._first, ColumnBlock) else "rows"

    @property
    def n_rows(self) -> int:
        """Number of rows; of blocks of rows after a pass."""
        return self._first.n_rows if isinstance(self._first, ColumnBlock) else self._shape()[0]

    @property
    def n_columns(self) -> int:
        """Number of columns, after a pass."""
        return self._shape()[1]

    def target(self) -> npt.NDArray[Any] | None:
        """The target given, or that of the blocks of rows."""
        if self._y is None and isinstance(self._first, RowBlock) and self._first.y is not None:
            labels = [block.y for block in self._blocks() if isinstance(block, RowBlock)]
            if any(y is None for y in labels):
                raise InputError("some blocks of rows have targets and others have none")
            self._y = np.concatenate([np.asarray(y) for y in labels])
        return self._y

    def columns(
        self,
        width: int | None = None,
        start: int = 0,
        stop: int | None = None,
        progress: Progress = silent,
    ) -> Iterator[ColumnBlock]:
        """Stream the blocks of columns, cut where they are wider than `width`."""
        if width is not None:
            check("columns", "width", width, Number(1, integer=True))
        if isinstance(self._first, RowBlock):
            yield from columns_by_disk(self, width, start, stop, progress)
            return
        first = 0
        for block in self._blocks():
            if not isinstance(block, ColumnBlock):
                raise InputError("a block of rows came among blocks of columns; give one kind")
            if block.n_rows != self._first.n_rows:
                raise InputError(
                    f"a block of {block.n_rows} rows came after blocks of {self._first.n_rows}; "
                    "give columns of the same rows"
                )
            step = width or max(1, block.width)
            for lo in range(max(start - first, 0), block.width, step):
                hi = min(lo + step, block.width if stop is None else stop - first)
                if lo >= hi:
                    return
                yield replace(block.part(lo, hi).without_zeros(), first=first + lo)
                progress("reading columns", first + hi, None)
            first += block.width
        self._known = (self._first.n_rows, first)

    def rows(self, size: int | None = None, progress: Progress = silent) -> Iterator[RowBlock]:
        """Stream the blocks of rows in pieces of `size` (default: as they come)."""
        if size is not None:
            check("rows", "size", size, Number(1, integer=True))
        if isinstance(self._first, ColumnBlock):
            yield from self._rows_of_columns(size, progress)
            return
        (n_rows, n_columns), y, first = self._shape(), self.target(), 0
        for values in self._row_values(size):
            target = None if y is None else y[first : first + len(values)]
            yield RowBlock(first, n_columns, values, target)
            first += len(values)
            progress("reading rows", first, n_rows)

    def load(self) -> tuple[Any, npt.NDArray[Any] | None]:
        """Everything at once: a scipy matrix or an array, and the target."""
        parts = [_matrix(block, self._shape()) for block in self._blocks()]
        join_sparse = sp.hstack if self.axis == "columns" else sp.vstack
        join = np.hstack if self.axis == "columns" else np.vstack
        if not any(map(sp.issparse, parts)):
            return join(parts), self.target()
        return join_sparse([sp.csc_matrix(part) for part in parts], format="csc"), self.target()

    @property
    def layout(self) -> Literal["dense", "sparse"]:
        """Whether the first block is dense or sparse."""
        return "sparse" if self._first.is_sparse else "dense"

    def fingerprint(self) -> str:
        """Return a hash of the numbers that does not depend on how they are cut into blocks."""
        digests = [hashlib.blake2b(digest_size=8) for _ in range(3)]
        for block in self._blocks():
            v = block.values
            if isinstance(v, Compressed):
                arrays: tuple[Any, ...] = (np.diff(v.indptr), v.indices, v.data)
            else:
                arrays = (v.T if isinstance(block, ColumnBlock) else v,)
            for digest, array in zip(digests, arrays, strict=False):
                digest.update(np.ascontiguousarray(array).tobytes())
        mark = "".join(digest.hexdigest() for digest in digests)
        return hashlib.blake2b(mark.encode(), digest_size=8).hexdigest()

    def _blocks(self) -> Iterator[Block]:
        return map(_as_block, self._make())

    def _shape(self) -> tuple[int, int]:
        """Rows and columns, after a pass."""
        if self._known is None and isinstance(self._first, ColumnBlock):
            for _ in self.columns():
                pass
        elif self._known is None:
            n_rows = width = 0
            for block in self._blocks():
                if not isinstance(block, RowBlock):
                    raise InputError("a block of columns came among blocks of rows; give one kind")
                n_rows, width = n_rows + block.height, max(width, _width(block))
            self._known = (n_rows, width)
        assert self._known is not None
        return self._known

    def _rows_of_columns(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        if not self._first.is_sparse:
            yield from rows_of_columns(self, self.memory, self.work_folder, size, progress)
            return
        progress("transposing columns to rows in memory", 0, None)
        yield from row_blocks(self.load()[0].tocsr(), self.target(), size, progress)

    def _row_values(self, size: int | None) -> Iterator[Any]:
        """The numbers of the rows in pieces of `size`, sparse or dense as the first block is."""
        shape = self._shape()
        if self._first.is_sparse:
            pieces = ((None, _compressed(block, shape)) for block in self._blocks())
            yield from (rows for _, rows in rebatch(pieces, size))
            return
        held = np.empty((0, shape[1]))
        for block in self._blocks():
            part = _matrix(block, shape)
            dense = np.ascontiguousarray(part.toarray() if sp.issparse(part) else part)
            held = np.concatenate([held, dense]) if len(held) else dense
            step = size or len(held)
            while step and len(held) >= step:
                yield held[:step]
                held = held[step:]
        if len(held):
            yield held

    def _held(self, blocks: Iterator[Block]) -> Callable[[], Iterable[Block]]:
        """What an iterator gives, to be read again: in memory, or in a store on disk."""
        held, room = list[Block](), self.memory // _SHARE
        for block in blocks:
            held.append(block)
            room -= _bytes(block)
            if room < 0:
                return self._on_disk(itertools.chain(held, blocks), held[0])
        return lambda: held

    def _on_disk(self, blocks: Iterator[Block], first: Block) -> Callable[[], Iterable[Block]]:
        if isinstance(first, ColumnBlock) and first.group is not None:
            raise InputError(
                "these blocks have groups and are too many to be held in memory; give a function "
                "that returns them anew"
            )
        folder = tempfile.mkdtemp(prefix=".tamis-", dir=self.work_folder())
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        path, once = os.path.join(folder, "held"), _Once(blocks, first)
        if isinstance(first, ColumnBlock):
            return write_store(f"{path}.cols", once, memory=self.memory).columns
        return write_rows(f"{path}.rows", once).rows


class _Once(Source):
    """Blocks that are read once, on their way to a store."""

    format: ClassVar[str] = "blocks"

    def __init__(self, blocks: Iterator[Block], first: Block) -> None:
        self._given, self._first = blocks, first
        self._width = 0

    @property
    def axis(self) -> Literal["columns", "rows"]:  # type: ignore[override]
        """What the blocks are."""
        return "columns" if isinstance(self._first, ColumnBlock) else "rows"

    @property
    def n_rows(self) -> int:
        """Rows of the columns."""
        return self._first.n_rows if isinstance(self._first, ColumnBlock) else 0

    @property
    def n_columns(self) -> int:
        """Columns of the rows so far."""
        return self._width

    def target(self) -> None:
        """Nothing: rows bring their own."""

    def columns(
        self,
        width: int | None = None,
        start: int = 0,
        stop: int | None = None,
        progress: Progress = silent,
    ) -> Iterator[ColumnBlock]:
        """The blocks of columns."""
        for block in self._given:
            if not isinstance(block, ColumnBlock):
                raise InputError("a block of rows came among blocks of columns; give one kind")
            yield block.without_zeros()

    def rows(self, size: int | None = None, progress: Progress = silent) -> Iterator[RowBlock]:
        """The blocks of rows."""
        for block in self._given:
            if not isinstance(block, RowBlock):
                raise InputError("a block of columns came among blocks of rows; give one kind")
            self._width = max(self._width, _width(block))
            yield block

    def load(self) -> tuple[Any, None]:
        """Never asked for."""
        raise NotImplementedError

    def fingerprint(self) -> str:
        """None: the store that is made has its own."""
        return ""


def _as_block(made: Any) -> Block:
    """A block of whatever a program gives: a block, a table of columns, or rows with targets."""
    if isinstance(made, ColumnBlock | RowBlock):
        return made
    if isinstance(made, tuple) and len(made) == 2:
        X, y = made
        return replace(next(MemorySource(X, y).rows(max(1, len(y)))), first=0)
    if isinstance(made, str | bytes | dict) or not hasattr(made, "__len__"):
        raise InputError(
            f"a {type(made).__name__} came where a block was expected; give ColumnBlocks, "
            "RowBlocks, tables of columns, or pairs (X, y) of rows and targets"
        )
    table = np.asarray(made).reshape(-1, 1) if np.ndim(made) == 1 else made
    return MemorySource(table).whole()


def _width(block: Block) -> int:
    """Columns that a block of rows has, as far as it can tell."""
    if isinstance(block, RowBlock) and isinstance(block.values, Compressed):
        indices = block.values.indices
        least = int(indices.max()) + 1 if len(indices) else 0
        return max(least, block.n_columns or 0)
    return int(block.values.shape[1]) if isinstance(block.values, np.ndarray) else len(block.values)


def _bytes(block: Block) -> int:
    v = block.values
    arrays = (v.indptr, v.indices, v.data) if isinstance(v, Compressed) else (v,)
    return sum(array.nbytes for array in arrays)


def _matrix(block: Block, shape: tuple[int, int]) -> Any:
    """A block as an array or a scipy matrix, in the shape of all of them."""
    v = block.values
    if not isinstance(v, Compressed):
        return v
    if isinstance(block, ColumnBlock):
        return sp.csc_matrix((v.data, v.indices, v.indptr), (block.n_rows, len(v)))
    return sp.csr_matrix((v.data, v.indices, v.indptr), (len(v), shape[1]))


def _compressed(block: Block, shape: tuple[int, int]) -> Compressed:
    if isinstance(block.values, Compressed):
        return block.values
    rows = sp.csr_matrix(_matrix(block, shape))
    return Compressed(rows.indptr.astype(np.int64), rows.indices, rows.data)
