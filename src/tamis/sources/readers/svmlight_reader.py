"""Svmlight text for learners: one pass, from a file or a pipe, bad lines told or passed over.

Whether indices count from 0 or from 1 must be known before the first row is learned. The first
megabytes decide: if index 0 occurs there they count from 0. An index 0 that first turns up later is
a bad line.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import SourceError
from tamis.core.memory import reuse_freed
from tamis.kernels import svmlight as kernel
from tamis.sources._svmlight_text import (
    IN_WORDS,
    SKIP,
    Chunk,
    Fault,
    Text,
    parse_chunk,
    sentence,
)
from tamis.sources.base import Progress, as_path, silent
from tamis.sources.readers.row_reader import BadLines, Part, RowReader, as_classes, identity_of
from tamis.sources.shared.in_order import close_early, in_order
from tamis.sources.shared.text import DamageError, TextFile, TextPipe

#: Bytes of text that a thread parses at a time.
CHUNK = 4_000_000
#: Lines that begin in the first so many bytes tell the base of indices; of a pipe, its labels too.
LOOK = 4_000_000

#: What is said of standard input.
STDIN = "standard input"


class SvmlightReader(RowReader):
    """Rows of svmlight text.

    Parameters
    ----------
    path : str or path
        A file, plain or compressed, a named pipe, or ``-`` for standard input.
    zero_based : {"auto", True, False}
        Whether indices count from 0. "auto": they do if index 0 occurs in the first megabytes.
    chunk : int
        Bytes of text parsed at a time; changes speed and memory, never a number.
    """

    name_prefix = ""

    def __init__(
        self,
        path: str | os.PathLike[str],
        zero_based: bool | Literal["auto"] = "auto",
        *,
        chunk: int = CHUNK,
    ) -> None:
        self._text = open_text(path)
        self.name, self.again, self.chunk = self._text.path, self._text.again, chunk
        self.name_base = None if zero_based == "auto" else int(not zero_based)
        self._guessed = self.name_base is None
        #: Of a pipe: what was read to look at it, and is still to come.
        self._held: Iterator[Text] | None = None
        #: The bytes to begin at and to end before, where not all of the file is read.
        self._range: tuple[int, int | None] = 0, None

    def parts(
        self, after: str | None = None, bad: BadLines | None = None, progress: Progress = silent
    ) -> Iterator[Part]:
        """Stream the rows after a mark, a part for each chunk of text."""
        reuse_freed()
        byte, line, row = (self._range[0], 0, 0) if after is None else map(int, after.split())
        texts = self._texts(byte)
        if self.name_base is None:
            texts = self._look(texts)[0]
        base, skip = self.name_base or 0, bad is not None
        total = self._text.size or None

        def parse(text: Text) -> Chunk:
            return parse_chunk(text, base, skip=skip, refuse_empty=True)

        try:
            for chunk in in_order(texts, parse, read_in_thread=self.again):
                if bad is not None and len(chunk.skipped):
                    self._count(bad, chunk, line)
                part = self._part(chunk, base, line, row)
                if chunk.fault is not None:
                    yield part  # what is wrong with an earlier line is to be said first
                    raise SourceError(self._sentence(chunk, chunk.fault, line))
                byte += len(chunk.text) + (self._text.skipped if byte == 0 else 0)
                row, line = row + len(chunk.rows), line + int(chunk.found[kernel.LINES])
                progress("reading rows", self._text.done, total)
                if self._text.compression == "none" and self.again:
                    part = _marked(part, f"{byte} {line} {row}")
                yield part
        except DamageError as error:
            what, _, mend = str(error).partition("; ")
            if bad is None:
                raise SourceError(f"{what}, after line {line}; {mend}, or {_UP_TO}") from error
            bad.add("end of a damaged file", 1, f"{self.name}, after line {line}")

    def classes(self, progress: Progress = silent) -> npt.NDArray[Any] | None:
        """All labels in the file, from a pass over the beginnings of its lines; None for a pipe."""
        if not self.again:
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
        """The labels in the first megabytes."""
        self._held, held = self._look(self._texts(0))
        labels = [_labels(text) for text in held]
        return as_classes(np.unique(np.concatenate(labels)), self.name) if labels else None

    def share(self, number: int, of: int) -> RowReader | None:
        """Lines of about as many bytes as the others have, of a file that is not compressed.

        What indices count from is told by the beginning of the file, for all of them.
        """
        text = self._text
        if of == 1 or not self.again or text.compression != "none":
            return super().share(number, of)
        if self.name_base is None:
            self._look(self._texts(0))
        part = SvmlightReader(text.path, self.name_base == 0, chunk=self.chunk)
        part._guessed = self._guessed
        first, last = (text.line_start(text.size * n // of) for n in (number, number + 1))
        part._range = first, last
        return part

    @cached_property
    def _lines_before(self) -> int:
        """Lines of the file before those read here; counted when a sentence needs it."""
        first = self._range[0]
        return self._text.lines_before(first) if first else 0

    def identity(self) -> dict[str, Any]:
        """Name, size and ends of a file; of a pipe, its name."""
        return identity_of(self._text.path) if self.again else {"name": self.name}

    def _texts(self, start: int) -> Iterator[Text]:
        """The text in chunks; what was looked at before comes again."""
        if self._held is not None:
            held, self._held = self._held, None
            return held
        return self._text.chunks(self.chunk, start=start, stop=self._range[1])

    def _look(self, texts: Iterator[Text]) -> tuple[Iterator[Text], list[Text]]:
        """Read the first megabytes, tell the base; give all text, and the lines looked at."""
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

    def _part(self, chunk: Chunk, base: int, line: int, row: int) -> Part:
        rows = chunk.rows
        block = RowBlock(
            row, None, Compressed(rows.indptr, rows.indices - base, rows.data), chunk.labels
        )
        return Part(block, lambda r: self._line(line + chunk.line_of_row(r)))

    def _line(self, line: int) -> str:
        return f"{self.name}, line {self._lines_before + line + 1}"

    def _sentence(self, chunk: Chunk, fault: Fault, line: int) -> str:
        said = sentence(self.name, chunk, fault, self._lines_before + line)
        if fault.kind == kernel.INDEX_TOO_SMALL and self._guessed:
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


#: What else can be done with a damaged file.
_UP_TO = f"learn from what came before {SKIP}"


def open_text(path: str | os.PathLike[str]) -> TextFile:
    """A text file, or a pipe: standard input for ``-``."""
    name = os.fspath(path)
    if name == "-":
        return TextPipe(STDIN, sys.stdin.buffer)
    name = as_path(path)
    return TextPipe(name, open(name, "rb"), close=True) if is_pipe(name) else TextFile(name)


def is_pipe(path: str | os.PathLike[str]) -> bool:
    """True for ``-`` and for the name of a pipe."""
    name = as_path(path)
    return name == "-" or (os.path.exists(name) and stat.S_ISFIFO(os.stat(name).st_mode))


def _marked(part: Part, mark: str) -> Part:
    block = part.block
    return Part(RowBlock(block.first, None, block.values, block.y, mark), part.where)


def _labels(text: Text) -> npt.NDArray[np.float64]:
    """The different labels of a chunk."""
    labels = np.empty(kernel.count_marks(text)[1])
    return np.unique(labels[: kernel.scan_labels(text, labels)])


def _again(held: list[Text], rest: Iterator[Text]) -> Iterator[Text]:
    """What was looked at, and what is still to come."""
    try:
        yield from held
        yield from rest
    finally:
        close_early(rest)


def _raising(error: Exception) -> Iterator[Text]:
    """An iterator that raises when it is asked."""
    yield from ()
    raise error
