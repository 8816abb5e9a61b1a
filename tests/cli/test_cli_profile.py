"""tamis info profiles any file, and the command that it suggests runs."""

from __future__ import annotations

import inspect
import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import tamis as library

#: The method that is used if none is given.
DEFAULT = inspect.signature(library.select).parameters["selector"].default

pytestmark = pytest.mark.filterwarnings("always::tamis.core.errors.DataWarning")


def clinic(n: int = 240) -> pd.DataFrame:
    """A table with one of everything."""
    rng = np.random.default_rng(0)
    died = rng.integers(0, 2, n)
    table = pd.DataFrame(
        {
            "patient": [f"P{i:04}" for i in range(n)],
            "number": np.arange(1, n + 1),
            "age": rng.integers(20, 90, n).astype(float),
            "dose": (rng.normal(size=n) + died).round(4),
            "town": rng.choice(["Bonn", "Köln", "Ulm"], n),
            "sex": rng.choice(["f", "m"], n),
            "seen": pd.date_range("2024-01-01", periods=n).strftime("%d.%m.%Y"),
            "dead": died,
            "unit": 1,
            "lab": np.where(rng.random(n) < 0.05, "?", rng.normal(size=n).round(2).astype(str)),
            "died": died,
            "cost": (rng.normal(size=n) + died).round(3),
        }
    )
    table["dose again"] = table["dose"]
    table.loc[::10, "age"] = np.nan
    table.loc[::9, "town"] = None
    return table


def suggested(tamis, path: Path, *options: str) -> list[str]:
    """Return the command that tamis info suggests, without the name of the program."""
    found = tamis("info", path, *options, "--json")
    assert found.code == 0, found.err
    command = json.loads(found.out)["profile"]["command"]
    assert command is not None, found.out
    return shlex.split(command)[1:]


def works(tamis, path: Path, *options: str) -> str:
    """Run what tamis info suggests; return the command."""
    command = suggested(tamis, path, *options)
    done = tamis(*command)
    assert done.code == 0, (command, done.err)
    assert tamis(*command, "--force").code == 0
    return shlex.join(command)


def test_everything_about_a_messy_file_at_once(tamis, tmp_path):
    clinic().drop(columns="cost").to_csv("clinic.csv", index=False)
    lines = tamis("info", "clinic.csv", "--target", "died").out.splitlines()
    # Sieve takes words and gaps as they are; for other methods they are problems.
    gaps = "'age', 'town' have missing values: --method sieve takes them, or --missing (missing=)"
    words = "'town' holds words beside numbers: --method sieve takes them, or --encode (encode=)"
    others = [] if DEFAULT == "sieve" else [f"problem: {gaps}", f"problem: {words}"]
    reading = "clinic.csv --target died --ignore patient --ignore number --ignore dead --na '?'"
    sieve = f"tamis select {reading} --method sieve --out run/"
    command = f"tamis select {reading} --out run/" if DEFAULT == "sieve" else sieve
    assert lines[: lines.index("")] == [
        "clinic.csv: 240 rows, 11 columns besides the target",
        "columns: numbers 2, whole numbers 2, words 2, dates 1, constants 1, identifiers 2, "
        "numbers and words 1; 2 with missing values",
        "target: 'died', 2 classes: 0 (109), 1 (131), because the target holds 2 different whole "
        "numbers, each in 120 rows on average",
        "suspicious: 'patient', 'number' are identifiers: leave them out with --ignore (ignore=), "
        "or match the rows of several tables by them with --key (key=)",
        "suspicious: 'dead' is a copy of the target: leave it out with --ignore (ignore=)",
        "suspicious: 'seen' holds dates: they are left out; --dates number (dates='number') takes "
        "them as days",
        "suspicious: 1 column is equal to others ('dose' = 'dose again')",
        "problem: 'lab' holds numbers and also '?': read as missing with --na '?' (na=)",
        *others,
        f"this works: {command}",
    ]
    how = ("--target", "died", "--out", "other", "--method", "saola")
    refused = tamis("select", "clinic.csv", *how)
    assert refused.code == 2
    assert refused.err.splitlines()[-1] == (
        "tamis: clinic.csv has 3 problems: 'lab' holds numbers and also '?': read as missing with "
        f"--na '?' (na=); {gaps}; {words}; this works: {sieve}"
    )
    # What is handled is not listed again.
    handled = ("--na", "?", "--missing", "delete", "--ignore", "patient")
    rest = tamis("select", "clinic.csv", *how, *handled)
    assert "missing values" not in rest.err
    done = tamis(*shlex.split(command)[1:])
    assert done.code == 0
    assert " of 7 features" in done.out


def write(table: pd.DataFrame, kind: str) -> Path:
    path = Path(f"data.{kind}")
    if kind == "parquet":
        table.to_parquet(path)
    elif kind == "german.csv":
        table.to_csv(path, index=False, sep=";", decimal=",")
    else:
        table.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    return path


@pytest.mark.parametrize("target", ["died", "cost", "sex", None])
@pytest.mark.parametrize("kind", ["csv", "tsv", "german.csv", "parquet"])
def test_the_suggestion_works(tamis, tmp_path, kind, target):
    table = clinic()
    if kind == "parquet":
        table["seen"] = pd.to_datetime(table["seen"], format="%d.%m.%Y")
        table["lab"] = pd.to_numeric(table["lab"], errors="coerce")
    path = write(table, kind)
    works(tamis, path, *([] if target is None else ["--target", target]))


def test_odd_columns_of_a_parquet_file(tamis, tmp_path):
    rng = np.random.default_rng(0)
    n = 120
    y = rng.integers(0, 2, n)
    table = pa.table(
        {
            "account": pa.array(2**60 + np.arange(n)),
            "group": pa.array(2**60 + y + rng.integers(0, 2, n)),
            "lists": [[1, 2]] * n,
            "endless": np.where(np.arange(n) == 3, np.inf, rng.normal(size=n)),
            "-x 'y'": rng.normal(size=n) + y,
            "nothing": pa.nulls(n),
            "numbers in text": [str(v) for v in rng.integers(0, 30, n)],
            "when": pa.array(np.arange(n).astype("datetime64[D]")),
            "outcome": y,
        }
    )
    pq.write_table(table, "odd.parquet")
    command = works(tamis, Path("odd.parquet"))
    assert "--ignore account" in command
    assert "--categorical group" in command
    text = tamis("info", "odd.parquet").out
    assert "'outcome' (a guess; name it with --target)" in text
    assert "problem: 'lists' holds lists or other structures: leave it out with --ignore" in text
    assert "problem: 'endless' holds infinite values: leave it out with --ignore" in text
    assert "suspicious: 'numbers in text' holds numbers as text: convert them" in text


def test_numbers_with_words_that_are_not_gaps(tamis, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    level = np.where(rng.random(100) < 0.2, "high", rng.integers(0, 9, 100).astype(str))
    pd.DataFrame({"level": level, "x": rng.normal(size=100) + y, "y": y}).to_csv("a.csv")
    command = works(tamis, Path("a.csv"), "--target", "y")
    assert "--categorical level" in command


def test_what_is_not_clear_about_a_file_is_a_problem(tamis, tmp_path):
    rows = "".join(f"{1 + i % 7}.{100 + i};{i % 2}\n" for i in range(60))
    Path("a.csv").write_text("a;y\n" + rows)
    text = tamis("info", "a.csv", "--target", "y").out
    assert "problem: '1.100' in column 'a' may have a decimal mark or grouped thousands" in text
    assert "--decimal ." in works(tamis, Path("a.csv"), "--target", "y")
    Path("a.csv").write_text("a;y\n" + rows.replace(".", ","))
    assert "--decimal ," in works(tamis, Path("a.csv"), "--target", "y")


def test_numbers_with_a_unit_are_noted(tamis, tmp_path):
    rows = [f'"€1,{i:03}.50",{i} km,{i % 5}%,{i}{"ab"[i % 2]},C{i},{i % 2}' for i in range(60)]
    Path("a.csv").write_text("\n".join(["price,way,off,house,code,y", *rows]) + "\n", "utf-8")
    found = tamis("info", "a.csv", "--target", "y").out
    assert "'price', 'way', 'off' hold numbers with a unit ('€' or 'km' or '%'): they are" in found
    assert "'way', 'house', 'code' are identifiers" in found  # the way is a running number
    assert "--ignore" in works(tamis, Path("a.csv"), "--target", "y")


def test_targets_that_cannot_be_used(tamis, tmp_path):
    pd.DataFrame({"x": range(30), "y": [1.0, None, 2.0] * 10, "z": 1}).to_csv("a.csv", index=False)
    found = tamis("info", "a.csv", "--target", "y")
    assert "problem: 10 rows have no target: --missing-target drop" in found.out
    assert "2 classes: 1 (10), 2 (10); 10 rows have no target" in found.out
    assert "--missing-target drop" in works(tamis, Path("a.csv"), "--target", "y")
    again = tamis("info", "a.csv", "--target", "y", "--missing-target", "drop")
    assert "problem: 10 rows" not in again.out
    pd.DataFrame({"x": range(30), "y": [1.5, np.inf, 2.5] * 10}).to_csv("inf.csv", index=False)
    found = tamis("info", "inf.csv", "--target", "y")
    assert "problem: 10 rows have no target: remove them" in found.out
    assert "this works" not in found.out
    found = tamis("info", "a.csv", "--target", "z")
    assert "problem: the target is 1 in every row" in found.out
    Path("b.csv").write_text("a,a,y\n1,2,0\n2,3,1\n")
    found = tamis("info", "b.csv", "--target", "y", "--json")
    problems = json.loads(found.out)["profile"]["problems"]
    assert [problem["kind"] for problem in problems] == ["names"]


@pytest.mark.parametrize("sparse", [False, True])
def test_matrices_and_svmlight(tamis, svm, tmp_path, sparse):
    assert "columns: whole numbers 30" in tamis("info", svm).out
    works(tamis, svm)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = np.round(rng.normal(size=(100, 6)), 2) * (rng.random((100, 6)) < 0.5)
    X[:, 1] += y
    X[:, 4], X[:, 5] = 0, X[:, 1]
    X[3, 2] = 1 if sparse else np.nan  # a sparse file must not hold gaps
    name = "m.npz" if sparse else "m.npy"
    sp.save_npz(name, sp.csc_matrix(X)) if sparse else np.save(name, X)
    np.save("m.y.npy", y)
    text = tamis("info", name).out
    gaps = "" if sparse else "; 1 with missing values"
    assert f"columns: numbers 5, constants 1{gaps}" in text
    assert "1 column is equal to others ('x1' = 'x5')" in text
    works(tamis, Path(name))


def test_values_that_a_reader_refuses_are_a_problem(tamis, tmp_path):
    sp.save_npz("m.npz", sp.csc_matrix([[1.0, np.nan], [0.0, 2.0]]))
    np.save("m.y.npy", [0, 1])
    found = tamis("info", "m.npz")
    assert found.code == 0
    assert "problem: m.npz holds NaN or infinity; fill or drop such values first" in found.out
    assert tamis("info", "nothing.csv").code == 2


def test_gene_tables_keep_their_options(tamis, tmp_path):
    rng = np.random.default_rng(0)
    status = rng.integers(0, 2, 50)
    X = rng.normal(size=(50, 8)) + np.outer(status, np.arange(8) == 2)
    X[4, 5] = np.nan
    samples = [f"S{i}" for i in range(50)]
    pd.DataFrame(X.T, [f"g{j}" for j in range(8)], samples).to_csv("expr.tsv", sep="\t")
    pd.DataFrame({"sample": samples, "status": status}).to_csv("pheno.csv", index=False)
    how = ("--transpose", "--y", "pheno.csv", "--key", "sample", "--target", "status")
    command = works(tamis, Path("expr.tsv"), *how)
    assert "--transpose" in command
    text = tamis("info", "expr.tsv").out  # a sample is a column, and no target
    assert "give --transpose (transpose=True), and the table of samples with the target" in text
    assert "this works" not in text


def random_table(seed: int) -> tuple[pd.DataFrame, str]:
    """Return a table of random columns of all kinds, and the name of its target."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 200))
    targets = {
        "two classes": rng.integers(0, 2, n),
        "words": rng.choice(["u", "v", "w"], n),
        "real": rng.normal(size=n).round(3) + 0.0005,
    }
    name = str(rng.choice(list(targets)))
    makers = {
        "real": lambda: rng.normal(size=n).round(3),
        "few": lambda: rng.integers(0, 4, n),
        "counts": lambda: rng.poisson(40, n),
        "words": lambda: rng.choice(["a", "b", "c d"], n),
        "flag": lambda: rng.choice(["yes", "no"], n),
        "names": lambda: [f"n{i}" for i in range(n)],
        "day": lambda: pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
        "same": lambda: np.full(n, 7),
        "mixed": lambda: np.where(rng.random(n) < 0.1, "n.a.", rng.integers(0, 50, n).astype(str)),
        "odd": lambda: np.where(rng.random(n) < 0.1, "big", rng.integers(0, 50, n).astype(str)),
        "large": lambda: 2**60 + rng.integers(0, 3, n),
        "empty": lambda: np.full(n, np.nan),
    }
    table = {"sure": rng.normal(size=n).round(4)}
    for kind in rng.choice(list(makers), int(rng.integers(1, 9)), replace=False):
        column = pd.Series(np.asarray(makers[kind]())).astype(object)
        if rng.random() < 0.4:
            column[rng.random(n) < 0.2] = None
        table[f"{kind} {len(table)}"] = column
    return pd.DataFrame(table | {"the target": targets[name]}), "the target"


@pytest.mark.parametrize("seed", range(24))
def test_the_suggestion_works_on_random_tables(tamis, tmp_path, seed):
    table, target = random_table(seed)
    table.to_csv("a.csv", index=False)
    works(tamis, Path("a.csv"), "--target", target)


def test_the_profile_comes_before_the_technical_facts(tamis, dated) -> None:
    for file in ("t.csv", "t.parquet"):
        lines = tamis("info", file, "--target", "y").out.splitlines()
        assert lines[0] == f"{file}: 200 rows, 3 columns besides the target"
        works = f"this works: tamis select {file} --target y --out run/"
        assert lines.index(works) < lines.index("") < lines.index(f"name              {file}")


def test_dates_as_text_are_left_out_of_parquet_as_of_csv(tamis, dated) -> None:
    note = "'when' holds dates and was left out; to use dates as numbers (days), give"
    for file in ("t.csv", "t.parquet"):
        assert "dates 1" in tamis("info", file, "--target", "y").out
        done = tamis("select", file, "--target", "y", "--out", f"run-{file}")
        assert f"tamis: {file}: {note}" in done.err
        options = ("--target", "y", "--dates", "number", "--out", f"days-{file}")
        assert tamis("select", file, *options).code == 0
        done = tamis("why", f"days-{file}", "when")
        assert "when" in done.out
    assert tamis("why", "days-t.csv", "when").out == tamis("why", "days-t.parquet", "when").out


def test_text_that_begins_with_dates_is_refused(tamis, dated) -> None:
    table = pd.read_parquet("t.parquet")
    long = pd.concat([table] * 6, ignore_index=True)
    long.loc[1100, "when"] = "later"
    long.to_parquet("long.parquet")
    done = tamis("select", "long.parquet", "--target", "y", "--out", "run")
    assert "column 'when' holds dates and also 'later'; leave it out" in done.one_sentence()
    long.astype({"when": "category"}).to_parquet("long.parquet")  # its type says what it is
    assert tamis("select", "long.parquet", "--target", "y", "--out", "run").code == 0


def test_quiet_prints_nothing_but_errors(tamis, dated) -> None:
    done = tamis("select", "t.csv", "--target", "y", "--out", "run", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    done = tamis("feed", "run", "none.csv", "--quiet")
    assert done.code == 2
    assert done.err
    done = tamis("select", "t.csv", "--target", "y", "--out", "loud")
    assert "was left out" in done.err


@pytest.fixture
def dated(tmp_path):
    """A table with a column of dates, as text."""
    rng = np.random.default_rng(0)
    number = rng.normal(size=200)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 200), "D")
    table = pd.DataFrame(
        {"number": number, "word": rng.choice(list("abc"), 200), "when": days.strftime("%Y-%m-%d")}
    )
    table["y"] = (number > 0).astype(int)
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")


def test_what_may_mislead_is_suspicious(tamis):
    rng = np.random.default_rng(0)
    price = rng.integers(10_000, 90_000, 200)
    size = np.where(rng.random(200) < 0.1, -999.0, rng.normal(50, 9, 200).round(1))
    kind = np.where(rng.random(200) < 0.1, "-", rng.choice(["flat", "house"], 200))
    table = {"euro": (0.92 * price).round(2), "size": size, "kind": kind, "price": price}
    pd.DataFrame(table | {"cost": [f"${p / 2:,.1f}" for p in price]}).to_csv("a.csv", index=False)
    text = tamis("info", "a.csv", "--target", "price").out
    assert (
        "suspicious: 'euro', 'cost' are copies of the target: leave them out with --ignore" in text
    )
    assert "'cost' holds numbers with a unit ('$'): they are read as numbers" in text
    sizes, kinds = (int(np.sum(column == mark)) for column, mark in ((size, -999), (kind, "-")))
    assert f"'size' holds '-999' {sizes} times: if it means a missing value, --na=-999" in text
    assert f"'kind' holds '-' {kinds} times: if it means a missing value, --na=- (na=)" in text
    assert "identifier" not in text
    works(tamis, Path("a.csv"), "--target", "price")


def test_files_that_no_selection_can_read_are_described(tamis):
    rows = [f"{i},{i % 7},{i % 2}" for i in range(30)]
    rows[4], rows[9] = "1,2,3,4", "1"
    Path("a.csv").write_text("\n".join(["x,z,y", *rows, ""]))
    text = tamis("info", "a.csv", "--target", "y").out
    assert "problem: line 6 has 4 values, line 11 has 1 value; the others have 3" in text
    assert "this works" not in text
    text = tamis("info", "a.csv", "--target", "label").out
    assert "problem: a.csv has no column 'label', which target names" in text
    Path("b.csv").write_text("x,z,y\n")
    assert "problem: there are no rows" in tamis("info", "b.csv", "--target", "y").out
    Path("c.csv").write_text("y\n1\n2\n")
    assert (
        "problem: there is no column that could be a feature besides"
        in tamis("info", "c.csv", "--target", "y").out
    )
    Path("d.csv").write_text("x,y\n" + "1,a\n2,\n3,b\n4,a\n5,b\n" * 4)
    assert (
        "problem: 4 rows have no target: --missing-target drop"
        in tamis("info", "d.csv", "--target", "y").out
    )
    works(tamis, Path("d.csv"), "--target", "y")
    Path("e.csv").write_text("1,0.5,-1.2\n" + "0,1.5,-2\n1,2.5,-3\n" * 10)
    assert "--no-header" in works(tamis, Path("e.csv"), "--target", "x0", "--no-header")


@pytest.mark.parametrize("corner", ["", "gene"])
def test_a_table_of_genes_by_samples_is_recognised(tamis, corner):
    hint = "suspicious: if its lines are features (genes) and its columns are samples, give --trans"
    genes = [f"g{j},{j % 3},{j % 5},{j * j % 7}" for j in range(30)]
    Path("a.csv").write_text("\n".join([f"{corner},S1,S2,S3", *genes, ""]))
    assert hint in tamis("info", "a.csv").out
    assert hint not in tamis("info", "a.csv", "--target", "S3").out
    rows = [f"{j},{j % 3},{j % 5},{j * j % 7}" for j in range(30)]
    Path("b.csv").write_text("\n".join([f"{corner},S1,S2,S3", *rows, ""]))
    assert hint not in tamis("info", "b.csv").out
