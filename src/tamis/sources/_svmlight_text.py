"""Chunks of svmlight text to rows, with threads; and one sentence for what is wrong with a line."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed
from tamis.kernels import svmlight as kernel
from tamis.kernels.threads import thread_count

Text = npt.NDArray[np.uint8]

#: Tokens for Python that a chunk has room for at first; a chunk with more is parsed twice.
_SLOW = 1000
#: Shown of a token that is wrong.
_SHOWN = 40


@dataclass(frozen=True)
class Fault:
    """What is wrong with a chunk (a code of the kernel) and at which of its bytes."""

    kind: int
    at: int


@dataclass(frozen=True)
class Chunk:
    """The rows of one chunk of text. Its arrays may be views of longer ones."""

    text: Text
    labels: npt.NDArray[np.float64]
    rows: Compressed
    found: npt.NDArray[np.int64]
    fault: Fault | None


def parse_all(texts: Iterable[Text], least: int) -> Iterator[Chunk]:
    """Parse chunks with threads and give them back in order, reading ahead by one each."""
    workers = thread_count()
    waiting: deque[Future[Chunk]] = deque()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="tamis-parse")
    try:
        for text in texts:
            waiting.append(pool.submit(parse_chunk, text, least))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def parse_chunk(text: Text, least: int) -> Chunk:
    """Parse whole lines; `least` is the smallest index allowed."""
    colons, newlines = kernel.count_marks(text)
    labels, pointers = np.empty(newlines), np.empty(newlines + 1, dtype=np.int64)
    indices, values = np.empty(colons, dtype=np.int64), np.empty(colons)
    slow = np.empty((_SLOW, 2), dtype=np.int64)
    found = kernel.new_found()
    kernel.parse_rows(text, least, labels, pointers, indices, values, slow, found)
    if found[kernel.SLOW] > len(slow):
        slow, found = np.empty((found[kernel.SLOW], 2), dtype=np.int64), kernel.new_found()
        kernel.parse_rows(text, least, labels, pointers, indices, values, slow, found)
    fault = None
    if found[kernel.FAULT] != kernel.FINE:
        fault = Fault(int(found[kernel.FAULT]), int(found[kernel.FAULT_AT]))
    fault = _slow_numbers(text, slow[: found[kernel.SLOW]], labels, values) or fault
    n_rows, entries = int(found[kernel.ROWS]), int(found[kernel.ENTRIES])
    rows = Compressed(pointers[: n_rows + 1], indices[:entries], values[:entries])
    return Chunk(text, labels[:n_rows], rows, found, fault)


def _slow_numbers(
    text: Text,
    slow: npt.NDArray[np.int64],
    labels: npt.NDArray[np.float64],
    values: npt.NDArray[np.float64],
) -> Fault | None:
    """Let Python read the tokens the kernel has marked; one may turn out too large for a float."""
    for entry, at in slow.tolist():
        number = float(_token(text, at))
        if math.isinf(number):
            return Fault(kernel.BAD_LABEL if entry < 0 else kernel.BAD_VALUE, at)
        if entry < 0:
            labels[-1 - entry] = number
        else:
            values[entry] = number
    return None


def _token(text: Text, at: int) -> str:
    """Return the token that begins at a byte."""
    end = at
    while int(text[end]) not in (
        kernel.SPACE,
        kernel.TAB,
        kernel.RETURN,
        kernel.NEWLINE,
        kernel.HASH,
    ):
        end += 1
    return text[at:end].tobytes().decode("utf-8", "backslashreplace")


def sentence(path: str, chunk: Chunk, fault: Fault, lines_before: int) -> str:
    """Say in one sentence where a line is wrong, and what is expected there."""
    before = chunk.text[: fault.at].tobytes()
    line = lines_before + before.count(b"\n") + 1
    column = fault.at - (before.rfind(b"\n") + 1) + 1
    token = _token(chunk.text, fault.at)
    shown = token if len(token) <= _SHOWN else token[:_SHOWN] + "..."
    where = f"{path}, line {line}, byte {column}"
    return f"{where}: {shown!r} {_explain(fault.kind, token)}"


def _explain(kind: int, token: str) -> str:
    """Finish the sentence about a token."""
    if kind == kernel.BAD_LABEL:
        return _explain_label(token)
    if kind == kernel.BAD_VALUE:
        if _is_not_finite(token):
            return "is not a finite value; expected a number such as 1, -0.5 or 1e-3"
        return "is not a number; expected a value such as 1, -0.5 or 1e-3 after the colon"
    if kind == kernel.BAD_INDEX and ":" in token:
        return "has no whole number before the colon; expected index:value with an index from 0 up"
    return {
        kernel.BAD_INDEX: "has no colon; expected index:value",
        kernel.BAD_QID: "is no query number; expected qid: and a whole number",
        kernel.INDEX_TOO_SMALL: "has index 0 where indices count from 1; use zero_based=True",
        kernel.INDEX_TOO_LARGE: "has an index above 2**62; expected a smaller one",
        kernel.NOT_RISING: "does not follow in order; expected indices that rise inside a row",
        kernel.LONE_RETURN: "is a carriage return without a newline; expected the end of a line",
    }[kind]


def _explain_label(token: str) -> str:
    if "," in token:
        return "is a list of labels (multi-label); expected one number at the start of each line"
    if ":" in token:
        return "stands where the label should; expected a number at the start of each line"
    if _is_not_finite(token):
        return "is not a finite label; expected a number at the start of each line"
    return "is not a number (a string label); expected numbers, so number the classes first"


def _is_not_finite(token: str) -> bool:
    try:
        return not math.isfinite(float(token))
    except ValueError:
        return False
