"""Text of comma- or tab-separated values to Arrow batches, with sentences that name file and line.

Arrow parses; what it cannot know is here: that a line must have an end, that NUL is not text, that
the last quote must be closed, and which line of the file a record begins on.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tamis.core.errors import SourceError
from tamis.sources.text_files import TextFile

#: Bytes of a line, at most, unless more are allowed.
LONGEST_LINE = 8_000_000
#: Bytes of text looked through at a time on the way to the parser.
_PIECE = 1 << 20
#: Bytes that Arrow parses at a time to begin with; it reads some thirty of these ahead.
_BLOCK = 1 << 20

_COLUMNS = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_VALUE = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+): (.*)")


class NotANumberError(Exception):
    """A column that was taken for numbers holds something else."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class LongRecordError(Exception):
    """A record is longer than what is parsed at a time; more will be, so read again."""


class CsvText:
    """A file of separated values.

    Parameters
    ----------
    path : str
        Plain or compressed, recognised by content.
    delimiter : str
        What stands between values.
    header : bool
        Whether the first line holds the names; else columns are called x0, x1, ...
    gaps : sequence of str
        Texts that mean a missing value, besides an empty one, NA, NaN and null.
    longest_line : int
        Bytes of a line, at most.

    Attributes
    ----------
    names : list of str
        Names of the columns.
    guessed : dict
        What the first lines hold, by name: Arrow types.
    """

    def __init__(
        self, path: str, delimiter: str, header: bool, gaps: Sequence[str], longest_line: int
    ) -> None:
        import pyarrow.csv

        self.path, self.delimiter, self.header = path, delimiter, header
        self.longest_line = longest_line
        self.file = TextFile(path)
        known = pyarrow.csv.ConvertOptions().null_values
        self._gaps = [*known, "NA", "N/A", *gaps]
        self.names: list[str] = []
        self._block = min(_BLOCK, longest_line)
        schema = self._schema()
        prefix = "" if header else "x"
        names = [name if header else f"{prefix}{i}" for i, name in enumerate(schema.names)]
        self.names, self.guessed = names, dict(zip(names, schema.types, strict=True))

    def _schema(self) -> Any:
        """Return names and types as the first lines tell them."""
        while True:
            try:
                text = _Lines(self.file, self.longest_line)
                with self._one_sentence(), self._open({}, None, text) as reader:
                    return reader.schema
            except LongRecordError:
                continue

    def batches(self, types: Mapping[str, Any], names: Sequence[str]) -> Iterator[Any]:
        """Stream record batches of some columns, of the types given.

        Raises
        ------
        NotANumberError
            If a column of numbers holds something else.
        LongRecordError
            If a record is longer than expected; another try expects longer ones.
        """
        text, n_rows = _Lines(self.file, self.longest_line), 0
        with self._one_sentence(), self._open(types, names, text) as reader:
            for batch in reader:
                if batch.num_rows:
                    n_rows += batch.num_rows
                    yield batch
        if text.quotes % 2:
            self._refuse_open_quote(n_rows + self.header)

    def _open(self, types: Mapping[str, Any], names: Sequence[str] | None, text: _Lines) -> Any:
        import pyarrow as pa
        import pyarrow.csv

        reading = pyarrow.csv.ReadOptions(
            use_threads=False,  # Arrow tells the row of a fault only then, and is as fast
            block_size=self._block,
            column_names=self.names if self.names and not self.header else None,
            autogenerate_column_names=not self.header and not self.names,
        )
        parsing = pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        converting = pyarrow.csv.ConvertOptions(
            column_types=dict(types), include_columns=None if names is None else list(names),
            null_values=self._gaps, strings_can_be_null=True,
        )  # fmt: skip
        return pyarrow.csv.open_csv(pa.PythonFile(text, "r"), reading, parsing, converting)

    def _one_sentence(self) -> _OneSentence:
        return _OneSentence(self)

    def sentence(self, error: Exception) -> str:
        """Say what Arrow found wrong, naming the file and the line."""
        said = " ".join(str(error).split())
        if match := _COLUMNS.search(said):
            row, expected, got = map(int, match.groups())
            begins, ends = self._lines_of(row)
            what = "value" if got == 1 else "values"
            remedy = "fix or remove the line" if begins == ends else "close the quote opened there"
            return (
                f"{self.path} line {begins} has {got} {what} where the lines before have "
                f"{expected}; {remedy}"
            )
        if match := _VALUE.search(said):
            name = self.names[int(match[1])] if self.names else f"number {int(match[1]) + 1}"
            where = f" line {self._lines_of(int(match[2]))[0]}" if match[2] else ""
            if match[3] == "double":
                raise NotANumberError(name) from error
            return f"{self.path}{where}, column {name!r}: {match[4]}; save the file as UTF-8"
        if "straddles" in said or "straddling" in said:
            if self._block < self.longest_line:
                self._block = min(4 * self._block, self.longest_line)
                raise LongRecordError from error
            return (
                f"{self.path} has a value of more than {self.longest_line:,} bytes over several "
                "lines; look for a quote that is never closed"
            )
        if "Empty CSV" in said:
            return f"{self.path} holds no line; give a file with a header and at least one row"
        return f"{self.path} cannot be read as separated values ({said.rstrip('.')[:200]}); fix it"

    def _lines_of(self, row: int) -> tuple[int, int]:
        """First and last line of the file that record number `row` takes, all from 1."""
        begins, line, is_open = 0, 0, False
        for chunk in self.file.chunks(_PIECE, self.longest_line):
            for text in bytes(chunk.data).split(b"\n")[:-1]:
                line += 1
                if not is_open and not text.strip(b"\r"):
                    continue  # Arrow passes over empty lines
                if not is_open:
                    begins, row = line, row - 1
                is_open ^= text.count(b'"') % 2 == 1
                if row == 0 and not is_open:
                    return begins, line
        return begins, line

    def _refuse_open_quote(self, records: int) -> None:
        """Raise one sentence if the last quote is never closed, which Arrow takes for its end.

        Quotes inside a value, as in 5" nails, open nothing: then each line is a record.
        """
        filled = 0
        for chunk in self.file.chunks(_PIECE, self.longest_line):
            filled += sum(bool(line.strip(b"\r")) for line in bytes(chunk.data).split(b"\n"))
        if records < filled:
            begins, _ = self._lines_of(-1)
            raise SourceError(
                f"{self.path} line {begins}: a quote is opened and never closed; close it"
            )


class _OneSentence:
    """Turns what Arrow raises into one sentence."""

    def __init__(self, text: CsvText) -> None:
        self._text = text

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        import pyarrow as pa

        if isinstance(error, pa.ArrowException):
            raise SourceError(self._text.sentence(error)) from error


class _Lines(io.RawIOBase):
    """The text as a file to read from; lines without end and NUL bytes are refused on the way."""

    def __init__(self, file: TextFile, longest: int) -> None:
        self._path = file.path
        self._chunks = file.chunks(_PIECE, longest)
        self._lines = self.quotes = 0
        self._buffer = b""
        self._at = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        parts: list[bytes] = []
        while size < 0 or size > 0:
            if self._at == len(self._buffer):
                chunk = next(self._chunks, None)
                if chunk is None:
                    break
                self._buffer, self._at = self._looked_at(bytes(chunk.data)), 0
            stop = len(self._buffer) if size < 0 else min(len(self._buffer), self._at + size)
            parts.append(self._buffer[self._at : stop])
            size -= 0 if size < 0 else stop - self._at
            self._at = stop
        return b"".join(parts)

    def close(self) -> None:
        self._chunks.close()  # type: ignore[attr-defined]
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
