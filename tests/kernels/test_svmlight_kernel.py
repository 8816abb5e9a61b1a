"""The byte loop, compiled and as plain Python, against float() and a naive reader."""

from __future__ import annotations

import itertools
import math
import re
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels import decimal_parser
from tamis.kernels import svmlight_parser as kernel
from tamis.kernels.counting_sort import (
    count_places,
    merge_entries,
    range_of_columns,
    scatter_entries,
)
from tamis.sources.text.svmlight_rows import parse_chunk


def read(token: str):
    """Return (value, status) of a token, with status NOT_A_NUMBER if it is invalid."""
    text = np.frombuffer(token.encode() + b"\n", dtype=np.uint8)
    value, end, status = kernel.read_number(text, 0)
    if status != kernel.NOT_A_NUMBER and end != len(text) - 1:
        status = kernel.NOT_A_NUMBER
    return value, status


def same_bits(a: float, b: float) -> bool:
    return struct.pack("<d", a) == struct.pack("<d", b)


def check_token(token: str) -> None:
    value, status = read(token)
    if status == kernel.EXACT:
        assert same_bits(value, float(token)), token
    elif status == kernel.FOR_PYTHON:
        float(token)  # must not be invalid
    else:
        with pytest.raises(ValueError, match="could not convert"):
            float(token)


WELL_FORMED = st.builds(
    lambda sign, whole, part, exponent: f"{sign}{whole}{part}{exponent}",
    st.sampled_from(["", "+", "-"]),
    st.integers(0, 10**19).map(str),
    st.one_of(st.just(""), st.just("."), st.from_regex(r"\.[0-9]{1,20}", fullmatch=True)),
    st.one_of(st.just(""), st.from_regex(r"[eE][+-]?[0-9]{1,3}", fullmatch=True)),
)


@settings(max_examples=1500)
@given(WELL_FORMED)
def test_a_decimal_token_gives_the_bits_of_float(token):
    check_token(token)


@settings(max_examples=1500)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_shortest_text_of_any_float_comes_back(number):
    check_token(repr(number))
    value, status = read(f"{number:.16e}")
    assert status == kernel.FOR_PYTHON or same_bits(value, number)


@settings(max_examples=500)
@given(st.text("0123456789+-.eE_xXnaif ,", min_size=1, max_size=8).filter(lambda t: t == t.strip()))
def test_what_float_refuses_is_refused_and_the_reverse(token):
    """Apart from underscores, nan and inf, which float() takes and a svmlight file may not hold."""
    _, status = read(token)
    try:
        finite = math.isfinite(float(token)) and "_" not in token
    except ValueError:
        finite = False
    if finite:
        assert status != kernel.NOT_A_NUMBER
    else:
        assert status != kernel.EXACT


def test_halfway_cases_go_to_the_even_neighbour():
    rng = np.random.default_rng(0)
    known = 0
    for mantissa in rng.integers(2**52, 2**53, 3000).tolist():
        for power in (0, 1, 3, -3):
            token = f"{2 * mantissa + 1}e{power}"
            check_token(token)
            known += read(token)[1] == kernel.EXACT
    assert known == 12000  # the kernel itself decides; none was left for Python


def test_seventeen_digits_are_read_without_python():
    rng = np.random.default_rng(1)
    tokens = [
        repr(v) for v in (rng.normal(size=2000) * 10.0 ** rng.integers(-250, 250, 2000)).tolist()
    ]
    assert all(read(t)[1] == kernel.EXACT for t in tokens)
    for token in tokens:
        check_token(token)


#: A number of few digits, and what may follow: any byte, and a digit or not just after eight.
SHORT = st.tuples(
    st.sampled_from([b"", b"-", b"--"]),
    st.text("0123456789", max_size=16).map(str.encode),
    st.sampled_from([b".", b".", b".", b""]),
    st.text("0123456789", max_size=17).map(str.encode),
    st.one_of(st.sampled_from([b" ", b"\t", b"e5", b"E", b".", b"/", b":"]), st.binary(max_size=9)),
).map(b"".join)


@settings(max_examples=500)
@given(SHORT, st.binary(max_size=9))
def test_short_numbers_are_read_as_python_reads_them(token, rest):
    for end in (rest, b""):  # near the end of the text, and further away
        text = token + b"\n" + end + b"\n"
        found = re.match(rb"-?([0-9]*)(?:\.([0-9]*))?", text)
        digits = len(found[1]) + len(found[2] or b"")
        array = np.frombuffer(text, dtype=np.uint8)
        value, stop = kernel.read_short(array, 0)
        if 1 <= digits <= 15 and text[found.end() : found.end() + 1] not in (b"e", b"E"):
            assert stop == found.end()
            assert same_bits(value, float(found[0]))
        else:
            assert stop == 0


@pytest.mark.parametrize(
    "token",
    [
        "0",
        "-0",
        "+0.0",
        "-0e5",
        "1.",
        ".5",
        "-.5e1",
        "1E+3",
        "1e-5",
        "00012",
        "0.0000000000000000000000000001",
        "1e22",
        "1e23",
        "8.5e22",
        "9007199254740993",
        "9007199254740992",
        "123456789012345678",
        "1234567890123456789",
        "1e-22",
        "1e-23",
        "4.9e-324",
        "2.2250738585072014e-308",
        "2.2250738585072011e-308",
        "1.7976931348623157e308",
        "5e-400",
        "1e400",
        "0e999999999999",
        "1e999999",
    ],
)
def test_chosen_tokens(token):
    check_token(token)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "- 1",
        *[
            "+",
            "-",
            ".",
            "e5",
            "1e",
            "1e+",
            "1_0",
            "0x10",
            "1.2.3",
            "--1",
            "1,2",
            "nan",
            "inf",
            "1f",
            "1e1.5",
            "١",
            "Infinity",
        ],
    ],
)
def test_invalid_tokens_are_not_numbers(token):
    assert read(token)[1] == kernel.NOT_A_NUMBER


def run_plain(text: bytes, least: int = 0):
    """Run parse_rows as plain Python on its top level (helpers stay compiled)."""
    array = np.frombuffer(text, dtype=np.uint8)
    n = len(text)
    out = np.empty(n), np.empty(n + 2, np.int64), np.empty(n, np.int64), np.empty(n)
    found = kernel.new_found()
    slow, bad = np.empty((n, 2), np.int64), np.empty((0, 2), np.int64)
    kernel.parse_rows.py_func(array, least, 0, *out, slow, found, bad)
    rows, entries = found[kernel.ROWS], found[kernel.ENTRIES]
    labels, indptr, indices, values = out
    return labels[:rows], indptr[: rows + 1], indices[:entries], values[:entries], found


@pytest.mark.parametrize(
    "text",
    [
        b"1 1:2 3:4\n-1 2:0.5 # c\n\n# only\n+1 qid:7 9:1e2\r\n 0.5 \t\n",
        b"\n\n",
        b"1\n2\n",
        b"1 5:x\n",
    ],
)
def test_compiled_and_plain_agree(text):
    chunk = parse_chunk(np.frombuffer(text, dtype=np.uint8), 0)
    labels, indptr, indices, values, found = run_plain(text)
    assert found.tolist() == chunk.found.tolist()
    assert labels.tolist() == chunk.labels.tolist()
    assert indptr.tolist() == chunk.rows.indptr.tolist()
    assert indices.tolist() == chunk.rows.indices.tolist()
    assert values.tolist() == chunk.rows.data.tolist()


def test_more_slow_tokens_than_the_list_holds():
    """Every value is a token for Python, and there are more than are listed at first."""
    tokens = [f"{10**20 + i}" for i in range(1500)]
    line = tokens[0] + " " + " ".join(f"{i}:{t}" for i, t in enumerate(tokens)) + "\n"
    chunk = parse_chunk(np.frombuffer(line.encode(), dtype=np.uint8), 0)
    assert chunk.found[kernel.SLOW] == 1501
    assert chunk.rows.data.tolist() == [float(t) for t in tokens]
    assert chunk.labels.tolist() == [1e20]


def test_marks_are_counted():
    text = np.frombuffer(b"1 2:3 4:5\n# :\n", dtype=np.uint8)
    assert kernel.count_marks(text) == kernel.count_marks.py_func(text) == (3, 2)


@pytest.mark.skipif(
    np.__version__ < "2",
    reason="numpy 1 turns a sum of whole numbers with and without signs into a float",
)
def test_plain_helpers_give_the_same_number():
    for mantissa, power in [
        (3, 300),
        (2**60 + 1, -17),
        (10**18 - 1, 20),
        (7, -320),
        (1, 309),
        (9, -342),
    ]:
        assert decimal_parser.nearest_float.py_func(
            mantissa, power
        ) == decimal_parser.nearest_float(mantissa, power)
    for token in ["12.5e-30", "-1e5", ".", "1e", "1e7", "123456789012345678901"]:
        text = np.frombuffer(token.encode() + b"\n", dtype=np.uint8)
        assert kernel.read_number.py_func(text, 0) == kernel.read_number(text, 0)


@settings(max_examples=100)
@given(st.lists(st.lists(st.integers(0, 10**6), unique=True, max_size=5).map(sorted), max_size=6))
def test_the_scan_finds_what_the_parser_finds(rows):
    lines = ["1 qid:3 " + " ".join(f"{i}:1.5" for i in row) + " # 8:8" for row in rows]
    text = np.frombuffer(("\n".join(lines) + "\n# 5:5\n").encode(), dtype=np.uint8)
    parsed = parse_chunk(text, 0).found
    for scan in (kernel.scan_rows, kernel.scan_rows.py_func):
        found = kernel.new_found()
        scan(text, found)
        assert found.tolist() == parsed.tolist()


@pytest.mark.parametrize("plain", [False, True])
def test_counting_sort_kernels(plain):
    """Rows to columns by the kernels is what numpy's stable argsort gives."""
    pick = (lambda f: f.py_func) if plain else (lambda f: f)
    rng = np.random.default_rng(2)
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 5, 20))])
    lengths = np.diff(indptr)
    rows_of_places = [np.sort(rng.choice(7, n, replace=False)) for n in lengths]
    indices = np.concatenate(rows_of_places).astype(np.int32)
    values = rng.normal(size=len(indices))
    counts = np.zeros(7, dtype=np.int64)
    pick(count_places)(indices, counts)
    assert counts.tolist() == np.bincount(indices, minlength=7).tolist()
    slots = np.cumsum(counts) - counts
    rows, out = np.empty(len(indices), np.uint16), np.empty(len(indices))
    only, cursors = np.empty(len(indices), np.int32), indptr[:-1].copy()
    # Columns 0 to 3, then the rest: each row continues where it stopped.
    for lo, hi in ((0, 4), (4, 7)):
        at = int(counts[:lo].sum())
        starts = slots[lo:hi] - at
        before = cursors.copy()
        args = (indptr[1:], indices, 100, values, lo, hi)
        pick(scatter_entries)(cursors, *args, starts, rows[at:], out[at:])
        pick(scatter_entries)(before, *args, slots[lo:hi] - at, only[at:], np.empty(0))
        assert starts.tolist() == (np.cumsum(counts)[lo:hi] - at).tolist()
        assert before.tolist() == cursors.tolist()
    order = np.argsort(indices, kind="stable")
    row_of = np.repeat(np.arange(20), np.diff(indptr)) + 100
    assert rows.tolist() == row_of[order].tolist() == only.tolist()
    assert out.tolist() == values[order].tolist()


@pytest.mark.parametrize("plain", [False, True])
def test_merging_kernels(plain):
    """Two runs of three columns: the pieces of the second follow those of the first."""
    pick = (lambda f: f.py_func) if plain else (lambda f: f)
    counts = np.array([[2, 0, 1], [1, 2, 0]], dtype=np.uint16)
    slots, only = np.array([0, 3, 5]), np.array([0, 3, 5])
    rows, values, alone = np.zeros(6, np.int32), np.zeros(6), np.zeros(6, np.int32)
    for run, (first, inside) in enumerate([(0, [1, 4, 2]), (10, [3, 0, 5])]):
        given = np.array(inside, dtype=np.uint16)
        pick(merge_entries)(counts[run], given, given / 2, first, slots, rows, values)
        pick(merge_entries)(counts[run], given, given / 2, first, only, alone, np.empty(0))
    assert rows.tolist() == alone.tolist() == [1, 4, 13, 10, 15, 2]
    assert values.tolist() == [0.5, 2.0, 1.5, 0.0, 2.5, 1.0]
    assert slots.tolist() == only.tolist() == [3, 5, 6]


@pytest.mark.parametrize("plain", [False, True])
def test_ranges_of_columns(plain):
    pick = range_of_columns.py_func if plain else range_of_columns
    counts = np.array([2, 3, 9, 0, 0, 1], dtype=np.int32)
    assert pick(counts, 0, 9, 5) == 2
    assert pick(counts, 0, 1, 5) == 1
    assert pick(counts, 2, 9, 5) == 3  # one column at least
    assert pick(counts, 3, 9, 5) == 6


GOOD_LINES = [b"1 1:2 3:4", b"-1", b"0.5 2:1e2 # c", b"2 9:123456789012345678901", b"# only"]
BAD_LINES = [b"x 1:1", b"1 a:1", b"1 2:nan", b"1 3:1 2:1", b"1 2:1\rx", b"1 2:1 3", b"", b"1 0:1",
             b"1 1:123456789012345678901 2:x", b"1 2:1e999"]  # fmt: skip


@settings(max_examples=200)
@given(st.lists(st.sampled_from([*GOOD_LINES, *BAD_LINES]), max_size=30))
def test_skipping_bad_lines_keeps_the_good_ones(lines):
    def parsed(some, skip):
        text = np.frombuffer(b"".join(line + b"\n" for line in some), dtype=np.uint8)
        return parse_chunk(text, 1, skip=skip, refuse_empty=True)

    good = [line for line in lines if line not in BAD_LINES]
    found, expected = parsed(lines, True), parsed(good, False)
    assert expected.fault is None
    assert found.labels.tolist() == expected.labels.tolist()
    assert found.rows.indptr.tolist() == expected.rows.indptr.tolist()
    assert found.rows.indices.tolist() == expected.rows.indices.tolist()
    assert found.rows.data.tolist() == expected.rows.data.tolist()
    for place in (kernel.ROWS, kernel.ENTRIES, kernel.LOWEST, kernel.HIGHEST):
        if place not in (kernel.LOWEST, kernel.HIGHEST) or b"1 2:1e999" not in lines:
            assert found.found[place] == expected.found[place]
    assert found.found[kernel.LINES] == len(lines)
    wrong = [k for k, line in enumerate(lines) if line in BAD_LINES]
    assert found.lines_of(found.skipped[:, 1]).tolist() == wrong
    rows = [k for k, line in enumerate(lines) if line not in BAD_LINES and line != b"# only"]
    assert [found.line_of_row(r) for r in range(len(found.rows))] == rows


def test_parsing_past_bad_lines_compiled_and_plain_agree():
    text = np.frombuffer(b"1 1:1\nx\n2 2:2\n\n3 0:1\n4 4:4\n", dtype=np.uint8)
    n = len(text)

    def run(function):
        out = np.empty(n), np.empty(n + 1, np.int64), np.empty(n, np.int64), np.empty(n)
        found, bad = kernel.new_found(), np.zeros((n, 2), np.int64)
        found[kernel.NO_EMPTY] = 1
        count = function(text, 1, 0, *out, np.empty((n, 2), np.int64), found, bad)
        return count, bad[:count].tolist(), found.tolist(), out[0][:3].tolist()

    plain = run(kernel.parse_rows.py_func)
    assert plain == run(kernel.parse_rows)
    assert plain[:2] == (
        3, [[kernel.BAD_LABEL, 6], [kernel.EMPTY, 14], [kernel.INDEX_TOO_SMALL, 17]],
    )  # fmt: skip
    assert plain[3] == [1.0, 2.0, 4.0]


def test_labels_are_scanned_without_reading_rows():
    text = b"1 1:x\n1\n# 5\n\n-2.5 3:1\nspam\n 7\t1:1\n7 2:2\n1e 3:1\n"
    array = np.frombuffer(text, dtype=np.uint8)
    for scan in (kernel.scan_labels, kernel.scan_labels.py_func):
        labels, large = np.empty(9), np.empty(9, np.int64)
        assert scan(array, labels, large) == (3, 0)
        assert labels[:3].tolist() == [1.0, -2.5, 7.0]


def test_labels_that_floats_would_round_are_read_as_whole_numbers():
    tokens = [str(2**53), str(2**60 + 1), f"-{2**63 - 1}", str(2**63), f"+{10**18}", "1e300", "1.5"]
    text = np.frombuffer(("\n".join(f"{token} 1:1" for token in tokens) + "\n").encode(), np.uint8)
    for scan, read in (
        (kernel.scan_labels, kernel.read_whole),
        (kernel.scan_labels.py_func, kernel.read_whole.py_func),
    ):
        labels, large = np.empty(9), np.empty(9, np.int64)
        assert scan(text, labels, large) == (1, 6)
        numbers, fine = np.empty(6, np.int64), np.empty(6, np.bool_)
        read(text, large[:6], numbers, fine)
        assert fine.tolist() == [True, True, True, False, True, False]
        assert numbers[fine].tolist() == [2**53, 2**60 + 1, 1 - 2**63, 10**18]


@pytest.mark.parametrize("length", [1, kernel.STEP - 2, kernel.STEP - 1, kernel.STEP, 1000])
def test_labels_after_lines_of_any_length_are_found(length):
    lines = [f"{label} ".ljust(length, "1") for label in (3, 5, 3, 8)]
    array = np.frombuffer(("\n".join(lines) + "\n").encode(), dtype=np.uint8)
    for scan in (kernel.scan_labels, kernel.scan_labels.py_func):
        labels = np.empty(9)
        assert scan(array, labels, np.empty(9, np.int64)) == (4, 0)
        assert labels[:4].tolist() == [3.0, 5.0, 3.0, 8.0]


INDICES = ["0", "1", "9", "10", "1234567", "12345678", "123456789", str(2**53 + 1), str(2**62), ""]
VALUES = [
    "1", "-1", "-0", "0.585658", "-2.500000", "-0.000000", "9.999999", "1.5", "12.500000", "1.",
    "0.5856587", "0.585658e3", "1e5", "+1", ".123456", "1.123456x", "5x", "-", "", "nan",
]  # fmt: skip


@pytest.mark.parametrize("gap", [" ", "  ", "\t", "\t ", " #", "\r\n", "\n"])
def test_entries_are_the_same_near_the_end_of_the_text(gap):
    # Only far from the end are entries read eight bytes at a time.
    def outcome(text, lines):
        chunk = parse_chunk(np.frombuffer(text.encode(), dtype=np.uint8), 0, skip=True)
        skipped = [line for line in chunk.lines_of(chunk.skipped[:, 1]) if line < lines]
        rows = chunk.rows.part(0, min(len(chunk.rows), lines - len(skipped)))
        kinds = chunk.skipped[: len(skipped)].tolist()
        return kinds, rows.indptr.tolist(), rows.indices.tolist(), rows.data.tobytes()

    for first, second, value in itertools.product(INDICES, INDICES, VALUES):
        # The second index is as long as the first, or not; the last value ends the text.
        line = f"1 {first}:{value}{gap}{second}:{value}\n"
        lines = line.count("\n")
        assert outcome(line, lines) == outcome(line + "1 1:1\n" * 8, lines), line


def test_indices_less_their_base():
    text = np.frombuffer(b"1 1:1 20:2.500000\n1 3:1\n" * 9, dtype=np.uint8)
    chunk, plain = parse_chunk(text, 1, 1), parse_chunk(text, 1)
    assert chunk.rows.indices.tolist() == (plain.rows.indices - 1).tolist()
    assert chunk.found.tolist() == plain.found.tolist()


@pytest.mark.parametrize("length", [1, 127, 128, 129, 1000])
def test_marks_are_counted_in_texts_of_any_length(length):
    text = np.frombuffer((b":" * 300 + b"1 1:1\n" * 300)[-length:], dtype=np.uint8)
    counts = [np.count_nonzero(text == mark) for mark in (kernel.COLON, kernel.NEWLINE)]
    assert list(kernel.count_marks(text)) == counts
    assert list(kernel.count_marks.py_func(text)) == counts
