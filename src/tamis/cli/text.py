"""Names come from strangers' files: what is printed stays on its line and moves no cursor.

And no password that came on the command line is printed or recorded.
"""

from __future__ import annotations

import re
import shlex
import sys

from tamis.core.masking import masked


def one_line(text: str) -> str:
    r"""Text with its control characters written out, and without passwords.

    >>> print(one_line("two\nlines, \x1b[2Jgène 🧬"))
    two\nlines, \x1b[2Jgène 🧬
    """
    control = r"[\x00-\x1f\x7f-\x9f\u2028\u2029]"
    return re.sub(control, lambda found: repr(found[0])[1:-1], masked(text))


def asked() -> str:
    """The command as it was typed, for the record; passwords are three stars."""
    return shlex.join(["tamis", *(masked(word, whole=True) for word in sys.argv[1:])])
