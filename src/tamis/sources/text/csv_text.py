"""The text of a file of separated values, parsed by Arrow.

This module adds what Arrow lacks: checks for lines that never end, NUL bytes and an unclosed last
quote, the line of the file on which a record begins, and runs of spaces as one delimiter.
"""

from __future__ import annotations

import atexit
import io
import queue
import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from tamis.core.errors import SourceError, warn
from tamis.core.process_memory import available_bytes
from tamis.sources.text.dialect import Dialect
from tamis.sources.text_files import OF_WINDOWS, TextFile

#: Bytes of text checked at a time before they reach the parser.
_PIECE = 1 << 20
#: Initial number of bytes that Arrow parses at a time; it reads about thirty of these ahead.
_BLOCK = 1 << 20
#: Arrow converts a wide table column by column in each block, which costs as much for one row as
#: for hundreds. So its blocks have about this many rows, up to so many bytes.
_ROWS_OF_BLOCK, _WIDEST_BLOCK = 256, 1 << 23
#: About how many bytes a value has, with its delimiter.
_BYTES_PER_VALUE = 8
#: Seconds to wait at most for Arrow's threads to let go of a text; they need about a millisecond.
_LET_GO = 10.0

_COLUMNS = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_VALUE = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\S+): (.*)")


class ReadAgainError(Exception):
    """Reading must restart: a column is not numeric, or records are longer than expected.

    The argument is the name of the column that is not numeric, or None.
    """


def usual_gaps(more: Sequence[str] = ()) -> list[str]:
    """Return the texts that mean a missing value, with those that the user adds."""
    import pyarrow.csv

    return [*pyarrow.csv.ConvertOptions().null_values, "NA", "N/A", *more]


#: Bytes that Arrow needs for a column of a CSV file, however few rows there are.
_PER_COLUMN = 12_000


class CsvText:
    """A file of separated values.

    Parameters
    ----------
    file : TextFile
        Plain or compressed, recognised by content.
    dialect : Dialect
        Its delimiter and decimal mark.
    header : bool
        Whether the first line holds the names; otherwise columns are called x0, x1, ...
    gaps : sequence of str
        Texts that mean a missing value, besides an empty one, NA, NaN and null.
    longest_line : int
        Maximum length of a line in bytes.
    lenient : bool
        Skip lines with too many or too few values, and remember them, instead of refusing them.

    Attributes
    ----------
    names : list of str
        Names of the columns.
    number : dict
        Where each name is; of equal names, the first.
    guessed : dict
        Arrow types guessed from the first lines, by name.
    gaps : list of str
        All texts that mean a missing value.
    """

    def __init__(
        self, file: TextFile, dialect: Dialect, header: bool, gaps: Sequence[str],
        longest_line: int, *, lenient: bool = False,
    ) -> None:  # fmt: skip
        self.file, self.path, self.dialect, self.header = file, file.path, dialect, header
        self.longest_line, self.gaps = longest_line, usual_gaps(gaps)
        self.names: list[str] = []
        self._is_renamed, self._lenient = False, lenient
        self._ragged: dict[int, int] = {}
        self._block = min(_BLOCK, longest_line)
        width = max(map(len, dialect.sample), default=0)
        self._wide_block = min(_ROWS_OF_BLOCK * _BYTES_PER_VALUE * width, _WIDEST_BLOCK)
        self._refuse_too_wide()
        schema: Any = None
        while schema is None:
            try:
                text = _Lines(self.file, longest_line, dialect)
                with self._one_sentence(text), self._open({}, text) as reader:
                    schema = reader.schema
            except ReadAgainError:
                continue
        try:
            self.names = schema.names if header else [f"x{i}" for i in range(len(schema.names))]
        except UnicodeDecodeError as error:
            raise SourceError(
                f"{self.path} line 1 holds names that are not UTF-8; convert the file, for example "
                f"with: iconv -f latin1 -t utf-8 {self.path} > converted.csv"
            ) from error
        found, self.names = self.names, _usable(self.names)
        self._is_renamed = found != self.names
        self.number = {name: j for j, name in reversed(list(enumerate(self.names)))}
        self.guessed = dict(zip(self.names, schema.types, strict=True))

    def _refuse_too_wide(self) -> None:
        """Raise an error if Arrow would need more memory for the columns than there is."""
        width = max(map(len, self.dialect.sample), default=0)
        if (size := width * _PER_COLUMN) > available_bytes():
            raise SourceError(
                f"{self.path} has {width:,} columns, which need about {size / 1e9:,.1f} GB as CSV, "
                "more than there is; write svmlight text, or one line for each row, feature and "
                "value (long=, --long)"
            )

    def batches(self, types: Mapping[str, Any], *, raw: bool = False) -> Iterator[Any]:
        """Stream record batches of some columns, given with their types.

        With `raw`, a text that means a missing value is a text.

        Raises
        ------
        ReadAgainError
            If a column of numbers holds something else, or a record is longer than expected.
        """
        text, n_rows = _Lines(self.file, self.longest_line, self.dialect), 0
        with self._one_sentence(text), self._open(types, text, raw=raw) as reader:
            for batch in reader:
                if batch.num_rows:
                    n_rows += batch.num_rows
                    yield batch
        if text.failure is not None:  # in case Arrow took it for the end of the file
            raise text.failure
        if text.quotes % 2:
            self._refuse_open_quote(n_rows + self.header)

    def _open(self, types: Mapping[str, Any], text: _Lines, *, raw: bool = False) -> _Reader:
        """Open the text with Arrow; without types, all columns are read and their types guessed."""
        import pyarrow.csv

        reading = pyarrow.csv.ReadOptions(
            use_threads=False,  # only then does Arrow report the row of an error; it is as fast
            block_size=max(self._block, self._wide_block) if types else self._block,
            column_names=None if self.header and not self._is_renamed else self.names,
            skip_rows_after_names=int(self._is_renamed),
            autogenerate_column_names=not self.header and not self.names,
        )
        parsing = pyarrow.csv.ParseOptions(
            delimiter=self.dialect.delimiter, newlines_in_values=True,
            invalid_row_handler=self._skip if self._lenient else None,
        )  # fmt: skip
        converting = pyarrow.csv.ConvertOptions(
            column_types=dict(types), include_columns=list(types),
            null_values=[] if raw else self.gaps, strings_can_be_null=not raw,
            decimal_point=self.dialect.decimal,
        )  # fmt: skip
        return _Reader(text, reading, parsing, converting)

    @contextmanager
    def _one_sentence(self, text: _Lines) -> Iterator[None]:
        """Turn Arrow's errors into one-sentence errors."""
        import pyarrow as pa

        try:
            yield
        except pa.ArrowException as error:
            # A failure of the text may be further on than what Arrow reports.
            if isinstance(error, pa.ArrowTypeError) and text.failure is not None:
                raise text.failure from None
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
            if match[3] in ("double", "int64", "bool"):
                raise ReadAgainError(name) from error
            if match[3].startswith(("date", "time")):
                value = match[4].removeprefix("invalid value ")
                return (
                    f"{self.path}{where}, column {name!r} holds dates and also {value}; leave it "
                    "out with ignore= (--ignore), or name it in categorical= (--categorical)"
                )
            if "UTF8" in match[4] and self.file.encoding is None and self.file.again:
                self.file.encoding = OF_WINDOWS
                warn(f"{self.path}: its text is {OF_WINDOWS}, not UTF-8")
                raise ReadAgainError(None) from error
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

    def _skip(self, row: Any) -> str:
        """Remember a line that does not have one value per column."""
        self._ragged[row.number] = row.actual_columns
        return "skip"

    def ragged_lines(self) -> list[tuple[int, int]]:
        """Return the lines that were skipped, and how many values each has."""
        return [(self._lines_of(row)[0], got) for row, got in sorted(self._ragged.items())]

    def _lines_of(self, row: int) -> tuple[int, int]:
        """Return the first and last line of the file for record `row`, all counted from 1."""
        begins, line, is_open = 0, 0, False
        row += self.dialect.skip if row > 0 else 0
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
        filled, empty = -self.dialect.skip, f"\r{self.dialect.delimiter}".encode()
        for chunk in self.file.chunks(_PIECE, self.longest_line):
            filled += sum(bool(line.strip(empty)) for line in bytes(chunk.data).split(b"\n"))
        if records < filled:
            begins, _ = self._lines_of(-1)
            raise SourceError(
                f"{self.path} line {begins}: a quote is opened and never closed; close it"
            )


def _usable(names: list[str]) -> list[str]:
    """Return names, also for empty columns at the end, as Excel writes them."""
    if names.count("") < 2:
        return names
    return [names[0], *(name or f"column {j}" for j, name in enumerate(names[1:], 2))]


class _Reader:
    """Arrow's reader of a text, as a stream of record batches.

    Arrow's threads may hold the text a little longer than its reader exists. One that lets go of an
    object of Python while the interpreter exits aborts the process, so `close` waits for them.
    """

    def __init__(self, text: _Lines, *options: Any) -> None:
        import pyarrow as pa
        import pyarrow.csv

        self._text = text
        self._arrow: Any = None
        self._is_closed = False
        self._let_go: queue.SimpleQueue[Any] = queue.SimpleQueue()
        held = _Held(text.read)
        # `put` is written in C: a callback in Python might wait for the interpreter once more.
        self._watch = weakref.ref(held, self._let_go.put)
        atexit.register(self.close)  # for a stream that is not read to its end
        # The buffer copies: Arrow's threads pass blocks on, and would hold bytes of Python.
        stream = pa.BufferedInputStream(pa.PythonFile(held, "r"), 1 << 12)
        try:
            self._arrow = pyarrow.csv.open_csv(stream, *options)
        except BaseException:
            del held, stream  # the traceback would keep them
            self.close()
            raise

    @property
    def schema(self) -> Any:
        """Names and types of the columns."""
        return self._arrow.schema

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._arrow.read_next_batch()

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading, and wait until no thread of Arrow holds the text."""
        if self._is_closed:
            return
        self._is_closed = True
        atexit.unregister(self.close)
        self._arrow = None  # waits for the block that is being read
        with suppress(queue.Empty):
            self._let_go.get(timeout=_LET_GO)
            self._text.close()


class _Held:
    """What Arrow holds of a text; no frame refers to it, so that it ends when Arrow lets go."""

    closed = False
    #: Does nothing: `_Reader` closes the text. It is written in C, because Arrow calls it where it
    #: cannot pass on an exception: Ctrl-C in a function in Python would be lost.
    close = dict

    def __init__(self, read: Callable[[int], bytes | None]) -> None:
        self.read = read


class _Lines:
    """The text as a readable file; refuses endless lines and NUL bytes.

    Attributes
    ----------
    quotes : int
        Number of quotes read so far.
    failure : Exception or None
        What ended the reading early.
    """

    def __init__(self, file: TextFile, longest: int, dialect: Dialect) -> None:
        self._path, self._dialect = file.path, dialect
        self._chunks = file.chunks(_PIECE, longest)
        self._lines = self.quotes = 0
        self._buffer = io.BytesIO()
        self._blank = b""  # lines of delimiters only: they count if another line follows
        self.failure: Exception | None = None

    def read(self, size: int, /) -> bytes | None:
        """Return the next bytes, or None after a failure.

        Arrow turns None into an error of its own; an exception would be held by its threads.
        """
        try:
            return self._read(size)
        except Exception as error:
            self.failure = error
            return None

    def close(self) -> None:
        """Close the file."""
        self._chunks.close()

    def _read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size != 0:
            if part := self._buffer.read(size):
                parts.append(part)
                size -= len(part)
            elif (chunk := next(self._chunks, None)) is not None:
                data = self._blank + self._looked_at(bytes(chunk.data))
                end = self._dialect.blank_end(data)
                self._buffer, self._blank = io.BytesIO(data[:end]), data[end:]
            else:
                break
        return b"".join(parts)

    def _looked_at(self, data: bytes) -> bytes:
        at = data.find(b"\0")
        if at >= 0:
            line = self._lines + data.count(b"\n", 0, at) + 1
            raise SourceError(
                f"{self._path} line {line} holds a NUL byte, so it is damaged or not plain text; "
                "save it as UTF-8"
            )
        changed = self._dialect.lines(data, first=self._lines == 0)
        self._lines += data.count(b"\n")
        self.quotes += data.count(b'"')
        return changed
