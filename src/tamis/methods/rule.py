"""Rules: the method as described in a paper, without the code that runs it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from tamis.core.decisions import Reason, Verdict
from tamis.core.params import DeclaredParameters
from tamis.core.target import Target

if TYPE_CHECKING:
    from tamis.methods.selector import ColumnSelector

#: Reasons by what becomes of the feature: ``when_kept("{name} is kept: ...")``.
when_irrelevant = partial(Reason, Verdict.IRRELEVANT)
when_redundant = partial(Reason, Verdict.REDUNDANT)
when_evicted = partial(Reason, Verdict.EVICTED)
when_kept = partial(Reason, Verdict.KEPT)

REQUIRED = when_kept("{name} is kept: you asked for it")

#: The reason of features that a gate did not test.
UNREACHABLE = "unreachable"
GATE_REASONS = {
    UNREACHABLE: when_irrelevant(
        "{name} was dropped as irrelevant: it cannot be significant, because with the counts of "
        "its values p is at least {value}, above {level}, the level of the next test; so it was "
        "not tested, and lowers no later level"
    )
}

#: Of features after a stop; the log has the fields.
UNEXAMINED = {
    "unexamined": Reason(
        Verdict.UNEXAMINED,
        "{name} was not examined: the selection had stopped at {stopped_at}, because "
        "{stopped_because}",
    )
}

CONSTANT = when_irrelevant("{name} was dropped as irrelevant: it has the same value in every row")


def no_deletion(method: str, others: str) -> str:
    """Return why a method cannot leave out missing values pair by pair."""
    return (
        f"{method} compares a feature with {others} at once, so missing values cannot be left out "
        "pair by pair: fill the gaps, use missing='category' (with encode='mdlp' for numbers), or "
        "use a method that compares pairs, such as saola"
    )


class Rule(DeclaredParameters):
    """The rule of one method: its parameters, its reasons, and how it decides.

    Parameters are annotated attributes with defaults, as in a dataclass (every subclass becomes
    one): see `DeclaredParameters`.

    A rule does not know scikit-learn, files, workers or progress: a selector runs it over scored
    blocks (`to_selector`). Its docstring is the documentation of the method.

    Numbers that a rule counts or fits while it runs are attributes that end in an underscore; those
    that a later process needs are listed in `saved`. The docstring of a rule need not repeat the
    parameters and attributes that its bases document.

    Attributes
    ----------
    kept_ : ndarray of int
        Kept features, in order of arrival.
    log_ : DecisionLog
        What happened to every feature, and why.
    choices_ : dict
        What was chosen for "auto", such as the task and the measure, and why.
    work_ : dict
        Counted work: what was computed, whatever the machine.
    """

    suffix: ClassVar[str] = "Rule"

    #: The name on the command line: ``tamis select --method saola``.
    name: ClassVar[str]

    #: What runs it, and what does with order="free", if it has such an order.
    machinery: ClassVar[type[ColumnSelector]]
    in_order: ClassVar[type[ColumnSelector] | None] = None

    #: Whether it takes columns in groups.
    takes_groups: ClassVar[bool] = False

    #: Whether it uses sample weights and covariates.
    adjusts: ClassVar[bool] = False

    #: Whether it can use no other targets than classes.
    only_classes: ClassVar[bool] = False

    #: The parameters that make it the method of its paper, where defaults do not; None: no paper.
    paper: ClassVar[Mapping[str, Any] | None] = {}

    #: Whether it can keep features that must stay.
    keeps: ClassVar[bool] = False

    #: Reasons that saved logs of earlier versions lack.
    newer_reasons: ClassVar[frozenset[str]] = frozenset()

    #: What a saved stream holds of the rule, by name: one value per kept feature, one value.
    saved_per_feature: ClassVar[Mapping[str, str]] = {}
    saved: ClassVar[Mapping[str, str]] = {}
    saved_later: ClassVar[frozenset[str]] = frozenset()

    #: What the rule counts for `work_`, by name.
    counted: ClassVar[Mapping[str, str]] = {}

    #: Parameters of earlier versions that run folders may hold, and their names today, if any.
    former_parameters: ClassVar[Mapping[str, str | None]] = {}

    def reasons(self) -> dict[str, Reason]:
        """Return every reason that the rule can give, by name."""
        raise NotImplementedError(f"{type(self).__name__} has no reasons()")

    def needs_classes(self) -> bool:
        """Return whether the rule with these parameters can use no other targets than classes."""
        return self.only_classes

    def begin(self, target: Target) -> None:
        """Start with a new target: reset what was counted or fitted, or reject the target."""
        if self.only_classes:
            target.refuse_numbers(self.public_name)

    def to_selector(self) -> ColumnSelector:
        """Return a new selector that runs a copy of this rule."""
        self.check_params()
        in_order = None if getattr(self, "order", "arrival") == "arrival" else self.in_order
        return (in_order or self.machinery)(self.clone())

    @classmethod
    def from_saved(cls, parameters: Mapping[str, Any]) -> Rule:
        """Return a rule with parameters read from a file, perhaps of an earlier version."""
        current: dict[str, Any] = {}
        for name, value in parameters.items():
            now = cls.former_parameters.get(name, name)
            if now is not None:
                current[now] = value
        rule = cls(**current)
        rule.check_params()
        return rule
