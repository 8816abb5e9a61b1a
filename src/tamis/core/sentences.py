"""Fill numbers and names into sentences; what these say is in the methods (`reasons`)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence


def show(*numbers: float) -> list[str]:
    """Format numbers with three digits, or with as many as needed to distinguish them.

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
    """Format a number with some digits; round it if more digits precede the decimal point."""
    return f"{number:.0f}" if 10**digits <= abs(number) < 1e9 else f"{number:.{digits}g}"


def join(names: Sequence[str], word: str = "and") -> str:
    """List names as in a sentence.

    >>> join(["a", "b", "c"]), join(["a", "b"], "or")
    ('a, b and c', 'a or b')
    """
    return f" {word} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def suggestion(typed: object, known: Iterable[str], otherwise: str = "give one of") -> str:
    """Return the name that was probably meant, or all that are known, as the end of a sentence.

    >>> suggestion("soala", ["saola", "osfs"]), suggestion("Fisher-Z", ["fisher_z", "auto"])
    ("did you mean 'saola'?", "did you mean 'fisher_z'?")
    >>> suggestion("lasso", ["saola", "osfs"])
    'give one of saola, osfs'
    """
    names = list(known)
    plain = {name.lower().replace("_", "-"): name for name in reversed(names)}
    word = str(typed).strip().lower().replace("_", "-")
    close = difflib.get_close_matches(word, plain, 2, 0.65) if isinstance(typed, str) else []
    if close:
        return f"did you mean {join([repr(plain[name]) for name in close], 'or')}?"
    return f"{otherwise} {', '.join(names)}"


def counted(count: int, one: str, many: str = "") -> str:
    """Format a count of things; `many` is the plural if it is not `one` with an s.

    >>> counted(1, "column"), counted(12_000, "column"), counted(1, "was", "were")
    ('1 column', '12,000 columns', '1 was')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def option_words(name: str, value: object) -> list[str]:
    """Return an option of a reader, given as in Python, as words of the command line.

    >>> option_words("na", "-99"), option_words("missing_target", "drop")
    (['--na=-99'], ['--missing-target', 'drop'])
    """
    flag = f"--{name.replace('_', '-')}"
    if name == "header":
        return ["--no-header"]
    if name == "zero_based":
        return ["--zero-based" if value else "--one-based"]
    if value is True:
        return [flag]
    return [f"{flag}={value}"] if str(value).startswith("-") else [flag, str(value)]


def fill(sentence: str, fields: Mapping[str, str], template_fields: Mapping[str, str]) -> str:
    """Fill a template: first the template fields, which may contain fields, then the fields.

    Only plain ``{key}`` fields are filled, so an untrusted log file cannot run code.
    """
    return _filled(_filled(_filled(sentence, template_fields), template_fields), fields)


def _filled(sentence: str, known: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda m: known.get(m[1], m[0]), sentence)
