"""Tables of plain words say what is behind them, and no more."""

from __future__ import annotations

from tamis.cli.options import COMMIT_EVERY
from tamis.core import words
from tamis.encode import BY_NAME as ENCODERS
from tamis.engine.learning.learn import LEARNERS
from tamis.engine.living.resuming import EVERY
from tamis.evaluate.classifiers import CLASSIFIERS
from tamis.evaluate.paired import PAIRED_TESTS
from tamis.measures.auto import BY_NAME as MEASURES
from tamis.methods import BY_METHOD, BatchSelector, FeatureStreamSelector
from tamis.sources import FORMATS


def test_methods_are_those_that_are_found():
    for role, told in (
        (FeatureStreamSelector, words.STREAM_METHODS),
        (BatchSelector, words.BATCH_METHODS),
    ):
        assert list(told) == sorted(m for m, kind in BY_METHOD.items() if issubclass(kind, role))
    assert list(words.METHODS) == sorted(BY_METHOD)


def test_all_other_words_are_those_behind_them():
    assert tuple(LEARNERS) == words.LEARNERS
    assert tuple(MEASURES) == words.MEASURES
    assert tuple(ENCODERS) == words.ENCODERS
    assert tuple(sorted(FORMATS)) == words.FORMATS
    assert tuple(CLASSIFIERS) == words.CLASSIFIERS
    assert tuple(PAIRED_TESTS) == words.PAIRED_TESTS
    assert COMMIT_EVERY == EVERY
