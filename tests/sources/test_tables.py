"""Parquet and Arrow files written by pyarrow, pandas, polars and DuckDB, in every form."""

from __future__ import annotations

import contextlib
import os
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather

import tamis
from golden_outputs import matrix
from tamis.core.errors import DataWarning, InputError, ParameterError, SourceError
from tamis.sources.base import silent
from tamis.sources.tables import table as table_module
from tamis.sources.tables.table import MOST_COLUMNS


def frame(n: int = 50) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "n": rng.normal(size=n),
            "whole": rng.integers(-5, 5, n).astype(np.int16),
            "word": rng.choice(["ä", "b", "a"], n),
            "kind": pd.Categorical(rng.choice(["x", "y"], n), ["y", "x", "unused"]),
            "flag": rng.random(n) < 0.4,
            "label": rng.choice(["no", "yes"], n),
        }
    )


def expected(table: pd.DataFrame) -> np.ndarray:
    def code(name):
        return np.unique(table[name].astype(str), return_inverse=True)[1]

    columns = [table["n"], table["whole"], code("word"), code("kind"), table["flag"]]
    return np.column_stack([np.asarray(c, dtype=float) for c in columns])


def by_polars(table, path):
    pl = pytest.importorskip("polars")
    frame = pl.from_pandas(table)
    (frame.write_parquet if path.suffix == ".parquet" else frame.write_ipc)(path)


def by_duckdb(table, path):
    duckdb = pytest.importorskip("duckdb")
    if path.suffix != ".parquet":
        pytest.skip("DuckDB writes no Arrow files")
    plain = table.astype({"kind": str})
    duckdb.sql("select * from plain").write_parquet(str(path))
    assert plain is not None


def by_pandas(table, path):
    if path.suffix == ".parquet":
        table.to_parquet(path, row_group_size=7)
    else:
        table.to_feather(path)


def by_pyarrow(table, path):
    columns = pa.Table.from_pandas(table, preserve_index=False)
    if path.suffix == ".parquet":
        pq.write_table(columns, path, row_group_size=11, compression="zstd")
        return
    new = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
    with pa.OSFile(str(path), "wb") as file, new(file, columns.schema) as writer:
        writer.write_table(columns, max_chunksize=9)


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".arrow"])
@pytest.mark.parametrize("write", [by_pandas, by_polars, by_duckdb, by_pyarrow])
def test_what_others_write_comes_back(tmp_path, write, suffix):
    table, path = frame(), tmp_path / f"data{suffix}"
    write(table, path)
    source = tamis.open(path, target="label")
    assert np.array_equal(source.load()[0], expected(table))
    assert source.target().tolist() == table["label"].tolist()
    assert list(source.names()) == ["n", "whole", "word", "kind", "flag"]
    blocks = list(source.columns(2))
    assert np.concatenate([b.is_text for b in blocks]).tolist() == [0, 0, 1, 0, 0]
    rows = list(source.batches(7))
    assert np.array_equal(np.vstack([b.values for b in rows]), expected(table))


def test_a_stream_of_batches_in_a_file_is_read_too(tmp_path):
    by_pyarrow(frame(), tmp_path / "a.arrows")
    found = tamis.open(tmp_path / "a.arrows", target="label").load()[0]
    assert np.array_equal(found, expected(frame()))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_categorical_target_is_text(tmp_path, suffix):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"x": [1, 2, 3], "y": ["b", "a", "b"]}).cast({"y": pl.Categorical})
    (frame.write_parquet if suffix == ".parquet" else frame.write_ipc)(tmp_path / f"a{suffix}")
    y = tamis.open(tmp_path / f"a{suffix}", target="y").target()
    assert (y.dtype.kind, y.tolist()) == ("U", ["b", "a", "b"])


def test_missing_values_are_nan_in_numbers_text_and_booleans(tmp_path):
    table = pa.table(
        {
            "n": [1.0, None, 3.0],
            "i": pa.array([1, None, 3], pa.int64()),
            "w": ["b", None, "a"],
            "f": [True, None, False],
            "d": pa.array([Decimal("1.5"), None, Decimal("2.25")]),
            "none": pa.nulls(3),
            "y": [0, 1, 0],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    source = tamis.open(tmp_path / "a.parquet", target="y")
    nan = np.nan
    want = [[1, 1, 1, 1, 1.5, nan], [nan] * 6, [3, 3, 0, 0, 2.25, nan]]
    assert np.array_equal(source.load()[0], want, equal_nan=True)
    assert np.array_equal(np.vstack([b.values for b in source.batches(1)]), want, equal_nan=True)
    with pytest.raises(InputError, match=r"NaN .*in column 'n'"):
        tamis.select(source, "saola")


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (
            [{"a": 1}] * 2,
            "column 'c' is of type struct<a: int64>, which is neither a number nor a category; "
            "leave it out with ignore= (--ignore c), or make numbers of it first",
        ),
        (
            [["a"], ["b"]],
            "column 'c' holds lists; take their elements as features with tokens='c' (--tokens c), "
            "or leave it out with ignore= (--ignore)",
        ),
        (
            [2**60, 1],
            "column 'c' holds whole numbers beyond 2^53, which floats cannot represent exactly; "
            "leave it out with ignore= (--ignore), or name it in categorical= (--categorical)",
        ),
    ],
)
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_columns_that_cannot_be_features_are_named(tmp_path, column, sentence, suffix):
    table, path = pa.table({"x": [1, 2], "c": column, "y": [0, 1]}), tmp_path / f"a{suffix}"
    if suffix == ".parquet":
        pq.write_table(table, path)
    else:
        feather.write_feather(table, str(path))
    with pytest.raises(SourceError) as caught:
        tamis.open(path, target="y").load()
    assert str(caught.value) == f"{path}: {sentence}"
    assert tamis.open(path, target="y", ignore=["c"]).load()[0].tolist() == [[1], [2]]


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_one_sentence(tmp_path, suffix, kept):
    path = tmp_path / f"a{suffix}"
    by_pandas(frame(2_000), path)
    path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
    with pytest.raises(SourceError) as caught:
        tamis.open(path, target="label").load()
    message = str(caught.value)
    assert message.startswith(f"{path} ")
    assert "\n" not in message
    assert "is empty" in message if kept == 0 else "fetch or write it again" in message


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_flipped_bytes_never_cause_a_traceback(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    by_pandas(frame(500), path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        spoilt = bytearray(whole)
        spoilt[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(spoilt)
        with contextlib.suppress(SourceError, InputError):
            tamis.open(path, target="label").load()


def test_names_that_do_not_fit_are_one_sentence(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), path)
    with pytest.raises(SourceError, match=r"a\.parquet has two columns named 'a'; rename one"):
        tamis.open(path)
    odd = ['say "hi"', "two\nlines", "<b>bold</b>"]
    pq.write_table(pa.table([[1.0, 2], [3.0, 4], [0, 1]], names=odd), path)
    source = tamis.open(path, target="<b>bold</b>")
    assert list(source.names()) == odd[:2]
    with pytest.raises(SourceError, match="has no column 'label', which target names; it has"):
        tamis.open(path, target="label")
    with pytest.raises(ParameterError, match="tokens= and long= cannot be combined"):
        tamis.open(path, tokens="a", long="a,b,c")
    with pytest.raises(SourceError, match="the parquet reader has no option 'zero_based'"):
        tamis.open(path, zero_based=True)


def test_too_many_columns_are_refused_and_the_other_forms_named(tmp_path):
    names = [f"c{i}" for i in range(MOST_COLUMNS + 1)]
    wide = pa.table([pa.array([1])] * len(names), names=names)
    pq.write_table(wide, tmp_path / "a.parquet", compression="none", write_statistics=False)
    with pytest.raises(SourceError) as caught:
        tamis.open(tmp_path / "a.parquet")
    assert str(caught.value) == (
        f"{tmp_path / 'a.parquet'}: the file has 50,001 columns, more than a Parquet file can "
        "carry well (50,000); write a list of the features of each row (tokens=) or one line for "
        "each row, feature and value (long=)"
    )


# --- lists and lines ------------------------------------------------------------------------------

words = st.text("abäß€", min_size=0, max_size=2)


@settings(max_examples=50)
@given(
    st.one_of(
        st.lists(st.lists(words), min_size=1, max_size=12),
        st.lists(st.lists(st.integers(-5, 2**40)), min_size=1, max_size=12),
    ),
    st.integers(1, 5),
    st.booleans(),
)
def test_lists_are_counted(tmp_path_factory, lists, group, large):
    path = tmp_path_factory.mktemp("lists") / "a.parquet"
    first = next((e for row in lists for e in row), "")
    kind = (pa.large_list if large else pa.list_)(
        pa.int64() if isinstance(first, int) else pa.string()
    )
    table = pa.table({"t": pa.array(lists, kind), "y": list(range(len(lists)))})
    pq.write_table(table, path, row_group_size=group)
    features = sorted({e for row in lists for e in row})
    want = np.array([[row.count(f) for f in features] for row in lists]).reshape(len(lists), -1)
    for memory in (10**9, 200):
        source = tamis.open(path, tokens="t", target="y", memory=memory)
        assert list(source.names()) == [str(f) for f in features]
        assert np.array_equal(source.load()[0].toarray(), want)
        found = sp.vstack(
            [
                sp.csr_matrix(
                    (b.values.data, b.values.indices, b.values.indptr), (b.height, len(features))
                )
                for b in source.batches(3)
            ]
        )
        assert np.array_equal(found.toarray(), want)


def test_a_missing_list_is_empty_and_a_missing_element_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"t": [["a"], None, []]}), path)
    assert tamis.open(path, tokens="t").load()[0].toarray().tolist() == [[1], [0], [0]]
    pq.write_table(pa.table({"t": [["a"], ["b", None]], "x": [1, 2]}), path)
    with pytest.raises(SourceError, match=r"a list in column 't' has a missing value"):
        tamis.open(path, tokens="t").load()
    with pytest.raises(SourceError, match="column 'x' is of type int64; tokens= names a column of"):
        tamis.open(path, tokens="x")


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.booleans(), st.booleans(), st.booleans(), st.integers(1, 20))
def test_lines_in_any_order_are_the_matrix(tmp_path_factory, seed, shuffle, named, in_file, group):
    path = tmp_path_factory.mktemp("long") / "a.parquet"
    rng = np.random.default_rng(seed)
    n_rows, n_columns = rng.integers(1, 30, 2)
    dense = rng.integers(-3, 4, (n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.4)
    dense[:, 0] = 1  # every row and the first feature occur
    y = rng.integers(0, 3, n_rows)
    r, f = np.nonzero(np.ones_like(dense) if seed % 2 else dense)  # with zeros, or without
    order = rng.permutation(len(r)) if shuffle else np.arange(len(r))
    r, f = r[order], f[order]
    row_names = [f"r{i:03}" for i in range(n_rows)]
    table = {
        "row": [row_names[i] for i in r] if named else r,
        "feature": [f"f{j:02}" for j in f],
        "value": dense[r, f],
        "y": y[r],
    }
    pq.write_table(pa.table(table), path, row_group_size=group)
    target = {"target": "y"} if named or in_file else {"y": y}
    used = np.unique(f)
    for memory in (10**9, 2_000):
        source = tamis.open(path, long=("row", "feature", "value"), memory=memory, **target)
        assert np.array_equal(source.load()[0].toarray(), dense[:, used])
        assert source.target().tolist() == y.tolist()
        assert list(source.names()) == [f"f{j:02}" for j in used]
        first = 0
        for block in source.batches(4):
            v = block.values
            part = sp.csr_matrix((v.data, v.indices, v.indptr), (block.height, len(used)))
            assert np.array_equal(part.toarray(), dense[first : first + block.height, used])
            first += block.height
        assert first == n_rows


def test_lines_that_do_not_fit_are_one_sentence(tmp_path):
    path = tmp_path / "a.parquet"
    lines = {"r": ["u", "v", "u"], "f": [7, 8, 7], "v": [1.0, 2.0, 3.0], "y": [0, 1, 1]}
    pq.write_table(pa.table(lines), path)
    cases = {
        "row 'u' has two values of feature '7'; add them up or keep one": {},
        "row 'u' has two values of the target 'y'; give each row one": {"target": "y"},
        "with y= the column 'r' must hold row numbers from 0 to 1": {"y": [0, 1]},
    }
    for sentence, options in cases.items():
        source = tamis.open(path, long="r,f,v", **options)
        with pytest.raises(SourceError) as caught:
            source.target() if "target" in options else source.load()
        assert str(caught.value) == f"{path}: {sentence}"
    with pytest.raises(SourceError, match="has no column 'q', which feature names; it has 'r'"):
        tamis.open(path, long="r,q,v")
    with pytest.raises(SourceError, match="long= names the columns row, feature and value"):
        tamis.open(path, long="r")
    with pytest.raises(SourceError, match="column 'v' is of type double; give whole numbers or"):
        tamis.open(path, long="v,f").load()


# --- real data ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["wdbc", "spect", "lung_cancer_uci", "promoters"])
def test_the_same_features_from_every_file(tmp_path, name):
    X, y = matrix(name)
    if name != "wdbc":
        X = X.astype(np.int8)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    kept = [row["feature"] for row in tamis.select(tmp_path / "X.npy").kept_rows()]
    assert kept
    table = pd.DataFrame(X, columns=[f"g{j}" for j in range(X.shape[1])]).assign(outcome=y)
    table.to_csv(tmp_path / "a.csv.gz", index=False)
    table.to_parquet(tmp_path / "a.parquet", row_group_size=20)
    table.to_feather(tmp_path / "a.feather")
    for file in ("a.csv.gz", "a.parquet", "a.feather"):
        run = tamis.select(tamis.open(tmp_path / file, target="outcome"))
        assert [row["feature"] for row in run.kept_rows()] == kept, file
        assert run.kept_names == [f"g{j}" for j in kept], file


def test_row_labels_of_pandas_are_not_features(tmp_path):
    frame().sample(frac=1, random_state=0).to_parquet(tmp_path / "a.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "a.parquet").names
    assert tamis.open(tmp_path / "a.parquet", target="label").n_columns == 5


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_a_named_index_is_not_a_feature_unless_requested(tmp_path, suffix):
    table = frame().assign(id=[f"p{i}" for i in range(50)]).set_index(["id", "whole"])
    path = tmp_path / f"a{suffix}"
    if suffix == ".parquet":
        table.to_parquet(path)
    else:
        feather.write_feather(pa.Table.from_pandas(table), str(path))
    source = tamis.open(path, target="label")
    assert list(source.names()) == ["n", "word", "kind", "flag"]
    assert source.info().details["row_labels_passed_over"] == "'id', 'whole'"
    keyed = tamis.open(path, target="label", key="id")
    assert keyed.keys()[1].tolist() == [f"p{i}" for i in range(50)]
    assert keyed.info().details["row_labels_passed_over"] == "'whole'"
    opened = tamis.open(path, target="label", categorical=["whole"], key="id")
    assert list(opened.names()) == ["n", "word", "kind", "flag", "whole"]
    assert "row_labels_passed_over" not in opened.info().details


def test_a_pandas_range_index_and_odd_metadata_hide_no_column(tmp_path):
    table = frame()
    table.index = pd.RangeIndex(10, 60)
    table.to_parquet(tmp_path / "a.parquet")
    assert tamis.open(tmp_path / "a.parquet", target="label").n_columns == 5
    plain = pa.Table.from_pandas(frame(), preserve_index=False)
    for odd in (b"", b"[]", b"nonsense", b'{"index_columns": 3}', b'{"index_columns": ["gone"]}'):
        pq.write_table(plain.replace_schema_metadata({b"pandas": odd}), tmp_path / "b.parquet")
        assert tamis.open(tmp_path / "b.parquet", target="label").n_columns == 5


def test_the_fingerprint_of_a_table_of_lines_does_not_depend_on_what_was_read_before(tmp_path):
    lines = pa.table({"row": [0, 1, 1], "feature": ["a", "a", "b"], "y": [1, 0, 0]})
    pq.write_table(lines, tmp_path / "a.parquet")
    source = tamis.open(tmp_path / "a.parquet", long="row,feature", target="y")
    before = source.fingerprint()
    assert source.target().tolist() == [1, 0]
    assert source.fingerprint() == before


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_dates_are_left_out_with_a_warning_or_numbers(tmp_path, kind):
    when = pd.to_datetime(["1970-01-02", "1970-01-03 12:00", None, "1969-12-31"], format="ISO8601")
    table = pd.DataFrame({"when": when, "x": [1.0, 2, 3, 4], "y": [0, 1, 0, 1]})
    path = tmp_path / f"a.{kind}"
    table.to_parquet(path) if kind == "parquet" else table.to_feather(path)
    with pytest.warns(DataWarning, match="'when' holds dates and was left out"):
        source = tamis.open(path, target="y")
    assert list(source.names()) == ["x"]
    assert list(tamis.open(path, target="y", dates="ignore").names()) == ["x"]
    numbers = tamis.open(path, target="y", dates="number").load()[0][:, 0]
    np.testing.assert_array_equal(numbers, [1, 2.5, np.nan, -1])
    by_rows = next(tamis.open(path, target="y", dates="number").batches(4)).values[:, 0]
    np.testing.assert_array_equal(by_rows, numbers)
    with pytest.raises(SourceError, match=r"has only dates \('when'\) besides the target"):
        tamis.open(path, target="y", ignore="x")
    with pytest.raises(ParameterError, match="dates='days' is not one of 'ignore', 'number'"):
        tamis.open(path, target="y", dates="days")


def test_an_arrow_file_that_is_cut_off_while_it_is_read_does_not_end_the_process(tmp_path):
    path = tmp_path / "t.arrow"
    table = pa.table({f"c{j}": np.random.default_rng(j).normal(size=5000) for j in range(40)})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=500)
    blocks = tamis.open(path).columns(2)
    next(blocks)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(SourceError, match=r"t\.arrow cannot be read as an Arrow file"):
        list(blocks)


def test_names_of_an_arrow_file_that_are_not_text_are_one_sentence(tmp_path):
    path = tmp_path / "t.arrow"
    table = pa.table({"first": [1.0, 2.0], "y": [0, 1]})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    path.write_bytes(path.read_bytes().replace(b"first", b"\xff\xfe\xff\xfe\xff"))
    with pytest.raises(SourceError, match=r"t\.arrow cannot be read as an Arrow file"):
        tamis.open(path, target="y").load()


def test_a_parquet_file_whose_columns_are_shorter_than_it_says_is_damaged(tmp_path):
    """One value must not become the value of every row."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1.5]}), path)
    whole = path.read_bytes()
    said = b"\x16\x02\x19\x1c"  # the number of rows of the whole file, before its row groups
    assert whole.count(said) == 1
    path.write_bytes(whole.replace(said, b"\x16\x28\x19\x1c"))
    source = tamis.open(path)
    assert source.n_rows == 20
    message = r"is truncated or damaged \(its columns have 1 of 20 rows\)"
    for read in (source.load, lambda: list(source.rows(None, silent)), lambda: source.column("x")):
        with pytest.raises(SourceError, match=message):
            read()


def test_long_categories_that_are_repeated_do_not_fill_the_memory(tmp_path):
    """A file of 70 kB that holds 2 TB of text."""
    n = 2_000_000
    kind = pa.DictionaryArray.from_arrays(np.zeros(n, dtype=np.int32), ["x" * 1_000_000, "z"])
    table = pa.table({"kind": kind, "y": np.arange(n) % 2})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=n)
    assert (tmp_path / "a.parquet").stat().st_size < 1_000_000
    source = tamis.open(tmp_path / "a.parquet", target="y")
    with pytest.raises(SourceError, match=r"a column of categories holds 2,000\.0 GB of text"):
        source.load()


def test_more_rows_than_fit_are_refused(tmp_path, monkeypatch):
    pq.write_table(pa.table({"a": [1.0] * 10, "y": [0, 1] * 5}), tmp_path / "t.parquet")
    monkeypatch.setattr(table_module, "MANY_ROWS", 9)
    with pytest.warns(DataWarning, match=r"t\.parquet has 10 rows: one column takes"):
        source = tamis.open(tmp_path / "t.parquet", target="y")
    monkeypatch.setattr(table_module, "available_bytes", lambda: 79.0)
    with pytest.raises(SourceError, match="10 rows, so that reading 1 column needs"):
        list(source.columns())
