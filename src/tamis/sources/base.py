"""Where columns or rows come from: one small interface, and the readers found by name or extension.

A source knows its own axis. Reading along the other axis costs a pass over the data; a source that
must pay it says so through `report` and keeps what it built.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, RowBlock
from tamis.core.errors import InputError
from tamis.core.masking import masked
from tamis.core.names import Names

#: Called as report(what, done, total): what is being done, how far it is, and how far it goes
#: (None when unknown). Units are the source's own: bytes of a text file, columns of a matrix.
Report = Callable[[str, int, int | None], None]

#: A block holds about this many numbers unless the caller asks for a width.
#: Small enough that a block's numbers and results stay in the processor's cache.
BLOCK_ENTRIES = 1_000_000


def silent(what: str, done: int, total: int | None) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class SourceInfo:
    """What `tamis info` prints and `run.json` records about a source."""

    format: str
    axis: Literal["columns", "rows"]
    n_rows: int
    n_columns: int | None
    stored: int | None
    layout: Literal["dense", "sparse"]
    target: str
    fingerprint: str
    details: dict[str, Any] = field(default_factory=dict)


class Source(ABC):
    """Data that can be loaded whole, or streamed by columns or by rows.

    Attributes
    ----------
    format : str
        The name used by ``tamis.open(path, format=...)``.
    axis : {"columns", "rows"}
        The axis along which streaming costs no extra pass.
    name_prefix, name_base : str, int
        How features without a name are called: prefix + (arrival number + base).
    """

    format: ClassVar[str]
    axis: ClassVar[Literal["columns", "rows"]]
    name_prefix: str = "x"
    name_base: int = 0
    #: The first column that `columns` gives; another than 0 where those before it are done.
    first_column: int = 0

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def n_columns(self) -> int | None:
        """Number of columns, or None while unknown."""

    @abstractmethod
    def target(self) -> npt.NDArray[Any] | None:
        """The target stored with the data, or None."""

    def missing_target(self) -> str | None:
        """How to give a target, where none was given and that is known before anything is read."""
        return None

    def names(self) -> Names | None:
        """Names of all columns, for a source of rows that has them; None: columns tell their own.

        Blocks of columns bring their names along, blocks of rows cannot.
        """
        return None

    def words(self) -> npt.NDArray[np.bool_] | None:
        """Which columns are codes of three or more words, for a source of rows that knows."""
        return None

    def keys(self) -> tuple[str, npt.NDArray[Any]] | None:
        """Name and values of the column that names the rows, for a source that was given one."""
        return None

    @abstractmethod
    def columns(self, width: int | None = None, report: Report = silent) -> Iterator[ColumnBlock]:
        """Stream blocks of `width` columns in order; the default width fits well in memory."""

    @abstractmethod
    def rows(self, size: int | None = None, report: Report = silent) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows in order; the default size fits comfortably in memory."""

    @abstractmethod
    def load(self) -> tuple[Any, npt.NDArray[Any] | None]:
        """Everything at once: a scipy CSR/CSC matrix or an array, and the target."""

    @abstractmethod
    def info(self) -> SourceInfo:
        """Shape, layout, target and fingerprint."""


def refuse_without_target(source: Source) -> None:
    """Raise one sentence, before any long work, if nobody said what the target is."""
    hint = source.missing_target()
    if hint is not None:
        called = masked(getattr(source, "path", "the data"), whole=True)
        raise InputError(f"{called} has no target; {hint}")


@runtime_checkable
class Ranged(Protocol):
    """A source any of whose columns can be read without those before them.

    Such a source can be opened by many workers, each reading its own ranges: pickled, it is no more
    than the way to open it.
    """

    @property
    def usual_width(self) -> int:
        """Columns in a block that fits well in memory."""

    def between(self, lo: int, hi: int) -> ColumnBlock:
        """Columns lo to hi - 1."""


@runtime_checkable
class Resumable(Protocol):
    """A source of rows that can go on from a mark instead of reading everything again.

    A run that is checkpointed keeps the mark of the last block it learned from in the checkpoint,
    so that each row is learned from once, also after a crash.
    """

    def rows_after(
        self, mark: str | None, size: int | None = None, report: Report = silent
    ) -> Iterator[RowBlock]:
        """Stream the rows after a mark (None: from the start); every block has a mark."""

    def committed(self, mark: str) -> None:
        """Hear that the rows up to this mark are safe in a checkpoint and need not come again."""


@runtime_checkable
class RangedRows(Protocol):
    """A source of rows that reads any range of them without those before it."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def rows_between(
        self, first: int, last: int, size: int | None = None, report: Report = silent
    ) -> Iterator[RowBlock]:
        """Stream rows first to last - 1."""


def default_width(n_rows: int, n_columns: int, stored: int | None) -> int:
    """Columns in a block of about BLOCK_ENTRIES numbers, never fewer than one.

    A column costs its entries plus a fixed few, so that millions of empty columns make blocks too.
    """
    per_column = n_rows if stored is None else 4 + stored / max(n_columns, 1)
    return max(1, min(n_columns, int(BLOCK_ENTRIES / max(per_column, 1.0))))


def as_path(path: str | os.PathLike[str]) -> str:
    """A path as text, with ~ expanded."""
    return os.path.expanduser(os.fspath(path))


def describe_target(y: npt.NDArray[Any] | None) -> str:
    """Say what a target holds in a few words.

    >>> describe_target(np.array([1, 1, -1]))
    '2 classes: -1 (1), 1 (2)'
    """
    if y is None:
        return "none"
    classes, counts = np.unique(y, return_counts=True)
    if y.dtype.kind == "f" and np.any(classes != np.floor(classes)):
        return f"numbers from {classes[0]:g} to {classes[-1]:g}"
    show = ", ".join(
        f"{c:g} ({k})" if y.dtype.kind in "iuf" else f"{c} ({k})"
        for c, k in list(zip(classes.tolist(), counts.tolist(), strict=True))[:6]
    )
    return f"{len(classes)} classes: {show}{', ...' if len(classes) > 6 else ''}"
