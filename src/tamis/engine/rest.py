"""What is left of a source when its first columns are done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, RowBlock
from tamis.sources.base import Ranged, Report, Source, SourceInfo, silent


def rest_of(source: Source, done: int) -> Source:
    """A source without its first columns; the others keep their numbers."""
    if done == 0:
        return source
    return (_RangedRest if isinstance(source, Ranged) else _Rest)(source, done)


class _Rest(Source):
    """Columns of a source from a number on."""

    axis: ClassVar[Literal["columns", "rows"]] = "columns"

    def __init__(self, source: Source, done: int) -> None:
        self._source, self.first_column = source, done
        self.format = source.format  # type: ignore[misc]
        self.name_prefix, self.name_base = source.name_prefix, source.name_base

    @property
    def n_rows(self) -> int:
        return self._source.n_rows

    @property
    def n_columns(self) -> int | None:
        return self._source.n_columns

    def target(self) -> npt.NDArray[Any] | None:
        return self._source.target()

    def columns(self, width: int | None = None, report: Report = silent) -> Iterator[ColumnBlock]:
        for block in self._source.columns(width, report):
            if block.first >= self.first_column:
                yield block
            elif block.first + block.width > self.first_column:
                picks = np.arange(self.first_column - block.first, block.width)
                yield replace(block.pick(picks), first=self.first_column)

    def rows(self, size: int | None = None, report: Report = silent) -> Iterator[RowBlock]:
        raise NotImplementedError("the rest of a source is read by columns")

    def load(self) -> tuple[Any, npt.NDArray[Any] | None]:
        raise NotImplementedError("the rest of a source is read by columns")

    def info(self) -> SourceInfo:
        return self._source.info()


class _RangedRest(_Rest):
    """The same where columns can be read without those before them."""

    _source: Any

    @property
    def usual_width(self) -> int:
        return int(self._source.usual_width)

    def between(self, lo: int, hi: int) -> ColumnBlock:
        block: ColumnBlock = self._source.between(lo, hi)
        return block

    def columns(self, width: int | None = None, report: Report = silent) -> Iterator[ColumnBlock]:
        last, step = self._source.n_columns, width or self.usual_width
        for lo in range(self.first_column, last, step):
            hi = min(lo + step, last)
            yield self.between(lo, hi)
            report("reading columns", hi, last)
