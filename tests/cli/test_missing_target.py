"""A target that is not named raises an error before any long work, with candidates."""

from __future__ import annotations

import os
import sqlite3

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from source_makers import ANNDATA


def unnamed(name: str, there: str) -> str:
    return (
        f"{name} has no target; name the column to predict with --target, in Python "
        f"tamis.open({name!r}, target=...); it has {there}"
    )


@pytest.fixture
def error_of(tamis, tmp_path):
    """Return a function that runs a failing command and returns its message."""

    def refused(command: str, *arguments: object) -> str:
        before = sorted(os.listdir(tmp_path))
        out = ("--out", "r") if command == "select" else ()
        sentence = tamis(command, *arguments, *out).one_sentence()
        assert sorted(os.listdir(tmp_path)) == before
        return sentence

    return refused


@pytest.fixture
def table() -> pd.DataFrame:
    return pd.DataFrame({"id": range(20), "a": np.arange(20) / 3, "y": [0, 1] * 10})


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.csv", lambda table, path: table.to_csv(path, index=False)),
        ("t.parquet", lambda table, path: table.to_parquet(path, index=False)),
        ("t.feather", lambda table, path: table.to_feather(path)),
    ],
)
def test_tables_name_their_columns(error_of, table, name, write):
    write(table, name)
    expected = unnamed(name, "'id', 'a', 'y'")
    assert error_of("select", name) == expected
    assert error_of("learn", name) == expected
    assert error_of("select", name, "--checkpoint") == expected


def test_a_wide_table_names_its_last_column_too(error_of, table):
    wide = pd.DataFrame({f"c{j}": [0.5, 1.5] for j in range(3000)}).assign(sick=[0, 1])
    wide.to_parquet("w.parquet", index=False)
    there = "'c0', 'c1', 'c2', 'c3', 'c4' and 2,996 more, the last 'sick'"
    assert error_of("select", "w.parquet") == unnamed("w.parquet", there)


def test_other_tables(error_of, table, tmp_path):
    with sqlite3.connect("t.sqlite") as connection:
        table.to_sql("t", connection, index=False)
    connection.close()
    message = error_of("select", "t.sqlite", "--query", "select a, y from t")
    assert message == unnamed("t.sqlite", "'a', 'y'")
    os.mkdir("days")
    table.to_parquet("days/1.parquet", index=False)
    message = error_of("select", "days", "--key", "id")
    assert message == unnamed("days", "'a', 'y'")
    table.assign(feature=["p", "q"] * 10).to_parquet("l.parquet", index=False)
    message = error_of("select", "l.parquet", "--long", "id,feature,a")
    assert message == unnamed("l.parquet", "'id', 'a', 'y', 'feature'")
    table.assign(words=[["p", "q"]] * 20).to_parquet("w.parquet", index=False)
    message = error_of("select", "w.parquet", "--tokens", "words")
    assert message == unnamed("w.parquet", "'id', 'a', 'y', 'words'")


def test_cells_are_not_converted_first(error_of):
    pytest.importorskip("h5py")
    for layer in ((), ("--layer", "rows")):
        arguments = error_of("select", ANNDATA, *layer)
        assert arguments.startswith(
            f"{ANNDATA} has no target; name a column of obs with --target, in "
        )
        assert arguments.endswith(
            "; obs has 'type', 'batch', 'dose', 'alive', 'day' and 1 more, the last 'gaps'"
        ), arguments


def test_matrices_and_stores(error_of, tamis):
    sp.save_npz("m.npz", sp.eye(5, format="csr"))
    np.save("d.npy", np.eye(5))
    for name in ("m.npz", "d.npy"):
        assert error_of("select", name) == (
            f"{name} has no target; save one with numpy.save as {name[0]}.y.npy beside it, or name "
            "the file that holds it with --y (y=)"
        )
    for store in ("m.cols", "m.rows"):
        assert tamis("convert", "m.npz", store, "--quiet").code == 0
        arguments = error_of("select", store)
        assert arguments == f"{store} has no target; convert it again from data that has one"


def test_genotypes_without_a_phenotype(error_of):
    bed_reader = pytest.importorskip("bed_reader")
    bed_reader.to_bed("s.bed", np.ones((4, 3)), properties={"pheno": ["-9"] * 4})
    assert error_of("select", "s.bed") == (
        "s.bed has no target; nobody in its .fam file has a phenotype; name a file of phenotypes "
        "with --y (y=)"
    )
