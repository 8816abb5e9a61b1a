"""Tables that lack some keys: refused, or their values count as missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import tamis
from tamis.core.blocks import ColumnBlock
from tamis.core.errors import DataWarning
from tamis.sources.rebatch import with_rows

ROWS = 120
KEYS = np.array([f"k{i:03d}" for i in range(ROWS)])
Y = np.arange(ROWS) % 2
RNG = np.random.default_rng(0)
A = np.where(RNG.random(ROWS) < 0.8, Y, 1 - Y)
B = np.where(RNG.random(ROWS) < 0.9, Y, 1 - Y)


def day(name, values, keys=KEYS, seed=None):
    frame = pd.DataFrame({"key": keys, name: values[: len(keys)]})
    return frame if seed is None else frame.sample(frac=1, random_state=seed)


@pytest.mark.parametrize("policy", ["category", "delete"])
def test_fed_rows_that_are_missing_are_gaps(tmp_path, policy):
    short = day("b", B, KEYS[:100], seed=1)
    filled = day("b", B.astype(float))
    filled.loc[100:, "b"] = np.nan
    runs = []
    for name, table in (("lacking", short), ("filled", filled)):
        how = {"missing": policy, "key_name": "key"}
        selection = tamis.Selection.create(tmp_path / name, Y, "saola", KEYS, **how)
        selection.feed(day("a", A))
        fed = selection.feed(table, missing_rows="gaps")
        runs.append((fed, selection.run.why("b"), selection.run.source["missing"]))
    assert runs[0][1:] == runs[1][1:]
    assert (runs[0][0].missing_rows, runs[1][0].missing_rows) == (20, 0)
    assert str(runs[0][0]).endswith("; it lacks 20 rows, whose values are missing")


def test_the_default_takes_them_as_it_takes_missing_values(tmp_path):
    selection = tamis.Selection.create(tmp_path / "run", Y, "sieve", KEYS, key_name="key")
    selection.feed(day("a", A))
    assert selection.feed(day("b", B, KEYS[:100]), missing_rows="gaps").missing_rows == 20
    assert selection.run.source["missing"]["gaps"] == 20


def test_they_are_refused_by_default_and_where_gaps_are_not_allowed(tmp_path):
    how = {"key_name": "key"}
    selection = tamis.Selection.create(tmp_path / "run", Y, "saola", KEYS, **how)
    selection.feed(day("a", A))
    short = day("b", B, KEYS[:118])
    with pytest.raises(tamis.TamisError, match=r"key 'k118' and 1 other, which are in .*gaps"):
        selection.feed(short)
    with pytest.raises(tamis.TamisError, match="lacks 2 rows of the selection, which would be"):
        selection.feed(short, missing_rows="gaps")
    with pytest.raises(tamis.TamisError, match=r"missing_rows='gap' is not .*did you mean 'gaps'"):
        selection.feed(short, missing_rows="gap")
    stranger = day("b", B, np.array(["nobody", *KEYS[:100]]))
    with pytest.raises(tamis.TamisError, match="a row with the key 'nobody', which is not in"):
        selection.feed(stranger, missing_rows="gaps")
    assert len(selection.run.log) == 1


def test_the_target_of_a_short_table_is_compared_where_there_are_rows(tmp_path):
    how = {"missing": "category", "key_name": "key"}
    selection = tamis.Selection.create(tmp_path / "run", Y, "saola", KEYS, **how)
    for wrong in (False, True):
        table = day("b" if wrong else "a", B, KEYS[:90]).assign(died=Y[:90])
        if wrong:
            table.loc[3, "died"] = 1 - table.loc[3, "died"]
        path = tmp_path / f"{wrong}.parquet"
        table.to_parquet(path, index=False)
        if wrong:
            with pytest.raises(tamis.TamisError, match="brings a target that is not the one"):
                selection.feed(path, missing_rows="gaps", target="died")
        else:
            assert selection.feed(path, missing_rows="gaps", target="died").taken == 1


def folder(tmp_path):
    (tmp_path / "days").mkdir()
    first = pa.table({"key": KEYS, "died": Y, "a": A.astype(float)})
    pq.write_table(first, tmp_path / "days" / "1.parquet")
    second = day("b", B.astype(float), KEYS[:110], seed=2)
    second.to_parquet(tmp_path / "days" / "2.parquet", index=False)
    return tmp_path / "days"


def test_a_folder_of_tables_may_lack_rows(tmp_path):
    days = folder(tmp_path)
    how = {"target": "died", "key": "key"}
    with pytest.raises(tamis.TamisError, match=r"has no row with key 'k110', which .*rows gaps"):
        tamis.open(days, **how)
    with pytest.warns(DataWarning, match=r"1 file lacks rows, .* \(at most 10 of 120, in 2.parq"):
        source = tamis.open(days, missing_rows="gaps", **how)
    assert source.details()["rows_missing"] == {"2.parquet": 10}
    block = source.read(1, 2)
    np.testing.assert_array_equal(block.values[:110, 0], B[:110])
    assert np.isnan(block.values[110:]).all()
    run = tamis.select(source, "saola", missing="category")
    assert run.source["missing"]["gaps"] == 10
    run.apply(source, tmp_path / "small.parquet")
    assert pq.read_table(tmp_path / "small.parquet")["b"].null_count == 10


def test_a_row_of_missing_values_in_dense_and_sparse_blocks():
    X = sp.random(6, 3, 0.5, "csc", random_state=0)
    rows = np.array([4, -1, 0, 2, -1])
    expected = X.toarray()[rows]
    expected[rows < 0] = np.nan
    for block in (ColumnBlock.of(X), ColumnBlock.of(X.toarray())):
        moved = with_rows(block, rows)
        values = moved.values
        if block.is_sparse:
            values = sp.csc_matrix((values.data, values.indices, values.indptr), (5, 3)).toarray()
        np.testing.assert_array_equal(values, expected)
