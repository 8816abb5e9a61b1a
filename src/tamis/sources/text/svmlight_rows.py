"""SvmlightSource: rows of ``label index:value index:value ...``, plain or compressed.

The text is cut into chunks at line ends; threads parse chunks (`kernels.svmlight_parser`) while the
next one is read or decompressed, and the rows come out in the order of the file.

Do indices count from 0 or from 1? A selector can wait for the answer until it has seen the whole
file: they count from 0 if index 0 occurs anywhere. A learner must know before its first row, so for
learners (`for_learning`) the first megabytes decide, and an index 0 later on is a bad line.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import ParameterError, SourceError
from tamis.core.params import Number, check
from tamis.core.process_memory import reuse_freed
from tamis.kernels import svmlight_parser as kernel
from tamis.kernels.threads import thread_count
from tamis.sources.base import (
    MEMORY,
    BadLines,
    Progress,
    RowRange,
    RowSource,
    as_classes,
    as_path,
    identity_of,
    silent,
)
from tamis.sources.matrix import whole_numbers
from tamis.sources.rebatch import rebatch
from tamis.sources.text.read_ahead import close_early, in_order
from tamis.sources.text.svmlight_chunks import (
    IN_WORDS,
    SKIP,
    Chunk,
    Fault,
    Text,
    parse_chunk,
    sentence,
)
from tamis.sources.text_files import DamageError, TextFile, open_text

#: Bytes of text that a thread parses at a time: for a selector, and for a learner.
CHUNK, LEARNING_CHUNK = 1 << 20, 4_000_000
#: Bytes that are scanned at a time: they stay in the processor's cache.
GLANCE = 1 << 18
#: Lines that begin in the first so many bytes tell a learner the base of indices; of a pipe, its
#: labels too.
LOOK = 4_000_000

#: Bytes in memory per byte of text while rows are turned into columns, and how much shorter
#: compressed text may be.
_PER_BYTE, _PACKED = 16, 10

#: What else can be done with a damaged file.
_UP_TO = f"learn from what came before {SKIP}"


@dataclass(frozen=True)
class _Facts:
    """What a pass over the file tells."""

    n_rows: int = 0
    stored: int = 0
    lowest: int = np.iinfo(np.int64).max
    highest: int = -1

    def plus(self, found: npt.NDArray[np.int64]) -> _Facts:
        return _Facts(
            self.n_rows + int(found[kernel.ROWS]),
            self.stored + int(found[kernel.ENTRIES]),
            min(self.lowest, int(found[kernel.LOWEST])),
            max(self.highest, int(found[kernel.HIGHEST])),
        )


class SvmlightSource(RowSource):
    """Rows in svmlight (libsvm) text.

    Parameters
    ----------
    path : str or path
        Plain text or gzip, bzip2 or zstd, recognised by content.
    zero_based : {"auto", True, False}
        Whether indices count from 0. "auto": they do if index 0 occurs anywhere in the file.
    memory : int
        Bytes that turning rows into columns may use.
    work : str or path, optional
        Folder for temporary files; by default the folder of the file or, if that cannot be written
        to, the current one.
    chunk : int, optional
        Bytes of text parsed at a time; changes speed and memory, never a number.
    """

    format: ClassVar[str] = "svmlight"
    name_prefix: str = ""
    whole_labels = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        zero_based: bool | Literal["auto"] = "auto",
        *,
        memory: int = MEMORY,
        work: str | os.PathLike[str] | None = None,
        chunk: int | None = None,
    ) -> None:
        self._open(TextFile(as_path(path)), zero_based, CHUNK if chunk is None else chunk)
        check("SvmlightSource", "memory", memory, Number(1, integer=True))
        self.memory, self.work = memory, work

    @classmethod
    def for_learning(
        cls,
        path: str | os.PathLike[str],
        zero_based: bool | Literal["auto"] = "auto",
        *,
        chunk: int | None = None,
    ) -> Self:
        """Open a file, a named pipe, or ``-`` for standard input, to be read from front to back.

        The first megabytes tell what indices count from, and an empty line is a bad one.
        """
        source = cls.__new__(cls)
        source._open(open_text(path), zero_based, LEARNING_CHUNK if chunk is None else chunk)
        source._is_learning = True
        return source

    def learning(self) -> Self:
        """Return the same file as learners read it."""
        if self._is_learning:
            return self
        return self.for_learning(self.name, self.zero_based, chunk=self.chunk)

    def _open(self, text: TextFile, zero_based: bool | Literal["auto"], chunk: int) -> None:
        if zero_based not in (True, False, "auto"):
            raise ParameterError(f"zero_based={zero_based!r} is not 'auto', True or False")
        check("SvmlightSource", "chunk", chunk, Number(1, integer=True))
        self._text, self.zero_based, self.chunk = text, zero_based, chunk
        self.rereadable = text.again
        self.path = text.path if self.rereadable else None
        self._is_learning = False
        self._base = None if zero_based == "auto" else int(not zero_based)
        self._known: _Facts | None = None
        self._labels: npt.NDArray[Any] | None = None
        self._zero: bool | None = None
        #: Of a pipe: what was read to look at it, and is still to come.
        self._held: Iterator[Text] | None = None
        #: The bytes to begin at and to end before, where not all of the file is read.
        self._range: tuple[int, int | None] = 0, None
        self._before: int | None = None

    # --- description -----------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """How the source is called in a sentence."""
        return self._text.path

    @property
    def name_base(self) -> int | None:
        """Number of the first column in the file, 0 or 1; None while a learner must not know."""
        if self._base is not None or self._is_learning:
            return self._base
        return self._base_in(self._known) if self._known else int(not self._holds_zero())

    @name_base.setter
    def name_base(self, base: int | None) -> None:
        self._base = base

    @property
    def first_number(self) -> int:
        """Number of the first column in the file."""
        return self.name_base or 0

    @property
    def n_rows(self) -> int | None:
        """Number of rows, counted in a pass; None for a pipe."""
        return self._facts().n_rows if self.rereadable else None

    @property
    def n_columns(self) -> int | None:
        """Number of columns: the highest index, counted from the base; None for a pipe."""
        if not self.rereadable:
            return None
        facts = self._facts()
        return max(0, facts.highest + 1 - self._base_in(facts))

    @property
    def stored(self) -> int | None:
        """Number of stored values."""
        return self._facts().stored if self.rereadable else None

    def target(self) -> npt.NDArray[Any] | None:
        """Return the labels, as int64 if all are whole numbers; a pass unless already read."""
        if self._labels is None and self.rereadable:
            labels = [part.labels.copy() for part in self._parsed(self.chunk, silent)]
            self._labels = whole_numbers(np.concatenate(labels))
        return self._labels

    def classes(self, progress: Progress = silent) -> npt.NDArray[Any] | None:
        """Return all labels, from a pass over the beginnings of lines; None for a pipe."""
        if not self.rereadable:
            return None
        found = np.zeros(0)
        try:
            for labels in in_order(self._text.chunks(self.chunk), _labels):
                found = np.union1d(found, labels)
                progress("reading labels", self._text.done, self._text.size)
        except DamageError:  # the next pass says what it has to say about it
            pass
        return as_classes(found, self.name)

    def first_classes(self) -> npt.NDArray[Any] | None:
        """Return the labels in the first megabytes."""
        self._held, held = self._look(self._texts(0, None))
        labels = [_labels(text) for text in held]
        return as_classes(np.unique(np.concatenate(labels)), self.name) if labels else None

    def details(self) -> dict[str, Any]:
        """Return what else `tamis info` prints."""
        return {
            "zero_based": self.name_base == 0,
            "bytes": self._text.size,
            "compression": self._text.compression,
        }

    def reading(self) -> dict[str, Any]:
        """Return what the user says about the base of indices."""
        return {"zero_based": self.zero_based}

    def fingerprint(self) -> str:
        """Return a short hash of the bytes of the file."""
        return self._text.fingerprint()

    def identity(self) -> dict[str, Any]:
        """Return name, size and ends of a file; of a pipe, its name."""
        return identity_of(self.name) if self.rereadable else {"name": self.name}

    # --- rows ------------------------------------------------------------------------------------

    def read_batches(self, wanted: RowRange) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows; by default a block per chunk of text, with a mark.

        A mark is the byte, line and row after the block.
        """
        if wanted.size is None:
            yield from self._chunk_rows(wanted)
            return
        first = 0
        chunks = ((b.y, b.values) for b in self._chunk_rows(wanted))
        for y, rows in rebatch(chunks, wanted.size):  # type: ignore[arg-type]  # all are compressed
            yield RowBlock(first, self.n_columns if self._known else None, rows, y)
            first += len(rows)

    def _chunk_rows(self, wanted: RowRange) -> Iterator[RowBlock]:
        after, stop, bad = wanted.after, wanted.stop, wanted.bad
        reuse_freed()
        byte, line, row = (self._range[0], 0, 0) if after is None else map(int, after.split())
        texts = self._texts(byte, self._range[1] if stop is None else int(stop.split()[0]))
        if self.name_base is None:
            texts = self._look(texts)[0]
        base, skip, is_marked = self.name_base or 0, bad is not None, self._is_marked
        n_columns = self.n_columns if self._known else None
        whole = not (byte or skip or self._is_learning) and stop is None
        facts, total = _Facts(), self._text.size or None

        def parse(text: Text) -> Chunk:
            return parse_chunk(text, base, skip=skip, refuse_empty=self._is_learning)

        try:
            for chunk in in_order(texts, parse, read_in_thread=self.rereadable):
                if bad is not None and len(chunk.skipped):
                    self._count(bad, chunk, line)
                rows, at = chunk.rows, line
                indices = np.subtract(rows.indices, base, out=rows.indices)  # parsed for us alone
                values = Compressed(rows.indptr, indices, rows.data)
                place = _Place(self, chunk, at)
                if chunk.fault is not None:
                    # What is wrong with an earlier line is reported first.
                    yield RowBlock(row, n_columns, values, chunk.labels, place=place)
                    raise SourceError(self._sentence(chunk, chunk.fault, line))
                facts = facts.plus(chunk.found)
                byte += len(chunk.text) + (self._text.skipped if byte == 0 else 0)
                first, row = row, row + len(rows)
                line += int(chunk.found[kernel.LINES])
                wanted.progress("reading rows", self._text.done, total)
                mark = f"{byte} {line} {row}" if is_marked else None
                yield RowBlock(first, n_columns, values, chunk.labels, mark, place)
        except DamageError as error:
            if not self._is_learning:
                raise
            what, _, remedy = str(error).partition("; ")
            if bad is None:
                raise SourceError(f"{what}, after line {line}; {remedy}, or {_UP_TO}") from error
            bad.add("end of a damaged file", 1, f"{self.name}, after line {line}")
        if whole:
            self._learn(facts)

    def all_rows(self, memory: int = MEMORY, progress: Progress = silent) -> Iterator[RowBlock]:
        """Stream rows with the indices of the file; `first_number` is known afterwards."""
        first = 0
        # A chunk in flight takes some ten times its length, and there are a few of them.
        for part in self._parsed(max(1, min(self.chunk, memory // 100)), progress):
            yield RowBlock(first, None, part.rows, part.labels)
            first += len(part.rows)

    def load(self) -> tuple[Any, npt.NDArray[Any]]:
        """Return a CSR matrix, float64 with int32 indices if they fit, and the labels."""
        from scipy.sparse import csr_matrix

        parts = list(self._parsed(self.chunk, silent))
        facts, base, n_columns = self._facts(), self.first_number, self.n_columns or 0
        fits = max(n_columns, facts.stored) < 2**31
        indices = np.empty(facts.stored, dtype=np.int32 if fits else np.int64)
        indptr = np.zeros(facts.n_rows + 1, dtype=indices.dtype)
        values = np.empty(facts.stored)
        ends = np.cumsum([len(part.rows.indices) for part in parts]).tolist()
        rows = np.cumsum([len(part.rows) for part in parts]).tolist()

        def join(k: int) -> None:
            part = parts[k].rows
            lo, hi, row = ends[k] - len(part.indices), ends[k], rows[k] + 1
            np.subtract(part.indices, base, out=indices[lo:hi], casting="unsafe")
            values[lo:hi] = part.data
            indptr[row - len(part) : row] = part.indptr[1:] + lo

        with ThreadPoolExecutor(thread_count()) as pool:
            list(pool.map(join, range(len(parts))))
        self._labels = whole_numbers(np.concatenate([part.labels for part in parts]))
        matrix = csr_matrix((values, indices, indptr), shape=(facts.n_rows, n_columns))
        matrix.has_canonical_format = True
        return matrix, self._labels

    def is_small(self, memory: int) -> bool:
        """Tell whether the text, unpacked, is a small fraction of the memory."""
        packed = 1 if self._text.compression == "none" else _PACKED
        return self.rereadable and self._text.size * packed * _PER_BYTE <= memory

    def share(self, number: int, of: int) -> RowSource | None:
        """Return lines of about as many bytes as the others have, of a file that is plain text.

        The beginning of the file tells all of them what indices count from.
        """
        text = self._text
        if of == 1 or not self._is_marked:
            return super().share(number, of)
        if self.name_base is None:
            self._look(self._texts(0, None))
        part = copy.copy(self)
        first, last = (text.line_start(text.size * n // of) for n in (number, number + 1))
        part._text, part._range, part._known = TextFile(text.path), (first, last), None
        return part

    # --- small steps -----------------------------------------------------------------------------

    @property
    def _is_marked(self) -> bool:
        """Whether reading can begin at any line."""
        return self._text.compression == "none" and self.rereadable

    def _base_in(self, facts: _Facts) -> int:
        if self._base is not None:
            return self._base
        return 0 if facts.lowest == 0 else 1

    def _facts(self) -> _Facts:
        """Count rows, entries and columns: a cheap pass over the text, once."""
        if self._known is None:
            facts = _Facts()
            for text in self._text.chunks(self.chunk):
                found = kernel.new_found()
                kernel.scan_rows(text, found)
                facts = facts.plus(found)
            self._learn(facts)
        assert self._known is not None
        return self._known

    def _holds_zero(self) -> bool:
        """Return whether index 0 occurs: a scan that skips text which cannot hold it."""
        if self._zero is None:
            self._zero = False
            for text in self._text.chunks(min(self.chunk, GLANCE)):
                if kernel.may_hold_zero(text):
                    found = kernel.new_found()
                    kernel.scan_rows(text, found)
                    if found[kernel.LOWEST] == 0:
                        self._zero = True
                        break
        return self._zero

    def _learn(self, facts: _Facts) -> None:
        if facts.n_rows == 0:
            raise SourceError(f"{self.name} holds no rows; give a file with at least one")
        self._known = facts

    def _parsed(self, chunk: int, progress: Progress) -> Iterator[Chunk]:
        """Parse the whole file with threads, in order; a pass to the end learns its shape."""
        least = 1 if self.zero_based is False else 0
        facts, lines = _Facts(), 0
        for part in in_order(self._text.chunks(chunk), lambda text: parse_chunk(text, least)):
            if part.fault is not None:
                raise SourceError(sentence(self.name, part, part.fault, lines))
            facts = facts.plus(part.found)
            lines += int(part.found[kernel.LINES])
            progress("reading rows", self._text.done, self._text.size)
            yield part
        self._learn(facts)

    def _texts(self, start: int, stop: int | None) -> Iterator[Text]:
        """Return the text in chunks; what was looked at before comes again."""
        if self._held is not None:
            held, self._held = self._held, None
            return held
        return self._text.chunks(self.chunk, start=start, stop=stop)

    def _look(self, texts: Iterator[Text]) -> tuple[Iterator[Text], list[Text]]:
        """Read the first megabytes to find the base; return all text, and the lines looked at."""
        held: list[Text] = []
        looked: list[Text] = []
        size, rest = 0, texts
        try:
            while size < LOOK and (text := next(texts, None)) is not None:
                held.append(text)
                # To the end of the line that holds byte LOOK, whatever the chunks are.
                cut = len(text)
                if size + len(text) > LOOK:
                    inside = LOOK - size
                    cut = inside + int(np.argmax(text[inside:] == kernel.NEWLINE)) + 1
                looked.append(text[:cut])
                size += len(text)
        except SourceError as error:
            rest = _raising(error)
        if self.name_base is None:
            found = kernel.new_found()
            for text in looked:
                kernel.scan_rows(text, found)
            self.name_base = 0 if found[kernel.LOWEST] == 0 else 1
        return _again(held, rest), looked

    def _line(self, line: int) -> str:
        """Return name a line by its number in the file, not in the range that is read."""
        if self._before is None:
            first = self._range[0]
            self._before = self._text.lines_before(first) if first else 0
        return f"{self.name}, line {self._before + line + 1}"

    def _sentence(self, chunk: Chunk, fault: Fault, line: int) -> str:
        self._line(line)
        said = sentence(self.name, chunk, fault, (self._before or 0) + line)
        guessed = self._is_learning and self.zero_based == "auto"
        if fault.kind == kernel.INDEX_TOO_SMALL and guessed:
            return (
                f"{said.removesuffix('; use zero_based=True')}, as none in the first "
                f"{LOOK // 10**6} MB of text said; use zero_based=True (--zero-based)"
            )
        return said

    def _count(self, bad: BadLines, chunk: Chunk, line: int) -> None:
        kinds = chunk.skipped[:, 0]
        for kind in np.unique(kinds).tolist():
            at = chunk.skipped[kinds == kind, 1]
            where = self._line(line + int(chunk.lines_of(at[:1])[0]))
            bad.add(IN_WORDS[kind], len(at), where)


@dataclass(frozen=True)
class _Place:
    """Says in which line of the file a row of a chunk is."""

    source: SvmlightSource
    chunk: Chunk
    line: int

    def __call__(self, row: int) -> str:
        return self.source._line(self.line + self.chunk.line_of_row(row))


def _labels(text: Text) -> npt.NDArray[np.float64]:
    """Return the different labels of a chunk."""
    labels = np.empty(kernel.count_marks(text)[1])
    return np.unique(labels[: kernel.scan_labels(text, labels)])


def _again(held: list[Text], rest: Iterator[Text]) -> Iterator[Text]:
    """Yield what was looked at, and what is still to come."""
    try:
        yield from held
        yield from rest
    finally:
        close_early(rest)


def _raising(error: Exception) -> Iterator[Text]:
    """Raise when the first item is requested."""
    yield from ()
    raise error
