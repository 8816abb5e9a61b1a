"""Tables of rows: numbers on one scale, gaps, text as flags, and files with other words."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.core.errors import InputError
from tamis.engine.learning.learn import make_learner
from tamis.engine.learning.model import open_model, save_model
from tamis.engine.learning.predict import Tally, predict_stream
from tamis.engine.learning.table_rows import Preparation, TableRows
from tamis.sources import open_rows


def houses(rows=240, seed=0):
    rng = np.random.default_rng(seed)
    price_of = {"Aix": 300_000, "Brest": 100_000, "Caen": 150_000, "Dole": 50_000}
    city = rng.choice(list(price_of), rows)
    area = rng.normal(1000, 200, rows)
    table = pd.DataFrame({"city": city, "area": area, "noise": rng.normal(5, 1, rows)})
    table["garden"] = rng.choice(["no", "yes"], rows)
    table["price"] = 200.5 * area + [price_of[c] for c in city] + 40_000.0 * (table.garden == "yes")
    table.loc[::7, "area"] = np.nan
    table.loc[3::31, "city"] = None
    return table


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_table_becomes_numbers_on_one_scale_and_flags(folder):
    table = houses()
    table.to_csv("h.csv", index=False)
    (source,) = open_rows("h.csv", target="price")
    how = Preparation.of([source], lambda *way: None)
    assert how.names == [
        "city=Aix", "city=Brest", "city=Caen", "city=Dole", "area", "noise", "garden=yes"
    ]  # fmt: skip
    X = TableRows(source, how).load()[0].toarray()
    area = table.area - table.area.mean()
    expected = pd.get_dummies(table[["city"]], prefix_sep="=").astype(float)
    expected["area"] = (area / table.area.std(ddof=0)).fillna(0.0)
    expected["noise"] = (table.noise - table.noise.mean()) / table.noise.std(ddof=0)
    expected["garden"] = (table.garden == "yes").astype(float)
    np.testing.assert_allclose(X, expected, atol=1e-12)
    assert Preparation.from_json(json.loads(json.dumps(how.to_json()))) == how


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_predictions_do_not_depend_on_the_words_of_a_file(folder, kind):
    def write(table, name):
        if kind == "csv":
            table.to_csv(name, index=False)
        else:
            pq.write_table(pa.Table.from_pandas(table, preserve_index=False), name)

    train, later = houses(), houses(60, seed=1)
    write(train, f"train.{kind}")
    done = tamis.learn(f"train.{kind}", target="price", task="regression", out="m")
    assert done.learner.progressive_r2_ > 0.5
    model = open_model("m")
    whole = model.predict(later.drop(columns="price"))
    # Fewer words, other columns in another order, and one more column.
    some = later[later.city.isin(["Caen", "Dole"])]
    write(some[["noise", "garden", "area", "city"]].assign(more=1), f"some.{kind}")
    found = np.concatenate(
        [part.answers for part in predict_stream(
            model, f"some.{kind}", tally=Tally())]
    )  # fmt: skip
    np.testing.assert_array_equal(found, whole[later.city.isin(["Caen", "Dole"])])
    np.testing.assert_array_equal(done.learner.predict(some), found)
    rows = [model.predict_one(row) for row in some.to_dict("records")]
    np.testing.assert_allclose(rows, found)
    unknown = some.assign(city="Nantes")
    np.testing.assert_array_equal(model.predict(unknown), model.predict(some.assign(city=None)))


def test_what_a_table_lacks_or_has_of_another_kind_is_said(folder):
    houses().to_csv("train.csv", index=False)
    tamis.learn("train.csv", target="price", out="m")
    model = open_model("m")
    later = houses(20, seed=2)
    with pytest.raises(InputError, match="lacks 2 columns that the model uses: 'city', 'area'"):
        model.predict(later[["noise", "garden"]])
    with pytest.raises(InputError, match=r"'city' .* holds numbers, and text elsewhere"):
        model.predict(later.assign(city=7.0))
    with pytest.raises(InputError, match=r"'area' .* holds text such as 'big', and numbers"):
        model.predict(later.assign(area="big"))
    with pytest.raises(InputError, match="give a data frame"):
        model.predict(np.zeros((3, 7)))
    with pytest.raises(InputError, match=r"'city' .* holds text, and raw=True"):
        tamis.learn("train.csv", target="price", raw=True)


def test_a_model_of_numbers_refuses_the_text_of_a_table(folder):
    houses().to_csv("t.csv", index=False)
    plain = tamis.RowSieve(2).fit_stream("t.csv", target="garden", ignore=["area", "city"])
    assert plain.kept_.tolist() == [0, 1]
    coded = houses().assign(area=1.0, city="x")[["city", "noise", "garden"]]
    coded.to_csv("coded.csv", index=False)
    save_model(plain, "m")
    with pytest.raises(InputError, match=r"'city' .* holds text, and the model was trained on"):
        tuple(
            predict_stream(
                open_model("m"), "coded.csv", target="garden",
                tally=Tally(),
            )
        )  # fmt: skip


def test_identifiers_are_left_out_and_raw_numbers_are_as_they_are(folder):
    table = houses().assign(id=[f"H-{k}" for k in range(240)], price=lambda t: t.garden == "yes")
    table.to_csv("t.csv", index=False)
    with pytest.warns(UserWarning, match="'id' has 240 different texts in 240 rows"):
        done = tamis.learn("t.csv", target="price", ignore="garden")
    assert not any(name.startswith("id") for name in done.learner.columns.names)
    numbers = table[["noise", "price"]]
    numbers.to_csv("n.csv", index=False)
    raw = tamis.learn("n.csv", target="price", raw=True)
    same = tamis.RowSieve().fit(numbers[["noise"]], numbers.price)
    np.testing.assert_array_equal(raw.learner.weights_, same.weights_)
    assert raw.learner.preparation is None


def test_tuning_reads_tables_the_same_way(folder):
    houses().to_csv("t.csv", index=False)
    tuned = tamis.tune(make_learner("row-sieve"), "t.csv",
                       target="price", grid={"gamma": [0.3]})  # fmt: skip
    assert tuned.task == "regression"
    done = tamis.learn("t.csv", target="price")
    assert tuned.learner.gamma == 0.3
    assert done.reason.startswith("task: regression, because t.csv has labels such as ")


def test_identifiers_of_rows_that_are_dropped_are_counted_in_words(folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": [f"P{k}" for k in range(240)], "x": rng.normal(size=240)})
    frame["y"] = np.where(np.arange(240) % 3 > 0, frame["x"] * 2, np.nan)
    frame.to_csv("gaps.csv", index=False)
    words = "'id' has 240 different texts, more than rows with a target, so"
    with pytest.warns(UserWarning, match="no 'y'"), pytest.warns(UserWarning, match=words):
        tamis.learn("gaps.csv", target="y", missing_target="drop")


def test_a_target_of_prices_and_words_is_refused(folder):
    prices = np.random.default_rng(0).lognormal(12, 1, 240).round(2)
    frame = pd.DataFrame({"x": prices / 7, "y": prices.astype(str)})
    with_words = frame.assign(y=frame["y"].where(frame.index % 20 > 0, "on request"))
    with_words.to_csv("words.csv", index=False)
    with pytest.raises(InputError, match=r"words\.csv: the target holds numbers and also 'on req"):
        tamis.learn("words.csv", target="y")
    frame.to_parquet("text.parquet")
    with pytest.raises(InputError, match=r"numbers as text, such as .*; convert them to numbers"):
        tamis.learn("text.parquet", target="y")
    gaps = {"na": "on request", "missing_target": "drop"}
    with pytest.warns(UserWarning, match="12 rows have no 'y'"):
        assert tamis.learn("words.csv", target="y", **gaps).learner.task == "regression"
    for labels in ([f"A{k}" for k in range(60)], [*map(str, range(1, 31)), *["other"] * 30]):
        pd.DataFrame({"x": range(60), "y": labels}).to_csv("labels.csv", index=False)
        assert tamis.learn("labels.csv", target="y").learner.task == "classification"
    codes = [f"{k:05d}" for k in range(5000, 5060)]
    pd.DataFrame({"x": range(60), "y": codes}).to_parquet("codes.parquet")
    assert tamis.learn("codes.parquet", target="y").learner.task == "classification"
