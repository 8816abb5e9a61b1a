"""Selectors. Adding one is a file in `streaming/` or `batch/`, which is found, and its export.

The methods are a file each: `streaming/` for columns that arrive, `batch/` for all columns at once,
`online/` for rows that arrive. What they share is in `base.py`; what those on columns are built
from is in `columns/`. All that a selector of one's own needs is imported from here; modules below
may move.
"""

from __future__ import annotations

import importlib
import pkgutil

from tamis.core.decisions import Decision, Reason, Verdict
from tamis.core.params import Number, OneOf
from tamis.methods import batch, streaming
from tamis.methods.arrivals import Arrival, Kept
from tamis.methods.base import BatchSelector, ColumnSelector, FeatureStreamSelector, Selector
from tamis.methods.batch.measured_batch import Candidates, MeasuredBatchSelector
from tamis.methods.measured import MeasuredSelector

__all__ = [
    "BY_METHOD",
    "Arrival",
    "BatchSelector",
    "Candidates",
    "ColumnSelector",
    "Decision",
    "FeatureStreamSelector",
    "Kept",
    "MeasuredBatchSelector",
    "MeasuredSelector",
    "Number",
    "OneOf",
    "Reason",
    "Selector",
    "Verdict",
]


def _found() -> dict[str, type[ColumnSelector]]:
    """Every selector defined in a module of a role's folder, by its word on the command line."""
    by_method: dict[str, type[ColumnSelector]] = {}
    for folder in (batch, streaming):
        for info in pkgutil.iter_modules(folder.__path__, folder.__name__ + "."):
            module = importlib.import_module(info.name)
            for thing in vars(module).values():
                is_selector = isinstance(thing, type) and issubclass(thing, ColumnSelector)
                if is_selector and thing.__module__ == info.name and "method" in vars(thing):
                    by_method[thing.method] = thing
    return by_method


#: Every selector of columns by its word on the command line.
BY_METHOD = _found()
