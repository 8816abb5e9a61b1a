"""The contract of selectors, measures and sources, as checks to run on your own classes.

>>> from tamis import SAOLA
>>> from tamis.checks import checks_of, check
>>> check(SAOLA())                      # raises AssertionError with one sentence if any fails
>>> [c.__name__ for c in checks_of(SAOLA())][:2]
['log_is_the_same_for_every_block_width', 'log_is_the_same_for_every_number_of_threads']
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from tamis.checks import batch, columns, fitting, instances, measures, sources, streams
from tamis.checks.data import Case, cases
from tamis.estimators import BatchEstimator, StreamEstimator, estimator_of
from tamis.estimators.online import OnlineEstimator
from tamis.measures.measure import Measure
from tamis.methods.rule import Rule
from tamis.sources.base import Source

__all__ = ["check", "checks_of"]

#: The modules whose public functions are the checks of a kind of object. A check with a parameter
#: `case` runs on every small data set.
_CONTRACTS: dict[type, tuple[ModuleType, ...]] = {
    StreamEstimator: (columns, fitting, streams),
    BatchEstimator: (columns, fitting, batch),
    OnlineEstimator: (instances, fitting),
    Measure: (measures,),
    Source: (sources,),
}


def checks_of(thing: Any) -> list[Callable[[Any], None]]:
    """Return every check that a rule, a selector, a measure or a source has to pass."""
    if isinstance(thing, Rule):
        thing = estimator_of(type(thing))()
    modules = next((m for kind, m in _CONTRACTS.items() if isinstance(thing, kind)), None)
    if modules is None:
        raise TypeError(f"there is no contract for {type(thing).__name__}")
    return [
        _for_every_case(found) if "case" in inspect.signature(found).parameters else found
        for module in modules
        for name, found in vars(module).items()
        if isinstance(found, FunctionType)
        and found.__module__ == module.__name__
        and not name.startswith("_")
    ]


def _for_every_case(check: Callable[[Any, Case], None]) -> Callable[[Any], None]:
    """Return a check that runs on every small data set."""

    @functools.wraps(check)
    def with_cases(thing: Any) -> None:
        for case in cases():
            check(thing, case)

    return with_cases


def check(thing: Any) -> None:
    """Run every check on a rule, a selector, a measure or a source."""
    if isinstance(thing, Rule):
        thing = estimator_of(type(thing))(**thing.get_params())
    for one in checks_of(thing):
        one(thing)
