"""TableSource: a table of named columns, read a few columns at a time; one is the target."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, RowBlock
from tamis.core.errors import SourceError
from tamis.core.names import Names
from tamis.sources.base import ColumnSource, Progress, RowSource, default_width
from tamis.sources.tables.categories import as_words, coded, floats, sorted_words
from tamis.sources.tables.roles import Roles, name_one, row_labels
from tamis.sources.tables.table_files import TableFile

Floats = npt.NDArray[np.float64]
#: How many usual blocks of rows are read at a time.
_HIGHER = 8
#: Whole numbers beyond this cannot be told apart as floats.
_EXACT = 2**53


class TableSource(ColumnSource, RowSource):
    """Columns of a table in a file.

    Numbers and truth values are features as they are; words and categories are coded by the
    sorted list of all words of the column, so that the codes do not depend on how the file is cut
    into row groups or blocks. A missing value is NaN.

    Parameters
    ----------
    file : TableFile
        Where the columns are.
    roles : Roles
        Which columns are not features, and which numbers are categories.
    """

    portable = True

    path: str

    def __init__(self, file: TableFile, roles: Roles) -> None:
        self.path, self.format = file.path, file.format  # type: ignore[misc]
        self._file, self._roles = file, roles
        self.target_name = roles.target
        self._row_labels = row_labels(file.schema.names, file.schema.metadata)
        self._features = roles.features(file.path, list(file.schema.names), self._row_labels)
        self._names = Names.of(self._features)
        self._is_words = np.zeros(len(self._features), dtype=np.bool_)
        for j, name in enumerate(self._features):
            self._is_words[j] = self._kind(name) == "words"
        self._words: dict[str, Any] = {}
        self._y: npt.NDArray[Any] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._file.n_rows

    @property
    def n_columns(self) -> int:
        """Number of features."""
        return len(self._features)

    def names(self) -> Names:
        """Return names of the features."""
        return self._names

    def missing_target(self) -> str | None:
        """Return how to give a target, if none was given."""
        if self._roles.target is not None or self._y is not None:
            return None
        return name_one(self.path, self._file.schema.names)

    def target(self) -> npt.NDArray[Any] | None:
        """Return the target column, or None if none was named."""
        if self._y is None and self._roles.target is not None:
            self._y = target_values(self._file.read([self._roles.target]).column(0))
        return self._y

    def give_target(self, y: npt.NDArray[Any] | None) -> None:
        """Take a target that is not a column of the table."""
        self._y = y

    def keys(self) -> tuple[str, npt.NDArray[Any]] | None:
        """Return name and values of the column that names the rows, if one was given."""
        key = self._roles.key
        return None if key is None else (key, key_values(self._file.read([key]).column(0)))

    def read(self, lo: int, hi: int) -> ColumnBlock:
        """Read columns lo to hi - 1, without others."""
        table = self._file.read(self._features[lo:hi])
        values = np.empty((self.n_rows, hi - lo), order="F")
        words = np.zeros(hi - lo, dtype=np.bool_)
        for j, name in enumerate(self._features[lo:hi]):
            values[:, j], words[j] = self._whole(table, name, lo + j)
        return ColumnBlock(lo, self.n_rows, values, self._names.part(lo, hi), is_text=words)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the way to it; a target from elsewhere goes along."""
        return _again, (type(self), self._file, self._roles, self._y)

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream blocks of `size` rows; words need a pass over their columns first."""
        # Each column of each batch costs a call, so batches are higher than elsewhere.
        step = size or _HIGHER * default_width(self.n_columns, self.n_rows, None)
        y, done = self.target(), 0
        for table in of_height(self._file.batches(self._features, step), step):
            values = np.empty((table.num_rows, self.n_columns))
            for j, name in enumerate(self._features):
                values[:, j] = self._part(table.column(name), name, j)
            done += len(values)
            target = None if y is None else y[done - len(values) : done]
            yield RowBlock(done - len(values), self.n_columns, values, target)
            progress("reading rows", done, self.n_rows)

    def details(self) -> dict[str, Any]:
        """Return what else `tamis info` prints."""
        details = self._file.details() | {"columns_of_words": int(self._is_words.sum())}
        return details | self._roles.passed_over(self._row_labels)

    def fingerprint(self) -> str:
        """Return a short hash of the file and of the roles of its columns."""
        digest = hashlib.blake2b(self._file.fingerprint().encode(), digest_size=8)
        digest.update(repr(self._roles.options()).encode())
        return digest.hexdigest()

    def words(self) -> npt.NDArray[np.bool_]:
        """Return which columns are codes of three or more words."""
        found = np.zeros(self.n_columns, dtype=np.bool_)
        for j in np.flatnonzero(self._is_words).tolist():
            found[j] = len(self._words_of(self._features[j])) > 2
        return found

    def _kind(self, name: str) -> Literal["number", "words"]:
        """Return how a column is turned into numbers, or one sentence if it cannot be."""
        import pyarrow as pa

        kind, types = self._file.schema.field(name).type, pa.types
        if types.is_dictionary(kind):
            kind, is_words = kind.value_type, True
        else:
            is_words = name in self._roles.categorical
        numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
        if numeric or types.is_boolean(kind) or types.is_null(kind):
            return "words" if is_words else "number"
        texts = (types.is_string, types.is_large_string, types.is_string_view)
        if any(is_text(kind) for is_text in texts):
            return "words"
        raise SourceError(f"{self.path}: {_no_feature(name, kind)}")

    def _whole(self, table: Any, name: str, place: int) -> tuple[Floats, bool]:
        """Return a whole column as numbers, and whether it is codes of three or more words."""
        column = table.column(name)
        if not self._is_words[place]:
            return self._part(column, name, place), False
        text = as_words(column)
        words = self._words.get(name)
        words = sorted_words(text) if words is None else words
        return coded(text, words), len(words) > 2

    def _part(self, column: Any, name: str, place: int) -> Floats:
        """Return some rows of a column as numbers."""
        if self._is_words[place]:
            return coded(as_words(column), self._words_of(name))
        if str(column.type) in ("int64", "uint64"):
            refuse_rounding(column, f"{self.path}: column {name!r}")
        return floats(column)

    def _words_of(self, name: str) -> Any:
        """Return the sorted words of a column, read once."""
        if name not in self._words:
            self._words[name] = sorted_words(as_words(self._file.read([name]).column(0)))
        return self._words[name]


def _again(
    kind: type[TableSource], file: TableFile, roles: Roles, y: npt.NDArray[Any] | None
) -> TableSource:
    source = kind(file, roles)
    source.give_target(y)
    return source


def target_values(column: Any) -> npt.NDArray[Any]:
    """Return a target as an array: numbers, truth values, or words; a gap stays one."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        is_number = pa.types.is_primitive(kind.value_type)
        column = column.cast(kind.value_type) if is_number else as_words(column)
        kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        return floats(column)
    found: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    if found.dtype == object and column.null_count == 0 and not pa.types.is_boolean(kind):
        found = found.astype(str)  # fixed length, as everywhere else
    return found


def key_values(column: Any) -> npt.NDArray[Any]:
    """Return keys of rows as an array of numbers or words."""
    if column.null_count:
        raise SourceError("a row has no key; give every row one, or leave it out")
    found: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found.astype(str) if found.dtype == object else found


def refuse_rounding(column: Any, what: str) -> None:
    """Raise one sentence for whole numbers that floats cannot tell apart."""
    import pyarrow.compute as pc

    least, most = pc.min_max(column).as_py().values()
    if least is not None and max(most, -least) > _EXACT:
        raise SourceError(
            f"{what} holds whole numbers beyond 2^53, which cannot be told apart as floats; leave "
            "it out with ignore= (--ignore), or name it in categorical= (--categorical)"
        )


def _no_feature(name: str, kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return (
            f"column {name!r} holds lists; take their elements as features with tokens={name!r} "
            f"(--tokens {name}), or leave it out with ignore= (--ignore)"
        )
    return (
        f"column {name!r} is of type {kind}, which is neither a number nor a category; leave it "
        f"out with ignore= (--ignore {name}), or make numbers of it first"
    )


def of_height(batches: Iterator[Any], size: int | None) -> Iterator[Any]:
    """Yield record batches of any height as tables of `size` rows; None leaves them as they are."""
    import pyarrow as pa

    if size is None:
        yield from batches
        return
    held: list[Any] = []
    height = 0
    for batch in batches:
        held.append(batch)
        height += batch.num_rows
        while height >= size:
            table = pa.Table.from_batches(held)
            yield table.slice(0, size)
            held, height = table.slice(size).to_batches(), height - size
    if height:
        yield pa.Table.from_batches(held)
