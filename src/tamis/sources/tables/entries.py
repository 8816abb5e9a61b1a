"""EntrySource: sparse data in a table, as a column of lists or with a line for each value.

Both are read as *entries*: row number, feature number, value. Features are numbered by the sorted
list of all of them (words by code point, whole numbers by size), so their order depends on neither
the order of the rows nor the way the file is cut. Few entries are held in memory; many are read
again for each pass, and lines that are not in the order of their rows are first sorted into
buckets of rows on disk.
"""

from __future__ import annotations

import hashlib
import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.names import Names
from tamis.core.params import Number, check
from tamis.sources.base import Progress, RowSource, silent
from tamis.sources.rebatch import rebatch
from tamis.sources.tables.table_files import TableFile
from tamis.sources.tables.vocabulary import Vocabulary

#: Lines of a table read at a time.
LINES = 1 << 18
#: Bytes that an entry takes while a matrix is made of it.
ENTRY_BYTES = 48


@dataclass(frozen=True, eq=False)
class Entries:
    """Values that are not 0, by row and feature number."""

    rows: npt.NDArray[np.int64]
    features: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]

    def part(self, lo: int, hi: int) -> Entries:
        """Return entries lo to hi - 1."""
        return Entries(self.rows[lo:hi], self.features[lo:hi], self.values[lo:hi])

    @classmethod
    def join(cls, parts: Sequence[Entries]) -> Entries:
        """Return entries one after the other."""
        return cls(
            np.concatenate([p.rows for p in parts] or [np.zeros(0, np.int64)]),
            np.concatenate([p.features for p in parts] or [np.zeros(0, np.int64)]),
            np.concatenate([p.values for p in parts] or [np.zeros(0)]),
        )


class EntrySource(RowSource):
    """What sparse tables share: entries to rows."""

    path: str

    def __init__(self, file: TableFile, memory: int, work: str | os.PathLike[str] | None) -> None:
        check(type(self).__name__, "memory", memory, Number(1, integer=True))
        self.path, self.format = file.path, file.format  # type: ignore[misc]
        self.memory, self.work = memory, work
        self._file = file
        self._features: Vocabulary | None = None
        self._n_elements: int | None = None

    @property
    def n_columns(self) -> int:
        """Number of different features."""
        return len(self._vocabulary())

    def names(self) -> Names:
        """Return names of the features."""
        return self._vocabulary().names()

    @abstractmethod
    def _vocabulary(self) -> Vocabulary:
        """Return the features, after a pass over the file."""

    @abstractmethod
    def _count(self) -> int:
        """Return how many entries the file has, about."""

    @abstractmethod
    def _entries(self, progress: Progress) -> Iterator[Entries]:
        """Stream all entries in the order of the file."""

    @abstractmethod
    def _in_order(self, progress: Progress) -> Iterator[Entries]:
        """Stream all entries by rising row."""

    def _twice(self, row: int, feature: int) -> None:
        """Hear that a feature has two values in one row; refuse it or let them be added."""

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows, by default as the file comes."""
        y, first, n_columns = self.target(), 0, self.n_columns
        for _, rows in rebatch(((None, piece) for piece in self._pieces(progress)), size):
            target = None if y is None else y[first : first + len(rows)]
            yield RowBlock(first, n_columns, rows, target)
            first += len(rows)

    def load(self) -> tuple[Any, npt.NDArray[Any] | None]:
        """Return a CSR matrix, and the target."""
        entries = Entries.join(list(self._entries(silent)))
        return self._compress(entries, self.n_rows or 0), self.target()

    @property
    def stored(self) -> int:
        """Number of entries, about."""
        return self._count()

    def details(self) -> dict[str, Any]:
        """Return what else `tamis info` prints."""
        return self._file.details()

    def fingerprint(self) -> str:
        """Return a short hash of the file and of how it is read."""
        digest = hashlib.blake2b(self._file.fingerprint().encode(), digest_size=8)
        digest.update(self._how_it_is_read().encode())
        return digest.hexdigest()

    @abstractmethod
    def _how_it_is_read(self) -> str:
        """Return how the file is to be read, as a text."""

    def fits(self) -> bool:
        """Return whether all entries fit the memory."""
        return self._count() * ENTRY_BYTES <= self.memory // 2

    def _pieces(self, progress: Progress) -> Iterator[Compressed]:
        """Stream compressed rows, each complete."""
        done, held = 0, Entries.join([])
        for entries in self._in_order(progress):
            held = Entries.join([held, entries])
            if not len(held.rows):
                continue
            last = int(held.rows[-1])  # more of this row may follow
            cut = int(np.searchsorted(held.rows, last))
            yield self._rows_of(held.part(0, cut), done, last)
            done, held = last, held.part(cut, len(held.rows))
        yield self._rows_of(held, done, self.n_rows or 0)

    def _rows_of(self, entries: Entries, first: int, stop: int) -> Compressed:
        shifted = Entries(entries.rows - first, entries.features, entries.values)
        matrix = self._compress(shifted, stop - first, first)
        indptr = matrix.indptr.astype(np.int64)
        return Compressed(indptr, matrix.indices, matrix.data)

    def _compress(self, entries: Entries, height: int, first: int = 0) -> Any:
        """Return a canonical CSR matrix of `height` rows."""
        from scipy.sparse import coo_matrix

        indices = (entries.rows, entries.features)
        matrix = coo_matrix((entries.values, indices), (height, self.n_columns)).tocsr()
        if matrix.nnz < len(entries.values):
            order = np.lexsort((entries.features, entries.rows))
            rows, features = entries.rows[order], entries.features[order]
            same = (rows[1:] == rows[:-1]) & (features[1:] == features[:-1])
            at = int(np.argmax(same))
            self._twice(int(rows[at]) + first, int(features[at]))
        matrix.eliminate_zeros()
        return matrix
