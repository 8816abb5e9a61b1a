"""Suggest similar names, even among millions: only a few are compared letter by letter."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tamis.core.names import NameBook, Names
from tamis.core.sentences import join

#: Number of names compared letter by letter: those with the most similar beginning and end.
COMPARED = 2_000

#: Letters compared at the beginning and at the end.
ENDS = 12


def near(names: NameBook, wanted: str, most: int = 3) -> list[str]:
    """Return names similar to `wanted`: equal up to case, or else the closest few.

    >>> book = NameBook()
    >>> book.append(3, Names.of(["M27891_at", "U22376_at", "age"]))
    >>> near(book, "m27891_at"), near(book, "agee"), near(book, "zzz")
    (['M27891_at'], ['age'], [])
    """
    digits = re.search(r"\d{1,19}$", wanted)
    numbered = None if digits is None else f"{names.prefix}{digits[0]}"
    if numbered is not None and names.find_numbered(numbered) is not None:
        return [numbered]
    known = names.named
    # Lower-cased like `bytes.lower`, which keeps the length of a name.
    lower = wanted.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
    at = Names(known.blob.lower(), known.offsets).find(lower)
    if at is not None:
        return [known[at]]
    return difflib.get_close_matches(wanted, dict.fromkeys(_closest(known, wanted)), most, 0.7)


def _closest(names: Names, wanted: str) -> Names:
    """Return names of about the same length that begin and end most like `wanted`."""
    word = np.frombuffer(wanted.encode("utf-8", "surrogatepass").lower(), np.uint8)
    text = np.frombuffer(names.blob.lower(), np.uint8)
    lengths = np.diff(names.offsets)
    slack = 1 + len(word) // 4
    indices = np.flatnonzero((np.abs(lengths - len(word)) <= slack) & (lengths > 0))
    last = lengths[indices] - 1
    alike = np.zeros(len(indices), dtype=np.int64)
    for letters, first, step in (
        (word, names.offsets[indices], 1),
        (word[::-1], names.offsets[indices] + last, -1),
    ):
        going = np.ones(len(indices), dtype=np.bool_)
        for i, letter in enumerate(letters[:ENDS]):
            going &= (i <= last) & (text[first + step * np.minimum(i, last)] == letter)
            alike += going
    best: npt.NDArray[np.intp] = np.argsort(-alike, kind="stable")[:COMPARED]
    return names.pick(indices[np.sort(best)])


def no_such_feature(names: NameBook, unknown: Sequence[object]) -> str:
    """Return a message about unknown names, with suggestions.

    >>> book = NameBook()
    >>> book.append(2, Names.of(["age", "height"]))
    >>> no_such_feature(book, ["Age", "zzz"])
    "no feature is called 'Age' or 'zzz' among the 2 seen; did you mean 'age' for 'Age'?"
    """
    message = (
        f"no feature is called {join([repr(u) for u in unknown], 'or')} among the {len(names)} seen"
    )
    meant = []
    for name in unknown:
        found = near(names, name) if isinstance(name, str) else []
        if found:
            which = f" for {name!r}" if len(unknown) > 1 else ""
            meant.append(join([repr(f) for f in found], "or") + which)
    if meant:
        return f"{message}; did you mean {join(meant)}?"
    return message + (f"; the first is called {names[0]!r}" if len(names) else "")
