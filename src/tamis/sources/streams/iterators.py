"""Blocks that a Python program makes, one after the other, as a source of columns or of rows."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed, RowBlock
from tamis.core.errors import InputError
from tamis.core.files import scratch_for
from tamis.core.params import Number, check
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import to_rows
from tamis.sources.base import (
    MEMORY,
    ColumnRange,
    ColumnSource,
    Progress,
    RowPlace,
    RowRange,
    RowSource,
    Source,
    different_labels,
    silent,
)
from tamis.sources.rebatch import rebatch
from tamis.sources.stores.column_store import ColumnStore
from tamis.sources.stores.column_writer import StoreWriter
from tamis.sources.stores.row_store import RowStore
from tamis.sources.stores.row_writer import RowWriter

Block = ColumnBlock | RowBlock
#: Blocks of an iterator are held up to this part of the memory, then all go to disk.
_SHARE = 4
_COLUMNS_AMONG_ROWS = "a block of columns came among blocks of rows; give one kind"
_ROWS_AMONG_COLUMNS = "a block of rows came among blocks of columns; give one kind"


def open_blocks(
    blocks: Iterable[Any] | Callable[[], Iterable[Any]],
    y: Any = None,
    *,
    memory: int = MEMORY,
    work: str | os.PathLike[str] | None = None,
) -> ColumnBlocks | RowBlocks:
    """Open blocks of columns, or of rows: a list, an iterator, or a function that returns one.

    Blocks are numbered as they come; their own numbers are ignored. Besides blocks, a table is
    taken as columns, and a pair (X, y) as rows with their targets. Data are read more than once (a
    selector looks at them before it takes the first column), so what an iterator yields is held: in
    memory while it is small, else in a store on disk that is removed with the source.

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
    >>> source = open_blocks(days, y=rng.integers(0, 2, 50))
    >>> sum(block.width for block in source.columns(2)), source.n_rows
    (21, 50)
    """
    check("open_blocks", "memory", memory, Number(1, integer=True))
    if not callable(blocks) and iter(blocks) is not blocks:
        blocks = tuple(blocks)
    making = blocks() if callable(blocks) else iter(blocks)
    first = next(map(_as_block, making), None)
    if first is None:
        raise InputError("there is no block; give at least one")
    kind = ColumnBlocks if isinstance(first, ColumnBlock) else RowBlocks
    given = blocks
    if making is blocks:
        given = itertools.chain([first], map(_as_block, making))
    return kind(given, first, y, memory, work)


class _Blocks(Source):
    """What both kinds share: the blocks, which can be read again and again."""

    format: ClassVar[str] = "blocks"

    def __init__(
        self,
        blocks: Iterable[Any] | Callable[[], Iterable[Any]],
        first: Any,
        y: Any,
        memory: int,
        work: str | os.PathLike[str] | None,
    ) -> None:
        self.memory, self.work, self._first = memory, work, first
        if callable(blocks):
            self._make = blocks
        elif iter(blocks) is blocks:
            self._make = self._held(iter(blocks))
        else:
            self._make = lambda: blocks
        self._y = None if y is None else np.asarray(y)
        self._known: tuple[int, int] | None = None

    @property
    def n_columns(self) -> int:
        """Number of columns, after a pass."""
        return self._shape()[1]

    @property
    def layout(self) -> Literal["dense", "sparse"]:
        """Whether the first block is dense or sparse."""
        return "sparse" if self._first.is_sparse else "dense"

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target that was given."""
        return self._y

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

    def _blocks(self) -> Iterator[Any]:
        return map(_as_block, self._make())

    def _shape(self) -> tuple[int, int]:
        """Return rows and columns, after a pass."""
        if self._known is None:
            self._known = self._measure()
        return self._known

    def _held(self, blocks: Iterator[Block]) -> Callable[[], Iterable[Block]]:
        """Hold what an iterator yields, to be read again: in memory, or in a store on disk."""
        held, room = list[Block](), self.memory // _SHARE
        for block in blocks:
            held.append(block)
            room -= _bytes(block)
            if room < 0:
                path = scratch_for(self, self.work_folder()) / "held"
                return self._on_disk(itertools.chain(held, blocks), str(path))
        return lambda: held

    def _measure(self) -> tuple[int, int]:
        """Count rows and columns."""
        raise AssertionError

    def _on_disk(self, blocks: Iterator[Block], path: str) -> Callable[[], Iterable[Block]]:
        """Write blocks to a store, and return what reads them."""
        raise AssertionError


class ColumnBlocks(_Blocks, ColumnSource):
    """Blocks of columns."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._first.n_rows)

    def blocks(self, wanted: ColumnRange) -> Iterator[ColumnBlock]:
        """Stream the blocks, cut where they are wider than `width`."""
        first, start = 0, wanted.start
        for block in self._blocks():
            if not isinstance(block, ColumnBlock):
                raise InputError(_ROWS_AMONG_COLUMNS)
            if block.n_rows != self.n_rows:
                raise InputError(
                    f"a block of {block.n_rows} rows came after blocks of {self.n_rows}; "
                    "give columns of the same rows"
                )
            step = wanted.width or max(1, block.width)
            end = min(block.width, wanted.end(first + block.width) - first)
            for lo in range(max(start - first, 0), end, step):
                hi = min(lo + step, end)
                yield replace(block.part(lo, hi).without_zeros(), first=first + lo)
                wanted.progress("reading columns", first + hi, None)
            first += block.width
            if wanted.stop is not None and first >= wanted.stop:
                return
        self._known = (self.n_rows, first)

    def _measure(self) -> tuple[int, int]:
        return self.n_rows, sum(block.width for block in self.columns())

    def _on_disk(self, blocks: Iterator[Block], path: str) -> Callable[[], Iterable[Block]]:
        if self._first.group is not None:
            raise InputError(
                "these blocks have groups and are too many to be held in memory; give a function "
                "that returns them anew"
            )
        with StoreWriter(f"{path}.cols") as writer:
            for block in blocks:
                if not isinstance(block, ColumnBlock):
                    raise InputError(_ROWS_AMONG_COLUMNS)
                writer.append(block.without_zeros())
            writer.commit(n_rows=self.n_rows)
        return ColumnStore(f"{path}.cols").columns


class RowBlocks(_Blocks, RowSource):
    """Blocks of rows."""

    @property
    def n_rows(self) -> int:
        """Number of rows, after a pass."""
        return self._shape()[0]

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target given, or that of the blocks."""
        if self._y is None and self._first.y is not None:
            labels = [block.y for block in self._blocks()]
            if any(y is None for y in labels):
                raise InputError("some blocks of rows have targets and others have none")
            self._y = np.concatenate([np.asarray(y) for y in labels])
        return self._y

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream the rows in blocks of `size`, by default as they come."""
        (n_rows, n_columns), y, first = self._shape(), self.target(), 0
        for values in self._row_values(size):
            target = None if y is None else y[first : first + len(values)]
            yield RowBlock(first, n_columns, values, target)
            first += len(values)
            progress("reading rows", first, n_rows)

    def _measure(self) -> tuple[int, int]:
        n_rows = width = 0
        for block in self._blocks():
            if not isinstance(block, RowBlock):
                raise InputError(_COLUMNS_AMONG_ROWS)
            n_rows, width = n_rows + block.height, max(width, _width(block))
        return n_rows, width

    def _row_values(self, size: int | None) -> Iterator[Any]:
        """Stream the numbers in pieces of `size` rows, sparse or dense as the first block is."""
        n_columns = self.n_columns
        if self._first.is_sparse:
            pieces = ((None, _compressed(block)) for block in self._blocks())
            yield from (rows for _, rows in rebatch(pieces, size))
            return
        held = np.empty((0, n_columns))
        for block in self._blocks():
            dense = np.ascontiguousarray(_dense(block, n_columns))
            held = np.concatenate([held, dense]) if len(held) else dense
            step = size or len(held)
            while step and len(held) >= step:
                yield held[:step]
                held = held[step:]
        if len(held):
            yield held

    def _on_disk(self, blocks: Iterator[Block], path: str) -> Callable[[], Iterable[Block]]:
        width = 0
        with RowWriter(f"{path}.rows") as writer:
            for block in blocks:
                if not isinstance(block, RowBlock):
                    raise InputError(_COLUMNS_AMONG_ROWS)
                width = max(width, _width(block))
                writer.append(block)
            writer.commit(n_columns=width)
        return RowStore(f"{path}.rows").batches


class RowStream(RowSource):
    """An iterator of RowBlocks, which is read once and not held."""

    format: ClassVar[str] = "blocks"
    rereadable = False
    n_rows = n_columns = None

    def __init__(self, blocks: Iterable[RowBlock]) -> None:
        self._blocks = iter(blocks)
        self._held: list[RowBlock] = []

    @property
    def name(self) -> str:
        """How the source is called in a sentence."""
        return "the iterator of rows"

    def target(self) -> None:
        """Return None: the target comes with the rows."""

    def fingerprint(self) -> str:
        """Return nothing: what has been read cannot be read again."""
        return ""

    def read_batches(self, wanted: RowRange) -> Iterator[RowBlock]:
        """Stream the blocks unchanged."""
        done = 0
        while (block := self._next()) is not None:
            yield replace(block, place=RowPlace("row", done))
            done += block.height
            wanted.progress("reading rows", done, None)

    def classes(self, progress: Progress = silent) -> npt.NDArray[Any] | None:
        """Return the labels of the first block."""
        block = self._next()
        if block is None:
            return None
        self._held.append(block)
        return None if block.y is None else different_labels(block.y, self.name)

    def _next(self) -> RowBlock | None:
        block = self._held.pop() if self._held else next(self._blocks, None)
        if block is not None and not isinstance(block, RowBlock):
            raise InputError(
                f"an iterator of rows gave a {type(block).__name__}; give RowBlocks, a path, a "
                "list of paths or a Source"
            )
        return block


def _as_block(made: Any) -> Block:
    """Return a block of what a program gives: a block, a table of columns, or rows with targets."""
    if isinstance(made, ColumnBlock | RowBlock):
        return made
    if isinstance(made, tuple) and len(made) == 2:
        X, y = made
        return replace(next(to_rows(MemorySource(X, y)).batches(max(1, len(y)))), first=0)
    if isinstance(made, str | bytes | dict) or not hasattr(made, "__len__"):
        raise InputError(
            f"a {type(made).__name__} came where a block was expected; give ColumnBlocks, "
            "RowBlocks, tables of columns, or pairs (X, y) of rows and targets"
        )
    table = np.asarray(made).reshape(-1, 1) if np.ndim(made) == 1 else made
    return MemorySource(table).whole()


def _width(block: RowBlock) -> int:
    """Return how many columns a block of rows has, as far as it can tell."""
    if isinstance(block.values, Compressed):
        indices = block.values.indices
        least = int(indices.max()) + 1 if len(indices) else 0
        return max(least, block.n_columns or 0)
    return int(block.values.shape[1])


def _bytes(block: Block) -> int:
    v = block.values
    arrays = (v.indptr, v.indices, v.data) if isinstance(v, Compressed) else (v,)
    return sum(array.nbytes for array in arrays)


def _dense(block: RowBlock, n_columns: int) -> Any:
    v = block.values
    if not isinstance(v, Compressed):
        return v
    from scipy.sparse import csr_matrix

    return csr_matrix((v.data, v.indices, v.indptr), (len(v), n_columns)).toarray()


def _compressed(block: RowBlock) -> Compressed:
    if isinstance(block.values, Compressed):
        return block.values
    from scipy.sparse import csr_matrix

    rows = csr_matrix(block.values)
    return Compressed(rows.indptr.astype(np.int64), rows.indices, rows.data)
