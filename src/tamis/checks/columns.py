"""The contract of all column selectors: the result follows from the data and the rule alone."""

from __future__ import annotations

import gc
import tracemalloc
from dataclasses import replace

import numpy as np

from tamis.checks.data import Case, assert_same_log, fitted
from tamis.core.blocks import ColumnBlock, Compressed
from tamis.core.decisions import Verdict
from tamis.estimators import ColumnEstimator
from tamis.kernels.threads import threads
from tamis.methods.selector import BatchSelector
from tamis.sources.arrays.in_memory import MemorySource


def log_is_the_same_for_every_block_width(selector: ColumnEstimator, case: Case) -> None:
    """The size of a block affects speed, never the result."""
    expected = fitted(selector, case)
    for width in (1, 7, 64, case.X.shape[1]):
        found = selector._to_selector().run(MemorySource(case.X), case.y, width=width)
        assert_same_log(found.log_, expected.log_, f"{case}, blocks of {width}")


def log_is_the_same_for_every_number_of_threads(selector: ColumnEstimator, case: Case) -> None:
    """Threads split columns, never rows."""
    with threads(1):
        expected = fitted(selector, case)
    for count in (2, 3):
        with threads(count, least_work=1):
            found = fitted(selector, case)
        assert_same_log(found.log_, expected.log_, f"{case}, {count} threads")


def log_is_the_same_when_nothing_is_foreseen(selector: ColumnEstimator, case: Case) -> None:
    """Deciding in bulk gives the same result as applying the rule to one column at a time."""
    expected = fitted(selector, case)
    for ahead in (1, 2, 5):
        one_by_one = selector._to_selector()
        setattr(one_by_one, "look_ahead", ahead)  # noqa: B010 - only some have it
        one_by_one.run(MemorySource(case.X), case.y)
        assert_same_log(one_by_one.log_, expected.log_, f"{case}, looking {ahead} ahead")


def log_replays_to_the_kept_set(selector: ColumnEstimator, case: Case) -> None:
    """Replaying the log gives the kept features, and counts add up."""
    done = fitted(selector, case)
    log = done.log_
    assert log.replay() == done.kept_.tolist(), f"{case}: the log replays to something else"
    assert len(log) == case.X.shape[1], f"{case}: not every feature is in the log"
    assert sum(log.counts().values()) == len(log), f"{case}: verdicts do not add up"
    kept = np.flatnonzero(log.verdicts == Verdict.KEPT)
    assert kept.tolist() == done.kept_.tolist(), f"{case}: final verdicts do not match"


def every_feature_has_a_reason(selector: ColumnEstimator, case: Case) -> None:
    """Every feature has a one-sentence explanation with its name and no unfilled field."""
    log = fitted(selector, case).log_
    for feature in range(len(log)):
        sentence = log.why(feature)
        assert f"x{feature}" in sentence, f"{case}: {sentence!r} does not name x{feature}"
        assert "{" not in sentence, f"{case}: {sentence!r} has an unfilled field"
        assert "nan" not in sentence, f"{case}: {sentence!r} has a number missing"


def constant_columns_are_never_kept(selector: ColumnEstimator, case: Case) -> None:
    """A constant column carries no information and is never kept."""
    constant = np.flatnonzero(np.ptp(case.X, axis=0) == 0)
    kept = fitted(selector, case).kept_
    assert not np.isin(constant, kept).any(), f"{case}: a constant column was kept"


def memory_does_not_grow_with_irrelevant_features(selector: ColumnEstimator) -> None:
    """Irrelevant columns cost only a few bytes each in the log, however many there are."""
    n, width = 100, 5_000
    y = np.arange(n) % 2
    live = selector._to_selector()
    if isinstance(live, BatchSelector) and not getattr(live.rule, "gated", True):
        return  # it has no gate, so it holds all columns until it has seen the last
    # Each column is on in the same number of rows of both classes.
    indices = np.tile(np.array([0, 1, 2, 3], dtype=np.int32), width)
    indptr = np.arange(width + 1, dtype=np.int64) * 4
    block = ColumnBlock(0, n, Compressed(indptr, indices, np.ones(4 * width)))
    live.start(y)
    live.prepare([block])
    # Some selectors call a column irrelevant only if it is worse than one they keep.
    live.update(live.score(ColumnBlock.of(y)))

    def take() -> None:
        live.update(live.score(replace(block, first=live.n_features_in_)))

    for _ in range(2):
        take()
    gc.collect()  # garbage in cycles is no growth
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(10):
            take()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    each = grown / (10 * width)
    # Five bytes per feature, and up to half as much again as spare capacity of a growing array.
    assert each <= 16, f"{each:.0f} bytes were kept for each irrelevant feature"
