"""Names: any text goes in and comes out, and a name is never mistaken for another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.core.names import NameBook, Names

ODD = ["", "'", '"', "a\nb", "a\r\n", "\0", "🧬", "é", "\ud800", "x 1", "{name}", "ab", "a", "b"]
texts = st.text(st.characters(), max_size=4) | st.sampled_from(ODD)
name_lists = st.lists(texts, max_size=12)
several = settings(max_examples=150)


def last_place(names: list[str], name: str) -> int | None:
    return max((i for i, n in enumerate(names) if n == name), default=None)


def test_unusual_names_are_unchanged():
    packed = Names.of(ODD)
    assert list(packed) == ODD
    assert [packed[i] for i in range(len(packed))] == ODD
    assert [packed.find(n) for n in ODD] == list(range(len(ODD)))


@given(name_lists)
@several
def test_names_are_a_sequence_of_the_given_texts(names):
    packed = Names.of(names)
    assert len(packed) == len(names)
    assert list(packed) == names
    assert list(packed[1:-1]) == names[1:-1]
    assert list(packed[::-2]) == names[::-2]
    assert list(packed.part(0, len(names) // 2)) == names[: len(names) // 2]
    if names:
        assert packed[-1] == names[-1]


@given(name_lists, texts)
@several
def test_find_returns_the_last_index_of_exactly_that_name(names, other):
    packed = Names.of(names)
    for name in [*names, other]:
        assert packed.find(name) == last_place(names, name)


def test_find_ignores_names_inside_or_across_names():
    packed = Names.of(["abc", "", "cab", "bcab"])
    assert packed.find("bc") is None
    assert packed.find("cca") is None
    assert packed.find("ab") is None
    assert packed.find("") == 1


def test_anything_can_be_a_name_as_text():
    assert list(Names.of([1, 2.5, None, np.str_("z")])) == ["1", "2.5", "None", "z"]


def test_packing_packed_names_costs_nothing():
    packed = Names.of(["a"])
    assert Names.of(packed) is packed


def test_an_index_beyond_the_end_is_an_index_error():
    with pytest.raises(IndexError):
        Names.of(["a"])[1]


@st.composite
def books(draw):
    """A book of named and numbered blocks, and the names it should hold."""
    book = NameBook(draw(st.sampled_from(["x", "", "f{", "."])), draw(st.sampled_from([0, 1])))
    held: list[str] = []
    numberish = st.integers(0, 12).map(lambda i: f"{book.prefix}{i}")
    for named in draw(st.lists(st.booleans(), max_size=5)):
        if named:
            names = draw(st.lists(texts | numberish, max_size=4))
            book.append(len(names), Names.of(names))
            held += names
        else:
            width = draw(st.integers(0, 4))
            book.append(width, None)
            held += [f"{book.prefix}{i + book.base}" for i in range(len(held), len(held) + width)]
    return book, held


@given(books())
@several
def test_a_book_of_named_and_numbered_blocks_knows_every_name(made):
    book, held = made
    assert len(book) == len(held)
    assert [book[i] for i in range(len(book))] == held


@given(books(), texts)
@several
def test_a_book_finds_only_the_newest_feature_with_a_name(made, other):
    book, held = made
    around = [f"{book.prefix}{i}" for i in range(-1, len(held) + 2)]
    for name in [*held, *around, other]:
        assert book.find(name) == last_place(held, name)


@given(name_lists, st.data())
@several
def test_how_names_were_cut_into_blocks_does_not_change_what_is_found(names, data):
    whole, parts = NameBook(), NameBook()
    whole.append(len(names), Names.of(names))
    cut = data.draw(st.integers(0, len(names)))
    parts.append(cut, Names.of(names[:cut]))
    parts.append(len(names) - cut, Names.of(names[cut:]))
    assert [whole.find(n) for n in names] == [parts.find(n) for n in names]


def test_a_number_that_belongs_to_a_named_feature_finds_nothing():
    book = NameBook()
    book.append(2, Names.of(["age", "height"]))
    book.append(2, None)
    assert book.find("x1") is None
    assert book.find("x2") == 2
    assert book.find("x4") is None


@pytest.mark.parametrize(
    "name", ["x01", "x+1", "x1 ", "x1\n", "x١", "X1", "x-1", "1", "x" + "9" * 5000]
)
def test_text_that_resembles_a_number_is_not_found(name):
    book = NameBook()
    book.append(3, None)
    assert book.find(name) is None


def test_of_a_named_and_a_numbered_feature_of_one_name_the_newer_is_found():
    book = NameBook()
    book.append(2, Names.of(["x3", "x1"]))
    book.append(3, None)
    assert book.find("x3") == 3
    assert book.find("x1") == 1
    book.append(1, Names.of(["x3"]))
    assert book.find("x3") == 5


def test_a_book_reports_that_it_has_no_named_blocks():
    book = NameBook()
    book.append(3, None)
    assert book.numbered
    book.append(1, Names.of(["a"]))
    assert not book.numbered


def test_a_book_rejects_indices_beyond_its_end():
    book = NameBook()
    book.append(2, None)
    for place in (-1, 2):
        with pytest.raises(IndexError):
            book[place]
