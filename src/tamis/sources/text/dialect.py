"""How a file of separated values is written: its delimiter, decimal mark, encoding and title.

All are found in the first lines. A delimiter splits every line into as many values as the header
has names; lines above the header that do not fit are a title. A decimal mark is proved by a value
that is a number with this mark only: 1,5 or 0.125 or 1.234,5. Where two answers fit equally well,
an error names them. Later lines cannot change the answer; a value there that is a number only with
the other mark raises an error when it is read.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Any

from tamis.core.errors import ParameterError, SourceError
from tamis.core.sentences import counted
from tamis.sources.text.units import MINUS, NO_UNIT, NUMBERS, Unit, groups, unit_of, without_units
from tamis.sources.text_files import TextFile, encoding_of

#: Characters that may separate values; a space only if nothing else does.
DELIMITERS = ",;\t| "
MARKS = ".,"
_CALLED = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_MARK = {".": "point", ",": "comma"}

#: What separates values by the first line that Excel writes.
_SEP_LINE = re.compile(r"sep=(.)")
#: The most lines above a header.
_TITLE = 20
#: With fewer steps, numbers may rise by chance.
_BY_CHANCE = 5
#: Bytes of text, lines and values that are looked at.
_SAMPLE, _LINES, _VALUES = 1 << 20, 1_000, 200_000
#: A line of svmlight text: a label, perhaps a query, index:value, and perhaps a comment.
_SVMLIGHT = re.compile(r"[-+.\w]+( +qid:\d+)?( +\d+:[-+.\deE]+)+ *(#.*)?")
#: Runs of spaces outside quotes, at the ends of a line or between values.
_SPACES = re.compile(rb'"(?:[^"]|"")*"|^ +| +(?=\r?$)| +', re.MULTILINE)


class UnclearMarkError(SourceError):
    """Two decimal marks fit; `likely` is the one that a reader would guess."""

    def __init__(self, sentence: str, likely: str) -> None:
        super().__init__(sentence)
        self.likely = likely


@dataclass(frozen=True)
class Dialect:
    """How a file of separated values is written.

    Attributes
    ----------
    delimiter, decimal : str
        What separates values, and what separates the digits after the units.
    nameless : bool
        Whether the header has no name for the first column, as R writes row names.
    sample : list of list of str
        The values of the first lines, without the header.
    skip : int
        Lines above the header that are not part of the table; empty lines do not count.
    title : int
        How many of them are a title, and not the line with which Excel names the delimiter.
    """

    delimiter: str
    decimal: str
    nameless: bool
    sample: list[list[str]]
    skip: int = 0
    title: int = 0

    def column(self, number: int, gaps: Collection[str]) -> list[str]:
        """Return the values of a column in the sample, without missing ones."""
        found = (row[number].strip() for row in self.sample if number < len(row))
        return [value for value in found if value not in gaps]

    def numbers(self, number: int, gaps: Collection[str]) -> Unit | None:
        """Return the unit of a column whose values in the sample are all numbers, else None."""
        values = self.column(number, gaps)
        if values and all(NUMBERS[self.decimal].match(value) for value in values):
            return NO_UNIT
        unit = unit_of(values, self.decimal)
        return unit if unit is not None and unit.fits(values, self.decimal) else None

    def plain(self, column: Any, unit: Unit = NO_UNIT) -> Any:
        """Return Arrow text as plain numbers in text: 1.234,5 as 1234.5; other text unchanged."""
        import pyarrow.compute as pc

        is_number = pc.match_substring_regex(column, unit.pattern(self.decimal))
        text = pc.replace_substring_regex(unit.bare(column, self.decimal), groups(self.decimal), "")
        if self.decimal != ".":
            text = pc.replace_substring(text, self.decimal, ".")
        text = pc.replace_substring(text, MINUS, "-")
        return pc.if_else(is_number, text, column)

    def lines(self, data: bytes, first: bool) -> bytes:
        """Return lines as Arrow reads them: one delimiter between values, a name for each."""
        if first and self.skip:
            data = _below(data, self.skip)
        if self.delimiter == " ":
            data = _SPACES.sub(_one_space, data)
        if first and self.nameless:
            return self.delimiter.encode() + data.lstrip(b"\r\n")
        return data

    def blank_end(self, data: bytes) -> int:
        """Return where the lines at the end begin that hold delimiters only, as Excel writes."""
        filled = len(data.rstrip(f"\r\n{self.delimiter}".encode()))
        if self.delimiter == " " or not filled:
            return len(data) if filled else 0
        return data.find(b"\n", filled) + 1 or len(data)


def _below(data: bytes, lines: int) -> bytes:
    """Return text without its first lines; empty ones do not count."""
    at = 0
    while lines and at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        lines -= bool(data[at:end].strip())
        at = end
    return data[at:]


def _one_space(found: re.Match[bytes]) -> bytes:
    text, begins = found[0], found.start()
    if text.startswith(b'"'):
        return text
    at_start = begins == 0 or found.string[begins - 1 : begins] == b"\n"
    at_end = found.string[found.end() : found.end() + 1] in (b"\r", b"\n", b"")
    return b"" if at_start or at_end else b" "


def check_marks(delimiter: str | None, decimal: str | None) -> None:
    """Raise a one-sentence error for a delimiter or a decimal mark that cannot be one."""
    if delimiter is not None and (len(delimiter.encode()) != 1 or delimiter in '"\r\n'):
        raise ParameterError(f"delimiter={delimiter!r} is not one plain character")
    if decimal is not None and decimal not in MARKS:
        raise ParameterError(f"decimal={decimal!r} is not a decimal mark; give '.' or ','")


def detect(
    file: TextFile,
    longest_line: int,
    *,
    delimiter: str | None,
    decimal: str | None,
    header: bool,
    gaps: Sequence[str],
    skip: Collection[str],
) -> Dialect:
    """Find the delimiter and the decimal mark of a file, unless they are given.

    Parameters
    ----------
    file, longest_line : TextFile, int
        The text, and the maximum length of a line in bytes.
    delimiter, decimal : str or None
        What the user says.
    header : bool
        Whether the first line holds names.
    gaps : sequence of str
        Texts that mean a missing value.
    skip : collection of str
        Names of columns whose values do not count: they are not read as numbers.
    """
    check_marks(delimiter, decimal)
    file.encoding = file.encoding or encoding_of(file, _SAMPLE, longest_line)
    is_tsv = ".tsv" in file.path.lower().rsplit("/", 1)[-1]
    usual = "\t" if is_tsv else ","
    lines, whole = _first_lines(file, longest_line)
    if not lines:  # the reader says what is wrong with it
        return Dialect(delimiter or usual, decimal or ".", False, [])
    above = title = 0
    if (named := _SEP_LINE.fullmatch(lines[0].strip())) and len(lines) > 1:
        delimiter, lines, above = delimiter or named[1], lines[1:], 1
    if delimiter is None and _SVMLIGHT.fullmatch(lines[-1].rstrip("\r\n")):
        raise SourceError(
            f"{file.path} looks like svmlight text; name it with format= (--format svmlight), or "
            "give the delimiter with delimiter= (--delimiter)"
        )
    if header and not above and (title := _title(lines, delimiter, whole)):
        lines, above = lines[title:], title
    if delimiter is None:
        split = _delimiter(file.path, lines, whole, usual, decimal, header)
    else:
        split = _Split.of(lines, delimiter, whole, header)
    names = split.names(header)
    if decimal is None:
        taken = [j for j, name in enumerate(names) if name not in skip]
        decimal = _decimal(file.path, split, names, taken, {*gaps, ""})
    return Dialect(split.delimiter, decimal, split.nameless, split.body, above, title)


def noted(dialect: Dialect, file: TextFile, names: Sequence[str], header: bool) -> list[str]:
    """Return sentences about the text of a file that a reader may want to know."""
    sentences = []
    if file.encoding is not None:
        sentences.append(f"{file.path}: its text is {file.encoding}, not UTF-8")
    if dialect.title:
        lines = counted(dialect.title, "line above the header was", "lines above the header were")
        sentences.append(f"{file.path}: {lines} left out")
    if header and looks_like_values(names):
        sentences.append(
            f"{file.path}: line {dialect.skip + 1} was taken for names of columns, but it looks "
            "like a row of values; if it is one, give --no-header (header=False)"
        )
    return sentences


def looks_like_values(names: Sequence[str]) -> bool:
    """Return whether a header is probably a row of values: with a fraction, in no order.

    >>> looks_like_values(["1", "0.1", "c", "0.5"]), looks_like_values(["400.5", "401", "401.5"])
    (True, False)
    """
    numbers = [float(name) for name in names if NUMBERS["."].match(name) and "," not in name]
    fractions = [number for number in numbers if isfinite(number) and number != int(number)]
    steps = [a < b for a, b in pairwise(numbers)]
    in_order = len(steps) > 1 and (all(steps) or not any(steps))
    if in_order and len(steps) < _BY_CHANCE:  # then the steps of a series are about equal
        sizes = [abs(b - a) for a, b in pairwise(numbers)]
        in_order = max(sizes) <= 2 * min(sizes)
    return bool(fractions) and 2 * len(numbers) >= len(names) and not in_order


def said(dialect: Dialect, path: str, *, delimiter: bool, decimal: bool) -> str | None:
    """Return a sentence about what was detected, or None if that is the usual.

    `delimiter` and `decimal` say which of the two the user gave.
    """
    usual = "\t" if ".tsv" in path.lower().rsplit("/", 1)[-1] else ","
    parts = []
    if not delimiter and dialect.delimiter != usual:
        called = _CALLED.get(dialect.delimiter, repr(dialect.delimiter))
        parts.append(f"values are separated by {called}")
    if not decimal and dialect.decimal != ".":
        parts.append(f"decimals are written with a {_MARK[dialect.decimal]}")
    if not parts:
        return None
    free = [name for name, given in (("delimiter", delimiter), ("decimal", decimal)) if not given]
    command, python = " and ".join(f"--{n}" for n in free), ", ".join(f"{n}=" for n in free)
    return f"{path}: {' and '.join(parts)}; if not, say so with {command} ({python})"


# --- above the header --------------------------------------------------------------------------


def _title(lines: list[str], delimiter: str | None, whole: bool) -> int:
    """Return how many lines are above the header of a table.

    Nearly every line from the header on has the same number of values. Those above have fewer, or
    one.
    """
    marks, best = DELIMITERS if delimiter is None else delimiter, (0, 0)
    first_as_header = [_Split.of(lines, mark, whole, True) for mark in marks]
    if any(split.nameless or (split.fits and all(split.head)) for split in first_as_header):
        return 0
    for mark in marks.replace(" ", ""):
        records, at, above = list[list[str]](), list[int](), 0
        read = csv.reader(lines, delimiter=mark)
        try:
            for record in read:
                records.append(record)
                at.append(above)
                above = read.line_num
        except csv.Error:
            continue
        width = Counter(map(len, records)).most_common(1)[0][0]
        inside = [len(r) == width and sum(map(bool, r)) > 1 for r in records]
        first = inside.index(True) if True in inside else 0
        outside = all(len(r) < max(2, width - 1) or sum(map(bool, r)) < 2 for r in records[:first])
        regular = [len(r) == width for r in records[first:]]
        fits = 0 < first <= _TITLE and len(regular) > 2 and sum(regular) >= 0.9 * len(regular)
        if fits and outside and width > best[0]:
            best = width, at[first]
    return best[1]


# --- the delimiter ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Split:
    """The first lines, split at one delimiter."""

    delimiter: str
    head: list[str]
    body: list[list[str]]
    nameless: bool
    #: Share of the lines that have the usual number of values, and that number.
    share: float
    width: int

    @classmethod
    def of(cls, lines: Sequence[str], delimiter: str, whole: bool, header: bool) -> _Split:
        if delimiter == " ":
            lines = [_SPACES.sub(_one_space, x.encode()).decode() for x in lines]
        try:
            records = [r for r in csv.reader(lines, delimiter=delimiter) if r]
        except csv.Error:  # a value of many kilobytes, or a stray quote
            records = [line.rstrip("\r\n").split(delimiter) for line in lines]
        if not whole and len(records) > 2:
            records.pop()  # it may end in the middle of a quoted value
        head = records[0] if records else []
        body = records[1:] if header else records
        body = body[: max(20, _VALUES // max(1, len(head)))]
        counts = Counter(map(len, body)) or Counter([len(head)])
        width, count = counts.most_common(1)[0]
        nameless = header and len(head) == width - 1 >= 2 and len(counts) == 1
        return cls(delimiter, head, body, nameless, count / max(1, len(body)), width)

    @property
    def fits(self) -> bool:
        """Whether every line has as many values as the header, and there are several."""
        return self.width > 1 and self.share == 1.0 and len(self.head) == self.width

    def names(self, header: bool) -> list[str]:
        if not header:
            return [f"x{j}" for j in range(self.width)]
        return ["", *self.head] if self.nameless else self.head

    def numbers(self, marks: str) -> float:
        """Return the share of values that are numbers with one of the marks."""
        fields = [field for row in self.body for field in row]
        found = sum(any(NUMBERS[mark].match(field) for mark in marks) for field in fields)
        return found / max(1, len(fields))


def _delimiter(
    path: str, lines: list[str], whole: bool, usual: str, decimal: str | None, header: bool
) -> _Split:
    """Return the first lines, split at the delimiter that fits best."""
    tried = {d: _Split.of(lines, d, whole, header) for d in DELIMITERS if d in lines[0]}
    plain = tried.get(usual) or _Split.of(lines, usual, whole, header)
    fitting = [split for split in tried.values() if split.fits]
    fitting = fitting or [split for split in tried.values() if split.nameless]
    fitting = [split for split in fitting if split.delimiter != " "] or fitting
    if usual == "\t" and plain in fitting:
        return plain
    if len(fitting) > 1:
        shares = [split.numbers(decimal or MARKS) for split in fitting]
        best = [s for s, n in zip(fitting, shares, strict=True) if n == max(shares)]
        if len(best) > 1:
            one, two = best[0], best[1]
            raise SourceError(
                f"{path}: its values may be separated by {_CALLED[one.delimiter]} or by "
                f"{_CALLED[two.delimiter]}; say which with delimiter={one.delimiter!r} or "
                f"delimiter={two.delimiter!r} (--delimiter)"
            )
        fitting = best
    if fitting:
        return fitting[0]
    # No delimiter fits every line: the reader names the line that does not fit the best one.
    ragged = [s for s in tried.values() if s.width > 1 and len(s.head) == s.width and s.share > 0.5]
    if ragged:
        return max(ragged, key=lambda split: (split.delimiter != " ", split.share))
    if header and not tried and decimal is None:
        _refuse_one_name(path, lines, whole)
    if tried.keys() & {" ", "\t"}:
        _refuse_mixed_blanks(path, lines, whole)
    if not tried and decimal == usual:  # one column of numbers with decimal commas
        return _Split.of(lines, ";", whole, header)
    return plain


def _refuse_one_name(path: str, lines: list[str], whole: bool) -> None:
    """Raise an error if there is one name and every line is a number with a decimal comma."""
    commas = _Split.of(lines, ",", whole, True)
    values = [line.strip() for line in lines[1:] if line.strip()]
    if values and commas.width == 2 and all(NUMBERS[","].match(value) for value in values):
        raise SourceError(
            f"{path}: line 1 has one name, and the comma of {values[0]!r} may be the decimal mark "
            "or separate two values; give decimal=',' (--decimal ,), or name both columns"
        )


def _refuse_mixed_blanks(path: str, lines: list[str], whole: bool) -> None:
    """Raise an error if values are separated by blanks of both kinds: tabs here, spaces there."""
    blanks = [line.replace("\t", " ") for line in lines]
    if _Split.of(blanks, " ", whole, True).fits:
        raise SourceError(
            f"{path}: some values are separated by tabs and others by spaces; write the file with "
            "one of them, or pass on the data frame of pandas.read_csv(path, sep=r'\\s+')"
        )


# --- the decimal mark -------------------------------------------------------------------------


def _decimal(
    path: str, split: _Split, names: list[str], taken: list[int], gaps: Collection[str]
) -> str:
    """Return the decimal mark that the values prove; raise an error if they prove both."""
    if split.delimiter == "," and not any("," in field for row in split.body for field in row):
        return "."
    proof: dict[str, tuple[str, str]] = {}  # mark -> column and value
    unclear: tuple[str, str] | None = None
    marks = "," if split.delimiter == "," else MARKS  # 1.234 between commas is what it always was
    for j in taken:
        values = [row[j].strip() for row in split.body if j < len(row)]
        values = [value for value in values if value not in gaps]
        if not any("," in value or "." in value for value in values):
            continue
        values = without_units(values)
        fits = {mark: [bool(NUMBERS[mark].match(v)) for v in values] for mark in MARKS}
        either = [a or b for a, b in zip(*fits.values(), strict=True)]
        if 2 * sum(either) < len(values):
            continue  # words
        for value, point, comma in zip(values, *fits.values(), strict=True):
            if point != comma:
                proof.setdefault("." if point else ",", (names[j], value))
            elif point and unclear is None and any(mark in value for mark in marks):
                unclear = names[j], value
    if len(proof) == 2:
        (a, v), (b, w) = proof[","], proof["."]
        raise SourceError(
            f"{path}: column {a!r} has a decimal comma ({v!r}) and column {b!r} a decimal point "
            f"({w!r}); say which is right with decimal= (--decimal), and leave the other column "
            "out with ignore= (--ignore) or name it in categorical= (--categorical)"
        )
    if proof:
        return next(iter(proof))
    if unclear is not None:
        column, value = unclear
        raise UnclearMarkError(
            f"{path}: {value!r} in column {column!r} may have a decimal mark or grouped "
            "thousands; say which with decimal='.' or decimal=',' (--decimal . or --decimal ,)",
            "," if "," in value and split.delimiter != "," else ".",
        )
    return "."


# --- the first lines --------------------------------------------------------------------------


def _first_lines(file: TextFile, longest: int) -> tuple[list[str], bool]:
    """Return the first lines that are not empty, and whether these are all."""
    lines: list[str] = []
    for data in _chunks(file, longest):
        if b"\0" in data:
            return [], False
        text = data.decode("utf-8", "replace")
        lines += [line for line in text.split("\n")[:-1] if lines or line.strip()]
        if len(lines) >= _LINES or (len(lines) > 20 and sum(map(len, lines)) >= _SAMPLE):
            return [line + "\n" for line in lines[:_LINES]], False
    return [line + "\n" for line in lines], True


def _chunks(file: TextFile, longest: int) -> Iterator[bytes]:
    chunks = file.chunks(_SAMPLE, longest)
    try:
        for chunk in chunks:
            yield bytes(chunk)
    finally:
        chunks.close()
