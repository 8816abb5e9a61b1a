"""The two kinds of source, and how a source describes itself.

A `ColumnSource` yields blocks of columns, a `RowSource` yields blocks of rows. What both share is
their description (`Source`): shape, target, names, where the data is and how it is recognised.
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
from tamis.core.errors import InputError, SourceError
from tamis.core.masking import masked
from tamis.core.names import Names
from tamis.core.params import Number, check

#: Called as progress(what, done, total): what is being done, how far it is, and how far it goes
#: (None when unknown). Units are the source's own: bytes of a text file, columns of a matrix.
Progress = Callable[[str, int, int | None], None]
Report = Progress

#: A block holds about this many numbers unless the caller gives a width.
#: Small enough that a block's numbers and results stay in the processor's cache.
BLOCK_ENTRIES = 1_000_000

#: Bytes that turning rows into columns may use by default.
MEMORY = 2_000_000_000


def silent(what: str, done: int, total: int | None) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class SourceInfo:
    """Everything about a source but its data.

    Attributes
    ----------
    format, axis, layout : str
        Name of the format; "columns" or "rows"; "dense" or "sparse".
    n_rows, n_columns, stored : int or None
        The shape, and the number of stored values where that is known.
    target : str
        The target in a few words.
    fingerprint : str
        A short hash of the data and of how they are read.
    details : dict
        What else `tamis info` prints.
    path, target_name, name_prefix, name_base
        As attributes of the source.
    """

    format: str
    axis: Literal["columns", "rows"]
    n_rows: int
    n_columns: int | None
    stored: int | None
    layout: Literal["dense", "sparse"]
    target: str
    fingerprint: str
    details: dict[str, Any] = field(default_factory=dict)
    path: str | None = None
    target_name: str | None = None
    name_prefix: str = "x"
    name_base: int = 0

    def record(self) -> dict[str, Any]:
        """Return what `run.json` records and `tamis info` prints."""
        aside = ("path", "target_name", "name_prefix", "name_base")
        return {name: value for name, value in vars(self).items() if name not in aside}


class Source(ABC):
    """What both kinds of source share: their description.

    Attributes
    ----------
    format : str
        The name used by ``tamis.open(path, format=...)``.
    axis : {"columns", "rows"}
        Whether the data is stored by columns or by rows.
    path : str or None
        The file, folder or address, if there is one.
    name_prefix, name_base : str, int
        How features without a name are called: prefix + (arrival number + base).
    target_name : str or None
        Name of the column that is the target, where it has one.
    """

    format: ClassVar[str]
    axis: ClassVar[Literal["columns", "rows"]]
    path: str | None = None
    name_prefix: str = "x"
    name_base: int = 0
    target_name: str | None = None
    #: Bytes that turning rows into columns may use, and the folder for what does not fit.
    memory: int = MEMORY
    work: str | os.PathLike[str] | None = None

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def n_columns(self) -> int | None:
        """Number of columns, or None while unknown."""

    @property
    def stored(self) -> int | None:
        """Number of stored values of a sparse source, where that is known."""
        return None

    @property
    def layout(self) -> Literal["dense", "sparse"]:
        """Whether blocks are dense or sparse."""
        return "dense" if self.stored is None else "sparse"

    @property
    def label(self) -> str:
        """A short name: that of the file, or the format."""
        return os.path.basename(os.path.normpath(self.path)) if self.path else self.format

    @abstractmethod
    def target(self) -> npt.NDArray[Any] | None:
        """Return the target stored with the data, or None."""

    def missing_target(self) -> str | None:
        """Say how to give a target, if none was given and that is known before reading."""
        return None

    def names(self) -> Names | None:
        """Return the names of all columns, or None if only the blocks of columns know them."""
        return None

    def words(self) -> npt.NDArray[np.bool_] | None:
        """Return which columns are codes of three or more words, for a source that knows."""
        return None

    def keys(self) -> tuple[str, npt.NDArray[Any]] | None:
        """Return name and values of the column that names the rows, if there is one."""
        return None

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a short hash of the data and of how they are read."""

    def details(self) -> dict[str, Any]:
        """Return what else `tamis info` prints."""
        return {}

    def reading(self) -> dict[str, Any]:
        """Return how the file is read, where a fingerprint of its bytes does not tell."""
        return {}

    def verify(self, progress: Progress = silent) -> None:
        """Compare the data with checksums stored beside them."""
        called = self.path or self.label
        raise SourceError(f"{called} is not a store, so it has no checksums to verify")

    def work_folder(self) -> str:
        """Return a folder for temporary files: `work`, that of the data, or the current one."""
        if self.work is not None:
            return as_path(self.work)
        beside = [] if self.path is None else [os.path.dirname(os.path.abspath(self.path))]
        for folder in (*beside, os.getcwd()):
            if os.access(folder, os.W_OK):
                return folder
        raise SourceError(
            f"reading {self.path or self.label} by columns needs a folder to write to; name one "
            "with work="
        )

    def info(self) -> SourceInfo:
        """Describe the source; this may need a pass over the data."""
        return SourceInfo(
            self.format, self.axis, self.n_rows, self.n_columns, self.stored, self.layout,
            describe_target(self.target()), self.fingerprint(), self.details(),
            self.path, self.target_name, self.name_prefix, self.name_base,
        )  # fmt: skip

    @abstractmethod
    def rows(self, size: int | None = None, progress: Progress = silent) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows in order; the default size fits comfortably in memory."""

    @abstractmethod
    def load(self) -> tuple[Any, npt.NDArray[Any] | None]:
        """Everything at once: a scipy CSR/CSC matrix or an array, and the target."""

    # --- columns ---------------------------------------------------------------------------------

    #: Whether other processes can open it: pickled, it is only the way to open it.
    portable: bool = False

    @property
    def usual_width(self) -> int:
        """Number of columns in a block that fits well in memory."""
        return default_width(self.n_rows, self.n_columns or 0, self.stored)

    @abstractmethod
    def columns(
        self,
        width: int | None = None,
        start: int = 0,
        stop: int | None = None,
        progress: Progress = silent,
    ) -> Iterator[ColumnBlock]:
        """Stream columns `start` to `stop` - 1 in blocks of `width` columns, in order.

        By default all columns, in blocks that fit well in memory.
        """

    def _in_blocks(
        self,
        read: Callable[[int, int], ColumnBlock],
        width: int | None,
        start: int,
        stop: int | None,
        progress: Progress,
    ) -> Iterator[ColumnBlock]:
        """Cut a range into blocks and read each with `read(lo, hi)`."""
        if width is not None:
            check("columns", "width", width, Number(1, integer=True))
        total = self.n_columns or 0
        last, step = total if stop is None else min(stop, total), width or self.usual_width
        for lo in range(start, last, step):
            hi = min(lo + step, last)
            yield read(lo, hi)
            progress("reading columns", hi, total)


def refuse_without_target(source: Source) -> None:
    """Raise one sentence, before any long work, if no target was named."""
    hint = source.missing_target()
    if hint is not None:
        called = masked(source.path or "the data", whole=True)
        raise InputError(f"{called} has no target; {hint}")


#: A source whose data is stored by columns, and one whose data is stored by rows.
ColumnSource = RowSource = Source


@runtime_checkable
class Resumable(Protocol):
    """A source of rows that can go on from a mark instead of reading everything again.

    A run that is checkpointed keeps the mark of the last block it learned from in the checkpoint,
    so that each row is learned from once, also after a crash.
    """

    def rows_after(
        self, mark: str | None, size: int | None = None, progress: Progress = silent
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
        self, first: int, last: int, size: int | None = None, progress: Progress = silent
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
