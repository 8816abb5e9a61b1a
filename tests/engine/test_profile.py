"""Profiles in Python: the same for every layout, and against a slow and obvious reference."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
import tamis.engine.profiled_columns as profiled
from tamis.core.blocks import ColumnBlock
from tamis.core.errors import DataWarning, InputError, SourceError, TamisError
from tamis.engine.profiled_columns import ColumnKind, copies, of_block

#: The method that is used if none is given.
DEFAULT = inspect.signature(tamis.select).parameters["selector"].default

value = st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.0, -3.0, 0.5, 1e17, np.nan])


def slowly(column: np.ndarray) -> tuple[int, int, str]:
    """Return gaps, distinct values and kind of one column, as a person would count them."""
    known = sorted({x for x in column.tolist() if x == x})
    gaps = int(np.isnan(column).sum())
    if len(known) + (gaps > 0) <= 1:
        return gaps, len(known), "constants"
    whole = all(float(x).is_integer() for x in known)
    return gaps, len(known), "whole numbers" if whole else "numbers"


@settings(max_examples=150)
@given(st.lists(st.lists(value, min_size=4, max_size=4), min_size=1, max_size=8))
def test_blocks_are_described_as_a_person_would(columns):
    X = np.array(columns).T
    dense = of_block(ColumnBlock.of(X))
    sparse = of_block(ColumnBlock.of(sp.csc_matrix(X)))
    for j, column in enumerate(X.T):
        gaps, levels, kind = slowly(column)
        assert (dense.gaps[j], dense.levels[j]) == (gaps, levels)
        assert ColumnKind(dense.kinds[j]).label == kind
        assert dense.large[j] == (1e17 in column.tolist() and kind != "numbers")
    assert np.array_equal(dense.kinds, sparse.kinds)
    assert np.array_equal(dense.gaps, sparse.gaps)
    assert np.array_equal(dense.large, sparse.large)
    assert np.array_equal(dense.hashes, sparse.hashes)
    groups, count = copies(dense, np.ones(X.shape[1], bool), 100)
    same: dict[bytes, list[int]] = {}
    for j, column in enumerate(X.T):
        same.setdefault(np.ascontiguousarray(column).tobytes(), []).append(j)
    expected = [group for group in same.values() if len(group) > 1]
    assert groups == expected
    assert count == sum(len(group) - 1 for group in expected)


def frame(n: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    table = pd.DataFrame(
        {
            "id": range(n),
            "dose": rng.normal(size=n) + y,
            "town": rng.choice(["A", "B", "C"], n),
            "when": pd.date_range("2024-01-01", periods=n),
            "y again": y,
        }
    )
    table.loc[::7, "dose"] = np.nan
    return table, y


@pytest.mark.parametrize("kind", [lambda t: t, pl.from_pandas, pa.Table.from_pandas])
def test_data_frames_have_the_same_profile(kind):
    table, y = frame()
    found = tamis.profile(kind(table), y)
    assert (found.n_rows, found.n_columns) == (60, 5)
    assert {k: n for k, n in found.kinds.items() if n} == {
        "numbers": 1, "whole numbers": 1, "words": 1, "dates": 1, "identifiers": 1, "gaps": 1,
    }  # fmt: skip
    assert [finding.kind for finding in found.suspicious] == [
        "identifiers", "target copies", "dates",
    ]  # fmt: skip
    assert [finding.kind for finding in found.problems] == (
        [] if DEFAULT == "sieve" else ["gaps", "words"]
    )
    method = "" if DEFAULT == "sieve" else ", selector='sieve'"
    assert found.python == f"tamis.select(data.drop(columns=['id', 'y again']), y=y{method})"
    assert found.to_frame()["kind"].tolist() == [
        "identifiers", "numbers", "words", "dates", "whole numbers",
    ]  # fmt: skip
    assert "suspicious: 'id' is an identifier" in repr(found)
    assert "suspicious: &#x27;id&#x27; is an identifier" in found._repr_html_()


def test_the_suggested_call_works():
    data, y = frame()
    python = tamis.profile(data, y).python
    with pytest.warns(DataWarning, match="'when' holds dates and was left out"):
        run = eval(python, {"tamis": tamis, "data": data, "y": y})
    assert run.kept_names == ["dose"]


def test_select_names_all_problems():
    data, y = frame()
    with (
        pytest.warns(DataWarning, match="'when' holds dates"),
        pytest.raises(InputError) as caught,
    ):
        tamis.select(data, "saola", y)
    assert str(caught.value) == (
        "the data has 2 problems: 'dose' has missing values: --method sieve takes them, or "
        "--missing (missing=); 'town' holds words beside numbers: --method sieve takes them, or "
        "--encode (encode=); this works: "
        "tamis.select(data.drop(columns=['id', 'y again']), y=y, selector='sieve')"
    )


def test_dates_of_data_frames_are_left_out_or_numbers():
    data, y = frame()
    with pytest.warns(DataWarning, match="the data: 'when' holds dates and was left out"):
        source = tamis.open(data, y=y)
    assert source.column_names == ["id", "dose", "town", "y again"]
    for kind in (lambda t: t, pl.from_pandas, pa.Table.from_pandas):
        source = tamis.open(kind(data[["when"]]), y=y, dates="number")
        assert source.load()[0][:, 0].tolist() == list(range(19_723, 19_783))


def test_a_million_sparse_columns():
    """Names and findings are made for a handful of columns only."""
    rng = np.random.default_rng(0)
    at = rng.integers(0, 50, 5_000), rng.integers(0, 1_000_000, 5_000)
    X = sp.coo_matrix((np.ones(5_000), at), (50, 1_000_000)).tocsc()
    found = tamis.profile(X, rng.integers(0, 2, 50))
    assert found.n_columns == 1_000_000
    assert found.kinds["constants"] == int(np.sum(np.diff(X.indptr) == 0))
    assert len(found.problems) + len(found.suspicious) < 5


def test_a_column_that_is_named_as_y_is_the_target(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"price": np.arange(40) * 1.5, "noise": [1.5, 2.5] * 20})
    frame.to_csv("t.csv", index=False)
    assert tamis.profile(frame, "price").target_name == "price"
    assert tamis.profile("t.csv", "price").target_name == "price"


def test_numbers_as_text_are_no_identifiers_and_are_not_left_out():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.normal(size=60).astype(str), "y": rng.normal(size=60)})
    frame["code"] = [f"{k:05d}" for k in range(60)]
    frame["note"] = [f"sold in {k} days" for k in range(60)]
    found = tamis.profile(frame, "y")
    assert found.to_frame()["kind"].tolist() == ["words", "identifiers", "texts"]
    assert "columns=['code', 'note']" in found.python
    assert "'note' holds free text" in repr(found)
    assert "'area', 'code' hold numbers as text: convert them to numbers" in repr(found)


def test_a_misspelt_target_is_not_replaced_by_another_column(tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame({" price": np.arange(40) * 1.5, "last": [1.5, 2.5] * 20}).to_csv(path, index=False)
    found = tamis.profile(str(path), target="price")
    assert found.target_name == " price"
    assert "--target ' price'" in found.command
    found = tamis.profile(str(path), target="rent")
    assert found.command is None
    assert "has no column 'rent'" in repr(found)


def write(path, frame, line=None, at=0):
    """Write a CSV file with another line at some place below the header."""
    lines = frame.to_csv(index=False).splitlines()
    path.write_text("\n".join([*lines[: at + 1], *([line] if line else []), *lines[at + 1 :]]))
    return str(path)


@pytest.mark.parametrize("line", ["m2,years,,EUR", "area,age,town,price"])
def test_a_row_of_units_or_a_second_header_is_found(tmp_path, line):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.lognormal(4, 1, 90), "age": rng.normal(size=90)})
    frame["town"] = ["Ulm", "Bonn"] * 45
    frame["price"] = (frame["area"] * 70).round(2)
    path = write(tmp_path / "t.csv", frame, line, at=40)
    with pytest.raises(TamisError, match=f"holds numbers and also '{line.split(',')[0]}'|row 41"):
        tamis.select(path, y="price")
    found = tamis.profile(path, target="price")
    text = repr(found)
    words = [repr(word) for word in line.split(",") if word not in ("", "town")]
    assert f"row 41 below the header holds {', '.join(words)} and the others hold numbers" in text
    assert "numbers from" in found.target
    with pytest.warns(DataWarning, match="no 'price' and"):
        run = eval(found.python)
    assert "area" in run.kept_names
    assert run.source["n_rows"] == 90


def test_a_row_of_words_without_a_target_is_to_be_removed(tmp_path):
    frame = pd.DataFrame({"a": np.arange(60) * 1.5, "b": np.arange(60) * 2.5, "y": ["u", "v"] * 30})
    found = tamis.profile(write(tmp_path / "t.csv", frame, "a,b,y", at=7), target="y")
    assert "row 8 below the header holds 'a', 'b' and the others hold numbers" in repr(found)
    assert found.command is None
    assert [one.kind for one in found.problems] == ["lines"]


def test_a_word_in_a_target_of_numbers_is_a_missing_value(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.lognormal(4, 1, 90)})
    frame["price"] = (frame["area"] * 70).round(2).astype(str)
    frame.loc[::9, "price"] = "on request"
    path = write(tmp_path / "t.csv", frame)
    with pytest.raises(InputError, match="the target holds numbers and also 'on request'"):
        tamis.select(path, y="price")
    found = tamis.profile(path, target="price")
    assert "--missing-target drop --na 'on request'" in found.command
    with pytest.warns(DataWarning, match="no 'price' and"):
        run = eval(found.python)
    assert run.kept_names == ["area"]
    assert run.source["n_rows"] == 80


def test_many_copies_of_the_target_are_left_out_by_a_pattern(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.lognormal(4, 1, 90), "cost": rng.normal(size=90)})
    frame["price"] = frame["area"] + rng.normal(size=90)
    copies = {f"price{k}": frame["price"] * (k + 1) for k in range(40)}
    near = {f"cost{k}": frame["price"] for k in range(3)}
    path = write(tmp_path / "t.csv", frame.assign(**copies, **near))
    found = tamis.profile(path, target="price")
    assert "--ignore 'price*' --ignore cost0 --ignore cost1 --ignore cost2 --out" in found.command
    with pytest.warns(DataWarning, match="'price0' equals the target .*; 'price1', 'price2', 'pri"):
        tamis.select(path, y="price")
    assert list(tamis.open(path, target="price", ignore=["price*", "cost*"]).names()) == ["area"]
    with pytest.raises(SourceError, match="has no column 'rent\\*', which ignore names"):
        tamis.open(path, target="price", ignore="rent*")
    assert tamis.profile(path, target="price", ignore="price*").n_columns == 5


def test_odd_texts_are_remarked(tmp_path):
    frame = pd.DataFrame({"area": np.arange(60) * 1.5, "zip": [f"{k % 50:05d}" for k in range(60)]})
    frame["sex"] = ["Male", "male ", "female"] * 20
    frame["city"] = ["Bonn", "Ulm", "Kiel"] * 20
    frame["price"] = frame["area"] * 3 + 0.5
    path = write(tmp_path / "t.csv", frame, "4000,,,Total,9000.5", at=60)
    found = tamis.profile(path, target="price")
    assert [str(one) for one in found.suspicious if one.kind == "texts"] == [
        "'zip' holds numbers that begin with 0, such as '00000': if they are codes, name it with "
        "--categorical (categorical=)",
        "'sex' holds 'Male' and 'male ', which differ only in spaces or capitals: if they are one "
        "category, write them alike",
        "'city' holds 'Total' in the last row: if that is a row of totals, remove the line",
    ]
    plain = write(tmp_path / "u.csv", frame.drop(columns="sex").assign(zip=range(60)))
    assert not [
        one for one in tamis.profile(plain, target="price").suspicious if one.kind == "texts"
    ]
    named = tamis.profile(path, target="price", categorical=["zip"])
    assert not [one for one in named.suspicious if one.columns == ["zip"]]


def test_columns_without_a_name_are_not_offered_as_the_target(tmp_path):
    path = tmp_path / "t.tsv"
    pd.DataFrame({"a": [1, 2], "b": [3, 4]}).to_csv(path, sep="\t")
    with pytest.raises(InputError, match=r"it has 'a', 'b'$"):
        tamis.select(str(path))


#: Text that is a number, nearly one, or none.
token = st.sampled_from([
    "1", "-0", "2.5", "1e5", ".5", "5.", "007", "+3", "1,234", "12%", "nan", "inf", "-Infinity",
    "1e400", "1e-400", " 4", "", "x", "1_0", "0x10", "9007199254740993", "1f", "2021-01-05", None,
])  # fmt: skip


@settings(max_examples=200)
@given(st.lists(token, min_size=1, max_size=5) | st.lists(st.floats(width=16).map(str), min_size=1))
def test_numbers_in_text_are_described_the_same_in_the_short_way(texts):
    column = pa.array(texts * 5, pa.large_string())
    shown = [repr(vars(profiled._of_text(column, "id", ".", True)))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiled, "_as_written", lambda text, words: None)
        shown.append(repr(vars(profiled._of_text(column, "id", ".", True))))
    assert shown[0] == shown[1]


def test_the_short_way_is_for_plain_numbers_only():
    for texts, fits in (
        (["1", "-2.5e3", None], True), (["1", "inf"], False), (["1", "nan"], False),
        (["1", "x"], False), (["$1", "$2"], False), (["1e400"], False),
    ):  # fmt: skip
        column = pa.array(texts, pa.large_string())
        found = profiled._as_written(column, profiled.sorted_words(column))
        assert (found is not None) == fits, texts


def made(path, n=60, **columns):
    x = np.random.default_rng(0).normal(size=n).round(3)
    pd.DataFrame({"x": x, **columns, "y": (3 * x).round(2)}).to_csv(path, index=False)
    return path


def test_words_among_many_numbers_are_gaps_in_the_suggestion(tmp_path):
    numbers = [f"{k / 7:.3f}" for k in range(60)]
    for words in (["<0.5"], ["-", "<NA>", "None", "nil"]):
        path = made(tmp_path / "t.csv", a=[*words, *numbers[len(words) :]])
        found = tamis.profile(path, target="y")
        assert found.command is not None
        assert "--na" in found.command
        assert "--categorical" not in found.command
    path = made(tmp_path / "t.csv", a=["never", "1", "2"] * 20)
    assert "--categorical a" in tamis.profile(path, target="y").command


def test_a_row_of_totals_is_a_line_to_remove(tmp_path):
    path = made(tmp_path / "t.csv", a=[*map(str, range(59)), "Total"])
    found = tamis.profile(path, target="y")
    assert "the last row holds 'Total', as a row of totals does: remove this line" in str(found)
    assert found.command is None


def test_a_target_that_may_hold_gaps(tmp_path):
    x = np.random.default_rng(0).normal(size=60)
    for y in (np.where(np.arange(60) % 9, x > 0, -99), np.where(np.arange(60) % 9, x, 999)):
        with pytest.warns(DataWarning, match="the target holds .* in 7 rows, far from its other v"):
            tamis.select(x[:, np.newaxis], y=y)


def test_columns_of_a_file_without_a_header_are_called_by_number(tmp_path):
    path = tmp_path / "t.csv"
    values = np.random.default_rng(0).normal(size=(40, 3)).round(3)
    np.savetxt(path, np.c_[values, values[:, 0] * 3], delimiter=",", fmt="%.3f")
    found = tamis.profile(path)
    assert "--no-header --target x3" in found.command


def test_one_row_is_too_few():
    with pytest.raises(InputError, match="there is only one row, so no"):
        tamis.select(pd.DataFrame({"a": [1.0], "b": [2.0]}), y=[1])


def test_columns_of_numbers_are_described_together(tmp_path, monkeypatch):
    """A step for each of them would make wide tables slow; the answers are those of each alone."""
    rng, widths = np.random.default_rng(0), list[int]()
    kinds = {
        "number": lambda: rng.normal(size=30),
        "code": lambda: rng.choice([-999.0, 1.5, 2.5], 30),
        "id": lambda: rng.permutation(30) * 3,
        "zip": lambda: rng.choice(["007", "013", "9"], 30),
        "price": lambda: rng.choice(["$5", "$1,200"], 30),
        "same": lambda: np.full(30, 7),
        "large": lambda: np.arange(30) + 2**60,
        "measured": lambda: rng.choice(["1.5e300", "2"], 30),
    }
    columns = {f"{kind} {j}": make() for j in range(25) for kind, make in kinds.items()}
    columns["color"] = rng.choice(["red", "blue", "green"], 30)
    path = tmp_path / "wide.csv"
    pd.DataFrame(columns | {"y": np.arange(30) % 2}).to_csv(path, index=False)

    def counted(block):
        widths.append(block.width)
        return of_block(block)

    monkeypatch.setattr(profiled, "of_block", counted)
    together = tamis.profile(path, "y").columns
    assert sorted(widths) == [1, 200]
    monkeypatch.setattr(profiled, "_TOGETHER", 1)
    alone = tamis.profile(path, "y").columns
    assert len(widths) == 2 + 201
    for name in profiled._ARRAYS:
        np.testing.assert_array_equal(getattr(together, name), getattr(alone, name))
    for name in profiled._NOTES:
        assert getattr(together, name) == getattr(alone, name)
    assert together.remarks
    assert together.units
    assert together.doubtful
