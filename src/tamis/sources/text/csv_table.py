"""Rows of comma- or tab-separated values with a header line.

Arrow parses the text (`CsvText`). This module adds what Arrow lacks: checks for lines that never
end, NUL bytes and an unclosed last quote, and the line of the file on which a record begins.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, RowBlock
from tamis.core.errors import ParameterError, SourceError
from tamis.core.names import Names
from tamis.core.params import Number, check
from tamis.sources.axis import to_columns
from tamis.sources.base import (
    MEMORY,
    ColumnRange,
    ColumnSource,
    Progress,
    RowSource,
    as_path,
    seen_as,
    short_hash,
    silent,
    whole_numbers,
)
from tamis.sources.rebatch import Piece
from tamis.sources.tables.table import TableSource
from tamis.sources.tables.table_columns import (
    Roles,
    coded,
    floats,
    key_values,
    name_one,
    refuse_rounding,
    row_labels,
    sorted_words,
)
from tamis.sources.tables.table_files import MemoryTable
from tamis.sources.text_files import TextFile

#: Default maximum length of a line in bytes.
LONGEST_LINE = 8_000_000
#: Bytes of text checked at a time before they reach the parser.
_PIECE = 1 << 20
#: Initial number of bytes that Arrow parses at a time; it reads about thirty of these ahead.
_BLOCK = 1 << 20

_COLUMNS = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_VALUE = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+): (.*)")

#: A text that is a number; if half of a column matches, it is not a text column.
_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
#: Largest expected compression ratio, and bytes in memory per byte of text.
_UNPACKED, _HELD = 8, 4


class CsvRows(RowSource):
    """Rows of separated values.

    A column is numeric if every value is a number; otherwise it is text, coded by sorted value. A
    column of numbers with some text in it is refused unless it is named in `categorical`. An empty
    value, NA, NaN or null is missing (NaN). A first pass over the file determines the types; a
    small file is then kept in memory, a large one is read again.

    Parameters
    ----------
    path : str or path
        Plain text or gzip, bzip2 or zstd, recognised by content.
    target, key, ignore, categorical
        Names of columns: the one to predict; the one that identifies the rows; those that are not
        features; those whose numbers are names of categories.
    delimiter : str, optional
        The separator; default: a tab for NAME.tsv, else a comma.
    header : bool, default=True
        Whether the first line holds names; otherwise columns are called x0, x1, ...
    na : str or collection of str
        Texts that mean a missing value, besides the usual ones.
    longest_line : int
        Maximum length of a line in bytes.
    memory, work
        Approximate number of bytes to use, and a folder for larger data.
    """

    path: str
    format: ClassVar[str] = "csv"

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: str | None = None,
        *,
        na: str | Iterable[str] = (),
        delimiter: str | None = None,
        header: bool = True,
        key: str | None = None,
        ignore: str | Iterable[str] = (),
        categorical: str | Iterable[str] = (),
        longest_line: int = LONGEST_LINE,
        memory: int = MEMORY,
        work: str | os.PathLike[str] | None = None,
    ) -> None:
        check("csv", "memory", memory, Number(1, integer=True))
        check("csv", "longest_line", longest_line, Number(1, integer=True))
        self.path = as_path(path)
        if delimiter is None:
            delimiter = "\t" if ".tsv" in os.path.basename(self.path).lower() else ","
        delimiter = "\t" if delimiter == "\\t" else delimiter
        if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
            raise ParameterError(f"delimiter={delimiter!r} is not one plain character")
        self.memory, self.work = memory, work
        gaps = (na,) if isinstance(na, str) else tuple(na)
        self._text = CsvText(self.path, delimiter, header, gaps, longest_line)
        self._roles = Roles(target, key, ignore, categorical)
        self.target_name = target
        self._how = repr((self._roles.options, delimiter, header, gaps))
        names = self._text.names
        self._row_labels = row_labels(names)
        where = self.path
        other = next((d for d in ";\t|" if len(names) == 1 and d in names[0]), delimiter)
        if other != delimiter:
            where += f" (is the delimiter {other!r}? say so with delimiter=)"
        self._features = self._roles.features(where, names, self._row_labels)
        self._n_rows: int | None = None
        self._types: dict[str, Any] = {}
        self._words: dict[str, Any] = {}
        self._y: npt.NDArray[Any] | None = None
        self._held: TableSource | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        self._learn()
        assert self._n_rows is not None
        return self._n_rows

    @property
    def n_columns(self) -> int:
        """Number of features."""
        return len(self._features)

    def names(self) -> Names:
        """Return the names of the features."""
        return Names.of(self._features)

    def words(self) -> npt.NDArray[np.bool_]:
        """Return which columns are coded text with three or more categories."""
        self._learn()
        return np.array([len(self._words.get(name, ())) > 2 for name in self._features])

    def missing_target(self) -> str | None:
        """Return how to give a target, or None if there is one."""
        return None if self._roles.target else name_one(self.path, self._text.names)

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target column, or None if none was named."""
        self._learn()
        return self._y

    def keys(self) -> tuple[str, npt.NDArray[Any]] | None:
        """Return the name and values (as text) of the key column, if one was given."""
        key = self._roles.key
        if key is None:
            return None
        import pyarrow as pa

        batches = self._text.batches({key: pa.large_string()})
        words = [key_values(batch.column(key)) for batch in batches]
        return key, np.concatenate([np.zeros(0, "U1"), *words])

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows, by default one per parsed piece of text."""
        self._learn(progress)
        if self._held is not None:
            return self._held.batches(size, progress=progress)
        pieces = map(self._numbers, self._batches(self._features))
        return self._blocks_of(pieces, size, progress)

    def _numbers(self, batch: Any) -> Piece:
        """Return some rows as numbers."""
        values = np.empty((batch.num_rows, self.n_columns))
        for j, name in enumerate(self._features):
            column, words = batch.column(name), self._words.get(name)
            values[:, j] = floats(column) if words is None else coded(column, words)
        return None, values

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        self._learn()
        file, passed_over = self._text.file, self._roles.passed_over(self._row_labels)
        details = {"bytes": file.size, "compression": file.compression}
        return details | {"columns_of_words": len(self._words)} | passed_over

    def fingerprint(self) -> str:
        """Return a short hash of the bytes of the file and of how it is read."""
        return short_hash(self._text.file.fingerprint(), self._how)

    def fits(self) -> bool:
        """Return True if the file is expected to fit in memory."""
        file = self._text.file
        length = file.size * (1 if file.compression == "none" else _UNPACKED)
        return length * _HELD <= self.memory

    def _batches(self, names: list[str]) -> Iterator[Any]:
        return self._text.batches({name: self._types[name] for name in names})

    def _learn(self, progress: Progress = silent) -> None:
        """Read the file once: rows, categories and the target; keep it if it is small."""
        if self._n_rows is not None:
            return
        import pyarrow as pa

        target = self._roles.target
        names = [*self._features, *([] if target is None else [target])]
        self._types = {name: self._guess(name) for name in names}
        while True:
            try:
                self._pass(names, progress)
                return
            except ReadAgainError as found:
                if found.args[0] is not None:  # the first lines were numbers, but not all
                    self._types[found.args[0]] = pa.large_string()

    def _guess(self, name: str) -> Any:
        """Return how to read a column, judged by its first lines."""
        import pyarrow as pa

        kind = self._text.guessed[name]
        if name == self._roles.target or name in self._roles.categorical:
            return pa.large_string()
        if pa.types.is_temporal(kind):
            raise SourceError(
                f"{self.path}: column {name!r} holds dates or times ({kind}); leave it out with "
                f"ignore= (--ignore {name}), or make numbers of it first"
            )
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        return pa.float64() if is_number or pa.types.is_null(kind) else pa.large_string()

    def _pass(self, names: list[str], progress: Progress) -> None:
        import pyarrow as pa

        in_words = [n for n in self._features if self._types[n] == pa.large_string()]
        words = {name: pa.array([], pa.large_string()) for name in in_words}
        whole = [n for n in self._features if pa.types.is_integer(self._text.guessed[n])]
        n_rows, held, labels = 0, list[Any](), list[Any]()
        room = self.memory // 2 if self.fits() else 0
        for batch in self._batches(names):
            n_rows += batch.num_rows
            for name in in_words:
                words[name] = sorted_words(pa.concat_arrays([words[name], batch.column(name)]))
            for name in set(whole) - set(in_words):
                refuse_rounding(batch.column(name), f"{self.path}: column {name!r}")
            if self._roles.target is not None:
                labels.append(batch.column(self._roles.target))
            room -= batch.nbytes
            held = [*held, batch] if room > 0 else []
            progress("reading rows", self._text.file.done, self._text.file.size)
        if n_rows == 0:
            raise SourceError(f"{self.path} has a header and no rows; give at least one row")
        for name in in_words:
            self._refuse_mixed(name, words[name])
        self._words, self._y = words, _target(labels) if labels else None
        self._n_rows = n_rows
        if room > 0:  # keep a small file as a table in memory
            table = pa.Table.from_batches(held).select(self._features)
            requested = tuple(n for n in self._roles.categorical if n in self._features)
            file = MemoryTable(table, self.path, self.format)
            self._held = TableSource(file, Roles(categorical=requested), self._y)

    def _refuse_mixed(self, name: str, words: Any) -> None:
        """Raise a one-sentence error for a column that mixes numbers and text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if name in self._roles.categorical or not len(words):
            return
        is_number = pc.match_substring_regex(words, _NUMBER)
        if pc.sum(is_number.cast(pa.int64())).as_py() * 2 >= len(words):
            others = words.filter(pc.invert(is_number))
            raise SourceError(
                f"{self.path}: column {name!r} holds numbers and also {others[0].as_py()!r}; fix "
                "it, say that this means a missing value with na= (--na), or name the column in "
                "categorical= (--categorical)"
            )


class CsvSource(CsvRows, ColumnSource):
    """A CSV file that is expected to fit in memory, readable by columns and by rows."""

    axis = "columns"

    def blocks(self, wanted: ColumnRange) -> Iterator[ColumnBlock]:
        """Stream blocks of `width` columns."""
        self._learn(wanted.progress)
        return self._by_columns.blocks(wanted)

    @cached_property
    def _by_columns(self) -> ColumnSource:
        """The columns: in memory or, if the text was larger than expected, in a store."""
        return self._held if self._held is not None else to_columns(seen_as(CsvRows, self))


def open_csv(path: str | os.PathLike[str], target: str | None = None, **options: Any) -> CsvRows:
    """Open a CSV file; one that does not fit in memory is read by rows only."""
    rows = CsvRows(path, target, **options)
    return seen_as(CsvSource, rows) if rows.fits() else rows


def _target(labels: list[Any]) -> npt.NDArray[Any]:
    """Return the target: numbers if all values are, else text; missing values stay missing."""
    import pyarrow as pa

    column = pa.chunked_array(labels)
    try:
        return whole_numbers(floats(column.cast(pa.float64())))
    except pa.ArrowInvalid:
        found: npt.NDArray[Any] = column.to_numpy()
        return found if column.null_count else found.astype(str)


class ReadAgainError(Exception):
    """Reading must restart: a column is not numeric, or records are longer than expected.

    The argument is the name of the column that is not numeric, or None.
    """


class CsvText:
    """A file of separated values.

    Parameters
    ----------
    path : str
        Plain or compressed, recognised by content.
    delimiter : str
        The separator.
    header : bool
        Whether the first line holds the names; otherwise columns are called x0, x1, ...
    gaps : sequence of str
        Texts that mean a missing value, besides an empty one, NA, NaN and null.
    longest_line : int
        Maximum length of a line in bytes.

    Attributes
    ----------
    names : list of str
        Names of the columns.
    guessed : dict
        Arrow types guessed from the first lines, by name.
    """

    def __init__(
        self, path: str, delimiter: str, header: bool, gaps: Sequence[str], longest_line: int
    ) -> None:
        import pyarrow.csv

        self.path, self.delimiter, self.header = path, delimiter, header
        self.file, self.longest_line = TextFile(path), longest_line
        self._gaps = [*pyarrow.csv.ConvertOptions().null_values, "NA", "N/A", *gaps]
        self.names: list[str] = []
        self._block = min(_BLOCK, longest_line)
        schema: Any = None
        while schema is None:
            try:
                text = _Lines(self.file, longest_line)
                with self._one_sentence(), self._open({}, text) as reader:
                    schema = reader.schema
            except ReadAgainError:
                continue
        self.names = schema.names if header else [f"x{i}" for i in range(len(schema.names))]
        self.guessed = dict(zip(self.names, schema.types, strict=True))

    def batches(self, types: Mapping[str, Any]) -> Iterator[Any]:
        """Stream record batches of some columns, given with their types.

        Raises
        ------
        ReadAgainError
            If a column of numbers holds something else, or a record is longer than expected.
        """
        text, n_rows = _Lines(self.file, self.longest_line), 0
        with self._one_sentence(), self._open(types, text) as reader:
            for batch in reader:
                if batch.num_rows:
                    n_rows += batch.num_rows
                    yield batch
        if text.quotes % 2:
            self._refuse_open_quote(n_rows + self.header)

    def _open(self, types: Mapping[str, Any], text: _Lines) -> Any:
        """Open the text with Arrow; without types, all columns are read and their types guessed."""
        import pyarrow as pa
        import pyarrow.csv

        reading = pyarrow.csv.ReadOptions(
            use_threads=False,  # only then does Arrow report the row of an error; it is as fast
            block_size=self._block,
            column_names=None if self.header else self.names,
            autogenerate_column_names=not self.header and not self.names,
        )
        parsing = pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        converting = pyarrow.csv.ConvertOptions(
            column_types=dict(types), include_columns=list(types), null_values=self._gaps,
            strings_can_be_null=True,
        )  # fmt: skip
        return pyarrow.csv.open_csv(pa.PythonFile(text, "r"), reading, parsing, converting)

    @contextmanager
    def _one_sentence(self) -> Iterator[None]:
        """Turn Arrow's errors into one-sentence errors."""
        import pyarrow as pa

        try:
            yield
        except pa.ArrowException as error:
            raise SourceError(self.sentence(error)) from error

    def sentence(self, error: Exception) -> str:
        """Return a message about an error of Arrow, with the file and the line."""
        message = " ".join(str(error).split())
        if match := _COLUMNS.search(message):
            row, expected, got = map(int, match.groups())
            begins, ends = self._lines_of(row)
            what = "value" if got == 1 else "values"
            remedy = "fix or remove the line" if begins == ends else "close the quote opened there"
            return (
                f"{self.path} line {begins} has {got} {what} where the lines before have "
                f"{expected}; {remedy}"
            )
        if match := _VALUE.search(message):
            name = self.names[int(match[1])] if self.names else f"number {int(match[1]) + 1}"
            where = f" line {self._lines_of(int(match[2]))[0]}" if match[2] else ""
            if match[3] == "double":
                raise ReadAgainError(name) from error
            return f"{self.path}{where}, column {name!r}: {match[4]}; save the file as UTF-8"
        if "straddles" in message or "straddling" in message:
            if self._block < self.longest_line:
                self._block = min(4 * self._block, self.longest_line)
                raise ReadAgainError(None) from error
            return (
                f"{self.path} has a value of more than {self.longest_line:,} bytes over several "
                "lines; look for a quote that is never closed"
            )
        if "Empty CSV" in message:
            return f"{self.path} holds no line; give a file with a header and at least one row"
        reason = message.rstrip(".")[:200]
        return f"{self.path} cannot be read as separated values ({reason}); fix it"

    def _lines_of(self, row: int) -> tuple[int, int]:
        """Return the first and last line of the file for record `row`, all counted from 1."""
        begins, line, is_open = 0, 0, False
        for chunk in self.file.chunks(_PIECE, self.longest_line):
            for text in bytes(chunk.data).split(b"\n")[:-1]:
                line += 1
                if not is_open and not text.strip(b"\r"):
                    continue  # Arrow skips empty lines
                if not is_open:
                    begins, row = line, row - 1
                is_open ^= text.count(b'"') % 2 == 1
                if row == 0 and not is_open:
                    return begins, line
        return begins, line

    def _refuse_open_quote(self, records: int) -> None:
        """Raise an error if the last quote is never closed; Arrow closes it at the end of the file.

        Quotes inside a value, as in 5" nails, do not open anything: then each line is a record.
        """
        filled = 0
        for chunk in self.file.chunks(_PIECE, self.longest_line):
            filled += sum(bool(line.strip(b"\r")) for line in bytes(chunk.data).split(b"\n"))
        if records < filled:
            begins, _ = self._lines_of(-1)
            raise SourceError(
                f"{self.path} line {begins}: a quote is opened and never closed; close it"
            )


class _Lines(io.RawIOBase):
    """The text as a readable file; refuses endless lines and NUL bytes."""

    def __init__(self, file: TextFile, longest: int) -> None:
        self._path = file.path
        self._chunks = file.chunks(_PIECE, longest)
        self._lines = self.quotes = 0
        self._buffer = io.BytesIO()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        parts: list[bytes] = []
        while size != 0:
            if part := self._buffer.read(size):
                parts.append(part)
                size -= len(part)
            elif (chunk := next(self._chunks, None)) is not None:
                self._buffer = io.BytesIO(self._looked_at(bytes(chunk.data)))
            else:
                break
        return b"".join(parts)

    def close(self) -> None:
        self._chunks.close()
        super().close()

    def _looked_at(self, data: bytes) -> bytes:
        at = data.find(b"\0")
        if at >= 0:
            line = self._lines + data.count(b"\n", 0, at) + 1
            raise SourceError(
                f"{self._path} line {line} holds a NUL byte, so it is damaged or not plain text; "
                "save it as UTF-8"
            )
        self._lines += data.count(b"\n")
        self.quotes += data.count(b'"')
        return data
