"""Text as people have it: encodings, titles, what Excel writes, units."""

from __future__ import annotations

import gzip
import warnings

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

import tamis
from tamis.core.errors import DataWarning, SourceError
from tamis.sources.text.dialect import looks_like_values
from tamis.sources.text.units import unit_of

ROWS = [f"{i},{i % 7},{'ab'[i % 2]}\n" for i in range(30)]
TABLE = "x,z,y\n" + "".join(ROWS)


def loaded(path, text, says, target="y", **options):
    """Read a text, which must be reported in these words; return names, values and target."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        source = tamis.open(path, target=target, **options)
        X, y = source.load()
    sentences = [str(one.message) for one in said if one.category is DataWarning]
    assert [s.removeprefix(f"{path}: ") for s in sentences] == says
    return list(source.names()), X, y


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16", "utf-16-be"])
def test_other_encodings_are_read_and_reported(tmp_path, encoding):
    text = TABLE.replace("x,z", "größe,z").replace("a\n", "Zürich\n")
    data = text.encode(encoding)
    data = b"\xfe\xff" + data if encoding == "utf-16-be" else data
    called = encoding.removesuffix("-be")
    for name, raw in (("a.csv", data), ("b.csv.gz", gzip.compress(data))):
        says = [f"its text is {called}, not UTF-8"]
        names, X, y = loaded(tmp_path / name, raw, says)
        assert names == ["größe", "z"]
        assert X[:, 0].tolist() == list(range(30))
        assert set(y) == {"Zürich", "b"}


def test_an_encoding_that_shows_late_is_read_too(tmp_path):
    many = TABLE + "".join(ROWS) * 4_000  # longer than the first lines that are looked at
    text = many.encode() + "5,5,\xfc\n".encode("latin-1")
    _names, X, y = loaded(tmp_path / "a.csv", text, ["its text is windows-1252, not UTF-8"])
    assert len(X) == 30 * 4_001 + 1
    assert y[-1] == "ü"


@pytest.mark.parametrize(
    ("above", "lines", "mark"),
    [
        ("Report of March\n\n", 1, ","),
        ("# made by a tool\n", 1, ","),
        ("Report,,\nby hand,,\n", 2, ","),
        ("#1.2\n30\n", 2, "\t"),
    ],
)
def test_lines_above_the_header_are_left_out(tmp_path, above, lines, mark):
    verb = "line above the header was" if lines == 1 else "lines above the header were"
    text = above + TABLE.replace(",", mark)
    names, X, _ = loaded(tmp_path / "a.tsv", text, [f"{lines} {verb} left out"], delimiter=mark)
    assert names == ["x", "z"]
    assert X[:, 0].tolist() == list(range(30))
    path = tmp_path / "b.csv"
    path.write_text(text + f"1{mark}2\n")
    end = text.count("\n") + 1
    with pytest.raises(SourceError, match=f"line {end} has 2 values where the lines before have 3"):
        tamis.open(path, target="y", delimiter=mark).load()


@pytest.mark.parametrize(
    "text",
    ["a,b,y\n", "a b,y\n", "x;y\n", ",b,y\n", "a,,y\n"],
    ids=["three names", "two names", "two columns", "no first name", "no second name"],
)
def test_a_plain_header_is_no_title(tmp_path, text):
    mark = ";" if ";" in text else ","
    rows = "".join(mark.join(["1", "2", "3"][: text.count(mark) + 1]) + "\n" for _ in range(9))
    path = tmp_path / "a.csv"
    path.write_text(text + rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert tamis.open(path, target="y").n_rows == 9


def test_what_excel_writes(tmp_path):
    rows = "".join(f"{i},5;{i % 7};{'ab'[i % 2]};;\r\n" for i in range(30))
    text = "sep=;\r\nx;z;y;;\r\n" + rows + ";;;;\r\n;;;;\r\n"
    decimals = "decimals are written with a comma; if not, say so with --delimiter and --decimal"
    says = [f"values are separated by semicolons and {decimals} (delimiter=, decimal=)"]
    names, X, _y = loaded(tmp_path / "a.csv", text, says)
    assert names == ["x", "z", "column 4", "column 5"]
    assert X[:, 0].tolist() == [i + 0.5 for i in range(30)]
    assert np.isnan(X[:, 2:]).all()


def test_empty_rows_inside_a_table_stay(tmp_path):
    text = "x,z\n" + "".join(f"{i},{i % 7}\n" for i in range(9)) + ",\n" + "3,4\n,\n,\n"
    path = tmp_path / "a.csv"
    path.write_text(text)
    X = tamis.open(path).load()[0]
    assert len(X) == 11
    assert np.isnan(X[9]).all()
    assert X[10].tolist() == [3, 4]


def test_numbers_with_units_are_numbers(tmp_path):
    written = {
        "usd": lambda v: f"${v:,.0f}", "eur": lambda v: f"{v:,.2f} €", "pct": lambda v: f"{v:.1f}%",
        "mass": lambda v: f"{v:.1f} kg", "chf": lambda v: f"CHF {v:.2f}",
        "books": lambda v: f"({-v:,.2f})" if v < 0 else f"{v:,.2f}",
    }  # fmt: skip
    values = [-2500.5, 1.0, 0.25, 1234567.0, -3.0, 17.0] * 4
    lines = [
        ";".join([*(write(v) for write in written.values()), "ab"[i % 2]])
        for i, v in enumerate(values)
    ]
    text = ";".join([*written, "y"]) + "\n" + "\n".join(lines) + "\n"
    says = [
        "values are separated by semicolons; if not, say so with --delimiter and --decimal "
        "(delimiter=, decimal=)",
        "'usd', 'eur', 'pct', 'mass', 'chf' and 1 more hold numbers with '$' or '€' or '%' or 'kg' "
        "or 'CHF' or '( )', and were read as numbers; if they are categories, give categorical= "
        "(--categorical)",
    ]
    names, X, _ = loaded(tmp_path / "a.csv", text, says)
    digits = {"usd": 0, "eur": 2, "pct": 1, "mass": 1, "chf": 2, "books": 2}
    for j, name in enumerate(names):
        assert X[:, j].tolist() == [float(f"{v:.{digits[name]}f}") for v in values], name
    # As a target, too.
    others = [*list(written)[1:], "y"]
    y = tamis.open(tmp_path / "a.csv", target="usd", categorical=others, delimiter=";").load()[1]
    assert y.tolist() == [float(f"{v:.0f}") for v in values]


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        (["1e17", "3e18"], None), (["1a", "2b", "3c"], None), (["12", "13"], None),
        (["12%", "0.12"], None), (["12%", "5%", "7%", "0.12"], "%"),
        (["$5", "€6", "£7"], None), (["1.5 m", "2 m"], "m"),
        (["Q1", "Q2"], None), (["2020-01-05"], None), (["10:30"], None), ([], None),
        (["5 \u00b0C", "-7 \u00b0C"], "\u00b0C"),
    ],
)  # fmt: skip
def test_what_a_unit_is(values, unit):
    found = unit_of(values, ".")
    assert (None if found is None else str(found)) == unit


def test_a_column_with_and_without_a_unit_is_refused(tmp_path):
    shares = [f"{i}%" for i in range(9)] + ["0.12"] * 3
    rows = "".join(f"{share},{i % 2}\n" for i, share in enumerate(shares))
    (tmp_path / "a.csv").write_text("share,y\n" + rows)
    with pytest.raises(SourceError, match=r"'share' holds numbers with '%' and also '0.12'; fix"):
        tamis.open(tmp_path / "a.csv", target="y").load()


def test_a_row_of_values_as_header(tmp_path):
    text = "0,0.5,-1.25\n" + "".join(f"{i % 2},{i}.5,{-i}\n" for i in range(20))
    path = tmp_path / "a.csv"
    path.write_text(text)
    says = "line 1 looks like a row of values: if it is one, give --no-header"
    with pytest.raises(SourceError, match=says):
        tamis.open(path, target="label")
    with pytest.warns(DataWarning, match="line 1 was taken for names of columns"):
        tamis.open(path)
    assert tamis.open(path, target="x0", header=False).n_rows == 21
    # Names of spectra and of genes are names.
    assert not looks_like_values(["wavelength", "400.5", "401.5", "402.5"])
    assert not looks_like_values(["gene", "1", "2", "3"])


def test_genes_by_samples_that_were_not_transposed(tmp_path):
    rng = np.random.default_rng(0)
    header = "gene," + ",".join(f"s{i}" for i in range(30))
    rows = [f"g{j}," + ",".join(f"{v:.2f}" for v in rng.normal(size=30)) for j in range(9)]
    (tmp_path / "genes.csv").write_text("\n".join([header, *rows, ""]))
    (tmp_path / "p.csv").write_text("sample,y\n" + "".join(f"s{i},{i % 2}\n" for i in range(30)))
    how = {"y": tmp_path / "p.csv", "key": "sample", "target": "y"}
    with pytest.raises(SourceError, match=r"the 'sample' of the other table: give --transpose"):
        tamis.open(tmp_path / "genes.csv", **how)
    assert tamis.open(tmp_path / "genes.csv", **how, transpose=True).n_rows == 30
    table = pyarrow.csv.read_csv(tmp_path / "genes.csv")
    pyarrow.parquet.write_table(table, tmp_path / "genes.parquet")
    for name in ("genes.csv", "genes.parquet"):
        with pytest.raises(SourceError, match=r"'status', which target .*\(genes\).* --transpose"):
            tamis.open(tmp_path / name, target="status")
    # A table of patients has no such hint: its first column says nothing about them.
    (tmp_path / "plain.csv").write_text("sex,age,dose\n" + "f,1,2\nm,2,3\nf,4,4\n")
    with pytest.raises(SourceError, match=r"it has 'sex', 'age', 'dose'$"):
        tamis.open(tmp_path / "plain.csv", target="status")


def test_doubtful_targets():
    with pytest.warns(DataWarning, match="30 different texts in 30 rows, so it may be an identif"):
        tamis.SAOLA().fit(np.eye(30), [f"n{i}" for i in range(30)])
    labels = ["Yes", "yes ", "no", "no"] * 10
    with pytest.warns(DataWarning, match=r"the classes 'Yes', 'yes ' of the target differ only in"):
        tamis.SAOLA().fit(np.random.default_rng(0).normal(size=(40, 2)), labels)


def test_a_header_with_a_number_beyond_all_floats(tmp_path):
    (tmp_path / "a.csv").write_text("1e400,b\n1,2\n3,4\n")
    with pytest.raises(SourceError, match="has no column 'y'"):
        tamis.open(tmp_path / "a.csv", target="y")


def test_a_minus_may_follow_its_number(tmp_path):
    text = "a,b,y\n" + "".join(f"{k}.50{'-' * (k % 2)},({k}.25),{k % 2}\n" for k in range(40))
    (tmp_path / "t.csv").write_text(text)
    source = tamis.open(tmp_path / "t.csv", target="y")
    with pytest.warns(DataWarning, match=r"'a', 'b' hold numbers with '-' after them or '\( \)'"):
        values = next(iter(source.columns())).values
    assert values[:3, 0].tolist() == [0.5, -1.5, 2.5]
    assert values[:3, 1].tolist() == [-0.25, -1.25, -2.25]


def test_units_and_minus_that_come_late_are_read_too(tmp_path):
    for late in ("5.50-", "(5.50)", "-5.50"):
        lines = [f"{k},{k % 7}\n" for k in range(3_000)]
        text = "a,y\n" + "".join(lines) + f"{late},1\n"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (tmp_path / "t.csv").write_text(text)
            source = tamis.open(tmp_path / "t.csv", target="y")
            assert next(iter(source.columns())).values[-1, 0] == -5.5


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1,23,456", "12,34,567.5", "999"], [123456, 1234567.5, 999]),
        (["\u22125", "7", "\u22120.5"], [-5, 7, -0.5]),
    ],
)
def test_numbers_as_they_are_written_elsewhere(tmp_path, texts, numbers):
    lines = "".join(f'"{texts[k % 3]}",{k % 2}\n' for k in range(30))
    (tmp_path / "t.csv").write_text(f"a,y\n{lines}", encoding="utf-8")
    source = tamis.open(tmp_path / "t.csv", target="y")
    assert next(iter(source.columns())).values[:3, 0].tolist() == numbers


def test_numbers_that_begin_with_0_are_reported(tmp_path):
    text = "zip,y\n" + "".join(f"0{k % 9},{k % 2}\n" for k in range(40))
    (tmp_path / "t.csv").write_text(text)
    with pytest.warns(DataWarning, match="'zip' holds numbers that begin with 0, and was read as"):
        tamis.open(tmp_path / "t.csv", target="y").load()


def test_keys_of_samples_are_text(tmp_path):
    genes = "gene,001,002,01\n" + "".join(f"g{k},{k},{k + 1},{k * k}\n" for k in range(4))
    (tmp_path / "genes.csv").write_text(genes)
    (tmp_path / "samples.csv").write_text("sample,ill\n01,1\n002,0\n001,0\n")
    source = tamis.open(
        tmp_path / "genes.csv", transpose=True, y=tmp_path / "samples.csv", key="sample",
        target="ill",
    )  # fmt: skip
    assert source.target().tolist() == [0, 0, 1]


def test_few_numbers_of_a_header_may_rise_by_chance():
    assert looks_like_values(["0.53", "0.7", "c", "269292"])
    assert not looks_like_values(["400.5", "401", "401.5"])


def test_text_of_numbers_in_a_parquet_file_is_reported(tmp_path):
    table = pyarrow.table({"a": [f"{k / 8}" for k in range(40)], "y": [k % 2 for k in range(40)]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.warns(DataWarning, match="column 'a' holds numbers as text, such as"):
        tamis.select(tmp_path / "t.parquet", y="y")
