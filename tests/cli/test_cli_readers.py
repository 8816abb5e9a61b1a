"""Files of every format on the command line: the same features, or one error sentence."""

from __future__ import annotations

import csv
import json
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.integers(0, 4, (200, 12)).astype(float)
    X[:, 3], X[:, 8] = y, np.where(rng.random(200) < 0.1, 1 - y, y)
    X[0, 3] = 1 - y[0]  # no copy of the target, which would be reported
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(12)])
    frame["town"] = rng.choice(["Bonn", "Köln", "Trier"], 200)
    frame["who"] = [f"p{i}" for i in range(200)]
    return frame.assign(sick=np.where(y == 1, "yes", "no"))


def selected(folder) -> list[str]:
    with open(os.path.join(folder, "selected.csv"), newline="", encoding="utf-8") as file:
        return [row["name"] for row in csv.DictReader(file)]


def test_every_kind_of_table_gives_the_same_features(tamis, tmp_path, table):
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_csv(tmp_path / "a.tsv.gz", index=False, sep="\t")
    table.to_csv(tmp_path / "semi.csv", index=False, sep=";")
    table.to_parquet(tmp_path / "a.parquet")
    table.to_feather(tmp_path / "a.feather")
    (tmp_path / "days").mkdir()
    table[["who", "sick", *table.columns[:7]]].to_parquet(tmp_path / "days" / "1.parquet")
    table[["who", *table.columns[7:13]]].sample(frac=1, random_state=0).to_parquet(
        tmp_path / "days" / "2.parquet"
    )
    found = {}
    options = ("--target", "sick", "--key", "who", "--quiet")
    for name in ("a.csv", "a.tsv.gz", "semi.csv", "a.parquet", "a.feather", "days"):
        more = ("--delimiter", ";") if name == "semi.csv" else ()
        out = tamis("select", tmp_path / name, *options, *more, "--out", tmp_path / f"run-{name}")
        assert out.code == 0, out
        found[name] = selected(tmp_path / f"run-{name}")
    assert found["a.csv"][0] == "g3"
    assert all(names == found["a.csv"] for names in found.values()), found
    small = tamis(
        "select", tmp_path / "a.csv", *options, "--memory", "20KB", "--out", tmp_path / "small"
    )
    assert small.code == 0
    assert selected(tmp_path / "small") == found["a.csv"]
    assert (tmp_path / "a.csv.cols").is_dir()  # too large for memory: converted once, and kept
    other = tamis(
        "select", tmp_path / "a.csv", *options, "--memory", "20KB", "--ignore", "g3",
        "--out", tmp_path / "other",
    )  # fmt: skip
    assert other.code == 0
    assert "g3" not in selected(tmp_path / "other"), "a store read in another way was used again"


def test_lists_and_lines_from_the_command_line(tamis, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    hints = np.concatenate([[1 - y[0]], y[1:]])  # no copy of the target, which would be reported
    lists = [["spam"] * int(3 * hint) + ["the"] for hint in hints]
    pq.write_table(pa.table({"words": lists, "y": y}), tmp_path / "mail.parquet")
    out = tamis(
        "select", tmp_path / "mail.parquet", "--tokens", "words", "--target", "y",
        "--out", tmp_path / "run", "--quiet",
    )  # fmt: skip
    assert out.code == 0, out
    assert selected(tmp_path / "run") == ["spam"]
    lines = [(i, word) for i, row in enumerate(lists) for word in set(row)]
    pq.write_table(
        pa.table({"mail": [i for i, _ in lines], "word": [w for _, w in lines]}),
        tmp_path / "long.parquet",
    )
    np.save(tmp_path / "labels.npy", y)
    out = tamis(
        "select", tmp_path / "long.parquet", "--long", "mail,word", "--y", tmp_path / "labels.npy",
        "--out", tmp_path / "run2", "--quiet",
    )  # fmt: skip
    assert out.code == 0, out
    assert selected(tmp_path / "run2") == ["spam"]


def test_convert_and_info_take_the_same_options(tamis, tmp_path, table):
    table.to_csv(tmp_path / "a.csv", index=False)
    reading = ("--target", "sick", "--ignore", "who")
    assert "2 classes: no" in tamis("info", tmp_path / "a.csv", *reading).out
    out = tamis("convert", tmp_path / "a.csv", tmp_path / "a.cols", *reading)
    assert out.out == f"wrote {tmp_path / 'a.cols'}: 200 rows, 13 columns\n"
    run = tamis("select", tmp_path / "a.cols", "--out", tmp_path / "run", "--quiet")
    assert run.code == 0
    assert selected(tmp_path / "run")[0] == "g3"
    # Text stays text in a store: a measure for numbers rejects it there too.
    numbers = ("--method", "saola", "--measure", "fisher_z")
    sentence = tamis(
        "select", tmp_path / "a.cols", *numbers, "--out", tmp_path / "no"
    ).one_sentence()
    assert sentence == (
        "column 'town' holds words, which have no order, and numbers are needed here; leave it out "
        "(--ignore), make a column of each word (pandas.get_dummies, sklearn's OneHotEncoder), or "
        "turn numbers into categories too (--encode mdlp)"
    )


def test_bad_files_are_one_sentence_and_leave_nothing(tamis, tmp_path, table):
    def error_of(name, text, *options):
        (tmp_path / name).write_bytes(text)
        out = tamis("select", tmp_path / name, "--out", tmp_path / "run", "--quiet", *options)
        assert not (tmp_path / "run").exists()
        return out.one_sentence().removeprefix(str(tmp_path / name)).strip(" :")

    assert error_of("a.csv", b"a,y\n1,2\n") == (
        "has no target; name the column to predict with --target, in Python "
        "tamis.open('a.csv', target=...); it has 'a', 'y'"
    )
    assert error_of("b.csv", b"a,b\n1,2\n2,1\n1\n", "--target", "b") == (
        "line 4 has 1 value where the lines before have 2; fix or remove the line"
    )
    assert error_of("c.csv", b'"two\nlines",y\n1,2\n', "--target", "z") == (
        r"has no column 'z', which target names; it has 'two\nlines', 'y'"
    )
    assert (
        error_of("d.csv", b"a,y\n1,2\n", "--tokens", "a")
        == "the csv reader has no option 'tokens'; leave it out"
    )
    table.to_parquet(tmp_path / "e.parquet")
    half = (tmp_path / "e.parquet").read_bytes()[:-9]
    assert error_of("e.parquet", half, "--target", "sick").startswith(
        "cannot be read as a Parquet file, it is truncated or damaged ("
    )
    saola = ("--target", "y", "--method", "saola")
    assert error_of("f.csv", b"a,b,y\n1,x,2\n,x,1\n3,w,1\n", *saola).startswith(
        "Input X contains NaN (a missing value) in column 'a', row 1 (counted from 0); say what"
    )


def test_the_checksums_of_a_store_are_verified_on_request(tamis, table, tmp_path):
    table.to_csv(tmp_path / "a.csv", index=False)
    assert tamis("convert", "a.csv", "a.cols", "--target", "sick").code == 0
    assert json.loads(tamis("info", "a.cols", "--verify", "--json").out)["verified"] is True
    file = next((tmp_path / "a.cols").glob("dense*.npy"))
    whole = bytearray(file.read_bytes())
    whole[-5] ^= 64
    file.write_bytes(whole)
    message = tamis("info", "a.cols", "--verify").one_sentence()
    assert message.startswith("a.cols")
    assert file.name in message
    message = tamis("info", "a.csv", "--verify").one_sentence()
    assert message == "a.csv is not a store, so it has no checksums to verify"
