"""Methods. Adding one takes a file in `streaming/` or `batch/` and an entry in `_registry`.

The methods are a file each: `streaming/` for columns that arrive, `batch/` for all columns at once,
`online/` for rows that arrive. What they share is in `base.py`; what those on columns are built
from is in `columns/`. All that a selector of one's own needs is imported from here; modules below
may move.
"""

from __future__ import annotations

from tamis._registry import METHODS, Lazy
from tamis.core.decisions import Decision, Reason, Verdict
from tamis.core.params import Number, OneOf
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


#: Selectors of columns by their name on the command line, imported when they are looked up.
BY_METHOD: Lazy[type[ColumnSelector]] = Lazy({name: m.where for name, m in METHODS.items()})
