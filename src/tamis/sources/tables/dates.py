"""Columns of dates and times: what they look like, and their values as days since 1970."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tamis.core.errors import SourceError, warn
from tamis.sources.tables.table_columns import listed

#: What to do with dates: leave them out and say so, leave them out, or make numbers of them.
Dates = Literal["ignore", "number"] | None
Order = Literal["ymd", "dmy", "mdy", "d Mon y"]

_TIME = r"(?:[T ]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d+)?))?Z?)?"
_DAY, _MONTH, _YEAR = r"(?P<day>\d{1,2})", r"(?P<month>\d{1,2})", r"(?P<year>\d{4})"
#: How dates are written in text; 03/04/2024 may be two of them.
_ORDERS: dict[Order, str] = {
    "ymd": rf"^\s*{_YEAR}[-/.]{_MONTH}[-/.]{_DAY}{_TIME}\s*$",
    "dmy": rf"^\s*{_DAY}[-/.]{_MONTH}[-/.]{_YEAR}{_TIME}\s*$",
    "mdy": rf"^\s*{_MONTH}[-/]{_DAY}[-/]{_YEAR}{_TIME}\s*$",
    "d Mon y": rf"^\s*{_DAY}[- ](?P<month>[A-Za-z]{{3}})[a-z]*[- ]{_YEAR}{_TIME}\s*$",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DIGIT = re.compile(r"\d")
_SECONDS = 86_400.0


def note_left_out(
    where: str, names: Sequence[str], how: str = "dates='number' (--dates number)"
) -> None:
    """Warn that columns of dates are not features, and say how they can be."""
    verb = "holds dates and was" if len(names) == 1 else "hold dates and were"
    warn(f"{where}: {listed(names)} {verb} left out; to use dates as numbers (days), give {how}")


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


def _is_date(value: str, order: Order) -> bool:
    found = re.match(_ORDERS[order], value)
    if found is None:
        return False
    month = found["month"]
    named = month.lower() in _MONTHS
    return (named or (month.isdigit() and 1 <= int(month) <= 12)) and 1 <= int(found["day"]) <= 31


def text_days(column: Any, order: Order, what: str) -> Any:
    """Return dates in Arrow text as days since 1970; `what` names the column in messages."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.extract_regex(column, _ORDERS[order])
    wrong = pc.and_(pc.is_null(parts), pc.is_valid(column))

    def part(name: str, otherwise: str) -> Any:
        text = pc.struct_field(parts, name)
        text = pc.if_else(pc.equal(text, ""), otherwise, text)
        return np.nan_to_num(text.cast(pa.float64()).to_numpy(zero_copy_only=False), nan=1.0)

    if order == "d Mon y":
        named = pc.utf8_lower(pc.struct_field(parts, "month"))
        codes = pc.index_in(named, value_set=pa.array(_MONTHS, named.type))
        wrong = pc.or_(wrong, pc.and_(pc.is_null(codes), pc.is_valid(named)))
        month = codes.to_numpy(zero_copy_only=False).astype(np.float64) + 1
        month = np.nan_to_num(month, nan=1.0)
    else:
        month = part("month", "1")
    year, day = part("year", "1"), part("day", "1")
    bad = wrong.to_numpy(zero_copy_only=False).astype(bool)
    bad |= (month < 1) | (month > 12) | (day < 1) | (day > 31)
    if bad.any():
        raise _also(what, column[int(np.argmax(bad))].as_py())
    months = (year - 1970).astype(np.int64) * 12 + month.astype(np.int64) - 1
    whole = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) + day - 1
    time = part("hour", "0") * 3600 + part("minute", "0") * 60 + part("second", "0")
    missing = pc.is_null(column).to_numpy(zero_copy_only=False).astype(bool)
    return pa.array(whole + time / _SECONDS, mask=missing)


def refuse_others(column: Any, what: str) -> None:
    """Raise a one-sentence error if Arrow text holds something that is not a date."""
    import pyarrow.compute as pc

    others = pc.drop_null(column)
    for pattern in _ORDERS.values():
        others = others.filter(pc.invert(pc.match_substring_regex(others, pattern)))
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
