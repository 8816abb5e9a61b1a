"""Files with decimal commas, dates and other delimiters, from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tamis import open_run

#: Warnings are printed, as outside the tests, and not raised.
pytestmark = pytest.mark.filterwarnings("always::tamis.core.errors.DataWarning")


@pytest.fixture
def german(tmp_path, monkeypatch):
    """A German table in two files, as columns of the same rows, and its English twin."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = np.round(rng.normal(size=(300, 4)) + np.outer(y, [1.5, 0, 1, 0]), 2)
    for name, mark, delimiter in (("g", ",", ";"), ("e", ".", ",")):
        for part, columns in (("1", [0, 1]), ("2", [2, 3])):
            lines = [delimiter.join(["id", *(f"x{j}" for j in columns), "y"])]
            for i in range(300):
                cells = [str(X[i, j]).replace(".", mark) for j in columns]
                lines.append(delimiter.join([f"p{i}", *cells, str(y[i])]))
            (tmp_path / f"{name}{part}.csv").write_text("\n".join(lines) + "\n")
    return X, y


@pytest.mark.parametrize("memory", ["2GB", "10kB"])
def test_select_and_feed_read_decimal_commas(tamis, german, memory):
    how = ("--target", "y", "--key", "id", "--memory", memory)
    plain = tamis("select", "e1.csv", *how, "--out", "e")
    done = tamis("select", "g1.csv", *how, "--out", "g")
    assert plain.code == done.code == 0
    assert done.err.startswith(
        "tamis: g1.csv: values are separated by semicolons and decimals are written with a comma; "
        "if not, say so with --delimiter and --decimal (delimiter=, decimal=)\n"
    )
    for folder, file in (("e", "e2.csv"), ("g", "g2.csv")):
        fed = tamis("feed", folder, file, "--target", "y")
        assert fed.code == 0
        # The decimal mark is that of the run, so only the delimiter is said.
        assert ("decimals" in fed.err, "semicolons" in fed.err) == (False, folder == "g")
    assert open_run("e").kept_rows() == open_run("g").kept_rows()
    # A file with points does not fit the run, and its numbers are not read as words.
    wrong = tamis("feed", "g", "e2.csv", "--target", "y")
    assert "the file is read with ',' as the decimal mark" in wrong.one_sentence()


def test_learn_and_predict_read_decimal_commas(tamis, german):
    how = ("--target", "y", "--ignore", "id")
    accuracies = []
    for name in ("e", "g"):
        learned = tamis("learn", f"{name}1.csv", *how, "-k", "2", "--out", name)
        assert learned.code == 0
        predicted = tamis("predict", name, f"{name}1.csv", *how, "--json")
        assert "decimals" not in predicted.err
        accuracies.append(json.loads(predicted.out)["accuracy"])
    assert accuracies[0] == accuracies[1] > 0.6


def test_delimiter_and_decimal_override(tamis, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;y\n" + "1.234;0\n567;1\n2.345;0\n" * 20)
    refused = tamis("select", path, "--target", "y", "--out", tmp_path / "run")
    assert "say which with decimal='.' or decimal=','" in refused.one_sentence()
    done = tamis(
        "select", path, "--target", "y", "--out", tmp_path / "run", "--decimal", ",",
        "--delimiter", ";",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")


def test_dates_are_left_out_with_a_note_or_numbers(tamis, tmp_path):
    path = tmp_path / "a.csv"
    rows = "".join(f"{i % 28 + 1:02}.0{i // 100 + 1}.2024,{i % 7},{i // 100}\n" for i in range(300))
    path.write_text("day,x,y\n" + rows)
    how = ("select", path, "--target", "y", "--method", "all", "--out", tmp_path / "run")
    left = tamis(*how)
    assert left.err.startswith(
        f"tamis: {path}: 'day' holds dates and was left out; to use dates as "
    )
    assert open_run(tmp_path / "run").log.names.count == 1
    taken = tamis(*how, "--dates", "number", "--force")
    assert (taken.code, taken.err) == (0, "")
    assert open_run(tmp_path / "run").kept_names == ["day", "x"]
    assert tamis(*how, "--dates", "ignore", "--force").err == ""


def test_genes_by_samples_with_phenotypes(tamis, tmp_path):
    """A table of genes and a table of samples: select, resume, convert, info, learn and compare."""
    rng = np.random.default_rng(0)
    status = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 20)) + 3 * np.outer(status, np.arange(20) == 4)
    samples = [f"S{i}" for i in range(60)]
    lines = ["\t".join(["gene", *samples])]
    lines += ["\t".join([f"g{j}", *map(str, X[:, j])]) for j in range(20)]
    (tmp_path / "expr.tsv").write_text("\n".join(lines) + "\n")
    rows = [f"{samples[i]}\t{30 + i}\t{'sick' if status[i] else 'well'}" for i in range(60)]
    (tmp_path / "pheno.tsv").write_text("\n".join(["sample\tage\tstatus", *rows[::-1]]) + "\n")
    how = ("--transpose", "--y", "pheno.tsv", "--key", "sample", "--target", "status")
    done = tamis("select", "expr.tsv", *how, "--out", "run")
    assert (done.code, done.err) == (0, "")
    assert open_run("run").kept_names[0] == "g4"
    again = tamis("select", "expr.tsv", *how, "--out", "again", "--checkpoint")
    assert again.code == 0
    assert open_run("again").kept_rows() == open_run("run").kept_rows()
    assert tamis("convert", "expr.tsv", "expr.cols", *how).out == (
        "wrote expr.cols: 60 rows, 20 columns\n"
    )
    assert tamis("select", "expr.cols", "--out", "stored").code == 0
    assert open_run("stored").kept_rows() == open_run("run").kept_rows()
    given = ("--given", "age")
    adjusted = tamis("select", "expr.tsv", *how, *given, "--out", "adjusted")
    assert adjusted.code == 0, adjusted.err
    assert open_run("adjusted").kept_names[0] == "g4"
    (tmp_path / "gap.tsv").write_text(
        (tmp_path / "pheno.tsv").read_text().replace("\t35\t", "\t\t")
    )
    gap = ("--transpose", "--y", "gap.tsv", "--key", "sample", "--target", "status")
    sentence = tamis("select", "expr.tsv", *gap, *given, "--out", "gap").one_sentence()
    assert "the covariate 'age' is missing or infinite in row 5" in sentence
    assert "rows" in tamis("info", "expr.tsv", *how).out
    learned = tamis("learn", "expr.tsv", *how, "-k", "3", "--out", "model", "--passes", "5")
    assert learned.code == 0
    predicted = json.loads(tamis("predict", "model", "expr.tsv", *how, "--json").out)
    assert predicted["labelled"] == 60
    assert predicted["accuracy"] > 0.8
    compared = tamis(
        "compare", "--data", "expr.tsv", *how, "--methods", "saola,random", "--classifiers", "nb",
        "--cv", "2", "--out", "results",
    )  # fmt: skip
    assert compared.code == 0, compared.err
