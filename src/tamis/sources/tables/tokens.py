"""TokenSource: a column of lists; each different element is a feature."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.errors import SourceError
from tamis.sources.base import MEMORY, Progress
from tamis.sources.tables.entries import LINES, Entries, EntrySource
from tamis.sources.tables.roles import name_one, need_columns
from tamis.sources.tables.table import target_values
from tamis.sources.tables.table_files import TableFile
from tamis.sources.tables.vocabulary import Vocabulary


class TokenSource(EntrySource):
    """A column of lists: each different element is a feature, its count in a row the value.

    Parameters
    ----------
    file : TableFile
        Where the table is.
    tokens : str
        The column of lists, of words or whole numbers. A missing list is an empty one.
    target : str, optional
        The column to predict.
    memory, work
        Bytes to use, about, and a folder for what needs more.
    """

    def __init__(
        self,
        file: TableFile,
        tokens: str,
        target: str | None = None,
        *,
        memory: int = MEMORY,
        work: str | os.PathLike[str] | None = None,
    ) -> None:
        import pyarrow as pa

        super().__init__(file, memory, work)
        need_columns(file.path, file.schema.names, {"tokens": tokens, "target": target})
        kind = file.schema.field(tokens).type
        if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
            raise SourceError(
                f"{file.path}: column {tokens!r} is of type {kind}; tokens= names a column of lists"
            )
        self.target_name = target
        self._tokens, self._kind = tokens, kind.value_type
        self._y: npt.NDArray[Any] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._file.n_rows

    def missing_target(self) -> str | None:
        """Return how to give a target, if none was given."""
        if self.target_name is not None:
            return None
        return name_one(self.path, self._file.schema.names)

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target column, or None if none was named."""
        if self._y is None and self.target_name is not None:
            self._y = target_values(self._file.read([self.target_name]).column(0))
        return self._y

    def _how_it_is_read(self) -> str:
        return repr((self._tokens, self.target_name))

    def _count(self) -> int:
        self._vocabulary()
        assert self._n_elements is not None
        return self._n_elements

    def _vocabulary(self) -> Vocabulary:
        if self._features is None:
            where = f"{self.path}: a list in column {self._tokens!r}"
            features, stored = Vocabulary(where, self._kind), 0
            for batch in self._file.batches([self._tokens], LINES):
                elements = batch.column(0).flatten()
                features.add(elements)
                stored += len(elements)
            self._features, self._n_elements = features, stored
        return self._features

    def _entries(self, progress: Progress) -> Iterator[Entries]:
        import pyarrow.compute as pc

        features, done = self._vocabulary(), 0
        for batch in self._file.batches([self._tokens], LINES):
            lists = batch.column(0)
            lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
            rows = np.repeat(np.arange(done, done + len(lists)), lengths)
            codes = features.codes(lists.flatten())
            yield Entries(rows, codes, np.ones(len(codes)))
            done += len(lists)
            progress("reading rows", done, self.n_rows)

    def _in_order(self, progress: Progress) -> Iterator[Entries]:
        return self._entries(progress)
