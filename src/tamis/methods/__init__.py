"""Methods: the rules of the papers, and the selectors that run them, without scikit-learn.

A method is a file in `streaming/` (columns that arrive), `batch/` (all columns at once) or
`online/` (rows that arrive), and an entry in `_registry`. Its rule says what to keep; a selector
runs the rule over scored blocks; `tamis.estimators` has the scikit-learn interface. Everything that
a user-defined rule needs can be imported from here; the modules below may move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamis._registry import METHODS, Lazy, load
from tamis.core.decisions import Decision, Reason, Verdict
from tamis.core.params import Number, OneOf, param
from tamis.methods.measured import Arrival, Kept, MeasuredRule
from tamis.methods.rule import Rule
from tamis.methods.selector import BatchSelector, ColumnSelector, FeatureStreamSelector

if TYPE_CHECKING:
    from tamis.methods.batch.candidates import CandidateRule, Candidates
    from tamis.methods.batch.scores import Found, ScoredRule, Table, TableRule

__all__ = [
    "BY_METHOD",
    "Arrival",
    "BatchSelector",
    "CandidateRule",
    "Candidates",
    "ColumnSelector",
    "Decision",
    "FeatureStreamSelector",
    "Found",
    "Kept",
    "MeasuredRule",
    "Number",
    "OneOf",
    "Reason",
    "Rule",
    "ScoredRule",
    "Table",
    "TableRule",
    "Verdict",
    "param",
]

#: What rules for all columns at once are made of, imported when it is first used.
_BATCH = {
    **dict.fromkeys(("CandidateRule", "Candidates"), "candidates"),
    **dict.fromkeys(("Found", "ScoredRule", "Table", "TableRule"), "scores"),
}


def __getattr__(name: str) -> Any:
    if name not in _BATCH:
        raise AttributeError(f"module 'tamis.methods' has no attribute {name!r}")
    return load(f"tamis.methods.batch.{_BATCH[name]}:{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_BATCH})


#: The rule of every method on columns by its name, imported when it is looked up.
BY_METHOD: Lazy[type[Rule]] = Lazy({name: m.where for name, m in METHODS.items()})
