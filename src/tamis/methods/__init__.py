"""Methods: the rules of the papers, and the selectors that run them, without scikit-learn.

A method is a file in `streaming/` (columns that arrive), `batch/` (all columns at once) or
`online/` (rows that arrive), and an entry in `_registry`. Its rule says what to keep; a selector
runs the rule over scored blocks; `tamis.estimators` has the scikit-learn interface. Everything that
a user-defined rule needs can be imported from here; the modules below may move.
"""

from __future__ import annotations

from tamis._registry import METHODS, Lazy
from tamis.core.decisions import Decision, Reason, Verdict
from tamis.core.params import Number, OneOf, param
from tamis.methods.batch.candidates import CandidateRule, Candidates
from tamis.methods.batch.scores import Found, ScoredRule, Table, TableRule
from tamis.methods.measured import Arrival, Kept, MeasuredRule
from tamis.methods.rule import Rule
from tamis.methods.selector import BatchSelector, ColumnSelector, FeatureStreamSelector

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

#: The rule of every method on columns by its name, imported when it is looked up.
BY_METHOD: Lazy[type[Rule]] = Lazy({name: m.where for name, m in METHODS.items()})
