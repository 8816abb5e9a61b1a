"""Chunks of svmlight text to rows, with threads; and one sentence for what is wrong with a line."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed
from tamis.kernels import svmlight_parser as kernel

Text = npt.NDArray[np.uint8]

#: Tokens for Python that a chunk has room for at first; a chunk with more is parsed twice.
_SLOW = 1000
#: A token ends before a blank, the end of a line or a comment.
_TOKEN = re.compile(rb"[^ \t\r\n#]*")
#: Shown of a token that is wrong.
_SHOWN = 40

#: How bad lines are left out.
SKIP = "with skip_bad_lines=True (--skip-bad-lines)"

#: Bad lines that were skipped, in words: how many ...
IN_WORDS = {
    kernel.BAD_LABEL: "without a number as label",
    kernel.BAD_QID: "with a query number that is not one",
    kernel.BAD_INDEX: "with something that is not index:value",
    kernel.BAD_VALUE: "with a value that is not a number",
    kernel.NOT_FINITE: "with NaN or infinity",
    kernel.LONE_RETURN: "with a carriage return inside",
    kernel.INDEX_TOO_SMALL: "with index 0 where indices count from 1",
    kernel.INDEX_TOO_LARGE: "with an index above 2**62",
    kernel.NOT_RISING: "with indices that do not rise",
    kernel.EMPTY: "empty",
}


@dataclass(frozen=True)
class Fault:
    """What is wrong with a chunk (a code of the kernel) and at which of its bytes."""

    kind: int
    at: int


@dataclass(frozen=True)
class Chunk:
    """The rows of one chunk of text. Its arrays may be views of longer ones.

    `fault` is the first fault, where parsing stopped; `skipped` are those it went past, if asked
    to: what and at which byte, in the order of the text.
    """

    text: Text
    labels: npt.NDArray[np.float64]
    rows: Compressed
    found: npt.NDArray[np.int64]
    fault: Fault | None
    skipped: npt.NDArray[np.int64]

    def lines_of(self, at: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        """In which lines of the chunk some bytes are, counted from 0."""
        return np.searchsorted(np.flatnonzero(self.text == kernel.NEWLINE), at)

    def line_of_row(self, row: int) -> int:
        """In which line of the chunk a row is; a walk over its lines, for a sentence."""
        skipped = set(self.lines_of(self.skipped[:, 1]).tolist())
        seen = -1
        for number, line in enumerate(self.text.tobytes().split(b"\n")):
            filled = line.lstrip(b" \t").rstrip(b"\r")
            if filled and filled[0] != kernel.HASH and number not in skipped:
                seen += 1
                if seen == row:
                    return number
        raise IndexError(row)


def parse_chunk(text: Text, least: int, *, skip: bool = False, refuse_empty: bool = False) -> Chunk:
    """Parse whole lines; `least` is the smallest index allowed, `skip` goes past bad lines."""
    colons, newlines = kernel.count_marks(text)
    labels, indptr = np.empty(newlines), np.empty(newlines + 1, dtype=np.int64)
    indices, values = np.empty(colons, dtype=np.int64), np.empty(colons)
    bad = np.empty((newlines if skip else 0, 2), dtype=np.int64)
    room = _SLOW
    while True:
        slow, found, count = np.empty((room, 2), dtype=np.int64), kernel.new_found(), 0
        found[kernel.NO_EMPTY] = refuse_empty
        out = (labels, indptr, indices, values, slow, found)
        if skip:
            count = kernel.parse_sound_rows(text, least, *out, bad)
        else:
            kernel.parse_rows(text, least, *out)
        if found[kernel.SLOW] <= room:
            break
        room = int(found[kernel.SLOW])
    n_rows, entries = int(found[kernel.ROWS]), int(found[kernel.ENTRIES])
    rows = Compressed(indptr[: n_rows + 1], indices[:entries], values[:entries])
    too_large = _slow_numbers(text, slow[: found[kernel.SLOW]], labels, values, rows.indptr)
    labels, bad = labels[:n_rows], bad[:count]
    fault = None
    if skip and too_large:
        # Rows with a number that is too large are left out, and listed with the bad lines.
        first = dict(reversed(too_large))  # one for each row, its first
        more = np.array([(fault.kind, fault.at) for fault in first.values()], dtype=np.int64)
        bad = np.concatenate([bad, more])
        bad = bad[np.argsort(bad[:, 1], kind="stable")]
        good = np.setdiff1d(np.arange(n_rows), list(first))
        labels, rows = labels[good], rows.pick(good)
        found[kernel.ROWS], found[kernel.ENTRIES] = len(rows), rows.stored
    elif too_large:
        fault = too_large[0][1]
    elif found[kernel.FAULT] != kernel.FINE:
        fault = Fault(int(found[kernel.FAULT]), int(found[kernel.FAULT_AT]))
    return Chunk(text, labels, rows, found, fault, bad)


def _slow_numbers(
    text: Text,
    slow: npt.NDArray[np.int64],
    labels: npt.NDArray[np.float64],
    values: npt.NDArray[np.float64],
    indptr: npt.NDArray[np.int64],
) -> list[tuple[int, Fault]]:
    """Let Python read the tokens the kernel has marked; give rows where one is no float64."""
    too_large = []
    for entry, at in slow.tolist():
        number = float(_token(text, at))
        row = -1 - entry if entry < 0 else int(np.searchsorted(indptr, entry, side="right")) - 1
        if math.isinf(number):
            too_large.append((row, Fault(kernel.BAD_LABEL if entry < 0 else kernel.BAD_VALUE, at)))
        elif entry < 0:
            labels[row] = number
        else:
            values[entry] = number
    return too_large


def _token(text: Text, at: int) -> str:
    """Return the token that begins at a byte."""
    found = _TOKEN.match(text.data, at)
    assert found is not None
    return found[0].decode("utf-8", "backslashreplace")


def sentence(path: str, chunk: Chunk, fault: Fault, lines_before: int) -> str:
    """Say in one sentence where a line is wrong, and what is expected there."""
    before = chunk.text[: fault.at].tobytes()
    line = lines_before + before.count(b"\n") + 1
    if fault.kind == kernel.EMPTY:
        return f"{path}, line {line} is empty; remove it, or pass over it {SKIP}"
    column = fault.at - (before.rfind(b"\n") + 1) + 1
    token = _token(chunk.text, fault.at)
    shown = token if len(token) <= _SHOWN else token[:_SHOWN] + "..."
    where = f"{path}, line {line}, byte {column}"
    return f"{where}: {shown!r} {_explain(fault.kind, token)}"


def _explain(kind: int, token: str) -> str:
    """Finish the sentence about a token."""
    try:
        is_finite = math.isfinite(float(token))
    except ValueError:
        is_finite = True
    if kind == kernel.BAD_LABEL and "," in token:
        return "is a list of labels (multi-label); expected one number at the start of each line"
    if kind == kernel.BAD_LABEL and ":" in token:
        return "stands where the label should; expected a number at the start of each line"
    if kind == kernel.BAD_LABEL and not is_finite:
        return "is not a finite label; expected a number at the start of each line"
    if kind in (kernel.BAD_VALUE, kernel.NOT_FINITE):
        if not is_finite:
            return "is not a finite value; expected a number such as 1, -0.5 or 1e-3"
        return "is not a number; expected a value such as 1, -0.5 or 1e-3 after the colon"
    if kind == kernel.BAD_INDEX and ":" in token:
        return "has no whole number before the colon; expected index:value with an index from 0 up"
    return {
        kernel.BAD_LABEL: "is not a number (a string label); expected numbers, so number the "
        "classes first",
        kernel.BAD_INDEX: "has no colon; expected index:value",
        kernel.BAD_QID: "is not a query number; expected qid: and a whole number",
        kernel.INDEX_TOO_SMALL: "has index 0 where indices count from 1; use zero_based=True",
        kernel.INDEX_TOO_LARGE: "has an index above 2**62; expected a smaller one",
        kernel.NOT_RISING: "does not follow in order; expected indices that rise inside a row",
        kernel.LONE_RETURN: "is a carriage return without a newline; expected the end of a line",
    }[kind]
