"""`tamis select --encode --missing` and `tamis learn --tune`, as a user types them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file


@pytest.fixture
def patients(tmp_path):
    rng = np.random.default_rng(0)
    sick = rng.integers(0, 2, 200)
    age = 40 + 20 * sick + 5 * rng.normal(size=200)
    age[::9] = np.nan
    colour = np.where(sick == 1, "pale", rng.choice(["pale", "red"], 200))
    path = tmp_path / "patients.csv"
    pd.DataFrame({"age": age, "colour": colour, "sick": sick}).to_csv(path, index=False)
    return path


def test_encode_and_missing(tamis, patients, tmp_path):
    out = tmp_path / "run"
    arguments = ("select", patients, "--target", "sick", "--out", out, "--method", "saola")
    refused = tamis(*arguments).one_sentence()
    assert "NaN" in refused
    assert "'age'" in refused
    done = tamis(*arguments, "--encode", "mdlp", "--missing", "category")
    assert done.code == 0
    assert "\nencode: MDLP()\nmissing: 23 values in 1 column, a category of their own\n" in done.out
    why = tamis("why", out, "age").out
    assert "its values were cut at " in why
    assert "23 missing values are a category of their own" in why
    record = json.loads((out / "run.json").read_text())["source"]
    assert record["encode"] == "MDLP()"
    assert record["missing"] == {"policy": "category", "gaps": 23, "columns": 1}


def test_wrong_options_are_reported(tamis, patients, tmp_path):
    arguments = ("select", patients, "--target", "sick", "--out", tmp_path / "run")
    assert tamis(*arguments, "--bins", "3").one_sentence() == (
        "--bins is for --encode equal-width, equal-frequency or kmeans"
    )
    assert (
        tamis(*arguments, "--encode", "kmeans", "--bins", "1")
        .one_sentence()
        .startswith("KMeansBins: bins=1 is not a whole number at least 2")
    )
    saola = ("--method", "saola", "--missing", "category")
    assert "cannot be a category" in tamis(*arguments, *saola).one_sentence()


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30)) * (rng.random((400, 30)) < 0.4)
    X[:, :6] = rng.normal(size=(400, 6))
    path = tmp_path / "rows.svm"
    dump_svmlight_file(X, (X[:, :6].sum(axis=1) > 0).astype(int), str(path), zero_based=False)
    return path


def test_tune_picks_the_parameters_that_were_not_given(tamis, rows, tmp_path):
    done = tamis("learn", rows, "-k", "6", "--tune", "200", "--out", tmp_path / "model")
    assert done.code == 0
    assert "tuned: gamma=" in done.err
    assert "of 200 rows, each predicted before it was learned" in done.err
    record = json.loads((tmp_path / "model" / "model.json").read_text())
    table = record["tuned"]["table"]
    fewest = min(line["mistakes"] for line in table)
    best = next(line for line in table if line["mistakes"] == fewest)
    assert record["parameters"]["gamma"] == best["gamma"]
    assert record["n_features"] == 6
    fofs = tamis("learn", rows, "--method", "fofs", "-k", "6", "--eta", "0.1", "--tune")
    assert "tuned: lam=" in fofs.err


def test_auto_size_is_reported_and_recorded(tamis, rows, tmp_path):
    done = tamis("learn", rows, "-k", "auto", "--gamma", "10", "--out", tmp_path / "model")
    record = json.loads((tmp_path / "model" / "model.json").read_text())
    assert f"auto chose {record['n_features']} features of the sizes 4 to 4,096" in done.out
    assert list(record["size_curve"]) == [str(2**k) for k in range(2, 13)]
    assert record["kept"] <= record["n_features"]
    assert "largest size" not in done.out  # there are fewer columns
    done = tamis("learn", rows, "-k", "auto", "--gamma", "10", "--param", "sizes=1,2")
    assert "2 is the largest size, and more may do better: try --param sizes=2,8\n" in done.out


def test_invalid_ways_to_tune_are_reported(tamis, rows):
    assert tamis("learn", rows, "--tune", "some").one_sentence() == (
        "--tune some is not a number of rows"
    )
    assert tamis("learn", rows, "--tune", "--gamma", "1").one_sentence() == (
        "--tune has nothing to choose: every parameter it tries was given"
    )


def test_numbers_with_gaps_are_left_out_pair_by_pair(tamis, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = np.column_stack([rng.normal(size=300), 3 * y + rng.normal(size=300)])
    X[rng.random(X.shape) < 0.02] = np.nan
    path = tmp_path / "gaps.csv"
    lines = [",".join("" if np.isnan(v) else f"{v:.4f}" for v in row) for row in X]
    body = [f"{line},{label}" for line, label in zip(lines, y, strict=True)]
    path.write_text("\n".join(["noise,strong,sick", *body]) + "\n")
    out = str(tmp_path / "run")
    how = ("--method", "saola", "--missing", "delete")
    done = tamis("select", str(path), "--target", "sick", "--out", out, *how)
    assert done.code == 0
    assert "saola kept 1 of 2 features" in done.out
    assert "measure: CompletePairs(measure=FisherZ(" in done.out
    assert "strong is kept" in tamis("why", out, "strong").out


@pytest.mark.filterwarnings("ignore:.*holds dates")
def test_a_messy_file_needs_no_option(tamis, tmp_path):
    """Gaps, words, an identifier and a date, and a price to predict."""
    rng = np.random.default_rng(3)
    n = 300
    area, city = rng.normal(120, 30, n), rng.choice(["Lyon", "Paris", "Nice"], n)
    price = 1500 * area + np.where(city == "Paris", 80_000, 0) + rng.normal(0, 15_000, n)
    area[::17] = np.nan
    houses = {
        "id": [f"H{i:04d}" for i in range(n)],
        "sold": pd.date_range("2024-01-01", periods=n).astype(str),
        "city": city,
        "area": area.round(1),
        "noise": rng.normal(size=n),
        "garden": rng.choice(["yes", "no", ""], n),
        "price": price.round().astype(int),
    }
    pd.DataFrame(houses).to_csv(tmp_path / "houses.csv", index=False)
    arguments = (tmp_path / "houses.csv", "--target", "price", "--out", tmp_path / "run")
    done = tamis("select", *arguments)
    assert done.code == 0, done
    assert "task: regression, because " in done.out
    assert "2 columns, a bin of their own, or the middle rank if there are few" in done.out
    kept = pd.read_csv(tmp_path / "run" / "selected.csv")["name"].tolist()
    assert kept == ["city", "area"]
    assert json.loads((tmp_path / "run" / "run.json").read_text())["source"]["missing"]["gaps"] > 0


def test_the_default_measure_was_not_given(tamis, tmp_path) -> None:
    rows = "".join(f"{i % 2},{i % 2 + i / 1000}\n" for i in range(60))
    (tmp_path / "t.csv").write_text("y,a\n" + rows)
    done = tamis("select", "t.csv", "--target", "y", "--encode", "mdlp", "--out", "run")
    assert "AnyShape(alpha=0.01), because it is the default of Sieve; its p-values are" in done.out
