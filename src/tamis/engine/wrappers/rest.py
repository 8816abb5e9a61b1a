"""What is left of a source when its first columns are done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tamis.core.blocks import ColumnBlock
from tamis.engine.wrappers.wrapped import WrappedSource
from tamis.sources.base import Ranged, Report, Source, silent


def rest_of(source: Source, done: int) -> Source:
    """A source without its first columns; the others keep their numbers."""
    if done == 0:
        return source
    return (_RangedRest if isinstance(source, Ranged) else _Rest)(source, done)


class _Rest(WrappedSource):
    """Columns of a source from a number on."""

    def __init__(self, source: Source, done: int) -> None:
        super().__init__(source)
        self.first_column = done

    def columns(self, width: int | None = None, report: Report = silent) -> Iterator[ColumnBlock]:
        for block in self._source.columns(width, report):
            if block.first >= self.first_column:
                yield block
            elif block.first + block.width > self.first_column:
                picks = np.arange(self.first_column - block.first, block.width)
                yield replace(block.pick(picks), first=self.first_column)


class _RangedRest(_Rest):
    """The same where columns can be read without those before them."""

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
