"""What the columns of any data hold: kinds, gaps and hashes, read a block at a time.

Tables are read leniently here: a column that a reader would refuse is described instead. Data
without named columns is described by blocks of numbers, without a Python loop over columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.names import Names
from tamis.core.target import gap_number
from tamis.engine.seen_columns import Hashes, hashes_of
from tamis.sources.base import ColumnSource, Progress
from tamis.sources.tables import dates
from tamis.sources.tables.table_columns import as_words, coded, floats, kind_of, sorted_words
from tamis.sources.text.csv_text import CsvText
from tamis.sources.text.dialect import MARKS
from tamis.sources.text.units import (
    NO_UNIT,
    NUMBERS,
    Unit,
    digits_in,
    number_pattern,
    unit_of_words,
)

Bools = npt.NDArray[np.bool_]

#: Values in a block of a table, and of columns of numbers that are described together.
_ENTRIES, _TOGETHER = 4_000_000, 500_000
#: Bytes in memory per byte of text, and the largest expected compression ratio.
_HELD, _UNPACKED = 6, 8
#: Floats cannot represent all integers beyond this exactly.
_EXACT = 2.0**53
#: Values of a mixed column that are named.
_NAMED = 5
#: Rows of each column that are compared with a numeric target.
_PROBES = 16
#: What the last row of a table begins with if it holds totals.
TOTALS = ("total", "totals", "grand total", "sum", "summe", "gesamt", "somme", "totale")
#: Texts that often stand for a missing value.
_GAP_TEXTS = (
    "?", "-", "--", "---", ".", "..", "...", "*", "n.a.", "n.a", "na", "n/a", "<na>", "nan", "null",
    "<null>", "(null)", r"\n", "#n/a", "#div/0!", "#value!", "#ref!", "#num!", "k.a.", "nil",
    "missing", "no data", "not available",
)  # fmt: skip
#: Words among numbers that mean the same; in a column of words they may be an answer.
GAP_WORDS = {
    *_GAP_TEXTS, "none", "unknown", "inf", "-inf", "infinity", "-infinity", "not applicable",
    "don't know", "dont know", "dk", "refused", "nd", "n.d.",
}  # fmt: skip


class ColumnKind(IntEnum):
    """What a column holds."""

    NUMBERS = 0
    WHOLE_NUMBERS = 1
    WORDS = 2
    DATES = 3
    CONSTANTS = 4
    IDENTIFIERS = 5
    NUMBERS_AND_WORDS = 6
    OTHER = 7
    TEXTS = 8

    @property
    def label(self) -> str:
        """The kind in words."""
        return self.name.lower().replace("_", " ")


@dataclass
class Columns:
    """What is known about each column, as arrays.

    Attributes
    ----------
    names : Names or None
        Their names, if they have any.
    kinds : ndarray of int
        A `ColumnKind` each.
    gaps, levels : ndarray of int
        Missing values, and different values (-1 if they were not counted).
    large, infinite : ndarray of bool
        Whole numbers beyond 2^53; infinite values.
    words, as_text : ndarray of bool
        Text of three categories or more; text most of which is numbers, also with a unit, in a
        table that has types.
    hashes : ndarray of uint64
        Equal for columns with equal values.
    probes : ndarray of shape (n_columns, rows)
        The values of some rows, the same for all columns; NaN for sparse columns.
    others : dict
        Texts in columns of numbers, by the number of the column.
    units : dict
        The units of columns of numbers in text, by the number of the column.
    doubtful : dict
        What may stand for a missing value, and how often, by the number of the column.
    odd_rows : dict
        The row of the only text in a column of numbers, by the number of the column.
    remarks : dict
        What else is odd about its texts, and what to do, by the number of the column.
    """

    names: Names | None
    kinds: npt.NDArray[np.int8]
    gaps: npt.NDArray[np.int64]
    levels: npt.NDArray[np.int64]
    large: Bools
    infinite: Bools
    words: Bools
    as_text: Bools
    hashes: Hashes
    probes: npt.NDArray[np.float64]
    others: dict[int, list[str]] = field(default_factory=dict)
    units: dict[int, str] = field(default_factory=dict)
    doubtful: dict[int, tuple[str, int]] = field(default_factory=dict)
    odd_rows: dict[int, int] = field(default_factory=dict)
    remarks: dict[int, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def joined(cls, names: Names | None, parts: Sequence[Columns]) -> Columns:
        """Concatenate the columns of blocks."""
        if not parts:
            empty = np.zeros(0, np.int64)
            flags = np.zeros(0, np.bool_)
            hashes = np.zeros(0, np.uint64)
            kinds, probes = empty.astype(np.int8), np.zeros((0, _PROBES))
            return cls(names, kinds, empty, empty, flags, flags, flags, flags, hashes, probes)
        notes: dict[str, dict[int, Any]] = {a: {} for a in _NOTES}
        first = 0
        for part in parts:
            for a in _NOTES:
                notes[a] |= {first + j: found for j, found in getattr(part, a).items()}
            first += len(part.kinds)
        whole: dict[str, Any] = notes | {
            a: np.concatenate([getattr(part, a) for part in parts]) for a in _ARRAYS
        }
        return cls(names, **whole)

    def without(self, at: int) -> Columns:
        """Return the columns without one."""
        keep = np.flatnonzero(np.arange(len(self.kinds)) != at)
        notes: dict[str, Any] = {
            a: {j - (j > at): found for j, found in getattr(self, a).items() if j != at}
            for a in _NOTES
        }
        names = None if self.names is None else self.names.pick(keep)
        return Columns(names, **{a: getattr(self, a)[keep] for a in _ARRAYS}, **notes)

    def as_words(self, at: int) -> None:
        """Take the numbers of a column for names of categories."""
        self.large[at] = False
        for a in _NOTES:
            getattr(self, a).pop(at, None)
        if self.kinds[at] != ColumnKind.CONSTANTS:
            self.kinds[at], self.words[at] = ColumnKind.WORDS, True


#: The arrays of `Columns`.
_ARRAYS = ("kinds", "gaps", "levels", "large", "infinite", "words", "as_text", "hashes", "probes")
#: Its dictionaries, by the number of the column.
_NOTES = ("others", "units", "doubtful", "odd_rows", "remarks")


class Readable(Protocol):
    """A table of named columns: a file of tables, or a CSV file as text."""

    def read(self, names: Sequence[str]) -> Any:
        """Return all rows of some columns, as an Arrow table."""


class TextColumns:
    """The columns of a CSV file as text, whatever they hold."""

    def __init__(self, text: CsvText) -> None:
        self.text = text

    def read(self, names: Sequence[str]) -> Any:
        """Return all rows of some columns."""
        import pyarrow as pa

        from tamis.sources.text.csv_text import ReadAgainError

        types = {name: pa.large_string() for name in names}
        while True:
            try:
                batches = list(self.text.batches(types))
                schema = pa.schema(list(types.items()))
                return pa.Table.from_batches(batches, schema)
            except ReadAgainError:
                continue


# --- blocks of numbers ------------------------------------------------------------------------


def of_source(source: ColumnSource, progress: Progress) -> Columns:
    """Describe the columns of a source, block by block."""
    parts = [of_block(block) for block in source.columns(progress=progress)]
    return Columns.joined(source.names(), parts)


def of_block(block: ColumnBlock) -> Columns:
    """Describe columns of numbers or codes."""
    sparse = isinstance(block.values, Compressed)
    found = (_sparse if sparse else _dense)(block)
    gaps, levels, whole, most, constant, serial = found
    kinds = np.where(whole, ColumnKind.WHOLE_NUMBERS, ColumnKind.NUMBERS).astype(np.int8)
    kinds[serial] = ColumnKind.IDENTIFIERS
    kinds[constant] = ColumnKind.CONSTANTS
    words = np.zeros(block.width, np.bool_) if block.is_text is None else block.is_text.copy()
    kinds[words] = ColumnKind.WORDS
    infinite = np.isinf(most)
    large = whole & (most > _EXACT) & ~infinite
    hashes = hashes_of(block)
    flags, probes = np.zeros(block.width, np.bool_), np.full((block.width, _PROBES), np.nan)
    if not sparse and block.n_rows:
        probes = np.asarray(block.values)[probed_rows(block.n_rows)].T.astype(np.float64)
    return Columns(block.names, kinds, gaps, levels, large, infinite, words, flags, hashes, probes)


def probed_rows(n_rows: int) -> npt.NDArray[np.intp]:
    """Return the rows that `Columns.probes` holds."""
    return np.linspace(0, n_rows - 1, _PROBES).astype(np.intp)


def _dense(block: ColumnBlock) -> tuple[Any, ...]:
    """Return gaps, levels, and which columns are whole, constant, or a running number."""
    assert not isinstance(block.values, Compressed)
    values = np.sort(block.values, axis=0)  # missing values are last
    gaps = np.isnan(values).sum(axis=0)
    levels = (values[1:] > values[:-1]).sum(axis=0) + (gaps < block.n_rows)
    with np.errstate(invalid="ignore"):
        whole = np.all(np.isnan(values) | (values == np.floor(values)), axis=0)
        whole &= gaps < block.n_rows
    last = np.maximum(block.n_rows - gaps - 1, 0)
    empty = gaps == block.n_rows
    top = np.where(empty, 0.0, values[last, np.arange(block.width)])
    low = np.where(empty, 0.0, values[0])
    with np.errstate(invalid="ignore"):
        serial = whole & (levels == block.n_rows) & (top - low + 1 == block.n_rows)
    serial &= block.n_rows >= FEWEST_IDS
    return gaps, levels, whole, np.maximum(top, -low), levels + (gaps > 0) <= 1, serial


def _sparse(block: ColumnBlock) -> tuple[Any, ...]:
    """Return the same for compressed columns, from their stored values."""
    v, width = block.values, block.width
    assert isinstance(v, Compressed)
    stored = np.diff(v.indptr)
    column = np.repeat(np.arange(width), stored)
    data = np.asarray(v.data, dtype=np.float64)

    def count(mask: Bools) -> npt.NDArray[np.int64]:
        return np.bincount(column[mask], minlength=width)

    missing = np.isnan(data)
    gaps, zeros = count(missing), count(data == 0)
    with np.errstate(invalid="ignore"):
        whole = count(~missing & (data != np.floor(data))) == 0
    most, same = np.zeros(width), np.ones(width, np.bool_)
    filled = np.flatnonzero(stored)
    if len(filled):
        begins = np.asarray(v.indptr[:-1])[filled]
        most[filled] = np.maximum.reduceat(np.where(missing, 0.0, np.abs(data)), begins)
        low = np.fmin.reduceat(data, begins)
        same[filled] = ~(np.fmax.reduceat(data, begins) != low)
    constant = (stored == zeros) | (same & (stored == block.n_rows) & (gaps == 0))
    constant |= gaps == block.n_rows
    serial = np.zeros(width, np.bool_)
    return gaps, np.full(width, -1), whole, most, constant, serial


# --- tables -------------------------------------------------------------------------------------

#: With fewer rows, different values in every row mean nothing.
FEWEST_IDS = 20


def of_table(
    table: Readable, features: Sequence[str], decimal: str | None, memory: int, progress: Progress
) -> tuple[Columns, int]:
    """Describe columns of a table, some at a time; return the number of rows as well.

    With a decimal mark, numbers may be written as text. In any file, dates may be.
    """
    from_file = decimal is not None or getattr(table, "content", None) is not None
    n_rows = getattr(table, "n_rows", 0)
    width = max(1, min(_ENTRIES, memory // 64) // max(1, n_rows))
    if isinstance(table, TextColumns):  # each part is a pass over the file
        file = table.text.file
        held = file.size * (_HELD if file.compression == "none" else _HELD * _UNPACKED)
        width = max(1, len(features) * memory // max(held, 1))
    parts = []
    for lo in range(0, len(features), width):
        some = features[lo : lo + width]
        found = table.read(some)
        n_rows = int(found.num_rows)
        numbers: list[_Numbers] = []
        for done, name in enumerate(some, lo + 1):
            one = _of_column(found.column(name), name, decimal, from_file)
            if isinstance(one, _Numbers):
                numbers.append(one)
                if len(numbers) * n_rows < _TOGETHER and done < lo + len(some):
                    continue
            if numbers:
                parts.append(_of_numbers(numbers))
                numbers = []
            if isinstance(one, Columns):
                parts.append(one)
            progress("profiling columns", done, len(features))
    return Columns.joined(Names.of(features), parts), n_rows


@dataclass
class _Numbers:
    """A column of numbers, which is described with others: that takes much less time for each.

    `distinct` counts integers that floats cannot tell apart; numbers that were `measured` are
    never too large.
    """

    values: npt.NDArray[np.float64]
    name: str
    distinct: int = -1
    measured: bool = False
    unit: Unit = NO_UNIT
    remark: tuple[str, str] | None = None


def _of_column(column: Any, name: str, decimal: str | None, from_file: bool) -> Columns | _Numbers:
    """Describe one Arrow column, or return its numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not len(column):
        return _special(np.full(1, np.nan), ColumnKind.CONSTANTS, 0)
    is_text = pa.types.is_dictionary(kind) or kind_of(kind) == "text"
    if is_text:
        in_text = from_file and not pa.types.is_dictionary(kind)
        return _of_text(as_words(_whole(column)), name, decimal, in_text)
    if kind_of(kind) == "date":
        return _special(floats(dates.days(_whole(column))), ColumnKind.DATES)
    if kind_of(kind) == "number":
        distinct = pc.count_distinct(column).as_py() if str(kind) in ("int64", "uint64") else -1
        return _Numbers(floats(column), name, distinct)
    if pa.types.is_null(kind):
        return _Numbers(np.full(len(column), np.nan), name)
    return _special(np.full(len(column), np.nan), ColumnKind.OTHER, column.null_count)


def _of_numbers(columns: Sequence[_Numbers]) -> Columns:
    """Describe columns of numbers."""
    values = np.array([one.values for one in columns]).T
    found, n_rows = of_block(ColumnBlock.of(values)), len(values)
    found.levels = np.maximum(found.levels, [one.distinct for one in columns])
    constant = (found.kinds == ColumnKind.CONSTANTS) & (found.levels <= 1)
    found.kinds[(found.kinds == ColumnKind.CONSTANTS) & ~constant] = ColumnKind.WHOLE_NUMBERS
    different = (found.levels == n_rows) & (n_rows >= FEWEST_IDS)
    different &= found.kinds == ColumnKind.WHOLE_NUMBERS
    for j in np.flatnonzero(different).tolist():
        different[j] = found.large[j] or called_id(columns[j].name)
    found.kinds[different] = ColumnKind.IDENTIFIERS
    for j in np.flatnonzero(~different & ~constant).tolist():
        _doubt_numbers(values[:, j], j, found)
    for j, one in enumerate(columns):
        found.large[j] &= not one.measured
        if one.unit != NO_UNIT:
            found.units[j] = one.unit.described
        if one.remark is not None:
            found.remarks[j] = one.remark
    return found


def _doubt_numbers(values: npt.NDArray[np.float64], at: int, found: Columns) -> None:
    """Note a number that often stands for a missing value, and whole numbers that may be dates."""
    if (gap := gap_number(values)) is not None:
        found.doubtful[at] = (f"{gap[0]:g}", gap[1])
    whole = found.kinds[at] == ColumnKind.WHOLE_NUMBERS
    if whole and found.levels[at] > 2 and dates.are_digits(values[np.isfinite(values)]):
        sentence = f"holds numbers that may be dates, such as {np.nanmin(values):.0f}"
        found.remarks[at] = (sentence, "if they are, write them as 2024-12-31 or leave it out")


def _special(values: npt.NDArray[np.float64], kind: ColumnKind, gaps: int | None = None) -> Columns:
    found = of_block(ColumnBlock.of(values))
    found.kinds[0] = kind
    if gaps is not None:
        found.gaps[0], found.levels[0] = gaps, -1
    return found


def _of_text(text: Any, name: str, decimal: str | None, may_be_dates: bool) -> Columns | _Numbers:
    """Describe a column of text: numbers, dates or words."""
    import pyarrow.compute as pc

    words = sorted_words(text)
    if not len(words):
        return _Numbers(np.full(len(text), np.nan), name)
    if decimal == "." and (values := _as_written(text, words)) is not None:
        return _of_written(values, words, name, NO_UNIT)
    some = words[:1000].to_pylist()
    numbers, unit, is_number = _numbers_among(words, some, decimal or ".")
    if numbers == len(words) and decimal is not None:
        return _of_written(floats(plain(text, decimal, unit)), words, name, unit)
    found = of_block(ColumnBlock.of(coded(text, words)))
    found.words[0] = len(words) > 2
    found.as_text[0] = decimal is None and 2 * numbers >= len(words) > 2
    if may_be_dates and (others := dates.others_than_dates(words)) is not None:
        found.kinds[0] = ColumnKind.DATES
        found.others |= {0: others[: _NAMED + 1]} if others else {}
    elif decimal is not None and 2 * numbers >= len(words):
        found.kinds[0] = ColumnKind.NUMBERS_AND_WORDS
        others = words.filter(pc.invert(is_number))
        found.others[0] = others[: _NAMED + 1].to_pylist()
        if (row := only_row(text, others)) is not None:
            found.odd_rows[0] = row
    elif is_number is not None and decimal is not None and _with_other_mark(words, decimal):
        found.kinds[0] = ColumnKind.NUMBERS_AND_WORDS
        found.others[0] = words[: _NAMED + 1].to_pylist()
    elif found.as_text[0] and unit != NO_UNIT:
        found.kinds[0] = ColumnKind.WORDS
    elif found.kinds[0] != ColumnKind.CONSTANTS:
        _describe_words(text, words, some, name, found)
    return found


def _describe_words(text: Any, words: Any, some: list[str], name: str, found: Columns) -> None:
    """Tell categories from identifiers and free text, and note what may mean a missing value."""
    import pyarrow.compute as pc

    given = len(text) - text.null_count
    many = len(words) >= FEWEST_IDS and 2 * len(words) >= given
    many &= not found.as_text[0] or called_id(name)
    found.kinds[0] = ColumnKind.IDENTIFIERS if many else ColumnKind.WORDS
    if many and 2 * sum(len(word.split()) > 3 for word in some) > len(some):
        found.kinds[0] = ColumnKind.TEXTS
    if text[-1].as_py() is not None and text[-1].as_py().strip().lower() in TOTALS:
        sentence = f"holds {text[-1].as_py()!r} in the last row"
        found.remarks[0] = (sentence, "if that is a row of totals, remove the line")
    spellings: dict[str, str] = {}
    for word in () if many else words.to_pylist():
        other = spellings.setdefault(word.strip().lower(), word)
        if other != word:
            sentence = f"holds {other!r} and {word!r}, which differ only in spaces or capitals"
            found.remarks[0] = (sentence, "if they are one category, write them alike")
            break
    for word in () if many else words.to_pylist():
        if word.strip().lower() in _GAP_TEXTS:
            found.doubtful[0] = (word, pc.sum(pc.equal(text, word)).as_py())
            break


def only_row(text: Any, words: Any) -> int | None:
    """Return the only row that holds one of some words, or None if several do.

    >>> import pyarrow as pa
    >>> only_row(pa.array(["1", "m2", "3"]), pa.array(["m2"]))
    1
    """
    import pyarrow.compute as pc

    rows = np.flatnonzero(pc.is_in(text, value_set=words).to_numpy(zero_copy_only=False))
    return int(rows[0]) if len(rows) == 1 else None


def _of_written(values: npt.NDArray[np.float64], words: Any, name: str, unit: Unit) -> _Numbers:
    """Return a column of text that is numbers; `words` are the different ones."""
    import pyarrow.compute as pc

    remark = None
    if len(codes := words.filter(pc.match_substring_regex(words, r"^0\d+$"))) > 1:
        sentence = f"holds numbers that begin with 0, such as {codes[0].as_py()!r}"
        remark = (sentence, "if they are codes, name it with --categorical (categorical=)")
    measured = _in_exponents(words)
    return _Numbers(values, name, -1 if measured else len(words), measured, unit, remark)


def _as_written(text: Any, words: Any) -> npt.NDArray[np.float64] | None:
    """Return text as floats if all of it is numbers without a unit, as most columns are; or None.

    Arrow then parses it at once; the regular expressions of the other ways take ten times as long.
    """
    import pyarrow as pa

    if not NUMBERS["."].match(words[0].as_py()):
        return None
    try:
        values = floats(text.cast(pa.float64()))
    except pa.ArrowInvalid:
        return None
    # Arrow also takes nan and inf for numbers; those are words.
    return values if np.isfinite(values).sum() == len(text) - text.null_count else None


def _numbers_among(words: Any, some: list[str], mark: str) -> tuple[int, Unit, Any]:
    """Return how many words are numbers, with which unit, and which ones.

    If fewer than half have a digit, nothing depends on the few that are numbers: 0, and None.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(some) == len(words) and 2 * digits_in(some) < len(some):
        return 0, NO_UNIT, None
    unit = unit_of_words(words, mark) or NO_UNIT
    is_number = pc.match_substring_regex(words, unit.pattern(mark))
    return pc.sum(is_number.cast(pa.int64())).as_py(), unit, is_number


def _in_exponents(words: Any) -> bool:
    """Return whether numbers in text are measurements, such as 1.5e300 or 12345678901234567.25."""
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(words, "[eE.]")).as_py())


def _with_other_mark(words: Any, decimal: str) -> bool:
    """Return whether half the texts are numbers with the other mark; a reader refuses them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    other = next(mark for mark in MARKS if mark != decimal)
    is_number = pc.match_substring_regex(words, number_pattern(other))
    return 2 * int(pc.sum(is_number.cast(pa.int64())).as_py() or 0) >= len(words)


def plain(text: Any, decimal: str, unit: Unit = NO_UNIT) -> Any:
    """Return numbers in Arrow text as floats."""
    import pyarrow as pa

    from tamis.sources.text.dialect import Dialect

    return Dialect(";", decimal, False, []).plain(text, unit).cast(pa.float64())


def _whole(column: Any) -> Any:
    import pyarrow as pa

    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def called_id(name: str) -> bool:
    """Return whether a name is that of an identifier.

    >>> called_id("patient_id"), called_id("ID"), called_id("width")
    (True, True, False)
    """
    word = name.strip().lower()
    ends = ("_id", " id", ".id", "-id", "_key", "_no", "_nr", "_number", "number", "code", "index")
    return word in ("id", "key", "nr", "no", "row", "uuid", "guid") or word.endswith(ends)


# --- equal columns ----------------------------------------------------------------------------


def copies(columns: Columns, wanted: Bools, most: int) -> tuple[list[list[int]], int]:
    """Return the first few groups of columns with equal values, and how many copies there are."""
    at = np.flatnonzero(wanted)
    order = np.argsort(columns.hashes[at], kind="stable")
    marks = columns.hashes[at][order]
    begins = np.flatnonzero(np.concatenate([[True], marks[1:] != marks[:-1]])) if len(at) else at
    ends = np.append(begins[1:], len(at))
    several = np.flatnonzero(ends - begins > 1)
    first = np.argsort(at[order[begins[several]]], kind="stable")[:most]
    groups = [at[order[begins[g] : ends[g]]].tolist() for g in several[first].tolist()]
    return groups, int((ends - begins - 1)[several].sum())
