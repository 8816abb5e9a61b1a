"""Suggestions for misspelled names."""

from __future__ import annotations

import difflib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.core.names import NameBook, Names
from tamis.core.near_names import near, no_such_feature


def book(*names: str, numbered: int = 0, prefix: str = "x", base: int = 0) -> NameBook:
    made = NameBook(prefix, base)
    if names:
        made.append(len(names), Names.of(names))
    made.append(numbered, None)
    return made


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("m27891_at", ["M27891_at"]),
        ("M27891at", ["M27891_at"]),
        ("M2789_at", ["M27891_at"]),
        ("GÖßE", ["GÖße"]),  # letters beyond ASCII stay as they are
        ("zzz", []),
        ("", []),
        ("x2", []),
    ],
)
def test_case_and_one_typo_are_ignored(wanted, expected):
    assert near(book("M27891_at", "age", "GÖße"), wanted) == expected


def test_features_without_names_are_found_by_their_number():
    assert near(book(numbered=20), "X17") == ["x17"]
    assert near(book(numbered=20), "17") == ["x17"]
    assert near(book(numbered=20), "x20") == []
    assert near(book(numbered=20, prefix="", base=1), "x20") == ["20"]


@given(st.lists(st.text("abAB_1", min_size=1, max_size=8), unique=True), st.text("abAB_1"))
def test_among_few_names_the_answer_is_that_of_comparing_all(names, wanted):
    lowered = {name.lower(): name for name in names}
    found = near(book(*names, prefix="~"), wanted)
    if wanted.lower() in lowered:
        assert [name.lower() for name in found] == [wanted.lower()]
    else:
        slack = 1 + len(wanted) // 4
        close = [n for n in names if abs(len(n) - len(wanted)) <= slack]
        assert found == difflib.get_close_matches(wanted, close, 3, 0.7)


def test_the_best_is_found_among_very_many():
    names = book(*(f"gene_{i}_at" for i in range(200_000)))
    for wanted in ("gene_123456_a", "gen_123456_at", "gene_123456at", "Gene_12345X_at"):
        begun = time.process_time()
        assert any(name.startswith("gene_12345") for name in near(names, wanted)), wanted
        assert time.process_time() - begun < 5  # comparing all of them takes minutes


def test_every_unknown_name_is_reported():
    names = book("age", "height", "weight")
    assert no_such_feature(names, ["zzz"]) == (
        "no feature is called 'zzz' among the 3 seen; the first is called 'age'"
    )
    assert no_such_feature(names, ["Age"]) == (
        "no feature is called 'Age' among the 3 seen; did you mean 'age'?"
    )
    assert no_such_feature(names, ["zzz", "eight", 7]) == (
        "no feature is called 'zzz', 'eight' or 7 among the 3 seen; did you mean 'weight' or "
        "'height' for 'eight'?"
    )
    assert no_such_feature(book(), ["a"]) == "no feature is called 'a' among the 0 seen"
