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
from tamis.estimators.online import OnlineClassifier
from tamis.measures.base import Measure
from tamis.methods.base import BatchSelector, FeatureStreamSelector
from tamis.sources.base import Source

__all__ = ["check", "checks_of"]


def checks_of(thing: Any) -> list[Callable[[Any], None]]:
    """Every check that a selector, a measure or a source has to pass."""
    if isinstance(thing, FeatureStreamSelector):
        return list(streams.CHECKS)
    if isinstance(thing, BatchSelector):
        return list(batch.CHECKS)
    if isinstance(thing, OnlineClassifier):
        return list(instances.CHECKS)
    if isinstance(thing, Measure):
        return list(measures.CHECKS)
    if isinstance(thing, Source):
        return list(sources.CHECKS)
    raise TypeError(f"there is no contract for {type(thing).__name__}")


def check(thing: Any) -> None:
    """Run every check on a selector, a measure or a source."""
    for one in checks_of(thing):
        one(thing)
