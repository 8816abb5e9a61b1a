"""`tamis select --weights --given`, as a user types them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def patients(tmp_path):
    rng = np.random.default_rng(0)
    age, sex = rng.normal(50, 10, 300).round(1), rng.choice(["f", "m", "x"], 300)
    sick = (0.1 * age + rng.normal(size=300) > 5).astype(int)
    by_age, own = age + 3 * rng.normal(size=300), rng.normal(size=300) + sick
    path = tmp_path / "patients.csv"
    table = {"by_age": by_age, "age": age, "own": own, "sex": sex, "sick": sick}
    pd.DataFrame(table | {"w": rng.integers(1, 4, 300)}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("how", [(), ("--checkpoint",), ("--cluster", "local:2")])
@pytest.mark.usefixtures("shared_processes")
def test_weights_and_covariates(tamis, patients, tmp_path, how):
    out = tmp_path / "run"
    saola = ("select", patients, "--target", "sick", "--method", "saola")
    assert tamis(*saola, "--ignore", "sex", "--ignore", "age", "--out", tmp_path / "no").code == 0
    assert "by_age is kept" in tamis("why", tmp_path / "no", "by_age").out
    done = tamis(*saola, "--out", out, *how, "--given", "age", "--given", "sex", "--weights", "w")
    assert done.code == 0
    assert "saola kept 1 of 2 features" in done.out
    assert "\nadjusted for: age, sex\nweights: w\n" in done.out
    assert "|r(by_age, class | age, sex)|=" in tamis("why", out, "by_age").out
    record = json.loads((out / "run.json").read_text())["source"]
    assert (record["given"], record["weights"]) == (["age", "sex"], "w")


def test_the_default_method_adjusts(tamis, patients, tmp_path):
    out = tmp_path / "run"
    arguments = ("select", patients, "--target", "sick", "--out", out)
    done = tamis(*arguments, "--given", "age", "--given", "sex", "--weights", "w")
    assert done.code == 0
    assert "sieve kept 1 of 2 features" in done.out
    assert "\nadjusted for: age, sex\nweights: w\n" in done.out
    assert "measure: AdjustedShape(alpha=0.01), because it is the default of Sieve" in done.out
    assert "given age and sex is not below 0.01" in tamis("why", out, "by_age").out
    assert tamis("why", out, "own").out.startswith("own is kept: R(own, class | age, sex)=")
    page = tmp_path / "page.html"
    assert tamis("report", out, "--out", page).code == 0
    assert "Adjusted for age, sex." in page.read_text()


def test_wrong_columns_are_reported(tamis, patients, tmp_path):
    arguments = ("select", patients, "--target", "sick", "--out", tmp_path / "run")
    sentence = tamis(*arguments, "--given", "agee").one_sentence()
    assert "has no column 'agee', which given names; did you mean 'age'?" in sentence
    sentence = tamis(*arguments, "--given", "age, sex").one_sentence()
    assert "name one column at a time: --given age --given sex, in Python given=['age'," in sentence
    sentence = tamis(*arguments, "--ignore", "age,sex").one_sentence()
    assert "name one column at a time: --ignore age --ignore sex" in sentence
    sentence = tamis(*arguments, "--weights", "own", "--ignore", "sex").one_sentence()
    assert sentence.startswith("sample_weight is -")
    sentence = tamis(*arguments, "--weights", "w", "--method", "lars").one_sentence()
    assert sentence.startswith("LARS cannot use sample weights")


@pytest.mark.parametrize("how", [(), ("--checkpoint",)])
def test_features_that_must_stay(tamis, patients, tmp_path, how):
    out = tmp_path / "run"
    arguments = ("select", patients, "--target", "sick", "--ignore", "sex", "--out", out, *how)
    done = tamis(*arguments, "--keep", "w", "--keep", "by_age")
    assert done.code == 0
    assert tamis("why", out, "w").out == "w is kept: you asked for it\n"
    assert tamis("why", out, "by_age").out == "by_age is kept: you asked for it\n"
    sentence = tamis(*arguments, "--force", "--keep", "wage").one_sentence()
    assert "has no column 'wage', which keep names" in sentence


def test_no_command_is_suggested_that_would_leave_out_the_covariates(tamis, patients, tmp_path):
    table = pd.read_csv(patients)
    table.loc[::9, ["own", "by_age"]] = np.nan
    table.assign(more=["a", "b", "c"] * 100).to_csv(patients, index=False)
    saola = ("select", patients, "--target", "sick", "--method", "saola", "--out", tmp_path / "run")
    assert "this works: tamis select" in tamis(*saola).one_sentence()
    assert "this works" not in tamis(*saola, "--given", "age").one_sentence()
