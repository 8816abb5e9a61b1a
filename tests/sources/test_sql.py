"""SqlSource: the same rows from DuckDB, SQLite and connections; a sentence for what is wrong."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

import tamis
from tamis.core.errors import SourceError
from tamis.sources import open_source
from tamis.sources.tables.sql import SqlSource

duckdb = pytest.importorskip("duckdb")
ROWS = [(i, i / 4, i % 2 == 0, None if i == 3 else 2 * i, "ab"[i % 2]) for i in range(5000)]
MADE = "create table t (a integer, b double, c boolean, d integer, y varchar)"


@pytest.fixture(params=["duckdb", "sqlite"])
def database(request, tmp_path):
    path = tmp_path / f"rows.{request.param}"
    if request.param == "duckdb":
        import pyarrow as pa

        given = pa.table(dict(zip("abcdy", map(list, zip(*ROWS, strict=True)), strict=True)))
        with duckdb.connect(str(path)) as connection:
            connection.register("given", given)
            connection.execute(MADE)
            connection.execute("insert into t select * from given")
    else:
        connection = sqlite3.connect(path)
        connection.execute(MADE)
        connection.executemany("insert into t values (?, ?, ?, ?, ?)", ROWS)
        connection.commit()
        connection.close()
    return path


@pytest.mark.parametrize("size", [None, 1000, 4096, 5000, 7000])
def test_rows_are_the_answer(database, size):
    source = open_source(database, query="select * from t order by a;", target="y")
    blocks = list(source.batches(size))
    values = np.vstack([block.values for block in blocks])
    want = np.array([row[:4] for row in ROWS], dtype=np.float64)
    assert np.array_equal(values, want, equal_nan=True)
    assert np.isnan(values[3, 3])
    assert np.concatenate([block.y for block in blocks]).tolist() == [row[4] for row in ROWS]
    heights = [block.height for block in blocks]
    assert [block.first for block in blocks] == [sum(heights[:k]) for k in range(len(blocks))]
    if size is not None:
        assert {block.height for block in blocks[:-1]} <= {size}
    assert list(source.names()) == ["a", "b", "c", "d"]


def test_an_address_contains_all_options(database, monkeypatch):
    scheme = database.suffix[1:]
    query = "select%20a,%20b,%20y%20from%20t%20where%20a%20<%2010"
    by_address = tamis.open(f"{scheme}:///{database}?query={query}&target=y")
    assert (by_address.n_rows, by_address.n_columns) == (10, 2)
    monkeypatch.chdir(database.parent)
    relative = tamis.open(f"{scheme}:///{database.name}?query={query}")
    assert (relative.n_rows, relative.n_columns) == (10, 3)


def test_a_connection_of_the_user_stays_open(database):
    connect = duckdb.connect if database.suffix == ".duckdb" else sqlite3.connect
    connection = connect(str(database))
    source = tamis.open(connection, format="sql", query="select a, y from t", target="y")
    assert source.load()[0].shape == (5000, 1)
    assert source.info().fingerprint == source.info().fingerprint
    assert connection.execute("select count(*) from t").fetchone() == (5000,)
    connection.close()


def test_nothing_but_a_select_is_run(database):
    connect = duckdb.connect if database.suffix == ".duckdb" else sqlite3.connect
    connection = connect(str(database))
    for query in ("drop table t", "delete from t", "update t set a = 0"):
        with pytest.raises(SourceError, match="the query on this connection failed"):
            SqlSource(connection, query)
    assert connection.execute("select count(*), max(a) from t").fetchone() == (5000, 4999)
    connection.close()


def test_duckdb_reads_files_named_in_the_query(tmp_path):
    (tmp_path / "few.csv").write_text("y,a\n1,2\n0,3\n")
    query = f"select * from '{tmp_path / 'few.csv'}'"
    source = SqlSource(":memory:", query, target="y")
    assert source.load()[0].tolist() == [[2.0], [3.0]]
    assert source.target().tolist() == [1, 0]
    assert open_source(f"duckdb://?query={query}").n_columns == 2


def test_the_kept_columns_belong_to_the_query(database, tmp_path):
    from tamis.sources.axis import to_columns

    first = SqlSource(database, "select a, b, y from t", target="y")
    store = to_columns(first, tmp_path / "kept.cols")
    assert [name for block in store.columns() for name in block.names] == ["a", "b"]
    other = to_columns(SqlSource(database, "select a, y from t", "y"), tmp_path / "kept.cols")
    assert other.n_columns == 1


def sentence(*args, **options):
    with pytest.raises(SourceError) as caught:
        list(SqlSource(*args, **options).batches())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_errors_are_one_sentence(database, tmp_path):
    assert sentence(database) == (
        f"{database} is a database; say what to read with query= (--query 'SELECT * FROM t'); it "
        "has 't'"
    )
    for query in ("selec a from t", "select nope from t", "select a from nowhere"):
        message = sentence(database, query)
        assert message.startswith(f"the query on {database} failed (")
        assert message.endswith("; check it")
    assert sentence(database, "select a, a as b from t", "y") == (
        f"the query on {database} gives no column 'y'; its columns are a, b"
    )
    assert "column 'y' of the query on" in sentence(database, "select y from t")
    assert "holds 'a' in row 1, which is not a number" in sentence(database, "select y from t")
    assert sentence(database, "select a, d from t order by a", "d") == (
        f"the target 'd' of the query on {database} is NULL in row 4; add WHERE d IS NOT NULL"
    )
    twice = sentence(database, "select 1 as u, 2 as U, 3 as u from t limit 1")
    assert "two columns called 'u'" in twice or "failed" in twice
    (tmp_path / "no.db").write_text("no database at all, just some words\n" * 20)
    assert "no.db failed (" in sentence(tmp_path / "no.db", "select 1 as a")
    with pytest.raises(SourceError, match="begin with duckdb:/// or sqlite:///"):
        SqlSource("mysql://host/db?query=select 1")
    with pytest.raises(SourceError, match=r"no such file|does not exist"):
        open_source("duckdb:///nowhere.duckdb?query=select 1")
