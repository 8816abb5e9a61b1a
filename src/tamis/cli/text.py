"""Names come from strangers' files: what is printed stays on its line and moves no cursor."""

from __future__ import annotations

import re


def one_line(text: str) -> str:
    r"""Text with its control characters written out.

    >>> print(one_line("two\nlines, \x1b[2Jgène 🧬"))
    two\nlines, \x1b[2Jgène 🧬
    """
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", lambda found: repr(found[0])[1:-1], text)
