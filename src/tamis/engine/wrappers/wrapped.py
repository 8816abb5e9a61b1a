"""A source of columns around another one, which does something to its blocks as they come."""

from __future__ import annotations

from tamis.sources.base import ColumnSource, Wrapper


class WrappedSource(Wrapper, ColumnSource):
    """The same rows, target and number of columns; subclasses change what `columns` yields."""

    def __init__(self, source: ColumnSource) -> None:
        super().__init__(source)
        self.portable = source.portable

    @property
    def usual_width(self) -> int:
        """Number of columns in a block that fits well in memory."""
        return int(self._source.usual_width)
