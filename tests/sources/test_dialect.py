"""Delimiters and decimal marks are found, said and recorded; what is not clear is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.core.errors import DataWarning, ParameterError, SourceError


def read(path, text: str, said: str | None = None, encoding: str = "utf-8", **options):
    """Return names and numbers; what is said about the file must contain `said`, or be nothing."""
    path.write_bytes(text.encode(encoding))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        source = tamis.open(path, target="y", **options)
        found = list(source.names()), source.load()[0].tolist()
    messages = [str(one.message) for one in caught]
    if said is None:
        assert messages == []
    else:
        assert len(messages) == 1
        assert said in messages[0]
        assert "\n" not in messages[0]
    return found


def refused(path, text: str, **options) -> str:
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(SourceError) as caught:
            tamis.open(path, target="y", **options).load()
    return str(caught.value).removeprefix(f"{path}: ")


GOOD = {
    "German Excel": (
        "dose;price;town;y\n1,5;1.234,56;Bonn;0\n2,25;99,00;Köln;1\n-0,5;12.345.678,9;Bonn;0\n",
        ["dose", "price", "town"],
        [[1.5, 1234.56, 0], [2.25, 99.0, 1], [-0.5, 12345678.9, 0]],
        "separated by semicolons and decimals are written with a comma",
    ),
    "semicolons and points": (
        "a;b;y\n1.5;2;0\n2.5;3;1\n", ["a", "b"], [[1.5, 2], [2.5, 3]], "separated by semicolons;",
    ),
    "tabs and commas": (
        "a\tb\ty\n1,5\t2,5\t0\n3,5\t4,5\t1\n", ["a", "b"], [[1.5, 2.5], [3.5, 4.5]],
        "separated by tabs and decimals are written with a comma",
    ),
    "bars": ("a|b|y\n1|2.5|0\n3|4.5|1\n", ["a", "b"], [[1, 2.5], [3, 4.5]], "separated by bars"),
    "spaces, several of them": (
        "  a    b  y\n  1.5  2  0\n 10.5 20  1\n", ["a", "b"], [[1.5, 2], [10.5, 20]],
        "separated by spaces",
    ),
    "spaces and decimal commas": (
        "a b y\n1,5 2,5 0\n3,5 4,5 1\n", ["a", "b"], [[1.5, 2.5], [3.5, 4.5]],
        "separated by spaces and decimals are written with a comma",
    ),
    "everything in quotes, with decimal commas": (
        '"a","b","y"\n"1,5","2,25","0"\n"3,5","4,5","1"\n', ["a", "b"], [[1.5, 2.25], [3.5, 4.5]],
        "decimals are written with a comma",
    ),
    "English thousands in quotes": (
        'a,b,y\n"1,234.5",2,0\n"12,000.25",3,1\n', ["a", "b"], [[1234.5, 2], [12000.25, 3]], None,
    ),
    "thousands with spaces and apostrophes": (
        "a;b;y\n1 234,5;1'000,5;0\n2,5;2,5;1\n", ["a", "b"], [[1234.5, 1000.5], [2.5, 2.5]],
        "decimals are written with a comma",
    ),
    "thousands, where another column shows the decimal mark": (
        "a;b;y\n1.234;1,5;0\n567;2,5;1\n", ["a", "b"], [[1234, 1.5], [567, 2.5]],
        "decimals are written with a comma",
    ),
    "three decimals, of which 0.530 is no thousands": (
        "a\tb\ty\n-0.530\t1.234\t0\n2.125\t-3.456\t1\n", ["a", "b"],
        [[-0.53, 1.234], [2.125, -3.456]], "separated by tabs;",
    ),
    "three decimals after a comma": (
        "a;b;y\n0,530;1,234;0\n2,125;-3,456;1\n", ["a", "b"], [[0.53, 1.234], [2.125, -3.456]],
        "decimals are written with a comma",
    ),
    "a delimiter in quotes": (
        'a;b;y\n"1;2";3;0\n"3;4";5;1\n', ["a", "b"], [[0, 3], [1, 5]], "separated by semicolons",
    ),
    "words with commas": (
        "a\tb\ty\nBonn, Rhine\t1.5\t0\nKöln, Rhine\t2.5\t1\n", ["a", "b"], [[0, 1.5], [1, 2.5]],
        "separated by tabs;",
    ),
    "words with spaces": (
        "first name,b,y\nAnna Maria,1,0\nJan Peter,2,1\n", ["first name", "b"], [[0, 1], [1, 2]],
        None,
    ),
    "bars inside words": (
        "town|state,b,y\nBonn|NRW,1,0\nKöln|NRW,2,1\n", ["town|state", "b"], [[0, 1], [1, 2]], None,
    ),
    "plain commas and points": (
        "a,b,y\n1.234,2,0\n5.678,3,1\n", ["a", "b"], [[1.234, 2], [5.678, 3]], None,
    ),
    "exponents": (
        "a;b;y\n1,5e3;2E-1;0\n2,5;1;1\n", ["a", "b"], [[1500, 0.2], [2.5, 1]],
        "decimals are written with a comma",
    ),
    "a gap and a word among the numbers that count": (
        "a;b;y\n1,5;;0\nNA;2,5;1\n", ["a", "b"], [[1.5, np.nan], [np.nan, 2.5]],
        "decimals are written with a comma",
    ),
    "row names without a name, as R writes them": (
        '"a" "b" "y"\n"r1" 1.5 2 0\n"r2" 3.5 4 1\n', ["a", "b"], [[1.5, 2], [3.5, 4]],
        "separated by spaces",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GOOD)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_what_is_detected(tmp_path, case, encoding):
    text, names, numbers, said = GOOD[case]
    found = read(tmp_path / "a.csv", text, said, encoding)
    assert found[0] == names
    np.testing.assert_array_equal(found[1], numbers)
    lines = text.replace("\n", "\r\n")
    np.testing.assert_array_equal(read(tmp_path / "b.txt", lines, said)[1], numbers)


def test_a_tsv_file_with_tabs_and_points_needs_no_word(tmp_path):
    assert read(tmp_path / "a.tsv", "a\tb\ty\n1.5\t2\t0\n2.5\t3\t1\n")[1] == [[1.5, 2], [2.5, 3]]
    text = "a,b\tc\ty\n1,5\t2\t0\n2,5\t3\t1\n"
    assert read(tmp_path / "a.tsv", text, "decimals")[0] == ["a,b", "c"]


def test_what_is_given_is_used_without_a_word(tmp_path):
    text = "a;b;y\n1.234;5;0\n2.345;6;1\n"
    how = {"delimiter": ";"}
    assert read(tmp_path / "a.csv", text, decimal=".", **how)[1] == [[1.234, 5], [2.345, 6]]
    assert read(tmp_path / "a.csv", text, decimal=",", **how)[1] == [[1234, 5], [2345, 6]]
    one = "x;y\n1,5;0\n2,5;1\n"
    said = "separated by semicolons; if not, say so with --delimiter (delimiter=)"
    assert read(tmp_path / "a.csv", one, said, decimal=",")[1] == [[1.5], [2.5]]
    with pytest.raises(ParameterError, match="decimal=';' is not a decimal mark"):
        tamis.open(tmp_path / "a.csv", decimal=";")


BAD = {
    "thousands or decimals": (
        "a;b;y\n1.234;5;0\n567;6;1\n",
        "'1.234' in column 'a' may have a decimal mark or grouped thousands; say which with "
        "decimal='.' or decimal=',' (--decimal . or --decimal ,)",
    ),
    "thousands or decimals in quotes": (
        'a,b,y\n"1,234",5,0\n"2,345",6,1\n',
        "'1,234' in column 'a' may have a decimal mark or grouped thousands; say which with "
        "decimal='.' or decimal=',' (--decimal . or --decimal ,)",
    ),
    "both marks": (
        "a;b;y\n1,5;2.5;0\n2,5;3.5;1\n",
        "column 'a' has a decimal comma ('1,5') and column 'b' a decimal point ('2.5'); say which "
        "is right with decimal= (--decimal), and leave the other column out with ignore= "
        "(--ignore) or name it in categorical= (--categorical)",
    ),
    "two delimiters": (
        "a;b,c;y\nu;v,w;x\nu;v,z;x\n",
        "its values may be separated by commas or by semicolons; say which with delimiter=',' or "
        "delimiter=';' (--delimiter)",
    ),
    "one name and a comma": (
        "y\n1,5\n2,5\n",
        "line 1 has one name, and the comma of '1,5' may be the decimal mark or separate two "
        "values; give decimal=',' (--decimal ,), or name both columns",
    ),
    "tabs and spaces": (
        'mpg\tweight\tyear y\n18.0   3504. 70\t"a car"\n15.0   3693. ?\t"a van"\n',
        "some values are separated by tabs and others by spaces; write the file with one of them, "
        "or pass on the data frame of pandas.read_csv(path, sep=r'\\s+')",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_not_clear_is_refused(tmp_path, case):
    text, sentence = BAD[case]
    assert refused(tmp_path / "a.csv", text) == sentence


def test_columns_that_are_not_read_as_numbers_do_not_count(tmp_path):
    text = "a;v;y\n1,5;2.5;0\n2,5;3.5;1\n"
    said = "decimals are written with a comma"
    assert read(tmp_path / "a.csv", text, said, ignore="v")[1] == [[1.5], [2.5]]
    assert read(tmp_path / "a.csv", text, said, categorical="v")[1] == [[1.5, 0], [2.5, 1]]
    assert read(tmp_path / "a.csv", text, said, key="v")[1] == [[1.5], [2.5]]
    # With the decimal mark given, the other column is still not read as words without a word.
    assert refused(tmp_path / "a.csv", text, decimal=",") == (
        "column 'v' holds numbers such as '2.5', and the file is read with ',' as the decimal "
        "mark; give decimal='.' (--decimal .), or leave the column out with ignore= (--ignore)"
    )


@pytest.mark.parametrize("memory", [10**9, 3_000])
def test_what_later_lines_hold_is_not_read_as_words(tmp_path, memory):
    """The first lines decide; a number that contradicts them raises an error."""
    start = "a;b;y\n" + "1;2;0\n2;3;1\n" * 3_000
    late = refused(tmp_path / "a.csv", start + "1,5;2;0\n" * 9_000, memory=memory)
    assert late.startswith("column 'a' holds numbers and also '1,5'")
    distinct = "".join(f"{i},5;2;0\n" for i in range(9_000))
    late = refused(tmp_path / "a.csv", start + distinct, memory=memory)
    assert late.startswith("column 'a' holds numbers such as '0,5', and the file is read with '.'")
    # Grouped thousands need no proof once the decimal mark is known.
    text = "a;b;y\n" + "1,5;2;0\n2,5;3;1\n" * 3_000 + "1.234,5;2;0\n"
    found = read(tmp_path / "b.csv", text, "decimals are written with a comma", memory=memory)[1]
    assert found[-1] == [1234.5, 2]


def test_the_target_is_read_with_the_decimal_mark(tmp_path):
    (tmp_path / "a.csv").write_text("a;y\n1,5;1.234,5\n2,5;2,5\n3,5;3,5\n")
    with pytest.warns(DataWarning, match="decimals are written with a comma"):
        source = tamis.open(tmp_path / "a.csv", target="y")
    assert source.target().tolist() == [1234.5, 2.5, 3.5]


@pytest.mark.parametrize("end", ["", " # the second"])
@pytest.mark.parametrize("query", ["", " qid:1"])
def test_svmlight_in_a_text_file_is_recognised(tmp_path, query, end):
    (tmp_path / "a.txt").write_text(f"1{query} 1:0.5 3:1\n-1{query} 2:4 3:1{end}\n")
    with pytest.raises(SourceError, match="looks like svmlight text; name it with format="):
        tamis.open(tmp_path / "a.txt")
    assert tamis.open(tmp_path / "a.txt", "svmlight").load()[0].shape == (2, 3)


number = st.floats(-1e6, 1e6).map(lambda x: round(x, 2))


@settings(max_examples=80)
@given(
    st.lists(st.tuples(number, number), min_size=1, max_size=30),
    st.sampled_from([(";", ","), ("\t", ","), ("|", ","), (";", "."), ("\t", "."), (" ", ",")]),
)
def test_what_is_written_comes_back_or_is_refused(tmp_path_factory, rows, how):
    """Never other numbers, whatever the values are."""
    delimiter, decimal = how
    lines = [delimiter.join(["a", "b", "y"])]
    for i, row in enumerate(rows):
        cells = [f"{value:,.2f}" for value in row] if delimiter != " " else [*map(str, row)]
        swap = {",": ".", ".": ","} if decimal == "," else {}
        lines.append(
            delimiter.join(["".join(swap.get(c, c) for c in x) for x in cells] + [str(i % 2)])
        )
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_text("\n".join(lines) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = tamis.open(path, target="y").load()[0]
    np.testing.assert_array_equal(found, np.array(rows))
