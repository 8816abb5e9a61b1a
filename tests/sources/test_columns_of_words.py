"""Columns of words are recognised quickly, with the same result as if each word were matched."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tamis
from tamis.core.errors import TamisError
from tamis.engine import profiled_columns
from tamis.sources.tables import dates
from tamis.sources.text import csv_table, csv_text, units

WORDS = [
    "red", "blue sky", "x1", "A12", "kg", ".", ",", ".kg", "USD .", "n/a", "inf", "nan", "e5",
    "12", "1.5", "1,5", "1.234,5", "$7", "8 kg", "9%", "(3)", "-4", "2024-02-29", "3 Mar 2024",
    "\u0661", "\u0663kg", "\u00b2", "1e5", "12abc", "\u2009", "5 \u20ac", "1 2",
]  # fmt: skip


def columns(n=400):
    rng = Random(7)
    for _ in range(n):
        some = rng.sample(WORDS, rng.choice([1, 2, 3, 5, 9]))
        yield [rng.choice(some) for _ in range(rng.choice([1, 4, 12]))]


@pytest.fixture
def slowly(monkeypatch):
    """Return a function that takes the quick answers away."""

    def take_away():
        for module in (units, csv_table, profiled_columns):
            monkeypatch.setattr(module, "digits_in", lambda values: len(list(values)))
        monkeypatch.setattr(dates, "_DIGIT", units.re.compile(""))

    return take_away


def outcomes(function, *more, n=400):
    found = []
    for values in columns(n):
        try:
            found.append(function(values, *more))
        except TamisError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize("mark", [".", ","])
def test_units(slowly, mark):
    quick = outcomes(units.unit_of, mark)
    slowly()
    assert quick == outcomes(units.unit_of, mark)
    assert len({*quick}) > 3


def test_dates(slowly):
    quick = [dates.orders([value]) for value in WORDS]
    slowly()
    assert quick == [dates.orders([value]) for value in WORDS]
    assert any(quick)


@pytest.mark.parametrize("decimal", [None, ".", ","])
def test_profiles(slowly, decimal):
    def profile(values):
        text = pa.array(values, pa.large_string())
        found = profiled_columns._of_text(text, "a", decimal, True)
        return repr(found)

    quick = outcomes(profile)
    slowly()
    assert quick == outcomes(profile)


@pytest.mark.filterwarnings("ignore")
def test_csv_files(slowly, tmp_path):
    def read(values):
        path = tmp_path / "a.csv"
        rows = "".join(f'"{value}";{k % 2}\n' for k, value in enumerate([*values, *values]))
        path.write_text(f"a;y\n{rows}", encoding="utf-8")
        source = tamis.open(path, target="y", delimiter=";", decimal=".")
        return np.asarray(source.load()[0]).tolist().__repr__()

    quick = outcomes(read, n=120)
    slowly()
    assert quick == outcomes(read, n=120)
    assert len({text for text in quick if "holds numbers" in text}) > 3


def test_words_are_the_same_however_the_text_is_cut(tmp_path, monkeypatch):
    rng = Random(3)
    rows = [f"{k % 2},w{rng.randrange(900)},{rng.choice('xyz')},{rng.choice(['p', 'q', ''])}\n"
            for k in range(3000)]  # fmt: skip
    (tmp_path / "a.csv").write_text("".join(["y,a,b,c\n", *rows]))

    def read():
        source = tamis.open(tmp_path / "a.csv", target="y")
        return np.asarray(source.load()[0]), source.vocabulary()

    values, words = read()
    assert [len(words[name]) for name in "abc"] == [len({*values[:, 0]}), 3, 2]
    monkeypatch.setattr(csv_text, "_BLOCK", 4096)
    for together in (0, 1 << 14, 16 << 20):
        monkeypatch.setattr(csv_table, "_TOGETHER", together)
        again, same = read()
        assert np.array_equal(values, again, equal_nan=True)
        assert same == words
