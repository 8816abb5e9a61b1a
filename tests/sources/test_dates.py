"""Dates and times in text: which are recognised, and their values, against pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tamis
from tamis.core.errors import DataWarning, InputError, SourceError
from tamis.sources.tables.dates import are_digits, orders, others_than_dates, text_days

pytestmark = pytest.mark.filterwarnings("ignore::tamis.core.errors.DataWarning")

RNG = np.random.default_rng(0)
MOMENTS = pd.Timestamp("1999-12-01") + pd.to_timedelta(RNG.integers(0, 9_000 * 86_400, 60), "s")


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S.%f", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%y", "%b %d, %Y",
        "%d-%b-%Y", "%d-%b-%y", "%B %d %Y", "%d %B %Y", "%A, %d %B %Y", "%m/%d/%Y %I:%M %p",
        "%a %b %d %H:%M:%S %Y", "%a, %d %b %Y %H:%M:%S GMT", "%Y-%m-%d %H:%M:%S+01:30",
        "%Y-%m-%dT%H:%M:%S-0500", "%a %b %d %H:%M:%S +0000 %Y",
    ],
)  # fmt: skip
def test_dates_are_days_as_pandas_has_them(form: str) -> None:
    texts = MOMENTS.strftime(form).tolist()
    found = orders(texts)
    assert len(found) == 1
    column = pa.array([*texts, None], pa.large_string())
    days = text_days(column, found[0], "it").to_numpy(zero_copy_only=False)
    zones = ("+01:30", "-0500", "+0000")
    as_read = next((form.replace(zone, "%z") for zone in zones if zone in form), form)
    moments = pd.to_datetime(texts, format=as_read, utc=True).tz_localize(None)
    expected = (moments - pd.Timestamp(0)) / pd.Timedelta(days=1)
    assert days[:-1].tolist() == pytest.approx(expected.tolist(), abs=1e-11)
    assert np.isnan(days[-1])


@pytest.mark.parametrize(
    ("text", "is_date"),
    [
        ("March 3rd 2020", True), ("Sept. 21st, 2020", True), ("12:30", True), ("3:07 pm", True),
        ("Marble 3 2020", False), ("3:2", False), ("25:10", False), ("19-01-05", False),
        ("1.2.3", False), ("2020-13-01", False), ("45/1/2020", False), ("20190131", False),
    ],
)  # fmt: skip
def test_what_is_a_date(text: str, is_date: bool) -> None:
    assert bool(orders([text])) == is_date


def test_times_are_parts_of_a_day_and_invalid_ones_are_named() -> None:
    clock = pa.array(["06:00", "12:00 pm", "12:30 am", None], pa.large_string())
    assert text_days(clock, "time", "it").to_pylist() == [0.25, 0.5, 1 / 48, None]
    for order, text in (("time", "24:00"), ("ymd", "2020-01-32"), ("ymd", "soon")):
        with pytest.raises(SourceError, match=f"it holds dates and also '{text}'"):
            text_days(pa.array([text], pa.large_string()), order, "it")


def test_numbers_of_eight_digits_may_be_dates() -> None:
    assert are_digits(np.array([20190131.0, 19991231.0]))
    for other in (20191301.0, 20190132.0, 31012019.0, 2019.0):
        assert not are_digits(np.array([20190131.0, other]))


def table(**columns: object) -> pd.DataFrame:
    n = 60
    x = np.random.default_rng(1).normal(size=n)
    return pd.DataFrame({"x": x, **columns, "y": np.round(3 * x, 2)})


def test_dates_are_left_out_of_a_file_or_numbers(tmp_path) -> None:
    names = {"mon": "%b %d, %Y", "dmy": "%d-%b-%Y", "clock": "%H:%M"}
    dated = table(**{name: MOMENTS.strftime(form) for name, form in names.items()})
    for path in (tmp_path / "t.csv", tmp_path / "t.parquet"):
        dated.to_csv(path, index=False) if path.suffix == ".csv" else dated.to_parquet(path)
        with pytest.warns(DataWarning, match="'mon', 'dmy', 'clock' hold dates and were left out"):
            assert list(tamis.open(path, target="y").names()) == ["x"]
        days = tamis.open(path, target="y", dates="number")
        values = np.concatenate([block.values for block in days.columns()], axis=1)
        assert (values[:, 1] == values[:, 2]).all()
        assert values[:, 1].tolist() == (MOMENTS.normalize() - pd.Timestamp(0)).days.tolist()


def test_eight_digits_are_named_and_unchanged(tmp_path) -> None:
    digits = MOMENTS.strftime("%Y%m%d").astype(int)
    table(day=digits).to_csv(tmp_path / "t.csv", index=False)
    found = tamis.profile(tmp_path / "t.csv", target="y")
    assert f"'day' holds numbers that may be dates, such as {digits.min()}" in str(found)
    source = tamis.open(tmp_path / "t.csv", target="y")
    assert next(iter(source.columns())).values[:, 1].tolist() == digits.tolist()


def test_a_target_of_dates_is_refused_or_days(tmp_path) -> None:
    moments = MOMENTS.sort_values()
    for texts in (moments.strftime("%Y-%m-%d"), moments.strftime("%B %d, %Y")):
        table(when=texts).to_csv(tmp_path / "t.csv", index=False)
        with pytest.raises(InputError, match="the target holds dates; make numbers of them"):
            tamis.select(tmp_path / "t.csv", y="when")
        with pytest.raises(InputError, match="the target holds dates"):
            tamis.Sieve().fit(table()[["x"]], texts)
        found = tamis.profile(tmp_path / "t.csv", target="when")
        assert "problem: the target holds dates: --dates number" in str(found)
        assert found.command is not None
        assert "--target when --dates number" in found.command
        source = tamis.open(tmp_path / "t.csv", target="when", dates="number")
        expected = (moments.normalize() - pd.Timestamp(0)).days
        assert source.target().tolist() == expected.tolist()
    pd.DataFrame({"x": range(60), "when": moments}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="the target holds dates"):
        tamis.select(tmp_path / "t.parquet", y="when")
    days = tamis.open(tmp_path / "t.parquet", target="when", dates="number").target()
    assert days.tolist() == ((moments - pd.Timestamp(0)) / pd.Timedelta(days=1)).tolist()


def test_words_among_dates(tmp_path) -> None:
    texts = MOMENTS.strftime("%d-%b-%Y").tolist()
    texts[5] = texts[50] = "never"
    words = pa.array(sorted(set(texts)))
    assert others_than_dates(words) == ["never"]
    assert others_than_dates(pa.array(["never", "often"])) is None
    table(seen=texts).to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(DataWarning, match="'seen' holds dates and also 'never', taken for .* categ"):
        tamis.select(tmp_path / "t.csv", y="y")
    found = tamis.profile(tmp_path / "t.csv", target="y")
    problem = "problem: 'seen' holds dates and also 'never': read as missing with --na never (na=)"
    assert problem in str(found)
    assert found.command is not None
    assert "--na never" in found.command
    with pytest.warns(DataWarning, match="column 'seen' holds dates as text, such as"):
        tamis.Sieve().fit(table(seen=MOMENTS.strftime("%Y-%m-%d")).drop(columns="y"), table()["y"])
