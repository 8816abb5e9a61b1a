"""A source of columns around another one, which does something to its blocks as they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy.typing as npt

from tamis.core.blocks import RowBlock
from tamis.core.names import Names
from tamis.sources.base import Progress, Source, SourceInfo, silent


class WrappedSource(Source):
    """The same rows, target and number of columns; subclasses say what `columns` gives."""

    axis: ClassVar[Literal["columns", "rows"]] = "columns"

    def __init__(self, source: Source) -> None:
        self._source: Any = source
        self.format = source.format  # type: ignore[misc]
        self.name_prefix, self.name_base = source.name_prefix, source.name_base
        self.path, self.target_name, self.portable = (
            source.path,
            source.target_name,
            source.portable,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._source.n_rows)

    @property
    def n_columns(self) -> int | None:
        """Number of columns, or None while unknown."""
        columns: int | None = self._source.n_columns
        return columns

    def target(self) -> npt.NDArray[Any] | None:
        """The target stored with the data, or None."""
        target: npt.NDArray[Any] | None = self._source.target()
        return target

    def rows(self, size: int | None = None, progress: Progress = silent) -> Iterator[RowBlock]:
        """Nobody reads what is wrapped by rows."""
        raise NotImplementedError("a wrapped source is read by columns")

    def load(self) -> tuple[Any, npt.NDArray[Any] | None]:
        """Nobody reads what is wrapped as a whole."""
        raise NotImplementedError("a wrapped source is read by columns")

    @property
    def usual_width(self) -> int:
        """Number of columns in a block that fits well in memory."""
        return int(self._source.usual_width)

    def names(self) -> Names | None:
        """Return the names of all columns, or None if only the blocks know them."""
        names: Names | None = self._source.names()
        return names

    def keys(self) -> tuple[str, npt.NDArray[Any]] | None:
        """Return name and values of the column that names the rows, if there is one."""
        keys: tuple[str, npt.NDArray[Any]] | None = self._source.keys()
        return keys

    def fingerprint(self) -> str:
        """Return a short hash of the data as they are."""
        return str(self._source.fingerprint())

    def info(self) -> SourceInfo:
        """Shape, layout, target and fingerprint of the data as they are."""
        info: SourceInfo = self._source.info()
        return info
