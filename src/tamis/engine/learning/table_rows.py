"""Rows of a table as learners need them: numbers on one scale, gaps filled, text as flags.

A table has prices beside shares, missing values, and text. So `learn` reads it once before
learning: numbers are standardised, a missing number becomes the mean of its column, and each value
of a text column becomes a feature of its own, NAME=VALUE, that is 1 where it occurs. What was found
(`Preparation`) is saved with the model, because other files have other means and other texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import InputError, warn
from tamis.core.sentences import counted
from tamis.sources import open_source
from tamis.sources.arrays.in_memory import is_frame
from tamis.sources.axis import to_rows
from tamis.sources.base import Progress, RowRange, RowSource, Wrapper

#: A column of fewer different words is not an identifier.
SURELY_MANY = 20

Floats = npt.NDArray[np.float64]

#: Files whose columns have names and kinds.
TABLES = ("csv", "parquet", "arrow")


@dataclass(frozen=True)
class Preparation:
    """How the rows of a table become features.

    Attributes
    ----------
    columns : list of str
        The columns of the table, in order.
    words : dict
        The words of each column of text, sorted. Of two, only the second becomes a feature; an
        identifier has none.
    means, scales : list of float
        Mean and standard deviation of each column of numbers; 0 and 1 for text.
    """

    columns: list[str]
    words: dict[str, list[str]]
    means: list[float]
    scales: list[float]

    @classmethod
    def of(cls, sources: Sequence[RowSource], progress: Progress) -> Preparation:
        """Read all rows once, for means and standard deviations; words are known."""
        first = sources[0]
        columns = list(first.names() or ())
        each = [source.vocabulary() for source in sources]
        words = {name: sorted({w for one in each for w in one.get(name, ())}) for name in columns}
        words = {name: words[name] for name in columns if words[name]}
        for source, known in zip(sources, each, strict=True):
            if list(source.names() or ()) != columns:
                raise InputError(
                    f"{source.name} has other columns than {first.name}; give files with the same "
                    "columns"
                )
            _refuse_other_kinds(source.name, columns, words, known, source)
        rows, mean, squares = (np.zeros(len(columns)) for _ in range(3))
        for source in sources:
            for block in source.batches(progress=progress):
                values = np.asarray(block.values, dtype=np.float64)
                there = np.isfinite(values)
                n = there.sum(axis=0)
                part = np.where(there, values, 0.0).sum(axis=0) / np.maximum(n, 1)
                off, total = part - mean, rows + n
                share = n / np.maximum(total, 1.0)
                squares += (np.where(there, values - part, 0.0) ** 2).sum(axis=0)
                squares += off * off * rows * share
                mean, rows = mean + off * share, total
        for name, some in words.items():
            if len(some) >= SURELY_MANY and 2 * len(some) > rows.max():
                n = int(rows.max())  # those with a target
                where = f" in {n:,} rows" if len(some) <= n else ", more than rows with a target"
                warn(
                    f"column {name!r} has {len(some):,} different texts{where}, so it was taken "
                    "for an identifier and left out"
                )
                words[name] = []
        is_text = np.array([name in words for name in columns], dtype=np.bool_)
        scale = np.sqrt(squares / np.maximum(rows, 1.0))
        scale[is_text | (scale == 0.0)] = 1.0
        mean[is_text] = 0.0
        return cls(columns, words, mean.tolist(), scale.tolist())

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Preparation:
        """Return what `to_json` described."""
        columns, words = [str(name) for name in found["columns"]], dict(found["words"])
        means, scales = ([float(x) for x in found[name]] for name in ("means", "scales"))
        if not (len(columns) == len(means) == len(scales) and set(words) <= set(columns)):
            raise ValueError("its columns do not fit together")
        return cls(columns, words, means, scales)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "columns": self.columns, "words": self.words, "means": self.means,
            "scales": self.scales,
        }  # fmt: skip

    @property
    def widths(self) -> list[int]:
        """Number of features that each column becomes."""
        return [len(self._shown(name)) if name in self.words else 1 for name in self.columns]

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        found = []
        for name in self.columns:
            flags = [f"{name}={word}" for word in self._shown(name)]
            found += flags if name in self.words else [name]
        return found

    def rows_of(self, X: Any, features: npt.NDArray[np.int64]) -> Any:
        """Return a data frame as a CSR matrix; columns that make the features must be there."""
        from scipy.sparse import csr_matrix

        if not is_frame(X):
            raise InputError(
                "the model was trained on a table, whose columns have names; give a data frame"
            )
        source = TableRows(to_rows(open_source(X, dates="ignore")), self, self.columns_of(features))
        parts: list[Any] = [block.values for block in source.batches()]
        counts = [np.diff(part.indptr) for part in parts]
        indptr = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *counts]))])
        indices, data = (
            np.concatenate([np.zeros(0), *(getattr(part, name) for part in parts)])
            for name in ("indices", "data")
        )
        entries = (data, indices.astype(np.int64), indptr)
        return csr_matrix(entries, shape=(len(indptr) - 1, source.n_columns))

    def of_dict(self, x: Mapping[Any, Any]) -> dict[str, float]:
        """Return one row of the table as features by name."""
        found = {}
        for name, mean, scale in zip(self.columns, self.means, self.scales, strict=True):
            value = x.get(name)
            if value is None or value != value:  # a gap
                continue
            if name not in self.words:
                found[name] = (float(value) - mean) / scale
                continue
            word = str(value).lower() if isinstance(value, bool) else str(value)
            if word in self._shown(name):
                found[f"{name}={word}"] = 1.0
        return found

    def columns_of(self, features: npt.NDArray[np.int64]) -> list[str]:
        """Return the columns that some features were made of."""
        column = np.repeat(np.arange(len(self.columns)), self.widths)
        return [self.columns[j] for j in np.unique(column[features])]

    def _shown(self, name: str) -> list[str]:
        words = self.words.get(name, [])
        return words[1:] if len(words) == 2 else words


def _refuse_other_kinds(
    whose: str,
    columns: Sequence[str],
    words: Mapping[str, Any],
    known: Mapping[str, Any],
    source: RowSource,
) -> None:
    """Raise an error if a column of text is one of numbers in a table, or the other way round."""
    there = set(source.names() or ())
    for name in columns:
        is_text = len(known.get(name, ())) > 0
        if name not in there or (name in words) == is_text:
            continue
        if name in words:
            column = source.column(name)
            if name in known or column is None or column.dtype.kind != "f":
                continue  # text that is missing everywhere
            if np.isnan(column).all():
                continue
            raise InputError(
                f"column {name!r} of {whose} holds numbers, and text elsewhere; if they are "
                f"categories, give categorical={name!r} (--categorical {name})"
            )
        raise InputError(
            f"column {name!r} of {whose} holds text such as {str(known[name][0])!r}, and numbers "
            "elsewhere; make it one of the two, or leave it out with ignore= (--ignore)"
        )


class TableRows(Wrapper, RowSource):
    """The prepared rows of a table.

    A column that the table lacks counts as a gap, unless it is in `needed`; more columns than were
    known are left out.
    """

    axis = "rows"
    layout = "sparse"

    def __init__(
        self, source: RowSource, preparation: Preparation, needed: Sequence[str] = ()
    ) -> None:
        super().__init__(source)
        self.rereadable, self._how = source.rereadable, preparation
        theirs = {name: j for j, name in enumerate(source.names() or ())}
        lacking = [name for name in needed if name not in theirs]
        if lacking:
            some = ", ".join(map(repr, lacking[:5])) + (", ..." if len(lacking) > 5 else "")
            raise InputError(
                f"{source.name} lacks {counted(len(lacking), 'column')} that the model uses: "
                f"{some}; give a table that has all of them"
            )
        vocabulary = source.vocabulary()
        _refuse_other_kinds(source.name, preparation.columns, preparation.words, vocabulary, source)
        #: Of each known column its position in the table, -1 if it has none, and the number of its
        #: first feature; of a column of text which feature each code of the table stands for.
        self._at = np.array([theirs.get(name, -1) for name in preparation.columns], dtype=np.intp)
        self._starts = np.concatenate([[0], np.cumsum(preparation.widths)]).astype(np.int64)
        self._flags: dict[int, npt.NDArray[np.int64]] = {}
        for j, name in enumerate(preparation.columns):
            if name in preparation.words:
                shown = {word: k for k, word in enumerate(preparation._shown(name))}
                here = [shown.get(word, -1) for word in vocabulary.get(name, [])]
                self._flags[j] = np.array([*here, -1], dtype=np.int64)

    @property
    def n_columns(self) -> int:
        """Number of features."""
        return int(self._starts[-1])

    def names(self) -> list[str]:  # type: ignore[override]
        """Return the names of the features."""
        return self._how.names

    def classes(self, progress: Progress) -> npt.NDArray[Any] | None:  # type: ignore[override]
        """Return the classes of the table."""
        found: npt.NDArray[Any] | None = self._source.classes(progress)
        return found

    def identity(self) -> dict[str, Any]:
        """Return what identifies the table."""
        found: dict[str, Any] = self._source.identity()
        return found

    def read_batches(self, wanted: RowRange) -> Iterator[RowBlock]:
        """Stream the prepared rows."""
        for block in self._source.read_batches(wanted):
            values = np.asarray(block.values, dtype=np.float64)
            yield replace(block, values=self._prepared(values), n_columns=self.n_columns)

    def _prepared(self, table: Floats) -> Compressed:
        """Return rows of the table as features."""
        height, known = len(table), len(self._at)
        indices = np.broadcast_to(self._starts[:-1], (height, known)).copy()
        values = np.zeros((height, known))
        there = self._at >= 0
        values[:, there] = table[:, self._at[there]]
        values -= np.array(self._how.means)
        values /= np.array(self._how.scales)
        for j, flags in self._flags.items():
            codes = values[:, j] if self._at[j] >= 0 else np.full(height, np.nan)
            at = flags[np.where(np.isnan(codes), len(flags) - 1, codes).astype(np.int64)]
            indices[:, j] += np.maximum(at, 0)
            values[:, j] = at >= 0
        values[:, ~there] = 0.0
        values[np.isnan(values)] = 0.0
        filled = values != 0.0
        indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))]).astype(np.int64)
        return Compressed(indptr, indices[filled], values[filled])


def prepare_tables(
    sources: Sequence[RowSource], progress: Progress, as_it_is: str = ""
) -> tuple[list[RowSource], Preparation | None]:
    """Return prepared rows if the sources are tables, and how; others are returned unchanged.

    `as_it_is` says why the columns of a table are taken as they are, which text cannot be.
    """
    if not all(source.format in TABLES and source.layout == "dense" for source in sources):
        return list(sources), None
    if as_it_is:
        for source in sources:
            refuse_text(source, as_it_is)
        return list(sources), None
    how = Preparation.of(sources, progress)
    return [TableRows(source, how) for source in sources], how


def refuse_text(source: RowSource, because: str) -> None:
    """Raise an error if columns of a table hold text, whose codes are those of this table only."""
    if source.format in TABLES and (words := source.vocabulary()):
        raise InputError(
            f"column {next(iter(words))!r} of {source.name} holds text, and {because}; leave the "
            "column out with ignore= (--ignore), or make numbers of it"
        )
