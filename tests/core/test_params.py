"""Parameter ranges: a wrong value becomes one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.core.errors import MissingDependencyError, ParameterError, TamisError, need
from tamis.core.params import Number, OneOf, check

OPEN_UNIT = Number(0, 1, open_low=True, open_high=True)


@pytest.mark.parametrize(
    ("allowed", "inside", "outside"),
    [
        (OPEN_UNIT, [0.5, np.float32(0.1)], [0, 1, -1, 2.0, np.nan, "0.5", None, True]),
        (Number(0), [0, 0.0, np.inf, np.int64(3)], [-1e-300, np.nan, False, [1]]),
        (Number(1, integer=True), [1, np.int32(7)], [0, 1.0, 1.5, True, np.bool_(True)]),
        (Number(), [-np.inf, 0, np.inf], [np.nan, "1"]),
        (OneOf(("min", "max")), ["min", "max", np.str_("min")], ["Min", None, 0, b"min"]),
        (None, [None], [0, False, ""]),
    ],
)
def test_a_range_allows_what_is_inside_and_nothing_else(allowed, inside, outside):
    for value in inside:
        check("M", "alpha", value, allowed)
    for value in outside:
        with pytest.raises(ParameterError):
            check("M", "alpha", value, allowed)


@pytest.mark.parametrize(
    ("allowed", "sentence"),
    [
        (Number(), "a number"),
        (Number(0), "a number at least 0"),
        (Number(high=2.5, open_high=True), "a number below 2.5"),
        (OPEN_UNIT, "a number above 0 and below 1"),
        (Number(1, 9, integer=True), "a whole number at least 1 and at most 9"),
        (OneOf(("a", "b")), "one of 'a', 'b'"),
        (None, "None"),
    ],
)
def test_a_range_describes_what_it_allows(allowed, sentence):
    assert str(allowed) == sentence


def test_a_wrong_value_is_one_sentence_with_owner_name_value_and_range():
    with pytest.raises(ParameterError) as error:
        check("FisherZ", "alpha", "0.05", OPEN_UNIT)
    assert str(error.value) == "FisherZ: alpha='0.05' is not a number above 0 and below 1"


def test_several_ranges_are_joined_by_or_and_one_of_them_is_enough():
    check("M", "alpha", None, (OPEN_UNIT, None))
    check("M", "alpha", 0.5, (OPEN_UNIT, None))
    with pytest.raises(ParameterError) as error:
        check("M", "alpha", 1, [OPEN_UNIT, None])
    assert str(error.value) == "M: alpha=1 is not a number above 0 and below 1 or None"


def test_parameter_errors_are_value_errors_that_a_user_can_fix():
    assert issubclass(ParameterError, ValueError)
    assert issubclass(ParameterError, TamisError)


def test_a_missing_package_is_named_with_the_command_that_installs_it():
    assert need("numpy", extra="none", what_for="this") is np
    with pytest.raises(MissingDependencyError) as error:
        need("no_such_package_here", extra="zstd", what_for="reading .zst files")
    assert str(error.value) == (
        "reading .zst files needs the package 'no_such_package_here'; "
        "run: pip install 'tamis[zstd]'"
    )
