"""Whether a target holds classes or numbers: what "auto" decides, why, and when it warns."""

from __future__ import annotations

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_iris

import tamis
from tamis.core.errors import DataWarning, InputError, SourceError
from tamis.core.target import Target, task_of
from tamis.sources.base import describe_target

RNG = np.random.default_rng(0)


def uneven(classes: int, rows: int) -> np.ndarray:
    """Return labels whose frequencies are in no order."""
    shares = np.random.default_rng(classes).dirichlet(np.ones(classes))
    return np.random.default_rng(rows).choice(classes, rows, p=shares)


CLEAR_CLASSES = {
    "text": np.array(["b", "a", "b"]),
    "true and false": np.array([True, False, True, True]),
    "-1 and 1": np.array([-1, 1] * 30),
    "two in ten rows": np.array([0, 1] * 5),
    "three rows for each of three": np.repeat([0, 1, 2], 3),
    "iris": load_iris().target,
    "digits": load_digits().target,
    "digits as floats": load_digits().target.astype(float),
    "stars": np.repeat([1, 2, 3, 4, 5], [50, 40, 150, 350, 410]),
    "letters, as many of each": np.repeat(np.arange(1, 27), 60),
    "letters, as a fold has them": np.repeat(np.arange(1, 27), np.arange(26) % 4 + 46),
    "13 codes with gaps": np.repeat(
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 15, 16],
        [245, 44, 15, 15, 13, 25, 3, 2, 9, 50, 4, 5, 22],
    ),
    "120 classes": np.repeat(np.arange(120), 50),
    "150 uneven classes": uneven(150, 30_000),
    "40 people, ten pictures each": np.repeat(np.arange(40), 10),
    "50 classes of three rows": np.repeat(np.arange(50), 3),
    "five postcodes": np.repeat([10115, 10243, 20095, 50667, 80331], 30),
}

CLEAR_NUMBERS = {
    "fractions": np.array([1.5, 2.0, 3.25]),
    "diabetes": load_diabetes().target,
    "prices": RNG.integers(50_000, 500_000, 300),
    "prices in thousands": RNG.integers(50, 500, 300) * 1000,
    "ages": RNG.integers(18, 78, 1000),
    "ages of a few": RNG.integers(18, 78, 100),
    "years": RNG.integers(1950, 2020, 2000),
    "ten prices": np.array([100, 250, 150, 300, 120, 130, 450, 120, 500, 90]),
}

#: The likely answer, with a warning.
CLOSE = {
    "counts": (RNG.poisson(10, 1000), "regression"),
    "small counts": (RNG.poisson(8, 300), "regression"),
    "counts from 0 to 30": (RNG.integers(0, 31, 1000), "regression"),
    "very small counts": (RNG.poisson(2, 500), "classification"),
    "months": (RNG.integers(1, 13, 1000), "classification"),
    "row numbers": (np.arange(100), "regression"),
    "30 shops": (RNG.choice(RNG.integers(100, 999, 30), 1000), "regression"),
    "halves": (np.array([0.5, 1.5] * 20), "regression"),
}


@pytest.mark.parametrize("name", CLEAR_CLASSES)
def test_classes_are_recognized(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        target = Target.of(CLEAR_CLASSES[name])
    assert target.task == "classification"
    assert target.reason.startswith("the target holds ")


@pytest.mark.parametrize("name", CLEAR_NUMBERS)
def test_numbers_are_recognized(name):
    y = CLEAR_NUMBERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        target = Target.of(y)
    assert target.task == "regression"
    assert target.codes is None
    assert np.array_equal(target.values, y)


@pytest.mark.parametrize("name", CLOSE)
def test_close_decisions_warn_and_name_the_parameter(name):
    y, expected = CLOSE[name]
    sentence = (
        r"but it may hold (classes|numbers): say which with task='.*' or task='.*' \(--task\)"
    )
    with pytest.warns(DataWarning, match=sentence):
        target = Target.of(y)
    assert target.task == expected
    for task in ("classification", "regression"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            told = Target.of(y, task)
        assert (told.task, told.reason) == (task, "it was given")
        assert np.array_equal(told.labels, y)
        assert np.array_equal(Target.of(told, expected).labels, y)


def test_the_order_of_rows_and_the_width_of_numbers_do_not_matter():
    for y, _ in CLOSE.values():
        shuffled = np.random.default_rng(1).permutation(y)
        assert task_of(shuffled).name == task_of(y).name == task_of(y.astype(float)).name


def test_one_cent_does_not_change_the_answer():
    prices = CLEAR_NUMBERS["prices"]
    assert Target.of(prices).task == Target.of(prices + 0.01).task == "regression"


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(range(60)).astype("category"),
        pl.Series([str(i % 30) for i in range(60)], dtype=pl.Categorical),
        pa.array(list(range(20)) * 3).dictionary_encode(),
        pd.Series([True, False, True] * 5, dtype="boolean"),
    ],
)
def test_types_of_classes_are_classes(y):
    assert Target.of(y).task == "classification"


def test_nullable_integers_are_whole_numbers():
    ages = pd.Series(CLEAR_NUMBERS["ages"], dtype="Int64")
    assert Target.of(ages).task == "regression"
    assert Target.of(pd.Series([1, 2] * 10, dtype="Int64")).classes.tolist() == [1, 2]


def test_identifiers_beyond_2_53_stay_distinct():
    for big in ([2**60, 2**60 + 1] * 5, np.array([2**60, 2**60 + 1] * 5, dtype=object)):
        target = Target.of(big)
        assert target.classes.tolist() == [2**60, 2**60 + 1]
        assert target.counts.tolist() == [5, 5]
    huge = Target.of([2**70, 2**70 + 1] * 5)
    assert huge.classes.tolist() == [2**70, 2**70 + 1]


def test_a_method_that_needs_classes_takes_whole_numbers_for_classes_and_warns():
    ages = CLEAR_NUMBERS["ages"]
    with pytest.warns(DataWarning, match="method needs classes, although the target holds 60 "):
        assert Target.of(ages, needs_classes=True).task == "classification"
    assert Target.of([1.5, 2.5, 3.0], needs_classes=True).task == "regression"


def test_text_cannot_be_a_number_to_predict():
    for y in (["a", "b"], np.array(["a", "b"], dtype=object)):
        with pytest.raises(InputError, match=r"^task='regression' needs numbers, and y holds some"):
            Target.of(y, "regression")


def test_long_labels_of_files_stay_distinct_or_are_refused(tmp_path):
    for big in (2**60, 2**70):
        rows = [f"{i / 7:.2f},{big + i % 2}" for i in range(20)]
        (tmp_path / "ids.csv").write_text("\n".join(["x,id", *rows, ""]))
        target = Target.of(tamis.open(tmp_path / "ids.csv", target="id").target())
        assert target.task == "classification"
        assert [int(label) for label in target.classes] == [big, big + 1]
        (tmp_path / "ids.svm").write_text(f"{big} 1:2\n{big + 1} 1:3\n")
        if big < 2**63:
            assert tamis.open(tmp_path / "ids.svm").load()[1].tolist() == [big, big + 1]
            continue
        with pytest.raises(SourceError, match=r"line 2, byte 1: .* whole number of more than 64"):
            tamis.open(tmp_path / "ids.svm").load()
    (tmp_path / "large.csv").write_text("x,y\n1,1e17\n2,3e18\n")
    assert tamis.open(tmp_path / "large.csv", target="y").target().tolist() == [1e17, 3e18]


# --- numbers as text -----------------------------------------------------------------------------

PRICES = np.round(np.random.default_rng(5).lognormal(12, 1, 300), 2)


@pytest.mark.filterwarnings("ignore:the target holds 300 different texts")
def test_prices_as_text_are_numbers():
    as_text = Target.of(PRICES.astype(str))
    assert as_text.task == "regression"
    assert np.array_equal(as_text.values, PRICES)
    assert as_text.reason.startswith("the target holds numbers as text, such as '")
    assert np.array_equal(Target.of(PRICES.astype(str), "regression").values, PRICES)
    assert Target.of(PRICES.astype(str), "classification").n_classes == len(np.unique(PRICES))
    assert Target.of(pd.Series(PRICES.astype(str), dtype="category")).task == "classification"
    assert Target.of(PRICES.astype(str), needs_classes=True).task == "classification"


@pytest.mark.parametrize("odd", ["EUR", "unknown", "price", "nan"])
def test_a_target_of_numbers_and_a_word_is_refused_unless_its_task_is_given(odd):
    y = PRICES.astype(str).astype(object)
    y[17] = odd
    with pytest.raises(InputError, match=f"the target holds numbers and also '{odd}'; fix it"):
        Target.of(y.astype(str))
    with pytest.raises(InputError, match=f"'{odd}'"):
        Target.of(y.astype(str), "regression")
    assert Target.of(y.astype(str), "classification").is_classes


def test_numbers_in_text_that_are_not_plain_are_refused():
    with pytest.raises(InputError, match=r"numbers as text, such as '.*'; convert them to numbers"):
        Target.of([f"${price:,.2f}" for price in PRICES])


@pytest.mark.parametrize(
    "labels",
    [["1", "2", "other"] * 20, [f"{k % 60:05d}" for k in range(6000)], [f"A{k}" for k in range(90)],
     [f"2020-{1 + k % 12:02d}-01" for k in range(90)]],
)  # fmt: skip
def test_codes_and_words_stay_classes(labels):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert Target.of(labels).is_classes


def test_numbers_in_text_that_repeat_are_questioned():
    ages = np.random.default_rng(3).binomial(90, 0.5, 900).astype(str)
    with pytest.warns(DataWarning, match="as text, such as .* but it may hold numbers: say which"):
        assert Target.of(ages).is_classes


def test_decimals_are_numbers_and_many_dates_are_refused():
    found = Target.of([Decimal(str(price)) for price in PRICES])
    assert found.task == "regression"
    assert np.array_equal(found.values, PRICES)
    days = np.datetime64("2020-01-01") + np.arange(300)
    with pytest.raises(InputError, match="the target holds dates; make numbers of them"):
        Target.of(days)
    assert Target.of(days[[0, 1] * 30]).n_classes == 2


def test_the_number_that_is_not_whole_is_shown_as_it_is():
    assert task_of(np.array([207278.00000000003, 1, 2])).reason.endswith("207278.00000000003")


def test_numbers_in_text_are_described_as_numbers():
    assert describe_target(np.array([f"{k}.5" for k in range(9, 60)])) == "numbers from 9.5 to 59.5"
