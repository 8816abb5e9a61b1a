"""SvmlightSource: rows of ``label index:value index:value ...``, plain or compressed.

The text is cut into chunks at line ends; threads parse chunks (`tamis.kernels.svmlight`) while the
next one is read or decompressed, and the rows come out in the order of the file. Whether indices
count from 0 or from 1 is known only at the end: if 0 occurs anywhere they count from 0.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed, RowBlock
from tamis.core.errors import ParameterError, SourceError
from tamis.core.memory import reuse_freed
from tamis.core.params import Number, check
from tamis.kernels import svmlight as kernel
from tamis.kernels.threads import thread_count
from tamis.sources._svmlight_text import Chunk, parse_all, sentence
from tamis.sources.base import MEMORY, Progress, Source, as_path, silent
from tamis.sources.shared.by_columns import columns_by_disk
from tamis.sources.shared.matrix import whole_numbers
from tamis.sources.shared.rebatch import rebatch
from tamis.sources.shared.text import TextFile

#: Bytes of text that a thread parses at a time.
CHUNK = 1 << 20
#: And that are looked over at a time: they stay in the processor's cache.
GLANCE = 1 << 18


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


class SvmlightSource(Source):
    """Rows in svmlight (libsvm) text.

    Parameters
    ----------
    path : str or path
        Plain text or gzip, bzip2 or zstd, told by content.
    zero_based : {"auto", True, False}
        Whether indices count from 0. "auto": they do if index 0 occurs anywhere in the file.
    memory : int
        Bytes that reading by columns may use; a file that needs more is transposed on disk.
    work : str or path, optional
        Folder for that temporary column store; by default the folder of the file or, if that
        cannot be written to, the current one.
    chunk : int
        Bytes of text parsed at a time; changes speed and memory, never a number.
    """

    format: ClassVar[str] = "svmlight"
    axis: ClassVar[Literal["columns", "rows"]] = "rows"
    name_prefix: str = ""

    path: str

    def __init__(
        self,
        path: str | os.PathLike[str],
        zero_based: bool | Literal["auto"] = "auto",
        *,
        memory: int = MEMORY,
        work: str | os.PathLike[str] | None = None,
        chunk: int = CHUNK,
    ) -> None:
        if zero_based not in (True, False, "auto"):
            raise ParameterError(f"zero_based={zero_based!r} is not 'auto', True or False")
        check("SvmlightSource", "memory", memory, Number(1, integer=True))
        check("SvmlightSource", "chunk", chunk, Number(1, integer=True))
        self.path = as_path(path)
        self.zero_based = zero_based
        self.memory, self.work, self.chunk = memory, work, chunk
        self._text = TextFile(self.path)
        self._known: _Facts | None = None
        self._labels: npt.NDArray[Any] | None = None
        self._zero: bool | None = None

    @property
    def name_base(self) -> int:  # type: ignore[override]
        """Number of the first column in the file, 0 or 1."""
        if self.zero_based != "auto":
            return 0 if self.zero_based else 1
        return self._base(self._known) if self._known else int(not self._holds_zero())

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._facts().n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns: the highest index, counted from the base."""
        facts = self._facts()
        return max(0, facts.highest + 1 - self._base(facts))

    def target(self) -> npt.NDArray[Any]:
        """Return the labels, as int64 if all are whole numbers; a pass unless already read."""
        if self._labels is None:
            labels = [part.labels.copy() for part in self._parsed(self.chunk, silent)]
            self._labels = whole_numbers(np.concatenate(labels))
        return self._labels

    def rows(self, size: int | None = None, progress: Progress = silent) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows (default: a chunk of text); the same rows for every size."""
        if size is not None:
            check("rows", "size", size, Number(1, integer=True))
        reuse_freed()
        base = self.name_base
        n_columns = self.n_columns if self._known else None
        first = 0
        pieces = ((part.labels, part.rows) for part in self._parsed(self.chunk, progress))
        for y, rows in rebatch(pieces, size):
            indices = np.subtract(rows.indices, base, out=rows.indices)  # parsed for us alone
            yield RowBlock(first, n_columns, Compressed(rows.indptr, indices, rows.data), y)
            first += len(rows)

    def raw_rows(self, memory: int, progress: Progress) -> Iterator[RowBlock]:
        """Stream rows whose places are the indices in the file, for `write_store`."""
        first = 0
        # A chunk in flight takes some ten times its length, and there are a few of them.
        chunk = max(1, min(self.chunk, memory // 100))
        for part in self._parsed(chunk, progress):
            yield RowBlock(first, None, part.rows, part.labels)
            first += len(part.rows)

    def columns(
        self,
        width: int | None = None,
        start: int = 0,
        stop: int | None = None,
        progress: Progress = silent,
    ) -> Iterator[ColumnBlock]:
        """Stream blocks of `width` columns, after a pass that transposes the file."""
        return columns_by_disk(self, width, start, stop, progress)

    def load(self) -> tuple[Any, npt.NDArray[Any]]:
        """Everything at once: a CSR matrix, float64 with int32 indices if they fit; the labels."""
        from scipy.sparse import csr_matrix

        parts = list(self._parsed(self.chunk, silent))
        facts, base, n_columns = self._facts(), self.name_base, self.n_columns
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

    @property
    def stored(self) -> int:
        """Number of stored values."""
        return self._facts().stored

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

    def _base(self, facts: _Facts) -> int:
        if self.zero_based == "auto":
            return 0 if facts.lowest == 0 else 1
        return 0 if self.zero_based else 1

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
        """True if index 0 occurs: a glance at the text, in passing over what cannot hold it."""
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
            raise SourceError(f"{self.path} holds no rows; give a file with at least one")
        self._known = facts

    def _parsed(self, chunk: int, progress: Progress) -> Iterator[Chunk]:
        """Parse the file with threads, in order; a pass to the end also learns its shape."""
        least = 1 if self.zero_based is False else 0
        facts, lines = _Facts(), 0
        for part in parse_all(self._text.chunks(chunk), least):
            if part.fault is not None:
                raise SourceError(sentence(self.path, part, part.fault, lines))
            facts = facts.plus(part.found)
            lines += int(part.found[kernel.LINES])
            progress("reading rows", self._text.done, self._text.size)
            yield part
        self._learn(facts)
