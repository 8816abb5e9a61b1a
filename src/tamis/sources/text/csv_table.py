"""Rows of separated values with a header line: what each column holds, and its numbers.

`dialect` finds the delimiter and the decimal mark; Arrow parses the text (`csv_text`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, RowBlock
from tamis.core.errors import SourceError, warn
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
from tamis.sources.tables import dates as date_columns
from tamis.sources.tables.table import MemoryTable, TableSource
from tamis.sources.tables.table_columns import (
    TURNED,
    Roles,
    coded,
    floats,
    has_lines_of_features,
    key_values,
    kind_of,
    listed,
    name_one,
    refuse_rounding,
    row_labels,
    sorted_words,
)
from tamis.sources.text.csv_text import CsvText, ReadAgainError, usual_gaps
from tamis.sources.text.dialect import MARKS, Dialect, detect, looks_like_values, noted, said
from tamis.sources.text.units import NO_UNIT, Unit, digits_in, number_pattern, unit_of_words
from tamis.sources.text_files import TextFile

#: Default maximum length of a line in bytes.
LONGEST_LINE = 8_000_000
#: Largest expected compression ratio, and bytes in memory per byte of text.
_UNPACKED, _HELD = 8, 4
#: Bytes of batches whose words are found together.
_TOGETHER = 16 << 20


class CsvRows(RowSource):
    """Rows of separated values.

    A column is numeric if every value is a number; otherwise it is text, coded by sorted value. A
    column of numbers with some text in it is refused unless it is named in `categorical`. Numbers
    may carry a unit, the same in the whole column: $1,200, 12% or 70.5 kg. An empty value, NA, NaN
    or null is missing (NaN). Lines above the header that do not fit the table are left out. A first
    pass over the file determines the types; a small file is then kept in memory, a large one is
    read again.

    Parameters
    ----------
    path : str or path
        Plain text or gzip, bzip2 or zstd, recognised by content; UTF-8, UTF-16 or Windows-1252.
    target, key, ignore, categorical
        Names of columns: the one to predict; the one that identifies the rows; those that are not
        features; those whose numbers are names of categories.
    delimiter : str, optional
        The separator. By default it is found in the first lines: a comma, a semicolon, a tab, a
        bar or spaces.
    decimal : {".", ","}, optional
        The decimal mark. By default it is found in the first lines; with a comma, 1.234,5 is
        1234.5.
    header : bool, default=True
        Whether the first line holds names; otherwise columns are called x0, x1, ...
    dates : {"ignore", "number"}, optional
        Leave columns of dates out, or take them as days since 1970. By default they are left out
        with a warning.
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
        decimal: str | None = None,
        header: bool = True,
        key: str | None = None,
        ignore: str | Iterable[str] = (),
        categorical: str | Iterable[str] = (),
        dates: date_columns.Dates = None,
        longest_line: int = LONGEST_LINE,
        memory: int = MEMORY,
        work: str | os.PathLike[str] | None = None,
    ) -> None:
        check("csv", "memory", memory, Number(1, integer=True))
        check("csv", "longest_line", longest_line, Number(1, integer=True))
        self.path = as_path(path)
        self.memory, self.work = memory, work
        gaps = (na,) if isinstance(na, str) else tuple(na)
        self._roles = Roles(target, key, ignore, categorical, dates)
        file, skip = TextFile(self.path), {key or "", *self._roles.ignore, *self._roles.categorical}
        dialect = detect(
            file, longest_line, delimiter="\t" if delimiter == "\\t" else delimiter,
            decimal=decimal, header=header, gaps=usual_gaps(gaps), skip=skip,
        )  # fmt: skip
        self._text = CsvText(file, dialect, header, gaps, longest_line)
        self.target_name = target
        how = (dialect.delimiter, dialect.decimal) if dialect.decimal != "." else dialect.delimiter
        self._how = repr((self._roles.options, how, header, gaps))
        names = self._text.names
        self._row_labels = row_labels(names)
        try:
            self._features = self._roles.features(self.path, names, self._row_labels)
        except SourceError as error:
            if header and looks_like_values(names):
                hint = "; line 1 looks like a row of values: if it is one, give --no-header"
                raise SourceError(f"{error}{hint} (header=False)") from error
            if target not in {None, *names} and has_lines_of_features(
                names, list(self._text.guessed.values()), lambda: dialect.column(0, self._text.gaps)
            ):
                raise SourceError(f"{error}; {TURNED}") from error
            raise
        for note in noted(dialect, file, names, header):
            warn(note)
        given = {"delimiter": delimiter is not None, "decimal": decimal is not None}
        if sentence := said(dialect, self.path, **given):
            warn(sentence)
        #: How text becomes numbers, by name: dates, and numbers with grouped thousands or a unit.
        self._made: dict[str, Callable[[Any], Any]] = {}
        self._units: dict[str, Unit] = {}
        self._dates = self._find_dates()
        self._n_rows: int | None = None
        self._types: dict[str, Any] = {}
        self._words: dict[str, Any] = {}
        self._y: npt.NDArray[Any] | None = None
        self._held: TableSource | None = None
        #: Types of columns that are not what their first lines suggest, for `original`.
        self._original: dict[str, Any] = {}

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

    def vocabulary(self) -> dict[str, list[str]]:
        """Return the sorted words of each column of text."""
        self._learn()
        return {n: self._words[n].to_pylist() for n in self._features if n in self._words}

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
        words = [key_values(column) for column in self._as_written(key)]
        return key, np.concatenate([np.zeros(0, "U1"), *words])

    def key_column(self, name: str) -> npt.NDArray[Any]:
        """Return the values of a column as they are written: 007 is not 7."""
        words = [column.fill_null("").to_numpy(False) for column in self._as_written(name)]
        return np.concatenate([np.zeros(0, object), *words]).astype(str)

    def _as_written(self, name: str) -> list[Any]:
        """Return a column as Arrow text, in pieces."""
        import pyarrow as pa

        while True:
            try:
                batches = list(self._text.batches({name: pa.large_string()}))
                return [batch.column(name) for batch in batches]
            except ReadAgainError:  # a record is longer than expected
                continue

    @property
    def column_names(self) -> list[str]:
        """Names of all columns."""
        return self._text.names

    def original(self, names: Sequence[str], text: Collection[str] = ()) -> Iterator[Any]:
        """Stream some columns as they are in the file: numbers as numbers, all else as text.

        Numbers also have grouped thousands or a unit, unless they are to be text.
        The first lines decide. A column that turns out to hold something else raises
        `ReadAgainError`, and is read as that the next time.
        """
        import pyarrow as pa

        kinds = {name: self._original.get(name, self._text.guessed[name]) for name in names}
        numbers = (pa.int64(), pa.float64(), pa.bool_())
        types = {
            name: kind if kind in numbers and name not in text else pa.large_string()
            for name, kind in kinds.items()
        }
        numbers_in_text = {name: unit for name in names if (unit := self._unit(name, types, text))}
        try:
            for batch in self._text.batches(types, raw=set(names) <= set(text)):
                for name, unit in numbers_in_text.items():
                    at = batch.schema.get_field_index(name)
                    plain = self._floats(name, batch.column(at), unit)
                    batch = batch.set_column(at, name, plain)
                yield batch
        except ReadAgainError as found:
            if (name := found.args[0]) is not None:
                whole = types[name] == pa.int64()
                self._original[name] = pa.float64() if whole else pa.large_string()
            raise

    def _unit(self, name: str, types: Mapping[str, Any], text: Collection[str]) -> Unit | None:
        """Return the unit of numbers that `original` finds in text, or None for other columns."""
        import pyarrow as pa

        aside = {*text, *self._roles.categorical, *self._original}
        if types[name] != pa.large_string() or name in aside:
            return None
        return self._text.dialect.numbers(self._text.number[name], self._text.gaps)

    def column(self, name: str) -> npt.NDArray[Any] | None:
        """Return the values of one column, numbers or text, or None if it does not exist."""
        if name not in self._text.names:
            return None
        return self._target(self._as_written(name))

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
        dialect = self._text.dialect
        details = {
            "bytes": file.size, "compression": file.compression, "delimiter": dialect.delimiter,
            "decimal": dialect.decimal,
        }  # fmt: skip
        left = {"dates_left_out": self._dates} if self._dates else {}
        return details | {"columns_of_words": len(self._words)} | passed_over | left

    def identity(self) -> dict[str, Any]:
        """Return what identifies the data; a decimal comma is recorded for later files."""
        mark = self._text.dialect.decimal
        return super().identity() | ({} if mark == "." else {"decimal": mark})

    def fingerprint(self) -> str:
        """Return a short hash of the bytes of the file and of how it is read."""
        return short_hash(self._text.file.fingerprint(), self._how)

    def fits(self) -> bool:
        """Return True if the file is expected to fit in memory."""
        file = self._text.file
        length = file.size * (1 if file.compression == "none" else _UNPACKED)
        return length * _HELD <= self.memory

    def _find_dates(self) -> list[str]:
        """Find columns of dates in the first lines; return those that are left out."""
        text, found = self._text, list[str]()
        for name in self._features:
            if name in self._roles.categorical:
                continue
            kind, what = kind_of(text.guessed[name]), f"{self.path}: column {name!r}"
            if kind == "date":
                self._made[name] = date_columns.days
                found.append(name)
            elif kind == "text":
                values = text.dialect.column(text.number[name], text.gaps)
                orders = date_columns.orders(values)
                if orders:
                    self._made[name] = _dates_in_text(orders, values, what, self._roles.dates)
                    found.append(name)
        if not found or self._roles.dates == "number":
            return []
        dates = set(found)
        left = [name for name in self._features if name not in dates]
        if not left:
            raise SourceError(
                f"{self.path} has only dates ({listed(found)}) besides the target; take them as "
                "numbers with dates='number' (--dates number)"
            )
        if self._roles.dates is None:
            date_columns.note_left_out(self.path, found)
        self._features = left
        return found

    def _batches(self, names: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        types = {name: self._types[name] for name in names}
        number = {name: j for j, name in enumerate(types)}
        made = [(number[name], make) for name, make in self._made.items() if name in number]
        for batch in self._text.batches(types):
            columns = batch.columns
            for at, make in made:
                columns[at] = make(columns[at])
            yield pa.record_batch(columns, names=list(types)) if made else batch

    def _learn(self, progress: Progress = silent) -> None:
        """Read the file once: rows, categories and the target; keep it if it is small."""
        if self._n_rows is not None:
            return
        import pyarrow as pa

        target = self._roles.target
        names = [*self._features, *self._dates, *([] if target is None else [target])]
        self._types = {name: self._guess(name) for name in names}
        while True:
            try:
                self._pass(names, progress)
                self._note_numbers()
                return
            except ReadAgainError as found:
                name = found.args[0]
                if name is None:
                    continue
                # The first lines were numbers, but not all: some may have grouped thousands.
                grouped = self._types[name] == pa.float64()
                self._types[name] = pa.large_string()
                if grouped:
                    self._made[name] = partial(self._plain_numbers, name)
                else:
                    del self._made[name]

    def _plain_numbers(self, name: str, column: Any) -> Any:
        """Return numbers in text, with decimal commas, grouped thousands or a unit, as floats."""
        return self._floats(name, column, self._units.get(name, NO_UNIT))

    def _floats(self, name: str, column: Any, unit: Unit) -> Any:
        import pyarrow as pa

        try:
            return self._text.dialect.plain(column, unit).cast(pa.float64())
        except pa.ArrowInvalid as error:
            raise ReadAgainError(name) from error

    def _note_numbers(self) -> None:
        """Warn that numbers that begin with 0, or have a unit, were taken as numbers."""
        text, codes = self._text, list[str]()
        for name in self._features:
            if str(text.guessed[name]) == "int64" and name not in self._words:
                values = text.dialect.column(text.number[name], text.gaps)
                if len({v for v in values if v[0] == "0" and len(v) > 1}) > 1:
                    codes.append(name)
        if codes:
            verbs = ("holds", "was") if len(codes) == 1 else ("hold", "were")
            warn(
                f"{self.path}: {listed(codes)} {verbs[0]} numbers that begin with 0, and "
                f"{verbs[1]} read as numbers; if they are codes, give categorical= (--categorical)"
            )
        found = [name for name in self._units if name in self._made]
        if found:
            units = " or ".join(dict.fromkeys(self._units[name].described for name in found))
            verbs = ("holds", "was") if len(found) == 1 else ("hold", "were")
            warn(
                f"{self.path}: {listed(found)} {verbs[0]} numbers with {units}, and {verbs[1]} "
                "read as numbers; if they are categories, give categorical= (--categorical)"
            )

    def _guess(self, name: str) -> Any:
        """Return how to read a column, judged by its first lines."""
        import pyarrow as pa

        text = self._text
        kind = text.guessed[name]
        if name == self._roles.target or name in self._roles.categorical:
            return pa.large_string()
        if name in self._made:
            return kind if kind_of(kind) == "date" else pa.large_string()
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if is_number or pa.types.is_null(kind):
            return pa.float64()
        unit = text.dialect.numbers(text.number[name], text.gaps)
        if unit is not None:
            self._made[name] = partial(self._plain_numbers, name)
        if unit is not None and unit != NO_UNIT:
            self._units[name] = unit
        return pa.large_string()

    def _pass(self, names: list[str], progress: Progress) -> None:
        import pyarrow as pa

        in_words = [
            n for n in self._features
            if self._types[n] == pa.large_string() and n not in self._made
        ]  # fmt: skip
        words = {name: pa.array([], pa.large_string()) for name in in_words}
        whole = [n for n in self._features if pa.types.is_integer(self._text.guessed[n])]
        n_rows, held, labels = 0, list[Any](), list[Any]()
        room = self.memory // 2 if self.fits() else 0
        # A batch of a wide table has few rows: the words of several are found together.
        several, size, together = list[Any](), 0, min(_TOGETHER, self.memory // 8)

        def find_words() -> None:
            for name in in_words:
                parts = [words[name], *(one.column(name) for one in several)]
                words[name] = sorted_words(pa.concat_arrays(parts))
            several.clear()

        for batch in self._batches(names):
            n_rows += batch.num_rows
            several.append(batch)
            size += batch.nbytes
            if size > together:
                find_words()
                size = 0
            for name in set(whole) - set(in_words):
                refuse_rounding(batch.column(name), f"{self.path}: column {name!r}")
            if self._roles.target is not None:
                labels.append(batch.column(self._roles.target))
            room -= batch.nbytes
            held = [*held, batch] if room > 0 else []
            progress("reading rows", self._text.file.done, self._text.file.size)
        find_words()
        if n_rows == 0:
            raise SourceError(f"{self.path} has a header and no rows; give at least one row")
        for name in in_words:
            self._refuse_mixed(name, words[name])
            if name not in self._roles.categorical:
                remedy = (
                    "say what means a missing value with na= (--na), or leave it out (--ignore)"
                )
                date_columns.warn_of_dates(words[name], f"{self.path}: column {name!r}", remedy)
        self._words = words
        self._y = self._target(labels) if labels else None
        self._n_rows = n_rows
        if room > 0:  # keep a small file as a table in memory
            table = pa.Table.from_batches(held).select(self._features)
            requested = tuple(n for n in self._roles.categorical if n in self._features)
            file = MemoryTable(table, self.path, self.format)
            self._held = TableSource(file, Roles(categorical=requested), self._y)

    def _target(self, labels: list[Any]) -> npt.NDArray[Any]:
        """Return a target: numbers if all values are, else text; missing values stay missing."""
        import pyarrow as pa

        column, dialect = pa.chunked_array(labels), self._text.dialect
        if self._roles.dates == "number":
            column = date_columns.target_days(column, f"{self.path}: the target")
        return target_of_text(column, dialect)

    def _refuse_mixed(self, name: str, words: Any) -> None:
        """Raise a one-sentence error for a column that mixes numbers and text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if name in self._roles.categorical or not len(words):
            return
        mark, some = self._text.dialect.decimal, words[:1000].to_pylist()
        if len(some) == len(words) and 2 * digits_in(some) < len(some):  # quickly: all are words
            return
        unit = unit_of_words(words, mark)
        if unit is not None:
            others = words.filter(pc.invert(pc.match_substring_regex(words, unit.pattern(mark))))
            if not len(others) and name not in self._units:  # it is in later lines only
                self._units[name] = unit
                self._made[name] = partial(self._plain_numbers, name)
                raise ReadAgainError(None)
            if 0 < 2 * len(others) <= len(words):
                raise SourceError(
                    f"{self.path}: column {name!r} holds numbers with {str(unit)!r} and also "
                    f"{others[0].as_py()!r}; fix it, say that this means a missing value with na= "
                    "(--na), or name the column in categorical= (--categorical)"
                )
        shares = {}
        for one in MARKS:
            is_number = pc.match_substring_regex(words, number_pattern(one))
            shares[one] = pc.sum(is_number.cast(pa.int64())).as_py() * 2 >= len(words)
            if one == mark:
                others = words.filter(pc.invert(is_number))
                others = others if len(others) else words  # such as a number and a line break
        other = next(one for one in MARKS if one != mark)
        if shares[mark]:
            raise SourceError(
                f"{self.path}: column {name!r} holds numbers and also {others[0].as_py()!r}; fix "
                "it, say that this means a missing value with na= (--na), or name the column in "
                "categorical= (--categorical)"
            )
        if shares[other]:
            raise SourceError(
                f"{self.path}: column {name!r} holds numbers such as {others[0].as_py()!r}, and "
                f"the file is read with {mark!r} as the decimal mark; give decimal={other!r} "
                f"(--decimal {other}), or leave the column out with ignore= (--ignore)"
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


def target_of_text(column: Any, dialect: Dialect) -> npt.NDArray[Any]:
    """Return a target in Arrow text: numbers if all values are, else text; numbers unchanged."""
    import pyarrow as pa

    if pa.types.is_floating(column.type):
        return floats(column)
    unit = unit_of_words(sorted_words(column), dialect.decimal) or NO_UNIT
    try:
        numbers = whole_numbers(floats(dialect.plain(column, unit).cast(pa.float64())))
        if numbers.dtype.kind == "i" or not _are_digits(column):
            return numbers
        # Identifiers that floats would round: exact, or text if they are longer still.
        return np.asarray(column.cast(pa.int64()))
    except pa.ArrowInvalid:
        found: npt.NDArray[Any] = column.to_numpy()
        return found if column.null_count else found.astype(str)


def _are_digits(column: Any) -> bool:
    """Return whether a column holds whole numbers only, written without a point or an exponent."""
    import pyarrow.compute as pc

    digits = pc.match_substring_regex(column, r"^[+-]?\d+$")
    return column.null_count == 0 and bool(pc.all(digits).as_py())


def _dates_in_text(
    orders: list[date_columns.Order], values: list[str], what: str, dates: date_columns.Dates
) -> Callable[[Any], Any]:
    """Return a function that makes days of a column of dates in text."""
    if dates == "number":
        order = date_columns.refuse_two_orders(orders, values, what)
        return lambda column: date_columns.text_days(column, order, what)

    def check(column: Any) -> Any:
        date_columns.refuse_others(column, what)
        return column

    return check
