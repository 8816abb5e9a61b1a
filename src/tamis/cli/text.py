"""Text for a terminal: on one line, without control characters, without passwords."""

from __future__ import annotations

import re
import shlex
import sys

from tamis.core.masking import masked


def one_line(text: str) -> str:
    r"""Return text with its control characters escaped, and without passwords.

    >>> print(one_line("two\nlines, \x1b[2Jgène 🧬"))
    two\nlines, \x1b[2Jgène 🧬
    """
    control = r"[\x00-\x1f\x7f-\x9f\u2028\u2029]"
    return re.sub(control, lambda found: repr(found[0])[1:-1], masked(text))


def asked() -> str:
    """Return the command as it was typed, for the run record; passwords are three stars."""
    return shlex.join(["tamis", *(masked(word, whole=True) for word in sys.argv[1:])])
