"""The two kinds of source, and their description.

A `ColumnSource` yields blocks of columns, a `RowSource` yields blocks of rows. Both have a
description (`Source`): shape, target, names, location and fingerprint of the data.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed, RowBlock
from tamis.core.errors import InputError, ParameterError, SourceError
from tamis.core.masking import masked
from tamis.core.names import Names
from tamis.core.params import Number, check
from tamis.core.sentences import counted
from tamis.core.target import MOST_CLASSES, missing_values, task_of
from tamis.sources.rebatch import Piece, join_labels, rebatch

#: Called as progress(what, done, total): the task, the amount done, and the total (None if
#: unknown). The units depend on the source: bytes of a text file, columns of a matrix.
Progress = Callable[[str, int, int | None], None]

#: A block holds about this many numbers unless the caller gives a width.
#: Small enough that a block's numbers and results stay in the processor's cache.
BLOCK_ENTRIES = 1_000_000

#: Bytes that transposing rows may use by default.
MEMORY = 2_000_000_000

#: Bytes at each end of a file that are hashed to identify it.
_ENDS = 1 << 20


def silent(what: str, done: int, total: int | None) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class SourceInfo:
    """Description of a source without its data, as in `run.json` and `tamis info`.

    Attributes
    ----------
    format, axis, layout : str
        Name of the format; "columns" or "rows"; "dense" or "sparse".
    n_rows, n_columns, stored : int or None
        The shape, and the number of stored values if known.
    target : str
        The target in a few words.
    fingerprint : str
        A short hash of the data and of how it is read.
    details : dict
        Additional details for `tamis info`.
    """

    format: str
    axis: Literal["columns", "rows"]
    n_rows: int | None
    n_columns: int | None
    stored: int | None
    layout: Literal["dense", "sparse"]
    target: str
    fingerprint: str
    details: dict[str, Any] = field(default_factory=dict)


S = TypeVar("S", bound="Source")


class Source(ABC):
    """Base class of both kinds of source: their description.

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
        Name of the target column, if it has one.
    """

    format: ClassVar[str]
    axis: Literal["columns", "rows"]
    path: str | None = None
    name_prefix: str = "x"
    name_base: int | None = 0
    target_name: str | None = None
    #: Bytes that transposing rows may use, and the folder for data that does not fit.
    memory: int = MEMORY
    work: str | os.PathLike[str] | None = None

    @property
    @abstractmethod
    def n_rows(self) -> int | None:
        """Number of rows, or None while unknown."""

    @property
    @abstractmethod
    def n_columns(self) -> int | None:
        """Number of columns, or None while unknown."""

    @property
    def stored(self) -> int | None:
        """Number of stored values of a sparse source, if known."""
        return None

    @property
    def layout(self) -> Literal["dense", "sparse"]:
        """Whether blocks are dense or sparse."""
        return "dense" if self.stored is None else "sparse"

    @property
    def label(self) -> str:
        """A short name: the file name, or the format."""
        return os.path.basename(os.path.normpath(self.path)) if self.path else self.format

    @abstractmethod
    def target(self) -> npt.NDArray[Any] | None:
        """Return the target stored with the data, or None."""

    def missing_target(self) -> str | None:
        """Return how to give a target, if it is known before reading that there is none."""
        return None

    def names(self) -> Names | None:
        """Return the names of all columns, or None if only the blocks hold them."""
        return None

    def words(self) -> npt.NDArray[np.bool_] | None:
        """Return which columns are coded text with three or more categories, if known."""
        return None

    def vocabulary(self) -> dict[str, list[str]]:
        """Return the words that codes stand for, of each column of coded text, as far as known."""
        return {}

    def keys(self) -> tuple[str, npt.NDArray[Any]] | None:
        """Return the name and values of the key column, if there is one."""
        return None

    def row_names(self) -> npt.NDArray[Any] | None:
        """Return the names of the rows, by which a table can be joined; the keys, if any."""
        named = self.keys()
        return None if named is None else named[1]

    @property
    def column_names(self) -> list[str] | None:
        """Names of the columns that `column` returns, features or not, if they have names."""
        return None

    def original(self, names: Sequence[str], text: Collection[str] = ()) -> Iterator[Any] | None:
        """Stream some columns as they are in the file: Arrow record batches, rows in order.

        Words are words and dates are dates. The columns in `text` of a CSV file stay text; if all
        do, nothing in the file is interpreted. None for a source that holds numbers only.
        """
        return None

    def key_column(self, name: str) -> npt.NDArray[Any]:
        """Return the values of a column that identifies rows; text as it is written."""
        return np.asarray(self.column(name))

    def column(self, name: str) -> npt.NDArray[Any] | None:
        """Return the values of one column, numbers or text, or None if it does not exist.

        It need not be a feature: a covariate, a weight, the target.
        """
        return None

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a short hash of the data and of how it is read."""

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        return {}

    def reading(self) -> dict[str, Any]:
        """Return the reading options that a fingerprint of the bytes does not cover."""
        return {}

    def verify(self, progress: Progress = silent) -> None:
        """Compare the data with its stored checksums."""
        called = self.path or self.label
        raise SourceError(f"{called} is not a store, so it has no checksums to verify")

    def is_small(self, memory: int) -> bool:
        """Return True if sparse rows can be read and transposed in a fraction of the memory."""
        return False

    def work_folder(self) -> str:
        """Return a folder for temporary files: `work`, the data's folder, or the current one."""
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
        )  # fmt: skip

    @abstractmethod
    def load(self) -> tuple[Any, npt.NDArray[Any] | None]:
        """Return everything at once: a scipy matrix or an array, and the target."""


@dataclass(frozen=True)
class ColumnRange:
    """Columns `start` to `stop` - 1 in blocks of `width`; see `ColumnSource.columns`."""

    width: int | None
    start: int
    stop: int | None
    progress: Progress

    def end(self, n_columns: int) -> int:
        """Return the end of the range in a source with `n_columns` columns."""
        return n_columns if self.stop is None else min(self.stop, n_columns)


@dataclass(frozen=True)
class RowRange:
    """Rows to stream, from one mark to another; see `RowSource.batches`."""

    size: int | None
    after: str | None
    stop: str | None
    bad: BadLines | None
    progress: Progress


class ColumnSource(Source):
    """Data that is read by columns.

    Besides the description, subclasses implement one method: `read`, which returns any range of
    columns as one block; or `blocks`, if blocks are only available one after another.

    Attributes
    ----------
    portable : bool
        Whether other processes can open it: only the location is pickled, not the data.
    """

    axis: Literal["columns", "rows"] = "columns"
    name_base: int = 0
    portable: bool = False

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    def read(self, lo: int, hi: int) -> ColumnBlock:
        """Return columns lo to hi - 1."""
        return next(self.columns(hi - lo, lo, hi))

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
        check("columns", "width", width, (Number(1, integer=True), None))
        return self.blocks(ColumnRange(width, start, stop, progress))

    def blocks(self, wanted: ColumnRange) -> Iterator[ColumnBlock]:
        """Stream a range of columns; see `columns`."""
        total = self.n_columns or 0
        last = total if wanted.stop is None else min(wanted.stop, total)
        step = wanted.width or default_width(self.n_rows, total, self.stored)
        for lo in range(wanted.start, last, step):
            hi = min(lo + step, last)
            yield self.read(lo, hi)
            wanted.progress("reading columns", hi, total)

    def load(self) -> tuple[Any, npt.NDArray[Any] | None]:
        """Return everything at once: a CSC matrix or an array in Fortran order, and the target."""
        values = (block.values for block in self.columns())
        parts = [part if isinstance(part, Compressed) else part.T for part in values]
        return joined(parts, self.n_rows, self.layout == "sparse").T, self.target()


class RowSource(Source):
    """Data that is read by rows.

    Besides the description, subclasses implement one method: `rows`; or `read_batches`, if reading
    can resume from a mark or bad lines can be skipped.

    Attributes
    ----------
    name_base : int or None
        As for every source; None until it is known whether feature numbers count from 0 or 1.
    rereadable : bool
        Whether the rows can be read more than once.
    whole_labels : bool
        Whether labels become integers if all of them are whole numbers.
    first_number : int
        Number of the first column in the blocks of `all_rows`.
    """

    axis: Literal["columns", "rows"] = "rows"
    rereadable: bool = True
    whole_labels: bool = False
    first_number: int = 0

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream all rows in blocks of `size` rows, or of a size that fits well in memory."""
        return self.batches(size, progress=progress)

    def batches(
        self,
        size: int | None = None,
        after: str | None = None,
        stop: str | None = None,
        bad: BadLines | None = None,
        progress: Progress = silent,
    ) -> Iterator[RowBlock]:
        """Stream the rows in blocks of `size` rows, in order.

        By default all rows, in blocks that fit well in memory. `after` and `stop` are marks of
        blocks: begin after the first and end with the second. With `bad`, lines that cannot be
        read are counted there and skipped.
        """
        check("batches", "size", size, (Number(1, integer=True), None))
        return self.read_batches(RowRange(size, after, stop, bad, progress))

    def read_batches(self, wanted: RowRange) -> Iterator[RowBlock]:
        """Stream a range of rows; see `batches`."""
        if wanted.after is not None or wanted.stop is not None:
            raise ParameterError(f"{self.name} has no marks to resume from; read all of it")
        for block in self.rows(wanted.size, wanted.progress):
            yield replace(block, place=RowPlace(f"{self.name}, row", block.first))

    def all_rows(self, memory: int = MEMORY, progress: Progress = silent) -> Iterator[RowBlock]:
        """Stream the rows for a store, with the feature numbers of the file.

        The first column has the number `first_number`, which is known once all rows are read.
        """
        return self.batches(progress=progress)

    @property
    def name(self) -> str:
        """The name of the source in messages."""
        return self.path or f"the {self.format} source"

    def classes(self, progress: Progress = silent) -> npt.NDArray[Any] | None:
        """Return the sorted labels of all rows, or of the first ones if rows can be read only once.

        Return None if they are not known.
        """
        refuse_without_target(self)
        labels = self.target()
        return None if labels is None else different_labels(labels, self.name)

    def learning(self) -> RowSource:
        """Return the source in the form that learners read."""
        return self

    def share(self, number: int, of: int) -> RowSource | None:
        """Return one of `of` ranges of the rows, or None if rows cannot be cut.

        The boundaries depend only on the data and on `of`.
        """
        return self if of == 1 else None

    def committed(self, mark: str) -> None:
        """Record that the rows up to a mark are in a checkpoint and need not be sent again."""

    def identity(self) -> dict[str, Any]:
        """Return what identifies the data, without reading all of it."""
        if self.path is None or not os.path.exists(self.path):
            return {"name": self.name}
        return identity_of(self.path)

    def load(self) -> tuple[Any, npt.NDArray[Any] | None]:
        """Return everything at once: a CSR matrix or an array in C order, and the target."""
        blocks: list[Any] = list(self.all_rows())
        labels = [block.y for block in blocks if block.y is not None]
        y: Any = join_labels(labels) if labels else self.target()
        parts = [block.values for block in blocks]
        if self.first_number:
            parts = [replace(part, indices=part.indices - self.first_number) for part in parts]
        matrix = joined(parts, self.n_columns or 0, self.layout == "sparse")
        return matrix, whole_numbers(y) if labels and self.whole_labels else y

    def _blocks_of(
        self, pieces: Iterable[Piece], size: int | None, progress: Progress
    ) -> Iterator[RowBlock]:
        """Regroup pieces of rows of any height into blocks of `size` rows."""
        y, first = self.target(), 0
        for _, values in rebatch(pieces, size):
            last = first + len(values)
            yield RowBlock(first, self.n_columns, values, None if y is None else y[first:last])
            progress("reading rows", last, self.n_rows)
            first = last

    def _row_ranges(
        self,
        read: Callable[[int, int], Any],
        size: int | None,
        progress: Progress,
        doing: str = "reading rows",
    ) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows, where `read` returns the values of rows lo to hi - 1."""
        y, length = self.target(), self.n_rows or 0
        step = size or default_width(self.n_columns or 0, length, self.stored)
        for lo in range(0, length, step):
            hi = min(lo + step, length)
            yield RowBlock(lo, self.n_columns, read(lo, hi), None if y is None else y[lo:hi])
            progress(doing, hi, length)


def _of_other(name: str) -> Any:
    """Return a property that forwards to the wrapped source."""
    return property(attrgetter(f"_source.{name}"))


class Wrapper(Source):
    """A source that wraps another one and has the same description."""

    format: ClassVar[Any] = _of_other("format")
    path: Any = _of_other("path")
    name_prefix: Any = _of_other("name_prefix")
    name_base: Any = _of_other("name_base")
    target_name: Any = _of_other("target_name")
    memory: Any = _of_other("memory")
    work: Any = _of_other("work")
    n_rows: Any = _of_other("n_rows")
    n_columns: Any = _of_other("n_columns")
    stored: Any = _of_other("stored")
    layout: Any = _of_other("layout")
    target: Any = _of_other("target")
    missing_target: Any = _of_other("missing_target")
    names: Any = _of_other("names")
    vocabulary: Any = _of_other("vocabulary")
    keys: Any = _of_other("keys")
    row_names: Any = _of_other("row_names")
    column_names: Any = _of_other("column_names")
    column: Any = _of_other("column")
    details: Any = _of_other("details")
    fingerprint: Any = _of_other("fingerprint")

    def __init__(self, source: Any) -> None:
        self._source = source


class ColumnWrapper(Wrapper, ColumnSource):
    """A source of columns that wraps another one and changes its blocks."""

    portable: Any = _of_other("portable")

    @abstractmethod
    def change(self, block: ColumnBlock) -> ColumnBlock:
        """Return the changed version of a block of the wrapped source."""

    def blocks(self, wanted: ColumnRange) -> Iterator[ColumnBlock]:
        """Stream the changed blocks."""
        return map(self.change, self._source.blocks(wanted))


@dataclass(frozen=True)
class RowPlace:
    """Formats the location of a row of a block."""

    words: str
    first: int

    def __call__(self, row: int) -> str:
        """Return the location of a row."""
        return f"{self.words} {self.first + row}"


@dataclass
class BadLines:
    """Skipped lines (or rows): the number of each kind, and where the first one was.

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
        """Return a copy."""
        return BadLines(dict(self.counts), dict(self.first))

    @property
    def total(self) -> int:
        """Number of lines of all kinds."""
        return sum(self.counts.values())

    def __str__(self) -> str:
        kinds = sorted(self.counts)
        return ", ".join(f"{self.counts[k]:,} {k} (first: {self.first[k]})" for k in kinds)


def seen_as(kind: type[S], source: Source) -> S:
    """Return a source as another kind of source, with the same attributes."""
    made = kind.__new__(kind)
    vars(made).update(vars(source))
    return made


def refuse_without_target(source: Source) -> None:
    """Raise a one-sentence error, before any long work, if there is no target."""
    hint = source.missing_target()
    if hint is not None:
        called = masked(source.path or "the data", whole=True)
        raise InputError(f"{called} has no target; {hint}")


def default_width(n_rows: int, n_columns: int, stored: int | None) -> int:
    """Return the number of columns in a block of about BLOCK_ENTRIES numbers, at least one.

    A column counts as its entries plus a constant, so that millions of empty columns are split too.
    """
    per_column = n_rows if stored is None else 4 + stored / max(n_columns, 1)
    return max(1, min(n_columns, int(BLOCK_ENTRIES / max(per_column, 1.0))))


def short_hash(*parts: Any) -> str:
    """Return a short hash of strings and bytes, in order."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
    return digest.hexdigest()


def as_path(path: str | os.PathLike[str]) -> str:
    """Return a path as text, with ~ expanded."""
    return os.path.expanduser(os.fspath(path))


def describe_target(y: npt.NDArray[Any] | None, task: str = "auto") -> str:
    """Describe a target in a few words, as classes or as numbers.

    >>> describe_target(np.array([1, 1, -1]))
    '2 classes: -1 (1), 1 (2)'
    """
    if y is None:
        return "none"
    if len(missing := np.flatnonzero(missing_values(y))):
        known = describe_target(np.delete(y, missing), task) if len(missing) < len(y) else "none"
        return f"{known}; {counted(len(missing), 'row has', 'rows have')} no target"
    classes, counts = np.unique(y, return_counts=True)
    if (task_of(y).name if task == "auto" else task) == "regression":
        if classes.dtype.kind == "U":  # numbers as text
            classes = np.sort(classes.astype(np.float64))
        return f"numbers from {_label(classes[0].item())} to {_label(classes[-1].item())}"
    some = zip(classes[:6].tolist(), counts[:6].tolist(), strict=True)
    show = ", ".join(f"{_label(c)} ({n})" for c, n in some)
    more = ", ..." if len(classes) > 6 else ""
    return f"{counted(len(classes), 'class', 'classes')}: {show}{more}"


def _label(value: Any) -> str:
    """Return a label as text: whole numbers with all their digits."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.15g}" if value.is_integer() else f"{value:g}"


def joined(parts: list[Any], length: int, is_sparse: bool) -> Any:
    """Concatenate vectors of a given length: a CSR matrix, or an array in C order."""
    if not is_sparse and not any(isinstance(part, Compressed) for part in parts):
        return np.ascontiguousarray(np.concatenate(parts)) if parts else np.zeros((0, length))
    from scipy.sparse import csr_matrix, vstack

    if not parts or not all(isinstance(part, Compressed) for part in parts):
        rows = [csr_matrix((0, length))]
        for part in parts:
            vectors = (
                (part.data, part.indices, part.indptr) if isinstance(part, Compressed) else part
            )
            rows.append(csr_matrix(vectors, (len(part), length)))
        return vstack(rows, format="csr")
    stored = sum(len(part.indices) for part in parts)
    kind = np.dtype(np.int32 if max(stored, length) < 2**31 else np.int64)
    counts = np.concatenate([[0], *(np.diff(part.indptr) for part in parts)])
    indices = np.concatenate([part.indices for part in parts], dtype=kind, casting="unsafe")
    data = np.concatenate([part.data for part in parts])
    return csr_matrix((data, indices, np.cumsum(counts, dtype=kind)), (len(counts) - 1, length))


class NoClassesError(InputError):
    """Labels are numbers that cannot be classes.

    Attributes
    ----------
    what : str
        What the labels are, without the reason.
    """

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}, {why}")
        self.what = what


def different_labels(labels: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return the classes among some labels, ignoring missing ones."""
    labels = np.asarray(labels)
    if labels.dtype.kind == "f":
        labels = labels[np.isfinite(labels)]
    elif labels.dtype.kind == "O":
        labels = labels[[label is not None and label == label for label in labels.tolist()]]
        labels = np.array(labels.tolist()) if len(labels) else labels
    return as_classes(np.unique(labels), name)


def as_classes(found: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return sorted labels as classes, whole numbers as integers; refuse real numbers.

    >>> as_classes(np.array([-1.0, 1.0]), "a.svm").tolist()
    [-1, 1]
    """
    if found.dtype.kind == "f" and np.any(found != np.floor(found)):
        raise NoClassesError(
            f"{name} has labels such as {found[found != np.floor(found)][0]:g}",
            "which are numbers to predict, not classes; turn them into classes",
        )
    if len(found) > MOST_CLASSES:
        what = f"{name} has {len(found):,} different labels"
        if found.dtype.kind in "iuf":
            raise NoClassesError(what, "too many to be classes; merge some")
        raise InputError(f"{what}, too many to be classes; merge some")
    return whole_numbers(found) if found.dtype.kind == "f" else found


def whole_numbers(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels as int64 when all of them are whole numbers, else unchanged.

    >>> whole_numbers(np.array([1.0, -1.0])).tolist(), whole_numbers(np.array([0.5, 1.0])).tolist()
    ([1, -1], [0.5, 1.0])
    """
    if y.dtype.kind != "f":
        return y
    is_whole = bool(np.all(np.abs(y) < 2**53) and np.all(y == np.floor(y)))
    return y.astype(np.int64) if is_whole else y


def identity_of(path: str) -> dict[str, Any]:
    """Return the name, size and a hash of both ends of a file, or of each file in a folder."""
    if os.path.isdir(path):
        files = sorted(os.listdir(path))
        inside = [identity_of(os.path.join(path, name)) for name in files]
        name = os.path.basename(os.path.normpath(path))
        return {"name": name, "fingerprint": short_hash(repr(inside))}
    digest = hashlib.blake2b(digest_size=8)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(file.read(_ENDS))
        file.seek(max(0, size - _ENDS))
        digest.update(file.read(_ENDS))
    return {"name": os.path.basename(path), "bytes": size, "fingerprint": digest.hexdigest()}
