"""Numbers in text: with grouped thousands, and with a unit such as $1,200, 12% or 70.5 kg.

A column has one unit: each of its values carries it. Two units in a column, or values with and
without one, are not read as numbers, because 12% beside 0.12 is not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tamis.core.errors import warn

_CURRENCIES = "$\u20ac\u00a3\u00a5\u20b9"
_CODES = "USD|EUR|GBP|CHF|JPY|CNY|CAD|AUD|SEK|NOK|DKK|INR|BRL|PLN"
_FIXED = "\u00a0\u202f"
#: What word processors write for a minus.
MINUS = "\u2212"
#: A column of text with more different numbers than this is probably not one of codes.
_MANY = 20
#: Words that are looked at first.
_FIRST = 1_000
_SPACE = f"[ {_FIXED}]*"
_SIGN = f"[-+{MINUS}]"


def number_pattern(decimal: str) -> str:
    r"""Return a regular expression for numbers with a decimal mark.

    Thousands may be grouped by the other mark, a space (also a narrow or fixed one) or an
    apostrophe; a grouped number does not begin with 0.

    >>> bool(re.match(number_pattern(","), "-1.234,5")), bool(re.match(number_pattern(","), "1.5"))
    (True, False)
    """
    return rf"^\s*{_SIGN}?{_digits(decimal)}\s*$"


def _digits(decimal: str) -> str:
    """Return a regular expression for a number without its sign."""
    mark, group = re.escape(decimal), groups(decimal)
    digits = r"\d*" if decimal == "." else r"\d+"
    lakhs = r"|[1-9]\d?(?:,\d{2})+,\d{3}" if decimal == "." else ""  # as in India: 1,23,456
    whole = rf"(?:[1-9]\d{{0,2}}(?:{group}\d{{3}})+{lakhs}|\d+)"
    return rf"(?:{whole}(?:{mark}{digits})?|{mark}\d+)(?:[eE][-+]?\d+)?"


def groups(decimal: str) -> str:
    """Return a regular expression for what may group thousands."""
    return "[" + ("," if decimal == "." else ".") + " '\u00a0\u202f\u2019]"


NUMBERS = {mark: re.compile(number_pattern(mark)) for mark in ".,"}
_DIGIT = re.compile(r"\d")
_SIGNED = re.compile(
    rf"^\(?{_SIGN}?(?P<before>[{_CURRENCIES}]|(?:{_CODES})(?=[ \u00a0\d]))?{_SPACE}"
    rf"(?P<number>{_SIGN}?[\d.,][\d., '{_FIXED}\u2019]*?){_SPACE}"
    rf"(?P<minus>-)?{_SPACE}(?P<after>[%\u2030{_CURRENCIES}]|[^\W\d_][\w/%]{{0,7}}|\u00b0[CF]?)?\)?$"
)


@dataclass(frozen=True)
class Unit:
    """What every number of a column carries.

    Attributes
    ----------
    before, after : str
        The text before and after each number, without spaces.
    brackets : bool
        Whether a number in brackets is negative, as accountants write.
    trailing : bool
        Whether the minus of a negative number may follow it, as in 120.50-.
    """

    before: str = ""
    after: str = ""
    brackets: bool = False
    trailing: bool = False

    def __str__(self) -> str:
        return self.before or self.after or ("( )" if self.brackets else "-")

    @property
    def described(self) -> str:
        """What the numbers have, for a sentence."""
        at_end = self.trailing and not (self.before or self.after or self.brackets)
        return f"{str(self)!r}{' after them' if at_end else ''}"

    def pattern(self, decimal: str) -> str:
        """Return a regular expression for numbers with this unit."""
        if self == NO_UNIT:
            return number_pattern(decimal)
        before, after = re.escape(self.before), re.escape(self.after)
        opened, closed = (r"(\(?)", r"\)?") if self.brackets else ("()", "")
        sign, minus = rf"({_SIGN}?)", rf"{_SPACE}(-?)" if self.trailing else "()"
        return (
            rf"^\s*{opened}{sign}{before}{_SPACE}{sign}({_digits(decimal)})"
            rf"{minus}{_SPACE}{after}{closed}\s*$"
        )

    def fits(self, values: Iterable[str], decimal: str) -> bool:
        """Return whether all values are numbers with this unit."""
        pattern = re.compile(self.pattern(decimal))
        return all(pattern.match(value) for value in values)

    def bare(self, column: Any, decimal: str) -> Any:
        """Return Arrow text without the unit; text that is no such number is unchanged."""
        import pyarrow.compute as pc

        if self == NO_UNIT:
            return column
        bare = pc.replace_substring_regex(column, self.pattern(decimal), r"\5\1\2\3\4")
        return pc.replace_substring(bare, "(", "-") if self.brackets else bare


NO_UNIT = Unit()


def digits_in(values: Iterable[str]) -> int:
    """Return how many texts have a digit; the others are neither numbers nor dates."""
    return sum(map(bool, map(_DIGIT.search, values)))


def unit_of(values: Sequence[str], decimal: str) -> Unit | None:
    """Return the unit that most values carry, or None if most are not numbers with one.

    >>> str(unit_of(["$1,200", "$85"], ".")), str(unit_of(["12%", "-3.5%"], "."))
    ('$', '%')
    >>> unit_of(["120.50", "7.25-"], ".").described
    "'-' after them"
    >>> unit_of(["1a", "2b", "3a", "4b"], ".") is None
    True
    """
    if 4 * digits_in(values) < 3 * len(values):  # quickly: too few can fit below
        return None
    kinds, trailing = Counter[tuple[str, str]](), False
    for value in values:
        if NUMBERS[decimal].match(value):
            kinds["", ""] += 1  # also 1e17, which has no unit e17
        elif match := _SIGNED.match(value.strip()):
            kinds[match["before"] or "", match["after"] or ""] += 1
            trailing |= match["minus"] is not None
    if 2 * kinds.total() < max(len(values), 1):
        return None
    (before, after), _ = kinds.most_common(1)[0]
    brackets = any(value.strip().startswith("(") for value in values)
    unit = Unit(before, after, brackets, trailing)
    if unit == NO_UNIT:
        return None
    pattern = re.compile(unit.pattern(decimal))
    fitting = sum(bool(pattern.match(value)) for value in values)
    return unit if 4 * fitting >= 3 * len(values) else None


def unit_of_words(words: Any, decimal: str) -> Unit | None:
    """Return the unit of the sorted words of a column, as `unit_of` finds it in the first ones.

    If they have none, it looks at those that are not plain numbers, which may be few.
    """
    import pyarrow.compute as pc

    some = words[:_FIRST].to_pylist()
    if (unit := unit_of(some, decimal)) is not None or len(words) <= _FIRST:
        return unit
    odd = words.filter(pc.invert(pc.match_substring_regex(words, number_pattern(decimal))))
    return unit_of([*odd[:_FIRST].to_pylist(), *some], decimal)


def warn_of_numbers(words: Any, where: str) -> None:
    """Warn if the many words of a column that is taken for categories are numbers."""
    if len(words) <= _MANY:
        return
    some = words[:_FIRST].to_pylist()
    unit = unit_of(some, ".") or NO_UNIT
    if unit.fits(some, "."):
        warn(
            f"{where} holds numbers as text, such as {some[0]!r}, which were taken for "
            f"{len(words):,} categories; convert them to numbers (pandas.to_numeric)"
        )


def without_units(values: Sequence[str]) -> list[str]:
    """Return values without what may be a unit; others unchanged."""
    plain = NUMBERS.values()
    found = [
        None if any(number.match(value) for number in plain) else _SIGNED.match(value)
        for value in values
    ]
    return [m["number"] if m else value for m, value in zip(found, values, strict=True)]
