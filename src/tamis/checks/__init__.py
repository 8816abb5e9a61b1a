"""The contract of selectors, measures and sources, as checks that anyone can run on their own.

>>> from tamis import SAOLA
>>> from tamis.checks import checks_of, check
>>> check(SAOLA())                      # raises AssertionError with one sentence if any fails
>>> [c.__name__ for c in checks_of(SAOLA())][:2]
['log_is_the_same_for_every_block_width', 'log_is_the_same_for_every_number_of_threads']
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tamis.checks import batch, instances, measures, sources, streams
from tamis.estimators import BatchEstimator, StreamEstimator, estimator_of
from tamis.estimators.online import OnlineClassifier
from tamis.measures.measure import Measure
from tamis.methods.rule import Rule
from tamis.sources.base import Source

__all__ = ["check", "checks_of"]


def checks_of(thing: Any) -> list[Callable[[Any], None]]:
    """Return every check that a rule, a selector, a measure or a source has to pass."""
    if isinstance(thing, Rule):
        thing = estimator_of(type(thing))()
    if isinstance(thing, StreamEstimator):
        return list(streams.CHECKS)
    if isinstance(thing, BatchEstimator):
        return list(batch.CHECKS)
    if isinstance(thing, OnlineClassifier):
        return list(instances.CHECKS)
    if isinstance(thing, Measure):
        return list(measures.CHECKS)
    if isinstance(thing, Source):
        return list(sources.CHECKS)
    raise TypeError(f"there is no contract for {type(thing).__name__}")


def check(thing: Any) -> None:
    """Run every check on a rule, a selector, a measure or a source."""
    if isinstance(thing, Rule):
        thing = estimator_of(type(thing))(**thing.get_params())
    for one in checks_of(thing):
        one(thing)
