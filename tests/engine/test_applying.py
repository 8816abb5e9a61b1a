"""A run is applied: any source to any sink, only the kept columns, with their original values."""

from __future__ import annotations

import csv
import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import tamis
from tamis._registry import BATCH_METHODS
from tamis.core.errors import DataWarning, InputError
from tamis.engine.runs import open_run, save_run
from tamis.sources.axis import write_rows, write_store

ROWS = 90


@pytest.fixture(scope="module")
def table():
    """A messy table: words, dates, gaps, identifiers with leading zeros, numbers."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, ROWS)
    return pa.table(
        {
            "id": [f"{i:04d}" for i in range(ROWS)],
            "noise": rng.normal(size=ROWS),
            "visit": [datetime.date(2026, 1, 1 + i % 28) for i in range(ROWS)],
            "city": ["Oslo, N" if v else str(rng.choice(["Lyon", 'the "B"'])) for v in y],
            "age": (40 + 9 * y + rng.normal(size=ROWS) * 7).astype(int),
            "died": y,
        }
    )


def keeping(names, **source):
    """Return a run that kept exactly these names."""
    y = np.arange(40) % 2
    X = pa.table({name: y + np.arange(40) / 1000 * i for i, name in enumerate(names)})
    run = tamis.select(X, "all", y)
    run.source |= source
    return run


def written(table, path):
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(table.column_names)
            writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    elif path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=13)
    else:
        pyarrow.feather.write_feather(table, path, chunksize=11)
    return path


def read(path):
    if path.suffix == ".csv":
        return pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("list")
    found = pq.read_table(path) if path.suffix == ".parquet" else pyarrow.feather.read_table(path)
    return {name: list(map(str, found[name].to_pylist())) for name in found.column_names}


@pytest.mark.parametrize("sink", [".csv", ".parquet", ".arrow"])
@pytest.mark.parametrize("origin", [".csv", ".parquet", ".feather"])
def test_words_dates_and_identifiers_of_a_table_stay_what_they_are(tmp_path, table, origin, sink):
    run = keeping(["city", "age", "visit"], target_name="died", key="id")
    data = written(table, tmp_path / f"data{origin}")
    done = run.apply(data, tmp_path / f"small{sink}")
    found = read(tmp_path / f"small{sink}")
    assert list(found) == ["id", "city", "age", "visit", "died"]
    for name, values in found.items():
        assert values == list(map(str, table[name].to_pylist())), name
    assert str(done) == (
        f"wrote {tmp_path}/small{sink}: 90 rows, 3 columns, the key 'id' and the target 'died'"
    )


def test_text_of_a_csv_file_is_copied_letter_by_letter(tmp_path):
    (tmp_path / "x.csv").write_text('a;b;c\n1,50;NA;"x;y"\n007;;z\n')
    how = {"delimiter": ";", "decimal": ","}
    keeping(["b", "a", "c"]).apply(tmp_path / "x.csv", tmp_path / "y.csv", **how)
    assert (tmp_path / "y.csv").read_text() == 'b,a,c\nNA,"1,50",x;y\n,007,z\n'


def test_numbers_with_thousands_or_a_unit_are_numbers_in_parquet(tmp_path):
    lines = [f"{i % 7};{1000 + i},5;{1 + i // 50}.{i:03d},50;2.{i:03d} €;T-{i}" for i in range(99)]
    text = "\n".join(["a;b;grouped;euro;code", *lines, "1;2,5;;7 €;1.5"])
    (tmp_path / "in.csv").write_text(text + "\n")
    run = keeping(["grouped", "euro", "code"])
    how = {"delimiter": ";", "decimal": ","}
    run.apply(tmp_path / "in.csv", tmp_path / "out.parquet", **how)
    found = pq.read_table(tmp_path / "out.parquet").to_pydict()
    assert (found["grouped"][1], found["grouped"][-1]) == (1001.5, None)
    assert found["euro"][-2:] == [2098.0, 7.0]
    assert found["code"][-2:] == ["T-98", "1.5"]
    run.apply(tmp_path / "in.csv", tmp_path / "out.csv", **how)
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == '"1.000,50",2.000 €,T-0'


def test_a_column_that_is_not_what_its_first_lines_suggest_is_read_again(tmp_path):
    lines = ["a,b\n", *("1,2\n" for _ in range(400_000)), "1.5,two\n"]
    (tmp_path / "x.csv").write_text("".join(lines))
    keeping(["a", "b"]).apply(tmp_path / "x.csv", tmp_path / "y.parquet")
    found = pq.read_table(tmp_path / "y.parquet")
    assert found["a"].to_pylist()[-2:] == [1.0, 1.5]
    assert found["b"].to_pylist()[-2:] == ["2", "two"]


def numbers():
    rng = np.random.default_rng(1)
    X = sp.random(50, 12, 0.3, "csr", random_state=1)
    X.data = rng.integers(1, 9, len(X.data)) / 4
    return X, rng.integers(0, 2, 50)


def of_numbers(kept, width=12):
    """Return a run without names that kept these columns of twelve."""
    y = np.arange(40) % 2
    X = np.zeros((40, width))
    X[:, kept] = y[:, None] + np.arange(40)[:, None] / 1000
    return tamis.select(X, "all", y)


def origin(kind, folder):
    X, y = numbers()
    path = folder / f"data{kind}"
    if kind == ".svm":
        from sklearn.datasets import dump_svmlight_file

        dump_svmlight_file(X, y, str(path), zero_based=True)
    elif kind == ".npz":
        sp.save_npz(path, X)
    elif kind == ".npy":
        np.save(path, X.toarray())
    else:
        source = tamis.open(X, y=y)
        (write_store if kind == ".cols" else write_rows)(path, source)
    if kind in (".npy", ".npz"):
        np.save(folder / "data.y.npy", y)
    return path


@pytest.mark.parametrize("sink", [".parquet", ".csv", ".npy", ".npz", ".svm", ".cols", ".rows"])
@pytest.mark.parametrize("kind", [".svm", ".npz", ".npy", ".cols", ".rows"])
def test_numbers_go_from_every_format_to_every_other(tmp_path, kind, sink):
    kept = [1, 4, 7, 11]
    run = of_numbers(kept)
    if kind == ".svm":
        run.log.names.prefix = ""
    X, y = numbers()
    path = tmp_path / f"small{sink}"
    done = run.apply(origin(kind, tmp_path), path)
    assert (done.rows, len(done.columns)) == (50, 4)
    expected = X.toarray()[:, kept]
    if sink in (".parquet", ".csv"):
        found = pd.read_parquet(path) if sink == ".parquet" else pd.read_csv(path)
        assert found.pop("target").tolist() == y.tolist()
        assert list(found.columns) == done.columns
        np.testing.assert_array_equal(found.to_numpy(), expected)
        return
    source = tamis.open(path, **({"zero_based": False} if sink == ".svm" else {}))
    matrix, labels = source.load()
    dense = matrix.toarray() if sp.issparse(matrix) else matrix
    assert labels.tolist() == y.tolist()
    np.testing.assert_array_equal(dense, expected)
    if sink in (".cols", ".rows"):
        assert list(source.names() or source.read(0, 4).names) == done.columns


def test_names_are_matched_in_the_order_of_the_run(tmp_path):
    run = keeping(["b", "a"])
    X = np.arange(6.0).reshape(3, 2)
    for kind in (write_store, write_rows):
        place = tmp_path / kind.__name__
        kind(place, tamis.open(pa.table({"a": X[:, 0], "b": X[:, 1]})))
        format = "cols" if kind is write_store else "rows"
        run.apply(place, tmp_path / f"{format}.csv", format=format)
        assert (tmp_path / f"{format}.csv").read_text() == "b,a\n1.0,0.0\n3.0,2.0\n5.0,4.0\n"


def test_daily_tables_are_joined_by_their_key(tmp_path):
    (tmp_path / "days").mkdir()
    pq.write_table(pa.table({"k": [1, 2, 3], "a": ["u", "v", "w"]}), tmp_path / "days/1.parquet")
    pq.write_table(pa.table({"k": [3, 1, 2], "b": [30, 10, 20]}), tmp_path / "days/2.parquet")
    keeping(["b", "a"], key="k").apply(tmp_path / "days", tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "k,b,a\n1,10,u\n2,20,v\n3,30,w\n"


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz"])
def test_columns_that_are_missing_are_named_and_nothing_is_written(tmp_path, table, ending):
    data = written(table, tmp_path / "data.csv")
    sentence = "data.csv lacks 2 of the 3 kept columns: 'height' and 'weight'"
    with pytest.raises(tamis.TamisError, match=sentence):
        keeping(["height", "age", "weight"]).apply(data, tmp_path / f"x{ending}")
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize(
    ("names", "out", "sentence"),
    [
        (["city"], "x.npy", "column 'city' holds values of type .*string, and a matrix holds"),
        (["city"], "x.svm", "column 'city' holds values of type .*string"),
        (["age"], "x.xls", "end it with one of .parquet"),
        (["age"], "data.csv", "data.csv already exists; choose another name, or use --force"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(tmp_path, table, names, out, sentence):
    data = written(table, tmp_path / "data.csv")
    before = data.read_bytes()
    with pytest.raises(tamis.TamisError, match=sentence):
        keeping(names).apply(data, tmp_path / out)
    assert data.read_bytes() == before


def test_the_data_itself_is_never_replaced(tmp_path, table):
    data = written(table, tmp_path / "data.csv")
    with pytest.raises(tamis.TamisError, match="is the data itself"):
        keeping(["age"]).apply(data, data, force=True)


def test_a_run_that_kept_nothing_has_nothing_to_write(tmp_path):
    run = tamis.select(np.zeros((40, 2)), "all", np.arange(40) % 2)
    with pytest.raises(tamis.TamisError, match="kept no feature"):
        run.apply(np.zeros((40, 2)), tmp_path / "x.csv")


# --- in memory -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_transform_returns_the_same_kind_of_table(kind, table):
    run = keeping(["city", "age"])
    data = table.to_pandas() if kind is pd.DataFrame else table
    data = pl.from_arrow(table) if kind is pl.DataFrame else data
    data = pl.from_arrow(table).lazy() if kind is pl.LazyFrame else data
    found = run.transform(data)
    assert type(found) is type(data)
    found = found.collect() if kind is pl.LazyFrame else found
    frame = found if kind is pd.DataFrame else found.to_pandas()
    assert frame.to_dict("list") == {n: table[n].to_pylist() for n in ("city", "age")}


def test_transform_keeps_the_index_of_pandas(table):
    frame = table.to_pandas().set_index("id")
    assert keeping(["age"]).transform(frame).index.equals(frame.index)


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_transform_of_arrays_and_sparse_matrices(layout):
    run, (X, _) = of_numbers([2, 5]), numbers()
    np.testing.assert_array_equal(run.transform(X.toarray()), X.toarray()[:, [2, 5]])
    found = run.transform(X.asformat(layout))
    assert sp.issparse(found)
    np.testing.assert_array_equal(found.toarray(), X.toarray()[:, [2, 5]])
    with pytest.raises(tamis.TamisError, match="selected from 12 columns and X has 11"):
        run.transform(X[:, :11])
    with pytest.raises(tamis.TamisError, match="the table lacks 1 of the 1 kept column: 'age'"):
        keeping(["age"]).transform(pd.DataFrame({"Age": [1]}))


def test_what_happened_to_each_feature(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 6))
    X[:, 1] += y
    X[:, 4] += 2 * y
    run = tamis.select(X, tamis.SAOLA(tamis.FisherZ()), y)
    for one in (run, open_run(save_run(run, tmp_path / "run"))):
        frame = one.to_frame()
        assert len(frame) == 6
        assert frame["verdict"].tolist()[4] == "kept"
        assert one.support_.tolist() == [v == "kept" for v in frame["verdict"]]
        assert one.ranking_.tolist() == sorted(one.log.replay(), key=lambda f: -one.scores_[f])
        np.testing.assert_allclose(one.scores_, frame["relevance"], rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", BATCH_METHODS)
def test_the_ranking_of_a_batch_method_is_its_own_also_in_a_saved_run(tmp_path, method):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 150)
    X = rng.integers(0, 3, (150, 12)) + (y[:, None] * rng.integers(0, 2, 12))
    run = tamis.select(X.astype(float), method, y)
    assert run.log.ranking(as_kept=True).tolist() == run.selector.ranking_.tolist()
    assert open_run(save_run(run, tmp_path / "r")).ranking_.tolist() == run.ranking_.tolist()


def test_estimators_have_scores_a_ranking_and_a_support():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 6))
    X[:, [1, 4]] += np.outer(y, [1, 2])
    for kind in (tamis.SAOLA(tamis.FisherZ()), tamis.MRMR(n_features=2)):
        fitted = kind.fit(X, y)
        assert fitted.scores_.shape == (6,)
        assert np.flatnonzero(fitted.support_).tolist() == fitted.kept_.tolist()
        assert sorted(fitted.ranking_.tolist()) == fitted.kept_.tolist()


def with_phenotypes(folder, genes, **reading):
    """Return a matrix of samples whose target is in a table of its own, in another order."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 6)), [f"s{i}" for i in range(40)], list("abcdef"))
    X.index.name = "sample"
    sick = pd.DataFrame({"sample": X.index, "sick": (X["c"] > 0).astype(int).to_numpy()})
    sick.sample(frac=1, random_state=1).to_csv(folder / "sick.csv", index=False)
    (X.T if reading else X).to_csv(folder / genes)
    path, y = str(folder / genes), str(folder / "sick.csv")
    return X, sick, lambda: tamis.open(path, y=y, key="sample", target="sick", **reading)


def test_a_matrix_is_written_with_the_target_of_another_table(tmp_path):
    X, sick, opened = with_phenotypes(tmp_path, "genes.csv", transpose=True)
    run = tamis.select(opened(), "saola")
    assert run.kept_names == ["c"]
    open_run(save_run(run, tmp_path / "run")).apply(opened(), tmp_path / "small.csv")
    found = pd.read_csv(tmp_path / "small.csv").set_index("sample")
    assert found["c"].to_numpy() == pytest.approx(X["c"].loc[found.index].to_numpy())
    assert found["sick"].tolist() == sick.set_index("sample")["sick"].loc[found.index].tolist()


def test_a_table_is_not_written_with_the_target_of_another_one(tmp_path):
    *_, opened = with_phenotypes(tmp_path, "table.csv")
    run = tamis.select(opened(), "saola")
    with pytest.raises(InputError, match=r"^a table is written as it is, without the phenotypes"):
        run.apply(opened(), tmp_path / "small.csv")


def test_a_table_is_not_written_without_the_rows_that_have_no_target(tmp_path):
    X = pd.DataFrame({"a": np.arange(30.0), "y": np.arange(30) // 15}).astype(float)
    X.loc[3, "y"] = np.nan
    X.to_parquet(tmp_path / "t.parquet")
    with pytest.warns(DataWarning, match=r"^1 row has no 'y'"):
        source = tamis.open(tmp_path / "t.parquet", target="y", missing_target="drop")
    run = tamis.select(source, "saola")
    with pytest.raises(InputError, match="leave missing_target"):
        run.apply(source, tmp_path / "small.csv")
