"""Methods that tamis does not know, for the tests of the command line."""

from __future__ import annotations

from tamis.estimators import estimator_of
from tamis.methods.batch.fcbf import FCBFRule
from tamis.methods.streaming.saola import SAOLARule


class Mine(SAOLARule):
    """Can be resumed when columns are fed."""

    name = "mine"


class Whole(FCBFRule):
    """Sees every column first."""

    name = "whole"


#: The estimator of a rule is accepted in place of the rule.
WholeEstimator = estimator_of(Whole)


class Plain:
    """Has only what tamis compare requires."""

    def fit(self, X: object, y: object) -> Plain:
        return self
