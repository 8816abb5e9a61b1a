"""CsvSource against the csv module, pandas and polars; what is wrong is one sentence."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.core.errors import DataWarning, InputError, ParameterError, SourceError
from tamis.sources.axis import to_columns
from tamis.sources.text import csv_text
from tamis.sources.text.csv_table import open_csv
from waiting import PATIENCE


def frame(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 90, n),
            "dose": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "smokes": rng.random(n) < 0.5,
            "died": rng.choice(["no", "yes"], n),
            "id": [f"p{i}" for i in range(n)],
        }
    )


def expected(table: pd.DataFrame) -> np.ndarray:
    colour = np.unique(table["colour"].astype(str), return_inverse=True)[1]
    columns = [table["age"], table["dose"], colour, table["smokes"]]
    return np.column_stack([np.asarray(c, dtype=float) for c in columns])


def refused(path, text: bytes, **options) -> str:
    path.write_bytes(text)
    with pytest.raises((SourceError, InputError)) as caught:
        open_csv(path, **options).load()
    message = str(caught.value)
    assert message.startswith(str(path)), message
    assert "\n" not in message
    return message.removeprefix(str(path)).lstrip(": ")


# --- what is read ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.csv.bz2", "a.csv.zst"])
def test_what_pandas_writes_comes_back(tmp_path, name):
    table = frame()
    text = table.to_csv(index=False, sep="\t" if ".tsv" in name else ",").encode()
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "zst": zstandard.ZstdCompressor().compress}
    (tmp_path / name).write_bytes(pack.get(name.rsplit(".", 1)[1], bytes)(text))
    source = tamis.open(tmp_path / name, target="died", key="id")
    X, y = source.load()
    assert np.array_equal(X, expected(table))
    assert y.tolist() == table["died"].tolist()
    assert list(source.names()) == ["age", "dose", "colour", "smokes"]
    assert source.words().tolist() == [False, False, True, False]
    assert (source.axis, source.info().layout) == ("columns", "dense")


def test_what_polars_writes_comes_back(tmp_path):
    polars = pytest.importorskip("polars")
    table = frame()
    polars.from_pandas(table).write_csv(tmp_path / "a.csv")
    assert np.array_equal(open_csv(tmp_path / "a.csv", "died", key="id").load()[0], expected(table))


@pytest.mark.parametrize("longest_line", [60, 200, 10_000])
def test_a_file_larger_than_memory_gives_the_same_numbers(tmp_path, longest_line):
    table = frame()
    table.to_csv(tmp_path / "a.csv", index=False)
    source = open_csv(tmp_path / "a.csv", "died", key="id", memory=2_000, longest_line=longest_line)
    assert source.axis == "rows"
    assert np.array_equal(source.load()[0], expected(table))
    for width in (1, 3, None):
        blocks = list(to_columns(source).columns(width))
        assert np.array_equal(np.hstack([b.values for b in blocks]), expected(table))
        assert [n for b in blocks for n in b.names] == ["age", "dose", "colour", "smokes"]
        assert np.concatenate([b.is_text for b in blocks]).tolist() == [False, False, True, False]
    assert sorted(os.listdir(tmp_path)) == ["a.csv"]


cell = st.one_of(
    st.integers(-999, 999).map(str),
    st.floats(-1e6, 1e6).map(repr),
)
word = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=6)


@settings(max_examples=60)
@given(st.data())
def test_what_the_csv_module_writes_comes_back(tmp_path_factory, data):
    """Quotes, commas, newlines and any letter, in names and in words."""
    n = data.draw(st.integers(1, 8))
    names = data.draw(
        st.lists(word.filter(str.strip), min_size=2, max_size=5, unique=True), label="names"
    )
    numbers = [[data.draw(cell) for _ in names] for _ in range(n)]
    words = [data.draw(word.map(lambda w: "w" + w), label="word") for _ in range(n)]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([*names, "the words", "target"])
    for i, row in enumerate(numbers):
        writer.writerow([*row, words[i], i % 2])
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(text.getvalue().encode())
    for memory in (10**9, 300):
        source = open_csv(path, "target", memory=memory, longest_line=4_000)
        X, y = source.load()
        assert list(source.names()) == [*names, "the words"]
        assert np.array_equal(X[:, :-1], np.array(numbers, dtype=float))
        assert X[:, -1].tolist() == [sorted(set(words)).index(w) for w in words]
        assert y.tolist() == [i % 2 for i in range(n)]


def test_names_with_quotes_newlines_and_html_are_names(tmp_path):
    odd = ['say "hi"', "two\nlines", "<b onclick='x'>bold</b>", "a,b", " spaced "]
    table = pd.DataFrame(np.eye(5), columns=odd).assign(y=[0, 1, 0, 1, 0])
    table.to_csv(tmp_path / "a.csv", index=False)
    source = open_csv(tmp_path / "a.csv", "y")
    assert list(source.names()) == odd
    run = tamis.select(source)
    assert odd[0] in run.log.why(odd[0])


def test_without_a_header_columns_are_numbered(tmp_path):
    (tmp_path / "a.csv").write_text("1;5;a\n2;6;b\n3;7;a\n")
    source = open_csv(tmp_path / "a.csv", "x2", header=False, delimiter=";")
    assert list(source.names()) == ["x0", "x1"]
    assert source.load()[0].tolist() == [[1, 5], [2, 6], [3, 7]]
    assert source.target().tolist() == ["a", "b", "a"]


def test_categorical_numbers_are_text_and_ignored_columns_are_not_read(tmp_path):
    (tmp_path / "a.csv").write_text("zip,when,x,y\n10,2024-01-01,1,0\n9,never,2,1\n100,x,3,1\n")
    source = open_csv(tmp_path / "a.csv", "y", ignore="when", categorical=["zip"])
    assert source.load()[0].tolist() == [[0, 1], [2, 2], [1, 3]]  # "10" < "100" < "9"
    assert source.words().tolist() == [True, False]


def test_missing_values_are_nan_and_reported_by_column_when_selecting(tmp_path):
    (tmp_path / "a.csv").write_text("a,w,y\n1,u,0\n,v,1\nNA,,0\n4,u,1\n?,v,1\n")
    source = open_csv(tmp_path / "a.csv", "y", na="?")
    assert np.array_equal(
        source.load()[0], [[1, 0], [np.nan, 1], [np.nan, np.nan], [4, 0], [np.nan, 1]], True
    )
    with pytest.raises(InputError, match=r"NaN .*in column 'a'"):
        tamis.select(source, "saola")


def test_a_column_with_text_in_late_rows_is_text(tmp_path):
    """The type of a column does not depend on what the first lines hold."""
    names = "".join(f"w{i % 7}\n" for i in range(2_000))
    lines = [f"{i},{w},{i % 2}" for i, w in enumerate(("\n" * 50 + names).split("\n")[:2_000])]
    (tmp_path / "a.csv").write_text("n,w,y\n" + "\n".join(lines) + "\n")
    whole = open_csv(tmp_path / "a.csv", "y").load()[0]
    pieces = open_csv(tmp_path / "a.csv", "y", longest_line=100).load()[0]
    assert np.array_equal(whole, pieces, equal_nan=True)
    assert np.isnan(whole[:50, 1]).all()
    assert set(whole[50:, 1]) == set(range(7))


# --- what is refused ------------------------------------------------------------------------------

BAD = {
    "header without the target": (
        b"a,b\n1,2\n", "has no column 'y', which target names; it has 'a', 'b'",
    ),
    "target in other letters": (
        b"a,Y\n1,2\n", "has no column 'y', which target names; did you mean 'Y'?",
    ),
    "duplicate names": (b"a,a,y\n1,2,3\n", "has two columns named 'a'; rename one of them"),
    "a short line, after an empty one": (
        b"a,b,y\n1,2,0\n\n3,4\n",
        "line 4 has 2 values where the lines before have 3; fix or remove the line",
    ),
    "a long line, after a value of two lines": (
        b'a,b,y\n"1",2,"u\nv"\n3,4,1,9\n',
        "line 4 has 4 values where the lines before have 3; fix or remove the line",
    ),
    "a NUL byte": (
        b"a,b,y\n1,2,3\n1,\0,4\n",
        "line 3 holds a NUL byte, so it is damaged or not plain text; save it as UTF-8",
    ),
    "a line of 10 MB": (
        b"a,y\n1,2\n" + b"7" * 10_000_000 + b",2\n",
        "line 3 is longer than 8,000,000 bytes; look for a quote that is never closed, or bytes "
        "that are not text",
    ),
    "a quote that is never closed": (
        b'a,b,y\n1,2,3\n1,9,"4\n3,4,5\n',
        "line 3: a quote is opened and never closed; close it",
    ),
    "a quote that is never closed, in a column that is not read": (
        b'a,y,z\n1,2,3\n1,9,"4\n3,4,5\n',
        "line 3: a quote is opened and never closed; close it",
    ),
    "a quote that swallows lines": (
        b'a,b,y\n1,2,3\n1,"9,4\n' + b"3,4,5\n" * 3,
        "line 3 has 2 values where the lines before have 3; close the quote opened there",
    ),
    "numbers with a line break": (
        b'a,b,y\n1,"-3\n",0\n2,"4.5\n",1\n',
        "column 'b' holds numbers and also '-3\\n'; fix it, say that this means a missing value "
        "with na= (--na), or name the column in categorical= (--categorical)",
    ),
    "numbers and a word": (
        b"a,y\n1,0\n2,1\nn.a.,1\n",
        "column 'a' holds numbers and also 'n.a.'; fix it, say that this means a missing value "
        "with na= (--na), or name the column in categorical= (--categorical)",
    ),
    "numbers of accounts": (
        b"a,y\n90071992547409931,4\n",
        "column 'a' holds whole numbers beyond 2^53, which floats cannot represent exactly; leave "
        "it out with ignore= (--ignore), or name it in categorical= (--categorical)",
    ),
    "a header alone": (b"a,y\n", "has a header and no rows; give at least one row"),
    "empty lines alone": (
        b"\n\n", "holds no line; give a file with a header and at least one row",
    ),
    "nothing": (b"", "is empty; give a file with at least one row"),
    "only the target": (b"y\n1\n", "has no column left that could be a feature; it has 'y'"),
    "half of a gzip file": (
        gzip.compress(b"a,y\n1,2\n" * 1000)[:40],
        "is a truncated or damaged gzip file near byte 40 (Compressed file ended before the "
        "end-of-stream marker was reached); fetch or write it again",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_errors_are_one_sentence(tmp_path, case):
    text, sentence = BAD[case]
    ignore = "z" if b"z\n" in text else ()
    assert refused(tmp_path / "bad.csv", text, target="y", ignore=ignore) == sentence


def test_inch_marks_are_not_open_quotes(tmp_path):
    (tmp_path / "a.csv").write_text('size,y\n5" pipe,0\nrod,1\n')
    assert open_csv(tmp_path / "a.csv", "y").load()[0].tolist() == [[0], [1]]


def test_a_long_line_is_read_where_it_is_allowed(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,y\n1,u\n2," + b"v" * 9_000_000 + b"\n")
    source = open_csv(tmp_path / "a.csv", "y", longest_line=10_000_000)
    assert source.load()[0].tolist() == [[1], [2]]


def test_a_symlink_loop_is_one_sentence(tmp_path):
    for name in ("a.csv", "b.csv"):
        os.symlink("b.csv" if name == "a.csv" else "a.csv", tmp_path / name)
    with pytest.raises(SourceError, match=r"a\.csv cannot be read \(Too many levels"):
        tamis.open(tmp_path / "a.csv", target="y")


def test_parameters_are_checked(tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n1,2\n")
    with pytest.raises(ParameterError, match="delimiter='--' is not one plain character"):
        open_csv(tmp_path / "a.csv", "y", delimiter="--")
    with pytest.raises(SourceError, match="the csv reader has no option 'tokens'"):
        tamis.open(tmp_path / "a.csv", tokens="a")


BOMB = """
import resource, sys, tamis
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
try:
    source = tamis.open(sys.argv[1], target="y")
    source.target()
except tamis.TamisError as error:
    print(error)
# Not ru_maxrss, which a new process inherits from the one that started it.
print(next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmHWM")) // 1024)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for the peak")
@pytest.mark.parametrize("start", [b"", b"a,y\n1,2\n"])
def test_a_bomb_of_one_line_is_refused_in_bounded_memory(tmp_path, start):
    """Ten gigabytes of zeros compress to ten megabytes, and must not all be decompressed."""
    path = tmp_path / "bomb.csv.gz"
    zeros = gzip.compress(bytes(b"0" * (1 << 24)), 9)
    path.write_bytes(gzip.compress(start) + zeros * 640)  # members of a gzip file follow each other
    done = subprocess.run(
        [sys.executable, "-c", BOMB, str(path)], capture_output=True, text=True, timeout=PATIENCE
    )
    message, peak = done.stdout.splitlines()
    line = 1 + start.count(b"\n")
    assert message == (
        f"{path} line {line} is longer than 8,000,000 bytes; look for a quote that is never "
        "closed, or bytes that are not text"
    )
    assert int(peak) < 400, "megabytes"


def test_a_first_column_without_a_name_is_row_labels(tmp_path):
    table = pd.DataFrame({"a": [1.5, 2, 3], "y": [0, 1, 0]}, index=[7, 8, 9])
    table.to_csv(tmp_path / "a.csv")
    source = tamis.open(tmp_path / "a.csv", target="y")
    assert list(source.names()) == ["a"]
    assert source.info().details["row_labels_passed_over"] == "''"
    opened = tamis.open(tmp_path / "a.csv", target="y", categorical=[""])
    assert list(opened.names()) == ["", "a"]
    assert opened.load()[0].tolist() == [[0, 1.5], [1, 2], [2, 3]]


DATES = {
    "ISO": (["2024-02-29", "1970-01-01"], [19782.0, 0.0]),
    "ISO with times": (["1970-01-01 12:00:00", "1970-01-02T06:00"], [0.5, 1.25]),
    "German": (["29.02.2024", "1.1.1970 18:00"], [19782.0, 0.75]),
    "days first": (["29/02/2024", "01/01/1970"], [19782.0, 0.0]),
    "months first": (["02/29/2024", "01/01/1970"], [19782.0, 0.0]),
    "names of months": (["29 Feb 2024", "1-January-1970"], [19782.0, 0.0]),
}


@pytest.mark.parametrize("case", DATES)
@pytest.mark.parametrize("memory", [10**9, 100])
def test_dates_become_days_on_request(tmp_path, case, memory):
    written, days = DATES[case]
    lines = [f"{value},{i},{i % 2}" for i, value in enumerate([*written, ""])]
    (tmp_path / "a.csv").write_text("when,x,y\n" + "\n".join(lines) + "\n")
    how = {"target": "y", "memory": memory}
    source = open_csv(tmp_path / "a.csv", dates="number", **how)
    np.testing.assert_allclose(source.load()[0][:, 0], [*days, np.nan], rtol=0, atol=1e-12)
    with pytest.warns(DataWarning, match="'when' holds dates and was left out; to use dates as"):
        left = open_csv(tmp_path / "a.csv", **how)
    assert list(left.names()) == ["x"]
    assert left.load()[0].tolist() == [[0], [1], [2]]


def test_what_is_no_date_in_a_column_of_dates_is_an_error(tmp_path):
    early = "".join(f"{i % 12 + 1:02}/{i % 12 + 1:02}/2024,{i},{i % 2}\n" for i in range(3_000))
    text = f"when,x,y\n{early}".encode()
    assert refused(tmp_path / "a.csv", text, target="y", dates="number") == (
        "column 'when' has dates such as '01/01/2024', in which day and month are not clear; write "
        "them as 2024-12-31, or leave the column out with ignore= (--ignore)"
    )
    late = refused(tmp_path / "a.csv", text + b"never,1,1\n", target="y", dates="ignore")
    assert late == (
        "column 'when' holds dates and also 'never'; leave it out with ignore= (--ignore), or name "
        "it in categorical= (--categorical)"
    )
    # Dates of both orders are dates, and are not read where they are left out.
    (tmp_path / "a.csv").write_bytes(text + b"31/12/2024,1,1\n12/31/2024,1,1\n")
    assert open_csv(tmp_path / "a.csv", "y", dates="ignore").n_rows == 3_002


def test_a_file_too_wide_for_the_memory_is_refused_before_it_is_filled(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("y" + "," * 200 + "\n" + "".join(f"{i % 2}{',' * 200}\n" for i in range(4)))
    monkeypatch.setattr(csv_text, "available_bytes", lambda: 201 * 12_000.0)
    assert tamis.open(path, target="y").n_rows == 4
    monkeypatch.setattr(csv_text, "available_bytes", lambda: 200 * 12_000.0)
    with pytest.raises(SourceError, match=r"a\.csv has 201 columns, which need about 0\.0 GB as"):
        tamis.open(path, target="y")


def test_a_wide_file_is_converted_in_few_blocks(tmp_path):
    """Each block costs something for each column, so that small ones would cost its square."""
    n, p = 500, 4_000
    values = np.random.default_rng(0).integers(0, 10, (n, p))
    values[:, 0] = np.arange(n) % 2
    lines = [",".join(map(str, row)) for row in values.tolist()]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(["y", *(f"x{j}" for j in range(1, p))]), *lines, ""]))
    assert path.stat().st_size > 3 * csv_text._BLOCK
    source = open_csv(path, "y")
    text = source._text
    types = dict.fromkeys(text.names, pa.float64())
    assert len(list(text.batches(types))) == 1
    narrow = dict.fromkeys(text.names[:2], pa.float64())
    assert sum(batch.num_rows for batch in text.batches(narrow)) == n
    found = np.hstack([block.values for block in source.columns()])
    np.testing.assert_array_equal(found, values[:, 1:])
