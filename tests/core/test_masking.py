"""Passwords in texts: all are masked, and nothing else is lost."""

from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tamis.core.errors import InputError, OutputError, SourceError, warn
from tamis.core.masking import masked


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("redis://:hush@host:6379/0?stream=s", "redis://:***@host:6379/0?stream=s"),
        ("rediss://me:hush@host", "rediss://me:***@host"),
        ("unix://me:hush@/tmp/redis.sock?stream=s", "unix://me:***@/tmp/redis.sock?stream=s"),
        ("postgresql://me:h/u?s#h@host/db", "postgresql://me:***@host/db"),
        ("redis://:h@u@sh@host/0", "redis://:***@host/0"),
        ("redis://:12345@host/0", "redis://:***@host/0"),
        (
            "https://me:hush@host/x.parquet?sig=hush&a=1",
            "https://me:***@host/x.parquet?sig=***&a=1",
        ),
        ("s3://b/x?X-Amz-Signature=hush&X-Amz-Date=1", "s3://b/x?X-Amz-Signature=***&X-Amz-Date=1"),
        ("--data=redis://:hush@host/0", "--data=redis://:***@host/0"),
        ("select * from pg('host=h password=hush')", "select * from pg('host=h password=***')"),
        ("redis://:hush@a and redis://b:hush@c fail", "redis://:***@a and redis://b:***@c fail"),
        ("PASSWORD = 'hu sh' user=me", "PASSWORD = *** user=me"),
        # What is not a secret stays.
        ("redis://host:6379/0?consumer=a@b", "redis://host:6379/0?consumer=a@b"),
        ("redis://localhost/0?stream=clicks&wait=60", "redis://localhost/0?stream=clicks&wait=60"),
        ("duckdb:///x.db?query=select a, b from t", "duckdb:///x.db?query=select a, b from t"),
        ("tcp://host:8786", "tcp://host:8786"),
        ("mail me@here.org at 12:30", "mail me@here.org at 12:30"),
        ("--tokens=words --key=id", "--tokens=words --key=id"),
        ("C:\\data\\a@b.csv", "C:\\data\\a@b.csv"),
    ],
)
def test_the_text_after_masking(text, left):
    assert masked(text) == left
    assert masked(left) == left


@given(st.text(st.characters(exclude_characters="@*", exclude_categories=["Cs"]), min_size=8))
def test_no_password_is_left_in_an_address(password):
    assert masked(f"redis://:{password}@host/0", whole=True) == "redis://:***@host/0"
    assume(not re.match(r"\d{1,5}[/?#\s]", password))  # where `me` would be a host with a port
    address = f"redis://me:{password}@host/0?stream=s"
    assert masked(address, whole=True) == "redis://me:***@host/0?stream=s"
    facts = {"a": [address, {"b": (address, 1, None)}]}
    assert masked(facts) == {"a": [masked(address), {"b": [masked(address), 1, None]}]}


def test_sentences_hold_no_password():
    for kind in (InputError, OutputError, SourceError):
        error = kind("redis://:hush@host cannot be read; check it")
        assert str(error) == "redis://:***@host cannot be read; check it"
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (kind, str(error))
    with pytest.warns(UserWarning, match=r"redis://:\*\*\*@host is slow"):
        warn("redis://:hush@host is slow")


def test_a_very_long_word_takes_no_longer_than_reading_it():
    """Each search that begins anew at every character would take hours."""
    for word in ("x" * 100_000, "a://b:" * 20_000, "a." * 50_000 + "://"):
        assert masked(f"R({word}, class)=0.3") == f"R({word}, class)=0.3"
