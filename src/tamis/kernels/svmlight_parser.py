"""Parse svmlight text: a loop over bytes, exact to the last bit (see `decimal_parser`).

The text must end with a newline: it ends every inner loop, so no loop tests for the end of text.
Most entries are written alike. Those are read eight bytes at a time, where enough bytes follow.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels._jit import always_inline, inline
from tamis.kernels.decimal_parser import (
    DOT,
    EXACT,
    FOR_PYTHON,
    MINUS,
    NOT_A_NUMBER,
    PLUS,
    SIGNS,
    ZERO,
    byte,
    digits_of,
    eight,
    number_of,
    read_digits,
    read_number,
    read_short,
)

TAB, NEWLINE, RETURN, SPACE, HASH, COLON = 9, 10, 13, 32, 35, 58

#: The largest index that is read; one more than it still fits an int64.
LARGEST_INDEX = 2**62

#: From here on, different whole numbers can be the same float64.
LARGEST_EXACT = 2.0**53

#: The largest whole number that a label may be.
LARGEST_WHOLE = 2**63 - 1

#: Bytes that are searched together for the end of a line.
STEP = 128

#: Bytes that an entry as most are written may take, with those that are looked at behind it.
ROOM = 24

#: Positions in the `found` array of `parse_rows` and `scan_rows`. The last is set by the caller:
#: whether an empty line is a fault.
ROWS, ENTRIES, LINES, LOWEST, HIGHEST, SLOW, FAULT, FAULT_AT, NO_EMPTY = range(9)
FOUND = 9

#: Codes of faults of a line.
FINE, BAD_LABEL, BAD_QID, BAD_INDEX, BAD_VALUE, LONE_RETURN = range(6)
INDEX_TOO_SMALL, INDEX_TOO_LARGE, NOT_RISING, NOT_FINITE, EMPTY = range(6, 11)


@inline
def count_marks(text):
    """Count colons and newlines: upper bounds of the numbers of entries and rows."""
    colons, newlines = 0, 0
    whole = len(text) - len(text) % STEP
    for start in range(0, whole, STEP):
        # Numbers of 8 bits, so that many bytes are compared at once.
        some, c, n = text[start : start + STEP], np.uint8(0), np.uint8(0)
        for k in range(STEP):
            c = np.uint8(c + np.uint8(some[k] == COLON))
            n = np.uint8(n + np.uint8(some[k] == NEWLINE))
        colons += int(c)
        newlines += int(n)
    for k in range(whole, len(text)):
        colons += text[k] == COLON
        newlines += text[k] == NEWLINE
    return colons, newlines


@inline
def _skip_blanks(text, i):
    while byte(text, i) == SPACE or byte(text, i) == TAB:
        i += 1
    return i


@inline
def _ends_token(c):
    return c in (SPACE, NEWLINE, RETURN, TAB, HASH)


@inline
def _skip_query(text, i):
    """Skip ``qid:n`` and the blanks after it, if present; return -1 if n is not a number."""
    # q, i, d, colon; a newline ends the comparison before the text ends
    if not (text[i] == 113 and text[i + 1] == 105 and text[i + 2] == 100 and text[i + 3] == COLON):
        return i
    i += 4
    start = i
    _, i = read_digits(text, i, 0)
    return _skip_blanks(text, i) if i > start and _ends_token(byte(text, i)) else -1


@inline
def _line_end(text, i):
    """Go from a comment or a line end to the newline; return -1 for a lone carriage return."""
    if byte(text, i) == HASH:
        while byte(text, i) != NEWLINE:
            i += 1
    if byte(text, i) == RETURN:
        i += 1
        if byte(text, i) != NEWLINE:
            return -1
    return i


@inline
def _mark_slow(entry, at, slow, found):
    """List a token for Python, or only count it if the list is full."""
    if found[SLOW] < len(slow):
        slow[found[SLOW], 0] = entry
        slow[found[SLOW], 1] = at
    found[SLOW] += 1


@inline
def _is_named(text, i):
    """Return True if a token begins like nan or inf."""
    if byte(text, i) == MINUS or byte(text, i) == PLUS:
        i += 1
    return byte(text, i) in (78, 110, 73, 105)  # N, n, I, i


@always_inline
def _usual_entry(text, i, width):
    """Read an entry as most are written: (index, value, end, width), with index -1 for others.

    That is up to eight digits, a colon, and a value of one digit, or of one digit, a point and six
    decimals, without a sign or with a minus. At least `ROOM` bytes must follow.
    """
    word = eight(text, i)
    n = digits_of(word)
    if n != width or byte(text, i + width) != COLON:
        return -1, 0.0, i, max(n, 1)
    index, at = number_of(word, n), i + width + 1
    negative = int(byte(text, at) == MINUS)
    at += negative  # no branch: signs are unpredictable
    digit, after = byte(text, at) - ZERO, byte(text, at + 1)
    if not 0 <= digit <= 9:
        return -1, 0.0, i, width
    if after == DOT:
        word = eight(text, at + 2)
        after = byte(text, at + 8)
        if digits_of(word) == 6 and after in (SPACE, NEWLINE):
            value = float(digit * 1_000_000 + number_of(word, 6)) / 1e6
            return index, value * SIGNS[np.uint64(negative)], at + 8, width
    elif after in (SPACE, NEWLINE):
        return index, float(digit) * SIGNS[np.uint64(negative)], at + 1, width
    return -1, 0.0, i, width


@inline
def _any_entry(text, i, before, rises, found):
    """Read any entry: (index, value, end, status); the end of a fault is where it is."""
    index, colon = read_digits(text, i, 0)
    if byte(text, colon) != COLON:
        found[FAULT] = BAD_INDEX
    elif index > LARGEST_INDEX or index < 0 or colon - i > 19:  # below 0: it overflowed
        found[FAULT] = INDEX_TOO_LARGE
    elif index <= before:
        found[FAULT] = NOT_RISING if rises else INDEX_TOO_SMALL
    if found[FAULT] != FINE:
        return index, 0.0, i, NOT_A_NUMBER
    status, start = EXACT, colon + 1
    value, end = read_short(text, start)
    if end == 0:
        value, end, status = read_number(text, start)
    if status == NOT_A_NUMBER or not _ends_token(byte(text, end)):
        found[FAULT] = NOT_FINITE if _is_named(text, start) else BAD_VALUE
        return index, value, start, status
    return index, value, end, status


@inline
def _entries(text, i, least, base, indices, values, slow, found):
    """Read the ``index:value`` entries of one row; return where they end; found[FAULT] is set."""
    at = found[ENTRIES]
    before = least - 1
    first, last, width = at, len(text) - ROOM, 1
    while True:
        index, value, end = -1, 0.0, i
        if i <= last:
            index, value, end, width = _usual_entry(text, i, width)
        if index <= before:
            i = _skip_blanks(text, i)
            if not 0 <= byte(text, i) - ZERO <= 9:
                break
            index, value, end, status = _any_entry(text, i, before, at > first, found)
            if found[FAULT] != FINE:
                return end
            if status == FOR_PYTHON:
                _mark_slow(at, read_digits(text, i, 0)[1] + 1, slow, found)
        indices[np.uint64(at)] = index - base
        values[np.uint64(at)] = value
        at += 1
        before = index
        i = end
        if byte(text, end) == SPACE:
            i = end + 1
        elif byte(text, end) == NEWLINE:
            break
    if at > first:
        found[LOWEST] = min(found[LOWEST], indices[first] + base)
        found[HIGHEST] = max(found[HIGHEST], before)
    found[ENTRIES] = at
    return i


@inline
def _row(text, i, least, base, labels, indptr, indices, values, slow, found):
    """Read one line; return the byte of its newline or, if found[FAULT] is set, of the fault."""
    start = i = _skip_blanks(text, i)
    if byte(text, i) != NEWLINE and byte(text, i) != HASH and byte(text, i) != RETURN:
        value, end, status = read_number(text, i)
        if status == NOT_A_NUMBER or not _ends_token(byte(text, end)):
            found[FAULT] = BAD_LABEL
            return i
        row = found[ROWS]
        if status == FOR_PYTHON or abs(value) >= LARGEST_EXACT:
            _mark_slow(-1 - row, i, slow, found)
        labels[row] = value
        start = _skip_blanks(text, end)
        i = _skip_query(text, start)
        if i < 0:
            found[FAULT] = BAD_QID
            return start
        start = i = _entries(text, i, least, base, indices, values, slow, found)
        if found[FAULT] == FINE and not _ends_token(byte(text, i)):
            found[FAULT] = BAD_INDEX
        if found[FAULT] != FINE:
            return i
        found[ROWS] = row + 1
        indptr[row + 1] = found[ENTRIES]
    elif found[NO_EMPTY] and byte(text, i) != HASH:
        found[FAULT] = EMPTY
    i = _line_end(text, i)
    if i < 0:
        found[FAULT] = LONE_RETURN
        return start
    return i


@inline
def parse_rows(text, least, base, labels, indptr, indices, values, slow, found, bad):
    """Parse whole lines; skip those with a fault while `bad` has room. Return the number skipped.

    `bad` lists (code, byte) of each; the first for which it has no room ends the parsing, and is in
    `found`. `least` is the smallest index allowed, `base` is subtracted from all. `labels`,
    `indptr`, `indices` and `values` are filled from their beginning and must be long enough: see
    `count_marks`. `slow` lists the tokens for Python's float, and labels that a float may not hold:
    (entry, byte), with entry -1 - row for a label; if it is too short for found[SLOW] of them,
    parse again with a longer one. `found` receives the counts and the fault; it must start as
    `new_found()`.
    """
    i, skipped = 0, 0
    indptr[0] = 0
    while i < len(text):
        start, row, entries = i, found[ROWS], found[ENTRIES]
        lowest, highest = found[LOWEST], found[HIGHEST]
        i = _row(text, i, least, base, labels, indptr, indices, values, slow, found)
        if found[FAULT] != FINE:
            found[FAULT_AT] = i
            found[ROWS], found[ENTRIES] = row, entries
            found[LOWEST], found[HIGHEST] = lowest, highest
            if skipped == len(bad):
                break
            bad[skipped, 0] = found[FAULT]
            bad[skipped, 1] = i
            skipped += 1
            found[FAULT] = FINE
            while 0 < found[SLOW] <= len(slow) and slow[found[SLOW] - 1, 1] >= start:
                found[SLOW] -= 1
            i = start
            while byte(text, i) != NEWLINE:
                i += 1
        i += 1
        found[LINES] += 1
    return skipped


@inline
def may_hold_zero(text):
    """Return False only if no index of the text is 0; tests three bytes at a time, many at once."""
    found = False
    for k in range(len(text) - 2):
        blank = (text[k] == SPACE) | (text[k] == TAB)
        found |= blank & (text[k + 1] == ZERO) & ((text[k + 2] == COLON) | (text[k + 2] == ZERO))
    return found


@inline
def _next_line(text, i):
    """Return where the next line begins; tests many bytes at once while they hold no newline."""
    while i + STEP <= len(text):
        some, newlines = text[i : i + STEP], np.uint8(0)
        for k in range(STEP):
            newlines = np.uint8(newlines | np.uint8(some[k] == NEWLINE))
        if newlines:
            break
        i += STEP
    while byte(text, i) != NEWLINE:
        i += 1
    return i + 1


@inline
def scan_labels(text, labels, large):
    """List the labels of rows, each run of the same one once; return their number.

    Those that a float may not hold are listed by the byte where they begin, in `large`; their
    number is returned second. Labels that are not numbers are skipped: `parse_rows` reports them.
    """
    count, n_large = 0, 0
    i = 0
    while i < len(text):
        i = _skip_blanks(text, i)
        value, end, status = read_number(text, i)
        is_label = status != NOT_A_NUMBER and _ends_token(byte(text, end))
        if is_label and (status == FOR_PYTHON or abs(value) >= LARGEST_EXACT):
            large[n_large] = i
            n_large += 1
        elif is_label and (count == 0 or labels[count - 1] != value):
            labels[count] = value
            count += 1
        i = _next_line(text, i)
    return count, n_large


@inline
def read_whole(text, at, numbers, fine):
    """Read the whole numbers that begin at some bytes; `fine` says which are ones of 64 bits."""
    for k in range(len(at)):
        i = at[k]
        negative = byte(text, i) == MINUS
        i += int(negative or byte(text, i) == PLUS)
        first, number, fits = i, 0, True
        digit = byte(text, i) - ZERO
        while 0 <= digit <= 9:
            fits &= number <= (LARGEST_WHOLE - digit) // 10
            number = number * 10 + digit if fits else 0
            i += 1
            digit = byte(text, i) - ZERO
        numbers[k] = -number if negative else number
        fine[k] = fits and i > first and _ends_token(byte(text, i))


@inline
def scan_rows(text, found):
    """Count rows and entries, and find the lowest and highest index, without reading values.

    Malformed tokens are skipped: `parse_rows` reports them.
    """
    i = 0
    while i < len(text):
        i = _skip_blanks(text, i)
        if byte(text, i) != NEWLINE and byte(text, i) != HASH and byte(text, i) != RETURN:
            found[ROWS] += 1
        number = -1  # the digits of the token so far; -1 before them, -2 after any other byte
        c = byte(text, i)
        while c != NEWLINE and c != HASH:
            if ZERO <= c <= 57:
                if number >= -1:
                    number = max(number, 0) * 10 + c - ZERO
            elif c in (SPACE, TAB):
                number = -1
            else:
                if c == COLON and 0 <= number <= LARGEST_INDEX:
                    found[ENTRIES] += 1
                    found[LOWEST] = min(found[LOWEST], number)
                    found[HIGHEST] = max(found[HIGHEST], number)
                number = -2
            i += 1
            c = byte(text, i)
        while byte(text, i) != NEWLINE:
            i += 1
        i += 1
        found[LINES] += 1


def new_found() -> npt.NDArray[np.int64]:
    """Return the `found` array for the start of a text."""
    found = np.zeros(FOUND, dtype=np.int64)
    found[LOWEST], found[HIGHEST] = np.iinfo(np.int64).max, -1
    return found
