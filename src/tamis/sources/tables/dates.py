"""Columns of dates and times: what they look like, and their values as days since 1970."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tamis.core.errors import SourceError, warn
from tamis.sources.tables.table_columns import listed

#: What to do with dates: leave them out and say so, leave them out, or make numbers of them.
Dates = Literal["ignore", "number"] | None
Order = Literal["ymd", "dmy", "mdy", "d Mon y", "Mon d y", "Mon d time y", "time"]

_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))?"
    r"(?: ?(?P<half>[ap])\.?m\.?)?"
)
_ZONE = r"(?: ?(?:z|utc|gmt))?(?: ?(?P<zone>[-+]\d{2}:?\d{2}))?"
_TIME = rf"(?:(?:[t ]|, ) *{_CLOCK}{_ZONE})?"
_DAY, _MONTH, _YEAR = r"(?P<day>\d{1,2})", r"(?P<month>\d{1,2})", r"(?P<year>\d{4})"
_SHORT_YEAR = r"(?P<year>\d{4}|\d{2})"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED = rf"(?P<month>{'|'.join(_MONTHS)})(?:r?uary|ch|il|e|y|ust|t|t?ember|ober)?\.?"
_NTH = rf"{_DAY}(?:st|nd|rd|th)?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? +)?"
_GAP = "(?:-| +)"
#: How dates are written in text; 03/04/2024 may be two of them.
_ORDERS: dict[Order, str] = {
    "ymd": rf"{_YEAR}[-/.]{_MONTH}[-/.]{_DAY}{_TIME}",
    "dmy": rf"{_DAY}[-/.]{_MONTH}[-/.]{_SHORT_YEAR}{_TIME}",
    "mdy": rf"{_MONTH}[-/]{_DAY}[-/]{_SHORT_YEAR}{_TIME}",
    "d Mon y": rf"{_WEEKDAY}{_NTH}{_GAP}{_NAMED},?{_GAP}{_SHORT_YEAR}{_TIME}",
    "Mon d y": rf"{_WEEKDAY}{_NAMED}{_GAP}{_NTH},?{_GAP}{_YEAR}{_TIME}",
    "Mon d time y": rf"{_WEEKDAY}{_NAMED} +{_NTH} +{_CLOCK}{_ZONE} +{_YEAR}",
    "time": _CLOCK,
}
#: Orders whose months are numbers.
_NUMBERED: tuple[Order, ...] = ("ymd", "dmy", "mdy")
_ORDERS = {order: rf"(?i)^\s*{pattern}\s*$" for order, pattern in _ORDERS.items()}
#: 19-01-05 may be of 2005 or of 2019.
_UNCLEAR_YEAR = re.compile(r"^\s*\d{1,2}-\d{1,2}-\d{2}(?!\d)")
#: Years of two digits before this one are of this century.
_CENTURY = 69
_DIGIT = re.compile(r"\d")
#: Values that say whether text holds dates; fewer words than the second may be codes.
_FIRST, _MANY = 1_000, 20
_SECONDS = 86_400.0


def note_left_out(
    where: str, names: Sequence[str], how: str = "dates='number' (--dates number)"
) -> None:
    """Warn that columns of dates are not features, and say how they can be."""
    verb = "holds dates and was" if len(names) == 1 else "hold dates and were"
    warn(f"{where}: {listed(names)} {verb} left out; to use dates as numbers (days), give {how}")


def warn_of_dates(words: Any, where: str, remedy: str) -> None:
    """Warn if the many words of a column that is taken for categories are mostly dates."""
    others = others_than_dates(words) if len(words) > _MANY else None
    if others is not None:
        also = f"also {others[0]!r}" if others else f"such as {words[0].as_py()!r}"
        link = "dates and" if others else "dates as text,"
        warn(f"{where} holds {link} {also}, taken for {len(words):,} categories; {remedy}")


def others_than_dates(words: Any) -> list[str] | None:
    """Return the words of an Arrow column that are not dates, if most of the first are; or None.

    >>> import pyarrow as pa
    >>> others_than_dates(pa.array(["2024-02-29", "2024-03-01", "never"])), others_than_dates(
    ...     pa.array(["never", "often"])
    ... )
    (['never'], None)
    """
    import pyarrow.compute as pc

    first = words[:_FIRST]
    if not _DIGIT.search(first[0].as_py()) and not _DIGIT.search(first[-1].as_py()):
        return None
    odd = not_dates(first)
    if 2 * len(odd) >= len(first):
        return None
    some = first.filter(pc.invert(pc.is_in(first, value_set=odd))).to_pylist()
    found: list[str] = not_dates(words).to_pylist()
    return found if orders(some) else None


# --- Arrow's types ------------------------------------------------------------------------------


def days(column: Any) -> Any:
    """Return dates as days since 1970, and times and durations as days; missing stay missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_date(kind):
        return column.cast(pa.date32()).cast(pa.int32()).cast(pa.float64())
    if pa.types.is_date64(kind):
        return days(column.cast(pa.date32()))
    units = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
    narrow = pa.types.is_time32(kind)
    numbers = column.cast(pa.int32()).cast(pa.int64()) if narrow else column.cast(pa.int64())
    return pc.divide(numbers.cast(pa.float64(), safe=False), units[kind.unit] * _SECONDS)


# --- dates in text ------------------------------------------------------------------------------


def orders(values: Sequence[str]) -> list[Order]:
    """Return the ways in which all values are dates; none if some are not dates.

    >>> orders(["2024-02-29"]), orders(["13/01/2024", "02/01/2024"]), orders(["1.5"])
    (['ymd'], ['dmy'], [])
    """
    if not values or not _DIGIT.search(values[0]):
        return []
    return [order for order in _ORDERS if all(_is_date(value, order) for value in values)]


def not_dates(words: Any) -> Any:
    """Return the texts of an Arrow column that are written like no date."""
    import pyarrow.compute as pc

    for pattern in _ORDERS.values():
        words = words.filter(pc.invert(pc.match_substring_regex(words, pattern)))
    return words


def _is_date(value: str, order: Order) -> bool:
    found = re.match(_ORDERS[order], value)
    if found is None or _UNCLEAR_YEAR.match(value):
        return False
    parts = found.groupdict()
    if (hour := parts.get("hour")) and not (int(hour) < 24 and int(parts["minute"]) < 60):
        return False
    if order == "time":
        return True
    month = parts["month"]
    named = month.lower() in _MONTHS
    return (named or 1 <= int(month) <= 12) and 1 <= int(parts["day"]) <= 31


def are_digits(values: npt.NDArray[np.float64]) -> bool:
    """Return whether all numbers may be dates of eight digits, such as 20241231.

    >>> are_digits(np.array([20240229.0, 19991231.0])), are_digits(np.array([20241331.0]))
    (True, False)
    """
    year, month, day = values // 10_000, values // 100 % 100, values % 100
    years, months = (year >= 1900) & (year <= 2100), (month >= 1) & (month <= 12)
    return bool(len(values) and np.all(years & months & (day >= 1) & (day <= 31)))


def text_days(column: Any, order: Order, what: str) -> Any:
    """Return dates in Arrow text as days since 1970; `what` names the column in messages.

    A time without a date is a part of a day.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.extract_regex(column, _ORDERS[order])
    named = {parts.type.field(j).name for j in range(parts.type.num_fields)}
    missing = _plain(pc.is_null(column))

    def text(name: str) -> Any:
        return pc.utf8_lower(pc.struct_field(parts, name))

    def number(text: Any, otherwise: float = 0.0) -> Any:
        found = pc.replace_substring(text, ",", ".")
        found = pc.if_else(pc.equal(found, ""), str(otherwise), found)
        return _plain(pc.fill_null(found.cast(pa.float64()), 1.0))

    def part(name: str) -> Any:
        return number(text(name)) if name in named else np.zeros(len(column))

    def place(name: str, words: Sequence[str]) -> Any:
        """Return the place of each text among some words; -1 if it is none of them."""
        codes = pc.index_in(text(name), value_set=pa.array(words, text(name).type))
        return _plain(pc.fill_null(codes, -1)).astype(np.float64)

    bad = _plain(pc.is_null(parts))
    hour, minute, half = part("hour"), part("minute"), place("half", ("a", "p"))
    hour = np.where(half >= 0, hour % 12 + 12 * (half > 0), hour)
    bad |= (hour >= 24) | (minute >= 60)
    found = (hour * 3600 + minute * 60 + part("second")) / _SECONDS
    if "zone" in named:
        clock = pc.replace_substring(text("zone"), ":", "")
        hours, minutes = (number(pc.utf8_slice_codeunits(clock, lo, lo + 2)) for lo in (1, 3))
        behind = _plain(pc.fill_null(pc.starts_with(clock, "-"), False))
        found += np.where(behind, 1, -1) * (hours * 60 + minutes) / 1440
    if order != "time":
        year, day = part("year"), part("day")
        month = part("month") if order in _NUMBERED else place("month", _MONTHS) + 1
        bad |= (month < 1) | (month > 12) | (day < 1) | (day > 31)
        short = _plain(pc.fill_null(pc.equal(pc.utf8_length(text("year")), 2), False))
        year += np.where(short, np.where(year < _CENTURY, 2000, 1900), 0)
        months = (year - 1970).astype(np.int64) * 12 + month.astype(np.int64) - 1
        first = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        found += first + day - 1
    bad &= ~missing
    if bad.any():
        raise _also(what, column[int(np.argmax(bad))].as_py())
    return pa.array(found, mask=missing)


def _plain(array: Any) -> Any:
    """Return an Arrow array as one of NumPy that can be changed."""
    return np.array(array.to_numpy(zero_copy_only=False))


def target_days(column: Any, what: str) -> Any:
    """Return a target of dates, also as text, as days since 1970; others unchanged."""
    import pyarrow as pa

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_temporal(whole.type):
        return days(whole)
    if pa.types.is_string(whole.type) or pa.types.is_large_string(whole.type):
        values = whole.drop_null()[:_FIRST].to_pylist()
        if found := orders(values):
            return text_days(whole, refuse_two_orders(found, values, what), what)
    return column


def refuse_others(column: Any, what: str) -> None:
    """Raise a one-sentence error if Arrow text holds something that is not a date."""
    others = not_dates(column.drop_null())
    if len(others):
        raise _also(what, others[0].as_py())


def _also(what: str, value: str) -> SourceError:
    return SourceError(
        f"{what} holds dates and also {value!r}; leave it out with ignore= (--ignore), or name it "
        "in categorical= (--categorical)"
    )


def refuse_two_orders(found: Sequence[Order], values: Sequence[str], what: str) -> Order:
    """Return the one way in which values are dates; raise an error if there are two."""
    if len(found) > 1:
        raise SourceError(
            f"{what} has dates such as {values[0]!r}, in which day and month are not clear; write "
            "them as 2024-12-31, or leave the column out with ignore= (--ignore)"
        )
    return found[0]
