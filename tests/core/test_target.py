"""The target: text, numbers and booleans become codes; what cannot be used raises an error."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.core.errors import InputError
from tamis.core.target import MOST_CLASSES, Target


@pytest.mark.parametrize(
    ("y", "classes", "values"),
    [
        (["spam", "ham", "spam"], ["ham", "spam"], [2, 1, 2]),
        ([3, -1, 3], [-1, 3], [3, -1, 3]),
        ([True, False, True], [False, True], [1, 0, 1]),
        ([2.0, 5.0, 2.0], [2.0, 5.0], [2, 5, 2]),
        (np.array([7, 7, 7], dtype=np.uint8), [7], [7, 7, 7]),
        (np.array(["b", "", "b"], dtype=object), ["", "b"], [2, 1, 2]),
        (["\ud800", "🧬", "\ud800"], ["\ud800", "🧬"], [1, 2, 1]),
        (pd.Series([5, 7, 5], dtype="Int64"), [5, 7], [5, 7, 5]),
        (pd.Series(["b", "a", "b"]).astype("category"), ["a", "b"], [2, 1, 2]),
        (pl.Series(["b", "a", "b"]), ["a", "b"], [2, 1, 2]),
        (pa.array([1, 0, 1]), [0, 1], [1, 0, 1]),
        (np.array([[4], [9], [4]]), [4, 9], [4, 9, 4]),
    ],
)
def test_labels_of_every_kind_become_codes_in_sorted_order(y, classes, values):
    target = Target.of(y)
    assert target.is_classes
    assert target.classes.tolist() == classes
    assert target.n_classes == len(classes)
    assert target.codes.dtype == np.uint16
    assert target.values.tolist() == values
    flat = np.asarray(y).ravel().tolist()
    assert [classes[c] for c in target.codes] == flat
    assert target.counts.tolist() == [flat.count(c) for c in classes]


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30))
@settings(max_examples=60)
def test_codes_and_classes_give_the_labels_back(y):
    target = Target.of(y, "classification")
    assert target.classes[target.codes].tolist() == y
    assert np.all(np.diff(target.classes) > 0)
    assert target.counts.sum() == target.n_rows == len(y)


def test_floats_with_a_fractional_part_are_a_regression_target():
    target = Target.of([1.0, 2.5, 3.0])
    assert not target.is_classes
    assert target.n_classes == 0
    assert target.codes is None
    assert target.values.tolist() == [1.0, 2.5, 3.0]
    with pytest.raises(InputError, match="a regression target has no classes; use FisherZ"):
        target.counts  # noqa: B018


def test_an_encoded_target_is_used_unchanged():
    target = Target.of([0, 1])
    assert Target.of(target) is target


NULLABLE = pd.Series([1, None], dtype="Int64")


@pytest.mark.parametrize(
    ("y", "row", "shown"),
    [
        ([0.0, 1.0, np.nan], 2, "nan"),
        ([0.0, -np.inf, np.nan], 1, "-inf"),
        (np.array(["a", None], dtype=object), 1, "None"),
        (["a", None, "b"], 1, "None"),
        (["a", float("nan")], 1, "nan"),
        (pd.Series(["a", None, "b"], dtype="string"), 1, "<NA>"),
        # Older pandas has an array of objects here.
        (NULLABLE, 1, str(np.asarray(NULLABLE)[1])),
        (pd.Series(["a", None]).astype("category"), 1, "nan"),
        (pl.Series([1, 2, None]), 2, "nan"),
        (np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"), 1, "NaT"),
    ],
)
def test_a_missing_target_is_refused_with_its_row(y, row, shown):
    with pytest.raises(InputError) as error:
        Target.of(y)
    assert str(error.value) == (
        f"Input y contains NaN, infinity or a missing value in row {row} ({shown}); "
        "drop the rows that have no target (of a file: --missing-target drop, "
        "missing_target='drop')"
    )


def test_the_text_nan_is_a_class_like_any_other_text():
    assert Target.of(np.array(["nan", "a"])).classes.tolist() == ["a", "nan"]
    assert Target.of(["nan", "a"]).classes.tolist() == ["a", "nan"]


def test_dates_can_be_classes():
    days = np.array(["2020-01-02", "2020-01-01"], dtype="datetime64[D]")
    target = Target.of(days)
    assert target.classes.tolist() == [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]
    assert target.values.tolist() == [2.0, 1.0]


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([], "y holds no rows; give one target value for each row"),
        (np.zeros((2, 2)), "y should be a 1d vector, got an array of shape (2, 2)"),
        (np.zeros(()), "y should be a 1d vector, got an array of shape ()"),
        (
            np.array(["a", 1], dtype=object),
            "y mixes values that cannot be sorted together, such as text and numbers; "
            "make them all text or all numbers",
        ),
    ],
)
def test_invalid_targets_raise_one_sentence(y, sentence):
    with pytest.raises(InputError) as error:
        Target.of(y)
    assert str(error.value) == sentence


def test_the_largest_number_of_classes_is_accepted_and_one_more_is_refused():
    most = Target.of(np.arange(MOST_CLASSES), "classification")
    assert most.codes[-1] == MOST_CLASSES - 1
    with pytest.raises(InputError, match="65536 different values, too many to be classes"):
        Target.of(np.arange(MOST_CLASSES + 1), "classification")


def test_the_fingerprint_depends_only_on_rows_and_their_order():
    a = Target.of(["u", "v", "v"]).fingerprint
    assert a == Target.of(np.array(["u", "v", "v"], dtype=object)).fingerprint
    assert a != Target.of(["v", "u", "v"]).fingerprint
    assert a != Target.of(["u", "w", "w"]).fingerprint
    assert len({a, Target.of(["\ud800"]).fingerprint, Target.of([0.5]).fingerprint}) == 3
    assert Target.of([0.5, 1.0]).fingerprint != Target.of([1.0, 0.5]).fingerprint


def test_the_given_target_is_never_changed():
    y = np.array([3.5, 1.5])
    target = Target.of(y)
    target.values[0] = 0.0
    assert y.tolist() == [3.5, 1.5]
