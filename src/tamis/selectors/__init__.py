"""Selectors. Adding one is a file in `features/`, which is found, and a line in tamis/__init__."""

from __future__ import annotations

import importlib
import pkgutil

from tamis.selectors import features
from tamis.selectors.base import FeatureStreamSelector, Selector
from tamis.selectors.measured import MeasuredSelector

__all__ = ["BY_METHOD", "FeatureStreamSelector", "MeasuredSelector", "Selector"]


def _found() -> dict[str, type[FeatureStreamSelector]]:
    """Every selector defined in a module of `features`, by its word on the command line."""
    by_method: dict[str, type[FeatureStreamSelector]] = {}
    for info in pkgutil.iter_modules(features.__path__, features.__name__ + "."):
        module = importlib.import_module(info.name)
        for thing in vars(module).values():
            is_selector = isinstance(thing, type) and issubclass(thing, FeatureStreamSelector)
            if is_selector and thing.__module__ == info.name and "method" in vars(thing):
                by_method[thing.method] = thing
    return by_method


#: Every feature-stream selector by its word on the command line.
BY_METHOD = _found()
