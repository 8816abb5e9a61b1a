"""SvmlightSource: rows of ``label index:value index:value ...``, plain or compressed.

The text is split into chunks at line ends; threads parse chunks (`kernels.svmlight_parser`) while
the next one is read or decompressed, and the rows are yielded in the order of the file.

Do indices count from 0 or from 1? A selector can wait for the answer until it has seen the whole
file: they count from 0 if index 0 occurs anywhere. A learner must know before its first row, so for
learners (`learning=True`) the first megabytes decide, and an index 0 later on is a bad line.
"""

from __future__ import annotations

import copy
import math
import os
import re
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Literal

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
    silent,
    whole_numbers,
)
from tamis.sources.rebatch import are_whole, join_labels, rebatch
from tamis.sources.text_files import DamageError, TextFile, in_order, open_text

#: Bytes of text that a thread parses at a time: for a selector, and for a learner.
CHUNK, LEARNING_CHUNK = 1 << 20, 4_000_000
#: Bytes that are scanned at a time: they stay in the processor's cache.
GLANCE = 1 << 18
#: A learner takes the base of indices from the lines that begin in this many first bytes; of a
#: pipe, also the labels.
LOOK = 4_000_000

#: Bytes of text, and what the kernel counted in them.
Text = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int64]

#: Bytes in memory per byte of text while rows are transposed, and the largest expected
#: compression ratio.
_PER_BYTE, _PACKED = 16, 10

#: A token ends before white space, the end of a line or a comment.
_TOKEN = re.compile(rb"[^ \t\r\n#]*")
#: Number of characters shown of an invalid token.
_SHOWN = 40

#: How to skip bad lines.
SKIP = "with skip_bad_lines=True (--skip-bad-lines)"

#: Descriptions of skipped lines, after their number: "3 ...".
IN_WORDS = {
    kernel.BAD_LABEL: "without a number as label",
    kernel.BAD_QID: "with a query number that is not one",
    kernel.BAD_INDEX: "with something that is not index:value",
    kernel.BAD_VALUE: "with a value that is not a number",
    kernel.NOT_FINITE: "with NaN or infinity",
    kernel.LONE_RETURN: "with a carriage return inside",
    kernel.INDEX_TOO_SMALL: "with index 0 where indices count from 1",
    kernel.INDEX_TOO_LARGE: "with an index above 2**62",
    kernel.NOT_RISING: "with indices that do not rise",
    kernel.EMPTY: "empty",
}

#: An alternative for a damaged file.
_UP_TO = f"learn from what came before {SKIP}"


class SvmlightSource(RowSource):
    """Rows in svmlight (libsvm) text.

    Parameters
    ----------
    path : str or path
        Plain text or gzip, bzip2 or zstd, recognised by content.
    zero_based : {"auto", True, False}
        Whether indices count from 0. "auto": they do if index 0 occurs anywhere in the file.
    memory : int
        Bytes that transposing rows into columns may use.
    work : str or path, optional
        Folder for temporary files; by default the folder of the file or, if that cannot be written
        to, the current one.
    chunk : int, optional
        Bytes of text parsed at a time; changes speed and memory, never the result.
    learning : bool
        Read from front to back, as learners do: the path may be a named pipe, or ``-`` for standard
        input; the first megabytes decide whether indices count from 0 or 1; and an empty line is a
        bad line.
    """

    format: ClassVar[str] = "svmlight"
    name_prefix: str = ""
    name: str = ""
    whole_labels = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        zero_based: bool | Literal["auto"] = "auto",
        *,
        memory: int = MEMORY,
        work: str | os.PathLike[str] | None = None,
        chunk: int | None = None,
        learning: bool = False,
    ) -> None:
        text = open_text(path) if learning else TextFile(path)
        if zero_based not in (True, False, "auto"):
            raise ParameterError(f"zero_based={zero_based!r} is not 'auto', True or False")
        if chunk is None:
            chunk = LEARNING_CHUNK if learning else CHUNK
        check("SvmlightSource", "chunk", chunk, Number(1, integer=True))
        check("SvmlightSource", "memory", memory, Number(1, integer=True))
        self.memory, self.work, self.zero_based, self.chunk = memory, work, zero_based, chunk
        self._text, self.name, self.rereadable = text, text.path, text.again
        self.path = text.path if self.rereadable else None
        #: Whether reading can begin at any line.
        self._is_marked = text.compression == "none" and text.again
        self._is_learning = learning
        self._base = None if zero_based == "auto" else int(not zero_based)
        self.first_number = self._base or 0
        #: The kernel's counts over the whole file, after a pass.
        self._known: Counts | None = None
        self._labels: npt.NDArray[Any] | None = None
        #: For a pipe: text that was read ahead and not yet yielded.
        self._held: Generator[Text] | None = None
        #: The range of bytes to read, if not the whole file.
        self._range: tuple[int, int | None] = 0, None

    def learning(self) -> SvmlightSource:
        """Return the file in the form that learners read."""
        if self._is_learning:
            return self
        return SvmlightSource(self.name, self.zero_based, chunk=self.chunk, learning=True)

    # --- description -----------------------------------------------------------------------------

    @property
    def name_base(self) -> int | None:
        """Number of the first column in the file, 0 or 1; None while a learner does not know it."""
        if self._base is None and not self._is_learning:
            # A scan that skips text that cannot contain index 0.
            texts = self._text.chunks(min(self.chunk, GLANCE))
            lowest = (_scan([text])[kernel.LOWEST] for text in texts if kernel.may_hold_zero(text))
            self._base = int(0 not in lowest)
        return self._base

    @name_base.setter
    def name_base(self, base: int | None) -> None:
        self._base = base

    @property
    def n_rows(self) -> int | None:
        """Number of rows, counted in a pass; None for a pipe."""
        return int(self._facts()[kernel.ROWS]) if self.rereadable else None

    @property
    def n_columns(self) -> int | None:
        """Number of columns: the highest index, counted from the base; None for a pipe."""
        if not self.rereadable:
            return None
        highest = int(self._facts()[kernel.HIGHEST])
        return max(0, highest + 1 - (self.first_number if self._base is None else self._base))

    @property
    def stored(self) -> int | None:
        """Number of stored values."""
        return int(self._facts()[kernel.ENTRIES]) if self.rereadable else None

    def target(self) -> npt.NDArray[Any] | None:
        """Return the labels, as int64 if all are whole numbers; needs a pass the first time."""
        if self._labels is None and self.rereadable:
            labels: list[Any] = [block.y for block in self.all_rows()]
            self._labels = whole_numbers(join_labels(labels))
        return self._labels

    def classes(self, progress: Progress = silent) -> npt.NDArray[Any] | None:
        """Return all labels, from a pass over the line beginnings; of a pipe, the first ones."""
        if not self.rereadable:
            self._held, looked = self._look(self._texts(0, None))
            first = [_labels(text) for text in looked]
            return as_classes(np.unique(join_labels(first)), self.name) if first else None
        found: npt.NDArray[Any] = np.zeros(0)
        reuse_freed()
        try:
            for text in self._text.chunks(self.chunk):
                found = np.unique(join_labels([found, _labels(text)]))
                progress("reading labels", self._text.done, self._text.size)
        except DamageError:  # the next pass reports the damage
            pass
        return as_classes(found, self.name)

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        return {
            "zero_based": self.name_base == 0,
            "bytes": self._text.size,
            "compression": self._text.compression,
        }

    def reading(self) -> dict[str, Any]:
        """Return the user's setting for the base of indices."""
        return {"zero_based": self.zero_based}

    def fingerprint(self) -> str:
        """Return a short hash of the bytes of the file."""
        return self._text.fingerprint()

    # --- rows ------------------------------------------------------------------------------------

    def read_batches(self, wanted: RowRange) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows; by default one block per chunk of text, with a mark.

        A mark is the byte, line and row after the block.
        """
        if wanted.size is None:
            yield from self._chunk_rows(wanted)
            return
        first = 0
        chunks = ((b.y, b.values) for b in self._chunk_rows(wanted))
        for y, rows in rebatch(chunks, wanted.size):  # all are compressed
            yield RowBlock(first, None if self._known is None else self.n_columns, rows, y)
            first += len(rows)

    def _chunk_rows(self, wanted: RowRange) -> Iterator[RowBlock]:
        after, stop, bad = wanted.after, wanted.stop, wanted.bad
        reuse_freed()
        byte, line, row = (self._range[0], 0, 0) if after is None else map(int, after.split())
        texts = self._texts(byte, self._range[1] if stop is None else int(stop.split()[0]))
        if self.name_base is None:
            texts = self._look(texts)[0]
        base, skip, is_marked = self.name_base or 0, bad is not None, self._is_marked
        n_columns = None if self._known is None else self.n_columns
        whole = not (byte or skip or self._is_learning) and stop is None
        counts, total = list[Counts](), self._text.size or None

        def parse(text: Text) -> Chunk:
            return parse_chunk(text, base, base, skip=skip, refuse_empty=self._is_learning)

        try:
            for chunk in in_order(texts, parse, read_in_thread=self.rereadable):
                if bad is not None and len(chunk.skipped):
                    self._count(bad, chunk, line)
                values = chunk.rows
                place = partial(self._place, chunk, line)
                if chunk.fault is not None:
                    # An error in an earlier line is reported first.
                    yield RowBlock(row, n_columns, values, chunk.labels, place=place)
                    raise SourceError(self._sentence(chunk, chunk.fault, line))
                if whole:
                    counts.append(chunk.found)
                byte += len(chunk.text) + (self._text.skipped if byte == 0 else 0)
                first, row = row, row + len(values)
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
            self._learn(counts)

    def all_rows(self, memory: int = MEMORY, progress: Progress = silent) -> Iterator[RowBlock]:
        """Stream rows with the indices of the file; `first_number` is known afterwards."""
        least = int(self.zero_based is False)
        counts, first = list[Counts](), 0
        # A chunk in flight takes about ten times its length, and there are several of them.
        texts = self._text.chunks(max(1, min(self.chunk, memory // 100)))
        for part in in_order(texts, lambda text: parse_chunk(text, least)):
            if part.fault is not None:
                lines = sum(int(found[kernel.LINES]) for found in counts)
                raise SourceError(sentence(self.name, part, part.fault, lines))
            counts.append(part.found)
            progress("reading rows", self._text.done, self._text.size)
            yield RowBlock(first, None, part.rows, part.labels)
            first += int(part.found[kernel.ROWS])
        self._learn(counts)

    def load(self) -> tuple[Any, npt.NDArray[Any]]:
        """Return a CSR matrix, float64 with int32 indices if they fit, and the labels."""
        from scipy.sparse import csr_matrix

        blocks: list[Any] = list(self.all_rows())
        facts, base, n_columns = self._facts(), self.first_number, self.n_columns or 0
        n_rows, stored = int(facts[kernel.ROWS]), int(facts[kernel.ENTRIES])
        fits = max(n_columns, stored) < 2**31
        indices = np.empty(stored, dtype=np.int32 if fits else np.int64)
        indptr = np.zeros(n_rows + 1, dtype=indices.dtype)
        values = np.empty(stored)
        ends = np.cumsum([len(block.values.indices) for block in blocks]).tolist()

        def join(block: Any, end: int) -> None:
            part, first = block.values, block.first + 1
            lo = end - len(part.indices)
            np.subtract(part.indices, base, out=indices[lo:end], casting="unsafe")
            values[lo:end] = part.data
            indptr[first : first + len(part)] = part.indptr[1:] + lo

        with ThreadPoolExecutor(thread_count()) as pool:
            list(pool.map(join, blocks, ends))
        self._labels = whole_numbers(join_labels([block.y for block in blocks]))
        matrix = csr_matrix((values, indices, indptr), shape=(n_rows, n_columns))
        matrix.has_canonical_format = True
        return matrix, self._labels

    def is_small(self, memory: int) -> bool:
        """Return True if the decompressed text is a small fraction of the memory."""
        packed = 1 if self._text.compression == "none" else _PACKED
        return self.rereadable and self._text.size * packed * _PER_BYTE <= memory

    def share(self, number: int, of: int) -> RowSource | None:
        """Return one of `of` ranges of lines with about the same number of bytes, of a plain file.

        The beginning of the file decides for all of them whether indices count from 0 or 1.
        """
        text = self._text
        if of == 1 or not self._is_marked:
            return super().share(number, of)
        if self.name_base is None:
            self._look(self._texts(0, None))
        part = copy.copy(self)
        first, last = (text.line_start(text.size * n // of) for n in (number, number + 1))
        part._text, part._range, part._known = TextFile(text.path), (first, last), None
        vars(part).pop("_before", None)
        return part

    # --- small steps -----------------------------------------------------------------------------

    def _facts(self) -> Counts:
        """Count rows, entries and columns: a cheap pass over the text, once."""
        if self._known is None:
            self._learn([_scan(self._text.chunks(self.chunk))])
        assert self._known is not None
        return self._known

    def _learn(self, counts: list[Counts]) -> None:
        """Record the counts of all chunks of the file, and with them the base of indices."""
        found = np.array(counts or [kernel.new_found()])
        known = found.sum(axis=0)
        if known[kernel.ROWS] == 0:
            raise SourceError(f"{self.name} holds no rows; give a file with at least one")
        known[kernel.LOWEST] = found[:, kernel.LOWEST].min()
        known[kernel.HIGHEST] = found[:, kernel.HIGHEST].max()
        self._known = known
        self.first_number = int(known[kernel.LOWEST] != 0) if self._base is None else self._base
        if not self._is_learning:
            self._base = self.first_number

    def _texts(self, start: int, stop: int | None) -> Generator[Text]:
        """Yield the text in chunks, including text that was read ahead."""
        if self._held is not None:
            held, self._held = self._held, None
            return held
        return self._text.chunks(self.chunk, start=start, stop=stop)

    def _look(self, texts: Generator[Text]) -> tuple[Generator[Text], list[Text]]:
        """Read the first megabytes to find the base; return all text, and the lines read."""
        held: list[Text] = []
        looked: list[Text] = []
        size, damage = 0, None
        try:
            while size <= LOOK and (text := next(texts, None)) is not None:
                held.append(text)
                # To the end of the line that contains byte LOOK, independent of the chunks.
                cut = len(text)
                if size + len(text) > LOOK:
                    inside = LOOK - size
                    cut = inside + int(np.argmax(text[inside:] == kernel.NEWLINE)) + 1
                looked.append(text[:cut])
                size += len(text)
        except SourceError as error:
            damage = error
        if self.name_base is None:
            self.name_base = int(_scan(looked)[kernel.LOWEST] != 0)
        return _again(held, texts, damage), looked

    @cached_property
    def _before(self) -> int:
        """Number of lines of the file before the range that is read."""
        return self._text.lines_before(self._range[0]) if self._range[0] else 0

    def _place(self, chunk: Chunk, line: int, row: int) -> str:
        """Return the location of a row, in a chunk that begins after `line` lines."""
        return f"{self.name}, line {self._before + line + chunk.line_of_row(row) + 1}"

    def _sentence(self, chunk: Chunk, fault: Fault, line: int) -> str:
        message = sentence(self.name, chunk, fault, self._before + line)
        guessed = self._is_learning and self.zero_based == "auto"
        if fault.kind == kernel.INDEX_TOO_SMALL and guessed:
            return (
                f"{message.removesuffix('; use zero_based=True')}, as the first "
                f"{LOOK // 10**6} MB of text suggest; use zero_based=True (--zero-based)"
            )
        return message

    def _count(self, bad: BadLines, chunk: Chunk, line: int) -> None:
        kinds = chunk.skipped[:, 0]
        for kind in np.unique(kinds).tolist():
            at = chunk.skipped[kinds == kind, 1]
            number = self._before + line + int(chunk.lines_of(at[:1])[0]) + 1
            bad.add(IN_WORDS[kind], len(at), f"{self.name}, line {number}")


def _labels(text: Text) -> npt.NDArray[Any]:
    """Return the distinct labels of a chunk."""
    newlines = kernel.count_marks(text)[1]
    labels, large = np.empty(newlines), np.empty(newlines, dtype=np.int64)
    count, n_large = kernel.scan_labels(text, labels, large)
    found = np.unique(labels[:count])
    if not n_large:
        return found
    whole, fine = _whole(text, large[:n_large])
    other = [float(_token(text, at)) for at in large[:n_large][~fine].tolist()]
    return np.unique(join_labels([whole[fine], found, np.array(other, dtype=np.float64)]))


def _whole(text: Text, at: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Any]:
    """Return the whole numbers that begin at some bytes, and which of them are ones."""
    numbers, fine = np.empty(len(at), np.int64), np.empty(len(at), np.bool_)
    kernel.read_whole(text, at, numbers, fine)
    return numbers, fine


def _scan(texts: Iterable[Text]) -> Counts:
    """Count the content of some text, without parsing values."""
    found = kernel.new_found()
    for text in texts:
        kernel.scan_rows(text, found)
    return found


def _again(held: list[Text], rest: Generator[Text], damage: SourceError | None) -> Generator[Text]:
    """Yield the text that was read ahead, then raise its error, if any, or yield the rest."""
    with closing(rest):
        yield from held
        if damage is not None:
            raise damage
        yield from rest


# --- chunks of text -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """What is wrong with a chunk (a code of the kernel) and at which of its bytes."""

    kind: int
    at: int


@dataclass(frozen=True)
class Chunk:
    """The rows of one chunk of text. Its arrays may be views of longer ones.

    `fault` is the first fault, where parsing stopped; `skipped` are the faults that were skipped,
    if requested: the kind and the byte of each, in the order of the text.
    """

    text: Text
    labels: npt.NDArray[Any]  # float64, or int64 if there are whole numbers that floats would round
    rows: Compressed
    found: npt.NDArray[np.int64]
    fault: Fault | None
    skipped: npt.NDArray[np.int64]

    def lines_of(self, at: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        """Return the lines of the chunk that contain some bytes, counted from 0."""
        return np.searchsorted(np.flatnonzero(self.text == kernel.NEWLINE), at)

    def line_of_row(self, row: int) -> int:
        """Return the line of the chunk that a row is on; walks over the lines, for messages."""
        skipped = set(self.lines_of(self.skipped[:, 1]).tolist())
        seen = -1
        for number, line in enumerate(self.text.tobytes().split(b"\n")):
            filled = line.lstrip(b" \t").rstrip(b"\r")
            if filled and filled[0] != kernel.HASH and number not in skipped:
                seen += 1
                if seen == row:
                    return number
        raise IndexError(row)


def parse_chunk(
    text: Text, least: int, base: int = 0, *, skip: bool = False, refuse_empty: bool = False
) -> Chunk:
    """Parse whole lines; `least` is the smallest index allowed, `skip` skips bad lines.

    `base` is subtracted from all indices.
    """
    colons, newlines = kernel.count_marks(text)
    labels, indptr = np.empty(newlines), np.empty(newlines + 1, dtype=np.int64)
    indices, values = np.empty(colons, dtype=np.int64), np.empty(colons)
    bad = np.empty((newlines if skip else 0, 2), dtype=np.int64)
    # Space for every token; memory that is never written costs nothing.
    slow, found = np.empty((colons + newlines, 2), dtype=np.int64), kernel.new_found()
    found[kernel.NO_EMPTY] = refuse_empty
    count = kernel.parse_rows(text, least, base, labels, indptr, indices, values, slow, found, bad)
    n_rows, entries = int(found[kernel.ROWS]), int(found[kernel.ENTRIES])
    rows = Compressed(indptr[: n_rows + 1], indices[:entries], values[:entries])
    slow = slow[: found[kernel.SLOW]]
    too_large, kept = _slow_numbers(text, slow, labels, values, rows.indptr)
    bad = bad[:count]
    fault = None
    if skip and too_large:
        # Rows with a number that is too large are left out, and listed with the bad lines.
        first = dict(reversed(too_large))  # the first one of each row
        more = np.array([(fault.kind, fault.at) for fault in first.values()], dtype=np.int64)
        bad = np.concatenate([bad, more])
        bad = bad[np.argsort(bad[:, 1], kind="stable")]
        good = np.setdiff1d(np.arange(n_rows), list(first))
        kept, rows = kept[good], rows.pick(good)
        found[kernel.ROWS], found[kernel.ENTRIES] = len(rows), rows.stored
    elif too_large:
        fault = too_large[0][1]
    elif found[kernel.FAULT] != kernel.FINE:
        fault = Fault(int(found[kernel.FAULT]), int(found[kernel.FAULT_AT]))
    return Chunk(text, kept, rows, found, fault, bad)


def _slow_numbers(
    text: Text,
    slow: npt.NDArray[np.int64],
    labels: npt.NDArray[np.float64],
    values: npt.NDArray[np.float64],
    indptr: npt.NDArray[np.int64],
) -> tuple[list[tuple[int, Fault]], npt.NDArray[Any]]:
    """Parse the tokens that the kernel marked; return rows that cannot be held, and the labels.

    Those are rows with a number that overflows, and with a label that would be rounded: two
    identifiers must not become one class. Whole numbers of 64 bits are exact: then all labels are
    int64, if all are whole. The row of a fault, which follows the others, is looked at as well: a
    number of it may be the first fault.
    """
    too_large, n_rows = [], len(indptr) - 1
    of_label = slow[:, 0] < 0
    whole, fine = _whole(text, slow[of_label, 1])
    of_row = -1 - slow[of_label, 0]
    rounded = np.ones(len(slow), np.bool_)
    rounded[of_label] = ~fine
    labels[of_row[fine]] = whole[fine]
    for entry, at in slow[rounded].tolist():
        token = _token(text, at)
        number = float(token)
        row = -1 - entry if entry < 0 else int(np.searchsorted(indptr, entry, side="right")) - 1
        if math.isinf(number) or (entry < 0 and _is_rounded(token, number)):
            too_large.append((row, Fault(kernel.BAD_LABEL if entry < 0 else kernel.BAD_VALUE, at)))
        elif entry < 0:
            labels[row] = number
        else:
            values[entry] = number
    kept: npt.NDArray[Any] = labels[:n_rows]
    exact = fine & (of_row < n_rows)
    if exact.any() and are_whole(kept):
        kept = kept.astype(np.int64)
        kept[of_row[exact]] = whole[exact]
    return too_large, kept


def _is_rounded(token: str, number: float) -> bool:
    """Return whether a token is a whole number that another float stands for."""
    return token.lstrip("+-").isdecimal() and int(token) != number


def _token(text: Text, at: int) -> str:
    """Return the token that begins at a byte."""
    found = _TOKEN.match(text.data, at)
    assert found is not None
    return found[0].decode("utf-8", "backslashreplace")


def sentence(path: str, chunk: Chunk, fault: Fault, lines_before: int) -> str:
    """Return a message about where a line is wrong, and what is expected there."""
    before = chunk.text[: fault.at].tobytes()
    line = lines_before + before.count(b"\n") + 1
    if fault.kind == kernel.EMPTY:
        return f"{path}, line {line} is empty; remove it, or skip it {SKIP}"
    column = fault.at - (before.rfind(b"\n") + 1) + 1
    token = _token(chunk.text, fault.at)
    shown = token if len(token) <= _SHOWN else token[:_SHOWN] + "..."
    where = f"{path}, line {line}, byte {column}"
    return f"{where}: {shown!r} {_explain(fault.kind, token)}"


def _explain(kind: int, token: str) -> str:
    """Finish the sentence about a token."""
    try:
        is_finite = math.isfinite(float(token))
    except ValueError:
        is_finite = True
    if kind == kernel.BAD_LABEL and is_finite and token.lstrip("+-").isdecimal():
        return (
            "is a whole number of more than 64 bits; renumber the classes, or read the labels "
            "from a CSV or Parquet file"
        )
    if kind == kernel.BAD_LABEL and "," in token:
        return "is a list of labels (multi-label); expected one number at the start of each line"
    if kind == kernel.BAD_LABEL and ":" in token:
        return "is where the label should be; expected a number at the start of each line"
    if kind == kernel.BAD_LABEL and not is_finite:
        return "is not a finite label; expected a number at the start of each line"
    if kind in (kernel.BAD_VALUE, kernel.NOT_FINITE):
        if not is_finite:
            return "is not a finite value; expected a number such as 1, -0.5 or 1e-3"
        return "is not a number; expected a value such as 1, -0.5 or 1e-3 after the colon"
    if kind == kernel.BAD_INDEX and ":" in token:
        return "has no whole number before the colon; expected index:value with an index from 0 up"
    return {
        kernel.BAD_LABEL: "is not a number (a string label); expected numbers, so number the "
        "classes first",
        kernel.BAD_INDEX: "has no colon; expected index:value",
        kernel.BAD_QID: "is not a query number; expected qid: and a whole number",
        kernel.INDEX_TOO_SMALL: "has index 0 where indices count from 1; use zero_based=True",
        kernel.INDEX_TOO_LARGE: "has an index above 2**62; expected a smaller one",
        kernel.NOT_RISING: "does not follow in order; expected indices that rise inside a row",
        kernel.LONE_RETURN: "is a carriage return without a newline; expected the end of a line",
    }[kind]
