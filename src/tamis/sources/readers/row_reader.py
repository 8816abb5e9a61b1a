"""Readers: rows from front to back for learners, with the place of each row for a sentence.

A reader goes over its data once a pass and needs to know nothing beforehand, so that a pipe can be
read as well as a file. What is wrong with a line is one sentence, or is counted and passed over.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import RowBlock
from tamis.core.errors import InputError
from tamis.core.names import Names
from tamis.core.target import MOST_CLASSES
from tamis.sources.base import (
    Progress,
    RangedRows,
    Resumable,
    Source,
    refuse_without_target,
    silent,
)

#: Bytes of each end of a file that tell it from others.
_ENDS = 1 << 20


@dataclass(frozen=True)
class Part:
    """The next rows of a reader.

    Attributes
    ----------
    block : RowBlock
        The rows; its mark says where to go on after them, for readers that can.
    where : callable
        Says where a row of the block is: ``where(0)`` may be ``'train.svm, line 7'``.
    """

    block: RowBlock
    where: Callable[[int], str]


@dataclass
class BadLines:
    """Lines (or rows) that were passed over: how many of each kind, and where the first one was.

    >>> bad = BadLines()
    >>> bad.add("empty", 2, "a.svm, line 7")
    >>> bad.total, str(bad)
    (2, '2 empty (first: a.svm, line 7)')
    """

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, count: int, where: str) -> None:
        """Count lines of a kind."""
        self.counts[kind] = self.counts.get(kind, 0) + count
        self.first.setdefault(kind, where)

    def copy(self) -> BadLines:
        """The same as it is now."""
        return BadLines(dict(self.counts), dict(self.first))

    @property
    def total(self) -> int:
        """How many in all."""
        return sum(self.counts.values())

    def __str__(self) -> str:
        kinds = sorted(self.counts)
        return ", ".join(f"{self.counts[k]:,} {k} (first: {self.first[k]})" for k in kinds)


class RowReader(ABC):
    """Rows of one file, pipe, source or iterator.

    Attributes
    ----------
    name : str
        How it is called in a sentence.
    again : bool
        Whether it can be read more than once.
    name_prefix, name_base : str, int or None
        How features are called: prefix + (number + base); None while the base is not known.
    """

    name: str
    again: bool = True
    name_prefix: str = "x"
    name_base: int | None = 0

    @abstractmethod
    def parts(
        self, after: str | None = None, bad: BadLines | None = None, progress: Progress = silent
    ) -> Iterator[Part]:
        """Stream the rows after a mark; with `bad`, lines that cannot be read are counted there."""

    def classes(self, progress: Progress = silent) -> npt.NDArray[Any] | None:
        """All labels there are, rising, if that can be told before the rows are read."""
        return None

    def first_classes(self) -> npt.NDArray[Any] | None:
        """The labels among the first rows, without losing these rows; None if there are none."""
        return None

    def names(self) -> Names | None:
        """Names of the columns, if they have any."""
        return None

    def share(self, number: int, of: int) -> RowReader | None:
        """One of `of` ranges of the rows, one after the other; None if rows cannot be cut so.

        Where they are cut depends on the data and on `of`, on nothing else.
        """
        return self if of == 1 else None

    def committed(self, mark: str) -> None:  # noqa: B027  (most have nothing to do)
        """Hear that the rows up to a mark are safe and need not come again."""

    def identity(self) -> dict[str, Any]:
        """What tells the data from others, without reading all of it."""
        return {"name": self.name}


class SourceReader(RowReader):
    """The rows of any source; from a mark on if it can do that."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.path = source.path
        self.name = self.path or f"the {source.format} source"
        self.name_prefix, self.name_base = source.name_prefix, source.name_base
        #: The first row to read and the one not to read any more, if not all are.
        self._range: tuple[int, int] | None = None

    def parts(
        self, after: str | None = None, bad: BadLines | None = None, progress: Progress = silent
    ) -> Iterator[Part]:
        """Stream the rows after a mark; rows have numbers, counted from 0."""
        if self._range is not None and isinstance(self.source, RangedRows):
            first, last = self._range
            first = first if after is None else int(after)
            blocks = self.source.rows_between(first, last, None, progress)
        elif isinstance(self.source, Resumable):
            blocks = self.source.rows_after(after, None, progress)
        else:
            blocks = self.source.rows(None, progress)
        for block in blocks:
            yield Part(block, _RowOf(f"{self.name}, row", block.first))

    def classes(self, progress: Progress = silent) -> npt.NDArray[Any] | None:
        """The labels in the target, if the source has one at hand."""
        refuse_without_target(self.source)
        labels = self.source.target()
        return None if labels is None else _unique(labels, self.name)

    def share(self, number: int, of: int) -> RowReader | None:
        """As many rows as the others have, or one more, of a source that reads ranges of them."""
        if of == 1 or not isinstance(self.source, RangedRows):
            return super().share(number, of)
        part, n = SourceReader(self.source), self.source.n_rows
        part._range = n * number // of, n * (number + 1) // of
        return part

    def names(self) -> Names | None:
        """Names of the columns, if the source has any."""
        return self.source.names()

    def committed(self, mark: str) -> None:
        """Pass it on to a source that wants to know."""
        if isinstance(self.source, Resumable):
            self.source.committed(mark)

    def identity(self) -> dict[str, Any]:
        """Name, size and ends of the file, or what the source's own files are."""
        if self.path is None or not os.path.exists(self.path):
            return {"name": self.name}
        return identity_of(self.path)


class BlocksReader(RowReader):
    """An iterator of RowBlocks, which can be gone over once."""

    again = False

    def __init__(self, blocks: Iterator[RowBlock]) -> None:
        self.name = "the iterator of rows"
        self._blocks = iter(blocks)
        self._held: list[RowBlock] = []

    def parts(
        self, after: str | None = None, bad: BadLines | None = None, progress: Progress = silent
    ) -> Iterator[Part]:
        """Give the blocks as they come."""
        done = 0
        while (block := self._next()) is not None:
            yield Part(block, _RowOf("row", done))
            done += block.height
            progress("reading rows", done, None)

    def first_classes(self) -> npt.NDArray[Any] | None:
        """The labels of the first block."""
        block = self._next()
        if block is None:
            return None
        self._held.append(block)
        return None if block.y is None else _unique(block.y, self.name)

    def _next(self) -> RowBlock | None:
        block = self._held.pop() if self._held else next(self._blocks, None)
        if block is not None and not isinstance(block, RowBlock):
            raise InputError(
                f"an iterator of rows gave a {type(block).__name__}; give RowBlocks, a path, a "
                "list of paths or a Source"
            )
        return block


@dataclass(frozen=True)
class _RowOf:
    """Says the number of a row."""

    words: str
    first: int

    def __call__(self, row: int) -> str:
        return f"{self.words} {self.first + row}"


def _unique(labels: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """The different labels, those that are missing left out."""
    labels = np.asarray(labels)
    if labels.dtype.kind == "f":
        labels = labels[np.isfinite(labels)]
    elif labels.dtype.kind == "O":
        labels = labels[[label is not None and label == label for label in labels.tolist()]]
        labels = np.array(labels.tolist()) if len(labels) else labels
    return as_classes(np.unique(labels), name)


def as_classes(found: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Labels that rise as classes: whole numbers as integers; one sentence if they are no classes.

    >>> as_classes(np.array([-1.0, 1.0]), "a.svm").tolist()
    [-1, 1]
    """
    if found.dtype.kind == "f" and np.any(found != np.floor(found)):
        raise InputError(
            f"{name} has labels such as {found[found != np.floor(found)][0]:g}, which are numbers "
            "to predict, not classes; make classes of them"
        )
    if len(found) > MOST_CLASSES:
        raise InputError(
            f"{name} has {len(found):,} different labels, too many to be classes; make fewer"
        )
    whole = found.dtype.kind == "f" and bool(np.all(np.abs(found) < 2**53))
    return found.astype(np.int64) if whole else found


def identity_of(path: str) -> dict[str, Any]:
    """Name, bytes and a hash of both ends of a file; of a folder, those of its files."""
    if os.path.isdir(path):
        files = sorted(os.listdir(path))
        inside = [identity_of(os.path.join(path, name)) for name in files]
        print_ = hashlib.blake2b(repr(inside).encode(), digest_size=8).hexdigest()
        return {"name": os.path.basename(os.path.normpath(path)), "fingerprint": print_}
    digest = hashlib.blake2b(digest_size=8)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(file.read(_ENDS))
        file.seek(max(0, size - _ENDS))
        digest.update(file.read(_ENDS))
    return {"name": os.path.basename(path), "bytes": size, "fingerprint": digest.hexdigest()}
