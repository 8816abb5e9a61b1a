"""Make profiles: read data leniently, find what is wrong with it, and what to do about it."""

from __future__ import annotations

import inspect
import os
import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.errors import InputError, SourceError, TamisError
from tamis.core.masking import masked
from tamis.core.sentences import counted, option_words
from tamis.core.target import SOME, Target, missing_values, task_of
from tamis.engine.data_profile import Finding, Profile
from tamis.engine.profiled_columns import (
    GAP_WORDS,
    TOTALS,
    ColumnKind,
    Columns,
    TextColumns,
    copies,
    of_source,
    only_row,
    probed_rows,
)
from tamis.engine.profiled_columns import of_table as columns_of_table
from tamis.engine.seen_columns import target_hashes
from tamis.sources import format_of, gives_blocks, open_source, temporary_columns
from tamis.sources.arrays.in_memory import as_table, frame_as_arrow, is_frame
from tamis.sources.base import (
    MEMORY,
    Progress,
    Source,
    as_path,
    describe_target,
    silent,
    whole_numbers,
)
from tamis.sources.tables.dates import target_days
from tamis.sources.tables.table import ArrowTable, MemoryTable, ParquetTable
from tamis.sources.tables.table_columns import (
    TURNED,
    Roles,
    listed,
    matches,
    no_such,
    row_labels,
    target_values,
)
from tamis.sources.text.csv_table import LONGEST_LINE, target_of_text
from tamis.sources.text.csv_text import CsvText, usual_gaps
from tamis.sources.text.dialect import Dialect, detect, looks_like_values, noted, said
from tamis.sources.text_files import TextFile

Bools = npt.NDArray[np.bool_]

#: Options of a reader that a profile follows itself, so that it need not refuse a column.
_LENIENT = {
    "format", "target", "key", "ignore", "categorical", "na", "delimiter", "decimal", "dates",
    "header", "longest_line", "memory", "work", "missing_target",
}  # fmt: skip
#: Names of columns that are often the target.
_TARGET_NAMES = ("target", "y", "class", "label", "outcome", "response", "status", "diagnosis")
#: Columns that are named, and groups of equal columns.
_NAMED, _GROUPS = 5, 3
#: Words among numbers that may all mean a missing value, and those of one row that are listed.
_FEW_WORDS, _WORDS_OF_ROW = 3, 20
#: A column with more different numbers than this is probably not one of codes.
_MANY = 20
#: Findings about several columns, and about one.
_FINDINGS = {
    "identifiers": ("are identifiers", "is an identifier"),
    "many words": ("hold a different text in most rows", "holds a different text in most rows"),
    "free text": ("hold free text", "holds free text"),
    "target copies": ("are copies of the target", "is a copy of the target"),
    "dates": ("hold dates", "holds dates"),
    "numbers as text": ("hold numbers as text", "holds numbers as text"),
    "gaps": ("have missing values", "has missing values"),
    "words": ("hold words beside numbers", "holds words beside numbers"),
    "large": ("hold whole numbers beyond 2^53", "holds whole numbers beyond 2^53"),
    "units": ("hold numbers with a unit", "holds numbers with a unit"),
    "infinite": ("hold infinite values", "holds infinite values"),
    "other": ("hold lists or other structures", "holds lists or other structures"),
}
#: What to do about columns; "{it}" is them if there are several.
_IGNORE = "leave {it} out with --ignore (ignore=)"
_KEY = f"{_IGNORE}, or match the rows of several tables by {{it}} with --key (key=)"
_WORDS_FIRST = f"{_IGNORE}, or make a column of each word first"
_CATEGORICAL = "--categorical (categorical=)"
#: A column is the target in other units if some of its rows are on a line with those of the target.
_ON_A_LINE, _FEWEST_ON_A_LINE = 1e-4, 8
#: The method that takes words and missing values as they are, for classes and for numbers.
_TAKES_ALL = "sieve"


def profile(data: Any, y: Any = None, *, progress: Progress = silent, **options: Any) -> Profile:
    """Describe data: its columns by kind, what is suspicious, and every problem at once.

    A column that a selection would refuse is described here.

    Parameters
    ----------
    data : path, Source, array, scipy sparse matrix, data frame or Arrow table
        What to describe.
    y : array-like, path or str, optional
        The target, if the data does not include one, or the name of its column.
    progress : callable, optional
        Called as ``progress(what, done, total)``.
    **options
        How a file is read, as for ``tamis.open``: ``target=``, ``ignore=`` and so on.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"id": range(40), "dose": [1.5, 2.5, 2, 3] * 10, "price": 1})
    >>> profile(table, [0, 1, 1, 0] * 10)
    data: 40 rows, 3 columns
    columns: numbers 1, constants 1, identifiers 1
    target: 2 classes: 0 (20), 1 (20)...
    suspicious: 'id' is an identifier: leave it out with --ignore (ignore=), or match ...
    this works: tamis.select(data.drop(columns=['id']), y=y)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the profile says it
        return _Profiling(data, y, options, progress, _default_method()).make()


def all_problems(
    error: TamisError, data: Any, y: Any, method: str, handled: Iterable[str],
    options: dict[str, Any],
) -> TamisError:  # fmt: skip
    """Return an error with every problem of the data, or the given one if it is the only one.

    `method` is the method of the selection; `handled` names the problems that its other parameters
    take care of.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _Profiling(data, y, options, silent, method).make()
    except Exception:  # what was wrong first is still wrong
        return error
    left = [finding for finding in found.problems if finding.kind not in set(handled)]
    if sum(max(1, finding.count) for finding in left) < 2:
        return error
    ready = found.command or found.python
    is_path = isinstance(data, str | os.PathLike)
    where = masked(os.fspath(data), whole=True) if is_path else "the data"
    each = "; ".join(str(finding) for finding in left)
    works = f"; this works: {ready}" if ready else ""
    return InputError(f"{where} has {counted(len(left), 'problem')}: {each}{works}")


def about_all_columns(
    error: InputError, data: Any, y: Any, method: str, encode: Any, missing: Any, adjusted: bool
) -> TamisError:
    """Turn an error about one column into one about all of them, for data that can be read again.

    With weights or covariates (`adjusted`) it stays: what works without them is no help.
    A source is read by the command line, which does the same with the options that were typed.
    """
    if error.column is None or adjusted or isinstance(data, Source) or gives_blocks(data):
        return error
    given = {"words": encode is not None, "gaps": missing not in ("auto", "error")}
    handled = [kind for kind, is_so in given.items() if is_so]
    if isinstance(y, str):
        return all_problems(error, data, None, method, handled, {"target": y})
    return all_problems(error, data, y, method, handled, {})


class _Profiling:
    """Makes one profile."""

    columns: Columns
    n_rows: int
    #: Columns that equal the target, perhaps in other units.
    leaks: Bools
    #: Rows that have a target.
    rows_with_target: Bools
    #: What was reported while the target was taken for classes or numbers.
    doubts: Sequence[str] = ()
    #: Whether the lines may be features: a sample is not a target then.
    may_be_transposed: bool = False
    #: Columns that are not left out, if many are.
    used_names: Sequence[str] = ()
    #: Words among the numbers of the target, and their row if there is only one.
    target_words: Sequence[str] = ()
    target_row: int | None = None
    name_of: Callable[[int], str]
    #: Where each column of a text is, if its first line looks like a row of values.
    number_of: Mapping[str, int]

    def __init__(
        self, data: Any, y: Any, options: dict[str, Any], progress: Progress, method: str
    ) -> None:
        if isinstance(y, str) and (is_frame(data) or not (os.path.exists(y) or "." in y)):
            y, options = None, {**options, "target": y}
        elif isinstance(y, str | os.PathLike):  # read with the data
            y, options = None, {**options, "y": y}
        self.data, self.y, self.options, self.progress = data, y, options, progress
        self.problems: list[Finding] = []
        self.reading, self.method = "", method
        #: What a reader reports about a text that it can read.
        self.notes: list[str] = []
        self.target_name: str | None = None
        #: Options that the data needs, besides those that were given.
        self.needs: dict[str, Any] = {}
        self.path = as_path(data) if isinstance(data, str | os.PathLike) else None
        self.format = data.format if isinstance(data, Source) else "memory"
        if self.path is not None:
            self.format = options.get("format") or format_of(self.path)

    def make(self) -> Profile:
        """Read the data and return its profile."""
        try:
            table = self._table()
            n_rows, y = self._of_source() if table is None else self._of_table(*table)
        except SourceError as error:
            if self.path is None or self.format != "csv" or not os.path.isfile(self.path):
                raise
            # Text of which no column can be read: that is the one problem, also if it was first
            # met when the delimiter was looked for.
            self.problems = [found for found in self.problems if found.sentence not in str(error)]
            self.problems.append(Finding("reading", [], 0, str(error)))
            self.columns, n_rows, y = Columns.joined(None, []), 0, None
        self.n_rows, columns = n_rows, self.columns
        kinds = {kind.label: int(np.sum(columns.kinds == kind)) for kind in ColumnKind}
        kinds["gaps"] = int(np.count_nonzero(columns.gaps))
        described, target = self._of_target(y)
        suspicious = self._suspicions(target)
        settings = self._column_problems(target is not None and not target.is_classes)
        command, python = (None, None) if target is None else self._commands(settings)
        name = "data" if self.path is None else os.path.basename(os.path.normpath(self.path))
        return Profile(
            masked(name, whole=True), self.format, n_rows, len(columns.kinds), kinds, described,
            self.target_name, self.reading, self.problems, suspicious, command, python, columns,
        )  # fmt: skip

    # --- reading ----------------------------------------------------------------------------

    def _table(self) -> tuple[Any, list[str]] | None:
        """Return the data as columns of any type, and their names; None if it is not a table."""
        if self.path is None:
            is_table = not isinstance(self.data, Source) and is_frame(self.data)
            found: Any = MemoryTable(_arrow(self.data), "data", "memory") if is_table else None
        elif "://" in self.path or not set(_given(self.options)) <= _LENIENT:
            return None
        elif self.format == "csv":
            return self._text()
        else:
            kinds = {"parquet": ParquetTable, "arrow": ArrowTable}
            found = kinds[self.format](self.path) if self.format in kinds else None
        return None if found is None else (found, list(found.schema.names))

    def _text(self) -> tuple[Any, list[str]]:
        """Return the columns of a CSV file; what is not clear about it is a problem."""
        assert self.path is not None
        options, file = self.options, TextFile(self.path)
        gaps = _several(options.get("na"))
        longest, header = options.get("longest_line", LONGEST_LINE), options.get("header", True)
        skip = {
            name
            for role in ("key", "ignore", "categorical")
            for name in _several(options.get(role))
        }
        marks = {name: options.get(name) for name in ("delimiter", "decimal")}
        marks["delimiter"] = "\t" if marks["delimiter"] == "\\t" else marks["delimiter"]
        dialect: Dialect | None = None
        while dialect is None:
            try:
                dialect = detect(
                    file, longest, header=header, gaps=usual_gaps(gaps), skip=skip, **marks
                )
            except SourceError as error:
                sentence = str(error).removeprefix(f"{self.path}: ")
                name = "decimal" if "decimal" in sentence else "delimiter"
                if marks[name] is not None:
                    raise
                marks[name] = self.needs[name] = getattr(
                    error, "likely", "." if name == "decimal" else ","
                )
                if "has a decimal comma" in sentence and marks["delimiter"] != ",":
                    marks[name] = self.needs[name] = ","
                self.problems.append(Finding(name, [], 0, sentence))
        if said(dialect, self.path, delimiter=False, decimal=False):
            self.reading = f"delimiter {dialect.delimiter!r} and decimal mark {dialect.decimal!r}"
        text = CsvText(file, dialect, header, gaps, longest, lenient=True)
        self.notes += noted(dialect, file, text.names, header)
        if header and looks_like_values(text.names):
            self.needs["header"] = False
            self.number_of = text.number
        return TextColumns(text), text.names

    def _of_table(self, table: Any, names: list[str]) -> tuple[int, Any]:
        """Describe the columns of a table; return the number of rows and the target."""
        again = [name for name, count in Counter(names).items() if count > 1]
        if again:
            sentence = f"{listed(again)} occur{'s' if len(again) == 1 else ''} more than once"
            self.problems.append(
                Finding("names", again[:_NAMED], len(again), sentence, "rename the columns")
            )
            names = [name for name in names if name not in set(again)]
        ignore, categorical = (_several(self.options.get(r)) for r in ("ignore", "categorical"))
        roles = Roles(self.options.get("target"), self.options.get("key"), ignore, categorical)
        schema = getattr(table, "schema", None)
        labels = row_labels(names, None if schema is None else schema.metadata)
        roles = self._known(roles, names, again)
        features = []
        if set(names) - roles.aside - set(labels):
            features = roles.features(self.path or "the data", names, labels)
        elif names and not again:
            sentence = "there is no column that could be a feature besides the target"
            self.problems.append(Finding("features", [], 0, sentence))
        decimal = table.text.dialect.decimal if isinstance(table, TextColumns) else None
        self.columns, n_rows = columns_of_table(
            table, features, decimal, self.options.get("memory", MEMORY), self.progress
        )
        for name in set(roles.categorical) & set(features):
            self.columns.as_words(features.index(name))
        self._ragged(table)
        unnamed = self.path is not None and self.y is None and roles.target is None
        if unnamed and self._may_be_transposed(table, names, labels):
            self.notes.append(f"{self.path}: {TURNED}")
            self.may_be_transposed = True
        self.target_name = roles.target
        if self.y is not None:
            return n_rows, np.asarray(self.y)
        if roles.target is None:
            if (guess := self._guess(features, names)) is None:
                return n_rows, None
            self.needs["target"] = self.target_name = guess
            self.columns = self.columns.without(features.index(guess))
        column = self._days(table.read([self.target_name]).column(0))
        if isinstance(table, TextColumns):
            return len(column), self._text_target(column, table.text.dialect)
        return len(column), target_values(column)

    def _days(self, column: Any) -> Any:
        """Return a target of dates in a file as days; it is a problem unless it was requested."""
        if self.path is None or self.options.get("dates") == "ignore":
            return column
        try:
            found = target_days(column, "the target")
        except SourceError as error:
            self.problems.append(Finding("target", [], 0, str(error)))
            return column
        if found.type == column.type or self.options.get("dates") == "number":
            return found
        if len(found.unique()) <= SOME:  # they may be classes
            return column
        remedy = "--dates number (dates='number') takes them as days"
        self.problems.append(Finding("dates", [], 0, "the target holds dates", remedy))
        self.needs["dates"] = "number"
        return found

    def _text_target(self, column: Any, dialect: Dialect) -> Any:
        """Return a target in text; a few words among numbers are missing values, and a problem."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = target_of_text(column, dialect)
        others = () if found.dtype.kind != "U" else task_of(found).others
        if not 0 < len(others) <= _FEW_WORDS:
            return found
        words = pa.array(others, column.type)
        self.target_words, self.target_row = list(others), only_row(column, words)
        column = pc.if_else(pc.is_in(column, value_set=words), None, column)
        return target_of_text(column, dialect)

    def _known(self, roles: Roles, names: list[str], again: list[str]) -> Roles:
        """Return the roles of columns that exist once; those that do not exist are problems."""
        found: dict[str, Any] = {}
        for role in ("target", "key", "ignore", "categorical"):
            given = getattr(roles, role)
            kept = [name for name in _several(given) if name in names]
            if role == "ignore":
                kept = [name for pattern in _several(given) for name in matches(pattern, names)]
            for name in _several(given):
                if not matches(name, kept or names) and name not in again:
                    where = os.path.basename(self.path) if self.path else "the data"
                    sentence = no_such(where, role, name, names)
                    kind = "target" if role == "target" else "names"
                    self.problems.append(Finding(kind, [], 0, sentence))
            found[role] = kept if role in ("ignore", "categorical") else (kept or [None])[0]
        return Roles(**found)

    def _may_be_transposed(self, table: Any, names: list[str], labels: list[str]) -> bool:
        """Return whether the first column is text, different in every row, before numbers only."""
        kinds = self.columns.kinds
        if not labels:
            if not len(kinds) or kinds[0] != ColumnKind.IDENTIFIERS:
                return False
            kinds = kinds[1:]
        first = table.read(labels[:1] or names[:1]).column(0)
        if not len(first) or len(first.unique()) < len(first):
            return False
        is_text = not str(first[0]).lstrip("-").replace(".", "", 1).isdecimal()
        numbers = np.isin(kinds, (ColumnKind.NUMBERS, ColumnKind.WHOLE_NUMBERS))
        return bool(is_text and len(numbers) > 1 and numbers.all())

    def _ragged(self, table: Any) -> None:
        """Note the lines of a text that have too many or too few values."""
        lines = table.text.ragged_lines() if isinstance(table, TextColumns) else []
        if lines:
            named = (f"line {line} has {counted(got, 'value')}" for line, got in lines[:_NAMED])
            more = f", {len(lines) - _NAMED:,} more differ" if len(lines) > _NAMED else ""
            sentence = f"{', '.join(named)}{more}; the others have {len(table.text.names)}"
            self.problems.append(Finding("lines", [], len(lines), sentence, "fix or remove them"))

    def _guess(self, features: list[str], names: list[str]) -> str | None:
        """Return a column that may be the target: one with such a name, or the last.

        If a target was named that does not exist, only a column of a similar name is one.
        """
        if (named := self.options.get("target")) is not None:
            meant = "did you mean {!r}?"
            hint = no_such("", "target", named, names)
            return next((name for name in features if hint.endswith(meant.format(name))), None)
        columns = self.columns
        kinds = (ColumnKind.NUMBERS, ColumnKind.WHOLE_NUMBERS, ColumnKind.WORDS)
        fits = np.isin(columns.kinds, kinds) & (columns.gaps == 0) & ~columns.large
        at = [j for j, name in enumerate(features) if fits[j] and name.lower() in _TARGET_NAMES]
        at = at or np.flatnonzero(fits)[-1:].tolist()
        return features[at[0]] if at and len(features) > 1 else None

    def _of_source(self) -> tuple[int, Any]:
        """Describe the columns of a source; return the number of rows and the target."""
        source = self.data
        if not isinstance(source, Source):
            options = self.options if self.y is None else {**self.options, "y": self.y}
            source = open_source(source, **options)
        self.target_name = source.target_name
        try:
            with temporary_columns(source, self.progress) as columns:
                prefix, base = columns.name_prefix, columns.name_base
                self.name_of = lambda j: f"{prefix}{j + base}"
                self.columns = of_source(columns, self.progress)
                return columns.n_rows, columns.target()
        except TamisError as error:  # values that its reader refuses
            self.problems.append(Finding("reading", [], 0, str(error)))
            self.columns = Columns.joined(None, [])
            return 0, None

    # --- what was found ---------------------------------------------------------------------

    def _name(self, j: int) -> str:
        names = self.columns.names
        return self.name_of(j) if names is None else names[j]

    def _names(self, mask: Bools) -> list[str]:
        return [self._name(j) for j in np.flatnonzero(mask).tolist()]

    def _finding(self, kind: str, mask: Bools, remedy: str) -> list[Finding]:
        """Return a finding about the columns of a mask, if there are any."""
        at = np.flatnonzero(mask)
        if not len(at):
            return []
        names = [self._name(j) for j in at[:_NAMED].tolist()]
        more = f" and {len(at) - _NAMED:,} more" if len(at) > _NAMED else ""
        shown = ", ".join(map(repr, names)) + more
        remedy = remedy.format(it="it" if len(at) == 1 else "them")
        return [Finding(kind, names, len(at), f"{shown} {_FINDINGS[kind][len(at) == 1]}", remedy)]

    def _of_target(self, y: Any) -> tuple[str, Target | None]:
        """Describe the target; return it if it can be used."""
        known = {finding.kind for finding in self.problems}
        if y is None and known & {"reading", "target"}:
            return "not read", None
        if y is not None and not len(y):
            self.problems.append(Finding("rows", [], 0, "there are no rows"))
            return "none", None
        if y is None:
            remedy = "name the column to predict with --target (target=), or give y="
            self.problems.append(Finding("target", [], 0, "there is no target", remedy))
            return "none", None
        called = "" if self.target_name is None else f"{self.target_name!r}, "
        if "target" in self.needs:
            called = f"{self.target_name!r} (a guess; name it with --target), "
        y = np.asarray(y)
        missing = missing_values(y)
        dropped = missing.any() and self._may_drop(y)
        if missing.any() and self.options.get("missing_target") != "drop":
            rows = counted(int(missing.sum()), "row has", "rows have")
            remedy = "--missing-target drop (missing_target='drop')" if dropped else "remove them"
            self.problems.append(Finding("target", [], 0, f"{rows} no target", remedy))
            self.needs["missing_target"] = "drop" if dropped else None
        try:
            with warnings.catch_warnings(record=True) as doubts:
                warnings.simplefilter("always")
                found = Target.of(_settled(y[~missing]))
            self.doubts = [str(doubt.message) for doubt in doubts]
            found.refuse_constant()
            if found.n_rows < 2:
                raise InputError("there is only one row with a target")
        except TamisError as error:
            self.problems.append(Finding("target", [], 0, str(error)))
            return f"{called}which cannot be used", None
        described = describe_target(found.labels)
        if not found.is_classes:
            described = f"numbers from {found.values.min():g} to {found.values.max():g}"
        why = "" if found.reason == "it was given" else f", because {found.reason}"
        self.rows_with_target = ~missing
        return f"{called}{described}{why}", found if dropped or not missing.any() else None

    def _may_drop(self, y: npt.NDArray[Any]) -> bool:
        """Return whether rows without a target can be left out when the data is read."""
        infinite = y.dtype.kind == "f" and np.isinf(y).any()
        return self.path is not None and self.y is None and not infinite

    def _suspicions(self, target: Target | None) -> list[Finding]:
        """Find columns that may not be features."""
        columns, kinds = self.columns, self.columns.kinds
        self.leaks = np.zeros(len(kinds), np.bool_)
        if target is not None:
            self.leaks = np.isin(columns.hashes, target_hashes(target)) & ~columns.large
            self.leaks |= self._on_a_line(target)
            self.leaks &= (kinds != ColumnKind.CONSTANTS) & (kinds != ColumnKind.OTHER)
        as_days = "they are left out; --dates number (dates='number') takes them as days"
        as_numbers = (
            "convert them to numbers, without units and signs such as € and %, or each value is a "
            "category"
        )
        left = self.options.get("dates") != "number"
        numbered = kinds == ColumnKind.IDENTIFIERS
        some = numbered & columns.words & (columns.levels + columns.gaps < self.n_rows)
        found = [Finding("reading", [], 0, note.partition(": ")[2]) for note in self.notes]
        found += [Finding("target", [], 0, doubt) for doubt in self.doubts]
        for j, (text, often) in columns.doubtful.items():
            sentence = f"{self._name(j)!r} holds {text!r} {counted(often, 'time')}"
            remedy = f"if it means a missing value, {shlex.join(option_words('na', text))} (na=)"
            found.append(Finding("gap texts", [self._name(j)], 1, sentence, remedy))
        for j, (sentence, remedy) in columns.remarks.items():
            name = self._name(j)
            found.append(Finding("texts", [name], 1, f"{name!r} {sentence}", remedy))
        if columns.units:
            mask = np.isin(np.arange(len(kinds)), list(columns.units))
            units = " or ".join(dict.fromkeys(columns.units.values()))
            remedy = (
                f"they are read as numbers; if they are categories, name them with {_CATEGORICAL}"
            )
            found += [
                replace(one, sentence=f"{one.sentence} ({units})")
                for one in self._finding("units", mask, remedy)
            ]
        found += [
            *self._finding("identifiers", numbered & ~some, _KEY),
            *self._finding("many words", some, _KEY),
            *self._finding("free text", kinds == ColumnKind.TEXTS, _WORDS_FIRST),
            *self._finding("target copies", self.leaks, _IGNORE),
            *self._finding("numbers as text", columns.as_text, as_numbers),
            *self._finding("dates", kinds == ColumnKind.DATES, as_days if left else ""),
        ]
        plain_kinds = (ColumnKind.NUMBERS, ColumnKind.WHOLE_NUMBERS, ColumnKind.WORDS)
        groups, count = copies(
            columns, np.isin(kinds, plain_kinds) & ~self.leaks & ~columns.large, _GROUPS
        )
        if groups:
            names = [[self._name(j) for j in group] for group in groups]
            each = "; ".join(" = ".join(map(repr, group[:_NAMED])) for group in names)
            sentence = f"{counted(count, 'column is', 'columns are')} equal to others ({each})"
            some = [name for group in names for name in group[1:]]
            found.append(Finding("copies", some[:_NAMED], count, sentence))
        return found

    def _on_a_line(self, target: Target) -> Bools:
        """Return which columns are the target in other units, judged by some rows."""
        columns = self.columns
        result = np.zeros(len(columns.kinds), np.bool_)
        if target.is_classes or target.n_rows != len(self.rows_with_target):
            return result
        y = target.values[probed_rows(target.n_rows)]
        low, high = int(np.argmin(y)), int(np.argmax(y))
        if len(np.unique(y)) < _FEWEST_ON_A_LINE:
            return result
        with np.errstate(all="ignore"):
            rise = columns.probes[:, high] - columns.probes[:, low]
            expected = (y - y[low]) / (y[high] - y[low])
            scaled = (columns.probes - columns.probes[:, [low]]) / rise[:, np.newaxis]
            result[:] = np.all(np.abs(scaled - expected) < _ON_A_LINE, axis=1)
        return result

    def _column_problems(self, is_regression: bool) -> dict[str, Any]:
        """Note every problem of a column; return the settings that handle all of them."""
        columns, kinds = self.columns, self.columns.kinds
        dates = kinds == ColumnKind.DATES
        as_days = self.options.get("dates") == "number"
        ignore = np.isin(kinds, (ColumnKind.IDENTIFIERS, ColumnKind.TEXTS, ColumnKind.OTHER))
        ignore |= self.leaks | columns.infinite
        gap_words = self._among_dates(dates & ~ignore, ignore)
        left = ignore | (dates & (not as_days))
        used = ~left & (kinds != ColumnKind.CONSTANTS)
        words, gaps = columns.words & ~dates, columns.gaps > 0
        na, large = self._mixed(left, words, gaps), columns.large & ~left
        mixed_words = words & (kinds == ColumnKind.NUMBERS_AND_WORDS)
        words, gaps = (words | large) & used, gaps & ~left
        numbers = used & ~words & ((kinds == ColumnKind.NUMBERS) | dates | (columns.levels > 20))
        words &= is_regression or bool(numbers.any()) or bool(gaps.any())
        settings = dict[str, Any]()
        if (words.any() or gaps.any()) and self.method != _TAKES_ALL:
            settings["method"], sieve = _TAKES_ALL, f"--method {_TAKES_ALL} takes them"
            in_gaps, in_words = (
                f"{sieve}, or --missing (missing=)",
                f"{sieve}, or --encode (encode=)",
            )
            self.problems += self._finding("gaps", (columns.gaps > 0) & ~left, in_gaps)
            self.problems += self._finding("words", words & columns.words & ~mixed_words, in_words)
        self.problems += [
            *self._finding("large", large, f"name {{it}} with {_CATEGORICAL}"),
            *self._finding("infinite", columns.infinite & ~self.leaks, _IGNORE),
            *self._finding("other", kinds == ColumnKind.OTHER, _IGNORE),
        ]
        self.needs |= {
            "ignore": self._names(ignore), "na": list(dict.fromkeys(gap_words + na)),
            "categorical": self._names((large | mixed_words) & ~ignore),
        }  # fmt: skip
        self.usable = bool(np.any(~left & ~ignore))
        self.used_names = self._names(~ignore) if ignore.sum() > _NAMED else []
        return settings

    def _among_dates(self, dates: Bools, ignore: Bools) -> list[str]:
        """Note columns of dates that hold some words; return those that may be missing values.

        Columns of many words are to be ignored.
        """
        found = list[str]()
        for j in np.flatnonzero(dates).tolist():
            if not (words := self.columns.others.pop(j, [])):
                continue
            if len(words) <= _NAMED:
                found += words
                remedy = f"read as missing with {_flags('na', words)} (na=)"
            else:
                ignore[j], remedy = True, _IGNORE.format(it="it")
            name, shown = self._name(j), ", ".join(map(repr, words[:3]))
            sentence = f"{name!r} holds dates and also {shown}"
            self.problems.append(Finding("dates and words", [name], 1, sentence, remedy))
        return found

    def _mixed(self, left: Bools, words: Bools, gaps: Bools) -> list[str]:
        """Note columns of numbers that hold some text; return texts that mean a missing value."""
        others = {j: found for j, found in self.columns.others.items() if not left[j]}
        na = self._odd_rows(others)
        many_numbers = {self._name(j) for j in others if self.columns.levels[j] > _MANY}
        for name, found in [
            *[(self.target_name, list(self.target_words)) for _ in self.target_words[:1]],
            *((self._name(j), found) for j, found in others.items()),
        ]:
            if set(found) <= set(na):
                continue
            shown, is_target = ", ".join(map(repr, found[:3])), name == self.target_name
            are_gaps = all(is_target or word.strip().lower() in GAP_WORDS for word in found)
            # As categories, each of many numbers would be one.
            many = name in many_numbers
            if len(found) <= _NAMED and (are_gaps or many):
                na += [word for word in found if word not in na]
                fix = "" if are_gaps else "fix the values, or "
                remedy = f"{fix}read as missing with {_flags('na', found)} (na=)"
            else:
                remedy = f"fix the values, or name the column with {_CATEGORICAL}"
            sentence = f"{name!r} holds numbers and also {shown}"
            self.problems.append(Finding("numbers and words", [str(name)], 1, sentence, remedy))
        for j, found in others.items():
            words[j] = not set(found) <= set(na)
            gaps[j] |= not words[j]
        return na

    def _odd_rows(self, others: dict[int, list[str]]) -> list[str]:
        """Note rows of words among rows of numbers; return those that mean a missing value."""
        rows, na = self.columns.odd_rows, list[str]()
        for row in sorted({rows[j] for j in others if j in rows}):
            at = [j for j in others if rows.get(j) == row]
            without_target = row == self.target_row
            if row == self.n_rows - 1 and others[at[0]][0].strip().lower() in TOTALS:
                sentence = f"the last row holds {others[at[0]][0]!r}, as a row of totals does"
                self.problems.append(Finding("lines", [], 1, sentence, "remove this line"))
                for j in at:
                    del others[j]
                continue
            if len(at) + without_target < 2:
                continue
            texts = [others[j][0] for j in at] + list(self.target_words if without_target else ())
            shown = ", ".join(map(repr, texts[:3]))
            more = f" and {len(texts) - 3:,} more" if len(texts) > 3 else ""
            sentence = (
                f"row {row + 1:,} below the header holds {shown}{more} and the others hold "
                "numbers, as a second header or a row of units does"
            )
            remedy, kind = "remove this line", "lines"
            if without_target and len(texts) <= _WORDS_OF_ROW:
                na += [text for text in texts if text not in na]
                kind = "numbers and words"
                remedy += f", or leave it out with {_flags('na', na)} --missing-target drop"
            names = [self._name(j) for j in at]
            self.problems.append(Finding(kind, names[:_NAMED], len(texts), sentence, remedy))
            for j in [] if kind == "numbers and words" else at:
                del others[j]
        return na

    # --- the command that works ---------------------------------------------------------------

    def _commands(self, settings: Mapping[str, str]) -> tuple[str | None, str | None]:
        """Return a command and a call that work, if options are enough."""
        cannot = {"names", "lines", "reading", "features"}
        if not self.usable or any(finding.kind in cannot for finding in self.problems):
            return None, None
        if self.may_be_transposed:
            return None, None
        reading = {k: v for k, v in _given(self.options).items() if k != "memory"}
        for key, more in self.needs.items():
            if isinstance(more, list):
                before = _several(reading.pop(key, None))
                more = [*before, *(name for name in more if name not in before)]
            if more or more is False:
                reading[key] = more
        self._call_by_number(reading)
        if self.path is None:
            drop = f".drop(columns={reading['ignore']!r})" if "ignore" in reading else ""
            y = "" if isinstance(self.data, Source) else "y=y"
            return None, _call("tamis.select", f"data{drop}", y, *_arguments(settings))
        if "ignore" in reading:
            reading["ignore"] = _shortened(_several(reading["ignore"]), self.used_names)
        y = "" if self.y is None else "y=y"
        opened = _call("tamis.open", repr(self.path), *_arguments(reading))
        python = _call("tamis.select", opened, y, *_arguments(settings))
        words = ["tamis", "select", self.path]
        for name, value in {**reading, **settings}.items():
            for one in _several(value):
                words += option_words(name, one)
        command = shlex.join([*words, "--out", _free_folder()])
        return (None if y else command), python

    def _call_by_number(self, reading: dict[str, Any]) -> None:
        """Call columns by their numbers, as they are without a header."""
        if self.needs.get("header") is not False:
            return
        for role in ("target", "key", "ignore", "categorical"):
            if role in reading:
                found = [f"x{self.number_of[name]}" for name in _several(reading[role])]
                reading[role] = found[0] if isinstance(reading[role], str) else found


def _default_method() -> str:
    """Return the method that `tamis.select` uses if none is given."""
    from tamis.engine.selecting import select  # which uses this module

    return str(inspect.signature(select).parameters["selector"].default)


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given."""
    given = {
        k: v for k, v in options.items() if v not in (None, (), [], False) or k == "zero_based"
    }
    given.pop("header", None)
    return given | ({"header": False} if options.get("header", True) is False else {})


def _several(value: Any) -> list[Any]:
    """Return one value, or some, as a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [value]


def _shortened(names: list[str], used: Sequence[str]) -> list[str]:
    """Return the columns to leave out, many with one beginning as a pattern that fits no others.

    >>> _shortened(["copy1", "copy2", "copy3", "id"], ["income"])
    ['copy*', 'id']
    """
    begins = Counter(name.rstrip("0123456789") for name in names)
    short = list[str]()
    for name in names:
        begin = name.rstrip("0123456789")
        several = begins[begin] > 2 and begin and not any(map(begin.__eq__, names))
        several = several and "*" not in begin and not any(n.startswith(begin) for n in used)
        wanted = f"{begin}*" if several else name
        short += [] if wanted in short else [wanted]
    return short


def _flags(name: str, values: Sequence[str]) -> str:
    """Return an option with each of some values, as on the command line."""
    return " ".join(shlex.join(option_words(name, value)) for value in values)


def _arguments(options: Mapping[str, Any]) -> list[str]:
    names = {"method": "selector"}
    return [f"{names.get(name, name)}={value!r}" for name, value in options.items()]


def _call(function: str, *arguments: str) -> str:
    return f"{function}({', '.join(argument for argument in arguments if argument)})"


def _free_folder() -> str:
    """Return the name of a folder that does not exist."""
    names = ("run" if i == 1 else f"run{i}" for i in range(1, 1_000))
    return next((f"{name}/" for name in names if not os.path.lexists(name)), "run/")


def _arrow(data: Any) -> Any:
    """Return a data frame as an Arrow table."""
    import pyarrow as pa

    data = as_table(data)
    return data if isinstance(data, pa.Table) else as_table(frame_as_arrow(data))


def _settled(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels whose missing values were removed as numbers or text."""
    if y.dtype.kind == "f" and len(y):
        return whole_numbers(y)
    return np.array(y.tolist()) if y.dtype.kind == "O" else y
