"""Data frames with words, categories, Booleans, nullable integers, dates and gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils import get_tags

import tamis
from tamis.core.errors import DataWarning, InputError

HOW = {"encode": "mdlp", "missing": "category"}
KINDS = {
    "pandas": lambda table: table,
    "polars": pl.from_pandas,
    "arrow": lambda table: pa.Table.from_pandas(table, preserve_index=False),
}


#: Tables that are read when they are needed; a stream, once.
READ_LATER = {
    "lazy polars": lambda table: pl.from_pandas(table).lazy(),
    "Arrow stream": lambda table: pa.Table.from_pandas(table, preserve_index=False).to_reader(),
}


def patients(n=300, seed=0):
    rng = np.random.default_rng(seed)
    sick = rng.integers(0, 2, n)
    age = 40 + 15 * sick + 6 * rng.normal(size=n)
    age[::11] = np.nan
    colour = np.where(sick == 1, rng.choice(["pale", "red"], n), rng.choice(["red", "blue"], n))
    visits = pd.array(rng.poisson(2 + 3 * sick), dtype="Int64")
    visits[5] = pd.NA
    table = pd.DataFrame(
        {
            "age": age,
            "noise": rng.normal(size=n),
            "colour": pd.Series(colour, dtype="string").where(rng.random(n) < 0.95),
            "ward": pd.Categorical(rng.choice(["a", "b", "c"], n)),
            "smokes": rng.random(n) < 0.3 + 0.4 * sick,
            "visits": visits,
        }
    )
    return table, sick


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["SAOLA", "FCBF", "MRMR", "Sieve", "CFS"])
def test_fit_keeps_what_select_keeps(kind, method):
    table, y = patients()
    data, estimator = KINDS[kind](table), getattr(tamis, method)
    run = tamis.select(data, estimator(), y, **HOW)
    fitted = estimator(**HOW).fit(data, y)
    assert fitted.get_feature_names_out().tolist() == run.kept_names
    assert fitted.kept_.tolist() == run.selector.kept_.tolist()
    assert [fitted.why(name) for name in table] == [run.log.why(name) for name in table]
    assert "age" in run.kept_names
    assert "noise" not in run.kept_names


@pytest.mark.parametrize("kind", READ_LATER)
def test_lazy_frames_and_streams_are_fitted_and_transformed(kind):
    table, y = patients()
    fitted = tamis.Sieve().fit(READ_LATER[kind](table), y)
    assert fitted.get_feature_names_out().tolist() == ["age", "colour", "smokes", "visits"]
    assert fitted.get_support().tolist() == [True, False, True, False, True, True]
    assert fitted.transform(READ_LATER[kind](table)).shape == (len(y), 4)


@pytest.mark.parametrize("kind", KINDS)
def test_transform_returns_the_kept_columns_unchanged(kind):
    table, y = patients()
    data = KINDS[kind](table)
    fitted = tamis.SAOLA(**HOW).fit(data, y)
    kept = fitted.get_feature_names_out().tolist()
    found = fitted.transform(data)
    assert type(found) is type(data)
    expected = data.select(kept) if kind != "pandas" else data[kept]
    assert found.equals(expected)
    for output, frame in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        shown = fitted.set_output(transform=output).transform(data)
        assert isinstance(shown, frame)
        assert list(shown.columns) == kept
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(data.rename({"age": "years"}) if kind == "polars" else pd.DataFrame(
            np.zeros((3, 6)), columns=list("abcdef")))  # fmt: skip


def test_dates_are_left_out_with_a_note_and_features_stay_columns_of_the_table():
    table, y = patients()
    table.insert(0, "day", pd.date_range("2020-01-01", periods=len(table)))
    with pytest.warns(
        DataWarning, match=r"'day' holds dates and was left out; .* tamis\.open\(frame, dates="
    ):
        fitted = tamis.SAOLA(**HOW).fit(table, y)
    names = fitted.get_feature_names_out().tolist()
    assert table.columns[fitted.kept_].tolist() == names
    assert table.columns[fitted.get_support()].tolist() == names
    assert fitted.support_.tolist() == fitted.get_support().tolist()
    assert np.isnan(fitted.scores_[0])
    assert len(fitted.scores_) == table.shape[1]
    assert fitted.why(1) == fitted.why("age")
    assert fitted.transform(table).columns.tolist() == names
    with pytest.warns(DataWarning, match="'day' holds dates"):
        batch = tamis.FCBF(**HOW).fit(table, y)
    assert sorted(batch.ranking_.tolist()) == batch.kept_.tolist()
    assert "day" not in batch.get_feature_names_out()


def test_the_recipe_can_be_cross_validated():
    table, y = patients()
    table["colour"] = table["colour"].fillna("none").astype(object)
    words = make_column_selector(dtype_include=["string", "category", "object"])
    rest = ColumnTransformer(
        [("words", OrdinalEncoder(), words)], remainder="passthrough"
    ).set_output(transform="pandas")
    pipe = make_pipeline(
        tamis.SAOLA(**HOW), rest, HistGradientBoostingClassifier(max_iter=5, random_state=0)
    )
    scores = cross_validate(pipe, table, y, cv=3, error_score="raise")["test_score"]
    assert scores.mean() > 0.8
    grid = {"saola__encode": ["mdlp", "equal-frequency"]}
    search = GridSearchCV(pipe, grid, cv=2, error_score="raise").fit(table, y)
    assert search.best_score_ > 0.8
    some = ColumnTransformer([("s", tamis.SAOLA(**HOW), ["age", "colour", "ward"])])
    assert some.set_output(transform="pandas").fit(table, y).transform(table).columns.tolist() == [
        "s__age", "s__colour",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_takes_mixed_columns_and_remembers_their_words(kind):
    table, y = patients()
    data = KINDS[kind](table)
    mdlp = tamis.encode.MDLP(missing="category")
    pipe = make_pipeline(mdlp, tamis.FCBF()).fit(data, y)
    names = [table.columns[i] for i in pipe[-1].kept_]
    assert names == tamis.select(data, "fcbf", y, **HOW).kept_names
    codes = mdlp.transform(data)
    assert codes.shape == table.shape
    # Fewer words, in another table, have the same codes; a new word has a code of its own.
    part = table.iloc[:20].reset_index(drop=True)
    assert np.array_equal(mdlp.transform(KINDS[kind](part)), codes[:20])
    part["colour"] = pd.array(["violet"] * 20, dtype="string")
    at = list(table.columns).index("colour")
    assert set(mdlp.transform(KINDS[kind](part))[:, at]).isdisjoint({0.0, 1.0, 2.0})


def test_tags_say_what_is_taken():
    def tags(estimator):
        found = get_tags(estimator).input_tags
        return found.allow_nan, found.categorical, found.string

    assert tags(tamis.SAOLA()) == (False, False, False)
    assert tags(tamis.SAOLA(encode="mdlp")) == (False, True, True)
    assert tags(tamis.SAOLA(**HOW)) == (True, True, True)
    assert tags(tamis.SAOLA(missing="delete")) == (True, False, False)
    assert tags(tamis.Sieve()) == tags(tamis.SAOLA("any_shape")) == (True, True, True)
    assert tags(tamis.FCBF("symmetric_uncertainty")) == (False, True, True)
    assert tags(tamis.encode.MDLP(missing="category")) == (True, True, True)


def test_gaps_and_words_without_a_policy_are_refused():
    table, y = patients()
    with pytest.raises(InputError, match=r"contains NaN \(a missing value\) in column 'age'"):
        tamis.SAOLA(encode="mdlp").fit(table, y)
    with pytest.raises(InputError, match="column 'colour' holds words"):
        tamis.SAOLA("fisher_z").fit(table[["colour"]].fillna("red"), y)


@pytest.mark.parametrize("written", [str, "${:,.2f}".format, "{:.1%}".format])
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_numbers_in_text_are_noticed(kind, written):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    table = kind({"x": [written(value) for value in x], "w": rng.choice(list("abc"), 60).tolist()})
    with pytest.warns(DataWarning, match=r"column 'x' holds numbers as text, such as '.*', which"):
        tamis.Sieve().fit(table, x > 0)
    digits = kind({"code": [str(value) for value in rng.integers(0, 5, 60)], "x": x})
    tamis.Sieve().fit(digits, x > 0)  # few numbers may be codes


def test_a_profile_takes_columns_of_any_objects():
    table = pd.DataFrame({"mixed": [1, "a"] * 20, "x": np.arange(40.0) ** 2})
    found = tamis.profile(table, [0, 1, 1, 0] * 10)
    assert found.kinds["words"] + found.kinds["numbers"] + found.kinds["whole numbers"] == 2


def test_the_values_of_a_frame_are_read_as_the_frame():
    """`frame.values` of a table with words is an array of objects."""
    table, y = patients()
    table["seen"] = pd.date_range("2024-01-01", periods=len(y))
    with pytest.warns(DataWarning, match="'seen' holds dates"):
        frame = tamis.Sieve().fit(table, y)
    with pytest.warns(DataWarning, match="'x6' holds dates"):
        values = tamis.Sieve().fit(table.values, y)
    assert values.kept_.tolist() == frame.kept_.tolist()
    assert values.get_feature_names_out().tolist() == [f"x{j}" for j in values.kept_]
    assert not hasattr(values, "feature_names_in_")
    kept = values.transform(table.values)
    assert kept.shape == (len(y), len(values.kept_))
    text = tamis.Sieve().fit(table[["age", "colour"]].values.astype(str), y)
    assert text.n_features_in_ == 2
    assert 1 in text.kept_


def test_an_array_of_objects_that_holds_numbers_is_numbers():
    X = np.array([[1, None], [2, 3.5]] * 20, dtype=object)
    assert tamis.Sieve().fit(X, [0, 1] * 20).kept_.tolist()[0] == 0
    with pytest.raises(TypeError, match="argument must be"):
        tamis.Sieve().fit(np.array([[{}, 1], [2, 3]], dtype=object), [0, 1])


def test_the_rows_stay_when_nothing_is_kept() -> None:
    frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=20)}, index=np.arange(20) + 7)
    sel = tamis.SAOLA(alpha=1e-9).fit(frame, np.arange(20) % 2)
    for kind in ("default", "pandas"):
        with pytest.warns(UserWarning, match="No features were selected"):
            left = sel.set_output(transform=kind).transform(frame)
        assert left.shape == (20, 0)
        assert left.index.equals(frame.index)
