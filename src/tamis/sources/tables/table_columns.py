"""The columns of a table: their roles, and their values as numbers.

A text column is coded by the rank of each value among its sorted distinct values.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tamis.core.errors import DAMAGE, SourceError
from tamis.core.names import NameBook, Names
from tamis.core.near_names import near
from tamis.core.params import OneOf, check
from tamis.core.process_memory import available_bytes

Floats = npt.NDArray[np.float64]
#: Number of names that a message lists before it says "and more".
_LISTED = 5
#: The name that pandas gives to an unnamed index written as a column.
_ROW_LABELS = re.compile(r"__index_level_\d+__")
#: What to do with a table of genes by samples.
TURNED = (
    "if its lines are features (genes) and its columns are samples, give --transpose "
    "(transpose=True), and the table of samples with the target: --y FILE --key COLUMN --target "
    "COLUMN (y=, key=, target=)"
)
#: Floats cannot represent all integers beyond this exactly.
_EXACT = 2**53


class Roles:
    """Roles of columns, by name, as the user gives them.

    Parameters
    ----------
    target, key : str, optional
        The column to predict, and the one that identifies the rows; neither is a feature.
    ignore : str or collection of str
        Columns that are not features. In a name that no column has, ``*`` stands for any text.
    categorical : str or collection of str
        Columns of numbers that are names of categories.
    dates : {"ignore", "number"}, optional
        Leave columns of dates out, or take them as days since 1970. By default they are left out
        with a warning.

    Attributes
    ----------
    aside : set of str
        Every column that is not a feature.
    options : dict
        The roles that were given, to be recorded in a store made from the table.
    """

    def __init__(
        self,
        target: str | None = None,
        key: str | None = None,
        ignore: str | Iterable[str] = (),
        categorical: str | Iterable[str] = (),
        dates: Literal["ignore", "number"] | None = None,
    ) -> None:
        check("open", "dates", dates, (OneOf(("ignore", "number")), None))
        self.target, self.key, self.dates = target, key, dates
        self.ignore, self.categorical = (
            (given,) if isinstance(given, str) else tuple(given) for given in (ignore, categorical)
        )
        self.aside = {name for name in (target, key, *self.ignore) if name is not None}
        lists = {"ignore": list(self.ignore), "categorical": list(self.categorical)}
        given = {"target": target, "key": key} | lists
        given |= {"dates": dates} if dates == "number" else {}
        self.options = {k: v for k, v in given.items() if v}

    def passed_over(self, row_labels: Iterable[str]) -> dict[str, Any]:
        """Return the entries of `tamis info` about columns that were ignored, and row labels."""
        used = self.aside | set(self.categorical)
        unused = [repr(name) for name in row_labels if name not in used]
        found: dict[str, Any] = {"row_labels_passed_over": ", ".join(unused)} if unused else {}
        return found | ({"ignored": list(self.ignore)} if self.ignore else {})

    def features(
        self, where: str, names: Sequence[str], row_labels: Collection[str] = ()
    ) -> list[str]:
        """Return the names of the features in order; raise an error for an invalid name.

        Columns of row labels are features only if `categorical` names them.
        """
        counts = Counter(names)
        if len(counts) < len(names):
            twice = next(name for name, count in counts.items() if count > 1)
            raise SourceError(f"{where} has two columns named {twice!r}; rename one of them")
        requested = [("target", self.target), ("key", self.key)]
        requested += [("categorical", name) for name in self.categorical]
        aside = self.aside | (set(row_labels) - set(self.categorical))
        for pattern in self.ignore:
            if pattern not in counts:
                aside |= (matching := set(matches(pattern, names)))
                requested += [] if matching else [("ignore", pattern)]
        for role, name in requested:
            if name is not None and name not in counts:
                raise SourceError(no_such(where, role, name, names))
        found = [n for n in names if n not in aside]
        if not found:
            raise SourceError(f"{where} has no column left that could be a feature; it has "
                              f"{listed(names) or 'none at all'}")  # fmt: skip
        return found


def matches(name: str, names: Collection[str]) -> list[str]:
    """Return the column of this name, or those it stands for if it holds a ``*``.

    >>> matches("q*", ["q1", "price", "q2"]), matches("price", ["price"]), matches("p", ["price"])
    (['q1', 'q2'], ['price'], [])
    """
    if name in names:
        return [name]
    if "*" not in name:
        return []
    pattern = re.compile(".*".join(map(re.escape, name.split("*"))), re.DOTALL)
    return [other for other in names if pattern.fullmatch(other)]


def row_labels(names: Sequence[str], metadata: Mapping[bytes, bytes] | None = None) -> list[str]:
    """Return columns that hold labels of rows: the index of a pandas table, or the row names of R.

    They are recognised by the pandas metadata of an Arrow schema, by the name that pandas gives to
    an unnamed index, or by an empty name in the first column.
    """
    try:
        in_metadata = json.loads((metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    except DAMAGE:  # metadata of an unknown writer; the names are enough
        in_metadata = []
    in_metadata = in_metadata if isinstance(in_metadata, list) else []
    labels = {
        name for name in in_metadata if isinstance(name, str)
    }  # a range is a dict, not a column
    if names and not names[0]:
        labels.add("")
    return [n for n in names if n in labels or _ROW_LABELS.fullmatch(n)]


def listed(names: Sequence[str]) -> str:
    """Return the first few names, quoted."""
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(repr(name) for name in names[:_LISTED]) + more


def no_such(where: str, role: str, name: str, names: Sequence[str]) -> str:
    """Return a message that a column does not exist, with the existing ones."""
    book = NameBook()
    book.append(len(names), Names.of(names))
    close = [other for other in names if other.strip().lower() == name.strip().lower()]
    close = close or near(book, name.strip(), most=1)
    hint = f"did you mean {close[0]!r}?" if close else f"it has {listed(names)}"
    parts = [part.strip() for part in name.split(",")]
    if role in ("ignore", "categorical", "keep", "given") and set(parts) <= set(names):
        options = " ".join(f"--{role} {shlex.quote(part)}" for part in parts)
        hint = f"name one column at a time: {options}, in Python {role}={parts}"
    return f"{where} has no column {name!r}, which {role} names; {hint}"


def has_lines_of_features(
    names: Sequence[str], kinds: Sequence[Any], first: Callable[[], Sequence[Any]]
) -> bool:
    """Return whether a table may have features as lines: different names, then numbers only.

    `kinds` are Arrow types, and `first` returns values of the first column.
    """
    if len(names) < 3 or kind_of(kinds[0]) != "text":
        return False
    if any(kind_of(kind) != "number" for kind in kinds[1:]):
        return False
    found = first()
    return 1 < len(found) == len(set(found))


def name_one(path: str, names: Sequence[str], table: str = "it") -> str:
    """Return a message on how to name a target, and which columns of a table could be one.

    Without a path, the target is in another file than the data.
    """
    names = [name for name in names if name]  # row names have none
    what = "the column to predict" if table == "it" else f"a column of {table}"
    example = f"tamis.open({os.path.basename(path)!r}, target=...)" if path else "target="
    there = listed(names) or "none"
    if len(names) > _LISTED:  # where most tables have the target
        there += f", the last {names[-1]!r}"
    return f"name {what} with --target, in Python {example}; {table} has {there}"


def kind_of(kind: Any) -> Literal["number", "text", "date", "other"]:
    """Return the kind of values of an Arrow type; Booleans are numbers, times are dates."""
    import pyarrow as pa

    types = pa.types
    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    if any(is_number(kind) for is_number in numbers):
        return "number"
    # The Arrow of the oldest version that is allowed has no text views to ask about.
    is_view = getattr(types, "is_string_view", lambda kind: False)
    texts = (types.is_string, types.is_large_string, is_view)
    if any(is_text(kind) for is_text in texts):
        return "text"
    is_date = types.is_temporal(kind) and not types.is_interval(kind)
    return "date" if is_date else "other"


def as_words(column: Any) -> Any:
    """Return an Arrow column of any type as plain text."""
    import pyarrow as pa

    text = pa.large_string()
    if not pa.types.is_dictionary(column.type):
        return column if column.type == text else column.cast(text)
    # Arrow cannot cast every dictionary; indexing into its values works for all of them.
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = [(chunk.dictionary.cast(text), chunk.indices) for chunk in chunks]
    _refuse_too_long(parts)
    return pa.chunked_array([words.take(at) for words, at in parts], text).combine_chunks()


def _refuse_too_long(parts: Sequence[tuple[Any, Any]]) -> None:
    """Refuse categories that would fill the memory as text: a small file can repeat a long one."""
    import pyarrow.compute as pc

    size = sum(pc.sum(pc.binary_length(w).take(at)).as_py() or 0 for w, at in parts)
    if 2 * size > available_bytes():
        raise SourceError(
            f"a column of categories holds {size / 1e9:,.1f} GB of text, which does not fit in "
            "memory; leave it out with ignore= (--ignore), or shorten its categories"
        )


def sorted_words(column: Any) -> Any:
    """Return the distinct values of a text column, sorted by code point; skip missing ones."""
    import pyarrow.compute as pc

    words = pc.drop_null(pc.unique(column))
    return words.take(pc.sort_indices(words))


def coded(column: Any, words: Any) -> Floats:
    """Return the index of each value in the sorted list, NaN for a missing one.

    >>> import pyarrow as pa
    >>> text = pa.array(["red", "blue", None, "red"], pa.large_string())
    >>> coded(text, sorted_words(text)).tolist()
    [1.0, 0.0, nan, 1.0]
    """
    import pyarrow.compute as pc

    return floats(pc.index_in(column, value_set=words))


def floats(column: Any, what: str | None = None) -> Floats:
    """Return an Arrow column of numbers or Booleans as float64, with NaN if missing.

    With `what`, the name of the column in messages, integers that floats cannot represent exactly
    are refused.
    """
    import pyarrow as pa

    if column.type != pa.float64():
        if what is not None and _is_whole(column.type):
            refuse_rounding(column, what)
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        column = column.cast(pa.float64(), safe=False)
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    found: Floats = column.to_numpy(zero_copy_only=False)
    return found


def refuse_rounding(column: Any, what: str) -> None:
    """Raise a one-sentence error for integers that floats cannot represent exactly."""
    import pyarrow.compute as pc

    least, most = pc.min_max(column).as_py().values()
    if least is not None and max(most, -least) > _EXACT:
        raise SourceError(
            f"{what} holds whole numbers beyond 2^53, which floats cannot represent exactly; leave "
            "it out with ignore= (--ignore), or name it in categorical= (--categorical)"
        )


def target_values(column: Any) -> npt.NDArray[Any]:
    """Return a target as an array: numbers, Booleans or text; missing values stay missing."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        is_number = pa.types.is_primitive(kind.value_type)
        column = column.cast(kind.value_type) if is_number else as_words(column)
        kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        numbers = floats(column)
        if not _is_whole(kind) or np.nanmax(np.abs(numbers), initial=0.0) <= _EXACT:
            return numbers
        column = column.cast(pa.string())  # floats would merge labels
        kind = column.type
    if pa.types.is_nested(kind):
        raise SourceError(
            f"the target holds a {kind} in each row, not one value; name a column of numbers, "
            "words or Booleans with --target (target=)"
        )
    if "binary" in str(kind):
        column = _decoded(column, "the target")
    found: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    if found.dtype == object and column.null_count == 0 and not pa.types.is_boolean(kind):
        found = found.astype(str)  # fixed length, as everywhere else
    return found


def key_values(column: Any) -> npt.NDArray[Any]:
    """Return the keys of rows as an array of numbers or text."""
    if column.null_count:
        raise SourceError("a row has no key; give every row one, or leave it out")
    if "binary" in str(column.type):
        column = _decoded(column, "the key")
    found: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found.astype(str) if found.dtype == object else found


def _is_whole(kind: Any) -> bool:
    """Return True for a type of whole numbers that may be beyond 2^53."""
    import pyarrow as pa

    decimal = pa.types.is_decimal(kind)
    return (decimal and kind.scale <= 0) or str(kind) in ("int64", "uint64")


def _decoded(column: Any, what: str) -> Any:
    """Return a column of bytes as text."""
    import pyarrow as pa

    if pa.types.is_fixed_size_binary(column.type):
        column = column.cast(pa.binary())
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid:
        raise SourceError(
            f"{what} holds bytes that are not UTF-8 text; name another column, or make text or "
            "numbers of it first"
        ) from None
