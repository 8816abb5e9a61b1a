"""Blocks made by a Python program, as a source of columns or of rows."""

from __future__ import annotations

import hashlib
import itertools
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
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
    short_hash,
    silent,
)
from tamis.sources.stores.column_store import ColumnStore
from tamis.sources.stores.column_writer import StoreWriter
from tamis.sources.stores.row_store import RowStore
from tamis.sources.stores.row_writer import RowWriter

Block = ColumnBlock | RowBlock
#: Blocks of an iterator are kept in memory up to this share of it, then written to disk.
_SHARE = 4


def open_blocks(
    blocks: Iterable[Any] | Callable[[], Iterable[Any]],
    y: Any = None,
    *,
    memory: int = MEMORY,
    work: str | os.PathLike[str] | None = None,
) -> ColumnBlocks | RowBlocks:
    """Open blocks of columns, or of rows: a list, an iterator, or a function that returns one.

    Blocks are numbered in the order of arrival; their own numbers are ignored. Besides blocks, a
    table is accepted as columns, and a pair (X, y) as rows with their targets. Data is read more
    than once (a selector inspects it before the first column), so the blocks of an iterator are
    stored: in memory if they are small, else in a store on disk that is removed with the source.

    Parameters
    ----------
    blocks : iterable of blocks, or function that returns one
        All columns of the same rows, or rows of the same columns.
    y : array-like, optional
        The target; blocks of rows may have their own.
    memory, work : int, str or path
        Approximate number of bytes to use, and the folder for that store (default: the current
        one).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> days = (ColumnBlock.of(rng.normal(size=(50, 3))) for day in range(7))
    >>> source = open_blocks(days, y=rng.integers(0, 2, 50))
    >>> sum(block.width for block in source.columns(2)), source.n_rows
    (21, 50)
    """
    check("open_blocks", "memory", memory, Number(1, integer=True))
    is_iterator = not callable(blocks) and iter(blocks) is blocks
    if not callable(blocks) and not is_iterator:
        blocks = tuple(blocks)
    making = iter(blocks() if callable(blocks) else blocks)
    first = next(map(_as_block, making), None)
    if first is None:
        raise InputError("there is no block; give at least one")
    source = (ColumnBlocks if isinstance(first, ColumnBlock) else RowBlocks)(first, y, memory, work)
    if is_iterator:
        source.hold(making)
    else:
        source.make = blocks if callable(blocks) else lambda: blocks
    return source


class _Blocks(Source):
    """Base class of both kinds: the blocks, which `make` returns anew for each pass."""

    format: ClassVar[str] = "blocks"
    make: Callable[[], Iterable[Any]]

    def __init__(
        self, first: Any, y: Any, memory: int, work: str | os.PathLike[str] | None
    ) -> None:
        self.memory, self.work, self._first = memory, work, first
        self._y = None if y is None else np.asarray(y)

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
        return short_hash(*(digest.hexdigest() for digest in digests))

    def _blocks(self, making: Iterable[Any] | None = None) -> Iterator[Any]:
        """Stream the blocks, by default from the first; all must be of one kind."""
        for block in map(_as_block, self.make() if making is None else making):
            if not isinstance(block, type(self._first)):
                kinds = {ColumnBlock: "columns", RowBlock: "rows"}
                raise InputError(
                    f"a block of {kinds[type(block)]} came among blocks of "
                    f"{kinds[type(self._first)]}; give one kind"
                )
            yield block

    def hold(self, making: Iterator[Any]) -> None:
        """Store the rest of an iterator's blocks: in memory, or in a store on disk."""
        held, room = list[Any](), self.memory // _SHARE
        blocks = itertools.chain([self._first], self._blocks(making))
        for block in blocks:
            held.append(block)
            room -= _bytes(block)
            if room < 0:
                path = scratch_for(self, self.work_folder()) / "held"
                self.make = self._on_disk(itertools.chain(held, blocks), path)
                return
        self.make = lambda: held

    @abstractmethod
    def _on_disk(self, blocks: Iterator[Any], path: Path) -> Callable[[], Iterable[Any]]:
        """Write blocks to a store, and return a function that reads them."""


class ColumnBlocks(_Blocks, ColumnSource):
    """Blocks of columns."""

    _width: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._first.n_rows)

    @property
    def n_columns(self) -> int:
        """Number of columns, after a pass."""
        if self._width is None:
            self._width = sum(block.width for block in self.columns())
        return self._width

    def blocks(self, wanted: ColumnRange) -> Iterator[ColumnBlock]:
        """Stream the blocks, cut where they are wider than `width`."""
        first, start = 0, wanted.start
        for block in self._blocks():
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
        self._width = first

    def _on_disk(self, blocks: Iterator[Any], path: Path) -> Callable[[], Iterable[Any]]:
        if self._first.group is not None:
            raise InputError(
                "these blocks have groups and are too many to be held in memory; give a function "
                "that returns them again"
            )
        with StoreWriter(f"{path}.cols") as writer:
            for block in blocks:
                writer.append(block.without_zeros())
            writer.commit(n_rows=self.n_rows)
        return ColumnStore(f"{path}.cols").columns


class RowBlocks(_Blocks, RowSource):
    """Blocks of rows."""

    @property
    def n_rows(self) -> int:
        """Number of rows, after a pass."""
        return self._shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns, after a pass."""
        return self._shape[1]

    def target(self) -> npt.NDArray[Any] | None:
        """Return the given target, or that of the blocks."""
        if self._y is None and self._first.y is not None:
            labels = [block.y for block in self._blocks()]
            if any(y is None for y in labels):
                raise InputError("some blocks of rows have targets and others have none")
            self._y = np.concatenate([np.asarray(y) for y in labels])
        return self._y

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream the rows in blocks of `size`, by default unchanged."""
        n_columns, is_sparse = self.n_columns, self._first.is_sparse
        pieces = ((None, _rows_of(block, n_columns, is_sparse)) for block in self._blocks())
        return self._blocks_of(pieces, size, progress)

    @cached_property
    def _shape(self) -> tuple[int, int]:
        n_rows = width = 0
        for block in self._blocks():
            n_rows, width = n_rows + block.height, max(width, _width(block))
        return n_rows, width

    def _on_disk(self, blocks: Iterator[Any], path: Path) -> Callable[[], Iterable[Any]]:
        width = 0
        with RowWriter(f"{path}.rows") as writer:
            for block in blocks:
                width = max(width, _width(block))
                writer.append(block)
            writer.commit(n_columns=width)
        return RowStore(f"{path}.rows").batches


class RowStream(RowSource):
    """An iterator of RowBlocks that is read once and not stored."""

    format: ClassVar[str] = "blocks"
    rereadable = False
    n_rows = n_columns = None

    def __init__(self, blocks: Iterable[RowBlock]) -> None:
        self._blocks: Iterator[RowBlock] = map(_row_block, blocks)

    @property
    def name(self) -> str:
        """The name of the source in messages."""
        return "the iterator of rows"

    def target(self) -> None:
        """Return None: the target comes with the rows."""

    def fingerprint(self) -> str:
        """Return an empty string: an iterator cannot be read again."""
        return ""

    def read_batches(self, wanted: RowRange) -> Iterator[RowBlock]:
        """Stream the blocks unchanged."""
        done = 0
        for block in self._blocks:
            yield replace(block, place=RowPlace("row", done))
            done += block.height
            wanted.progress("reading rows", done, None)

    def classes(self, progress: Progress = silent) -> npt.NDArray[Any] | None:
        """Return the labels of the first block."""
        block = next(self._blocks, None)
        if block is None:
            return None
        self._blocks = itertools.chain([block], self._blocks)
        return None if block.y is None else different_labels(block.y, self.name)


def _row_block(made: Any) -> RowBlock:
    if not isinstance(made, RowBlock):
        raise InputError(
            f"an iterator of rows gave a {type(made).__name__}; give RowBlocks, a path, a "
            "list of paths or a Source"
        )
    return made


def _as_block(made: Any) -> Block:
    """Return a block, given a block, a table of columns, or rows with targets."""
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
    """Return the number of columns of a block of rows, as far as it is known."""
    if isinstance(block.values, Compressed):
        indices = block.values.indices
        least = int(indices.max()) + 1 if len(indices) else 0
        return max(least, block.n_columns or 0)
    return int(block.values.shape[1])


def _bytes(block: Block) -> int:
    v = block.values
    arrays = (v.indptr, v.indices, v.data) if isinstance(v, Compressed) else (v,)
    return sum(array.nbytes for array in arrays)


def _rows_of(block: RowBlock, n_columns: int, is_sparse: bool) -> Any:
    """Return the rows of a block, sparse or dense."""
    v = block.values
    if block.is_sparse == is_sparse:
        return v if isinstance(v, Compressed) else np.ascontiguousarray(v)
    from scipy.sparse import csr_matrix

    if isinstance(v, Compressed):
        return csr_matrix((v.data, v.indices, v.indptr), (len(v), n_columns)).toarray()
    rows = csr_matrix(v)
    return Compressed(rows.indptr.astype(np.int64), rows.indices, rows.data)
