"""Sentences with numbers and names in them, for people who ask why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence


def show(*numbers: float) -> list[str]:
    """Print numbers with three digits, or as many as it takes to tell different ones apart.

    >>> show(0.08, 0.31)
    ['0.08', '0.31']
    >>> show(0.123456, 0.123457)
    ['0.123456', '0.123457']
    >>> show(1234.5)
    ['1234']
    """
    distinct = len({n for n in numbers if n == n})
    texts: list[str] = []
    for digits in range(3, 16):
        texts = [_digits(n, digits) for n in numbers]
        if len({t for t, n in zip(texts, numbers, strict=True) if n == n}) == distinct:
            break
    return texts


def _digits(number: float, digits: int) -> str:
    """Print a number with some digits; one with more before its point as a whole number."""
    return f"{number:.0f}" if 10**digits <= abs(number) < 1e9 else f"{number:.{digits}g}"


def join(names: Sequence[str]) -> str:
    """List names as in a sentence.

    >>> join(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def counted(count: int, one: str, many: str = "") -> str:
    """A number of things; `many` where it is not `one` with an s.

    >>> counted(1, "column"), counted(12_000, "column"), counted(1, "was", "were")
    ('1 column', '12,000 columns', '1 was')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def fill(sentence: str, fields: Mapping[str, str], words: Mapping[str, str]) -> str:
    """Fill the gaps of a sentence: first with words, which may hold gaps, then with fields.

    Only plain ``{key}`` gaps are known, so a log file from a stranger can run nothing.
    """
    with_words = re.sub(r"\{(\w+)\}", lambda m: words.get(m[1], m[0]), sentence)
    with_words = re.sub(r"\{(\w+)\}", lambda m: words.get(m[1], m[0]), with_words)
    return re.sub(r"\{(\w+)\}", lambda m: fields.get(m[1], m[0]), with_words)
