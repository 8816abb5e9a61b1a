"""Tables with one line per feature and one column per sample, such as genes by samples.

The lines of the file are the columns of the data, so such a table streams by columns without being
transposed.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.errors import SourceError, warn
from tamis.core.names import Names
from tamis.core.sentences import counted
from tamis.sources.base import ColumnRange, ColumnSource, RowSource, default_width, short_hash
from tamis.sources.matrix import load_y, one_for_each_row
from tamis.sources.rebatch import Piece, rebatch
from tamis.sources.tables.table_columns import listed

#: What the samples are called, unless `key` says otherwise.
SAMPLES = "sample"


class TransposedSource(ColumnSource):
    """A table in which lines are features and columns are samples.

    Parameters
    ----------
    lines : RowSource
        The table: its key is the first column, with the names of the features.
    y : array-like or path of an .npy file, optional
        The target, one value per sample.
    key : str, optional
        What the samples are called.
    """

    format: ClassVar[Any] = "csv"
    n_rows: int = 0
    n_columns: int = 0

    def __init__(self, lines: RowSource, y: Any = None, key: str | None = None) -> None:
        self._lines, self._key = lines, key or SAMPLES
        self.path, self.memory = lines.path, lines.memory
        self.format = lines.format  # type: ignore[misc]
        self._samples = np.array(list(lines.names() or ()), dtype=np.str_)
        self._refuse_words()
        keys = lines.keys()
        assert keys is not None
        self._names = Names.of(self._different(keys[1].astype(str).tolist()))
        self.n_rows, self.n_columns = len(self._samples), len(self._names)
        if isinstance(y, str | os.PathLike):
            y = load_y(os.fspath(y))
        self._y = None if y is None else one_for_each_row(y, lines.name, self.n_rows)

    def _refuse_words(self) -> None:
        """Raise an error for columns that are not samples, such as descriptions of genes."""
        is_text = self._lines.words()
        if is_text is not None and is_text.any():
            some = listed(self._samples[is_text].tolist())
            raise SourceError(
                f"{self.path}: {some} hold{'s' if is_text.sum() == 1 else ''} text, and every "
                "column but the first is a sample (transpose=, --transpose); leave others out "
                "with ignore= (--ignore)"
            )

    def _different(self, names: list[str]) -> list[str]:
        """Return names that are all different: the second G of two is called G.2."""
        counts = Counter(names)
        again = [name for name, count in counts.items() if count > 1]
        if not again:
            return names
        how_many = counted(len(again), "name of a feature occurs", "names of features occur")
        warn(
            f"{self.path}: {how_many} more than once ({listed(again)}); the second "
            f"{again[0]!r} is called {again[0] + '.2'!r}"
        )
        seen: Counter[str] = Counter()
        found = []
        for name in names:
            seen[name] += 1
            new = name if seen[name] == 1 else f"{name}.{seen[name]}"
            while new != name and new in counts:
                seen[name] += 1
                new = f"{name}.{seen[name]}"
            found.append(new)
        return found

    def names(self) -> Names:
        """Return the names of the features, from the first column."""
        return self._names

    def missing_target(self) -> str | None:
        """Return how to give a target, or None if there is one."""
        if self._y is not None:
            return None
        return (
            "name a table of the samples with --y FILE, its column of samples with --key and the "
            "one to predict with --target (y=, key=, target=)"
        )

    def target(self) -> npt.NDArray[Any] | None:
        """Return the given target."""
        return self._y

    def keys(self) -> tuple[str, npt.NDArray[Any]]:
        """Return the names of the samples, from the header."""
        return self._key, self._samples

    def blocks(self, wanted: ColumnRange) -> Iterator[ColumnBlock]:
        """Stream lines of the table as columns."""
        first, end = wanted.start, wanted.end(self.n_columns)
        step = wanted.width or default_width(self.n_rows, self.n_columns, None)
        for _, lines in rebatch(self._part(first, end), step):
            last = first + len(lines)
            values = np.asfortranarray(lines.T, dtype=np.float64)
            yield ColumnBlock(first, self.n_rows, values, self._names.part(first, last))
            wanted.progress("reading columns", last, self.n_columns)
            first = last

    def _part(self, start: int, end: int) -> Iterator[Piece]:
        for block in self._lines.batches():
            assert not isinstance(block.values, Compressed)
            lo, hi = max(start - block.first, 0), min(end - block.first, len(block.values))
            if lo < hi:
                yield None, block.values[lo:hi]
            if block.first + len(block.values) >= end:
                return

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        return {"transposed": True} | self._lines.details()

    def fingerprint(self) -> str:
        """Return a short hash of the file and of the target."""
        y = "" if self._y is None else repr(self._y.astype(str).tolist())
        return short_hash(self._lines.fingerprint(), "transposed", y)


def open_transposed(opener: Any, path: str, options: dict[str, Any]) -> TransposedSource:
    """Open a table with one line per feature; its first column names them."""
    taken = {name: options.pop(name, None) for name in ("y", "key")}
    if options.get("target") is not None:
        raise SourceError(
            f"{path}: target= (--target) names a column of the table of samples; name that table "
            "with y= (--y)"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said when it is opened with its key
        first = opener(path, **options).column_names[0]
    lines = opener(path, **options, key=first)
    return TransposedSource(lines, **taken)
